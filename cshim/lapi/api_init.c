/* api_init.c - LAPI_Init and LAPI_Term. */
#define _GNU_SOURCE
#include <time.h>

#include "guard.h"
#include "internal.h"

/* The guide leaves 0 and negative numbers of completion handler threads open: they mean the default. */
static uint32_t completion_threads(const lapi_info_t *info)
{
	return info->num_compl_hndlr_thr > 0 ? (uint32_t)info->num_compl_hndlr_thr : 1;
}

/* A claimed block has no user yet; what the last incarnation left is cleared, except what counts threads (internal.h). */
static void clear(cshim_context *context, const lapi_info_t *info)
{
	cshim_private *private = cshim_private_of(context);

	cshim_lock(context);
	context->msg_state = 0;
	context->num_descriptors = 0;
	context->completion_threads = completion_threads(info);
	private->leaving = 0;
	private->lib_vers = (uint32_t)info->lib_vers;
	__atomic_store_n(&private->listed, 0, __ATOMIC_SEQ_CST);
	__atomic_store_n(&private->service_parked, 0, __ATOMIC_SEQ_CST);
	private->satisfied = 0;
	private->away = 0;
	cshim_unlock(context);
}

/*
 * The context leaves ACTIVE. Under the lock, so that every other thread sees it when it next has the lock, and calls core no more.
 * Then nobody may sleep on: those who wait end with LAPI_ERR_HNDL_INVALID.
 */
static void close_down(cshim_context *context)
{
	cshim_private *private = cshim_private_of(context);

	__atomic_store_n(&context->state, CSHIM_TERMINATING, __ATOMIC_RELEASE);
	private->watching = NULL;
	private->turner = NULL;
	cshim_wake_followers(context);
	cshim_share_end(context);
	cshim_kick(context);
	cshim_lock_release_all(context);
}

/* Core closes the descriptors next: the watcher must have left them. Kicked, it needs only the lock, which no-one keeps for long now. */
static void wait_for_watcher(cshim_context *context)
{
	const struct timespec moment = {0, 50000};

	while (__atomic_load_n(&context->watcher, __ATOMIC_SEQ_CST) != 0)
		nanosleep(&moment, NULL);
}

/* Ends an incarnation in state ACTIVE; the caller owns the lock, which is free afterwards. */
static int tear_down(cshim_context *context)
{
	int rc;

	close_down(context);
	wait_for_watcher(context);
	cshim_threads_stop(context);
	rc = golapi_term_end(cshim_index_of(context));
	cshim_give_back(context);
	return rc;
}

/*
 * From here the context is in use: messages may arrive and run handlers in the service thread, which may use the program's
 * own variable for the handle. So that is set first.
 */
static int activate(cshim_context *context, lapi_handle_t *hndl, const lapi_info_t *info)
{
	int rc;

	*hndl = context->handle;
	__atomic_store_n(&context->state, CSHIM_ACTIVE, __ATOMIC_RELEASE);
	rc = cshim_threads_start(context, info->lapi_thread_attr, context->completion_threads);
	if (rc == LAPI_SUCCESS)
		return LAPI_SUCCESS;
	*hndl = LAPI_VOID_HANDLE;
	cshim_lock(context);
	tear_down(context);
	return rc;
}

int PLAPI_Init(lapi_handle_t *hndl, lapi_info_t *lapi_info)
{
	cshim_context *context;
	int rc;

	if (cshim_forked_away())
		return LAPI_ERR_UNKNOWN;
	if (!hndl)
		return LAPI_ERR_HNDL_INVALID;
	if (!lapi_info)
		return LAPI_ERR_INFO_NULL;
	node_guard_install();
	cshim_lock_prepare();
	context = cshim_claim();
	if (!context)
		return LAPI_ERR_ALL_HNDL_IN_USE;
	clear(context, lapi_info);
	rc = golapi_init(cshim_index_of(context), CSHIM_ADDR(lapi_info));
	if (rc != LAPI_SUCCESS) {
		cshim_give_back(context);
		return rc;
	}
	return activate(context, hndl, lapi_info);
}

/* Waits until the peers have all that this task sent; under the lock. */
static int finish_sending(cshim_context *context)
{
	uint64_t ticket = 0;
	int rc = golapi_term_begin(cshim_index_of(context), &ticket);

	return rc == LAPI_SUCCESS && ticket ? cshim_wait_ticket(context, ticket) : rc;
}

int PLAPI_Term(lapi_handle_t hndl)
{
	cshim_context *context = cshim_enter(hndl);
	cshim_private *private;
	int rc, end;

	if (!context)
		return LAPI_ERR_HNDL_INVALID;
	private = cshim_private_of(context);
	rc = private->leaving ? LAPI_ERR_HNDL_INVALID : cshim_may_dispatch(context, "LAPI_Term");
	if (rc != LAPI_SUCCESS) {
		return cshim_leave_with(context, rc);
	}
	private->leaving = 1;
	rc = finish_sending(context);
	end = tear_down(context);
	return rc != LAPI_SUCCESS ? rc : end;
}

#define CSHIM_GROUP_INIT
#include "pairs_gen.h"
