/*
 * everything.c - an MPI program that uses most functions of its transport: messages of all lengths
 * each way, collectives, one-sided operations on memory of the program, in several threads. Rank 0
 * prints "passed".
 *
 * usage: everything [die|die-MEANS|plain|wait|loop]    die: the last rank kills itself in the middle, while
 * the others send to it, put, get or add, as MEANS says: send, put, get, add; plain:
 * nothing one-sided, and one thread; wait: MPI_Init begins two seconds later in rank 2; loop: until killed
 */
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST = 8 << 20, ROUNDS = 500, THREADS = 3 };

static int rank, ranks;
static char *out, *in;

#define CHECK(condition)                                                                     \
	do {                                                                                 \
		if (!(condition)) {                                                          \
			fprintf(stderr, "everything.c:%d: rank %d: %s\n", __LINE__, rank,    \
			        #condition);                                                 \
			MPI_Abort(MPI_COMM_WORLD, 1);                                        \
		}                                                                            \
	} while (0)

static char value(int of, long i)
{
	return (char)(of * 37 + i * 5);
}

static void messages(void)
{
	static const int sizes[] = {0, 1, 100, 4000, 4096, 5000, 70000, 1 << 20, MOST};
	int next = (rank + 1) % ranks, before = (rank + ranks - 1) % ranks;

	for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
		int n = sizes[s];

		for (long i = 0; i < n; i++)
			out[i] = value(rank, i);
		memset(in, 0, MOST);
		MPI_Sendrecv(out, n, MPI_CHAR, next, 1, in, n, MPI_CHAR, before, 1, MPI_COMM_WORLD,
		             MPI_STATUS_IGNORE);
		for (long i = 0; i < n; i++)
			CHECK(in[i] == value(before, i));
	}
	for (int i = 0; i < ROUNDS; i++) { /* a datatype with gaps */
		MPI_Datatype gaps;

		MPI_Type_vector(100, 3, 7, MPI_INT, &gaps);
		MPI_Type_commit(&gaps);
		((int *)(void *)out)[7] = i + rank;
		MPI_Sendrecv(out, 1, gaps, next, 2, in, 1, gaps, before, 2, MPI_COMM_WORLD,
		             MPI_STATUS_IGNORE);
		CHECK(((int *)(void *)in)[7] == i + before);
		MPI_Type_free(&gaps);
	}
}

static void collectives(void)
{
	long mine = rank + 1, sum, *all = calloc((size_t)ranks, sizeof *all);

	CHECK(all);
	for (int i = 0; i < ROUNDS; i++) {
		MPI_Allreduce(&mine, &sum, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
		CHECK(sum == (long)ranks * (ranks + 1) / 2);
		MPI_Allgather(&mine, 1, MPI_LONG, all, 1, MPI_LONG, MPI_COMM_WORLD);
		for (int r = 0; r < ranks; r++)
			CHECK(all[r] == r + 1);
		MPI_Barrier(MPI_COMM_WORLD);
	}
	for (long i = 0; i < MOST; i++)
		out[i] = rank == 0 ? value(3, i) : 0;
	MPI_Bcast(out, MOST, MPI_CHAR, 0, MPI_COMM_WORLD);
	for (long i = 0; i < MOST; i++)
		CHECK(out[i] == value(3, i));
	free(all);
}

/* Memory of the program, so that it is not Open MPI's own shared segment. */
static void one_sided(void)
{
	long *words = (long *)(void *)in, one = 1, old, seen, wanted;
	int next = (rank + 1) % ranks, before = (rank + ranks - 1) % ranks;
	MPI_Win w;

	memset(in, 0, MOST);
	MPI_Win_create(in, MOST, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &w);
	MPI_Win_lock_all(0, w);
	for (int i = 0; i < ROUNDS; i++) {
		MPI_Fetch_and_op(&one, &old, MPI_LONG, 0, 0, MPI_SUM, w);
		MPI_Win_flush(0, w);
		CHECK(old >= 0 && old < (long)ROUNDS * ranks);
		for (seen = 0;; seen = old) {
			wanted = seen + 1;
			MPI_Compare_and_swap(&wanted, &seen, &old, MPI_LONG, 0, 8, w);
			MPI_Win_flush(0, w);
			if (old == seen)
				break;
		}
		MPI_Accumulate(&one, 1, MPI_LONG, 0, 16, 1, MPI_LONG, MPI_MAX, w);
	}
	for (long i = 0; i < MOST / 2; i++)
		out[i] = value(rank, i);
	MPI_Put(out, MOST / 2 - 64, MPI_CHAR, next, 64, MOST / 2 - 64, MPI_CHAR, w);
	MPI_Win_flush_all(w);
	MPI_Barrier(MPI_COMM_WORLD);
	for (long i = 0; i < MOST / 2 - 64; i++)
		CHECK(in[64 + i] == value(before, i));
	memset(out, 0, MOST / 2);
	MPI_Get(out, MOST / 2 - 64, MPI_CHAR, next, 64, MOST / 2 - 64, MPI_CHAR, w);
	MPI_Win_flush(next, w);
	for (long i = 0; i < MOST / 2 - 64; i++)
		CHECK(out[i] == value(rank, i));
	MPI_Win_unlock_all(w);
	MPI_Barrier(MPI_COMM_WORLD);
	CHECK(rank != 0 || (words[0] == (long)ROUNDS * ranks && words[1] == words[0] && words[2] == 1));
	MPI_Win_free(&w);
}

static void *thread(void *number)
{
	int tag = 10 + (int)(long)number, next = (rank + 1) % ranks, before = (rank + ranks - 1) % ranks;

	for (int i = 0; i < ROUNDS; i++) {
		int mine = rank * 1000 + i, its = -1;

		MPI_Sendrecv(&mine, 1, MPI_INT, next, tag, &its, 1, MPI_INT, before, tag, MPI_COMM_WORLD,
		             MPI_STATUS_IGNORE);
		CHECK(its == before * 1000 + i);
	}
	return NULL;
}

/* The last rank is killed while the others move data to or from it. */
static void lose(const char *means)
{
	long one = 1, old;
	MPI_Win w;

	MPI_Win_create(in, MOST, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &w);
	MPI_Win_lock_all(0, w);
	MPI_Barrier(MPI_COMM_WORLD);
	if (rank == ranks - 1) {
		for (double until = MPI_Wtime() + 0.2; strcmp(means, "send") && MPI_Wtime() < until;)
			MPI_Win_flush_all(w); /* makes progress */
		if (!strcmp(means, "send"))
			MPI_Recv(out, MOST, MPI_CHAR, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		raise(SIGKILL);
	}
	for (;;) {
		if (!strcmp(means, "put"))
			MPI_Put(out, 65536, MPI_CHAR, ranks - 1, 8, 65536, MPI_CHAR, w);
		else if (!strcmp(means, "get"))
			MPI_Get(out, 65536, MPI_CHAR, ranks - 1, 8, 65536, MPI_CHAR, w);
		else if (!strcmp(means, "add"))
			MPI_Fetch_and_op(&one, &old, MPI_LONG, ranks - 1, 0, MPI_SUM, w);
		else
			MPI_Send(out, 1 << 20, MPI_CHAR, ranks - 1, 1, MPI_COMM_WORLD);
		MPI_Win_flush(ranks - 1, w);
	}
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS];
	int level;

	if (argc > 1 && strcmp(argv[1], "wait") == 0 && strcmp(getenv("OMPI_COMM_WORLD_RANK"), "2") == 0)
		sleep(2);
	MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	out = malloc(MOST);
	in = malloc(MOST);
	CHECK(out && in);
	while (argc > 1 && strcmp(argv[1], "loop") == 0)
		MPI_Barrier(MPI_COMM_WORLD);
	if (argc > 1 && strncmp(argv[1], "die-", 4) == 0)
		lose(argv[1] + 4);
	messages();
	collectives();
	if (argc > 1 && strcmp(argv[1], "die") == 0 && rank == ranks - 1)
		raise(SIGKILL);
	if (argc > 1 && strcmp(argv[1], "plain") == 0)
		level = MPI_THREAD_SINGLE;
	else
		one_sided();
	if (level == MPI_THREAD_MULTIPLE) {
		for (long i = 0; i < THREADS; i++)
			CHECK(pthread_create(&threads[i], NULL, thread, (void *)i) == 0);
		for (int i = 0; i < THREADS; i++)
			pthread_join(threads[i], NULL);
	}
	MPI_Barrier(MPI_COMM_WORLD);
	if (rank == 0)
		printf("passed\n");
	MPI_Finalize();
	return 0;
}
