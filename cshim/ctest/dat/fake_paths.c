/* fake_paths.c - see fake_paths.h. */
#define _GNU_SOURCE
#include "ctest/dat/fake_paths.h"

#include <string.h>

double fake_in[FAKE_MEMBERS][FAKE_COUNT * FAKE_MEMBERS],
	fake_out[FAKE_MEMBERS][FAKE_COUNT * FAKE_MEMBERS];

void fake_fill(void)
{
	uint32_t i, k;

	memset(fake_out, 0x77, sizeof(fake_out));
	for (i = 0; i < FAKE_MEMBERS; i++)
		for (k = 0; k < FAKE_COUNT * FAKE_MEMBERS; k++)
			fake_in[i][k] =
				(double)((i * 7919 + k * 104729) % 1000) * (k % 2 ? 1e-9 : 1);
}

void fake_set_route(uint32_t route)
{
	uint32_t i;

	for (i = 0; i < fake_world.size; i++)
		fake_world.member[i].link.routes.forced = route;
}

void fake_open_copying(uint32_t size, uint32_t route)
{
	fake_world.copies = 1;
	fake_group_open(size, 3, 0);
	fake_world.copies = 0;
	fake_set_route(route);
}

void fake_refuse(uint32_t rank)
{
	uint32_t i;

	for (i = 0; i < fake_world.size; i++)
		fake_world.member[rank].peer[i].direct = 0;
}

static double sum_of(uint32_t k)
{
	double sum = fake_in[0][k];
	uint32_t i;

	for (i = 1; i < fake_world.size; i++)
		sum += fake_in[i][k];
	return sum;
}

void fake_post(uint32_t rank, int kind, uint32_t root)
{
	switch (kind) {
	case FAKE_BROADCAST:
		memcpy(fake_out[rank], fake_in[rank], FAKE_PART);
		fake_broadcast(rank, root, fake_out[rank], FAKE_PART);
		break;
	case FAKE_ALLREDUCE:
		fake_sum(rank, kind, 0, fake_in[rank], fake_out[rank], FAKE_PART);
		break;
	case FAKE_ALLTOALL:
		fake_alltoall(rank, fake_in[rank], fake_out[rank], FAKE_PART);
		break;
	case FAKE_SCATTER:
		fake_scatter(rank, root, fake_in[rank], fake_out[rank], FAKE_PART);
		break;
	case FAKE_ALLGATHER:
		fake_allgather(rank, fake_in[rank], fake_out[rank], FAKE_PART);
		break;
	default:
		fake_gather(rank, root, fake_in[rank], fake_out[rank], FAKE_PART);
	}
}

void fake_check(uint32_t rank, int kind, uint32_t root)
{
	uint32_t k;

	switch (kind) {
	case FAKE_BROADCAST:
		CHECK(!memcmp(fake_out[rank], fake_in[root], FAKE_PART));
		break;
	case FAKE_ALLREDUCE:
		for (k = 0; k < FAKE_COUNT; k++)
			CHECK(fake_out[rank][k] == sum_of(k));
		break;
	case FAKE_ALLTOALL:
		for (k = 0; k < fake_world.size; k++)
			CHECK(!memcmp(fake_out[rank] + k * FAKE_COUNT,
			              fake_in[k] + rank * FAKE_COUNT, FAKE_PART));
		break;
	case FAKE_SCATTER:
		CHECK(!memcmp(fake_out[rank], fake_in[root] + rank * FAKE_COUNT, FAKE_PART));
		break;
	default:
		for (k = 0; (rank == root || kind == FAKE_ALLGATHER) && k < fake_world.size; k++)
			CHECK(!memcmp(fake_out[rank] + k * FAKE_COUNT, fake_in[k], FAKE_PART));
	}
}

const int fake_kinds[] = {FAKE_BROADCAST, FAKE_ALLREDUCE, FAKE_ALLTOALL,
                          FAKE_GATHER,    FAKE_SCATTER,   FAKE_ALLGATHER};
