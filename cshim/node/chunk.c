/* chunk.c - messages whose data lies in the sender's chunk area (segment.h): room, sending,
 * finding. */
#include <string.h>

#include "receive.h"
#include "send.h"

static node_place *place_of(node_slot *slot)
{
	return (node_place *)(void *)slot->bytes;
}

int node_chunk_begin(const node_link *link, node_peer *peer, uint64_t header, uint64_t data,
                     node_message *message)
{
	const node_chunks *chunks = &peer->chunks;
	uint64_t units = (data + NODE_CHUNK_UNIT - 1) / NODE_CHUNK_UNIT,
		 at = chunks->tail & (link->chunk_units - 1);
	uint64_t skipped = at + units > link->chunk_units ? link->chunk_units - at : 0;
	uint64_t until;
	int rc;

	at = skipped ? 0 : at;
	until = chunks->until[at + units - 1]; /* of all these the last to become free */
	if (peer->sender.consumed < until &&
	    (rc = node_await_consumed(peer, until, NODE_CHUNK_LOOKS)) != NODE_SENT)
		return rc;
	rc = node_slots_begin(peer, node_slots_of(sizeof(node_place) + header), NODE_CHUNK_LOOKS,
	                      message);
	if (rc != NODE_SENT)
		return rc;
	message->header += sizeof(node_place);
	message->bytes = (unsigned char *)(uintptr_t)peer->out_chunks + at * NODE_CHUNK_UNIT;
	message->skipped = skipped;
	message->units = units;
	message->data = data;
	return NODE_SENT;
}

int node_chunk_end(node_link *link, node_peer *peer, const node_message *message, uint32_t kind,
                   uint64_t header)
{
	node_chunks *chunks = &peer->chunks;
	node_place place = {
		(uint32_t)(message->bytes - (unsigned char *)(uintptr_t)peer->out_chunks),
		(uint32_t)message->data};
	uint64_t end = chunks->tail + message->skipped + message->units;
	uint64_t until = peer->sender.tail + message->padding + message->slots;

	for (; chunks->tail < end; chunks->tail++)
		chunks->until[chunks->tail & (link->chunk_units - 1)] = until;
	memcpy(message->header - sizeof(place), &place, sizeof(place));
	if (message->padding)
		node_append_padding(peer, message->padding);
	return node_publish(link, peer, message->slots,
	                    node_head_word(kind | NODE_KIND_CHUNK, header, 0), message->data);
}

int node_chunk_arrived(const node_peer *peer, node_slot *slot, node_arrival *arrival)
{
	/* Each read once: the peer may write there. */
	uint64_t offset = __atomic_load_n(&place_of(slot)->offset, __ATOMIC_RELAXED);
	uint64_t length = __atomic_load_n(&place_of(slot)->length, __ATOMIC_RELAXED);

	if (arrival->data != 0 || arrival->header + length > NODE_CHUNK_MAX ||
	    offset + length > peer->chunk_area)
		return 0;
	arrival->data = length;
	arrival->body += sizeof(node_place);
	arrival->bytes = peer->in_chunks + offset;
	return 1;
}
