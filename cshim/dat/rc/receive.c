/* receive.c - a turn: messages that come by the links of the node, and their effects. */
#define _GNU_SOURCE
#include "dat/rc/private.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "dat/coll/coll.h"
#include "dat/dev/dev.h"
#include "dat/godat.h"

enum {
	BATCH = 64,       /* messages of one ring in one turn */
	CLOCK_TURNS = 64, /* turns of a thread that polls between looks at the clock */
	ANSWERS = 64      /* connections whose latest answer's slot is known */
};

/* The peer says that it is done with everything before a number. */
static inline void receive_done(dat_end *end, uint32_t seq)
{
	uint32_t n = seq - end->tx.oldest;

	if (seq == end->tx.done || n >= 1u << 31)
		return; /* nothing new, or an old one */
	if (__builtin_expect(n > end->tx.sent, 0))
		rc_fail(end, seq, DAT_DTO_ERR_BAD_RESPONSE);
	else
		rc_done(end, seq);
}

static int takes_receive(const dat_header *header)
{
	return header->op == RC_SEND || (header->flags & RC_IMMEDIATE);
}

void rc_restart(dat_end *end)
{
	end->rx.restarts = 1;
	end->rx.attempt = (end->rx.attempt + 1) & 0xff;
	end->rx.state = DAT_COMING_NOTHING;
	end->rx.got = 0;
	end->tell |= RC_TELL_READY;
}

/*
 * 1 if a request is not the expected one, or not in the expected attempt (a message that was on its
 * way when the request was asked for again), or comes while the answer to the one before waits for
 * room. Everything from there on is sent again.
 */
static int is_other(dat_end *end, const dat_header *header)
{
	uint32_t ahead = header->seq - end->rx.expected;

	if (ahead >= 1u << 31)
		return 1; /* an old one */
	if (end->rx.restarts) {
		if (ahead || header->attempt != end->rx.attempt || header->offset)
			return 1;
		end->rx.restarts = 0;
		return 0;
	}
	if (end->rx.state == DAT_COMING_ASK) {
		end->rx.dropped = 1;
		return 1;
	}
	if (!ahead && header->attempt == end->rx.attempt && header->offset == end->rx.got)
		return 0;
	rc_restart(end);
	rc_tell(end);
	return 1;
}

/* 1 if a message of data goes on as its request began, and holds some, or all. */
static inline int is_sound(const dat_end *end, const dat_header *header, uint64_t data)
{
	dat_header begun;

	if (header->op > RC_WRITE || header->offset > header->total ||
	    data > header->total - header->offset || (!data && header->total))
		return 0;
	if (__builtin_expect(!end->rx.state, 1))
		return 1;
	memcpy(&begun, end->rx.coming, sizeof(begun));
	begun.offset = header->offset;
	begun.done = header->done;
	return end->rx.state == DAT_COMING_DATA && !memcmp(&begun, header, sizeof(begun));
}

uint64_t rc_target(const dat_end *end, const dat_header *header)
{
	return dat_memory_of(end, header->context, header->addr, header->total,
	                     DAT_MEM_PRIV_REMOTE_WRITE_FLAG, 1);
}

/* Places the data of a write. */
static int place_write(dat_end *end, const dat_header *header, const node_arrival *arrival)
{
	uint64_t at = rc_target(end, header);

	if (at && !node_guarded_copy(node_memory_at(at + header->offset),
	                             (const void *)(uintptr_t)arrival->bytes, arrival->data))
		return 1;
	rc_fail(end, header->seq, DAT_DTO_ERR_REMOTE_ACCESS);
	return 0;
}

/* Places the data of a send. */
static int place_send(dat_end *end, const dat_header *header, const node_arrival *arrival)
{
	dat_receive *receive = rc_receive_of(end);
	uint64_t zone = end->config.srq ? ((const dat_srq *)(uintptr_t)end->config.srq)->pz
	                                : end->config.pz;
	const void *from = (const void *)(uintptr_t)arrival->bytes;
	uint64_t at;

	if (__builtin_expect(header->total > receive->local.n, 0)) {
		receive->status = DAT_DTO_ERR_LOCAL_LENGTH;
	} else if (__builtin_expect(receive->local.more != 0, 0)) {
		if (rc_scatter(zone, 0, &receive->local, header->offset, from, arrival->data))
			return 1;
		receive->status = DAT_DTO_ERR_LOCAL_PROTECTION;
	} else {
		at = rc_own(zone, 0, &receive->local.first);
		if (at && !node_guarded_copy(node_memory_at(at + header->offset), from,
		                             arrival->data))
			return 1;
		receive->status = DAT_DTO_ERR_LOCAL_PROTECTION;
	}
	rc_fail(end, header->seq, DAT_DTO_ERR_REMOTE_RESPONDER);
	return 0;
}

/* A message is here as a whole: it takes effect. */
static void take_effect(dat_end *end, const dat_header *header, int takes)
{
	if (__builtin_expect(header->flags & RC_INVALIDATE, 0) && header->op == RC_SEND &&
	    !godat_invalidate(end->config.ep, header->context)) {
		rc_fail(end, header->seq, DAT_DTO_ERR_REMOTE_ACCESS);
		return;
	}
	rc_passed(end);
	if (takes)
		rc_received(end, header, DAT_DTO_SUCCESS);
}

static void receive_data(dat_end *end, const dat_header *header, const node_arrival *arrival)
{
	int takes = takes_receive(header);

	receive_done(end, header->done);
	if (!end->on ||
	    (__builtin_expect((header->seq ^ end->rx.expected) | (header->attempt ^ end->rx.attempt) |
	                              (header->offset ^ end->rx.got) | end->rx.restarts,
	                      0) &&
	     is_other(end, header)))
		return;
	if (!is_sound(end, header, arrival->data)) {
		rc_fail(end, header->seq, DAT_DTO_ERR_BAD_RESPONSE);
		return;
	}
	if (takes && !end->rx.state && !rc_take(end))
		return;
	if (header->op == RC_SEND ? (arrival->data || header->total) && !place_send(end, header, arrival)
	                          : arrival->data && !place_write(end, header, arrival))
		return;
	if (header->total - header->offset == arrival->data) {
		take_effect(end, header, takes);
		return;
	}
	if (!end->rx.state)
		memcpy(end->rx.coming, header, sizeof(*header));
	end->rx.state = DAT_COMING_DATA;
	end->rx.got += (uint32_t)arrival->data;
}

/* Which of the own requests a message is about: how many are in front; -1: none. */
static int64_t request_of(const dat_end *end, const dat_header *header)
{
	uint32_t i = header->seq - end->tx.oldest;

	return i <= end->tx.sent && i < end->tx.posted ? (int64_t)i : -1;
}

static void receive_not_ready(dat_end *end, const dat_header *header)
{
	if (request_of(end, header) >= 0)
		end->tx.blocked = 1;
}

/* From a request on, all is sent once more. */
static void receive_ready(dat_end *end, const dat_header *header)
{
	int64_t first = request_of(end, header);
	dat_request *request;
	uint32_t i;

	if (first < 0)
		return;
	request = rc_request_at(end, (uint32_t)first);
	if ((uint8_t)(header->attempt - request->attempt - 1) > 127 ||
	    request->held & RC_HELD_TURN)
		return;
	end->tx.blocked = 0;
	if (dat_is_pulled(request))
		end->route.unpulled = DAT_UNPULLED;
	for (i = (uint32_t)first; i <= end->tx.sent && i < end->tx.posted; i++) {
		dat_request *again = rc_request_at(end, i);

		if (i < end->tx.sent)
			end->tx.asked -= (uint32_t)rc_asks(again);
		again->sent = again->got = 0;
		if (dat_is_pulled(again))
			again->route = NODE_ROUTES;
	}
	end->tx.sent = (uint32_t)first;
	request->attempt = header->attempt;
	rc_advance(end);
}

static void receive_end(dat_end *end, const dat_header *header)
{
	int64_t i;

	receive_done(end, header->number);
	if (!(header->flags & DAT_FLAG_ERROR)) {
		rc_over(end, RC_BY_PEER);
		return;
	}
	if (end->on && (i = request_of(end, header)) >= 0 && header->status)
		rc_request_at(end, (uint32_t)i)->status = header->status;
	rc_over(end, RC_BROKEN);
}

/* The end that a message is for; NULL: the connection is core's, or none. */
static inline dat_end *end_for(const node_link *link, const node_peer *peer,
                               const dat_header *header)
{
	dat_end *end = NULL;

	if (header->conn < dat_the_lane.num_ends)
		end = (dat_end *)(uintptr_t)((const uint64_t *)(uintptr_t)
		                                     dat_the_lane.ends)[header->conn];
	return end && end->config.tag == header->tag && end->config.link == (uintptr_t)link &&
	                       end->config.peer == (uintptr_t)peer
	               ? end
	               : NULL;
}

/* Deals with a message for an end. */
static inline void receive_for(dat_end *end, const dat_ask *ask, const node_arrival *arrival)
{
	const dat_header *header = &ask->header;

	switch (arrival->kind) {
	case DAT_MSG_DATA:
		receive_data(end, header, arrival);
		break;
	case DAT_MSG_DONE:
		receive_done(end, header->seq);
		break;
	case DAT_MSG_REPLY:
		receive_done(end, header->done);
		rc_reply(end, header, arrival);
		break;
	case DAT_MSG_ASK:
		if (!is_other(end, header))
			rc_asked(end, ask);
		break;
	case DAT_MSG_PULL:
		if (!is_other(end, header))
			rc_pulled(end, ask);
		break;
	case DAT_MSG_HALF:
		rc_half(end, header, arrival);
		break;
	case DAT_MSG_READY:
		receive_ready(end, header);
		break;
	case DAT_MSG_NOT_READY:
		receive_not_ready(end, header);
		break;
	case DAT_MSG_END:
		receive_end(end, header);
		break;
	}
}

/*
 * A program is about to get the event of a message, and may answer: the line of the slot that the
 * answer goes to is prefetched. The peer looks at it, and so has it. Once for each slot: a program
 * that does not answer would only take the line away from the sender. Under the block's lock.
 */
static void expect_answer(const dat_end *end, const node_peer *peer)
{
	static const node_slot *expected[ANSWERS]; /* by connection; two may share one */
	const node_slot **last = &expected[end->config.index % ANSWERS];
	const node_slot *slot = node_slot_at(peer->out_slots, peer->sender.tail);

	if (*last == slot)
		return;
	*last = slot;
	cshim_prefetch_to_write(slot);
}

/* The message at the head of a ring: its end, which has dealt with it; NULL: it is core's. */
static inline dat_end *receive(const node_link *link, const node_peer *peer,
                               const node_arrival *arrival)
{
	int asks = arrival->kind == DAT_MSG_ASK || arrival->kind == DAT_MSG_PULL;
	dat_ask ask;
	dat_end *end;

	if (arrival->kind - 1 >= DAT_MSG_LAST ||
	    arrival->header != (asks ? sizeof(ask) : sizeof(ask.header)))
		return NULL;
	node_take_header(&ask.header, arrival, sizeof(ask.header));
	if (!(end = end_for(link, peer, &ask.header)))
		return NULL;
	if (!end->on)
		return end;
	if (asks) /* not at once with the header: a word is read once */
		node_take_words(&ask.operand, arrival->body + sizeof(ask.header),
		                sizeof(ask) - sizeof(ask.header));
	/* The peer looks at this line: it is on its way while the message is dealt with. Else the
	 * next lock, of the program's next call, would wait for it. */
	if (end->config.own)
		cshim_prefetch_to_write(&((const dat_open *)(uintptr_t)end->config.own)->done);
	if (arrival->kind == DAT_MSG_DATA && takes_receive(&ask.header))
		expect_answer(end, peer);
	receive_for(end, &ask, arrival);
	return end;
}

void rc_message(dat_end *end, uint32_t kind, const void *header, uint64_t header_bytes,
                const void *data, uint64_t n)
{
	const node_arrival arrival = {.kind = kind, .header = header_bytes, .data = n,
	                              .body = (uintptr_t)header, .bytes = (uintptr_t)data};
	dat_ask ask = {{0}, 0, 0};

	if (!end->on || header_bytes > sizeof(ask))
		return;
	memcpy(&ask, header, header_bytes);
	receive_for(end, &ask, &arrival);
	rc_tell(end);
}

/* The messages of one ring, up to a batch. Each end that has messages for its peer sends them at
 * the end. */
static uint32_t receive_ring(node_link *link, node_peer *peer)
{
	uint32_t n = 0, flags = 0, ends = 0;
	dat_end *due[BATCH];

	while (n < BATCH) {
		node_arrival arrival;
		int found = node_next(peer, &arrival);
		dat_end *end;

		if (found == NODE_NONE)
			break;
		if (found == NODE_CANNOT || peer->stopped || peer->stalled ||
		    !(end = receive(link, peer, &arrival))) {
			dat_the_lane.rings = 1;
			flags = DAT_LANE_CORE;
			break;
		}
		n++;
		node_take(link, peer, &arrival);
		if (end->tell && (ends == 0 || due[ends - 1] != end))
			due[ends++] = end;
	}
	while (ends > 0)
		if (due[--ends]->tell)
			rc_tell(due[ends]);
	if (n > 0) {
		peer->receiver.turn = link->turn;
		flags |= DAT_LANE_MADE;
	}
	if (peer->receiver.head != peer->receiver.published && !peer->stopped)
		node_publish_consumed(peer);
	return flags;
}

/* Ends that have waited for room go on. */
static void send_waiting(void)
{
	const uint64_t *ends = (const uint64_t *)(uintptr_t)dat_the_lane.ends;
	uint32_t i;

	dat_the_lane.unsent = 0;
	for (i = 0; i < dat_the_lane.num_ends; i++) {
		dat_end *end = (dat_end *)(uintptr_t)ends[i];

		if (!end)
			continue;
		if (end->on && end->rx.state == DAT_COMING_ASK)
			rc_answer(end);
		if (end->tell)
			rc_tell(end);
		if (end->on)
			rc_advance(end);
	}
}

/* The messages of all rings. */
static uint32_t receive_rings(void)
{
	uint32_t i, k, flags = 0;

	for (i = 0; i < dat_the_lane.num_links; i++) {
		node_link *link = (node_link *)(uintptr_t)dat_the_lane.links[i];

		link->turn++;
		for (k = 0; k < link->num_active; k++)
			flags |= receive_ring(link, node_active(link, k));
		if (node_some_pending(link)) {
			dat_the_lane.rings = 1;
			flags |= DAT_LANE_CORE;
		}
	}
	return flags;
}

/* Waiting messages, and whether core has something to do. */
static uint32_t go_on(void)
{
	if (__builtin_expect(dat_the_lane.unsent != 0, 0))
		send_waiting();
	return dat_the_lane.go_work || dat_the_lane.ended || dev_work ||
	                       (dat_the_lane.adapters &&
	                        ((int (*)(void))(uintptr_t)dat_the_lane.adapters)())
	               ? DAT_LANE_CORE
	               : 0;
}

uint32_t rc_turn(void)
{
	uint32_t flags = receive_rings();

	if (rc_look(0) | dev_poll())
		flags |= DAT_LANE_MADE;
	if (dat_groups)
		flags |= dat_groups_turn();
	return flags | go_on();
}

void rc_disarm(void)
{
	uint32_t i;
	uint64_t rings;

	for (i = 0; i < dat_the_lane.num_links; i++) {
		int saved = errno;

		node_disarm((node_link *)(uintptr_t)dat_the_lane.links[i]);
		/* not by read, which is a cancellation point; EAGAIN: nobody has rung */
		if (syscall(SYS_read, dat_the_lane.bells[i], &rings, sizeof(rings)) < 0)
			errno = saved;
	}
	dat_the_lane.untimed = 0;
	dat_the_lane.awake = 1;
}

/* Whether the clock has ticked since the last look at it. */
static __attribute__((noinline)) int has_ticked(void)
{
	static int64_t ms;
	struct timespec now;
	int64_t then = ms;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	ms = now.tv_sec * 1000 + now.tv_nsec / 1000000;
	return ms != then;
}

/* Core looks at its sockets and at peers now and then in any case. */
static inline int core_is_due(void)
{
	static uint32_t turns;

	return __builtin_expect(++turns % CLOCK_TURNS == 0, 0) && has_ticked();
}

int rc_poll_adapters(uint64_t evd, DAT_EVENT *event)
{
	int taken = 0;

	if (dev_some()) {
		evd_want(evd, event);
		dev_poll_for(evd);
		taken = evd_wanted();
	}
	if (__builtin_expect(!core_is_due() && !dev_work && !dat_the_lane.go_work, 1))
		return taken;
	godat_progress();
	return taken | RC_CORE_CALLED;
}

/*
 * Of completions a thread that polls for something else learns by messages, or now and then: to
 * look for them takes a cache line's way.
 */
int rc_poll(uint64_t evd, DAT_EVENT *event)
{
	dat_table *own = (dat_table *)(uintptr_t)dat_the_lane.table;
	uint32_t flags;
	int due, taken;

	evd_want(evd, event);
	flags = receive_rings();
	if (own)
		__atomic_store_n(&own->polls, CSHIM_OWN(own->polls) + 1, __ATOMIC_RELAXED);
	due = core_is_due();
	rc_look(due ? 0 : evd);
	if (evd)
		dev_poll_for(evd);
	else
		dev_poll();
	taken = evd_wanted();
	flags |= go_on();
	if (flags & DAT_LANE_CORE || due)
		godat_progress();
	return taken;
}
