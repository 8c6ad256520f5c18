/* entry.c - see entry.h. */
#include "entry.h"

#include <string.h>

#include "put.h"
#include "serve.h"

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

	link->event.body = (uintptr_t)message->header;
	link->event.bytes = (uintptr_t)message->bytes;
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

static void note_arrival(node_event *event, const node_arrival *arrival)
{
	event->kind = arrival->kind;
	event->slots = arrival->slots;
	event->header = arrival->header;
	event->data = arrival->data;
	event->body = (uintptr_t)arrival->body;
	event->bytes = (uintptr_t)arrival->bytes;
}

/* What the step before returned is taken out of the ring. Its lengths were checked then, and lie in
 * this process. */
static void take(node_link *link, node_peer *peer, uint32_t took)
{
	node_arrival before = {.slots = link->event.slots, .data = link->event.data};

	node_advance(peer, &before);
	if (took & NODE_TOOK)
		node_count_received(link, before.data);
}

/* A message of message.h at the head. */
static int serve(node_link *link, node_peer *peer, const node_arrival *arrival)
{
	int result;

	if (arrival->kind == NODE_REPLY) {
		node_op *op = node_op_of(link, peer, arrival);

		if (op && op->by == NODE_BY_OWNER)
			return NODE_OWNERS;
		result = node_serve_reply(link, peer, arrival, op, &link->event);
	} else {
		result = node_serve(link, peer, arrival, &link->event);
	}
	if (result == NODE_LATER) {
		link->event.slots = arrival->slots;
		link->event.data = arrival->data;
		return result;
	}
	node_take_served(link, peer, arrival, result);
	return result;
}

int node_link_step(node_link *link, uint32_t ring, uint32_t took)
{
	node_peer *peer = &link->peer[ring];
	node_arrival arrival;
	int found;

	if (took & (NODE_TOOK | NODE_DROP))
		take(link, peer, took);
	while ((found = node_next(peer, &arrival)) == NODE_SOME) {
		if (arrival.kind == NODE_KIND_EPOCH) {
			node_advance(peer, &arrival);
			return NODE_EPOCH;
		}
		if (took & NODE_SKIP) {
			node_advance(peer, &arrival);
			continue;
		}
		if (arrival.kind == 0 || arrival.kind >= NODE_KIND_END)
			return NODE_CANNOT;
		if (arrival.kind > NODE_KIND_MAX)
			return serve(link, peer, &arrival);
		note_arrival(&link->event, &arrival);
		return NODE_SOME;
	}
	if (found == NODE_NONE)
		node_link_stepped(link, ring, (took & NODE_RECEIVED) != 0);
	return found;
}

void node_link_taken(node_link *link, uint32_t ring, uint32_t took)
{
	take(link, &link->peer[ring], took);
}

void node_link_stepped(node_link *link, uint32_t ring, int some)
{
	node_peer *peer = &link->peer[ring];

	if (some)
		peer->receiver.turn = link->turn;
	if (peer->receiver.head != peer->receiver.published)
		node_publish_consumed(peer);
}

int node_link_transfer(node_link *link, uint32_t ring, int how)
{
	node_peer *peer = &link->peer[ring];
	node_transfer *transfer = transfer_of(link);

	switch (how) {
	case NODE_COPY_TO:
		return node_copy_to(link, peer, transfer);
	case NODE_COPY_FROM:
		return node_copy_from(link, peer, transfer);
	default:
		return node_put(link, peer, transfer);
	}
}

int node_link_get(node_link *link, uint32_t ring)
{
	node_transfer *t = transfer_of(link);
	node_op *op = node_get(link, &link->peer[ring], NODE_BY_LINK, t->remote, t->local, t->n,
	                       t->notice[0], t->notice[1]);

	return op ? (int)(op - link->op) : node_has_left(&link->peer[ring]) ? -2 : -1;
}

int node_link_rmw(node_link *link, uint32_t ring, uint32_t operation, uint32_t width,
                  uint64_t operand, uint64_t compare)
{
	node_op *op = node_rmw(link, &link->peer[ring], NODE_BY_LINK, operation, width,
	                       transfer_of(link)->remote, operand, compare);

	return op ? (int)(op - link->op) : node_has_left(&link->peer[ring]) ? -2 : -1;
}

int node_link_answer_get(node_link *link, uint32_t ring, uint32_t token)
{
	node_transfer *t = transfer_of(link);

	return node_answer_get(link, &link->peer[ring], token, t->local, t->n, &t->at);
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
	memset(&peer->sender, 0, sizeof(peer->sender));
	memset(&peer->receiver, 0, sizeof(peer->receiver));
	memset(&peer->chunks, 0, sizeof(peer->chunks));
	peer->put_failed = peer->pull_failed = peer->pull_refused = peer->blocked = 0;
	peer->unsaid = 0;
}
