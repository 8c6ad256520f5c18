/* api_fence.c - LAPI_Fence and LAPI_Gfence. */
#include "internal.h"

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
	if (rc == LAPI_SUCCESS)
		rc = cshim_wait_ticket(context, ticket);
	return cshim_leave_with(context, rc);
}

int PLAPI_Fence(lapi_handle_t hndl)
{
	return fence(hndl, "LAPI_Fence", golapi_fence_begin);
}

int PLAPI_Gfence(lapi_handle_t hndl)
{
	return fence(hndl, "LAPI_Gfence", golapi_gfence_begin);
}

#define CSHIM_GROUP_FENCE
#include "pairs_gen.h"
