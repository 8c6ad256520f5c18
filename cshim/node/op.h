/*
 * op.h - gets and operations on words of this task: request, table of those in flight, answer.
 * Under the owner's lock.
 *
 * An operation in flight has a place in node_link.op. Its token comes back with the answer. A place
 * is used again under another token, so a late answer, or one of a task that was given up, finds
 * nothing. The part that issued an operation (node_op.by) also takes its answer.
 */
#ifndef NODE_OP_H
#define NODE_OP_H

#include "node/receive.h"

/* Makes the table empty; once. */
void node_op_init(node_link *link);
/* Gives a place back. */
static inline void node_op_free(node_link *link, node_op *op)
{
	op->kind = NODE_OP_FREE;
	op->token += NODE_OPS;
	op->next = link->free_op;
	link->free_op = op->token % NODE_OPS;
	link->ops--;
}

/* A place for an operation on a peer; there must be one. */
static inline node_op *node_op_take(node_link *link, const node_peer *peer, uint8_t kind,
                                    uint8_t by)
{
	node_op *op = &link->op[link->free_op];

	link->free_op = op->next;
	link->ops++;
	op->kind = kind;
	op->width = 0;
	op->by = by;
	op->task = peer->task;
	return op;
}

/* op, whose request was sent with that result, or NULL. */
static inline node_op *node_op_sent(node_link *link, node_op *op, int rc)
{
	if (__builtin_expect(rc == NODE_SENT, 1))
		return op;
	node_op_free(link, op);
	return NULL;
}

/* 1 if it is a get that the target writes. */
static inline int node_is_pushed(const node_op *op)
{
	return op->width >= NODE_PUSH_HALF;
}

/* The flag of a get whose answer is to come by a route. */
static inline uint64_t node_get_flag(const node_link *link, uint32_t route)
{
	return NODE_GET_HOW | (uint64_t)node_how(link, route) << NODE_GET_HOW_AT;
}

/*
 * Asks for n bytes, some, at addr of the peer, to be put at local; flag: NODE_GET_, or 0. The
 * operation, whose tags are
 * the caller's to fill, or NULL: there is no room, or the peer has left, and nothing was done.
 */
static inline node_op *node_get(node_link *link, node_peer *peer, uint8_t by, uint64_t addr,
                                uint64_t local, uint64_t n, uint64_t notice0, uint64_t notice1,
                                uint64_t flag)
{
	node_get_header *header;
	node_op *op;

	if (link->free_op >= NODE_OPS || !(header = node_short_begin(peer)))
		return NULL;
	op = node_op_take(link, peer, NODE_OP_GET, by);
	op->local = local;
	op->n = n;
	*header = (node_get_header){addr, n, {notice0, notice1}, op->token | flag};
	return node_op_sent(link, op, node_short_end(link, peer, NODE_GET, sizeof(*header), 0));
}

/* Likewise for an operation (NODE_ADD …) on a word of width 4 or 8 bytes at addr of the peer. */
static inline node_op *node_rmw(node_link *link, node_peer *peer, uint8_t by, uint32_t operation,
                                uint32_t width, uint64_t addr, uint64_t operand, uint64_t compare)
{
	node_rmw_header *header;
	node_op *op;

	if (link->free_op >= NODE_OPS || !(header = node_short_begin(peer)))
		return NULL;
	op = node_op_take(link, peer, NODE_OP_RMW, by);
	op->width = (uint8_t)width;
	*header = (node_rmw_header){addr,      operand, compare,
	                            op->token, (uint8_t)operation, (uint8_t)width, 0};
	return node_op_sent(link, op, node_short_end(link, peer, NODE_RMW, sizeof(*header), 0));
}

/* The operation that an answer at the head of peer's ring ends or goes on with; NULL: nobody waits
 * for it. */
static inline node_op *node_op_of(node_link *link, const node_peer *peer,
                                  const node_arrival *arrival)
{
	uint64_t first;
	node_op *op;

	if (arrival->header != sizeof(node_reply_header))
		return NULL;
	node_take_header(&first, arrival, sizeof(first));
	op = &link->op[(uint32_t)first % NODE_OPS];
	return op->kind != NODE_OP_FREE && op->token == (uint32_t)first && op->task == peer->task
	               ? op
	               : NULL;
}

#endif
