/*
 * done.c - when requests are complete: events, how the peer reports it, and how it is found out.
 *
 * Each message of data says how far the receiver's own requests have come. Beside that the
 * responder stores the same number where the requester looks at it (dat_open.done). Only a
 * requester that sleeps gets Done, a message.
 */
#include "dat/rc/private.h"

#include <stdlib.h>
#include <string.h>

void rc_completion(const dat_end *end, const dat_request *request, uint32_t status)
{
	const dat_over over = {.evd = end->config.request,
	                       .ep = end->config.ep,
	                       .cookie = request->cookie,
	                       .n = request->local.n,
	                       .data = request->data,
	                       .status = status,
	                       .completion = request->completion,
	                       .op = request->op,
	                       .flags = request->flags};

	dat_request_over(&over);
}

/* 1 if nothing is missing of a request. */
static int is_over(const dat_end *end, const dat_request *request)
{
	if (rc_asks(request) && request->local.n)
		return request->got == request->local.n;
	return (int32_t)(end->tx.done - end->tx.oldest) > 0;
}

static inline void pop(dat_end *end, dat_request *request)
{
	rc_release(&request->local);
	end->tx.oldest += request->op != RC_BIND; /* which makes no message */
	end->tx.ring.head++;
	end->tx.posted--;
	if (end->tx.sent) {
		end->tx.asked -= (uint32_t)rc_asks(request);
		end->tx.sent--;
	}
}

void rc_pop(dat_end *end)
{
	pop(end, rc_request_at(end, 0));
}

void rc_done(dat_end *end, uint32_t seq)
{
	if ((int32_t)(seq - end->tx.done) > 0) /* else an old one */
		end->tx.done = seq;
	while (end->tx.sent) {
		dat_request *request = rc_request_at(end, 0);

		if (__builtin_expect(request->held & RC_HELD_TURN, 0)) { /* its answer has no place */
			rc_fail(end, end->tx.oldest, DAT_DTO_SUCCESS);
			return;
		}
		if (!is_over(end, request))
			break;
		rc_completion(end, request, DAT_DTO_SUCCESS);
		if (__builtin_expect(request->begun != 0, 0))
			rc_learn(end, request);
		pop(end, request);
	}
	if (__builtin_expect(end->tx.posted != end->tx.sent || end->closing, 0))
		rc_advance(end);
}

void rc_await(const dat_end *end)
{
	if (!end->config.own)
		return;
	dat_the_lane.waiting[end->config.index / 64] |= (uint64_t)1 << (end->config.index % 64);
	dat_the_lane.some_waiting |= (uint64_t)1 << (end->config.index / 64);
}

/* Looks for one end: 1 if something is complete. */
static int look(dat_end *end)
{
	const dat_open *peers = (const dat_open *)(uintptr_t)end->config.peers;
	uint32_t before = __atomic_load_n(&peers->tag, __ATOMIC_ACQUIRE), done,
		 oldest = end->tx.oldest;

	/* acquire: pairs with rc_tell; and the second look at tag comes after it */
	done = __atomic_load_n(&peers->done, __ATOMIC_ACQUIRE);
	if (before != end->config.peer_tag ||
	    __atomic_load_n(&peers->tag, __ATOMIC_RELAXED) != before ||
	    (done == end->tx.done && !end->tx.asked) || done - end->tx.oldest - 1 >= end->tx.sent)
		return 0;
	rc_done(end, done);
	return end->tx.oldest != oldest;
}

/* The end with that number, if its requests are the lane's and one is under way. */
static dat_end *waiting_end(uint32_t index)
{
	const uint64_t *ends = (const uint64_t *)(uintptr_t)dat_the_lane.ends;
	dat_end *end = index < dat_the_lane.num_ends ? (dat_end *)(uintptr_t)ends[index] : NULL;

	/* the bit may be from a connection that had the number before */
	return end && end->on && end->config.own && end->tx.posted ? end : NULL;
}

/* The same of 64 ends; ends without requests are taken out. */
static int look_at_some(uint32_t word, uint64_t evd)
{
	uint64_t bits = dat_the_lane.waiting[word];
	int some = 0;

	for (; bits; bits &= bits - 1) {
		uint32_t bit = (uint32_t)__builtin_ctzll(bits);
		dat_end *end = waiting_end(word * 64 + bit);

		if (!end)
			dat_the_lane.waiting[word] &= ~((uint64_t)1 << bit);
		else if (!evd || end->config.request == evd)
			some |= look(end);
	}
	return some;
}

int rc_look(uint64_t evd)
{
	uint64_t words = dat_the_lane.some_waiting;
	int some = 0;

	for (; words; words &= words - 1) {
		uint32_t word = (uint32_t)__builtin_ctzll(words);

		some |= look_at_some(word, evd);
		if (!dat_the_lane.waiting[word])
			dat_the_lane.some_waiting &= ~((uint64_t)1 << word);
	}
	return some;
}

void rc_watch(void)
{
	dat_table *own = (dat_table *)(uintptr_t)dat_the_lane.table;
	uint32_t i;

	if (!dat_the_lane.on || !own || __atomic_load_n(&own->waits, __ATOMIC_RELAXED))
		return;
	__atomic_store_n(&own->waits, 1, __ATOMIC_RELAXED);
	/* a peer has stored done, and has seen that nobody waits; or it sees waits */
	for (i = 0; i < dat_the_lane.num_links; i++)
		node_order_peers((node_link *)(uintptr_t)dat_the_lane.links[i]);
	rc_look(0);
}

/*
 * 1 if the peer looks at the stored word before a waiting thread of it goes to sleep. If no thread
 * waits there its service thread need not wake for a completion: a thread that asks for it looks.
 */
static int looks(const dat_end *end)
{
	const dat_table *table = (const dat_table *)(uintptr_t)end->config.table;
	node_peer *peer = dat_peer_of(end);

	node_store_then_look(peer);
	return __atomic_load_n(&node_head(peer->out_head)->armed, __ATOMIC_ACQUIRE) == NODE_AWAKE ||
	       (table && !__atomic_load_n(&table->waits, __ATOMIC_RELAXED));
}

/* Sends a message without data; 0: there is no room. */
static int say(const dat_end *end, uint32_t kind, const dat_header *header)
{
	node_peer *peer = dat_peer_of(end);
	void *at = node_short_begin(peer);

	if (!at)
		return 0;
	memcpy(at, header, sizeof(*header));
	node_short_end(dat_link_of(end), peer, kind, sizeof(*header), 0);
	return 1;
}

/* The messages beside DONE. END comes last. */
static int say_others(dat_end *end, const dat_header *plain)
{
	dat_header header = *plain;

	header.attempt = (uint8_t)end->rx.attempt;
	if (end->tell & RC_TELL_NOT_READY && say(end, DAT_MSG_NOT_READY, &header))
		end->tell &= ~RC_TELL_NOT_READY;
	if (end->tell & RC_TELL_READY && say(end, DAT_MSG_READY, &header))
		end->tell &= ~RC_TELL_READY;
	header.attempt = 0;
	header.number = end->rx.expected;
	header.seq = end->end_seq;
	header.status = (uint8_t)end->end_status;
	header.flags = (uint8_t)end->end_flags;
	if (end->tell & RC_TELL_END && say(end, DAT_MSG_END, &header))
		end->tell &= ~RC_TELL_END;
	return !(end->tell & ~RC_TELL_DONE);
}

void rc_tell(dat_end *end)
{
	const dat_header header = {.conn = end->config.peer_index,
	                           .tag = end->config.peer_tag,
	                           .seq = end->rx.expected};

	if (end->config.own && end->tell & RC_TELL_DONE) {
		/* release: the data of the requests is in place */
		__atomic_store_n(&((dat_open *)(uintptr_t)end->config.own)->done, end->rx.expected,
		                 __ATOMIC_RELEASE);
		if (looks(end))
			end->tell &= ~RC_TELL_DONE;
	}
	if (!end->tell)
		return;
	if (dat_peer_of(end)->closed) { /* core ends it, or the link goes on later */
		dat_the_lane.unsent = 1;
		return;
	}
	if (end->tell & RC_TELL_DONE && say(end, DAT_MSG_DONE, &header))
		end->tell &= ~RC_TELL_DONE;
	if (end->tell & RC_TELL_DONE ||
	    (__builtin_expect(end->tell != 0, 0) && !say_others(end, &header)))
		dat_the_lane.unsent = 1;
}

void rc_passed(dat_end *end)
{
	end->rx.state = DAT_COMING_NOTHING;
	end->rx.got = end->rx.attempt = 0;
	end->rx.expected++;
	end->tell |= RC_TELL_DONE;
	if (__builtin_expect(end->rx.dropped != 0, 0)) {
		end->rx.dropped = 0;
		rc_restart(end);
	}
}
