/*
 * interop.c - LAPI_Address_init64 and LAPI_Xfer, which name another task's memory in 64 bits
 * whatever a task's own word size is: every type of transfer but read-modify-writes, which are in
 * interop_words.c, and handlers. Alone it runs among
 * tasks of one word size; tests/c/samples/interop/run-mixed mixes them.
 *
 * Each task works on the next one, and checks what the previous one did here.
 */
#include "conform.h"

#define ROOM 400000
#define BLOCKS 6

static unsigned char source[ROOM], sink[ROOM], back[ROOM];
static lapi_cntr_t tgt_cntr, org_cntr, cmpl_cntr;
static lapi_long_t sinks[CONFORM_MAX_TASKS], sources[CONFORM_MAX_TASKS],
	tgt_cntrs[CONFORM_MAX_TASKS], handlers[CONFORM_MAX_TASKS],
	vector_handlers[CONFORM_MAX_TASKS], dgsp_handlers[CONFORM_MAX_TASKS];
static int next, previous;

/* Counts of the handlers' calls, from the dispatcher and the completion thread. */
static int headers, completions, parameter, answers, one_packets;
static lapi_dg_handle_t receivers;

static void address64(const void *mine, lapi_long_t *table)
{
	LAPI_OK(LAPI_Address_init64(hndl, (lapi_long_t)(uintptr_t)mine, table));
}

static void *header_handler(lapi_handle_t *h, void *uhdr, uint *uhdr_len, ulong *msg_len,
                            compl_hndlr_t **completion, void **user_info);
static void *vector_handler(lapi_handle_t *h, void *uhdr, uint *uhdr_len, ulong **len_vec,
                            compl_hndlr_t **completion, void **user_info);
static void *dgsp_handler(lapi_handle_t *h, void *uhdr, uint *uhdr_len, ulong *msg_len,
                          compl_hndlr_t **completion, void **user_info);

/* At the beginning of each case: addresses, counters, and what this task sends. */
static void prepare(unsigned seed)
{
	next = (task_id + 1) % num_tasks;
	previous = (task_id + num_tasks - 1) % num_tasks;
	counter_zero(&tgt_cntr);
	counter_zero(&org_cntr);
	counter_zero(&cmpl_cntr);
	memset(sink, 0, sizeof sink);
	memset(back, 0, sizeof back);
	fill_pattern(source, sizeof source, seed + (unsigned)task_id);
	headers = completions = parameter = answers = one_packets = 0;
	address64(sink, sinks);
	address64(source, sources);
	address64(&tgt_cntr, tgt_cntrs);
	address64((void *)(uintptr_t)header_handler, handlers);
	address64((void *)(uintptr_t)vector_handler, vector_handlers);
	address64((void *)(uintptr_t)dgsp_handler, dgsp_handlers);
}

/* The origin's two counters and, of the previous task's transfer, the target's: each changed
 * once. */
static void all_counters(void)
{
	counter_wait(&org_cntr, 1);
	counter_wait(&cmpl_cntr, 1);
	counter_wait(&tgt_cntr, 1);
	conform_sync();
	CHECK_EQUAL(counter_value(&org_cntr) + counter_value(&cmpl_cntr) + counter_value(&tgt_cntr),
	            0);
	conform_sync();
}

static void put(lapi_long_t to, void *from, size_t n)
{
	lapi_xfer_t x;
	memset(&x, 0, sizeof x);
	x.Put.Xfer_type = LAPI_PUT_XFER;
	x.Put.tgt = (uint)next;
	x.Put.tgt_addr = to;
	x.Put.org_addr = from;
	x.Put.len = n;
	x.Put.tgt_cntr = tgt_cntrs[next];
	x.Put.org_cntr = &org_cntr;
	x.Put.cmpl_cntr = &cmpl_cntr;
	LAPI_OK(LAPI_Xfer(hndl, &x));
}

static void put_and_get_in_64_bits(void)
{
	static const size_t lengths[] = {0, 1, 8, 999, 5000, 70001, ROOM};
	size_t i;
	for (i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
		lapi_xfer_t x;
		prepare((unsigned)(10 * i));
		put(lengths[i] ? sinks[next] : 0, lengths[i] ? source : NULL, lengths[i]);
		all_counters();
		CHECK(same_pattern(sink, lengths[i], (unsigned)(10 * i) + (unsigned)previous));
		memset(&x, 0, sizeof x);
		x.Get.Xfer_type = LAPI_GET_XFER;
		x.Get.tgt = (uint)next;
		x.Get.tgt_addr = lengths[i] ? sources[next] : 0;
		x.Get.org_addr = lengths[i] ? back : NULL;
		x.Get.len = lengths[i];
		x.Get.tgt_cntr = tgt_cntrs[next];
		x.Get.org_cntr = &org_cntr;
		LAPI_OK(LAPI_Xfer(hndl, &x));
		counter_wait(&org_cntr, 1);
		counter_wait(&tgt_cntr, 1);
		CHECK(same_pattern(back, lengths[i], (unsigned)(10 * i) + (unsigned)next));
		conform_sync();
	}
}

/* ---- active messages ---- */

static void completion_handler(lapi_handle_t *h, void *info)
{
	lapi_xfer_t x;
	int header[2] = {task_id, -1};
	lapi_cntr_t sent;
	parameter = *(int *)info;
	/* An answer by an index, from the completion handler. */
	memset(&sent, 0, sizeof sent);
	memset(&x, 0, sizeof x);
	x.Am.Xfer_type = LAPI_AM_XFER;
	x.Am.tgt = (uint)previous;
	x.Am.hdr_hdl = 7;
	x.Am.uhdr = header;
	x.Am.uhdr_len = sizeof header;
	x.Am.org_cntr = &sent;
	LAPI_OK(LAPI_Setcntr(*h, &sent, 0));
	LAPI_OK(LAPI_Xfer(*h, &x));
	LAPI_OK(LAPI_Waitcntr(*h, &sent, 1, NULL));
	__atomic_add_fetch(&completions, 1, __ATOMIC_RELEASE);
}

static void *answer_handler(lapi_handle_t *h, void *uhdr, uint *uhdr_len, ulong *msg_len,
                            compl_hndlr_t **completion, void **user_info)
{
	const int *header = uhdr;
	(void)h;
	CHECK(*uhdr_len == 2 * sizeof(int) && *msg_len == 0 && header[0] == next &&
	      header[1] == -1);
	*completion = NULL;
	*user_info = NULL;
	__atomic_add_fetch(&answers, 1, __ATOMIC_RELEASE);
	return NULL;
}

static void *header_handler(lapi_handle_t *h, void *uhdr, uint *uhdr_len, ulong *msg_len,
                            compl_hndlr_t **completion, void **user_info)
{
	const int *header = uhdr;
	static int given;
	lapi_return_info_t *info = (lapi_return_info_t *)msg_len;
	(void)h;
	CHECK_EQUAL(*uhdr_len, 3 * sizeof(int));
	CHECK_EQUAL(header[0], previous);
	CHECK_EQUAL(header[1], *msg_len);
	CHECK_EQUAL(info->src, previous);
	one_packets += info->udata_one_pkt_ptr != NULL;
	given = header[2];
	headers++;
	*completion = completion_handler;
	*user_info = &given;
	return sink;
}

static void messages_and_handlers(void)
{
	static const size_t lengths[] = {0, 4, 100, 4000, 100000, ROOM};
	size_t i;
	for (i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
		int header[3] = {task_id, (int)lengths[i], 4711 + (int)i};
		lapi_xfer_t x;
		prepare(100 + (unsigned)i);
		LAPI_OK(LAPI_Addr_set(hndl, (void *)(uintptr_t)answer_handler, 7));
		conform_sync();
		memset(&x, 0, sizeof x);
		x.Am.Xfer_type = LAPI_AM_XFER;
		x.Am.tgt = (uint)next;
		x.Am.hdr_hdl = handlers[next];
		x.Am.uhdr = header;
		x.Am.uhdr_len = sizeof header;
		x.Am.udata = lengths[i] ? source : NULL;
		x.Am.udata_len = lengths[i];
		x.Am.tgt_cntr = tgt_cntrs[next];
		x.Am.org_cntr = &org_cntr;
		x.Am.cmpl_cntr = &cmpl_cntr;
		LAPI_OK(LAPI_Xfer(hndl, &x));
		all_counters();
		POLL_UNTIL(peek(&answers) == 1);
		CHECK(same_pattern(sink, lengths[i], 100 + (unsigned)i + (unsigned)previous));
		CHECK(headers == 1 && peek(&completions) == 1 && parameter == 4711 + (int)i);
		if (lengths[i] == 4 || lengths[i] == 100)
			CHECK_EQUAL(one_packets, 1);
		conform_sync();
	}
}

/* ---- vectors ---- */

/* Blocks of odd lengths; at the target they lie in reverse order. */
static size_t make_lists(void **from, lapi_long_t *to, ulong *length, lapi_long_t there,
                         unsigned char *here)
{
	size_t i, total = 0;
	for (i = 0; i < BLOCKS; i++)
		length[i] = (ulong)(37 << (2 * i));
	for (i = 0; i < BLOCKS; i++) {
		from[i] = here + 2 * total;
		total += length[i];
		to[i] = there + ROOM - 2 * total;
	}
	return total;
}

static void check_lists(const unsigned char *at, unsigned seed)
{
	unsigned char expected[ROOM / 4];
	void *from[BLOCKS];
	lapi_long_t to[BLOCKS];
	ulong length[BLOCKS];
	size_t i;
	make_lists(from, to, length, 0, NULL);
	for (i = 0; i < BLOCKS; i++) {
		size_t offset = (size_t)(uintptr_t)from[i];
		static unsigned char all[ROOM];
		fill_pattern(all, offset + length[i], seed);
		memcpy(expected, all + offset, length[i]);
		CHECK(memcmp(at + (size_t)to[i], expected, length[i]) == 0);
	}
}

static void lists_of_blocks(void)
{
	void *from[BLOCKS];
	lapi_long_t to[BLOCKS];
	ulong length[BLOCKS];
	lapi_vec_t here = {LAPI_GEN_IOVECTOR, BLOCKS, from, length};
	lapi_lvec_t there = {LAPI_GEN_IOVECTOR, BLOCKS, to, length};
	lapi_xfer_t x;
	size_t i;
	prepare(200);
	make_lists(from, to, length, sinks[next], source);
	memset(&x, 0, sizeof x);
	x.Putv.Xfer_type = LAPI_PUTV_XFER;
	x.Putv.tgt = (uint)next;
	x.Putv.org_vec = &here;
	x.Putv.tgt_vec = &there;
	x.Putv.tgt_cntr = tgt_cntrs[next];
	x.Putv.org_cntr = &org_cntr;
	x.Putv.cmpl_cntr = &cmpl_cntr;
	LAPI_OK(LAPI_Xfer(hndl, &x));
	all_counters();
	check_lists(sink, 200 + (unsigned)previous);
	/* And back again: each block to where it was here. */
	for (i = 0; i < BLOCKS; i++)
		from[i] = back + ((unsigned char *)from[i] - source);
	memset(&x, 0, sizeof x);
	x.Getv.Xfer_type = LAPI_GETV_XFER;
	x.Getv.tgt = (uint)next;
	x.Getv.org_vec = &here;
	x.Getv.tgt_vec = &there;
	x.Getv.tgt_cntr = tgt_cntrs[next];
	x.Getv.org_cntr = &org_cntr;
	LAPI_OK(LAPI_Xfer(hndl, &x));
	counter_wait(&org_cntr, 1);
	counter_wait(&tgt_cntr, 1);
	for (i = 0; i < BLOCKS; i++)
		CHECK(memcmp(from[i], source + ((unsigned char *)from[i] - back), length[i]) == 0);
}

/* Rows of 24 bytes, 100 apart there and 40 apart here; the target's numbers are of 64 bits. */
static void strided_vectors(void)
{
	ulong here_numbers[3] = {(ulong)(uintptr_t)source, 24, 40};
	lapi_long_t there_numbers[3];
	lapi_vec_t here = {LAPI_GEN_STRIDED_XFER, 1000, (void **)here_numbers, NULL};
	lapi_lvec_t there = {LAPI_GEN_STRIDED_XFER, 1000, there_numbers, NULL};
	static unsigned char expected[ROOM];
	lapi_xfer_t x;
	int i, wrong = 0;
	prepare(300);
	there_numbers[0] = sinks[next];
	there_numbers[1] = 24;
	there_numbers[2] = 100;
	memset(&x, 0, sizeof x);
	x.Putv.Xfer_type = LAPI_PUTV_XFER;
	x.Putv.tgt = (uint)next;
	x.Putv.org_vec = &here;
	x.Putv.tgt_vec = &there;
	x.Putv.tgt_cntr = tgt_cntrs[next];
	x.Putv.org_cntr = &org_cntr;
	x.Putv.cmpl_cntr = &cmpl_cntr;
	LAPI_OK(LAPI_Xfer(hndl, &x));
	all_counters();
	fill_pattern(expected, sizeof expected, 300 + (unsigned)previous);
	for (i = 0; i < 1000; i++)
		wrong += memcmp(sink + 100 * i, expected + 40 * i, 24) != 0 ||
		         sink[100 * i + 24] != 0;
	CHECK_EQUAL(wrong, 0);
	conform_sync();
	here_numbers[0] = (ulong)(uintptr_t)back;
	memset(&x, 0, sizeof x);
	x.Getv.Xfer_type = LAPI_GETV_XFER;
	x.Getv.tgt = (uint)next;
	x.Getv.org_vec = &here;
	x.Getv.tgt_vec = &there;
	x.Getv.org_cntr = &org_cntr;
	LAPI_OK(LAPI_Xfer(hndl, &x));
	counter_wait(&org_cntr, 1);
	for (wrong = 0, i = 0; i < 1000; i++)
		wrong += memcmp(back + 40 * i, source + 40 * i, 24) != 0;
	CHECK_EQUAL(wrong, 0);
}

/* The target's answer to a vector: two blocks, whatever the origin has. */
static void *vector_handler(lapi_handle_t *h, void *uhdr, uint *uhdr_len, ulong **len_vec,
                            compl_hndlr_t **completion, void **user_info)
{
	static void *to[2];
	static ulong length[2];
	static lapi_vec_t here = {LAPI_GEN_GENERIC, 2, to, length};
	const int *header = uhdr;
	(void)h;
	CHECK(*uhdr_len == 2 * sizeof(int) && header[0] == previous);
	CHECK(*len_vec && (*len_vec)[0] == 37 &&
	      (*len_vec)[BLOCKS - 1] == (37 << (2 * (BLOCKS - 1))));
	to[0] = sink;
	to[1] = sink + ROOM / 2;
	length[0] = 1000;
	length[1] = (ulong)header[1] - 1000;
	headers++;
	*completion = NULL;
	*user_info = NULL;
	return &here;
}

static void vectors_in_messages(void)
{
	void *from[BLOCKS];
	lapi_long_t to[BLOCKS];
	ulong length[BLOCKS];
	lapi_vec_t here = {LAPI_GEN_GENERIC, BLOCKS, from, length};
	static unsigned char all[ROOM], joined[ROOM];
	lapi_xfer_t x;
	size_t i, total;
	int header[2];
	prepare(400);
	total = make_lists(from, to, length, 0, source);
	header[0] = task_id;
	header[1] = (int)total;
	memset(&x, 0, sizeof x);
	x.Amv.Xfer_type = LAPI_AMV_XFER;
	x.Amv.tgt = (uint)next;
	x.Amv.hdr_hdl = vector_handlers[next];
	x.Amv.uhdr = header;
	x.Amv.uhdr_len = sizeof header;
	x.Amv.org_vec = &here;
	x.Amv.tgt_cntr = tgt_cntrs[next];
	x.Amv.org_cntr = &org_cntr;
	x.Amv.cmpl_cntr = &cmpl_cntr;
	LAPI_OK(LAPI_Xfer(hndl, &x));
	all_counters();
	CHECK_EQUAL(headers, 1);
	fill_pattern(all, sizeof all, 400 + (unsigned)previous);
	for (total = 0, i = 0; i < BLOCKS; i++) {
		memcpy(joined + total, all + ((unsigned char *)from[i] - source), length[i]);
		total += length[i];
	}
	CHECK(memcmp(sink, joined, 1000) == 0);
	CHECK(memcmp(sink + ROOM / 2, joined + 1000, total - 1000) == 0);
}

/* ---- DGSPs: each task's program is of its own word size ---- */

static lapi_dg_handle_t enroll_every_other(void)
{
	struct {
		lapi_dgsm_copy_t copy;
		lapi_dgsm_iterate_t iterate;
	} code;
	lapi_dgsp_descr_t d;
	lapi_util_t cmd;
	memset(&code, 0, sizeof code);
	code.copy.opcode = LAPI_DGSM_COPY;
	code.copy.bytes = 4;
	code.iterate.opcode = LAPI_DGSM_ITERATE;
	code.iterate.iter_loc = -LAPI_DGSM_COPY_SIZE;
	memset(&d, 0, sizeof d);
	d.code = (int *)&code;
	d.code_size = LAPI_DGSM_COPY_SIZE + LAPI_DGSM_ITERATE_SIZE;
	d.depth = 1;
	d.density = LAPI_DGSM_SPARSE;
	d.size = 4;
	d.extent = 8;
	d.rext = 4;
	memset(&cmd, 0, sizeof cmd);
	cmd.RegDgsp.Util_type = LAPI_REGISTER_DGSP;
	cmd.RegDgsp.idgsp = &d;
	LAPI_OK(LAPI_Util(hndl, &cmd));
	return cmd.RegDgsp.dgsp_handle;
}

static void *dgsp_handler(lapi_handle_t *h, void *uhdr, uint *uhdr_len, ulong *msg_len,
                          compl_hndlr_t **completion, void **user_info)
{
	lapi_return_info_t *info = (lapi_return_info_t *)msg_len;
	(void)h, (void)uhdr;
	CHECK_EQUAL(*uhdr_len, 0);
	info->dgsp_handle = receivers;
	info->bytes = *msg_len;
	headers++;
	*completion = NULL;
	*user_info = NULL;
	return sink;
}

/* Every other word from here to every other word there; with an offset, from that byte of the
 * program on. */
static void send_dgsp(lapi_dg_handle_t dgsp, size_t bytes, size_t skipped)
{
	static unsigned char all[ROOM];
	size_t i, wrong = 0;
	lapi_xfer_t x;
	prepare(500 + (unsigned)skipped);
	memset(&x, 0, sizeof x);
	if (skipped) {
		x.Amx.Xfer_type = LAPI_AMX_XFER;
		x.Amx.send_offset_dgsp_bytes = skipped;
	} else {
		x.Dgsp.Xfer_type = LAPI_DGSP_XFER;
	}
	x.Dgsp.tgt = (uint)next;
	x.Dgsp.hdr_hdl = dgsp_handlers[next];
	x.Dgsp.udata = source;
	x.Dgsp.udata_len = bytes;
	x.Dgsp.tgt_cntr = tgt_cntrs[next];
	x.Dgsp.org_cntr = &org_cntr;
	x.Dgsp.cmpl_cntr = &cmpl_cntr;
	x.Dgsp.dgsp = dgsp;
	LAPI_OK(LAPI_Xfer(hndl, &x));
	all_counters();
	CHECK_EQUAL(headers, 1);
	fill_pattern(all, sizeof all, 500 + (unsigned)skipped + (unsigned)previous);
	for (i = 0; i < bytes / 4; i++)
		wrong += memcmp(sink + 8 * i, all + 8 * (i + skipped / 4), 4) != 0 ||
		         sink[8 * i + 4] != 0;
	CHECK_EQUAL(wrong, 0);
	conform_sync();
}

static void programs_of_either_word_size(void)
{
	static const size_t lengths[] = {4, 400, 8000, ROOM / 2 - 400};
	lapi_util_t cmd;
	size_t i;
	receivers = enroll_every_other();
	for (i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
		send_dgsp(receivers, lengths[i], 0);
		send_dgsp(receivers, lengths[i], 40);
	}
	memset(&cmd, 0, sizeof cmd);
	cmd.DrefDgsp.Util_type = LAPI_UNRESERVE_DGSP;
	cmd.DrefDgsp.dgsp_handle = receivers;
	LAPI_OK(LAPI_Util(hndl, &cmd));
}

/* clang-format off */
static const conform_case cases[] = {
	CONFORM_CASE(put_and_get_in_64_bits),
	CONFORM_CASE(messages_and_handlers),
	CONFORM_CASE(lists_of_blocks),
	CONFORM_CASE(strided_vectors),
	CONFORM_CASE(vectors_in_messages),
	CONFORM_CASE(programs_of_either_word_size),
};
/* clang-format on */

int main(int argc, char **argv)
{
	return conform_main(argc, argv, cases, sizeof cases / sizeof cases[0]);
}
