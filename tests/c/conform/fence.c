/*
 * fence.c - LAPI_Fence and LAPI_Gfence.
 */
#include "conform.h"

#define BUFFER_BYTES 400000

static unsigned char source[BUFFER_BYTES] __attribute__((aligned(64)));
static unsigned char sink[BUFFER_BYTES] __attribute__((aligned(64)));
static void *sinks[CONFORM_MAX_TASKS];
static int flag;
static void *flags[CONFORM_MAX_TASKS];

static void prepare(void)
{
	flag = 0;
	memset(sink, 0, sizeof sink);
	exchange(sink, sinks);
	exchange(&flag, flags);
}

static void fence_with_nothing_under_way(void)
{
	int i;
	for (i = 0; i < 100; i++)
		LAPI_OK(LAPI_Fence(hndl));
}

/* A polling program whose only call is LAPI_Fence, with nothing outstanding, is served. */
static void fence_makes_progress(void)
{
	int next = (task_id + 1) % num_tasks, mark = 1;
	prepare();
	LAPI_OK(LAPI_Senv(hndl, INTERRUPT_SET, 0));
	conform_sync();
	LAPI_OK(LAPI_Put(hndl, (uint)next, sizeof mark, flags[next], &mark, NULL, NULL, NULL));
	while (peek(&flag) == 0)
		LAPI_OK(LAPI_Fence(hndl));
	LAPI_OK(LAPI_Senv(hndl, INTERRUPT_SET, 1));
	conform_sync();
}

/* Transfers started before the fence are at the target before any started after it. */
static void fence_orders_puts(void)
{
	static const size_t lengths[] = {1, 64, 4000, 100000, BUFFER_BYTES};
	int next = (task_id + 1) % num_tasks, previous = (task_id + num_tasks - 1) % num_tasks,
	    mark;
	size_t i;
	prepare();
	for (i = 0; i < 5; i++) {
		fill_pattern(source, lengths[i], (unsigned)task_id + (unsigned)i);
		LAPI_OK(LAPI_Put(hndl, (uint)next, lengths[i], sinks[next], source, NULL, NULL,
		                 NULL));
		LAPI_OK(LAPI_Fence(hndl));
		mark = (int)i + 1;
		LAPI_OK(LAPI_Put(hndl, (uint)next, sizeof mark, flags[next], &mark, NULL, NULL,
		                 NULL));
		POLL_UNTIL(peek(&flag) == (int)i + 1);
		CHECK(same_pattern(sink, lengths[i], (unsigned)previous + (unsigned)i));
		conform_sync();
	}
}

static int headers;

static void *take(lapi_handle_t *h, void *uhdr, uint *uhdr_len, ulong *msg_len,
                  compl_hndlr_t **completion, void **user_info)
{
	(void)h, (void)uhdr, (void)uhdr_len, (void)msg_len, (void)completion, (void)user_info;
	__atomic_add_fetch(&headers, 1, __ATOMIC_ACQ_REL);
	return sink;
}

/* A fence covers gets, rmws and active messages as well. */
static void fence_covers_every_operation(void)
{
	static unsigned char copy[50000];
	void *sources[CONFORM_MAX_TASKS], *takers[CONFORM_MAX_TASKS], *counts[CONFORM_MAX_TASKS];
	int i, next = (task_id + 1) % num_tasks, before, one = 1, seen = 0;
	headers = 0;
	prepare();
	exchange(source, sources);
	exchange((void *)(uintptr_t)take, takers);
	exchange(&headers, counts);
	fill_pattern(source, sizeof copy, (unsigned)task_id);
	conform_sync();
	for (i = 0; i < 10; i++) {
		before = -1;
		memset(copy, 0, sizeof copy);
		LAPI_OK(LAPI_Get(hndl, (uint)next, sizeof copy, sources[next], copy, NULL, NULL));
		LAPI_OK(LAPI_Rmw(hndl, FETCH_AND_ADD, (uint)next, (int *)flags[next], &one, &before,
		                 NULL));
		LAPI_OK(LAPI_Amsend(hndl, (uint)next, takers[next], NULL, 0, source, sizeof copy,
		                    NULL, NULL, NULL));
		LAPI_OK(LAPI_Fence(hndl));
		CHECK(same_pattern(copy, sizeof copy, (unsigned)next));
		CHECK_EQUAL(before, i);
		LAPI_OK(LAPI_Get(hndl, (uint)next, sizeof seen, counts[next], &seen, NULL, NULL));
		LAPI_OK(LAPI_Fence(hndl));
		CHECK_EQUAL(seen, i + 1);
	}
	conform_sync();
	CHECK(same_pattern(sink, sizeof copy, (unsigned)((task_id + num_tasks - 1) % num_tasks)));
}

static void *put_from_thread(void *unused)
{
	int next = (task_id + 1) % num_tasks;
	LAPI_OK(LAPI_Put(hndl, (uint)next, BUFFER_BYTES, sinks[next], source, NULL, NULL, NULL));
	return unused;
}

/* The fence covers the whole task, not the calling thread alone. */
static void fence_covers_other_threads(void)
{
	pthread_t thread;
	int next = (task_id + 1) % num_tasks, mark = 1;
	prepare();
	fill_pattern(source, BUFFER_BYTES, 5);
	conform_sync();
	CHECK_EQUAL(pthread_create(&thread, NULL, put_from_thread, NULL), 0);
	pthread_join(thread, NULL);
	LAPI_OK(LAPI_Fence(hndl));
	LAPI_OK(LAPI_Put(hndl, (uint)next, sizeof mark, flags[next], &mark, NULL, NULL, NULL));
	POLL_UNTIL(peek(&flag) == 1);
	CHECK(same_pattern(sink, BUFFER_BYTES, 5));
}

/* After a Gfence all data from all tasks is in place, without any counter. */
static void gfence_completes_all_traffic(void)
{
	int i, target, part = BUFFER_BYTES / CONFORM_MAX_TASKS;
	prepare();
	for (i = 0; i < 20; i++) {
		fill_pattern(source, (size_t)part, (unsigned)(task_id + i));
		for (target = 0; target < num_tasks; target++)
			LAPI_OK(LAPI_Put(hndl, (uint)target, (size_t)part,
			                 (char *)sinks[target] + task_id * part, source, NULL, NULL,
			                 NULL));
		conform_sync();
		for (target = 0; target < num_tasks; target++)
			CHECK(same_pattern(sink + target * part, (size_t)part,
			                   (unsigned)(target + i)));
		conform_sync();
	}
}

/* No task leaves a Gfence before the last has entered it. */
static void gfence_is_a_barrier(void)
{
	int i, target;
	prepare();
	for (i = 1; i <= 30; i++) {
		if (i % num_tasks == task_id)
			sleep_ms(3);
		for (target = 0; target < num_tasks; target++) {
			int one = 1;
			LAPI_OK(LAPI_Rmw(hndl, FETCH_AND_ADD, (uint)target, (int *)flags[target],
			                 &one, NULL, NULL));
		}
		conform_sync();
		CHECK_EQUAL(peek(&flag), i * num_tasks);
		conform_sync();
	}
}

static void gfence_hundreds_in_a_row(void)
{
	int i;
	for (i = 0; i < 400; i++)
		conform_sync();
}

/* ---- others keep sending while one thread is in Gfence ---- */

static int stop_senders, sent;

static void *send_until_stopped(void *seed)
{
	unsigned state = (unsigned)(uintptr_t)seed;
	lapi_cntr_t done;
	counter_zero(&done);
	while (!peek(&stop_senders)) {
		int target;
		state = state * 1103515245u + 12345u;
		target = (int)(state >> 16) % num_tasks;
		LAPI_OK(LAPI_Put(hndl, (uint)target, 200 + state % 5000, sinks[target], source,
		                 NULL, NULL, &done));
		LAPI_OK(LAPI_Waitcntr(hndl, &done, 1, NULL));
		__atomic_add_fetch(&sent, 1, __ATOMIC_ACQ_REL);
	}
	return NULL;
}

static void gfence_while_other_threads_send(void)
{
	pthread_t senders[2];
	int i;
	prepare();
	stop_senders = sent = 0;
	conform_sync();
	for (i = 0; i < 2; i++)
		CHECK_EQUAL(pthread_create(&senders[i], NULL, send_until_stopped,
		                           (void *)(uintptr_t)(task_id * 2 + i + 1)),
		            0);
	for (i = 0; i < 60; i++)
		conform_sync();
	while (peek(&sent) < 20)
		LAPI_OK(LAPI_Probe(hndl));
	for (i = 0; i < 10; i++)
		conform_sync();
	/* A sender needs its target to make progress until it has ended: in polling mode the others
	 * must stay in LAPI. */
	__atomic_store_n(&stop_senders, 1, __ATOMIC_RELEASE);
	for (i = 0; i < 2; i++)
		pthread_join(senders[i], NULL);
	conform_sync();
	CHECK(peek(&sent) >= 20);
}

/*
 * Each message's completion handler sends the next one, with one hop less to go, while the main
 * threads go from one Gfence to the next.
 */
enum { HOPS = 150 };
static void *hop_handlers[CONFORM_MAX_TASKS];
static int hops_seen;

static void send_hop(int left)
{
	int next = (task_id + 1) % num_tasks;
	LAPI_OK(LAPI_Amsend(hndl, (uint)next, hop_handlers[next], &left, sizeof left, NULL, 0, NULL,
	                    NULL, NULL));
}

static void hop(lapi_handle_t *h, void *user_info)
{
	int left = (int)(intptr_t)user_info;
	(void)h;
	if (left > 1)
		send_hop(left - 1);
	__atomic_add_fetch(&hops_seen, 1, __ATOMIC_ACQ_REL);
}

static void *arrive(lapi_handle_t *h, void *uhdr, uint *uhdr_len, ulong *msg_len,
                    compl_hndlr_t **completion, void **user_info)
{
	(void)h, (void)uhdr_len, (void)msg_len;
	*completion = hop;
	*user_info = (void *)(intptr_t) * (int *)uhdr;
	return NULL;
}

static void gfence_while_completion_handlers_send(void)
{
	int i, all;
	prepare();
	hops_seen = 0;
	exchange((void *)(uintptr_t)arrive, hop_handlers);
	conform_sync(); /* everybody has the table that its handlers use */
	send_hop(HOPS);
	for (i = 0; i < 60; i++)
		conform_sync();
	do { /* everybody goes on fencing until every chain has ended */
		conform_sync();
		all = (int)sum_over_tasks(peek(&hops_seen));
	} while (all < HOPS * num_tasks);
	CHECK_EQUAL(all, HOPS * num_tasks);
	conform_sync();
}

static void *gfences(void *unused)
{
	int i;
	for (i = 0; i < 30; i++)
		conform_sync();
	return unused;
}

/* A thread that did not call LAPI_Init may. */
static void gfence_from_another_thread(void)
{
	pthread_t thread;
	prepare();
	CHECK_EQUAL(pthread_create(&thread, NULL, gfences, NULL), 0);
	pthread_join(thread, NULL);
}

/* With uneven loads: some tasks still have much to send when the others are in the Gfence
 * already. */
static void gfence_with_uneven_load(void)
{
	int i, next = (task_id + 1) % num_tasks;
	prepare();
	fill_pattern(source, BUFFER_BYTES, 3);
	for (i = 0; i < 5; i++) {
		int k, mine = (task_id + i) % 3 == 0;
		memset(sink, 0, BUFFER_BYTES);
		conform_sync();
		for (k = 0; mine && k < 8; k++)
			LAPI_OK(LAPI_Put(hndl, (uint)next, BUFFER_BYTES / 8,
			                 (char *)sinks[next] + k * (BUFFER_BYTES / 8),
			                 source + k * (BUFFER_BYTES / 8), NULL, NULL, NULL));
		conform_sync();
		if (((task_id + num_tasks - 1) % num_tasks + i) % 3 == 0)
			CHECK(same_pattern(sink, BUFFER_BYTES, 3));
		conform_sync();
	}
}

/* ---- collectives of all kinds in one order, tasks arriving at different times ---- */

static unsigned step(unsigned *state)
{
	*state = *state * 1103515245u + 12345u;
	return *state >> 16;
}

static void check_table(int i)
{
	static lapi_long_t wide[CONFORM_MAX_TASKS];
	static void *table[CONFORM_MAX_TASKS];
	int target;
	if (i % 2 == 0) {
		LAPI_OK(LAPI_Address_init64(hndl, (lapi_long_t)(i * 1000 + task_id), wide));
		for (target = 0; target < num_tasks; target++)
			CHECK_EQUAL(wide[target], i * 1000 + target);
		return;
	}
	LAPI_OK(LAPI_Address_init(hndl, (void *)(uintptr_t)(i * 1000 + task_id), table));
	for (target = 0; target < num_tasks; target++)
		CHECK_EQUAL((uintptr_t)table[target], i * 1000 + target);
}

static void collectives_in_any_mixture(void)
{
	unsigned common = 7, own = (unsigned)task_id * 977 + 5;
	int i, next = (task_id + 1) % num_tasks, previous = (task_id + num_tasks - 1) % num_tasks;
	prepare();
	for (i = 1; i <= 200; i++) {
		unsigned what = step(&common) % 4;
		if (step(&own) % 16 == 0)
			usleep(step(&own) % 2000); /* long enough for the others to fall asleep */
		if (what == 0) {
			check_table(i);
			continue;
		}
		fill_pattern(source, 300, (unsigned)(i + task_id));
		LAPI_OK(LAPI_Put(hndl, (uint)next, 300, (char *)sinks[next] + i % 2 * 300, source,
		                 NULL, NULL, NULL));
		LAPI_OK(LAPI_Gfence(hndl));
		CHECK(same_pattern(sink + i % 2 * 300, 300, (unsigned)(i + previous)));
		if (what == 1) {
			check_table(i);
			LAPI_OK(LAPI_Gfence(hndl));
		}
	}
	LAPI_OK(LAPI_Gfence(hndl));
}

/* A late task works with the tasks that wait in Gfence, also in polling mode. */
static void gfence_serves_others(void)
{
	static unsigned char copy[3000];
	void *sources[CONFORM_MAX_TASKS];
	lapi_cntr_t done;
	int i, k, near, one = 1, before, late = num_tasks < 4 ? num_tasks : 4;
	prepare();
	exchange(source, sources);
	fill_pattern(source, sizeof copy, (unsigned)task_id);
	conform_sync();
	for (i = 0; i < 2 * late; i++) {
		counter_zero(&done);
		for (k = 0; i % late == task_id && k < 30; k++)
			for (near = 1; near <= late; near++) {
				int target = (task_id + near) % num_tasks;
				LAPI_OK(LAPI_Rmw(hndl, FETCH_AND_ADD, (uint)target,
				                 (int *)flags[target], &one, &before, &done));
				counter_wait(&done, 1);
				LAPI_OK(LAPI_Get(hndl, (uint)target, sizeof copy, sources[target],
				                 copy, NULL, &done));
				counter_wait(&done, 1);
				CHECK(same_pattern(copy, sizeof copy, (unsigned)target));
				if (k % 10 == 0)
					sleep_ms(1); /* they sleep meanwhile */
			}
		conform_sync();
	}
	CHECK_EQUAL(sum_over_tasks(peek(&flag)), 2 * late * late * 30);
}

static lapi_cntr_t last_word;

static void *wait_for_last_word(void *unused)
{
	counter_wait(&last_word, 1);
	return unused;
}

/* Another thread waits already, so that thread runs the dispatcher, and sleeps. */
static void gfence_beside_a_waiting_thread(void)
{
	void *words[CONFORM_MAX_TASKS];
	pthread_t waiter;
	int i, next = (task_id + 1) % num_tasks;
	counter_zero(&last_word);
	exchange(&last_word, words);
	CHECK_EQUAL(pthread_create(&waiter, NULL, wait_for_last_word, NULL), 0);
	for (i = 0; i < 60; i++) {
		if (i % 10 == task_id % 10)
			sleep_ms(3);
		conform_sync();
	}
	LAPI_OK(LAPI_Put(hndl, (uint)next, 0, NULL, NULL, (lapi_cntr_t *)words[next], NULL, NULL));
	pthread_join(waiter, NULL);
	conform_sync();
}

static void *twice(void *unused)
{
	int i;
	for (i = 0; i < 100; i++)
		conform_sync();
	return unused;
}

/* Two threads of each task at once: each call counts as a call of the task, whichever thread makes
 * it. */
static void gfences_of_two_threads(void)
{
	pthread_t other;
	CHECK_EQUAL(pthread_create(&other, NULL, twice, NULL), 0);
	twice(NULL);
	pthread_join(other, NULL);
	conform_sync();
}

static const conform_case cases[] = {
	CONFORM_CASE(fence_with_nothing_under_way),
	CONFORM_CASE(fence_makes_progress),
	CONFORM_CASE(fence_orders_puts),
	CONFORM_CASE(fence_covers_every_operation),
	CONFORM_CASE(fence_covers_other_threads),
	CONFORM_CASE(gfence_completes_all_traffic),
	CONFORM_CASE(gfence_is_a_barrier),
	CONFORM_CASE(gfence_hundreds_in_a_row),
	CONFORM_CASE(gfence_while_other_threads_send),
	CONFORM_CASE(gfence_while_completion_handlers_send),
	CONFORM_CASE(gfence_from_another_thread),
	CONFORM_CASE(gfence_with_uneven_load),
	CONFORM_CASE(collectives_in_any_mixture),
	CONFORM_CASE(gfence_serves_others),
	CONFORM_CASE(gfence_beside_a_waiting_thread),
	CONFORM_CASE(gfences_of_two_threads),
};

int main(int argc, char **argv)
{
	return conform_main(argc, argv, cases, sizeof cases / sizeof cases[0]);
}
