/* queue.c - the events of an EVD (evd.h). */
#include <stdlib.h>
#include <string.h>

#include "dat/evd/room.h"

/* 32-bit programs open no adapter (docs/dev/dat.md). */
_Static_assert((int)EVD_WAITS == (int)DCNT_EVD_WAIT &&
                       (int)EVD_DEQUEUES == (int)DCNT_EVD_DEQUEUE &&
                       (int)EVD_DEQUEUES_FOUND == (int)DCNT_EVD_DEQUEUE_FOUND &&
                       (int)EVD_DEQUEUES_IN_VAIN == (int)DCNT_EVD_DEQUEUE_NOT_FOUND &&
                       (int)EVD_LOOKS == (int)DCNT_EVD_DEQUEUE_POLL &&
                       (int)EVD_LOOKS_FOUND == (int)DCNT_EVD_DEQUEUE_POLL_FOUND,
               "as the program counts them");
_Static_assert(sizeof(void *) < 8 || sizeof(evd_event) == sizeof(DAT_EVENT), "it is one");

cshim_progress dat_progress __attribute__((aligned(128)));

/* Room for events at first, and at most: of an EVD of core's longest size. */
enum { ROOM_FIRST = 32, ROOM_MOST = 1 << 22 };

static evd_event *event_at(const dat_queue *queue, uint32_t index)
{
	return dat_ring_at(&queue->ring, index, sizeof(evd_event));
}

/* Makes room for twice as many events; 0: there is no memory. */
static int grow(const dat_slot *slot, dat_queue *queue)
{
	uint32_t first = 1;

	while (first < queue->size && first < ROOM_FIRST)
		first *= 2;
	return dat_ring_grow(&queue->ring, slot->length, sizeof(evd_event), first, ROOM_MOST);
}

int evd_open(uint64_t evd, uint32_t size, uint32_t flags, uint64_t async)
{
	dat_slot *slot = dat_slot_at(evd);
	dat_queue *queue = calloc(1, sizeof(*queue));

	if (!queue)
		return 0;
	queue->size = size;
	queue->flags = flags;
	queue->async = async;
	if (!grow(slot, queue)) {
		free(queue);
		return 0;
	}
	slot->lane = (uintptr_t)queue;
	return 1;
}

void evd_set_async(uint64_t evd, uint64_t async)
{
	dat_queue_of(dat_slot_at(evd))->async = async;
}

void evd_close(uint64_t evd)
{
	dat_slot *slot = dat_slot_at(evd);
	dat_queue *queue = dat_queue_of(slot);

	evd_set_cno(evd, 0);
	slot->lane = 0;
	slot->length = 0;
	evd_set_ready(slot, 0);
	free((void *)(uintptr_t)queue->ring.at);
	free(queue);
}

/* The poll of the thread that has the lock; evd 0: there is none. */
static struct {
	uint64_t evd;
	evd_event *event;
	int there;
} wanted;

void evd_want(uint64_t evd, void *event)
{
	wanted.evd = evd;
	wanted.event = event;
	wanted.there = 0;
}

int evd_wanted(void)
{
	wanted.evd = 0;
	return wanted.there;
}

/* 1 if the next event of an EVD is the oldest, and goes where the program wants it. */
static int is_wanted(const dat_slot *slot)
{
	return wanted.evd == (uintptr_t)slot && slot->length == 0 && !wanted.there &&
	       !dat_queue_of(slot)->cno;
}

void *evd_place(uint64_t evd)
{
	dat_slot *slot = dat_slot_at(evd);
	dat_queue *queue;

	if (!slot)
		return NULL;
	queue = dat_queue_of(slot);
	if (slot->length >= queue->size ||
	    (__builtin_expect(slot->length == queue->ring.room, 0) && !grow(slot, queue)))
		return NULL;
	return is_wanted(slot) ? wanted.event : event_at(queue, slot->length);
}

void evd_placed(uint64_t evd, int counter, int silent)
{
	dat_slot *slot = dat_slot_at(evd);

	dat_queue_of(slot)->counters[counter]++;
	if (is_wanted(slot)) {
		wanted.there = 1;
		return;
	}
	slot->length++;
	if (silent)
		return;
	evd_set_ready(slot, slot->length);
	cshim_event(&dat_progress);
	if (__builtin_expect(dat_queue_of(slot)->cno != 0, 0))
		cno_fire(evd, dat_queue_of(slot));
}

/* Posts the asynchronous error of a queue that is full. */
static void overflow(uint64_t evd, dat_queue *queue)
{
	const evd_event event = {.number = DAT_ASYNC_ERROR_EVD_OVERFLOW, .data = {evd}};
	const dat_slot *async = dat_slot_at(queue->async);

	if (queue->flags & DAT_QUEUE_OVERFLOWED || queue->async == evd)
		return;
	queue->flags |= DAT_QUEUE_OVERFLOWED;
	queue->overflows++;
	/* another adapter's may have been freed */
	if (async && async->kind == 1 + DAT_HANDLE_TYPE_EVD && async->lane)
		evd_post(queue->async, &event, 0);
}

/* Counts an event by its stream. */
static void count(dat_queue *queue, uint32_t number)
{
	switch (number) {
	case DAT_DTO_COMPLETION_EVENT:
	case DAT_IB_DTO_EVENT:
	case DAT_RMR_BIND_COMPLETION_EVENT:
		queue->counters[DCNT_EVD_DTO_CALLBACK]++;
		break;
	case DAT_SOFTWARE_EVENT:
	case DAT_ASYNC_ERROR_EVD_OVERFLOW:
	case DAT_ASYNC_ERROR_IA_CATASTROPHIC:
	case DAT_ASYNC_ERROR_EP_BROKEN:
		break;
	default:
		queue->counters[DCNT_EVD_CONN_CALLBACK]++;
	}
}

int evd_post(uint64_t evd, const evd_event *event, int silent)
{
	dat_slot *slot = dat_slot_at(evd);
	dat_queue *queue = dat_queue_of(slot);
	evd_event *place;

	if (slot->length >= queue->size || (slot->length == queue->ring.room && !grow(slot, queue))) {
		overflow(evd, queue);
		return 0;
	}
	place = event_at(queue, slot->length);
	*place = *event;
	place->evd = evd;
	slot->length++;
	count(queue, event->number);
	if (!silent)
		evd_wake(evd);
	return 1;
}

void evd_wake(uint64_t evd)
{
	dat_slot *slot = dat_slot_at(evd);

	if (slot->length == 0)
		return;
	evd_set_ready(slot, slot->length);
	cshim_event(&dat_progress);
	cno_fire(evd, dat_queue_of(slot));
}

uint32_t evd_post_software(uint64_t evd, uint32_t number, uint64_t pointer)
{
	const dat_slot *slot = dat_slot_at(evd);
	const dat_queue *queue = dat_queue_of(slot);
	const evd_event event = {.number = number, .data = {pointer}};

	if (!(queue->flags & DAT_QUEUE_SOFTWARE) || number != DAT_SOFTWARE_EVENT)
		return DAT_CLASS_ERROR | DAT_INVALID_PARAMETER | DAT_INVALID_ARG2;
	if (slot->length >= queue->size)
		return DAT_CLASS_ERROR | DAT_QUEUE_FULL;
	return evd_post(evd, &event, 0)
	               ? DAT_SUCCESS
	               : DAT_CLASS_ERROR | DAT_INSUFFICIENT_RESOURCES | DAT_RESOURCE_MEMORY;
}

void evd_set(uint64_t evd, uint32_t flag, int on)
{
	dat_queue *queue = dat_queue_of(dat_slot_at(evd));

	queue->flags = on ? queue->flags | flag : queue->flags & ~flag;
}

void evd_set_waitable(uint64_t evd, int on)
{
	dat_slot *slot = dat_slot_at(evd);

	evd_set(evd, DAT_QUEUE_UNWAITABLE, !on);
	if (on)
		return;
	__atomic_store_n(&slot->poked, CSHIM_OWN(slot->poked) + 1, __ATOMIC_RELAXED);
	cshim_event(&dat_progress);
}

uint32_t evd_set_size(uint64_t evd, int32_t size)
{
	const dat_slot *slot = dat_slot_at(evd);

	if (size <= 0)
		return DAT_CLASS_ERROR | DAT_INVALID_PARAMETER | DAT_INVALID_ARG2;
	if ((uint32_t)size < slot->length)
		return DAT_CLASS_ERROR | DAT_INVALID_STATE;
	if (size > ROOM_MOST)
		return DAT_CLASS_ERROR | DAT_INSUFFICIENT_RESOURCES | DAT_RESOURCE_TEVD;
	dat_queue_of(slot)->size = (uint32_t)size;
	return DAT_SUCCESS;
}

/* Takes the oldest event of at least one. */
static void pop(dat_slot *slot, dat_queue *queue, evd_event *event)
{
	*event = *event_at(queue, 0);
	queue->ring.head++;
	evd_set_ready(slot, --slot->length);
	if (slot->length == 0)
		queue->flags &= ~DAT_QUEUE_OVERFLOWED;
}

uint32_t evd_take(uint64_t evd, evd_event *event)
{
	dat_slot *slot = dat_slot_at(evd);
	dat_queue *queue = dat_queue_of(slot);

	queue->counters[DCNT_EVD_DEQUEUE]++;
	if (queue->flags & DAT_QUEUE_WAITING)
		return DAT_CLASS_ERROR | DAT_INVALID_STATE | DAT_INVALID_STATE_EVD_WAITER;
	if (slot->length > 0) {
		queue->counters[DCNT_EVD_DEQUEUE_FOUND]++;
		pop(slot, queue, event);
		return DAT_SUCCESS;
	}
	queue->counters[DCNT_EVD_DEQUEUE_NOT_FOUND]++;
	/* without the class, as programs expect it */
	return queue->flags & DAT_QUEUE_DTO ? DAT_QUEUE_EMPTY : DAT_CLASS_ERROR | DAT_QUEUE_EMPTY;
}

uint32_t evd_wait_begins(uint64_t evd, int32_t threshold, int blocks)
{
	dat_slot *slot = dat_slot_at(evd);
	dat_queue *queue = dat_queue_of(slot);

	queue->counters[DCNT_EVD_WAIT]++;
	if (threshold < 1 || (uint32_t)threshold > queue->size)
		return DAT_CLASS_ERROR | DAT_INVALID_PARAMETER | DAT_INVALID_ARG3;
	if (queue->flags & DAT_QUEUE_UNWAITABLE)
		return DAT_CLASS_ERROR | DAT_INVALID_STATE | DAT_INVALID_STATE_EVD_UNWAITABLE;
	if (queue->flags & DAT_QUEUE_WAITING)
		return DAT_CLASS_ERROR | DAT_INVALID_STATE | DAT_INVALID_STATE_EVD_WAITER;
	queue->flags = (queue->flags | DAT_QUEUE_WAITING) & ~DAT_QUEUE_BLOCKED;
	if (blocks && slot->length < (uint32_t)threshold) {
		queue->flags |= DAT_QUEUE_BLOCKED;
		queue->counters[DCNT_EVD_WAIT_BLOCKED]++;
	}
	evd_set_ready(slot, slot->length); /* silent ones are found, too */
	return DAT_SUCCESS;
}

uint32_t evd_wait_ends(uint64_t evd, int32_t threshold, evd_event *event, int32_t *more)
{
	dat_slot *slot = dat_slot_at(evd);
	dat_queue *queue = dat_queue_of(slot);

	queue->flags &= ~DAT_QUEUE_WAITING;
	*more = (int32_t)slot->length;
	if (queue->flags & DAT_QUEUE_UNWAITABLE)
		return DAT_CLASS_ERROR | DAT_INVALID_STATE | DAT_INVALID_STATE_EVD_UNWAITABLE;
	if (slot->length < (uint32_t)threshold)
		return DAT_CLASS_ERROR | DAT_TIMEOUT_EXPIRED;
	if (queue->flags & DAT_QUEUE_BLOCKED)
		queue->counters[DCNT_EVD_WAIT_NOTIFY]++;
	pop(slot, queue, event);
	*more = (int32_t)slot->length;
	return DAT_SUCCESS;
}

void evd_wait_cancelled(uint64_t evd)
{
	dat_queue_of(dat_slot_at(evd))->flags &= ~DAT_QUEUE_WAITING;
}
