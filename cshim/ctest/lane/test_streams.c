/*
 * test_streams.c - the fast lane times stretches of the windows that a program sends
 * (lane_routes.c): with both ends in one process, a thread each. Which route they find is not
 * asked: that is the machine's.
 */
#define _GNU_SOURCE
#include <string.h>

#include "ctest/fake_lane.h"
#include "lane/lane_shared.h"

/* A window fits the ring and its chunks, so that nothing is left to core: there is none here. A
 * disturbance cuts stretches, and then there are none for a while: hence many windows. */
enum { WINDOW = 40, BYTES = 4 << 10, WINDOWS_MAX = 200000 };

static lapi_handle_t handles[2];
static unsigned char here[BYTES], there[BYTES];
static int over; /* atomic */

static cshim_lane *lane(void)
{
	return (cshim_lane *)(uintptr_t)fake_context(handles[0])->lane;
}

static node_routes *routes(void)
{
	return &cshim_link_of(lane())->routes;
}

/* Task 1 polls. */
static void *serve(void *argument)
{
	(void)argument;
	while (!__atomic_load_n(&over, __ATOMIC_RELAXED))
		CHECK(LAPI_Probe(handles[1]) == LAPI_SUCCESS);
	return NULL;
}

static void start(void)
{
	node_peer *peer;

	fake_lane_open(handles);
	/* Where one copy is the fastest, a put is over at once, and there is no stream. */
	peer = cshim_lane_peer(fake_context(handles[0]), lane(), 1);
	CHECK(peer != NULL);
	peer->direct = 0;
}

static void stop(void)
{
	fake_lane_close(handles);
}

/* One window; its data is whole. */
static void window(int direction, unsigned char mark)
{
	unsigned char *to = direction == NODE_ROUTE_PUT ? there : here;
	unsigned char *from = direction == NODE_ROUTE_PUT ? here : there;
	lapi_cntr_t done;
	int i, left;

	memset(from, mark, BYTES);
	to[0] = to[BYTES - 1] = 0;
	CHECK(LAPI_Setcntr(handles[0], &done, 0) == LAPI_SUCCESS);
	for (i = 0; i < WINDOW; i++)
		CHECK((direction == NODE_ROUTE_PUT
		               ? LAPI_Put(handles[0], 1, BYTES, there, here, NULL, NULL, &done)
		               : LAPI_Get(handles[0], 1, BYTES, there, here, NULL, &done)) ==
		      LAPI_SUCCESS);
	CHECK(LAPI_Waitcntr(handles[0], &done, WINDOW, &left) == LAPI_SUCCESS && left == 0);
	CHECK(to[0] == mark && to[BYTES - 1] == mark);
}

/* Windows are timed, and more than one route is; each stretch that has begun comes to an end. */
static void windows(int direction)
{
	const node_route_class *class = &routes()->stream[direction][node_route_class_of(BYTES)];
	uint32_t i, route, known = 0;

	for (i = 0; i < WINDOWS_MAX && known < 2; i++) {
		window(direction, (unsigned char)(i % 200 + 1));
		for (route = known = 0; route < NODE_ROUTES; route++)
			known += node_route_time(class, route) > 0;
	}
	CHECK(known >= 2 && class->in_use > 0);
	CHECK(!routes()->stretch.ended);
}

void test_streams(void)
{
	pthread_t server;

	start();
	over = 0;
	server = fake_thread(serve, NULL);
	windows(NODE_ROUTE_PUT);
	windows(NODE_ROUTE_GET);
	__atomic_store_n(&over, 1, __ATOMIC_RELAXED);
	CHECK(pthread_join(server, NULL) == 0);
	stop();
}
