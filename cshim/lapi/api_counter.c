/*
 * api_counter.c - LAPI_Setcntr, LAPI_Getcntr and LAPI_Waitcntr.
 *
 * A counter is the first int of a lapi_cntr_t, nothing else of it is touched: programs built for
 * L1_LIB have only that int. Setting a counter anew takes the list of LAPI_Setcntr_wstatus off it.
 */
#include "lapi/waits.h"

static int *value_of(lapi_cntr_t *cntr)
{
	return (int *)(void *)cntr;
}

/* Under the lock, as every change of a counter is (cshim_counter_add). */
int PLAPI_Setcntr(lapi_handle_t hndl, lapi_cntr_t *cntr, int val)
{
	cshim_context *context = cshim_find(hndl);

	if (!context)
		return LAPI_ERR_HNDL_INVALID;
	if (!cntr)
		return LAPI_ERR_CNTR_NULL;
	context = cshim_enter(hndl);
	if (!context && cshim_this_thread.inside)
		return cshim_refused(__func__);
	if (!context) {
		__atomic_store_n(value_of(cntr), val, __ATOMIC_SEQ_CST);
		return LAPI_SUCCESS; /* ended meanwhile, and with it all waits */
	}
	/* Atomic: a thread of another context may be adding to it. */
	__atomic_store_n(value_of(cntr), val, __ATOMIC_RELEASE);
	if (__builtin_expect(CSHIM_OWN(context->listed), 0))
		golapi_counter_unlist(cshim_index_of(context), CSHIM_ADDR(cntr));
	cshim_event(&context->progress);
	return cshim_leave(context, LAPI_SUCCESS); /* notifies */
}

int PLAPI_Getcntr(lapi_handle_t hndl, lapi_cntr_t *cntr, int *val)
{
	cshim_context *context = cshim_find(hndl);

	if (!context)
		return LAPI_ERR_HNDL_INVALID;
	if (!cntr)
		return LAPI_ERR_CNTR_NULL;
	if (!val)
		return LAPI_ERR_RET_PTR_NULL;
	/* Acquire pairs with core's increment: the data that the counter announces is in place. */
	*val = __atomic_load_n(value_of(cntr), __ATOMIC_ACQUIRE);
	/*
	 * A loop of this call with the lock held: the thread that would change the counter may be
	 * waiting for the lock.
	 */
	if (__atomic_load_n(&context->progress.lock_waiters, __ATOMIC_RELAXED) != 0 &&
	    !cshim_this_thread.inside && cshim_lock_owned(&context->progress))
		cshim_lock_pass(&context->progress);
	return LAPI_SUCCESS;
}

int PLAPI_Waitcntr(lapi_handle_t hndl, lapi_cntr_t *cntr, int val, int *cur_cntr_val)
{
	int remainder = 0;
	int rc =
		CSHIM_CALL(hndl, cntr ? cshim_wait_counter(context, value_of(cntr), val, &remainder)
	                              : LAPI_ERR_CNTR_NULL);

	if (rc == LAPI_SUCCESS && cur_cntr_val)
		*cur_cntr_val = remainder;
	return rc;
}

#define CSHIM_GROUP_COUNTER
#include "lapi/pairs_gen.h"
