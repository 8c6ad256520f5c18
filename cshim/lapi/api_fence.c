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
	int rc, how = context->lane ? cshim_wait_soon(&context->progress, &goal)
	                            : CSHIM_WAIT_NOT_YET;
	uint64_t ticket = 0;

	if (how != CSHIM_WAIT_NOT_YET)
		return cshim_wait_code(how);
	rc = golapi_fence_begin(cshim_index_of(context), &ticket);
	return rc == LAPI_SUCCESS ? cshim_wait_ticket(context, ticket) : rc;
}

/* Waits until all that this task has sent is complete. */
static inline int own_fence(cshim_context *context)
{
	return cshim_lane_fenced(context) ? LAPI_SUCCESS : wait_for_targets(context);
}

static int fence_of_core(cshim_context *context)
{
	uint64_t ticket = 0;
	int rc = golapi_gfence_begin(cshim_index_of(context), &ticket);

	return rc == LAPI_SUCCESS ? cshim_wait_ticket(context, ticket) : rc;
}

static int global_fence(cshim_context *context)
{
	uint64_t generation;
	int rc;

	if (!cshim_gfence_usable(context))
		return fence_of_core(context);
	/* The place among this task's calls is that of the call, not of the end of its fence. */
	generation = cshim_gfence_begin(context);
	rc = own_fence(context);
	return rc == LAPI_SUCCESS ? cshim_gfence_wait(context, generation) : rc;
}

static inline int fence(cshim_context *context, const char *call,
                        int (*wait)(cshim_context *context))
{
	int rc = cshim_may_wait(context, call);

	return rc == LAPI_SUCCESS ? wait(context) : rc;
}

int PLAPI_Fence(lapi_handle_t hndl)
{
	return CSHIM_CALL(hndl, fence(context, "LAPI_Fence", own_fence));
}

int PLAPI_Gfence(lapi_handle_t hndl)
{
	return CSHIM_CALL(hndl, fence(context, "LAPI_Gfence", global_fence));
}

#define CSHIM_GROUP_FENCE
#include "pairs_gen.h"
