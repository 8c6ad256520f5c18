/*
 * test_fence.c - what a fence of the lane covers: all that was issued before it began, and nothing
 * that came later; and when it is core's. One step after the other, and at last threads.
 */
#define _GNU_SOURCE
#include <string.h>

#include "node/arm.h"
#include "node/guard.h"
#include "lane/lane_shared.h"
#include "ctest/fake_lane.h"
#include "lane/lane_send.h"

enum { BYTES = 64, ROUNDS = 20000 };

static lapi_handle_t handles[2];
static unsigned char source[BYTES], sink[BYTES], copy[BYTES];
static lapi_cntr_t got;
static cshim_fence fence;

static cshim_lane *lane_of(int task)
{
	return (cshim_lane *)(uintptr_t)fake_context(handles[task])->lane;
}

static void start(void)
{
	fake_lane_open(handles);
	memset(source, 7, sizeof(source));
	memset(sink, 0, sizeof(sink));
	CHECK(LAPI_Setcntr(handles[0], &got, 0) == LAPI_SUCCESS);
}

static void stop(void)
{
	fake_lane_close(handles);
}

static void probe(int task)
{
	CHECK(LAPI_Probe(handles[task]) == LAPI_SUCCESS);
}

static void put(void)
{
	CHECK(LAPI_Put(handles[0], 1, 8, sink, source, NULL, NULL, NULL) == LAPI_SUCCESS);
}

static void get(void)
{
	CHECK(LAPI_Get(handles[0], 1, 8, source, copy, NULL, &got) == LAPI_SUCCESS);
}

static void begin(void)
{
	cshim_context *context = fake_context(handles[0]);

	cshim_lock(&context->progress);
	CHECK(cshim_lane_fenced(context) == CSHIM_FENCE_WAITS);
	cshim_fence_begin(context, &fence);
	cshim_unlock(&context->progress);
}

static int look(void)
{
	cshim_context *context = fake_context(handles[0]);
	int how;

	cshim_lock(&context->progress);
	how = cshim_fence_look(context, &fence);
	cshim_unlock(&context->progress);
	return how;
}

/* As where transport/shm keeps the message in a slot because its handler has refused it. */
static void hold_slot(uint64_t index)
{
	node_ring_control *control = node_control(fake_lane_peer(handles[0])->out_control);

	__atomic_store_n(&control->held, index + 1, __ATOMIC_SEQ_CST);
}

static void release_slot(void)
{
	hold_slot((uint64_t)-1);
}

/* A put is covered if it was issued before the fence began, and only then. */
static void covers_what_came_before(void)
{
	uint64_t later;

	start();
	put();
	begin();
	CHECK(look() == CSHIM_FENCE_WAITS);
	later = fake_lane_peer(handles[0])->sender.tail;
	put();
	probe(1);
	hold_slot(later - 1);
	CHECK(look() == CSHIM_FENCE_WAITS);
	hold_slot(later);
	CHECK(look() == CSHIM_FENCE_OVER);
	/* The next fence covers the later one. */
	begin();
	CHECK(look() == CSHIM_FENCE_WAITS);
	release_slot();
	CHECK(look() == CSHIM_FENCE_OVER);
	CHECK(cshim_lane_fenced(fake_context(handles[0])) == CSHIM_FENCE_OVER);
	stop();
}

/* So is an operation that waits for its answer, whatever place it has. */
static void covers_earlier_operations(void)
{
	start();
	get();
	get();
	begin();
	probe(1);
	CHECK(look() == CSHIM_FENCE_WAITS);
	probe(0);
	CHECK(look() == CSHIM_FENCE_OVER);
	put();
	begin();
	get();
	probe(1);
	CHECK(cshim_link_of(lane_of(0))->ops == 1 && look() == CSHIM_FENCE_OVER);
	CHECK(cshim_lane_fenced(fake_context(handles[0])) == CSHIM_FENCE_WAITS);
	probe(0);
	stop();
}

/* A put that the lane has begun anew is covered, though its messages are later than the fence. */
static void covers_what_goes_again(void)
{
	uint64_t again;

	start();
	put();
	begin();
	again = fake_lane_peer(handles[0])->sender.tail;
	put();
	lane_of(0)->redone++;
	probe(1);
	hold_slot(again);
	CHECK(look() == CSHIM_FENCE_WAITS);
	release_slot();
	CHECK(look() == CSHIM_FENCE_OVER);
	stop();
}

/* Core is asked as soon as it has something outstanding, holds messages, or a task is gone. */
static void asks_core(void)
{
	node_peer *peer;

	start();
	peer = fake_lane_peer(handles[0]);
	put();
	begin();
	lane_of(0)->go_busy = 1;
	CHECK(look() == CSHIM_FENCE_CORE);
	CHECK(cshim_lane_fenced(fake_context(handles[0])) == CSHIM_FENCE_CORE);
	lane_of(0)->go_busy = 0;
	lane_of(0)->off = CSHIM_OFF_LISTS;
	CHECK(look() == CSHIM_FENCE_CORE);
	lane_of(0)->off = 0;
	peer->closed = NODE_CLOSED_OWNER;
	CHECK(look() == CSHIM_FENCE_CORE);
	peer->closed = 0;
	CHECK(look() == CSHIM_FENCE_WAITS);
	node_leave(fake_node_link(1));
	CHECK(look() == CSHIM_FENCE_CORE);
	stop();
}

static int over; /* atomic */

static void *serve(void *unused)
{
	while (!__atomic_load_n(&over, __ATOMIC_ACQUIRE))
		probe(1);
	return unused;
}

/* The data that a fence covers is in place when it returns. The target's thread is another one: the
 * fence orders its stores before this thread's loads. The fake core waits for nothing, so a fence
 * for which it was asked, as the target's thread did not run, shows nothing. */
static void data_is_in_place(void)
{
	pthread_t server;
	uint32_t asked;
	int i;

	start();
	__atomic_store_n(&over, 0, __ATOMIC_RELEASE);
	server = fake_thread(serve, NULL);
	for (i = 1; i <= ROUNDS; i++) {
		memcpy(source, &i, sizeof(i));
		put();
		if (i % 3 == 0)
			get();
		asked = __atomic_load_n(&fake_lane_counts.fences, __ATOMIC_SEQ_CST);
		CHECK(LAPI_Fence(handles[0]) == LAPI_SUCCESS);
		if (__atomic_load_n(&fake_lane_counts.fences, __ATOMIC_SEQ_CST) != asked) {
			while (cshim_lane_fenced(fake_context(handles[0])) != CSHIM_FENCE_OVER)
				probe(0);
			continue;
		}
		CHECK(memcmp(sink, &i, sizeof(i)) == 0);
		CHECK(cshim_link_of(lane_of(0))->ops == 0);
	}
	__atomic_store_n(&over, 1, __ATOMIC_RELEASE);
	CHECK(pthread_join(server, NULL) == 0);
	stop();
}

void test_fence(void)
{
	node_guard_install();
	covers_what_came_before();
	covers_earlier_operations();
	covers_what_goes_again();
	asks_core();
	data_is_in_place();
}
