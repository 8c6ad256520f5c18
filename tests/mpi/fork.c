/*
 * fork.c - ranks that fork while messages and one-sided operations are under way: the child does nothing,
 * writes to its copy of the memory, ends by exit, or becomes another program. MPI goes on in the parent.
 * Rank 0 prints "passed".
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { N = 200000, ROUNDS = 24 };

static int rank, ranks;
static char out[N], in[N], window_memory[N];

static void fail(const char *what)
{
	fprintf(stderr, "fork.c: rank %d: %s\n", rank, what);
	MPI_Abort(MPI_COMM_WORLD, 1);
}

static pid_t child(int way)
{
	pid_t pid = fork();

	if (pid < 0)
		fail("no fork");
	if (pid > 0)
		return pid;
	memset(in, 99, N); /* the parent receives into this */
	switch (way % 4) {
	case 0:
		_exit(7);
	case 1:
		usleep(20000);
		_exit(7);
	case 2:
		fflush(NULL);
		exit(7);
	default:
		execl("/bin/sh", "sh", "-c", "exit 7", NULL);
		_exit(8);
	}
}

int main(int argc, char **argv)
{
	int next, before, status, level;
	MPI_Win window;

	MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	next = (rank + 1) % ranks;
	before = (rank + ranks - 1) % ranks;
	MPI_Win_create(window_memory, N, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
	MPI_Win_lock_all(0, window);
	for (int i = 0; i < ROUNDS; i++) {
		int n = i % 3 == 0 ? 100 : i % 3 == 1 ? 5000 : N;
		MPI_Request both[2];
		pid_t pid;

		memset(out, rank + i, (size_t)n);
		MPI_Irecv(in, n, MPI_CHAR, before, 1, MPI_COMM_WORLD, &both[0]);
		MPI_Isend(out, n, MPI_CHAR, next, 1, MPI_COMM_WORLD, &both[1]);
		MPI_Put(out, n, MPI_CHAR, next, 0, n, MPI_CHAR, window);
		pid = child(i / 3);
		MPI_Waitall(2, both, MPI_STATUSES_IGNORE);
		MPI_Win_flush_all(window);
		MPI_Barrier(MPI_COMM_WORLD);
		MPI_Win_sync(window);
		for (int k = 0; k < n; k++)
			if (in[k] != (char)(before + i) || window_memory[k] != (char)(before + i))
				fail("wrong data");
		if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status) || WEXITSTATUS(status) != 7)
			fail("the child has another status");
		MPI_Barrier(MPI_COMM_WORLD);
	}
	MPI_Win_unlock_all(window);
	MPI_Win_free(&window);
	if (rank == 0)
		printf("passed\n");
	MPI_Finalize();
	return 0;
}
