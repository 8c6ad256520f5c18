/* addresses.c - several operations are under way at once, and one names an unmapped address, here
 * or at the target: it ends with an error, the others complete. */
#include "link_test.h"

enum { MOST = 1 << 20, EACH = 6, BAD = 2, NOWHERE = 4096, TAG = 7 };

typedef enum what { PUT, GET, OP, FOP, CSWAP, SEND, KINDS } what;
static const char *const names[] = {"put", "get", "atomic_op", "atomic_fop", "atomic_cswap", "send"};

static char memory[MOST], local[MOST];
static lapi_link_handle_t *mine, *theirs;
static int ended, errors, status_of[EACH];

static void done(lapi_link_t *link, lapi_link_endpoint_t *ep, void *at, lapi_link_handle_t *handle,
                 void *context, void *data, int status)
{
	(void)link, (void)ep, (void)at, (void)handle, (void)data;
	CHECK(*(int *)context == 99); /* once */
	*(int *)context = status;
	ended++;
}

/* The error callback, also called for errors of peers' operations. */
static void error(lapi_link_t *link, lapi_link_endpoint_t *ep, int status, const char *text,
                  void *context)
{
	(void)link, (void)text, (void)context;
	CHECK(ep && status == LAPI_LINK_ERROR);
	__atomic_add_fetch(&errors, 1, __ATOMIC_ACQ_REL);
}

static void take(lapi_link_t *link, lapi_link_endpoint_t *ep, uint32_t tag, const void *message,
                 size_t size, void *context)
{
	(void)link, (void)ep, (void)tag, (void)message, (void)size, (void)context;
}

static int start(what kind, uint32_t to, void *at, uint64_t remote, size_t n, lapi_link_done_t *call,
                 int *context)
{
	lapi_link_endpoint_t *ep = peer[to];

	switch (kind) {
	case PUT:
		return lapi_link_put(lnk, ep, at, remote, NULL, NULL, n, 0, call, context, NULL);
	case GET:
		return lapi_link_get(lnk, ep, at, remote, NULL, NULL, n, 0, call, context, NULL);
	case OP:
		return lapi_link_atomic_op(lnk, ep, remote, NULL, LAPI_LINK_ADD, 1, 0, call, context,
		                           NULL);
	case FOP:
		return lapi_link_atomic_fop(lnk, ep, at, remote, NULL, NULL, LAPI_LINK_ADD, 1, 0, call,
		                            context, NULL);
	case CSWAP:
		return lapi_link_atomic_cswap(lnk, ep, at, remote, NULL, NULL, 1, 2, 0, call, context,
		                              NULL);
	default:
		return lapi_link_send(lnk, ep, TAG, NULL, 0, at, n, call, context, NULL);
	}
}

/* One of EACH operations is bad; it may be refused at once instead. */
static void with_callbacks(what kind, uint32_t to, int here, size_t n)
{
	int begun = 0, refused = 0, rc;

	ended = 0;
	for (int i = 0; i < EACH; i++) {
		int bad = i == BAD;

		status_of[i] = 99;
		rc = TRY(start(kind, to, bad && here ? (char *)NOWHERE : local,
		               bad && !here ? NOWHERE : theirs[to].base, n, done, &status_of[i]));
		if (rc == LAPI_LINK_ERROR && bad)
			refused = 1;
		else
			CHECK(rc == LAPI_LINK_SUCCESS || (rc == LAPI_LINK_DONE && kind == SEND && !bad));
		begun += rc == LAPI_LINK_SUCCESS;
		status_of[i] = rc == LAPI_LINK_DONE ? LAPI_LINK_SUCCESS : status_of[i];
	}
	while (ended < begun)
		progress();
	MUST(lapi_link_flush(lnk, peer[to]));
	CHECK(ended == begun);
	for (int i = 0; i < EACH; i++)
		CHECK(status_of[i] == (i != BAD    ? LAPI_LINK_SUCCESS
		                       : !refused ? LAPI_LINK_ERROR
		                                  : 99));
}

/* A flush reports the error, once; the valid operations are complete then. */
static void without(what kind, uint32_t to, int here, size_t n)
{
	uint64_t *word = (uint64_t *)(void *)memory;

	if (kind == SEND)
		return;
	*word = 0;
	for (int i = 0; i < EACH; i++)
		MUST(TRY(start(kind, to, i == BAD && here ? (char *)NOWHERE : local,
		               i == BAD && !here ? NOWHERE : theirs[to].base, n, NULL, NULL)));
	CHECK(lapi_link_flush(lnk, peer[to]) == LAPI_LINK_ERROR);
	MUST(lapi_link_flush(lnk, peer[to]));
	MUST(lapi_link_flush(lnk, NULL));
	CHECK(kind != FOP || to != attr.task || *word == (here ? EACH : EACH - 1));
}

static void all(what kind, uint32_t to, size_t n)
{
	static char text[80];

	for (int here = 0; here < 2; here++) {
		if ((here && kind == OP) || (!here && kind == SEND))
			continue;
		snprintf(text, sizeof(text), "%s, %zu bytes, to task %u, bad address %s", names[kind], n,
		         to, here ? "here" : "at the target");
		section = text;
		with_callbacks(kind, to, here, n);
		without(kind, to, here, n);
	}
}

/* Refused messages leave the room for others as it was. */
static void sends(uint32_t to)
{
	section = "many messages that cannot be read";
	for (int i = 0; i < 100; i++)
		CHECK(lapi_link_send(lnk, peer[to], TAG, NULL, 0, (char *)NOWHERE, 60000, done, NULL,
		                     NULL) == LAPI_LINK_ERROR);
	for (int i = 0; i < 100; i++)
		CHECK(lapi_link_send(lnk, peer[to], TAG, (char *)NOWHERE, 100, local, 2000, NULL, NULL,
		                     NULL) == LAPI_LINK_ERROR);
}

int main(void)
{
	static const size_t sizes[] = {8, 5000, 70000, MOST};

	begin(error);
	theirs = calloc(attr.tasks, sizeof(*theirs));
	MUST(lapi_link_set_receive(lnk, TAG, take, NULL));
	share(memory, MOST, 7, &mine, theirs);
	for (uint32_t k = 0; k < 2 && attr.task == 0; k++) {
		uint32_t to = k == 0 ? 0 : attr.tasks - 1;

		for (int i = 0; i < 4; i++) {
			all(PUT, to, sizes[i]);
			all(GET, to, sizes[i]);
		}
		for (what kind = OP; kind <= CSWAP; kind++)
			all(kind, to, 8);
		all(SEND, to, 8);
		all(SEND, to, 60000);
		sends(to);
		all(SEND, to, 60000);
		CHECK(__atomic_load_n(&errors, __ATOMIC_ACQUIRE) > 0);
	}
	end();
	return 0;
}
