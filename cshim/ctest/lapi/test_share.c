/* test_share.c - the shared lock with its condition variables, and the waits that a purge ends. */
#include "ctest/fake.h"

#include <errno.h>
#include <string.h>
#include <time.h>

enum { PRODUCERS = 2, CONSUMERS = 2, ITEMS = 3000, ROOM = 4, ROUNDS = 200 };

static lapi_handle_t handle;
static lapi_thread_func_t f;
static lapi_cond_t not_empty, not_full;
static int items, produced,
	consumed; /* plain: the thread sanitizer sees whether the lock orders them */

static void open_handle(lapi_lib_t lib)
{
	lapi_info_t info;

	memset(&info, 0, sizeof(info));
	info.lib_vers = lib;
	handle = fake_init(&info);
	memset(&f, 0, sizeof(f));
	f.Util_type = LAPI_GET_THREAD_FUNC;
	CHECK(LAPI_Util(handle, (lapi_util_t *)(void *)&f) == LAPI_SUCCESS);
}

static void *produce(void *unused)
{
	int i;

	(void)unused;
	for (i = 0; i < ITEMS; i++) {
		CHECK(f.mutex_lock(handle) == 0);
		while (items == ROOM)
			CHECK(f.cond_wait(handle, &not_full) == 0);
		items++;
		produced++;
		CHECK(f.cond_signal(handle, &not_empty) == 0);
		CHECK(f.mutex_unlock(handle) == 0);
	}
	return NULL;
}

/* Some waits are timed, with times that pass now and then. */
static void *consume(void *unused)
{
	struct timespec at;
	int i, rc;

	(void)unused;
	for (i = 0; i < ITEMS; i++) {
		CHECK(f.mutex_trylock(handle) == 0 || f.mutex_lock(handle) == 0);
		CHECK(f.mutex_lock(handle) == 0);
		while (items == 0) {
			clock_gettime(CLOCK_REALTIME, &at);
			at.tv_nsec = at.tv_nsec < 999900000 ? at.tv_nsec + 100000 : at.tv_nsec;
			rc = i % 2 ? f.cond_wait(handle, &not_empty)
			           : f.cond_timedwait(handle, &not_empty, &at);
			CHECK(rc == 0 || (rc == ETIMEDOUT && i % 2 == 0));
			/* A wait that timed out may have left its signal to another; here every
			 * sleeper is as good as the next. */
		}
		items--;
		consumed++;
		CHECK(f.cond_signal(handle, &not_full) == 0);
		CHECK(f.mutex_unlock(handle) == 0 && f.mutex_unlock(handle) == 0);
	}
	return NULL;
}

static void test_queue(void)
{
	pthread_t threads[PRODUCERS + CONSUMERS];
	int i;

	items = produced = consumed = 0;
	CHECK(f.cond_init(handle, &not_empty) == 0 && f.cond_init(handle, &not_full) == 0);
	for (i = 0; i < PRODUCERS; i++)
		threads[i] = fake_thread(produce, NULL);
	for (i = 0; i < CONSUMERS; i++)
		threads[PRODUCERS + i] = fake_thread(consume, NULL);
	for (i = 0; i < PRODUCERS + CONSUMERS; i++)
		pthread_join(threads[i], NULL);
	CHECK(items == 0 && produced == PRODUCERS * ITEMS && consumed == produced);
	CHECK(f.cond_destroy(handle, &not_empty) == 0 && f.cond_destroy(handle, &not_full) == 0);
	CHECK(f.cond_wait(handle, &not_empty) == EINVAL);
}

static uint32_t waiting; /* atomic */

/* With a handle and functions of its own: the test's are new while the thread is on its way out. */
typedef struct ended_wait {
	lapi_handle_t handle;
	lapi_thread_func_t f;
	int result;
} ended_wait;

static void *wait_for_term(void *argument)
{
	ended_wait *w = argument;

	CHECK(w->f.mutex_lock(w->handle) == 0);
	__atomic_store_n(&waiting, 1, __ATOMIC_SEQ_CST);
	w->result = w->f.cond_wait(w->handle, &not_empty);
	CHECK(w->f.mutex_unlock(w->handle) == 0);
	CHECK(w->f.mutex_unlock(w->handle) == EINVAL);
	return NULL;
}

static void test_term_ends_waits(void)
{
	pthread_t thread;
	ended_wait w;
	int round;

	for (round = 0; round < ROUNDS; round++) {
		memset(&not_empty, 0, sizeof(not_empty));
		__atomic_store_n(&waiting, 0, __ATOMIC_SEQ_CST);
		w.handle = handle;
		w.f = f;
		thread = fake_thread(wait_for_term, &w);
		fake_await(&waiting, 1);
		CHECK(f.mutex_lock(handle) == 0); /* given up only by the wait */
		CHECK(f.mutex_unlock(handle) == 0);
		CHECK(LAPI_Term(handle) == LAPI_SUCCESS);
		open_handle(LAST_LIB); /* in the same block, whose lock the thread may hold for a
		                          moment */
		pthread_join(thread, NULL);
		CHECK(w.result == EINVAL);
	}
}

static lapi_cntr_t counter;
static uint32_t begun; /* atomic */

static void *wait_nopoll(void *result)
{
	__atomic_store_n(&begun, 1, __ATOMIC_SEQ_CST);
	*(int *)result = LAPI_Nopoll_wait(handle, &counter, 1, NULL);
	return NULL;
}

/* Packets, LAPI_Setcntr and a purge wake the thread, also when they come while it is about to
 * sleep. */
static void test_nopoll(void)
{
	pthread_t thread;
	int round, result = -1, purged = 0, counted = 0;
	uint dest = 0;
	int status;

	for (round = 0; round < ROUNDS; round++) {
		if (round % 2)
			CHECK(LAPI_Setcntr_wstatus(handle, &counter, 1, &dest, &status) ==
			      LAPI_SUCCESS);
		else
			CHECK(LAPI_Setcntr_wstatus(handle, &counter, 0, NULL, NULL) ==
			      LAPI_SUCCESS);
		__atomic_store_n(&begun, 0, __ATOMIC_SEQ_CST);
		thread = fake_thread(wait_nopoll, &result);
		fake_await(&begun, 1);
		if (round % 8 < 2)
			fake_sleep_us(300);
		if (round % 3 == 0)
			fake_count(fake_context(handle), &counter.cntr);
		else if (round % 3 == 1)
			CHECK(LAPI_Setcntr(handle, &counter, 1) == LAPI_SUCCESS);
		else {
			if (round % 2 == 0)
				fake_sleep_us(20000); /* without a list only a wait that has begun
				                         learns of it */
			CHECK(LAPI_Purge_totask(handle, 0) == LAPI_SUCCESS);
		}
		if (round % 3 == 2 &&
		    round % 2 == 0) { /* the thread may have been late all the same */
			fake_sleep_us(1000);
			CHECK(LAPI_Purge_totask(handle, 0) == LAPI_SUCCESS);
			fake_sleep_us(20000);
			CHECK(LAPI_Setcntr(handle, &counter, 1) == LAPI_SUCCESS);
		}
		pthread_join(thread, NULL);
		CHECK(result == LAPI_SUCCESS || result == LAPI_ERR_TGT_PURGED);
		CHECK(round % 3 == 2 || result == LAPI_SUCCESS || round % 2);
		purged += result == LAPI_ERR_TGT_PURGED;
		counted += result == LAPI_SUCCESS;
	}
	CHECK(purged > 0 && counted > 0);
	CHECK(LAPI_Resume_totask(handle, 0) == LAPI_SUCCESS &&
	      LAPI_Resume_totask(handle, 1) == LAPI_ERR_TGT);
}

static void test_l1(void)
{
	int one = 7;

	open_handle(L1_LIB);
	CHECK(LAPI_Nopoll_wait(handle, (lapi_cntr_t *)(void *)&one, 1, NULL) == LAPI_ERR_UNKNOWN);
	CHECK(LAPI_Setcntr_wstatus(handle, (lapi_cntr_t *)(void *)&one, 0, NULL, NULL) ==
	      LAPI_ERR_UNKNOWN);
	CHECK(one == 7);
	CHECK(LAPI_Term(handle) == LAPI_SUCCESS);
}

static void forgets_to_unlock(lapi_handle_t *hndl, void *unused)
{
	(void)unused;
	CHECK(f.mutex_lock(*hndl) == 0 && f.mutex_lock(*hndl) == 0);
}

static void queue_forgetful(int context, void *unused)
{
	(void)unused;
	fake_queue_completion(context, forgets_to_unlock, NULL);
	fake_queue_completion(context, forgets_to_unlock, NULL);
}

/* A handler that returns with the lock loses it: others go on. */
static void test_forgotten_lock(void)
{
	fake_reset_counts();
	fake_arrive(fake_context(handle), queue_forgetful, NULL);
	CHECK(LAPI_Probe(handle) == LAPI_SUCCESS);
	fake_await(&fake_counts.completions_done, 2);
	CHECK(LAPI_Probe(handle) == LAPI_SUCCESS);
}

void test_share(void)
{
	open_handle(LAST_LIB);
	test_queue();
	test_forgotten_lock();
	test_nopoll();
	test_term_ends_waits();
	CHECK(LAPI_Term(handle) == LAPI_SUCCESS);
	test_l1();
}
