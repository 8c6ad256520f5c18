/* api_progress.c - LAPI_Probe and LAPI_Msgpoll. */
#include "handlers/handlers.h"
#include "lapi/waits.h"

/*
 * One progress call for a polling call of the user's, with all that belongs to it. Under the lock.
 */
static uint32_t call_once(cshim_context *context)
{
	uint32_t flags = cshim_progress_call(&context->progress, 0);

	if (flags & CSHIM_PROGRESS_ERROR)
		cshim_run_losses(context, 1);
	return flags;
}

/*
 * Where tasks share processors, the task that this one waits for, in a loop of LAPI_Probe, may need
 * this one's processor. A yield costs as much as some empty probes.
 */
enum { IDLE_PER_YIELD = 16 };

static void share_processor(cshim_context *context, uint32_t flags, uint32_t idle_per_yield)
{
	if (flags)
		context->idle_probes = 0;
	else if (++context->idle_probes % idle_per_yield == 0)
		cshim_yield_unlocked(&context->progress);
}

int cshim_probe(cshim_context *context) { return cshim_probe_as(context, IDLE_PER_YIELD); }

int cshim_probe_as(cshim_context *context, uint32_t idle_per_yield)
{
	uint32_t flags;

	cshim_poll_begin(&context->progress);
	flags = call_once(context);
	if (__builtin_expect(CSHIM_OWN(context->progress.spin_calls) == 0, 0))
		share_processor(context, flags, idle_per_yield);
	else
		cshim_lock_pass(&context->progress);
	cshim_poll_end(&context->progress);
	return LAPI_SUCCESS;
}

int cshim_progress_for_sends(cshim_context *context)
{
	uint32_t handle = context->progress.handle;

	if (!CSHIM_OWN(context->progress.calling) && !cshim_in_handler(&context->progress))
		cshim_probe(context);
	/* Others have had the lock, and may have ended it. */
	return cshim_alive(&context->progress, handle);
}

int PLAPI_Probe(lapi_handle_t hndl)
{
	return CSHIM_CALL(hndl, cshim_may_call(context, "LAPI_Probe") ?: cshim_probe(context));
}

/* The completions since the last call, by any thread. Under the lock. */
static uint32_t take_state(cshim_context *context)
{
	uint32_t state = context->msg_state;

	context->msg_state = 0;
	return state;
}

/* After a call without news: let others have the lock and, after some of them, the processor. */
static void make_room(cshim_progress *progress, uint32_t idle)
{
	if (idle < CSHIM_OWN(progress->spin_calls))
		cshim_lock_pass(progress);
	else
		cshim_yield_unlocked(progress);
}

/*
 * Makes progress calls until a message was completed, at most count times in a row without. Returns
 * the status.
 */
static uint32_t call_for_state(cshim_context *context, uint32_t handle, uint32_t count)
{
	uint32_t idle = 0, state = take_state(context);

	while (state == 0 && idle < count) {
		call_once(context);
		if (!cshim_alive(&context->progress, handle))
			return 0;
		state = take_state(context);
		if (state == 0)
			make_room(&context->progress, idle++);
		if (!cshim_alive(&context->progress, handle))
			return 0;
	}
	return state ? state : LAPI_DISP_CNTR;
}

static int message_poll(cshim_context *context, lapi_handle_t hndl, uint count, uint32_t *status)
{
	int rc;

	cshim_poll_begin(&context->progress);
	*status = call_for_state(context, hndl, count);
	rc = cshim_alive(&context->progress, hndl) ? LAPI_SUCCESS : LAPI_ERR_HNDL_INVALID;
	cshim_poll_end(&context->progress);
	return rc;
}

/*
 * If another thread makes a progress call at the moment of the call, it does the work: this call
 * only takes what has been completed, as soon as that thread lets it.
 */
int PLAPI_Msgpoll(lapi_handle_t hndl, uint cnt, lapi_msg_info_t *info)
{
	cshim_context *context = cshim_find(hndl);
	int rc = LAPI_SUCCESS, busy;
	uint32_t status = 0;

	if (!context)
		return LAPI_ERR_HNDL_INVALID;
	busy = !cshim_lock_owned(&context->progress) &&
	       __atomic_load_n(&context->progress.calling, __ATOMIC_RELAXED);
	context = cshim_enter(hndl);
	if (!context)
		return cshim_refused(__func__);
	if (!info)
		rc = LAPI_ERR_MSG_INFO_NULL;
	else if (busy)
		status = take_state(context) | LAPI_POLLING_NET;
	else
		rc = cshim_may_call(context, "LAPI_Msgpoll")
		             ?: message_poll(context, hndl, cnt, &status);
	cshim_leave(context, rc);
	if (rc == LAPI_SUCCESS)
		info->status = status;
	return rc;
}

#define CSHIM_GROUP_PROGRESS
#include "lapi/pairs_gen.h"
