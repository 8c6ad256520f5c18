/*
 * wrong.c - a profiling library that falsifies data, preloaded into lapi_perf: puts, active
 * messages and gets of 500 and 5000 bytes have a wrong last byte, and LAPI_Rmw changes nothing.
 */
#include <lapi.h>
#include <string.h>

static char falsified[5000];

static int is_chosen(ulong len) { return len == 500 || len == sizeof falsified; }

static void *falsify(const void *data, ulong len)
{
	memcpy(falsified, data, len);
	falsified[len - 1] ^= 1;
	return falsified;
}

int LAPI_Put(lapi_handle_t hndl, uint tgt, ulong len, void *tgt_addr, void *org_addr,
             lapi_cntr_t *tgt_cntr, lapi_cntr_t *org_cntr, lapi_cntr_t *cmpl_cntr)
{
	if (is_chosen(len))
		org_addr = falsify(org_addr, len);
	return PLAPI_Put(hndl, tgt, len, tgt_addr, org_addr, tgt_cntr, org_cntr, cmpl_cntr);
}

int LAPI_Amsend(lapi_handle_t hndl, uint tgt, void *hdr_hdl, void *uhdr, uint uhdr_len, void *udata,
                ulong udata_len, lapi_cntr_t *tgt_cntr, lapi_cntr_t *org_cntr,
                lapi_cntr_t *cmpl_cntr)
{
	if (is_chosen(udata_len))
		udata = falsify(udata, udata_len);
	return PLAPI_Amsend(hndl, tgt, hdr_hdl, uhdr, uhdr_len, udata, udata_len, tgt_cntr,
	                    org_cntr, cmpl_cntr);
}

int LAPI_Get(lapi_handle_t hndl, uint tgt, ulong len, void *tgt_addr, void *org_addr,
             lapi_cntr_t *tgt_cntr, lapi_cntr_t *org_cntr)
{
	if (is_chosen(len))
		len--;
	return PLAPI_Get(hndl, tgt, len, tgt_addr, org_addr, tgt_cntr, org_cntr);
}

int LAPI_Rmw(lapi_handle_t hndl, RMW_ops_t op, uint tgt, int *tgt_var, int *in_val,
             int *prev_tgt_val, lapi_cntr_t *org_cntr)
{
	*in_val = 0;
	return PLAPI_Rmw(hndl, op, tgt, tgt_var, in_val, prev_tgt_val, org_cntr);
}
