/* api_transfer.c - LAPI_Put, LAPI_Get, LAPI_Amsend, LAPI_Rmw and LAPI_Rmw64. Core checks their arguments. */
#include "internal.h"
#include "lane_send.h"

int PLAPI_Put(lapi_handle_t hndl, uint tgt, ulong len, void *tgt_addr, void *org_addr, lapi_cntr_t *tgt_cntr,
              lapi_cntr_t *org_cntr, lapi_cntr_t *cmpl_cntr)
{
	cshim_context *context = cshim_enter(hndl);
	int rc;

	if (!context)
		return LAPI_ERR_HNDL_INVALID;
	if (cshim_lane_put(context, tgt, len, CSHIM_ADDR(tgt_addr), CSHIM_ADDR(org_addr), CSHIM_ADDR(tgt_cntr), CSHIM_ADDR(org_cntr),
	                   CSHIM_ADDR(cmpl_cntr)) ||
	    cshim_outbox_put(context, tgt, len, CSHIM_ADDR(tgt_addr), CSHIM_ADDR(org_addr), CSHIM_ADDR(tgt_cntr), CSHIM_ADDR(org_cntr),
	                     CSHIM_ADDR(cmpl_cntr)))
		rc = LAPI_SUCCESS;
	else
		rc = golapi_put(cshim_index_of(context), tgt, len, CSHIM_ADDR(tgt_addr), CSHIM_ADDR(org_addr), CSHIM_ADDR(tgt_cntr),
		                CSHIM_ADDR(org_cntr), CSHIM_ADDR(cmpl_cntr));
	return cshim_leave_with(context, rc);
}

int PLAPI_Get(lapi_handle_t hndl, uint tgt, ulong len, void *tgt_addr, void *org_addr, lapi_cntr_t *tgt_cntr,
              lapi_cntr_t *org_cntr)
{
	cshim_context *context = cshim_enter(hndl);
	int rc;

	if (!context)
		return LAPI_ERR_HNDL_INVALID;
	if (cshim_lane_get(context, tgt, len, CSHIM_ADDR(tgt_addr), CSHIM_ADDR(org_addr), CSHIM_ADDR(tgt_cntr), CSHIM_ADDR(org_cntr)))
		rc = LAPI_SUCCESS;
	else
		rc = golapi_get(cshim_index_of(context), tgt, len, CSHIM_ADDR(tgt_addr), CSHIM_ADDR(org_addr), CSHIM_ADDR(tgt_cntr),
		                CSHIM_ADDR(org_cntr));
	return cshim_leave_with(context, rc);
}

int PLAPI_Amsend(lapi_handle_t hndl, uint tgt, void *hdr_hdl, void *uhdr, uint uhdr_len, void *udata, ulong udata_len,
                 lapi_cntr_t *tgt_cntr, lapi_cntr_t *org_cntr, lapi_cntr_t *cmpl_cntr)
{
	cshim_context *context = cshim_enter(hndl);
	int rc;

	if (!context)
		return LAPI_ERR_HNDL_INVALID;
	if (cshim_lane_amsend(context, tgt, CSHIM_ADDR(hdr_hdl), CSHIM_ADDR(uhdr), uhdr_len, CSHIM_ADDR(udata), udata_len,
	                      CSHIM_ADDR(tgt_cntr), CSHIM_ADDR(org_cntr), CSHIM_ADDR(cmpl_cntr)))
		rc = LAPI_SUCCESS;
	else
		rc = golapi_amsend(cshim_index_of(context), tgt, CSHIM_ADDR(hdr_hdl), CSHIM_ADDR(uhdr), uhdr_len, CSHIM_ADDR(udata),
		                   udata_len, CSHIM_ADDR(tgt_cntr), CSHIM_ADDR(org_cntr), CSHIM_ADDR(cmpl_cntr));
	return cshim_leave_with(context, rc);
}

/* call names it in a trace; width is the size of the variable and of the values: 4 or 8 bytes. */
static int rmw(const char *call, lapi_handle_t hndl, uint32_t width, RMW_ops_t op, uint tgt, void *tgt_var, void *in_val, void *prev_tgt_val,
               lapi_cntr_t *org_cntr)
{
	cshim_context *context = cshim_enter_call(hndl, call);
	int rc;

	if (!context)
		return LAPI_ERR_HNDL_INVALID;
	if (cshim_lane_rmw(context, width, (uint32_t)op, tgt, CSHIM_ADDR(tgt_var), CSHIM_ADDR(in_val), CSHIM_ADDR(prev_tgt_val),
	                   CSHIM_ADDR(org_cntr)))
		rc = LAPI_SUCCESS;
	else
		rc = golapi_rmw(cshim_index_of(context), width, (uint32_t)op, tgt, CSHIM_ADDR(tgt_var), CSHIM_ADDR(in_val),
		                CSHIM_ADDR(prev_tgt_val), CSHIM_ADDR(org_cntr));
	return cshim_leave_with(context, rc);
}

int PLAPI_Rmw(lapi_handle_t hndl, RMW_ops_t op, uint tgt, int *tgt_var, int *in_val, int *prev_tgt_val, lapi_cntr_t *org_cntr)
{
	return rmw(__func__, hndl, sizeof(int), op, tgt, tgt_var, in_val, prev_tgt_val, org_cntr);
}

int PLAPI_Rmw64(lapi_handle_t hndl, Rmw_ops_t op, uint tgt, long long *tgt_var, long long *in_val, long long *prev_tgt_val,
                lapi_cntr_t *org_cntr)
{
	return rmw(__func__, hndl, sizeof(long long), op, tgt, tgt_var, in_val, prev_tgt_val, org_cntr);
}

#define CSHIM_GROUP_TRANSFER
#include "pairs_gen.h"
