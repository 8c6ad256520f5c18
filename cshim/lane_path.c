/* lane_path.c - the rare cases of appending a message: no room as far as known, the ring's end, a receiver that does not look. */
#include "lane_path.h"

#include <errno.h>
#include <unistd.h>

/* 1 if a message of the peer's waits here. */
static int has_message(const cshim_path *path)
{
	uint64_t head = path->receiver.head;

	return (uint32_t)__atomic_load_n(&cshim_slot_at(path->in_slots, head)->head, __ATOMIC_RELAXED) == ((uint32_t)head | CSHIM_SEQUENCE_VALID);
}

int cshim_await_consumed(cshim_path *path, uint64_t index, int looks)
{
	const cshim_ring_control *control = cshim_control(path->out_control);
	cshim_sender *sender = &path->sender;
	int n;

	for (n = 0; n < looks; n++) {
		/* acquire: the receiver has finished reading what is before it */
		uint64_t consumed = __atomic_load_n(&control->consumed, __ATOMIC_ACQUIRE);

		if (consumed - sender->consumed > sender->tail - sender->consumed)
			return 0; /* nonsense: core looks again, and knows what to do */
		if (consumed != sender->consumed)
			n = 0;
		sender->consumed = consumed;
		if (consumed >= index)
			return 1;
		/* Two that wait for each other's room would wait long. */
		if (!cshim_attends(path) || cshim_processors() < 2 || (n > CSHIM_ROOM_LOOKS && has_message(path)))
			return 0;
		cshim_between_polls();
	}
	return 0;
}

/*
 * A message never wraps: the slots up to the ring's end are skipped. The message behind is not visible yet; slot 0, where it begins, is never
 * a continuation. Those that are skipped count as continuations: they may hold head words of old, and sequences come again after 2^31.
 */
void cshim_append_padding(cshim_path *path, cshim_append *append)
{
	uint64_t index = path->sender.tail, position = index & CSHIM_RING_MASK, i;

	for (i = position + 1; i < position + append->padding; i++)
		path->sender.continued[i / 64] |= (uint64_t)1 << (i % 64);
	path->sender.continued[position / 64] &= ~((uint64_t)1 << (position % 64));
	__atomic_store_n(&cshim_slot_at(path->out_slots, position)->head,
	                 (uint32_t)index | CSHIM_SEQUENCE_VALID | (uint64_t)CSHIM_KIND_PADDING << 32, __ATOMIC_RELEASE);
	path->sender.tail = index + append->padding;
}

void cshim_ring_bell(cshim_path *path)
{
	uint64_t *word = &cshim_head(path->out_head)->armed;
	uint64_t armed = __atomic_load_n(word, __ATOMIC_SEQ_CST), one = 1;
	int saved = errno;

	if (!(armed & CSHIM_ASLEEP))
		return;
	if (write(path->bell, &one, sizeof(one)) < 0)
		errno = saved; /* EAGAIN: it rings already */
	/* Not before: who is stopped in between has woken the peer, or leaves that to others (docs/fastlane.md). */
	__atomic_compare_exchange_n(word, &armed, CSHIM_AWAKE, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

void cshim_append_wake(cshim_paths *paths, cshim_path *path)
{
	if (__atomic_load_n(&cshim_control(path->out_control)->cold, __ATOMIC_RELAXED))
		__atomic_fetch_or(&cshim_head(path->out_head)->pending[paths->own_ring / 64], (uint64_t)1 << (paths->own_ring % 64),
		                  __ATOMIC_SEQ_CST);
	cshim_ring_bell(path);
}

void cshim_lane_tell_now(cshim_context *context, cshim_lane *lane, cshim_path *path)
{
	uint64_t cntr = lane->told, more = lane->told_more;
	cshim_counter_header *header;

	lane->told = 0;
	if (path->closed || !(header = cshim_one_slot_begin(path))) {
		golapi_lane_tell(cshim_index_of(context), path->task, cntr, more);
		return;
	}
	header->cntr = cntr;
	header->more = more;
	cshim_one_slot_end(cshim_paths_of(lane), path, CSHIM_MSG_COUNTER, sizeof(*header), 0);
	path->used = 1;
	lane->dirty = 1;
}
