/* api_util.c - LAPI_Util: one call for many things, selected by the command's first member. */
#include "lapi/internal.h"

/* The commands that belong to a context; the caller owns its lock. */
static int do_for_context(cshim_context *context, lapi_util_t *cmd)
{
	int index = cshim_index_of(context);

	switch (cmd->Util_type) {
	case LAPI_GET_THREAD_FUNC:
		cshim_share_functions(&cmd->ThreadFunc);
		return LAPI_SUCCESS;
	case LAPI_ADD_UDP_DEST_PORT:
		return golapi_add_udp_dest(index, cmd->Udp.tgt, cmd->Udp.instance_no,
		                           CSHIM_ADDR(cmd->Udp.udp_port), 0);
	case LAPI_ADD_UDP_DEST_EXT:
		return golapi_add_udp_dest(index, cmd->UdpExt.tgt, cmd->UdpExt.instance_no,
		                           CSHIM_ADDR(cmd->UdpExt.udp_port), 1);
	default:
		return cshim_dgsp_in_context(index, cmd);
	}
}

int PLAPI_Util(lapi_handle_t hndl, lapi_util_t *util_cmd)
{
	if (!util_cmd)
		return LAPI_ERR_UTIL_CMD;
	if (cshim_dgsp_needs_no_context(util_cmd->Util_type))
		return CSHIM_CALL_WITHOUT(cshim_dgsp_without_context(util_cmd));
	return CSHIM_CALL(hndl, do_for_context(context, util_cmd));
}

#define CSHIM_GROUP_UTIL
#include "lapi/pairs_gen.h"
