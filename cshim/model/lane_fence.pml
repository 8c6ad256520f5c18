/*
 * lane_fence.pml - a sender's fence over messages of which some are refused and accepted later
 * (cshim/lane/lane_send.c: cshim_lane_fenced, cshim/node/receive.c: node_publish_consumed, arm.c:
 * node_flushed; transport/shm/receive.go: what is held).
 *
 * The receiver stores `held` before the `consumed` that passes a refused message; the sender loads
 * `consumed` before `held`. A message may be consumed by the lane, whose store of `consumed` is a
 * release, while others are held.
 *
 * Found: a fence that is over before all see what the handler of a message has written, or never.
 *
 * Defects: HELD_LATE: held is stored after consumed. HELD_FIRST: the sender loads held first: what
 * a load without acquire comes to. WEAK only: CONSUMED_RELAXED, HELD_RELAXED: stores without release.
 * LOADS_RELAXED: both loads without acquire.
 */
#ifndef MESSAGES
#define MESSAGES 3
#endif

#define PROCESSORS 2
#define RECEIVER 0
#define SENDER 1

#define CONSUMED 0
#define HELD 1
#define WRITTEN(i) (2 + i) /* by the handler that accepts message i */
#define CELLS (2 + MESSAGES)
#define SOME_EARLY(t) (t == SENDER)
#define EARLY(t, where) 1
#include "lane_memory.pml"

bool accepted[MESSAGES]; /* as the receiver knows */
byte sent, oldest = MESSAGES; /* of those that are held; MESSAGES: none */

inline find_oldest() {
	oldest = 0;
	do
	:: oldest < head && accepted[oldest] -> oldest++
	:: else -> break
	od;
	if
	:: oldest == head -> oldest = MESSAGES
	:: else
	fi
}

inline accept(i) {
	store(WRITTEN(i), 1);
	accepted[i] = true
}

proctype receiver() {
	byte me = RECEIVER, k, head, published;

	do
	:: head < sent -> accept(head); head++
	:: head < sent -> head++; /* refused; held says the oldest */
		if
		:: oldest == MESSAGES ->
			oldest = head - 1;
#ifndef HELD_LATE
			store_release(HELD, head)
#endif
		:: else
		fi
	:: head != published ->
#ifdef CONSUMED_RELAXED
		store(CONSUMED, head);
#else
		store_release(CONSUMED, head);
#endif
		published = head;
#ifdef HELD_LATE
		store_release(HELD, (oldest == MESSAGES -> 0 : oldest + 1))
#endif
	:: oldest != MESSAGES -> /* it is offered again */
		accept(oldest);
		d_step { find_oldest() };
#ifdef HELD_RELAXED
		store(HELD, (oldest == MESSAGES -> 0 : oldest + 1))
#else
		store_release(HELD, (oldest == MESSAGES -> 0 : oldest + 1))
#endif
	:: head == MESSAGES && published == MESSAGES && oldest == MESSAGES -> break
	od
}

proctype sender() {
	byte me = SENDER, k, consumed, held, written, i;

	do
	:: sent < MESSAGES ->
		sent++;
		if
		:: true -> /* Fence */
			do
			::
#ifdef HELD_FIRST
				load_acquire(HELD, held);
				load_acquire(CONSUMED, consumed);
#else
#ifdef LOADS_RELAXED
				load(CONSUMED, consumed);
				load(HELD, held);
#else
				load_acquire(CONSUMED, consumed);
				load_acquire(HELD, held);
#endif
#endif
				if
				:: consumed >= sent && (held == 0 || held > sent) -> break
				:: else -> cell[CONSUMED] != consumed || cell[HELD] != held
				fi
			od;
			i = 0;
			do
			:: i < sent -> load(WRITTEN(i), written); assert(written == 1); i++
			:: else -> break
			od
		:: true
		fi
	:: else -> break
	od
}

init {
	atomic {
		run sender();
		run receiver();
		run memory(RECEIVER);
		run memory(SENDER)
	}
}
