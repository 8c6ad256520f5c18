/* coll_mpi.c - the operations of coll_ops.h with MPI, compiled once for each MPI on the machine. */
#define _GNU_SOURCE
#define _GNU_SOURCE
#include <mpi.h>

#include "coll_ops.h"

static char *out, *in;

static void once(const struct coll_row *row)
{
	int n = (int)row->bytes, code = MPI_SUCCESS;

	switch (row->op) {
	case COLL_BARRIER:
		code = MPI_Barrier(MPI_COMM_WORLD);
		break;
	case COLL_ALLREDUCE:
		code = MPI_Allreduce(out, in, n / 8, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
		break;
	case COLL_BROADCAST:
		code = MPI_Bcast(in, n, MPI_BYTE, 0, MPI_COMM_WORLD);
		break;
	case COLL_ALLGATHER:
		code = MPI_Allgather(out, n, MPI_BYTE, in, n, MPI_BYTE, MPI_COMM_WORLD);
		break;
	case COLL_ALLTOALL:
		code = MPI_Alltoall(out, n, MPI_BYTE, in, n, MPI_BYTE, MPI_COMM_WORLD);
		break;
	}
	if (code != MPI_SUCCESS)
		MPI_Abort(MPI_COMM_WORLD, 1);
}

int main(int argc, char **argv)
{
	int rank, size;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	coll_bind(rank);
	out = coll_room(size);
	in = coll_room(size);
	coll_measure(rank, size, once);
	MPI_Finalize();
	free(out);
	free(in);
	return 0;
}
