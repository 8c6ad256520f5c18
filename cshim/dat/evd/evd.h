/*
 * evd.h - the queue of an EVD: the contract of this room. Under the block's lock.
 */
#ifndef DAT_EVD_H
#define DAT_EVD_H

#include "dat/dat.h"
#include "dat/evd/queue.h"

static inline dat_queue *dat_queue_of(const dat_slot *slot)
{
	return (dat_queue *)(uintptr_t)slot->lane;
}

/* Takes the oldest event of at least one. */
void dat_queue_pop(dat_slot *slot, dat_queue *queue, DAT_EVENT *event);
/*
 * The next event of an EVD whose queue is empty is to be written where the program wants it, and
 * not to the queue first: as it is made of short stores, a copy right after them would wait for
 * them. Until dat_queue_wanted: 1 if it was, and so has been taken. Nothing of core's in between,
 * which may let another thread have the lock. evd 0: nothing.
 */
void dat_queue_want(uint64_t evd, DAT_EVENT *event);
int dat_queue_wanted(void);
/* Where an event is to be written that dat_queue_post then adds; NULL: core must do it. */
DAT_EVENT *dat_queue_place(uint64_t evd);
/* counter: DCNT_EVD_DTO_CALLBACK or another. silent: it ends no wait. */
void dat_queue_post(uint64_t evd, int counter, int silent);

#endif
