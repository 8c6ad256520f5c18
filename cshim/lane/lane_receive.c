/* lane_receive.c - a turn of the lane: what comes in active rings. */
#define _GNU_SOURCE
#include "lane_send.h"

#include <string.h>
#include <time.h>

#include "handlers.h"
#include "procedure.h"
#include "../node/timed.h"
#include "lane_arrive.h"
#include "lane_shared.h"

enum {
	BATCH = 64,      /* messages of one ring in one turn */
	CLOCK_TURNS = 64 /* turns between looks at the clock */
};

/* A get is answered: its target's counter. */
static inline void was_read(cshim_context *context, const cshim_lane *lane, const node_peer *peer,
                            uint64_t cntr)
{
	context->msg_state |= LAPI_SEND_COMPLETE;
	cshim_lane_count(context, lane->off, cntr, GET_ERR, peer->task, peer->task);
}

static cshim_fate receive_am(cshim_context *context, cshim_lane *lane, node_peer *peer,
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

/* Acts on what node_serve has said. */
static void heed(cshim_context *context, cshim_lane *lane, node_peer *peer, int result)
{
	static const lapi_err_t kinds[] = {
		[0] = PUT_ERR, [NODE_OP_GET] = GET_ERR, [NODE_OP_RMW] = RMW_ERR};
	const node_event *event = &cshim_link_of(lane)->event;
	const cshim_end from = cshim_end_of_ring(peer);

	switch (result) {
	case NODE_ARRIVED:
		cshim_put_arrived(context, lane, &from, event->notice);
		break;
	case NODE_WAS_READ:
		was_read(context, lane, peer, event->notice[0]);
		break;
	case NODE_ANSWERED:
	case NODE_FAILED:
	case NODE_STRANDED:
		cshim_lane_answered(context, lane, peer, result, event);
		break;
	case NODE_AGAIN:
		cshim_lane_put_again(context, lane, peer, event);
		break;
	case NODE_FAULT:
		golapi_lane_fault(cshim_index_of(context), peer->task, result, event->addr,
		                  (int32_t)kinds[event->op]);
		break;
	}
}

/* A message of ../node/message.h. */
static cshim_fate receive_served(cshim_context *context, cshim_lane *lane, node_peer *peer,
                                 const node_arrival *arrival)
{
	node_link *link = cshim_link_of(lane);
	int result = node_serve(link, peer, arrival, NODE_BY_OWNER, &link->event);

	if (result == NODE_OTHERS)
		return CSHIM_LEFT;
	if (arrival->kind == NODE_GET || arrival->kind == NODE_RMW || arrival->kind == NODE_PULL ||
	    arrival->kind == NODE_PUSH)
		cshim_lane_used(lane, peer->owner); /* the answer */
	if (result == NODE_LATER)
		return golapi_lane_later(cshim_index_of(context), (uint32_t)(peer - link->peer))
		               ? CSHIM_TAKEN
		               : CSHIM_LEFT;
	heed(context, lane, peer, result);
	return CSHIM_GONE;
}

/*
 * A get and its answer as they usually are; 0: receive_served shall see to it. Not inline: puts
 * need less of the stack.
 */
static __attribute__((noinline)) int receive_get(cshim_context *context, cshim_lane *lane,
                                                 node_peer *peer, const node_arrival *arrival)
{
	node_get_header get;

	if (!node_serve_slots_get(cshim_link_of(lane), peer, arrival, &get))
		return 0;
	cshim_lane_used(lane, peer->owner); /* the answer */
	was_read(context, lane, peer, get.notice[0]);
	return 1;
}

static __attribute__((noinline)) int receive_got(cshim_context *context, cshim_lane *lane,
                                                 node_peer *peer, const node_arrival *arrival)
{
	const node_op *op = node_take_slots_get(cshim_link_of(lane), peer, arrival, NODE_BY_OWNER);

	if (!op)
		return 0;
	cshim_lane_got(context, lane, peer, op, GET_ERR);
	return 1;
}

/* One message of a kind that the lane knows, else CSHIM_LEFT. only_replies: core does all that can
 * be left to it. */
static cshim_fate receive(cshim_context *context, cshim_lane *lane, node_peer *peer,
                          const node_arrival *arrival, int only_replies)
{
	const cshim_end from = cshim_end_of_ring(peer);
	node_put_header put;

	if (only_replies && arrival->kind != NODE_REPLY)
		return CSHIM_LEFT;
	switch (arrival->kind) {
	case NODE_PUT:
		if (__builtin_expect(node_serve_put(peer, arrival, &put) != NODE_ARRIVED, 0))
			break;
		cshim_put_arrived(context, lane, &from, put.notice);
		return CSHIM_TAKEN;
	case NODE_GET:
		if (!receive_get(context, lane, peer, arrival))
			break;
		return CSHIM_TAKEN;
	case NODE_REPLY:
		if (!receive_got(context, lane, peer, arrival))
			break;
		return CSHIM_TAKEN;
	case CSHIM_MSG_COUNTER:
		return cshim_counter_arrived(context, lane, &from, arrival);
	case CSHIM_MSG_AM_SMALL:
		return receive_am(context, lane, peer, arrival);
	}
	return arrival->kind < NODE_PUT || arrival->kind >= NODE_KIND_END
	               ? CSHIM_LEFT
	               : receive_served(context, lane, peer, arrival);
}

/* Where the message may be written; NULL: there is no room, or it is core's. */
static inline cshim_counter_header *begin_to_tell(const cshim_lane *lane, const cshim_end *to)
{
	if (to->pair)
		return (cshim_counter_header *)(void *)verbs_begin(cshim_packets_of(lane), to->pair,
		                                                   sizeof(cshim_counter_header));
	return to->ring->closed ? NULL : node_short_begin(to->ring);
}

void cshim_lane_tell_now(cshim_context *context, cshim_lane *lane, const cshim_end *to)
{
	uint64_t cntr = lane->told, more = lane->told_more;
	cshim_counter_header *header = begin_to_tell(lane, to);

	lane->told = 0;
	if (!header) {
		golapi_lane_tell(cshim_index_of(context), to->task, cntr, more);
		return;
	}
	header->cntr = cntr;
	header->more = more;
	if (to->pair)
		verbs_send(cshim_packets_of(lane), to->pair, CSHIM_MSG_COUNTER, sizeof(*header), 0);
	else
		node_short_end(cshim_link_of(lane), to->ring, CSHIM_MSG_COUNTER, sizeof(*header),
		               0);
	cshim_lane_used(lane, to->owner);
}

/* How many operations are in flight with a peer. */
static uint32_t in_flight(const node_link *link, const node_peer *peer)
{
	uint32_t i, n = 0, left = link->ops;

	for (i = 0; i < NODE_OPS && left > 0; i++) {
		if (link->op[i].kind == NODE_OP_FREE)
			continue;
		left--;
		n += link->op[i].task == peer->task;
	}
	return n;
}

/* Takes one message: 1 if it is an answer that ends an operation, 0 if it is no more than news of
 * one, negative if it is left. */
static int take_answer(cshim_context *context, cshim_lane *lane, node_peer *peer,
                       const node_arrival *arrival)
{
	const cshim_end from = cshim_end_of_ring(peer);
	node_link *link = cshim_link_of(lane);
	int result;

	if (arrival->kind == CSHIM_MSG_COUNTER && !lane->off) {
		if (cshim_counter_arrived(context, lane, &from, arrival) == CSHIM_LEFT)
			return -1;
		node_take(link, peer, arrival);
		return 0;
	}
	if (arrival->kind != NODE_REPLY)
		return -1;
	result = node_serve(link, peer, arrival, NODE_BY_OWNER, &link->event);
	if (result == NODE_OTHERS)
		return -1;
	heed(context, lane, peer, result);
	return result == NODE_ANSWERED || result == NODE_FAILED || result == NODE_STRANDED ||
	       result == NODE_AGAIN;
}

/* A wait for operations, of which none or some are over. */
typedef struct settling {
	cshim_context *context;
	cshim_lane *lane;
	node_peer *peer;
	const node_op *wanted;
	uint32_t token, pending;
} settling;

static int look_for_end(void *object)
{
	settling *s = object;
	node_arrival arrival;
	int found, took;

	if (s->pending == 0)
		return NODE_LOOK_OVER;
	if (s->peer->stopped)
		return NODE_LOOK_NOT;
	found = node_next(s->peer, &arrival);
	if (found == NODE_NONE)
		return NODE_LOOK_NOTHING;
	took = found == NODE_SOME ? take_answer(s->context, s->lane, s->peer, &arrival) : -1;
	if (took < 0)
		return NODE_LOOK_NOT;
	if (s->wanted)
		s->pending = s->wanted->token == s->token;
	else
		s->pending -= (uint32_t)took;
	return NODE_LOOK_MOVED;
}

int cshim_lane_settle(cshim_context *context, cshim_lane *lane, node_peer *peer,
                      const node_op *wanted, uint64_t n)
{
	settling s = {.context = context,
	              .lane = lane,
	              .peer = peer,
	              .wanted = wanted,
	              .token = wanted ? wanted->token : 0,
	              .pending = wanted ? 1 : in_flight(cshim_link_of(lane), peer)};
	int waited = node_wait(look_for_end, &s, n);

	if (peer->receiver.head != peer->receiver.published && !peer->stopped)
		node_publish_consumed(peer);
	return waited;
}

/*
 * What one ring holds, up to a batch, or until counter, if it is not NULL, has reached val. Returns
 * how many messages, with CSHIM_LANE_CORE if the next one is core's.
 */
static uint32_t receive_ring(cshim_context *context, cshim_lane *lane, node_peer *peer,
                             const int *counter, int val)
{
	const cshim_end end = cshim_end_of_ring(peer);
	node_receiver *receiver = &peer->receiver;
	uint32_t n = 0;

	while (n < BATCH) {
		node_arrival arrival;
		int found = node_next(peer, &arrival);
		cshim_fate fate;

		if (found == NODE_NONE)
			break;
		if (peer->stopped || found == NODE_CANNOT) {
			n |= CSHIM_LANE_CORE;
			break;
		}
		fate = receive(context, lane, peer, &arrival,
		               lane->off || cshim_lane_coin(&lane->random));
		if (fate == CSHIM_LEFT) {
			n |= CSHIM_LANE_CORE;
			break;
		}
		n++;
		if (fate == CSHIM_TAKEN)
			node_take(cshim_link_of(lane), peer, &arrival);
		else if (peer->stopped)
			break;
		/* The next slot may be a line's way off. Who waits does not wait for that, unless
		 * completions may be told together. */
		if (counter && !lane->told && cshim_counter_reached(counter, val))
			break;
	}
	if (lane->told)
		cshim_lane_tell_now(context, lane, &end);
	if (n & ~CSHIM_LANE_CORE)
		receiver->turn = cshim_link_of(lane)->turn;
	if (receiver->head != receiver->published && !peer->stopped)
		node_publish_consumed(peer);
	return n;
}

/* Milliseconds, from a clock that costs no more than some loads. */
static uint32_t coarse_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	return (uint32_t)now.tv_sec * 1000u + (uint32_t)(now.tv_nsec / 1000000);
}

/*
 * Core gets a turn now and then in any case: for the job session, which is how deaths become known,
 * whether turns are many or few. Where there is a socket to look at, turns are few before it; where
 * others have the processor in between, each may take milliseconds, and so the clock counts.
 */
static int core_is_due(cshim_lane *lane)
{
	if (++lane->turns >= lane->turns_max)
		return 1;
	if (lane->turns_max < CLOCK_TURNS)
		return coarse_ms() != lane->core_ms;
	return lane->turns % CLOCK_TURNS == 0 && coarse_ms() - lane->core_ms >= CSHIM_LANE_CORE_MS;
}

uint32_t cshim_lane_turn(cshim_context *context)
{
	cshim_lane *lane = cshim_lane_of(context);
	node_link *link;
	uint32_t i, n, flags = 0;

	if (!lane)
		return CSHIM_LANE_CORE;
	link = cshim_link_of(lane);
	link->turn++;
	if (++link->first >= link->num_active)
		link->first = 0;
	for (i = 0; i < link->num_active; i++) {
		n = receive_ring(context, lane, node_active(link, i), NULL, 0);
		flags |= n & CSHIM_LANE_CORE;
		if (n & ~CSHIM_LANE_CORE)
			flags |= CSHIM_PROGRESS_MADE;
	}
	if (lane->verbs) {
		n = cshim_packets_receive(context, lane, NULL, 0);
		flags |= n & CSHIM_LANE_CORE;
		if (n & ~CSHIM_LANE_CORE)
			flags |= CSHIM_PROGRESS_MADE;
	}
	if (lane->go_work || core_is_due(lane) || node_some_pending(link))
		flags |= CSHIM_LANE_CORE;
	return flags;
}

/*
 * A turn for one ring that holds a message, or (NULL) for packets, for a thread that waits for a
 * counter.
 */
static uint32_t receive_for(cshim_context *context, cshim_lane *lane, node_peer *peer,
                            const int *counter, int val)
{
	uint32_t n;

	cshim_link_of(lane)->turn++;
	cshim_call_begins(&context->progress);
	n = peer ? receive_ring(context, lane, peer, counter, val)
	         : cshim_packets_receive(context, lane, counter, val);
	cshim_call_ends(&context->progress);
	cshim_notify(&context->progress);
	/* A turn with all that belongs to it is due as often as without this function, and then
	 * counts by itself. */
	if (lane->go_work || (lane->turns + 1) % CLOCK_TURNS == 0 ||
	    lane->turns + 1 >= lane->turns_max)
		n |= CSHIM_LANE_CORE;
	else
		lane->turns++;
	return (n & CSHIM_LANE_CORE) | (n & ~CSHIM_LANE_CORE ? CSHIM_PROGRESS_MADE : 0);
}

uint32_t cshim_lane_await(cshim_context *context, const int *counter, int val, int looks)
{
	cshim_lane *lane = cshim_lane_of(context);
	node_link *link = cshim_link_of(lane);

	for (; looks > 0; looks--) {
		uint32_t i;

		for (i = 0; i < link->num_active; i++) {
			node_peer *peer = node_active(link, i);

			CSHIM_KEEP(peer);
			if (!node_holds(peer))
				continue;
			/* the others have their turn */
			link->first = (link->first + i + 1) % link->num_active;
			return receive_for(context, lane, peer, counter, val);
		}
		if (lane->verbs && cshim_packets_hold(lane))
			return receive_for(context, lane, NULL, counter, val);
		if (lane->go_work)
			return CSHIM_LANE_CORE;
		if (__builtin_expect(
			    __atomic_load_n(&context->progress.lock_waiters, __ATOMIC_RELAXED) != 0,
			    0))
			return 0;
		cshim_between_polls();
	}
	return 0;
}

void cshim_lane_turned(cshim_context *context)
{
	cshim_lane *lane = cshim_lane_of(context);

	if (!lane)
		return;
	lane->turns = 0;
	lane->core_ms = coarse_ms();
}
