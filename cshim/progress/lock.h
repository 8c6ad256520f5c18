/*
 * lock.h - the lock of a block: recursive, counted, fair on request. Every call of the block's
 * owner holds it, and LAPI hands it to users.
 *
 * State: lock_word is 0 (free) or the owning thread's id. lock_depth belongs to that thread. The
 * lock is taken with acquire order and released with release order on lock_word; that pair protects
 * everything that is said to be "under the lock". A release is no more than that: in particular it
 * is no full barrier between stores under the lock and loads after it. A thread that sleeps for the
 * lock pays for that (lock.c). Code that needs such a barrier for another purpose must have its
 * own.
 */
#ifndef CSHIM_LOCK_H
#define CSHIM_LOCK_H

#include <errno.h>
#include <pthread.h>
#include <stdint.h>

#include "progress/membarrier.h"
#include "progress/progress.h"

/* lock_word of a lock that threads in handlers may borrow: no thread's id */
#define CSHIM_LOCK_LENT UINT32_MAX

/* lock_after */
#define CSHIM_LOCK_WAKE 1u /* a thread sleeps, or is about to: one must be woken */
/* waiters cannot order the releaser's accesses for it: it must look again behind a barrier */
#define CSHIM_LOCK_FENCE 2u

/* By progress.c: once in a process, and once for each block. */
void cshim_lock_prepare(void);
void cshim_lock_add(cshim_progress *progress);
/* All blocks, one after the other: the one after last; NULL: the first, and after the last. */
cshim_progress *cshim_lock_next(const cshim_progress *last);

/* lock.c: the rest of cshim_lock and of a release, where others are in the way. */
void cshim_lock_wait(cshim_progress *progress);
void cshim_lock_see_to(cshim_progress *progress);

/*
 * 1 if the calling thread owns the lock. Only a thread itself writes its own id into the word, so a
 * relaxed load tells it reliably.
 */
static inline int cshim_lock_owned(cshim_progress *progress)
{
	return __atomic_load_n(&progress->lock_word, __ATOMIC_RELAXED) == cshim_tid();
}

/*
 * Free word to the caller's id; 0 if it is not free. Acquire pairs with the release in
 * cshim_lock_let_go.
 */
static inline int cshim_lock_try(cshim_progress *progress)
{
	uint32_t expected = 0;

	return __atomic_compare_exchange_n(&progress->lock_word, &expected, cshim_tid(), 0,
	                                   __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

/* The caller has just become the owner. */
static inline void cshim_lock_taken(cshim_progress *progress, uint32_t depth)
{
	/* Only the owner writes these two; others read them without the lock, hence atomics. */
	uint32_t count = __atomic_load_n(&progress->lock_count, __ATOMIC_RELAXED);

	__atomic_store_n(&progress->lock_count, count + 1, __ATOMIC_RELAXED);
	__atomic_store_n(&progress->lock_thread, cshim_this_thread.thread, __ATOMIC_RELAXED);
	progress->lock_depth = depth;
}

/* The owner gives up all levels. */
static inline void cshim_lock_let_go(cshim_progress *progress)
{
	uint32_t free = 0;

	if (__builtin_expect(progress->lock_borrowed != 0, 0)) {
		progress->lock_borrowed = 0;
		free = CSHIM_LOCK_LENT;
	}
	progress->lock_depth = 0;
	/* Before the word is free, so that no later owner's entry is overwritten. */
	__atomic_store_n(&progress->lock_thread, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&progress->lock_word, free, __ATOMIC_RELEASE);
	/* Store, then load: the waiter's side of it is in sleep_for_lock. */
	cshim_light_fence();
	if (__builtin_expect(__atomic_load_n(&progress->lock_after, __ATOMIC_RELAXED) != 0, 0))
		cshim_lock_see_to(progress);
}

/*
 * Gives up a lock that the caller has had from the free word on (cshim_lock_try), and has neither
 * taken again nor let go in between: so it was not borrowed.
 */
static inline void cshim_lock_free(cshim_progress *progress)
{
	progress->lock_depth = 0;
	/* as in cshim_lock_let_go */
	__atomic_store_n(&progress->lock_thread, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&progress->lock_word, 0, __ATOMIC_RELEASE);
	cshim_light_fence();
	if (__builtin_expect(__atomic_load_n(&progress->lock_after, __ATOMIC_RELAXED) != 0, 0))
		cshim_lock_see_to(progress);
}

/* Takes the lock, or one more level of it. Blocks while another thread owns it. */
static inline void cshim_lock(cshim_progress *progress)
{
	uint32_t owner = 0, self = cshim_tid();

	/*
	 * Free mostly, so the first look takes it. Acquire pairs with the release in
	 * cshim_lock_let_go.
	 */
	if (__builtin_expect(!__atomic_compare_exchange_n(&progress->lock_word, &owner, self, 0,
	                                                  __ATOMIC_ACQUIRE, __ATOMIC_RELAXED),
	                     0)) {
		if (owner == self) {
			progress->lock_depth++;
			return;
		}
		cshim_lock_wait(progress);
	}
	cshim_lock_taken(progress, 1);
}

/*
 * Like cshim_lock, but gives EBUSY instead of blocking. 0 if taken, also when the caller owned it
 * before.
 */
static inline int cshim_trylock(cshim_progress *progress)
{
	if (cshim_lock_owned(progress)) {
		progress->lock_depth++;
		return 0;
	}
	if (!cshim_lock_try(progress))
		return EBUSY;
	cshim_lock_taken(progress, 1);
	return 0;
}

/* The owner gives up one level. */
static inline void cshim_lock_drop(cshim_progress *progress)
{
	if (__builtin_expect(progress->lock_depth > 1, 0))
		progress->lock_depth--;
	else
		cshim_lock_let_go(progress);
}

/* Gives up one level. EINVAL, and nothing done, if the caller does not own the lock. */
static inline int cshim_unlock(cshim_progress *progress)
{
	if (!cshim_lock_owned(progress))
		return EINVAL;
	cshim_lock_drop(progress);
	return 0;
}

/*
 * Which thread owns the lock now, a pthread_t; 0 if none does. A snapshot unless the caller owns
 * it.
 */
static inline uint64_t cshim_lock_thread(const cshim_progress *progress)
{
	return __atomic_load_n(&progress->lock_thread, __ATOMIC_RELAXED);
}

/*
 * A handler of the user's, on the stack of the thread that runs it with the lock held.
 *
 * Handlers may call on other blocks, whose owners may be in handlers that call on this one. So a
 * thread that waits for a lock in a handler lets others borrow the locks that it has: another
 * thread in a handler may take them for a call, as this thread itself could at this place. Such
 * calls do not wait. A thread does not pass on a lock that it has borrowed.
 */
typedef struct cshim_handler {
	cshim_progress *progress;
	struct cshim_handler *outer;
	uint32_t floor; /* of the handler around it, in the same block */
	uint32_t depth; /* levels of a lock that its thread lets others borrow; 0: none */
	cshim_outside outside;
} cshim_handler;

/*
 * By the owner of the lock; a dump looks without the lock. One store: for an atomic one compilers
 * compute the address apart.
 */
static inline void cshim_set_floor(cshim_progress *progress, uint32_t floor)
{
#ifdef __SANITIZE_THREAD__
	__atomic_store_n(&progress->lock_floor, floor, __ATOMIC_RELAXED);
#else
	*(volatile uint32_t *)&progress->lock_floor = floor;
#endif
}

/* It begins: what is locked now stays locked until it returns, or lets others borrow the lock. */
static inline void cshim_handler_begins(cshim_progress *progress, cshim_handler *handler)
{
	handler->progress = progress;
	handler->outer = cshim_this_thread.handler;
	handler->floor = progress->lock_floor;
	handler->depth = 0;
	handler->outside = cshim_outside_begins();
	cshim_this_thread.handler = handler;
	cshim_set_floor(progress, progress->lock_depth);
}

/*
 * It has returned. Levels that it took and did not give back are taken from it: they would hold the
 * lock for ever.
 */
static inline void cshim_handler_ends(cshim_progress *progress, const cshim_handler *handler)
{
	cshim_this_thread.handler = handler->outer;
	cshim_outside_ends(handler->outside);
	progress->lock_depth = progress->lock_floor;
	cshim_set_floor(progress, handler->floor);
}

/* Gives up all levels; the caller owns the lock. Returns how many, for cshim_lock_restore. */
uint32_t cshim_lock_release_all(cshim_progress *progress);
/* Takes the lock back, depth levels of it; the caller does not own it. */
void cshim_lock_restore(cshim_progress *progress, uint32_t depth);
/*
 * Gives up all levels if the calling thread has any: a user's function has returned with the lock
 * that it was called without.
 */
void cshim_lock_forfeit(cshim_progress *progress);
/*
 * Lets one waiting thread have the lock, if there is any, and takes all levels back. The leader
 * calls it after each progress call: without it a release followed at once by a lock would always
 * win against a waiter that must first wake up. Does nothing inside a handler: the progress call is
 * not over, and other threads must not call the owner before that.
 */
void cshim_lock_pass(cshim_progress *progress);
/*
 * Lets threads that wait for the lock have it, now and then: for the end of a call that finds
 * lock_waiters.
 */
void cshim_lock_be_fair(cshim_progress *progress);

#endif
