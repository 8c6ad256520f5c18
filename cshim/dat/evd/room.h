/* room.h - what the files of this room share. Private to cshim/dat/evd. */
#ifndef DAT_EVD_ROOM_H
#define DAT_EVD_ROOM_H

#pragma GCC visibility push(default)
#include <dat2/udat.h>
#include <dat2/dat_ib_extensions.h>
#pragma GCC visibility pop

#include "dat/evd/evd.h"

/* cno.c: an EVD has events: its CNO is triggered, if it has one and is enabled. */
void cno_fire(uint64_t evd, dat_queue *queue);

#endif
