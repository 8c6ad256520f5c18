/* times.c - what MPI's calls take between two ranks, in microseconds: a line a row, name and time. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST = 1 << 20, TRIES = 7 };

static int rank;
static char *out, *in;
static MPI_Win window;

static void ping_pong(int n, int rounds)
{
	for (int i = 0; i < rounds; i++) {
		if (rank == 0)
			MPI_Send(out, n, MPI_CHAR, 1, 1, MPI_COMM_WORLD);
		MPI_Recv(in, n, MPI_CHAR, 1 - rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		if (rank == 1)
			MPI_Send(out, n, MPI_CHAR, 0, 1, MPI_COMM_WORLD);
	}
}

static void puts_each(int n, int rounds)
{
	for (int i = 0; rank == 0 && i < rounds; i++) {
		MPI_Put(out, n, MPI_CHAR, 1, 0, n, MPI_CHAR, window);
		MPI_Win_flush(1, window);
	}
}

static void gets_each(int n, int rounds)
{
	for (int i = 0; rank == 0 && i < rounds; i++) {
		MPI_Get(out, n, MPI_CHAR, 1, 0, n, MPI_CHAR, window);
		MPI_Win_flush(1, window);
	}
}

static void puts_sixteen(int n, int rounds)
{
	for (int i = 0; rank == 0 && i < rounds; i++) {
		MPI_Put(out, n, MPI_CHAR, 1, 0, n, MPI_CHAR, window);
		if (i % 16 == 15)
			MPI_Win_flush(1, window);
	}
}

static void fetch(int n, int rounds)
{
	long one = 1, old;

	(void)n;
	for (int i = 0; rank == 0 && i < rounds; i++) {
		MPI_Fetch_and_op(&one, &old, MPI_LONG, 1, 0, MPI_SUM, window);
		MPI_Win_flush(1, window);
	}
}

static void swap(int n, int rounds)
{
	long compare = 0, value = 0, old;

	(void)n;
	for (int i = 0; rank == 0 && i < rounds; i++) {
		MPI_Compare_and_swap(&value, &compare, &old, MPI_LONG, 1, 8, window);
		MPI_Win_flush(1, window);
	}
}

static void row(const char *name, void (*what)(int, int), int n, int rounds, int each)
{
	double best = 1e9, took;

	for (int i = 0; i < TRIES; i++) {
		MPI_Barrier(MPI_COMM_WORLD);
		took = MPI_Wtime();
		what(n, rounds);
		took = (MPI_Wtime() - took) * 1e6 / rounds / each;
		best = took < best ? took : best;
	}
	if (rank == 0)
		printf("%s,%d %.3f\n", name, n, best);
}

int main(int argc, char **argv)
{
	static const int sizes[] = {8, 1024, 4096, 65536, MOST};
	enum { SIZES = sizeof sizes / sizeof *sizes };

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	out = calloc(1, MOST);
	in = calloc(1, MOST);
	for (int s = 0; s < SIZES; s++)
		row("ping-pong", ping_pong, sizes[s], sizes[s] > 65536 ? 200 : 2000, 2);
	/* memory of the program: a window that Open MPI allocates is its own shared memory */
	MPI_Win_create(in, MOST, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
	MPI_Win_lock_all(0, window);
	for (int s = 0; s < SIZES; s++)
		row("put+flush", puts_each, sizes[s], sizes[s] > 65536 ? 200 : 2000, 1);
	for (int s = 0; s < SIZES; s++)
		row("get+flush", gets_each, sizes[s], sizes[s] > 65536 ? 200 : 2000, 1);
	row("16 puts+flush", puts_sixteen, 8, 3200, 1);
	row("fetch_and_op", fetch, 8, 2000, 1);
	row("compare_and_swap", swap, 8, 2000, 1);
	MPI_Win_unlock_all(window);
	MPI_Win_free(&window);
	MPI_Finalize();
	return 0;
}
