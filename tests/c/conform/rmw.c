/*
 * rmw.c - LAPI_Rmw and LAPI_Rmw64.
 */
#include "conform.h"

#include <limits.h>

static int word, words_in_row[4];
static long long word64;
static lapi_cntr_t org_cntr;
static void *words[CONFORM_MAX_TASKS], *words64[CONFORM_MAX_TASKS];

static void prepare(void)
{
	word = 0;
	word64 = 0;
	counter_zero(&org_cntr);
	exchange(&word, words);
	exchange(&word64, words64);
}

/* One operation, waited for; *previous is what it returned. */
static void rmw(RMW_ops_t op, int target, int in, int *previous_value)
{
	LAPI_OK(LAPI_Rmw(hndl, op, (uint)target, (int *)words[target], &in, previous_value,
	                 &org_cntr));
	counter_wait(&org_cntr, 1);
}

static void rmw64(RMW_ops_t op, int target, long long in, long long *previous_value)
{
	LAPI_OK(LAPI_Rmw64(hndl, op, (uint)target, (long long *)words64[target], &in,
	                   previous_value, &org_cntr));
	counter_wait(&org_cntr, 1);
}

/* Each task's word belongs to its left neighbour during these cases. */
static void rmw_on(int target)
{
	int before = -1;
	rmw(FETCH_AND_ADD, target, 7, &before);
	CHECK_EQUAL(before, 0);
	rmw(FETCH_AND_ADD, target, -9, &before);
	CHECK_EQUAL(before, 7);
	rmw(SWAP, target, 0x0f0f, &before);
	CHECK_EQUAL(before, -2);
	rmw(FETCH_AND_OR, target, 0x10f0, &before);
	CHECK_EQUAL(before, 0x0f0f);
	rmw(FETCH_AND_OR, target, 0, &before);
	CHECK_EQUAL(before, 0x1fff);
	rmw(SWAP, target, INT_MAX, &before);
	CHECK_EQUAL(before, 0x1fff);
	rmw(FETCH_AND_ADD, target, 1, &before); /* wraps */
	CHECK_EQUAL(before, INT_MAX);
	rmw(SWAP, target, 0, &before);
	CHECK_EQUAL(before, INT_MIN);
}

static void rmw_add_or_swap(void)
{
	prepare();
	rmw_on((task_id + 1) % num_tasks);
	conform_sync();
	CHECK_EQUAL(word, 0);
	conform_sync();
	rmw_on(task_id);
	CHECK_EQUAL(word, 0);
}

static void rmw64_on(int target)
{
	long long before = -1;
	rmw64(FETCH_AND_ADD, target, 0x123456789abLL, &before);
	CHECK_EQUAL(before, 0);
	rmw64(FETCH_AND_ADD, target, -1, &before);
	CHECK_EQUAL(before, 0x123456789abLL);
	rmw64(SWAP, target, 0x0f0f00000000LL, &before);
	CHECK_EQUAL(before, 0x123456789aaLL);
	rmw64(FETCH_AND_OR, target, 0x7000000000000001LL, &before);
	CHECK_EQUAL(before, 0x0f0f00000000LL);
	rmw64(SWAP, target, LLONG_MAX, &before);
	CHECK_EQUAL(before, 0x70000f0f00000001LL | 0x0f0f00000000LL);
	rmw64(FETCH_AND_ADD, target, 1, &before);
	CHECK_EQUAL(before, LLONG_MAX);
	rmw64(SWAP, target, 0, &before);
	CHECK_EQUAL(before, LLONG_MIN);
}

static void rmw64_add_or_swap(void)
{
	prepare();
	rmw64_on((task_id + 1) % num_tasks);
	conform_sync();
	rmw64_on(task_id);
	CHECK_EQUAL(word64, 0);
}

/* COMPARE_AND_SWAP stores TRUE or FALSE, not the old value. */
static void compare_and_swap(int target)
{
	int pair[2] = {0, 55}, outcome = 77;
	LAPI_OK(LAPI_Rmw(hndl, COMPARE_AND_SWAP, (uint)target, (int *)words[target], pair, &outcome,
	                 &org_cntr));
	counter_wait(&org_cntr, 1);
	CHECK_EQUAL(outcome, 1);
	outcome = 77;
	LAPI_OK(LAPI_Rmw(hndl, COMPARE_AND_SWAP, (uint)target, (int *)words[target], pair, &outcome,
	                 &org_cntr));
	counter_wait(&org_cntr, 1);
	CHECK_EQUAL(outcome, 0);
	pair[0] = 55;
	pair[1] = 0;
	LAPI_OK(LAPI_Rmw(hndl, COMPARE_AND_SWAP, (uint)target, (int *)words[target], pair, &outcome,
	                 &org_cntr));
	counter_wait(&org_cntr, 1);
	CHECK_EQUAL(outcome, 1);
}

static void compare_and_swap64(int target)
{
	long long pair[2] = {0, -5000000000LL}, outcome = 77;
	LAPI_OK(LAPI_Rmw64(hndl, COMPARE_AND_SWAP, (uint)target, (long long *)words64[target], pair,
	                   &outcome, &org_cntr));
	counter_wait(&org_cntr, 1);
	CHECK_EQUAL(outcome, 1);
	outcome = 77;
	LAPI_OK(LAPI_Rmw64(hndl, COMPARE_AND_SWAP, (uint)target, (long long *)words64[target], pair,
	                   &outcome, &org_cntr));
	counter_wait(&org_cntr, 1);
	CHECK_EQUAL(outcome, 0);
	pair[0] = -5000000000LL;
	pair[1] = 0;
	LAPI_OK(LAPI_Rmw64(hndl, COMPARE_AND_SWAP, (uint)target, (long long *)words64[target], pair,
	                   &outcome, &org_cntr));
	counter_wait(&org_cntr, 1);
	CHECK_EQUAL(outcome, 1);
}

static void rmw_compare_and_swap_stores_truth(void)
{
	prepare();
	compare_and_swap((task_id + 1) % num_tasks);
	compare_and_swap64((task_id + 1) % num_tasks);
	conform_sync();
	compare_and_swap(task_id);
	compare_and_swap64(task_id);
	conform_sync();
	CHECK_EQUAL(word, 0);
	CHECK_EQUAL(word64, 0);
}

/* Without prev_tgt_val the origin counter still says when the operation is over; without counters a
 * fence does. */
static void rmw_without_previous_value(void)
{
	int one = 1, i, next = (task_id + 1) % num_tasks;
	long long one64 = 1;
	prepare();
	for (i = 0; i < 20; i++) {
		rmw(FETCH_AND_ADD, next, 1, NULL);
		rmw64(FETCH_AND_ADD, next, 1, NULL);
		LAPI_OK(LAPI_Rmw(hndl, FETCH_AND_ADD, (uint)next, (int *)words[next], &one, NULL,
		                 NULL));
		LAPI_OK(LAPI_Rmw64(hndl, FETCH_AND_ADD, (uint)next, (long long *)words64[next],
		                   &one64, NULL, NULL));
	}
	conform_sync();
	CHECK_EQUAL(word, 40);
	CHECK_EQUAL(word64, 40);
	CHECK_EQUAL(counter_value(&org_cntr), 0);
}

/* Every task adds to task 0's words; the previous values are all different. */
static void rmw_tickets_are_unique(void)
{
	enum { EACH = 200 };
	static unsigned char taken[EACH * CONFORM_MAX_TASKS];
	static int mine[EACH];
	void *tables[CONFORM_MAX_TASKS];
	int i, missing = 0, one = 1;
	unsigned char mark = 1;
	prepare();
	memset(taken, 0, sizeof taken);
	exchange(taken, tables);
	for (i = 0; i < EACH; i++)
		LAPI_OK(LAPI_Rmw(hndl, FETCH_AND_ADD, 0, (int *)words[0], &one, &mine[i],
		                 &org_cntr));
	counter_wait(&org_cntr, EACH);
	for (i = 0; i < EACH; i++)
		if (CHECK(mine[i] >= 0 && mine[i] < EACH * num_tasks))
			LAPI_OK(LAPI_Put(hndl, 0, 1, (char *)tables[0] + mine[i], &mark, NULL, NULL,
			                 NULL));
	conform_sync();
	if (task_id == 0) {
		CHECK_EQUAL(word, EACH * num_tasks);
		for (i = 0; i < EACH * num_tasks; i++)
			missing += !taken[i];
		CHECK_EQUAL(missing, 0);
	}
}

/* The target's own threads work on the word with the processor's atomics meanwhile: nothing is
 * lost. */
static void rmw_is_atomic_against_the_processor(void)
{
	enum { EACH = 300 };
	int i, own = 0, one = 1, next = (task_id + 1) % num_tasks;
	prepare();
	conform_sync();
	for (i = 0; i < EACH; i++) {
		LAPI_OK(LAPI_Rmw(hndl, FETCH_AND_ADD, (uint)next, (int *)words[next], &one, NULL,
		                 &org_cntr));
		__atomic_add_fetch(&word, 1, __ATOMIC_ACQ_REL);
		own++;
	}
	counter_wait(&org_cntr, EACH);
	conform_sync();
	CHECK_EQUAL(word, own + EACH);
}

static void rmw_lock_by_compare_and_swap(void)
{
	static int protected_value;
	void *values[CONFORM_MAX_TASKS];
	int round, got, value, take[2] = {0, 1}, zero = 0;
	protected_value = 0;
	prepare();
	exchange(&protected_value, values);
	for (round = 0; round < 15; round++) {
		do {
			LAPI_OK(LAPI_Rmw(hndl, COMPARE_AND_SWAP, 0, (int *)words[0], take, &got,
			                 &org_cntr));
			counter_wait(&org_cntr, 1);
		} while (!got);
		LAPI_OK(LAPI_Get(hndl, 0, sizeof value, values[0], &value, NULL, &org_cntr));
		counter_wait(&org_cntr, 1);
		value++;
		LAPI_OK(LAPI_Put(hndl, 0, sizeof value, values[0], &value, NULL, NULL, NULL));
		LAPI_OK(LAPI_Fence(hndl));
		LAPI_OK(LAPI_Rmw(hndl, SWAP, 0, (int *)words[0], &zero, NULL, &org_cntr));
		counter_wait(&org_cntr, 1);
	}
	conform_sync();
	if (task_id == 0)
		CHECK_EQUAL(protected_value, 15 * num_tasks);
}

static void rmw_word_reset_by_plain_store(void)
{
	int round, i, next = (task_id + 1) % num_tasks;
	prepare();
	for (round = 0; round < 10; round++) {
		for (i = 0; i < 5; i++)
			rmw(FETCH_AND_ADD, next, 1, NULL);
		conform_sync();
		CHECK_EQUAL(word, 5);
		word = 0;
		conform_sync();
	}
}

static void rmw_thousands_outstanding(void)
{
	enum { MESSAGES = 3000 };
	int i, one = 1;
	prepare();
	for (i = 0; i < MESSAGES; i++) {
		int target = (task_id + i) % num_tasks;
		LAPI_OK(LAPI_Rmw(hndl, FETCH_AND_ADD, (uint)target, (int *)words[target], &one,
		                 NULL, &org_cntr));
	}
	counter_wait(&org_cntr, MESSAGES);
	conform_sync();
	CHECK_EQUAL(sum_over_tasks(word), (long long)MESSAGES * num_tasks);
	conform_sync();
}

/* A word that is not aligned works too. */
static void rmw_unaligned_word(void)
{
	static unsigned char room[32] __attribute__((aligned(16)));
	void *rooms[CONFORM_MAX_TASKS];
	int i, one = 1, value = 0;
	long long one64 = 1, value64 = 0;
	memset(room, 0, sizeof room);
	prepare();
	exchange(room, rooms);
	for (i = 0; i < 50; i++) {
		LAPI_OK(LAPI_Rmw(hndl, FETCH_AND_ADD, 0, (int *)(void *)((char *)rooms[0] + 3),
		                 &one, NULL, &org_cntr));
		LAPI_OK(LAPI_Rmw64(hndl, FETCH_AND_ADD, 0,
		                   (long long *)(void *)((char *)rooms[0] + 17), &one64, NULL,
		                   &org_cntr));
	}
	counter_wait(&org_cntr, 100);
	conform_sync();
	memcpy(&value, room + 3, sizeof value);
	memcpy(&value64, room + 17, sizeof value64);
	CHECK_EQUAL(value, task_id == 0 ? 50 * num_tasks : 0);
	CHECK_EQUAL(value64, task_id == 0 ? 50 * num_tasks : 0);
}

static void rmw_neighbours_untouched(void)
{
	void *rows[CONFORM_MAX_TASKS];
	int i, in = -1, next = (task_id + 1) % num_tasks;
	prepare();
	for (i = 0; i < 4; i++)
		words_in_row[i] = 100 + i;
	exchange(words_in_row, rows);
	LAPI_OK(LAPI_Rmw(hndl, SWAP, (uint)next, (int *)rows[next] + 1, &in, NULL, &org_cntr));
	counter_wait(&org_cntr, 1);
	conform_sync();
	CHECK_EQUAL(words_in_row[0], 100);
	CHECK_EQUAL(words_in_row[1], -1);
	CHECK_EQUAL(words_in_row[2], 102);
}

static void rmw_errors(void)
{
	int in = 1, before = 5;
	long long in64 = 1, before64 = 5;
	prepare();
	CHECK_CODE(LAPI_ERR_TGT,
	           LAPI_Rmw(hndl, SWAP, (uint)num_tasks, &word, &in, &before, &org_cntr));
	CHECK_CODE(LAPI_ERR_TGT_VAR_NULL, LAPI_Rmw(hndl, SWAP, 0, NULL, &in, &before, &org_cntr));
	CHECK_CODE(LAPI_ERR_IN_VAL_NULL,
	           LAPI_Rmw(hndl, SWAP, 0, (int *)words[0], NULL, &before, &org_cntr));
	CHECK_CODE(LAPI_ERR_RMW_OP,
	           LAPI_Rmw(hndl, (RMW_ops_t)4, 0, (int *)words[0], &in, &before, &org_cntr));
	CHECK_CODE(LAPI_ERR_RMW_OP,
	           LAPI_Rmw(hndl, (RMW_ops_t)-1, 0, (int *)words[0], &in, &before, &org_cntr));
	CHECK_CODE(LAPI_ERR_TGT,
	           LAPI_Rmw64(hndl, SWAP, (uint)num_tasks, &word64, &in64, &before64, &org_cntr));
	CHECK_CODE(LAPI_ERR_TGT_VAR_NULL,
	           LAPI_Rmw64(hndl, SWAP, 0, NULL, &in64, &before64, &org_cntr));
	CHECK_CODE(LAPI_ERR_IN_VAL_NULL,
	           LAPI_Rmw64(hndl, SWAP, 0, (long long *)words64[0], NULL, &before64, &org_cntr));
	CHECK_CODE(LAPI_ERR_RMW_OP, LAPI_Rmw64(hndl, (RMW_ops_t)4, 0, (long long *)words64[0],
	                                       &in64, &before64, &org_cntr));
	conform_sync();
	CHECK_EQUAL(before, 5);
	CHECK_EQUAL(before64, 5);
	CHECK_EQUAL(word, 0);
	CHECK_EQUAL(counter_value(&org_cntr), 0);
}

static const conform_case cases[] = {
	CONFORM_CASE(rmw_add_or_swap),
	CONFORM_CASE(rmw64_add_or_swap),
	CONFORM_CASE(rmw_compare_and_swap_stores_truth),
	CONFORM_CASE(rmw_without_previous_value),
	CONFORM_CASE(rmw_tickets_are_unique),
	CONFORM_CASE(rmw_is_atomic_against_the_processor),
	CONFORM_CASE(rmw_lock_by_compare_and_swap),
	CONFORM_CASE(rmw_word_reset_by_plain_store),
	CONFORM_CASE(rmw_thousands_outstanding),
	CONFORM_CASE(rmw_unaligned_word),
	CONFORM_CASE(rmw_neighbours_untouched),
	CONFORM_CASE(rmw_errors),
};

int main(int argc, char **argv)
{
	return conform_main(argc, argv, cases, sizeof cases / sizeof cases[0]);
}
