/*
 * lane_arrive.h - LAPI's part of receiving a message: a put whose data is in place, a completion, a
 * small active message. By rings (lane_receive.c) and in packets (lane_packets.c). Private to
 * cshim/lane, under the context lock.
 */
#ifndef CSHIM_LANE_ARRIVE_H
#define CSHIM_LANE_ARRIVE_H

#include "handlers/handlers.h"
#include "handlers/procedure.h"
#include "lane/lane_shared.h"

/*
 * The outcome of a message. TAKEN: it was dealt with. LEFT: core has to look at it. GONE: it was
 * dealt with, and is out of the ring. NOTHING: there is none.
 */
typedef enum cshim_fate { CSHIM_TAKEN, CSHIM_LEFT, CSHIM_GONE, CSHIM_NOTHING } cshim_fate;

/* lane_receive.c: deals with the message at the head of a ring, whatever it is; a message that is
 * TAKEN is out of the ring, too. */
cshim_fate cshim_lane_receive(cshim_context *context, cshim_lane *lane, node_peer *peer);

/* A put is complete, at this task. */
static inline void cshim_put_arrived(cshim_context *context, cshim_lane *lane,
                                     const cshim_end *from, const uint64_t notice[2])
{
	context->msg_state |= LAPI_RECV_COMPLETE;
	cshim_lane_event(context);
	cshim_lane_count(context, lane->off, notice[0], PUT_ERR, from->task, from->task);
	cshim_lane_tell(context, lane, from, notice[1]);
}

/* Messages of this task's are complete. */
static inline cshim_fate cshim_counter_arrived(cshim_context *context, cshim_lane *lane,
                                               const cshim_end *from, const node_arrival *arrival)
{
	cshim_counter_header counter;

	if (arrival->header != sizeof(counter) || arrival->data != 0)
		return CSHIM_LEFT;
	node_take_header(&counter, arrival, sizeof(counter));
	if (counter.more >= NODE_RING_SLOTS)
		return CSHIM_LEFT; /* more than can be under way: core drops it */
	from->owner[CSHIM_PEER_EXPECTED] -= 1 + (uint32_t)counter.more;
	lane->dirty = 1;
	for (; counter.more > 0; counter.more--)
		cshim_lane_count(context, lane->off, counter.cntr, PUT_ERR, from->task, from->task);
	cshim_lane_count(context, lane->off, counter.cntr,
	                 from->owner[CSHIM_PEER_KIND]
	                         ? (lapi_err_t)(from->owner[CSHIM_PEER_KIND] - 1)
	                         : PUT_ERR,
	                 from->task, from->task);
	return CSHIM_TAKEN;
}

/* An active message, as far as it is known before its header handler has run. */
typedef struct cshim_am {
	cshim_am_header header;
	uint64_t handler, uhdr_len;
} cshim_am;

/* 1 if the lane can run its header handler. */
static inline int cshim_am_read(const cshim_lane *lane, const node_arrival *arrival, cshim_am *am)
{
	uint64_t handler;

	if (arrival->header < sizeof(am->header))
		return 0;
	node_take_header(&am->header, arrival, sizeof(am->header));
	handler = am->header.handler & (((uint64_t)1 << CSHIM_AM_PADDING_SHIFT) - 1);
	am->uhdr_len = arrival->header - sizeof(am->header) -
	               (am->header.handler >> CSHIM_AM_PADDING_SHIFT);
	if (am->uhdr_len > CSHIM_LANE_UHDR) /* wrapped around, too */
		return 0;
	if (handler < CSHIM_LANE_HANDLERS && (handler = lane->handlers[handler]) == 0)
		return 0;
	if (__builtin_expect((handler & CSHIM_PROCEDURE_NAME) != 0, 0))
		handler = cshim_procedure_at(handler);
	am->handler = handler;
	return node_memory_at(handler) != NULL; /* core discards the message, and reports why */
}

/* 1 if the lane can do all that the header handler asked for. */
static inline int cshim_am_simple(const cshim_header_call *call)
{
	if (call->info.dgsp_handle || call->info.ctl_flags == LAPI_DROP_PKT ||
	    call->info.MAGIC != CSHIM_RETURN_INFO_MAGIC)
		return 0;
	if (call->completion && !(call->info.ret_flags & (LAPI_LOCAL_STATE | LAPI_SEND_REPLY)))
		return 0; /* for the handler threads */
	return 1;
}

/*
 * Runs its header handler, and does what that says. CSHIM_GONE: its *result asks for more than the
 * lane can do. CSHIM_LEFT: the handler has let another thread in, which has ended all with the
 * task.
 */
static inline cshim_fate cshim_am_arrived(cshim_context *context, cshim_lane *lane,
                                          const cshim_end *from, const node_arrival *arrival,
                                          const cshim_am *am, cshim_header_result *result)
{
	uint64_t data = arrival->data, uhdr_len = am->uhdr_len;
	uint32_t stopped = *from->stopped;
	cshim_header_call call;

	if (uhdr_len) /* to a place that is aligned and the handler's to change */
		memcpy((void *)(uintptr_t)lane->scratch,
		       (const void *)(uintptr_t)(arrival->body + sizeof(am->header)), uhdr_len);
	cshim_header_run(context, am->handler, uhdr_len ? lane->scratch : 0, (uint32_t)uhdr_len,
	                 data, from->task, data ? arrival->bytes : 0, &call);
	if (*from->stopped != stopped)
		return CSHIM_LEFT;
	if (!cshim_am_simple(&call) ||
	    (data && call.buffer && call.info.ctl_flags == LAPI_DELIVER_MSG &&
	     node_guarded_copy(call.buffer, (const void *)(uintptr_t)arrival->bytes, data))) {
		cshim_header_said(context, &call, result);
		return CSHIM_GONE;
	}
	context->msg_state |= LAPI_RECV_COMPLETE;
	cshim_lane_event(context);
	if (call.completion)
		cshim_call_completion(cshim_index_of(context), CSHIM_ADDR(call.completion),
		                      CSHIM_ADDR(call.user_info));
	cshim_lane_count(context, lane->off, am->header.tgt_cntr, AM_ERR, from->task, from->task);
	cshim_lane_tell(context, lane, from, am->header.cmpl_cntr);
	return CSHIM_TAKEN;
}

/* A small active message at the head of a ring. */
static inline cshim_fate cshim_am_in_ring(cshim_context *context, cshim_lane *lane, node_peer *peer,
                                          const node_arrival *arrival)
{
	const cshim_end from = cshim_end_of_ring(peer);
	cshim_header_result result;
	cshim_am am;
	cshim_fate fate;

	if (!cshim_am_read(lane, arrival, &am))
		return CSHIM_LEFT;
	fate = cshim_am_arrived(context, lane, &from, arrival, &am, &result);
	if (fate == CSHIM_GONE) /* the header handler wants more than the lane can do */
		golapi_lane_handled(cshim_index_of(context),
		                    (uint32_t)(peer - cshim_link_of(lane)->peer), &result);
	return fate;
}

#endif
