/* api_vector.c - LAPI_Putv, LAPI_Getv and LAPI_Amsendv. Core reads the vectors and checks the arguments. */
#include "internal.h"

int PLAPI_Putv(lapi_handle_t hndl, uint tgt, lapi_vec_t *tgt_vec, lapi_vec_t *org_vec, lapi_cntr_t *tgt_cntr,
               lapi_cntr_t *org_cntr, lapi_cntr_t *cmpl_cntr)
{
	cshim_context *context = cshim_enter(hndl);
	int rc;

	if (!context)
		return LAPI_ERR_HNDL_INVALID;
	rc = golapi_putv(cshim_index_of(context), tgt, CSHIM_ADDR(tgt_vec), CSHIM_ADDR(org_vec), CSHIM_ADDR(tgt_cntr),
	                 CSHIM_ADDR(org_cntr), CSHIM_ADDR(cmpl_cntr));
	cshim_leave(context);
	return rc;
}

int PLAPI_Getv(lapi_handle_t hndl, uint tgt, lapi_vec_t *tgt_vec, lapi_vec_t *org_vec, lapi_cntr_t *tgt_cntr,
               lapi_cntr_t *org_cntr)
{
	cshim_context *context = cshim_enter(hndl);
	int rc;

	if (!context)
		return LAPI_ERR_HNDL_INVALID;
	rc = golapi_getv(cshim_index_of(context), tgt, CSHIM_ADDR(tgt_vec), CSHIM_ADDR(org_vec), CSHIM_ADDR(tgt_cntr),
	                 CSHIM_ADDR(org_cntr));
	cshim_leave(context);
	return rc;
}

int PLAPI_Amsendv(lapi_handle_t hndl, uint tgt, void *hdr_hdl, void *uhdr, uint uhdr_len, lapi_vec_t *org_vec,
                  lapi_cntr_t *tgt_cntr, lapi_cntr_t *org_cntr, lapi_cntr_t *cmpl_cntr)
{
	cshim_context *context = cshim_enter(hndl);
	int rc;

	if (!context)
		return LAPI_ERR_HNDL_INVALID;
	rc = golapi_amsendv(cshim_index_of(context), tgt, CSHIM_ADDR(hdr_hdl), CSHIM_ADDR(uhdr), uhdr_len, CSHIM_ADDR(org_vec),
	                    CSHIM_ADDR(tgt_cntr), CSHIM_ADDR(org_cntr), CSHIM_ADDR(cmpl_cntr));
	cshim_leave(context);
	return rc;
}

#define CSHIM_GROUP_VECTOR
#include "pairs_gen.h"
