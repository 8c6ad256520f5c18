/* api_init.c - LAPI_Init and LAPI_Term. */
#include "node/guard.h"
#include "lapi/waits.h"
#include "progress/dump.h"

/*
 * The guide leaves 0 and negative numbers of completion handler threads open: they mean the
 * default.
 */
static uint32_t completion_threads(const lapi_info_t *info)
{
	return info->num_compl_hndlr_thr > 0 ? (uint32_t)info->num_compl_hndlr_thr : 1;
}

/*
 * A claimed block has no user yet; the state of the last generation is cleared, except fields that
 * count threads (progress.h).
 */
static void clear(cshim_context *context, const lapi_info_t *info)
{
	cshim_progress_clear(&context->progress);
	context->msg_state = 0;
	context->completion_threads = completion_threads(info);
	context->leaving = 0;
	context->lib_vers = (uint32_t)info->lib_vers;
	context->satisfied = 0;
	context->idle_probes = 0;
	__atomic_store_n(&context->listed, 0, __ATOMIC_SEQ_CST);
}

/* Ends a generation in state ACTIVE; the caller owns the lock, which is free afterwards. */
static int tear_down(cshim_context *context)
{
	int rc;

	cshim_share_end(context);
	cshim_progress_close(&context->progress);
	cshim_threads_stop(&context->progress);
	rc = golapi_term_end(cshim_index_of(context));
	cshim_give_back(context);
	cshim_dump_end();
	return rc;
}

void cshim_end_broken(cshim_context *context, uint32_t handle)
{
	cshim_lock(&context->progress);
	if (!cshim_alive(&context->progress, handle) || context->leaving) {
		cshim_lock_drop(&context->progress);
		return;
	}
	context->leaving = 1;
	(void)tear_down(context);
}

/* LAPI_SUCCESS, or why the threads of the context cannot be had. */
static int start_threads(cshim_context *context, const com_thread_info_t *attributes)
{
	static const com_thread_info_t none;
	const com_thread_info_t *given = attributes ? attributes : &none;
	const cshim_threads_plan plan = {context->completion_threads, given->thread_attr,
	                                 given->thread_init_func, given->parm_ptr,
	                                 given->extra_ptr};
	int error = cshim_threads_start(&context->progress, &plan);

	if (error == 0)
		return LAPI_SUCCESS;
	cshim_complain(context,
	               "cannot make %u completion handler threads: error %d of pthread_create",
	               plan.handlers, error);
	return error == EINVAL || error == EPERM ? LAPI_ERR_UNKNOWN : LAPI_ERR_MEMORY_EXHAUSTED;
}

/*
 * From here the context is in use: messages may arrive and run handlers in the service thread,
 * which may use the program's own variable for the handle. So that is set first.
 */
static int activate(cshim_context *context, lapi_handle_t *hndl, const lapi_info_t *info)
{
	int rc;

	*hndl = context->progress.handle;
	__atomic_store_n(&context->progress.state, CSHIM_ACTIVE, __ATOMIC_RELEASE);
	rc = start_threads(context, info->lapi_thread_attr);
	if (rc == LAPI_SUCCESS)
		return LAPI_SUCCESS;
	*hndl = LAPI_VOID_HANDLE;
	cshim_lock(&context->progress);
	tear_down(context);
	return rc;
}

static int init(lapi_handle_t *hndl, lapi_info_t *lapi_info)
{
	cshim_waiting *waiting;
	cshim_context *context;
	int rc = cshim_threads_probe();

	if (rc != 0) { /* Go's run-time would end the process */
		cshim_complain(NULL,
		               "LAPI_Init: no more threads to be had: error %d of pthread_create",
		               rc);
		return LAPI_ERR_MEMORY_EXHAUSTED;
	}
	node_guard_install();
	cshim_progress_prepare();
	context = cshim_claim(&cshim_lapi_owner);
	if (!context)
		return LAPI_ERR_ALL_HNDL_IN_USE;
	clear(context, lapi_info);
	cshim_dump_begin(golapi_dump_print);
	waiting = cshim_waiting_begin(NULL, "LAPI_Init", CSHIM_SHOWS_NOTHING, NULL, 0);
	rc = golapi_init(cshim_index_of(context), CSHIM_ADDR(lapi_info));
	cshim_waiting_end(waiting);
	if (rc != LAPI_SUCCESS) {
		cshim_give_back(context);
		cshim_dump_end();
		return rc;
	}
	return activate(context, hndl, lapi_info);
}

/* A thread that is cancelled in LAPI_Init or LAPI_Term is so afterwards. */
int PLAPI_Init(lapi_handle_t *hndl, lapi_info_t *lapi_info)
{
	int rc, cancel;

	if (cshim_forked_away())
		return LAPI_ERR_UNKNOWN;
	if (!hndl)
		return LAPI_ERR_HNDL_INVALID;
	if (!lapi_info)
		return LAPI_ERR_INFO_NULL;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	cshim_descriptors_hold();
	rc = CSHIM_CALL_WITHOUT(init(hndl, lapi_info));
	cshim_descriptors_release();
	pthread_setcancelstate(cancel, NULL);
	return rc;
}

/* Waits until the peers have all that this task sent; under the lock. */
static int finish_sending(cshim_context *context)
{
	uint64_t ticket = 0;

	return golapi_term_begin(cshim_index_of(context), &ticket)
	               ?: (ticket ? cshim_wait_ticket(context, ticket, CSHIM_FOR_TERM)
	                          : LAPI_SUCCESS);
}

int PLAPI_Term(lapi_handle_t hndl)
{
	cshim_context *context = cshim_enter(hndl);
	int rc, end, cancel;

	if (!context)
		return cshim_refused(__func__);
	rc = context->leaving ? LAPI_ERR_HNDL_INVALID : cshim_may_wait(context, "LAPI_Term");
	if (rc != LAPI_SUCCESS)
		return cshim_leave(context, rc);
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	context->leaving = 1;
	rc = finish_sending(context);
	end = tear_down(context);
	cshim_inside_ends();
	pthread_setcancelstate(cancel, NULL);
	return rc ?: end;
}

#define CSHIM_GROUP_INIT
#include "lapi/pairs_gen.h"
