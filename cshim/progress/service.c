/*
 * service.c - the service thread: with interrupts on it makes progress for a task whose own threads
 * are busy elsewhere.
 *
 *   parked   a user thread has been inside one polling call for long, or interrupts are off and
 *            nobody polls: asleep until alerted
 *   ticking  user threads poll now and then: looks every tick whether they still do
 *   serving  nobody polls, and interrupts are on: makes progress calls, then is the poller
 *
 * When nobody has polled for a tick it notifies the peers, with interrupts on or off, that this
 * task is not polling: a task that moves much data then does it alone, instead of through chunks
 * that nobody empties, or that take the processor from the user's computation. A call that polls
 * takes that back.
 *
 * It does not arm the links while ticking, so that peers need not ring, and it takes the lock only
 * to serve: a user thread that polls would have to pass the lock at each tick, which costs it as
 * much as a wake-up.
 *
 * No alert is lost: the thread reads service_seq, then the state that it decides by (state,
 * interrupts, polling), then sleeps while service_seq is unchanged; a thread that changes one of
 * those adds 1 to service_seq after that. cshim_poll_end omits the alert unless service_parked is
 * set: the service thread sets it before it looks at polling, with a barrier in every thread
 * between the two; cshim_poll_end looks at it after it has changed polling. Without such barriers
 * the thread does not park.
 */
#define _GNU_SOURCE
#include "progress/futex.h"
#include "progress/sleep.h"

/*
 * How long a tick is where tasks have a processor each, and where they share them. There each look
 * costs some task two switches, for all tasks together many a millisecond, and a task waits for as
 * long anyway before it gets its processor back.
 */
#define TICK_NS 500000
#define SHARED_TICK_NS 4000000

enum {
	PARK_TICKS = 4, /* ticks within one polling call before the service thread parks */
	/*
	 * empty progress calls after serving, about 20 us: the next message often follows at once
	 */
	LINGER_CALLS = 64,
	/* the owner allows at least these spin_calls only where tasks have a processor each */
	OWN_MIN_SPIN = 100
};

/* The thread's last look; its own. */
typedef struct look {
	uint32_t polls;
	uint32_t same_call; /* ticks that found somebody inside the same polling call */
	uint32_t idle;      /* progress calls without progress */
} look;

static int own_processor(const cshim_progress *progress)
{
	return __atomic_load_n(&progress->spin_calls, __ATOMIC_RELAXED) >= OWN_MIN_SPIN;
}

static int64_t tick_ns(const cshim_progress *progress)
{
	return own_processor(progress) ? TICK_NS : SHARED_TICK_NS;
}

void cshim_service_alert(cshim_progress *progress)
{
	__atomic_store_n(&progress->service_parked, 0, __ATOMIC_SEQ_CST);
	__atomic_add_fetch(&progress->service_seq, 1, __ATOMIC_SEQ_CST);
	cshim_futex_wake(&progress->service_seq, 1);
}

void cshim_service_switch(cshim_progress *progress)
{
	uint32_t service = __atomic_load_n(&progress->service_tid, __ATOMIC_SEQ_CST);

	cshim_service_alert(progress);
	if (service && __atomic_load_n(&progress->poller, __ATOMIC_SEQ_CST) == service)
		cshim_kick(progress);
}

/* Under the lock, and nobody polls. */
static void stop_polling(cshim_progress *progress)
{
	if (progress->not_polling)
		return;
	progress->not_polling = 1;
	progress->owner.at->polling(progress, 0);
}

void cshim_polls_again(cshim_progress *progress)
{
	progress->not_polling = 0;
	progress->owner.at->polling(progress, 1);
	cshim_service_alert(progress);
}

#define LOOK(member) __atomic_load_n(&progress->member, __ATOMIC_SEQ_CST)

/* 1 if user threads poll, or have done so since the last look. */
static int others_poll(const cshim_progress *progress, const look *last)
{
	return LOOK(polling) != 0 || LOOK(polls) != last->polls;
}

/* Sleeps until service_seq is no longer seen. */
static void rest(cshim_progress *progress, uint32_t seen, int64_t timeout_ns)
{
	cshim_futex_wait(&progress->service_seq, seen, timeout_ns);
}

/*
 * Leaves the block to the user threads for a tick, or until the thread that has polled for long is
 * done.
 */
static void stay_away(cshim_progress *progress, look *last, uint32_t seen)
{
	uint32_t polls = LOOK(polls);

	if (LOOK(polling) && polls == last->polls)
		last->same_call++;
	else
		last->same_call = 0;
	last->polls = polls;
	last->idle = 0;
	if (last->same_call < PARK_TICKS) {
		rest(progress, seen, tick_ns(progress));
		return;
	}
	last->same_call = 0;
	__atomic_store_n(&progress->service_parked, 1, __ATOMIC_SEQ_CST);
	/* cshim_poll_end stores and looks without a barrier of its own */
	if (cshim_membarrier_order() && LOOK(polling))
		rest(progress, seen, -1);
	else
		__atomic_store_n(&progress->service_parked, 0, __ATOMIC_SEQ_CST);
}

/* Under the lock: one step of serving. Returns for how long to rest after it; 0: not at all. */
static int64_t serve(cshim_progress *progress, look *last)
{
	uint32_t flags = cshim_progress_call(progress, 0);
	uint32_t linger = own_processor(progress) ? LINGER_CALLS : 0;

	if (flags & CSHIM_PROGRESS_ERROR)
		progress->owner.at->errors(progress, 0);
	if (flags & (CSHIM_PROGRESS_MADE | CSHIM_PROGRESS_ERROR)) {
		last->idle = 0;
		return 0;
	}
	if (last->idle++ < linger)
		return 0;
	last->idle = 0;
	if (!cshim_poll_descriptors(progress, NULL))
		/* a user thread is the poller: it is about to leave, as it polls no more */
		return tick_ns(progress);
	/* If user threads have begun to poll one of them shall be the poller from now on. */
	cshim_hand_over(progress);
	return 0;
}

/*
 * Serves until a user thread polls or the generation ends. interrupts is looked at under the lock,
 * under which the owner changes it: once that is done, nothing runs here.
 */
static void serve_while_alone(cshim_progress *progress, uint32_t handle, look *last, uint32_t seen)
{
	int64_t pause_ns = 0;

	cshim_lock(progress);
	if (cshim_alive(progress, handle) && !others_poll(progress, last))
		stop_polling(progress);
	while (pause_ns == 0 && cshim_alive(progress, handle) && LOOK(interrupts) &&
	       !others_poll(progress, last)) {
		pause_ns = serve(progress, last);
		cshim_lock_pass(progress);
	}
	cshim_unlock(progress);
	if (pause_ns)
		rest(progress, seen, pause_ns);
}

/*
 * Interrupts are off, and nobody polls: until somebody does, or what counts changes otherwise. A
 * thread that has polled while this one waited for the lock found not_polling 0, and so alerts
 * nobody: then this one looks again.
 */
static void rest_while_not_polling(cshim_progress *progress, uint32_t handle, const look *last,
                                   uint32_t seen)
{
	uint32_t away;

	cshim_lock(progress);
	if (cshim_alive(progress, handle) && !others_poll(progress, last))
		stop_polling(progress);
	away = progress->not_polling;
	cshim_unlock(progress);
	if (away)
		rest(progress, seen, -1);
}

/* From here others know whom to kick. */
static void introduce(cshim_progress *progress, uint32_t handle)
{
	cshim_lock(progress);
	if (cshim_alive(progress, handle))
		__atomic_store_n(&progress->service_tid, cshim_tid(), __ATOMIC_SEQ_CST);
	cshim_unlock(progress);
}

void cshim_service_run(cshim_progress *progress, uint32_t handle)
{
	look last = {0, 0, 0};

	introduce(progress, handle);
	for (;;) {
		uint32_t seen = LOOK(service_seq);

		if (!cshim_alive(progress, handle))
			return;
		if (others_poll(progress, &last))
			stay_away(progress, &last, seen);
		else if (!LOOK(interrupts))
			rest_while_not_polling(progress, handle, &last, seen);
		else
			serve_while_alone(progress, handle, &last, seen);
	}
}
