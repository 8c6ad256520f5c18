/* test_group_call.c - the arguments of collective calls, read and judged; the queue that they are
 * put into; the group's clock; and the engine that they go to. */
#define _GNU_SOURCE
#include "ctest/dat/fake_group.h"

#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
	SIZE = 3,
	RANK = 1,
	SUM = DAT_IB_COLLECTIVE_REDUCE_OP_SUM,
	DOUBLE = DAT_IB_COLLECTIVE_TYPE_DOUBLE,
	ANY_KIND = DAT_IB_COLLECTIVE_BARRIER_STATUS
};

static unsigned char b[64], c[64];
static int32_t eights[SIZE] = {8, 8, 8}, negative[SIZE] = {8, 8, -8}, places[SIZE] = {0, 16, 32};
static int32_t nines[SIZE] = {8, 8, 9};
static void *buffers[SIZE] = {b, b + 8, b + 16}, *without[SIZE] = {b, b + 8, NULL};

static uint64_t a[DAT_COLL_ARGUMENTS];
static dat_group_op op;
static dat_span lists[2 * SIZE];

/* Sets the call up that arguments are then added to. */
static void call(int kind, int set, const void *send, int32_t n, const void *recv, int32_t m)
{
	memset(a, 0, sizeof(a));
	a[DAT_COLL_KIND] = (uint64_t)kind;
	a[DAT_COLL_SET] = (uint64_t)set;
	a[DAT_COLL_SEND] = (uintptr_t)send;
	a[DAT_COLL_SEND_SIZE] = (uint32_t)n;
	a[DAT_COLL_RECV] = (uintptr_t)recv;
	a[DAT_COLL_RECV_SIZE] = (uint32_t)m;
	a[DAT_COLL_ROOT] = RANK;
	a[DAT_COLL_OPERATION] = SUM;
	a[DAT_COLL_TYPE] = DOUBLE;
}

static void listed(int receive, const int32_t *sizes, const int32_t *at)
{
	a[receive ? DAT_COLL_RECV_SIZES : DAT_COLL_SEND_SIZES] = (uintptr_t)sizes;
	a[receive ? DAT_COLL_RECV_PLACES : DAT_COLL_SEND_PLACES] = (uintptr_t)at;
}

static uint32_t long_double; /* the values that the members have agreed on */

static int legal(void)
{
	dat_group group = {.config = {.size = SIZE, .rank = RANK}, .long_double = long_double};

	return dat_group_read_call(&group, a, &op, lists);
}

#define LEGAL(kind, set, ...) (call(DAT_IB_COLLECTIVE_##kind##_STATUS, set, __VA_ARGS__), legal())
#define RANKS DAT_COLL_OF_RANK
#define WHOLE DAT_COLL_WHOLE

/* Legal calls, and the operations that they become. */
static void taken(void)
{
	CHECK(LEGAL(SCATTER, WHOLE, b, 24, c, 8) && op.send.n == 8 && op.send_stride == 8);
	CHECK(LEGAL(SCATTER, RANKS, b, 8, NULL, 8) && op.send.n == 8); /* in place */
	CHECK(LEGAL(GATHER, WHOLE, b, 8, c, 24) && op.recv.n == 8 && op.recv_stride == 8);
	CHECK(LEGAL(GATHER, RANKS, b, 8, c, 16) && op.recv.n == 16);
	CHECK(LEGAL(ALLGATHER, WHOLE, NULL, 0, c, 24) && op.recv.n == 8 && op.recv_stride == 8);
	CHECK(LEGAL(ALLGATHER, RANKS, b, 8, c, 16) && op.recv.n == 8 && op.recv_stride == 16);
	CHECK(op.check >> 32 == 8);
	CHECK(LEGAL(ALLTOALL, WHOLE, b, 24, c, 30) && op.send.n == 8 && op.recv.n == 8);
	CHECK(LEGAL(REDUCE, RANKS, NULL, 0, b, 24) && op.n == 24 && op.check >> 32 == 24);
	CHECK(LEGAL(BROADCAST, RANKS, b, 5, NULL, 0) && op.check >> 32 == 5);
	CHECK(LEGAL(BARRIER, RANKS, NULL, 0, NULL, 0));
	call(DAT_IB_COLLECTIVE_ALLGATHERV_STATUS, RANKS, b, 8, c, 0);
	listed(1, eights, places);
	CHECK(legal() && lists[SIZE + 2].addr == (uintptr_t)c + 32 && op.check >> 32 == 24);
	call(DAT_IB_COLLECTIVE_SCATTERV_STATUS, WHOLE, buffers, 0, c, 8);
	listed(0, eights, NULL);
	CHECK(legal() && lists[1].addr == (uintptr_t)b + 8 && lists[1].n == 8);
	call(DAT_IB_COLLECTIVE_ALLTOALLV_STATUS, RANKS, NULL, 0, c, 0); /* in place */
	listed(1, eights, places);
	CHECK(legal() && op.flags == DAT_GROUP_RECV_LIST);
	call(DAT_IB_COLLECTIVE_REDUCE_SCATTER_STATUS, RANKS, NULL, 0, c, 0);
	listed(1, eights, NULL);
	CHECK(legal() && op.n == 24 && op.recv.n == 8);
}

static void refused(void)
{
	call(DAT_IB_COLLECTIVE_BROADCAST_STATUS, RANKS, b, 8, NULL, 0);
	a[DAT_COLL_ROOT] = SIZE;
	CHECK(!legal());
	a[DAT_COLL_ROOT] = (uint32_t)-1;
	CHECK(!legal());
	a[DAT_COLL_ROOT] = 0;
	a[DAT_COLL_FLAGS] = 0x40;
	CHECK(!legal());
	CHECK(!LEGAL(BROADCAST, RANKS, NULL, 1, NULL, 0) && !LEGAL(BROADCAST, RANKS, b, -1, b, 0));
	CHECK(!LEGAL(SCATTER, WHOLE, b, 25, c, 9) && !LEGAL(SCATTER, RANKS, NULL, 8, b, 24));
	CHECK(!LEGAL(SCATTER, RANKS, b, 24, b, 8) && !LEGAL(SCATTER, RANKS, b, 8, c, -8));
	CHECK(!LEGAL(GATHER, RANKS, b, 24, NULL, 24) && !LEGAL(GATHER, RANKS, b, 24, c, 8));
	CHECK(!LEGAL(GATHER, WHOLE, b, 8, c, 23));
	CHECK(!LEGAL(ALLGATHER, RANKS, b, 16, c, 8) && !LEGAL(ALLGATHER, WHOLE, NULL, 0, c, 25));
	CHECK(!LEGAL(ALLTOALL, RANKS, b, 8, NULL, 8) && !LEGAL(ALLTOALL, WHOLE, b, 24, c, 23));
	CHECK(!LEGAL(REDUCE, RANKS, b, 12, c, 24) && !LEGAL(SCAN, RANKS, b, 24, c, 16));
	CHECK(!LEGAL(ALLREDUCE, RANKS, b, 24, NULL, 24) &&
	      !LEGAL(ALLREDUCE, RANKS, NULL, 0, NULL, 8));
	call(DAT_IB_COLLECTIVE_REDUCE_STATUS, RANKS, NULL, 8, NULL, 0);
	a[DAT_COLL_ROOT] = 0; /* this one has no result, so it cannot be in place */
	CHECK(!legal());
	call(DAT_IB_COLLECTIVE_ALLREDUCE_STATUS, RANKS, b, 8, c, 8);
	a[DAT_COLL_OPERATION] = 12;
	CHECK(!legal());
	a[DAT_COLL_OPERATION] = SUM;
	a[DAT_COLL_TYPE] = (uint32_t)-1;
	CHECK(!legal());
}

/* long double is reduced where all members have one format of it. */
static void long_doubles(void)
{
	call(DAT_IB_COLLECTIVE_ALLREDUCE_STATUS, RANKS, b, 16, c, 16);
	a[DAT_COLL_TYPE] = DAT_IB_COLLECTIVE_TYPE_LONG_DOUBLE;
	CHECK(!legal());
	long_double = 1;
	CHECK(legal() && op.n == 16);
	a[DAT_COLL_OPERATION] = DAT_IB_COLLECTIVE_REDUCE_OP_LAND;
	CHECK(!legal());
	long_double = 0;
}

/* Lists that are missing, wrong, or not to be read: an argument, and no fault. */
static void lists_refused(void)
{
	char *page = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int32_t *edge = (int32_t *)(void *)(page + 4096) - 2; /* the third is not there */

	CHECK(page != MAP_FAILED && !munmap(page + 4096, 4096));
	edge[0] = edge[1] = 8;
	call(DAT_IB_COLLECTIVE_ALLTOALLV_STATUS, RANKS, b, 0, c, 0);
	listed(0, eights, places);
	CHECK(!legal());
	listed(1, eights, NULL);
	CHECK(!legal());
	listed(1, negative, places);
	CHECK(!legal());
	listed(1, edge, places);
	CHECK(!legal());
	listed(1, eights, edge);
	CHECK(!legal());
	listed(1, eights, places);
	CHECK(legal());
	call(DAT_IB_COLLECTIVE_ALLGATHERV_STATUS, RANKS, b, 4, c, 0);
	listed(1, eights, places);
	CHECK(!legal()); /* as all others expect 8 */
	call(DAT_IB_COLLECTIVE_SCATTERV_STATUS, WHOLE, without, 0, c, 8);
	listed(0, eights, NULL);
	CHECK(!legal());
	a[DAT_COLL_SEND] = (uintptr_t)edge;
	CHECK(!legal());
	a[DAT_COLL_ROOT] = 0; /* the root's list is nothing to the others */
	CHECK(legal());
	call(DAT_IB_COLLECTIVE_REDUCE_SCATTER_STATUS, RANKS, b, 24, c, 0);
	CHECK(!legal());
	listed(1, edge, NULL);
	CHECK(!legal());
	listed(1, nines, NULL);
	CHECK(!legal());
	listed(1, eights, NULL);
	CHECK(legal());
	a[DAT_COLL_SEND_SIZE] = 16;
	CHECK(!legal());
	munmap(page, 4096);
}

/* A group that core makes takes operations once its engine is settled, and more than there was room
 * for, in order. */
static void queued(void)
{
	enum { MANY = 300 };
	uint64_t base = 0, k;
	dat_group_config config;
	dat_group *group;
	uint64_t post[DAT_COLL_ARGUMENTS] = {[DAT_COLL_KIND] = ANY_KIND};

	fake_group_open(2, base, 0);
	config = fake_world.member[0].group.config;
	fake_world.member[0].group_slot->lane = 0;
	post[DAT_COLL_GROUP] = config.handle;
	CHECK(DAT_GET_TYPE(dat_collective_post(post)) == DAT_INVALID_HANDLE);
	CHECK((group = dat_group_open(&config)) != NULL);
	CHECK(DAT_GET_TYPE(dat_collective_post(post)) == DAT_INVALID_HANDLE);
	dat_group_settle(group, DAT_ENGINE_NODE, 0);
	CHECK(dat_groups == group);
	CHECK(dat_collective_post(post) == DAT_SUCCESS);
	fake_barrier(1);
	CHECK(dat_groups_turn() && fake_status(0, ANY_KIND) == DAT_OP_SUCCESS);
	for (k = 0; k < MANY; k++) {
		post[DAT_COLL_CONTEXT] = k;
		CHECK(dat_collective_post(post) == DAT_SUCCESS);
	}
	CHECK(group->queue.posted == MANY && fake_events(0) == 0);
	for (k = 0; k < group->queue.posted; k++)
		CHECK(dat_group_op_at(group, group->queue.head + (uint32_t)k)->context == k);
	fake_world.member[0].queue.size = 8; /* its end overflows the events */
	dat_group_close(group);
	CHECK(fake_events(0) == 8 && !dat_groups && !fake_world.member[0].group_slot->lane);
	CHECK(fake_world.slots[0].ended);
	CHECK(fake_status(0, ANY_KIND) != DAT_OP_SUCCESS);
	fake_group_close();
}

/* Of the plan's engine nothing is done here. */
static void left_to_core(void)
{
	uint64_t post[DAT_COLL_ARGUMENTS] = {[DAT_COLL_KIND] = ANY_KIND};
	dat_group_config config;
	dat_group *group;

	fake_group_open(2, 0, 0);
	config = fake_world.member[0].group.config;
	CHECK((group = dat_group_open(&config)) != NULL);
	dat_group_settle(group, DAT_ENGINE_PLAN, 0);
	post[DAT_COLL_GROUP] = config.handle;
	/* so says the core of these tests */
	CHECK(DAT_GET_TYPE(dat_collective_post(post)) == DAT_INSUFFICIENT_RESOURCES);
	CHECK(!group->queue.posted && !dat_groups);
	post[DAT_COLL_FLAGS] = 0x40;
	CHECK(DAT_GET_TYPE(dat_collective_post(post)) == DAT_INVALID_PARAMETER);
	dat_group_close(group);
	CHECK(!fake_world.slots[0].ended); /* the rank slots are none of its */
	fake_group_close();
}

static void set_clock(uint32_t rank, uint64_t value)
{
	uint64_t post[DAT_COLL_ARGUMENTS] = {[DAT_COLL_GROUP] =
	                                             fake_world.member[rank].group.config.handle,
	                                     [DAT_COLL_KIND] = DAT_IB_COLLECTIVE_CLOCK_SET_STATUS,
	                                     [DAT_COLL_CLOCK] = value};

	CHECK(dat_collective_post(post) == DAT_SUCCESS);
}

/* One clock for all members, which is set in the order of operations and never goes back. */
static void clocks(void)
{
	dat_group *first, *second;
	uint64_t reading;

	fake_group_open(2, 0, 0);
	first = &fake_world.member[0].group;
	second = &fake_world.member[1].group;
	reading = dat_group_clock(first);
	CHECK(reading < (uint64_t)1 << 40 && dat_group_clock(first) > reading);
	fake_barrier(0);
	set_clock(0, (uint64_t)1 << 62);
	CHECK(dat_group_clock(second) < (uint64_t)1 << 40); /* the barrier comes first */
	fake_barrier(1);
	fake_turn(0);
	CHECK(fake_status(0, ANY_KIND) == DAT_OP_SUCCESS);
	CHECK(fake_status(0, DAT_IB_COLLECTIVE_CLOCK_SET_STATUS) == DAT_OP_SUCCESS);
	CHECK(dat_group_clock(second) >= (uint64_t)1 << 62);
	set_clock(1, 5);
	CHECK(dat_group_clock(first) >= (uint64_t)1 << 62);
	fake_world.slots[0].clock = 1; /* a rank that would do harm */
	reading = dat_group_clock(first);
	CHECK(reading > (uint64_t)1 << 62 && dat_group_clock(first) > reading);
	first->lost = 1;
	set_clock(0, 5);
	CHECK(fake_status(0, DAT_IB_COLLECTIVE_CLOCK_SET_STATUS) != DAT_OP_SUCCESS);
	fake_group_close();
}

/* An operation posted after a member's process is gone fails, in its turn. */
static void lost(void)
{
	fake_group_open(3, 0, 0);
	fake_barrier(0);
	dat_group_lose(&fake_world.member[0].group, 2);
	fake_world.slots[2].ended = 0; /* its descriptor may still be found */
	fake_barrier(0);
	fake_turn(0);
	CHECK(fake_events(0) == 0);
	fake_barrier(1);
	fake_barrier(2);
	fake_turn(0);
	CHECK(fake_status(0, ANY_KIND) == DAT_OP_SUCCESS);
	CHECK(fake_status(0, ANY_KIND) != DAT_OP_SUCCESS && fake_world.slots[0].ended);
	fake_barrier(0);
	CHECK(fake_status(0, ANY_KIND) != DAT_OP_SUCCESS);
	fake_group_close();
}

void test_group_call(void)
{
	node_guard_install();
	taken();
	refused();
	long_doubles();
	lists_refused();
	queued();
	left_to_core();
	clocks();
	lost();
}
