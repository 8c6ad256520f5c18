/*
 * receive.h - taking messages out of a ring. All under the owner's lock.
 *
 * node_next finds the message at the head of a ring, node_advance takes it out. In between it is
 * the caller's to read. Only what node_next has checked may be believed.
 */
#ifndef NODE_RECEIVE_H
#define NODE_RECEIVE_H

#include "node/send.h"

/* Results of node_next. */
#define NODE_NONE 0   /* nothing is there */
#define NODE_SOME 1   /* a message */
#define NODE_CANNOT 2 /* a word that no peer writes */

/* consumed is published each quarter ring: each message would halve the rate. */
#define NODE_PUBLISH_SLOTS (NODE_RING_SLOTS / 4)

/* chunk.c: finds the data of a message in a slot. 1 if it lies within the area. arrival has what
 * the head word says, and body. */
int node_chunk_arrived(node_peer *peer, node_slot *slot, node_arrival *arrival);

/* receive.c: the sender waits, and is woken. */
void node_wake_sender(node_peer *peer);
/* The sender may wait for the word stored in the ring's control just now: consumed, or held (its
 * flush may be over). */
static inline void node_wake_waiting(node_peer *peer)
{
	node_store_then_look(peer);
	if (__builtin_expect(__atomic_load_n(&node_control(peer->in_control)->waiting,
	                                     __ATOMIC_RELAXED) != 0,
	                     0))
		node_wake_sender(peer);
}

/* Publishes that the slots and chunks read are free; wakes the sender if it waits for that. */
static inline void node_publish_consumed(node_peer *peer)
{
	peer->receiver.published = peer->receiver.head;
	peer->receiver.chunked = 0;
	/* release: the slots were read */
	__atomic_store_n(&node_control(peer->in_control)->consumed, peer->receiver.head,
	                 __ATOMIC_RELEASE);
	node_wake_waiting(peer);
}

/* The head word in the next slot. Acquire pairs with the store in node_publish: the message was
 * written before it. */
static inline uint64_t node_look(const node_peer *peer)
{
	return __atomic_load_n(&node_slot_at(peer->in_slots, peer->receiver.head)->head,
	                       __ATOMIC_ACQUIRE);
}

/* 1 if that is the next message's. */
static inline int node_is_next(const node_peer *peer, uint64_t word)
{
	return (uint32_t)word == ((uint32_t)peer->receiver.head | NODE_SEQUENCE_VALID);
}

/* 1 if a ring seems to hold a message. */
static inline int node_holds(const node_peer *peer)
{
	return node_is_next(peer, node_look(peer));
}

/* The next message, which lies in one slot. */
static inline node_arrival node_short_arrival(const node_peer *peer, uint32_t kind, uint64_t header,
                                              uint64_t data)
{
	uint64_t body = (uintptr_t)node_slot_at(peer->in_slots, peer->receiver.head)->bytes;

	return (node_arrival){kind, 0, 1, header, data, body, body + header};
}

/* Finds what a head word says, other than padding. 1 if that fits where it is. */
static inline int node_examine(node_peer *peer, node_slot *slot, uint64_t word, uint64_t position,
                               node_arrival *arrival)
{
	arrival->kind = word >> 32 & 0xff;
	arrival->header = (word >> 40 & 0xff) * NODE_HEADER_UNIT;
	arrival->data = word >> 48;
	arrival->body = (uintptr_t)slot->bytes;
	arrival->bytes = arrival->body + arrival->header;
	if (__builtin_expect((arrival->kind & NODE_KIND_CHUNK) != 0, 0)) {
		if (arrival->kind == NODE_KIND_EPOCH) {
			arrival->slots = 1;
			return word >> 40 == 0;
		}
		arrival->slots = node_slots_of(sizeof(node_place) + arrival->header);
		arrival->kind &= ~(uint32_t)NODE_KIND_CHUNK;
		return position + arrival->slots <= NODE_RING_SLOTS &&
		       node_chunk_arrived(peer, slot, arrival);
	}
	arrival->slots = node_slots_of(arrival->header + arrival->data);
	return arrival->slots <= NODE_MESSAGE_SLOTS && position + arrival->slots <= NODE_RING_SLOTS;
}

/* Finds the message at the head of a ring: NODE_NONE, NODE_SOME or NODE_CANNOT. Padding is passed
 * over. */
static inline int node_next(node_peer *peer, node_arrival *arrival)
{
	node_receiver *receiver = &peer->receiver;

	for (;;) {
		uint64_t position = receiver->head & NODE_RING_MASK;
		node_slot *slot = node_slot_at(peer->in_slots, position);
		uint64_t word = node_look(peer);

		if (!node_is_next(peer, word))
			return NODE_NONE;
		if (__builtin_expect((word >> 32 & 0xff) == NODE_KIND_PADDING, 0)) {
			if (position == 0)
				return NODE_CANNOT;
			receiver->head += NODE_RING_SLOTS - position;
			continue;
		}
		return node_examine(peer, slot, word, position, arrival) ? NODE_SOME : NODE_CANNOT;
	}
}

/* A message was taken: gives its slots, and those before, back as soon as they are worth a cache
 * line's transfer. */
static inline void node_advance(node_peer *peer, const node_arrival *arrival)
{
	node_receiver *receiver = &peer->receiver;

	receiver->head += arrival->slots;
	if (arrival->data > NODE_INLINE_MAX)
		receiver->chunked += arrival->data;
	if (receiver->head - receiver->published >= NODE_PUBLISH_SLOTS ||
	    receiver->chunked >= NODE_CHUNK_PUBLISH)
		node_publish_consumed(peer);
}

/* The same, and it counts for the link's statistics. */
static inline void node_take(node_link *link, node_peer *peer, const node_arrival *arrival)
{
	node_advance(peer, arrival);
	link->packets_received++;
	link->data_received += arrival->data;
}

/* The same with one of a single slot, which has no chunk. */
static inline void node_take_short(node_link *link, node_peer *peer, uint64_t data)
{
	node_receiver *receiver = &peer->receiver;

	if (__builtin_expect(++receiver->head - receiver->published >= NODE_PUBLISH_SLOTS, 0))
		node_publish_consumed(peer);
	link->packets_received++;
	link->data_received += data;
}

/* Copies n bytes, one to six whole words, out of a message once and for all: a peer's later changes
 * are not seen. */
static inline void node_take_words(void *to, uint64_t address, size_t n)
{
	typedef uint64_t __attribute__((may_alias)) word;
	const word *from = (const void *)(uintptr_t)address;
	word *at = to;

	/* No loop: n is a constant everywhere, and compilers leave loops as they are. */
	if (n > 0)
		at[0] = __atomic_load_n(from, __ATOMIC_RELAXED);
	if (n > 8)
		at[1] = __atomic_load_n(from + 1, __ATOMIC_RELAXED);
	if (n > 16)
		at[2] = __atomic_load_n(from + 2, __ATOMIC_RELAXED);
	if (n > 24)
		at[3] = __atomic_load_n(from + 3, __ATOMIC_RELAXED);
	if (n > 32)
		at[4] = __atomic_load_n(from + 4, __ATOMIC_RELAXED);
	if (n > 40)
		at[5] = __atomic_load_n(from + 5, __ATOMIC_RELAXED);
}

/* The same with a message's header. */
static inline void node_take_header(void *to, const node_arrival *arrival, size_t n)
{
	node_take_words(to, arrival->body, n);
}

/* active.c: which rings are looked at in each progress call. */

/* Puts a peer's ring into the list, and takes it out of it. */
void node_activate(node_link *link, uint32_t ring);
void node_deactivate(node_link *link, uint32_t ring);
/* Activates the cold rings whose senders say that there is a message; now and then takes rings that
   were silent for long out of the list, so that they cost nothing. Part of each progress call of
   the link; where the node has at most NODE_HOT_RINGS tasks, only of calls that find pending
   set. */
void node_look_around(node_link *link);
#define NODE_HOT_RINGS 4 /* with up to this many tasks on the node every ring is looked at */
/* The i-th of them in this progress call, i < num_active. The list may change under a handler: then
   a ring is looked at twice, or in the next call. */
static inline node_peer *node_active(node_link *link, uint32_t i)
{
	uint32_t at = link->first + i;

	if (at >= link->num_active)
		at -= link->num_active;
	return &link->peer[link->active[at < link->num_active ? at : 0]];
}
/* Where the next progress call begins, so that after the i-th the others have their turn. */
static inline uint32_t node_after(const node_link *link, uint32_t i)
{
	uint32_t at = link->first + i + 1;

	return at < link->num_active ? at : at - link->num_active;
}

/* 1 if the sender of a cold ring says that there is a message. */
static inline int node_some_pending(const node_link *link)
{
	const node_segment_head *own = node_head(link->own_head);

	return (__atomic_load_n(&own->pending[0], __ATOMIC_RELAXED) |
	        __atomic_load_n(&own->pending[1], __ATOMIC_RELAXED)) != 0;
}

#endif
