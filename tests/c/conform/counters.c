/*
 * counters.c - LAPI_Setcntr, LAPI_Getcntr, LAPI_Waitcntr.
 */
#include "conform.h"

#include <sys/mman.h>

static lapi_cntr_t cntr, other;

static void counter_set_get(void)
{
	static const int values[] = {0, 1, -1, 12345, -12345, INT32_MAX, INT32_MIN};
	size_t i;
	for (i = 0; i < sizeof values / sizeof values[0]; i++) {
		int value = 77;
		LAPI_OK(LAPI_Setcntr(hndl, &cntr, values[i]));
		LAPI_OK(LAPI_Getcntr(hndl, &cntr, &value));
		CHECK_EQUAL(value, values[i]);
		CHECK_EQUAL(cntr.cntr, values[i]); /* the value is the first member */
	}
}

static void counter_null_pointers(void)
{
	int value = 5;
	counter_zero(&cntr);
	CHECK_CODE(LAPI_ERR_CNTR_NULL, LAPI_Setcntr(hndl, NULL, 1));
	CHECK_CODE(LAPI_ERR_CNTR_NULL, LAPI_Getcntr(hndl, NULL, &value));
	CHECK_CODE(LAPI_ERR_RET_PTR_NULL, LAPI_Getcntr(hndl, &cntr, NULL));
	CHECK_CODE(LAPI_ERR_CNTR_NULL, LAPI_Waitcntr(hndl, NULL, 0, &value));
	CHECK_CODE(LAPI_ERR_CNTR_NULL, LAPI_Waitcntr(hndl, NULL, 1, NULL));
	CHECK_EQUAL(value, 5);
}

static void wait_subtracts_value(void)
{
	int current = -1;
	LAPI_OK(LAPI_Setcntr(hndl, &cntr, 5));
	LAPI_OK(LAPI_Waitcntr(hndl, &cntr, 3, &current));
	CHECK_EQUAL(current, 2);
	CHECK_EQUAL(counter_value(&cntr), 2);
	LAPI_OK(LAPI_Waitcntr(hndl, &cntr, 2, &current));
	CHECK_EQUAL(current, 0);
	CHECK_EQUAL(counter_value(&cntr), 0);
}

static void wait_current_may_be_null(void)
{
	LAPI_OK(LAPI_Setcntr(hndl, &cntr, 4));
	LAPI_OK(LAPI_Waitcntr(hndl, &cntr, 1, NULL));
	CHECK_EQUAL(counter_value(&cntr), 3);
}

/* Programs pass one variable for both: its old value is what to wait for, and it receives the
 * remainder. */
static void wait_current_aliases_value(void)
{
	int both = 2;
	LAPI_OK(LAPI_Setcntr(hndl, &cntr, 9));
	LAPI_OK(LAPI_Waitcntr(hndl, &cntr, both, &both));
	CHECK_EQUAL(both, 7);
	CHECK_EQUAL(counter_value(&cntr), 7);
}

static void wait_zero_returns_at_once(void)
{
	int current = -1;
	counter_zero(&cntr);
	LAPI_OK(LAPI_Waitcntr(hndl, &cntr, 0, &current));
	CHECK_EQUAL(current, 0);
	LAPI_OK(LAPI_Setcntr(hndl, &cntr, 6));
	LAPI_OK(LAPI_Waitcntr(hndl, &cntr, 0, &current));
	CHECK_EQUAL(current, 6);
	CHECK_EQUAL(counter_value(&cntr), 6);
}

/* A counter set to minus the number of expected arrivals, waited for with 0. */
static void wait_zero_on_negative_waits(void)
{
	void *table[CONFORM_MAX_TASKS];
	int target, current = -1;
	counter_zero(&cntr);
	LAPI_OK(LAPI_Setcntr(hndl, &cntr, -num_tasks));
	exchange(&cntr, table);
	for (target = 0; target < num_tasks; target++)
		LAPI_OK(LAPI_Put(hndl, (uint)target, 0, NULL, NULL, (lapi_cntr_t *)table[target],
		                 NULL, NULL));
	LAPI_OK(LAPI_Waitcntr(hndl, &cntr, 0, &current));
	CHECK_EQUAL(current, 0);
	CHECK_EQUAL(counter_value(&cntr), 0);
}

static void wait_negative_value(void)
{
	int current = 77;
	counter_zero(&cntr);
	LAPI_OK(LAPI_Waitcntr(hndl, &cntr, -3, &current));
	CHECK_EQUAL(current, 3);
	LAPI_OK(LAPI_Setcntr(hndl, &cntr, -5));
	LAPI_OK(LAPI_Waitcntr(hndl, &cntr, -5, &current));
	CHECK_EQUAL(current, 0);
}

static void wait_leaves_surplus(void)
{
	void *table[CONFORM_MAX_TASKS];
	int i, current = -1, next = (task_id + 1) % num_tasks;
	counter_zero(&cntr);
	exchange(&cntr, table);
	for (i = 0; i < 10; i++)
		LAPI_OK(LAPI_Put(hndl, (uint)next, 0, NULL, NULL, (lapi_cntr_t *)table[next], NULL,
		                 NULL));
	conform_sync();
	POLL_UNTIL(counter_value(&cntr) >= 10);
	LAPI_OK(LAPI_Waitcntr(hndl, &cntr, 4, &current));
	CHECK_EQUAL(current, 6);
	LAPI_OK(LAPI_Waitcntr(hndl, &cntr, 6, &current));
	CHECK_EQUAL(current, 0);
}

/* Real programs reset counters with an assignment, between two Gfences. */
static void counter_reset_by_plain_store(void)
{
	void *table[CONFORM_MAX_TASKS];
	int round, next = (task_id + 1) % num_tasks;
	counter_zero(&cntr);
	exchange(&cntr, table);
	for (round = 0; round < 20; round++) {
		LAPI_OK(LAPI_Put(hndl, (uint)next, 0, NULL, NULL, (lapi_cntr_t *)table[next], NULL,
		                 NULL));
		POLL_UNTIL(peek(&cntr.cntr) != 0);
		CHECK_EQUAL(cntr.cntr, 1);
		conform_sync();
		cntr.cntr = 0;
		conform_sync();
	}
	CHECK_EQUAL(counter_value(&cntr), 0);
}

/* One counter is the target counter of the previous task's put and the origin (and completion)
 * counter of this task's own. */
static void counter_as_origin_and_target_at_once(void)
{
	static int word, value = 3;
	void *counters[CONFORM_MAX_TASKS], *words[CONFORM_MAX_TASKS];
	int i, next = (task_id + 1) % num_tasks;
	counter_zero(&cntr);
	exchange(&cntr, counters);
	exchange(&word, words);
	for (i = 0; i < 50; i++)
		LAPI_OK(LAPI_Put(hndl, (uint)next, sizeof word, words[next], &value,
		                 (lapi_cntr_t *)counters[next], &cntr, &cntr));
	counter_wait(&cntr, 150);
	CHECK_EQUAL(counter_value(&cntr), 0);
	CHECK_EQUAL(word, 3);
}

/* With L1_LIB a counter is one int: the memory behind it is the program's. */
static void counter_is_four_bytes_in_l1(void)
{
	static int words[8];
	lapi_cntr_t *middle = (lapi_cntr_t *)(void *)&words[3];
	void *table[CONFORM_MAX_TASKS];
	int i, current, next = (task_id + 1) % num_tasks;
	if (conform_lib != L1_LIB)
		SKIP("needs CONFORM_LIB=l1");
	for (i = 0; i < 8; i++)
		words[i] = -77;
	LAPI_OK(LAPI_Setcntr(hndl, middle, 0));
	exchange(middle, table);
	LAPI_OK(LAPI_Put(hndl, (uint)next, 0, NULL, NULL, (lapi_cntr_t *)table[next], middle,
	                 middle));
	LAPI_OK(LAPI_Waitcntr(hndl, middle, 3, &current));
	for (i = 0; i < 8; i++)
		CHECK_EQUAL(words[i], i == 3 ? 0 : -77);
}

/* The same where nothing lies behind it: the last four bytes before a page without access. */
static void counter_at_the_end_of_memory_in_l1(void)
{
	long page = sysconf(_SC_PAGESIZE);
	char *pages;
	lapi_cntr_t *last;
	void *table[CONFORM_MAX_TASKS];
	int current, next = (task_id + 1) % num_tasks;
	if (conform_lib != L1_LIB)
		SKIP("needs CONFORM_LIB=l1");
	pages = (char *)mmap(NULL, 2 * (size_t)page, PROT_READ | PROT_WRITE,
	                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (!CHECK(pages != MAP_FAILED) ||
	    !CHECK(mprotect(pages + page, (size_t)page, PROT_NONE) == 0))
		return;
	last = (lapi_cntr_t *)(void *)(pages + page - 4);
	LAPI_OK(LAPI_Setcntr(hndl, last, 0));
	exchange(last, table);
	LAPI_OK(LAPI_Put(hndl, (uint)next, 0, NULL, NULL, (lapi_cntr_t *)table[next], last, last));
	LAPI_OK(LAPI_Waitcntr(hndl, last, 3, &current));
	CHECK_EQUAL(current, 0);
	conform_sync();
	munmap(pages, 2 * (size_t)page);
}

/* Many waits in a row, each satisfied by another task: no wake-up is lost. */
static void wait_ring(void)
{
	void *table[CONFORM_MAX_TASKS];
	int round, next = (task_id + 1) % num_tasks;
	counter_zero(&cntr);
	exchange(&cntr, table);
	for (round = 0; round < 300; round++) {
		if (task_id != 0)
			counter_wait(&cntr, 1);
		LAPI_OK(LAPI_Put(hndl, (uint)next, 0, NULL, NULL, (lapi_cntr_t *)table[next], NULL,
		                 NULL));
		if (task_id == 0)
			counter_wait(&cntr, 1);
	}
	CHECK_EQUAL(counter_value(&cntr), 0);
}

/* The target sleeps in Waitcntr for long, then is woken. */
static void wait_sleeping_task_is_woken(void)
{
	void *table[CONFORM_MAX_TASKS];
	int target;
	counter_zero(&cntr);
	exchange(&cntr, table);
	if (task_id == 0) {
		sleep_ms(300);
		for (target = 0; target < num_tasks; target++)
			LAPI_OK(LAPI_Put(hndl, (uint)target, 0, NULL, NULL,
			                 (lapi_cntr_t *)table[target], NULL, NULL));
	}
	counter_wait(&cntr, 1);
}

static void wait_two_counters_any_order(void)
{
	void *first[CONFORM_MAX_TASKS], *second[CONFORM_MAX_TASKS];
	int i, next = (task_id + 1) % num_tasks;
	counter_zero(&cntr);
	counter_zero(&other);
	exchange(&cntr, first);
	exchange(&other, second);
	for (i = 0; i < 40; i++)
		LAPI_OK(LAPI_Put(hndl, (uint)next, 0, NULL, NULL,
		                 (lapi_cntr_t *)(i % 2 ? first[next] : second[next]), NULL, NULL));
	counter_wait(&other, 20);
	counter_wait(&cntr, 20);
	CHECK_EQUAL(counter_value(&cntr), 0);
	CHECK_EQUAL(counter_value(&other), 0);
}

/* The loop of the guide: Getcntr alone need not make progress, with Probe it does. */
static void getcntr_and_probe_loop(void)
{
	void *table[CONFORM_MAX_TASKS];
	int value = 0, next = (task_id + 1) % num_tasks;
	counter_zero(&cntr);
	exchange(&cntr, table);
	LAPI_OK(LAPI_Put(hndl, (uint)next, 0, NULL, NULL, (lapi_cntr_t *)table[next], NULL, NULL));
	for (;;) {
		LAPI_OK(LAPI_Getcntr(hndl, &cntr, &value));
		if (value >= 1)
			break;
		LAPI_OK(LAPI_Probe(hndl));
		sched_yield();
	}
	CHECK_EQUAL(value, 1);
}

static const conform_case cases[] = {
	CONFORM_CASE(counter_set_get),
	CONFORM_CASE(counter_null_pointers),
	CONFORM_CASE(wait_subtracts_value),
	CONFORM_CASE(wait_current_may_be_null),
	CONFORM_CASE(wait_current_aliases_value),
	CONFORM_CASE(wait_zero_returns_at_once),
	CONFORM_CASE(wait_zero_on_negative_waits),
	CONFORM_CASE(wait_negative_value),
	CONFORM_CASE(wait_leaves_surplus),
	CONFORM_CASE(counter_reset_by_plain_store),
	CONFORM_CASE(counter_as_origin_and_target_at_once),
	CONFORM_CASE(counter_is_four_bytes_in_l1),
	CONFORM_CASE(counter_at_the_end_of_memory_in_l1),
	CONFORM_CASE(wait_ring),
	CONFORM_CASE(wait_sleeping_task_is_woken),
	CONFORM_CASE(wait_two_counters_any_order),
	CONFORM_CASE(getcntr_and_probe_loop),
};

int main(int argc, char **argv)
{
	return conform_main(argc, argv, cases, sizeof cases / sizeof cases[0]);
}
