/*
 * test_group_way.c - long data of a group on one node that stay where they are: each member reads
 * them there, by one copy, or asks for them if it cannot; and which way is chosen.
 */
#define _GNU_SOURCE
#include "fake_group.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum {
	BROADCAST = DAT_IB_COLLECTIVE_BROADCAST_STATUS,
	ALLREDUCE = DAT_IB_COLLECTIVE_ALLREDUCE_STATUS,
	ALLTOALL = DAT_IB_COLLECTIVE_ALLTOALL_STATUS,
	GATHER = DAT_IB_COLLECTIVE_GATHER_STATUS,
	PART = DAT_GROUP_COPY_MIN + 40, /* bytes */
	COUNT = PART / 8,
	MEMBERS = 4,
	THREADS_RUNS = 40,
	TRANSFERS = 400,
	HOSTILE_RUNS = 600,
	HOSTILE_TURNS = 200
};

static double in[MEMBERS][COUNT * MEMBERS], out[MEMBERS][COUNT * MEMBERS];

static void fill(void)
{
	uint32_t i, k;

	memset(out, 0x77, sizeof(out));
	for (i = 0; i < MEMBERS; i++)
		for (k = 0; k < COUNT * MEMBERS; k++)
			in[i][k] = (double)((i * 7919 + k * 104729) % 1000) * (k % 2 ? 1e-9 : 1);
}

static void open_copying(uint32_t size, uint32_t route)
{
	uint32_t i;

	fake_world.copies = 1;
	fake_group_open(size, 3, 0);
	fake_world.copies = 0;
	for (i = 0; i < size; i++)
		fake_world.member[i].link.routes.forced = route;
}

/* A member cannot read the memory of any other any more. */
static void refuse(uint32_t rank)
{
	uint32_t i;

	for (i = 0; i < fake_world.size; i++)
		fake_world.member[rank].peer[i].direct = 0;
}

static double sum_of(uint32_t k)
{
	double sum = in[0][k];
	uint32_t i;

	for (i = 1; i < fake_world.size; i++)
		sum += in[i][k];
	return sum;
}

static void post(uint32_t rank, int kind, uint32_t root)
{
	switch (kind) {
	case BROADCAST:
		memcpy(out[rank], in[rank], PART);
		fake_broadcast(rank, root, out[rank], PART);
		break;
	case ALLREDUCE:
		fake_sum(rank, kind, 0, in[rank], out[rank], PART);
		break;
	case ALLTOALL:
		fake_alltoall(rank, in[rank], out[rank], PART);
		break;
	default:
		fake_gather(rank, root, in[rank], out[rank], PART);
	}
}

static void check(uint32_t rank, int kind, uint32_t root)
{
	uint32_t k;

	switch (kind) {
	case BROADCAST:
		CHECK(!memcmp(out[rank], in[root], PART));
		break;
	case ALLREDUCE:
		for (k = 0; k < COUNT; k++)
			CHECK(out[rank][k] == sum_of(k));
		break;
	case ALLTOALL:
		for (k = 0; k < fake_world.size; k++)
			CHECK(!memcmp(out[rank] + k * COUNT, in[k] + rank * COUNT, PART));
		break;
	default:
		for (k = 0; rank == root && k < fake_world.size; k++)
			CHECK(!memcmp(out[rank] + k * COUNT, in[k], PART));
	}
}

static const int kinds[] = {BROADCAST, ALLREDUCE, ALLTOALL, GATHER};

/* Each kind, where all can read each other's memory; where one cannot, so that it asks; and where
 * nobody can, so that one that is asked asks itself. */
static void all_kinds(uint32_t size, uint32_t refusing)
{
	uint32_t kind, i, run;

	open_copying(size, NODE_ROUTE_TARGET);
	for (i = 0; i < refusing; i++)
		refuse(i);
	for (run = 0; run < 2; run++)
		for (kind = 0; kind < 4; kind++) {
			fill();
			for (i = 0; i < size; i++)
				post(i, kinds[kind], 1);
			fake_turns();
			for (i = 0; i < size; i++) {
				CHECK(fake_status(i, (uint32_t)kinds[kind]) == DAT_OP_SUCCESS);
				check(i, kinds[kind], 1);
			}
		}
	fake_group_close();
}

/* A stage is not touched, but by who asks. */
static void one_copy(void)
{
	uint32_t i, k, bytes = FAKE_UNITS * FAKE_UNIT * 2, used = 0;

	open_copying(2, NODE_ROUTE_TARGET);
	fill();
	memset(fake_world.stages, 0x55, bytes);
	for (i = 0; i < 2; i++)
		post(i, BROADCAST, 1);
	fake_turns();
	for (k = 0; k < bytes; k++)
		used += fake_world.stages[k] != 0x55;
	CHECK(used == 0 && fake_status(0, BROADCAST) == DAT_OP_SUCCESS);
	fake_group_close();
}

/* Who sends is not over before all have read, and neither is who only decides. */
static void not_over(void)
{
	open_copying(3, NODE_ROUTE_TARGET);
	fill();
	post(1, BROADCAST, 1);
	post(0, BROADCAST, 1);
	fake_turn(0);
	fake_turn(1);
	CHECK(fake_events(0) == 1 && fake_events(1) == 0);
	post(2, BROADCAST, 1);
	fake_turns();
	CHECK(fake_events(1) == 1 && fake_events(2) == 1);
	check(2, BROADCAST, 1);
	fake_group_close();
}

/* In place an alltoall would replace what others have not read. */
static void in_place(void)
{
	uint32_t i, k;

	open_copying(3, NODE_ROUTE_TARGET);
	fill();
	memcpy(out, in, sizeof(out));
	for (i = 0; i < 3; i++)
		fake_alltoall(i, NULL, out[i], PART);
	fake_turns();
	for (i = 0; i < 3; i++) {
		CHECK(fake_status(i, ALLTOALL) == DAT_OP_SUCCESS);
		for (k = 0; k < 3; k++)
			CHECK(!memcmp(out[i] + k * COUNT, in[k] + i * COUNT, PART));
	}
	memcpy(out, in, sizeof(out));
	for (i = 0; i < 3; i++)
		fake_sum(i, ALLREDUCE, 0, NULL, out[i], PART);
	fake_turns();
	for (i = 0; i < 3; i++) {
		CHECK(fake_status(i, ALLREDUCE) == DAT_OP_SUCCESS);
		check(i, ALLREDUCE, 0);
	}
	fake_group_close();
}

/* More than there is room for is dropped. */
static void too_long(void)
{
	uint32_t k;

	open_copying(2, NODE_ROUTE_TARGET);
	fill();
	fake_gather(0, 0, in[0], out[0], PART);
	fake_gather(1, 0, in[1], NULL, PART + 8);
	fake_turns();
	CHECK(fake_status(0, GATHER) != DAT_OP_SUCCESS && fake_status(1, GATHER) == DAT_OP_SUCCESS);
	CHECK(!memcmp(out[0] + COUNT, in[1], PART));
	for (k = 2 * PART; k < sizeof(out[0]); k++)
		CHECK(((unsigned char *)out[0])[k] == 0x77);
	fake_group_close();
}

/* Who decides has short data and decides nothing; others, whose data are long, do not wait. */
static void decides_nothing(void)
{
	uint32_t i, first;

	for (first = 0; first < 2; first++) {
		open_copying(2, NODE_ROUTE_TARGET);
		fill();
		for (i = 0; i < 2; i++)
			if ((i ^ first) == 0)
				fake_gather(0, 0, in[0], out[0], 8);
			else
				fake_gather(1, 0, in[1], NULL, PART);
		fake_turns();
		CHECK(fake_status(0, GATHER) != DAT_OP_SUCCESS);
		CHECK(fake_status(1, GATHER) == DAT_OP_SUCCESS);
		CHECK(out[0][1] == in[1][0] && ((unsigned char *)out[0])[16] == 0x77);
		fake_group_close();
	}
}

/* A member that ends without having read fails who waits for it, also who answers it; so does
 * memory that is none. */
static void ends(void)
{
	open_copying(2, NODE_ROUTE_TARGET);
	fill();
	post(1, BROADCAST, 1);
	__atomic_store_n(&fake_world.seats[0].ended, 1, __ATOMIC_RELEASE);
	fake_turn(1);
	CHECK(fake_world.member[1].group.failed);
	fake_group_close();

	open_copying(2, NODE_ROUTE_TARGET);
	refuse(0);
	post(0, BROADCAST, 1);
	post(1, BROADCAST, 1);
	fake_turn(0); /* it asks */
	__atomic_store_n(&fake_world.seats[1].ended, 1, __ATOMIC_RELEASE);
	fake_turn(0);
	CHECK(fake_world.member[0].group.failed);
	fake_group_close();

	open_copying(2, NODE_ROUTE_TARGET);
	fake_world.member[0].group.peers[1] = 0; /* core: its process is gone */
	post(0, BROADCAST, 1);
	post(1, BROADCAST, 1);
	fake_turn(0);
	CHECK(fake_world.member[0].group.failed);
	fake_group_close();

	open_copying(2, NODE_ROUTE_TARGET);
	fake_broadcast(1, 1, (void *)16, PART);
	post(0, BROADCAST, 1);
	fake_turns();
	CHECK(fake_world.member[0].group.failed && fake_world.member[1].group.failed);
	fake_group_close();
}

/* So does memory of an allreduce's that cannot be read, or written, with its owner. */
static void bad_elements(void)
{
	uint32_t bad;

	for (bad = 0; bad < 2; bad++) {
		open_copying(2, NODE_ROUTE_TARGET);
		fill();
		fake_sum(bad, ALLREDUCE, 0, in[bad], (void *)16, PART);
		fake_sum(!bad, ALLREDUCE, 0, in[!bad], out[!bad], PART);
		fake_turn(bad);
		fake_turn(!bad);
		fake_turn(bad);
		CHECK(fake_world.member[bad].group.failed);
		fake_group_close();

		open_copying(2, NODE_ROUTE_TARGET);
		fake_sum(bad, ALLREDUCE, 0, (void *)16, out[bad], PART);
		fake_sum(!bad, ALLREDUCE, 0, in[!bad], out[!bad], PART);
		fake_turn(bad);
		fake_turn(!bad);
		fake_turn(bad);
		CHECK(fake_world.member[bad].group.failed);
		fake_group_close();
	}
}

/* Of two ways the faster is found; one that is forced is gone; short data ask for none. */
static void chosen(void)
{
	node_route_class *class;
	uint32_t i, k, copies = 0;

	open_copying(2, NODE_ROUTES);
	fill();
	for (k = 0; k < TRANSFERS; k++) {
		dat_group *root = &fake_world.member[1].group;

		post(1, BROADCAST, 1);
		post(0, BROADCAST, 1);
		while (!fake_events(0) || !fake_events(1)) {
			/* the slow way: through a stage */
			if (root->way == DAT_WAY_STAGE)
				for (i = 0; i < 2000; i++)
					__asm__ volatile("pause");
			fake_turn(0);
			fake_turn(1);
		}
		copies += root->way == DAT_WAY_COPY;
		CHECK(fake_status(0, BROADCAST) == DAT_OP_SUCCESS &&
		      fake_status(1, BROADCAST) == DAT_OP_SUCCESS);
	}
	class = (node_route_class *)(uintptr_t)fake_world.member[1].group.ways +
	        (BROADCAST - DAT_IB_COLLECTIVE_SCATTER_STATUS) * DAT_GROUP_CLASSES;
	CHECK(class->best == NODE_ROUTE_TARGET && copies > TRANSFERS / 2);
	CHECK(fake_world.member[1].group.best == NODE_ROUTE_TARGET);
	fake_group_close();

	open_copying(2, NODE_ROUTE_PIPELINE);
	post(1, BROADCAST, 1);
	post(0, BROADCAST, 1);
	fake_turns();
	CHECK(fake_world.member[1].group.way == DAT_WAY_STAGE && fake_events(1) == 1);
	fake_group_close();

	open_copying(2, NODE_ROUTE_TARGET);
	fake_broadcast(1, 1, out[1], DAT_GROUP_COPY_MIN - 8);
	fake_broadcast(0, 1, out[0], DAT_GROUP_COPY_MIN - 8);
	fake_turns();
	CHECK(fake_world.member[1].group.way == DAT_WAY_STAGE && fake_events(1) == 1);
	fake_group_close();
}

/* An operation that is timed begins when all are done with the one before. */
static void timed(void)
{
	dat_group *root;
	uint32_t k;

	open_copying(2, NODE_ROUTES);
	root = &fake_world.member[1].group;
	for (k = 0; k < 4; k++) { /* the first ones are not timed */
		post(1, BROADCAST, 1);
		post(0, BROADCAST, 1);
		fake_turns();
		fake_status(0, BROADCAST);
		fake_status(1, BROADCAST);
	}
	fake_barrier(1);
	fake_broadcast(1, 1, out[1], FAKE_UNIT);
	post(1, BROADCAST, 1);
	fake_barrier(0);
	fake_turn(1);
	fake_turn(1);
	CHECK(root->timing == DAT_TIMING_WAITS);
	fake_broadcast(0, 1, out[0], FAKE_UNIT);
	fake_turn(1);
	CHECK(root->timing == DAT_TIMING_RUNS && fake_events(1) == 2);
	fake_group_close();
}

/* Any number; half of them near what is right. */
static uint64_t any(void)
{
	static uint64_t state = 1;

	state = state * 6364136223846793005u + 1442695040888963407u;
	return state >> 60 & 1 ? state >> 33 & 15 : state >> 7;
}

/* What a member writes that keeps to nothing, of what says where data are and who asks for them. */
static void vandalize(uint32_t rank, uint64_t base)
{
	dat_seat *seat = &fake_world.seats[rank];
	dat_card *card = &seat->card[any() % FAKE_UNITS];
	unsigned char *unit = fake_world.stages + rank * FAKE_UNITS * FAKE_UNIT;
	uint64_t word = any(), number = any(), place[2] = {(uintptr_t)in[0] + any() % 64, any()};

	switch (any() % 10) {
	case 0:
		seat->decided = number % 2 ? (base + number % 5) * 2 + word % 2 : word;
		break;
	case 1:
		card->how = (uint32_t)word;
		break;
	case 2:
		memcpy(card->tiny + number % 2 * 8, &word, sizeof(word));
		break;
	case 3:
		memcpy(card->tiny, place, sizeof(place));
		break;
	case 4: /* of pieces */
		memcpy(unit + number % FAKE_UNITS * FAKE_UNIT + word % 4 * sizeof(place), place,
		       sizeof(place));
		break;
	case 5:
		seat->feed.asks += word % 3;
		seat->feed.from = number;
		break;
	case 6:
		seat->feed.what = word;
		seat->feed.at = number;
		break;
	case 7:
		seat->feed.n = word;
		break;
	case 8:
		seat->feed.answers = number;
		break;
	default:
		card->stamp = base + word % 12;
		card->check = fake_world.member[0].group.check;
		seat->done = base + number % 12;
	}
}

/* One operation with a member that writes anything: nothing is read or written outside of what
 * there is. */
static void hostile_run(uint32_t run)
{
	uint32_t size = 2 + run % 3, kind = run / 3 % 4, i;
	size_t end = kind == 0 || kind == 1 ? PART : (size_t)PART * size;

	open_copying(size, run % 5 ? NODE_ROUTE_TARGET : NODE_ROUTES);
	if (run % 2)
		refuse(0);
	memset(out, 0x77, sizeof(out));
	for (i = 0; i < size; i++) {
		post(i, kinds[kind], 1);
		vandalize(size - 1, 3);
	}
	for (i = 0; i < HOSTILE_TURNS; i++) {
		vandalize(size - 1, 3);
		fake_turn((uint32_t)(any() % size));
	}
	for (i = 0; i < size; i++) /* what does not belong to the operation is as it was */
		CHECK(end == sizeof(out[0]) || ((unsigned char *)out[i])[end] == 0x77);
	fake_group_close();
}

static void *member(void *argument)
{
	uint32_t rank = (uint32_t)(uintptr_t)argument, turns = 0;

	while (fake_world.member[rank].group.posted && !fake_world.member[rank].group.failed)
		if (!fake_turn(rank) || ++turns % (rank + 1) == 0)
			sched_yield();
	return NULL;
}

/* Members as threads, so that the thread sanitizer sees the orders. */
static void threads(uint32_t run)
{
	pthread_t thread[MEMBERS];
	uint32_t i, size = 2 + run % 3, kind = run % 4;

	open_copying(size, NODE_ROUTE_TARGET);
	for (i = 0; i < size; i++)
		if (run & 4u << i % 3)
			refuse(i);
	fill();
	fake_world.flags = DAT_COMPLETION_SUPPRESS_FLAG;
	for (i = 0; i < size; i++)
		post(i, kinds[kind], 1);
	for (i = 0; i < size; i++)
		CHECK(!pthread_create(&thread[i], NULL, member, (void *)(uintptr_t)i));
	for (i = 0; i < size; i++)
		CHECK(!pthread_join(thread[i], NULL));
	for (i = 0; i < size; i++) {
		CHECK(!fake_world.member[i].group.failed);
		check(i, kinds[kind], 1);
	}
	fake_world.flags = 0;
	fake_group_close();
}

void test_group_way(void)
{
	uint32_t size, i;

	for (size = 2; size <= MEMBERS; size++) {
		all_kinds(size, 0);
		all_kinds(size, 1);
		all_kinds(size, size);
	}
	one_copy();
	not_over();
	in_place();
	too_long();
	decides_nothing();
	ends();
	bad_elements();
	chosen();
	timed();
	for (i = 0; i < HOSTILE_RUNS; i++)
		hostile_run(i);
	for (i = 0; i < THREADS_RUNS; i++)
		threads(i);
}
