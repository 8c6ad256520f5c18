/*
 * threads.c - several user threads of a task at once.
 */
#include "conform.h"

enum { THREADS = 4 };

static unsigned char source[60000], sink[THREADS][60000];
static void *sinks[CONFORM_MAX_TASKS];
static lapi_cntr_t cntrs[THREADS];
static void *cntr_tables[THREADS][CONFORM_MAX_TASKS];
static int next;

static void prepare(void)
{
	int i;
	next = (task_id + 1) % num_tasks;
	exchange(sink, sinks);
	for (i = 0; i < THREADS; i++) {
		counter_zero(&cntrs[i]);
		exchange(&cntrs[i], cntr_tables[i]);
	}
}

static void run_threads(void *(*function)(void *))
{
	pthread_t threads[THREADS];
	int i;
	for (i = 0; i < THREADS; i++)
		CHECK_EQUAL(pthread_create(&threads[i], NULL, function, (void *)(intptr_t)i), 0);
	for (i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
}

/* ---- one counter a thread ---- */

static void *ring_on_own_counter(void *argument)
{
	int i, mine = (int)(intptr_t)argument;
	for (i = 0; i < 100; i++) {
		if (task_id != 0)
			LAPI_OK(LAPI_Waitcntr(hndl, &cntrs[mine], 1, NULL));
		LAPI_OK(LAPI_Put(hndl, (uint)next, 0, NULL, NULL,
		                 (lapi_cntr_t *)cntr_tables[mine][next], NULL, NULL));
		if (task_id == 0)
			LAPI_OK(LAPI_Waitcntr(hndl, &cntrs[mine], 1, NULL));
	}
	return NULL;
}

static void threads_wait_on_different_counters(void)
{
	prepare();
	run_threads(ring_on_own_counter);
	conform_sync();
	CHECK_EQUAL(counter_value(&cntrs[0]) + counter_value(&cntrs[1]) + counter_value(&cntrs[2]) +
	                    counter_value(&cntrs[3]),
	            0);
}

/* Half of the threads wait, half spin on Getcntr with nobody else to drive the library for them but
 * the waiters. */
static void *wait_or_spin(void *argument)
{
	int i, value, mine = (int)(intptr_t)argument;
	for (i = 1; i <= 30; i++) {
		LAPI_OK(LAPI_Put(hndl, (uint)next, 500, (char *)sinks[next] + mine * 60000, source,
		                 (lapi_cntr_t *)cntr_tables[mine][next], NULL, NULL));
		if (mine % 2)
			LAPI_OK(LAPI_Waitcntr(hndl, &cntrs[mine], 1, NULL));
		else
			do {
				LAPI_OK(LAPI_Getcntr(hndl, &cntrs[mine], &value));
				LAPI_OK(LAPI_Probe(hndl));
				sched_yield();
			} while (value < i);
	}
	return NULL;
}

static void threads_wait_while_others_spin(void)
{
	prepare();
	run_threads(wait_or_spin);
	conform_sync();
	CHECK_EQUAL(counter_value(&cntrs[0]), 30);
	CHECK_EQUAL(counter_value(&cntrs[1]), 0);
}

/* Getcntr alone, in interrupt mode: the library progresses by itself. */
static void *spin_on_getcntr(void *argument)
{
	int value, mine = (int)(intptr_t)argument;
	do {
		LAPI_OK(LAPI_Getcntr(hndl, &cntrs[mine], &value));
		sched_yield();
	} while (value < 20);
	return NULL;
}

static void threads_spin_on_getcntr_in_interrupt_mode(void)
{
	int i, k;
	LAPI_OK(LAPI_Senv(hndl, INTERRUPT_SET, 1));
	prepare();
	for (i = 0; i < 20; i++)
		for (k = 0; k < THREADS; k++)
			LAPI_OK(LAPI_Put(hndl, (uint)next, 100, sinks[next], source,
			                 (lapi_cntr_t *)cntr_tables[k][next], NULL, NULL));
	run_threads(spin_on_getcntr);
	conform_sync();
}

/* ---- everybody sends everything ---- */

static int word;
static void *words[CONFORM_MAX_TASKS], *handlers[CONFORM_MAX_TASKS];
static int header_calls, completions;

static void completed(lapi_handle_t *h, void *unused)
{
	(void)h, (void)unused;
	__atomic_add_fetch(&completions, 1, __ATOMIC_ACQ_REL);
}

static void *take(lapi_handle_t *h, void *uhdr, uint *uhdr_len, ulong *msg_len,
                  compl_hndlr_t **completion, void **user_info)
{
	(void)h, (void)uhdr_len, (void)msg_len, (void)user_info;
	header_calls++; /* under the library's lock */
	*completion = completed;
	return sink[*(int *)uhdr];
}

static void *mixed_traffic(void *argument)
{
	int i, before, one = 1, mine = (int)(intptr_t)argument, uhdr[2] = {0, 0};
	unsigned char back[1000];
	lapi_cntr_t done;
	uhdr[0] = mine;
	counter_zero(&done);
	for (i = 0; i < 60; i++) {
		uint target = (uint)(task_id + i) % (uint)num_tasks;
		LAPI_OK(LAPI_Put(hndl, target, (ulong)(i * 900),
		                 (char *)sinks[target] + mine * 60000, source, NULL, NULL, &done));
		LAPI_OK(LAPI_Get(hndl, target, sizeof back, (char *)sinks[target] + mine * 60000,
		                 back, NULL, &done));
		LAPI_OK(LAPI_Rmw(hndl, FETCH_AND_ADD, target, (int *)words[target], &one, &before,
		                 &done));
		LAPI_OK(LAPI_Amsend(hndl, target, handlers[target], uhdr, sizeof uhdr, source,
		                    (ulong)(i * 300), NULL, NULL, &done));
		LAPI_OK(LAPI_Waitcntr(hndl, &done, 4, NULL));
	}
	return NULL;
}

static void threads_mix_all_operations(void)
{
	word = header_calls = completions = 0;
	prepare();
	fill_pattern(source, sizeof source, 1);
	exchange(&word, words);
	exchange((void *)(uintptr_t)take, handlers);
	run_threads(mixed_traffic);
	conform_sync();
	CHECK_EQUAL(sum_over_tasks(word), 60ll * THREADS * num_tasks);
	CHECK_EQUAL(sum_over_tasks(header_calls), 60ll * THREADS * num_tasks);
	CHECK_EQUAL(sum_over_tasks(peek(&completions)), 60ll * THREADS * num_tasks);
}

/* ---- two threads may not wait for one counter ---- */

static int refused, served;

static void *wait_for_shared(void *argument)
{
	int code;
	if ((intptr_t)argument > 1)
		return NULL;
	code = LAPI_Waitcntr(hndl, &cntrs[0], 1, NULL);
	CHECK(code == LAPI_SUCCESS || code == LAPI_ERR_MULTIPLE_WAITERS);
	__atomic_add_fetch(code == LAPI_SUCCESS ? &served : &refused, 1, __ATOMIC_ACQ_REL);
	if (code != LAPI_SUCCESS) /* the other is inside now: let it go */
		LAPI_OK(LAPI_Setcntr(hndl, &cntrs[0], 1));
	return NULL;
}

/* Guide, Chapter 15. The second thread's wait fails at once, the first one's is served. */
static void threads_may_not_share_a_counter(void)
{
	prepare();
	refused = served = 0;
	run_threads(wait_for_shared);
	CHECK_EQUAL(refused, 1);
	CHECK_EQUAL(served, 1);
	CHECK_EQUAL(counter_value(&cntrs[0]), 0);
}

static void *fence_often(void *argument)
{
	int i, mine = (int)(intptr_t)argument;
	for (i = 0; i < 40; i++) {
		LAPI_OK(LAPI_Put(hndl, (uint)next, 2000, (char *)sinks[next] + mine * 60000, source,
		                 NULL, NULL, NULL));
		LAPI_OK(LAPI_Fence(hndl));
	}
	return NULL;
}

static void threads_fence_at_once(void)
{
	prepare();
	run_threads(fence_often);
}

/* ---- many threads ---- */

enum { MANY = 24 };

static void *put_and_wait(void *argument)
{
	lapi_cntr_t mine;
	int i;
	counter_zero(&mine);
	for (i = 0; i < 40; i++) {
		uint target = (uint)(task_id + i) % (uint)num_tasks;
		LAPI_OK(LAPI_Put(hndl, target, 300, sinks[target], source, NULL, NULL, &mine));
		LAPI_OK(LAPI_Waitcntr(hndl, &mine, 1, NULL));
	}
	return argument;
}

static void threads_by_the_dozen(void)
{
	pthread_t threads[MANY];
	int i;
	prepare();
	for (i = 0; i < MANY; i++)
		CHECK_EQUAL(pthread_create(&threads[i], NULL, put_and_wait, NULL), 0);
	for (i = 0; i < MANY; i++)
		pthread_join(threads[i], NULL);
}

/* A counter set by one thread wakes another that waits for it. */
static void *set_later(void *argument)
{
	if ((intptr_t)argument == 0) {
		sleep_ms(30);
		LAPI_OK(LAPI_Setcntr(hndl, &cntrs[1], 3));
	} else if ((intptr_t)argument == 1)
		LAPI_OK(LAPI_Waitcntr(hndl, &cntrs[1], 3, NULL));
	return NULL;
}

static void setcntr_wakes_a_waiter(void)
{
	prepare();
	run_threads(set_later);
	CHECK_EQUAL(counter_value(&cntrs[1]), 0);
}

static void *query_and_set(void *argument)
{
	int i, value;
	(void)argument;
	for (i = 0; i < 300; i++) {
		LAPI_OK(LAPI_Qenv(hndl, NUM_TASKS, &value));
		CHECK_EQUAL(value, num_tasks);
		LAPI_OK(LAPI_Senv(hndl, ACK_THRESHOLD, 1 + i % 30));
		LAPI_OK(LAPI_Senv(hndl, INTERRUPT_SET, i % 2));
	}
	return NULL;
}

static void threads_query_and_set(void)
{
	prepare();
	run_threads(query_and_set);
	LAPI_OK(LAPI_Senv(hndl, ACK_THRESHOLD, 30));
}

static const conform_case cases[] = {
	CONFORM_CASE(threads_wait_on_different_counters),
	CONFORM_CASE(threads_wait_while_others_spin),
	CONFORM_CASE(threads_spin_on_getcntr_in_interrupt_mode),
	CONFORM_CASE(threads_mix_all_operations),
	CONFORM_CASE(threads_may_not_share_a_counter),
	CONFORM_CASE(threads_fence_at_once),
	CONFORM_CASE(threads_by_the_dozen),
	CONFORM_CASE(setcntr_wakes_a_waiter),
	CONFORM_CASE(threads_query_and_set),
};

int main(int argc, char **argv)
{
	return conform_main(argc, argv, cases, sizeof cases / sizeof cases[0]);
}
