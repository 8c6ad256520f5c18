/* packets.c - see packets.h. Unusual cases are left to transport/verbs. */
#include "packets/packets.h"

#include <infiniband/verbs.h>

int verbs_look(verbs_port *port)
{
	if (port->next == port->count && port->cq && !port->kept) {
		int found = cshim_ibv_poll(port->cq, VERBS_BATCH, port->batch);

		port->next = 0;
		port->count = found > 0 ? found : 0;
		verbs_found(port, port->count);
		if (found < 0)
			port->broken = 1;
	}
	return port->next < port->count || port->broken || port->kept;
}

static verbs_peer *peer_of(const verbs_port *port, uint32_t qpn)
{
	const verbs_pair *pair = &port->pairs[qpn % VERBS_PAIRS];

	return pair->qpn == qpn ? (verbs_peer *)(uintptr_t)pair->peer : NULL;
}

static int is(const struct cshim_ibv_completion *completion, uint64_t what)
{
	return completion->id >> VERBS_ID_SHIFT == what && completion->status == 0;
}

/* 1 if C takes packets of such a kind, and such a header belongs to it. */
static int is_known(const verbs_head *head)
{
	switch (head->kind) {
	case VERBS_KIND_MESSAGE:
		return head->id != 0 && head->header % 8 == 0 && head->header <= VERBS_HEADER_MAX;
	case VERBS_KIND_MESSAGES:
		return head->id == 0 && head->header == 0;
	case VERBS_KIND_FLUSH:
		return head->id == 0 && head->header == 0 && head->data == 0;
	case VERBS_KIND_FLUSHED:
		return head->id == 0 && head->header == sizeof(uint64_t) && head->data == 0;
	}
	return 0;
}

int verbs_examine(const verbs_link *link, verbs_port *port, verbs_arrival *arrival)
{
	const struct cshim_ibv_completion *completion = &port->batch[port->next];
	verbs_peer *peer;
	verbs_head head;

	if (port->next >= port->count || !is(completion, VERBS_ID_RECEIVE) ||
	    completion->n < sizeof(head))
		return 0;
	peer = peer_of(port, completion->qpn);
	if (!peer || !peer->usable || peer->waits ||
	    (port->receives > port->target && link->starved))
		return 0;
	arrival->slot = (int32_t)completion->id;
	arrival->header = verbs_slot_at(link, arrival->slot) + sizeof(head);
	memcpy(&head, (const void *)(uintptr_t)(arrival->header - sizeof(head)), sizeof(head));
	arrival->asks = head.kind & VERBS_ASKS;
	head.kind &= (uint8_t)~VERBS_ASKS;
	if (!is_known(&head))
		return 0;
	if (head.number != peer->expected ||
	    sizeof(head) + head.header + (uint64_t)head.data != completion->n)
		return 0;
	arrival->peer = peer;
	arrival->head = head;
	return 1;
}

void verbs_take(verbs_link *link, verbs_port *port, const verbs_arrival *arrival)
{
	verbs_peer *peer = arrival->peer;

	port->next++;
	port->taken = 0;
	port->receives--;
	if (arrival->head.credit > peer->credit)
		peer->credit = arrival->head.credit;
	peer->expected++;
	if (arrival->asks)
		peer->wanted = peer->expected;
	peer->heard = 1;
	link->packets_received++;
	link->data_received += arrival->head.data;
	verbs_news(link, peer);
}

/* A slot that is to go out of use goes below all others: the next is taken from above. */
static void free_slot(verbs_link *link, int32_t slot)
{
	int32_t at = link->num_free++;

	if (slot >= link->used) {
		memmove(link->free + 1, link->free, (size_t)at * sizeof(link->free[0]));
		at = 0;
	}
	link->free[at] = slot;
}

/* Gives the adapter the buffers that wait for that. Those that it refuses are free. */
static void give_all_back(verbs_link *link, verbs_port *port)
{
	struct cshim_ibv_segment segments[VERBS_BACK];
	struct cshim_ibv_recv list[VERBS_BACK];
	uint32_t left = 0, count = (uint32_t)port->num_back;

	if (count == 0)
		return;

	for (uint32_t i = 0; i < count; i++) {
		const verbs_buffer *b = &port->back[i];

		segments[i] = (struct cshim_ibv_segment){
			.addr = b->addr, .n = VERBS_SLOT, .key = b->lkey};
		list[i] = (struct cshim_ibv_recv){.id = b->id, .segments = 1};
	}
	cshim_ibv_receive(0, port->srq, list, segments, count, &left);
	for (uint32_t i = count - left; i < count; i++) {
		free_slot(link, (int32_t)port->back[i].id);
		port->receives--;
	}
	port->num_back = 0;
}

void verbs_give_back(verbs_link *link, verbs_port *port, int32_t slot)
{
	if (port->receives >= port->target || slot >= link->used) {
		free_slot(link, slot);
		return;
	}
	port->back[port->num_back++] =
		(verbs_buffer){.id = (uint64_t)VERBS_ID_RECEIVE << VERBS_ID_SHIFT | (uint32_t)slot,
	                       .addr = verbs_slot_at(link, slot),
	                       .lkey = verbs_key_of(link, slot, port)};
	port->receives++;
	if (port->num_back >= port->together)
		give_all_back(link, port);
}

int verbs_take_flush(verbs_link *link, verbs_port *port, const verbs_arrival *arrival)
{
	verbs_peer *peer = arrival->peer;
	uint64_t mark = 0;

	if (arrival->head.kind == VERBS_KIND_FLUSHED) {
		memcpy(&mark, (const void *)(uintptr_t)arrival->header, sizeof(mark));
		if (mark > peer->asked)
			return 0;
	}
	verbs_take(link, port, arrival);
	if (mark > peer->flushed)
		peer->flushed = mark;
	if (mark && peer->flushing)
		link->wants = 1;
	return 1;
}

int verbs_sent_out(verbs_link *link, verbs_port *port)
{
	const struct cshim_ibv_completion *completion = &port->batch[port->next];
	uint64_t up_to = completion->id & (((uint64_t)1 << VERBS_ID_SHIFT) - 1);
	verbs_peer *peer;
	verbs_ring *ring;

	if (port->next >= port->count || !is(completion, VERBS_ID_SEND) || link->starved)
		return 0;
	peer = peer_of(port, completion->qpn);
	if (!peer || !peer->usable || peer->waits || peer->closed)
		return 0;
	ring = &peer->ring;
	if (up_to <= ring->done || up_to > ring->done + (uint64_t)ring->posted)
		return 0;
	port->next++;
	for (; ring->done < up_to; ring->done++) {
		free_slot(link, (int32_t)ring->packets[ring->head].slot);
		ring->head = (ring->head + 1) % VERBS_RING;
		ring->count--;
		ring->posted--;
		link->sending--;
	}
	peer->heard = 1;
	verbs_news(link, peer);
	return 1;
}

/* 1 if a packet to peer may be made, which needs credit if it is numbered. */
static int has_room(const verbs_link *link, const verbs_peer *peer)
{
	const verbs_ring *ring = &peer->ring;

	return peer->usable && !peer->waits && ring->count < VERBS_RING &&
	       ring->posted == ring->count && link->sending < link->limit_send &&
	       link->num_free > 0;
}

/* 1 if a numbered packet to peer may be made. */
static int may_send(const verbs_link *link, const verbs_peer *peer)
{
	return has_room(link, peer) && !peer->closed && peer->number < peer->credit;
}

uint8_t *verbs_begin(verbs_link *link, verbs_peer *peer, uint64_t n)
{
	verbs_flush(link);
	if (!may_send(link, peer) || n > VERBS_SLOT - sizeof(verbs_head))
		return NULL;
	return (uint8_t *)(uintptr_t)verbs_slot_at(link, link->free[link->num_free - 1]) +
	       sizeof(verbs_head);
}

/* Gives the adapter the packet in a slot, which is the last of the ring. 0: it refuses. */
static int post(const verbs_link *link, verbs_peer *peer, const verbs_sent *sent)
{
	verbs_ring *ring = &peer->ring;
	const verbs_port *port = (const verbs_port *)(uintptr_t)peer->port;
	int signaled = ++ring->since >= VERBS_SIGNAL || link->sending > link->limit_send / 4 ||
	               !sent->numbered;
	struct cshim_ibv_work work = {
		.id = (uint64_t)VERBS_ID_SEND << VERBS_ID_SHIFT |
	              (ring->done + (uint64_t)ring->posted + 1),
		.op = IBV_WR_SEND,
		.flags = (uint8_t)((signaled ? IBV_SEND_SIGNALED : 0) |
	                           (sent->n <= port->max_inline ? IBV_SEND_INLINE : 0)),
		.segments = 1};
	const struct cshim_ibv_segment segment = {
		.addr = verbs_slot_at(link, (int32_t)sent->slot),
		.n = sent->n,
		.key = verbs_key_of(link, (int32_t)sent->slot, port)};

	if (cshim_ibv_post(peer->qp, &work, &segment))
		return 0;
	if (signaled)
		ring->since = 0;
	ring->posted++;
	return 1;
}

/* The last packet that was made. */
static verbs_sent *last_of(verbs_peer *peer)
{
	return &peer->ring.packets[(peer->ring.head + peer->ring.count - 1) % VERBS_RING];
}

static verbs_head *head_of(const verbs_link *link, const verbs_sent *sent)
{
	return (verbs_head *)(uintptr_t)verbs_slot_at(link, (int32_t)sent->slot);
}

/* Makes a packet of what verbs_begin or verbs_join has found room for. */
static verbs_sent *make(verbs_link *link, verbs_peer *peer, const verbs_head *head, int numbered)
{
	verbs_sent *sent;

	peer->ring.count++;
	link->sending++;
	sent = last_of(peer);
	*sent = (verbs_sent){.number = head->number,
	                     .slot = (uint32_t)link->free[--link->num_free],
	                     .n = (uint32_t)sizeof(*head) + head->header + head->data,
	                     .numbered = (uint32_t)numbered};
	*head_of(link, sent) = *head;
	return sent;
}

/* Sends the last packet that was made. */
static void send_last(verbs_link *link, verbs_peer *peer)
{
	verbs_sent *sent = last_of(peer);
	uint64_t credit = peer->expected + peer->window;

	head_of(link, sent)->credit = credit;
	if (post(link, peer, sent)) {
		if (credit > peer->granted)
			peer->granted = credit;
		link->packets_sent++;
		return;
	}
	peer->usable = 0;
	peer->failed = 1;
	link->wants = 1;
	verbs_news(link, peer);
}

void verbs_send(verbs_link *link, verbs_peer *peer, uint8_t id, uint32_t header, uint32_t data)
{
	verbs_head head = {VERBS_KIND_MESSAGE, id, (uint16_t)header, data, peer->number++, 0};

	peer->laden = peer->number;
	if (++peer->since == peer->burst) {
		head.kind |= VERBS_ASKS;
		peer->asked = peer->number;
	}
	link->data_sent += data;
	make(link, peer, &head, 1);
	send_last(link, peer);
}

/* 1 if the last packet to peer waits for more messages: the link has not posted it meanwhile. */
static int is_open(const verbs_link *link, verbs_peer *peer)
{
	return link->open == (uintptr_t)peer && peer->usable && peer->ring.count > 0 &&
	       peer->ring.posted == peer->ring.count - 1 &&
	       head_of(link, last_of(peer))->kind == VERBS_KIND_MESSAGES; /* and asks for nothing */
}

void verbs_flush_open(verbs_link *link)
{
	verbs_peer *peer = (verbs_peer *)(uintptr_t)link->open;

	if (is_open(link, peer))
		send_last(link, peer);
	link->open = 0;
}

static uint64_t aligned(uint64_t n)
{
	return (n + 7) & ~(uint64_t)7;
}

uint8_t *verbs_join(verbs_link *link, verbs_peer *peer, uint64_t n)
{
	if (n > VERBS_JOIN_MAX)
		return NULL;
	if (is_open(link, peer)) {
		const verbs_sent *sent = last_of(peer);
		uint64_t end = aligned(sent->n);

		if (peer->closed || peer->waits || end + n > VERBS_SLOT)
			return NULL;
		return (uint8_t *)head_of(link, sent) + end;
	}
	verbs_flush(link);
	if (!may_send(link, peer) || peer->number + VERBS_WINDOW < peer->credit + VERBS_BUSY)
		return NULL;
	return (uint8_t *)(uintptr_t)verbs_slot_at(link, link->free[link->num_free - 1]) +
	       sizeof(verbs_head);
}

void verbs_joined(verbs_link *link, verbs_peer *peer, uint64_t n, uint32_t data)
{
	link->data_sent += data;
	if (link->open == (uintptr_t)peer) { /* verbs_join has found it so, or closed it */
		verbs_sent *sent = last_of(peer);
		verbs_head *head = head_of(link, sent);
		uint64_t end = aligned(sent->n);

		/* nothing of an earlier packet leaves this task */
		memset((uint8_t *)head + sent->n, 0, (size_t)(end - sent->n));
		sent->n = (uint32_t)(end + n);
		head->data = sent->n - (uint32_t)sizeof(*head);
		return;
	}
	make(link, peer,
	     &(const verbs_head){VERBS_KIND_MESSAGES, 0, 0, (uint32_t)n, peer->number++, 0}, 1);
	peer->laden = peer->number;
	peer->since++;
	link->open = (uintptr_t)peer;
	verbs_news(link, peer);
}

void verbs_grant(verbs_link *link, verbs_peer *peer)
{
	verbs_head head = {VERBS_KIND_CREDIT, 0, 0, 0, peer->number, 0};

	verbs_flush(link);
	if (peer->expected + peer->window < peer->granted + VERBS_WINDOW / 2)
		return;
	if (!has_room(link, peer)) {
		link->wants = 1;
		return;
	}
	link->acks_sent++;
	make(link, peer, &head, 0);
	send_last(link, peer);
}

/* Makes the last packet, which has not been posted, ask for a flush. */
static void let_it_ask(const verbs_link *link, verbs_peer *peer)
{
	head_of(link, last_of(peer))->kind |= VERBS_ASKS;
	peer->asked = peer->number;
}

/* A fence covers all that was sent: how many packets it was tells which of the next will ask. */
static void count_burst(verbs_peer *peer)
{
	if (peer->since == 0)
		return;
	peer->burst = peer->since == peer->last ? peer->since : 0;
	peer->last = peer->since;
	peer->since = 0;
}

int verbs_ask(verbs_link *link, verbs_peer *peer)
{
	count_burst(peer);
	if (peer->asked >= peer->laden)
		return 1;
	if (is_open(link, peer)) {
		let_it_ask(link, peer);
		send_last(link, peer);
		link->open = 0;
		return 1;
	}
	verbs_flush(link);
	if (!may_send(link, peer))
		return 0;
	make(link, peer, &(const verbs_head){VERBS_KIND_FLUSH, 0, 0, 0, peer->number++, 0}, 1);
	let_it_ask(link, peer);
	send_last(link, peer);
	verbs_news(link, peer);
	return 1;
}

void verbs_answer(verbs_link *link, verbs_peer *peer)
{
	uint64_t mark = peer->wanted;
	verbs_head head;

	if (!mark || peer->handling)
		return;
	verbs_flush(link);
	if (peer->held || !may_send(link, peer)) {
		link->wants = 1;
		return;
	}
	peer->wanted = 0;
	head = (verbs_head){VERBS_KIND_FLUSHED, 0, sizeof(mark), 0, peer->number++, 0};
	memcpy(head_of(link, make(link, peer, &head, 1)) + 1, &mark, sizeof(mark));
	send_last(link, peer);
}
