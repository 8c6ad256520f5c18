/* wait.c - dat_evd_wait, dat_cno_wait and dat_evd_dequeue. */
#include <pthread.h>
#include <sched.h>

#include "node/probe.h"
#include "dat/godat.h"
#include "dat/coll/coll.h"
#include "dat/evd/evd.h"
#include "dat/rc/rc.h"
#include "dat/api/providers.h"
#include "progress/wait.h"

/* Who finds events of a group, or waits for members that share processors, looks at the links one
 * time in so many. */
enum { GROUP_LOOKS = 8 };

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

static const cshim_goal_kind event_kind = {.over = over, .cancels = 1};
/* What comes from a peer comes by a progress call, so each look has one. */
static const cshim_patience patience = {
	.looks = 64, .looks_per_call = 1, .call_first = 1, .sockets = 1};

/* The thread is cancelled in its sleep: its call was left, and the object forgets the wait. */
typedef struct cancelled_wait {
	int call; /* of core's */
	uint64_t handle;
	uint32_t incarnation; /* of the block */
} cancelled_wait;

static void cancelled(void *argument)
{
	const cancelled_wait *wait = argument;
	const uint64_t arguments[] = {wait->handle};

	if (!dat_enter())
		return;
	if (dat_progress.handle == wait->incarnation) {
		godat_call(wait->call, (uint64_t *)arguments);
		cshim_poll_end(&dat_progress);
	}
	dat_leave(DAT_SUCCESS);
}

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

/* The same, where the thread may be cancelled: call has core forget the wait then. */
static int wait_cancellable(const void *handle, uint32_t threshold, DAT_TIMEOUT timeout, int call)
{
	cancelled_wait wait = {call, DAT_P(handle), dat_progress.handle};
	int how;

	pthread_cleanup_push(cancelled, &wait);
	how = wait_for((const dat_slot *)handle, threshold, timeout);
	pthread_cleanup_pop(0);
	return how;
}

/* The arguments of dat_evd_wait. */
typedef struct dat_wait {
	DAT_EVD_HANDLE evd;
	DAT_TIMEOUT timeout;
	DAT_COUNT threshold;
	DAT_EVENT *event;
	DAT_COUNT *n_more;
} dat_wait;

#define ABORTED (DAT_CLASS_ERROR | DAT_ABORT)

/* What the end of a wait has returned; a handle that was valid when it began has been freed. */
static DAT_RETURN ended(DAT_RETURN result)
{
	return DAT_GET_TYPE(result) == DAT_INVALID_HANDLE ? ABORTED : result;
}

/*
 * What dat_evd_wait begins with, and ends with, as core does it (core/dat/evd.go). NULL: core
 * must, as a result is not DAT_SUCCESS, or there may be silent events that nobody has taken yet.
 */
static dat_queue *wait_begin(dat_slot *slot, DAT_TIMEOUT timeout, DAT_COUNT threshold)
{
	dat_queue *queue = slot ? dat_queue_of(slot) : NULL;

	if (!queue || threshold < 1 || (uint32_t)threshold > queue->size ||
	    queue->flags & (DAT_QUEUE_UNWAITABLE | DAT_QUEUE_WAITING | DAT_QUEUE_SOLICITED))
		return NULL;
	queue->counters[DCNT_EVD_WAIT]++;
	queue->flags = (queue->flags | DAT_QUEUE_WAITING) & ~DAT_QUEUE_BLOCKED;
	if (timeout != 0 && slot->length < (uint32_t)threshold) {
		queue->flags |= DAT_QUEUE_BLOCKED;
		queue->counters[DCNT_EVD_WAIT_BLOCKED]++;
	}
	slot->ready = slot->length;
	return queue;
}

static int wait_end(const dat_wait *wait, dat_queue *queue)
{
	dat_slot *slot = dat_slot_of(wait->evd, DAT_HANDLE_TYPE_EVD);

	if (!slot || dat_queue_of(slot) != queue || slot->length < (uint32_t)wait->threshold ||
	    queue->flags & DAT_QUEUE_UNWAITABLE)
		return 0;
	queue->flags &= ~DAT_QUEUE_WAITING;
	if (queue->flags & DAT_QUEUE_BLOCKED)
		queue->counters[DCNT_EVD_WAIT_NOTIFY]++;
	dat_queue_pop(slot, queue, wait->event);
	*wait->n_more = (DAT_COUNT)slot->length;
	return 1;
}

/* uDAPL is broken; the event that reports it can be taken. */
static DAT_RETURN last_event(const uint64_t *arguments)
{
	DAT_RETURN result = godat_call(DAT_CALL_evd_wait_end, (uint64_t *)arguments);

	return result == DAT_SUCCESS ? result : ABORTED;
}

static DAT_RETURN wait_by(const dat_wait *wait, const uint64_t *arguments)
{
	dat_queue *queue = NULL;
	DAT_RETURN result = DAT_SUCCESS;
	int late = 0;

	if (node_can_write(wait->event, sizeof *wait->event) &&
	    node_can_write(wait->n_more, sizeof *wait->n_more)) /* else core says what is wrong */
		queue = wait_begin(dat_slot_of(wait->evd, DAT_HANDLE_TYPE_EVD), wait->timeout,
		                   wait->threshold);
	if (!queue)
		result = godat_call(DAT_CALL_evd_wait_begin, (uint64_t *)arguments);
	if (result != DAT_SUCCESS)
		return result;
	cshim_poll_begin(&dat_progress);
	late = wait_cancellable(wait->evd, (uint32_t)wait->threshold, wait->timeout,
	                        DAT_CALL_evd_wait_cancel);
	if (late == CSHIM_WAIT_ENDED)
		result = dat_is_broken ? last_event(arguments) : ABORTED;
	else if (!queue || !wait_end(wait, queue))
		result = ended(godat_call(DAT_CALL_evd_wait_end, (uint64_t *)arguments));
	cshim_poll_end(&dat_progress);
	return result;
}

DAT_RETURN dat_evd_wait(DAT_EVD_HANDLE evd_handle, DAT_TIMEOUT timeout, DAT_COUNT threshold,
                        DAT_EVENT *event, DAT_COUNT *n_more)
{
	DAT_PROVIDED(evd_wait, evd_handle, timeout, threshold, event, n_more);
	const uint64_t arguments[] = {DAT_P(evd_handle), DAT_I(timeout), DAT_I(threshold),
	                              DAT_P(event), DAT_P(n_more)};
	const dat_wait wait = {evd_handle, timeout, threshold, event, n_more};

	if (!dat_enter())
		return dat_refused();
	return dat_leave(wait_by(&wait, arguments));
}

DAT_RETURN dat_cno_wait(DAT_CNO_HANDLE cno_handle, DAT_TIMEOUT timeout, DAT_EVD_HANDLE *evd_handle)
{
	DAT_PROVIDED(cno_wait, cno_handle, timeout, evd_handle);
	const uint64_t arguments[] = {DAT_P(cno_handle), DAT_P(evd_handle)};
	DAT_RETURN result;

	if (!dat_enter())
		return dat_refused();
	result = godat_call(DAT_CALL_cno_wait_begin, (uint64_t *)arguments);
	if (result != DAT_SUCCESS)
		return dat_leave(result);
	cshim_poll_begin(&dat_progress);
	if (wait_cancellable(cno_handle, 1, timeout, DAT_CALL_cno_wait_cancel) == CSHIM_WAIT_ENDED)
		result = ABORTED;
	else
		result = ended(godat_call(DAT_CALL_cno_wait_end, (uint64_t *)arguments));
	cshim_poll_end(&dat_progress);
	return dat_leave(result);
}

/*
 * Looks for events: first where they take least, so that who waits for a group's is not held up. 1:
 * the oldest was taken and is in *event.
 */
static int look(const dat_slot *slot, DAT_EVENT *event)
{
	static uint32_t looks;

	if (dat_the_lane.num_groups) {
		dat_groups_turn();
		if ((slot->length > 0 || dat_groups_crowd) && ++looks % GROUP_LOOKS)
			return 0;
	}
	return dat_lane_poll((uintptr_t)slot, event);
}

/* The same as core's; 0: core must do it. Of an EVD that also gets what comes by sockets core looks
 * for it. */
static int dequeue(dat_slot *slot, DAT_EVENT *event, DAT_RETURN *result)
{
	dat_queue *queue = slot ? dat_queue_of(slot) : NULL;
	int taken = 0;

	if (!queue || queue->flags & DAT_QUEUE_WAITING || !node_can_write(event, sizeof *event))
		return 0;
	if (slot->length == 0) {
		if (!(queue->flags & DAT_QUEUE_TRANSFERS))
			return 0;
		queue->counters[DCNT_EVD_DEQUEUE_POLL]++;
		taken = look(slot, event);
		queue->counters[DCNT_EVD_DEQUEUE_POLL_FOUND] += taken || slot->length > 0;
	}
	queue->counters[DCNT_EVD_DEQUEUE]++;
	if (!taken && slot->length == 0) {
		queue->counters[DCNT_EVD_DEQUEUE_NOT_FOUND]++;
		*result = queue->flags & DAT_QUEUE_DTO
		                  ? (DAT_RETURN)DAT_QUEUE_EMPTY
		                  : (DAT_RETURN)(DAT_CLASS_ERROR | DAT_QUEUE_EMPTY);
		return 1;
	}
	queue->counters[DCNT_EVD_DEQUEUE_FOUND]++;
	if (!taken)
		dat_queue_pop(slot, queue, event);
	*result = DAT_SUCCESS;
	return 1;
}

DAT_RETURN dat_evd_dequeue(DAT_EVD_HANDLE evd_handle, DAT_EVENT *event)
{
	DAT_PROVIDED(evd_dequeue, evd_handle, event);
	const uint64_t arguments[] = {DAT_P(evd_handle), DAT_P(event)};
	DAT_RETURN result;
	int crowd;

	if (!dat_enter())
		return dat_refused();
	if (dat_progress.state == CSHIM_ACTIVE)
		cshim_poll_note(&dat_progress);
	if (!dequeue(dat_slot_of(evd_handle, DAT_HANDLE_TYPE_EVD), event, &result)) {
		if (dat_the_lane.on) /* else core would take it all */
			dat_lane_leave(dat_lane_turn());
		result = godat_call(DAT_CALL_evd_dequeue, (uint64_t *)arguments);
		dat_the_lane.leave = DAT_LEAVE_NOTHING;
	}
	crowd = dat_groups_crowd;
	result = dat_leave(result);
	/* what is waited for comes of members that this processor is to run */
	if (crowd && result != DAT_SUCCESS)
		sched_yield();
	return result;
}
