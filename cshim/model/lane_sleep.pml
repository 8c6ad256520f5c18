/*
 * lane_sleep.pml - how a receiver learns that there is a message (cshim/node/send.h: node_publish,
 * send.c: node_append_wake, node_ring_bell; active.c: cold rings; arm.c: node_arm, node_disarm).
 *
 * Senders store a message's head word and then look at `cold` and `armed`. The receiver stores
 * those, waits for membarrier, and then looks at the head words: it gives rings up and takes them
 * back, sleeps and wakes, whenever it likes. Each sender does it in one of three ways: LANE, plain
 * stores and loads; FENCED, with a fence between, for a receiver that has no membarrier
 * (-DNO_MEMBARRIER); GO, sequentially consistent ones, for a sender that no barrier reaches. With
 * -DREFUSED the kernel no longer fences for a receiver that has announced to its senders that it
 * does (node_order_peers in cshim/node/arm.c): it gives no ring up any more, and wakes up by itself
 * after a time in which all stores have come out. With -DSTOP sender 0 stops for ever after any
 * step, killed or not: nobody notifies the receiver.
 *
 * `armed` holds the number of the sleep. A sender remembers it, writes the bell, and then takes
 * that sleep's `armed`. As numbers do not come again, the model has only whether a sender's is
 * still the latest.
 *
 * Found: the receiver sleeps, or looks elsewhere, for ever, and a message is there of a sender that
 * has not stopped.
 *
 * Defects: NO_MEMBARRIER with LANE. NO_ARM_BARRIER, NO_COLD_BARRIER: one of the two is left out.
 * LOOK_FIRST: the sender looks before it stores. COLD_FIRST: it looks at `cold` before it stores,
 * at `armed` behind. ARM_LATE: the receiver looks before it arms. KEEPS_PENDING: Arm does not look
 * at `pending`. KEEPS_COOLING, SLEEPS_LONG (-DREFUSED): rings are given up all the same; the sleep
 * is not bounded. TAKES_FIRST (-DSTOP): `armed` is taken before the bell is written, so a sender
 * that stops between the two keeps the others' messages waiting. NO_NUMBER: `armed` does not say
 * which sleep it is: a slow sender takes the `armed` of the next sleep, for which it has not rung.
 */
#define LANE 0
#define FENCED 1
#define GO 2
#ifndef HOW0
#define HOW0 LANE
#endif
#ifndef HOW1
#define HOW1 GO
#endif
#ifndef MESSAGES
#define MESSAGES 2 /* of sender 0; the other sends 1 */
#endif

#define SENDERS 2
#define RECEIVER 2
#define PROCESSORS 3

#define HEAD(t) (t) /* how many messages are in the ring */
#define COLD(t) (SENDERS + t)
#define ARMED (2 * SENDERS)
#define CELLS (2 * SENDERS + 1)
#define DEPTH 2
/* A sender's loads change places anyhow: tell. The receiver's make many states. */
#ifdef EARLY_LOADS
#define SOME_EARLY(t) (t == RECEIVER)
#else
#define SOME_EARLY(t) 0
#endif
#define EARLY(t, where) (where < SENDERS)
#include "lane_memory.pml"

bool pending[SENDERS]; /* changed by locked instructions only */
bool bell;             /* the kernel's: an eventfd */
bool latest[SENDERS];  /* the number that the sender read in `armed` is that of the latest sleep */
bool late;             /* the sleep has lasted its time */
bool stopped;
byte got[SENDERS];

inline take_armed() {
	d_step {
		drain(me);
		took = cell[ARMED] && latest[me];
		if
		:: took -> cell[ARMED] = 0
		:: else
		fi
	}
}

inline ring_bell() {
#ifdef TAKES_FIRST
	take_armed();
	if
	:: took -> bell = true
	:: else
	fi;
#else
	bell = true;
	take_armed();
#endif
	took = false
}

inline load_armed() {
	d_step {
		armed = cell[ARMED];
		latest[me] = armed
	}
}

inline tell() {
#ifdef COLD_FIRST
	load_armed();
	if
	:: cold -> d_step { drain(me); pending[me] = true }
	:: else
	fi;
	if
	:: armed -> ring_bell()
	:: else
	fi
#else
	if /* the two loads may change places */
	:: load(COLD(me), cold); load_armed()
	:: load_armed(); load(COLD(me), cold)
	fi;
	if
	:: cold || armed ->
		load(COLD(me), cold);
		if
		:: cold -> d_step { drain(me); pending[me] = true }
		:: else
		fi;
		load_armed();
		if
		:: armed -> ring_bell()
		:: else
		fi
	:: else
	fi
#endif
	;
	cold = false;
	armed = false
}

proctype sender(byte me; byte how; byte messages) {
	byte k, message;
	bool cold, armed, took;

	{
		do
		:: message < messages ->
			message++;
#ifdef LOOK_FIRST
			tell();
#endif
#ifdef COLD_FIRST
			load(COLD(me), cold);
#endif
			if
			:: how == GO -> d_step { drain(me); cell[HEAD(me)] = message }
			:: else -> d_step { keep(HEAD(me), message, 1) }
			fi;
			if
			:: how == FENCED -> fence()
			:: else
			fi;
#ifndef LOOK_FIRST
			tell()
#endif
		:: else -> break
		od
	} unless {
		me == 0 && stopped
	}
}

inline fence_all() {
#if defined(NO_MEMBARRIER) || defined(REFUSED)
	fence()
#else
	membarrier()
#endif
}

/* Progress: takePending, and what hot rings hold. */
inline turn() {
	t = 0;
	do
	:: t < SENDERS ->
		if
		:: pending[t] ->
			pending[t] = false; /* one swap takes all; that others come between changes nothing */
			hot[t] = true;
			store_sc(COLD(t), 0)
		:: else
		fi;
		if
		:: hot[t] -> load_acquire(HEAD(t), now); got[t] = now
		:: else
		fi;
		t++
	:: else -> break
	od;
	t = 0;
	now = 0
}

inline cool_down(t) {
	hot[t] ->
	store_sc(COLD(t), 1);
#ifndef NO_COLD_BARRIER
	fence_all();
#endif
	load_acquire(HEAD(t), now);
	if
	:: now != got[t] -> store_sc(COLD(t), 0)
	:: else -> hot[t] = false
	fi;
	now = 0
}

#ifdef KEEPS_PENDING
#define PENDING false
#else
#define PENDING (pending[0] || pending[1])
#endif

/* Arm's look: one load after the other, the last at `idle`. */
inline look() {
	work = PENDING;
	if
	:: hot[0] -> load_acquire(HEAD(0), now); work = work || now != got[0]
	:: else
	fi;
	if
	:: hot[1] -> load_acquire(HEAD(1), now); work = work || now != got[1]
	:: else
	fi;
	now = 0
}

inline disarm() {
	d_step {
		drain(me);
		cell[ARMED] = 0
	};
	bell = false
}

inline arm() {
	d_step {
		drain(me);
		cell[ARMED] = 1;
#ifndef NO_NUMBER
		latest[0] = false;
		latest[1] = false
#endif
	}
}

inline sleep() {
#ifdef ARM_LATE
	look();
	arm();
#else
	arm();
#ifndef NO_ARM_BARRIER
	fence_all();
#endif
	look();
#endif
	if
	:: work
	:: else ->
end:		(bell || late) -> late = false
	fi;
	disarm();
	work = false
}

proctype receiver() {
	byte me = RECEIVER, k, other, t, now;
	bool hot[SENDERS], work;

	hot[0] = true;
	hot[1] = true;
	do
	:: turn();
		if
#if !defined(REFUSED) || defined(KEEPS_COOLING)
		:: cool_down(0)
		:: cool_down(1)
#endif
		:: sleep()
		:: true
		fi
	od
}

#ifdef STOP
proctype stop() {
	stopped = true
}
#endif

/*
 * Nothing moves any more. Messages that a stopped sender has not announced may stay where nobody
 * looks.
 */
proctype judge() {
#if defined(REFUSED) && !defined(SLEEPS_LONG)
	timeout -> late = true;
#endif
	timeout -> assert((stopped || got[0] == MESSAGES) && got[1] == 1)
}

init {
	atomic {
		run sender(0, HOW0, MESSAGES);
		run sender(1, HOW1, 1);
		run receiver();
		run memory(0);
		run memory(1);
#ifdef WEAK
		run memory(RECEIVER); /* without, it keeps nothing to itself */
#endif
#ifdef STOP
		run stop();
#endif
		run judge()
	}
}
