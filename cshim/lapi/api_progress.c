/* api_progress.c - LAPI_Probe and LAPI_Msgpoll. */
#define _GNU_SOURCE
#include <sched.h>

#include "internal.h"

/* One turn of the dispatcher for a polling call, with all that belongs to it. Under the lock. */
static uint32_t poll_turn(cshim_context *context)
{
	uint32_t flags = cshim_dispatch(context, 0);

	if (flags & CSHIM_DISPATCH_ERROR)
		cshim_run_errors(context, 1);
	return flags;
}

static int probe(cshim_context *context)
{
	int rc = cshim_may_dispatch(context, "LAPI_Probe");

	if (rc != LAPI_SUCCESS)
		return rc;
	cshim_poll_begin(context);
	poll_turn(context);
	cshim_lock_pass(context);
	cshim_poll_end(context);
	return LAPI_SUCCESS;
}

int PLAPI_Probe(lapi_handle_t hndl)
{
	return CSHIM_CALL(hndl, probe(context));
}

/* What has been completed since the last call, by whichever thread. Under the lock. */
static uint32_t take_state(cshim_context *context)
{
	uint32_t state = context->msg_state;

	context->msg_state = 0;
	return state;
}

/* After an empty turn: let others have the lock and, after some of them, the processor. */
static void make_room(cshim_context *context, uint32_t idle)
{
	uint32_t depth;

	if (idle < context->spin_turns) {
		cshim_lock_pass(context);
		return;
	}
	depth = cshim_lock_release_all(context);
	sched_yield();
	cshim_lock_restore(context, depth);
}

/* Turns the dispatcher until a message was completed, at most count times in a row without. Returns the status. */
static uint32_t turn_for_state(cshim_context *context, uint32_t handle, uint32_t count)
{
	uint32_t idle = 0, state = take_state(context);

	while (state == 0 && idle < count) {
		poll_turn(context);
		if (!cshim_alive(context, handle))
			return 0;
		state = take_state(context);
		if (state == 0)
			make_room(context, idle++);
		if (!cshim_alive(context, handle))
			return 0;
	}
	return state ? state : LAPI_DISP_CNTR;
}

static int message_poll(cshim_context *context, lapi_handle_t hndl, uint count, uint32_t *status)
{
	int rc = cshim_may_dispatch(context, "LAPI_Msgpoll");

	if (rc != LAPI_SUCCESS)
		return rc;
	cshim_poll_begin(context);
	*status = turn_for_state(context, hndl, count);
	rc = cshim_alive(context, hndl) ? LAPI_SUCCESS : LAPI_ERR_HNDL_INVALID;
	cshim_poll_end(context);
	return rc;
}

/*
 * If another thread is turning the dispatcher at the moment of the call, it does the work: this call only takes what has been
 * completed, as soon as that thread lets it.
 */
int PLAPI_Msgpoll(lapi_handle_t hndl, uint cnt, lapi_msg_info_t *info)
{
	cshim_context *context = cshim_find(hndl);
	int rc = LAPI_SUCCESS, busy;
	uint32_t status = 0;

	if (!context)
		return LAPI_ERR_HNDL_INVALID;
	busy = !cshim_lock_owned(context) && __atomic_load_n(&context->dispatching, __ATOMIC_RELAXED);
	context = cshim_enter(hndl);
	if (!context)
		return LAPI_ERR_HNDL_INVALID;
	if (!info)
		rc = LAPI_ERR_MSG_INFO_NULL;
	else if (busy)
		status = take_state(context) | LAPI_POLLING_NET;
	else
		rc = message_poll(context, hndl, cnt, &status);
	cshim_leave_with(context, rc);
	if (rc == LAPI_SUCCESS)
		info->status = status;
	return rc;
}

#define CSHIM_GROUP_PROGRESS
#include "pairs_gen.h"
