/*
 * lane_done.pml - how a requester finds out that its requests have taken effect
 * (cshim/dat/rc/done.c: look, rc_tell; core/dat/table_unsafe.go: grant). The responder's place in the
 * protection table has the connection's tag and the number of requests done; another connection gets
 * the place later.
 *
 * The responder makes the write of a request, then stores `done` with release. Grant stores tag 0,
 * done 0, and the new tag, each sequentially consistent. The requester of the first connection loads
 * tag, done and tag again.
 *
 * Found: a request that is complete before its write is there, or by another connection's number
 * (assertions).
 *
 * Defects: ONE_TAG: tag is not looked at again. DONE_KEPT: grant leaves done. WEAK only:
 * DONE_RELAXED: done is stored without release. LOOK_RELAXED: done is loaded without acquire.
 */
#define PROCESSORS 2
#define RESPONDER 0
#define REQUESTER 1

#define TAG 0
#define DONE 1
#define WRITTEN 2
#define CELLS 3
#define DEPTH 2
#define SOME_EARLY(t) (t == REQUESTER)
#define EARLY(t, where) 1
#include "lane_memory.pml"

proctype responder() {
	byte me = RESPONDER, k;

	store(WRITTEN, 1);
#ifdef DONE_RELAXED
	store(DONE, 1);
#else
	store_release(DONE, 1);
#endif
	/* another connection; its requests go further */
	store_sc(TAG, 0);
#ifndef DONE_KEPT
	store_sc(DONE, 0);
#endif
	store_sc(TAG, 2);
	store_release(DONE, 2)
}

proctype requester() {
	byte me = REQUESTER, k, before, done, after, looks;

	do
	:: looks < 3 ->
		looks++;
		load_acquire(TAG, before);
#ifdef LOOK_RELAXED
		load(DONE, done);
#else
		load_acquire(DONE, done);
#endif
#ifdef ONE_TAG
		after = before;
#else
		load(TAG, after);
#endif
		if
		:: before == 1 && after == 1 && done > 0 ->
			assert(done == 1);
			expect(WRITTEN, 1)
		:: before == 2 && after == 2 && done > 0 -> /* the second connection's own view */
			assert(done == 2)
		:: else
		fi
	:: else -> break
	od
}

init {
	atomic {
		cell[TAG] = 1;
		run responder();
		run requester();
		run memory(RESPONDER);
		run memory(REQUESTER)
	}
}
