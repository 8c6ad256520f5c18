/* api_env.c - LAPI_Qenv, LAPI_Senv and LAPI_Msg_string. */
#include "lapi/internal.h"

int PLAPI_Qenv(lapi_handle_t hndl, lapi_query_t query, int *ret_val)
{
	return CSHIM_CALL(hndl, ret_val ? golapi_qenv(cshim_index_of(context), (uint32_t)query,
	                                              CSHIM_ADDR(ret_val))
	                                : LAPI_ERR_RET_PTR_NULL);
}

/*
 * Once LAPI_Senv has returned no handler runs in the service thread any more, because that looks at
 * interrupts under the lock.
 */
static int set_env(cshim_context *context, lapi_query_t query, int set_val)
{
	uint32_t before = __atomic_load_n(&context->progress.interrupts, __ATOMIC_RELAXED);
	int rc = golapi_senv(cshim_index_of(context), (uint32_t)query, set_val);

	if (__atomic_load_n(&context->progress.interrupts, __ATOMIC_RELAXED) != before)
		cshim_service_switch(&context->progress);
	return rc;
}

int PLAPI_Senv(lapi_handle_t hndl, lapi_query_t query, int set_val)
{
	return CSHIM_CALL(hndl, set_env(context, query, set_val));
}

/* It needs no core: it starts none, and works in the child of a fork as well. */
int PLAPI_Msg_string(int error_code, void *buf)
{
	int code;

	if (!buf)
		return LAPI_ERR_RET_PTR_NULL;
	if (!cshim_inside_begins())
		return cshim_refused(__func__);
	code = cshim_text_of(error_code, buf);
	cshim_inside_ends();
	return code;
}

#define CSHIM_GROUP_ENV
#include "lapi/pairs_gen.h"
