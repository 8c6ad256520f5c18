/*
 * wait.c - waiting: turn the dispatcher until a ticket is done or a counter reached, letting others have the lock in between;
 * first spinning, then yielding the processor, then asleep (sleep.c). Of several waiting threads one does that, the turner. If
 * all did, they would pass the lock around with a switch of threads at each turn.
 *
 * Every function here runs under the lock. The user may have locked it before the call, any number of times: whenever the
 * lock is let go all levels are, and they are all taken back.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <time.h>

#include "barrier_wait.h"
#include "internal.h"
#include "lane_shared.h"
#include "lane_send.h"

/* Out of so many LAPI_Waitcntr calls with nothing to wait for, one turns the dispatcher, so that polling programs progress. */
enum { SATISFIED_PER_TURN = 16 };

/*
 * Looks at the rings at the beginning of a wait, before other threads come into play: about 3 us where nothing arrives. A task without rings, which
 * has UDP only, turns core's dispatcher instead; such a turn counts as LOOKS_OF_CORE: about 40 us, as answers take longer there.
 */
enum { SOON_LOOKS = 400, LOOKS_PER_TURN = 64, LOOKS_OF_CORE = 10 };

/* Later, while a thread spins: so many looks in place of a turn of the dispatcher, which takes about as long, and how many turns so until one is due. */
enum { GLANCE_LOOKS = 4, GLANCES_PER_TURN = 8 };

/* A yield of more is longer than a wake-up takes, and than tasks that only look have the processor. Less than a slice of the kernel's. */
enum { LONG_YIELD_NS = 500000 };

static uint32_t turn_of_core(cshim_context *context, uint64_t ticket)
{
	uint32_t flags = golapi_dispatch(cshim_index_of(context), ticket);

	cshim_private_of(context)->asked = ticket;
	cshim_private_of(context)->asked_events = context->event_seq;
	cshim_lane_turned(context);
	cshim_barrier_check(context);
	return flags;
}

uint32_t cshim_dispatch(cshim_context *context, uint64_t ticket)
{
	cshim_private *private = cshim_private_of(context);
	uint32_t flags;

	/* Another thread, whose handler has given up the lock for a moment: its turn is not over. */
	if (context->dispatching)
		return 0;
	if (context->barrier)
		cshim_barrier_turn(context);
	private->dispatcher = cshim_tid();
	/* Atomic: LAPI_Msgpoll looks at it without the lock. */
	__atomic_store_n(&context->dispatching, 1, __ATOMIC_RELAXED);
	flags = cshim_lane_turn(context);
	/* Tickets end in core's turns, and by messages that are core's. */
	if (flags & CSHIM_LANE_CORE || (ticket && (ticket != private->asked || context->event_seq != private->asked_events)))
		flags = (flags & ~CSHIM_LANE_CORE) | turn_of_core(context, ticket);
	__atomic_store_n(&context->dispatching, 0, __ATOMIC_RELAXED);
	cshim_notify(context);
	return flags;
}

int cshim_may_dispatch(cshim_context *context, const char *call)
{
	if (!cshim_in_handler(context))
		return LAPI_SUCCESS;
	cshim_complain(context, "%s called from a header, inline completion or send completion handler, which must not wait", call);
	return LAPI_ERR_UNKNOWN;
}

void cshim_note_poll(cshim_context *context)
{
	__atomic_store_n(&context->poll_turns, context->poll_turns + 1, __ATOMIC_RELAXED);
	if (__builtin_expect(cshim_private_of(context)->away != 0, 0))
		cshim_come_back(context);
}

/*
 * pollers is changed under the lock, so without locked instructions. Two who look at it without the lock: LAPI_Setcntr, for whose sake a
 * thread that is about to wait has a full barrier after this; and the service thread, which puts one into every thread before it
 * believes what it sees and parks (service.c).
 */
void cshim_poll_begin(cshim_context *context)
{
	__atomic_store_n(&context->pollers, context->pollers + 1, __ATOMIC_RELAXED);
	cshim_note_poll(context);
}

void cshim_poll_end(cshim_context *context)
{
	__atomic_store_n(&context->pollers, context->pollers - 1, __ATOMIC_RELAXED);
	cshim_membarrier_light();
	if (__builtin_expect(__atomic_load_n(&cshim_private_of(context)->service_parked, __ATOMIC_RELAXED) != 0, 0))
		cshim_service_alert(context);
}

static void link_wait(cshim_private *private, cshim_wait *wait)
{
	wait->next = private->waits;
	private->waits = wait;
}

static void unlink_wait(cshim_private *private, cshim_wait *wait)
{
	cshim_wait **at = &private->waits;

	while (*at != wait)
		at = &(*at)->next;
	*at = wait->next;
}

/* 1 if the lane leaves core alone for long: there is no socket to look at. */
static int core_rests(const cshim_context *context)
{
	return context->lane && cshim_lane_of(context)->turns_max > GLANCES_PER_TURN * GLANCE_LOOKS;
}

static int64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/*
 * Yields the processor. 1 if it was gone for long: somebody else computes there, and at each further yield again would. A thread that waits for a socket then
 * does better asleep, as the kernel lets it run soon when something comes. Tasks of one node that wait for each other yield to each other.
 */
static int yield_long(cshim_context *context)
{
	int64_t before;

	if (core_rests(context)) {
		sched_yield();
		return 0;
	}
	before = now_ns();
	sched_yield();
	return now_ns() - before > LONG_YIELD_NS;
}

/* A turn without progress, the idle-th in a row. Returns the next value of idle. */
static uint32_t idle_turn(cshim_context *context, cshim_wait *wait, uint32_t idle)
{
	uint32_t depth;
	int longer;

	if (!wait->nopoll && idle < context->spin_turns) {
		cshim_lock_pass(context);
		return idle + 1;
	}
	if (!wait->nopoll && idle - context->spin_turns < context->yield_turns) {
		/* Not with the lock in hand: the thread that runs instead may want it. */
		depth = cshim_lock_release_all(context);
		longer = yield_long(context);
		cshim_lock_restore(context, depth);
		return longer ? context->spin_turns + context->yield_turns : idle + 1;
	}
	cshim_sleep(context, wait);
	return 0;
}

static void stop_turning(cshim_context *context, const cshim_wait *wait)
{
	cshim_private *private = cshim_private_of(context);

	if (private->turner == wait)
		private->turner = NULL;
}

typedef enum outcome { NOTHING, PROGRESS, DONE } outcome;

/* One turn of the dispatcher for wait. The caller must find out whether the context still lives. */
static outcome turn_for(cshim_context *context, cshim_wait *wait)
{
	uint32_t flags;

	/* Others wait for this task to go on, and not for the turn. */
	if (wait->generation && cshim_barrier_reached(context, wait->generation))
		return DONE;
	flags = cshim_dispatch(context, wait->ticket);

	if (flags & CSHIM_DISPATCH_ERROR) {
		/* The handler may take long, and wait itself. */
		stop_turning(context, wait);
		cshim_run_errors(context, 1);
		if (wait->generation)
			return PROGRESS; /* the next turn looks, if the context still lives */
	}
	if (wait->ticket ? (flags & CSHIM_DISPATCH_TICKET) != 0 : cshim_reached(context, wait))
		return DONE;
	return flags & (CSHIM_DISPATCH_PROGRESS | CSHIM_DISPATCH_ERROR) ? PROGRESS : NOTHING;
}

/*
 * 1 if the turner need only look at the rings this time. It spins, and waits for a counter; nothing else has a claim on a turn. seen then says what
 * that brought.
 */
static int glances(cshim_context *context, const cshim_wait *wait, uint32_t idle, outcome *seen)
{
	uint32_t flags;

	if (idle % GLANCES_PER_TURN == 0 || idle >= context->spin_turns || !wait->counter || wait->nopoll || !core_rests(context) ||
	    context->dispatching || cshim_private_of(context)->turner != wait)
		return 0;
	flags = cshim_lane_await(context, wait->counter, wait->val, GLANCE_LOOKS);
	if (flags & CSHIM_LANE_CORE)
		return 0;
	*seen = cshim_counter_reached(wait->counter, wait->val) ? DONE : flags ? PROGRESS : NOTHING;
	return 1;
}

/* A look at wait: turns the dispatcher if nobody else does. A ticket's fate is not known without, a counter's is. */
static outcome look_after(cshim_context *context, cshim_wait *wait)
{
	cshim_private *private = cshim_private_of(context);

	if (!private->turner)
		private->turner = wait;
	if (wait->ticket || private->turner == wait)
		return turn_for(context, wait);
	return cshim_reached(context, wait) ? DONE : NOTHING;
}

/*
 * Turns the dispatcher, or lets the turner do it, until wait is over: LAPI_SUCCESS, LAPI_ERR_HNDL_INVALID if the context ends, or
 * LAPI_ERR_TGT_PURGED.
 */
static int turn_until_done(cshim_context *context, cshim_wait *wait, uint32_t handle)
{
	cshim_private *private = cshim_private_of(context);
	uint32_t idle = 0;

	for (;;) {
		outcome seen;

		if (!glances(context, wait, idle, &seen))
			seen = look_after(context, wait);
		if (!cshim_alive(context, handle))
			return LAPI_ERR_HNDL_INVALID;
		if (seen == DONE)
			return LAPI_SUCCESS;
		if (wait->purged)
			return LAPI_ERR_TGT_PURGED;
		if (seen == PROGRESS) {
			/* Look again before all else: an error handler may have run, without the lock, and wait be over since. */
			idle = 1;
			cshim_lock_pass(context);
		} else if (private->turner != wait) {
			cshim_follow(context, wait, wait->nopoll ? 0 : context->spin_turns);
		} else {
			idle = idle_turn(context, wait, idle);
		}
		if (!cshim_alive(context, handle))
			return LAPI_ERR_HNDL_INVALID;
	}
}

static int wait_until_done(cshim_context *context, cshim_wait *wait)
{
	cshim_private *private = cshim_private_of(context);
	int rc;

	cshim_trace(context, CSHIM_TRACE_HANDLERS, CSHIM_TRACE_BEGIN | CSHIM_TRACE_WAIT, "wait", 0);
	link_wait(private, wait);
	cshim_poll_begin(context);
	/* LAPI_Setcntr changes a counter and then looks at pollers; this thread looks at the counter after that. One sees the other. */
	cshim_membarrier_full();
	rc = turn_until_done(context, wait, context->handle);
	unlink_wait(private, wait);
	stop_turning(context, wait);
	cshim_hand_over(context);
	cshim_poll_end(context);
	cshim_trace(context, CSHIM_TRACE_HANDLERS, CSHIM_TRACE_END | CSHIM_TRACE_WAIT, "", rc);
	return rc;
}

int cshim_wait_ticket(cshim_context *context, uint64_t ticket)
{
	cshim_wait wait = {.ticket = ticket};
	int rc = wait_until_done(context, &wait);

	return rc == LAPI_SUCCESS ? golapi_ticket_result(cshim_index_of(context), ticket) : rc;
}

int cshim_wait_generation(cshim_context *context, uint64_t generation)
{
	cshim_wait wait = {.generation = generation};

	return wait_until_done(context, &wait);
}

static int waited_for(const cshim_private *private, const int *counter)
{
	const cshim_wait *wait;

	for (wait = private->waits; wait; wait = wait->next)
		if (wait->counter == counter)
			return 1;
	return 0;
}

/* The counter was there already: mostly nothing to do, but see SATISFIED_PER_TURN. */
static void turn_now_and_then(cshim_context *context)
{
	cshim_private *private = cshim_private_of(context);

	if (++private->satisfied % SATISFIED_PER_TURN != 0 || context->dispatching)
		return;
	cshim_poll_begin(context);
	if (cshim_dispatch(context, 0) & CSHIM_DISPATCH_ERROR)
		cshim_run_errors(context, 1);
	cshim_lock_pass(context);
	cshim_poll_end(context);
}

/*
 * Waits for a counter for as long as that mostly takes on a busy node, before anything else: 1 if that was enough. The lock stays with
 * the caller, so this ends as soon as another thread wants it. Most looks are no more than that: at the rings, whether there is something.
 */
static int reached_soon(cshim_context *context, const int *counter, int val)
{
	uint32_t handle = context->handle, flags;
	int lane = context->lane != 0, looks;

	if (context->spin_turns == 0 || context->dispatching || cshim_private_of(context)->turner || cshim_in_handler(context))
		return 0;
	cshim_note_poll(context);
	for (looks = SOON_LOOKS; looks > 0; looks -= flags ? 1 : lane ? LOOKS_PER_TURN : LOOKS_OF_CORE) {
		flags = lane ? cshim_lane_await(context, counter, val, LOOKS_PER_TURN) : 0;
		if (__builtin_expect(flags == 0 || flags & CSHIM_LANE_CORE, 0) && cshim_dispatch(context, 0) & CSHIM_DISPATCH_ERROR)
			return 0; /* it is reported again, in a turn that can run the error handler */
		if (cshim_counter_reached(counter, val))
			return cshim_alive(context, handle);
		if (__atomic_load_n(&context->lock_waiters, __ATOMIC_RELAXED) != 0 || !cshim_alive(context, handle))
			return 0;
	}
	return 0;
}

/* The counter is not there yet: waits, and takes val away from it. */
static int wait_and_subtract(cshim_context *context, cshim_wait *wait, const char *call, int *remainder)
{
	int rc = cshim_may_dispatch(context, call);

	if (rc == LAPI_SUCCESS)
		rc = wait_until_done(context, wait);
	if (rc == LAPI_SUCCESS)
		*remainder = cshim_counter_add(wait->counter, -wait->val);
	return rc;
}

int cshim_wait_counter(cshim_context *context, int *counter, int val, int *remainder)
{
	uint32_t handle = context->handle;

	if (waited_for(cshim_private_of(context), counter))
		return LAPI_ERR_MULTIPLE_WAITERS;
	if (cshim_counter_reached(counter, val)) {
		*remainder = cshim_counter_add(counter, -val);
		turn_now_and_then(context);
		return LAPI_SUCCESS;
	}
	if (!reached_soon(context, counter, val)) {
		cshim_wait wait = {.counter = counter, .val = val};

		return cshim_alive(context, handle) ? wait_and_subtract(context, &wait, "LAPI_Waitcntr", remainder) : LAPI_ERR_HNDL_INVALID;
	}
	*remainder = cshim_counter_add(counter, -val);
	return LAPI_SUCCESS;
}

int cshim_nopoll_counter(cshim_context *context, int *counter, int val, int *remainder)
{
	cshim_wait wait = {.counter = counter, .val = val, .nopoll = 1};

	if (waited_for(cshim_private_of(context), counter))
		return LAPI_ERR_MULTIPLE_WAITERS;
	if (cshim_counter_reached(counter, val)) {
		*remainder = cshim_counter_add(counter, -val);
		return LAPI_SUCCESS;
	}
	/* The purge may have been before this call; a counter without a list has no memory of that. */
	if (golapi_counter_purged(cshim_index_of(context), CSHIM_ADDR(counter)) == CSHIM_COUNTER_PURGED)
		return LAPI_ERR_TGT_PURGED;
	return wait_and_subtract(context, &wait, "LAPI_Nopoll_wait", remainder);
}

void cshim_end_purged_waits(cshim_context *context)
{
	cshim_wait *wait;

	for (wait = cshim_private_of(context)->waits; wait; wait = wait->next)
		if (wait->nopoll && !wait->purged)
			wait->purged = golapi_counter_purged(cshim_index_of(context), CSHIM_ADDR(wait->counter)) != CSHIM_COUNTER_QUIET;
	__atomic_add_fetch(&context->event_seq, 1, __ATOMIC_SEQ_CST); /* for cshim_notify */
}
