/*
 * lane_sleep.pml - who tells a receiver that there is a message (cshim/lane_path.h: cshim_append_end, lane_path.c: cshim_append_wake,
 * cshim_ring_bell; transport/shm/send.go: notify, wake; receive.go: takePending, coolDown; sleep.go: Arm, Disarm).
 *
 * Senders store a message's head word and then look at `cold` and `armed`. The receiver stores those, waits for membarrier, and then
 * looks at the head words: it gives rings up and takes them back, sleeps and wakes, whenever it likes. Each sender does it in one of three ways:
 * LANE, plain stores and loads; FENCED, with a fence between, for a receiver that has no membarrier (-DNO_MEMBARRIER); GO, sequentially consistent ones.
 * With -DREFUSED the kernel no longer fences for a receiver that has told its senders that it does (transport/shm/fence.go: orderPeers): it gives no ring
 * up any more, and wakes up by itself after a time in which all stores have come out.
 * With -DKILL sender 0 stops for ever after any step; some time later the job tells the receiver, which wakes it.
 *
 * Found: the receiver sleeps, or looks elsewhere, for ever, and a message is there.
 *
 * Defects: NO_MEMBARRIER with LANE. NO_ARM_BARRIER, NO_COLD_BARRIER: one of the two is left out. LOOK_FIRST: the sender looks before it
 * stores. COLD_FIRST: it looks at `cold` before it stores, at `armed` behind. ARM_LATE: the receiver looks before it arms. KEEPS_PENDING: Arm
 * does not look at `pending`. KEEPS_COOLING, SLEEPS_LONG (-DREFUSED): rings are given up all the same; the sleep is not bounded. NO_NOTICE: the job does not tell of deaths: a sender that took `armed` and died before it wrote the
 * bell would keep the others' messages waiting.
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
#include "lane_memory.pml"

bool pending[SENDERS]; /* changed by locked instructions only */
bool bell, notice;     /* the kernel's: an eventfd, and the socket of the job */
bool late;             /* the sleep has lasted its time */
bool dead;
byte got[SENDERS];

inline ring_bell() {
	d_step {
		drain(me);
		took = cell[ARMED];
		cell[ARMED] = 0
	};
	if
	:: took -> bell = true; took = false
	:: else
	fi
}

inline tell() {
#ifdef COLD_FIRST
	load(ARMED, armed);
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
	:: load(COLD(me), cold); load(ARMED, armed)
	:: load(ARMED, armed); load(COLD(me), cold)
	fi;
	if
	:: cold || armed ->
		load(COLD(me), cold);
		if
		:: cold -> d_step { drain(me); pending[me] = true }
		:: else
		fi;
		load(ARMED, armed);
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
		me == 0 && dead
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
		:: hot[t] -> load(HEAD(t), now); got[t] = now
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
	load(HEAD(t), now);
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
	:: hot[0] -> load(HEAD(0), now); work = work || now != got[0]
	:: else
	fi;
	if
	:: hot[1] -> load(HEAD(1), now); work = work || now != got[1]
	:: else
	fi;
	now = 0
}

inline disarm() {
	d_step {
		drain(me);
		unread = unread || !cell[ARMED];
		cell[ARMED] = 0
	};
	d_step {
		if
		:: unread && bell -> bell = false; unread = false
		:: else
		fi
	}
}

inline sleep() {
#ifdef ARM_LATE
	look();
	store_sc(ARMED, 1);
#else
	store_sc(ARMED, 1);
#ifndef NO_ARM_BARRIER
	fence_all();
#endif
	look();
#endif
	if
	:: work
	:: else ->
end:		(bell || notice || late) -> notice = false; late = false
	fi;
	disarm();
	work = false
}

proctype receiver() {
	byte me = RECEIVER, k, other, t, now;
	bool hot[SENDERS], unread, work;

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

#ifdef KILL
proctype job() {
	dead = true;
#ifndef NO_NOTICE
	notice = true
#endif
}
#endif

/* Nothing moves any more. A dead sender's last message may stay where nobody looks. */
proctype judge() {
#if defined(REFUSED) && !defined(SLEEPS_LONG)
	timeout -> late = true;
#endif
	timeout -> assert((dead || got[0] == MESSAGES) && got[1] == 1)
}

init {
	atomic {
		run sender(0, HOW0, MESSAGES);
		run sender(1, HOW1, 1);
		run receiver();
		run memory(0);
		run memory(1);
#ifdef KILL
		run job();
#endif
		run judge()
	}
}
