/*
 * lane_table.pml - the protection table (cshim/dat/rc/direct.c: rc_copy_part, place_there; private.h:
 * dat_memory_in; core/dat/table_unsafe.go: tell, grant, revoke, awaitCopy). The same pair of words
 * keeps pushes from memory that its owner has taken back: pushing and era (cshim/node/push.c), pushing
 * and ended (cshim/dat/coll/push.c), both with node_await_copy.
 *
 * A reader makes `copies` odd, then looks the name up, copies, and makes it even. The owner clears
 * the name, waits for a copy that may have found it, and gives the memory back to its program, which
 * writes there. Then the same place of the table gets another name, of other memory. This goes on
 * for NAMES names; the reader knows all and tries any.
 *
 * Found: a copy that takes place after the owner has stopped waiting, or of another name's memory
 * (assertions). The copy's load may be early or late as other loads.
 *
 * Defects: NO_FENCE: no barrier between `copies` and the look. LOOK_FIRST: the look comes before.
 * NO_WAIT: the owner does not wait. CLEARED_LATE: it waits, then clears. EVEN_RELAXED (WEAK):
 * `copies` is made even without release. NAME_RELAXED (WEAK): the name is stored without release.
 * LOOK_RELAXED (WEAK): it is loaded without acquire.
 */
#ifndef NAMES
#define NAMES 2
#endif

#define PROCESSORS 2
#define OWNER 0
#define READER 1

#define NAME 0   /* 0: none */
#define PLACE 1  /* of the memory that the name stands for */
#define COPIES 2
#define MEMORY(i) (2 + (i)) /* of name i, from 1 on; 1: the peer may read it, 2: the program's again */
#define CELLS (3 + NAMES)
#define DEPTH 2
#define SOME_EARLY(t) (t == READER)
#define EARLY(t, where) (where != COPIES)
#include "lane_memory.pml"

inline wait_for_copies() {
	load_sc(COPIES, was);
	if
	:: was % 2 == 1 ->
		do
		:: load_sc(COPIES, now);
			if
			:: now != was -> break
			:: else -> cell[COPIES] != was
			fi
		od
	:: else
	fi
}

proctype owner() {
	byte me = OWNER, k, name, was, now;

	do
	:: name < NAMES ->
		name++;
		store(MEMORY(name), 1);
		store(PLACE, name);
#ifdef NAME_RELAXED
		store(NAME, name);
#else
		store_release(NAME, name);
#endif
#ifdef CLEARED_LATE
		wait_for_copies();
		store_sc(NAME, 0);
#else
		store_sc(NAME, 0);
#ifndef NO_WAIT
		wait_for_copies();
#endif
#endif
		store(MEMORY(name), 2)
	:: else -> break
	od
}

inline look_for(it) {
#ifdef LOOK_RELAXED
	load(NAME, found);
#else
	load_acquire(NAME, found);
#endif
}

proctype reader() {
	byte me = READER, k, copies, name, found, place;

	do
	:: copies < 2 * NAMES ->
		if
		:: name = 1
#if NAMES > 1
		:: name = 2
#endif
		fi;
#ifdef LOOK_FIRST
		look_for(name);
#endif
		copies++;
		store(COPIES, copies);
#ifndef NO_FENCE
		fence();
#endif
#ifndef LOOK_FIRST
		look_for(name);
#endif
		if
		:: found == name ->
			load(PLACE, place);
			assert(place == name);
			expect(MEMORY(name), 1)
		:: else
		fi;
		copies++;
#ifdef EVEN_RELAXED
		store(COPIES, copies)
#else
		store_release(COPIES, copies)
#endif
	:: else -> break
	od
}

init {
	atomic {
		run owner();
		run reader();
		run memory(OWNER);
		run memory(READER)
	}
}
