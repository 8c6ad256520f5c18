/*
 * libprofile.c - a profiling library as the guide's Chapter 9 describes: it has LAPI_ names in
 * front of the library's and calls the PLAPI_ names behind. It counts calls and bytes and leaves
 * the counts where the test reads them.
 */
#include <lapi.h>

#include <stdio.h>
#include <stdlib.h>

/* Read by profiled.c through dlsym; atomics, since any thread may call. */
int profile_inits, profile_terms, profile_puts, profile_waits, profile_fences, profile_amsends,
	profile_queries;
unsigned long profile_put_bytes;

static void count(int *counter)
{
	__atomic_add_fetch(counter, 1, __ATOMIC_RELAXED);
}

int LAPI_Init(lapi_handle_t *hndl, lapi_info_t *lapi_info)
{
	count(&profile_inits);
	return PLAPI_Init(hndl, lapi_info);
}

int LAPI_Term(lapi_handle_t hndl)
{
	count(&profile_terms);
	return PLAPI_Term(hndl);
}

int LAPI_Put(lapi_handle_t hndl, uint tgt, ulong len, void *tgt_addr, void *org_addr,
             lapi_cntr_t *tgt_cntr, lapi_cntr_t *org_cntr, lapi_cntr_t *cmpl_cntr)
{
	count(&profile_puts);
	__atomic_add_fetch(&profile_put_bytes, len, __ATOMIC_RELAXED);
	return PLAPI_Put(hndl, tgt, len, tgt_addr, org_addr, tgt_cntr, org_cntr, cmpl_cntr);
}

int LAPI_Amsend(lapi_handle_t hndl, uint tgt, void *hdr_hdl, void *uhdr, uint uhdr_len, void *udata,
                ulong udata_len, lapi_cntr_t *tgt_cntr, lapi_cntr_t *org_cntr,
                lapi_cntr_t *cmpl_cntr)
{
	count(&profile_amsends);
	return PLAPI_Amsend(hndl, tgt, hdr_hdl, uhdr, uhdr_len, udata, udata_len, tgt_cntr,
	                    org_cntr, cmpl_cntr);
}

int LAPI_Waitcntr(lapi_handle_t hndl, lapi_cntr_t *cntr, int val, int *cur_cntr_val)
{
	count(&profile_waits);
	return PLAPI_Waitcntr(hndl, cntr, val, cur_cntr_val);
}

int LAPI_Gfence(lapi_handle_t hndl)
{
	count(&profile_fences);
	return PLAPI_Gfence(hndl);
}

int LAPI_Fence(lapi_handle_t hndl)
{
	count(&profile_fences);
	return PLAPI_Fence(hndl);
}

int LAPI_Qenv(lapi_handle_t hndl, lapi_query_t query, int *ret_val)
{
	count(&profile_queries);
	return PLAPI_Qenv(hndl, query, ret_val);
}
