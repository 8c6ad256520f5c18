/* kinds_handles.c - handles: right ones, and those that are wrong. */
#include "kinds.h"

char label[128];

int labelled(const char *format, ...)
{
	va_list list;

	va_start(list, format);
	vsnprintf(label, sizeof label, format, list);
	va_end(list);
	return 1;
}

int no_more(int i, word *w, int at)
{
	(void)i, (void)w, (void)at;
	return 0;
}

/* Null, a handle of each other kind, a freed one, none at all, and another adapter's. */
int wrong_handle(int i, word *w, const kind *k)
{
	static int nothing[16];
	int type = i - 1;

	if (i == 0) {
		w->pointer = DAT_HANDLE_NULL;
		return labelled("null");
	}
	if (type < KINDS) {
		if (type == k->type)
			w->pointer = freed(type);
		else
			w->pointer = idle(&mine, type);
		return labelled(type == k->type ? "freed" : "of kind %s", name_of(type));
	}
	if (i == KINDS + 1) {
		w->pointer = nothing;
		return labelled("no handle");
	}
	if (k->type < 0 || i != KINDS + 2)
		return 0;
	w->pointer = k == &kind_ia ? other.ia : idle(&other, k->type);
	return labelled("of another IA");
}

/* ---- EVDs ---- */

/* Without the stream that is wanted. */
static int wrong_stream(int i, word *w, int at, DAT_EVD_HANDLE wrong, const char *stream)
{
	if (i > 0)
		return 0;
	w[at].pointer = wrong;
	return labelled("EVD of %s", stream);
}

static int not_of_transfers(int i, word *w, int at)
{
	return wrong_stream(i, w, at, mine.connection, "connections");
}

static int not_of_connections(int i, word *w, int at)
{
	return wrong_stream(i, w, at, mine.recv, "transfers");
}

static int not_of_requests(int i, word *w, int at)
{
	return wrong_stream(i, w, at, mine.connection, "connections");
}

static int not_of_software(int i, word *w, int at)
{
	return wrong_stream(i, w, at, mine.recv, "transfers");
}

static DAT_EVD_HANDLE empty(DAT_EVD_HANDLE evd)
{
	drain(evd);
	return evd;
}

/* Not waitable, or with no stream of transfers: what an empty one says differs. */
static int empty_otherwise(int i, word *w, int at)
{
	static DAT_EVD_HANDLE unwaitable;

	switch (i) {
	case 0:
		w[at].pointer = empty(mine.soft);
		return labelled("EVD of software");
	case 1:
		if (!unwaitable) {
			MUST(dat_evd_create(mine.ia, 8, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG,
			                    &unwaitable));
			MUST(dat_evd_set_unwaitable(unwaitable));
		}
		w[at].pointer = unwaitable;
		return labelled("unwaitable");
	default:
		return 0;
	}
}

/* Something else uses it, so it cannot be freed. */
#define IN_USE(name, used)                      \
	static int name(int i, word *w, int at) \
	{                                       \
		if (i > 0)                      \
			return 0;               \
		w[at].pointer = (used);         \
		return labelled("in use");      \
	}

static DAT_CNO_HANDLE used_cno(void)
{
	static DAT_CNO_HANDLE cno;
	DAT_EVD_HANDLE evd;
	const DAT_OS_WAIT_PROXY_AGENT none = {NULL, NULL};

	if (!cno) {
		MUST(dat_cno_create(mine.ia, none, &cno));
		MUST(dat_evd_create(mine.ia, 8, cno, DAT_EVD_SOFTWARE_FLAG, &evd));
	}
	return cno;
}

IN_USE(used_evd, (endpoint(DAT_EP_STATE_UNCONNECTED), mine.recv))
IN_USE(a_used_cno, used_cno())
IN_USE(used_pz, mine.pz)
IN_USE(a_used_srq, (endpoint(WITH_SRQ), used_srq()))

#define IDLE(kind) idle(&mine, DAT_HANDLE_TYPE_##kind)

HANDLES(evd, DAT_HANDLE_TYPE_EVD, IDLE(EVD), no_more);
HANDLES(evd_idle, DAT_HANDLE_TYPE_EVD, IDLE(EVD), used_evd);
HANDLES(evd_empty, DAT_HANDLE_TYPE_EVD, empty(mine.recv), empty_otherwise);
HANDLES(evd_software, DAT_HANDLE_TYPE_EVD, empty(mine.soft), not_of_software);
HANDLES(evd_recv, DAT_HANDLE_TYPE_EVD, mine.recv, not_of_transfers);
HANDLES(evd_request, DAT_HANDLE_TYPE_EVD, mine.request, not_of_transfers);
HANDLES(evd_connect, DAT_HANDLE_TYPE_EVD, mine.connection, not_of_connections);
HANDLES(evd_cr, DAT_HANDLE_TYPE_EVD, mine.requests, not_of_requests);

/* ---- Others ---- */

/* Closed again after each use. */
static DAT_HANDLE query_handle(void)
{
	static DAT_HANDLE handle;
	DAT_IA_ATTR attr;
	char *name = getenv("SWEEP_IA");

	if (type_of(handle) != DAT_HANDLE_TYPE_IA)
		MUST((dat_ib_open_query)(name ? name : "lapi-lo", &handle, DAT_IA_FIELD_ALL, &attr,
		                         0, NULL));
	return handle;
}

HANDLES(ia, DAT_HANDLE_TYPE_IA, mine.ia, no_more);
HANDLES(ia_idle, DAT_HANDLE_TYPE_IA, IDLE(IA), no_more);
HANDLES(ia_of_query, DAT_HANDLE_TYPE_IA, query_handle(), no_more);
HANDLES(any, ANY_HANDLE, mine.pz, no_more);
HANDLES(counted, ANY_HANDLE, mine.ia, no_more);
HANDLES(pz, DAT_HANDLE_TYPE_PZ, mine.pz, no_more);
HANDLES(pz_idle, DAT_HANDLE_TYPE_PZ, IDLE(PZ), used_pz);
HANDLES(lmr, DAT_HANDLE_TYPE_LMR, mine.lmr[ALL], no_more);
HANDLES(lmr_idle, DAT_HANDLE_TYPE_LMR, IDLE(LMR), no_more);
HANDLES(rmr, DAT_HANDLE_TYPE_RMR, IDLE(RMR), no_more);
HANDLES(cno, DAT_HANDLE_TYPE_CNO, IDLE(CNO), no_more);
HANDLES(cno_idle, DAT_HANDLE_TYPE_CNO, IDLE(CNO), a_used_cno);
HANDLES(cno_or_none, DAT_HANDLE_TYPE_CNO, DAT_HANDLE_NULL, no_more);
HANDLES(srq, DAT_HANDLE_TYPE_SRQ, IDLE(SRQ), no_more);
HANDLES(srq_idle, DAT_HANDLE_TYPE_SRQ, IDLE(SRQ), a_used_srq);
HANDLES(psp, DAT_HANDLE_TYPE_PSP, IDLE(PSP), no_more);
HANDLES(rsp, DAT_HANDLE_TYPE_RSP, IDLE(RSP), no_more);
HANDLES(cr, DAT_HANDLE_TYPE_CR, IDLE(CR), no_more);
HANDLES(csp, ANY_HANDLE, DAT_HANDLE_NULL, no_more); /* none can be made */

/* ---- Endpoints ---- */

/* In each state, and of each make. */
static int other_state(int i, word *w, int at)
{
	int state = -1;

	do
		state = next_state(state);
	while (state >= 0 && i-- > 0);
	if (state < 0)
		return 0;
	w[at].pointer = endpoint(state);
	return w[at].pointer ? labelled("%s", name_of_state(state)) : -1;
}

HANDLES(ep_any, DAT_HANDLE_TYPE_EP, endpoint(DAT_EP_STATE_UNCONNECTED), other_state);
HANDLES(ep_unconnected, DAT_HANDLE_TYPE_EP, endpoint(DAT_EP_STATE_UNCONNECTED), other_state);
HANDLES(ep_connected, DAT_HANDLE_TYPE_EP, endpoint(DAT_EP_STATE_CONNECTED), other_state);
HANDLES(ep_disconnected, DAT_HANDLE_TYPE_EP, endpoint(DAT_EP_STATE_DISCONNECTED), other_state);
HANDLES(ep_ud, DAT_HANDLE_TYPE_EP, endpoint(UD), other_state);
