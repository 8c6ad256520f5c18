/* lane_ops.c - the completion of gets and read-modify-writes of the lane, at both ends: LAPI's part
 * beyond ../node/serve.h. lane_origin.h begins them. */
#include "lane/lane_send.h"

#include "lane/lane_shared.h"

/* Stores what a read-modify-write found; 1 if it cannot be. */
static int store_previous(const node_op *op, uint64_t value)
{
	void *to = (void *)(uintptr_t)op->tag[CSHIM_TAG_PREVIOUS];

	if (!to)
		return 0;
	if (op->note)
		value = value == op->tag[CSHIM_TAG_COMPARE];
	return node_guarded_copy_short(to, &value, op->width);
}

/* The answer to a read-modify-write has come. */
static void word_found(cshim_context *context, const cshim_lane *lane, const node_peer *peer,
                       const node_op *op, uint64_t old)
{
	if (store_previous(op, old))
		golapi_lane_fault(cshim_index_of(context), peer->task, NODE_STRANDED,
		                  op->tag[CSHIM_TAG_PREVIOUS], (int32_t)RMW_ERR);
	else
		cshim_lane_got(context, lane, peer, op, RMW_ERR);
}

int cshim_lane_requested(cshim_context *context, cshim_lane *lane, node_peer *peer,
                         const node_arrival *arrival)
{
	node_link *link = cshim_link_of(lane);
	node_get_header get;
	node_rmw_header rmw;

	if (arrival->kind == NODE_RMW) {
		if (node_serve_word(link, peer, arrival, &rmw) != NODE_SERVED)
			return 0;
		cshim_lane_used(lane, peer->owner); /* the answer */
		return 1;
	}
	if (!node_serve_slots_get(link, peer, arrival, &get))
		return 0;
	cshim_lane_used(lane, peer->owner);
	cshim_lane_was_read(context, lane, peer, get.notice[0]);
	return 1;
}

int cshim_lane_replied(cshim_context *context, cshim_lane *lane, node_peer *peer,
                       const node_arrival *arrival)
{
	node_link *link = cshim_link_of(lane);
	node_op *op = node_op_of(link, peer, arrival);
	uint64_t old;

	if (!op || op->by != NODE_BY_OWNER)
		return 0;
	switch (op->kind) {
	case NODE_OP_GET:
		if (!node_take_slots_get(link, op, arrival))
			return 0;
		cshim_lane_got(context, lane, peer, op, GET_ERR);
		return 1;
	case NODE_OP_RMW:
		if (!node_take_word(link, op, arrival, &old))
			return 0;
		word_found(context, lane, peer, op, old);
		return 1;
	default:
		return 0;
	}
}

/* The target has read its share of a put: the buffer is free, and maybe all is complete. */
static void put_read(cshim_context *context, cshim_lane *lane, node_peer *peer, const node_op *op)
{
	context->msg_state |= LAPI_SEND_COMPLETE;
	cshim_lane_event(context);
	cshim_lane_count(context, lane->off, op->tag[CSHIM_TAG_COUNTER], PUT_ERR, context->task,
	                 peer->task);
	cshim_lane_count(context, lane->off, op->tag[CSHIM_TAG_COMPLETION], PUT_ERR, peer->task,
	                 peer->task);
}

void cshim_lane_answered(cshim_context *context, cshim_lane *lane, node_peer *peer, int result,
                         const node_event *event)
{
	const node_op *op = &cshim_link_of(lane)->op[event->done];
	lapi_err_t kind = event->op == NODE_OP_GET ? GET_ERR : RMW_ERR;

	if (event->op == NODE_OP_PUT)
		put_read(context, lane, peer, op);
	else if (result != NODE_ANSWERED)
		golapi_lane_fault(cshim_index_of(context), peer->task, result, event->addr,
		                  (int32_t)kind);
	else if (event->op == NODE_OP_RMW)
		word_found(context, lane, peer, op, event->value);
	else
		cshim_lane_got(context, lane, peer, op, kind);
}
