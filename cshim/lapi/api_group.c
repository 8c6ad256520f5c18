/* api_group.c - LAPI_Group_create and LAPI_Group_free: groups of tasks, for LAPI_MC_XFER. Neither waits nor drives communication. */
#include "internal.h"

int PLAPI_Group_create(lapi_handle_t hndl, uint num_tasks, uint *task_list, lapi_group_t *group)
{
	cshim_context *context = cshim_enter(hndl);
	int rc;

	if (!context)
		return LAPI_ERR_HNDL_INVALID;
	rc = golapi_group_create(cshim_index_of(context), num_tasks, CSHIM_ADDR(task_list), CSHIM_ADDR(group));
	cshim_leave(context);
	return rc;
}

int PLAPI_Group_free(lapi_handle_t hndl, lapi_group_t group)
{
	cshim_context *context = cshim_enter(hndl);
	int rc;

	if (!context)
		return LAPI_ERR_HNDL_INVALID;
	rc = golapi_group_free(cshim_index_of(context), group);
	cshim_leave(context);
	return rc;
}

#define CSHIM_GROUP_GROUP
#include "pairs_gen.h"
