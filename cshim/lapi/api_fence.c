/* api_fence.c - LAPI_Fence and LAPI_Gfence. */
#include "barrier_wait.h"
#include "internal.h"
#include "lane_send.h"

/* Turns of the dispatcher in which the targets may take what was sent, before core does the waiting. */
enum { FENCE_TURNS = 200 };

/* 1 if nothing is outstanding, now or after a moment. Under the lock. */
static int fenced_soon(cshim_context *context)
{
	uint32_t handle = context->handle;
	int turns;

	if (cshim_lane_fenced(context))
		return 1;
	if (!context->lane || context->spin_turns == 0)
		return 0;
	for (turns = 0; turns < FENCE_TURNS; turns++) {
		if (cshim_dispatch(context, 0) & CSHIM_DISPATCH_ERROR)
			return 0;
		if (!cshim_alive(context, handle))
			return 0;
		if (cshim_lane_fenced(context))
			return 1;
		cshim_between_polls();
	}
	return 0;
}

/* Waits until all that this task has sent is complete. */
static int own_fence(cshim_context *context)
{
	uint32_t handle = context->handle;
	uint64_t ticket = 0;
	int rc;

	if (fenced_soon(context))
		return LAPI_SUCCESS;
	if (!cshim_alive(context, handle))
		return LAPI_ERR_HNDL_INVALID;
	rc = golapi_fence_begin(cshim_index_of(context), &ticket);
	return rc == LAPI_SUCCESS ? cshim_wait_ticket(context, ticket) : rc;
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

	if (!cshim_barrier_usable(context))
		return fence_of_core(context);
	/* The place among this task's calls is that of the call, not of the end of its fence. */
	generation = cshim_barrier_begin(context);
	rc = own_fence(context);
	return rc == LAPI_SUCCESS ? cshim_barrier_wait(context, generation) : rc;
}

static inline int fence(lapi_handle_t hndl, const char *call, int (*wait)(cshim_context *context))
{
	cshim_context *context = cshim_enter_call(hndl, call);
	int rc;

	if (!context)
		return LAPI_ERR_HNDL_INVALID;
	rc = cshim_may_dispatch(context, call);
	if (rc == LAPI_SUCCESS)
		rc = wait(context);
	return cshim_leave_with(context, rc);
}

int PLAPI_Fence(lapi_handle_t hndl)
{
	return fence(hndl, "LAPI_Fence", own_fence);
}

int PLAPI_Gfence(lapi_handle_t hndl)
{
	return fence(hndl, "LAPI_Gfence", global_fence);
}

#define CSHIM_GROUP_FENCE
#include "pairs_gen.h"
