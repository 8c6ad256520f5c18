/*
 * lane_memory.pml - what processors do with the stores of the fast lane, for lane_*.pml. Who
 * includes it defines PROCESSORS and CELLS, and in each process a byte `me` and a byte `k` for its
 * use.
 *
 * A processor keeps its stores to itself until `memory` lets them out, at any time. As on x86
 * (TSO): in order, and a load sees the own ones. A sequentially consistent store is visible at
 * once. With -DWEAK: in any order, but stores to one word in theirs, and one with `release` after all
 * before it. A sequentially consistent store is a release that is out before the next fence, locked
 * instruction or load_sc: other loads may pass it.
 *
 * With -DWEAK loads change places, too, as on Arm and POWER. A processor may do one of its next loads
 * early, at any time: `load` gives that value then. load_acquire, load_sc, fences and locked
 * instructions forget it, so that what follows them is loaded after them. A load that `expect` makes
 * may be done late, up to the next release or locked instruction. A branch holds back no load. That
 * loads give values of stores which follow them, that stores reach some processors before others, and
 * more than one early load at once, are not here.
 */
#ifndef DEPTH
#define DEPTH 3 /* stores that a processor can keep to itself; with more, the next store waits */
#endif

byte cell[CELLS];

typedef buffer {
	byte n; /* oldest first */
	byte at[DEPTH];
	byte value[DEPTH];
	byte release[DEPTH] /* RELEASE, or with WEAK SEQ_CST */
};
buffer kept[PROCESSORS];
#ifdef WEAK
byte early_at[PROCESSORS]; /* 1 + the cell that was loaded early; 0: none */
byte early[PROCESSORS];
byte due_at[PROCESSORS];  /* 1 + the cell that is to be loaded yet; 0: none */
byte due[PROCESSORS];     /* what it must hold */
#ifndef EARLY
#define SOME_EARLY(t) 1
#define EARLY(t, where) 1 /* the cells of which that is tried */
#endif
#endif
#define RELEASE 1
#define SEQ_CST 2

/* Store i of processor t becomes visible. */
inline let_out(t, i) {
	cell[kept[t].at[i]] = kept[t].value[i];
	k = i + 1;
	do
	:: k < kept[t].n ->
		kept[t].at[k - 1] = kept[t].at[k];
		kept[t].value[k - 1] = kept[t].value[k];
		kept[t].release[k - 1] = kept[t].release[k];
		k++
	:: else -> break
	od;
	kept[t].n--;
	k = kept[t].n;
	kept[t].at[k] = 0;
	kept[t].value[k] = 0;
	kept[t].release[k] = 0;
	k = 0
}

#ifdef WEAK
inline do_due(t) {
	assert(due_at[t] == 0 || cell[due_at[t] - 1] == due[t]);
	due_at[t] = 0;
	due[t] = 0
}
inline forget_early(t) { early_at[t] = 0; early[t] = 0; do_due(t) }
#else
inline forget_early(t) { skip }
#endif

inline drain(t) {
	do
	:: kept[t].n > 0 -> let_out(t, 0)
	:: else -> break
	od;
	forget_early(t)
}

inline keep(where, what, is_release) {
	kept[me].n < DEPTH;
#ifdef WEAK
	early_at[me] = (early_at[me] == where + 1 -> 0 : early_at[me]);
	early[me] = (early_at[me] == 0 -> 0 : early[me]);
	if
	:: is_release -> do_due(me)
	:: else
	fi;
#endif
	kept[me].at[kept[me].n] = where;
	kept[me].value[kept[me].n] = what;
	kept[me].release[kept[me].n] = is_release;
	kept[me].n++
}

inline store(where, what) { d_step { keep(where, what, 0) } }
inline store_release(where, what) { d_step { keep(where, what, RELEASE) } }

/* The own stores are seen first, the latest before the others. */
inline look_up(where, into) {
	into = cell[where];
	k = 0;
	do
	:: k < kept[me].n ->
		if
		:: kept[me].at[k] == where -> into = kept[me].value[k]
		:: else
		fi;
		k++
	:: else -> break
	od;
	k = 0
}

#ifdef WEAK
inline load(where, into) {
	d_step {
		if
		:: early_at[me] == where + 1 -> into = early[me]; early_at[me] = 0; early[me] = 0
		:: else -> look_up(where, into)
		fi
	}
}
inline load_acquire(where, into) {
	d_step {
		if
		:: early_at[me] == where + 1 -> into = early[me]
		:: else -> look_up(where, into)
		fi;
		early_at[me] = 0;
		early[me] = 0
	}
}
/* A load, early or late, which must give a value; not of what this processor stores. */
inline expect(where, what) {
	d_step {
		early_at[me] == where + 1 || due_at[me] == 0 ->
		if
		:: early_at[me] == where + 1 -> assert(early[me] == what); early_at[me] = 0; early[me] = 0
		:: else -> due_at[me] = where + 1; due[me] = what
		fi
	}
}
#else
inline load(where, into) { d_step { look_up(where, into) } }
inline load_acquire(where, into) { load(where, into) }
inline expect(where, what) { assert(cell[where] == what) }
#endif

/* Sequentially consistent: as Go's, or __ATOMIC_SEQ_CST. */
#ifdef WEAK
#if DEPTH > 3
#error "KEEPS_SEQ_CST looks at three stores"
#endif
#define IS_SEQ_CST(t, i) (kept[t].release[i] == SEQ_CST)
#if DEPTH == 3
#define KEEPS_SEQ_CST(t) (IS_SEQ_CST(t, 0) || IS_SEQ_CST(t, 1) || IS_SEQ_CST(t, 2))
#else
#define KEEPS_SEQ_CST(t) (IS_SEQ_CST(t, 0) || IS_SEQ_CST(t, DEPTH - 1))
#endif
inline store_sc(where, what) { d_step { keep(where, what, SEQ_CST) } }
inline load_sc(where, into) {
	d_step {
		do
		:: KEEPS_SEQ_CST(me) -> let_out(me, 0)
		:: else -> break
		od;
		look_up(where, into);
		early_at[me] = 0;
		early[me] = 0
	}
}
#else
inline store_sc(where, what) { d_step { drain(me); cell[where] = what } }
inline load_sc(where, into) { load(where, into) }
#endif

inline fence() { d_step { drain(me); skip } }

/* Everybody's, wherever they are. */
inline membarrier() {
	d_step {
		other = 0;
		do
		:: other < PROCESSORS -> drain(other); other++
		:: else -> break
		od;
		other = 0
	}
}

#ifdef WEAK
/* May store i go before those in front of it? */
#define FREE(t, i) (kept[t].n > i && !kept[t].release[i] && kept[t].at[i] != kept[t].at[0] && (i < 2 || kept[t].at[i] != kept[t].at[1]))
#if DEPTH > 3
#error "FREE looks at three stores"
#endif
#endif

/* Lets out the stores of one processor. The end is no deadlock. */
proctype memory(byte t) {
	byte k, i;

end:	do
	:: d_step { kept[t].n > 0 -> let_out(t, 0) }
#ifdef WEAK
	:: d_step { FREE(t, 1) -> let_out(t, 1) }
	:: d_step { FREE(t, 2) -> let_out(t, 2) }
	:: atomic {
		early_at[t] == 0 && SOME_EARLY(t) ->
		do
		:: i < CELLS - 1 -> i++
		:: EARLY(t, i) -> break
		:: i == CELLS - 1 && !EARLY(t, i) -> i = CELLS; break
		od;
		d_step {
			if
			:: i == CELLS -> skip
			:: else -> early_at[t] = i + 1; early[t] = cell[i]
			fi;
			k = 0;
			do
			:: k < kept[t].n ->
				if
				:: kept[t].at[k] == i -> early[t] = kept[t].value[k]
				:: else
				fi;
				k++
			:: else -> break
			od;
			i = 0;
			k = 0
		}
	}
	:: d_step { due_at[t] != 0 -> do_due(t) }
#endif
	od
}
