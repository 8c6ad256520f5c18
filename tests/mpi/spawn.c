/*
 * spawn.c - messages to processes that MPI_Comm_spawn starts. They are of another job, which btl lapi
 * does not reach. Rank 0 prints "passed".
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { CHILDREN = 2, N = 100000 };

static void exchange(MPI_Comm other, int rank, int peers)
{
	static int out[N], in[N];
	int peer = rank % peers;

	for (int i = 0; i < N; i++)
		out[i] = rank + i;
	for (int n = 1; n <= N; n *= 10) {
		MPI_Sendrecv(out, n, MPI_INT, peer, 1, in, n, MPI_INT, peer, 1, other, MPI_STATUS_IGNORE);
		for (int i = 0; i < n; i++)
			if (in[i] != peer + i) {
				fprintf(stderr, "spawn.c: rank %d: wrong data\n", rank);
				MPI_Abort(MPI_COMM_WORLD, 1);
			}
	}
}

int main(int argc, char **argv)
{
	MPI_Comm parent, children, all;
	int rank, ranks, sum, one = 1;

	MPI_Init(&argc, &argv);
	MPI_Comm_get_parent(&parent);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	if (parent == MPI_COMM_NULL)
		MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, CHILDREN, MPI_INFO_NULL, 0, MPI_COMM_WORLD,
		               &children, MPI_ERRCODES_IGNORE);
	else
		children = parent;
	MPI_Comm_remote_size(children, &sum);
	if (ranks == sum)
		exchange(children, rank, sum);
	MPI_Intercomm_merge(children, parent != MPI_COMM_NULL, &all);
	MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, all);
	MPI_Comm_size(all, &ranks);
	MPI_Comm_free(&all);
	MPI_Comm_disconnect(&children);
	if (rank == 0 && parent == MPI_COMM_NULL && sum == ranks && sum > CHILDREN)
		printf("passed\n");
	MPI_Finalize();
	return 0;
}
