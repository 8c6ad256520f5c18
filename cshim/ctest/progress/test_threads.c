/* test_threads.c - the service thread and the completion handler threads. */
#define _GNU_SOURCE
#include "ctest/fake.h"

#include <signal.h>
#include <string.h>

static lapi_handle_t handle;

/* In interrupt mode a task that makes no call is served, and again after polling, and after a long
 * wait. */
static void test_served(void)
{
	cshim_context *context;
	uint32_t counter = 0;
	lapi_cntr_t own;
	int i;

	handle = fake_init(NULL);
	context = fake_context(handle);
	for (i = 1; i <= 20; i++) {
		fake_count(context, (int *)&counter);
		fake_await(&counter, (uint32_t)i);
	}
	for (i = 0; i < 200; i++)
		CHECK(LAPI_Probe(handle) == LAPI_SUCCESS);
	fake_count(context, (int *)&counter);
	fake_await(&counter, 21);
	CHECK(LAPI_Setcntr(handle, &own, 0) == LAPI_SUCCESS);
	CHECK(LAPI_Term(handle) == LAPI_SUCCESS);
}

/* In polling mode peers learn that a task is away when nobody has polled for a moment, and that it
   is back at once when somebody does. In interrupt mode the service thread sleeps armed, which
   shows them the same.
 */
static void test_away(void)
{
	int i;

	fake_settings.polling = 1;
	__atomic_store_n(&fake_counts.away, 0, __ATOMIC_SEQ_CST);
	handle = fake_init(NULL);
	for (i = 0; i < 10; i++) {
		fake_await(&fake_counts.away, 1);
		CHECK(LAPI_Probe(handle) == LAPI_SUCCESS);
		if (i % 2 == 0)
			fake_sleep_us(1000);
	}
	CHECK(LAPI_Term(handle) == LAPI_SUCCESS);
	fake_settings.polling = 0;
}

static void *long_wait(void *counter)
{
	CHECK(LAPI_Waitcntr(handle, counter, 1, NULL) == LAPI_SUCCESS);
	return NULL;
}

/* Somebody polls all the time: the task is never away. Ticks of the service thread that come late
 * only make it stay longer. */
static void test_not_away(void)
{
	lapi_cntr_t own = {0};
	pthread_t waiter;

	fake_settings.polling = 1;
	handle = fake_init(NULL);
	fake_await(&fake_counts.away, 1);
	waiter = fake_thread(long_wait, &own);
	while (__atomic_load_n(&fake_counts.away, __ATOMIC_SEQ_CST))
		fake_sleep_us(10);
	fake_sleep_us(10000);
	CHECK(__atomic_load_n(&fake_counts.away, __ATOMIC_SEQ_CST) == 0);
	fake_count(fake_context(handle), (int *)&own);
	pthread_join(waiter, NULL);
	fake_await(&fake_counts.away, 1);
	CHECK(LAPI_Term(handle) == LAPI_SUCCESS);
	fake_settings.polling = 0;
}

/* While a user thread sits in one call the service thread parks, and comes back when that ends. */
static void test_parks(void)
{
	cshim_context *context;
	cshim_progress *progress;
	lapi_cntr_t own = {0};
	uint32_t counter = 0;
	pthread_t waiter;

	handle = fake_init(NULL);
	context = fake_context(handle);
	progress = &context->progress;
	waiter = fake_thread(long_wait, &own);
	fake_await(&progress->service_parked, 1);
	/* The waiter serves now, as the poller. */
	fake_count(context, (int *)&counter);
	fake_await(&counter, 1);
	CHECK(__atomic_load_n(&progress->service_parked, __ATOMIC_SEQ_CST) == 1);
	fake_count(context, (int *)&own);
	pthread_join(waiter, NULL);
	fake_count(context, (int *)&counter);
	fake_await(&counter, 2);
	CHECK(LAPI_Term(handle) == LAPI_SUCCESS);
}

/* Within a minute the service thread reports that nobody polls. */
static void await_report(cshim_progress *progress)
{
	uint32_t reported = 0;
	int tries;

	for (tries = 0; tries < 60000 && !reported; tries++) {
		cshim_lock(progress);
		reported = progress->not_polling;
		cshim_unlock(progress);
		if (!reported)
			fake_sleep_us(1000);
	}
	CHECK(reported);
}

/*
 * A thread polls once while the service thread waits for the lock to report that nobody does: that
 * is reported all the same when no more polls follow.
 */
static void test_reports_later(void)
{
	cshim_progress *progress;
	int i;

	fake_settings.polling = 1;
	handle = fake_init(NULL);
	progress = &fake_context(handle)->progress;
	for (i = 0; i < 5; i++) {
		await_report(progress);
		cshim_lock(progress);
		cshim_poll_note(progress);
		CHECK(progress->not_polling == 0);
		fake_await(&progress->lock_waiters, 1);
		cshim_poll_note(progress);
		cshim_unlock(progress);
	}
	await_report(progress);
	CHECK(LAPI_Term(handle) == LAPI_SUCCESS);
	fake_settings.polling = 0;
}

/* In polling mode nothing happens without a call; switching wakes the service thread and stops it
 * for good. */
static void test_modes(void)
{
	cshim_context *context;
	uint32_t counter = 0, before;
	int i, mode = -1;

	fake_settings.polling = 1;
	handle = fake_init(NULL);
	context = fake_context(handle);
	fake_count(context, (int *)&counter);
	fake_sleep_us(20000);
	CHECK(__atomic_load_n(&counter, __ATOMIC_SEQ_CST) == 0);
	CHECK(__atomic_load_n(&fake_counts.dispatches, __ATOMIC_SEQ_CST) == 0);
	for (i = 0; i < 20; i++) {
		CHECK(LAPI_Senv(handle, INTERRUPT_SET, 1) == LAPI_SUCCESS);
		fake_count(context, (int *)&counter);
		fake_await(&counter, (uint32_t)i + 2);
		CHECK(LAPI_Senv(handle, INTERRUPT_SET, 0) == LAPI_SUCCESS);
		before = __atomic_load_n(&fake_counts.dispatches, __ATOMIC_SEQ_CST);
		fake_sleep_us(300);
		CHECK(__atomic_load_n(&fake_counts.dispatches, __ATOMIC_SEQ_CST) == before);
	}
	CHECK(LAPI_Qenv(handle, INTERRUPT_SET, &mode) == LAPI_SUCCESS && mode == 0);
	/* Not armed: peers need not ring at a task that does not listen. */
	fake_await(&fake_counts.disarms, __atomic_load_n(&fake_counts.arms, __ATOMIC_SEQ_CST));
	CHECK(LAPI_Term(handle) == LAPI_SUCCESS);
	fake_settings.polling = 0;
}

typedef struct job {
	lapi_cntr_t go;      /* the handler waits for it inside */
	uint32_t ran, ended; /* atomic */
	char name[16];
	int owned, segv_open, usr1_blocked;
	void *seen; /* thread-specific value set by the init function */
} job;

static __thread void *specific;

static void init_thread(void *parm, void *extra)
{
	CHECK(extra == &handle);
	specific = parm;
}

static void handler(lapi_handle_t *hndl, void *argument)
{
	job *j = argument;
	sigset_t blocked;

	CHECK(*hndl == handle);
	pthread_getname_np(pthread_self(), j->name, sizeof(j->name));
	j->owned = cshim_lock_owned(&fake_context(handle)->progress);
	pthread_sigmask(SIG_SETMASK, NULL, &blocked);
	j->usr1_blocked = sigismember(&blocked, SIGUSR1);
	j->segv_open = !sigismember(&blocked, SIGSEGV);
	j->seen = specific;
	__atomic_add_fetch(&j->ran, 1, __ATOMIC_SEQ_CST);
	CHECK(LAPI_Waitcntr(*hndl, &j->go, 1, NULL) == LAPI_SUCCESS);
	__atomic_add_fetch(&j->ended, 1, __ATOMIC_SEQ_CST);
}

static void queue(int context, void *argument)
{
	fake_queue_completion(context, handler, argument);
}

static void check_job(const job *j)
{
	CHECK(strncmp(j->name, "lapi-compl-", 11) == 0);
	CHECK(!j->owned && j->usr1_blocked && j->segv_open);
	CHECK(j->seen == &handle);
}

/* Handlers run without the lock, in the user's kind of thread, may wait, and as many at a time as
 * the user asked for. */
static void test_completion(int detached)
{
	enum { JOBS = 4, AT_A_TIME = 3 };
	job jobs[JOBS];
	lapi_info_t info;
	pthread_attr_t attributes;
	com_thread_info_t threads = {&attributes, init_thread, &handle, &handle};
	uint32_t done_before = __atomic_load_n(&fake_counts.completions_done, __ATOMIC_SEQ_CST);
	int i;

	memset(jobs, 0, sizeof(jobs));
	memset(&info, 0, sizeof(info));
	pthread_attr_init(&attributes);
	if (detached)
		pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	info.num_compl_hndlr_thr = AT_A_TIME;
	info.lapi_thread_attr = &threads;
	handle = fake_init(&info);
	pthread_attr_destroy(&attributes);
	for (i = 0; i < JOBS; i++)
		fake_arrive(fake_context(handle), queue, &jobs[i]);
	for (i = 0; i < AT_A_TIME; i++)
		fake_await(&jobs[i].ran, 1);
	fake_sleep_us(2000);
	CHECK(__atomic_load_n(&jobs[AT_A_TIME].ran, __ATOMIC_SEQ_CST) == 0);
	for (i = 0; i < JOBS; i++) {
		CHECK(LAPI_Setcntr(handle, &jobs[i].go, 1) == LAPI_SUCCESS);
		fake_await(&jobs[i].ended, 1);
	}
	for (i = 0; i < JOBS; i++)
		check_job(&jobs[i]);
	fake_await(&fake_counts.completions_done, done_before + JOBS);
	CHECK(LAPI_Term(handle) == LAPI_SUCCESS);
}

/* A handler that waits progresses while the main thread sits in a call with the lock held, with one
 * handler thread. */
static void test_completion_while_held(void)
{
	cshim_context *context;
	lapi_cntr_t counter = {0};
	int value;
	job j;

	memset(&j, 0, sizeof(j));
	handle = fake_init(NULL);
	context = fake_context(handle);
	cshim_lock(&context->progress);
	fake_arrive(context, queue, &j);
	while (!__atomic_load_n(&j.ran, __ATOMIC_SEQ_CST))
		CHECK(LAPI_Probe(handle) == LAPI_SUCCESS);
	fake_count(context, (int *)&j.go);
	while (!__atomic_load_n(&j.ended, __ATOMIC_SEQ_CST))
		CHECK(LAPI_Fence(handle) == LAPI_SUCCESS);
	/* A loop of LAPI_Getcntr alone: the service thread gets the lock out of it. */
	fake_count(context, (int *)&counter);
	for (value = 0; value < 1;)
		CHECK(LAPI_Getcntr(handle, &counter, &value) == LAPI_SUCCESS);
	CHECK(cshim_lock_owned(&context->progress) && context->progress.lock_depth == 1);
	CHECK(cshim_unlock(&context->progress) == 0);
	CHECK(LAPI_Term(handle) == LAPI_SUCCESS);
}

/* Threads that cannot be made: an error, and the block is free again. */
static void test_no_threads(void)
{
	lapi_info_t info;
	pthread_attr_t attributes;
	com_thread_info_t threads = {&attributes, NULL, NULL, NULL};
	lapi_handle_t got = 99;

	memset(&info, 0, sizeof(info));
	pthread_attr_init(&attributes);
	CHECK(pthread_attr_setstacksize(&attributes, SIZE_MAX / 16 * 15) == 0);
	info.lapi_thread_attr = &threads;
	CHECK(LAPI_Init(&got, &info) == LAPI_ERR_MEMORY_EXHAUSTED);
	CHECK(got == LAPI_VOID_HANDLE);
	pthread_attr_destroy(&attributes);
	handle = fake_init(NULL);
	CHECK(LAPI_Term(handle) == LAPI_SUCCESS);
}

void test_threads(void)
{
	test_served();
	test_parks();
	test_reports_later();
	test_away();
	test_not_away();
	fake_reset_counts();
	test_modes();
	test_completion(0);
	test_completion(1);
	test_completion_while_held();
	test_no_threads();
}
