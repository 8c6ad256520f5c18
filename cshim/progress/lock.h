/*
 * lock.h - the context lock: recursive, counted, fair on request. It is the lock that every call into core holds, and the one that
 * LAPI_Util(LAPI_GET_THREAD_FUNC) hands to users.
 *
 * State: lock_word is 0 (free) or the owner's thread id. lock_depth belongs to the owner. Ownership is taken with acquire order and given
 * up with release order on lock_word; that pair protects everything that is said to be "under the lock". A release is no more than that:
 * in particular no full barrier between what was stored under the lock and what is loaded after it. Who sleeps for the lock
 * pays for that (lock.c); who needs such a barrier for another purpose must have its own.
 */
#ifndef CSHIM_LOCK_H
#define CSHIM_LOCK_H

#include <errno.h>
#include <pthread.h>
#include <stdint.h>

#include "../cpu/cpu.h"
#include "membarrier.h"
#include "context.h"

/* Once in a process, before any lock is taken: finds out what the kernel offers. Any thread, any number of times. */
void cshim_lock_prepare(void);

/* What a thread knows of itself; tid is 0 until asked for. */
typedef struct cshim_self {
	uint32_t tid;
	uint64_t thread; /* its pthread_t */
} cshim_self;

/* Initial-exec: one instruction, and no allocation on first use in a thread. */
extern __thread cshim_self cshim_this_thread __attribute__((tls_model("initial-exec")));

uint32_t cshim_tid_ask(void);
/* In the child of a fork, by its only thread: the cached id was the parent's. */
void cshim_tid_forget(void);

/* The calling thread's kernel id. */
static inline uint32_t cshim_tid(void)
{
	uint32_t tid = cshim_this_thread.tid;

	return __builtin_expect(tid != 0, 1) ? tid : cshim_tid_ask();
}

/* lock.c: the rest of cshim_lock and of a release, where others are in the way. */
void cshim_lock_wait(cshim_context *context);
void cshim_lock_see_to(cshim_context *context);

/*
 * 1 if the calling thread owns the lock. Only a thread itself writes its own id into the word, so a relaxed load tells it
 * reliably.
 */
static inline int cshim_lock_owned(cshim_context *context)
{
	return __atomic_load_n(&context->lock_word, __ATOMIC_RELAXED) == cshim_tid();
}

/* Free word to the caller's id; 0 if it is not free. Acquire pairs with the release in cshim_lock_let_go. */
static inline int cshim_lock_try(cshim_context *context)
{
	uint32_t expected = 0;

	return __atomic_compare_exchange_n(&context->lock_word, &expected, cshim_tid(), 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

/* The caller has just become the owner. */
static inline void cshim_lock_taken(cshim_context *context, uint32_t depth)
{
	/* Only the owner writes these two; others read them without the lock, hence atomics. */
	uint32_t turns = __atomic_load_n(&context->lock_turns, __ATOMIC_RELAXED);

	__atomic_store_n(&context->lock_turns, turns + 1, __ATOMIC_RELAXED);
	__atomic_store_n(&context->lock_thread, cshim_this_thread.thread, __ATOMIC_RELAXED);
	context->lock_depth = depth;
}

/* The owner gives up all levels. */
static inline void cshim_lock_let_go(cshim_context *context)
{
	context->lock_depth = 0;
	/* Before the word is free, so that no later owner's entry is overwritten. */
	__atomic_store_n(&context->lock_thread, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&context->lock_word, 0, __ATOMIC_RELEASE);
	/* Store, then load: the waiter's side of it is in sleep_for_lock. */
	cshim_membarrier_light();
	if (__builtin_expect(__atomic_load_n(&context->lock_after, __ATOMIC_RELAXED) != 0, 0))
		cshim_lock_see_to(context);
}

/* Takes the lock, or one more level of it. Blocks while another thread owns it. */
static inline void cshim_lock(cshim_context *context)
{
	uint32_t owner = 0, self = cshim_tid();

	/* Free mostly, so the first look is the one that takes it. Acquire pairs with the release in cshim_lock_let_go. */
	if (__builtin_expect(!__atomic_compare_exchange_n(&context->lock_word, &owner, self, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED), 0)) {
		if (owner == self) {
			context->lock_depth++;
			return;
		}
		cshim_lock_wait(context);
	}
	cshim_lock_taken(context, 1);
}

/* Like cshim_lock, but gives EBUSY instead of blocking. 0 if taken, also when the caller owned it before. */
static inline int cshim_trylock(cshim_context *context)
{
	if (cshim_lock_owned(context)) {
		context->lock_depth++;
		return 0;
	}
	if (!cshim_lock_try(context))
		return EBUSY;
	cshim_lock_taken(context, 1);
	return 0;
}

/* The owner gives up one level. */
static inline void cshim_lock_drop(cshim_context *context)
{
	if (__builtin_expect(context->lock_depth > 1, 0))
		context->lock_depth--;
	else
		cshim_lock_let_go(context);
}

/* Gives up one level. EINVAL, and nothing done, if the caller does not own the lock. */
static inline int cshim_unlock(cshim_context *context)
{
	if (!cshim_lock_owned(context))
		return EINVAL;
	cshim_lock_drop(context);
	return 0;
}

/* Who owns the lock now; LAPI_NULL_THREAD_ID if nobody does. A snapshot unless the caller is the owner. */
pthread_t cshim_lock_getowner(cshim_context *context);

/* Gives up all levels; the caller owns the lock. Returns how many, for cshim_lock_restore. */
uint32_t cshim_lock_release_all(cshim_context *context);
/* Takes the lock back, depth levels of it; the caller does not own it. */
void cshim_lock_restore(cshim_context *context, uint32_t depth);
/* Gives up all levels if the calling thread has any: a user's function has returned with the lock that it was called without. */
void cshim_lock_forfeit(cshim_context *context);
/*
 * Lets one waiting thread have the lock, if there is any, and takes all levels back. A thread that turns the dispatcher calls it
 * each turn: without it a release followed at once by a lock would always win against a waiter that must first wake up. Does
 * nothing inside a handler: the dispatcher's turn is not over, and other threads must not enter core before that.
 */
void cshim_lock_pass(cshim_context *context);

#endif
