/*
 * api_vector.c - LAPI_Putv, LAPI_Getv and LAPI_Amsendv. Core reads the vectors. Those of the target
 * are lapi_vec_t here, which LAPI_Xfer has a flag for.
 */
#include "transfer.h"

int PLAPI_Putv(lapi_handle_t hndl, uint tgt, lapi_vec_t *tgt_vec, lapi_vec_t *org_vec,
               lapi_cntr_t *tgt_cntr, lapi_cntr_t *org_cntr, lapi_cntr_t *cmpl_cntr)
{
	return CSHIM_CALL(hndl, cshim_transfer_in(context, LAPI_PUTV_XFER,
	                                          (cshim_transfer){
							  .tgt = tgt,
							  .flags = USE_TGT_VEC_TYPE,
							  .tgt_addr = CSHIM_ADDR(tgt_vec),
							  .org_addr = CSHIM_ADDR(org_vec),
							  .tgt_cntr = CSHIM_ADDR(tgt_cntr),
							  .org_cntr = CSHIM_ADDR(org_cntr),
							  .cmpl_cntr = CSHIM_ADDR(cmpl_cntr),
						  }));
}

int PLAPI_Getv(lapi_handle_t hndl, uint tgt, lapi_vec_t *tgt_vec, lapi_vec_t *org_vec,
               lapi_cntr_t *tgt_cntr, lapi_cntr_t *org_cntr)
{
	return CSHIM_CALL(hndl, cshim_transfer_in(context, LAPI_GETV_XFER,
	                                          (cshim_transfer){
							  .tgt = tgt,
							  .flags = USE_TGT_VEC_TYPE,
							  .tgt_addr = CSHIM_ADDR(tgt_vec),
							  .org_addr = CSHIM_ADDR(org_vec),
							  .tgt_cntr = CSHIM_ADDR(tgt_cntr),
							  .org_cntr = CSHIM_ADDR(org_cntr),
						  }));
}

int PLAPI_Amsendv(lapi_handle_t hndl, uint tgt, void *hdr_hdl, void *uhdr, uint uhdr_len,
                  lapi_vec_t *org_vec, lapi_cntr_t *tgt_cntr, lapi_cntr_t *org_cntr,
                  lapi_cntr_t *cmpl_cntr)
{
	return CSHIM_CALL(hndl, cshim_transfer_in(context, LAPI_AMV_XFER,
	                                          (cshim_transfer){
							  .tgt = tgt,
							  .hdr_hdl = CSHIM_ADDR(hdr_hdl),
							  .uhdr = CSHIM_ADDR(uhdr),
							  .uhdr_len = uhdr_len,
							  .org_addr = CSHIM_ADDR(org_vec),
							  .tgt_cntr = CSHIM_ADDR(tgt_cntr),
							  .org_cntr = CSHIM_ADDR(org_cntr),
							  .cmpl_cntr = CSHIM_ADDR(cmpl_cntr),
						  }));
}

#define CSHIM_GROUP_VECTOR
#include "pairs_gen.h"
