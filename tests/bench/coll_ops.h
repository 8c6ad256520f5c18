/*
 * coll_ops.h - the operations, sizes and rounds of coll_dat.c and coll_mpi.c, so that `make
 * bench-coll` can compare them.
 */
#ifndef BENCH_COLL_OPS_H
#define BENCH_COLL_OPS_H

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum coll_op { COLL_BARRIER, COLL_ALLREDUCE, COLL_BROADCAST, COLL_ALLGATHER, COLL_ALLTOALL };

static const struct coll_row {
	const char *name;
	enum coll_op op;
	size_t bytes; /* of an allgather and an alltoall those of one rank's part */
	int rounds;
} coll_rows[] = {
	{"barrier", COLL_BARRIER, 0, 4000},
	{"allreduce-8", COLL_ALLREDUCE, 8, 4000},
	{"allreduce-64K", COLL_ALLREDUCE, 64 << 10, 600},
	{"allreduce-1M", COLL_ALLREDUCE, 1 << 20, 60},
	{"broadcast-1M", COLL_BROADCAST, 1 << 20, 60},
	{"allgather-1M", COLL_ALLGATHER, 1 << 20, 30},
	{"alltoall-64K", COLL_ALLTOALL, 64 << 10, 200},
};

enum {
	COLL_ROWS = sizeof coll_rows / sizeof *coll_rows,
	COLL_BATCHES = 9,
	COLL_SHORT_ROUNDS = 200000,
	COLL_WARM = 64,
	COLL_WARM_MANY = 32
};

/*
 * Binds this member to an allowed processor, by rank; members share processors if there are more
 * members. Otherwise the kernel may leave three members on one processor and one on the other for
 * as long as they run, since all poll, and no library can change that. COLL_FREE=1: the kernel
 * places the members.
 */
static inline void coll_bind(int rank)
{
	cpu_set_t all, one;
	int i, place, free_to_move = getenv("COLL_FREE") != NULL;

	if (free_to_move || sched_getaffinity(0, sizeof all, &all) != 0)
		return;
	place = rank % CPU_COUNT(&all);
	CPU_ZERO(&one);
	for (i = 0; i < CPU_SETSIZE; i++)
		if (CPU_ISSET(i, &all) && place-- == 0)
			CPU_SET(i, &one);
	sched_setaffinity(0, sizeof one, &one);
}

static inline double coll_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static inline int coll_ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* The number of operations in a batch. Short ones are repeated, where each of two members has a
 * processor, until a tick of the clock does not matter. */
static inline int coll_rounds(const struct coll_row *row, int size)
{
	if (size == 2 && row->bytes <= 8)
		return COLL_SHORT_ROUNDS / COLL_BATCHES;
	return row->rounds / (size > 2 ? size / 2 : 1) / COLL_BATCHES + 1;
}

/* Rounds before the first batch: they touch memory, and libraries that choose among ways have
 * chosen. Fewer with many members, as some libraries take a tenth of a second for each. */
static inline int coll_warm_rounds(int rounds, int size)
{
	int least = size <= 4 ? COLL_WARM : COLL_WARM_MANY;

	return rounds < least ? least : rounds;
}

/* COLL_ROWS names the rows to run, with spaces between them; without it all run. */
static inline int coll_is_wanted(const struct coll_row *row)
{
	const char *wanted = getenv("COLL_ROWS"), *at = wanted;
	size_t n = strlen(row->name);

	if (wanted == NULL)
		return 1;
	for (; (at = strstr(at, row->name)) != NULL; at += n)
		if ((at == wanted || at[-1] == ' ') && (at[n] == ' ' || at[n] == 0))
			return 1;
	return 0;
}

/* Runs the rows; once does one operation, and only rank 0 prints: name, and us of one, the median
 * of batches. */
static inline void coll_measure(int rank, int size, void (*once)(const struct coll_row *row))
{
	double batch[COLL_BATCHES], start;
	int r, b, i, rounds;

	for (r = 0; r < COLL_ROWS; r++) {
		if (!coll_is_wanted(&coll_rows[r]))
			continue;
		rounds = coll_rounds(&coll_rows[r], size);
		for (i = coll_warm_rounds(rounds, size); i > 0; i--)
			once(&coll_rows[r]);
		for (b = 0; b < COLL_BATCHES; b++) {
			once(&coll_rows[0]); /* all begin together */
			start = coll_now();
			for (i = 0; i < rounds; i++)
				once(&coll_rows[r]);
			batch[b] = (coll_now() - start) / rounds;
		}
		qsort(batch, COLL_BATCHES, sizeof *batch, coll_ascending);
		if (rank == 0)
			printf("%s %.3f\n", coll_rows[r].name, batch[COLL_BATCHES / 2]);
		fflush(stdout);
	}
}

/* Room for what all ranks send or get. */
static inline void *coll_room(int size)
{
	size_t n = (size_t)size << 20;
	char *p = aligned_alloc(4096, n);

	if (p == NULL)
		abort();
	memset(p, 0, n);
	return p;
}

#endif
