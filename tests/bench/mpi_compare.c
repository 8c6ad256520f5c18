/*
 * mpi_compare.c - the operations of lapi_compare.c with MPI: for make bench-peers, compiled once
 * for each MPI on the machine. User memory (MPI_Win_create), passive target, MPI_Win_flush after
 * each operation or window; the target waits in MPI_Barrier meanwhile.
 *
 *   mpirun -n 2 mpi_compare compare --board=file --ops=put-completed,am --sizes=8,4096
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "measure.h"

static board *shared;
static const bench_options *opts;
static int rank, ranks;
static char *out, *in;  /* buffers of the largest size */
static long long *word; /* target of fetch-and-add: at the start of a window of its own */
static MPI_Win window, word_window;
static size_t size; /* of the operation under measurement */

static void check(int code, const char *call)
{
	if (code != MPI_SUCCESS)
		fail("%s: %d", call, code);
}
#define CHECK(call) check((call), #call)

/* There and back. */
static void am_rounds(void *arg, uint64_t n)
{
	int peer = 1 - rank;

	(void)arg;
	for (; n > 0; n--) {
		if (rank == 1)
			CHECK(MPI_Recv(in, (int)size, MPI_CHAR, peer, 1, MPI_COMM_WORLD,
			               MPI_STATUS_IGNORE));
		CHECK(MPI_Send(out, (int)size, MPI_CHAR, peer, 1, MPI_COMM_WORLD));
		if (rank == 0)
			CHECK(MPI_Recv(in, (int)size, MPI_CHAR, peer, 1, MPI_COMM_WORLD,
			               MPI_STATUS_IGNORE));
	}
}

/* A window of messages, then one back that says all were received. */
static void am_windows(void *arg, uint64_t n)
{
	MPI_Request r[64];
	MPI_Status status[64];
	int i, count = compared_window(size);
	char done = 0;

	(void)arg;
	for (; n > 0; n--) {
		for (i = 0; i < count; i++) {
			if (rank == 0)
				CHECK(MPI_Isend(out, (int)size, MPI_CHAR, 1, 2, MPI_COMM_WORLD,
				                &r[i]));
			else
				CHECK(MPI_Irecv(in, (int)size, MPI_CHAR, 0, 2, MPI_COMM_WORLD,
				                &r[i]));
		}
		CHECK(MPI_Waitall(count, r, status));
		if (rank == 0)
			CHECK(MPI_Recv(&done, 1, MPI_CHAR, 1, 3, MPI_COMM_WORLD,
			               MPI_STATUS_IGNORE));
		else
			CHECK(MPI_Send(&done, 1, MPI_CHAR, 0, 3, MPI_COMM_WORLD));
	}
}

static void puts_and_flush(int count)
{
	int i;

	for (i = 0; i < count; i++)
		CHECK(MPI_Put(out, (int)size, MPI_CHAR, 1, 0, (int)size, MPI_CHAR, window));
	CHECK(MPI_Win_flush(1, window));
}

static void put_rounds(void *arg, uint64_t n)
{
	(void)arg;
	for (; n > 0; n--)
		puts_and_flush(1);
}

static void put_windows(void *arg, uint64_t n)
{
	(void)arg;
	for (; n > 0; n--)
		puts_and_flush(compared_window(size));
}

static void gets_and_flush(int count)
{
	int i;

	for (i = 0; i < count; i++)
		CHECK(MPI_Get(out, (int)size, MPI_CHAR, 1, 0, (int)size, MPI_CHAR, window));
	CHECK(MPI_Win_flush(1, window));
}

static void get_rounds(void *arg, uint64_t n)
{
	(void)arg;
	for (; n > 0; n--)
		gets_and_flush(1);
}

static void get_windows(void *arg, uint64_t n)
{
	(void)arg;
	for (; n > 0; n--)
		gets_and_flush(compared_window(size));
}

static void fetch_and_add_rounds(void *arg, uint64_t n)
{
	long long one = 1, previous;

	(void)arg;
	for (; n > 0; n--) {
		CHECK(MPI_Fetch_and_op(&one, &previous, MPI_LONG_LONG, 1, 0, MPI_SUM, word_window));
		CHECK(MPI_Win_flush(1, word_window));
	}
}

static void mpi_barrier(void *arg)
{
	(void)arg;
	CHECK(MPI_Barrier(MPI_COMM_WORLD));
}

static const struct operation {
	const char *name, *unit;
	void (*rounds)(void *arg, uint64_t n);
	int in_step;
	double halves; /* us: 2 where a round is there and back */
} operations[] = {
	{"am", "us", am_rounds, 1, 2},
	{"put-completed", "us", put_rounds, 0, 1},
	{"get", "us", get_rounds, 0, 1},
	{"fetch-and-add", "us", fetch_and_add_rounds, 0, 1},
	{"am-rate", "M/s", am_windows, 1, 1},
	{"put-rate", "M/s", put_windows, 0, 1},
	{"put-bandwidth", "GB/s", put_windows, 0, 1},
	{"get-bandwidth", "GB/s", get_windows, 0, 1},
	{"put-cold", "GB/s", put_rounds, 0, 1},
};

static void one(const struct operation *op)
{
	measurement m = {shared, opts, rank, op->rounds, op->in_step ? NULL : mpi_barrier,
	                 NULL,   NULL};
	measured r = measure(&m);
	int count = op->rounds == put_rounds ? 1 : compared_window(size);
	double v;

	if (rank != 0)
		return;
	if (!strcmp(op->unit, "us"))
		v = r.ns / op->halves / 1e3;
	else if (!strcmp(op->unit, "M/s"))
		v = count * 1e3 / r.ns;
	else
		v = (double)size * count / r.ns;
	print_row("compare", op->name, size, v, op->unit, r.before, r.after, r.preempted);
}

static void two_tasks(void)
{
	size_t k;
	int i;

	for (k = 0; k < sizeof operations / sizeof *operations; k++) {
		for (i = 0; i < opts->num_sizes; i++) {
			size = opts->sizes[i];
			if (is_wanted(opts->ops, operations[k].name))
				one(&operations[k]);
		}
	}
}

static void barrier_of_all(void)
{
	barrier_measurement m = {shared, opts, rank, ranks, mpi_barrier, NULL, NULL};
	measured r = measure_barrier(&m);

	if (rank == 0)
		print_row("compare", "barrier", (size_t)ranks, r.ns / 1e3, "us", r.before, r.after,
		          r.preempted);
}

static char *buffer(size_t n)
{
	void *p;

	if (posix_memalign(&p, 4096, n))
		fail("no memory for %zu bytes", n);
	return memset(p, 1, n);
}

int main(int argc, char **argv)
{
	bench_options o;

	parse_options(argc, argv, &o);
	if (!o.board_path)
		fail("--board is needed: the tasks meet in that file");
	alarm(180); /* guards against hangs only; the harness may set less */
	opts = &o;
	CHECK(MPI_Init(&argc, &argv));
	CHECK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
	CHECK(MPI_Comm_size(MPI_COMM_WORLD, &ranks));
	pin_to_core(rank);
	shared = board_open(o.board_path);
	if (!strcmp(o.test, "barrier")) {
		barrier_of_all();
	} else if (!strcmp(o.test, "compare") && ranks == 2) {
		size_t most = o.sizes[o.num_sizes - 1];

		out = buffer(o.offset + most) + o.offset;
		in = buffer(o.offset + most) + o.offset;
		word = (long long *)(void *)buffer(4096);
		*word = 0;
		CHECK(MPI_Win_create(in, (MPI_Aint)most, 1, MPI_INFO_NULL, MPI_COMM_WORLD,
		                     &window));
		CHECK(MPI_Win_create(word, 4096, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &word_window));
		CHECK(MPI_Win_lock_all(0, window));
		CHECK(MPI_Win_lock_all(0, word_window));
		CHECK(MPI_Barrier(MPI_COMM_WORLD));
		two_tasks();
		CHECK(MPI_Win_unlock_all(window));
		CHECK(MPI_Win_unlock_all(word_window));
		CHECK(MPI_Win_free(&window));
		CHECK(MPI_Win_free(&word_window));
	} else {
		fail("usage: barrier, or with 2 ranks compare");
	}
	board_account(shared);
	CHECK(MPI_Finalize());
	return 0;
}
