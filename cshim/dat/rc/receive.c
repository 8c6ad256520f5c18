/* receive.c - a turn of the lane: what comes by the links of the node, and what follows. */
#define _GNU_SOURCE
#include "dat/rc/private.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "dat/coll/coll.h"
#include "dat/godat.h"

enum {
	BATCH = 64,       /* messages of one ring in one turn */
	SEEN_TURNS = 16,  /* of core, from one in which it sees to all links to the next */
	CLOCK_TURNS = 64, /* turns of a thread that polls between looks at the clock */
	ANSWERS = 64      /* connections whose latest answer's slot is known */
};

/* The peer says that it is done with everything before a number; 0: core must deal with it. */
static int receive_done(dat_end *end, uint32_t seq)
{
	uint32_t n = seq - end->tx.oldest;

	if (n >= 1u << 31)
		return 1; /* an old one */
	return n <= end->tx.sent && dat_lane_done(end, seq);
}

static int takes_receive(const dat_header *header)
{
	return header->op == DAT_LANE_SEND || (header->flags & DAT_FLAG_IMMEDIATE);
}

/* 1 if the lane deals with a message of data: the next in order, of a plain send or write. */
static int is_next(const dat_end *end, const dat_header *header, uint64_t data)
{
	if (header->seq != end->rx.expected || header->attempt || header->op > DAT_LANE_WRITE ||
	    header->flags & DAT_FLAG_INVALIDATE || header->offset != end->rx.got ||
	    data > header->total - header->offset || header->offset > header->total)
		return 0;
	if (end->rx.state) { /* it goes on as it began */
		dat_header begun;

		memcpy(&begun, end->rx.coming, sizeof(begun));
		begun.offset = header->offset;
		begun.done = header->done;
		if (end->rx.state != DAT_COMING_DATA || memcmp(&begun, header, sizeof(begun)))
			return 0;
	} else if (!data && header->total) {
		return 0;
	}
	return !takes_receive(header) || (end->rx.received && header->number == end->rx.base);
}

uint64_t dat_lane_target(const dat_end *end, const dat_header *header)
{
	return dat_memory_of(end, header->context, header->addr, header->total,
	                     DAT_MEM_PRIV_REMOTE_WRITE_FLAG, 1);
}

/* Where the data of a message goes; 0: core says what is wrong. */
static uint64_t place_of(const dat_end *end, const dat_header *header)
{
	const dat_receive *receive;
	uint64_t at;

	if (header->op == DAT_LANE_WRITE) {
		at = dat_lane_target(end, header);
		return at ? at + header->offset : 0;
	}
	receive = dat_receive_at(end, end->rx.base);
	if (header->total > receive->n)
		return 0;
	at = dat_memory_of(end, receive->context, receive->addr, receive->n,
	                   DAT_MEM_PRIV_LOCAL_WRITE_FLAG, 0);
	return at ? at + header->offset : 0;
}

/* The event of the receive that the message takes: the oldest. */
static void tell_receive(dat_end *end, const dat_header *header, DAT_EVENT *event)
{
	int immed = (header->flags & DAT_FLAG_IMMEDIATE) != 0;
	int counter = immed ? DCNT_EP_RECV_RDMA_IMM : DCNT_EP_RECV;
	dat_completion *c =
		dat_completion_at(event, end->config.recv, end,
	                          dat_receive_at(end, end->rx.base)->cookie);

	c->length = header->total;
	c->operation = DAT_DTO_RECEIVE;
	c->context = header->context;
	if (immed) {
		dat_extend(c, DAT_IB_RDMA_WRITE_IMMED_DATA, 3, header->immediate);
		c->operation = DAT_IB_DTO_RECV_IMMED;
	}
	end->rx.base++;
	end->rx.received--;
	end->counters[counter]++;
	end->counters[counter + 1] += header->total;
	evd_placed(end->config.recv, DCNT_EVD_DTO_CALLBACK,
	               end->config.solicited && !(header->flags & DAT_FLAG_SOLICITED));
}

/* Takes a message of data; 0: core shall. */
static int receive_data(dat_end *end, const dat_header *header, const node_arrival *arrival)
{
	int last = header->total - header->offset == arrival->data;
	DAT_EVENT *event = NULL;

	if (!receive_done(end, header->done) || !is_next(end, header, arrival->data))
		return 0;
	if (last && takes_receive(header) && !(event = evd_place(end->config.recv)))
		return 0;
	if (arrival->data) {
		uint64_t at = place_of(end, header);

		if (!at ||
		    node_guarded_copy(node_memory_at(at), (const void *)(uintptr_t)arrival->bytes,
		                      arrival->data))
			return 0;
	}
	if (!last) {
		if (!end->rx.state)
			memcpy(end->rx.coming, header, sizeof(*header));
		end->rx.state = DAT_COMING_DATA;
		end->rx.got += (uint32_t)arrival->data;
		return 1;
	}
	dat_lane_passed(end);
	if (event)
		tell_receive(end, header, event);
	return 1;
}

/* The end that a message is for, if the lane has its connection; else NULL. */
static dat_end *end_for(const node_link *link, const node_peer *peer, const dat_header *header)
{
	dat_end *end = NULL;

	if (header->conn < dat_the_lane.num_ends)
		end = (dat_end *)(uintptr_t)((const uint64_t *)(uintptr_t)
		                                     dat_the_lane.ends)[header->conn];
	return end && end->on && !end->stuck && end->config.tag == header->tag &&
	                       end->config.link == (uintptr_t)link &&
	                       end->config.peer == (uintptr_t)peer
	               ? end
	               : NULL;
}

/* 1 if a message for an end was dealt with. */
static int receive_for(dat_end *end, const dat_header *header, const node_arrival *arrival)
{
	switch (arrival->kind) {
	case DAT_MSG_DATA:
		return receive_data(end, header, arrival);
	case DAT_MSG_DONE:
		return receive_done(end, header->seq);
	case DAT_MSG_REPLY:
		return receive_done(end, header->done) && dat_lane_reply(end, header, arrival);
	case DAT_MSG_HALF:
		return dat_lane_half(end, header, arrival);
	case DAT_MSG_ASK:
		return dat_lane_asked(end, arrival);
	case DAT_MSG_PULL:
		return dat_lane_pulled(end, arrival);
	case DAT_MSG_READY:
		end->route.unpulled = DAT_UNPULLED; /* maybe */
		return 0;
	}
	return 0;
}

/*
 * A program is going to be told of a message, and may answer: the line of the slot that the answer
 * goes to is asked for. Its peer looks at it, and so has it. Once for each slot: who is sent to and
 * does not answer would only take the line away from the sender. Under the block's lock.
 */
static void expect_answer(const dat_end *end, const node_peer *peer)
{
	static const node_slot *expected[ANSWERS]; /* by connection; two may share one */
	const node_slot **last = &expected[end->config.index % ANSWERS];
	const node_slot *slot = node_slot_at(peer->out_slots, peer->sender.tail);

	if (*last == slot)
		return;
	*last = slot;
	node_prefetch_to_write(slot);
}

/* The message at the head of a ring: its end if it was dealt with; NULL: it is core's. */
static dat_end *receive(const node_link *link, const node_peer *peer, const node_arrival *arrival)
{
	int asks = arrival->kind == DAT_MSG_ASK || arrival->kind == DAT_MSG_PULL;
	dat_header header;
	dat_end *end;

	if (arrival->header != (asks ? sizeof(dat_ask) : sizeof(header)))
		return NULL;
	node_take_header(&header, arrival, sizeof(header));
	if (!(end = end_for(link, peer, &header)))
		return NULL;
	/* The peer looks at this line: it is on its way while the message is dealt with. Else the
	 * next lock, of the program's next call, would wait for it. */
	if (end->config.own)
		node_prefetch_to_write(&((const dat_open *)(uintptr_t)end->config.own)->done);
	if (arrival->kind == DAT_MSG_DATA && takes_receive(&header))
		expect_answer(end, peer);
	return receive_for(end, &header, arrival) ? end : NULL;
}

/* What one ring holds, up to a batch. Each end whose peer is to hear of it is told at the end. */
static uint32_t receive_ring(node_link *link, node_peer *peer)
{
	uint32_t n = 0, flags = 0, ends = 0;
	dat_end *told[BATCH];

	while (n < BATCH) {
		node_arrival arrival;
		int found = node_next(peer, &arrival);
		dat_end *end;

		if (found == NODE_NONE)
			break;
		if (found == NODE_CANNOT || peer->stopped || peer->stalled || dat_coin() ||
		    !(end = receive(link, peer, &arrival))) {
			flags = DAT_LANE_CORE | DAT_LANE_RINGS;
			break;
		}
		n++;
		node_take(link, peer, &arrival);
		if (end->rx.tell && (ends == 0 || told[ends - 1] != end))
			told[ends++] = end;
	}
	while (ends > 0)
		if (told[--ends]->rx.tell)
			dat_lane_tell(told[ends]);
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

		if (!end || !end->on || end->stuck)
			continue;
		if (end->rx.state == DAT_COMING_ASK)
			dat_lane_answer(end);
		if (end->rx.tell)
			dat_lane_tell(end);
		dat_lane_send(end);
	}
}

/* What the rings hold. */
static uint32_t receive_rings(void)
{
	uint32_t i, k, flags = 0;

	for (i = 0; i < dat_the_lane.num_links; i++) {
		node_link *link = (node_link *)(uintptr_t)dat_the_lane.links[i];

		link->turn++;
		for (k = 0; k < link->num_active; k++)
			flags |= receive_ring(link, node_active(link, k));
		if (node_some_pending(link))
			flags |= DAT_LANE_CORE | DAT_LANE_RINGS;
	}
	return flags;
}

/* What is due beside that. */
static uint32_t go_on(void)
{
	uint32_t flags = 0;

	if (__builtin_expect(dat_the_lane.unsent != 0, 0))
		send_waiting();
	if (dat_groups)
		flags |= dat_groups_turn();
	if (dat_the_lane.go_work || dat_the_lane.stuck ||
	    (dat_the_lane.adapters && ((int (*)(void))(uintptr_t)dat_the_lane.adapters)()))
		flags |= DAT_LANE_CORE;
	return flags;
}

uint32_t dat_lane_turn(void)
{
	uint32_t flags = receive_rings();

	if (dat_lane_look(0))
		flags |= DAT_LANE_MADE;
	return flags | go_on();
}

void dat_lane_disarm(void)
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

void dat_lane_leave(uint32_t flags)
{
	static uint32_t turns;

	dat_the_lane.leave = flags & DAT_LANE_RINGS ? DAT_LEAVE_NOTHING
	                     : ++turns % SEEN_TURNS ? DAT_LEAVE_LINKS
	                                            : DAT_LEAVE_MESSAGES;
}

uint32_t dat_lane_core(uint32_t flags)
{
	uint32_t made;

	dat_lane_leave(flags);
	made = godat_progress();
	dat_the_lane.leave = DAT_LEAVE_NOTHING;
	return made;
}

/* Core looks at its sockets and at peers now and then in any case. */
static int core_is_due(void)
{
	static uint32_t turns;
	static int64_t ms;
	struct timespec now;
	int64_t then = ms;

	if (++turns % CLOCK_TURNS)
		return 0;
	clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	ms = now.tv_sec * 1000 + now.tv_nsec / 1000000;
	return ms != then;
}

/*
 * Of completions who polls for something else hears by what it is sent, or now and then: to look
 * for them takes a cache line's way.
 */
int dat_lane_poll(uint64_t evd, DAT_EVENT *event)
{
	dat_table *own = (dat_table *)(uintptr_t)dat_the_lane.table;
	uint32_t flags;
	int due, taken;

	evd_want(evd, event);
	flags = receive_rings();
	if (own)
		__atomic_store_n(&own->polls, own->polls + 1, __ATOMIC_RELAXED);
	due = core_is_due();
	dat_lane_look(due ? 0 : evd);
	taken = evd_wanted();
	flags |= go_on();
	if (flags & DAT_LANE_CORE || due)
		dat_lane_core(flags);
	return taken;
}
