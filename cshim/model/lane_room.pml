/*
 * lane_room.pml - a sender that sleeps until the receiver has consumed something
 * (cshim/node/receive.c: node_publish_consumed, send.c: node_ring_bell; arm.c: node_arm,
 * node_disarm).
 *
 * The receiver stores `consumed` and looks at `waiting`; the sender stores `armed` and `waiting`,
 * waits for membarrier, and looks at `consumed`. The receiver takes `waiting` back before it looks
 * at `armed` and rings; it takes `armed` after that, if it is still the same sleep's
 * (lane_sleep.pml). HOW: as in lane_sleep.pml, the receiver's way. The sender also awakes for other
 * reasons, and `waiting` stays then.
 *
 * Found: the sender sleeps for ever.
 *
 * Defects: NO_MEMBARRIER with LANE. LOOK_FIRST: the receiver looks before it stores. RINGS_FIRST:
 * it rings, then takes waiting back. WEAK only: LAZY_STORE, LAZY_LOAD: the store that takes
 * `waiting` back, or the load of `armed` behind it, is relaxed.
 */
#define LANE 0
#define FENCED 1
#define GO 2
#ifndef HOW
#define HOW LANE
#endif
#ifndef BATCHES
#define BATCHES 3
#endif

#define PROCESSORS 2
#define SENDER 0
#define RECEIVER 1

#define CONSUMED 0
#define WAITING 1
#define ARMED 2
#define CELLS 3
#define SOME_EARLY(t) 1
#define EARLY(t, where) (where == CONSUMED && t == SENDER || where != CONSUMED && t == RECEIVER)
#include "lane_memory.pml"

bool bell, other_bell, latest;
byte seen;

inline take_waiting() {
#ifdef LAZY_STORE
	store(WAITING, 0)
#else
	store_sc(WAITING, 0)
#endif
}

inline ring_bell() {
	atomic {
#ifdef LAZY_LOAD
		load(ARMED, armed);
#else
		load_sc(ARMED, armed);
#endif
		latest = armed
	};
	if
	:: armed ->
		armed = 0;
		bell = true;
		d_step {
			drain(me);
			if
			:: latest -> cell[ARMED] = 0
			:: else
			fi
		}
	:: else
	fi
}

inline tell() {
	if
	:: HOW == GO -> load_sc(WAITING, waiting)
	:: else -> load(WAITING, waiting)
	fi;
	if
	:: waiting ->
#ifdef RINGS_FIRST
		ring_bell();
		take_waiting()
#else
		take_waiting();
		ring_bell()
#endif
	:: else
	fi;
	waiting = 0
}

proctype receiver() {
	byte me = RECEIVER, k, consumed, waiting, armed;

	do
	:: consumed < BATCHES ->
		consumed++;
#ifdef LOOK_FIRST
		tell();
#endif
		if
		:: HOW == GO -> store_sc(CONSUMED, consumed)
		:: else -> store_release(CONSUMED, consumed)
		fi;
		if
		:: HOW == FENCED -> fence()
		:: else
		fi;
#ifndef LOOK_FIRST
		tell()
#endif
	:: else -> break
	od
}

proctype sender() {
	byte me = SENDER, k, other, now;

	do
	:: load_acquire(CONSUMED, now); /* room */
		if
		:: now != seen -> seen = now
		:: else -> /* Arm */
			d_step {
				drain(me);
				cell[ARMED] = 1;
				latest = false
			};
			store_sc(WAITING, 1);
#ifdef NO_MEMBARRIER
			fence();
#else
			membarrier();
#endif
			load_acquire(CONSUMED, now);
			if
			:: now != seen
			:: else ->
end:				(bell || other_bell) -> other_bell = false
			fi;
			store_sc(ARMED, 0); /* Disarm */
			bell = false
		fi;
		now = 0
	od
}

/* Something else the sender awakes for: twice, at any time. */
proctype others() {
	other_bell = true;
	!other_bell;
	other_bell = true
}

proctype judge() {
	timeout -> assert(seen == BATCHES)
}

init {
	atomic {
		run sender();
		run receiver();
		run memory(SENDER);
		run memory(RECEIVER);
		run others();
		run judge()
	}
}
