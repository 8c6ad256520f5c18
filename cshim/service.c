/*
 * service.c - the service thread: in interrupt mode it serves a task whose own threads are busy elsewhere.
 *
 *   parked   interrupt mode is off, or a user thread has been inside one polling call for long: asleep until alerted
 *   ticking  user threads poll now and then: looks every TICK_NS whether they still do
 *   serving  nobody polls: turns the dispatcher, then is the watcher
 *
 * It does not arm the links while ticking, so that peers need not ring and polling costs nothing.
 */
#define _GNU_SOURCE
#include "futex.h"
#include "internal.h"

#define TICK_NS 500000

enum {
	PARK_TICKS = 4,      /* ticks within one polling call before the service thread parks */
	LINGER_TURNS = 64,   /* empty turns after serving, about 20 us: the next message often follows at once */
	LINGER_MIN_SPIN = 100 /* core allows so many spin_turns only where tasks have a processor each */
};

/* What the thread saw at its last look; its own. */
typedef struct look {
	uint32_t poll_turns;
	uint32_t same_call; /* ticks that found somebody inside the same polling call */
	uint32_t idle;      /* dispatcher turns without progress */
} look;

void cshim_service_alert(cshim_context *context)
{
	cshim_private *private = cshim_private_of(context);

	private->service_parked = 0;
	__atomic_add_fetch(&private->service_seq, 1, __ATOMIC_SEQ_CST);
	cshim_futex_wake(&private->service_seq, 1);
}

/*
 * Lets go of the lock and sleeps until alerted, at most timeout_ns. service_seq is read under the lock, under which all
 * reasons for an alert arise: an alert after that finds another value or a sleeper.
 */
static void rest(cshim_context *context, int64_t timeout_ns)
{
	cshim_private *private = cshim_private_of(context);
	uint32_t seen = __atomic_load_n(&private->service_seq, __ATOMIC_SEQ_CST), depth;

	depth = cshim_lock_release_all(context);
	cshim_futex_wait(&private->service_seq, seen, timeout_ns);
	cshim_lock_restore(context, depth);
}

/* User threads poll, or have done so since the last look. */
static void stay_away(cshim_context *context, look *last, uint32_t pollers, uint32_t turns)
{
	if (pollers && turns == last->poll_turns)
		last->same_call++;
	else
		last->same_call = 0;
	last->poll_turns = turns;
	last->idle = 0;
	if (last->same_call < PARK_TICKS) {
		rest(context, TICK_NS);
		return;
	}
	cshim_private_of(context)->service_parked = 1; /* cshim_poll_end alerts */
	rest(context, -1);
	last->same_call = 0;
}

static void serve(cshim_context *context, look *last)
{
	uint32_t flags = cshim_dispatch(context, 0);
	uint32_t linger = context->spin_turns >= LINGER_MIN_SPIN ? LINGER_TURNS : 0;

	if (flags & CSHIM_DISPATCH_ERROR) {
		cshim_run_errors(context, 0);
		return;
	}
	if (flags & CSHIM_DISPATCH_PROGRESS) {
		last->idle = 0;
		cshim_lock_pass(context);
		return;
	}
	if (last->idle++ < linger) {
		cshim_lock_pass(context);
		return;
	}
	last->idle = 0;
	if (!cshim_watch(context, NULL))
		rest(context, TICK_NS); /* a user thread watches: it is about to leave, as it polls no more */
	/* If a user thread has begun to poll it shall watch from now on. */
	cshim_hand_over(context);
	/* After a watch the next turn of the caller's loop serves at once, unless somebody polls. */
}

void cshim_service_run(cshim_context *context, uint32_t handle)
{
	cshim_private *private = cshim_private_of(context);
	look last = {0, 0, 0};

	cshim_lock(context);
	if (cshim_alive(context, handle))
		__atomic_store_n(&private->service_tid, cshim_tid(), __ATOMIC_SEQ_CST);
	while (cshim_alive(context, handle)) {
		uint32_t pollers = __atomic_load_n(&context->pollers, __ATOMIC_SEQ_CST);
		uint32_t turns = __atomic_load_n(&context->poll_turns, __ATOMIC_RELAXED);

		if (!__atomic_load_n(&context->interrupt_set, __ATOMIC_RELAXED))
			rest(context, -1);
		else if (pollers || turns != last.poll_turns)
			stay_away(context, &last, pollers, turns);
		else
			serve(context, &last);
	}
	cshim_unlock(context);
}
