/*
 * guide_profile.c - a profiling library in the form that the guide prints (Chapter 9, step 1): one
 * file for C and Fortran programs, whose Fortran functions have the plain names, whatever the
 * compiler of the program calls.
 */
#include <lapi.h>
#include <stdio.h>

static int puts_seen;

int LAPI_Init(lapi_handle_t *hndl, lapi_info_t *lapi_info)
{
	printf("guide_profile: LAPI_Init of C\n");
	return PLAPI_Init(hndl, lapi_info);
}

int lapi_init(lapi_handle_t *hndl, lapi_info_t *lapi_info, int *err)
{
	int rc = plapi_init(hndl, lapi_info, err);

	printf("profile: LAPI_INIT gave %d\n", rc);
	return rc;
}

int lapi_put(lapi_handle_t *hndl, uint *tgt, ulong *len, void **tgt_addr, void *org_addr,
             void **tgt_cntr, lapi_cntr_t *org_cntr, lapi_cntr_t *cmpl_cntr, int *err)
{
	puts_seen++;
	return plapi_put(hndl, tgt, len, tgt_addr, org_addr, tgt_cntr, org_cntr, cmpl_cntr, err);
}

int lapi_term(lapi_handle_t *hndl, int *err)
{
	printf("profile: %d puts\n", puts_seen);
	fflush(stdout);
	return plapi_term(hndl, err);
}
