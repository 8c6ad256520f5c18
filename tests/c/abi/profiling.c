/*
 * profiling.c - a profiling library for C and Fortran as the guide writes them (Chapter 9), with
 * lapi.h alone: bzero and the plain Fortran names are declared there. headers.sh compiles it.
 */
#include <lapi.h>

static ulong bytes[2];

int LAPI_Init(lapi_handle_t *hndl, lapi_info_t *lapi_info)
{
	bzero(bytes, sizeof bytes);
	return PLAPI_Init(hndl, lapi_info);
}

#ifdef __cplusplus
extern "C" {
#endif
int lapi_init(lapi_handle_t *hndl, lapi_info_t *lapi_info, int *err);
int lapi_put(lapi_handle_t *hndl, uint *tgt, ulong *len, void **tgt_addr, void *org_addr,
             void **tgt_cntr, lapi_cntr_t *org_cntr, lapi_cntr_t *cmpl_cntr, int *err);
#ifdef __cplusplus
}
#endif

int lapi_init(lapi_handle_t *hndl, lapi_info_t *lapi_info, int *err)
{
	bzero(bytes, sizeof bytes);
	return plapi_init(hndl, lapi_info, err);
}

int lapi_put(lapi_handle_t *hndl, uint *tgt, ulong *len, void **tgt_addr, void *org_addr,
             void **tgt_cntr, lapi_cntr_t *org_cntr, lapi_cntr_t *cmpl_cntr, int *err)
{
	bytes[0] += *len;
	return plapi_put(hndl, tgt, len, tgt_addr, org_addr, tgt_cntr, org_cntr, cmpl_cntr, err);
}
