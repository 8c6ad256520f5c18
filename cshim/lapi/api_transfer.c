/*
 * api_transfer.c - LAPI_Put, LAPI_Get, LAPI_Amsend, LAPI_Rmw, LAPI_Rmw64, and LAPI_Putv, LAPI_Getv
 * and LAPI_Amsendv. Core reads the vectors. Those of the target are lapi_vec_t here, which
 * LAPI_Xfer has a flag for.
 */
#include "lapi/transfer.h"

#define TRANSFER(type, ...) \
	CSHIM_CALL(hndl, cshim_transfer_in(context, type, (cshim_transfer){__VA_ARGS__}))

int PLAPI_Put(lapi_handle_t hndl, uint tgt, ulong len, void *tgt_addr, void *org_addr,
              lapi_cntr_t *tgt_cntr, lapi_cntr_t *org_cntr, lapi_cntr_t *cmpl_cntr)
{
	return TRANSFER(LAPI_PUT_XFER, CSHIM_ENDS(, tgt_addr, org_addr), .len = len,
	                CSHIM_COMPLETED());
}

int PLAPI_Get(lapi_handle_t hndl, uint tgt, ulong len, void *tgt_addr, void *org_addr,
              lapi_cntr_t *tgt_cntr, lapi_cntr_t *org_cntr)
{
	return TRANSFER(LAPI_GET_XFER, CSHIM_ENDS(, tgt_addr, org_addr), .len = len,
	                CSHIM_ARRIVED());
}

int PLAPI_Amsend(lapi_handle_t hndl, uint tgt, void *hdr_hdl, void *uhdr, uint uhdr_len,
                 void *udata, ulong udata_len, lapi_cntr_t *tgt_cntr, lapi_cntr_t *org_cntr,
                 lapi_cntr_t *cmpl_cntr)
{
	return TRANSFER(LAPI_AM_XFER, CSHIM_ORIGIN(, udata), .len = udata_len, CSHIM_HEADER(),
	                CSHIM_COMPLETED());
}

int PLAPI_Rmw(lapi_handle_t hndl, RMW_ops_t op, uint tgt, int *tgt_var, int *in_val,
              int *prev_tgt_val, lapi_cntr_t *org_cntr)
{
	return TRANSFER(LAPI_RMW_XFER, CSHIM_RMW(), .size = 32);
}

int PLAPI_Rmw64(lapi_handle_t hndl, Rmw_ops_t op, uint tgt, long long *tgt_var, long long *in_val,
                long long *prev_tgt_val, lapi_cntr_t *org_cntr)
{
	return TRANSFER(LAPI_RMW_XFER, CSHIM_RMW(), .size = 64);
}

int PLAPI_Putv(lapi_handle_t hndl, uint tgt, lapi_vec_t *tgt_vec, lapi_vec_t *org_vec,
               lapi_cntr_t *tgt_cntr, lapi_cntr_t *org_cntr, lapi_cntr_t *cmpl_cntr)
{
	return TRANSFER(LAPI_PUTV_XFER, CSHIM_ENDS(, tgt_vec, org_vec), .flags = USE_TGT_VEC_TYPE,
	                CSHIM_COMPLETED());
}

int PLAPI_Getv(lapi_handle_t hndl, uint tgt, lapi_vec_t *tgt_vec, lapi_vec_t *org_vec,
               lapi_cntr_t *tgt_cntr, lapi_cntr_t *org_cntr)
{
	return TRANSFER(LAPI_GETV_XFER, CSHIM_ENDS(, tgt_vec, org_vec), .flags = USE_TGT_VEC_TYPE,
	                CSHIM_ARRIVED());
}

int PLAPI_Amsendv(lapi_handle_t hndl, uint tgt, void *hdr_hdl, void *uhdr, uint uhdr_len,
                  lapi_vec_t *org_vec, lapi_cntr_t *tgt_cntr, lapi_cntr_t *org_cntr,
                  lapi_cntr_t *cmpl_cntr)
{
	return TRANSFER(LAPI_AMV_XFER, CSHIM_ORIGIN(, org_vec), CSHIM_HEADER(), CSHIM_COMPLETED());
}

#define CSHIM_GROUP_TRANSFER
#include "lapi/pairs_gen.h"
