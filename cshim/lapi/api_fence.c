/* api_fence.c - LAPI_Fence and LAPI_Gfence. */
#include "lane/lane_send.h"
#include "lapi/waits.h"

/*
 * As for a counter (counter.c): what a fence waits for takes as long as a completion. Core does the
 * waiting after that, and from the beginning where its own operations are outstanding.
 */
static const cshim_patience patience = {.looks = 400, .looks_per_call = 64};

static int over(cshim_progress *progress, const cshim_goal *goal)
{
	return cshim_fence_look(cshim_context_of(progress), goal->object) != CSHIM_FENCE_WAITS;
}

static uint32_t look_at_rings(cshim_progress *progress, const cshim_goal *goal, int looks)
{
	return cshim_fence_await(cshim_context_of(progress), goal->object, looks);
}

static const cshim_goal_kind fence_kind = {.over = over, .look = look_at_rings};

static int ask_core(cshim_context *context, cshim_ticket_for what)
{
	uint64_t ticket = 0;
	int rc = golapi_fence_begin(cshim_index_of(context), &ticket);

	if (rc == LAPI_SUCCESS && ticket == 0)
		cshim_satisfied(context);
	return rc != LAPI_SUCCESS || ticket == 0 ? rc : cshim_wait_ticket(context, ticket, what);
}

/*
 * Something is outstanding, or core must be asked. Not inline: mostly that is not so, and the call
 * shall be short.
 */
static __attribute__((noinline)) int wait_for_targets(cshim_context *context, int so_far,
                                                      cshim_ticket_for what)
{
	cshim_fence fence;
	const cshim_goal goal = {.kind = &fence_kind, .patience = &patience, .object = &fence};
	int how;

	if (so_far == CSHIM_FENCE_CORE)
		return ask_core(context, what);
	cshim_fence_begin(context, &fence);
	how = cshim_wait_soon(&context->progress, &goal);
	if (how != CSHIM_WAIT_OVER && how != CSHIM_WAIT_NOT_YET)
		return cshim_wait_code(how);
	/* Another thread may have changed what core has to say since that last look. */
	return cshim_fence_look(context, &fence) == CSHIM_FENCE_OVER ? LAPI_SUCCESS
	                                                             : ask_core(context, what);
}

/* Waits until all that this task has sent is complete; what: the call. */
static inline int own_fence(cshim_context *context, cshim_ticket_for what)
{
	int so_far = cshim_lane_fenced(context);

	if (so_far != CSHIM_FENCE_OVER)
		return wait_for_targets(context, so_far, what);
	cshim_satisfied(context);
	return LAPI_SUCCESS;
}

static int fence_of_core(cshim_context *context)
{
	uint64_t ticket = 0;

	return golapi_gfence_begin(cshim_index_of(context), &ticket)
	               ?: cshim_wait_ticket(context, ticket, CSHIM_FOR_GFENCE);
}

static int global_fence(cshim_context *context)
{
	uint64_t generation;

	if (!cshim_gfence_usable(context))
		return fence_of_core(context);
	/* The place among this task's calls is that of the call, not of the end of its fence. */
	generation = cshim_gfence_begin(context);
	return own_fence(context, CSHIM_FOR_GFENCE) ?: cshim_gfence_wait(context, generation);
}

int PLAPI_Fence(lapi_handle_t hndl)
{
	return CSHIM_CALL(hndl, cshim_may_wait(context, "LAPI_Fence")
	                                ?: own_fence(context, CSHIM_FOR_FENCE));
}

int PLAPI_Gfence(lapi_handle_t hndl)
{
	return CSHIM_CALL(hndl, cshim_may_wait(context, "LAPI_Gfence") ?: global_fence(context));
}

#define CSHIM_GROUP_FENCE
#include "lapi/pairs_gen.h"
