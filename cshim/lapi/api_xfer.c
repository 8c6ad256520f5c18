/*
 * api_xfer.c - LAPI_Xfer: takes the members of the structure that Xfer_type names, and nothing else of the union, into one
 * structure for core. A new transfer type is one more function and one more case.
 */
#include "internal.h"
#include "lane_send.h"

/* What LAPI_Put has, and LAPI_Get with its completion handler in place of the send completion handler. */
static void take_put(const lapi_put_t *put, cshim_transfer *to)
{
	to->flags = (uint32_t)put->flags;
	to->tgt = put->tgt;
	to->tgt_addr = put->tgt_addr;
	to->org_addr = CSHIM_ADDR(put->org_addr);
	to->len = put->len;
	to->handler = CSHIM_ADDR(put->shdlr);
	to->info = CSHIM_ADDR(put->sinfo);
	to->tgt_cntr = put->tgt_cntr;
	to->org_cntr = CSHIM_ADDR(put->org_cntr);
	to->cmpl_cntr = CSHIM_ADDR(put->cmpl_cntr);
}

static void take_get(const lapi_get_t *get, cshim_transfer *to)
{
	to->flags = (uint32_t)get->flags;
	to->tgt = get->tgt;
	to->tgt_addr = get->tgt_addr;
	to->org_addr = CSHIM_ADDR(get->org_addr);
	to->len = get->len;
	to->tgt_cntr = get->tgt_cntr;
	to->org_cntr = CSHIM_ADDR(get->org_cntr);
	to->handler = CSHIM_ADDR(get->chndlr);
	to->info = CSHIM_ADDR(get->cinfo);
}

static void take_am(const lapi_am_t *am, cshim_transfer *to)
{
	to->flags = (uint32_t)am->flags;
	to->tgt = am->tgt;
	to->hdr_hdl = am->hdr_hdl;
	to->uhdr_len = am->uhdr_len;
	to->uhdr = CSHIM_ADDR(am->uhdr);
	to->org_addr = CSHIM_ADDR(am->udata);
	to->len = am->udata_len;
	to->handler = CSHIM_ADDR(am->shdlr);
	to->info = CSHIM_ADDR(am->sinfo);
	to->tgt_cntr = am->tgt_cntr;
	to->org_cntr = CSHIM_ADDR(am->org_cntr);
	to->cmpl_cntr = CSHIM_ADDR(am->cmpl_cntr);
}

/* Of the vectors' structures the vectors take the place of the addresses. */
static void take_putv(const lapi_putv_t *putv, cshim_transfer *to)
{
	to->flags = (uint32_t)putv->flags;
	to->tgt = putv->tgt;
	to->handler = CSHIM_ADDR(putv->shdlr);
	to->info = CSHIM_ADDR(putv->sinfo);
	to->org_addr = CSHIM_ADDR(putv->org_vec);
	to->tgt_addr = CSHIM_ADDR(putv->tgt_vec);
	to->tgt_cntr = putv->tgt_cntr;
	to->org_cntr = CSHIM_ADDR(putv->org_cntr);
	to->cmpl_cntr = CSHIM_ADDR(putv->cmpl_cntr);
}

static void take_getv(const lapi_getv_t *getv, cshim_transfer *to)
{
	to->flags = (uint32_t)getv->flags;
	to->tgt = getv->tgt;
	to->org_addr = CSHIM_ADDR(getv->org_vec);
	to->tgt_addr = CSHIM_ADDR(getv->tgt_vec);
	to->tgt_cntr = getv->tgt_cntr;
	to->org_cntr = CSHIM_ADDR(getv->org_cntr);
	to->handler = CSHIM_ADDR(getv->chndlr);
	to->info = CSHIM_ADDR(getv->cinfo);
}

static void take_amv(const lapi_amv_t *amv, cshim_transfer *to)
{
	to->flags = (uint32_t)amv->flags;
	to->tgt = amv->tgt;
	to->hdr_hdl = amv->hdr_hdl;
	to->uhdr_len = amv->uhdr_len;
	to->uhdr = CSHIM_ADDR(amv->uhdr);
	to->handler = CSHIM_ADDR(amv->shdlr);
	to->info = CSHIM_ADDR(amv->sinfo);
	to->org_addr = CSHIM_ADDR(amv->org_vec);
	to->tgt_cntr = amv->tgt_cntr;
	to->org_cntr = CSHIM_ADDR(amv->org_cntr);
	to->cmpl_cntr = CSHIM_ADDR(amv->cmpl_cntr);
}

/* The DGSP takes the place of the target address. */
static void take_dgsp(const lapi_xfer_t *command, cshim_transfer *to)
{
	_Static_assert(offsetof(lapi_am_t, cmpl_cntr) == offsetof(lapi_amdgsp_t, cmpl_cntr), "up to dgsp both are alike");
	take_am(&command->Am, to); /* members of one union with a common beginning */
	to->tgt_addr = CSHIM_ADDR(command->Dgsp.dgsp);
}

static void take_amx(const lapi_xfer_t *command, cshim_transfer *to)
{
	_Static_assert(offsetof(lapi_amdgsp_t, dgsp) == offsetof(lapi_amx_t, dgsp), "up to send_offset_dgsp_bytes both are alike");
	take_dgsp(command, to);
	to->skip = command->Amx.send_offset_dgsp_bytes;
}

static void take_mc(const lapi_mc_t *mc, cshim_transfer *to)
{
	to->flags = (uint32_t)mc->flags;
	to->tgt = mc->group;
	to->hdr_hdl = mc->hdr_hdl;
	to->uhdr_len = mc->uhdr_len;
	to->uhdr = CSHIM_ADDR(mc->uhdr);
	to->org_addr = CSHIM_ADDR(mc->udata);
	to->len = mc->udata_len;
	to->handler = CSHIM_ADDR(mc->shdlr);
	to->info = CSHIM_ADDR(mc->sinfo);
}

static void take_rmw(const lapi_rmw_t *rmw, cshim_transfer *to)
{
	to->op = (uint32_t)rmw->op;
	to->tgt = rmw->tgt;
	to->size = rmw->size;
	to->tgt_addr = rmw->tgt_var;
	to->org_addr = CSHIM_ADDR(rmw->in_val);
	to->prev_val = CSHIM_ADDR(rmw->prev_tgt_val);
	to->org_cntr = CSHIM_ADDR(rmw->org_cntr);
	to->handler = CSHIM_ADDR(rmw->shdlr);
	to->info = CSHIM_ADDR(rmw->sinfo);
}

static int take(const lapi_xfer_t *command, cshim_transfer *to)
{
	switch (command->Xfer_type) {
	case LAPI_GET_XFER:
		take_get(&command->Get, to);
		return LAPI_SUCCESS;
	case LAPI_AM_XFER:
	case LAPI_AM_LW_XFER: /* for short messages, which core sends in the shortest way anyhow */
		take_am(&command->Am, to);
		return LAPI_SUCCESS;
	case LAPI_DGSP_XFER:
		take_dgsp(command, to);
		return LAPI_SUCCESS;
	case LAPI_AMX_XFER:
		take_amx(command, to);
		return LAPI_SUCCESS;
	case LAPI_MC_XFER:
		take_mc(&command->Mc, to);
		return LAPI_SUCCESS;
	case LAPI_PUT_XFER:
		take_put(&command->Put, to);
		return LAPI_SUCCESS;
	case LAPI_GETV_XFER:
		take_getv(&command->Getv, to);
		return LAPI_SUCCESS;
	case LAPI_PUTV_XFER:
		take_putv(&command->Putv, to);
		return LAPI_SUCCESS;
	case LAPI_AMV_XFER:
		take_amv(&command->Amv, to);
		return LAPI_SUCCESS;
	case LAPI_RMW_XFER:
		take_rmw(&command->Rmw, to);
		return LAPI_SUCCESS;
	default:
		return LAPI_ERR_XFER_CMD;
	}
}

/* Transfers that are what LAPI_Put and its like do: no flags, no handlers. 1: the lane has done it. */
static int lane_xfer(cshim_context *context, const lapi_xfer_t *command)
{
	const lapi_put_t *put = &command->Put;
	const lapi_get_t *get = &command->Get;
	const lapi_am_t *am = &command->Am;
	const lapi_rmw_t *rmw = &command->Rmw;

	switch (command->Xfer_type) {
	case LAPI_PUT_XFER:
		return !put->flags && !put->shdlr &&
		       (cshim_lane_put(context, put->tgt, put->len, put->tgt_addr, CSHIM_ADDR(put->org_addr), put->tgt_cntr,
		                       CSHIM_ADDR(put->org_cntr), CSHIM_ADDR(put->cmpl_cntr)) ||
		        cshim_outbox_put(context, put->tgt, put->len, put->tgt_addr, CSHIM_ADDR(put->org_addr), put->tgt_cntr,
		                         CSHIM_ADDR(put->org_cntr), CSHIM_ADDR(put->cmpl_cntr)));
	case LAPI_GET_XFER:
		return !get->flags && !get->chndlr &&
		       cshim_lane_get(context, get->tgt, get->len, get->tgt_addr, CSHIM_ADDR(get->org_addr), get->tgt_cntr,
		                      CSHIM_ADDR(get->org_cntr));
	case LAPI_AM_XFER:
	case LAPI_AM_LW_XFER:
		return !am->flags && !am->shdlr &&
		       cshim_lane_amsend(context, am->tgt, am->hdr_hdl, CSHIM_ADDR(am->uhdr), am->uhdr_len, CSHIM_ADDR(am->udata), am->udata_len,
		                         am->tgt_cntr, CSHIM_ADDR(am->org_cntr), CSHIM_ADDR(am->cmpl_cntr));
	case LAPI_RMW_XFER:
		return !rmw->shdlr && (rmw->size == 32 || rmw->size == 64) &&
		       cshim_lane_rmw(context, rmw->size / 8, (uint32_t)rmw->op, rmw->tgt, rmw->tgt_var, CSHIM_ADDR(rmw->in_val),
		                      CSHIM_ADDR(rmw->prev_tgt_val), CSHIM_ADDR(rmw->org_cntr));
	default:
		return 0;
	}
}

static int core_xfer(cshim_context *context, const lapi_xfer_t *command)
{
	cshim_transfer transfer = {0};
	int rc = take(command, &transfer);

	return rc == LAPI_SUCCESS ? golapi_xfer(cshim_index_of(context), (uint32_t)command->Xfer_type, &transfer) : rc;
}

int PLAPI_Xfer(lapi_handle_t hndl, lapi_xfer_t *xfer_cmd)
{
	cshim_context *context = cshim_enter(hndl);
	int rc = LAPI_SUCCESS;

	if (!context)
		return LAPI_ERR_HNDL_INVALID;
	if (!xfer_cmd)
		rc = LAPI_ERR_XFER_CMD;
	else if (!lane_xfer(context, xfer_cmd))
		rc = core_xfer(context, xfer_cmd);
	return cshim_leave_with(context, rc);
}

#define CSHIM_GROUP_XFER
#include "pairs_gen.h"
