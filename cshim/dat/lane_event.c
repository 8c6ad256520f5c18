/* lane_event.c - the events of an EVD, in memory that core shares (core/dat/queue_unsafe.go). */
#include "dat_lane_shared.h"

/* 32-bit programs open no adapter (docs/dat.md). */
_Static_assert(sizeof(void *) < 8 || sizeof(DAT_EVENT) == 120, "core has the same");

dat_lane dat_the_lane;

static DAT_EVENT *event_at(const dat_queue *queue, uint32_t index)
{
	return (DAT_EVENT *)(uintptr_t)queue->events + (index & (queue->room - 1));
}

void dat_queue_pop(dat_slot *slot, dat_queue *queue, DAT_EVENT *event)
{
	*event = *event_at(queue, queue->head++);
	slot->ready = --slot->length;
	if (slot->length == 0)
		queue->flags &= ~DAT_QUEUE_OVERFLOWED;
}

/*
 * A CNO hears of each event, an overflow is told, memory for more events is made: core does all of
 * that.
 */
DAT_EVENT *dat_queue_place(uint64_t evd)
{
	const dat_slot *slot = (const dat_slot *)(uintptr_t)evd;
	const dat_queue *queue;

	if (!slot)
		return NULL;
	queue = dat_queue_of(slot);
	if (queue->flags & DAT_QUEUE_CNO || slot->length >= queue->room ||
	    slot->length >= queue->size)
		return NULL;
	return event_at(queue, queue->head + slot->length);
}

void dat_queue_post(uint64_t evd, int counter, int silent)
{
	dat_slot *slot = (dat_slot *)(uintptr_t)evd;

	slot->length++;
	dat_queue_of(slot)->counters[counter]++;
	if (silent)
		return;
	slot->ready = slot->length;
	cshim_event(&dat_progress);
}
