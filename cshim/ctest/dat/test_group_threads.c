/*
 * test_group_threads.c - the members of a group on one node as threads that run at once, each with
 * the state that its process would have. They share only the memory that all map, so the thread
 * sanitizer sees whether its orders suffice.
 */
#define _GNU_SOURCE
#include "ctest/dat/fake_group.h"

#include <string.h>

enum { PART = 3 * FAKE_CHUNK + 40, LONG = FAKE_MOST * PART, OPS = FAKE_ROOM - 2, RUNS = 60 };

static double in[FAKE_MOST][LONG / 8], out[OPS][FAKE_MOST][FAKE_MOST * LONG / 8];

/* Operation k of a mixture, of different lengths, whose result goes to a place. */
static void post(uint32_t rank, uint32_t place, uint32_t k)
{
	uint32_t n = k % 2 ? LONG : 24, root = k % fake_world.size;

	switch (k % 7) {
	case 0:
		fake_barrier(rank);
		break;
	case 1:
	case 2:
		memcpy(out[place][rank], in[rank], n);
		fake_broadcast(rank, root, out[place][rank], n);
		break;
	case 3:
		fake_sum(rank, DAT_IB_COLLECTIVE_ALLREDUCE_STATUS, root, in[rank], out[place][rank],
		         n);
		break;
	case 4:
		fake_sum(rank, DAT_IB_COLLECTIVE_SCAN_STATUS, root, in[rank], out[place][rank], n);
		break;
	case 5:
		fake_alltoall(rank, in[rank], out[place][rank], PART);
		break;
	default:
		fake_gather(rank, root, in[rank], rank == root ? out[place][rank] : NULL, n);
	}
}

static double sum_of(uint32_t ranks, uint32_t at)
{
	double sum = in[0][at];
	uint32_t i;

	for (i = 1; i < ranks; i++)
		sum += in[i][at];
	return sum;
}

static void check(uint32_t rank, uint32_t place, uint32_t k)
{
	uint32_t n = (k % 2 ? LONG : 24) / 8, size = fake_world.size, root = k % size, i;
	const double *got = out[place][rank];

	switch (k % 7) {
	case 1:
	case 2:
		CHECK(memcmp(got, in[root], n * 8) == 0);
		break;
	case 3:
	case 4:
		for (i = 0; i < n; i++)
			CHECK(got[i] == sum_of(k % 7 == 4 ? rank + 1 : size, i));
		break;
	case 5:
		for (i = 0; i < size; i++)
			CHECK(memcmp(got + i * PART / 8, in[i] + rank * PART / 8, PART) == 0);
		break;
	case 6:
		for (i = 0; rank == root && i < size; i++)
			CHECK(memcmp(got + i * n, in[i], n * 8) == 0);
	}
}

void test_group_threads(void)
{
	uint32_t run, i, k;

	for (i = 0; i < FAKE_MOST; i++)
		for (k = 0; k < LONG / 8; k++)
			in[i][k] = (double)((i * 7919 + k * 104729) % 1000) * (k % 2 ? 1e-9 : 1);
	fake_world.flags = DAT_COMPLETION_SUPPRESS_FLAG; /* events would wake the one process */
	for (run = 0; run < RUNS; run++) {
		fake_group_open(2 + run % 4, run, run % 3 == 0);
		for (k = 0; k < OPS; k++)
			for (i = 0; i < fake_world.size; i++)
				post(i, k, k + run);
		fake_threads();
		for (i = 0; i < fake_world.size; i++) {
			CHECK(!fake_world.member[i].group.failed &&
			      fake_world.member[i].group.queue.head == OPS);
			for (k = 0; k < OPS; k++)
				check(i, k, k + run);
		}
		fake_group_close();
	}
	fake_world.flags = 0;
}
