/*
 * test_stretch.c - the chooser of routes where many transfers follow each other: stretches of them
 * are timed, seldom, and tell another best route than single ones. Against machines made of
 * numbers, with a clock that counts what these say.
 */
#include <string.h>

#include "ctest/fake.h"
#include "node/timed.h"

enum { ALL = (1 << NODE_ROUTES) - 1, STRETCH = 8, BYTES = 64 << 10 };

/* ns of a transfer of BYTES by each route, alone and in a stream. */
typedef struct machine {
	double alone[NODE_ROUTES], stream[NODE_ROUTES];
	double spread; /* a time is up to this share more or less */
} machine;

/* Alone the string instruction is the best, among others halves, or the wide pipeline. */
static const machine halved = {{5000, 4800, 4000, 5000, 6000, 9000, 4500},
                               {5000, 4700, 4600, 5000, 6000, 8000, 3600},
                               0.1},
		     widened = {{5000, 4800, 4000, 5000, 6000, 9000, 4500},
                                {5000, 3000, 13000, 5000, 6000, 8000, 4400},
                                0.1};

static uint64_t seed;
static double now;
static node_routes routes;
static node_route_class *const class = &routes.stream[NODE_ROUTE_PUT][0];

static double noisy(double ns, double spread)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return ns * (1 + spread * (2 * (double)(seed >> 40) / (double)(1 << 24) - 1));
}

static void begin(void)
{
	memset(&routes, 0, sizeof(routes));
	routes.forced = NODE_ROUTES;
	seed = 1;
	now = 1;
}

static node_route_class *stream_class(uint64_t n)
{
	return class + node_route_class_of(n);
}

static uint32_t ask(uint64_t n, int stream, uint32_t task, uint32_t alone)
{
	return node_route_choose(&routes, &(node_route_question){.direction = NODE_ROUTE_PUT,
	                                                         .stream = stream,
	                                                         .n = n,
	                                                         .chunk = n,
	                                                         .allowed = ALL,
	                                                         .alone = alone,
	                                                         .task = task});
}

/* Sums over transfers of streams: how many, by which routes; stretches that were timed; the time
 * lost by other routes than the one in use, and the time of all, ns. */
typedef struct sums {
	uint32_t by[NODE_ROUTES], begun, ended;
	double lost, all;
} sums;

/* One transfer, and what its owner does. */
static void transfer(const machine *m, int stream, uint32_t task, sums *s)
{
	uint32_t chosen = ask(BYTES, stream, task, 1 << NODE_ROUTE_STRING);
	uint32_t route = chosen & NODE_ROUTE_MASK;
	double ns = stream ? m->stream[route] : m->alone[route];

	if (chosen & NODE_ROUTE_BEGINS) {
		now += 2 * ns; /* transfers under way */
		node_stretch_begin(&routes, (uint64_t)now);
	}
	ns = noisy(ns, m->spread);
	now += ns;
	if (chosen & NODE_ROUTE_ENDS)
		node_stretch_end(&routes, (uint64_t)now);
	if (chosen & NODE_ROUTE_TIMED)
		node_route_timed(&routes, NODE_ROUTE_PUT, BYTES, route, (uint64_t)ns);
	if (!stream)
		return;
	s->by[route]++;
	s->begun += (chosen & NODE_ROUTE_BEGINS) != 0;
	s->ended += (chosen & NODE_ROUTE_ENDS) != 0;
	s->all += m->stream[route];
	if (stream_class(BYTES)->in_use && route != stream_class(BYTES)->best)
		s->lost += m->stream[route] - m->stream[stream_class(BYTES)->best];
}

/* count windows of length transfers each, to tasks in turn. */
static sums windows(const machine *m, int count, int length, uint32_t tasks)
{
	sums s = {{0}, 0, 0, 0, 0};
	int i;

	for (; count > 0; count--)
		for (i = 0; i < length; i++)
			transfer(m, i >= (int)tasks, (uint32_t)i % tasks, &s);
	return s;
}

static uint32_t of_all(const sums *s)
{
	uint32_t i, n = 0;

	for (i = 0; i < NODE_ROUTES; i++)
		n += s->by[i];
	return n;
}

/* In windows the best route for streams is in use soon, and trials cost little; the first of each
 * goes as it does alone. */
static void finds(const machine *m, uint32_t best, int length)
{
	sums s;

	begin();
	windows(m, 40, length, 1);
	CHECK(stream_class(BYTES)->best == best);
	s = windows(m, 2000, length, 1);
	CHECK(s.by[best] > of_all(&s) / 100 * 95);
	CHECK(s.lost < s.all / 50);
	CHECK(s.begun == s.ended && s.begun > 2000 / 64 && s.begun < 2000 / 12);
	CHECK((ask(BYTES, 0, 0, 0) & NODE_ROUTE_MASK) == NODE_ROUTE_STRING);
}

/* That takes no more than a few windows: first stretches follow each other. */
static void soon(void)
{
	begin();
	windows(&halved, 3, 64, 1);
	CHECK(stream_class(BYTES)->best == NODE_ROUTE_HALVES);
}

/* Earlier times are not trusted while streams have become too short to be timed. */
static void shortened(void)
{
	sums s;

	begin();
	windows(&halved, 40, 64, 1);
	windows(&halved, 1000, STRETCH, 1);
	s = windows(&halved, 100, STRETCH, 1);
	CHECK(s.by[NODE_ROUTE_HALVES] < of_all(&s) / 10);
}

/* It follows a machine that becomes another. */
static void follows(void)
{
	begin();
	windows(&halved, 5000, 16, 1);
	windows(&widened, 2000, 16, 1);
	CHECK(stream_class(BYTES)->best == NODE_ROUTE_WIDE);
	windows(&halved, 2000, 16, 1);
	CHECK(stream_class(BYTES)->best == NODE_ROUTE_HALVES);
}

/* A stream that never pauses is interrupted seldom, and learns all the same. */
static void endless(void)
{
	sums s;

	begin();
	s = windows(&halved, 1, 64000, 1);
	CHECK(s.begun >= 64000 / 512 / 40 && s.begun <= 64000 / 512 + 1);
	CHECK(stream_class(BYTES)->best == NODE_ROUTE_HALVES);
}

/* Streams too short for a stretch, or to several tasks in turn: few are begun, none is timed, and
 * the route is what single transfers say. That of which these say nothing is not taken. */
static void never_timed(int length, uint32_t tasks)
{
	sums s;

	begin();
	s = windows(&halved, 4000, length, tasks);
	CHECK(s.begun > 0 && s.begun < 200 && s.ended == 0);
	CHECK(stream_class(BYTES)->in_use == 0);
	s = windows(&halved, 100, length, tasks);
	CHECK(s.by[NODE_ROUTE_STRING] < of_all(&s) / 20);
}

/* Asks for the transfers of a window up to the first of a stretch; its route. */
static uint32_t up_to_stretch(void)
{
	uint32_t chosen = 0;
	int i;

	for (i = 0; i < 1000 && !(chosen & NODE_ROUTE_BEGINS); i++) {
		ask(BYTES, 0, 0, 0);
		chosen = ask(BYTES, 1, 0, 0);
	}
	CHECK(chosen & NODE_ROUTE_BEGINS && node_in_stretch(&routes));
	return chosen & NODE_ROUTE_MASK;
}

/* A pause, another length, task or route cuts a stretch. The stretch comes again with the next
 * stream; a cut stretch is not timed. */
static void cuts(void)
{
	uint32_t route, i;

	begin();
	windows(&halved, 3, 64, 1); /* the first trials are under way */
	stream_class(BYTES)->shorter = 2;
	for (i = 0; i < 4; i++) {
		uint32_t samples = class->transfers, begun;

		stream_class(BYTES)->cut = 0;
		route = up_to_stretch();
		begun = stream_class(BYTES)->transfers;
		switch (i) {
		case 0:
			ask(BYTES, 0, 0, 0);
			break;
		case 1:
			ask(2 * BYTES, 1, 0, 0);
			break;
		case 2:
			ask(BYTES, 1, 1, 0);
			break;
		case 3:
			node_route_passed(&routes, NODE_ROUTE_PUT, BYTES, NODE_ROUTE_ORIGIN);
			break;
		}
		CHECK(!node_in_stretch(&routes));
		CHECK(node_route_time(stream_class(BYTES), route) == 0 ||
		      route == stream_class(BYTES)->best);
		CHECK(up_to_stretch() == route && stream_class(BYTES)->transfers == begun);
		node_stretch_cut(&routes);
		CHECK(samples == class->transfers);
	}
}

/* A stretch whose begin nobody has reported has no time. */
static void not_begun(void)
{
	uint32_t i, chosen = 0;

	begin();
	up_to_stretch();
	for (i = 1; i < STRETCH; i++) {
		CHECK(!(chosen & NODE_ROUTE_ENDS));
		chosen = ask(BYTES, 1, 0, 0);
	}
	CHECK(chosen & NODE_ROUTE_ENDS && node_in_stretch(&routes));
	node_stretch_end(&routes, 1000);
	CHECK(!node_in_stretch(&routes) && stream_class(BYTES)->in_use == 0);
	node_stretch_end(&routes, 1000);
	node_stretch_cut(&routes);
	CHECK(stream_class(BYTES)->shorter == 1);
}

/* A stretch of short transfers has more of them, but no more than streams have. */
static void lengths(void)
{
	uint32_t n;

	for (n = 4 << 10; n <= 128 << 10; n *= 2) {
		uint32_t i, k, wanted = n < 16 << 10 ? 32 : n < 32 << 10 ? 16 : STRETCH, chosen = 0;

		begin();
		for (k = 0; k < 10; k++) {
			for (i = 0; i < 24 && !(chosen & NODE_ROUTE_BEGINS); i++)
				chosen = ask(n, i > 0, 0, 0);
			CHECK(chosen & NODE_ROUTE_BEGINS);
			for (; i < 24 && !(chosen & NODE_ROUTE_ENDS); i++)
				chosen = ask(n, 1, 0, 0);
			if (chosen & NODE_ROUTE_ENDS)
				break;
			CHECK(k == 0 && wanted == 32); /* the stream was too short */
			chosen = 0;
			wanted = 16;
		}
		CHECK(i == wanted + 1);
	}
}

/* Whether transfers without a chosen route use the string instruction: only streams decide. */
static void strings(void)
{
	static const machine good = {{5000, 4800, 4000, 5000, 6000, 9000, 4500},
	                             {5000, 4700, 2000, 5000, 6000, 8000, 3600},
	                             0.1};
	begin();
	windows(&good, 1000, 1, 1);
	CHECK(routes.class[NODE_ROUTE_PUT][node_route_class_of(BYTES)].best == NODE_ROUTE_STRING);
	CHECK(!routes.string && routes.wide);
	windows(&good, 100, 16, 1);
	CHECK(routes.string);
	windows(&widened, 2000, 16, 1);
	CHECK(!routes.string);
	routes.string = 1;
	CHECK((ask(1 << 20, 0, 0, 0) & NODE_ROUTE_MASK) == NODE_ROUTE_STRING);
}

/* By which route a stream goes that was not timed, where the string instruction is the best alone.
 */
static uint32_t untimed(node_link *link, int direction, uint64_t n)
{
	static node_peer peer;

	link->routes.class[direction][node_route_class_of(n)].transfers = 1000;
	link->routes.class[direction][node_route_class_of(n)].best = NODE_ROUTE_STRING;
	return node_route_of(link, &peer, direction, n, ALL, NODE_ROUTE_NOBODY) & NODE_ROUTE_MASK;
}

/* Only puts that a narrow part of the chunk area holds whole go by the route that is best for a
 * lone transfer. */
static void string_in_streams(void)
{
	enum { NARROW = 256 };
	const uint64_t fits = NARROW * NODE_CHUNK_UNIT;
	static node_link link;

	link.routes.forced = NODE_ROUTES;
	link.chunk_units = 2 * NARROW;
	link.chunk_narrow = NARROW;
	CHECK(untimed(&link, NODE_ROUTE_PUT, fits) == NODE_ROUTE_STRING);
	CHECK(untimed(&link, NODE_ROUTE_PUT, fits + 1) != NODE_ROUTE_STRING);
	CHECK(untimed(&link, NODE_ROUTE_GET, fits) != NODE_ROUTE_STRING);
}

/* A forced route is never timed. */
static void forced(void)
{
	uint32_t i;

	begin();
	routes.forced = NODE_ROUTE_TARGET;
	for (i = 0; i < 1000; i++)
		CHECK(ask(BYTES, i % 64 != 0, 0, 0) == NODE_ROUTE_TARGET);
}

void test_stretch(void)
{
	finds(&halved, NODE_ROUTE_HALVES, 16);
	finds(&halved, NODE_ROUTE_HALVES, 64);
	finds(&widened, NODE_ROUTE_WIDE, 10);
	finds(&widened, NODE_ROUTE_WIDE, 64);
	soon();
	shortened();
	follows();
	endless();
	never_timed(STRETCH, 1);
	never_timed(64, 3);
	cuts();
	not_begun();
	lengths();
	strings();
	string_in_streams();
	forced();
}
