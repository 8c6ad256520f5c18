/*
 * context.h - the context block: what the C entry points, the library's own threads and core share of one LAPI
 * context (handle). Private to the library.
 *
 * core reads and writes the block through transport/layout, generated from this file; fixed-width members only, no
 * pointers, so that one layout serves every word size. A comment at each member says who writes it and what orders it.
 */
#ifndef CSHIM_CONTEXT_H
#define CSHIM_CONTEXT_H

#include <stdint.h>

#define CSHIM_MAX_CONTEXTS 16   /* LAPI instances of one process: guide, LAPI_Init, instance_no 1 to 16 */
#define CSHIM_MAX_DESCRIPTORS 16

/* state */
#define CSHIM_FREE 0
#define CSHIM_INITIALIZING 1
#define CSHIM_ACTIVE 2
#define CSHIM_TERMINATING 3

/* flags returned by golapi_dispatch */
#define CSHIM_DISPATCH_TICKET 1u   /* the ticket asked for is done */
#define CSHIM_DISPATCH_PROGRESS 2u /* something arrived, was sent or completed */
#define CSHIM_DISPATCH_ERROR 4u    /* an error waits for golapi_next_error */

typedef struct cshim_context {
	/* Identity: written by LAPI_Init before state becomes ACTIVE (release), constant until LAPI_Term. */
	uint32_t state;        /* atomic; above */
	uint32_t handle;       /* the lapi_handle_t; user handlers get a pointer to this member */
	int32_t task;
	int32_t num_tasks;

	/* The context lock (lock.h); more of it at the end. */
	uint32_t lock_word;    /* atomic: 0 free, else the owner's thread id */
	uint32_t lock_depth;   /* owner only: how often it has locked */
	uint32_t lock_waiters; /* atomic: threads inside the slow path of locking */
	uint32_t lock_turns;   /* atomic: how often ownership was taken; lets a yielding owner see that another had its turn */

	/* Progress and sleep. */
	uint32_t event_seq;     /* atomic: core adds 1, under the lock, when a counter changed, a message or a ticket completed */
	uint32_t pollers;       /* atomic: user and handler threads inside a waiting or polling call */
	uint32_t poll_turns;    /* atomic: changes with each polling call; the service thread looks for change */
	uint32_t watcher;       /* atomic: thread id of the one thread asleep on the descriptors, 0 if none */
	uint32_t interrupt_set; /* atomic: LAPI_Senv INTERRUPT_SET; written by core under the lock */
	uint32_t spin_turns;    /* constant: empty dispatcher turns before a waiting thread yields */
	uint32_t yield_turns;   /* constant: yields before it sleeps */

	/* What LAPI_Msgpoll returns: LAPI_SEND_COMPLETE, LAPI_RECV_COMPLETE; core sets bits, Msgpoll takes them; under the lock. */
	uint32_t msg_state;
	uint32_t dispatching;   /* under the lock: 1 while golapi_dispatch runs, so that handlers do not nest it */

	/* Completion handlers: core adds 1 for each handler it queues, under the lock; handler threads sleep on it. */
	uint32_t completion_seq;     /* atomic futex */
	uint32_t completion_threads; /* constant: how many handler threads LAPI_Init makes */

	/* What a sleeping thread polls: constant while ACTIVE. */
	int32_t num_descriptors;
	int32_t descriptors[CSHIM_MAX_DESCRIPTORS]; /* [0] is an eventfd of this process: cshim_kick writes it */
	/* Tracing (trace.h): written by core in LAPI_Init before state becomes ACTIVE and after the threads have ended; looked at under the lock. */
	uint32_t trace_level;  /* atomic: 0 is off */
	uint32_t trace_reserved;
	uint64_t trace_file;   /* where the cshim_trace_head is mapped, while trace_level is not 0 */
	uint64_t lane;         /* address of the cshim_lane, 0: there is none; written like trace_level */

	/* The context lock, continued. Never reset: threads of an earlier incarnation may still be on their way out. */
	uint64_t lock_thread;  /* atomic: the owner's pthread_t, 0 if free; only the owner writes */
	uint32_t lock_after;   /* atomic: what a thread must see to that has released the lock: CSHIM_LOCK_ flags */
	uint32_t lock_wakes;   /* atomic futex: changes when sleeping waiters shall look at the lock again */
	uint64_t barrier;      /* address of the node_link whose barrier LAPI_Gfence uses, 0: it is core's; likewise */
	uint64_t outboxes;     /* address of the cshim_outboxes, 0: there are none; likewise */
} cshim_context;

/* lock_after */
#define CSHIM_LOCK_WAKE 1u  /* somebody sleeps, or is about to: one must be woken */
#define CSHIM_LOCK_FENCE 2u /* waiters cannot order the releaser's accesses for it: it must look again behind a fence */

#endif
