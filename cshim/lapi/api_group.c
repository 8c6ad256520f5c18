/*
 * api_group.c - LAPI_Group_create and LAPI_Group_free: groups of tasks, for LAPI_MC_XFER. Neither
 * waits nor drives communication.
 */
#include "lapi/internal.h"

int PLAPI_Group_create(lapi_handle_t hndl, uint num_tasks, uint *task_list, lapi_group_t *group)
{
	return CSHIM_CALL(hndl, golapi_group_create(cshim_index_of(context), num_tasks,
	                                            CSHIM_ADDR(task_list), CSHIM_ADDR(group)));
}

int PLAPI_Group_free(lapi_handle_t hndl, lapi_group_t group)
{
	return CSHIM_CALL(hndl, golapi_group_free(cshim_index_of(context), group));
}

#define CSHIM_GROUP_GROUP
#include "lapi/pairs_gen.h"
