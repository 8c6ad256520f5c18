/* receive.c - waking a sender that waits for room, or for its flush. */
#include "node/receive.h"

void node_wake_sender(node_peer *peer)
{
	/* Before the look at armed, even if that finds the sender awake: else this store could undo
	 * the sender's before it sleeps again. */
	__atomic_store_n(&node_control(peer->in_control)->waiting, 0, __ATOMIC_SEQ_CST);
	node_ring_bell(peer);
}
