/*
 * wait.c - waiting with other threads: make progress calls until the goal is reached, letting
 * others have the lock in between; first spinning, then yielding the processor, then asleep
 * (sleep.c). Of several waiting threads one does that, the leader. If all did, they would pass the
 * lock around with a switch of threads at each progress call.
 */
#define _GNU_SOURCE
#include "progress/wait.h"

#include <sched.h>

#include "progress/sleep.h"

/*
 * How many progress calls are replaced by glances until one is due. A glance takes about as long.
 */
enum { GLANCES_PER_CALL = 8 };

/*
 * A yield of more is longer than a wake-up takes, and than tasks that only look have the processor.
 * Less than a slice of the kernel's.
 */
enum { LONG_YIELD_NS = 500000 };

/*
 * polling is changed under the lock, so without locked instructions. The service thread looks at it
 * without the lock: it puts a barrier into every thread before it believes what it sees and parks
 * (service.c).
 */
void cshim_poll_begin(cshim_progress *progress)
{
	__atomic_store_n(&progress->polling, CSHIM_OWN(progress->polling) + 1, __ATOMIC_RELAXED);
	cshim_poll_note(progress);
}

void cshim_poll_end(cshim_progress *progress)
{
	__atomic_store_n(&progress->polling, CSHIM_OWN(progress->polling) - 1, __ATOMIC_RELAXED);
	cshim_light_fence();
	if (__builtin_expect(__atomic_load_n(&progress->service_parked, __ATOMIC_RELAXED) != 0, 0))
		cshim_service_alert(progress);
}

static void link_wait(cshim_progress *progress, cshim_wait *wait)
{
	wait->next = progress->waits.at;
	progress->waits.at = wait;
}

static void unlink_wait(cshim_progress *progress, cshim_wait *wait)
{
	cshim_wait **at = &progress->waits.at;

	while (*at != wait)
		at = &(*at)->next;
	*at = wait->next;
}

/*
 * Yields the processor; 1 if the wait does better asleep, as it was gone for long: at each further
 * yield it would be again.
 */
static int yield_long(cshim_progress *progress, const cshim_patience *patience)
{
	int64_t before = patience->sockets ? cshim_now_ns() : 0;

	/* Not with the lock in hand: the thread that runs instead may want it. */
	cshim_yield_unlocked(progress);
	return patience->sockets && cshim_now_ns() - before > LONG_YIELD_NS;
}

/* A progress call without progress, the idle-th in a row. Returns the next value of idle. */
static uint32_t idle_call(cshim_progress *progress, cshim_wait *wait, uint32_t idle)
{
	const cshim_patience *patience = wait->goal->patience;

	if (!patience->sleeps && idle < CSHIM_OWN(progress->spin_calls)) {
		cshim_lock_pass(progress);
		return idle + 1;
	}
	if (!patience->sleeps && idle - CSHIM_OWN(progress->spin_calls) < progress->yields)
		return yield_long(progress, patience) ? CSHIM_OWN(progress->spin_calls) + progress->yields
		                                      : idle + 1;
	cshim_sleep(progress, wait);
	return 0;
}

static void stop_leading(cshim_progress *progress, const cshim_wait *wait)
{
	if (progress->leader.at == wait)
		progress->leader.at = NULL;
}

typedef enum outcome { NOTHING, NEWS, DONE } outcome;

/* One progress call for wait. The caller must find out whether the generation still lives. */
static outcome call_for(cshim_progress *progress, cshim_wait *wait)
{
	const cshim_goal *goal = wait->goal;
	uint32_t flags;

	if (goal->kind->over && goal->kind->over(progress, goal))
		return DONE;
	flags = cshim_progress_call(progress, goal->kind->over ? 0 : goal->number);
	if (flags & CSHIM_PROGRESS_ERROR) {
		/* The handler may take long, and wait itself. */
		stop_leading(progress, wait);
		progress->owner.at->errors(progress, 1);
		/* the next call looks, if the generation still lives */
		return flags & CSHIM_PROGRESS_TICKET ? DONE : NEWS;
	}
	if (goal->kind->over ? goal->kind->over(progress, goal)
	                     : (flags & CSHIM_PROGRESS_TICKET) != 0)
		return DONE;
	return flags & CSHIM_PROGRESS_MADE ? NEWS : NOTHING;
}

/*
 * 1 if looks take the place of the progress call this time: the leader spins, and nothing else has
 * a claim on a call. seen then says what they brought.
 */
static int glances(cshim_progress *progress, const cshim_wait *wait, uint32_t idle, outcome *seen)
{
	uint32_t flags;

	if (idle % GLANCES_PER_CALL == 0 || idle >= CSHIM_OWN(progress->spin_calls) ||
	    wait->goal->patience->glance == 0 || CSHIM_OWN(progress->calling) ||
	    progress->leader.at != wait)
		return 0;
	flags = cshim_look(progress, wait->goal->kind, wait->goal, wait->goal->patience->glance);
	if (flags & CSHIM_SEEN_CALL && !(flags & CSHIM_SEEN_OVER))
		return 0;
	*seen = flags & CSHIM_SEEN_OVER ? DONE : flags & CSHIM_SEEN_NEWS ? NEWS : NOTHING;
	return 1;
}

/*
 * A look at wait: leads if nobody else does. A ticket's fate is not known without a progress call,
 * other goals' are.
 */
static outcome look_after(cshim_progress *progress, cshim_wait *wait)
{
	const cshim_goal *goal = wait->goal;

	if (!progress->leader.at)
		progress->leader.at = wait;
	if (!goal->kind->over || progress->leader.at == wait)
		return call_for(progress, wait);
	return goal->kind->over(progress, goal) ? DONE : NOTHING;
}

/* The handler that is owed runs, and may call the owner as from outside of it. */
static void take_owed(cshim_progress *progress, cshim_wait *wait)
{
	cshim_outside before;
	uint32_t depth;

	stop_leading(progress, wait);
	cshim_hand_over(progress);
	depth = cshim_lock_release_all(progress);
	before = cshim_outside_begins();
	cshim_pay_signal();
	cshim_outside_ends(before);
	cshim_lock_forfeit(progress);
	cshim_lock_restore(progress, depth);
}

/* A look and a progress call were in vain: from now on a dump shows the wait. */
static void show(cshim_progress *progress, cshim_wait *wait)
{
	const cshim_goal *goal = wait->goal;

	wait->shown = cshim_waiting_begin(progress, goal->kind->call, goal->kind->shows,
	                                  goal->object, (int64_t)goal->number);
}

/* Leads, or lets the leader do it, until wait is over. */
static int wait_until_done(cshim_progress *progress, cshim_wait *wait, uint32_t handle)
{
	uint32_t idle = 0;

	for (;;) {
		outcome seen;

		if (cshim_signal_due()) {
			take_owed(progress, wait);
			if (!cshim_alive(progress, handle))
				return CSHIM_WAIT_ENDED;
		}
		if (!glances(progress, wait, idle, &seen))
			seen = look_after(progress, wait);
		if (!cshim_alive(progress, handle))
			return CSHIM_WAIT_ENDED;
		if (seen == DONE)
			return CSHIM_WAIT_OVER;
		if (wait->interrupted)
			return CSHIM_WAIT_INTERRUPTED;
		if (wait->goal->until_ns && cshim_now_ns() >= wait->goal->until_ns)
			return CSHIM_WAIT_LATE;
		if (seen == NEWS) {
			/*
			 * Look again before all else: an error handler may have run, without the
			 * lock, and wait be over since.
			 */
			idle = 1;
			cshim_lock_pass(progress);
			if (!cshim_alive(progress, handle))
				return CSHIM_WAIT_ENDED;
			continue;
		}
		if (!wait->shown)
			show(progress, wait);
		if (progress->leader.at != wait) {
			cshim_follow(progress, wait,
			             wait->goal->patience->sleeps ? 0 : CSHIM_OWN(progress->spin_calls));
		} else {
			idle = idle_call(progress, wait, idle);
		}
		if (!cshim_alive(progress, handle))
			return CSHIM_WAIT_ENDED;
	}
}

/* Nobody waits here any more. */
static void end_wait(cshim_progress *progress, cshim_wait *wait, int how)
{
	cshim_waiting_end(wait->shown);
	unlink_wait(progress, wait);
	stop_leading(progress, wait);
	cshim_hand_over(progress);
	cshim_poll_end(progress);
	progress->owner.at->trace(progress, NULL, how);
}

/* The thread is cancelled in its sleep: leaves the wait and the call. */
static void cancelled(void *argument)
{
	cshim_wait *wait = argument;
	cshim_progress *progress = wait->progress;

	cshim_sleep_ends(progress, wait);
	end_wait(progress, wait, CSHIM_WAIT_ENDED);
	cshim_notify(progress);
	cshim_lock_drop(progress);
	cshim_inside_ends();
}

/*
 * With the lock, or in a handler, the thread is not cancelled; see set_cancel in sleep.c for where
 * it is.
 */
int cshim_wait_long(cshim_progress *progress, const cshim_goal *goal)
{
	cshim_wait wait = {.progress = progress, .goal = goal, .handle = progress->handle};
	int how;

	progress->owner.at->trace(progress, "wait", 0);
	link_wait(progress, &wait);
	cshim_poll_begin(progress);
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &wait.cancel);
	pthread_cleanup_push(cancelled, &wait);
	how = wait_until_done(progress, &wait, progress->handle);
	pthread_cleanup_pop(0);
	pthread_setcancelstate(wait.cancel, NULL);
	end_wait(progress, &wait, how);
	return how;
}

void cshim_wait_interrupt(cshim_progress *progress, const cshim_goal_kind *kind,
                          int (*concerns)(cshim_progress *, const cshim_goal *))
{
	cshim_wait *wait;

	for (wait = progress->waits.at; wait; wait = wait->next)
		if (wait->goal->kind == kind && !wait->interrupted)
			wait->interrupted = concerns(progress, wait->goal);
	__atomic_add_fetch(&progress->event_seq, 1, __ATOMIC_SEQ_CST); /* for cshim_notify */
}
