/*
 * lock.h - the context lock: recursive, counted, fair on request. It is the lock that every call into core holds, and the one that
 * LAPI_Util(LAPI_GET_THREAD_FUNC) hands to users.
 *
 * State: lock_word is 0 (free) or the owner's thread id, with CSHIM_LOCK_CONTENDED or'd in while somebody may be asleep on
 * it. lock_depth belongs to the owner. Ownership is taken with acquire order and given up with release order on
 * lock_word; that pair protects everything that is said to be "under the lock".
 */
#ifndef CSHIM_LOCK_H
#define CSHIM_LOCK_H

#include <pthread.h>
#include <stdint.h>
#include "context.h"

/* How many processors are online, and a short pause of this one inside a spin loop. */
int cshim_processors(void);
void cshim_pause(void);

/* The calling thread's kernel id, from a cache in thread-local storage. */
uint32_t cshim_tid(void);
/* In the child of a fork, by its only thread: the cached id was the parent's. */
void cshim_tid_forget(void);

/* Takes the lock, or one more level of it. Blocks while another thread owns it. */
void cshim_lock(cshim_context *context);
/* Like cshim_lock, but gives EBUSY instead of blocking. 0 if taken, also when the caller owned it before. */
int cshim_trylock(cshim_context *context);
/* Gives up one level. EINVAL, and nothing done, if the caller does not own the lock. */
int cshim_unlock(cshim_context *context);
/* Who owns the lock now; LAPI_NULL_THREAD_ID if nobody does. A snapshot unless the caller is the owner. */
pthread_t cshim_lock_getowner(cshim_context *context);
/* 1 if the calling thread owns the lock. */
int cshim_lock_owned(cshim_context *context);

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


/*
 * Between two looks at memory that another processor writes. A bare loop of loads runs far ahead, and all of that is thrown away when
 * the line changes; a locked instruction holds it back, and costs less than a pause.
 */
static inline void cshim_between_polls(void)
{
#if defined(__x86_64__)
	__asm__ volatile("lock orl $0, -4(%%rsp)" ::: "memory", "cc");
#else
	cshim_pause();
#endif
}

#endif
