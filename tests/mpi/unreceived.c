/*
 * unreceived.c - rank 0 sends messages to the others that no rank receives, and all end. MPI does
 * not promise that this works; over Open MPI's own components it does. Rank 0 prints "passed".
 */
#include <mpi.h>
#include <stdio.h>

enum { N = 400 };

int main(int argc, char **argv)
{
	static char out[1000];
	int rank, ranks;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	MPI_Barrier(MPI_COMM_WORLD);
	for (int i = 0; rank == 0 && i < N; i++)
		for (int to = 1; to < ranks; to++)
			MPI_Send(out, sizeof out, MPI_CHAR, to, i, MPI_COMM_WORLD);
	if (rank == 0)
		printf("passed\n");
	MPI_Finalize();
	return 0;
}
