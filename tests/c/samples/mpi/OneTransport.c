/*
 * OneTransport.c - MPI and LAPI in one program over one library: MPI's messages, LAPI's puts and MPI's
 * puts go in turn round a ring, in the same processes. With btl lapi MPI moves its data by liblapi_r, too:
 * one set of links, adapters and failovers for both.
 *
 * Usage: mpirun -n 4 --mca pml ob1 --mca btl lapi,self --mca osc_rdma_btls lapi ./OneTransport
 */
#include <mpi.h>
#include "../common/sample.h"

enum { ROUNDS = 100 };

int main(int argc, char **argv)
{
	static lapi_cntr_t arrived;
	static int by_lapi = -1;
	lapi_info_t info = {0};
	lapi_handle_t hndl;
	void **here, **there;
	int rank, size, next, before, by_message, *by_mpi, sum = 0;
	MPI_Win window;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	next = (rank + 1) % size;
	before = (rank + size - 1) % size;
	MPI_Win_allocate(sizeof *by_mpi, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &by_mpi, &window);

	/* Nothing is said about MPI's use of the library: it has a LAPI instance of its own. The tasks
	   have the numbers of MPI_COMM_WORLD. */
	CALL(LAPI_Init(&hndl, &info));
	sample_begin(rank);
	here = calloc(size, sizeof *here);
	there = calloc(size, sizeof *there);
	CALL(LAPI_Address_init(hndl, &by_lapi, here));
	CALL(LAPI_Address_init(hndl, &arrived, there));

	for (int i = 0; i < ROUNDS; i++) {
		int mine = rank + i;

		MPI_Sendrecv(&mine, 1, MPI_INT, next, 0, &by_message, 1, MPI_INT, before, 0,
		             MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		CALL(LAPI_Put(hndl, next, sizeof mine, here[next], &mine, there[next], NULL, NULL));
		CALL(LAPI_Waitcntr(hndl, &arrived, 1, NULL));
		EXPECT(by_message == before + i && by_lapi == before + i);
		MPI_Win_fence(0, window);
		MPI_Put(&mine, 1, MPI_INT, next, 0, 1, MPI_INT, window);
		MPI_Win_fence(0, window);
		EXPECT(*by_mpi == before + i);
	}
	MPI_Allreduce(&by_lapi, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	EXPECT(sum == size * (size - 1) / 2 + size * (ROUNDS - 1));
	sample_say("%d rounds by MPI and by LAPI", ROUNDS);

	CALL(LAPI_Gfence(hndl));
	CALL(LAPI_Term(hndl));
	MPI_Win_free(&window);
	MPI_Finalize();
	free(here);
	free(there);
	return sample_end();
}
