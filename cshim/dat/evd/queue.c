/* queue.c - the events of an EVD, in memory that core shares (core/dat/queue_unsafe.go). */
#include "dat/evd/evd.h"

/* 32-bit programs open no adapter (docs/dat.md). */
_Static_assert(sizeof(void *) < 8 || sizeof(DAT_EVENT) == 120, "core has the same");

static DAT_EVENT *event_at(const dat_queue *queue, uint32_t index)
{
	return (DAT_EVENT *)(uintptr_t)queue->events + (index & (queue->room - 1));
}

/* What the thread that has the lock polls for; evd 0: nothing. */
static struct {
	uint64_t evd;
	DAT_EVENT *event;
	int there;
} wanted;

void dat_queue_want(uint64_t evd, DAT_EVENT *event)
{
	wanted.evd = evd;
	wanted.event = event;
	wanted.there = 0;
}

int dat_queue_wanted(void)
{
	wanted.evd = 0;
	return wanted.there;
}

/* 1 if the next event of an EVD is the oldest, and goes where the program wants it. */
static int is_wanted(const dat_slot *slot)
{
	return wanted.evd == (uintptr_t)slot && slot->length == 0 && !wanted.there;
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
	return is_wanted(slot) ? wanted.event : event_at(queue, queue->head + slot->length);
}

void dat_queue_post(uint64_t evd, int counter, int silent)
{
	dat_slot *slot = (dat_slot *)(uintptr_t)evd;

	dat_queue_of(slot)->counters[counter]++;
	if (is_wanted(slot)) {
		wanted.there = 1;
		return;
	}
	slot->length++;
	if (silent)
		return;
	slot->ready = slot->length;
	cshim_event(&dat_progress);
}
