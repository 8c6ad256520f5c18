/*
 * trace.h - trace files (MP_LAPI_TRACE_LEVEL): their layout, and how the C side adds records.
 * Private to the library.
 *
 * A trace file is a head and a fixed number of records, mapped shared and writable by its task from
 * LAPI_Init to LAPI_Term, so that what was recorded survives the task's death. A writer claims a
 * record by adding 1 to next, fills it, and stores kind last (release), which makes it valid: a
 * record whose kind is 0 was claimed by a thread that died or is still writing. Claims beyond
 * capacity are records lost. core/trace reads and writes the same layout through transport/layout.
 * Byte order is the machine's.
 */
#ifndef CSHIM_TRACE_H
#define CSHIM_TRACE_H

#include <stdint.h>

#include "cpu/shared.h"
#define CSHIM_TRACE_MAGIC 0x3165636172744150u /* bytes "PAtrace1" */
#define CSHIM_TRACE_VERSION 2
#define CSHIM_TRACE_NAME 24

/* Levels: each adds to those below it. */
#define CSHIM_TRACE_CALLS 1      /* calls with their return codes, errors */
#define CSHIM_TRACE_MESSAGES 2   /* messages, and copies straight between two tasks' memory */
#define CSHIM_TRACE_HANDLERS 3   /* handlers, waits, sleeps, counters */
#define CSHIM_TRACE_PACKETS 4    /* retransmissions, duplicates, packets of each turn */
#define CSHIM_TRACE_DISPATCHER 5 /* turns of the dispatcher that did something */

/* kind: what the record is, and of what in the next byte */
#define CSHIM_TRACE_BEGIN 1 /* a slice of this thread begins */
#define CSHIM_TRACE_END 2   /* the thread's latest slice of this category ends, with code */
#define CSHIM_TRACE_INSTANT 3
#define CSHIM_TRACE_COMPLETE 4 /* a slice that began at ns and took id nanoseconds */
/* a message to peer: id identifies its header; handing it over took code nanoseconds */
#define CSHIM_TRACE_SENT 5
/* a message from peer begins to be handled; ends by an END, whose code is 1 if it was refused */
#define CSHIM_TRACE_RECEIVED 6

#define CSHIM_TRACE_CALL 0x100
#define CSHIM_TRACE_MESSAGE 0x200
#define CSHIM_TRACE_HANDLER 0x300
#define CSHIM_TRACE_WAIT 0x400
#define CSHIM_TRACE_PACKET 0x500
#define CSHIM_TRACE_TURN 0x600
#define CSHIM_TRACE_ERROR 0x700
#define CSHIM_TRACE_COUNTER 0x800

/* And, of a message or a copy, in the upper half: the link to or from the peer. 0: not known. */
#define CSHIM_TRACE_LINK_SHIFT 16
#define CSHIM_TRACE_BY_SELF 1
#define CSHIM_TRACE_BY_SHM 2
#define CSHIM_TRACE_BY_UDP 3
#define CSHIM_TRACE_BY_RDMA 4

typedef struct cshim_trace_record {
	uint64_t ns; /* CLOCK_MONOTONIC */
	uint64_t id;
	uint64_t size;  /* bytes, or how many */
	int32_t thread; /* kernel's id */
	int32_t peer;   /* task, -1: none */
	int32_t code;
	CSHIM_SHARED uint32_t kind;                  /* atomic, stored last */
	uint8_t name[CSHIM_TRACE_NAME]; /* padded with 0; a longer name is cut */
} cshim_trace_record;

typedef struct cshim_trace_head {
	uint64_t magic;
	uint32_t version;
	uint32_t level;
	int32_t task;
	int32_t num_tasks;
	int32_t instance;
	int32_t pid;
	uint64_t capacity; /* records */
	/* atomic: records claimed; more than capacity: the difference was lost */
	CSHIM_SHARED uint64_t next;
	/*
	 * CLOCK_MONOTONIC just after the tasks met in LAPI_Init: aligns the clocks of several
	 * machines
	 */
	uint64_t opened_ns;
	uint8_t machine[16];   /* the same in all tasks of one machine since it was started */
	uint8_t partition[56]; /* cut, padded with 0 */
} cshim_trace_head;

#ifndef __cplusplus
_Static_assert(sizeof(cshim_trace_record) == 64, "a record is one line");
_Static_assert(sizeof(cshim_trace_head) == 128, "the head is two lines");
#endif

#endif
