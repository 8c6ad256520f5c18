/*
 * xfer.c - LAPI_Xfer: every type but DGSPs (see dgsp.c), send completion handlers, completion
 * handlers of gets.
 */
#include "conform.h"

#define BYTES 300000

static unsigned char source[BYTES], sink[BYTES];
static lapi_cntr_t tgt_cntr, org_cntr, cmpl_cntr;
static void *sinks[CONFORM_MAX_TASKS], *sources[CONFORM_MAX_TASKS], *tgt_cntrs[CONFORM_MAX_TASKS],
	*handlers[CONFORM_MAX_TASKS];
static int next;
static const ulong lengths[] = {0, 1, 8, 100, 5000, 20000, BYTES};
#define COUNT(table) (sizeof table / sizeof table[0])

/* The send completion handlers' results; they run under the lock, and the program reads them after
 * the counters have changed. */
static int sent, sent_wrong, received;
static uint sent_target;

static void send_handler(lapi_handle_t *h, void *param, lapi_sh_info_t *info)
{
	sent_wrong += *h != hndl || info->src != sent_target || info->reason != LAPI_SUCCESS;
	__atomic_fetch_add((int *)param, 1, __ATOMIC_RELEASE);
}

static void receive_handler(lapi_handle_t *h, void *param)
{
	(void)h;
	__atomic_fetch_add((int *)param, 1, __ATOMIC_RELEASE);
}

static void *header(lapi_handle_t *h, void *uhdr, uint *uhdr_len, ulong *msg_len,
                    compl_hndlr_t **comp_h, void **uinfo)
{
	(void)h, (void)uhdr, (void)uhdr_len, (void)msg_len;
	*comp_h = NULL;
	*uinfo = NULL;
	return sink;
}

static void *tgt_info[4];
static ulong tgt_len[4];
static lapi_vec_t tgt_vec;

static lapi_vec_t *vector_header(lapi_handle_t *h, void *uhdr, uint *uhdr_len, ulong *len_vec[],
                                 compl_hndlr_t **comp_h, void **uinfo)
{
	(void)h, (void)uhdr, (void)uhdr_len, (void)len_vec;
	*comp_h = NULL;
	*uinfo = NULL;
	return &tgt_vec;
}

static void prepare(void *handler)
{
	counter_zero(&tgt_cntr);
	counter_zero(&org_cntr);
	counter_zero(&cmpl_cntr);
	exchange(sink, sinks);
	exchange(source, sources);
	exchange(&tgt_cntr, tgt_cntrs);
	exchange(handler, handlers);
	next = (task_id + 1) % num_tasks;
	sent_target = (uint)next;
	sent_wrong = 0;
	__atomic_store_n(&sent, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&received, 0, __ATOMIC_RELAXED);
	memset(sink, 0, sizeof sink);
	conform_sync(); /* nobody sends before everybody is ready */
}

#define LONG(pointer) ((lapi_long_t)(uintptr_t)(pointer))

static void after(int times)
{
	counter_wait(&org_cntr, 1);
	counter_wait(&tgt_cntr, 1);
	counter_wait(&cmpl_cntr, 1);
	POLL_UNTIL(peek(&sent) >= times); /* it may run after the counter has changed */
	CHECK_EQUAL(peek(&sent), times);
	CHECK_EQUAL(sent_wrong, 0);
}

static void xfer_put(void)
{
	size_t i;
	prepare(NULL);
	for (i = 0; i < COUNT(lengths); i++) {
		lapi_xfer_t x;
		memset(&x, 0xEE, sizeof x);
		fill_pattern(source, lengths[i], (unsigned)i);
		x.Put.Xfer_type = LAPI_PUT_XFER;
		x.Put.flags = i % 2 ? LAPI_USE_BULK_XFER : 0;
		x.Put.tgt = (uint)next;
		x.Put.tgt_addr = LONG(sinks[next]);
		x.Put.org_addr = source;
		x.Put.len = lengths[i];
		x.Put.shdlr = send_handler;
		x.Put.sinfo = &sent;
		x.Put.tgt_cntr = LONG(tgt_cntrs[next]);
		x.Put.org_cntr = &org_cntr;
		x.Put.cmpl_cntr = &cmpl_cntr;
		LAPI_OK(LAPI_Xfer(hndl, &x));
		memset(&x, 0, sizeof x); /* it is read before the return */
		after((int)i + 1);
		CHECK(same_pattern(sink, lengths[i], (unsigned)i));
		conform_sync();
	}
}

static void xfer_get(void)
{
	size_t i;
	prepare(NULL);
	fill_pattern(source, BYTES, 3);
	conform_sync();
	for (i = 0; i < COUNT(lengths); i++) {
		lapi_xfer_t x;
		memset(&x, 0xEE, sizeof x);
		x.Get.Xfer_type = LAPI_GET_XFER;
		x.Get.flags = 0;
		x.Get.tgt = (uint)next;
		x.Get.tgt_addr = LONG(sources[next]);
		x.Get.org_addr = sink;
		x.Get.len = lengths[i];
		x.Get.tgt_cntr = LONG(tgt_cntrs[next]);
		x.Get.org_cntr = &org_cntr;
		x.Get.chndlr = receive_handler;
		x.Get.cinfo = &received;
		LAPI_OK(LAPI_Xfer(hndl, &x));
		counter_wait(&org_cntr, 1);
		counter_wait(&tgt_cntr, 1);
		POLL_UNTIL(peek(&received) > (int)i);
		CHECK_EQUAL(peek(&received), (int)i + 1);
		CHECK(same_pattern(sink, lengths[i], 3));
	}
}

static void send_active_messages(lapi_xfer_type_t type)
{
	size_t i;
	prepare((void *)(uintptr_t)header);
	for (i = 0; i < COUNT(lengths); i++) {
		lapi_xfer_t x;
		memset(&x, 0xEE, sizeof x);
		fill_pattern(source, lengths[i], (unsigned)i);
		x.Am.Xfer_type = type;
		x.Am.flags = 0;
		x.Am.tgt = (uint)next;
		x.Am.hdr_hdl = LONG(handlers[next]);
		x.Am.uhdr = NULL;
		x.Am.uhdr_len = 0;
		x.Am.udata = source;
		x.Am.udata_len = lengths[i];
		x.Am.shdlr = send_handler;
		x.Am.sinfo = &sent;
		x.Am.tgt_cntr = LONG(tgt_cntrs[next]);
		x.Am.org_cntr = &org_cntr;
		x.Am.cmpl_cntr = &cmpl_cntr;
		LAPI_OK(LAPI_Xfer(hndl, &x));
		after((int)i + 1);
		CHECK(same_pattern(sink, lengths[i], (unsigned)i));
		conform_sync();
	}
}

static void xfer_am(void)
{
	send_active_messages(LAPI_AM_XFER);
}

/* The same structure; made for short messages, but any length works. */
static void xfer_am_lw(void)
{
	send_active_messages(LAPI_AM_LW_XFER);
}

static void *org_info[4];
static ulong org_len[4];
static lapi_vec_t org_vec;

/* Two halves, swapped at the other side. */
static void halves(ulong n, unsigned char *from, unsigned char *to)
{
	ulong half = n / 2;
	org_info[0] = from;
	org_info[1] = from + half;
	org_len[0] = tgt_len[0] = half;
	org_len[1] = tgt_len[1] = n - half;
	tgt_info[0] = to + (n - half);
	tgt_info[1] = to;
	org_vec.vec_type = tgt_vec.vec_type = LAPI_GEN_IOVECTOR;
	org_vec.num_vecs = tgt_vec.num_vecs = 2;
	org_vec.info = org_info;
	org_vec.len = org_len;
	tgt_vec.info = tgt_info;
	tgt_vec.len = tgt_len;
}

static int swapped(ulong n, const unsigned char *from, const unsigned char *to)
{
	return memcmp(from, to + (n - n / 2), n / 2) == 0 &&
	       memcmp(from + n / 2, to, n - n / 2) == 0;
}

/* Both kinds of target vector: lapi_lvec_t, and lapi_vec_t with USE_TGT_VEC_TYPE. */
static void xfer_putv_and_getv(void)
{
	size_t i;
	int round;
	prepare(NULL);
	fill_pattern(source, BYTES, 4);
	conform_sync();
	for (i = 0; i < COUNT(lengths); i++)
		for (round = 0; round < 2; round++) {
			lapi_long_t wide[2];
			lapi_lvec_t lvec;
			lapi_xfer_t x;
			void *tgt = &lvec;
			halves(lengths[i], source, (unsigned char *)sinks[next]);
			wide[0] = LONG(tgt_info[0]);
			wide[1] = LONG(tgt_info[1]);
			lvec.vec_type = LAPI_GEN_IOVECTOR;
			lvec.num_vecs = 2;
			lvec.info = wide;
			lvec.len = tgt_len;
			if (round)
				tgt = &tgt_vec;
			memset(&x, 0xEE, sizeof x);
			x.Putv.Xfer_type = LAPI_PUTV_XFER;
			x.Putv.flags = round ? USE_TGT_VEC_TYPE : 0;
			x.Putv.tgt = (uint)next;
			x.Putv.shdlr = send_handler;
			x.Putv.sinfo = &sent;
			x.Putv.org_vec = &org_vec;
			x.Putv.tgt_vec = tgt;
			x.Putv.tgt_cntr = LONG(tgt_cntrs[next]);
			x.Putv.org_cntr = &org_cntr;
			x.Putv.cmpl_cntr = &cmpl_cntr;
			LAPI_OK(LAPI_Xfer(hndl, &x));
			after(2 * (int)i + round + 1);
			CHECK(swapped(lengths[i], source, sink));
			conform_sync();
			memset(sink, 0, sizeof sink);
			halves(lengths[i], (unsigned char *)sink, (unsigned char *)sources[next]);
			wide[0] = LONG(tgt_info[0]);
			wide[1] = LONG(tgt_info[1]);
			memset(&x, 0xEE, sizeof x);
			x.Getv.Xfer_type = LAPI_GETV_XFER;
			x.Getv.flags = round ? USE_TGT_VEC_TYPE : 0;
			x.Getv.tgt = (uint)next;
			x.Getv.org_vec = &org_vec;
			x.Getv.tgt_vec = tgt;
			x.Getv.tgt_cntr = 0;
			x.Getv.org_cntr = &org_cntr;
			x.Getv.chndlr = receive_handler;
			x.Getv.cinfo = &received;
			LAPI_OK(LAPI_Xfer(hndl, &x));
			counter_wait(&org_cntr, 1);
			POLL_UNTIL(peek(&received) >= 2 * (int)i + round + 1);
			CHECK(swapped(lengths[i], sink, source));
			conform_sync();
			memset(sink, 0, sizeof sink);
			conform_sync();
		}
}

static void xfer_amv(void)
{
	size_t i;
	prepare((void *)(uintptr_t)vector_header);
	fill_pattern(source, BYTES, 5);
	for (i = 0; i < COUNT(lengths); i++) {
		lapi_xfer_t x;
		halves(lengths[i], source, sink);
		conform_sync(); /* the header handler's vector is ready */
		memset(&x, 0xEE, sizeof x);
		x.Amv.Xfer_type = LAPI_AMV_XFER;
		x.Amv.flags = 0;
		x.Amv.tgt = (uint)next;
		x.Amv.hdr_hdl = LONG(handlers[next]);
		x.Amv.uhdr_len = 8;
		x.Amv.uhdr = source;
		x.Amv.shdlr = send_handler;
		x.Amv.sinfo = &sent;
		x.Amv.org_vec = &org_vec;
		x.Amv.tgt_cntr = LONG(tgt_cntrs[next]);
		x.Amv.org_cntr = &org_cntr;
		x.Amv.cmpl_cntr = &cmpl_cntr;
		LAPI_OK(LAPI_Xfer(hndl, &x));
		after((int)i + 1);
		CHECK(swapped(lengths[i], source, sink));
		conform_sync();
	}
}

static int word;
static long long word64;

static void xfer_rmw(void)
{
	int in[2] = {5, 9}, previous = -1;
	long long in64[2] = {1LL << 40, 7}, previous64 = -1;
	lapi_xfer_t x;
	prepare(NULL);
	word = 100;
	word64 = 200;
	memset(&x, 0xEE, sizeof x);
	x.Rmw.Xfer_type = LAPI_RMW_XFER;
	x.Rmw.op = FETCH_AND_ADD;
	x.Rmw.tgt = (uint)task_id;
	x.Rmw.size = 32;
	x.Rmw.tgt_var = LONG(&word);
	x.Rmw.in_val = in;
	x.Rmw.prev_tgt_val = &previous;
	x.Rmw.org_cntr = &org_cntr;
	x.Rmw.shdlr = send_handler;
	x.Rmw.sinfo = &sent;
	sent_target = (uint)task_id;
	LAPI_OK(LAPI_Xfer(hndl, &x));
	counter_wait(&org_cntr, 1);
	CHECK_EQUAL(previous, 100);
	CHECK_EQUAL(word, 105);
	x.Rmw.op = SWAP;
	x.Rmw.size = 64;
	x.Rmw.tgt_var = LONG(&word64);
	x.Rmw.in_val = in64;
	x.Rmw.prev_tgt_val = &previous64;
	LAPI_OK(LAPI_Xfer(hndl, &x));
	counter_wait(&org_cntr, 1);
	CHECK_EQUAL(previous64, 200);
	CHECK_EQUAL(word64, 1LL << 40);
	POLL_UNTIL(peek(&sent) >= 2);
	CHECK_EQUAL(sent_wrong, 0);
	x.Rmw.size = 16;
	CHECK_CODE(LAPI_ERR_OP_SZ, LAPI_Xfer(hndl, &x));
	x.Rmw.size = 64;
	x.Rmw.op = (RMW_ops_t)9;
	CHECK_CODE(LAPI_ERR_RMW_OP, LAPI_Xfer(hndl, &x));
	x.Rmw.op = SWAP;
	x.Rmw.tgt_var = 0;
	CHECK_CODE(LAPI_ERR_TGT_VAR_NULL, LAPI_Xfer(hndl, &x));
	x.Rmw.tgt_var = LONG(&word64);
	x.Rmw.in_val = NULL;
	CHECK_CODE(LAPI_ERR_IN_VAL_NULL, LAPI_Xfer(hndl, &x));
}

static void xfer_errors(void)
{
	static const int none[] = {-1, LAPI_RDMA_XFER, LAPI_LAST_XFER, 1000};
	lapi_xfer_t x;
	size_t i;
	prepare((void *)(uintptr_t)header);
	memset(&x, 0, sizeof x);
	for (i = 0; i < COUNT(none); i++) {
		x.Xfer_type = (lapi_xfer_type_t)none[i];
		CHECK_CODE(LAPI_ERR_XFER_CMD, LAPI_Xfer(hndl, &x));
	}
	CHECK_CODE(LAPI_ERR_XFER_CMD, LAPI_Xfer(hndl, NULL));
	x.Xfer_type = LAPI_PUT_XFER;
	CHECK_CODE(LAPI_ERR_HNDL_INVALID, LAPI_Xfer(hndl + 1, &x));
	x.Put.tgt = (uint)num_tasks;
	CHECK_CODE(LAPI_ERR_TGT, LAPI_Xfer(hndl, &x));
	x.Put.tgt = 0;
	x.Put.len = 8;
	CHECK_CODE(LAPI_ERR_TGT_ADDR_NULL, LAPI_Xfer(hndl, &x));
	x.Put.tgt_addr = LONG(sinks[0]);
	CHECK_CODE(LAPI_ERR_ORG_ADDR_NULL, LAPI_Xfer(hndl, &x));
	x.Put.org_addr = source;
	x.Put.len = (ulong)LAPI_MAX_MSG_SZ + 1;
	CHECK_CODE(LAPI_ERR_DATA_LEN, LAPI_Xfer(hndl, &x));
	memset(&x, 0, sizeof x);
	x.Xfer_type = LAPI_AM_XFER;
	CHECK_CODE(LAPI_ERR_HDR_HNDLR_NULL, LAPI_Xfer(hndl, &x));
	x.Am.hdr_hdl = LONG(handlers[0]);
	x.Am.uhdr_len = 8;
	CHECK_CODE(LAPI_ERR_UHDR_NULL, LAPI_Xfer(hndl, &x));
	memset(&x, 0, sizeof x);
	x.Xfer_type = LAPI_PUTV_XFER;
	CHECK_CODE(LAPI_ERR_ORG_VEC_NULL, LAPI_Xfer(hndl, &x));
	x.Xfer_type = LAPI_GETV_XFER;
	CHECK_CODE(LAPI_ERR_ORG_VEC_NULL, LAPI_Xfer(hndl, &x));
	x.Xfer_type = LAPI_AMV_XFER;
	x.Amv.hdr_hdl = LONG(handlers[0]);
	CHECK_CODE(LAPI_ERR_ORG_VEC_NULL, LAPI_Xfer(hndl, &x));
}

/* A handler sends the next message itself, a thousand times: neither depth nor memory grows, each
 * runs once. */
enum { CHAIN = 1000 };
static int links;

static void chain_handler(lapi_handle_t *h, void *param, lapi_sh_info_t *info)
{
	lapi_xfer_t x;
	int code;
	if (++links >= CHAIN)
		return;
	memset(&x, 0, sizeof x);
	x.Put.Xfer_type = LAPI_PUT_XFER;
	x.Put.tgt = info->src;
	x.Put.tgt_addr = LONG(sinks[info->src]);
	x.Put.org_addr = source;
	x.Put.len = 8;
	x.Put.shdlr = chain_handler;
	x.Put.sinfo = param;
	code = LAPI_Xfer(*h, &x);
	if (code != LAPI_SUCCESS)
		sent_wrong++;
	/* A call that would wait is refused here. */
	if (links == 2 && LAPI_Fence(*h) == LAPI_SUCCESS)
		sent_wrong++;
}

static void xfer_send_handlers_that_send(void)
{
	lapi_xfer_t x;
	prepare(NULL);
	links = 0;
	memset(&x, 0, sizeof x);
	x.Put.Xfer_type = LAPI_PUT_XFER;
	x.Put.tgt = (uint)next;
	x.Put.tgt_addr = LONG(sinks[next]);
	x.Put.org_addr = source;
	x.Put.len = 8;
	x.Put.shdlr = chain_handler;
	x.Put.sinfo = &sent;
	LAPI_OK(LAPI_Xfer(hndl, &x));
	POLL_UNTIL(peek(&links) >= CHAIN);
	conform_sync();
	CHECK_EQUAL(links, CHAIN);
	CHECK_EQUAL(sent_wrong, 0);
}

/* The handler frees its buffer; every one of many runs once. */
static void free_handler(lapi_handle_t *h, void *param, lapi_sh_info_t *info)
{
	(void)h;
	sent_wrong += info->reason != LAPI_SUCCESS;
	memset(param, 0xDD, 1000); /* whoever still read it would send this */
	free(param);
	__atomic_fetch_add(&sent, 1, __ATOMIC_RELEASE);
}

static void xfer_send_handlers_that_free(void)
{
	enum { MESSAGES = 200 };
	int i;
	prepare(NULL);
	for (i = 0; i < MESSAGES; i++) {
		unsigned char *buffer = malloc(1000);
		lapi_xfer_t x;
		if (!CHECK(buffer != NULL))
			return;
		fill_pattern(buffer, 1000, (unsigned)i);
		memset(&x, 0, sizeof x);
		x.Put.Xfer_type = LAPI_PUT_XFER;
		x.Put.tgt = (uint)next;
		x.Put.tgt_addr = LONG((char *)sinks[next] + 1000 * i);
		x.Put.org_addr = buffer;
		x.Put.len = 1000;
		x.Put.shdlr = free_handler;
		x.Put.sinfo = buffer;
		LAPI_OK(LAPI_Xfer(hndl, &x));
	}
	conform_sync();
	POLL_UNTIL(peek(&sent) >= MESSAGES);
	CHECK_EQUAL(peek(&sent), MESSAGES);
	CHECK_EQUAL(sent_wrong, 0);
	for (i = 0; i < MESSAGES; i++)
		CHECK(same_pattern(sink + 1000 * i, 1000, (unsigned)i));
}

static const conform_case cases[] = {
	CONFORM_CASE(xfer_put),
	CONFORM_CASE(xfer_get),
	CONFORM_CASE(xfer_am),
	CONFORM_CASE(xfer_am_lw),
	CONFORM_CASE(xfer_putv_and_getv),
	CONFORM_CASE(xfer_amv),
	CONFORM_CASE(xfer_rmw),
	CONFORM_CASE(xfer_errors),
	CONFORM_CASE(xfer_send_handlers_that_send),
	CONFORM_CASE(xfer_send_handlers_that_free),
};

int main(int argc, char **argv)
{
	return conform_main(argc, argv, cases, sizeof cases / sizeof cases[0]);
}
