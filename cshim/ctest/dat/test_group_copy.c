/*
 * test_group_copy.c - long data of a group on one node that stay where they are: each member reads
 * them there, by one copy, or asks for them if it cannot.
 */
#define _GNU_SOURCE
#include "ctest/dat/fake_paths.h"

#include <string.h>

enum { THREADS_RUNS = 40, HOSTILE_RUNS = 900, HOSTILE_TURNS = 200 };

/* Each kind, where all can read each other's memory; where one cannot, so that it asks; and where
 * nobody can, so that a member that is asked asks itself. */
static void all_kinds(uint32_t size, uint32_t refusing)
{
	uint32_t kind, i, run;

	fake_open_copying(size, NODE_ROUTE_TARGET);
	for (i = 0; i < refusing; i++)
		fake_refuse(i);
	for (run = 0; run < 2; run++)
		for (kind = 0; kind < FAKE_KINDS; kind++) {
			fake_fill();
			for (i = 0; i < size; i++)
				fake_post(i, fake_kinds[kind], 1);
			fake_turns();
			for (i = 0; i < size; i++) {
				CHECK(fake_status(i, (uint32_t)fake_kinds[kind]) == DAT_OP_SUCCESS);
				fake_check(i, fake_kinds[kind], 1);
			}
		}
	fake_group_close();
}

/* A staging buffer is not touched, but for a member that asks. */
static void one_copy(void)
{
	uint32_t i, k, bytes = FAKE_CHUNKS * FAKE_CHUNK * 2, used = 0;

	fake_open_copying(2, NODE_ROUTE_TARGET);
	fake_fill();
	memset(fake_world.staging, 0x55, bytes);
	for (i = 0; i < 2; i++)
		fake_post(i, FAKE_BROADCAST, 1);
	fake_turns();
	for (k = 0; k < bytes; k++)
		used += fake_world.staging[k] != 0x55;
	CHECK(used == 0 && fake_status(0, FAKE_BROADCAST) == DAT_OP_SUCCESS);
	fake_group_close();
}

/* A sending member's operation is not over before all have read, nor is that of a member that only
 * decides. */
static void not_over(void)
{
	fake_open_copying(3, NODE_ROUTE_TARGET);
	fake_fill();
	fake_post(1, FAKE_BROADCAST, 1);
	fake_post(0, FAKE_BROADCAST, 1);
	fake_turn(0);
	fake_turn(1);
	CHECK(fake_events(0) == 1 && fake_events(1) == 0);
	fake_post(2, FAKE_BROADCAST, 1);
	fake_turns();
	CHECK(fake_events(1) == 1 && fake_events(2) == 1);
	fake_check(2, FAKE_BROADCAST, 1);
	fake_group_close();
}

/* In place an alltoall would replace what others have not read. */
static void in_place(void)
{
	uint32_t i, k;

	fake_open_copying(3, NODE_ROUTE_TARGET);
	fake_fill();
	memcpy(fake_out, fake_in, sizeof(fake_out));
	for (i = 0; i < 3; i++)
		fake_alltoall(i, NULL, fake_out[i], FAKE_PART);
	fake_turns();
	for (i = 0; i < 3; i++) {
		CHECK(fake_status(i, FAKE_ALLTOALL) == DAT_OP_SUCCESS);
		for (k = 0; k < 3; k++)
			CHECK(!memcmp(fake_out[i] + k * FAKE_COUNT, fake_in[k] + i * FAKE_COUNT,
			              FAKE_PART));
	}
	memcpy(fake_out, fake_in, sizeof(fake_out));
	for (i = 0; i < 3; i++)
		fake_sum(i, FAKE_ALLREDUCE, 0, NULL, fake_out[i], FAKE_PART);
	fake_turns();
	for (i = 0; i < 3; i++) {
		CHECK(fake_status(i, FAKE_ALLREDUCE) == DAT_OP_SUCCESS);
		fake_check(i, FAKE_ALLREDUCE, 0);
	}
	fake_group_close();
}

/* More than there is room for is dropped. */
static void too_long(uint32_t route)
{
	uint32_t k;

	fake_open_copying(2, route);
	fake_fill();
	fake_gather(0, 0, fake_in[0], fake_out[0], FAKE_PART);
	fake_gather(1, 0, fake_in[1], NULL, FAKE_PART + 8);
	fake_turns();
	CHECK(fake_status(0, FAKE_GATHER) != DAT_OP_SUCCESS &&
	      fake_status(1, FAKE_GATHER) == DAT_OP_SUCCESS);
	CHECK(!memcmp(fake_out[0] + FAKE_COUNT, fake_in[1], FAKE_PART));
	for (k = 2 * FAKE_PART; k < sizeof(fake_out[0]); k++)
		CHECK(((unsigned char *)fake_out[0])[k] == 0x77);
	fake_group_close();
}

/* If a member ends without having read, the members that wait for it fail, also those that answer
 * it; so does memory that does not exist. */
static void ends(void)
{
	fake_open_copying(2, NODE_ROUTE_TARGET);
	fake_fill();
	fake_post(1, FAKE_BROADCAST, 1);
	__atomic_store_n(&fake_world.slots[0].ended, 1, __ATOMIC_RELEASE);
	fake_turn(1);
	CHECK(fake_world.member[1].group.failed);
	fake_group_close();

	fake_open_copying(2, NODE_ROUTE_TARGET);
	fake_refuse(0);
	fake_post(0, FAKE_BROADCAST, 1);
	fake_post(1, FAKE_BROADCAST, 1);
	fake_turn(0); /* it asks */
	__atomic_store_n(&fake_world.slots[1].ended, 1, __ATOMIC_RELEASE);
	fake_turn(0);
	CHECK(fake_world.member[0].group.failed);
	fake_group_close();

	fake_open_copying(2, NODE_ROUTE_TARGET);
	fake_world.member[0].group.config.peers[1] = 0; /* core: its process is gone */
	fake_post(0, FAKE_BROADCAST, 1);
	fake_post(1, FAKE_BROADCAST, 1);
	fake_turn(0);
	CHECK(fake_world.member[0].group.failed);
	fake_group_close();

	fake_open_copying(2, NODE_ROUTE_TARGET);
	fake_broadcast(1, 1, (void *)16, FAKE_PART);
	fake_post(0, FAKE_BROADCAST, 1);
	fake_turns();
	CHECK(fake_world.member[0].group.failed && fake_world.member[1].group.failed);
	fake_group_close();
}

/* So does memory of an allreduce's that cannot be read, or written, with its owner. */
static void bad_elements(void)
{
	uint32_t run, bad;

	for (run = 0; run < 4; run++) {
		bad = run % 2;
		fake_open_copying(2, NODE_ROUTE_TARGET);
		fake_fill();
		fake_sum(bad, FAKE_ALLREDUCE, 0, run < 2 ? fake_in[bad] : (void *)16,
		         run < 2 ? (void *)16 : fake_out[bad], FAKE_PART);
		fake_sum(!bad, FAKE_ALLREDUCE, 0, fake_in[!bad], fake_out[!bad], FAKE_PART);
		fake_turn(bad);
		fake_turn(!bad);
		fake_turn(bad);
		CHECK(fake_world.member[bad].group.failed);
		fake_group_close();
	}
}

/* A question that a harmful member has changed is answered no further than it was asked. */
static void changed_question(void)
{
	dat_pull *question;

	fake_open_copying(2, NODE_ROUTE_TARGET);
	fake_fill();
	question = &fake_world.slots[0].pull;
	fake_refuse(0);
	fake_post(0, FAKE_BROADCAST, 1);
	fake_post(1, FAKE_BROADCAST, 1);
	while (question->at + question->n < FAKE_PART) {
		fake_turn(0);
		fake_turn(1);
	}
	CHECK(question->n < FAKE_CHUNK);
	memset(fake_out[0] + FAKE_COUNT, 0x77, FAKE_CHUNK);
	question->n = FAKE_CHUNK;
	fake_turns();
	CHECK(((unsigned char *)fake_out[0])[FAKE_PART] == 0x77);
	fake_group_close();
}

/* Any number; half of them near what is right. */
static uint64_t any(void)
{
	static uint64_t state = 1;

	state = state * 6364136223846793005u + 1442695040888963407u;
	return state >> 60 & 1 ? state >> 33 & 15 : state >> 7;
}

/* Writes as a member that keeps no rule would, in its rank slot or another's: the words that say
 * where data are and which member asks for them. */
static void vandalize(uint32_t rank, uint64_t base)
{
	dat_rank_slot *slot = &fake_world.slots[rank];
	dat_desc *desc = &slot->desc[any() % FAKE_CHUNKS];
	unsigned char *chunk = fake_world.staging + rank * FAKE_CHUNKS * FAKE_CHUNK;
	uint64_t word = any(), number = any(),
		 place[2] = {(uintptr_t)fake_in[0] + any() % 64, any()};

	switch (any() % 14) {
	case 0:
		slot->decided =
			number % 2 ? (base + number % 5) << DAT_DECIDED_AT | word % 7 : word;
		break;
	case 1:
		desc->how = (uint32_t)word;
		break;
	case 2:
		memcpy(desc->inlined + number % 4 * 8, &word, sizeof(word));
		break;
	case 3:
		memcpy(desc->inlined + number % 2 * 16, place, sizeof(place));
		break;
	case 4: /* of pieces */
		memcpy(chunk + number % FAKE_CHUNKS * FAKE_CHUNK + word % 4 * sizeof(place), place,
		       sizeof(place));
		break;
	case 5:
		slot->pull.asks += word % 3;
		slot->pull.from = number;
		break;
	case 6:
		slot->pull.what = word;
		slot->pull.at = number;
		break;
	case 7:
		slot->pull.n = word;
		break;
	case 8:
		slot->pull.answers = number;
		break;
	case 9:
		slot->pushed = base + number % 4;
		break;
	case 10:
		slot->upto = word;
		break;
	case 11:
		desc->how |= DAT_DESC_TAKES;
		break;
	case 12:
		slot->claim = (base + number % 4) * 2 + word % 2;
		break;
	default:
		desc->stamp = base + word % 12;
		desc->check = fake_world.member[0].group.round.check;
		slot->done = base + number % 12;
	}
}

/* One operation with a member that writes anything: nothing is read or written outside of what
 * there is. */
static void hostile_run(uint32_t run)
{
	static const uint32_t routes[] = {NODE_ROUTE_TARGET, NODE_ROUTE_ORIGIN, NODE_ROUTES};
	uint32_t size = 2 + run % 3, kind = run / 3 % FAKE_KINDS, i;
	int parts = fake_kinds[kind] == FAKE_ALLTOALL || fake_kinds[kind] == FAKE_GATHER ||
	            fake_kinds[kind] == FAKE_ALLGATHER;
	size_t end = parts ? (size_t)FAKE_PART * size : FAKE_PART;

	fake_open_copying(size, routes[run / 18 % 3]);
	if (run % 2)
		fake_refuse(0);
	memset(fake_out, 0x77, sizeof(fake_out));
	for (i = 0; i < size; i++) {
		fake_post(i, fake_kinds[kind], 1);
		vandalize(size - 1, 3);
	}
	for (i = 0; i < HOSTILE_TURNS; i++) {
		vandalize((uint32_t)(any() % size), 3);
		fake_turn((uint32_t)(any() % size));
	}
	for (i = 0; i < size; i++) /* memory outside the operation is as it was */
		CHECK(end == sizeof(fake_out[0]) || ((unsigned char *)fake_out[i])[end] == 0x77);
	fake_group_close();
}

/* Members as threads, so that the thread sanitizer sees the orders. */
static void threads(uint32_t run)
{
	uint32_t i, size = 2 + run % 3, kind = run % FAKE_KINDS;

	fake_open_copying(size, NODE_ROUTE_TARGET);
	for (i = 0; i < size; i++)
		if (run & 4u << i % 3)
			fake_refuse(i);
	fake_fill();
	fake_world.flags = DAT_COMPLETION_SUPPRESS_FLAG;
	for (i = 0; i < size; i++)
		fake_post(i, fake_kinds[kind], 1);
	fake_threads();
	for (i = 0; i < size; i++) {
		CHECK(!fake_world.member[i].group.failed);
		fake_check(i, fake_kinds[kind], 1);
	}
	fake_world.flags = 0;
	fake_group_close();
}

void test_group_copy(void)
{
	uint32_t size, i;

	for (size = 2; size <= FAKE_MEMBERS; size++) {
		all_kinds(size, 0);
		all_kinds(size, 1);
		all_kinds(size, size);
	}
	one_copy();
	not_over();
	in_place();
	too_long(NODE_ROUTE_TARGET);
	too_long(NODE_ROUTE_ORIGIN);
	ends();
	bad_elements();
	changed_question();
	for (i = 0; i < HOSTILE_RUNS; i++)
		hostile_run(i);
	for (i = 0; i < THREADS_RUNS; i++)
		threads(i);
}
