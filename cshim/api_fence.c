/* api_fence.c - LAPI_Fence and LAPI_Gfence. */
#include "internal.h"
#include "lane_send.h"

/* Turns of the dispatcher in which the targets may take what was sent, before core does the waiting. */
enum { FENCE_TURNS = 200 };

typedef int begin_function(int context, uint64_t *ticket);

static int fence(lapi_handle_t hndl, const char *call, begin_function *begin)
{
	cshim_context *context = cshim_enter_call(hndl, call);
	uint64_t ticket = 0;
	int rc;

	if (!context)
		return LAPI_ERR_HNDL_INVALID;
	rc = cshim_may_dispatch(context, call);
	if (rc == LAPI_SUCCESS)
		rc = begin(cshim_index_of(context), &ticket);
	if (rc == LAPI_SUCCESS && ticket)
		rc = cshim_wait_ticket(context, ticket);
	return cshim_leave_with(context, rc);
}

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

static int fence_begin(int index, uint64_t *ticket)
{
	cshim_context *context = cshim_context_at(index);

	if (fenced_soon(context))
		return LAPI_SUCCESS; /* no ticket */
	return cshim_alive(context, context->handle) ? golapi_fence_begin(index, ticket) : LAPI_ERR_HNDL_INVALID;
}

int PLAPI_Fence(lapi_handle_t hndl)
{
	return fence(hndl, "LAPI_Fence", fence_begin);
}

int PLAPI_Gfence(lapi_handle_t hndl)
{
	return fence(hndl, "LAPI_Gfence", golapi_gfence_begin);
}

#define CSHIM_GROUP_FENCE
#include "pairs_gen.h"
