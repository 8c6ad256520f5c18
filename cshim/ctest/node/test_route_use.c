/*
 * test_route_use.c - what the users of the chooser of routes ask it, and do with the answer: which
 * routes there are, how a route writes, waits that are timed.
 */
#include <string.h>

#include "node/arm.h"
#include "ctest/fake.h"
#include "ctest/fake_node.h"
#include "node/guard.h"
#include "node/timed.h"

static void begin(node_routes *routes)
{
	memset(routes, 0, sizeof(*routes));
	routes->forced = NODE_ROUTES;
}

/* How a route says that data is written, and how it is where none was chosen. */
static void hows(void)
{
	static node_link link;

	begin(&link.routes);
	link.chunk_units = 16;
	link.chunk_narrow = 8;
	CHECK(node_how(&link, NODE_ROUTES) == 0);
	link.routes.wide = 1;
	CHECK(node_how(&link, NODE_ROUTES) == NODE_HOW_WIDE);
	CHECK(node_how(&link, NODE_ROUTE_PIPELINE) == 0);
	CHECK(node_how(&link, NODE_ROUTE_STRING) == NODE_HOW_ALL);
	link.routes.wide = 0;
	link.routes.string = 1;
	CHECK(node_how(&link, NODE_ROUTE_WIDE) == NODE_HOW_WIDE);
	CHECK(node_how(&link, NODE_ROUTE_STREAMING) == NODE_HOW_STRING);
	node_chunks_limit(&link, NODE_ROUTES);
	CHECK(link.string && link.chunk_limit == 8);
	node_chunks_limit(&link, NODE_ROUTE_WIDE);
	CHECK(!link.string && link.chunk_limit == 16);
}

/* The kind of stores that a route asks for, and the kind where no route was chosen. */
static void streams_or_not(void)
{
	static node_link link;

	begin(&link.routes);
	CHECK(!node_streams(&link, NODE_ROUTES, NODE_STREAM_MIN));
	link.routes.streaming = 1;
	CHECK(node_streams(&link, NODE_ROUTES, NODE_STREAM_MIN));
	CHECK(!node_streams(&link, NODE_ROUTES, NODE_STREAM_MIN - 1));
	CHECK(!node_streams(&link, NODE_ROUTE_WIDE, NODE_STREAM_MIN));
	CHECK(!node_streams(&link, NODE_ROUTE_PIPELINE, NODE_STREAM_MIN));
	CHECK(node_streams(&link, NODE_ROUTE_STREAMING, 1));
}

/* Looks that find something new a few times, and then nothing, or an end. */
typedef struct looked {
	int looks, moves, until, end;
} looked;

static int look(void *object)
{
	looked *l = object;

	if (++l->looks == l->until)
		return l->end;
	return l->moves-- > 0 ? NODE_LOOK_MOVED : NODE_LOOK_NOTHING;
}

/* A wait that goes on has all its looks again, and says how it has ended. */
static void waits(void)
{
	enum { BYTES = 1 << 20 };
	static const node_peer peer;
	int looks = node_looks_for(BYTES);
	looked never = {0, 0, -1, 0}, moves = {0, 7, -1, 0};
	looked over = {0, 2, looks, NODE_LOOK_OVER}, stops = {0, 0, 3, NODE_LOOK_NOT};

	CHECK(looks > node_looks_for(0) && node_looks_for(UINT64_MAX) > looks);
	if (cshim_processors() < 2)
		return;
	CHECK(node_wait(&peer, look, &never, BYTES) == NODE_WAIT_LATE && never.looks == looks);
	CHECK(node_wait(&peer, look, &moves, BYTES) == NODE_WAIT_LATE && moves.looks == looks + 7);
	CHECK(node_wait(&peer, look, &over, BYTES) == NODE_WAIT_OVER && over.looks == looks);
	CHECK(node_wait(&peer, look, &stops, BYTES) == NODE_WAIT_NOT && stops.looks == 3);
}

/* Where tasks share processors a wait ends with the first look in vain, and has no time. */
static void shared_processors_wait_little(void)
{
	static const node_peer peer = {.crowded = 1};
	looked never = {0, 0, -1, 0}, moves = {0, 7, -1, 0}, over = {0, 3, 3, NODE_LOOK_OVER};

	CHECK(node_wait(&peer, look, &never, 1 << 20) == NODE_WAIT_NOT && never.looks == 1);
	CHECK(node_wait(&peer, look, &moves, 1 << 20) == NODE_WAIT_NOT && moves.looks == 8);
	CHECK(node_wait(&peer, look, &over, 1 << 20) == NODE_WAIT_OVER && over.looks == 3);
}

/* A wait that has reached its bound counts as a time, a wait that was not worth it does not. */
static void late_ones_count(void)
{
	static node_link link;
	node_route_class *class = &link.routes.class[NODE_ROUTE_PUT][node_route_class_of(4096)];

	begin(&link.routes);
	node_time(&link, NODE_ROUTE_PUT, 4096, NODE_ROUTE_TARGET, 1, NODE_WAIT_NOT);
	CHECK(node_route_time(class, NODE_ROUTE_TARGET) == 0);
	node_time(&link, NODE_ROUTE_PUT, 4096, NODE_ROUTE_TARGET, 1, NODE_WAIT_LATE);
	CHECK(node_route_time(class, NODE_ROUTE_TARGET) > 0);
	node_time(&link, NODE_ROUTE_PUT, 4096, NODE_ROUTE_ORIGIN, 1, NODE_WAIT_OVER);
	CHECK(node_route_time(class, NODE_ROUTE_ORIGIN) > 0);
}

/*
 * Where tasks share processors, or there is one, data goes by single copies, if there can be any
 * and nothing else is forced.
 */
static void shared_processors_copy_alone(void)
{
	static const int bells[2] = {-1, -1};
	node_link *link;
	node_peer *peer;

	fake_node_make(bells);
	link = fake_node_link(0);
	peer = fake_node_peer(0);
	CHECK(node_takes_part(link, peer, 1) == (cshim_processors() > 1));
	peer->crowded = 1;
	CHECK(!node_takes_part(link, peer, 1) && node_takes_part(link, peer, 0));
	link->routes.forced = NODE_ROUTE_PIPELINE;
	CHECK(node_takes_part(link, peer, 1));
	node_arm(fake_node_link(1)); /* it sleeps */
	peer->crowded = 0;
	CHECK(!node_takes_part(link, peer, 1) && !node_takes_part(link, peer, 0));
}

/* Which routes there are. */
static void routes_there_are(void)
{
	enum { TWO = 1 << NODE_ROUTE_TARGET | 1 << NODE_ROUTE_HALVES };
	enum { NARROW = 256, BYTES = 1 << 20 };
	const uint32_t string = node_has_string() ? 1u << NODE_ROUTE_STRING : 0;
	const uint32_t all = (((1u << NODE_ROUTES) - 1) & ~(1u << NODE_ROUTE_STRING)) | string;
	const uint32_t many = all & ~(1u << NODE_ROUTE_STREAMING);
	static node_link link;

	begin(&link.routes);
	link.chunk_units = link.chunk_narrow = NARROW;
	CHECK(node_routes_for(&link, BYTES, 0) == (1 << NODE_ROUTE_PIPELINE | string));
	link.chunk_units = 2 * NARROW;
	CHECK(node_routes_for(&link, BYTES, 0) ==
	      (1 << NODE_ROUTE_PIPELINE | 1 << NODE_ROUTE_WIDE | string));
	CHECK(node_routes_for(&link, BYTES, 1) == many);
	CHECK(node_routes_for(&link, NODE_TARGET_MIN - 1, 1) == (many & ~TWO));
	CHECK(node_routes_for(&link, NODE_STREAM_MIN - 1, 1) == many);
	CHECK(node_routes_for(&link, NODE_STREAM_MIN, 1) == all);
	CHECK(node_routes_for(&link, NODE_STREAM_MIN, 0) & 1 << NODE_ROUTE_STREAMING);
	link.routes.forced = NODE_ROUTE_HALVES;
	CHECK(node_routes_for(&link, NODE_TARGET_MIN - 1, 1) == all);
}

void test_route_use(void)
{
	streams_or_not();
	hows();
	waits();
	shared_processors_wait_little();
	late_ones_count();
	shared_processors_copy_alone();
	routes_there_are();
}
