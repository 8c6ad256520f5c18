/* api_transfer.c - LAPI_Put, LAPI_Get, LAPI_Amsend, LAPI_Rmw and LAPI_Rmw64. */
#include "transfer.h"

int PLAPI_Put(lapi_handle_t hndl, uint tgt, ulong len, void *tgt_addr, void *org_addr,
              lapi_cntr_t *tgt_cntr, lapi_cntr_t *org_cntr, lapi_cntr_t *cmpl_cntr)
{
	return CSHIM_CALL(hndl, cshim_transfer_in(context, LAPI_PUT_XFER,
	                                          (cshim_transfer){
							  .tgt = tgt,
							  .len = len,
							  .tgt_addr = CSHIM_ADDR(tgt_addr),
							  .org_addr = CSHIM_ADDR(org_addr),
							  .tgt_cntr = CSHIM_ADDR(tgt_cntr),
							  .org_cntr = CSHIM_ADDR(org_cntr),
							  .cmpl_cntr = CSHIM_ADDR(cmpl_cntr),
						  }));
}

int PLAPI_Get(lapi_handle_t hndl, uint tgt, ulong len, void *tgt_addr, void *org_addr,
              lapi_cntr_t *tgt_cntr, lapi_cntr_t *org_cntr)
{
	return CSHIM_CALL(hndl, cshim_transfer_in(context, LAPI_GET_XFER,
	                                          (cshim_transfer){
							  .tgt = tgt,
							  .len = len,
							  .tgt_addr = CSHIM_ADDR(tgt_addr),
							  .org_addr = CSHIM_ADDR(org_addr),
							  .tgt_cntr = CSHIM_ADDR(tgt_cntr),
							  .org_cntr = CSHIM_ADDR(org_cntr),
						  }));
}

int PLAPI_Amsend(lapi_handle_t hndl, uint tgt, void *hdr_hdl, void *uhdr, uint uhdr_len,
                 void *udata, ulong udata_len, lapi_cntr_t *tgt_cntr, lapi_cntr_t *org_cntr,
                 lapi_cntr_t *cmpl_cntr)
{
	return CSHIM_CALL(hndl, cshim_transfer_in(context, LAPI_AM_XFER,
	                                          (cshim_transfer){
							  .tgt = tgt,
							  .hdr_hdl = CSHIM_ADDR(hdr_hdl),
							  .uhdr = CSHIM_ADDR(uhdr),
							  .uhdr_len = uhdr_len,
							  .org_addr = CSHIM_ADDR(udata),
							  .len = udata_len,
							  .tgt_cntr = CSHIM_ADDR(tgt_cntr),
							  .org_cntr = CSHIM_ADDR(org_cntr),
							  .cmpl_cntr = CSHIM_ADDR(cmpl_cntr),
						  }));
}

/* bits: of the variable and of the values, 32 or 64. */
static inline cshim_transfer rmw_of(uint32_t bits, RMW_ops_t op, uint tgt, void *tgt_var,
                                    void *in_val, void *prev_tgt_val, lapi_cntr_t *org_cntr)
{
	return (cshim_transfer){
		.tgt = tgt,
		.op = (uint32_t)op,
		.size = bits,
		.tgt_addr = CSHIM_ADDR(tgt_var),
		.org_addr = CSHIM_ADDR(in_val),
		.prev_val = CSHIM_ADDR(prev_tgt_val),
		.org_cntr = CSHIM_ADDR(org_cntr),
	};
}

int PLAPI_Rmw(lapi_handle_t hndl, RMW_ops_t op, uint tgt, int *tgt_var, int *in_val,
              int *prev_tgt_val, lapi_cntr_t *org_cntr)
{
	return CSHIM_CALL(hndl, cshim_transfer_in(context, LAPI_RMW_XFER,
	                                          rmw_of(32, op, tgt, tgt_var, in_val, prev_tgt_val,
	                                                 org_cntr)));
}

int PLAPI_Rmw64(lapi_handle_t hndl, Rmw_ops_t op, uint tgt, long long *tgt_var, long long *in_val,
                long long *prev_tgt_val, lapi_cntr_t *org_cntr)
{
	return CSHIM_CALL(hndl, cshim_transfer_in(context, LAPI_RMW_XFER,
	                                          rmw_of(64, op, tgt, tgt_var, in_val, prev_tgt_val,
	                                                 org_cntr)));
}

#define CSHIM_GROUP_TRANSFER
#include "pairs_gen.h"
