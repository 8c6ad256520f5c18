/* lock.c - the lock of a block, where others are in the way. */
#define _GNU_SOURCE
#include <limits.h>
#include <sched.h>

#include "progress/futex.h"
#include "progress/lock.h"
#include "progress/waiting.h"

enum {
	/* looks at a taken lock before sleeping: about as long as a progress call of the owner */
	SPINS = 100,
	/* pauses that a passing owner gives a waiter that is awake on another processor */
	PASS_SPINS = 64,
	/* then yields: enough for a sleeping waiter to wake; a bound, should it never run */
	PASS_YIELDS = 400,
	/*
	 * a thread in a handler looks so often for a lock that it may borrow, as lenders wake it
	 * but releases need not
	 */
	IN_HANDLER_NS = 1000000,
	/*
	 * of CROWDED_PER_PASS calls that leave while others wait for the lock, one makes sure that
	 * they get it
	 */
	CROWDED_PER_PASS = 16
};

/* All blocks, and whether their releases have barriers of their own. */
static pthread_mutex_t blocks_mutex = PTHREAD_MUTEX_INITIALIZER;
static cshim_progress *blocks;
static int fenced;

/*
 * From now on every release of a lock has its own barrier. Locks that are being released at this
 * moment may still lack it.
 */
static void fence_releases(void)
{
	cshim_progress *progress;

	pthread_mutex_lock(&blocks_mutex);
	fenced = 1;
	for (progress = blocks; progress; progress = progress->next.at)
		__atomic_fetch_or(&progress->lock_after, CSHIM_LOCK_FENCE, __ATOMIC_SEQ_CST);
	pthread_mutex_unlock(&blocks_mutex);
}

void cshim_lock_prepare(void)
{
	cshim_membarrier_prepare(fence_releases);
}

void cshim_lock_add(cshim_progress *progress)
{
	pthread_mutex_lock(&blocks_mutex);
	progress->next.at = blocks;
	blocks = progress;
	if (fenced)
		__atomic_fetch_or(&progress->lock_after, CSHIM_LOCK_FENCE, __ATOMIC_SEQ_CST);
	pthread_mutex_unlock(&blocks_mutex);
}

cshim_progress *cshim_lock_next(const cshim_progress *last)
{
	cshim_progress *next;

	pthread_mutex_lock(&blocks_mutex);
	next = last ? last->next.at : blocks;
	pthread_mutex_unlock(&blocks_mutex);
	return next;
}

/* The rest of a release: CSHIM_LOCK_ flags are set. The lock may have another owner by now. */
void cshim_lock_see_to(cshim_progress *progress)
{
	uint32_t after = __atomic_load_n(&progress->lock_after, __ATOMIC_RELAXED);

	if (after & CSHIM_LOCK_FENCE) {
		cshim_full_fence();
		after = __atomic_load_n(&progress->lock_after, __ATOMIC_RELAXED);
	}
	if (!(after & CSHIM_LOCK_WAKE))
		return;
	/*
	 * In this order: a thread that sets the flag between the two finds lock_wakes changed, and
	 * does not sleep.
	 */
	__atomic_fetch_and(&progress->lock_after, ~CSHIM_LOCK_WAKE, __ATOMIC_SEQ_CST);
	__atomic_add_fetch(&progress->lock_wakes, 1, __ATOMIC_SEQ_CST);
	cshim_futex_wake(&progress->lock_wakes, 1);
}

/* Looks at a taken lock for a while; 1 if it has been taken. */
static int spin_for_lock(cshim_progress *progress)
{
	/* of use only where the owner can run at the same time */
	int spins = cshim_processors() > 1 ? SPINS : 0;

	for (;;) {
		if (__atomic_load_n(&progress->lock_word, __ATOMIC_RELAXED) == 0 &&
		    cshim_lock_try(progress))
			return 1;
		if (spins-- <= 0)
			return 0;
		cshim_pause();
	}
}

/*
 * Sleeps until the lock may be free; 1 if it has been taken instead. Why no sleeper is missed:
 *
 *  1. The owner frees the word and then looks at lock_after; this thread sets CSHIM_LOCK_WAKE there
 * and then looks at the word. Between this thread's two accesses cshim_membarrier_order puts a
 * barrier into the owner: an owner past its look then had freed the word before, and this thread
 * sees it free (or taken by another, to whom the same applies); any other sees the flag.
 *  2. The owner that sees the flag takes it away and changes lock_wakes before it wakes. lock_wakes
 * was read here before the flag was set: so either the futex finds it changed, or this thread is
 * among those of whom one is woken.
 *  3. One flag and one wake-up may stand for several sleepers. The one woken is answerable for the
 * others: it sets the flag again, before it sleeps again (here) or, once it has the lock, if there
 * are others (cshim_lock_wait). So is a thread in a handler, which sleeps at the same word and may
 * be the one woken, also when it gives the lock up again (wait_in_handler).
 */
static int sleep_for_lock(cshim_progress *progress)
{
	uint32_t seen = __atomic_load_n(&progress->lock_wakes, __ATOMIC_SEQ_CST);

	__atomic_fetch_or(&progress->lock_after, CSHIM_LOCK_WAKE, __ATOMIC_SEQ_CST);
	cshim_membarrier_order();
	if (cshim_lock_try(progress))
		return 1;
	cshim_futex_wait(&progress->lock_wakes, seen, -1);
	return 0;
}

/*
 * Lets threads in handlers borrow this thread's locks around its handlers, and wakes waiting
 * threads.
 */
static void lend_all(void)
{
	cshim_handler *handler;

	for (handler = cshim_this_thread.handler; handler; handler = handler->outer) {
		cshim_progress *progress = handler->progress;

		if (!cshim_lock_owned(progress) || progress->lock_borrowed)
			continue; /* done already, as it has handlers below this one */
		handler->depth = progress->lock_depth;
		__atomic_store_n(&progress->lock_word, CSHIM_LOCK_LENT, __ATOMIC_RELEASE);
		__atomic_add_fetch(&progress->lock_wakes, 1, __ATOMIC_SEQ_CST);
		if (__atomic_load_n(&progress->lock_waiters, __ATOMIC_SEQ_CST) != 0)
			cshim_futex_wake(&progress->lock_wakes, INT_MAX);
	}
}

/*
 * Takes a lock that may be borrowed; 0 if it may not, or is. Acquire pairs with the owner's
 * release.
 */
static int take_lent(cshim_progress *progress)
{
	uint32_t lent = CSHIM_LOCK_LENT;

	return __atomic_compare_exchange_n(&progress->lock_word, &lent, cshim_tid(), 0,
	                                   __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

/* Reclaims all locks; 0 if one is borrowed: then others may still be free to borrow. */
static int take_all_back(void)
{
	cshim_handler *handler;

	for (handler = cshim_this_thread.handler; handler; handler = handler->outer) {
		if (handler->depth == 0)
			continue;
		if (!take_lent(handler->progress))
			return 0;
		cshim_lock_taken(handler->progress, handler->depth);
		handler->depth = 0;
	}
	return 1;
}

static int try_or_borrow(cshim_progress *progress)
{
	if (cshim_lock_try(progress))
		return 1;
	if (!take_lent(progress))
		return 0;
	progress->lock_borrowed = 1;
	return 1;
}

/* If there are more than known waiters for a lock that this thread owns, its release wakes one. */
static void answer_for(cshim_progress *progress, uint32_t waiters, uint32_t known)
{
	if (waiters > known)
		__atomic_fetch_or(&progress->lock_after, CSHIM_LOCK_WAKE, __ATOMIC_SEQ_CST);
}

/*
 * Becomes the owner in a handler: with all locks that the thread had, or, where one of those is
 * borrowed, without this one again, so that nobody waits for a lock with another in hand.
 */
static void wait_in_handler(cshim_progress *progress)
{
	uint32_t tries = 0, seen;

	for (;;) {
		seen = __atomic_load_n(&progress->lock_wakes, __ATOMIC_SEQ_CST);
		lend_all();
		if (try_or_borrow(progress)) {
			if (take_all_back())
				return;
			answer_for(progress,
			           __atomic_load_n(&progress->lock_waiters, __ATOMIC_SEQ_CST), 1);
			cshim_lock_let_go(progress);
		}
		if (++tries < SPINS && cshim_processors() > 1)
			cshim_pause();
		else if (tries < SPINS + PASS_YIELDS)
			sched_yield();
		else
			cshim_futex_wait(&progress->lock_wakes, seen, IN_HANDLER_NS);
	}
}

/* Its look in vain is over: a dump shows that this thread waits for the lock. */
static void show(cshim_progress *progress, cshim_waiting **shown)
{
	if (!*shown)
		*shown = cshim_waiting_begin(progress, "lock", CSHIM_SHOWS_NOTHING, NULL, 0);
}

/* Becomes the owner, however long that takes. */
void cshim_lock_wait(cshim_progress *progress)
{
	cshim_waiting *shown = NULL;

	__atomic_add_fetch(&progress->lock_waiters, 1, __ATOMIC_SEQ_CST);
	if (cshim_this_thread.handler)
		wait_in_handler(progress);
	else
		while (!spin_for_lock(progress)) {
			show(progress, &shown);
			if (sleep_for_lock(progress))
				break;
		}
	cshim_waiting_end(shown);
	/* A thread that comes into the count later sets the flag itself before it sleeps. */
	answer_for(progress, __atomic_sub_fetch(&progress->lock_waiters, 1, __ATOMIC_SEQ_CST), 0);
}

uint32_t cshim_lock_release_all(cshim_progress *progress)
{
	uint32_t depth = progress->lock_depth;

	cshim_lock_let_go(progress);
	return depth;
}

void cshim_lock_forfeit(cshim_progress *progress)
{
	if (cshim_lock_owned(progress))
		cshim_lock_let_go(progress);
}

void cshim_lock_restore(cshim_progress *progress, uint32_t depth)
{
	if (!cshim_lock_try(progress))
		cshim_lock_wait(progress);
	cshim_lock_taken(progress, depth);
}

void cshim_lock_pass(cshim_progress *progress)
{
	uint32_t count, depth;
	int i;

	if (__atomic_load_n(&progress->lock_waiters, __ATOMIC_RELAXED) == 0 ||
	    CSHIM_OWN(progress->calling) || progress->lock_floor)
		return;
	count = __atomic_load_n(&progress->lock_count, __ATOMIC_RELAXED);
	depth = cshim_lock_release_all(progress);
	for (i = 0; i < PASS_SPINS + PASS_YIELDS; i++) {
		if (__atomic_load_n(&progress->lock_count, __ATOMIC_RELAXED) != count)
			break;
		if (__atomic_load_n(&progress->lock_waiters, __ATOMIC_RELAXED) == 0)
			break;
		if (i < PASS_SPINS && cshim_processors() > 1)
			cshim_pause();
		else
			sched_yield();
	}
	cshim_lock_restore(progress, depth);
}

/*
 * Where the user holds the lock too waiters have no other chance. Else they have one at each
 * unlock, but a sleeper loses that race against a thread that makes one call after the other;
 * passing always would cost every call a switch of threads.
 */
void cshim_lock_be_fair(cshim_progress *progress)
{
	if (progress->lock_depth > 1 || ++progress->lock_crowded % CROWDED_PER_PASS == 0)
		cshim_lock_pass(progress);
}
