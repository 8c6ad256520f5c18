/*
 * send.h - sending messages to a peer of the node: the inline functions are the fast path's, the
 * others everybody's. All under the owner's lock. segment.h has the rules for slots and chunks.
 *
 * A message begins (room is found, nothing is visible), is written, and ends (it is published). A
 * message that begins and does not end leaves no trace.
 */
#ifndef NODE_SEND_H
#define NODE_SEND_H

#include <string.h>

#include "cpu/cpu.h"
#include "node/guard.h"
#include "node/membarrier.h"
#include "node/node.h"

/* Results of sending. */
#define NODE_SENT 1      /* all of it */
#define NODE_BUSY 0      /* no room */
#define NODE_GONE 2      /* the peer has left; the message, if it went, will not be read */
#define NODE_NONSENSE 3  /* the peer has written a value that cannot be */
#define NODE_BAD_LOCAL 4 /* an address of this process cannot be accessed: link->event.addr */

/* Looks at a full ring whose receiver polls before the message must wait: about a microsecond. */
#define NODE_ROOM_LOOKS 100
/* Looks for a free chunk while the receiver consumes nothing: a few times what copying the longest
   chunk out of a cold cache takes. */
#define NODE_CHUNK_LOOKS 4000

static inline node_slot *node_slot_at(uint64_t slots, uint64_t index)
{
	return (node_slot *)(uintptr_t)slots + (index & NODE_RING_MASK);
}

static inline node_ring_control *node_control(uint64_t address)
{
	return (node_ring_control *)(uintptr_t)address;
}

static inline node_segment_head *node_head(uint64_t address)
{
	return (node_segment_head *)(uintptr_t)address;
}

static inline uint64_t node_slots_of(uint64_t bytes)
{
	return (8 + bytes + NODE_SLOT_SIZE - 1) / NODE_SLOT_SIZE;
}

/* A message that is being written. */
typedef struct node_message {
	unsigned char *header; /* where its header goes, and, without a chunk, its data behind it */
	unsigned char *bytes;  /* where its data goes */
	uint64_t padding;      /* slots to skip up to the ring's end */
	uint64_t slots;
	uint64_t data;    /* bytes */
	uint64_t units;   /* of the chunk; 0: the data lies in slots */
} node_message;

/* send.c: the rare cases */

/*
 * Looks up to looks times whether the receiver has consumed everything before a slot index, and
 * begins to count again whenever it has consumed something; looks only once where node_may_spin
 * says no. NODE_SENT: it has; else why not.
 */
int node_await_consumed(node_peer *peer, uint64_t index, int looks);
void node_append_padding(node_peer *peer, uint64_t padding);
int node_append_wake(node_link *link, node_peer *peer);
/* Wakes the peer if it sleeps. A store that came before, ordered as in arm.c, is visible before the
 * look. */
void node_ring_bell(node_peer *peer);

/*
 * 1 if the peer looks at its ring now or soon: it is awake, and its user polls. Data goes through
 * chunks then, and both ends copy. Else its memory is better accessed from here, where that is
 * permitted.
 */
static inline int node_polls(const node_peer *peer)
{
	const node_segment_head *head = node_head(peer->out_head);

	return (__atomic_load_n(&head->armed, __ATOMIC_RELAXED) |
	        __atomic_load_n(&head->away, __ATOMIC_RELAXED)) == NODE_AWAKE;
}

/*
 * 1 if this task may look many times in a row for a word of the peer: the peer has a processor
 * beside this task's. Else each look in vain only keeps the peer from its processor, although it
 * polls as far as its segment says.
 */
static inline int node_may_spin(const node_peer *peer)
{
	return !peer->crowded && cshim_processors() > 1;
}

static inline void node_clear_continued(node_peer *peer, uint64_t index)
{
	uint64_t position = index & NODE_RING_MASK, *word = &peer->sender.continued[position / 64];
	uint64_t bit = (uint64_t)1 << (position % 64);

	if (__builtin_expect((*word & bit) != 0, 0)) {
		*word &= ~bit;
		__atomic_store_n(&node_slot_at(peer->out_slots, position)->head, 0,
		                 __ATOMIC_RELAXED);
	}
}

/*
 * In a stream of messages the next one's first locked instruction waits for this one's slot. So
 * that it is here by then, slots are asked for early. Not the very next, which the receiver is
 * looking at. Not for single messages: the receiver has a slot of the last pass through the ring in
 * its cache, and looks at it before it answers.
 */
#define NODE_SLOTS_AHEAD 8
#define NODE_SLOTS_STREAM 4

/* A message has begun at index: prepares for the ones that are likely to follow. */
static inline void node_append_ahead(const node_link *link, node_peer *peer, uint64_t index)
{
	node_sender *sender = &peer->sender;

	if (__builtin_expect(sender->turn != link->turn, 1)) {
		sender->turn = link->turn;
		sender->streamed = index;
	} else if (__builtin_expect(index - sender->streamed >= NODE_SLOTS_STREAM, 0)) {
		cshim_prefetch_to_write(node_slot_at(peer->out_slots, index + NODE_SLOTS_AHEAD));
	}
}

static inline uint64_t node_head_word(uint32_t kind, uint64_t header, uint64_t data)
{
	return (uint64_t)kind << 32 | header / NODE_HEADER_UNIT << 40 | data << 48;
}

/* Between a store that the peer waits for and the look whether it must be woken: its membarrier, or
 * a barrier here, orders the two. */
static inline void node_store_then_look(const node_peer *peer)
{
	cshim_light_fence();
	if (__builtin_expect(peer->fenced != 0, 0))
		cshim_full_fence();
}

/*
 * Publishes a message that begins at the tail; word: the head word without the sequence. The tail's
 * slot does not count as a continuation: the message in front of it saw to that. NODE_SENT, or
 * NODE_GONE.
 */
static inline int node_publish(node_link *link, node_peer *peer, uint64_t slots, uint64_t word,
                               uint64_t data)
{
	uint64_t index = peer->sender.tail;

	node_clear_continued(peer, index + slots);
	/* release: pairs with the load in node_next */
	__atomic_store_n(&node_slot_at(peer->out_slots, index)->head,
	                 (uint32_t)index | NODE_SEQUENCE_VALID | word, __ATOMIC_RELEASE);
	peer->sender.tail = index + slots;
	node_append_ahead(link, peer, index);
	link->packets_sent++;
	link->data_sent += data;
	node_store_then_look(peer);
	if (__builtin_expect(
		    (__atomic_load_n(&node_control(peer->out_control)->cold, __ATOMIC_RELAXED) |
	             __atomic_load_n(&node_head(peer->out_head)->armed, __ATOMIC_RELAXED)) != 0,
		    0))
		return node_append_wake(link, peer);
	return NODE_SENT;
}

/* 1 if the peer has left: nobody will read what is sent to it. */
static inline int node_has_left(const node_peer *peer)
{
	return __atomic_load_n(&node_head(peer->out_head)->armed, __ATOMIC_ACQUIRE) == NODE_CLOSED;
}

/* 1 if this many slots are free at the tail. */
static inline int node_room(node_peer *peer, uint64_t slots)
{
	uint64_t tail = peer->sender.tail;

	return tail + slots - peer->sender.consumed <= NODE_RING_SLOTS ||
	       node_await_consumed(peer, tail + slots - NODE_RING_SLOTS, NODE_ROOM_LOOKS) ==
	               NODE_SENT;
}

/* Header and data of a message of one slot, at most. Such a message needs no padding, and makes no
 * continuations. */
#define NODE_ONE_SLOT (NODE_SLOT_SIZE - 8)

/* Begins one: where its header goes, or NULL if there is no room. */
static inline void *node_short_begin(node_peer *peer)
{
	const node_sender *sender = &peer->sender;

	if (__builtin_expect(sender->tail - sender->consumed >= NODE_RING_SLOTS, 0) &&
	    node_await_consumed(peer, sender->tail + 1 - NODE_RING_SLOTS, NODE_ROOM_LOOKS) !=
	            NODE_SENT)
		return NULL;
	return node_slot_at(peer->out_slots, sender->tail)->bytes;
}

static inline int node_short_end(node_link *link, node_peer *peer, uint32_t kind, uint64_t header,
                                 uint64_t data)
{
	return node_publish(link, peer, 1, node_head_word(kind, header, data), data);
}

/*
 * count slots from first on are continuations; they do not wrap, and are fewer than a word of the
 * set has bits.
 */
static inline void node_note_continued(node_sender *sender, uint64_t first, uint64_t count)
{
	uint64_t bits = ((uint64_t)1 << count) - 1, shift = first % 64;

	_Static_assert(NODE_MESSAGE_SLOTS < 64, "of one message, or one chunk's header");
	sender->continued[first / 64] |= bits << shift;
	if (shift + count > 64)
		sender->continued[first / 64 + 1] |= bits >> (64 - shift);
}

/* Begins a message of that many slots. */
static inline int node_slots_begin(node_peer *peer, uint64_t slots, int looks,
                                   node_message *message)
{
	const node_sender *sender = &peer->sender;
	uint64_t position = sender->tail & NODE_RING_MASK, end;
	int rc;

	message->slots = slots;
	message->padding = position + slots > NODE_RING_SLOTS ? NODE_RING_SLOTS - position : 0;
	message->units = 0;
	end = sender->tail + message->padding + slots;
	if (__builtin_expect(end - sender->consumed > NODE_RING_SLOTS, 0) &&
	    (rc = node_await_consumed(peer, end - NODE_RING_SLOTS, looks)) != NODE_SENT)
		return rc;
	position = (position + message->padding) & NODE_RING_MASK;
	if (slots > 1)
		node_note_continued(&peer->sender, position + 1, slots - 1);
	message->header = node_slot_at(peer->out_slots, position)->bytes;
	return NODE_SENT;
}

/* chunk.c: begins a message with its data in a chunk. Header and data of NODE_CHUNK_MAX bytes at
 * most, of data some. */
int node_chunk_begin(const node_link *link, node_peer *peer, uint64_t header, uint64_t data,
                     node_message *message);
int node_chunk_end(node_link *link, node_peer *peer, const node_message *message, uint32_t kind,
                   uint64_t header);
/* Nothing was sent in chunks for long: gives all but a page of the memory back, if the peer has
 * consumed everything. 1: something was. */
int node_chunks_rest(node_peer *peer);
/* Makes the whole area of a sender ready, if it is not: else its first use would. */
void node_chunks_widen(const node_link *link, node_peer *peer);
/* How data is written to chunks, bits. */
#define NODE_HOW_WIDE 1u   /* to the whole area */
#define NODE_HOW_STRING 2u /* by a string instruction */
#define NODE_HOW_ALL 3u
/* How it is by a route; where that does not say (another than the pipelines: none was chosen), as
 * is known best. */
static inline uint32_t node_how(const node_link *link, uint32_t route)
{
	uint32_t best = (link->routes.wide ? NODE_HOW_WIDE : 0) |
	                (link->routes.string ? NODE_HOW_STRING : 0);

	return route == NODE_ROUTE_PIPELINE ? 0
	       : route == NODE_ROUTE_WIDE   ? NODE_HOW_WIDE
	       : route == NODE_ROUTE_STRING ? best | NODE_HOW_STRING
	                                    : best;
}
/* That is how from now on. */
static inline void node_chunks_how(node_link *link, uint32_t how)
{
	link->chunk_limit = how & NODE_HOW_WIDE ? link->chunk_units : link->chunk_narrow;
	link->string = how & NODE_HOW_STRING;
}
/* The same for messages by a route, and (NODE_ROUTES) for all others. */
static inline void node_chunks_limit(node_link *link, uint32_t route)
{
	node_chunks_how(link, node_how(link, route));
}
/* 1 if data by a route (another than the pipelines: none was chosen) bypasses the reader's
 * caches. */
static inline int node_streams(const node_link *link, uint32_t route, uint64_t n)
{
	return node_route_is_pipeline(route) ? route == NODE_ROUTE_STREAMING
	                                     : link->routes.streaming && n >= NODE_STREAM_MIN;
}
/* Memory of a segment that holds nothing any more. */
void node_give_back(uint64_t address, uint64_t n);

/* Begins a message: in slots if that is enough, else with its data in a chunk. header is a multiple
 * of 8. NODE_SENT: header and bytes say where to write. */
static inline int node_begin(const node_link *link, node_peer *peer, uint64_t header, uint64_t data,
                             node_message *message)
{
	int rc;

	if (data > NODE_INLINE_MAX)
		return node_chunk_begin(link, peer, header, data, message);
	rc = node_slots_begin(peer, node_slots_of(header + data), NODE_ROOM_LOOKS, message);
	if (__builtin_expect(rc == NODE_SENT, 1)) {
		message->bytes = message->header + header;
		message->data = data;
	}
	return rc;
}

/* Publishes what began. NODE_SENT, or NODE_GONE. */
static inline int node_end(node_link *link, node_peer *peer, const node_message *message,
                           uint32_t kind, uint64_t header)
{
	if (message->units)
		return node_chunk_end(link, peer, message, kind, header);
	if (__builtin_expect(message->padding != 0, 0))
		node_append_padding(peer, message->padding);
	return node_publish(link, peer, message->slots, node_head_word(kind, header, message->data),
	                    message->data);
}

/* Copies a message's data from memory of this process to where it goes; 1 if that is bad. */
static inline int node_fill(const node_link *link, unsigned char *to, uint64_t from, uint64_t n)
{
	return n >= NODE_STRING_MIN && link->string
	               ? node_guarded_string(to, node_memory_at(from), n)
	               : node_guarded_copy(to, node_memory_at(from), n);
}

/* A message with its data from memory of this process: NODE_SENT, or why nothing was published. */
int node_send(node_link *link, node_peer *peer, uint32_t kind, const void *header,
              uint64_t header_bytes, uint64_t from, uint64_t n);

/* The same for callers whose header_bytes is a constant. */
static inline __attribute__((always_inline)) int
node_send_inline(node_link *link, node_peer *peer, uint32_t kind, const void *header,
                 uint64_t header_bytes, uint64_t from, uint64_t n)
{
	node_message message;
	int rc = node_begin(link, peer, header_bytes, n, &message);

	if (rc != NODE_SENT)
		return rc;
	memcpy(message.header, header, header_bytes);
	if (node_fill(link, message.bytes, from, n)) {
		link->event.addr = node_bad_address(from, n);
		return NODE_BAD_LOCAL;
	}
	return node_end(link, peer, &message, kind, header_bytes);
}

/* In chunks of how many bytes n bytes go. */
static inline uint64_t node_chunk_step(const node_link *link, uint64_t n)
{
	unsigned class = 63 - (unsigned)__builtin_clzll(n | 1);

	return link->chunk_of[class < NODE_CHUNK_CLASSES ? class : NODE_CHUNK_CLASSES - 1];
}

#endif
