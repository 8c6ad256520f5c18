/* lane_chunk.c - messages whose data lies in the sender's chunk area (segment.h): room, sending, finding. transport/shm/chunks_unsafe.go does the same. */
#include "lane_path.h"

#include <string.h>

/* Looks for a free chunk while the receiver consumes nothing: a few times what copying the longest chunk out of a cold cache takes. */
enum { CHUNK_LOOKS = 4000 };

static cshim_place *place_of(cshim_slot *slot)
{
	return (cshim_place *)(void *)slot->bytes;
}

int cshim_chunk_begin(const cshim_paths *paths, cshim_path *path, uint64_t header, uint64_t data, cshim_chunk *chunk)
{
	const cshim_chunks *chunks = &path->chunks;
	uint64_t units = (data + CSHIM_CHUNK_UNIT - 1) / CSHIM_CHUNK_UNIT, at = chunks->tail & (paths->chunk_units - 1);
	uint64_t skipped = at + units > paths->chunk_units ? paths->chunk_units - at : 0;
	uint64_t until;

	at = skipped ? 0 : at;
	until = chunks->until[at + units - 1]; /* of all these the last to become free */
	if (path->sender.consumed < until && !cshim_await_consumed(path, until, CHUNK_LOOKS))
		return 0;
	if (!cshim_append_slots(path, cshim_slots_of(sizeof(cshim_place) + header), CHUNK_LOOKS, &chunk->append))
		return 0;
	chunk->header = chunk->append.body + sizeof(cshim_place);
	chunk->bytes = (unsigned char *)(uintptr_t)path->out_chunks + at * CSHIM_CHUNK_UNIT;
	chunk->skipped = skipped;
	chunk->units = units;
	chunk->data = data;
	return 1;
}

void cshim_chunk_end(cshim_paths *paths, cshim_path *path, cshim_chunk *chunk, uint32_t kind, uint64_t header)
{
	cshim_chunks *chunks = &path->chunks;
	cshim_place place = {(uint32_t)(chunk->bytes - (unsigned char *)(uintptr_t)path->out_chunks), (uint32_t)chunk->data};
	uint64_t end = chunks->tail + chunk->skipped + chunk->units;
	uint64_t until = path->sender.tail + chunk->append.padding + chunk->append.slots;

	for (; chunks->tail < end; chunks->tail++)
		chunks->until[chunks->tail & (paths->chunk_units - 1)] = until;
	memcpy(chunk->append.body, &place, sizeof(place));
	cshim_append_publish(paths, path, &chunk->append,
	                     (uint64_t)(kind | CSHIM_KIND_CHUNK) << 32 | header / CSHIM_HEADER_UNIT << 40, chunk->data);
}

int cshim_chunk_arrived(const cshim_path *path, cshim_slot *slot, cshim_arrival *arrival)
{
	/* Each read once: the peer may write there. */
	uint64_t offset = __atomic_load_n(&place_of(slot)->offset, __ATOMIC_RELAXED);
	uint64_t length = __atomic_load_n(&place_of(slot)->length, __ATOMIC_RELAXED);

	if (arrival->data != 0 || arrival->header + length > CSHIM_CHUNK_MAX || offset + length > path->chunk_area)
		return 0;
	arrival->data = length;
	arrival->body += sizeof(cshim_place);
	arrival->bytes = (const unsigned char *)(uintptr_t)path->in_chunks + offset;
	return 1;
}
