/* wait.c - dat_evd_wait, dat_cno_wait and dat_evd_dequeue. */
#include <pthread.h>
#include <sched.h>

#include "node/probe.h"
#include "dat/godat.h"
#include "dat/coll/coll.h"
#include "dat/evd/evd.h"
#include "dat/rc/rc.h"
#include "dat/api/block.h"
#include "progress/wait.h"

/*
 * A thread that polls an EVD with events of a group, or waits for members that share processors,
 * looks at the links every GROUP_LOOKS-th time; if it waits for an adapter's write, every
 * NEAR_LOOKS-th time.
 */
enum { GROUP_LOOKS = 8, NEAR_LOOKS = 64 };

/* Waits until threshold events are ready, or the object is freed or poked. */
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

static const cshim_goal_kind event_kind = {
	.over = over, .cancels = 1, .call = "dat_evd_wait", .shows = CSHIM_SHOWS_EVENTS};
/* Each look has a progress call: without one nothing arrives from a peer. */
static const cshim_patience patience = {
	.looks = 64, .looks_per_call = 1, .call_first = 1, .sockets = 1};

/* The thread is cancelled in its sleep: its call was left, and the object forgets the wait. */
typedef struct cancelled_wait {
	DAT_HANDLE_TYPE kind;
	const void *handle;
	uint64_t object;      /* dat_slot.lane: another's if the object was freed */
	uint32_t incarnation; /* of the block */
} cancelled_wait;

/* 1 if the object of a wait is there still. Not inline: where cleanups are by setjmp, compilers
 * take its variables for clobbered. */
static __attribute__((noinline)) int is_there(const cancelled_wait *wait)
{
	const dat_slot *slot = handle_find(wait->handle, (uint32_t)wait->kind);

	return slot && slot->lane == wait->object;
}

static void cancelled(void *argument)
{
	const cancelled_wait *wait = argument;

	if (!dat_enter())
		return;
	if (dat_progress.handle == wait->incarnation) {
		if (!is_there(wait))
			; /* nothing to forget */
		else if (wait->kind == DAT_HANDLE_TYPE_EVD)
			evd_wait_cancelled(DAT_P(wait->handle));
		else
			cno_waits(DAT_P(wait->handle), 0);
		cshim_poll_end(&dat_progress);
	}
	dat_leave(DAT_SUCCESS);
}

/* Waits, under the lock; timeout in microseconds. CSHIM_WAIT_ENDED: no adapter is open any more. */
static int wait_for(const dat_slot *slot, uint32_t threshold, DAT_TIMEOUT timeout)
{
	event_wait wait = {slot, CSHIM_OWN(slot->poked), threshold};
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

/*
 * The same, where the thread may be cancelled, for an object that notes the wait. DAT_SUCCESS: it
 * is there still, and says what has come. ABORTED: it was freed, or no adapter is open any more.
 */
static DAT_RETURN wait_cancellable(const void *handle, DAT_HANDLE_TYPE kind, uint32_t threshold,
                                   DAT_TIMEOUT timeout)
{
	const dat_slot *slot = handle;
	cancelled_wait wait = {kind, handle, slot->lane, dat_progress.handle};
	DAT_RETURN result;
	int how;

	cshim_poll_begin(&dat_progress);
	pthread_cleanup_push(cancelled, &wait);
	how = wait_for(slot, threshold, timeout);
	pthread_cleanup_pop(0);
	/* of a library that is broken the event that reports it can be taken */
	result = (how == CSHIM_WAIT_ENDED && !dat_is_broken) || !is_there(&wait) ? ABORTED
	                                                                         : DAT_SUCCESS;
	cshim_poll_end(&dat_progress);
	return result;
}

/* The arguments of dat_evd_wait. */
typedef struct dat_wait {
	DAT_EVD_HANDLE evd;
	DAT_TIMEOUT timeout;
	DAT_COUNT threshold;
	DAT_EVENT *event;
	DAT_COUNT *n_more;
} dat_wait;

/* An adapter keeps events that wake nobody until a thread looks. */
static void collect_silent(const dat_slot *slot)
{
	if (dat_queue_of(slot)->flags & DAT_QUEUE_SOLICITED && !dat_is_broken)
		godat_progress();
}

static DAT_RETURN wait_by(const dat_wait *wait)
{
	const dat_slot *slot = handle_find(wait->evd, DAT_HANDLE_TYPE_EVD);
	uint64_t evd = DAT_P(wait->evd);
	DAT_RETURN result;

	if (wait->event && !node_can_write(wait->event, sizeof(*wait->event)))
		return DAT_BAD_ARGUMENT(4);
	if (wait->n_more && !node_can_write(wait->n_more, sizeof(*wait->n_more)))
		return DAT_BAD_ARGUMENT(5);
	if (!slot)
		return DAT_BAD_EVD;
	if (!wait->event || !wait->n_more)
		return DAT_BAD_ARGUMENT(wait->event ? 5 : 4);
	collect_silent(slot);
	result = evd_wait_begins(evd, wait->threshold, wait->timeout != 0);
	if (result != DAT_SUCCESS)
		return result;
	result = wait_cancellable(wait->evd, DAT_HANDLE_TYPE_EVD, (uint32_t)wait->threshold,
	                          wait->timeout);
	if (result != DAT_SUCCESS)
		return result;
	if (slot->length < (uint32_t)wait->threshold)
		collect_silent(slot);
	result =
		evd_wait_ends(evd, wait->threshold, (evd_event *)(void *)wait->event, wait->n_more);
	return result != DAT_SUCCESS && dat_is_broken ? ABORTED : result;
}

static DAT_RETURN wait_for_cno(DAT_CNO_HANDLE cno, DAT_TIMEOUT timeout, DAT_EVD_HANDLE *evd_handle)
{
	uint64_t evd;
	DAT_RETURN result;

	if (evd_handle && !node_can_write(evd_handle, sizeof(*evd_handle)))
		return DAT_BAD_ARGUMENT(3);
	if (!handle_find(cno, DAT_HANDLE_TYPE_CNO))
		return DAT_BAD_CNO;
	if (!evd_handle)
		return DAT_BAD_ARGUMENT(3);
	cno_waits(DAT_P(cno), 1);
	result = wait_cancellable(cno, DAT_HANDLE_TYPE_CNO, 1, timeout);
	if (result != DAT_SUCCESS)
		return result;
	cno_waits(DAT_P(cno), 0);
	result = cno_take(DAT_P(cno), &evd);
	*evd_handle = (DAT_EVD_HANDLE)(uintptr_t)evd;
	return result != DAT_SUCCESS && dat_is_broken ? ABORTED : result;
}

DAT_RETURN dat_cno_wait(DAT_CNO_HANDLE cno_handle, DAT_TIMEOUT timeout, DAT_EVD_HANDLE *evd_handle)
{
	DAT_PROVIDED(cno_wait, cno_handle, timeout, evd_handle);
	if (!dat_enter())
		return dat_refused();
	return dat_leave(wait_for_cno(cno_handle, timeout, evd_handle));
}

/* Looks for events by core, which also looks at its sockets. */
static void look_by_core(void)
{
	if (dat_the_lane.on)
		rc_turn();
	godat_progress();
}

/*
 * Looks for events: first where they take least, so that a thread that waits for a group's is not
 * held up. 1: the oldest was taken and is in *event.
 */
static int look(const dat_slot *slot, const dat_queue *queue, DAT_EVENT *event)
{
	static uint32_t looks;

	if (!dat_the_lane.on || !(queue->flags & DAT_QUEUE_TRANSFERS)) {
		look_by_core();
		return 0;
	}
	if (dat_groups) {
		if (dat_groups_turn() & DAT_LANE_CORE) {
			look_by_core();
			return 0;
		}
		if ((slot->length > 0 || dat_groups_crowd || dat_groups_near) &&
		    ++looks % (dat_groups_near ? NEAR_LOOKS : GROUP_LOOKS))
			return 0;
	}
	return rc_poll((uintptr_t)slot, event);
}

static DAT_RETURN dequeue(DAT_EVD_HANDLE evd, DAT_EVENT *event)
{
	const dat_slot *slot = handle_find(evd, DAT_HANDLE_TYPE_EVD);
	dat_queue *queue;
	int taken = 0;

	if (event && !node_can_write(event, sizeof(*event)))
		return DAT_BAD_ARGUMENT(2);
	if (!slot)
		return DAT_BAD_EVD;
	if (!event)
		return DAT_BAD_ARGUMENT(2);
	queue = dat_queue_of(slot);
	if (slot->length == 0 && !(queue->flags & DAT_QUEUE_WAITING) && !dat_is_broken) {
		evd_looks(queue);
		taken = look(slot, queue, event);
		if (dat_queue_of(slot) != queue) /* a thread that core has let in has freed it */
			return DAT_BAD_EVD;
		if (taken || slot->length > 0)
			evd_looked(queue);
	}
	if (!taken)
		return evd_take(DAT_P(evd), (evd_event *)(void *)event);
	evd_taken(queue);
	return DAT_SUCCESS;
}

/* As a whole; begun as dat_enter_quickly has it. */
static __attribute__((noinline, cold)) DAT_RETURN slow_dequeue(DAT_EVD_HANDLE evd_handle,
                                                               DAT_EVENT *event, int begun)
{
	if (begun == DAT_NOT_BEGUN)
		DAT_PROVIDED(evd_dequeue, evd_handle, event);
	DAT_RETURN result;
	int crowd;

	if (!dat_enter_after(begun))
		return dat_refused();
	if (CSHIM_OWN(dat_progress.state) == CSHIM_ACTIVE)
		cshim_poll_note(&dat_progress);
	result = dequeue(evd_handle, event);
	crowd = dat_groups_crowd;
	result = dat_leave(result);
	/* the members that it waits for share this processor: let them run */
	if (crowd && result != DAT_SUCCESS)
		sched_yield();
	return result;
}

/* After a look of an EVD without events, in which core has had a turn. */
static __attribute__((noinline, cold)) DAT_RETURN after_core(DAT_EVD_HANDLE evd, DAT_EVENT *event,
                                                             dat_queue *queue, int taken)
{
	const dat_slot *slot = handle_find(evd, DAT_HANDLE_TYPE_EVD);

	if (!slot || dat_queue_of(slot) != queue) /* a thread that core has let in has freed it */
		return dat_leave(DAT_BAD_EVD);
	if (taken || slot->length > 0)
		evd_looked(queue);
	if (!taken)
		return dat_leave(evd_take(DAT_P(evd), (evd_event *)(void *)event));
	evd_taken(queue);
	return dat_leave(DAT_SUCCESS);
}

/* 1 if the EVD has events of nothing but transfers, and if it has none RDMA adapters alone are asked. */
static inline __attribute__((always_inline)) int looks_quickly(const dat_slot *slot)
{
	enum { OF = DAT_QUEUE_TRANSFERS | DAT_QUEUE_DTO };

	return slot && (dat_queue_of(slot)->flags & (OF | DAT_QUEUE_WAITING)) == OF &&
	       !dat_is_broken && !dat_progress.not_polling && rc_adapters_alone();
}

DAT_RETURN dat_evd_dequeue(DAT_EVD_HANDLE evd_handle, DAT_EVENT *event)
{
	int begun = dat_enter_quickly(), found;
	DAT_RETURN result = DAT_SUCCESS;
	const dat_slot *slot;
	dat_queue *queue;

	if (__builtin_expect(begun != DAT_ENTERED, 0))
		return slow_dequeue(evd_handle, event, begun);
	slot = handle_find(evd_handle, DAT_HANDLE_TYPE_EVD);
	if (!looks_quickly(slot) || !event || !node_can_write(event, sizeof *event))
		return slow_dequeue(evd_handle, event, begun);
	cshim_poll_note(&dat_progress);
	if (slot->length > 0) {
		result = evd_take((uintptr_t)slot, (evd_event *)(void *)event);
		dat_leave_quickly();
		return result;
	}
	queue = dat_queue_of(slot);
	evd_looks(queue);
	found = rc_poll_adapters((uintptr_t)slot, event);
	if (__builtin_expect(found & RC_CORE_CALLED, 0))
		return after_core(evd_handle, event, queue, found & 1);
	if (!found && slot->length == 0) {
		evd_not_taken(queue);
		result = DAT_QUEUE_EMPTY;
	} else {
		evd_looked(queue);
		if (found)
			evd_taken(queue);
		else
			result = evd_take((uintptr_t)slot, (evd_event *)(void *)event);
	}
	dat_leave_with_events();
	return result;
}

/* As a whole; begun as dat_enter_quickly has it. */
static __attribute__((noinline, cold)) DAT_RETURN slow_wait(const dat_wait *wait, int begun)
{
	if (begun == DAT_NOT_BEGUN)
		DAT_PROVIDED(evd_wait, wait->evd, wait->timeout, wait->threshold, wait->event,
		             wait->n_more);
	return dat_enter_after(begun) ? dat_leave(wait_by(wait)) : dat_refused();
}

/*
 * Takes the event that a wait is for, if one is there, or the adapters have a completion for it, and
 * nothing is unusual. 0: nothing was done.
 */
static inline int wait_quickly(dat_slot *slot, const dat_wait *wait)
{
	int found;

	if (!looks_quickly(slot) ||
	    dat_queue_of(slot)->flags & (DAT_QUEUE_UNWAITABLE | DAT_QUEUE_SOLICITED) ||
	    wait->threshold != 1 || !wait->event || !wait->n_more ||
	    !node_can_write(wait->event, sizeof *wait->event) ||
	    !node_can_write(wait->n_more, sizeof *wait->n_more))
		return 0;
	cshim_poll_note(&dat_progress);
	if (slot->length > 0) {
		evd_wait_begins((uintptr_t)slot, 1, 0);
		evd_wait_ends((uintptr_t)slot, 1, (evd_event *)(void *)wait->event, wait->n_more);
		return 1;
	}
	found = rc_poll_adapters((uintptr_t)slot, wait->event);
	if (!(found & 1))
		return 0;
	if (found & RC_CORE_CALLED) /* it may have let in a thread that has freed the EVD */
		slot = handle_find(wait->evd, DAT_HANDLE_TYPE_EVD);
	*wait->n_more = 0;
	if (slot) {
		*wait->n_more = (int32_t)slot->length;
		evd_waited(dat_queue_of(slot));
	}
	return 1;
}

DAT_RETURN dat_evd_wait(DAT_EVD_HANDLE evd_handle, DAT_TIMEOUT timeout, DAT_COUNT threshold,
                        DAT_EVENT *event, DAT_COUNT *n_more)
{
	const dat_wait wait = {evd_handle, timeout, threshold, event, n_more};
	int begun = dat_enter_quickly();

	if (__builtin_expect(begun != DAT_ENTERED, 0) ||
	    !wait_quickly(handle_find(evd_handle, DAT_HANDLE_TYPE_EVD), &wait))
		return slow_wait(&wait, begun);
	dat_leave_with_events();
	return DAT_SUCCESS;
}
