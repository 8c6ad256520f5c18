/* wait.c - dat_evd_wait, dat_cno_wait and dat_evd_dequeue. */
#include "godat.h"
#include "dat_internal.h"
#include "wait.h"

/* Until so many events are ready, or the object is freed or poked. */
typedef struct event_wait {
	const dat_slot *slot;
	uint32_t poked, threshold;
} event_wait;

static int over(cshim_progress *progress, const cshim_goal *goal)
{
	const event_wait *wait = goal->object;

	return __atomic_load_n(&wait->slot->ready, __ATOMIC_RELAXED) >= wait->threshold ||
	       __atomic_load_n(&wait->slot->poked, __ATOMIC_RELAXED) != wait->poked;
}

static const cshim_goal_kind event_kind = {.over = over};
/* What comes from a peer comes by a progress call, so each look has one. */
static const cshim_patience patience = {
	.looks = 64, .looks_per_call = 1, .call_first = 1, .sockets = 1};

/* Waits, under the lock; timeout in microseconds. CSHIM_WAIT_ENDED: no adapter is open any more. */
static int wait_for(const dat_slot *slot, uint32_t threshold, DAT_TIMEOUT timeout)
{
	event_wait wait = {slot, slot->poked, threshold};
	const cshim_goal goal = {.kind = &event_kind,
	                         .patience = &patience,
	                         .object = &wait,
	                         .number = threshold,
	                         .until_ns = timeout == DAT_TIMEOUT_INFINITE
	                                             ? 0
	                                             : cshim_now_ns() + (int64_t)timeout * 1000};

	if (timeout == 0) {
		cshim_progress_call(&dat_progress, 0);
		return CSHIM_WAIT_LATE;
	}
	return cshim_wait_for(&dat_progress, &goal);
}

#define ABORTED (DAT_CLASS_ERROR | DAT_ABORT)

/* What the end of a wait has returned; a handle that was valid when it began has been freed. */
static DAT_RETURN ended(DAT_RETURN result)
{
	return DAT_GET_TYPE(result) == DAT_INVALID_HANDLE ? ABORTED : result;
}

DAT_RETURN dat_evd_wait(DAT_EVD_HANDLE evd_handle, DAT_TIMEOUT timeout, DAT_COUNT threshold,
                        DAT_EVENT *event, DAT_COUNT *n_more)
{
	const uint64_t arguments[] = {DAT_P(evd_handle), DAT_I(timeout), DAT_I(threshold),
	                              DAT_P(event), DAT_P(n_more)};
	DAT_RETURN result;

	if (!dat_enter())
		return DAT_CLASS_ERROR | DAT_INVALID_STATE;
	result = godat_call(DAT_CALL_evd_wait_begin, (uint64_t *)arguments);
	if (result != DAT_SUCCESS)
		return dat_leave(result);
	cshim_poll_begin(&dat_progress);
	if (wait_for((const dat_slot *)evd_handle, (uint32_t)threshold, timeout) ==
	    CSHIM_WAIT_ENDED)
		result = ABORTED;
	else
		result = ended(godat_call(DAT_CALL_evd_wait_end, (uint64_t *)arguments));
	cshim_poll_end(&dat_progress);
	return dat_leave(result);
}

DAT_RETURN dat_cno_wait(DAT_CNO_HANDLE cno_handle, DAT_TIMEOUT timeout, DAT_EVD_HANDLE *evd_handle)
{
	const uint64_t arguments[] = {DAT_P(cno_handle), DAT_P(evd_handle)};
	DAT_RETURN result;

	if (!dat_enter())
		return DAT_CLASS_ERROR | DAT_INVALID_STATE;
	result = godat_call(DAT_CALL_cno_wait_begin, (uint64_t *)arguments);
	if (result != DAT_SUCCESS)
		return dat_leave(result);
	cshim_poll_begin(&dat_progress);
	if (wait_for((const dat_slot *)cno_handle, 1, timeout) == CSHIM_WAIT_ENDED)
		result = ABORTED;
	else
		result = ended(godat_call(DAT_CALL_cno_wait_end, (uint64_t *)arguments));
	cshim_poll_end(&dat_progress);
	return dat_leave(result);
}

DAT_RETURN dat_evd_dequeue(DAT_EVD_HANDLE evd_handle, DAT_EVENT *event)
{
	const uint64_t arguments[] = {DAT_P(evd_handle), DAT_P(event)};
	DAT_RETURN result;

	if (!dat_enter())
		return DAT_CLASS_ERROR | DAT_INVALID_STATE;
	if (dat_progress.state == CSHIM_ACTIVE)
		cshim_poll_note(&dat_progress);
	result = godat_call(DAT_CALL_evd_dequeue, (uint64_t *)arguments);
	return dat_leave(result);
}
