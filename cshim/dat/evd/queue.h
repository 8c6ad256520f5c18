/*
 * queue.h - the events of an EVD, as C and core share them. Under the block's lock; made by core, off
 * the Go heap.
 */
#ifndef DAT_QUEUE_H
#define DAT_QUEUE_H

#include <stdint.h>

/* flags of a dat_queue */
#define DAT_QUEUE_WAITING 1u /* a thread is in dat_evd_wait */
#define DAT_QUEUE_BLOCKED 2u /* in one that has found too few events */
#define DAT_QUEUE_UNWAITABLE 4u
#define DAT_QUEUE_OVERFLOWED 8u /* the asynchronous error was posted since it was empty */
#define DAT_QUEUE_CNO 16u       /* constant or by core: an event is more than an event */
#define DAT_QUEUE_TRANSFERS 32u /* constant: for nothing but what data transfers bring */
#define DAT_QUEUE_DTO 64u       /* constant: DAT_EVD_DTO_FLAG */
#define DAT_QUEUE_SOLICITED 128u /* by core: some receives wake only if solicited */

#define DAT_QUEUE_COUNTERS 10 /* DAT_EVD_COUNTERS */

/* The events of an EVD; how many is in its slot. */
typedef struct dat_queue {
	uint64_t events; /* address of DAT_EVENT[room] */
	uint32_t room;   /* a power of two; core makes more */
	uint32_t head;   /* the oldest is in place head % room */
	uint32_t size;   /* events that fit */
	uint32_t flags;
	uint64_t counters[DAT_QUEUE_COUNTERS];
} dat_queue;

#endif
