/*
 * waiting.h - which threads of this process wait, in which call, since when and for what: for a dump
 * (dump.h), and for debuggers.
 *
 * A thread gets a record when its wait has become long, after a look and a progress call in vain, so
 * calls that end at once have none and cost nothing. The table belongs to the process; a record
 * belongs to the thread from begin to end. Other threads only read, without any lock: each member
 * is atomic, and changes is odd while a record is written and differs afterwards.
 */
#ifndef CSHIM_WAITING_H
#define CSHIM_WAITING_H

#include <stdint.h>

#include "progress/progress.h"

/* Records; threads beyond have none, and a dump reports how many these are. */
enum { CSHIM_WAITING_MOST = 128 };

/* Kinds of objects of records. */
enum {
	CSHIM_SHOWS_NOTHING,
	CSHIM_SHOWS_COUNTER, /* an int: the wait is over when it is at least wanted */
	CSHIM_SHOWS_EVENTS   /* of dat_evd_wait and dat_cno_wait: wanted is the threshold */
};

typedef struct cshim_waiting {
	uint32_t tid;     /* atomic: the thread; 0: the record is free */
	uint32_t changes; /* atomic: see above */
	uint32_t shows;
	const char *call; /* a constant: LAPI_Waitcntr */
	const cshim_progress *progress;
	const void *object;
	int64_t wanted;
	int64_t since_ns; /* of CLOCK_MONOTONIC */
} cshim_waiting;

/* The calling thread waits from now on. Never NULL; progress may be. */
cshim_waiting *cshim_waiting_begin(const cshim_progress *progress, const char *call,
                                   uint32_t shows, const void *object, int64_t wanted);
/* It waits no more. NULL: it has no record. */
void cshim_waiting_end(cshim_waiting *waiting);

/* Copies record number i; 0: it is free, or kept changing. */
int cshim_waiting_read(int i, cshim_waiting *copy);
/* How many threads wait without a record. */
uint32_t cshim_waiting_without(void);

#endif
