/*
 * waits.h - what LAPI calls wait for, as goals of progress/wait.h. How patient each is was
 * measured; the reasons stand with the numbers. Everything is under the lock.
 */
#ifndef CSHIM_WAITS_H
#define CSHIM_WAITS_H

#include "node/barrier_words.h"
#include "lapi/internal.h"
#include "lane/lane.h"
#include "progress/wait.h"

/* Looks at the rings in place of a progress call, which takes about as long. */
enum { CSHIM_GLANCE_LOOKS = 4 };

/*
 * 1 if core wants to look at a socket often. Then a leader cannot glance at the rings alone, and
 * does better asleep than yielding to somebody who computes, as the kernel lets it run soon when
 * something comes. Tasks of one node that wait for each other yield to each other.
 */
static inline int cshim_sockets(const cshim_context *context)
{
	const cshim_lane *lane = (const cshim_lane *)(uintptr_t)context->lane;

	return !lane || lane->turns_max <= 32;
}

/* The return code for how a wait ended (wait.h). */
static inline int cshim_wait_code(int how)
{
	return how == CSHIM_WAIT_OVER          ? LAPI_SUCCESS
	       : how == CSHIM_WAIT_INTERRUPTED ? LAPI_ERR_TGT_PURGED
	                                       : LAPI_ERR_HNDL_INVALID;
}

/* api_progress.c: LAPI_Probe, outside of handlers. LAPI_SUCCESS. */
int cshim_probe(cshim_context *context);
/* The same, with a yield after some in a row without news, where tasks share processors. */
int cshim_probe_as(cshim_context *context, uint32_t idle_per_yield);
/*
 * The same for a thread that sends, anywhere: nothing in a handler, or while another is at it. 0:
 * the context has ended meanwhile.
 */
int cshim_progress_for_sends(cshim_context *context);

/* counter.c */

/*
 * Waits until *counter >= val, subtracts val, and stores what is left to *remainder.
 * LAPI_ERR_MULTIPLE_WAITERS if another waits.
 */
int cshim_wait_counter(cshim_context *context, int *counter, int val, int *remainder);
/*
 * The same for LAPI_Nopoll_wait: the thread does not spin, it sleeps until something arrives. Also
 * LAPI_ERR_TGT_PURGED, with the counter as it is, when a task was purged that the counter lists, or
 * any task if it lists none.
 */
int cshim_nopoll_counter(cshim_context *context, int *counter, int val, int *remainder);
/* Errors have come up: lets the calls of LAPI_Nopoll_wait end that the loss of a task concerns, and
 * calls the error handler (cshim_run_errors). */
void cshim_run_losses(cshim_context *context, int polls);
/* A task was purged: lets the calls of LAPI_Nopoll_wait end that it concerns. */
void cshim_end_purged_waits(cshim_context *context);

/* ticket.c */

/* The purpose of a ticket: a dump names the call. ROOM: for more messages to one task. */
typedef enum cshim_ticket_for {
	CSHIM_FOR_TERM,
	CSHIM_FOR_FENCE,
	CSHIM_FOR_GFENCE,
	CSHIM_FOR_ADDRESSES,
	CSHIM_FOR_PUT_ROOM,
	CSHIM_FOR_GET_ROOM,
	CSHIM_FOR_AM_ROOM,
	CSHIM_FOR_ROOM
} cshim_ticket_for;

/*
 * Waits until a ticket is done and returns its result; LAPI_ERR_HNDL_INVALID if the context ended
 * meanwhile.
 */
int cshim_wait_ticket(cshim_context *context, uint64_t ticket, cshim_ticket_for what);
/* A wait is over before it begins: makes a progress call in one of 16 such cases (counter.c). */
void cshim_satisfied(cshim_context *context);
/*
 * Waits until there is room in the queue that a transfer, an lapi_xfer_type_t, has added to. In a
 * handler of any context it does not wait; in a handler of another context it makes one progress
 * call instead.
 */
void cshim_await_room(cshim_context *context, uint64_t ticket, uint32_t type);

/*
 * gfence.c: LAPI_Gfence by the node's barrier (barrier.h), which a context has that has
 * context->barrier.
 */

static inline node_link *cshim_link_at(const cshim_context *context)
{
	return (node_link *)(uintptr_t)context->barrier;
}

/* 1 if LAPI_Gfence is to use it; else it is core's, also to say why it cannot be. */
static inline int cshim_gfence_usable(const cshim_context *context)
{
	return context->barrier && !cshim_link_at(context)->barrier.failed;
}

/* A LAPI_Gfence begins: its generation. Every one must be waited for, unless the context ends. */
static inline uint64_t cshim_gfence_begin(cshim_context *context)
{
	return ++cshim_link_at(context)->barrier.begun;
}

/*
 * This task's own fence is over: arrives, and waits for the others. LAPI_SUCCESS, what core said,
 * or LAPI_ERR_HNDL_INVALID.
 */
int cshim_gfence_wait(cshim_context *context, uint64_t generation);
/* The word that this task waits for has changed. */
void cshim_gfence_stirred(cshim_context *context);
/* Looks at the barrier's words, as part of each progress call. Changes nothing of core's. */
static inline void cshim_gfence_look(cshim_context *context)
{
	if (node_barrier_stirs(cshim_link_at(context)))
		cshim_gfence_stirred(context);
}
/*
 * Looks for tasks that are gone or have refused, and reports them to core: before a sleep, after
 * the links were armed, and now and then. 1: something has changed, so do not sleep.
 */
int cshim_gfence_check(cshim_context *context);

#endif
