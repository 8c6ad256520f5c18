/* test_lock.c - the lock by itself, on a block that nobody owns. */
#define _GNU_SOURCE
#include "ctest/fake.h"

#include <errno.h>
#include <string.h>

enum { THREADS = 4, ROUNDS = 20000, TURNS = 300 };

static cshim_progress own_block, *const block = &own_block;
static long shared; /* plain: the thread sanitizer sees whether the lock orders it */

static void *other_thread_unlocks(void *result)
{
	CHECK(!cshim_lock_owned(block));
	CHECK(cshim_unlock(block) == EINVAL);
	CHECK(cshim_trylock(block) == EBUSY);
	*(uint64_t *)result = cshim_lock_thread(block);
	return NULL;
}

static void test_recursion(void)
{
	uint64_t seen;
	pthread_t other;

	CHECK(cshim_unlock(block) == EINVAL);
	CHECK(cshim_lock_thread(block) == 0);
	cshim_lock(block);
	cshim_lock(block);
	CHECK(cshim_trylock(block) == 0);
	CHECK(block->lock_depth == 3 && cshim_lock_owned(block));
	other = fake_thread(other_thread_unlocks, &seen);
	pthread_join(other, NULL);
	CHECK(seen == (uint64_t)pthread_self());
	CHECK(cshim_lock_release_all(block) == 3);
	CHECK(!cshim_lock_owned(block));
	cshim_lock_restore(block, 3);
	CHECK(cshim_unlock(block) == 0 && cshim_unlock(block) == 0);
	CHECK(cshim_lock_owned(block));
	CHECK(cshim_unlock(block) == 0);
	CHECK(cshim_unlock(block) == EINVAL);
	CHECK(block->lock_word == 0);
}

static void *count_up(void *argument)
{
	int i;

	(void)argument;
	for (i = 0; i < ROUNDS; i++) {
		if (i % 3 == 0 && cshim_trylock(block) == 0) {
			shared++;
			cshim_unlock(block);
			continue;
		}
		cshim_lock(block);
		cshim_lock(block);
		shared++;
		if (i % 64 == 0)
			cshim_lock_pass(block);
		CHECK(cshim_lock_owned(block) && block->lock_depth == 2);
		CHECK(cshim_unlock(block) == 0);
		CHECK(cshim_unlock(block) == 0);
	}
	return NULL;
}

static void test_exclusion(void)
{
	pthread_t threads[THREADS];
	int i;

	shared = 0;
	for (i = 0; i < THREADS; i++)
		threads[i] = fake_thread(count_up, NULL);
	for (i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	CHECK(shared == (long)THREADS * ROUNDS);
	CHECK(block->lock_word == 0 && block->lock_waiters == 0);
}

static uint32_t turns_taken; /* atomic */

static void *take_turns(void *argument)
{
	int i;

	(void)argument;
	for (i = 0; i < TURNS; i++) {
		cshim_lock(block);
		shared++;
		CHECK(cshim_unlock(block) == 0);
		__atomic_add_fetch(&turns_taken, 1, __ATOMIC_SEQ_CST);
	}
	return NULL;
}

/* An owner that only ever passes the lock on, as a waiting thread does whose user holds it too,
 * starves nobody. */
static void test_pass(void)
{
	pthread_t threads[2];
	long passes = 0;
	int i;

	__atomic_store_n(&turns_taken, 0, __ATOMIC_SEQ_CST);
	cshim_lock(block);
	cshim_lock(block);
	for (i = 0; i < 2; i++)
		threads[i] = fake_thread(take_turns, NULL);
	while (__atomic_load_n(&turns_taken, __ATOMIC_SEQ_CST) < 2 * TURNS) {
		cshim_lock_pass(block);
		CHECK(cshim_lock_owned(block) && block->lock_depth == 2);
		passes++;
	}
	for (i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	CHECK(passes > 0);
	CHECK(cshim_unlock(block) == 0 && cshim_unlock(block) == 0);
	CHECK(block->lock_word == 0 && block->lock_waiters == 0);
}

static void *wait_for_lock(void *argument)
{
	(void)argument;
	cshim_lock(block);
	shared = 1;
	cshim_unlock(block);
	return NULL;
}

/* A waiter that has gone to sleep is woken. */
static void test_sleeping_waiter(void)
{
	pthread_t waiter;

	cshim_lock(block);
	shared = 0;
	waiter = fake_thread(wait_for_lock, NULL);
	fake_await(&block->lock_waiters, 1);
	while (!(__atomic_load_n(&block->lock_after, __ATOMIC_SEQ_CST) & CSHIM_LOCK_WAKE))
		fake_sleep_us(100);
	fake_sleep_us(2000); /* most likely asleep by now; nothing depends on it */
	CHECK(shared == 0);
	cshim_unlock(block);
	pthread_join(waiter, NULL);
	CHECK(shared == 1);
}

int test_lock_fenced(void)
{
	return (__atomic_load_n(&block->lock_after, __ATOMIC_SEQ_CST) & CSHIM_LOCK_FENCE) != 0;
}

/*
 * Handlers under the lock of one block call on another, in a ring, so that each waits for the next:
 * all get there. Their counts are under the lock of the block on which they call.
 */
enum { RING = 3, CROSSINGS = 20000 };
static cshim_progress ring[RING];
static long counted[RING];

static void call_on(int which)
{
	CHECK(!cshim_lock_owned(&ring[which]));
	cshim_lock(&ring[which]);
	CHECK(cshim_lock_owned(&ring[which]));
	counted[which]++;
	cshim_lock_drop(&ring[which]);
	CHECK(!cshim_lock_owned(&ring[which]));
}

static void *cross(void *argument)
{
	int own = *(int *)argument, i;
	cshim_handler handler;

	for (i = 0; i < CROSSINGS; i++) {
		cshim_lock(&ring[own]);
		cshim_handler_begins(&ring[own], &handler);
		call_on((own + 1) % RING);
		CHECK(cshim_lock_owned(&ring[own]) && ring[own].lock_depth == 1);
		CHECK(cshim_trylock(&ring[own]) == 0); /* a level that the handler keeps */
		cshim_handler_ends(&ring[own], &handler);
		CHECK(ring[own].lock_depth == 1);
		counted[own]++;
		cshim_lock_drop(&ring[own]);
	}
	return NULL;
}

/* Threads outside of handlers, which must not get a lock that is handed over. */
static void *pass_by(void *argument)
{
	int i;

	(void)argument;
	for (i = 0; i < CROSSINGS; i++) {
		cshim_progress *progress = &ring[i % RING];

		cshim_lock(progress);
		CHECK(progress->lock_floor == 0);
		counted[i % RING]++;
		cshim_lock_drop(progress);
	}
	return NULL;
}

static void test_crossing(void)
{
	pthread_t threads[RING + 1];
	static int added; /* blocks are so for good */
	int names[RING], i;
	long all = 0;

	for (i = 0; !added && i < RING; i++)
		cshim_lock_add(&ring[i]);
	added = 1;
	memset(counted, 0, sizeof(counted));
	for (i = 0; i < RING; i++) {
		names[i] = i;
		threads[i] = fake_thread(cross, &names[i]);
	}
	threads[RING] = fake_thread(pass_by, NULL);
	for (i = 0; i <= RING; i++)
		pthread_join(threads[i], NULL);
	for (i = 0; i < RING; i++)
		all += counted[i];
	CHECK(all == (2 * RING + 1) * CROSSINGS);
}

/*
 * A thread in a handler and one outside sleep for the same lock. The thread that a release wakes
 * must see to the other, which else would sleep on although the lock is free. This holds also if
 * the thread in the handler cannot keep the lock, because its own is borrowed.
 */
enum { PAIRS = 300, GUARD_S = 60 };
static uint32_t borrowed, give_back;

static void *call_in_handler(void *argument)
{
	cshim_handler handler;

	(void)argument;
	cshim_lock(&ring[1]);
	cshim_handler_begins(&ring[1], &handler);
	call_on(0);
	cshim_handler_ends(&ring[1], &handler);
	cshim_lock_drop(&ring[1]);
	return NULL;
}

static void *call_outside(void *argument)
{
	(void)argument;
	call_on(0);
	return NULL;
}

/* Borrows the lock of the thread in the handler for a while. */
static void *borrow(void *argument)
{
	cshim_handler handler;

	(void)argument;
	cshim_lock(&ring[2]);
	cshim_handler_begins(&ring[2], &handler);
	cshim_lock(&ring[1]);
	__atomic_store_n(&borrowed, 1, __ATOMIC_SEQ_CST);
	fake_await(&give_back, 1);
	cshim_lock_drop(&ring[1]);
	cshim_handler_ends(&ring[2], &handler);
	cshim_lock_drop(&ring[2]);
	return NULL;
}

static void test_both_asleep(void)
{
	int i;

	for (i = 0; i < PAIRS; i++) {
		pthread_t inside, outside, borrower = 0;
		int borrows = i % 2;
		struct timespec guard;

		cshim_lock(&ring[0]);
		inside = fake_thread(call_in_handler, NULL);
		fake_await(&ring[0].lock_waiters, 1);
		borrowed = give_back = 0;
		if (borrows) {
			borrower = fake_thread(borrow, NULL);
			fake_await(&borrowed, 1);
		}
		fake_sleep_us(300 + 7 * i); /* asleep, for a millisecond at a time */
		outside = fake_thread(call_outside, NULL);
		fake_await(&ring[0].lock_waiters, 2);
		while (!(__atomic_load_n(&ring[0].lock_after, __ATOMIC_SEQ_CST) & CSHIM_LOCK_WAKE))
			;
		fake_sleep_us(20);
		cshim_lock_drop(&ring[0]);
		clock_gettime(CLOCK_REALTIME, &guard);
		guard.tv_sec += GUARD_S;
		CHECK(pthread_timedjoin_np(outside, NULL, &guard) == 0);
		__atomic_store_n(&give_back, 1, __ATOMIC_SEQ_CST);
		pthread_join(inside, NULL);
		if (borrows)
			pthread_join(borrower, NULL);
	}
}

void test_lock(void)
{
	static const cshim_owner nobody;

	cshim_progress_prepare();
	if (!block->owner.at)
		cshim_progress_add(block, &nobody);
	test_recursion();
	test_exclusion();
	test_pass();
	test_sleeping_waiter();
	test_crossing();
	test_both_asleep();
}
