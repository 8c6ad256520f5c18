/*
 * service.c - the service thread: in interrupt mode it serves a task whose own threads are busy elsewhere.
 *
 *   parked   a user thread has been inside one polling call for long, or interrupt mode is off and nobody polls: asleep until alerted
 *   ticking  user threads poll now and then: looks every tick whether they still do
 *   serving  nobody polls, in interrupt mode: turns the dispatcher, then is the watcher
 *
 * When nobody has polled for a tick it tells the peers, in both modes, that this task is away: who moves much data then does it alone,
 * instead of through chunks that nobody empties, or that take the processor from the user's computation. A call that polls
 * takes that back.
 *
 * It does not arm the links while ticking, so that peers need not ring, and it takes the lock only to serve: a user thread that
 * polls would have to pass the lock at each tick, which costs it as much as a wake-up.
 *
 * No alert is lost: the thread reads service_seq, then what it decides by (state, interrupt_set, pollers), then sleeps while
 * service_seq is unchanged; who changes one of those adds 1 to service_seq after that. cshim_poll_end spares itself the alert
 * unless service_parked is set: the thread sets it before it looks at pollers, with a barrier in every thread between the two; cshim_poll_end
 * looks at it after it has changed pollers. Without such barriers the thread does not park.
 */
#define _GNU_SOURCE
#include "futex.h"
#include "internal.h"

/*
 * How long a tick is where tasks have a processor each, and where they share them: there each look costs some task two switches, for all
 * tasks together many a millisecond, and a task waits for as long anyway before it gets its processor back.
 */
#define TICK_NS 500000
#define SHARED_TICK_NS 4000000

enum {
	PARK_TICKS = 4,      /* ticks within one polling call before the service thread parks */
	LINGER_TURNS = 64,   /* empty turns after serving, about 20 us: the next message often follows at once */
	OWN_MIN_SPIN = 100   /* core allows so many spin_turns only where tasks have a processor each */
};

/* What the thread saw at its last look; its own. */
typedef struct look {
	uint32_t poll_turns;
	uint32_t same_call; /* ticks that found somebody inside the same polling call */
	uint32_t idle;      /* dispatcher turns without progress */
} look;

static int own_processor(const cshim_context *context)
{
	return context->spin_turns >= OWN_MIN_SPIN;
}

static int64_t tick_ns(const cshim_context *context)
{
	return own_processor(context) ? TICK_NS : SHARED_TICK_NS;
}

void cshim_service_alert(cshim_context *context)
{
	cshim_private *private = cshim_private_of(context);

	__atomic_store_n(&private->service_parked, 0, __ATOMIC_SEQ_CST);
	__atomic_add_fetch(&private->service_seq, 1, __ATOMIC_SEQ_CST);
	cshim_futex_wake(&private->service_seq, 1);
}

/* Under the lock, and nobody polls. */
static void go_away(cshim_context *context)
{
	if (cshim_private_of(context)->away)
		return;
	cshim_private_of(context)->away = 1;
	golapi_away(cshim_index_of(context), 1);
}

void cshim_come_back(cshim_context *context)
{
	cshim_private_of(context)->away = 0;
	golapi_away(cshim_index_of(context), 0);
	cshim_service_alert(context);
}

static uint32_t pollers_of(const cshim_context *context)
{
	return __atomic_load_n(&context->pollers, __ATOMIC_SEQ_CST);
}

static uint32_t turns_of(const cshim_context *context)
{
	return __atomic_load_n(&context->poll_turns, __ATOMIC_SEQ_CST);
}

static int interrupts_on(const cshim_context *context)
{
	return __atomic_load_n(&context->interrupt_set, __ATOMIC_SEQ_CST) != 0;
}

/* 1 if user threads poll, or have done so since the last look. */
static int others_poll(const cshim_context *context, const look *last)
{
	return pollers_of(context) != 0 || turns_of(context) != last->poll_turns;
}

/* Sleeps until service_seq is no longer seen. */
static void rest(cshim_context *context, uint32_t seen, int64_t timeout_ns)
{
	cshim_futex_wait(&cshim_private_of(context)->service_seq, seen, timeout_ns);
}

/* Leaves the context to the user threads for a tick, or until the one that has polled for long is done. */
static void stay_away(cshim_context *context, look *last, uint32_t seen)
{
	uint32_t turns = turns_of(context);

	if (pollers_of(context) && turns == last->poll_turns)
		last->same_call++;
	else
		last->same_call = 0;
	last->poll_turns = turns;
	last->idle = 0;
	if (last->same_call < PARK_TICKS) {
		rest(context, seen, tick_ns(context));
		return;
	}
	last->same_call = 0;
	__atomic_store_n(&cshim_private_of(context)->service_parked, 1, __ATOMIC_SEQ_CST);
	if (cshim_membarrier_everywhere() && pollers_of(context)) /* cshim_poll_end stores and looks without a barrier of its own */
		rest(context, seen, -1);
	else
		__atomic_store_n(&cshim_private_of(context)->service_parked, 0, __ATOMIC_SEQ_CST);
}

/* Under the lock: one step of serving. Returns for how long to rest after it; 0: not at all. */
static int64_t serve(cshim_context *context, look *last)
{
	uint32_t flags = cshim_dispatch(context, 0);
	uint32_t linger = own_processor(context) ? LINGER_TURNS : 0;

	if (flags & CSHIM_DISPATCH_ERROR)
		cshim_run_errors(context, 0);
	if (flags & (CSHIM_DISPATCH_PROGRESS | CSHIM_DISPATCH_ERROR)) {
		last->idle = 0;
		return 0;
	}
	if (last->idle++ < linger)
		return 0;
	last->idle = 0;
	if (!cshim_watch(context, NULL))
		return tick_ns(context); /* a user thread watches: it is about to leave, as it polls no more */
	/* If user threads have begun to poll one of them shall watch from now on. */
	cshim_hand_over(context);
	return 0;
}

/*
 * Serves until somebody polls or the incarnation ends. interrupt_set is looked at under the lock, under which LAPI_Senv changes
 * it: once that has returned, nothing runs here.
 */
static void serve_while_alone(cshim_context *context, uint32_t handle, look *last, uint32_t seen)
{
	int64_t pause_ns = 0;

	cshim_lock(context);
	if (cshim_alive(context, handle) && !others_poll(context, last))
		go_away(context);
	while (pause_ns == 0 && cshim_alive(context, handle) && interrupts_on(context) && !others_poll(context, last)) {
		pause_ns = serve(context, last);
		cshim_lock_pass(context);
	}
	cshim_unlock(context);
	if (pause_ns)
		rest(context, seen, pause_ns);
}

/* Polling mode, and nobody polls: until somebody does, or LAPI_Senv or LAPI_Term changes what counts. */
static void rest_while_away(cshim_context *context, uint32_t handle, const look *last, uint32_t seen)
{
	cshim_lock(context);
	if (cshim_alive(context, handle) && !others_poll(context, last))
		go_away(context);
	cshim_unlock(context);
	rest(context, seen, -1);
}

/* From here LAPI_Senv and sleeping user threads know whom to kick. */
static void introduce(cshim_context *context, uint32_t handle)
{
	cshim_lock(context);
	if (cshim_alive(context, handle))
		__atomic_store_n(&cshim_private_of(context)->service_tid, cshim_tid(), __ATOMIC_SEQ_CST);
	cshim_unlock(context);
}

void cshim_service_run(cshim_context *context, uint32_t handle)
{
	cshim_private *private = cshim_private_of(context);
	look last = {0, 0, 0};

	introduce(context, handle);
	for (;;) {
		uint32_t seen = __atomic_load_n(&private->service_seq, __ATOMIC_SEQ_CST);

		if (!cshim_alive(context, handle))
			return;
		if (others_poll(context, &last))
			stay_away(context, &last, seen);
		else if (!interrupts_on(context))
			rest_while_away(context, handle, &last, seen);
		else
			serve_while_alone(context, handle, &last, seen);
	}
}
