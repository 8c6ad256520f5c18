/*
 * api_xfer.c - LAPI_Xfer: takes the members of the structure that Xfer_type names, and nothing else
 * of the union, into a cshim_transfer. A new transfer type is one more function and one more case.
 */
#include "transfer.h"

#define NO_TYPE UINT32_MAX

/*
 * What LAPI_Put has, and LAPI_Get with its completion handler in place of the send completion
 * handler.
 */
static inline cshim_transfer from_put(const lapi_put_t *put)
{
	return (cshim_transfer){
		.flags = (uint32_t)put->flags,
		.tgt = put->tgt,
		.tgt_addr = put->tgt_addr,
		.org_addr = CSHIM_ADDR(put->org_addr),
		.len = put->len,
		.handler = CSHIM_ADDR(put->shdlr),
		.info = CSHIM_ADDR(put->sinfo),
		.tgt_cntr = put->tgt_cntr,
		.org_cntr = CSHIM_ADDR(put->org_cntr),
		.cmpl_cntr = CSHIM_ADDR(put->cmpl_cntr),
	};
}

static inline cshim_transfer from_get(const lapi_get_t *get)
{
	return (cshim_transfer){
		.flags = (uint32_t)get->flags,
		.tgt = get->tgt,
		.tgt_addr = get->tgt_addr,
		.org_addr = CSHIM_ADDR(get->org_addr),
		.len = get->len,
		.tgt_cntr = get->tgt_cntr,
		.org_cntr = CSHIM_ADDR(get->org_cntr),
		.handler = CSHIM_ADDR(get->chndlr),
		.info = CSHIM_ADDR(get->cinfo),
	};
}

static inline cshim_transfer from_am(const lapi_am_t *am)
{
	return (cshim_transfer){
		.flags = (uint32_t)am->flags,
		.tgt = am->tgt,
		.hdr_hdl = am->hdr_hdl,
		.uhdr_len = am->uhdr_len,
		.uhdr = CSHIM_ADDR(am->uhdr),
		.org_addr = CSHIM_ADDR(am->udata),
		.len = am->udata_len,
		.handler = CSHIM_ADDR(am->shdlr),
		.info = CSHIM_ADDR(am->sinfo),
		.tgt_cntr = am->tgt_cntr,
		.org_cntr = CSHIM_ADDR(am->org_cntr),
		.cmpl_cntr = CSHIM_ADDR(am->cmpl_cntr),
	};
}

/* Of the vectors' structures the vectors take the place of the addresses. */
static inline cshim_transfer from_putv(const lapi_putv_t *putv)
{
	return (cshim_transfer){
		.flags = (uint32_t)putv->flags,
		.tgt = putv->tgt,
		.handler = CSHIM_ADDR(putv->shdlr),
		.info = CSHIM_ADDR(putv->sinfo),
		.org_addr = CSHIM_ADDR(putv->org_vec),
		.tgt_addr = CSHIM_ADDR(putv->tgt_vec),
		.tgt_cntr = putv->tgt_cntr,
		.org_cntr = CSHIM_ADDR(putv->org_cntr),
		.cmpl_cntr = CSHIM_ADDR(putv->cmpl_cntr),
	};
}

static inline cshim_transfer from_getv(const lapi_getv_t *getv)
{
	return (cshim_transfer){
		.flags = (uint32_t)getv->flags,
		.tgt = getv->tgt,
		.org_addr = CSHIM_ADDR(getv->org_vec),
		.tgt_addr = CSHIM_ADDR(getv->tgt_vec),
		.tgt_cntr = getv->tgt_cntr,
		.org_cntr = CSHIM_ADDR(getv->org_cntr),
		.handler = CSHIM_ADDR(getv->chndlr),
		.info = CSHIM_ADDR(getv->cinfo),
	};
}

static inline cshim_transfer from_amv(const lapi_amv_t *amv)
{
	return (cshim_transfer){
		.flags = (uint32_t)amv->flags,
		.tgt = amv->tgt,
		.hdr_hdl = amv->hdr_hdl,
		.uhdr_len = amv->uhdr_len,
		.uhdr = CSHIM_ADDR(amv->uhdr),
		.handler = CSHIM_ADDR(amv->shdlr),
		.info = CSHIM_ADDR(amv->sinfo),
		.org_addr = CSHIM_ADDR(amv->org_vec),
		.tgt_cntr = amv->tgt_cntr,
		.org_cntr = CSHIM_ADDR(amv->org_cntr),
		.cmpl_cntr = CSHIM_ADDR(amv->cmpl_cntr),
	};
}

/* The DGSP takes the place of the target address. */
static inline cshim_transfer from_dgsp(const lapi_xfer_t *command)
{
	/* members of one union with a common beginning */
	cshim_transfer transfer = from_am(&command->Am);

	_Static_assert(offsetof(lapi_am_t, cmpl_cntr) == offsetof(lapi_amdgsp_t, cmpl_cntr),
	               "up to dgsp both are alike");
	transfer.tgt_addr = CSHIM_ADDR(command->Dgsp.dgsp);
	return transfer;
}

static inline cshim_transfer from_amx(const lapi_xfer_t *command)
{
	cshim_transfer transfer = from_dgsp(command);

	_Static_assert(offsetof(lapi_amdgsp_t, dgsp) == offsetof(lapi_amx_t, dgsp),
	               "up to send_offset_dgsp_bytes both are alike");
	transfer.skip = command->Amx.send_offset_dgsp_bytes;
	return transfer;
}

static inline cshim_transfer from_mc(const lapi_mc_t *mc)
{
	return (cshim_transfer){
		.flags = (uint32_t)mc->flags,
		.tgt = mc->group,
		.hdr_hdl = mc->hdr_hdl,
		.uhdr_len = mc->uhdr_len,
		.uhdr = CSHIM_ADDR(mc->uhdr),
		.org_addr = CSHIM_ADDR(mc->udata),
		.len = mc->udata_len,
		.handler = CSHIM_ADDR(mc->shdlr),
		.info = CSHIM_ADDR(mc->sinfo),
	};
}

static inline cshim_transfer from_rmw(const lapi_rmw_t *rmw)
{
	return (cshim_transfer){
		.op = (uint32_t)rmw->op,
		.tgt = rmw->tgt,
		.size = rmw->size,
		.tgt_addr = rmw->tgt_var,
		.org_addr = CSHIM_ADDR(rmw->in_val),
		.prev_val = CSHIM_ADDR(rmw->prev_tgt_val),
		.org_cntr = CSHIM_ADDR(rmw->org_cntr),
		.handler = CSHIM_ADDR(rmw->shdlr),
		.info = CSHIM_ADDR(rmw->sinfo),
	};
}

static inline int xfer(cshim_context *context, const lapi_xfer_t *command)
{
	switch (command ? (uint32_t)command->Xfer_type : NO_TYPE) {
	case LAPI_AM_XFER:
	case LAPI_AM_LW_XFER: /* for short messages, which go the shortest way anyhow */
		return cshim_transfer_in(context, LAPI_AM_XFER, from_am(&command->Am));
	case LAPI_DGSP_XFER:
		return cshim_transfer_in(context, LAPI_DGSP_XFER, from_dgsp(command));
	case LAPI_AMX_XFER:
		return cshim_transfer_in(context, LAPI_AMX_XFER, from_amx(command));
	case LAPI_GET_XFER:
		return cshim_transfer_in(context, LAPI_GET_XFER, from_get(&command->Get));
	case LAPI_PUT_XFER:
		return cshim_transfer_in(context, LAPI_PUT_XFER, from_put(&command->Put));
	case LAPI_RMW_XFER:
		return cshim_transfer_in(context, LAPI_RMW_XFER, from_rmw(&command->Rmw));
	case LAPI_GETV_XFER:
		return cshim_transfer_in(context, LAPI_GETV_XFER, from_getv(&command->Getv));
	case LAPI_PUTV_XFER:
		return cshim_transfer_in(context, LAPI_PUTV_XFER, from_putv(&command->Putv));
	case LAPI_AMV_XFER:
		return cshim_transfer_in(context, LAPI_AMV_XFER, from_amv(&command->Amv));
	case LAPI_MC_XFER:
		return cshim_transfer_in(context, LAPI_MC_XFER, from_mc(&command->Mc));
	default:
		return LAPI_ERR_XFER_CMD;
	}
}

int PLAPI_Xfer(lapi_handle_t hndl, lapi_xfer_t *xfer_cmd)
{
	return CSHIM_CALL(hndl, xfer(context, xfer_cmd));
}

#define CSHIM_GROUP_XFER
#include "pairs_gen.h"
