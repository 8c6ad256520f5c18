/*
 * bulk.c - bulk transfer (guide, Chapter 13): MP_USE_BULK_XFER and MP_BULK_MIN_MSG_SIZE, the two
 * flags of LAPI_Xfer, and chunks. Task 0 sends to task 1, and no other task does anything
 * meanwhile: so LAPI's own statistics show which way data took. Directly, each copy of 32 MB or
 * less is one packet and the message that announces it another; in packets, a short message is one.
 *
 * Run with and without MP_USE_BULK_XFER=yes; what must happen depends on it.
 */
#define _GNU_SOURCE
#include "conform.h"

#include <sys/mman.h>
#include <sys/uio.h>

#define LONG(pointer) ((lapi_long_t)(uintptr_t)(pointer))
#define COUNT(array) (sizeof(array) / sizeof(array)[0])

/* that packet: over shared memory */
enum { MB = 1 << 20, CHUNK = 32 * MB, LARGEST = 70 * MB, LONGEST_PACKET = 64 << 10, TINY = 256 };

static const int flag_sets[] = {0, LAPI_USE_BULK_XFER, LAPI_NOT_USE_BULK_XFER,
                                LAPI_USE_BULK_XFER | LAPI_NOT_USE_BULK_XFER};
static const lapi_xfer_type_t types[] = {LAPI_GET_XFER, LAPI_PUT_XFER, LAPI_AM_XFER,
                                         LAPI_DGSP_XFER};
static unsigned char *source, *sink;
static lapi_cntr_t tgt_cntr, org_cntr, cmpl_cntr, go_cntr;
static void *sources[CONFORM_MAX_TASKS], *sinks[CONFORM_MAX_TASKS], *tgt_cntrs[CONFORM_MAX_TASKS],
	*go_cntrs[CONFORM_MAX_TASKS];
static void *handlers[CONFORM_MAX_TASKS];
static void *words[CONFORM_MAX_TASKS];
static long word = 4711;

/* Whether this task can read task 1's memory by itself. */
static int kernel_permits(void)
{
	long got = 0;
	void *pids[CONFORM_MAX_TASKS];
	struct iovec here = {&got, sizeof got}, there;
	exchange((void *)(intptr_t)getpid(), pids);
	exchange(&word, words);
	if (num_tasks < 2)
		return 0;
	there.iov_base = words[1];
	there.iov_len = sizeof got;
	return process_vm_readv((pid_t)(intptr_t)pids[1], &here, 1, &there, 1, 0) == sizeof got &&
	       got == word;
}

/* Whether task 0 can copy directly to task 1. The same result in all tasks. */
static int direct_way(void)
{
	int here = task_id == 0 && kernel_permits();
	if (task_id != 0)
		kernel_permits();
	return query(QUERY_SHM_ENABLED) && sum_over_tasks(here) == 1;
}

static void *header(lapi_handle_t *h, void *uhdr, uint *uhdr_len, ulong *msg_len,
                    compl_hndlr_t **completion, void **user_info)
{
	(void)h, (void)uhdr, (void)uhdr_len, (void)msg_len;
	*completion = NULL;
	*user_info = NULL;
	return sink;
}

static void *large_memory(void)
{
	void *memory =
		mmap(NULL, LARGEST, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return memory == MAP_FAILED ? NULL : memory;
}

static int prepare(void)
{
	if (!source)
		source = (unsigned char *)large_memory();
	if (!sink)
		sink = (unsigned char *)large_memory();
	counter_zero(&tgt_cntr);
	counter_zero(&org_cntr);
	counter_zero(&cmpl_cntr);
	counter_zero(&go_cntr);
	exchange(source, sources);
	exchange(sink, sinks);
	exchange(&tgt_cntr, tgt_cntrs);
	exchange(&go_cntr, go_cntrs);
	exchange((void *)(uintptr_t)header, handlers);
	return CHECK(source && sink);
}

typedef struct counts {
	long long sent, received, data_sent, data_received;
} counts;

static counts count(lapi_query_t path)
{
	lapi_statistics_t s;
	counts c;
	LAPI_OK(LAPI_Qenv(hndl, path, (int *)(void *)&s));
	c.sent = (long long)s.Tot_pkt_sent_cnt;
	c.received = (long long)s.Tot_pkt_rcv_cnt;
	c.data_sent = (long long)s.Tot_data_sent;
	c.data_received = (long long)s.Tot_data_rcv;
	return c;
}

static counts since(lapi_query_t path, counts before)
{
	counts c = count(path);
	c.sent -= before.sent;
	c.received -= before.received;
	c.data_sent -= before.data_sent;
	c.data_received -= before.data_received;
	return c;
}

/* The others wait here until task 0 has counted: a message of the next fence would be counted,
 * too. */
static void counted(void)
{
	int i;
	if (task_id == 0)
		for (i = 1; i < num_tasks; i++)
			LAPI_OK(LAPI_Put(hndl, (uint)i, 0, NULL, NULL, (lapi_cntr_t *)go_cntrs[i],
			                 NULL, NULL));
	else
		counter_wait(&go_cntr, 1);
}

static void fill(lapi_xfer_t *x, lapi_xfer_type_t type, ulong n, int flags)
{
	memset(x, 0, sizeof *x);
	switch (type) {
	case LAPI_GET_XFER:
		x->Get.Xfer_type = type;
		x->Get.flags = flags;
		x->Get.tgt = 1;
		x->Get.tgt_addr = LONG(sources[1]);
		x->Get.org_addr = sink;
		x->Get.len = n;
		x->Get.org_cntr = &org_cntr;
		break;
	case LAPI_PUT_XFER:
		x->Put.Xfer_type = type;
		x->Put.flags = flags;
		x->Put.tgt = 1;
		x->Put.tgt_addr = LONG(sinks[1]);
		x->Put.org_addr = source;
		x->Put.len = n;
		x->Put.tgt_cntr = LONG(tgt_cntrs[1]);
		x->Put.org_cntr = &org_cntr;
		x->Put.cmpl_cntr = &cmpl_cntr;
		break;
	/* a DGSP's members are those of an active message and one more; LAPI_BYTE needs no
	 * LAPI_Util */
	default:
		x->Dgsp.dgsp = LAPI_BYTE;
		x->Am.Xfer_type = type;
		x->Am.flags = flags;
		x->Am.tgt = 1;
		x->Am.hdr_hdl = LONG(handlers[1]);
		x->Am.udata = source;
		x->Am.udata_len = n;
		x->Am.tgt_cntr = LONG(tgt_cntrs[1]);
		x->Am.org_cntr = &org_cntr;
		x->Am.cmpl_cntr = &cmpl_cntr;
	}
}

/* Task 0 moves n bytes to task 1, or gets them; both check. The result, in task 0, is its counts of
 * this transfer. */
static counts transfer(lapi_xfer_type_t type, ulong n, int flags)
{
	lapi_query_t path = query(QUERY_SHM_ENABLED) ? QUERY_SHM_STATISTICS : QUERY_STATISTICS;
	counts c = {0, 0, 0, 0};
	int get = type == LAPI_GET_XFER, from = get ? 1 : 0;
	if (task_id == from)
		fill_pattern(source, n, (unsigned)n);
	if (task_id == 1 - from)
		memset(sink, 0, n);
	conform_sync();
	if (task_id == 0) {
		lapi_xfer_t x;
		fill(&x, type, n, flags);
		c = count(path);
		LAPI_OK(LAPI_Xfer(hndl, &x));
		counter_wait(&org_cntr, 1);
		if (!get)
			counter_wait(&cmpl_cntr, 1);
		c = since(path, c);
	} else if (task_id == 1 && !get) {
		counter_wait(&tgt_cntr, 1);
	}
	counted();
	if (task_id == 1 - from)
		CHECK(same_pattern(sink, n, (unsigned)n));
	conform_sync();
	return c;
}

/* In task 0: whether the transfer took the expected way. */
static void check_way(lapi_xfer_type_t type, ulong n, int flags, int direct, counts c)
{
	long long copies = (long long)(n + CHUNK - 1) / CHUNK, packets;
	int right;
	if (type == LAPI_GET_XFER) { /* by messages a request, and the answers */
		packets = c.sent;
		right = direct ? c.sent == 0 && c.received == copies : c.sent == 1;
		CHECK_EQUAL(c.data_received, n);
	} else {
		packets = c.sent;
		right = direct      ? packets == copies + 1
		        : n <= TINY ? packets == 1
		                    : packets > copies + 1;
		CHECK_EQUAL(c.data_sent, n);
	}
	if (!CHECK(right))
		printf("    type %d, %lu bytes, flags %#x: should go %s, and %lld packets were sent, %lld received\n",
		       (int)type, n, (unsigned)flags, direct ? "directly" : "in packets", packets,
		       c.received);
}

/* The value of MP_BULK_MIN_MSG_SIZE. */
static long long wanted_minimum(void)
{
	char *end;
	const char *text = variable("MP_BULK_MIN_MSG_SIZE");
	long long n = strtoll(text, &end, 10);
	if (!*text)
		return 150 * 1024;
	if (*end == 'K' || *end == 'k')
		n *= 1024;
	return n < 4096 ? 4096 : n;
}

static int asked_for(void)
{
	return strcasecmp(variable("MP_USE_BULK_XFER"), "yes") == 0;
}

static void bulk_attributes(void)
{
	int direct = direct_way();
	CHECK_EQUAL(query(BULK_MIN_MSG_SIZE), wanted_minimum());
	CHECK_EQUAL(query(BULK_XFER), asked_for() && (direct || query(RC_MAX_QP) > 0));
	CHECK_CODE(LAPI_ERR_QUERY_TYPE, LAPI_Senv(hndl, BULK_XFER, 1));
	CHECK_CODE(LAPI_ERR_QUERY_TYPE, LAPI_Senv(hndl, BULK_MIN_MSG_SIZE, 8192));
}

/* 1 if a transfer must go directly, 0 if in packets, -1 if LAPI chooses: then it depends on whether
 * the target polls. */
static int wanted_way(lapi_xfer_type_t type, int flags, ulong n)
{
	int am = type == LAPI_AM_XFER || type == LAPI_DGSP_XFER;
	if (!direct_way() || (flags & LAPI_NOT_USE_BULK_XFER))
		return 0;
	/* an active message's buffer is free on return up to BUF_CP_SIZE */
	if (flags & LAPI_USE_BULK_XFER)
		return !am || n > (ulong)query(BUF_CP_SIZE);
	return query(BULK_XFER) && n >= (ulong)query(BULK_MIN_MSG_SIZE) ? 1 : -1;
}

static void bulk_flags_and_lengths(void)
{
	ulong minimum = (ulong)query(BULK_MIN_MSG_SIZE);
	ulong lengths[] = {1,     128,   129,         1000,    4095,        4096,  4097,
	                   16383, 16384, minimum - 1, minimum, minimum + 1, 2 * MB};
	size_t t, f, i;
	if (num_tasks < 2)
		SKIP("one task");
	if (!prepare())
		return;
	for (t = 0; t < COUNT(types); t++)
		for (f = 0; f < COUNT(flag_sets); f++)
			for (i = 0; i < COUNT(lengths); i++) {
				ulong n = lengths[i];
				counts c = transfer(types[t], n, flag_sets[f]);
				int way = wanted_way(types[t], flag_sets[f], n);
				/* In between the counts do not tell two packets from a copy and its
				 * message; over UDP there is but one way. */
				if (task_id == 0 && query(QUERY_SHM_ENABLED) && way >= 0 &&
				    (way == 1 || n <= TINY || n >= 3 * LONGEST_PACKET))
					check_way(types[t], n, flag_sets[f], way, c);
			}
}

/* By which route a put of ROUTED bytes went, as its origin counts packets. */
enum { ROUTED = 256 << 10, ROUTED_PARTS = 8, ROUTED_TRIES = 30 };
static const char *route_taken(counts c)
{
	if (c.sent == ROUTED_PARTS && c.received == 1)
		return "pipeline"; /* any of them */
	if (c.sent == 2) /* the copy, and the message that tells or asks */
		return c.received == 1 ? "origin" : "target";
	return c.sent == 4 && c.received == 2 ? "halves" : "unknown";
}

/* LAPI_ROUTE is obeyed by puts to a target that polls: the data arrives, and by that route. A target
 * that has fallen asleep is written to, so not each time. */
static void bulk_forced_route(void)
{
	const char *route = variable("LAPI_ROUTE");
	int alike = strcmp(route, "wide") == 0 || strcmp(route, "string") == 0 ||
	            strcmp(route, "streaming") == 0;
	const char *wanted = alike ? "pipeline" : route;
	int i, taken = 0, direct = direct_way();
	if (num_tasks < 2 || !direct || !*route || strcmp(route, "auto") == 0 ||
	    strcmp(route, "show") == 0)
		SKIP("no route is forced");
	if (*variable("LAPI_FASTLANE") && strcmp(variable("LAPI_FASTLANE"), "on") != 0)
		SKIP("routes are the fast lane's");
	if (asked_for())
		SKIP("bulk transfer is asked for");
	if (!prepare())
		return;
	for (i = 0; i < ROUTED_TRIES; i++) {
		counts c = transfer(LAPI_PUT_XFER, ROUTED, 0);
		if (task_id != 0)
			continue;
		CHECK_EQUAL(c.data_sent, ROUTED);
		taken += strcmp(route_taken(c), wanted) == 0;
	}
	if (task_id == 0)
		CHECK(taken > 0);
}

/* More than two chunks by every type; and just one, and one byte more. */
static void bulk_chunks(void)
{
	static const ulong lengths[] = {LARGEST, CHUNK, CHUNK + 1};
	int direct = direct_way();
	size_t t, i;
	if (num_tasks < 2)
		SKIP("one task");
	if (!prepare())
		return;
	for (t = 0; t < COUNT(types); t++)
		for (i = 0; i < (types[t] == LAPI_PUT_XFER ? COUNT(lengths) : 1); i++) {
			counts c = transfer(types[t], lengths[i], LAPI_USE_BULK_XFER);
			if (task_id == 0 && query(QUERY_SHM_ENABLED))
				check_way(types[t], lengths[i], LAPI_USE_BULK_XFER, direct, c);
		}
	transfer(LAPI_PUT_XFER, LARGEST, LAPI_NOT_USE_BULK_XFER);
}

/* Blocks of 8 bytes, which LAPI by itself would gather: one flag sends them directly, the other
 * never does. */
static void bulk_vectors(void)
{
	enum { BLOCKS = 500, BLOCK = 8, STRIDE = 24 };
	int direct = direct_way();
	size_t f, i;
	if (num_tasks < 2)
		SKIP("one task");
	if (!prepare())
		return;
	for (f = 0; f < COUNT(flag_sets); f++) {
		void *here[3] = {source, (void *)BLOCK, (void *)STRIDE},
		     *there[3] = {sinks[1], (void *)BLOCK, (void *)STRIDE};
		lapi_vec_t org = {LAPI_GEN_STRIDED_XFER, BLOCKS, here, NULL},
			   tgt = {LAPI_GEN_STRIDED_XFER, BLOCKS, there, NULL};
		if (task_id == 0)
			fill_pattern(source, BLOCKS * STRIDE, 77);
		if (task_id == 1)
			memset(sink, 0, BLOCKS * STRIDE);
		conform_sync();
		if (task_id == 0) {
			lapi_xfer_t x;
			counts c = count(QUERY_SHM_STATISTICS);
			memset(&x, 0, sizeof x);
			x.Putv.Xfer_type = LAPI_PUTV_XFER;
			x.Putv.flags = flag_sets[f] | USE_TGT_VEC_TYPE;
			x.Putv.tgt = 1;
			x.Putv.org_vec = &org;
			x.Putv.tgt_vec = (lapi_lvec_t *)(void *)&tgt;
			x.Putv.tgt_cntr = LONG(tgt_cntrs[1]);
			x.Putv.cmpl_cntr = &cmpl_cntr;
			LAPI_OK(LAPI_Xfer(hndl, &x));
			counter_wait(&cmpl_cntr, 1);
			c = since(QUERY_SHM_STATISTICS, c);
			/* 500 ranges are one copy; 4000 bytes one packet */
			if (query(QUERY_SHM_ENABLED))
				CHECK_EQUAL(c.sent,
				            direct && flag_sets[f] == LAPI_USE_BULK_XFER ? 2 : 1);
		}
		counted();
		if (task_id == 1) {
			unsigned char *expected = (unsigned char *)malloc(BLOCKS * STRIDE);
			counter_wait(&tgt_cntr, 1);
			fill_pattern(expected, BLOCKS * STRIDE, 77);
			for (i = 0; i < BLOCKS; i++)
				CHECK(memcmp(sink + i * STRIDE, expected + i * STRIDE, BLOCK) ==
				              0 &&
				      sink[i * STRIDE + BLOCK] == 0);
			free(expected);
		}
		conform_sync();
	}
}

/* A message to the task itself is copied, whatever the flags: no packets, and the bytes are counted
 * once. */
static void bulk_within_a_task(void)
{
	size_t f;
	ulong n = 0;
	if (!prepare())
		return;
	for (f = 0; f < COUNT(flag_sets); f++)
		for (n = 8; n <= 8 * MB; n *= 64) {
			lapi_xfer_t x;
			counts c = count(QUERY_LOCAL_SEND_STATISTICS);
			fill_pattern(source, n, (unsigned)f);
			memset(sink, 0, n);
			fill(&x, LAPI_PUT_XFER, n, flag_sets[f]);
			x.Put.tgt = (uint)task_id;
			x.Put.tgt_addr = LONG(sink);
			x.Put.tgt_cntr = LONG(&tgt_cntr);
			LAPI_OK(LAPI_Xfer(hndl, &x));
			counter_wait(&tgt_cntr, 1);
			counter_wait(&org_cntr, 1);
			counter_wait(&cmpl_cntr, 1);
			CHECK(same_pattern(sink, n, (unsigned)f));
			c = since(QUERY_LOCAL_SEND_STATISTICS, c);
			CHECK_EQUAL(c.data_sent, n);
			CHECK_EQUAL(c.data_received, n);
		}
}

/* clang-format off */
static const conform_case cases[] = {
	CONFORM_CASE(bulk_attributes),
	CONFORM_CASE(bulk_flags_and_lengths),
	CONFORM_CASE(bulk_forced_route),
	CONFORM_CASE(bulk_chunks),
	CONFORM_CASE(bulk_vectors),
	CONFORM_CASE(bulk_within_a_task),
};
/* clang-format on */

int main(int argc, char **argv)
{
	return conform_main(argc, argv, cases, COUNT(cases));
}
