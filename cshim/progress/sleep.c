/*
 * sleep.c - threads that wait for a context without turning its dispatcher, and those who wake them.
 *
 * One thread at a time is the watcher: it arms the links, so that peers ring, and sleeps in ppoll on the descriptors. That is the turner
 * or the service thread. Other waiting threads follow, each with a futex of its own. Why no wake-up is lost:
 *
 *  1. Core changes what a thread may wait for (counters, tickets) under the lock, and adds 1 to event_seq with each change. Every
 *     thread that called core calls cshim_notify before it lets go of the lock. (LAPI_Setcntr stores without the lock; if
 *     anybody polls, see cshim_poll_begin, it takes the lock after that and does the same.)
 *  2. A follower is marked under the lock, after it has found its wait not over. A later change comes after it has let go of the
 *     lock; its author finds the mark and, if the wait is over, stores WOKEN to its futex. The follower goes to sleep only by changing NONE
 *     to ASLEEP: either that fails, or the author sees ASLEEP and wakes the futex.
 *  3. The watcher enters its wait in private->watching under the lock. A later change finds it there and writes the eventfd, which
 *     is level-triggered: it does not matter whether ppoll has begun. What happens outside this process
 *     is the links' business: golapi_arm returns 1 if something came before they were armed.
 *  4. Followers need a turner or a watcher. A thread follows only while there is one. The turner gives its role up, and the service thread
 *     the watcher's, under the lock, and calls cshim_hand_over, still under the lock: if there is no other, one follower is woken, and
 *     becomes the turner unless a thread that came by was faster.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include "barrier_wait.h"
#include "futex.h"
#include "internal.h"

/* How long a follower sleeps at most. Nothing depends on it; the stress tests run without (see above why). */
#ifndef CSHIM_SAFETY_NS
#define CSHIM_SAFETY_NS 100000000
#endif

/*
 * A counter belongs to no context: a program with several may wait in one for what arrives in another. That other's notify does not
 * see the wait, and must not, as it has not the lock; so then every wait for a counter looks at it this often.
 */
#define SEVERAL_CONTEXTS_NS 10000000

static int64_t at_most(const cshim_wait *wait, int64_t timeout_ns)
{
	if (wait->ticket || wait->generation || cshim_active_contexts() < 2 || (timeout_ns >= 0 && timeout_ns < SEVERAL_CONTEXTS_NS))
		return timeout_ns;
	return SEVERAL_CONTEXTS_NS;
}

int cshim_reached(cshim_context *context, const cshim_wait *wait)
{
	return wait->generation ? cshim_barrier_reached(context, wait->generation) : cshim_counter_reached(wait->counter, wait->val);
}

void cshim_kick(cshim_context *context)
{
	uint64_t one = 1;
	int saved = errno;

	/* EAGAIN: its counter is full, so it is readable anyway. */
	if (context->num_descriptors > 0 && write(context->descriptors[0], &one, sizeof(one)) < 0)
		errno = saved;
}

/* The wait may be over: for a ticket nobody but the dispatcher knows. */
static int concerned(cshim_context *context, const cshim_wait *wait)
{
	return wait->ticket || wait->purged || cshim_reached(context, wait);
}

/* The wait lies on its thread's stack, but that thread needs the lock, which the caller has, to leave. */
static void wake_follower(cshim_context *context, cshim_wait *wait)
{
	wait->following = 0;
	__atomic_sub_fetch(&cshim_private_of(context)->followers, 1, __ATOMIC_SEQ_CST);
	if (__atomic_exchange_n(&wait->signal, CSHIM_SIGNAL_WOKEN, __ATOMIC_SEQ_CST) == CSHIM_SIGNAL_ASLEEP)
		cshim_futex_wake(&wait->signal, 1);
}

void cshim_notify_others(cshim_context *context)
{
	cshim_private *private = cshim_private_of(context);
	cshim_wait *wait;

	if (__atomic_load_n(&private->followers, __ATOMIC_RELAXED))
		for (wait = private->waits; wait; wait = wait->next)
			if (wait->following && concerned(context, wait))
				wake_follower(context, wait);
	if (__builtin_expect(private->watching != NULL, 0) && concerned(context, private->watching)) {
		private->watching = NULL; /* one kick will do */
		cshim_kick(context);
	}
}

void cshim_wake_followers(cshim_context *context)
{
	cshim_wait *wait;

	for (wait = cshim_private_of(context)->waits; wait; wait = wait->next)
		if (wait->following)
			wake_follower(context, wait);
}

void cshim_hand_over(cshim_context *context)
{
	cshim_private *private = cshim_private_of(context);
	cshim_wait *wait;

	if (private->turner || __atomic_load_n(&context->watcher, __ATOMIC_SEQ_CST) != 0)
		return;
	for (wait = private->waits; wait; wait = wait->next)
		if (wait->following) {
			wake_follower(context, wait);
			return;
		}
}

/* Sleeps on the descriptors, without the lock; then takes the kicks out of the eventfd. */
static void poll_descriptors(cshim_context *context, int64_t timeout_ns)
{
	struct pollfd polled[CSHIM_MAX_DESCRIPTORS];
	struct timespec limit = {0, 0};
	int i, count = context->num_descriptors, saved = errno;
	uint64_t kicks;

	for (i = 0; i < count; i++) {
		polled[i].fd = context->descriptors[i];
		polled[i].events = POLLIN;
		polled[i].revents = 0;
	}
	if (timeout_ns >= 0) {
		limit.tv_sec = timeout_ns / 1000000000;
		limit.tv_nsec = timeout_ns % 1000000000;
	}
	/* The descriptors stay open: LAPI_Term closes them only when nobody watches. The eventfd does not block. */
	if (ppoll(polled, (nfds_t)count, timeout_ns >= 0 ? &limit : NULL, NULL) > 0 && count > 0 &&
	    (polled[0].revents & POLLIN) && read(polled[0].fd, &kicks, sizeof(kicks)) < 0)
		errno = EAGAIN; /* another thread's dispatcher was faster */
	errno = saved;
}

static void stop_watching(cshim_context *context)
{
	__atomic_store_n(&context->watcher, 0, __ATOMIC_SEQ_CST);
}

int cshim_watch(cshim_context *context, cshim_wait *wait)
{
	cshim_private *private = cshim_private_of(context);
	uint32_t handle = context->handle, nobody = 0, depth;
	int64_t timeout_ns = -1;

	if (!__atomic_compare_exchange_n(&context->watcher, &nobody, cshim_tid(), 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
		return 0;
	if (golapi_arm(cshim_index_of(context), &timeout_ns) || (wait && !wait->ticket && concerned(context, wait)) ||
	    cshim_barrier_check(context)) {
		golapi_disarm(cshim_index_of(context));
		stop_watching(context);
		return 1;
	}
	private->watching = wait;
	cshim_trace(context, CSHIM_TRACE_HANDLERS, CSHIM_TRACE_BEGIN | CSHIM_TRACE_WAIT, "asleep", 0);
	depth = cshim_lock_release_all(context);
	poll_descriptors(context, wait ? at_most(wait, timeout_ns) : timeout_ns);
	cshim_lock_restore(context, depth);
	cshim_trace(context, CSHIM_TRACE_HANDLERS, CSHIM_TRACE_END | CSHIM_TRACE_WAIT, "", 0);
	if (private->watching == wait)
		private->watching = NULL;
	/* Core's half may be gone, but not the descriptors: LAPI_Term waits for this. */
	if (cshim_alive(context, handle))
		golapi_disarm(cshim_index_of(context));
	stop_watching(context);
	return 1;
}

/* Spins for a wake-up, if there is a processor for it. Others need them too: the turner, and the thread that it serves. */
static void spin_for_signal(cshim_context *context, const cshim_wait *wait, uint32_t spins)
{
	cshim_private *private = cshim_private_of(context);

	if (spins == 0)
		return;
	if (__atomic_add_fetch(&private->spinners, 1, __ATOMIC_RELAXED) < (uint32_t)cshim_processors())
		while (spins-- > 0 && __atomic_load_n(&wait->signal, __ATOMIC_SEQ_CST) == CSHIM_SIGNAL_NONE)
			cshim_pause();
	__atomic_sub_fetch(&private->spinners, 1, __ATOMIC_RELAXED);
}

static void sleep_for_signal(cshim_wait *wait)
{
	uint32_t signal = CSHIM_SIGNAL_NONE;

	if (__atomic_compare_exchange_n(&wait->signal, &signal, CSHIM_SIGNAL_ASLEEP, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
		cshim_futex_wait(&wait->signal, CSHIM_SIGNAL_ASLEEP, at_most(wait, CSHIM_SAFETY_NS));
	/* Awake for no reason: the caller looks again, and comes back. */
}

void cshim_follow(cshim_context *context, cshim_wait *wait, uint32_t spins)
{
	cshim_private *private = cshim_private_of(context);
	uint32_t depth;

	wait->following = 1;
	__atomic_store_n(&wait->signal, CSHIM_SIGNAL_NONE, __ATOMIC_SEQ_CST);
	__atomic_add_fetch(&private->followers, 1, __ATOMIC_SEQ_CST);
	cshim_trace(context, CSHIM_TRACE_HANDLERS, CSHIM_TRACE_BEGIN | CSHIM_TRACE_WAIT, "following", 0);
	depth = cshim_lock_release_all(context);
	spin_for_signal(context, wait, spins);
	sleep_for_signal(wait);
	cshim_lock_restore(context, depth);
	cshim_trace(context, CSHIM_TRACE_HANDLERS, CSHIM_TRACE_END | CSHIM_TRACE_WAIT, "", 0);
	if (wait->following) {
		wait->following = 0;
		__atomic_sub_fetch(&private->followers, 1, __ATOMIC_SEQ_CST);
	}
}

void cshim_sleep(cshim_context *context, cshim_wait *wait)
{
	cshim_private *private = cshim_private_of(context);

	if (cshim_watch(context, wait))
		return;
	/* The service thread watches. It makes room: a message then wakes the thread that waits for it, not first another. */
	private->turner = NULL;
	cshim_kick(context);
	cshim_follow(context, wait, 0);
}
