/* lane_path.c - the rare cases of appending a message: no room as far as known, the ring's end, a receiver that does not look. */
#include "lane_path.h"

#include <errno.h>
#include <unistd.h>

/* Looks at a full ring whose receiver is awake before core queues the message: about a microsecond. */
enum { ROOM_LOOKS = 100 };

int cshim_append_room(cshim_path *path, uint64_t slots)
{
	const cshim_ring_control *control = cshim_control(path->out_control);
	const cshim_segment_head *head = cshim_head(path->out_head);
	cshim_sender *sender = &path->sender;
	int looks;

	for (looks = 0; looks < ROOM_LOOKS; looks++) {
		/* acquire: the receiver has finished reading what is before it */
		uint64_t consumed = __atomic_load_n(&control->consumed, __ATOMIC_ACQUIRE);

		if (consumed - sender->consumed > sender->tail - sender->consumed)
			return 0; /* nonsense: core looks again, and knows what to do */
		sender->consumed = consumed;
		if (sender->tail + slots - consumed <= CSHIM_RING_SLOTS)
			return 1;
		if (__atomic_load_n(&head->armed, __ATOMIC_RELAXED) != CSHIM_AWAKE || cshim_processors() < 2)
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

/* Rings the peer's bell if it sleeps, once for each sleep. */
void cshim_ring_bell(cshim_path *path)
{
	uint32_t armed = CSHIM_ARMED;
	uint64_t one = 1;
	int saved = errno;

	if (__atomic_compare_exchange_n(&cshim_head(path->out_head)->armed, &armed, CSHIM_AWAKE, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST) &&
	    write(path->bell, &one, sizeof(one)) < 0)
		errno = saved; /* EAGAIN: it rings already */
}

void cshim_append_wake(cshim_paths *paths, cshim_path *path)
{
	if (__atomic_load_n(&cshim_control(path->out_control)->cold, __ATOMIC_RELAXED))
		__atomic_fetch_or(&cshim_head(path->out_head)->pending[paths->own_ring / 64], (uint64_t)1 << (paths->own_ring % 64),
		                  __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&cshim_head(path->out_head)->armed, __ATOMIC_SEQ_CST) == CSHIM_ARMED)
		cshim_ring_bell(path);
}

void cshim_lane_tell(cshim_context *context, cshim_lane *lane, cshim_path *path, uint64_t cmpl_cntr)
{
	cshim_counter_header *header;
	cshim_append append;

	if (cmpl_cntr == 0)
		return;
	if (path->closed || !cshim_append_begin(path, sizeof(*header), &append)) {
		golapi_lane_tell(cshim_index_of(context), path->task, cmpl_cntr);
		return;
	}
	header = (cshim_counter_header *)append.body;
	header->cntr = cmpl_cntr;
	header->zero = 0;
	cshim_append_end(cshim_paths_of(lane), path, &append, CSHIM_MSG_COUNTER, sizeof(*header), 0);
	path->used = 1;
	lane->dirty = 1;
}
