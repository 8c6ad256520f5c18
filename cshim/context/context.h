/*
 * context.h - the context block: what the C entry points, the library's own threads and core share
 * of one LAPI context (handle). Private to the library.
 *
 * core reads and writes the block through transport/layout, generated from this file; fixed-width
 * members only, so that one layout serves every word size. A comment at each member says who writes
 * it and what orders it. A block is used again after LAPI_Term: see progress.h.
 */
#ifndef CSHIM_CONTEXT_H
#define CSHIM_CONTEXT_H

#include <stdint.h>

#include "progress/progress.h"

/* LAPI instances of one process: guide, LAPI_Init, instance_no 1 to 16 */
#define CSHIM_MAX_CONTEXTS 16
#define CSHIM_LANE_HANDLERS 256 /* indices of LAPI_Addr_set: LOC_ADDRTBL_SZ */

typedef struct cshim_context {
	/* first; the handle is progress.handle, and user handlers get a pointer to that member */
	cshim_progress progress;

	/* Written by LAPI_Init before state becomes ACTIVE, constant until LAPI_Term. */
	int32_t task;
	int32_t num_tasks;
	uint64_t lane; /* address of the cshim_lane, 0: there is none */
	/* address of the node_link whose barrier LAPI_Gfence uses, 0: it is core's */
	uint64_t barrier;
	uint64_t outboxes; /* address of the cshim_outboxes, 0: there are none */
	/* Tracing (trace.h): likewise, and written after the threads have ended; looked at under
	 * the lock. */
	uint64_t trace_file;  /* where the cshim_trace_head is mapped, while trace_level is not 0 */
	CSHIM_SHARED uint32_t trace_level; /* atomic: 0 is off */

	/*
	 * What LAPI_Msgpoll returns: LAPI_SEND_COMPLETE, LAPI_RECV_COMPLETE; core sets bits,
	 * Msgpoll takes them; under the lock.
	 */
	uint32_t msg_state;

	/*
	 * Completion handlers: core adds 1 for each handler it queues, under the lock; handler
	 * threads sleep on it.
	 */
	CSHIM_SHARED uint32_t completion_seq;     /* atomic futex */
	uint32_t completion_threads; /* constant: how many handler threads LAPI_Init makes */

	/* C's own. */
	uint32_t incarnations; /* by the owner of the state INITIALIZING: so far */
	uint32_t leaving;      /* under the lock: LAPI_Term has begun */
	uint32_t lib_vers;     /* constant: lapi_info_t.lib_vers */
	/*
	 * atomic, written under the lock: LAPI_Setcntr_wstatus has been called in this generation
	 */
	CSHIM_SHARED uint32_t listed;
	/* under the lock: calls of LAPI_Waitcntr that had nothing to wait for */
	uint32_t satisfied;
	/* under the lock: LAPI_Probe without news in a row, where tasks share processors */
	uint32_t idle_probes;
	uint32_t sends; /* under the lock: transfers that were begun */
	/* under the lock: the ticket asked is not done while event_seq is this */
	uint32_t asked_events;
	/* under the lock: the ticket that core was last asked about; it was not done then */
	uint64_t asked;
	/* under the lock: threads that wait on condition variables, oldest first (share.c) */
	CSHIM_AT(struct cshim_sharer) sharers;
} cshim_context;

#endif
