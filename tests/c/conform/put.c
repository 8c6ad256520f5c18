/*
 * put.c - LAPI_Put.
 */
#include "conform.h"

#define BUFFER_BYTES (1 << 20)
#define GUARD_BYTES 64

static unsigned char source[BUFFER_BYTES + 2 * GUARD_BYTES] __attribute__((aligned(64)));
static unsigned char sink[BUFFER_BYTES + 2 * GUARD_BYTES] __attribute__((aligned(64)));
static lapi_cntr_t tgt_cntr, org_cntr, cmpl_cntr;
static void *sinks[CONFORM_MAX_TASKS], *tgt_cntrs[CONFORM_MAX_TASKS];

static void prepare(void)
{
	counter_zero(&tgt_cntr);
	counter_zero(&org_cntr);
	counter_zero(&cmpl_cntr);
	exchange(sink, sinks);
	exchange(&tgt_cntr, tgt_cntrs);
}

static void put_to(int target, size_t n, size_t offset, const void *from, lapi_cntr_t *org,
                   lapi_cntr_t *cmpl)
{
	LAPI_OK(LAPI_Put(hndl, (uint)target, n, (char *)sinks[target] + offset, (void *)from,
	                 (lapi_cntr_t *)tgt_cntrs[target], org, cmpl));
}

/* Each task puts each length to its neighbour (itself when alone); bytes before and after stay as
 * they were. */
static void put_all_lengths(void)
{
	size_t lengths[256], count, i;
	int next = (task_id + 1) % num_tasks, previous = (task_id + num_tasks - 1) % num_tasks;
	prepare();
	count = boundary_lengths(lengths, 256, BUFFER_BYTES);
	for (i = 0; i < count; i++) {
		size_t n = lengths[i];
		memset(sink, 0xEE, sizeof sink);
		fill_pattern(source, n, (unsigned)task_id + (unsigned)i);
		conform_sync();
		put_to(next, n, GUARD_BYTES, source, &org_cntr, &cmpl_cntr);
		counter_wait(&tgt_cntr, 1);
		CHECK(same_pattern(sink + GUARD_BYTES, n, (unsigned)previous + (unsigned)i));
		CHECK_EQUAL(sink[GUARD_BYTES - 1], 0xEE);
		CHECK_EQUAL(sink[GUARD_BYTES + n], 0xEE);
		counter_wait(&org_cntr, 1);
		counter_wait(&cmpl_cntr, 1);
		conform_sync();
	}
}

static void put_to_self_all_lengths(void)
{
	size_t lengths[256], count, i;
	prepare();
	count = boundary_lengths(lengths, 256, BUFFER_BYTES);
	for (i = 0; i < count; i++) {
		fill_pattern(source, lengths[i], (unsigned)i);
		put_to(task_id, lengths[i], 0, source, &org_cntr, &cmpl_cntr);
		counter_wait(&cmpl_cntr, 1);
		counter_wait(&org_cntr, 1);
		counter_wait(&tgt_cntr, 1);
		CHECK(same_pattern(sink, lengths[i], (unsigned)i));
	}
}

static void put_unaligned(void)
{
	size_t at, from;
	int next = (task_id + 1) % num_tasks;
	prepare();
	fill_pattern(source, 512, 9);
	for (at = 0; at < 9; at++)
		for (from = 0; from < 9; from += 2) {
			put_to(next, 300, at, source + from, NULL, NULL);
			counter_wait(&tgt_cntr, 1);
			CHECK(memcmp(sink + at, source + from, 300) == 0);
			conform_sync();
		}
}

/* A message without data has the counters of any other; addresses may be NULL. */
static void put_zero_length_with_null_addresses(void)
{
	int target;
	prepare();
	for (target = 0; target < num_tasks; target++)
		LAPI_OK(LAPI_Put(hndl, (uint)target, 0, NULL, NULL,
		                 (lapi_cntr_t *)tgt_cntrs[target], &org_cntr, &cmpl_cntr));
	counter_wait(&org_cntr, num_tasks);
	counter_wait(&cmpl_cntr, num_tasks);
	counter_wait(&tgt_cntr, num_tasks);
	CHECK_EQUAL(counter_value(&tgt_cntr), 0);
}

/* Every combination of given and absent counters: the given ones change by one, the others not at
 * all. */
static void put_with_each_set_of_counters(void)
{
	int mask, next = (task_id + 1) % num_tasks;
	prepare();
	fill_pattern(source, 100, 4);
	for (mask = 0; mask < 8; mask++) {
		LAPI_OK(LAPI_Put(hndl, (uint)next, 100, sinks[next], source,
		                 mask & 1 ? (lapi_cntr_t *)tgt_cntrs[next] : NULL,
		                 mask & 2 ? &org_cntr : NULL, mask & 4 ? &cmpl_cntr : NULL));
		if (mask & 1)
			counter_wait(&tgt_cntr, 1);
		if (mask & 2)
			counter_wait(&org_cntr, 1);
		if (mask & 4)
			counter_wait(&cmpl_cntr, 1);
		conform_sync();
		CHECK(same_pattern(sink, 100, 4));
		CHECK_EQUAL(counter_value(&tgt_cntr), 0);
		CHECK_EQUAL(counter_value(&org_cntr), 0);
		CHECK_EQUAL(counter_value(&cmpl_cntr), 0);
		memset(sink, 0, 100);
		conform_sync();
	}
}

/* Once the completion counter has changed, the data and the target counter at the target have
 * too. */
static void put_completion_follows_target_counter(void)
{
	int i, seen, next = (task_id + 1) % num_tasks;
	lapi_cntr_t got;
	prepare();
	counter_zero(&got);
	fill_pattern(source, 5000, 6);
	for (i = 1; i <= 30; i++) {
		put_to(next, 5000, 0, source, NULL, &cmpl_cntr);
		counter_wait(&cmpl_cntr, 1);
		LAPI_OK(LAPI_Get(hndl, (uint)next, sizeof seen, tgt_cntrs[next], &seen, NULL,
		                 &got));
		counter_wait(&got, 1);
		CHECK_EQUAL(seen, i);
	}
	conform_sync();
	CHECK(same_pattern(sink, 5000, 6));
}

/* Up to BUF_CP_SIZE bytes the buffer is the program's again on return, however many messages are
 * under way. */
static void put_small_buffer_reusable_on_return(void)
{
	enum { MESSAGES = 3000, BYTES = 32 };
	static unsigned char slots[MESSAGES * BYTES];
	unsigned char buffer[BYTES];
	void *table[CONFORM_MAX_TASKS];
	int i, next = (task_id + 1) % num_tasks;
	CHECK(query(BUF_CP_SIZE) >= BYTES);
	memset(slots, 0, sizeof slots);
	prepare();
	exchange(slots, table);
	for (i = 0; i < MESSAGES; i++) {
		fill_pattern(buffer, BYTES, (unsigned)i);
		LAPI_OK(LAPI_Put(hndl, (uint)next, BYTES, (char *)table[next] + i * BYTES, buffer,
		                 (lapi_cntr_t *)tgt_cntrs[next], NULL, NULL));
		memset(buffer, 0xAA, BYTES);
	}
	counter_wait(&tgt_cntr, MESSAGES);
	for (i = 0; i < MESSAGES; i++)
		CHECK(same_pattern(slots + i * BYTES, BYTES, (unsigned)i));
}

static void put_buffer_of_copy_size_reusable(void)
{
	size_t n = (size_t)query(BUF_CP_SIZE);
	int i, next = (task_id + 1) % num_tasks;
	prepare();
	if (!CHECK(n > 0 && n * 200 <= BUFFER_BYTES))
		return;
	for (i = 0; i < 200; i++) {
		fill_pattern(source, n, (unsigned)i);
		put_to(next, n, (size_t)i * n, source, NULL, NULL);
		memset(source, 0x55, n);
	}
	counter_wait(&tgt_cntr, 200);
	for (i = 0; i < 200; i++)
		CHECK(same_pattern(sink + (size_t)i * n, n, (unsigned)i));
}

/* No call fails for lack of buffers: the library does flow control. */
static void put_thousands_outstanding(void)
{
	enum { MESSAGES = 5000 };
	int i;
	prepare();
	fill_pattern(source, 4096, 1);
	for (i = 0; i < MESSAGES; i++) {
		int target = (task_id + i) % num_tasks;
		put_to(target, (size_t)(i % 5) * 64, (size_t)(i % 100) * 512, source, &org_cntr,
		       &cmpl_cntr);
	}
	counter_wait(&org_cntr, MESSAGES);
	counter_wait(&cmpl_cntr, MESSAGES);
	counter_wait(&tgt_cntr, MESSAGES);
}

static void put_many_large_outstanding(void)
{
	enum { MESSAGES = 60, BYTES = 200000 };
	int i, next = (task_id + 1) % num_tasks;
	prepare();
	fill_pattern(source, BYTES, (unsigned)task_id);
	for (i = 0; i < MESSAGES; i++)
		put_to(next, BYTES, 0, source, &org_cntr, &cmpl_cntr);
	counter_wait(&tgt_cntr, MESSAGES);
	counter_wait(&org_cntr, MESSAGES);
	counter_wait(&cmpl_cntr, MESSAGES);
	CHECK(same_pattern(sink, BYTES, (unsigned)((task_id + num_tasks - 1) % num_tasks)));
}

/* All tasks write to one at once. */
static void put_all_to_one(void)
{
	int i, target = 0, each = BUFFER_BYTES / CONFORM_MAX_TASKS;
	prepare();
	fill_pattern(source, (size_t)each, (unsigned)task_id);
	for (i = 0; i < 50; i++)
		put_to(target, (size_t)each, (size_t)(task_id * each), source, NULL, &cmpl_cntr);
	counter_wait(&cmpl_cntr, 50);
	if (task_id == target) {
		counter_wait(&tgt_cntr, 50 * num_tasks);
		for (i = 0; i < num_tasks; i++)
			CHECK(same_pattern(sink + i * each, (size_t)each, (unsigned)i));
	}
}

static void put_from_constant_data(void)
{
	static const char text[] = "constant data may be an origin buffer";
	int next = (task_id + 1) % num_tasks;
	prepare();
	put_to(next, sizeof text, 0, text, NULL, NULL);
	counter_wait(&tgt_cntr, 1);
	CHECK(memcmp(sink, text, sizeof text) == 0);
}

static void put_64_mib(void)
{
	size_t n = (size_t)64 << 20;
	unsigned char *from, *to;
	void *table[CONFORM_MAX_TASKS];
	int next = (task_id + 1) % num_tasks, previous = (task_id + num_tasks - 1) % num_tasks;
	if (num_tasks > 2)
		SKIP("memory: with 1 or 2 tasks only");
	from = (unsigned char *)malloc(n);
	to = (unsigned char *)malloc(n);
	if (CHECK(from && to)) {
		prepare();
		fill_pattern(from, n, (unsigned)task_id);
		memset(to, 0, n);
		exchange(to, table);
		LAPI_OK(LAPI_Put(hndl, (uint)next, n, table[next], from,
		                 (lapi_cntr_t *)tgt_cntrs[next], &org_cntr, &cmpl_cntr));
		counter_wait(&tgt_cntr, 1);
		CHECK(same_pattern(to, n, (unsigned)previous));
		counter_wait(&org_cntr, 1);
		counter_wait(&cmpl_cntr, 1);
		conform_sync();
	}
	free(from);
	free(to);
}

/* Arguments that are checked with ERROR_CHK off too; a refused call changes nothing. */
static void put_errors(void)
{
	prepare();
	CHECK_CODE(LAPI_ERR_TGT,
	           LAPI_Put(hndl, (uint)num_tasks, 8, sink, source, NULL, &org_cntr, &cmpl_cntr));
	CHECK_CODE(LAPI_ERR_TGT, LAPI_Put(hndl, ~0u, 0, NULL, NULL, NULL, &org_cntr, &cmpl_cntr));
	CHECK_CODE(LAPI_ERR_TGT_ADDR_NULL,
	           LAPI_Put(hndl, 0, 8, NULL, source, NULL, &org_cntr, &cmpl_cntr));
	CHECK_CODE(LAPI_ERR_ORG_ADDR_NULL,
	           LAPI_Put(hndl, 0, 8, sinks[0], NULL, NULL, &org_cntr, &cmpl_cntr));
	CHECK_CODE(LAPI_ERR_DATA_LEN, LAPI_Put(hndl, 0, (ulong)LAPI_MAX_MSG_SZ + 1, sinks[0],
	                                       source, NULL, &org_cntr, &cmpl_cntr));
	CHECK_CODE(LAPI_ERR_DATA_LEN,
	           LAPI_Put(hndl, 0, ~0ul, sinks[0], source, NULL, &org_cntr, &cmpl_cntr));
	conform_sync();
	CHECK_EQUAL(counter_value(&org_cntr), 0);
	CHECK_EQUAL(counter_value(&cmpl_cntr), 0);
}

static const conform_case cases[] = {
	CONFORM_CASE(put_all_lengths),
	CONFORM_CASE(put_to_self_all_lengths),
	CONFORM_CASE(put_unaligned),
	CONFORM_CASE(put_zero_length_with_null_addresses),
	CONFORM_CASE(put_with_each_set_of_counters),
	CONFORM_CASE(put_completion_follows_target_counter),
	CONFORM_CASE(put_small_buffer_reusable_on_return),
	CONFORM_CASE(put_buffer_of_copy_size_reusable),
	CONFORM_CASE(put_thousands_outstanding),
	CONFORM_CASE(put_many_large_outstanding),
	CONFORM_CASE(put_all_to_one),
	CONFORM_CASE(put_from_constant_data),
	CONFORM_CASE(put_64_mib),
	CONFORM_CASE(put_errors),
};

int main(int argc, char **argv)
{
	return conform_main(argc, argv, cases, sizeof cases / sizeof cases[0]);
}
