/* api_fence.c - LAPI_Fence and LAPI_Gfence. */
#include "lane_send.h"
#include "waits.h"

/*
 * Progress calls in which the targets may take what was sent, with a look after each, before core
 * does the waiting. Core alone knows of what does not go through rings.
 */
static const cshim_patience patience = {.looks = 200, .looks_per_call = 1, .call_first = 1};

static int over(cshim_progress *progress, const cshim_goal *goal)
{
	(void)goal;
	return cshim_lane_fenced(cshim_context_of(progress));
}

static const cshim_goal_kind fence_kind = {.over = over};

/*
 * Something is outstanding, or core must be asked. Not inline: mostly that is not so, and the call
 * shall be short.
 */
static __attribute__((noinline)) int wait_for_targets(cshim_context *context)
{
	const cshim_goal goal = {.kind = &fence_kind, .patience = &patience};
	int how = context->lane ? cshim_wait_soon(&context->progress, &goal) : CSHIM_WAIT_NOT_YET;
	uint64_t ticket = 0;

	if (how != CSHIM_WAIT_NOT_YET)
		return cshim_wait_code(how);
	return golapi_fence_begin(cshim_index_of(context), &ticket)
	               ?: cshim_wait_ticket(context, ticket);
}

/* Waits until all that this task has sent is complete. */
static inline int own_fence(cshim_context *context)
{
	return cshim_lane_fenced(context) ? LAPI_SUCCESS : wait_for_targets(context);
}

static int fence_of_core(cshim_context *context)
{
	uint64_t ticket = 0;

	return golapi_gfence_begin(cshim_index_of(context), &ticket)
	               ?: cshim_wait_ticket(context, ticket);
}

static int global_fence(cshim_context *context)
{
	uint64_t generation;

	if (!cshim_gfence_usable(context))
		return fence_of_core(context);
	/* The place among this task's calls is that of the call, not of the end of its fence. */
	generation = cshim_gfence_begin(context);
	return own_fence(context) ?: cshim_gfence_wait(context, generation);
}

int PLAPI_Fence(lapi_handle_t hndl)
{
	return CSHIM_CALL(hndl, cshim_may_wait(context, "LAPI_Fence") ?: own_fence(context));
}

int PLAPI_Gfence(lapi_handle_t hndl)
{
	return CSHIM_CALL(hndl, cshim_may_wait(context, "LAPI_Gfence") ?: global_fence(context));
}

#define CSHIM_GROUP_FENCE
#include "pairs_gen.h"
