/* chunk.c - messages whose data lies in the sender's chunk area (segment.h): room, sending,
 * finding. */
#define _GNU_SOURCE
#include <string.h>
#include <sys/mman.h>

#include "node/arm.h"
#include "node/receive.h"
#include "node/send.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_READ 22 /* Linux 5.14 */
#define MADV_POPULATE_WRITE 23
#endif

static node_place *place_of(node_slot *slot)
{
	return (node_place *)(void *)slot->bytes;
}

/*
 * The slot index at which all of these units are free. The area is filled in a circle that grows
 * when it is full, so a unit may be older than the one before it.
 */
static uint64_t free_at(const node_chunks *chunks, uint64_t at, uint64_t units)
{
	uint64_t latest = 0, i;

	for (i = at; i < at + units; i++)
		if (chunks->until[i] > latest)
			latest = chunks->until[i];
	return latest;
}

/* How many units of the area have memory: this depends on the data in flight, not on the area's
 * size. */
static uint64_t touched(const node_chunks *chunks)
{
	return chunks->used ? chunks->used : NODE_CHUNK_LEAST;
}

/* How many of them are used now. */
static uint64_t circle(const node_link *link, const node_chunks *chunks)
{
	uint64_t all = touched(chunks);

	return all < link->chunk_limit ? all : link->chunk_limit;
}

/*
 * 1 where few tasks share the node's memory: each time round the circle grows, until it is the
 * whole area. A sender that finds room never looks whether the receiver has read, and the memory
 * that it writes has long left the receiver's cache (transport/shm/area.go).
 */
static int few(const node_link *link)
{
	return link->rings <= NODE_CHUNK_AREA_RINGS;
}

/* Has the kernel make or map all of this memory now: cheaper than page by page, and few transfers
 * that are timed (route.h) pay for it. Where the kernel cannot, pages come as they are touched. */
static void touch(uint64_t address, uint64_t n, int how)
{
	cshim_advise_touched(address, n, how);
}

/* Takes more of the area into the circle, to make room for units, if there is more: 1. The new
 * units are free, and are used next, with the free ones in front of them. */
static int grow(const node_link *link, node_peer *peer, uint64_t units)
{
	node_chunks *chunks = &peer->chunks;
	uint64_t before = circle(link, chunks), used = before;

	if (before == link->chunk_limit)
		return 0;
	if (free_at(chunks, chunks->next, before - chunks->next) > peer->sender.consumed)
		chunks->next = (uint32_t)before;
	while (used == before || used < chunks->next + units)
		used *= 2;
	chunks->used = (uint32_t)(used < link->chunk_limit ? used : link->chunk_limit);
	if (few(link))
		touch(peer->out_chunks + before * NODE_CHUNK_UNIT,
		      (chunks->used - before) * NODE_CHUNK_UNIT, MADV_POPULATE_WRITE);
	peer->blocked = 0;
	return 1;
}

/* Finds room for units: NODE_SENT, and *at, or why there is none. */
static int find_room(const node_link *link, node_peer *peer, uint64_t units, uint64_t *at)
{
	node_chunks *chunks = &peer->chunks;

	for (;;) {
		uint64_t until = UINT64_MAX, end = circle(link, chunks);
		int whole = end == link->chunk_limit, rc = NODE_BUSY;

		if (chunks->next > end)
			chunks->next = 0; /* it was wider */
		*at = chunks->next + units > end ? 0 : chunks->next;
		if (units <= end)
			until = free_at(chunks, *at, units);
		if (peer->sender.consumed >= until)
			return NODE_SENT;
		if (few(link) && grow(link, peer, units))
			continue;
		if (until != UINT64_MAX)
			rc = node_await_consumed(peer, until, whole ? NODE_CHUNK_LOOKS : 1);
		if (rc != NODE_BUSY || !grow(link, peer, units))
			return rc;
	}
}

void node_chunks_widen(const node_link *link, node_peer *peer)
{
	uint64_t before = touched(&peer->chunks);

	if (before >= link->chunk_units)
		return;
	peer->chunks.used = link->chunk_units;
	touch(peer->out_chunks + before * NODE_CHUNK_UNIT,
	      (link->chunk_units - before) * NODE_CHUNK_UNIT, MADV_POPULATE_WRITE);
}

int node_chunk_begin(const node_link *link, node_peer *peer, uint64_t header, uint64_t data,
                     node_message *message)
{
	uint64_t units = (data + NODE_CHUNK_UNIT - 1) / NODE_CHUNK_UNIT, at;
	int rc;

	/* Whole pages where there is memory for it: in a page of two chunks one end's prefetcher
	 * takes lines that the other end writes. */
	if (few(link))
		units = (units + NODE_CHUNK_LEAST - 1) & ~(uint64_t)(NODE_CHUNK_LEAST - 1);
	rc = find_room(link, peer, units, &at);
	if (rc != NODE_SENT)
		return rc;
	rc = node_slots_begin(peer, node_slots_of(sizeof(node_place) + header), NODE_CHUNK_LOOKS,
	                      message);
	if (rc != NODE_SENT)
		return rc;
	message->header += sizeof(node_place);
	message->bytes = (unsigned char *)(uintptr_t)peer->out_chunks + at * NODE_CHUNK_UNIT;
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
	uint64_t at = place.offset / NODE_CHUNK_UNIT, end = at + message->units;

	for (; at < end; at++)
		chunks->until[at] = peer->sender.tail + message->padding + message->slots;
	chunks->next = (uint32_t)end;
	chunks->sent++;
	memcpy(message->header - sizeof(place), &place, sizeof(place));
	if (message->padding)
		node_append_padding(peer, message->padding);
	return node_publish(link, peer, message->slots,
	                    node_head_word(kind | NODE_KIND_CHUNK, header, 0), message->data);
}

int node_chunks_rest(node_peer *peer)
{
	node_chunks *chunks = &peer->chunks;
	uint64_t kept = NODE_CHUNK_LEAST * NODE_CHUNK_UNIT, all = touched(chunks) * NODE_CHUNK_UNIT;

	if (all == kept || node_is_behind(peer))
		return 0;
	/* The kernel may refuse: then the memory stays. */
	node_give_back(peer->out_chunks + kept, all - kept);
	chunks->used = NODE_CHUNK_LEAST;
	chunks->next = 0;
	return 1;
}

void node_give_back(uint64_t address, uint64_t n)
{
	cshim_advise_whole(address, n, MADV_REMOVE);
}

/* Where few tasks share the node's memory a sender has made the part of its area that it uses, a
 * power of two, in one piece (grow): so the receiver maps it. */
static void map_to(node_peer *peer, uint64_t end)
{
	uint64_t before = peer->receiver.mapped, all = before ? before : CSHIM_LEAST_PAGE;

	while (all < end)
		all *= 2;
	touch(peer->in_chunks + before, all - before, MADV_POPULATE_READ);
	peer->receiver.mapped = all;
}

int node_chunk_arrived(node_peer *peer, node_slot *slot, node_arrival *arrival)
{
	/* Each read once: the peer may write there. */
	uint64_t offset = __atomic_load_n(&place_of(slot)->offset, __ATOMIC_RELAXED);
	uint64_t length = __atomic_load_n(&place_of(slot)->length, __ATOMIC_RELAXED);

	if (arrival->data != 0 || arrival->header + length > NODE_CHUNK_MAX ||
	    offset + length > peer->chunk_area)
		return 0;
	if (offset + length > peer->receiver.mapped && peer->chunk_area == NODE_CHUNK_AREA)
		map_to(peer, offset + length);
	arrival->data = length;
	arrival->body += sizeof(node_place);
	arrival->bytes = peer->in_chunks + offset;
	return 1;
}
