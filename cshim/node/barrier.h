/*
 * barrier.h - the barrier among the tasks of one node, through words in their segments: arriving,
 * looking, checking. How long to wait, and what to do about a task that is gone, its caller
 * decides: LAPI_Gfence.
 *
 * There is one where all tasks of the job reach each other by shared memory and have agreed to it
 * at the start (core/lapi/barrier.go, transport/shm/barrier.go).
 *
 * Barriers are numbered, from 1: the generation. It is a task's count of its barriers, which all
 * tasks enter in the same order. Generation g is over when every task has arrived at it, that is,
 * when in every segment round[0] is g or more. How a task learns of that:
 *
 *   dissemination  tasks have a processor each: in round r a task signals in its own segment, and
 *                  waits until the task 2^r below it has. After the last round it knows, through
 *                  others, of all arrivals.
 *   counter        more tasks than processors: each adds 1 to a counter; the last one stores
 *                  released. A task runs once to arrive and once to go on, not in each round.
 *
 * The promise: what any task has done before it arrives is visible to every task that has found the
 * generation over. For LAPI_Gfence that is its own fence, by which its targets have said that they
 * took everything (consumed, segment.h). The arrival is a release, each step from there to the
 * departure of a task an acquire and then a release: signals, or the counter's read-modify-writes
 * and the word released. So a chain of them leads from each delivery to each departure.
 *
 * With a counter, each processor has its tasks arrive one after the other. A task that is not the
 * last there leaves the processor to the next at once. The last keeps it and looks, as nobody there
 * has anything to do before the other processors' tasks have arrived. It then goes on without a
 * switch, so of n tasks on a processor n - 1 are switched to in each generation. Which task is the
 * last is known from the generation before (gathered, segment.h).
 *
 * Sleep: a task that has stored a word which others wait for then looks at their armed words, and
 * rings. The sleeper stores armed, and looks at the words after a membarrier
 * (transport/shm/sleep.go): see docs/dev/fastlane.md, "Memory order".
 *
 * Failure: a task that is dead, purged or gone without having arrived makes this generation, and
 * all later ones, impossible. The caller says so in failed, and notifies the peers by refused. A
 * generation at which all have arrived is over nevertheless.
 */
#ifndef NODE_BARRIER_H
#define NODE_BARRIER_H

#include <stdint.h>

/*
 * Process-private, under the context lock; part of node_link. A task's number here is that of its
 * ring.
 */
typedef struct node_barrier {
	uint32_t rounds;  /* constant: of a dissemination; 0: a counter */
	uint32_t failed;  /* by its user: the code that barriers fail with from now on; 0: none */
	uint64_t begun;   /* generation of the latest barrier that began here */
	uint64_t arrived; /* the latest that this task has arrived at */
	uint64_t over;    /* the latest that is over: arrived, or 1 less */
	uint32_t round;   /* of arrived, while it is not over */
	/* nobody else seems to be about to arrive on the processor that this task arrived on */
	uint32_t last;
	uint8_t line[24];
} node_barrier;

/* The state of the generation that this task is in. */
typedef struct node_barrier_news {
	enum {
		NODE_BARRIER_QUIET,
		NODE_BARRIER_OVER, /* it has just ended: so may waits of other threads */
		/* by a task that has left without arriving, or wrote what cannot be */
		NODE_BARRIER_BROKEN,
		NODE_BARRIER_REFUSED /* a peer takes part in no barrier any more */
	} what;
	int32_t task;  /* that broke it; -1: nobody knows which */
	uint64_t code; /* of the peer that refuses: anything */
} node_barrier_news;

struct node_link;

/* Everything runs under the lock of the link's owner. Nothing here waits, or fails. */

/* The task arrives at its next generation; the one before is over. */
node_barrier_news node_barrier_arrive(struct node_link *link);
/*
 * Looks at the words, and signals the next round where that is due; 1: the generation has just
 * ended. barrier_words.h has a quick look.
 */
int node_barrier_look(struct node_link *link);
/*
 * Looks for tasks that are gone or have refused: before a sleep, after the links were armed, and
 * now and then.
 */
node_barrier_news node_barrier_check(struct node_link *link);
/*
 * 1 if all tasks have arrived at the latest generation, whether failed is set or not: then it is
 * over.
 */
int node_barrier_settle(struct node_link *link);

#ifndef __cplusplus
_Static_assert(sizeof(node_barrier) == 64, "one line");
#endif

#endif
