/*
 * group_stage.pml - the stages of a group on one node (cshim/dat/coll/rounds.c: dat_group_publish,
 * dat_group_desc, dat_group_done, dat_group_has_room, dat_group_fail; path.c: decide, decided_by).
 *
 * In each of ROUNDS rounds each of two members writes its chunk of the staging buffer, of which it has
 * CHUNKS, publishes its descriptor by `stamp`, reads the other's chunk, and says by `done` that it
 * reads none of the round any more. A chunk is written again when the other is done with the round
 * that it held. A member may fail in any round: then it says that it has ended, and the other one
 * must still find what was published before.
 *
 * Found: a chunk that is read before or after it holds its round's data; a failure that hides what
 * was published (assertions); members that wait for ever.
 *
 * Defects: NO_ROOM: a chunk is written at once. DONE_FIRST: done is stored before the chunk is read.
 * ONE_LOOK: who finds that the other has ended does not look at the stamp again. WEAK only:
 * STAMP_RELAXED, DONE_RELAXED, ENDED_RELAXED: stores without release. DESC_RELAXED, ENDED_LAZY:
 * loads of stamp, or of ended, without acquire.
 */
#ifndef ROUNDS
#define ROUNDS 3
#endif
#ifndef CHUNKS
#define CHUNKS 1
#endif

#define PROCESSORS 2
#define STAMP(t) (t)
#define DONE(t) (2 + (t))
#define ENDED(t) (4 + (t))
#define CHUNK(t, round) (6 + (t) * CHUNKS + (round) % CHUNKS)
#define CELLS (6 + 2 * CHUNKS)
#define DEPTH 2
#define SOME_EARLY(t) 1
#define EARLY(t, where) (where == STAMP(1 - t) || where == ENDED(1 - t) || where / CHUNKS == 6 / CHUNKS + 1 - t)
#include "lane_memory.pml"

#define DATA(t, round) (1 + (round) * 2 + (t))

byte published[2]; /* rounds, of the model */
byte over;

#ifdef STAMP_RELAXED
#define STORE_STAMP store
#else
#define STORE_STAMP store_release
#endif
#ifdef DONE_RELAXED
#define STORE_DONE store
#else
#define STORE_DONE store_release
#endif
#ifdef ENDED_RELAXED
#define STORE_ENDED store
#else
#define STORE_ENDED store_release
#endif
#ifdef DESC_RELAXED
#define LOAD_STAMP load
#else
#define LOAD_STAMP load_acquire
#endif
#ifdef ENDED_LAZY
#define LOAD_ENDED load
#else
#define LOAD_ENDED load_acquire
#endif

/* dat_group_has_room, until there is some */
#ifdef NO_ROOM
inline room() { skip }
#else
inline room() {
	do
	:: round < CHUNKS -> break
	:: else ->
		load_acquire(DONE(other), word);
		if
		:: word >= round + 1 - CHUNKS -> break
		:: else ->
			load_acquire(ENDED(other), word);
			if
			:: word -> break
			:: else -> cell[DONE(other)] >= round + 1 - CHUNKS || cell[ENDED(other)]
			fi
		fi
	od;
	word = 0
}
#endif

/* dat_group_desc, until it is there or the other has ended. */
inline descriptor() {
	do
	:: LOAD_STAMP(STAMP(other), word);
		if
		:: word > round -> break
		:: else ->
			LOAD_ENDED(ENDED(other), word);
			if
			:: word ->
				word = 0;
#ifndef ONE_LOOK
				LOAD_STAMP(STAMP(other), word);
#endif
				failed = (word <= round);
				assert(!failed || published[other] <= round);
				break
			:: else -> cell[STAMP(other)] > round || cell[ENDED(other)]
			fi
		fi
	od;
	word = 0
}

proctype member(byte me) {
	byte k, round, word, other = 1 - me;
	bool failed;

	do
	:: round == ROUNDS || failed -> break
	:: round < ROUNDS && !failed ->
		room();
		store(CHUNK(me, round), DATA(me, round));
		d_step { published[me] = round + 1 };
		STORE_STAMP(STAMP(me), round + 1);
		if
		:: me == 0 -> break /* it fails here */
		:: true
		fi;
		descriptor();
		if
		:: failed
		:: else ->
#ifdef DONE_FIRST
			STORE_DONE(DONE(me), round + 1);
#endif
			expect(CHUNK(other, round), DATA(other, round));
#ifndef DONE_FIRST
			STORE_DONE(DONE(me), round + 1);
#endif
			round++
		fi
	od;
	STORE_ENDED(ENDED(me), 1);
	over++
}

proctype judge() {
	timeout -> assert(over == 2)
}

init {
	atomic {
		run member(0);
		run member(1);
		run memory(0);
		run memory(1);
		run judge()
	}
}
