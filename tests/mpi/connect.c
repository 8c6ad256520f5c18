/*
 * connect.c - MPI_Comm_accept and MPI_Comm_connect between the two halves of a job, or two jobs, then
 * messages and a reduction over both. Rank 0 prints "passed".
 *
 * usage: connect             the even ranks accept, the odd ones connect
 *        connect server FILE   FILE gets the name of the port
 *        connect client FILE
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { N = 50000 };

static void write_port(const char *file, const char *port)
{
	char other[4096];
	FILE *f;

	snprintf(other, sizeof other, "%s.new", file);
	f = fopen(other, "w");
	if (!f || fputs(port, f) < 0 || fclose(f) || rename(other, file))
		MPI_Abort(MPI_COMM_WORLD, 2);
}

static void read_port(const char *file, char *port)
{
	FILE *f;

	while (!(f = fopen(file, "r")))
		usleep(10000);
	if (!fgets(port, MPI_MAX_PORT_NAME, f))
		MPI_Abort(MPI_COMM_WORLD, 2);
	fclose(f);
}

static void exchange(MPI_Comm other, int rank)
{
	static int out[N], in[N];
	int peers;

	MPI_Comm_remote_size(other, &peers);
	if (rank >= peers)
		return;
	for (int i = 0; i < N; i++)
		out[i] = rank + i;
	for (int n = 1; n <= N; n *= 10) {
		MPI_Sendrecv(out, n, MPI_INT, rank, 1, in, n, MPI_INT, rank, 1, other, MPI_STATUS_IGNORE);
		if (memcmp(out, in, (size_t)n * sizeof *in) != 0)
			MPI_Abort(MPI_COMM_WORLD, 3);
	}
}

int main(int argc, char **argv)
{
	char port[MPI_MAX_PORT_NAME] = "";
	int world, rank, accepts, ranks, sum = 0, one = 1;
	MPI_Comm mine = MPI_COMM_WORLD, other, all;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &world);
	accepts = argc > 1 ? strcmp(argv[1], "server") == 0 : world % 2 == 0;
	if (argc < 3)
		MPI_Comm_split(MPI_COMM_WORLD, accepts, world, &mine);
	MPI_Comm_rank(mine, &rank);
	if (accepts && rank == 0) {
		MPI_Open_port(MPI_INFO_NULL, port);
		if (argc < 3)
			MPI_Send(port, sizeof port, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
		else
			write_port(argv[2], port);
	} else if (rank == 0) {
		if (argc < 3)
			MPI_Recv(port, sizeof port, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		else
			read_port(argv[2], port);
	}
	(accepts ? MPI_Comm_accept : MPI_Comm_connect)(port, MPI_INFO_NULL, 0, mine, &other);
	exchange(other, rank);
	MPI_Intercomm_merge(other, !accepts, &all);
	MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, all);
	MPI_Comm_size(all, &ranks);
	MPI_Comm_free(&all);
	MPI_Comm_disconnect(&other);
	if (accepts && rank == 0) {
		MPI_Close_port(port);
		if (sum == ranks && ranks > 1)
			printf("passed\n");
	}
	MPI_Finalize();
	return 0;
}
