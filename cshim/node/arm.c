/* arm.c - arming, and the second look of a task that armed. */
#include "node/arm.h"

#include "node/receive.h"

int node_order_peers(node_link *link)
{
	if (link->fencing && !link->unordered && !node_membarrier_everywhere())
		link->unordered = 1;
	/* The peers have theirs, or, where the kernel refuses, look again in time: this thread's own
	 * stores come before its looks in any case. */
	if (!link->fencing || link->unordered)
		cshim_full_fence();
	return !link->unordered;
}

/* 1 if a peer whose ring was full has consumed something, or has left. */
static int has_room(node_peer *peer)
{
	if (!peer->blocked)
		return 0;
	if (__atomic_load_n(&node_control(peer->out_control)->consumed, __ATOMIC_ACQUIRE) ==
	            peer->sender.consumed &&
	    __atomic_load_n(&node_head(peer->out_head)->armed, __ATOMIC_ACQUIRE) != NODE_CLOSED)
		return 0;
	peer->blocked = 0;
	return 1;
}

int node_arm(node_link *link)
{
	uint32_t i;
	int work = 0;

	/* Sequentially consistent, and node_order_peers follows: before all looks below. */
	__atomic_store_n(&node_head(link->own_head)->armed,
	                 ++link->sleeps * NODE_SLEEP | NODE_ASLEEP, __ATOMIC_SEQ_CST);
	for (i = 0; i < link->rings; i++)
		if (link->peer[i].out_control && (link->peer[i].blocked || link->peer[i].flushing))
			__atomic_store_n(&node_control(link->peer[i].out_control)->waiting, 1,
			                 __ATOMIC_SEQ_CST);
	node_order_peers(link); /* peers store what there is to see, then look at these words */
	work = node_some_pending(link);
	for (i = 0; i < link->num_active; i++)
		work |= !link->peer[link->active[i]].stalled &&
		        node_holds(&link->peer[link->active[i]]);
	for (i = 0; i < link->rings; i++)
		if (link->peer[i].out_control)
			work |= has_room(&link->peer[i]);
	return work;
}

void node_disarm(node_link *link)
{
	__atomic_store_n(&node_head(link->own_head)->armed, NODE_AWAKE, __ATOMIC_SEQ_CST);
}

int node_flushed(const node_peer *peer, uint64_t mark)
{
	const node_ring_control *control = node_control(peer->out_control);
	/* closed before the others: their values are then final; consumed before held: the receiver
	 * stores held first */
	int closed =
		__atomic_load_n(&node_head(peer->out_head)->armed, __ATOMIC_ACQUIRE) == NODE_CLOSED;
	uint64_t consumed = __atomic_load_n(&control->consumed, __ATOMIC_ACQUIRE);
	uint64_t held = __atomic_load_n(&control->held, __ATOMIC_ACQUIRE);

	if (consumed - peer->sender.consumed > peer->sender.tail - peer->sender.consumed)
		return NODE_NONSENSE;
	if (consumed >= mark && (held == 0 || held > mark))
		return 1;
	return closed ? NODE_GONE : 0;
}

int node_is_behind(node_peer *peer)
{
	node_sender *sender = &peer->sender;
	uint64_t consumed;

	if (sender->consumed == sender->tail)
		return 0;
	consumed = __atomic_load_n(&node_control(peer->out_control)->consumed, __ATOMIC_ACQUIRE);
	if (consumed - sender->consumed > sender->tail - sender->consumed)
		return 1; /* nonsense: sending or flushing reports it */
	if (!peer->blocked) /* else has_room looks for the change */
		sender->consumed = consumed;
	return consumed != sender->tail;
}

int node_is_due(node_link *link, node_peer *peer, uint64_t *heard)
{
	int due = node_is_behind(peer);
	uint32_t i;

	*heard = peer->receiver.head +
	         __atomic_load_n(&node_control(peer->out_control)->consumed, __ATOMIC_RELAXED);
	for (i = 0; link->ops && i < NODE_OPS && !due; i++)
		due = link->op[i].kind != NODE_OP_FREE && link->op[i].task == peer->task;
	return due;
}

int node_is_over(const node_peer *peer)
{
	/* closed first: then its earlier messages are seen */
	return node_has_left(peer) && !node_holds(peer);
}

void node_leave(node_link *link)
{
	uint32_t i;

	__atomic_store_n(&node_head(link->own_head)->armed, NODE_CLOSED, __ATOMIC_SEQ_CST);
	for (i = 0; i < link->rings; i++) {
		node_peer *peer = &link->peer[i];

		if (!peer->out_head || i == link->own_ring)
			continue;
		__atomic_fetch_or(&node_head(peer->out_head)->pending[link->own_ring / 64],
		                  (uint64_t)1 << (link->own_ring % 64), __ATOMIC_SEQ_CST);
		node_ring_bell(peer);
	}
}

int node_ask(node_link *link, node_peer *peer)
{
	node_copied_header *header = node_short_begin(peer);

	if (!header)
		return NODE_BUSY;
	*header = (node_copied_header){0, {0, 0}};
	return node_short_end(link, peer, NODE_READ, sizeof(*header), 0);
}
