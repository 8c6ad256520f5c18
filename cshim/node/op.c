/* op.c - the table of operations in flight. */
#include "node/op.h"

void node_op_init(node_link *link)
{
	uint32_t i;

	for (i = 0; i < NODE_OPS; i++) {
		link->op[i].token = i;
		link->op[i].next = i + 1;
	}
}
