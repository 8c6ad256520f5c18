/* op.c - the table of operations in flight. */
#include "op.h"

void node_op_init(node_link *link)
{
	uint32_t i;

	for (i = 0; i < NODE_OPS; i++) {
		link->op[i].token = i;
		link->op[i].next = i + 1;
	}
}

void node_op_free(node_link *link, node_op *op)
{
	op->kind = NODE_OP_FREE;
	op->token += NODE_OPS;
	op->next = link->free_op;
	link->free_op = op->token % NODE_OPS;
	link->ops--;
}

const node_op *node_op_of(const node_link *link, const node_peer *peer, const node_arrival *arrival)
{
	uint64_t first;
	const node_op *op;

	if (arrival->header != sizeof(node_reply_header))
		return NULL;
	node_take_header(&first, arrival->body, sizeof(first));
	op = &link->op[(uint32_t)first % NODE_OPS];
	return op->kind != NODE_OP_FREE && op->token == (uint32_t)first && op->task == peer->task ? op : NULL;
}
