/*
 * api_recovery.c - the calls of the guide's Chapter 19: LAPI_Nopoll_wait, LAPI_Setcntr_wstatus,
 * LAPI_Purge_totask, LAPI_Resume_totask.
 *
 * The first two know more of a counter than its value. Programs built for L1_LIB have nothing but
 * an int there, so for them these calls fail and touch nothing.
 */
#include "lapi/waits.h"

/* LAPI_SUCCESS if the program's counters are whole lapi_cntr_t; under the lock. */
static int whole_counters(cshim_context *context, const char *call)
{
	if (context->lib_vers != L1_LIB)
		return LAPI_SUCCESS;
	cshim_complain(context,
	               "%s needs lib_vers L2_LIB or LAST_LIB in lapi_info_t; this program was "
	               "initialised for L1_LIB",
	               call);
	return LAPI_ERR_UNKNOWN;
}

static int nopoll_wait(cshim_context *context, lapi_cntr_t *cntr, int val, int *remainder)
{
	return whole_counters(context, "LAPI_Nopoll_wait")
	               ?: (!cntr      ? LAPI_ERR_CNTR_NULL
	                   : val <= 0 ? LAPI_ERR_CNTR_VAL
	                              : cshim_nopoll_counter(context, (int *)(void *)cntr, val,
	                                                     remainder));
}

int PLAPI_Nopoll_wait(lapi_handle_t hndl, lapi_cntr_t *cntr_ptr, int val, int *cur_cntr_val)
{
	int remainder = 0, rc = CSHIM_CALL(hndl, nopoll_wait(context, cntr_ptr, val, &remainder));

	if (rc == LAPI_SUCCESS && cur_cntr_val)
		*cur_cntr_val = remainder;
	return rc;
}

/*
 * Under the lock, under which core counts: so no message falls between the list and the counter's
 * 0.
 */
static int set_with_status(cshim_context *context, lapi_cntr_t *cntr, int num_dest, uint *dest_list,
                           int *dest_status)
{
	struct new_cntr *whole = (struct new_cntr *)(void *)cntr;
	int rc = whole_counters(context, "LAPI_Setcntr_wstatus");

	if (rc != LAPI_SUCCESS)
		return rc;
	if (!cntr)
		return LAPI_ERR_CNTR_NULL;
	if (dest_list && !dest_status)
		return LAPI_ERR_RET_PTR_NULL;
	rc = golapi_counter_list(cshim_index_of(context), CSHIM_ADDR(cntr), num_dest,
	                         CSHIM_ADDR(dest_list), CSHIM_ADDR(dest_status),
	                         CSHIM_ADDR(&whole->dest_status));
	if (rc != LAPI_SUCCESS)
		return rc;
	whole->num_dest = dest_list ? (uint)num_dest : 0;
	whole->dest = dest_list;
	whole->dest_status = dest_status;
	__atomic_store_n(&context->listed, 1, __ATOMIC_SEQ_CST);
	__atomic_exchange_n((int *)(void *)cntr, 0, __ATOMIC_SEQ_CST);
	return LAPI_SUCCESS;
}

int PLAPI_Setcntr_wstatus(lapi_handle_t hndl, lapi_cntr_t *cntr, int num_dest, uint *dest_list,
                          int *dest_status)
{
	return CSHIM_CALL(hndl, set_with_status(context, cntr, num_dest, dest_list, dest_status));
}

/*
 * A handler that runs inside the dispatcher may be of a message from dest: core is not done with
 * that.
 */
static int purge(cshim_context *context, uint dest)
{
	int rc = cshim_may_call(context, "LAPI_Purge_totask")
	                 ?: golapi_purge(cshim_index_of(context), dest);

	if (rc == LAPI_SUCCESS)
		cshim_end_purged_waits(context);
	return rc;
}

int PLAPI_Purge_totask(lapi_handle_t hndl, uint dest)
{
	return CSHIM_CALL(hndl, purge(context, dest));
}

int PLAPI_Resume_totask(lapi_handle_t hndl, uint dest)
{
	return CSHIM_CALL(hndl, cshim_may_call(context, "LAPI_Resume_totask")
	                                ?: golapi_resume(cshim_index_of(context), dest));
}

#define CSHIM_GROUP_RECOVERY
#include "lapi/pairs_gen.h"
