/*
 * block.h - how the entry points reach core, and how threads wait in them. Every call locks the
 * block, has core do the work, and unlocks it. Private to this room.
 */
#ifndef DAT_BLOCK_H
#define DAT_BLOCK_H

#include "dat/calls.h"
#include "dat/common.h"
#include "dat/godat.h"
#include "progress/lock.h"
#include "registry/registry.h"

/* An invariant of core's has broken: only events that are there come from it. Under the lock. */
extern int dat_is_broken;

/* Arguments of a call as core gets them. */
#define DAT_P(pointer) ((uint64_t)(uintptr_t)(pointer))
#define DAT_I(number) ((uint64_t)(uint32_t)(number))

/* A call of core's by number, with its arguments. */
#define DAT_CALL(number, ...) dat_call(DAT_CALL_##number, (const uint64_t[]){__VA_ARGS__})
DAT_RETURN dat_call(int number, const uint64_t *arguments);

/* The codes of bad handles. */
#define DAT_BAD_EVD (DAT_CLASS_ERROR | DAT_INVALID_HANDLE | DAT_INVALID_HANDLE_EVD_REQUEST)
#define DAT_BAD_CNO (DAT_CLASS_ERROR | DAT_INVALID_HANDLE | DAT_INVALID_HANDLE_CNO)

/* Starts core if it has not started, and locks the block; 0: that is refused. */
int dat_enter(void);
/* The code for it: a process that was forked after the start, or limits of the process. */
DAT_RETURN dat_refused(void);
/* Unlocks it, and runs the agents that are due. */
DAT_RETURN dat_leave(DAT_RETURN result);
/* Runs them, outside of the lock and of a call. */
void dat_run_agents(void);

/* How a short call has begun. */
enum {
	DAT_NOT_BEGUN, /* nothing was done: dat_enter knows why */
	DAT_BUSY,      /* it has begun, but another thread has the lock, or this one */
	DAT_ENTERED
};

/*
 * dat_enter in place, without a call, where nothing is unusual and the lock is free. It is taken with
 * acquire order here, and given up with release order.
 */
static inline __attribute__((always_inline)) int dat_enter_quickly(void)
{
	uint32_t free = 0, self = cshim_this_thread.tid;

	/* acquire: pairs with the release at the end of prepare */
	if (__builtin_expect(__atomic_load_n(&dat_unusual, __ATOMIC_ACQUIRE) != 0 || !self, 0) ||
	    !cshim_inside_begins())
		return DAT_NOT_BEGUN;
	if (__builtin_expect(!__atomic_compare_exchange_n(&dat_progress.lock_word, &free, self, 0,
	                                                  __ATOMIC_ACQUIRE, __ATOMIC_RELAXED),
	                     0))
		return DAT_BUSY;
	cshim_lock_taken(&dat_progress, 1);
	return DAT_ENTERED;
}

/* The call has turned out not to be short: 1 if it is entered now. */
static inline int dat_enter_after(int begun)
{
	if (begun == DAT_NOT_BEGUN)
		return dat_enter();
	if (begun == DAT_BUSY)
		cshim_lock(&dat_progress);
	return 1;
}

/* Ends it, if the call has posted no event, and has called nothing that lets the lock go. */
static inline __attribute__((always_inline)) void dat_leave_quickly(void)
{
	if (__builtin_expect(__atomic_load_n(&dat_progress.lock_waiters, __ATOMIC_RELAXED) != 0, 0))
		cshim_lock_be_fair(&dat_progress);
	cshim_lock_free(&dat_progress);
	cshim_inside_ends();
}

/* The same where there may be events. */
static inline __attribute__((always_inline)) void dat_leave_with_events(void)
{
	cshim_notify(&dat_progress);
	dat_leave_quickly();
	if (__builtin_expect(dat_progress.due != 0, 0))
		dat_run_agents();
}

/* Before the first call into Go: without threads to be had its run-time would end the process.
 * DAT_SUCCESS, or what dat_ia_open returns then. */
DAT_RETURN dat_may_enter(void);
/* dat_ia_openv and dat_ia_close of the library's own adapters. */
DAT_RETURN dat_open_own(const uint64_t *arguments);
DAT_RETURN dat_close_own(DAT_IA_HANDLE ia_handle, DAT_CLOSE_FLAGS flags);

/* collective_post.c: posts an operation of a group, whose arguments are by place (coll/coll.h). */
DAT_RETURN dat_collective_post(const uint64_t *arguments);

/* A call that C does under the lock. */
#define DAT_LOCKED(call) (dat_enter() ? dat_leave(call) : dat_refused())

#endif
