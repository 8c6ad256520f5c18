/* send.c - the rare cases of appending a message: no room as far as known, the ring's end, a
 * receiver that does not look. */
#define _GNU_SOURCE
#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "node/guard.h"
#include "node/receive.h"

int node_await_consumed(node_peer *peer, uint64_t index, int looks)
{
	const node_ring_control *control = node_control(peer->out_control);
	node_sender *sender = &peer->sender;
	int n;

	for (n = 0; n < looks; n++) {
		/* acquire: the receiver has finished reading what is before it */
		uint64_t consumed = __atomic_load_n(&control->consumed, __ATOMIC_ACQUIRE);

		if (consumed - sender->consumed > sender->tail - sender->consumed)
			return NODE_NONSENSE;
		if (consumed != sender->consumed)
			n = 0;
		sender->consumed = consumed;
		if (consumed >= index) {
			peer->blocked = 0;
			return NODE_SENT;
		}
		/* Two that wait for each other's room would wait long. */
		if (!node_polls(peer) || !node_may_spin(peer) ||
		    (n > NODE_ROOM_LOOKS && node_holds(peer)))
			break;
		cshim_between_polls();
	}
	if (node_has_left(peer))
		return NODE_GONE;
	peer->blocked = 1;
	return NODE_BUSY;
}

/*
 * A message never wraps: the slots up to the ring's end are skipped. The message behind is not
 * visible yet; slot 0, where it begins, is never a continuation. Those that are skipped count as
 * continuations: they may hold head words of old, and sequences come again after 2^31.
 */
void node_append_padding(node_peer *peer, uint64_t padding)
{
	uint64_t index = peer->sender.tail, position = index & NODE_RING_MASK, i;

	for (i = position + 1; i < position + padding; i++)
		peer->sender.continued[i / 64] |= (uint64_t)1 << (i % 64);
	peer->sender.continued[position / 64] &= ~((uint64_t)1 << (position % 64));
	__atomic_store_n(&node_slot_at(peer->out_slots, position)->head,
	                 (uint32_t)index | NODE_SEQUENCE_VALID | (uint64_t)NODE_KIND_PADDING << 32,
	                 __ATOMIC_RELEASE);
	peer->sender.tail = index + padding;
}

void node_ring_bell(node_peer *peer)
{
	uint64_t *word = &node_head(peer->out_head)->armed;
	uint64_t armed = __atomic_load_n(word, __ATOMIC_SEQ_CST), one = 1;
	int saved = errno;

	if (!(armed & NODE_ASLEEP))
		return;
	/* not by write, where a thread may be cancelled (pthread_cancel) */
	if (syscall(SYS_write, peer->bell, &one, sizeof(one)) < 0)
		errno = saved; /* EAGAIN: it rings already */
	/* Not before the bell: a thread that is stopped in between has woken the peer, or leaves
	 * that to others (segment.h). */
	__atomic_compare_exchange_n(word, &armed, NODE_AWAKE, 0, __ATOMIC_SEQ_CST,
	                            __ATOMIC_SEQ_CST);
}

int node_append_wake(node_link *link, node_peer *peer)
{
	if (__atomic_load_n(&node_control(peer->out_control)->cold, __ATOMIC_RELAXED))
		__atomic_fetch_or(&node_head(peer->out_head)->pending[link->own_ring / 64],
		                  (uint64_t)1 << (link->own_ring % 64), __ATOMIC_SEQ_CST);
	node_ring_bell(peer);
	return node_has_left(peer) ? NODE_GONE : NODE_SENT;
}

int node_send(node_link *link, node_peer *peer, uint32_t kind, const void *header,
              uint64_t header_bytes, uint64_t from, uint64_t n)
{
	return node_send_inline(link, peer, kind, header, header_bytes, from, n);
}
