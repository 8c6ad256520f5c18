/* entry.c - see entry.h. */
#include "node/entry.h"

#include <string.h>

#include "node/put.h"
#include "node/serve.h"

static node_message *message_of(node_link *link)
{
	_Static_assert(sizeof(node_message) <= sizeof(link->message), "there is room for it");
	return (node_message *)(void *)link->message;
}

static node_transfer *transfer_of(node_link *link)
{
	_Static_assert(sizeof(node_transfer) == sizeof(link->transfer), "it is that");
	return (node_transfer *)(void *)link->transfer;
}

int node_link_begin(node_link *link, uint32_t ring, uint64_t header, uint64_t data)
{
	node_message *message = message_of(link);
	int rc = node_begin(link, &link->peer[ring], header, data, message);

	link->event.arrival.body = (uintptr_t)message->header;
	link->event.arrival.bytes = (uintptr_t)message->bytes;
	return rc;
}

int node_link_end(node_link *link, uint32_t ring, uint32_t kind, uint64_t header)
{
	return node_end(link, &link->peer[ring], message_of(link), kind, header);
}

int node_link_send(node_link *link, uint32_t ring, uint32_t kind, uint64_t header, uint64_t from,
                   uint64_t n)
{
	return node_send(link, &link->peer[ring], kind, link->out, header, from, n);
}

int node_link_begin_epoch(node_link *link, uint32_t ring)
{
	node_peer *peer = &link->peer[ring];

	if (!node_short_begin(peer))
		return NODE_BUSY;
	link->packets_sent--; /* it is no packet of the statistics */
	return node_short_end(link, peer, NODE_KIND_EPOCH, 0, 0);
}

/* Takes the message that the previous step returned out of the ring. Its lengths were checked then,
 * and lie in this process. */
static void take(node_link *link, node_peer *peer, uint32_t took)
{
	if (took & NODE_TOOK)
		node_take(link, peer, &link->event.arrival);
	else if (took & NODE_DROP)
		node_advance(peer, &link->event.arrival);
}

int node_link_step(node_link *link, uint32_t ring, uint32_t took)
{
	node_peer *peer = &link->peer[ring];
	node_arrival *arrival = &link->event.arrival;
	int found;

	take(link, peer, took);
	while ((found = node_next(peer, arrival)) == NODE_SOME) {
		uint32_t kind = arrival->kind;

		if (kind == NODE_KIND_EPOCH || took & NODE_SKIP) {
			node_advance(peer, arrival);
			if (kind == NODE_KIND_EPOCH)
				return NODE_EPOCH;
			continue;
		}
		if (kind == 0 || kind >= NODE_KIND_END ||
		    (kind > NODE_KIND_MAX && link->messages_only))
			return NODE_CANNOT;
		return kind <= NODE_KIND_MAX
		               ? NODE_SOME
		               : node_serve(link, peer, arrival, NODE_BY_LINK, &link->event);
	}
	if (found == NODE_NONE)
		node_link_stop(link, ring, took & NODE_RECEIVED);
	return found;
}

void node_link_stop(node_link *link, uint32_t ring, uint32_t took)
{
	node_peer *peer = &link->peer[ring];

	take(link, peer, took);
	if (took & NODE_RECEIVED)
		peer->receiver.turn = link->turn;
	if (peer->receiver.head != peer->receiver.published)
		node_publish_consumed(peer);
}

/* The result of a request. */
static int issued(node_link *link, const node_peer *peer, const node_op *op)
{
	if (!op)
		return node_has_left(peer) ? NODE_GONE : NODE_BUSY;
	link->event.done = (uint32_t)(op - link->op);
	return NODE_ISSUED;
}

int node_link_transfer(node_link *link, uint32_t ring, int how)
{
	node_peer *peer = &link->peer[ring];
	node_transfer *t = transfer_of(link);

	switch (how) {
	case NODE_COPY_TO:
		return node_copy_to(link, peer, t);
	case NODE_COPY_FROM:
		return node_copy_from(link, peer, t);
	case NODE_BARE_TO:
	case NODE_BARE_FROM:
		return node_copy(link, peer, how == NODE_BARE_FROM, t);
	case NODE_ASK:
		return issued(link, peer,
		              node_get(link, peer, NODE_BY_LINK, t->remote, t->local, t->n,
		                       t->notice[0], t->notice[1], 0));
	case NODE_OPERATE:
		return issued(link, peer,
		              node_rmw(link, peer, NODE_BY_LINK, (uint32_t)t->at, (uint32_t)t->n,
		                       t->remote, t->notice[0], t->notice[1]));
	case NODE_ANSWER:
		return node_answer_get(link, peer, (uint32_t)t->remote, t->local, t->n, &t->at);
	default:
		return node_put(link, peer, t, node_streams(link, NODE_ROUTES, t->n));
	}
}

/*
 * Nobody else writes there: the old process has ended, the new one does not have the segment yet.
 * It gets the segment by a system call, which orders these stores for it.
 */
void node_link_clear(node_link *link, uint32_t ring)
{
	node_peer *peer = &link->peer[ring];
	node_ring_control *control = node_control(peer->in_control);
	uint64_t i;

	for (i = 0; i < NODE_RING_SLOTS; i++)
		__atomic_store_n(&node_slot_at(peer->in_slots, i)->head, 0, __ATOMIC_SEQ_CST);
	__atomic_store_n(&control->consumed, 0, __ATOMIC_SEQ_CST);
	__atomic_store_n(&control->held, 0, __ATOMIC_SEQ_CST);
	__atomic_store_n(&control->cold, 0, __ATOMIC_SEQ_CST);
	__atomic_store_n(&control->waiting, 0, __ATOMIC_SEQ_CST);
	__atomic_fetch_and(&node_head(link->own_head)->pending[ring / 64],
	                   ~((uint64_t)1 << (ring % 64)), __ATOMIC_SEQ_CST);
	node_give_back(peer->in_chunks, peer->chunk_area); /* left by the old process */
	memset(&peer->sender, 0, sizeof(peer->sender));
	memset(&peer->receiver, 0, sizeof(peer->receiver));
	memset(&peer->chunks, 0, sizeof(peer->chunks));
	peer->put_failed = peer->pull_failed = peer->pull_refused = peer->blocked = 0;
	peer->unsaid = peer->out_head = peer->out_control = 0;
}
