/* test_group.c - collective operations of a group on one node: rounds, reuse of staging buffers, members
 * that are late, have ended, or write what they like. */
#define _GNU_SOURCE
#include "ctest/dat/fake_group.h"

#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "coll/reduce.h"

enum {
	BARRIER = DAT_IB_COLLECTIVE_BARRIER_STATUS,
	BROADCAST = DAT_IB_COLLECTIVE_BROADCAST_STATUS,
	ALLREDUCE = DAT_IB_COLLECTIVE_ALLREDUCE_STATUS,
	REDUCE = DAT_IB_COLLECTIVE_REDUCE_STATUS,
	SCAN = DAT_IB_COLLECTIVE_SCAN_STATUS,
	ALLTOALL = DAT_IB_COLLECTIVE_ALLTOALL_STATUS,
	GATHER = DAT_IB_COLLECTIVE_GATHER_STATUS,
	LONG = 20 * FAKE_CHUNK + 40, /* bytes: more than a staging buffer holds */
	COUNT = LONG / 8,
	HOSTILE_RUNS = 3000
};

static double in[FAKE_MOST][COUNT * FAKE_MOST], out[FAKE_MOST][COUNT * FAKE_MOST];
static uint64_t state = 88172645463325252;

static uint64_t any(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

/* Numbers whose sum depends on the order. */
static void fill(void)
{
	uint32_t i, k;

	memset(out, 0, sizeof(out));
	for (i = 0; i < FAKE_MOST; i++)
		for (k = 0; k < COUNT * FAKE_MOST; k++)
			in[i][k] = (double)(int64_t)(any() >> (any() % 60)) * (k % 2 ? 1e-9 : 1);
}

/* The sum of element k of the first ranks members, in the order of ranks. */
static double sum_of(uint32_t ranks, uint32_t k)
{
	double sum = in[0][k];
	uint32_t i;

	for (i = 1; i < ranks; i++)
		sum += in[i][k];
	return sum;
}

/* Members get their turns in any order; some get many, some none for long. */
static void random_turns(void)
{
	uint32_t i;

	for (i = 0; i < 400; i++) {
		uint32_t rank = (uint32_t)(any() % fake_world.size);

		fake_turn(any() % 4 ? rank : rank / 2);
	}
	fake_turns();
}

/* Sums are those of the order of ranks, at all members, whichever member is ahead. */
static void sums(uint32_t size, int kind, uint32_t n, uint64_t base, int crowded)
{
	uint32_t i, k, root = size / 2, run;

	fake_group_open(size, base, crowded);
	for (run = 0; run < 3; run++) {
		fill();
		for (i = 0; i < size; i++)
			fake_sum(i, kind, root, in[i], out[i], n);
		random_turns();
		for (i = 0; i < size; i++) {
			CHECK(fake_status(i, (uint32_t)kind) == DAT_OP_SUCCESS);
			for (k = 0; k < n / 8 && (kind != REDUCE || i == root); k++)
				CHECK(out[i][k] == sum_of(kind == SCAN ? i + 1 : size, k));
		}
	}
	fake_group_close();
}

static void all_sums(void)
{
	static const int kinds[] = {ALLREDUCE, REDUCE, SCAN};
	static const uint32_t lengths[] = {0, 8, 40, LONG};
	uint32_t k, l, size;

	for (k = 0; k < 3; k++)
		for (l = 0; l < 4; l++)
			for (size = 2; size <= 5; size++)
				sums(size, kinds[k], lengths[l], any() % 17, size > 3);
}

/* The root of a broadcast is ahead of the readers by no more than its staging buffer. */
static void slow_reader(void)
{
	uint32_t k;

	fake_group_open(3, 3, 0);
	fill();
	memcpy(out[0], in[0], LONG);
	fake_broadcast(0, 0, out[0], LONG);
	fake_broadcast(1, 0, out[1], LONG);
	for (k = 0; k < 50; k++) {
		fake_turn(0);
		fake_turn(1);
	}
	CHECK(fake_events(0) == 0 && fake_world.member[0].group.move.wrote == FAKE_CHUNKS);
	fake_broadcast(2, 0, out[2], LONG);
	fake_turns();
	for (k = 0; k < 3; k++) {
		CHECK(fake_status(k, BROADCAST) == DAT_OP_SUCCESS);
		CHECK(memcmp(out[k], in[0], LONG) == 0);
	}
	fake_group_close();
}

/* Operations follow each other without a turn of the other: as many as there are descriptors. */
static void ahead(void)
{
	double value[FAKE_CHUNKS + 2], got[FAKE_CHUNKS + 2];
	uint32_t k;

	fake_group_open(2, 0, 0);
	for (k = 0; k < FAKE_CHUNKS + 2; k++) {
		value[k] = k;
		fake_broadcast(0, 0, &value[k], sizeof(double));
	}
	CHECK(fake_events(0) == FAKE_CHUNKS);
	for (k = 0; k < FAKE_CHUNKS + 2; k++)
		fake_broadcast(1, 0, &got[k], sizeof(double));
	fake_turns();
	CHECK(fake_events(0) == FAKE_CHUNKS + 2 && fake_events(1) == FAKE_CHUNKS + 2);
	CHECK(memcmp(value, got, sizeof(value)) == 0);
	fake_group_close();
}

/* A turn that changes nothing says so: else who waits would never look at anything else. */
static void idle(void)
{
	uint32_t k;

	fake_group_open(3, 0, 0);
	fake_alltoall(0, in[0], out[0], LONG);
	fake_alltoall(1, in[1], out[1], LONG);
	fake_alltoall(2, in[2], out[2],
	              LONG); /* has some rounds ready, and gets no turn any more */
	for (k = 0; k < 50; k++)
		fake_turn(k % 2);
	CHECK(!fake_turn(0) && !fake_turn(1) && !fake_turn(0));
	CHECK(fake_world.member[0].group.move.got[2] > 0 && fake_events(0) == 0);
	fake_group_close();
}

/* Members that call different operations get an error; so do those that pass other lengths. */
static void different(void)
{
	fake_group_open(2, 0, 0);
	fake_barrier(0);
	fake_broadcast(1, 0, out[1], 8);
	fake_turns();
	CHECK(fake_world.member[0].group.failed || fake_world.member[1].group.failed);
	fake_group_close();
	fake_group_open(2, 0, 0);
	fake_sum(0, ALLREDUCE, 0, in[0], out[0], 8);
	fake_sum(1, ALLREDUCE, 0, in[1], out[1], 16);
	fake_turns();
	CHECK(fake_world.member[0].group.failed && fake_world.member[1].group.failed);
	CHECK(fake_status(0, ALLREDUCE) != DAT_OP_SUCCESS);
	fake_group_close();
}

/* A member that has ended is not waited for; its earlier work counts. */
static void ended(void)
{
	fake_group_open(3, 0, 0);
	fake_barrier(0);
	fake_barrier(1);
	fake_barrier(2);
	__atomic_store_n(&fake_world.slots[2].ended, 1, __ATOMIC_RELEASE);
	fake_barrier(0);
	fake_turns();
	CHECK(fake_status(0, BARRIER) == DAT_OP_SUCCESS &&
	      fake_status(1, BARRIER) == DAT_OP_SUCCESS);
	CHECK(fake_world.member[0].group.failed && !fake_world.member[1].group.failed);
	fake_group_close();
}

/* The process of a member is gone: its published data still serves, also where others have not come
 * yet. */
static void lost(void)
{
	fake_group_open(3, 0, 0);
	fake_barrier(2);
	fake_barrier(0);
	fake_barrier(0);
	fake_world.member[0].group.lost = 1;
	__atomic_store_n(&fake_world.slots[2].ended, 1, __ATOMIC_RELEASE);
	fake_turn(0);
	CHECK(!fake_world.member[0].group.failed);
	fake_barrier(1);
	fake_turn(0);
	CHECK(fake_status(0, BARRIER) == DAT_OP_SUCCESS);
	CHECK(fake_world.member[0].group.failed);
	CHECK(fake_world.slots[0].ended == 1); /* the others learn of it */
	fake_group_close();
}

/* A member that publishes what another waits for rings the other's bell, if the other sleeps. */
static void wakes(void)
{
	static node_segment_head head;
	static node_peer peer;
	uint64_t rung = 0;

	fake_group_open(2, 0, 0);
	peer.bell = eventfd(0, EFD_NONBLOCK);
	peer.out_head = (uintptr_t)&head;
	fake_world.member[0].group.config.peers[1] = (uintptr_t)&peer;
	head.armed = NODE_AWAKE;
	fake_barrier(0);
	CHECK(read(peer.bell, &rung, sizeof(rung)) < 0);
	fake_barrier(1);
	fake_turn(0);
	fake_turn(1);
	head.armed = NODE_SLEEP | NODE_ASLEEP;
	fake_barrier(0);
	CHECK(read(peer.bell, &rung, sizeof(rung)) == sizeof(rung) && rung == 1);
	close(peer.bell);
	fake_group_close();
}

/* A longer part than there is room for fails at the member that gets it, and nowhere else. */
static void too_long(void)
{
	uint32_t k;

	fake_group_open(3, 0, 0);
	fill();
	memset(out, 0x77, sizeof(out));
	fake_gather(0, 0, NULL, out[0], 3 * FAKE_CHUNK);
	fake_gather(1, 0, in[1], NULL, 3 * FAKE_CHUNK);
	fake_gather(2, 0, in[2], NULL, 3 * FAKE_CHUNK + 8);
	fake_turns();
	CHECK(fake_status(0, GATHER) != DAT_OP_SUCCESS && fake_status(1, GATHER) == DAT_OP_SUCCESS);
	CHECK(!memcmp((char *)out[0] + 3 * FAKE_CHUNK, in[1], 3 * FAKE_CHUNK));
	CHECK(!memcmp((char *)out[0] + 6 * FAKE_CHUNK, in[2], 3 * FAKE_CHUNK));
	for (k = 9 * FAKE_CHUNK; k < sizeof(out[0]); k++)
		CHECK(((unsigned char *)out[0])[k] == 0x77);
	for (k = 0; k < 3; k++)
		fake_barrier(k);
	fake_turns();
	CHECK(fake_status(0, BARRIER) == DAT_OP_SUCCESS);
	fake_group_close();
}

/* Memory that is none fails the group. */
static void bad_memory(void)
{
	fake_group_open(2, 0, 0);
	fake_broadcast(0, 0, (void *)16, 4096);
	CHECK(fake_world.member[0].group.failed);
	fake_broadcast(1, 0, out[1], 4096);
	fake_turns();
	CHECK(fake_world.member[1].group.failed);
	fake_group_close();
}

/* Writes as a member that keeps no rule would: values near the right ones, or any. */
static void vandalize(uint32_t rank, uint64_t base)
{
	dat_rank_slot *slot = &fake_world.slots[rank];
	dat_desc *desc = &slot->desc[any() % FAKE_CHUNKS];
	uint64_t word = any() % 3 ? any() >> (any() % 64) : base + any() % 12;
	unsigned char *staging = fake_world.staging + rank * FAKE_CHUNKS * FAKE_CHUNK;

	switch (any() % 8) {
	case 0:
		slot->done = word;
		break;
	case 1:
		desc->stamp = base + any() % 12;
		break;
	case 2:
		desc->rounds = (uint32_t)word;
		break;
	case 3:
		desc->n = word;
		break;
	case 4:
		desc->check = fake_world.member[0].group.round.check;
		desc->stamp = base + any() % 12;
		break;
	case 5: /* lengths in front of pieces */
		memcpy(staging + any() % (FAKE_CHUNKS * FAKE_CHUNK / 64) * 64, &word, sizeof(word));
		break;
	case 6:
		memset(desc->inlined, (int)word, sizeof(desc->inlined));
		break;
	default:
		slot->ended = any() % 32 == 0;
	}
}

/* One operation with a member that writes anything: no access outside of what there is. */
static void hostile_run(void)
{
	uint32_t size = 2 + (uint32_t)(any() % 3), i, kind = (uint32_t)(any() % 6);
	uint32_t n = 8 * (1 + (uint32_t)(any() % (any() % 2 ? 4 : COUNT)));

	fake_group_open(size, 5, (int)(any() % 2));
	memset(out, 0x77, sizeof(out));
	for (i = 0; i < size; i++) {
		switch (kind) {
		case 0:
			fake_broadcast(i, 0, out[i], n);
			break;
		case 1:
			fake_alltoall(i, in[i], out[i], n);
			break;
		case 2:
			fake_gather(i, 0, in[i], out[i], n);
			break;
		default:
			fake_sum(i,
			         kind == 3   ? ALLREDUCE
			         : kind == 4 ? SCAN
			                     : REDUCE,
			         0, in[i], out[i], n);
		}
		vandalize(size - 1, 5);
	}
	for (i = 0; i < 60; i++) {
		vandalize(size - 1, 5);
		fake_turn((uint32_t)(any() % size));
	}
	for (i = 0; i < size; i++) /* memory outside the operation is as it was */
		CHECK(((unsigned char *)out[i])[(size_t)n * size] == 0x77);
	fake_group_close();
}

/* Turns of all groups so far. */
static int all_turns;
uint32_t __real_dat_groups_turn(void);
uint32_t __wrap_dat_groups_turn(void);

uint32_t __wrap_dat_groups_turn(void)
{
	all_turns++;
	return __real_dat_groups_turn();
}

/* A dequeue that finds nothing gives groups one turn, not two. */
static void one_turn_a_look(void)
{
	DAT_EVENT event;
	int before;

	fake_group_open(2, 0, 0);
	dat_groups = &fake_world.member[0].group;
	fake_world.member[0].queue.flags = DAT_QUEUE_TRANSFERS;
	fake_barrier(0);
	before = all_turns;
	CHECK(dat_evd_dequeue((DAT_EVD_HANDLE)fake_world.member[0].evd_slot, &event) !=
	      DAT_SUCCESS);
	CHECK(all_turns == before + 1);
	dat_groups = NULL;
	fake_group_close();
}

void test_group(void)
{
	int i;

	all_sums();
	slow_reader();
	ahead();
	idle();
	different();
	ended();
	lost();
	wakes();
	one_turn_a_look();
	too_long();
	bad_memory();
	for (i = 0; i < HOSTILE_RUNS; i++)
		hostile_run();
}
