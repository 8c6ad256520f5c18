/*
 * lock.pml - the lock of a block (cshim/progress/lock.h, lock.c, membarrier.c): taking, releasing
 * by a plain store, sleeping, waking. lane_memory.pml has what processors do with the stores, and
 * membarrier.
 *
 * THREADS threads take the lock ROUNDS times each; the last TRYERS of them by trylock, which may
 * give up. Where the code decides by spins and patience whether to sleep or to look again, both are
 * tried. Each release is unfenced until cshim_progress_prepare or a refused membarrier says
 * otherwise: -DREFUSED: before any lock is taken. -DREFUSED_LATER: from the first sleeper on whom
 * it hits, which waits until time has let every store out (DRAIN_NS), and after which all have
 * fences of their own.
 *
 * Found: two owners, or an owner that does not see what the one before has stored (assertions); a
 * thread that sleeps for ever (spin calls that an invalid end state).
 *
 * Defects: NO_BARRIER: none before sleeping. NO_FENCE: a release has none though membarrier is
 * refused. NO_DRAIN: the one on whom membarrier is refused does not wait. LOOK_FIRST: a release
 * looks at the flags before it frees the word. FLAG_LATE: a waiter looks once more before it sets
 * the flag. WAKES_LATE: it reads lock_wakes after it has set the flag. WAKES_FIRST: who releases
 * changes lock_wakes before it takes the flag away. NOT_ANSWERABLE: a waiter that has got the lock
 * forgets those who sleep on. WEAK only: WORD_RELAXED: a release is no release. TRY_RELAXED: taking the
 * lock is no acquire.
 */
#ifndef THREADS
#define THREADS 2
#endif
#ifndef ROUNDS
#define ROUNDS 2
#endif
#ifndef TRYERS
#define TRYERS 0
#endif

#define PROCESSORS THREADS
#define WORD 0 /* lock_word: 0 free, thread + 1 */
#define DATA 1 /* under the lock */
#define CELLS 2
#define DEPTH 2
#include "lane_memory.pml"

/* Changed by locked instructions only. */
bool wake, fenced; /* lock_after: CSHIM_LOCK_WAKE, CSHIM_LOCK_FENCE */
byte wakes;        /* lock_wakes */
byte waiters;      /* lock_waiters */
bool asymmetric = true;

byte owners, stored; /* of the model */
bool asleep[THREADS];

/* A compare-and-swap with acquire alone: where memory is weak, stores before it may come out after it, but
 * for those to the word. */
#ifdef WEAK
#define KEEPS_WORD (kept[me].n > 0 && kept[me].at[0] == WORD || kept[me].n > 1 && kept[me].at[1] == WORD)
inline begin_try() {
	do
	:: KEEPS_WORD -> let_out(me, 0)
	:: else -> break
	od;
#ifndef TRY_RELAXED
	early_at[me] = 0;
	early[me] = 0
#endif
}
#else
inline begin_try() { drain(me) }
#endif

/* cshim_lock_try. Sets got. */
inline try() {
	load(WORD, word);
	if
	:: word == 0 ->
		d_step {
			begin_try();
			if
			:: cell[WORD] == 0 -> cell[WORD] = me + 1; got = true
			:: else
			fi
		}
	:: else
	fi;
	word = 0
}

/* Wakes one sleeper, whichever. */
inline futex_wake_one() {
	atomic {
		if
		:: asleep[0] -> asleep[0] = false
		:: asleep[1] -> asleep[1] = false
#if THREADS > 2
		:: asleep[2] -> asleep[2] = false
#endif
		:: else
		fi
	}
}

/* cshim_lock_see_to */
inline see_to() {
#ifdef NO_FENCE
	if
	:: wake ->
#else
	if
	:: fenced -> fence()
	:: else
	fi;
	if
	:: wake ->
#endif
#ifdef WAKES_FIRST
		d_step { drain(me); wakes = (wakes + 1) % 8 };
		d_step { drain(me); wake = false };
#else
		d_step { drain(me); wake = false };
		d_step { drain(me); wakes = (wakes + 1) % 8 };
#endif
		futex_wake_one()
	:: else
	fi
}

/* cshim_lock_let_go. The flags are one word: both are looked at at once. */
inline let_go() {
#ifdef LOOK_FIRST
	after = wake || fenced;
#endif
#ifdef WORD_RELAXED
	store(WORD, 0);
#else
	store_release(WORD, 0);
#endif
#ifndef LOOK_FIRST
	after = wake || fenced;
#endif
	if
	:: after -> after = false; see_to()
	:: else
	fi
}

/* cshim_membarrier_order */
inline membarrier_order() {
#ifndef NO_BARRIER
	if
#ifdef REFUSED_LATER
	:: asymmetric ->
		d_step { drain(me); fenced = true };
#ifndef NO_DRAIN
		membarrier(); /* so much time */
#endif
		d_step { drain(me); asymmetric = false }
#else
	:: asymmetric -> membarrier()
#endif
	:: else -> fence()
	fi
#else
	skip
#endif
}

/* sleep_for_lock */
inline sleep() {
#ifdef FLAG_LATE
	seen = wakes;
	try();
	if
	:: !got -> d_step { drain(me); wake = true }; membarrier_order()
	:: else
	fi;
#else
#ifdef WAKES_LATE
	d_step { drain(me); wake = true };
	seen = wakes;
#else
	seen = wakes;
	d_step { drain(me); wake = true };
#endif
	membarrier_order();
	try();
#endif
	if
	:: !got ->
		atomic {
			if
			:: wakes == seen -> asleep[me] = true
			:: else
			fi
		};
		!asleep[me]
	:: else
	fi;
	seen = 0
}

/* cshim_lock_wait */
inline wait_for_lock() {
	d_step { drain(me); waiters++ };
	do
	:: got -> break
	:: else ->
		if
		:: sleep()
		:: try() /* spin_for_lock */
		fi
	od;
	skip; /* spin does not let a loop end in a d_step */
	d_step {
		drain(me);
		waiters--;
		left = waiters
	};
#ifndef NOT_ANSWERABLE
	if
	:: left > 0 -> d_step { drain(me); wake = true }
	:: else
	fi;
#endif
	left = 0
}

/* Under the lock. */
inline work() {
	owners++;
	load(DATA, word);
	assert(owners == 1 && word == stored);
	stored = me + 1;
	word = 0;
	store(DATA, me + 1);
	owners--
}

proctype thread(byte me) {
	byte word, seen, k, other, round, left;
	bool got, after;

	do
	:: round < ROUNDS ->
		round++;
		try();
		if
		:: !got && me < THREADS - TRYERS -> wait_for_lock()
		:: else
		fi;
		if
		:: got -> work(); let_go(); got = false
		:: else
		fi
	:: else -> break
	od
}

init {
	atomic {
		byte t;
#ifdef REFUSED
		fenced = true;
		asymmetric = false;
#endif
		do
		:: t < THREADS -> run thread(t); run memory(t); t++
		:: else -> break
		od
	}
}
