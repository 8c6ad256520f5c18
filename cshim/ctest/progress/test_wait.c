/* test_wait.c - waits for counters and tickets: when they end, what they leave, and which thread
 * wakes them.
 */
#define _GNU_SOURCE
#include "ctest/fake.h"

#include <sched.h>
#include <string.h>

static lapi_handle_t handle;

static int value(lapi_cntr_t *counter)
{
	int v = -1000;

	CHECK(LAPI_Getcntr(handle, counter, &v) == LAPI_SUCCESS);
	return v;
}

/* LAPI_Waitcntr with values: subtract, leave the rest, 0 and negative numbers, results that alias
 * or are absent. */
static void test_values(void)
{
	lapi_cntr_t counter;
	int val = 2;

	CHECK(LAPI_Setcntr(handle, &counter, 5) == LAPI_SUCCESS);
	CHECK(LAPI_Waitcntr(handle, &counter, val, &val) == LAPI_SUCCESS);
	CHECK(val == 3 && value(&counter) == 3);
	CHECK(LAPI_Waitcntr(handle, &counter, 3, NULL) == LAPI_SUCCESS);
	CHECK(value(&counter) == 0);
	CHECK(LAPI_Waitcntr(handle, &counter, 0, &val) == LAPI_SUCCESS);
	CHECK(val == 0);
	CHECK(LAPI_Waitcntr(handle, &counter, -4, &val) == LAPI_SUCCESS);
	CHECK(val == 4);
	CHECK(LAPI_Waitcntr(handle, NULL, 1, NULL) == LAPI_ERR_CNTR_NULL);
}

typedef struct waiter {
	lapi_cntr_t counter;
	int val, rc, left;
	uint32_t begun, done; /* atomic */
} waiter;

static void *wait_once(void *argument)
{
	waiter *w = argument;

	__atomic_store_n(&w->begun, 1, __ATOMIC_SEQ_CST);
	w->rc = LAPI_Waitcntr(handle, &w->counter, w->val, &w->left);
	__atomic_store_n(&w->done, 1, __ATOMIC_SEQ_CST);
	return NULL;
}

static pthread_t start(waiter *w, int val)
{
	pthread_t thread;

	memset(w, 0, sizeof(*w));
	w->val = val;
	thread = fake_thread(wait_once, w);
	fake_await(&w->begun, 1);
	return thread;
}

static void finish(waiter *w, pthread_t thread)
{
	pthread_join(thread, NULL);
	CHECK(w->rc == LAPI_SUCCESS && w->left == 0);
}

/* 0 waits while the counter is negative; packets count it up while the waiter sleeps. */
static void test_negative(void)
{
	cshim_context *context = fake_context(handle);
	waiter w;
	pthread_t thread;
	int i;

	memset(&w, 0, sizeof(w));
	CHECK(LAPI_Setcntr(handle, &w.counter, -3) == LAPI_SUCCESS);
	thread = fake_thread(wait_once, &w);
	for (i = 0; i < 3; i++) {
		fake_await(&context->progress.polling, 1);
		fake_sleep_us(500);
		CHECK(__atomic_load_n(&w.done, __ATOMIC_SEQ_CST) == 0);
		fake_count(context, (int *)&w.counter);
	}
	finish(&w, thread);
}

/* Three waiters on three counters: one turns, two follow. Each is woken by a packet, by
 * LAPI_Setcntr. */
static void test_wakers(int by_set)
{
	cshim_context *context = fake_context(handle);
	waiter w[3];
	pthread_t threads[3];
	int i, order[] = {1, 0, 2};

	for (i = 0; i < 3; i++)
		threads[i] = start(&w[i], 1);
	fake_await(&(context)->progress.followers, 2);
	for (i = 0; i < 3; i++) {
		waiter *next = &w[order[i]];

		fake_sleep_us(300);
		CHECK(__atomic_load_n(&next->done, __ATOMIC_SEQ_CST) == 0);
		if (by_set)
			CHECK(LAPI_Setcntr(handle, &next->counter, 1) == LAPI_SUCCESS);
		else
			fake_count(context, (int *)&next->counter);
		fake_await(&next->done, 1);
	}
	for (i = 0; i < 3; i++)
		finish(&w[i], threads[i]);
}

static void test_multiple_waiters(void)
{
	waiter w;
	pthread_t thread = start(&w, 1);
	cshim_context *context = fake_context(handle);

	fake_await(&context->progress.polling, 1);
	cshim_lock(&context->progress); /* after this the waiter is registered: it polls, and had
	                                   the lock */
	cshim_unlock(&context->progress);
	CHECK(LAPI_Waitcntr(handle, &w.counter, 1, NULL) == LAPI_ERR_MULTIPLE_WAITERS);
	CHECK(LAPI_Setcntr(handle, &w.counter, 1) == LAPI_SUCCESS);
	finish(&w, thread);
	CHECK(LAPI_Setcntr(handle, &w.counter, 1) == LAPI_SUCCESS);
	CHECK(LAPI_Waitcntr(handle, &w.counter, 1, NULL) == LAPI_SUCCESS);
}

/* The user holds the lock around the wait, twice: others get it while the wait sleeps, and the
 * levels come back. */
static void test_lock_held(void)
{
	cshim_context *context = fake_context(handle);
	lapi_cntr_t mine;
	waiter other;
	pthread_t thread;
	int i;

	cshim_lock(&context->progress);
	cshim_lock(&context->progress);
	thread = start(&other, 1);
	for (i = 0; i < 20; i++) {
		CHECK(LAPI_Setcntr(handle, &mine, 0) == LAPI_SUCCESS);
		fake_count(context, (int *)&mine);
		CHECK(LAPI_Waitcntr(handle, &mine, 1, NULL) == LAPI_SUCCESS);
		CHECK(cshim_lock_owned(&context->progress) && context->progress.lock_depth == 2);
	}
	fake_count(context, (int *)&other.counter);
	while (!__atomic_load_n(&other.done, __ATOMIC_SEQ_CST)) {
		CHECK(LAPI_Probe(handle) == LAPI_SUCCESS);
		CHECK(cshim_lock_owned(&context->progress) && context->progress.lock_depth == 2);
	}
	CHECK(LAPI_Gfence(handle) == LAPI_SUCCESS);
	CHECK(cshim_unlock(&context->progress) == 0 && cshim_unlock(&context->progress) == 0);
	CHECK(!cshim_lock_owned(&context->progress));
	finish(&other, thread);
}

/*
 * In polling mode, the poller has been kicked but has not had the lock yet; another thread goes to
 * sleep, counting on it. Which of the two gets the lock first is chance, hence the rounds.
 */
static void test_late_sleeper(void)
{
	cshim_context *context = fake_context(handle);
	waiter poller, late;
	pthread_t threads[2];
	int i;

	for (i = 0; i < 50; i++) {
		threads[0] = start(&poller, 1);
		while (__atomic_load_n(&context->progress.poller, __ATOMIC_SEQ_CST) == 0)
			fake_sleep_us(20);
		cshim_lock(&context->progress);
		fake_add(cshim_index_of(context), (int *)&poller.counter, 1);
		cshim_notify(&context->progress);
		threads[1] = start(&late, 1);
		fake_await(&context->progress.lock_waiters, 2);
		cshim_unlock(&context->progress);
		finish(&poller, threads[0]);
		fake_count(context, (int *)&late.counter);
		finish(&late, threads[1]);
	}
}

static uint32_t in_error_handler, leave_error_handler; /* atomic */

static void slow_error_handler(lapi_handle_t *hndl, int *code, lapi_err_t *type, int *task,
                               int *src)
{
	(void)hndl, (void)code, (void)type, (void)task, (void)src;
	__atomic_store_n(&in_error_handler, 1, __ATOMIC_SEQ_CST);
	fake_await(&leave_error_handler, 1);
}

static void fail(int context, void *argument)
{
	(void)argument;
	fake_queue_error(context, slow_error_handler, LAPI_ERR_TIMEOUT);
}

/* In polling mode, the poller is busy in the error handler: a sleeper takes over. */
static void test_busy_poller(void)
{
	cshim_context *context = fake_context(handle);
	waiter poller, sleeper;
	pthread_t threads[2];

	__atomic_store_n(&in_error_handler, 0, __ATOMIC_SEQ_CST);
	__atomic_store_n(&leave_error_handler, 0, __ATOMIC_SEQ_CST);
	threads[0] = start(&poller, 1);
	threads[1] = start(&sleeper, 1);
	fake_await(&(context)->progress.followers, 1);
	fake_arrive(context, fail, NULL);
	fake_await(&in_error_handler, 1);
	fake_count(context, (int *)&sleeper.counter);
	fake_count(context, (int *)&poller.counter);
	/* Whichever of the two runs the handler, the other must be done before it returns. */
	while (!__atomic_load_n(&sleeper.done, __ATOMIC_SEQ_CST) &&
	       !__atomic_load_n(&poller.done, __ATOMIC_SEQ_CST))
		fake_sleep_us(100);
	__atomic_store_n(&leave_error_handler, 1, __ATOMIC_SEQ_CST);
	finish(&poller, threads[0]);
	finish(&sleeper, threads[1]);
}

static void *fence_with_timeout(void *done)
{
	CHECK(LAPI_Fence(handle) == LAPI_ERR_TIMEOUT);
	__atomic_store_n((uint32_t *)done, 1, __ATOMIC_SEQ_CST);
	return NULL;
}

static void end_with_timeout(int context, void *argument);

/* In polling mode: a ticket is done, by another thread's turn, while the thread that waits for it
 * is in the error handler. */
static void test_done_in_error_handler(void)
{
	cshim_context *context = fake_context(handle);
	waiter other;
	pthread_t threads[2];
	uint32_t done = 0, turns;

	__atomic_store_n(&in_error_handler, 0, __ATOMIC_SEQ_CST);
	__atomic_store_n(&leave_error_handler, 0, __ATOMIC_SEQ_CST);
	fake_hold_tickets(1);
	fake_arrive(context, fail, NULL);
	threads[0] = fake_thread(fence_with_timeout, &done);
	fake_await(&in_error_handler, 1);
	threads[1] = start(&other, 1);
	turns = __atomic_load_n(&fake_counts.dispatches, __ATOMIC_SEQ_CST);
	fake_arrive(context, end_with_timeout, NULL);
	fake_await(&fake_counts.dispatches, turns + 1);
	while (__atomic_load_n(&context->progress.poller, __ATOMIC_SEQ_CST) == 0)
		fake_sleep_us(20);
	CHECK(__atomic_load_n(&done, __ATOMIC_SEQ_CST) == 0);
	__atomic_store_n(&leave_error_handler, 1, __ATOMIC_SEQ_CST);
	pthread_join(threads[0], NULL);
	fake_hold_tickets(0);
	fake_count(context, (int *)&other.counter);
	finish(&other, threads[1]);
}

/* A counter that changes by what arrives in another context ends the wait too. */
static void test_other_context(void)
{
	lapi_handle_t second;
	waiter w[2];
	pthread_t threads[2];
	int i;

	fake_settings.polling = 0;
	second = fake_init(NULL);
	for (i = 0; i < 2; i++)
		threads[i] = start(&w[i], 1);
	fake_await(&(fake_context(handle))->progress.followers, 1);
	for (i = 0; i < 2; i++)
		fake_count(fake_context(second), (int *)&w[i].counter);
	for (i = 0; i < 2; i++)
		finish(&w[i], threads[i]);
	CHECK(LAPI_Term(second) == LAPI_SUCCESS);
}

static void end_with_timeout(int context, void *argument)
{
	(void)argument;
	fake_finish_tickets(context, LAPI_ERR_TIMEOUT);
}

/* A ticket's result is the call's. */
static void test_ticket_result(void)
{
	CHECK(LAPI_Fence(handle) == LAPI_SUCCESS);
	fake_hold_tickets(1);
	fake_arrive(fake_context(handle), end_with_timeout, NULL);
	CHECK(LAPI_Fence(handle) == LAPI_ERR_TIMEOUT);
	fake_hold_tickets(0);
}

/* Waits that are satisfied at once let polling programs progress all the same. */
static void test_satisfied(void)
{
	cshim_context *context = fake_context(handle);
	lapi_cntr_t counter, arrived;
	int i;

	CHECK(LAPI_Setcntr(handle, &arrived, 0) == LAPI_SUCCESS);
	fake_count(context, (int *)&arrived);
	for (i = 0; i < 100 && value(&arrived) == 0; i++) {
		CHECK(LAPI_Setcntr(handle, &counter, 1) == LAPI_SUCCESS);
		CHECK(LAPI_Waitcntr(handle, &counter, 1, NULL) == LAPI_SUCCESS);
	}
	CHECK(value(&arrived) == 1);
}

/* A fence that is over when it begins makes no progress call, but now and then. */
static void test_fence_over(void)
{
	cshim_context *context = fake_context(handle);
	lapi_cntr_t arrived;
	uint32_t before;
	int i;

	fake_settings.fence_over = 1;
	CHECK(LAPI_Setcntr(handle, &arrived, 0) == LAPI_SUCCESS);
	fake_count(context, (int *)&arrived);
	for (i = 0; i < 100 && value(&arrived) == 0; i++)
		CHECK(LAPI_Fence(handle) == LAPI_SUCCESS);
	CHECK(value(&arrived) == 1);
	before = __atomic_load_n(&fake_counts.dispatches, __ATOMIC_SEQ_CST);
	for (i = 0; i < 100; i++)
		CHECK(LAPI_Fence(handle) == LAPI_SUCCESS);
	/* the service thread makes some, too */
	CHECK(!fake_settings.polling ||
	      __atomic_load_n(&fake_counts.dispatches, __ATOMIC_SEQ_CST) - before <= 10);
	fake_settings.fence_over = 0;
}

static void test_all(int polling, uint32_t spin, uint32_t yield)
{
	fake_settings.polling = polling;
	fake_settings.spin_turns = spin;
	fake_settings.yield_turns = yield;
	handle = fake_init(NULL);
	test_values();
	test_negative();
	if (spin < 1000) { /* else nobody sleeps soon */
		test_wakers(0);
		test_wakers(1);
	}
	if (polling && spin == 0) {
		test_late_sleeper();
		test_busy_poller();
		test_done_in_error_handler();
	}
	test_multiple_waiters();
	test_lock_held();
	test_ticket_result();
	test_satisfied();
	test_fence_over();
	if (spin < 1000)
		test_other_context();
	CHECK(LAPI_Term(handle) == LAPI_SUCCESS);
	fake_settings = (struct fake_settings){200, 20, 0, 0, -1, 0};
}

/* Has this thread, and those that it starts, run on one processor; former is where they may
 * otherwise. */
static void stay_on_one(cpu_set_t *former)
{
	cpu_set_t one;
	int cpu = 0;

	CHECK(sched_getaffinity(0, sizeof(*former), former) == 0);
	while (!CPU_ISSET(cpu, former))
		cpu++;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	CHECK(sched_setaffinity(0, sizeof(one), &one) == 0);
}

static void *compute(void *argument)
{
	while (!__atomic_load_n((uint32_t *)argument, __ATOMIC_RELAXED))
		;
	return NULL;
}

/* A thread whose yields take long, as another computes on its processor, sleeps, however often it
 * would yield else. */
static void test_long_yield(void)
{
	cpu_set_t former;
	pthread_t hog, thread;
	uint32_t stop = 0;
	waiter w;

	fake_settings.polling = 1;
	fake_settings.spin_turns = 0;
	fake_settings.yield_turns = 2000000000;
	handle = fake_init(NULL);
	stay_on_one(&former);
	hog = fake_thread(compute, &stop);
	thread = start(&w, 1);
	CHECK(sched_setaffinity(0, sizeof(former), &former) == 0);
	fake_await(&fake_context(handle)->progress.poller, 1);
	CHECK(LAPI_Setcntr(handle, &w.counter, 1) == LAPI_SUCCESS);
	CHECK(pthread_join(thread, NULL) == 0);
	CHECK(w.rc == LAPI_SUCCESS);
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	CHECK(pthread_join(hog, NULL) == 0);
	CHECK(LAPI_Term(handle) == LAPI_SUCCESS);
	fake_settings = (struct fake_settings){200, 20, 0, 0, -1, 0};
}

void test_wait(void)
{
	test_long_yield();
	test_all(0, 200, 20);
	test_all(1, 200, 20);
	test_all(0, 0, 0);
	test_all(1, 0, 0);
	test_all(1, 100000, 0);
}
