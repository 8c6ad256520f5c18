/*
 * sleep.c - threads that wait for a context asleep, and those who wake them.
 *
 * One thread at a time is the watcher: it arms the links, so that peers ring, and sleeps in ppoll on the descriptors. Other
 * waiting threads sleep on the futex event_seq. Why no wake-up is lost:
 *
 *  1. Core changes what a thread may wait for (counters, tickets) under the lock, and with each change adds 1 to event_seq and
 *     wakes the futex if event_waiters is not 0. Every thread that called core calls cshim_notify before it lets go of
 *     the lock. (LAPI_Setcntr stores without the lock; if anybody polls, see cshim_poll_begin, it takes the lock after that and does
 *     the same, cshim_wake_sleepers.)
 *  2. A sleeper adds itself to event_waiters and reads event_seq under the lock, after it has found its wait not over. A
 *     later change comes after it has let go of the lock; its author finds event_waiters not 0, and the futex either sees
 *     another event_seq than the sleeper's or has the sleeper in its queue.
 *  3. The watcher enters its wait in private->watching under the lock. A later change finds it there and writes the eventfd, which
 *     is level-triggered: it does not matter whether ppoll has begun. What happens outside this process
 *     is the links' business: golapi_arm returns 1 if something came before they were armed.
 *  4. Sleepers need someone awake or a watcher. A thread sleeps on event_seq only while there is a watcher. A watcher gives its role up under
 *     the lock and is awake then. A thread that stops looking after the context (its wait is over, or it is the service thread) calls
 *     cshim_hand_over, still under the lock: if nobody watches and somebody sleeps, one sleeper is woken, and then 4 holds for it.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include "futex.h"
#include "internal.h"

/* How long a sleeper sleeps at most. Nothing depends on it; the stress tests run without (see above why). */
#ifndef CSHIM_SAFETY_NS
#define CSHIM_SAFETY_NS 100000000
#endif

int cshim_counter_reached(const cshim_wait *wait)
{
	/* Acquire pairs with core's atomic increment: who sees the counter sees the data that it announces. */
	return __atomic_load_n(wait->counter, __ATOMIC_ACQUIRE) >= wait->val;
}

void cshim_kick(cshim_context *context)
{
	uint64_t one = 1;
	int saved = errno;

	/* EAGAIN: its counter is full, so it is readable anyway. */
	if (context->num_descriptors > 0 && write(context->descriptors[0], &one, sizeof(one)) < 0)
		errno = saved;
}

/* The watcher's wait may be over: for a ticket nobody but the dispatcher knows. */
static int watcher_concerned(const cshim_wait *watching)
{
	return watching && (watching->ticket || cshim_counter_reached(watching));
}

void cshim_notify(cshim_context *context)
{
	cshim_private *private = cshim_private_of(context);
	uint32_t events = __atomic_load_n(&context->event_seq, __ATOMIC_SEQ_CST);

	if (events == private->noticed_events)
		return;
	private->noticed_events = events;
	if (watcher_concerned(private->watching)) {
		private->watching = NULL; /* one kick will do */
		cshim_kick(context);
	}
}

void cshim_wake_sleepers(cshim_context *context)
{
	__atomic_add_fetch(&context->event_seq, 1, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&context->event_waiters, __ATOMIC_SEQ_CST))
		cshim_futex_wake(&context->event_seq, INT_MAX);
	cshim_notify(context);
}

void cshim_hand_over(cshim_context *context)
{
	if (__atomic_load_n(&context->watcher, __ATOMIC_SEQ_CST) != 0)
		return;
	if (__atomic_load_n(&context->event_waiters, __ATOMIC_SEQ_CST) == 0)
		return;
	/* The change of event_seq reaches a thread that has read it and is not in the futex yet. */
	__atomic_add_fetch(&context->event_seq, 1, __ATOMIC_SEQ_CST);
	cshim_futex_wake(&context->event_seq, 1);
}

/* Sleeps on the descriptors, without the lock; then takes the kicks out of the eventfd. */
static void poll_descriptors(cshim_context *context, int64_t timeout_ns)
{
	struct pollfd polled[CSHIM_MAX_DESCRIPTORS];
	struct timespec at_most = {0, 0};
	int i, count = context->num_descriptors, saved = errno;
	uint64_t kicks;

	for (i = 0; i < count; i++) {
		polled[i].fd = context->descriptors[i];
		polled[i].events = POLLIN;
		polled[i].revents = 0;
	}
	if (timeout_ns >= 0) {
		at_most.tv_sec = timeout_ns / 1000000000;
		at_most.tv_nsec = timeout_ns % 1000000000;
	}
	/* The descriptors stay open: LAPI_Term closes them only when nobody watches. The eventfd does not block. */
	if (ppoll(polled, (nfds_t)count, timeout_ns >= 0 ? &at_most : NULL, NULL) > 0 && count > 0 &&
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
	if (golapi_arm(cshim_index_of(context), &timeout_ns) || (wait && !wait->ticket && cshim_counter_reached(wait))) {
		golapi_disarm(cshim_index_of(context));
		stop_watching(context);
		return 1;
	}
	private->watching = wait;
	depth = cshim_lock_release_all(context);
	poll_descriptors(context, timeout_ns);
	cshim_lock_restore(context, depth);
	if (private->watching == wait)
		private->watching = NULL;
	/* Core's half may be gone, but not the descriptors: LAPI_Term waits for this. */
	if (cshim_alive(context, handle))
		golapi_disarm(cshim_index_of(context));
	stop_watching(context);
	return 1;
}

/* Sleeps as one of many, while another thread watches. */
static void sleep_on_events(cshim_context *context)
{
	uint32_t seen, depth;

	__atomic_add_fetch(&context->event_waiters, 1, __ATOMIC_SEQ_CST);
	seen = __atomic_load_n(&context->event_seq, __ATOMIC_SEQ_CST);
	depth = cshim_lock_release_all(context);
	cshim_futex_wait(&context->event_seq, seen, CSHIM_SAFETY_NS);
	__atomic_sub_fetch(&context->event_waiters, 1, __ATOMIC_SEQ_CST);
	cshim_lock_restore(context, depth);
}

void cshim_sleep(cshim_context *context, cshim_wait *wait)
{
	cshim_private *private = cshim_private_of(context);

	if (cshim_watch(context, wait))
		return;
	/* The service thread makes room: a message then wakes the thread that waits for it, not first another. */
	if (__atomic_load_n(&context->watcher, __ATOMIC_SEQ_CST) == __atomic_load_n(&private->service_tid, __ATOMIC_SEQ_CST))
		cshim_kick(context);
	sleep_on_events(context);
}
