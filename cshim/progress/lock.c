#define _GNU_SOURCE
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "futex.h"
#include "internal.h"
#include "lock.h"

enum {
	SPINS = 100,         /* looks at a taken lock before sleeping: about as long as one dispatcher turn of the owner */
	PASS_SPINS = 64,     /* pauses that a passing owner gives a waiter that is awake on another processor */
	PASS_YIELDS = 400,   /* then yields: enough for a sleeping waiter to wake; a bound, should it never run */
	DRAIN_NS = 10000000, /* longer than any processor keeps a store to itself: nanoseconds are usual */
};

__thread cshim_self cshim_this_thread;

static int asymmetric; /* atomic: 1 if waiters order the accesses of releasing threads by cshim_membarrier_everywhere */

uint32_t cshim_tid_ask(void)
{
	cshim_this_thread.thread = (uint64_t)pthread_self();
	cshim_this_thread.tid = (uint32_t)syscall(SYS_gettid);
	return cshim_this_thread.tid;
}

void cshim_tid_forget(void)
{
	cshim_this_thread.tid = 0;
}

/* From now on whoever releases a lock has its own barrier. Locks that are being released at this moment may still lack it. */
static void fence_releases(void)
{
	int i;

	for (i = 0; i < CSHIM_MAX_CONTEXTS; i++)
		__atomic_fetch_or(&cshim_contexts[i].lock_after, CSHIM_LOCK_FENCE, __ATOMIC_SEQ_CST);
}

static void prepare(void)
{
	cshim_cpu_prepare();
	if (cshim_membarrier_register())
		__atomic_store_n(&asymmetric, 1, __ATOMIC_RELEASE);
	else
		fence_releases();
}

void cshim_lock_prepare(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, prepare);
}

/*
 * A barrier in every thread. The kernel refuses what it had granted if the program has installed a filter of system calls since then.
 * Then time must do: whatever a thread has stored before is visible after DRAIN_NS.
 */
static void order_everywhere(void)
{
	struct timespec left = {0, DRAIN_NS};
	int saved = errno;

	if (cshim_membarrier_everywhere())
		return;
	fence_releases();
	while (nanosleep(&left, &left) < 0 && errno == EINTR)
		;
	errno = saved;
	__atomic_store_n(&asymmetric, 0, __ATOMIC_RELEASE);
}

/* Between a waiter's store to lock_after and its look at the lock: pairs with what is between the two accesses of a release. */
static void order_releases(void)
{
	if (__atomic_load_n(&asymmetric, __ATOMIC_ACQUIRE))
		order_everywhere();
	else
		cshim_membarrier_full();
}

/* The rest of a release: CSHIM_LOCK_ flags are set. The lock may have another owner by now. */
void cshim_lock_see_to(cshim_context *context)
{
	uint32_t after = __atomic_load_n(&context->lock_after, __ATOMIC_RELAXED);

	if (after & CSHIM_LOCK_FENCE) {
		cshim_membarrier_full();
		after = __atomic_load_n(&context->lock_after, __ATOMIC_RELAXED);
	}
	if (!(after & CSHIM_LOCK_WAKE))
		return;
	/* In this order: who sets the flag between the two finds lock_wakes changed, and does not sleep. */
	__atomic_fetch_and(&context->lock_after, ~CSHIM_LOCK_WAKE, __ATOMIC_SEQ_CST);
	__atomic_add_fetch(&context->lock_wakes, 1, __ATOMIC_SEQ_CST);
	cshim_futex_wake(&context->lock_wakes, 1);
}

/* Looks at a taken lock for a while; 1 if it has been taken. */
static int spin_for_lock(cshim_context *context)
{
	int spins = cshim_processors() > 1 ? SPINS : 0; /* of use only where the owner can run at the same time */

	for (;;) {
		if (__atomic_load_n(&context->lock_word, __ATOMIC_RELAXED) == 0 && cshim_lock_try(context))
			return 1;
		if (spins-- <= 0)
			return 0;
		cshim_pause();
	}
}

/*
 * Sleeps until the lock may be free; 1 if it has been taken instead. Why no sleeper is missed:
 *
 *  1. The owner frees the word and then looks at lock_after; this thread sets CSHIM_LOCK_WAKE there and then looks at the word. Between
 *     this thread's two accesses order_releases puts a barrier into the owner: an owner past its look then had freed
 *     the word before, and this thread sees it free (or taken by another, to whom the same applies); any other sees the flag.
 *  2. The owner that sees the flag takes it away and changes lock_wakes before it wakes. lock_wakes was read here before the flag was
 *     set: so either the futex finds it changed, or this thread is among those of whom one is woken.
 *  3. One flag and one wake-up may stand for several sleepers. The one woken is answerable for the others: it sets the flag again,
 *     before it sleeps again (here) or, once it has the lock, if there are others (cshim_lock_wait).
 */
static int sleep_for_lock(cshim_context *context)
{
	uint32_t seen = __atomic_load_n(&context->lock_wakes, __ATOMIC_SEQ_CST);

	__atomic_fetch_or(&context->lock_after, CSHIM_LOCK_WAKE, __ATOMIC_SEQ_CST);
	order_releases();
	if (cshim_lock_try(context))
		return 1;
	cshim_futex_wait(&context->lock_wakes, seen, -1);
	return 0;
}

/* Becomes the owner, however long that takes. */
void cshim_lock_wait(cshim_context *context)
{
	__atomic_add_fetch(&context->lock_waiters, 1, __ATOMIC_SEQ_CST);
	while (!spin_for_lock(context) && !sleep_for_lock(context))
		;
	/* A thread that comes into the count later sets the flag itself before it sleeps. */
	if (__atomic_sub_fetch(&context->lock_waiters, 1, __ATOMIC_SEQ_CST) > 0)
		__atomic_fetch_or(&context->lock_after, CSHIM_LOCK_WAKE, __ATOMIC_SEQ_CST);
}

uint32_t cshim_lock_release_all(cshim_context *context)
{
	uint32_t depth = context->lock_depth;

	cshim_lock_let_go(context);
	return depth;
}

void cshim_lock_forfeit(cshim_context *context)
{
	if (cshim_lock_owned(context))
		cshim_lock_let_go(context);
}

void cshim_lock_restore(cshim_context *context, uint32_t depth)
{
	if (!cshim_lock_try(context))
		cshim_lock_wait(context);
	cshim_lock_taken(context, depth);
}

void cshim_lock_pass(cshim_context *context)
{
	uint32_t turns, depth;
	int i;

	if (__atomic_load_n(&context->lock_waiters, __ATOMIC_RELAXED) == 0 || context->dispatching ||
	    cshim_private_of(context)->handler_floor)
		return;
	turns = __atomic_load_n(&context->lock_turns, __ATOMIC_RELAXED);
	depth = cshim_lock_release_all(context);
	for (i = 0; i < PASS_SPINS + PASS_YIELDS; i++) {
		if (__atomic_load_n(&context->lock_turns, __ATOMIC_RELAXED) != turns)
			break;
		if (__atomic_load_n(&context->lock_waiters, __ATOMIC_RELAXED) == 0)
			break;
		if (i < PASS_SPINS && cshim_processors() > 1)
			cshim_pause();
		else
			sched_yield();
	}
	cshim_lock_restore(context, depth);
}

pthread_t cshim_lock_getowner(cshim_context *context)
{
	uint64_t thread = __atomic_load_n(&context->lock_thread, __ATOMIC_RELAXED);

	return thread ? (pthread_t)thread : LAPI_NULL_THREAD_ID;
}
