/*
 * amsend.c - LAPI_Amsend: arguments, lengths, counters, errors, indices. handlers.c has what header
 * handlers may ask for.
 */
#include "conform.h"

#define BUFFER_BYTES (1 << 20)

static unsigned char source[BUFFER_BYTES] __attribute__((aligned(64)));
static unsigned char sink[BUFFER_BYTES] __attribute__((aligned(64)));
static lapi_cntr_t tgt_cntr, org_cntr, cmpl_cntr;
static void *tgt_cntrs[CONFORM_MAX_TASKS], *handlers[CONFORM_MAX_TASKS];

static void prepare(hdr_hndlr_t *handler)
{
	counter_zero(&tgt_cntr);
	counter_zero(&org_cntr);
	counter_zero(&cmpl_cntr);
	exchange(&tgt_cntr, tgt_cntrs);
	exchange((void *)(uintptr_t)handler, handlers);
}

static void am_to(int target, const void *uhdr, uint uhdr_len, const void *udata, size_t n,
                  lapi_cntr_t *org, lapi_cntr_t *cmpl)
{
	LAPI_OK(LAPI_Amsend(hndl, (uint)target, handlers[target], (void *)uhdr, uhdr_len,
	                    (void *)udata, n, (lapi_cntr_t *)tgt_cntrs[target], org, cmpl));
}

/* ---- what a header handler is given ---- */

typedef struct seen_arguments {
	int calls, handle_is_right, uhdr_len, src, ret_flags, ctl_flags, dgsp_is_null, aligned,
		magic;
	ulong msg_len;
	int completion_is_null;
	unsigned char uhdr[64];
	pthread_t thread;
} seen_arguments;

static seen_arguments seen;
/* where this task's own user header lies, to tell a copy from the original */
static const void *origin_uhdr;
static int uhdr_was_original;

static void *note_arguments(lapi_handle_t *h, void *uhdr, uint *uhdr_len, ulong *msg_len,
                            compl_hndlr_t **completion, void **user_info)
{
	lapi_return_info_t *info = (lapi_return_info_t *)(void *)msg_len;
	uint n = *uhdr_len < sizeof seen.uhdr ? *uhdr_len : (uint)sizeof seen.uhdr;
	(void)user_info;
	seen.handle_is_right = *h == hndl;
	seen.uhdr_len = (int)*uhdr_len;
	seen.msg_len = info->msg_len;
	seen.src = info->src;
	seen.ret_flags = info->ret_flags;
	seen.ctl_flags = (int)info->ctl_flags;
	seen.dgsp_is_null = info->dgsp_handle == NULL;
	seen.magic = info->MAGIC;
	seen.aligned = (uintptr_t)uhdr % 8 == 0;
	seen.completion_is_null = *completion == NULL;
	uhdr_was_original |= n > 0 && uhdr == origin_uhdr;
	memcpy(seen.uhdr, uhdr, n);
	memset(uhdr, 0xFF, *uhdr_len); /* it is a copy, ours to write */
	seen.calls++;
	return sink;
}

static void am_header_handler_arguments(void)
{
	unsigned char uhdr[16] __attribute__((aligned(8)));
	int next = (task_id + 1) % num_tasks, previous = (task_id + num_tasks - 1) % num_tasks;
	memset(&seen, 0, sizeof seen);
	uhdr_was_original = 0;
	origin_uhdr = uhdr;
	prepare(note_arguments);
	fill_pattern(uhdr, sizeof uhdr, (unsigned)task_id);
	fill_pattern(source, 300, (unsigned)task_id);
	am_to(next, uhdr, sizeof uhdr, source, 300, &org_cntr, &cmpl_cntr);
	counter_wait(&cmpl_cntr, 1);
	counter_wait(&tgt_cntr, 1);
	counter_wait(&org_cntr, 1);
	CHECK_EQUAL(seen.calls, 1);
	CHECK(seen.handle_is_right);
	CHECK_EQUAL(seen.uhdr_len, 16);
	CHECK_EQUAL(seen.msg_len, 300);
	CHECK_EQUAL(seen.src, previous);
	CHECK_EQUAL(seen.ret_flags, LAPI_NORMAL);
	CHECK_EQUAL(seen.ctl_flags, LAPI_DELIVER_MSG);
	CHECK(seen.dgsp_is_null);
	CHECK(seen.completion_is_null);
	CHECK(seen.aligned);
	CHECK(same_pattern(seen.uhdr, 16, (unsigned)previous));
	CHECK(same_pattern(sink, 300, (unsigned)previous));
	/* the origin's own header is untouched */
	CHECK(same_pattern(uhdr, sizeof uhdr, (unsigned)task_id));
}

/* In a message to the task itself, too, the handler gets an aligned copy. */
static void am_uhdr_is_an_aligned_copy_to_self(void)
{
	unsigned char room[96] __attribute__((aligned(8)));
	int offset;
	prepare(note_arguments);
	uhdr_was_original = 0;
	for (offset = 0; offset < 8; offset++) {
		unsigned char *uhdr = room + offset;
		origin_uhdr = uhdr;
		fill_pattern(uhdr, 40, (unsigned)offset);
		am_to(task_id, uhdr, 40, NULL, 0, NULL, &cmpl_cntr);
		counter_wait(&cmpl_cntr, 1);
		CHECK(seen.aligned);
		CHECK(same_pattern(seen.uhdr, 40, (unsigned)offset));
		CHECK(same_pattern(uhdr, 40, (unsigned)offset));
	}
	CHECK(!uhdr_was_original);
}

/* ---- lengths ---- */

static unsigned char last_uhdr[4096];
static uint last_uhdr_len;
static ulong last_msg_len;
static int header_calls, uhdr_misaligned;

static void *keep_header(lapi_handle_t *h, void *uhdr, uint *uhdr_len, ulong *msg_len,
                         compl_hndlr_t **completion, void **user_info)
{
	(void)h, (void)completion, (void)user_info;
	last_uhdr_len = *uhdr_len;
	last_msg_len = *msg_len; /* the original interface: the first member is the length */
	uhdr_misaligned |= (uintptr_t)uhdr % 8 != 0;
	memcpy(last_uhdr, uhdr, *uhdr_len < sizeof last_uhdr ? *uhdr_len : sizeof last_uhdr);
	header_calls++;
	return sink;
}

static void am_lengths_between(int to, int from, size_t uhdr_len, unsigned seed)
{
	size_t lengths[256], i, count = boundary_lengths(lengths, 256, BUFFER_BYTES);
	unsigned char uhdr[4096];
	for (i = 0; i < count; i++) {
		size_t n = lengths[i];
		unsigned mine = (unsigned)(task_id + 3) * seed + (unsigned)i,
			 theirs = (unsigned)(from + 3) * seed + (unsigned)i;
		memset(sink, 0, n + (n < BUFFER_BYTES));
		header_calls = 0;
		conform_sync();
		fill_pattern(uhdr, uhdr_len, mine + 1);
		fill_pattern(source, n, mine);
		am_to(to, uhdr_len ? uhdr : NULL, (uint)uhdr_len, n ? source : NULL, n, &org_cntr,
		      &cmpl_cntr);
		counter_wait(&tgt_cntr, 1);
		CHECK_EQUAL(header_calls, 1);
		CHECK_EQUAL(last_uhdr_len, uhdr_len);
		CHECK_EQUAL(last_msg_len, n);
		CHECK(same_pattern(last_uhdr, uhdr_len, theirs + 1));
		CHECK(same_pattern(sink, n, theirs));
		counter_wait(&org_cntr, 1);
		counter_wait(&cmpl_cntr, 1);
		conform_sync();
	}
}

static void am_all_data_lengths(void)
{
	prepare(keep_header);
	am_lengths_between((task_id + 1) % num_tasks, (task_id + num_tasks - 1) % num_tasks, 24,
	                   11);
}

static void am_all_data_lengths_with_largest_header(void)
{
	prepare(keep_header);
	am_lengths_between((task_id + 1) % num_tasks, (task_id + num_tasks - 1) % num_tasks,
	                   (size_t)query(MAX_UHDR_SZ), 5);
}

static void am_all_data_lengths_without_header(void)
{
	prepare(keep_header);
	am_lengths_between((task_id + 1) % num_tasks, (task_id + num_tasks - 1) % num_tasks, 0, 7);
}

static void am_to_self_all_data_lengths(void)
{
	prepare(keep_header);
	am_lengths_between(task_id, task_id, 16, 3);
}

static void am_header_of(uint n, unsigned char *uhdr)
{
	int next = (task_id + 1) % num_tasks, previous = (task_id + num_tasks - 1) % num_tasks;
	fill_pattern(uhdr, n, (unsigned)task_id + n);
	fill_pattern(source, 40, n);
	conform_sync();
	am_to(next, uhdr, n, source, 40, NULL, NULL);
	counter_wait(&tgt_cntr, 1);
	CHECK_EQUAL(last_uhdr_len, n);
	CHECK(same_pattern(last_uhdr, n, (unsigned)previous + n));
	CHECK(same_pattern(sink, 40, n));
}

/* Header lengths that are multiples of 4 but not of 8 are common, with ERROR_CHK on as well. */
static void am_uhdr_multiple_of_four(void)
{
	unsigned char uhdr[4096];
	uint n;
	prepare(keep_header);
	uhdr_misaligned = 0;
	LAPI_OK(LAPI_Senv(hndl, ERROR_CHK, 1));
	for (n = 4; n <= 132; n += 4)
		am_header_of(n, uhdr);
	am_header_of((uint)query(MAX_UHDR_SZ) / 4 * 4, uhdr);
	CHECK(!uhdr_misaligned);
	LAPI_OK(LAPI_Senv(hndl, ERROR_CHK, conform_checking));
}

/* With ERROR_CHK off any number of bytes works. */
static void am_uhdr_any_length_without_checking(void)
{
	unsigned char uhdr[4096];
	uint n;
	prepare(keep_header);
	uhdr_misaligned = 0;
	LAPI_OK(LAPI_Senv(hndl, ERROR_CHK, 0));
	for (n = 1; n <= 67; n += 2)
		am_header_of(n, uhdr);
	am_header_of((uint)query(MAX_UHDR_SZ) - 1, uhdr);
	CHECK(!uhdr_misaligned);
	LAPI_OK(LAPI_Senv(hndl, ERROR_CHK, conform_checking));
}

static void am_uhdr_length_errors(void)
{
	unsigned char uhdr[8192];
	uint most = (uint)query(MAX_UHDR_SZ);
	int checking;
	prepare(keep_header);
	header_calls = 0;
	conform_sync();
	memset(uhdr, 0, sizeof uhdr);
	for (checking = 0; checking <= 1; checking++) {
		LAPI_OK(LAPI_Senv(hndl, ERROR_CHK, checking));
		CHECK_CODE(LAPI_ERR_UHDR_LEN,
		           LAPI_Amsend(hndl, 0, handlers[0], uhdr, most / 8 * 8 + 8, NULL, 0, NULL,
		                       &org_cntr, NULL));
		CHECK_CODE(LAPI_ERR_UHDR_LEN, LAPI_Amsend(hndl, 0, handlers[0], uhdr, ~0u - 7, NULL,
		                                          0, NULL, &org_cntr, NULL));
	}
	CHECK_CODE(LAPI_ERR_HDR_LEN,
	           LAPI_Amsend(hndl, 0, handlers[0], uhdr, 7, NULL, 0, NULL, &org_cntr, NULL));
	CHECK_CODE(LAPI_ERR_HDR_LEN,
	           LAPI_Amsend(hndl, 0, handlers[0], uhdr, 1, NULL, 0, NULL, &org_cntr, NULL));
	CHECK_CODE(LAPI_ERR_HDR_LEN,
	           LAPI_Amsend(hndl, 0, handlers[0], uhdr, 10, NULL, 0, NULL, &org_cntr, NULL));
	LAPI_OK(LAPI_Senv(hndl, ERROR_CHK, conform_checking));
	conform_sync();
	CHECK_EQUAL(header_calls, 0);
	CHECK_EQUAL(counter_value(&org_cntr), 0);
}

static void am_errors(void)
{
	void *handler;
	prepare(keep_header);
	handler = handlers[0];
	header_calls = 0;
	conform_sync();
	CHECK_CODE(LAPI_ERR_TGT, LAPI_Amsend(hndl, (uint)num_tasks, handler, NULL, 0, NULL, 0, NULL,
	                                     &org_cntr, &cmpl_cntr));
	CHECK_CODE(LAPI_ERR_TGT,
	           LAPI_Amsend(hndl, ~0u, handler, NULL, 0, NULL, 0, NULL, &org_cntr, &cmpl_cntr));
	CHECK_CODE(LAPI_ERR_HDR_HNDLR_NULL,
	           LAPI_Amsend(hndl, 0, NULL, NULL, 0, NULL, 0, NULL, &org_cntr, &cmpl_cntr));
	CHECK_CODE(LAPI_ERR_UHDR_NULL,
	           LAPI_Amsend(hndl, 0, handler, NULL, 8, NULL, 0, NULL, &org_cntr, &cmpl_cntr));
	CHECK_CODE(LAPI_ERR_ORG_ADDR_NULL,
	           LAPI_Amsend(hndl, 0, handler, NULL, 0, NULL, 8, NULL, &org_cntr, &cmpl_cntr));
	CHECK_CODE(LAPI_ERR_DATA_LEN,
	           LAPI_Amsend(hndl, 0, handler, NULL, 0, source, (ulong)LAPI_MAX_MSG_SZ + 1, NULL,
	                       &org_cntr, &cmpl_cntr));
	conform_sync();
	CHECK_EQUAL(header_calls, 0);
	CHECK_EQUAL(counter_value(&org_cntr), 0);
	CHECK_EQUAL(counter_value(&cmpl_cntr), 0);
}

/* ---- counters ---- */

static void am_with_each_set_of_counters(void)
{
	int mask, next = (task_id + 1) % num_tasks;
	prepare(keep_header);
	for (mask = 0; mask < 8; mask++) {
		header_calls = 0;
		conform_sync();
		LAPI_OK(LAPI_Amsend(hndl, (uint)next, handlers[next], "headers", 8, source, 64,
		                    mask & 1 ? (lapi_cntr_t *)tgt_cntrs[next] : NULL,
		                    mask & 2 ? &org_cntr : NULL, mask & 4 ? &cmpl_cntr : NULL));
		if (mask & 1)
			counter_wait(&tgt_cntr, 1);
		if (mask & 2)
			counter_wait(&org_cntr, 1);
		if (mask & 4)
			counter_wait(&cmpl_cntr, 1);
		conform_sync();
		CHECK_EQUAL(header_calls, 1);
		CHECK_EQUAL(counter_value(&tgt_cntr), 0);
		CHECK_EQUAL(counter_value(&org_cntr), 0);
		CHECK_EQUAL(counter_value(&cmpl_cntr), 0);
	}
}

/* ---- small buffers, floods ---- */

enum { FLOOD = 3000, FLOOD_BYTES = 24 };
static unsigned char flood[FLOOD * FLOOD_BYTES];
static int flood_wrong;

static void *store_flood(lapi_handle_t *h, void *uhdr, uint *uhdr_len, ulong *msg_len,
                         compl_hndlr_t **completion, void **user_info)
{
	int index = *(int *)uhdr, again = ((int *)uhdr)[1];
	(void)h, (void)completion, (void)user_info;
	flood_wrong |= *uhdr_len != 8 || *msg_len != FLOOD_BYTES || again != ~index || index < 0 ||
	               index >= FLOOD;
	return flood_wrong ? sink : flood + index * FLOOD_BYTES;
}

/* User header and data up to BUF_CP_SIZE may both be overwritten on return, also when every buffer
 * is taken. */
static void am_small_buffers_reusable_on_return(void)
{
	int uhdr[2], i, next = (task_id + 1) % num_tasks;
	unsigned char data[FLOOD_BYTES];
	prepare(store_flood);
	flood_wrong = 0;
	memset(flood, 0, sizeof flood);
	conform_sync();
	for (i = 0; i < FLOOD; i++) {
		uhdr[0] = i;
		uhdr[1] = ~i;
		fill_pattern(data, sizeof data, (unsigned)i);
		am_to(next, uhdr, sizeof uhdr, data, sizeof data, NULL, NULL);
		memset(uhdr, 0x77, sizeof uhdr);
		memset(data, 0x77, sizeof data);
	}
	counter_wait(&tgt_cntr, FLOOD);
	CHECK(!flood_wrong);
	for (i = 0; i < FLOOD; i++)
		CHECK(same_pattern(flood + i * FLOOD_BYTES, FLOOD_BYTES, (unsigned)i));
}

static void am_thousands_outstanding(void)
{
	enum { MESSAGES = 4000 };
	int i;
	prepare(keep_header);
	header_calls = 0;
	conform_sync();
	for (i = 0; i < MESSAGES; i++)
		am_to((task_id + i) % num_tasks, &i, 4, source, (size_t)(i % 4) * 100, &org_cntr,
		      &cmpl_cntr);
	counter_wait(&org_cntr, MESSAGES);
	counter_wait(&cmpl_cntr, MESSAGES);
	counter_wait(&tgt_cntr, MESSAGES);
	conform_sync();
	CHECK_EQUAL(header_calls, MESSAGES);
}

/* ---- handlers named by an index ---- */

static int index_calls;

static void *count_index(lapi_handle_t *h, void *uhdr, uint *uhdr_len, ulong *msg_len,
                         compl_hndlr_t **completion, void **user_info)
{
	(void)h, (void)uhdr, (void)uhdr_len, (void)msg_len, (void)completion, (void)user_info;
	index_calls++;
	return sink;
}

static void am_handler_named_by_index(void)
{
	int i, last = query(LOC_ADDRTBL_SZ) - 1, next = (task_id + 1) % num_tasks;
	int indices[3] = {1, 5, last};
	prepare(keep_header);
	index_calls = 0;
	for (i = 0; i < 3; i++)
		LAPI_OK(LAPI_Addr_set(hndl, (void *)(uintptr_t)count_index, indices[i]));
	conform_sync();
	for (i = 0; i < 3; i++)
		LAPI_OK(LAPI_Amsend(hndl, (uint)next, (void *)(uintptr_t)indices[i], NULL, 0,
		                    source, 100, (lapi_cntr_t *)tgt_cntrs[next], NULL, NULL));
	counter_wait(&tgt_cntr, 3);
	CHECK_EQUAL(index_calls, 3);
	conform_sync();
}

/* A message may name an index that the target has not registered yet: it waits, others pass. */
static void am_index_registered_late(void)
{
	int i, next = (task_id + 1) % num_tasks, index = 9;
	double until;
	prepare(keep_header);
	index_calls = header_calls = 0;
	conform_sync();
	for (i = 0; i < 5; i++)
		LAPI_OK(LAPI_Amsend(hndl, (uint)next, (void *)(uintptr_t)index, NULL, 0, source,
		                    3000, (lapi_cntr_t *)tgt_cntrs[next], NULL, &cmpl_cntr));
	LAPI_OK(LAPI_Amsend(hndl, (uint)next, handlers[next], NULL, 0, source, 3000,
	                    (lapi_cntr_t *)tgt_cntrs[next], NULL, NULL));
	POLL_UNTIL(counter_value(&tgt_cntr) >= 1); /* of the message that names an address */
	for (until = now() + 0.2; now() < until;)
		LAPI_OK(LAPI_Probe(hndl));
	CHECK_EQUAL(header_calls, 1);
	CHECK_EQUAL(index_calls, 0);
	CHECK_EQUAL(counter_value(&tgt_cntr), 1);
	LAPI_OK(LAPI_Addr_set(hndl, (void *)(uintptr_t)count_index, index));
	counter_wait(&tgt_cntr, 6);
	counter_wait(&cmpl_cntr, 5);
	CHECK_EQUAL(index_calls, 5);
	conform_sync();
}

static const conform_case cases[] = {
	CONFORM_CASE(am_header_handler_arguments),
	CONFORM_CASE(am_uhdr_is_an_aligned_copy_to_self),
	CONFORM_CASE(am_all_data_lengths),
	CONFORM_CASE(am_all_data_lengths_with_largest_header),
	CONFORM_CASE(am_all_data_lengths_without_header),
	CONFORM_CASE(am_to_self_all_data_lengths),
	CONFORM_CASE(am_uhdr_multiple_of_four),
	CONFORM_CASE(am_uhdr_any_length_without_checking),
	CONFORM_CASE(am_uhdr_length_errors),
	CONFORM_CASE(am_errors),
	CONFORM_CASE(am_with_each_set_of_counters),
	CONFORM_CASE(am_small_buffers_reusable_on_return),
	CONFORM_CASE(am_thousands_outstanding),
	CONFORM_CASE(am_handler_named_by_index),
	CONFORM_CASE(am_index_registered_late),
};

int main(int argc, char **argv)
{
	return conform_main(argc, argv, cases, sizeof cases / sizeof cases[0]);
}
