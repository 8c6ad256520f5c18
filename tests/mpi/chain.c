/*
 * chain.c - ranks append elements to one list in dynamic windows, of which rank 0 has the head: each
 * finds the end by MPI_Fetch_and_op and hangs its element on it by another, which gives the old
 * value. Then all walk the list. Rank 0 prints "passed".
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { EACH = 100 };

/* A place in the list is a word: rank + 1 in the upper bits, the address below; 0: none. */
typedef struct element {
	long next, value;
} element;

static MPI_Win window;

static long place_of(int rank, const element *e)
{
	return (long)(rank + 1) << 48 | (long)e;
}

static long exchange(long place, long value, MPI_Op op)
{
	int rank = (int)(place >> 48) - 1;
	long old;

	MPI_Fetch_and_op(&value, &old, MPI_LONG, rank, place & ((1L << 48) - 1), op, window);
	MPI_Win_flush(rank, window);
	return old;
}

/* Swaps the tail's word for the new element's, and hangs that on the element before it. */
static void append(long tail, long place)
{
	exchange(exchange(tail, place, MPI_REPLACE), place, MPI_REPLACE);
}

int main(int argc, char **argv)
{
	element *elements, *head = NULL;
	long anchors[2] = {0, 0}, at, next, value, seen = 0, sum = 0;
	int rank, ranks;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &window);
	MPI_Alloc_mem(EACH * sizeof *elements, MPI_INFO_NULL, &elements);
	MPI_Win_attach(window, elements, EACH * sizeof *elements);
	if (rank == 0) {
		MPI_Alloc_mem(2 * sizeof *head, MPI_INFO_NULL, &head);
		MPI_Win_attach(window, head, 2 * sizeof *head);
		head[0] = (element){0, 0};
		anchors[0] = place_of(0, &head[0]);
		head[1] = (element){anchors[0], 0}; /* next: the last element's place */
		anchors[1] = place_of(0, &head[1]);
	}
	MPI_Bcast(anchors, 2, MPI_LONG, 0, MPI_COMM_WORLD);
	for (int i = 0; i < EACH; i++)
		elements[i] = (element){0, (long)rank * EACH + i};
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Win_lock_all(0, window);
	for (int i = 0; i < EACH; i++)
		append(anchors[1], place_of(rank, &elements[i]));
	MPI_Barrier(MPI_COMM_WORLD);
	for (at = anchors[0]; (next = exchange(at, 0, MPI_NO_OP)) != 0; at = next, seen++) {
		int of = (int)(next >> 48) - 1;

		MPI_Get(&value, 1, MPI_LONG, of, (next & ((1L << 48) - 1)) + 8, 1, MPI_LONG, window);
		MPI_Win_flush(of, window);
		sum += value;
	}
	MPI_Win_unlock_all(window);
	MPI_Barrier(MPI_COMM_WORLD);
	value = (long)ranks * EACH;
	if (seen != value || sum != value * (value - 1) / 2) {
		fprintf(stderr, "chain.c: rank %d: %ld elements of %ld, sum %ld\n", rank, seen, value, sum);
		MPI_Abort(MPI_COMM_WORLD, 1);
	}
	MPI_Win_detach(window, elements);
	if (head)
		MPI_Win_detach(window, head);
	MPI_Win_free(&window);
	if (rank == 0)
		printf("passed\n");
	MPI_Finalize();
	return 0;
}
