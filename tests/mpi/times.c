/*
 * times.c - the times of MPI's calls, in microseconds: a line a row, name and time, the best of
 * some tries. Rank 0 prints.
 *
 * usage: times node|net|allreduce|start    node: between two ranks of a node, one-sided too;
 * net: between two hosts, with the bandwidth in MB/s; start: nothing but MPI_Init and a barrier, and
 * the memory of a rank, KiB
 */
#define _GNU_SOURCE
#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

enum { MOST = 1 << 20, TRIES = 7 };

static int rank;
static char *out, *in;
static MPI_Win window;
/* of the other rank, and what both share: a line each */
static pid_t peer;
static volatile long *peer_line, *own_line;
static char *peer_in;

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

/* The limits of a node: a cache line's way there and back, and the kernel's copy. */
static void lines(int n, int rounds)
{
	static long turn;

	(void)n;
	for (int i = 0; i < rounds; i++) {
		turn++;
		if (rank == 0)
			*own_line = turn;
		while (*peer_line != turn)
			;
		if (rank == 1)
			*own_line = turn;
	}
}

static void kernel_copies(int n, int rounds)
{
	struct iovec from = {out, (size_t)n}, to = {peer_in, (size_t)n};

	for (int i = 0; rank == 0 && i < rounds; i++)
		if (process_vm_writev(peer, &from, 1, &to, 1, 0) != n)
			MPI_Abort(MPI_COMM_WORLD, 1);
}

static void exchange(void *mine, void *its, int n)
{
	MPI_Sendrecv(mine, n, MPI_BYTE, 1 - rank, 3, its, n, MPI_BYTE, 1 - rank, 3, MPI_COMM_WORLD,
	             MPI_STATUS_IGNORE);
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

static void allreduce(int n, int rounds)
{
	for (int i = 0; i < rounds; i++)
		MPI_Allreduce(out, in, n / 8, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
}

/* Messages one way, a window of some at a time. */
static void stream(int n, int rounds)
{
	enum { WINDOW = 8 };
	MPI_Request of[WINDOW];
	int i, j;

	for (i = 0; i < rounds; i += WINDOW) {
		for (j = 0; j < WINDOW; j++)
			if (rank == 0)
				MPI_Isend(out, n, MPI_CHAR, 1, 2, MPI_COMM_WORLD, &of[j]);
			else
				MPI_Irecv(in, n, MPI_CHAR, 0, 2, MPI_COMM_WORLD, &of[j]);
		MPI_Waitall(WINDOW, of, MPI_STATUSES_IGNORE);
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

/* TIMES_REALTIME is set: nothing else runs on the ranks' processors while they are timed. */
static void realtime(int on)
{
	const struct sched_param priority = {.sched_priority = on ? 1 : 0};

	if (getenv("TIMES_REALTIME"))
		sched_setscheduler(0, on ? SCHED_FIFO : SCHED_OTHER, &priority);
}

static const int sizes[] = {8, 1024, 4096, 65536, MOST};
enum { SIZES = sizeof sizes / sizeof *sizes };

static void limits(void)
{
	pid_t pid = getpid();
	MPI_Aint bytes;
	MPI_Win shared;
	int unit;

	MPI_Win_allocate_shared(4096, 1, MPI_INFO_NULL, MPI_COMM_WORLD, (void *)&own_line, &shared);
	MPI_Win_shared_query(shared, 1 - rank, &bytes, &unit, (void *)&peer_line);
	exchange(&pid, &peer, sizeof pid);
	exchange(&in, &peer_in, sizeof in);
	*own_line = 0;
	MPI_Barrier(MPI_COMM_WORLD);
	row("a line, there and back", lines, 8, 2000, 1);
	for (int s = 0; s < SIZES; s++)
		row("process_vm_writev", kernel_copies, sizes[s], sizes[s] > 65536 ? 200 : 2000, 1);
	MPI_Win_free(&shared);
}

static void node(void)
{
	limits();
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
}

static void net(void)
{
	double took;

	row("ping-pong", ping_pong, 8, 500, 2);
	row("ping-pong", ping_pong, MOST, 20, 2);
	stream(MOST, 16);
	MPI_Barrier(MPI_COMM_WORLD);
	took = MPI_Wtime();
	stream(MOST, 96);
	MPI_Barrier(MPI_COMM_WORLD);
	took = MPI_Wtime() - took;
	if (rank == 0)
		printf("MB/s,%d %.1f\n", MOST, 96 * (MOST / 1e6) / took);
}

/* The memory that a rank adds to the node's, where n ranks that share a page have an n-th of it. */
static void memory(void)
{
	FILE *f = fopen("/proc/self/smaps_rollup", "r");
	long sum, kib = 0;
	char line[200];
	int ranks;

	while (f && fgets(line, sizeof line, f))
		if (strncmp(line, "Pss:", 4) == 0)
			kib = strtol(line + 4, NULL, 10);
	if (f)
		fclose(f);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	MPI_Allreduce(&kib, &sum, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
	if (rank == 0)
		printf("KiB a rank,%d %ld\n", ranks, sum / ranks);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "node";

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	out = calloc(1, MOST);
	in = calloc(1, MOST);
	MPI_Barrier(MPI_COMM_WORLD);
	realtime(strcmp(what, "node") == 0 || strcmp(what, "allreduce") == 0);
	if (strcmp(what, "start") == 0)
		memory();
	else if (strcmp(what, "allreduce") == 0)
		row("allreduce", allreduce, 8, 200, 1);
	else if (strcmp(what, "net") == 0)
		net();
	else
		node();
	realtime(0);
	MPI_Finalize();
	return 0;
}
