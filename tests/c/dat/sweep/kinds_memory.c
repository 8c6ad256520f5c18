/* kinds_memory.c - attributes, regions, and the triplets of posts: right ones, and wrong ones. */
#include "kinds.h"

#include <limits.h>

DAT_LMR_TRIPLET local_list[300];
DAT_RMR_TRIPLET remote_triplet;

static int null(int i, word *w, int at)
{
	w[at].pointer = NULL;
	return i == 0 && labelled("NULL");
}

/* ---- Attributes of endpoints and shared queues ---- */

static const struct {
	const char *name;
	size_t at;
	int values[4];
} members[] = {
#define MEMBER(name, ...)                           \
	{                                           \
#name, offsetof(DAT_EP_ATTR, name), \
		{                                   \
			__VA_ARGS__                 \
		}                                   \
	}
	MEMBER(service_type, 2, 7, -1, 3),
	MEMBER(max_message_size, INT_MIN, -1, 0, 1),
	MEMBER(max_rdma_size, INT_MIN, -1, 0, 1),
	MEMBER(qos, 1, 2, 4, 16),
	MEMBER(recv_completion_flags, DAT_COMPLETION_SUPPRESS_FLAG, 0x40, 0x8000, -1),
	MEMBER(request_completion_flags, 0x40, 0x8000, INT_MIN, -1),
	MEMBER(max_recv_dtos, 0, -1, INT_MAX, (1 << 20) + 1),
	MEMBER(max_request_dtos, 0, -1, INT_MAX, (1 << 20) + 1),
	MEMBER(max_recv_iov, -1, INT_MAX, 257, 0),
	MEMBER(max_request_iov, -1, INT_MAX, 257, 0),
	MEMBER(max_rdma_read_in, -1, INT_MAX, 17, 0),
	MEMBER(max_rdma_read_out, -1, INT_MAX, 17, 0),
	MEMBER(srq_soft_hw, -1, -2, INT_MAX, 0),
	MEMBER(max_rdma_read_iov, -1, INT_MAX, 257, 0),
	MEMBER(max_rdma_write_iov, -1, INT_MAX, 257, 0),
};

static DAT_EP_ATTR right_attr(void)
{
	return (DAT_EP_ATTR){.max_recv_dtos = MOST_REQUESTS,
	                     .max_request_dtos = MOST_REQUESTS,
	                     .max_recv_iov = MOST_SEGMENTS,
	                     .max_request_iov = MOST_SEGMENTS};
}

/* The i-th wrong member of attributes that are right else. */
static int wrong_member(int i, DAT_EP_ATTR *attr)
{
	*attr = right_attr();
	if (i >= 4 * COUNT_OF(members))
		return 0;
	memcpy((char *)attr + members[i / 4].at, &members[i / 4].values[i % 4], sizeof(int));
	return labelled("%s %d", members[i / 4].name, members[i / 4].values[i % 4]);
}

static void right_attributes(word *w, int at)
{
	static DAT_EP_ATTR attr;

	attr = right_attr();
	w[at].pointer = &attr;
}

static int wrong_attributes(int i, word *w, int at)
{
	static DAT_EP_ATTR attr;

	if (i == 0)
		return null(0, w, at);
	w[at].pointer = &attr;
	return wrong_member(i - 1, &attr);
}

const kind kind_attributes = {NO_HANDLE, right_attributes, wrong_attributes};

static DAT_EP_PARAM parameters;

static void right_parameters(word *w, int at)
{
	memset(&parameters, 0, sizeof parameters);
	parameters.pz_handle = mine.pz;
	parameters.recv_evd_handle = mine.recv;
	parameters.request_evd_handle = mine.request;
	parameters.connect_evd_handle = mine.connection;
	parameters.ep_attr = right_attr();
	w[at].pointer = &parameters;
}

/* A handle of them that is wrong, in the mask of argument at - 1. */
static int wrong_handles(int i, word *w, int at)
{
	static const struct {
		const char *name;
		size_t at;
		DAT_EP_PARAM_MASK bit;
		const kind *kind;
	} handles[] = {
		{"pz", offsetof(DAT_EP_PARAM, pz_handle), DAT_EP_FIELD_PZ_HANDLE, &kind_pz},
		{"recv_evd", offsetof(DAT_EP_PARAM, recv_evd_handle), DAT_EP_FIELD_RECV_EVD_HANDLE,
	         &kind_evd_recv},
		{"request_evd", offsetof(DAT_EP_PARAM, request_evd_handle),
	         DAT_EP_FIELD_REQUEST_EVD_HANDLE, &kind_evd_request},
		{"connect_evd", offsetof(DAT_EP_PARAM, connect_evd_handle),
	         DAT_EP_FIELD_CONNECT_EVD_HANDLE, &kind_evd_connect},
		{"srq", offsetof(DAT_EP_PARAM, srq_handle), DAT_EP_FIELD_SRQ_HANDLE, &kind_srq}};
	enum { EACH = KINDS + 3 };
	int of = i / EACH;
	char what[sizeof label];
	word handle;

	if (of >= COUNT_OF(handles))
		return 0;
	if (!wrong_handle(i % EACH, &handle, handles[of].kind))
		handle.pointer = DAT_HANDLE_NULL;
	strcpy(what, label);
	memcpy((char *)&parameters + handles[of].at, &handle.pointer, sizeof(DAT_HANDLE));
	w[at - 1].number = handles[of].bit;
	return labelled("%s %.100s", handles[of].name, what);
}

static int wrong_parameters(int i, word *w, int at)
{
	if (i == 0)
		return null(0, w, at);
	if (--i < 4 * COUNT_OF(members)) {
		w[at - 1].number = (DAT_UINT64)DAT_EP_FIELD_EP_ATTR_SERVICE_TYPE << i / 4;
		return wrong_member(i, &parameters.ep_attr);
	}
	return wrong_handles(i - 4 * COUNT_OF(members), w, at);
}

const kind kind_parameters = {NO_HANDLE, right_parameters, wrong_parameters};
BITS(modify_mask, DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS, 64);

static void right_srq_attributes(word *w, int at)
{
	static DAT_SRQ_ATTR attr;

	attr = (DAT_SRQ_ATTR){MOST_REQUESTS, MOST_SEGMENTS, DAT_SRQ_LW_DEFAULT};
	w[at].pointer = &attr;
}

static int wrong_srq_attributes(int i, word *w, int at)
{
	static const DAT_SRQ_ATTR wrong[] = {{0, 4, 0},  {-1, 4, 0},  {INT_MAX, 4, 0},
	                                     {8, -1, 0}, {8, 257, 0}, {8, INT_MAX, 0},
	                                     {8, 4, -1}, {8, 4, 9},   {8, 0, 0}};

	if (i == 0)
		return null(0, w, at);
	if (i > COUNT_OF(wrong))
		return 0;
	w[at].pointer = (void *)&wrong[i - 1];
	return labelled("%d %d %d", wrong[i - 1].max_recv_dtos, wrong[i - 1].max_recv_iov,
	                wrong[i - 1].low_watermark);
}

const kind kind_srq_attributes = {NO_HANDLE, right_srq_attributes, wrong_srq_attributes};

/* ---- Regions ---- */

static void right_region(word *w, int at)
{
	w[at].region = (DAT_REGION_DESCRIPTION){.for_va = mine.arena};
}

/* As an LMR's: the type is that of argument at - 1. */
static int wrong_region(int i, word *w, int at)
{
	word handle;

	if (!wrong_handle(i, &handle, &kind_lmr))
		return 0;
	w[at].region = (DAT_REGION_DESCRIPTION){.for_lmr_handle = handle.pointer};
	w[at - 1].number = DAT_MEM_TYPE_LMR;
	return 1;
}

const kind kind_region = {NO_HANDLE, right_region, wrong_region};

/* ---- Local triplets ---- */

static const DAT_LMR_TRIPLET *right_local(void)
{
	int i;

	for (i = 0; i < COUNT_OF(local_list); i++)
		local_list[i] = (DAT_LMR_TRIPLET){mine.memory.address + 8 * (DAT_VADDR)i, 8,
		                                  mine.memory.local[ALL]};
	return local_list;
}

static void right_list(word *w, int at)
{
	w[at].pointer = (void *)right_local();
}

/* The i-th fault of the first triplet, or of the second of two. */
static int wrong_local(int i, DAT_LMR_TRIPLET *t)
{
	if (i < MEMORIES - 1) {
		t->lmr_context = mine.memory.local[i + 1];
		return labelled("%s", memory_names[i + 1]);
	}
	switch (i - (MEMORIES - 1)) {
	case 0:
		t->lmr_context = 0;
		return labelled("context 0");
	case 1:
		t->lmr_context = other.memory.local[ALL];
		return labelled("of another IA");
	case 2:
		t->virtual_address = mine.memory.address - 1;
		return labelled("a byte before the region");
	case 3:
		t->virtual_address = mine.memory.address + ARENA - 7;
		return labelled("a byte behind the region");
	case 4:
		t->segment_length = 0;
		return labelled("of length 0");
	case 5:
		t->segment_length = ARENA + 1;
		return labelled("longer than the region");
	case 6:
		t->segment_length = UINT_MAX;
		return labelled("of 4 GiB - 1");
	case 7:
		t->virtual_address = UINT64_MAX - 3;
		return labelled("around the end of memory");
	case 8:
		t->segment_length = SEGMENT + 8;
		return labelled("of 72 bytes");
	default:
		return 0;
	}
}

enum { LOCALS = MEMORIES - 1 + 9 };

/* NULL; each wrong triplet, alone and behind a right one. Argument at - 1 counts them. */
static int wrong_list(int i, word *w, int at)
{
	char what[sizeof label];

	if (i == 0)
		return null(0, w, at);
	if (i <= LOCALS)
		return wrong_local(i - 1, local_list);
	if (!wrong_local(i - 1 - LOCALS, &local_list[1]))
		return 0;
	w[at - 1].number = 2;
	strcpy(what, label);
	return labelled("second %.100s", what);
}

const kind kind_local_list_written = {NO_HANDLE, right_list, wrong_list};

/* The calls that order memory have no count before the list. */
static int wrong_read_list(int i, word *w, int at)
{
	return at == 1 ? null(i, w, at) : wrong_list(i, w, at);
}

const kind kind_local_list = {NO_HANDLE, right_list, wrong_read_list};

NUMBERS(segments, 1, 0, 2, -1, INT_MIN, MOST_SEGMENTS + 1, 256, 257, INT_MAX);
NUMBERS(segments_after, 1, 0, 2, 256);

static int wrong_word(int i, word *w, int at)
{
	if (i == 0)
		return null(0, w, at);
	if (i <= LOCALS)
		return wrong_local(i - 1, local_list);
	switch (i - LOCALS - 1) {
	case 0:
		local_list->segment_length = 4;
		return labelled("of 4 bytes");
	case 1:
		local_list->segment_length = 16;
		return labelled("of 16 bytes");
	case 2:
		local_list->virtual_address += 4;
		return labelled("not aligned");
	default:
		return 0;
	}
}

const kind kind_local_word = {NO_HANDLE, right_list, wrong_word};

static int wrong_bound(int i, word *w, int at)
{
	return i == 0 ? null(0, w, at) : wrong_local(i - 1, local_list);
}

const kind kind_bound_triplet = {NO_HANDLE, right_list, wrong_bound};

/* ---- Remote triplets, and those of RMRs ---- */

static void right_remote(word *w, int at)
{
	remote_triplet =
		(DAT_RMR_TRIPLET){peer->memory.address + 4096, 8, peer->memory.remote[ALL]};
	w[at].pointer = &remote_triplet;
}

static int wrong_remote(int i, word *w, int at)
{
	DAT_RMR_TRIPLET *t = &remote_triplet;

	if (i == 0)
		return null(0, w, at);
	if (--i < MEMORIES - 1) {
		t->rmr_context = peer->memory.remote[i + 1];
		return labelled("%s", memory_names[i + 1]);
	}
	switch (i - (MEMORIES - 1)) {
	case 0:
		t->rmr_context = 0;
		return labelled("context 0");
	case 1:
		t->virtual_address = peer->memory.address - 1;
		return labelled("a byte before the region");
	case 2:
		t->virtual_address = peer->memory.address + ARENA - 7;
		return labelled("a byte behind the region");
	case 3:
		t->segment_length = 7;
		return labelled("of length 7");
	case 4:
		t->segment_length = 9;
		return labelled("of length 9");
	case 5:
		t->segment_length = 0;
		return labelled("of length 0");
	case 6:
		t->virtual_address += 4;
		return labelled("not aligned");
	case 7:
		t->virtual_address = UINT64_MAX - 3;
		return labelled("around the end of memory");
	default:
		return 0;
	}
}

const kind kind_remote_read = {NO_HANDLE, right_remote, wrong_remote};
const kind kind_remote_written = {NO_HANDLE, right_remote, wrong_remote};
const kind kind_remote_word = {NO_HANDLE, right_remote, wrong_remote};

/* A triplet of an RMR that is bound, for what an RDMA read fills. */
static void right_rmr(word *w, int at)
{
	static DAT_RMR_HANDLE rmr;
	static DAT_RMR_TRIPLET triplet;
	const DAT_RMR_COOKIE cookie = {.as_64 = 3};
	DAT_LMR_TRIPLET to = *right_local();
	DAT_EP_HANDLE ep = endpoint(DAT_EP_STATE_CONNECTED);

	if (!rmr)
		MUST(dat_rmr_create(mine.pz, &rmr));
	drain(mine.request);
	MUST(dat_rmr_bind(rmr, mine.lmr[ALL], &to, (DAT_MEM_PRIV_FLAGS)0x33, DAT_VA_TYPE_VA, ep,
	                  cookie, DAT_COMPLETION_DEFAULT_FLAG, &triplet.rmr_context));
	pair_event(mine.request, DAT_RMR_BIND_COMPLETION_EVENT);
	triplet.virtual_address = to.virtual_address;
	triplet.segment_length = to.segment_length;
	w[at].pointer = &triplet;
}

static int wrong_rmr(int i, word *w, int at)
{
	DAT_RMR_TRIPLET *t = w[at].pointer;

	switch (i) {
	case 0:
		return null(0, w, at);
	case 1:
		t->rmr_context = 0;
		return labelled("context 0");
	case 2:
		t->rmr_context = mine.memory.local[ALL];
		return labelled("an LMR's context");
	case 3:
		t->virtual_address--;
		return labelled("a byte before it");
	case 4:
		t->segment_length = 9;
		return labelled("a byte longer");
	case 5:
		t->segment_length = 0;
		return labelled("of length 0");
	default:
		return 0;
	}
}

const kind kind_local_rmr = {NO_HANDLE, right_rmr, wrong_rmr};
