/* room.h - what the files of this room share. Private to cshim/dat/evd. */
#ifndef DAT_EVD_ROOM_H
#define DAT_EVD_ROOM_H

#pragma GCC visibility push(default)
#include <dat2/udat.h>
#include <dat2/dat_ib_extensions.h>
#pragma GCC visibility pop

#include "dat/evd/evd.h"

/* Relaxed: a thread that waits looks at it without the lock, and takes events under the lock. */
static inline void evd_set_ready(dat_slot *slot, uint32_t ready)
{
	__atomic_store_n(&slot->ready, ready, __ATOMIC_RELAXED);
}

/* cno.c: an EVD has events: its CNO is triggered, if it has one and is enabled. */
void cno_fire(uint64_t evd, dat_queue *queue);

#endif
