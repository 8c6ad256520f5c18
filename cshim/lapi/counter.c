/* counter.c - waiting for counters: LAPI_Waitcntr and LAPI_Nopoll_wait. */
#include "handlers/handlers.h"
#include "lane/lane_send.h"
#include "lapi/waits.h"

/*
 * Of this many LAPI_Waitcntr and LAPI_Fence calls that have nothing to wait for, one makes a
 * progress call, so that polling programs progress.
 */
enum { SATISFIED_PER_CALL = 16 };

/*
 * At first a task with rings looks at them: 400 looks are about 3 us where nothing arrives, with a
 * progress call after each 64. A task without rings makes progress calls alone, 40 of them: about
 * 40 us, as answers take longer over UDP.
 */
static const cshim_patience by_rings = {
	.looks = 400,
	.looks_per_call = 64,
	.glance = CSHIM_GLANCE_LOOKS,
};
static const cshim_patience by_rings_and_sockets = {
	.looks = 400,
	.looks_per_call = 64,
	.sockets = 1,
};
/*
 * Over an adapter an answer takes 2 us, or 40 where it is made in software; a look that finds
 * nothing takes about 30 ns.
 */
static const cshim_patience by_adapters = {
	.looks = 4000,
	.looks_per_call = 128,
	.glance = CSHIM_GLANCE_LOOKS,
};
static const cshim_patience by_sockets = {
	.looks = 40,
	.looks_per_call = 1,
	.call_first = 1,
	.sockets = 1,
};
static const cshim_patience asleep = {.sleeps = 1};

static int over(cshim_progress *progress, const cshim_goal *goal)
{
	(void)progress;
	return cshim_counter_reached(goal->object, (int)goal->number);
}

/* Looks at the rings, and takes what they hold until the counter is reached. */
static inline __attribute__((always_inline)) uint32_t
look_at_rings(cshim_progress *progress, const cshim_goal *goal, int looks)
{
	return cshim_lane_await(cshim_context_of(progress), goal->object, (int)goal->number, looks);
}

/* A counter belongs to no context: another's messages may change it. */
#define WAITS_FOR_COUNTER(name) \
	.elsewhere = 1, .cancels = 1, .call = name, .shows = CSHIM_SHOWS_COUNTER
static const cshim_goal_kind with_rings = {
	.over = over, .look = look_at_rings, WAITS_FOR_COUNTER("LAPI_Waitcntr")};
static const cshim_goal_kind without_rings = {.over = over, WAITS_FOR_COUNTER("LAPI_Waitcntr")};
static const cshim_goal_kind nopoll = {.over = over, WAITS_FOR_COUNTER("LAPI_Nopoll_wait")};

void cshim_satisfied(cshim_context *context)
{
	if (++context->satisfied % SATISFIED_PER_CALL == 0 && !CSHIM_OWN(context->progress.calling))
		cshim_probe(context);
}

/* Inline, so that kind and patience are constants in it. */
static inline __attribute__((always_inline)) int wait_as(cshim_context *context, int *counter,
                                                         int val, const cshim_goal_kind *kind,
                                                         const cshim_patience *patience)
{
	const cshim_goal goal = {
		.kind = kind, .patience = patience, .object = counter, .number = (uint32_t)val};

	return cshim_wait_for(&context->progress, &goal);
}

static __attribute__((noinline)) int wait_otherwise(cshim_context *context, int *counter, int val)
{
	if (!context->lane)
		return wait_as(context, counter, val, &without_rings, &by_sockets);
	if (cshim_sockets(context))
		return wait_as(context, counter, val, &with_rings, &by_rings_and_sockets);
	return wait_as(context, counter, val, &with_rings, &by_adapters);
}

static int wait_for(cshim_context *context, int *counter, int val)
{
	const cshim_lane *lane = (const cshim_lane *)(uintptr_t)context->lane;

	if (!lane || lane->verbs || cshim_sockets(context))
		return wait_otherwise(context, counter, val);
	return wait_as(context, counter, val, &with_rings, &by_rings);
}

int cshim_wait_counter(cshim_context *context, int *counter, int val, int *remainder)
{
	int rc;

	if (cshim_waited_for(&context->progress, counter))
		return LAPI_ERR_MULTIPLE_WAITERS;
	if (cshim_counter_reached(counter, val)) {
		*remainder = cshim_counter_add(counter, -val);
		cshim_satisfied(context);
		return LAPI_SUCCESS;
	}
	rc = cshim_may_wait(context, "LAPI_Waitcntr")
	             ?: cshim_wait_code(wait_for(context, counter, val));
	if (rc == LAPI_SUCCESS)
		*remainder = cshim_counter_add(counter, -val);
	return rc;
}

int cshim_nopoll_counter(cshim_context *context, int *counter, int val, int *remainder)
{
	const cshim_goal goal = {
		.kind = &nopoll, .patience = &asleep, .object = counter, .number = (uint32_t)val};
	int rc = LAPI_SUCCESS;

	if (cshim_waited_for(&context->progress, counter))
		return LAPI_ERR_MULTIPLE_WAITERS;
	if (!cshim_counter_reached(counter, val)) {
		/*
		 * The purge may have been before this call; a counter without a list has no memory
		 * of that.
		 */
		if (golapi_counter_purged(cshim_index_of(context), CSHIM_ADDR(counter)) ==
		    CSHIM_COUNTER_PURGED)
			return LAPI_ERR_TGT_PURGED;
		rc = cshim_may_wait(context, "LAPI_Nopoll_wait")
		             ?: cshim_wait_code(cshim_wait_long(&context->progress, &goal));
	}
	if (rc == LAPI_SUCCESS)
		*remainder = cshim_counter_add(counter, -val);
	return rc;
}

static int purge_concerns(cshim_progress *progress, const cshim_goal *goal)
{
	return golapi_counter_purged(cshim_index_of(cshim_context_of(progress)),
	                             CSHIM_ADDR(goal->object)) != CSHIM_COUNTER_QUIET;
}

static int loss_concerns(cshim_progress *progress, const cshim_goal *goal)
{
	return golapi_counter_purged(cshim_index_of(cshim_context_of(progress)),
	                             CSHIM_ADDR(goal->object)) == CSHIM_COUNTER_PURGED;
}

void cshim_run_losses(cshim_context *context, int polls)
{
	if (golapi_take_loss(cshim_index_of(context))) {
		/* counters that are set from now on are not concerned: core must know of them */
		__atomic_store_n(&context->listed, 1, __ATOMIC_SEQ_CST);
		cshim_wait_interrupt(&context->progress, &nopoll, loss_concerns);
	}
	cshim_run_errors(context, polls, cshim_end_broken);
}

void cshim_end_purged_waits(cshim_context *context)
{
	cshim_wait_interrupt(&context->progress, &nopoll, purge_concerns);
}
