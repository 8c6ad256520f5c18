/*
 * route.c - see route.h.
 *
 * For each class of lengths one route is in use: at first the pipeline. It is timed now and then.
 * Another is tried, one timed transfer, when that has been paid for: each transfer puts a small
 * share of its time aside, and a trial spends what it takes longer. A route that looks better gets
 * a run of some transfers, because the first one finds caches as the old route left them. Only then
 * it takes over. One that loses is tried less and less often.
 *
 * A route's time is the least of its latest samples: what disturbs makes a transfer slower, never
 * faster; and what was true long ago is forgotten.
 */
#include "route.h"

enum {
	COLD = 4,         /* first transfers of a class, which nobody times: memory is touched */
	WARM = 8,         /* and those after them, which are all timed */
	TIME_EACH = 64,   /* then so many transfers from one that is timed to the next */
	TRY_EACH = 64,    /* at least so many from trial to trial */
	SHARE = 64,       /* trials may cost the time of one transfer in so many */
	SAVED_MAX = 16,   /* trials that long traffic without any may have saved up, in transfers */
	COST_MAX = 16,    /* a trial's loss counts as so many transfers at most: it was disturbed */
	RUN = 8,          /* transfers of a run; each second is timed */
	PATIENCE_MAX = 4, /* a route that lost is tried 2^4 times less often */
	MARGIN_PERCENT = 5 /* a route that takes over is faster by this */
};

uint32_t node_route_time(const node_route_class *class, uint32_t route)
{
	uint32_t i, least = 0;

	for (i = 0; i < NODE_ROUTE_SAMPLES; i++) {
		uint32_t ns = class->sample[route][i];

		if (ns && (!least || ns < least))
			least = ns;
	}
	return least;
}

static int clearly_less(uint32_t ns, uint32_t than)
{
	return ns && than && (uint64_t)ns * 100 < (uint64_t)than * (100 - MARGIN_PERCENT);
}

static void forget(node_route_class *class, uint32_t route)
{
	uint32_t i;

	for (i = 0; i < NODE_ROUTE_SAMPLES; i++)
		class->sample[route][i] = 0;
}

static void lost(node_route_class *class, uint32_t route)
{
	if (class->patience[route] < PATIENCE_MAX)
		class->patience[route]++;
}

static void begin_run(node_route_class *class, uint32_t route)
{
	forget(class, route);
	class->candidate = (uint8_t)route;
	class->run = RUN;
	class->running = 1;
}

/* The end of a run: the candidate takes over, or has lost. */
static void judge(node_route_class *class)
{
	uint32_t route = class->candidate;

	class->running = 0;
	class->to_try = TRY_EACH;
	if (!clearly_less(node_route_time(class, route), node_route_time(class, class->best))) {
		lost(class, route);
		return;
	}
	class->best = (uint8_t)route;
	class->patience[route] = 0;
	class->to_time = TIME_EACH;
}

/* What a trial of a route is expected to cost, ns: twice the time in use if nothing is known. */
static int64_t expected_cost(const node_route_class *class, uint32_t route)
{
	int64_t known = node_route_time(class, route), best = node_route_time(class, class->best);

	if (!known)
		return best;
	if (known <= best)
		return 0;
	return known - best < COST_MAX * best ? known - best : COST_MAX * best;
}

/* The route to try now, or the one in use. Each has its turn: one that is dear keeps the others
 * waiting until it is paid for. */
static uint32_t to_try(node_route_class *class, uint32_t allowed)
{
	uint32_t i, route = class->candidate;

	for (i = 0; i < NODE_ROUTES; i++) {
		route = (route + 1) % NODE_ROUTES;
		if (route == class->best || !(allowed >> route & 1))
			continue;
		if (class->credit < expected_cost(class, route))
			return class->best;
		class->candidate = (uint8_t)route;
		class->to_try = TRY_EACH << class->patience[route];
		return route;
	}
	return class->best;
}

/* Puts the share of a transfer aside. */
static void save(node_route_class *class, uint32_t best)
{
	class->credit += best / SHARE;
	if (class->credit > (int64_t)best * SAVED_MAX)
		class->credit = (int64_t)best * SAVED_MAX;
}

/*
 * Of transfers that follow each other at once the pipeline takes less time each than of one alone:
 * the target copies the last chunk out while the origin copies the next one in.
 */
static uint32_t in_use(const node_route_class *class, uint64_t chunks, int stream)
{
	uint32_t pipeline;

	if (!stream || class->best == NODE_ROUTE_PIPELINE)
		return class->best;
	pipeline = node_route_time(class, NODE_ROUTE_PIPELINE);
	pipeline = (uint32_t)((uint64_t)pipeline * chunks / (chunks + 1));
	return clearly_less(pipeline, node_route_time(class, class->best)) ? NODE_ROUTE_PIPELINE
	                                                                   : class->best;
}

/* The first transfers of a class, by the route in use: then its time is known. */
static uint32_t first_ones(const node_route_class *class)
{
	return class->best | (class->transfers > COLD ? NODE_ROUTE_TIMED : 0);
}

static uint32_t choose(node_route_class *class, uint32_t allowed, uint64_t chunks, int stream)
{
	uint32_t route, best;

	if (++class->transfers <= WARM)
		return first_ones(class);
	if (class->running && class->run == 0)
		judge(class);
	best = node_route_time(class, class->best);
	save(class, best);
	if (class->running && allowed >> class->candidate & 1) {
		class->run--;
		return class->candidate | (class->run & 1 ? 0 : NODE_ROUTE_TIMED);
	}
	if (++class->to_time >= (best ? TIME_EACH : WARM)) {
		class->to_time = 0;
		return class->best | NODE_ROUTE_TIMED;
	}
	if (class->to_try) {
		class->to_try--;
	} else if (best) {
		route = to_try(class, allowed);
		if (route != class->best)
			return route | NODE_ROUTE_TIMED;
	}
	return in_use(class, chunks, stream);
}

uint32_t node_route_choose(node_routes *routes, int direction, uint64_t n, uint32_t allowed,
                           uint64_t chunks, int stream)
{
	uint32_t route;

	if (routes->forced < NODE_ROUTES)
		return allowed >> routes->forced & 1 ? routes->forced : NODE_ROUTE_PIPELINE;
	if (!(allowed & ~(1u << NODE_ROUTE_PIPELINE)))
		return NODE_ROUTE_PIPELINE;
	route = choose(&routes->class[direction][node_route_class_of(n)], allowed, chunks, stream);
	return allowed >> (route & ~NODE_ROUTE_TIMED) & 1 ? route : NODE_ROUTE_PIPELINE;
}

static void keep_sample(node_route_class *class, uint32_t route, uint32_t ns)
{
	class->sample[route][class->next[route]] = ns;
	class->next[route] = (uint8_t)((class->next[route] + 1) % NODE_ROUTE_SAMPLES);
}

/* The route in use has become slower than another was when last tried: is that still so? */
static void reconsider(node_route_class *class)
{
	uint32_t route, best = node_route_time(class, class->best);

	if (class->running || class->transfers <= WARM)
		return;
	for (route = 0; route < NODE_ROUTES; route++)
		if (route != class->best && clearly_less(node_route_time(class, route), best)) {
			begin_run(class, route);
			return;
		}
}

static void pay(node_route_class *class, uint32_t ns)
{
	int64_t best = node_route_time(class, class->best), loss = (int64_t)ns - best;

	if (loss > COST_MAX * best)
		loss = COST_MAX * best;
	if (loss > 0)
		class->credit -= loss;
}

void node_route_timed(node_routes *routes, int direction, uint64_t n, uint32_t route, uint64_t ns)
{
	uint32_t at = node_route_class_of(n), scaled;
	node_route_class *class = &routes->class[direction][at];
	double one = (double)ns * (double)node_route_least(at) / (double)n;

	scaled = one < 1 ? 1 : one > UINT32_MAX / 2 ? UINT32_MAX / 2 : (uint32_t)one;
	keep_sample(class, route, scaled);
	if (route == class->best) {
		reconsider(class);
		return;
	}
	pay(class, scaled);
	if (class->running) {
		pay(class, scaled); /* the one beside it was not timed, and cost as much */
		return;             /* the run will be judged as a whole */
	}
	if (clearly_less(scaled, node_route_time(class, class->best)))
		begin_run(class, route);
	else
		lost(class, route);
}
