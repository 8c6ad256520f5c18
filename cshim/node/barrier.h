/*
 * barrier.h - the barrier of LAPI_Gfence among the tasks of one node, through words in their segments. Private to the library.
 *
 * There is one where all tasks of the job reach each other by shared memory and have agreed to in LAPI_Init (core/lapi/barrier.go, transport/shm/barrier.go);
 * elsewhere, and for LAPI_Address_init, core exchanges messages. A LAPI_Gfence is the task's own fence, then the barrier.
 *
 * Barriers are numbered, from 1: the generation. It is a task's count of its LAPI_Gfence calls, which all tasks make in the same order;
 * LAPI_Address_init has numbers of its own, in core. Generation g is over when every task has arrived at it, that is, when in every
 * segment round[0] is g or more. How a task learns of that:
 *
 *   dissemination  tasks have a processor each: in round r a task signals in its own segment, and waits until the task 2^r below
 *                  it has. After the last round it has heard, through others, of all arrivals.
 *   counter        more tasks than processors: it adds 1 to a counter; who is the last stores released. A task needs to run once
 *                  to arrive and once to go on, not in each round.
 *
 * The promise of LAPI_Gfence: what any task sent before its call is in place at its target before any task leaves. A task arrives after
 * its own fence: its targets have taken everything, which they said by a release (consumed, segment.h) that the fence has acquired. The
 * arrival is a release, each step from there to the departure of a task an acquire and then a release: signals, or the counter's
 * read-modify-writes and released. So a chain of them leads from each delivery to each departure.
 *
 * With a counter, each processor has its tasks arrive one after the other. One that is not the last there gives it to the next at once; the last keeps
 * it and looks, as nobody there has anything to do before the other processors' tasks have arrived. It then goes on without a switch, so of
 * n tasks on a processor n - 1 are switched to in each generation. Who is the last is known from the generation before (gathered, segment.h).
 *
 * Sleep: who stores a word that others wait for then looks at their armed words, and rings. The sleeper stores armed, and looks at the
 * words after a membarrier (transport/shm/sleep.go, cshim_watch): see docs/fastlane.md, "Memory order".
 *
 * Failure: a task that is dead, purged or gone without having arrived makes this generation, and all later ones, impossible. Core says so in
 * failed, and tells the peers in refused. A generation at which all have arrived is over nevertheless.
 */
#ifndef CSHIM_BARRIER_H
#define CSHIM_BARRIER_H

#include <stdint.h>

/* Process-private, under the context lock; part of cshim_paths. A task's number here is that of its ring. */
typedef struct cshim_barrier {
	uint32_t rounds;   /* constant: of a dissemination; 0: a counter */
	uint32_t failed;   /* by core: the code that collectives fail with from now on; 0: none */
	uint64_t begun;    /* generation of the latest LAPI_Gfence called here */
	uint64_t arrived;  /* the latest that this task has arrived at */
	uint64_t over;     /* the latest that is over: arrived, or 1 less */
	uint32_t round;    /* of arrived, while it is not over */
	uint32_t last;     /* nobody else seems to be about to arrive on the processor that this task arrived on */
	uint8_t line[24];
} cshim_barrier;

#ifndef __cplusplus
_Static_assert(sizeof(cshim_barrier) == 64, "one line");
#endif

#endif
