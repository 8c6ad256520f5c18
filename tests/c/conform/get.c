/*
 * get.c - LAPI_Get.
 */
#include "conform.h"

#define BUFFER_BYTES (1 << 20)
#define GUARD_BYTES 64

static unsigned char remote[BUFFER_BYTES + GUARD_BYTES] __attribute__((aligned(64)));
static unsigned char local[BUFFER_BYTES + 2 * GUARD_BYTES] __attribute__((aligned(64)));
static lapi_cntr_t tgt_cntr, org_cntr;
static void *remotes[CONFORM_MAX_TASKS], *tgt_cntrs[CONFORM_MAX_TASKS];

static void prepare(void)
{
	counter_zero(&tgt_cntr);
	counter_zero(&org_cntr);
	fill_pattern(remote, sizeof remote, (unsigned)task_id);
	exchange(remote, remotes);
	exchange(&tgt_cntr, tgt_cntrs);
}

static void get_from(int target, size_t n, size_t offset, void *to)
{
	LAPI_OK(LAPI_Get(hndl, (uint)target, n, (char *)remotes[target] + offset, to,
	                 (lapi_cntr_t *)tgt_cntrs[target], &org_cntr));
}

/* The origin counter says that the data is here, the target counter that the target's buffer may
 * change. */
static void get_lengths_from(int target)
{
	size_t lengths[256], i, count = boundary_lengths(lengths, 256, BUFFER_BYTES);
	for (i = 0; i < count; i++) {
		size_t n = lengths[i];
		memset(local, 0xEE, sizeof local);
		get_from(target, n, 0, local + GUARD_BYTES);
		counter_wait(&org_cntr, 1);
		CHECK(same_pattern(local + GUARD_BYTES, n, (unsigned)target));
		CHECK_EQUAL(local[GUARD_BYTES - 1], 0xEE);
		CHECK_EQUAL(local[GUARD_BYTES + n], 0xEE);
	}
	conform_sync();
	counter_wait(&tgt_cntr, (int)count);
	CHECK_EQUAL(counter_value(&tgt_cntr), 0);
}

static void get_all_lengths(void)
{
	prepare();
	get_lengths_from((task_id + 1) % num_tasks);
}

static void get_from_self_all_lengths(void)
{
	prepare();
	get_lengths_from(task_id);
}

static void get_unaligned(void)
{
	size_t at, from;
	int next = (task_id + 1) % num_tasks;
	unsigned char expected[600];
	prepare();
	fill_pattern(expected, sizeof expected, (unsigned)next);
	for (from = 0; from < 9; from++)
		for (at = 0; at < 9; at += 3) {
			get_from(next, 300, from, local + at);
			counter_wait(&org_cntr, 1);
			CHECK(memcmp(local + at, expected + from, 300) == 0);
		}
	conform_sync();
	counter_wait(&tgt_cntr, 27);
}

static void get_zero_length_with_null_addresses(void)
{
	int target;
	prepare();
	for (target = 0; target < num_tasks; target++)
		LAPI_OK(LAPI_Get(hndl, (uint)target, 0, NULL, NULL,
		                 (lapi_cntr_t *)tgt_cntrs[target], &org_cntr));
	counter_wait(&org_cntr, num_tasks);
	counter_wait(&tgt_cntr, num_tasks);
}

static void get_without_counters(void)
{
	int next = (task_id + 1) % num_tasks;
	prepare();
	memset(local, 0, 3000);
	LAPI_OK(LAPI_Get(hndl, (uint)next, 3000, remotes[next], local, NULL, NULL));
	/* completes the get too: a fence covers the data movement of every call */
	LAPI_OK(LAPI_Fence(hndl));
	CHECK(same_pattern(local, 3000, (unsigned)next));
	conform_sync();
	CHECK_EQUAL(counter_value(&tgt_cntr), 0);
	CHECK_EQUAL(counter_value(&org_cntr), 0);
}

static void get_target_counter_only(void)
{
	int next = (task_id + 1) % num_tasks;
	prepare();
	LAPI_OK(LAPI_Get(hndl, (uint)next, 64, remotes[next], local, (lapi_cntr_t *)tgt_cntrs[next],
	                 NULL));
	counter_wait(&tgt_cntr, 1);
	CHECK_EQUAL(counter_value(&org_cntr), 0);
	LAPI_OK(LAPI_Fence(hndl));
	CHECK(same_pattern(local, 64, (unsigned)next));
}

/* The target may overwrite its buffer once its counter has changed; the origin still gets the old
 * data. */
static void get_target_buffer_may_change(void)
{
	int next = (task_id + 1) % num_tasks, round;
	size_t n = 100000;
	prepare();
	for (round = 0; round < 10; round++) {
		fill_pattern(remote, n, (unsigned)(task_id + round));
		conform_sync();
		get_from(next, n, 0, local);
		counter_wait(&tgt_cntr, 1);
		memset(remote, 0, n);
		counter_wait(&org_cntr, 1);
		CHECK(same_pattern(local, n, (unsigned)(next + round)));
		conform_sync();
	}
}

static void get_thousands_outstanding(void)
{
	enum { MESSAGES = 4000, BYTES = 96 };
	int i;
	prepare();
	for (i = 0; i < MESSAGES; i++)
		get_from((task_id + i % 1000) % num_tasks, BYTES, 0, local + (i % 1000) * BYTES);
	counter_wait(&org_cntr, MESSAGES);
	counter_wait(&tgt_cntr, MESSAGES);
	for (i = 0; i < 1000; i++)
		CHECK(same_pattern(local + i * BYTES, BYTES,
		                   (unsigned)((task_id + i) % num_tasks)));
}

static void get_many_large_outstanding(void)
{
	enum { MESSAGES = 40, BYTES = 200000 };
	int i, next = (task_id + 1) % num_tasks;
	prepare();
	for (i = 0; i < MESSAGES; i++)
		get_from(next, BYTES, 0, local + (i % 5) * BYTES);
	counter_wait(&org_cntr, MESSAGES);
	for (i = 0; i < 5; i++)
		CHECK(same_pattern(local + i * BYTES, BYTES, (unsigned)next));
	conform_sync();
	counter_wait(&tgt_cntr, MESSAGES);
}

/* Put there, fence, get back. */
static void get_returns_what_was_put(void)
{
	int i, next = (task_id + 1) % num_tasks;
	prepare();
	for (i = 0; i < 20; i++) {
		size_t n = (size_t)1 << i;
		unsigned char *back = local + BUFFER_BYTES / 2;
		if (n > BUFFER_BYTES / 2)
			break;
		conform_sync(); /* the neighbour's last get is over */
		fill_pattern(local, n, (unsigned)i);
		LAPI_OK(LAPI_Put(hndl, (uint)next, n, remotes[next], local, NULL, NULL, NULL));
		LAPI_OK(LAPI_Fence(hndl));
		LAPI_OK(LAPI_Get(hndl, (uint)next, n, remotes[next], back, NULL, &org_cntr));
		counter_wait(&org_cntr, 1);
		CHECK(same_pattern(back, n, (unsigned)i));
	}
}

static void get_errors(void)
{
	prepare();
	CHECK_CODE(LAPI_ERR_TGT,
	           LAPI_Get(hndl, (uint)num_tasks, 8, remote, local, NULL, &org_cntr));
	CHECK_CODE(LAPI_ERR_TGT, LAPI_Get(hndl, ~0u, 0, NULL, NULL, NULL, &org_cntr));
	CHECK_CODE(LAPI_ERR_TGT_ADDR_NULL, LAPI_Get(hndl, 0, 8, NULL, local, NULL, &org_cntr));
	CHECK_CODE(LAPI_ERR_ORG_ADDR_NULL, LAPI_Get(hndl, 0, 8, remotes[0], NULL, NULL, &org_cntr));
	CHECK_CODE(LAPI_ERR_DATA_LEN, LAPI_Get(hndl, 0, (ulong)LAPI_MAX_MSG_SZ + 1, remotes[0],
	                                       local, NULL, &org_cntr));
	conform_sync();
	CHECK_EQUAL(counter_value(&org_cntr), 0);
}

static const conform_case cases[] = {
	CONFORM_CASE(get_all_lengths),
	CONFORM_CASE(get_from_self_all_lengths),
	CONFORM_CASE(get_unaligned),
	CONFORM_CASE(get_zero_length_with_null_addresses),
	CONFORM_CASE(get_without_counters),
	CONFORM_CASE(get_target_counter_only),
	CONFORM_CASE(get_target_buffer_may_change),
	CONFORM_CASE(get_thousands_outstanding),
	CONFORM_CASE(get_many_large_outstanding),
	CONFORM_CASE(get_returns_what_was_put),
	CONFORM_CASE(get_errors),
};

int main(int argc, char **argv)
{
	return conform_main(argc, argv, cases, sizeof cases / sizeof cases[0]);
}
