/*
 * active.c - the rings that are looked at in each progress call. A ring that was silent for long is
 * cold: its sender sets a bit when it has a message, and the ring is looked at again.
 */
#include "node/receive.h"
#include "node/arm.h"

enum {
	COLD_TURNS = 8192, /* progress calls without a message after which a ring is cold */
	COLD_LOOK = 1024,  /* how often, in progress calls, such rings are looked for */
};

void node_activate(node_link *link, uint32_t ring)
{
	node_peer *peer = &link->peer[ring];
	uint32_t *cold = &node_control(peer->in_control)->cold;

	if (peer->active)
		return;
	peer->active = 1;
	peer->receiver.turn = link->turn;
	link->active[link->num_active++] = (uint8_t)ring;
	if (__atomic_load_n(cold, __ATOMIC_RELAXED))
		__atomic_store_n(cold, 0, __ATOMIC_SEQ_CST);
}

void node_deactivate(node_link *link, uint32_t ring)
{
	uint32_t i;

	if (!link->peer[ring].active)
		return;
	link->peer[ring].active = 0;
	for (i = 0; i < link->num_active; i++)
		if (link->active[i] == ring) {
			link->active[i] = link->active[--link->num_active];
			return;
		}
}

static void take_pending(node_link *link)
{
	node_segment_head *own = node_head(link->own_head);
	uint32_t word;

	for (word = 0; word < NODE_MAX_RINGS / 64; word++) {
		uint64_t set;

		if (__atomic_load_n(&own->pending[word], __ATOMIC_RELAXED) == 0)
			continue;
		for (set = __atomic_exchange_n(&own->pending[word], 0, __ATOMIC_SEQ_CST); set;
		     set &= set - 1) {
			uint32_t ring = word * 64 + (uint32_t)__builtin_ctzll(set);

			/* A peer may set any bit. Without in_control it was never connected;
			 * stopped ones are the link's. */
			if (ring < link->rings && link->peer[ring].in_control &&
			    !(link->peer[ring].closed & NODE_CLOSED_LINK))
				node_activate(link, ring);
		}
	}
}

/* Marks silent rings as cold: nobody looks at them. 1 if there are some. */
static int mark_silent(node_link *link)
{
	uint32_t i;
	int silent = 0;

	for (i = 0; i < link->num_active; i++) {
		node_peer *peer = &link->peer[link->active[i]];

		if (link->turn - peer->receiver.turn < COLD_TURNS)
			continue;
		__atomic_store_n(&node_control(peer->in_control)->cold, 1, __ATOMIC_SEQ_CST);
		silent = 1;
	}
	return silent;
}

static void cool_down(node_link *link)
{
	uint32_t i;
	int ordered;

	if (link->unordered || !mark_silent(link))
		return;
	ordered = node_order_peers(link); /* a sender stores its message, then looks at cold */
	for (i = 0; i < link->num_active;) {
		node_peer *peer = &link->peer[link->active[i]];
		uint32_t *cold = &node_control(peer->in_control)->cold;

		if (__atomic_load_n(cold, __ATOMIC_RELAXED) == 0) {
			i++;
		} else if (!ordered || node_holds(peer)) {
			__atomic_store_n(cold, 0, __ATOMIC_SEQ_CST);
			peer->receiver.turn = link->turn;
			i++;
		} else {
			node_deactivate(link, link->active[i]);
		}
	}
}

void node_look_around(node_link *link)
{
	take_pending(link);
	if (link->rings <= NODE_HOT_RINGS || link->turn - link->cooled < COLD_LOOK)
		return;
	link->cooled = link->turn;
	cool_down(link);
}
