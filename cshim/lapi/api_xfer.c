/*
 * api_xfer.c - LAPI_Xfer: takes the members of the structure that Xfer_type names, and nothing else
 * of the union, into a cshim_transfer. A new transfer type is one more case.
 */
#include "lapi/transfer.h"

#define NO_TYPE UINT32_MAX

/* The send completion handler, or the completion handler of a get, which takes its place. */
#define SENT(s) .handler = CSHIM_ADDR(s shdlr), .info = CSHIM_ADDR(s sinfo)
#define GOT(s) .handler = CSHIM_ADDR(s chndlr), .info = CSHIM_ADDR(s cinfo)
#define FLAGS(s) .flags = (uint32_t)s flags
#define TAKE(type, ...) cshim_transfer_in(context, type, (cshim_transfer){__VA_ARGS__})

/* An active message, and what else begins so: the DGSP takes the place of the target address. */
#define MESSAGE(s)                                                                      \
	FLAGS(s), SENT(s), CSHIM_HEADER(s), CSHIM_ORIGIN(s, udata), .len = s udata_len, \
								    CSHIM_COMPLETED(s)
#define DGSP(s) MESSAGE(s), .tgt_addr = CSHIM_ADDR(s dgsp)

static inline int xfer(cshim_context *context, const lapi_xfer_t *command)
{
#define OF(member) command->member.
	switch (command ? (uint32_t)command->Xfer_type : NO_TYPE) {
	case LAPI_AM_XFER:
	case LAPI_AM_LW_XFER: /* for short messages, which go the shortest way anyhow */
		return TAKE(LAPI_AM_XFER, MESSAGE(OF(Am)));
	case LAPI_DGSP_XFER:
		return TAKE(LAPI_DGSP_XFER, DGSP(OF(Dgsp)));
	case LAPI_AMX_XFER:
		return TAKE(LAPI_AMX_XFER, DGSP(OF(Amx)),
		            .skip = command->Amx.send_offset_dgsp_bytes);
	case LAPI_GET_XFER:
		return TAKE(LAPI_GET_XFER, FLAGS(OF(Get)), CSHIM_ENDS(OF(Get), tgt_addr, org_addr),
		            .len = command->Get.len, GOT(OF(Get)), CSHIM_ARRIVED(OF(Get)));
	case LAPI_PUT_XFER:
		return TAKE(LAPI_PUT_XFER, FLAGS(OF(Put)), CSHIM_ENDS(OF(Put), tgt_addr, org_addr),
		            .len = command->Put.len, SENT(OF(Put)), CSHIM_COMPLETED(OF(Put)));
	case LAPI_RMW_XFER:
		return TAKE(LAPI_RMW_XFER, CSHIM_RMW(OF(Rmw)), .size = command->Rmw.size,
		            SENT(OF(Rmw)));
	case LAPI_GETV_XFER:
		return TAKE(LAPI_GETV_XFER, FLAGS(OF(Getv)), CSHIM_ENDS(OF(Getv), tgt_vec, org_vec),
		            GOT(OF(Getv)), CSHIM_ARRIVED(OF(Getv)));
	case LAPI_PUTV_XFER:
		return TAKE(LAPI_PUTV_XFER, FLAGS(OF(Putv)), CSHIM_ENDS(OF(Putv), tgt_vec, org_vec),
		            SENT(OF(Putv)), CSHIM_COMPLETED(OF(Putv)));
	case LAPI_AMV_XFER:
		return TAKE(LAPI_AMV_XFER, FLAGS(OF(Amv)), SENT(OF(Amv)), CSHIM_HEADER(OF(Amv)),
		            CSHIM_ORIGIN(OF(Amv), org_vec), CSHIM_COMPLETED(OF(Amv)));
	case LAPI_MC_XFER:
		return TAKE(LAPI_MC_XFER, FLAGS(OF(Mc)), SENT(OF(Mc)), CSHIM_HEADER(OF(Mc)),
		            .tgt = command->Mc.group, .org_addr = CSHIM_ADDR(command->Mc.udata),
		            .len = command->Mc.udata_len);
	default:
		return LAPI_ERR_XFER_CMD;
	}
#undef OF
}

int PLAPI_Xfer(lapi_handle_t hndl, lapi_xfer_t *xfer_cmd)
{
	return CSHIM_CALL(hndl, xfer(context, xfer_cmd));
}

#define CSHIM_GROUP_XFER
#include "lapi/pairs_gen.h"
