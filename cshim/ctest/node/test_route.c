/*
 * test_route.c - the chooser of routes by itself, against machines made of numbers: it finds the
 * best route for each class of lengths under noise, follows a change, and its trials cost little.
 * Deterministic: no clock, seeded noise.
 */
#include <string.h>

#include "ctest/fake.h"
#include "node/route.h"

/* The cost of a route: ns, and ns for each KiB. */
typedef struct cost {
	double fixed, kib;
} cost;

/* A machine: its routes, in their order, and how much its times vary. */
typedef struct machine {
	cost route[NODE_ROUTES];
	double spread;    /* a time is up to this share more or less */
	double disturbed; /* this share of the transfers takes up to 20 times as long */
} machine;

enum { ALL = (1 << NODE_ROUTES) - 1 };

/* Fast caches and dear system calls; the other way about; a target that reads faster than the
 * origin writes; stores that had better pass the caches, or be a string instruction's. */
static const machine
	pipelined =
		{{{300, 20}, {350, 30}, {380, 40}, {350, 40}, {2000, 100}, {2300, 100}, {2400, 50}},
                 0.1,
                 0.03},
	widely =
		{{{300, 90}, {320, 30}, {350, 40}, {320, 40}, {2000, 100}, {2300, 100}, {2400, 50}},
                 0.1,
                 0.03},
	direct = {{{500, 90}, {500, 100}, {530, 110}, {530, 100}, {420, 40}, {700, 40}, {800, 20}},
                  0.1,
                  0.03},
	reading = {{{500, 90}, {550, 90}, {580, 100}, {550, 120}, {900, 80}, {700, 30}, {1500, 60}},
                   0.1,
                   0.03},
	kernel_faster =
		{{{300, 20}, {400, 20}, {430, 30}, {400, 20}, {200, 10}, {2300, 100}, {2400, 50}},
                 0.1,
                 0.03},
	streamed =
		{{{300, 60}, {320, 50}, {350, 60}, {320, 30}, {2000, 100}, {2300, 100}, {2400, 50}},
                 0.1,
                 0.03},
	stringed =
		{{{300, 60}, {320, 50}, {320, 30}, {320, 40}, {2000, 100}, {2300, 100}, {2400, 50}},
                 0.1,
                 0.03},
	steady = {{{500, 90}, {600, 90}, {630, 100}, {600, 80}, {420, 40}, {700, 40}, {800, 20}},
                  0,
                  0};

static uint64_t seed;

static double uniform(void)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (double)(seed >> 40) / (double)(1 << 24);
}

static double time_of(const machine *m, uint32_t route, uint64_t n)
{
	return m->route[route].fixed + m->route[route].kib * (double)n / 1024;
}

static double noisy(const machine *m, double ns)
{
	ns *= 1 + m->spread * (2 * uniform() - 1);
	return uniform() < m->disturbed ? ns * (1 + 19 * uniform()) : ns;
}

static double best_of(const machine *m, uint64_t n)
{
	double best = time_of(m, 0, n);
	uint32_t i;

	for (i = 1; i < NODE_ROUTES; i++)
		if (time_of(m, i, n) < best)
			best = time_of(m, i, n);
	return best;
}

/* A question as of uDAPL, which times no stretches. */
static uint32_t ask(node_routes *routes, int direction, uint64_t n, uint32_t allowed,
                    uint64_t chunk, int stream)
{
	return node_route_choose(routes, &(node_route_question){.direction = direction,
	                                                        .stream = stream,
	                                                        .n = n,
	                                                        .chunk = chunk,
	                                                        .allowed = allowed,
	                                                        .task = NODE_ROUTE_NOBODY});
}

/* The time of transfers, without noise: of all, and of those that were tried by another route than
 * the one in use; and how many took clearly more than the best route does. */
typedef struct sums {
	double all, lost;
	uint32_t bad;
} sums;

/* transfers of n bytes, more or less within a class, each once the one before is over. */
static sums run(node_routes *routes, const machine *m, uint64_t n, int transfers)
{
	node_route_class *class = &routes->class[NODE_ROUTE_PUT][node_route_class_of(n)];
	sums s = {0, 0, 0};

	for (; transfers > 0; transfers--) {
		uint64_t length = n + (uint64_t)(uniform() * (double)n / 4);
		uint32_t chosen = ask(routes, NODE_ROUTE_PUT, length, ALL, length / 4, 0);
		uint32_t route = chosen & ~NODE_ROUTE_TIMED;
		double ns = time_of(m, route, length);

		s.all += ns;
		s.bad += ns > 1.15 * best_of(m, length);
		if (route != class->best)
			s.lost += ns - time_of(m, class->best, length);
		if (chosen & NODE_ROUTE_TIMED)
			node_route_timed(routes, NODE_ROUTE_PUT, length, route,
			                 (uint64_t)noisy(m, ns));
	}
	return s;
}

static void begin(node_routes *routes)
{
	memset(routes, 0, sizeof(*routes));
	routes->forced = NODE_ROUTES;
	seed = 1;
}

static void classes(void)
{
	uint64_t n;
	uint32_t class, before = 0;

	for (class = 0; class < NODE_ROUTE_CLASSES; class ++) {
		CHECK(node_route_class_of(node_route_least(class)) == class);
		CHECK(class == 0 || node_route_class_of(node_route_least(class) - 1) == class - 1);
	}
	for (n = 1; n < 1 << 16; n++) {
		class = node_route_class_of(n);
		CHECK(class >= before && class <= before + 1);
		before = class;
	}
	CHECK(node_route_class_of(UINT64_MAX) == NODE_ROUTE_CLASSES - 1);
}

/* After some hundred transfers nearly all go by the best route, or one as good; the trials have
 * cost less than a fiftieth. */
static void finds(const machine *m)
{
	static node_routes routes;
	uint64_t n;

	for (n = 512; n <= 16 << 20; n *= 2) {
		sums s;

		begin(&routes);
		s = run(&routes, m, n, 2000);
		CHECK(s.lost < s.all / 50);
		s = run(&routes, m, n, 20000);
		CHECK(s.bad < 20000 / 50);
		CHECK(s.lost < s.all / 50);
	}
}

/* Short traffic gains, too: each route is tried early, once, and the best is in use after some tens
 * of transfers. */
static void soon(const machine *m)
{
	static node_routes routes;
	machine calm = *m;
	uint64_t n;

	calm.spread = calm.disturbed = 0;
	for (n = 16 << 10; n <= 16 << 20; n *= 2) {
		node_route_class *class = &routes.class[NODE_ROUTE_PUT][node_route_class_of(n)];

		begin(&routes);
		run(&routes, &calm, n, 64);
		CHECK(time_of(&calm, class->best, n) <= 1.06 * best_of(&calm, n));
	}
}

/* A first transfer by the best route that is disturbed is no reason to go without it for long. */
static void second_chance(void)
{
	static node_routes routes;
	node_route_class *class = &routes.class[NODE_ROUTE_PUT][node_route_class_of(64 << 10)];
	int i, disturbed = 1;

	begin(&routes);
	for (i = 0; i < 100; i++) {
		uint32_t chosen = ask(&routes, NODE_ROUTE_PUT, 64 << 10, ALL, 1, 0);
		uint32_t route = chosen & ~NODE_ROUTE_TIMED;
		double ns = time_of(&stringed, route, 64 << 10);

		if (route == NODE_ROUTE_STRING && chosen & NODE_ROUTE_TIMED && disturbed) {
			ns *= 20;
			disturbed = 0;
		}
		if (chosen & NODE_ROUTE_TIMED)
			node_route_timed(&routes, NODE_ROUTE_PUT, 64 << 10, route, (uint64_t)ns);
	}
	CHECK(!disturbed && class->best == NODE_ROUTE_STRING);
}

/* A machine that becomes another: some thousand transfers later the route is the other's. */
static void follows(const machine *first, const machine *then)
{
	static node_routes routes;
	uint64_t n;

	for (n = 1 << 12; n <= 4 << 20; n *= 4) {
		sums s;

		begin(&routes);
		run(&routes, first, n, 100000); /* so long that what loses is seldom tried */
		s = run(&routes, then, n, 16000);
		CHECK(s.lost < s.all / 40);
		s = run(&routes, then, n, 8000);
		CHECK(s.bad < 8000 / 50);
	}
}

/* The classes are learnt apart: one route for short data, another for long. */
static void apart(void)
{
	static node_routes routes;
	node_route_class *class = routes.class[NODE_ROUTE_PUT];

	begin(&routes);
	run(&routes, &steady, 4 << 10, 3000);
	run(&routes, &steady, 1 << 20, 3000);
	CHECK(class[node_route_class_of(4 << 10)].best == NODE_ROUTE_ORIGIN);
	CHECK(class[node_route_class_of(1 << 20)].best == NODE_ROUTE_HALVES);
	CHECK(routes.class[NODE_ROUTE_GET][node_route_class_of(1 << 20)].transfers == 0);
}

/* Transfers that follow each other at once go by the pipeline where its copies then overlap enough:
 * here it takes 860 ns alone, half as long in a row, the origin's copy 580. */
static void streams(void)
{
	static node_routes routes;
	uint32_t i, pipelined_ones = 0;

	begin(&routes);
	run(&routes, &direct, 4 << 10, 5000);
	for (i = 0; i < 1000; i++)
		pipelined_ones += ask(&routes, NODE_ROUTE_PUT, 4 << 10, ALL, 4 << 10, 1) ==
		                  NODE_ROUTE_PIPELINE;
	CHECK(pipelined_ones > 900);
	for (i = pipelined_ones = 0; i < 1000; i++)
		pipelined_ones +=
			ask(&routes, NODE_ROUTE_PUT, 4 << 10, ALL, 256, 1) == NODE_ROUTE_PIPELINE;
	CHECK(pipelined_ones < 100);
}

/* A stream is interrupted seldom: the first transfer of each is timed, if there is one. */
static void interrupts(void)
{
	static node_routes routes;
	uint32_t i, timed = 0, chosen;

	begin(&routes);
	run(&routes, &pipelined, 4 << 10, 5000);
	for (i = 0; i < 64000; i++) {
		chosen = ask(&routes, NODE_ROUTE_PUT, 4 << 10, ALL, 4 << 10, i % 64 != 0);
		if (!(chosen & NODE_ROUTE_TIMED))
			continue;
		node_route_timed(
			&routes, NODE_ROUTE_PUT, 4 << 10, chosen & ~NODE_ROUTE_TIMED,
			(uint64_t)time_of(&pipelined, chosen & ~NODE_ROUTE_TIMED, 4 << 10));
		timed += i % 64 != 0;
	}
	CHECK(timed <= 64000 / 512 + 1);
	for (i = timed = 0; i < 64000; i++)
		timed += ask(&routes, NODE_ROUTE_PUT, 4 << 10, ALL, 4 << 10, 1) >
		         NODE_ROUTE_TIMED - 1;
	CHECK(timed > 64000 / 512 - 5 && timed <= 64000 / 512 + 1);
}

/* The first transfers are slow whatever their route: no route takes over because of them. */
static void cold_start(void)
{
	static node_routes routes;
	node_route_class *class = &routes.class[NODE_ROUTE_GET][node_route_class_of(1024)];
	int i;

	begin(&routes);
	for (i = 0; i < 5000; i++) {
		uint32_t chosen = ask(&routes, NODE_ROUTE_GET, 1024, ALL, 1024, 0);
		uint32_t route = chosen & ~NODE_ROUTE_TIMED;
		double ns = time_of(&pipelined, route, 1024) + (i < 72 ? 5000 : 0);

		if (chosen & NODE_ROUTE_TIMED)
			node_route_timed(&routes, NODE_ROUTE_GET, 1024, route, (uint64_t)ns);
		CHECK(class->best == NODE_ROUTE_PIPELINE);
	}
}

/* Which pipeline is the faster, one class has found for all: others begin with it. */
static void widths(void)
{
	static node_routes routes;

	begin(&routes);
	run(&routes, &widely, 1 << 20, 200);
	CHECK(routes.wide == 1);
	run(&routes, &pipelined, 4 << 10, 5000); /* too short to tell */
	CHECK(routes.wide == 1);
	CHECK((ask(&routes, NODE_ROUTE_GET, 9000, ALL, 1, 0) & ~NODE_ROUTE_TIMED) ==
	      NODE_ROUTE_WIDE);
	CHECK((ask(&routes, NODE_ROUTE_GET, 30000, 1 | 1 << NODE_ROUTE_ORIGIN, 1, 0) &
	       ~NODE_ROUTE_TIMED) == NODE_ROUTE_PIPELINE);
	run(&routes, &pipelined, 1 << 20, 20000);
	CHECK(routes.wide == 0);
}

/* Whether stores had better pass the caches, likewise. */
static void streaming(void)
{
	static node_routes routes;
	uint32_t chosen;

	begin(&routes);
	run(&routes, &streamed, NODE_STREAM_MIN, 200);
	CHECK(routes.streaming == 1);
	chosen = ask(&routes, NODE_ROUTE_GET, NODE_STREAM_MIN, ALL, 1, 0);
	CHECK((chosen & ~NODE_ROUTE_TIMED) == NODE_ROUTE_STREAMING);
	chosen = ask(&routes, NODE_ROUTE_GET, 1 << 20, 1, 1, 0);
	CHECK((chosen & ~NODE_ROUTE_TIMED) == NODE_ROUTE_PIPELINE);
	run(&routes, &pipelined, NODE_STREAM_MIN, 20000);
	CHECK(routes.streaming == 0);
}

/* Transfers past the chooser pay for trials, and the next of the others may be one at once. */
static void past_chooser(void)
{
	static node_routes routes;
	int i;

	begin(&routes);
	run(&routes, &pipelined, 1 << 20, 20000);
	CHECK(ask(&routes, NODE_ROUTE_PUT, 1 << 20, ALL, 1, 0) == NODE_ROUTE_PIPELINE);
	for (i = 0; i < 2000; i++)
		CHECK(!node_route_passed(&routes, NODE_ROUTE_PUT, 1 << 20, NODE_ROUTE_ORIGIN));
	CHECK(node_route_wakes(&routes, NODE_ROUTE_PUT, 1 << 20, NODE_ROUTE_ORIGIN));
	CHECK(!node_route_wakes(&routes, NODE_ROUTE_PUT, 4 << 20, NODE_ROUTE_ORIGIN));
	node_route_try_soon(&routes, NODE_ROUTE_PUT, 1 << 20);
	CHECK((ask(&routes, NODE_ROUTE_PUT, 1 << 20, ALL, 1, 0) & ~NODE_ROUTE_TIMED) !=
	      NODE_ROUTE_PIPELINE);
}

/* Transfers past the chooser, to a target that sleeps, until it is worth to be woken; how
 * many that took. */
static int asleep(node_routes *routes, const machine *m, int most)
{
	int i;

	for (i = 1; i <= most; i++) {
		double ns = time_of(m, NODE_ROUTE_ORIGIN, 1 << 20);

		if (node_route_passed(routes, NODE_ROUTE_PUT, 1 << 20, NODE_ROUTE_ORIGIN))
			node_route_timed(routes, NODE_ROUTE_PUT, 1 << 20, NODE_ROUTE_ORIGIN,
			                 (uint64_t)noisy(m, ns));
		if (node_route_wakes(routes, NODE_ROUTE_PUT, 1 << 20, NODE_ROUTE_ORIGIN))
			break;
	}
	return i;
}

/* The route in use, which a sleeping target has no part in, becomes slow while it sleeps. */
static void slow_asleep(void)
{
	static node_routes routes;
	node_route_class *class = &routes.class[NODE_ROUTE_PUT][node_route_class_of(1 << 20)];
	int i;

	begin(&routes);
	run(&routes, &pipelined, 1 << 20, 1000);
	run(&routes, &kernel_faster, 1 << 20, 50000);
	while (class->running)
		run(&routes, &kernel_faster, 1 << 20, 1);
	CHECK(class->best == NODE_ROUTE_ORIGIN);
	CHECK(asleep(&routes, &kernel_faster, 5000) > 5000);
	i = asleep(&routes, &pipelined, 5000);
	CHECK(i <= 1000);
	/* It is awake for six transfers only, then it sleeps for the route in use's part. */
	run(&routes, &pipelined, 1 << 20, 6);
	for (i = 0; i < 20; i++)
		asleep(&routes, &pipelined, 1);
	CHECK(class->best != NODE_ROUTE_ORIGIN);
}

/* A forced route is used, and a route that is not allowed is not; a target that never lets a
 * transfer be timed costs no trial. */
static void bounds(void)
{
	static node_routes routes;
	uint32_t route, i;

	for (route = 0; route < NODE_ROUTES; route++) {
		begin(&routes);
		routes.forced = route;
		CHECK(ask(&routes, 0, 9000, ALL, 1, 0) == route);
		CHECK(ask(&routes, 0, 9000, 1, 1, 0) == NODE_ROUTE_PIPELINE);
	}
	begin(&routes);
	run(&routes, &direct, 1 << 20, 5000);
	for (i = 0; i < 5000; i++)
		CHECK((ask(&routes, 0, 1 << 20, 1 | 1 << NODE_ROUTE_ORIGIN, 4, 0) &
		       ~NODE_ROUTE_TIMED & ~NODE_ROUTE_ORIGIN) == NODE_ROUTE_PIPELINE);
	begin(&routes);
	for (i = 0; i < 5000; i++)
		CHECK((ask(&routes, 0, 1 << 20, ALL, 4, 0) & ~NODE_ROUTE_TIMED) ==
		      NODE_ROUTE_PIPELINE);
}

void test_route(void)
{
	classes();
	finds(&pipelined);
	finds(&direct);
	finds(&reading);
	finds(&steady);
	finds(&widely);
	finds(&streamed);
	soon(&streamed);
	finds(&stringed);
	soon(&stringed);
	soon(&widely);
	soon(&pipelined);
	soon(&direct);
	soon(&reading);
	second_chance();
	follows(&pipelined, &direct);
	follows(&direct, &pipelined);
	follows(&direct, &reading);
	follows(&pipelined, &kernel_faster);
	cold_start();
	past_chooser();
	slow_asleep();
	widths();
	streaming();
	apart();
	streams();
	interrupts();
	bounds();
	test_route_use();
}
