/* test_group_path.c - which path long data of a group on one node goes, and which member decides
 * it. */
#define _GNU_SOURCE
#include "cpu/cpu.h"
#include "ctest/dat/fake_paths.h"

#include <string.h>

enum { TRANSFERS = 400, WARM = 6, TRIAL = 3 };

static node_route_class *class_of_broadcasts(uint32_t rank)
{
	return fake_world.member[rank]
	        .group.path.classes[FAKE_BROADCAST - DAT_IB_COLLECTIVE_SCATTER_STATUS];
}

/* The member that would decide has short data and decides nothing; others, whose data are long, do
 * not wait. */
static void decides_nothing(void)
{
	uint32_t i, first;

	for (first = 0; first < 2; first++) {
		fake_open_copying(2, NODE_ROUTE_TARGET);
		fake_fill();
		for (i = 0; i < 2; i++)
			if ((i ^ first) == 0)
				fake_gather(0, 0, fake_in[0], fake_out[0], 8);
			else
				fake_gather(1, 0, fake_in[1], NULL, FAKE_PART);
		fake_turns();
		CHECK(fake_status(0, FAKE_GATHER) != DAT_OP_SUCCESS);
		CHECK(fake_status(1, FAKE_GATHER) == DAT_OP_SUCCESS);
		CHECK(fake_out[0][1] == fake_in[1][0] &&
		      ((unsigned char *)fake_out[0])[16] == 0x77);
		fake_group_close();
	}
}

/* A decision for one operation does not hold for the next one. */
static void changes(void)
{
	uint32_t run, i;

	fake_open_copying(2, NODE_ROUTE_TARGET);
	for (run = 0; run < 4; run++) {
		fake_set_route(run % 2 ? NODE_ROUTE_PIPELINE : NODE_ROUTE_TARGET);
		fake_fill();
		fake_post(1, FAKE_ALLREDUCE, 0);
		fake_turn(1);
		fake_post(0, FAKE_ALLREDUCE, 0);
		fake_turns();
		for (i = 0; i < 2; i++) {
			CHECK(fake_status(i, FAKE_ALLREDUCE) == DAT_OP_SUCCESS);
			fake_check(i, FAKE_ALLREDUCE, 0);
			CHECK(fake_world.member[i].group.path.current ==
			      (run % 2 ? DAT_PATH_STAGING : DAT_PATH_COPY));
		}
	}
	fake_group_close();
}

/* Of the paths the fastest is found. */
static void chosen(uint32_t fast, uint32_t route)
{
	node_route_class *class;
	uint32_t i, k, copies = 0;

	fake_open_copying(2, NODE_ROUTES);
	fake_fill();
	/* a disturbance delays the decision */
	for (k = 0; k < 20 * TRANSFERS && copies <= TRANSFERS / 2; k++) {
		dat_group *root = &fake_world.member[1].group;

		fake_post(1, FAKE_BROADCAST, 1);
		fake_post(0, FAKE_BROADCAST, 1);
		while (!fake_events(0) || !fake_events(1)) {
			if (root->path.current != fast) /* the slow paths */
				for (i = 0; i < 2000; i++)
					cshim_pause();
			fake_turn(0);
			fake_turn(1);
		}
		copies += root->path.current == fast;
		CHECK(fake_status(0, FAKE_BROADCAST) == DAT_OP_SUCCESS &&
		      fake_status(1, FAKE_BROADCAST) == DAT_OP_SUCCESS);
	}
	class = class_of_broadcasts(1);
	CHECK(class->best == route && copies > TRANSFERS / 2);
	CHECK(fake_world.member[1].group.path.best == route);
	fake_group_close();
}

/* A path that is forced is taken; short data ask for none. */
static void forced(void)
{
	fake_open_copying(2, NODE_ROUTE_PIPELINE);
	fake_post(1, FAKE_BROADCAST, 1);
	fake_post(0, FAKE_BROADCAST, 1);
	fake_turns();
	CHECK(fake_world.member[1].group.path.current == DAT_PATH_STAGING && fake_events(1) == 1);
	fake_group_close();

	fake_open_copying(2, NODE_ROUTE_TARGET);
	fake_broadcast(1, 1, fake_out[1], DAT_GROUP_COPY_MIN - 8);
	fake_broadcast(0, 1, fake_out[0], DAT_GROUP_COPY_MIN - 8);
	fake_turns();
	CHECK(fake_world.member[1].group.path.current == DAT_PATH_STAGING && fake_events(1) == 1);
	fake_group_close();
}

/* An operation that is timed begins when all are done with the one before. */
static void timed(void)
{
	dat_group *root;
	uint32_t k;

	fake_open_copying(2, NODE_ROUTES);
	root = &fake_world.member[1].group;
	for (k = 0; k < 4; k++) { /* the first ones are not timed */
		fake_post(1, FAKE_BROADCAST, 1);
		fake_post(0, FAKE_BROADCAST, 1);
		fake_turns();
		fake_status(0, FAKE_BROADCAST);
		fake_status(1, FAKE_BROADCAST);
	}
	fake_barrier(1);
	fake_broadcast(1, 1, fake_out[1], FAKE_CHUNK);
	fake_post(1, FAKE_BROADCAST, 1);
	fake_barrier(0);
	fake_turn(1);
	fake_turn(1);
	CHECK(root->path.timing == DAT_TIMING_WAITS);
	fake_broadcast(0, 1, fake_out[0], FAKE_CHUNK);
	fake_turn(1);
	CHECK(root->path.timing == DAT_TIMING_RUNS && fake_events(1) == 2);
	fake_group_close();
}

/* A path that was never tried is tried as soon as the time of the other is known. */
static void first_trial(void)
{
	uint32_t k;

	fake_open_copying(2, NODE_ROUTES);
	for (k = 0; k < WARM + TRIAL; k++) {
		fake_post(1, FAKE_BROADCAST, 1);
		fake_post(0, FAKE_BROADCAST, 1);
		fake_turns();
		CHECK(fake_world.member[1].group.path.current ==
		      (k < WARM ? DAT_PATH_STAGING : DAT_PATH_PUSH));
		CHECK(fake_status(0, FAKE_BROADCAST) == DAT_OP_SUCCESS);
		CHECK(fake_status(1, FAKE_BROADCAST) == DAT_OP_SUCCESS);
	}
	CHECK(class_of_broadcasts(1)->tried >> NODE_ROUTE_ORIGIN & 1);
	CHECK(class_of_broadcasts(1)->running != 1); /* that trial is over */
	fake_group_close();
}

/* How many of n allreduces rank 1 begins without new word from rank 0. between: another of another
 * length after each. */
static uint32_t known_at_once(uint32_t n, int between)
{
	const dat_group *first = &fake_world.member[0].group;
	const dat_group *second = &fake_world.member[1].group;
	uint32_t k, i, known = 0;

	for (k = 0; k < n; k++) {
		fake_fill();
		fake_post(1, FAKE_ALLREDUCE, 0);
		fake_turn(1);
		known += second->path.current != DAT_PATH_OPEN;
		fake_post(0, FAKE_ALLREDUCE, 0);
		fake_turns();
		for (i = 0; i < 2; i++) {
			CHECK(fake_status(i, FAKE_ALLREDUCE) == DAT_OP_SUCCESS);
			fake_check(i, FAKE_ALLREDUCE, 0);
		}
		CHECK(first->path.current == second->path.current &&
		      first->path.holds == second->path.holds);
		for (i = 0; between && i < 2; i++)
			fake_sum(i, FAKE_ALLREDUCE, 0, fake_in[i], fake_out[i], FAKE_PART - 8);
		fake_turns();
		for (i = 0; between && i < 2; i++)
			CHECK(fake_status(i, FAKE_ALLREDUCE) == DAT_OP_SUCCESS);
	}
	return known;
}

/* A decision holds for the following operations with the same arguments (same_args), if nothing is
 * tried or timed, and no further. */
static void holds(void)
{
	uint32_t known;

	fake_open_copying(2, NODE_ROUTES);
	CHECK(known_at_once(WARM, 0) == 0);
	known_at_once(TRANSFERS, 0);
	known = known_at_once(TRANSFERS, 0);
	CHECK(known > TRANSFERS / 2 && known < TRANSFERS);
	known_at_once(1, 1);
	CHECK(known_at_once(TRANSFERS, 1) == 0);
	fake_group_close();
}

static void counted(void)
{
	CHECK(dat_group_path_time(&(dat_group_op){.kind = FAKE_BROADCAST}, DAT_PATH_COPY, 1000) ==
	      1250);
	CHECK(dat_group_path_time(&(dat_group_op){.kind = FAKE_GATHER}, DAT_PATH_PUSH, 1000) == 1250);
	CHECK(dat_group_path_time(&(dat_group_op){.kind = FAKE_BROADCAST}, DAT_PATH_STAGING, 1000) ==
	      1000);
	CHECK(dat_group_path_time(&(dat_group_op){.kind = FAKE_ALLREDUCE}, DAT_PATH_COPY, 1000) ==
	      1000);
}

void test_group_path(void)
{
	counted();
	decides_nothing();
	changes();
	chosen(DAT_PATH_COPY, NODE_ROUTE_TARGET);
	chosen(DAT_PATH_PUSH, NODE_ROUTE_ORIGIN);
	forced();
	timed();
	holds();
	first_trial();
}
