/*
 * profile.c - a profiling library for Fortran programs (guide, Chapter 9): it has lapi_ names of
 * its own in front of the library's, and calls the plapi_ names behind. A compiler uses one
 * spelling of Table 10; a library for all compilers has a function for each.
 */
#include <lapi.h>
#include <stdio.h>

extern int plapi_init_(lapi_handle_t *hndl, lapi_info_t *lapi_info, int *ierror);
extern int PLAPI_TERM(lapi_handle_t *hndl, int *ierror);

static int puts_seen;

int lapi_init_(lapi_handle_t *hndl, lapi_info_t *lapi_info, int *ierror)
{
	int rc = plapi_init_(hndl, lapi_info, ierror);

	printf("profile: LAPI_INIT gave %d\n", rc);
	return rc;
}

int lapi_put_(lapi_handle_t *hndl, uint *tgt, ulong *len, void **tgt_addr, void *org_addr,
              void **tgt_cntr, lapi_cntr_t *org_cntr, lapi_cntr_t *cmpl_cntr, int *ierror)
{
	puts_seen++;
	return plapi_put(hndl, tgt, len, tgt_addr, org_addr, tgt_cntr, org_cntr, cmpl_cntr, ierror);
}

int lapi_term_(lapi_handle_t *hndl, int *ierror)
{
	printf("profile: %d puts\n", puts_seen);
	fflush(stdout);
	return PLAPI_TERM(hndl, ierror);
}

/* C's own names are no part of it: a Fortran call must not come here. */
int LAPI_Put(lapi_handle_t hndl, uint tgt, ulong len, void *tgt_addr, void *org_addr,
             lapi_cntr_t *tgt_cntr, lapi_cntr_t *org_cntr, lapi_cntr_t *cmpl_cntr)
{
	printf("profile: LAPI_Put of C\n");
	return PLAPI_Put(hndl, tgt, len, tgt_addr, org_addr, tgt_cntr, org_cntr, cmpl_cntr);
}
