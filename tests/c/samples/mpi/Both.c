/*
 * Both.c - MPI and LAPI in one program, started by an MPI launcher: MPI tells where each task
 * receives, then a ring of puts by LAPI between two reductions by MPI.
 *
 * Usage: MP_PARTITION=4711 mpiexec -n 4 ./under-mpi ./Both
 */
#include <mpi.h>
#include <arpa/inet.h>
#include <unistd.h>
#include "../common/sample.h"

/* A UDP port of this address that nobody uses, below those that the kernel gives away by itself. */
static in_port_t free_port(in_addr_t address, int rank)
{
	struct sockaddr_in at = {0};
	int port, got = -1, fd = socket(AF_INET, SOCK_DGRAM, 0);

	at.sin_family = AF_INET;
	at.sin_addr.s_addr = address;
	for (port = 20000 + rank % 500 * 20; got != 0 && port < 32000; port++) {
		at.sin_port = htons((in_port_t)port);
		got = bind(fd, (struct sockaddr *)&at, sizeof at);
	}
	close(fd);
	return at.sin_port;
}

/* Where each task receives: the first address of its MP_LAPI_INET_ADDR, and a port. */
static lapi_udp_t *everybody(int rank, int size)
{
	lapi_udp_t mine = {0}, *list = calloc(size, sizeof *list);
	char address[64] = "";

	sscanf(getenv("MP_LAPI_INET_ADDR"), "@%*u:%63[0-9.]", address);
	mine.ip_addr = inet_addr(address);
	mine.port_no = free_port(mine.ip_addr, rank);
	MPI_Allgather(&mine, sizeof mine, MPI_BYTE, list, sizeof mine, MPI_BYTE, MPI_COMM_WORLD);
	return list;
}

int main(int argc, char **argv)
{
	static int from = -1;
	static lapi_cntr_t arrived;
	lapi_extend_t extension = {0};
	lapi_info_t info = {0};
	lapi_handle_t hndl;
	void **here, **there;
	int rank, size, next, sum = 0;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	extension.add_udp_addrs = everybody(rank, size);
	extension.num_udp_addr = size;
	info.lib_vers = LAST_LIB;
	info.add_info = &extension;
	CALL(LAPI_Init(&hndl, &info));
	sample_begin(rank);

	here = calloc(size, sizeof *here);
	there = calloc(size, sizeof *there);
	CALL(LAPI_Address_init(hndl, &from, here));
	CALL(LAPI_Address_init(hndl, &arrived, there));
	next = (rank + 1) % size;
	CALL(LAPI_Put(hndl, next, sizeof rank, here[next], &rank, there[next], NULL, NULL));
	CALL(LAPI_Waitcntr(hndl, &arrived, 1, NULL));
	EXPECT(from == (rank + size - 1) % size);
	MPI_Allreduce(&from, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	EXPECT(sum == size * (size - 1) / 2);
	sample_say("task %d was here by LAPI, and MPI has added up to %d", from, sum);

	CALL(LAPI_Gfence(hndl));
	CALL(LAPI_Term(hndl));
	MPI_Finalize();
	free(here);
	free(there);
	free(extension.add_udp_addrs);
	return sample_end();
}
