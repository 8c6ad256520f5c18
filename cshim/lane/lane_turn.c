/* lane_turn.c - a turn of the lane: messages in active rings. This file deals with messages that
 * lie in one slot and are as usual, as most are; lane_receive.c deals with the others. */
#define _GNU_SOURCE
#include "lane/lane_send.h"

#include <time.h>

#include "lane/lane_arrive.h"
#include "progress/wait.h"

enum {
	BATCH = 64,      /* messages of one ring in one turn */
	CLOCK_TURNS = 64 /* turns between looks at the clock */
};

/* The part above the sequence in the head word of a message with such a header. */
#define SHORT(kind, header) ((uint32_t)(kind) | (uint32_t)(sizeof(header) / NODE_HEADER_UNIT) << 8)

/* A small active message in one slot, without a user header. Not inline: it needs much of the
 * stack, and the values whose addresses it passes on would take registers from the other cases. */
static __attribute__((noinline)) cshim_fate receive_am(cshim_context *context, cshim_lane *lane,
                                                       node_peer *peer, uint64_t data)
{
	const node_arrival arrival =
		node_short_arrival(peer, CSHIM_MSG_AM_SMALL, sizeof(cshim_am_header), data);

	return data > NODE_ONE_SLOT - sizeof(cshim_am_header)
	               ? CSHIM_LEFT
	               : cshim_am_in_ring(context, lane, peer, &arrival);
}

/* A request, or an answer, in one slot. */
static __attribute__((noinline)) cshim_fate
receive_request(cshim_context *context, cshim_lane *lane, node_peer *peer, uint64_t word)
{
	uint32_t kind = word >> 32 & 0xff;
	const node_arrival arrival =
		node_short_arrival(peer, kind, (word >> 40 & 0xff) * NODE_HEADER_UNIT, word >> 48);

	return cshim_lane_requested(context, lane, peer, &arrival) ? CSHIM_TAKEN : CSHIM_LEFT;
}

static __attribute__((noinline)) cshim_fate receive_reply(cshim_context *context, cshim_lane *lane,
                                                          node_peer *peer, uint64_t data)
{
	const node_arrival arrival =
		node_short_arrival(peer, NODE_REPLY, sizeof(node_reply_header), data);

	return data <= NODE_REPLY_SHORT && cshim_lane_replied(context, lane, peer, &arrival)
	               ? CSHIM_TAKEN
	               : CSHIM_LEFT;
}

/* A message in one slot, as most are: CSHIM_LEFT if it is another, or something about it is
 * unusual. */
static inline __attribute__((always_inline)) cshim_fate
receive_short(cshim_context *context, cshim_lane *lane, node_peer *peer, uint64_t word)
{
	const cshim_end from = cshim_end_of_ring(peer);
	const uint64_t data = word >> 48;
	node_arrival arrival;
	node_put_header put;

	switch ((uint16_t)(word >> 32)) {
	case SHORT(NODE_PUT, node_put_header):
		arrival = node_short_arrival(peer, NODE_PUT, sizeof(put), data);
		if (data > NODE_PUT_SHORT || node_serve_put(peer, &arrival, &put) != NODE_ARRIVED)
			break;
		cshim_put_arrived(context, lane, &from, put.notice);
		return CSHIM_TAKEN;
	case SHORT(CSHIM_MSG_COUNTER, cshim_counter_header):
		arrival = node_short_arrival(peer, CSHIM_MSG_COUNTER, sizeof(cshim_counter_header),
		                             data);
		return cshim_counter_arrived(context, lane, &from, &arrival);
	case SHORT(CSHIM_MSG_AM_SMALL, cshim_am_header):
		return receive_am(context, lane, peer, data);
	case SHORT(NODE_REPLY, node_reply_header):
		return receive_reply(context, lane, peer, data);
	case SHORT(NODE_GET, node_get_header):
	case SHORT(NODE_RMW, node_rmw_header):
		return receive_request(context, lane, peer, word);
	}
	return CSHIM_LEFT;
}

/* Receives the message at the head of a ring, whose head word is word. A message that receive_short
 * leaves is unchanged. */
static inline __attribute__((always_inline)) cshim_fate
receive_next(cshim_context *context, cshim_lane *lane, node_peer *peer, uint64_t word)
{
	cshim_fate fate;

	/* the coin of LAPI_FASTLANE=random is thrown there */
	if (__builtin_expect((peer->stopped | lane->off | lane->random) != 0, 0))
		return cshim_lane_receive(context, lane, peer);
	fate = receive_short(context, lane, peer, word);
	if (__builtin_expect(fate == CSHIM_LEFT, 0))
		return cshim_lane_receive(context, lane, peer);
	if (fate == CSHIM_TAKEN)
		node_take_short(cshim_link_of(lane), peer, word >> 48);
	return fate;
}

/*
 * Receives what one ring holds, up to a batch, or until counter, if it is not NULL, has reached
 * val. Returns how many messages, with CSHIM_LANE_CORE if the next one is core's.
 */
static inline __attribute__((always_inline)) uint32_t
receive_ring(cshim_context *context, cshim_lane *lane, node_peer *peer, const int *counter, int val)
{
	node_receiver *receiver = &peer->receiver;
	uint32_t n = 0;

	while (n < BATCH) {
		uint64_t word = node_look(peer);
		cshim_fate fate;

		if (!node_is_next(peer, word))
			break;
		fate = receive_next(context, lane, peer, word);
		if (fate == CSHIM_NOTHING)
			break;
		if (fate == CSHIM_LEFT) {
			n |= CSHIM_LANE_CORE;
			break;
		}
		n++;
		/* The next slot may be a cache line's transfer away. A waiting thread does not wait
		 * for that, unless completions may be reported together. */
		if (counter && !lane->told && cshim_counter_reached(counter, val))
			break;
	}
	if (lane->told) {
		const cshim_end end = cshim_end_of_ring(peer);

		cshim_lane_tell_now(context, lane, &end);
	}
	if (n & ~CSHIM_LANE_CORE)
		receiver->turn = cshim_link_of(lane)->turn;
	if (receiver->head != receiver->published && !peer->stopped)
		node_publish_consumed(peer);
	return n;
}

/* Milliseconds, from a clock that costs no more than some loads. */
static uint32_t coarse_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	return (uint32_t)now.tv_sec * 1000u + (uint32_t)(now.tv_nsec / 1000000);
}

/*
 * Core gets a turn now and then in any case: for the job session, which is how deaths become known,
 * whether turns are many or few. Where there is a socket to look at, turns are few before it; where
 * others have the processor in between, each may take milliseconds, and so the clock counts.
 */
static int core_is_due(cshim_lane *lane)
{
	if (++lane->turns >= lane->turns_max)
		return 1;
	if (lane->turns_max < CLOCK_TURNS)
		return coarse_ms() != lane->core_ms;
	return lane->turns % CLOCK_TURNS == 0 && coarse_ms() - lane->core_ms >= CSHIM_LANE_CORE_MS;
}

uint32_t cshim_lane_turn(cshim_context *context)
{
	cshim_lane *lane = cshim_lane_of(context);
	node_link *link;
	uint32_t i, n, flags = 0;

	if (!lane)
		return CSHIM_LANE_CORE;
	link = cshim_link_of(lane);
	link->turn++;
	if (++link->first >= link->num_active)
		link->first = 0;
	for (i = 0; i < link->num_active; i++) {
		n = receive_ring(context, lane, node_active(link, i), NULL, 0);
		flags |= n & CSHIM_LANE_CORE;
		if (n & ~CSHIM_LANE_CORE)
			flags |= CSHIM_PROGRESS_MADE;
	}
	if (lane->verbs) {
		n = cshim_packets_receive(context, lane, NULL, 0);
		flags |= n & CSHIM_LANE_CORE;
		if (n & ~CSHIM_LANE_CORE)
			flags |= CSHIM_PROGRESS_MADE;
	}
	if (lane->go_work || core_is_due(lane) || node_some_pending(link))
		flags |= CSHIM_LANE_CORE;
	return flags;
}

/* CSHIM_SEEN_ flags, with that of the goal, which a thread of another context may have reached. */
static inline uint32_t and_over(uint32_t seen, const int *counter, int val)
{
	return cshim_counter_reached(counter, val) ? seen | CSHIM_SEEN_OVER : seen;
}

/*
 * The result of a turn for a thread that waits for a counter, n as of receive_ring: CSHIM_SEEN_
 * flags. A turn with all that belongs to it is due as often as without cshim_lane_await, and then
 * counts by itself.
 */
static inline uint32_t turn_over(cshim_context *context, cshim_lane *lane, uint32_t n,
                                 const int *counter, int val)
{
	uint32_t seen = (n & ~CSHIM_LANE_CORE ? CSHIM_SEEN_NEWS : 0) |
	                (n & CSHIM_LANE_CORE ? CSHIM_SEEN_CALL : 0);

	cshim_call_ends(&context->progress);
	cshim_notify(&context->progress);
	if (lane->go_work || (lane->turns + 1) % CLOCK_TURNS == 0 ||
	    lane->turns + 1 >= lane->turns_max)
		seen |= CSHIM_SEEN_CALL;
	else
		lane->turns++;
	return and_over(seen, counter, val);
}

static inline void turn_begins(cshim_context *context, const cshim_lane *lane)
{
	cshim_link_of(lane)->turn++;
	cshim_call_begins(&context->progress);
}

/* A turn for packets, for a thread that waits for a counter. */
static __attribute__((noinline)) uint32_t receive_packets(cshim_context *context, cshim_lane *lane,
                                                          const int *counter, int val)
{
	turn_begins(context, lane);
	return turn_over(context, lane, cshim_packets_receive(context, lane, counter, val), counter,
	                 val);
}

uint32_t cshim_lane_await(cshim_context *context, const int *counter, int val, int looks)
{
	cshim_lane *lane = cshim_lane_of(context);
	node_link *link = cshim_link_of(lane);

	for (; looks > 0; looks--) {
		uint32_t i;

		for (i = 0; i < link->num_active; i++) {
			node_peer *peer = node_active(link, i);

			CSHIM_KEEP(peer);
			if (!node_holds(peer))
				continue;
			/* the others have their turn */
			link->first = node_after(link, i);
			turn_begins(context, lane);
			return turn_over(context, lane,
			                 receive_ring(context, lane, peer, counter, val), counter,
			                 val);
		}
		if (lane->verbs && cshim_packets_hold(lane))
			return receive_packets(context, lane, counter, val);
		if (lane->go_work)
			return and_over(CSHIM_SEEN_CALL, counter, val);
		if (__builtin_expect(
			    __atomic_load_n(&context->progress.lock_waiters, __ATOMIC_RELAXED) != 0,
			    0))
			break;
		cshim_between_polls();
	}
	return and_over(0, counter, val);
}

void cshim_lane_turned(cshim_context *context)
{
	cshim_lane *lane = cshim_lane_of(context);

	if (!lane)
		return;
	lane->turns = 0;
	lane->core_ms = coarse_ms();
}
