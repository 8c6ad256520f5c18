/*
 * test_group_push.c - long data of a group of two on one node that the sender writes straight to
 * the other's memory, all or the second half.
 */
#define _GNU_SOURCE
#include "ctest/dat/fake_paths.h"

#include <pthread.h>
#include <string.h>
#include <unistd.h>

enum { LONG = 3 << 17, THREADS_RUNS = 36, WARM = 6, TRIAL = 3 };

static unsigned char sent[2][LONG], got[2][2 * LONG];

/* Each kind, also where one cannot reach the other, or neither can. */
static void all_kinds(uint32_t refuses)
{
	uint32_t kind, i, run;

	fake_open_copying(2, NODE_ROUTE_HALVES);
	for (i = 0; i < 2; i++)
		if (refuses >> i & 1)
			fake_refuse(i);
	for (run = 0; run < 2 * FAKE_KINDS; run++) {
		kind = run % FAKE_KINDS;
		fake_fill();
		for (i = 0; i < 2; i++)
			fake_post(i ^ (run >= FAKE_KINDS), fake_kinds[kind], 1);
		fake_turns();
		for (i = 0; i < 2; i++) {
			CHECK(fake_status(i, (uint32_t)fake_kinds[kind]) == DAT_OP_SUCCESS);
			fake_check(i, fake_kinds[kind], 1);
		}
	}
	fake_group_close();
}

/* The bytes that each member has moved: with a root both ends, in whole pages, else the senders
 * alone. */
static void who_moves(void)
{
	uint32_t i, half = FAKE_PART / 2 / NODE_HALF_STEP * NODE_HALF_STEP;
	const node_link *link[2] = {&fake_world.member[0].link, &fake_world.member[1].link};

	fake_open_copying(2, NODE_ROUTE_ORIGIN);
	fake_fill();
	for (i = 0; i < 2; i++)
		fake_post(i, FAKE_BROADCAST, 1);
	fake_turns();
	CHECK(link[0]->data_received == half && link[1]->data_sent == FAKE_PART - half);
	CHECK(link[0]->data_sent + link[1]->data_received == 0);
	fake_group_close();

	fake_open_copying(2, NODE_ROUTE_ORIGIN);
	fake_fill();
	for (i = 0; i < 2; i++)
		fake_post(i, FAKE_ALLGATHER, 1);
	fake_turns();
	CHECK(link[0]->data_sent == FAKE_PART && link[1]->data_sent == FAKE_PART);
	CHECK(link[0]->data_received + link[1]->data_received == 0);
	fake_group_close();
}

/* Three members do not: one could have changed another's descriptor. */
static void not_of_three(void)
{
	uint32_t i;

	fake_open_copying(3, NODE_ROUTE_ORIGIN);
	fake_fill();
	for (i = 0; i < 3; i++)
		fake_post(i, FAKE_ALLGATHER, 1);
	fake_turns();
	for (i = 0; i < 3; i++) {
		CHECK(fake_world.member[i].link.data_sent == 0 &&
		      fake_world.member[i].link.data_received == 2 * FAKE_PART);
		fake_check(i, FAKE_ALLGATHER, 1);
	}
	fake_group_close();
}

/* A member whose alltoall is in place is not written to before it has sent. */
static void in_place(uint32_t who)
{
	uint32_t i, k;

	fake_open_copying(2, NODE_ROUTE_ORIGIN);
	fake_fill();
	memcpy(fake_out, fake_in, sizeof(fake_out));
	for (i = 0; i < 2; i++)
		fake_alltoall(i, who >> i & 1 ? NULL : fake_in[i], fake_out[i], FAKE_PART);
	fake_turn(1);
	fake_turns();
	for (i = 0; i < 2; i++) {
		CHECK(fake_status(i, FAKE_ALLTOALL) == DAT_OP_SUCCESS);
		for (k = 0; k < 2; k++)
			CHECK(!memcmp(fake_out[i] + k * FAKE_COUNT, fake_in[k] + i * FAKE_COUNT,
			              FAKE_PART));
	}
	fake_group_close();
}

/* No more is written than there is. */
static void too_short(void)
{
	const unsigned char *out = (unsigned char *)fake_out[0];

	fake_open_copying(2, NODE_ROUTE_ORIGIN);
	fake_fill();
	fake_gather(0, 0, fake_in[0], fake_out[0], FAKE_PART + 4096);
	fake_gather(1, 0, fake_in[1], NULL, FAKE_PART);
	fake_turns();
	CHECK(fake_status(0, FAKE_GATHER) == DAT_OP_SUCCESS);
	CHECK(!memcmp(out + FAKE_PART + 4096, fake_in[1], FAKE_PART));
	CHECK(out[2 * FAKE_PART + 4096] == 0x77);
	fake_group_close();
}

/* Opens a group of two, whose rank 1 has posted a broadcast; rank 0 has read the first half. */
static void half_way(uint32_t refuses)
{
	fake_open_copying(2, NODE_ROUTE_ORIGIN);
	if (refuses)
		fake_refuse(1);
	fake_fill();
	fake_post(1, FAKE_BROADCAST, 1);
	fake_post(0, FAKE_BROADCAST, 1);
	CHECK(fake_world.member[0].link.data_received == FAKE_PART / 2 / NODE_HALF_STEP * NODE_HALF_STEP);
	CHECK(!fake_world.member[0].group.failed && fake_events(0) == 0);
}

static void end_of(uint32_t rank)
{
	__atomic_store_n(&fake_world.slots[rank].ended, 1, __ATOMIC_RELEASE);
}

/* Memory of a member that has ended is its program's again. */
static void ended(void)
{
	const unsigned char *out = (unsigned char *)fake_out[0];
	const dat_rank_slot *root;

	half_way(0);
	root = &fake_world.slots[1];
	end_of(0);
	memset(fake_out[0], 0x77, FAKE_PART);
	fake_turn(1);
	fake_turn(1);
	CHECK(out[FAKE_PART - 1] == 0x77 && fake_world.member[1].link.data_sent == 0);
	CHECK(fake_world.member[1].group.failed && root->pushing > 0 && root->pushing % 2 == 0);
	fake_group_close();

	half_way(0); /* the member that is writing it ends */
	fake_world.slots[0].claim = (fake_world.member[0].group.path.first + 1) * 2 + 1;
	fake_turn(0);
	CHECK(!fake_world.member[0].group.failed && fake_events(0) == 0);
	end_of(1);
	fake_turn(0);
	CHECK(fake_world.member[0].group.failed);
	fake_group_close();

	half_way(0); /* and so may what is read of it be its program's */
	end_of(1);
	fake_turn(0);
	CHECK(fake_world.member[0].group.failed &&
	      fake_status(0, FAKE_BROADCAST) != DAT_OP_SUCCESS);
	fake_group_close();
}

static int written; /* the writer's copy is over (release) */

static void *writer(void *argument)
{
	dat_rank_slot *slot = &fake_world.slots[1];

	while (!__atomic_load_n(&fake_world.slots[0].ended, __ATOMIC_ACQUIRE))
		usleep(100);
	usleep(20000);
	__atomic_store_n(&written, 1, __ATOMIC_RELEASE);
	__atomic_store_n(&slot->pushing, 2, __ATOMIC_RELEASE);
	return NULL;
}

/* A failure is reported only when no other member writes the program's memory any more. */
static void awaited(void)
{
	pthread_t thread;

	fake_open_copying(2, NODE_ROUTE_ORIGIN);
	fake_post(0, FAKE_BROADCAST, 1);
	fake_world.slots[1].pushing = 1;
	written = 0;
	CHECK(!pthread_create(&thread, NULL, writer, NULL));
	dat_group_fail(&fake_world.member[0].group);
	fake_turn(0);
	CHECK(__atomic_load_n(&written, __ATOMIC_ACQUIRE));
	CHECK(fake_status(0, FAKE_BROADCAST) != DAT_OP_SUCCESS);
	CHECK(!pthread_join(thread, NULL));
	fake_group_close();
}

/* Rank 1 cannot write its half: rank 0 reads that half, as far as it was not written. */
static void partly(void)
{
	half_way(1);
	fake_turn(1);
	CHECK(fake_world.slots[1].upto < FAKE_PART);
	fake_turns();
	CHECK(fake_world.member[0].link.data_received == FAKE_PART);
	fake_check(0, FAKE_BROADCAST, 1);
	fake_group_close();
}

/* A member that computes since it has posted holds nobody up, and writes nothing when it comes. */
static void computes(void)
{
	half_way(0);
	fake_turn(0);
	CHECK(fake_status(0, FAKE_BROADCAST) == DAT_OP_SUCCESS);
	fake_check(0, FAKE_BROADCAST, 1);
	memset(fake_out[0], 0x77, FAKE_PART);
	fake_turns();
	CHECK(((unsigned char *)fake_out[0])[FAKE_PART - 1] == 0x77);
	CHECK(fake_status(1, FAKE_BROADCAST) == DAT_OP_SUCCESS);
	fake_group_close();
}

/* A claim of an earlier operation is none, one of a later one is not replaced. */
static void claims(void)
{
	half_way(0);
	fake_world.slots[0].claim = (fake_world.member[0].group.path.first + 2) * 2;
	fake_turn(1);
	CHECK(fake_world.member[1].link.data_sent == 0);
	CHECK(fake_world.slots[0].claim == (fake_world.member[0].group.path.first + 2) * 2);
	fake_group_close();
}

/* A member reads the data that the other does not push, whatever each thinks was decided. */
static void disagree(void)
{
	uint32_t run, i;

	fake_open_copying(2, NODE_ROUTE_TARGET);
	for (run = 0; run < 2; run++) {
		fake_world.member[0].group.path.held = DAT_PATH_PUSH;
		fake_world.member[0].group.path.holds = run;
		fake_fill();
		fake_post(0, FAKE_BROADCAST, 1);
		fake_post(1, FAKE_BROADCAST, 1);
		fake_turns();
		for (i = 0; i < 2; i++)
			CHECK(fake_status(i, FAKE_BROADCAST) == DAT_OP_SUCCESS);
		CHECK(fake_world.member[0].group.path.current == DAT_PATH_COPY + run);
		fake_check(0, FAKE_BROADCAST, 1);
	}
	fake_group_close();
}

/* A root's own buffer of a broadcast is for nobody to write. */
static void root_takes_nothing(void)
{
	fake_open_copying(2, NODE_ROUTE_ORIGIN);
	fake_fill();
	fake_post(1, FAKE_BROADCAST, 1);
	fake_turn(1);
	CHECK(fake_world.slots[1].desc[3].how == DAT_DESC_PLACE);
	fake_group_close();
}

static void post_long(void)
{
	uint32_t i, k;

	for (i = 0; i < 2; i++)
		for (k = 0; k < LONG; k++)
			sent[i][k] = (unsigned char)(k * 31 + k / 4096 + i);
	memset(got, 0, sizeof(got));
	for (i = 0; i < 2; i++)
		fake_allgather(i, sent[i], got[i], LONG);
}

static void check_long(void)
{
	uint32_t i;

	for (i = 0; i < 2; i++) {
		CHECK(fake_status(i, FAKE_ALLGATHER) == DAT_OP_SUCCESS);
		CHECK(!memcmp(got[i], sent[0], LONG) && !memcmp(got[i] + LONG, sent[1], LONG));
	}
}

static node_route_class *class_of_long(void)
{
	uint32_t class =
		node_route_class_of(LONG) - node_route_class_of((uint64_t)DAT_GROUP_COPY_MIN);

	return &fake_world.member[0].group.path.classes[FAKE_ALLGATHER -
	                                               DAT_IB_COLLECTIVE_SCATTER_STATUS][class];
}

/* A long part that stays may pass the caches: that is the first path that is tried. (Whether it
 * counts as tried depends on its time: a disturbed trial is repeated.) */
static void streams(void)
{
	const dat_group *group = &fake_world.member[0].group;
	uint32_t k;

	fake_open_copying(2, NODE_ROUTES);
	for (k = 0; k < WARM + TRIAL; k++) {
		post_long();
		fake_turns();
		CHECK(group->path.current == (k < WARM ? DAT_PATH_STAGING : DAT_PATH_STREAM));
		CHECK(fake_world.member[1].group.path.current == group->path.current);
		check_long();
	}
	CHECK(class_of_long()->running != 1); /* that trial is over */
	fake_group_close();
}

/* Members as threads, so that the thread sanitizer sees the orders. */
static void threads(uint32_t run)
{
	uint32_t i, kind = run % FAKE_KINDS;

	fake_open_copying(2, NODE_ROUTE_HALVES);
	for (i = 0; i < 2; i++)
		if (run / FAKE_KINDS >> i & 1)
			fake_refuse(i);
	fake_fill();
	fake_world.flags = DAT_COMPLETION_SUPPRESS_FLAG;
	for (i = 0; i < 2; i++)
		fake_post(i, fake_kinds[kind], 1);
	fake_threads();
	for (i = 0; i < 2; i++) {
		CHECK(!fake_world.member[i].group.failed);
		fake_check(i, fake_kinds[kind], 1);
	}
	fake_world.flags = 0;
	fake_group_close();
}

void test_group_push(void)
{
	uint32_t i;

	for (i = 0; i < 4; i++) {
		all_kinds(i);
		in_place(i);
	}
	who_moves();
	not_of_three();
	too_short();
	ended();
	awaited();
	partly();
	computes();
	claims();
	root_takes_nothing();
	disagree();
	streams();
	for (i = 0; i < THREADS_RUNS; i++)
		threads(i);
}
