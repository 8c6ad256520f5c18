/*
 * threads.c - several threads of each rank at once: messages of all lengths, collectives on a
 * communicator each, puts, gets and atomic operations on one window. Rank 0 prints "passed".
 */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 4, ROUNDS = 60, PLACE = 1 << 18 };

static int rank, ranks;
static MPI_Comm comms[THREADS];
static MPI_Win window;
static char *memory; /* a long that all count in, then a place for each thread of the rank before */

#define CHECK(condition)                                                                     \
	do {                                                                                 \
		if (!(condition)) {                                                          \
			fprintf(stderr, "threads.c:%d: rank %d: %s\n", __LINE__, rank,     \
			        #condition);                                                 \
			MPI_Abort(MPI_COMM_WORLD, 1);                                        \
		}                                                                            \
	} while (0)

static void fill(char *p, int n, int with)
{
	for (int i = 0; i < n; i++)
		p[i] = (char)(with + i * 3);
}

static int is_filled(const char *p, int n, int with)
{
	for (int i = 0; i < n; i++)
		if (p[i] != (char)(with + i * 3))
			return 0;
	return 1;
}

static void messages(int thread, int round, unsigned n, char *out, char *in)
{
	int next = (rank + 1) % ranks, before = (rank + ranks - 1) % ranks;
	MPI_Request both[2];

	fill(out, (int)n, rank + thread + round);
	memset(in, 0, n);
	MPI_Irecv(in, (int)n, MPI_CHAR, before, thread, MPI_COMM_WORLD, &both[0]);
	MPI_Isend(out, (int)n, MPI_CHAR, next, thread, MPI_COMM_WORLD, &both[1]);
	MPI_Waitall(2, both, MPI_STATUSES_IGNORE);
	CHECK(is_filled(in, (int)n, before + thread + round));
}

static void one_sided(int thread, int round, unsigned n, char *out, char *in)
{
	int next = (rank + 1) % ranks;
	MPI_Aint at = 64 + (MPI_Aint)thread * PLACE;
	MPI_Request request;
	long one = 1, old;

	fill(out, (int)n, rank * 5 + thread + round);
	memset(in, 0, n);
	if (round % 2) {
		MPI_Put(out, (int)n, MPI_CHAR, next, at, (int)n, MPI_CHAR, window);
	} else {
		MPI_Rput(out, (int)n, MPI_CHAR, next, at, (int)n, MPI_CHAR, window, &request);
		MPI_Wait(&request, MPI_STATUS_IGNORE);
	}
	MPI_Win_flush(next, window);
	if (round % 3) {
		MPI_Get(in, (int)n, MPI_CHAR, next, at, (int)n, MPI_CHAR, window);
		MPI_Win_flush(next, window);
	} else {
		MPI_Rget(in, (int)n, MPI_CHAR, next, at, (int)n, MPI_CHAR, window, &request);
		MPI_Wait(&request, MPI_STATUS_IGNORE);
	}
	CHECK(is_filled(in, (int)n, rank * 5 + thread + round));
	MPI_Fetch_and_op(&one, &old, MPI_LONG, 0, 0, MPI_SUM, window);
	MPI_Win_flush(0, window);
	CHECK(old >= 0 && old < (long)ranks * THREADS * ROUNDS);
}

static void *work(void *number)
{
	static const unsigned sizes[] = {1, 200, 4000, 5000, 40000, PLACE};
	int thread = (int)(long)number;
	char *out = malloc(PLACE), *in = malloc(PLACE);
	long mine = rank + thread, sum;

	CHECK(out && in);
	for (int i = 0; i < ROUNDS; i++) {
		unsigned n = sizes[(i + thread) % 6];

		messages(thread, i, n, out, in);
		one_sided(thread, i, n, out, in);
		MPI_Allreduce(&mine, &sum, 1, MPI_LONG, MPI_SUM, comms[thread]);
		CHECK(sum == (long)ranks * thread + ranks * (ranks - 1) / 2);
	}
	free(out);
	free(in);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS];
	int level;

	MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	CHECK(level == MPI_THREAD_MULTIPLE);
	memory = calloc(1, 64 + (size_t)THREADS * PLACE);
	CHECK(memory);
	for (int i = 0; i < THREADS; i++)
		MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
	MPI_Win_create(memory, 64 + THREADS * PLACE, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
	MPI_Win_lock_all(0, window);
	for (long i = 0; i < THREADS; i++)
		CHECK(pthread_create(&threads[i], NULL, work, (void *)i) == 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	MPI_Win_unlock_all(window);
	MPI_Barrier(MPI_COMM_WORLD);
	CHECK(rank != 0 || *(long *)(void *)memory == (long)ranks * THREADS * ROUNDS);
	MPI_Win_free(&window);
	for (int i = 0; i < THREADS; i++)
		MPI_Comm_free(&comms[i]);
	free(memory);
	if (rank == 0)
		printf("passed\n");
	MPI_Finalize();
	return 0;
}
