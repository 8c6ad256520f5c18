/* receive.c - giving slots back to the sender. */
#include "receive.h"

void node_wake_waiting(node_peer *peer)
{
	node_ring_control *control = node_control(peer->in_control);

	node_store_then_look(peer);
	if (__builtin_expect(__atomic_load_n(&control->waiting, __ATOMIC_RELAXED) != 0, 0)) {
		/* Before the look at armed, even one that finds the sender awake: else it could
		 * undo what the sender stores before it sleeps again. */
		__atomic_store_n(&control->waiting, 0, __ATOMIC_SEQ_CST);
		node_ring_bell(peer);
	}
}

void node_publish_consumed(node_peer *peer)
{
	peer->receiver.published = peer->receiver.head;
	peer->receiver.chunked = 0;
	/* release: the slots were read */
	__atomic_store_n(&node_control(peer->in_control)->consumed, peer->receiver.head,
	                 __ATOMIC_RELEASE);
	node_wake_waiting(peer);
}
