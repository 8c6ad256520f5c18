/* lane_receive.c - messages of rings that are not as usual (lane_turn.c has the usual ones), and
 * waiting for the answers of one task. */
#define _GNU_SOURCE
#include "lane/lane_send.h"

#include "node/timed.h"
#include "lane/lane_arrive.h"
#include "lane/lane_shared.h"

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
		cshim_lane_was_read(context, lane, peer, event->notice[0]);
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
	case NODE_REPLY:
		if (!cshim_lane_replied(context, lane, peer, arrival))
			break;
		return CSHIM_TAKEN;
	case CSHIM_MSG_COUNTER:
		return cshim_counter_arrived(context, lane, &from, arrival);
	case CSHIM_MSG_AM_SMALL:
		return cshim_am_in_ring(context, lane, peer, arrival);
	}
	return arrival->kind < NODE_PUT || arrival->kind >= NODE_KIND_END
	               ? CSHIM_LEFT
	               : receive_served(context, lane, peer, arrival);
}

cshim_fate cshim_lane_receive(cshim_context *context, cshim_lane *lane, node_peer *peer)
{
	node_arrival arrival;
	int found = node_next(peer, &arrival);
	cshim_fate fate;

	if (found == NODE_NONE)
		return CSHIM_NOTHING;
	if (peer->stopped || found == NODE_CANNOT)
		return CSHIM_LEFT;
	fate = receive(context, lane, peer, &arrival, lane->off || cshim_lane_coin(&lane->random));
	if (fate == CSHIM_TAKEN)
		node_take(cshim_link_of(lane), peer, &arrival);
	return fate;
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

/* Takes one message: 1 if it is an answer that ends an operation, 0 if it only reports progress of
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
	int waited = node_wait(peer, look_for_end, &s, n);

	if (peer->receiver.head != peer->receiver.published && !peer->stopped)
		node_publish_consumed(peer);
	return waited;
}
