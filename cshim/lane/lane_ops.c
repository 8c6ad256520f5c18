/* lane_ops.c - gets and read-modify-writes of the lane, at both ends: what LAPI has beyond
 * ../node/op.h. */
#include "lane_send.h"

#include "lane_shared.h"

_Static_assert(FETCH_AND_ADD == NODE_ADD && FETCH_AND_OR == NODE_OR && SWAP == NODE_SWAP &&
                       COMPARE_AND_SWAP == NODE_CAS,
               "one numbering");

int cshim_lane_get(cshim_context *context, uint32_t tgt, uint64_t len, uint64_t tgt_addr,
                   uint64_t org_addr, uint64_t tgt_cntr, uint64_t org_cntr)
{
	cshim_lane *lane = cshim_lane_of(context);
	node_peer *peer = cshim_lane_peer(context, lane, tgt);
	node_op *op;

	if (!peer || len > CSHIM_LENGTH_MAX || len == 0 || !tgt_addr || !org_addr)
		return CSHIM_LANE_PASS;
	/* Only a task that polls answers soon; the others' memory is read. */
	if (__builtin_expect(len > NODE_INLINE_MAX || len >= lane->bulk_min || !node_polls(peer),
	                     0)) {
		node_transfer get = {org_addr, tgt_addr, len, 0, {tgt_cntr, 0}};

		return cshim_lane_get_long(context, lane, peer, &get, org_cntr);
	}
	op = node_get(cshim_link_of(lane), peer, NODE_BY_OWNER, tgt_addr, org_addr, len, tgt_cntr,
	              0, 0);
	if (!op)
		return CSHIM_LANE_PASS;
	cshim_lane_begun(lane, peer, op, GET_ERR, org_cntr);
	return CSHIM_LANE_DONE;
}

/* Reads one or two words of width bytes, zero-extended; 1 if they cannot be. */
static int load_words(uint64_t from, uint32_t width, size_t count, uint64_t words[2])
{
	uint32_t narrow[2] = {0};

	words[1] = 0;
	if (width == 8)
		return node_guarded_copy_short(words, node_memory_at(from), 8 * count);
	if (node_guarded_copy_short(narrow, node_memory_at(from), 4 * count))
		return 1;
	words[0] = narrow[0];
	words[1] = narrow[1];
	return 0;
}

int cshim_lane_rmw(cshim_context *context, uint32_t width, uint32_t operation, uint32_t tgt,
                   uint64_t tgt_var, uint64_t in_val, uint64_t prev_tgt_val, uint64_t org_cntr)
{
	cshim_lane *lane = cshim_lane_of(context);
	node_peer *peer = cshim_lane_peer(context, lane, tgt);
	int compares = operation == COMPARE_AND_SWAP;
	uint64_t in[2], compare;
	node_op *op;

	if (!peer || operation > COMPARE_AND_SWAP || !tgt_var || !in_val ||
	    load_words(in_val, width, compares ? 2 : 1, in))
		return CSHIM_LANE_PASS;
	compare = compares ? in[0] : 0;
	op = node_rmw(cshim_link_of(lane), peer, NODE_BY_OWNER, operation, width, tgt_var,
	              in[compares], compare);
	if (!op)
		return CSHIM_LANE_PASS;
	op->note = (uint8_t)compares;
	op->tag[CSHIM_TAG_PREVIOUS] = prev_tgt_val;
	op->tag[CSHIM_TAG_COMPARE] = compare;
	cshim_lane_begun(lane, peer, op, RMW_ERR, org_cntr);
	return CSHIM_LANE_DONE;
}

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

	if (arrival->kind == NODE_RMW) {
		if (!node_serve_word(link, peer, arrival))
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
