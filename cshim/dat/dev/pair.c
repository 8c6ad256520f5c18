/* pair.c - pairs and shared queues of receives, from their making to their end. */
#include <string.h>

#include "dat/dev/room.h"

dev_objects dev_all;

/* No handle is 1. */
#define NONE &none, &none, &none, &none, &none, &none, &none, &none
static dev_pair none = {.ep = 1};
dev_pair *dev_recent[DEV_RECENT] = {NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE};

enum { OBJECTS_FIRST = 64, SERIALS = 0x7fffffff /* the highest bit is RECEIVE_BIT's */ };

static int grow(void)
{
	uint32_t room = dev_all.at ? (dev_all.mask + 1) * 2 : OBJECTS_FIRST, i;
	void **at = calloc(room, sizeof *at);

	if (!at)
		return 0;
	for (i = 0; dev_all.at && i <= dev_all.mask; i++) {
		const uint32_t *o = dev_all.at[i];

		if (o)
			at[o[1] & (room - 1)] = dev_all.at[i];
	}
	free(dev_all.at);
	dev_all.at = at;
	dev_all.mask = room - 1;
	return 1;
}

/* Gives a pair or queue a serial; 0: there is no memory. */
static int add(void *object)
{
	uint32_t *o = object;

	if ((!dev_all.at || dev_all.some > dev_all.mask / 2) && !grow())
		return 0;
	do
		dev_all.last = (dev_all.last + 1) & SERIALS;
	while (dev_all.at[dev_all.last & dev_all.mask]);
	o[1] = dev_all.last;
	dev_all.at[o[1] & dev_all.mask] = object;
	dev_all.some++;
	return 1;
}

static void drop(const void *object)
{
	const uint32_t *o = object;

	dev_all.at[o[1] & dev_all.mask] = NULL;
	if (--dev_all.some)
		return;
	free(dev_all.at);
	dev_all.at = NULL;
}

static uint32_t places(uint32_t n)
{
	uint32_t room = 1;

	while (room < n)
		room *= 2;
	return room;
}

dev_pair *dev_open_pair(dev_adapter *adapter, uint32_t requests, uint32_t receives)
{
	dev_pair *pair = calloc(1, sizeof *pair);

	if (!pair)
		return NULL;
	pair->kind = DEV_PAIR;
	pair->adapter = adapter;
	pair->request_mask = places(requests) - 1;
	pair->receive_mask = places(receives) - 1;
	pair->request_ring = calloc(pair->request_mask + 1, sizeof *pair->request_ring);
	pair->receive_ring = calloc(pair->receive_mask + 1, sizeof *pair->receive_ring);
	if (pair->request_ring && pair->receive_ring)
		return pair;
	dev_close_pair(pair);
	return NULL;
}

void dev_close_pair(dev_pair *pair)
{
	dev_pair **recent = dev_recent_of(pair->ep);

	if (*recent == pair)
		*recent = &none;
	free(pair->request_ring);
	free(pair->receive_ring);
	free(pair);
}

void dev_set_limits(dev_pair *pair, uint32_t requests, uint32_t receives, uint32_t bytes)
{
	pair->limit = requests;
	pair->most_receives = pair->qp ? receives : 0; /* else they are flushed */
	pair->most_bytes = bytes;
	dev_set_open(pair, pair->open);
}

int dev_begin_pair(dev_pair *pair, uint64_t qp, uint32_t number, dev_queue *queue)
{
	dev_pair **bucket = &pair->adapter->by_number[number % BUCKETS];
	uint32_t i;

	if (!add(pair))
		return 0;
	pair->qp = qp;
	pair->number = number;
	pair->queue = queue;
	pair->next = *bucket;
	*bucket = pair;
	for (i = 0; i < GONE; i++) { /* the number is another's now */
		if (pair->adapter->gone[i].number == number)
			pair->adapter->gone[i] = (gone_pair){0};
	}
	return 1;
}

void dev_end_pair(dev_pair *pair)
{
	dev_adapter *adapter = pair->adapter;
	dev_pair **at = &adapter->by_number[pair->number % BUCKETS];

	while (*at != pair)
		at = &(*at)->next;
	*at = pair->next;
	drop(pair);
	pair->qp = 0;
	pair->most_receives = 0;
	dev_set_open(pair, 0);
	if (pair->queue && pair->recv)
		adapter->gone[adapter->num_gone++ % GONE] =
			(gone_pair){pair->number, pair->silent, pair->ep, pair->recv};
}

void dev_forget_evd(dev_adapter *adapter, uint64_t evd)
{
	uint32_t i;

	for (i = 0; i < GONE; i++) {
		if (adapter->gone[i].recv == evd)
			adapter->gone[i] = (gone_pair){0};
	}
}

/* Adds places that are free. */
static int add_places(dev_queue *queue, uint32_t room)
{
	dev_receive *receives = realloc(queue->receives, room * sizeof *receives);
	uint32_t i;

	if (!receives)
		return 0;
	queue->receives = receives;
	for (i = queue->room; i < room; i++)
		receives[i].next = i + 1 < room ? i + 1 : queue->free;
	queue->free = queue->room;
	queue->room = room;
	return 1;
}

dev_queue *dev_open_queue(dev_adapter *adapter, uint64_t srq, uint64_t pz, uint32_t receives)
{
	dev_queue *queue = calloc(1, sizeof *queue);

	if (!queue)
		return NULL;
	queue->kind = DEV_QUEUE;
	queue->adapter = adapter;
	queue->srq = srq;
	queue->pz = pz;
	queue->free = UINT32_MAX;
	if (add_places(queue, receives) && add(queue))
		return queue;
	free(queue->receives);
	free(queue);
	return NULL;
}

void dev_close_queue(dev_queue *queue)
{
	drop(queue);
	free(queue->receives);
	free(queue);
}

int dev_resize_queue(dev_queue *queue, uint32_t receives)
{
	return receives <= queue->room || add_places(queue, receives);
}
