/* measure.h - measuring an operation between two tasks, or a barrier among many: the same for LAPI,
 * MPI and the raw limits. */
#ifndef BENCH_MEASURE_H
#define BENCH_MEASURE_H

#include "board.h"

/* One side of a measurement. Sides 0 and 1 call measure together; side 0 measures. */
typedef struct measurement {
	board *b;
	const bench_options *o;
	int id;
	/* n rounds. Called by side 0, and by side 1 if over is NULL: then both sides get the same
	 * numbers, and work in step. */
	void (*rounds)(void *arg, uint64_t n);
	/* Ends a stretch of rounds in which side 1 does none: side 1 waits in it for side 0, which
	 * notifies it. */
	void (*over)(void *arg);
	/* Called while a side waits for the other between stretches; may be NULL. */
	board_progress *progress;
	void *arg; /* of all three */
} measurement;

/* Of one round, at the side that does rounds. */
typedef struct measured {
	double ns, before, after; /* before, after: board_state */
	long preempted;
} measured;

measured measure(const measurement *m);

/* The part of one of n tasks in the measurement of a barrier. */
typedef struct barrier_measurement {
	board *b;
	const bench_options *o;
	int id, n;
	void (*barrier)(void *arg);
	board_progress *progress; /* as above */
	void *arg;
} barrier_measurement;

/* All n tasks call it together; task 0 gets the time of one barrier. With more tasks than cores
 * every batch counts, as giving up the core is part of it. */
measured measure_barrier(const barrier_measurement *m);

/* How many operations of a size, bytes, are under way at once when compared with peers: what their
 * own benchmarks use. */
int compared_window(size_t size);

/* Whether name is in the list names, as "put,get"; every name is if names is NULL. */
int is_wanted(const char *names, const char *name);

#endif
