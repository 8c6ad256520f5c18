/*
 * lane_memory.pml - what processors do with the stores of the fast lane, for lane_*.pml. Who
 * includes it defines PROCESSORS and CELLS, and in each process a byte `me` and a byte `k` for its
 * use.
 *
 * A processor keeps its stores to itself until `memory` lets them out, at any time. As on x86
 * (TSO): in order, and a load sees the own ones. With -DWEAK: in any order, but stores to one word
 * in theirs, and one with `release` after all before it. What weak loads may do besides is with the
 * models: they say where.
 */
#ifndef DEPTH
#define DEPTH 3 /* stores that a processor can keep to itself; with more, the next store waits */
#endif

byte cell[CELLS];

typedef buffer {
	byte n; /* oldest first */
	byte at[DEPTH];
	byte value[DEPTH];
	bool release[DEPTH]
};
buffer kept[PROCESSORS];

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

inline drain(t) {
	do
	:: kept[t].n > 0 -> let_out(t, 0)
	:: else -> break
	od
}

inline keep(where, what, is_release) {
	kept[me].n < DEPTH;
	kept[me].at[kept[me].n] = where;
	kept[me].value[kept[me].n] = what;
	kept[me].release[kept[me].n] = is_release;
	kept[me].n++
}

inline store(where, what) { d_step { keep(where, what, 0) } }
inline store_release(where, what) { d_step { keep(where, what, 1) } }

/* Sequentially consistent: as Go's, or __ATOMIC_SEQ_CST. */
inline store_sc(where, what) { d_step { drain(me); cell[where] = what } }

/* The own stores are seen first, the latest before the others. */
inline load(where, into) {
	d_step {
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
}

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
	byte k;

end:	do
	:: d_step { kept[t].n > 0 -> let_out(t, 0) }
#ifdef WEAK
	:: d_step { FREE(t, 1) -> let_out(t, 1) }
	:: d_step { FREE(t, 2) -> let_out(t, 2) }
#endif
	od
}
