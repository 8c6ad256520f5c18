/*
 * route.c - see route.h.
 *
 * For each class of lengths one route is in use: at first the pipeline. It is timed now and then.
 * Another is tried, a few transfers of which the last is timed, when that has been paid for: each
 * transfer puts a small share of its time aside, and a trial spends what it takes longer. A route
 * that looks better gets a run of some transfers, because the first one finds caches as the old
 * route left them; then the route in use gets one, because its samples may be of a worse time. If
 * it still is better it takes over. One that loses is tried less and less often.
 *
 * A route that was never tried is tried at once, on credit: what that has cost is paid back before
 * anything is tried again.
 *
 * A route's time is the least of its latest samples: what disturbs makes a transfer slower, never
 * faster; and what was true long ago is forgotten.
 */
#include "route.h"

enum {
	COLD = 4,          /* first transfers of a class, which nobody times: memory is touched */
	WARM = 8,          /* and those after them, which are all timed */
	TIME_EACH = 64,    /* then so many transfers from one that is timed to the next */
	TRY_EACH = 64,     /* at least so many from trial to trial */
	STREAM_EACH = 512, /* in a stream that never pauses one in so many may be timed */
	SHARE = 64,        /* trials may cost the time of one transfer in so many */
	TRIAL = 3,         /* transfers of a trial; the last is timed */
	FIRST_TRIAL = 2,   /* of a route's first one */
	DOUBTFUL = 2,      /* times of the route in use: a first sample of more is not trusted */
	COMPARED_MIN = 16 << 10, /* bytes from which the two pipelines differ by more than noise */
	COST_MAX = 16, /* a trial's loss counts as so many transfers at most: it was disturbed */
	/* what long traffic without a trial may have saved up, in transfers: that of the dearest */
	SAVED_MAX = TRIAL * COST_MAX,
	HALF_RUN = 6,      /* transfers of each of the two in a run; */
	RUN_TIMED = 4,     /* the last of these are timed */
	PATIENCE_MAX = 3,  /* a route that lost is tried 2^3 times less often */
	MARGIN_PERCENT = 5 /* a route that takes over is faster by this */
};

/* node_route_class.running */
enum { TRYING = 1, RUNNING = 2 };

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

/* The route in use is another, or has other samples: each transfer asks for its time. */
static void settle(node_route_class *class)
{
	class->in_use = node_route_time(class, class->best);
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
	settle(class);
}

static void lost(node_route_class *class, uint32_t route)
{
	if (class->patience[route] < PATIENCE_MAX)
		class->patience[route]++;
}

/*
 * Its time was so long. The first one of a pipeline that is much longer was disturbed, or had to
 * touch new chunks: pipelines differ by less. It has another first trial. (Of a single copy, which
 * may well take that long, another would cost too much.)
 */
static void lost_by(node_route_class *class, uint32_t route, uint32_t ns)
{
	lost(class, route);
	if (node_route_is_pipeline(route) && !class->sample[route][1] &&
	    ns > DOUBTFUL * class->in_use)
		class->tried &= (uint8_t)~(1u << route);
}

static void begin_run(node_route_class *class, uint32_t route)
{
	forget(class, route);
	class->candidate = (uint8_t)route;
	class->run = 2 * HALF_RUN;
	class->running = RUNNING;
}

/* The next of a trial, or of a run. A run is first the candidate's, then that of the route in use:
 * all of its samples are new then.
 */
static uint32_t next_of_run(node_route_class *class)
{
	uint32_t left = class->run--;

	if (class->running == TRYING)
		return class->candidate | (left == 1 ? NODE_ROUTE_TIMED : 0);
	if (left > HALF_RUN)
		return class->candidate | (left - HALF_RUN <= RUN_TIMED ? NODE_ROUTE_TIMED : 0);
	return class->best | (left <= RUN_TIMED ? NODE_ROUTE_TIMED : 0);
}

/* The end of a run: the candidate takes over, or has lost. */
static void judge(node_route_class *class)
{
	uint32_t route = class->candidate;
	int tried = class->running == TRYING; /* and nobody could time it */

	class->running = 0;
	class->to_try = TRY_EACH;
	if (tried || !clearly_less(node_route_time(class, route), class->in_use)) {
		lost(class, route);
		return;
	}
	class->best = (uint8_t)route;
	settle(class);
	class->patience[route] = 0;
	class->to_time = TIME_EACH;
}

/* What a trial of a route is expected to cost for each transfer, ns: if nothing is known, twice the
 * time in use. */
static int64_t expected_cost(const node_route_class *class, uint32_t route)
{
	int64_t known = node_route_time(class, route), best = class->in_use;

	if (!known)
		return best;
	if (known <= best)
		return 0;
	return known - best < COST_MAX * best ? known - best : COST_MAX * best;
}

static void begin_trial_of(node_route_class *class, uint32_t route, uint8_t transfers)
{
	class->tried |= (uint8_t)(1u << route);
	class->candidate = (uint8_t)route;
	class->to_try = TRY_EACH << class->patience[route];
	class->run = transfers;
	class->running = TRYING;
}

/* Begins a trial, if it has been paid for. Each route has its turn: one that is dear keeps the
 * others waiting. */
static int begin_trial(node_route_class *class, uint32_t allowed)
{
	uint32_t i, route = class->candidate;

	for (i = 0; i < NODE_ROUTES; i++) {
		route = (route + 1) % NODE_ROUTES;
		if (route == class->best || !(allowed >> route & 1))
			continue;
		if (class->credit < TRIAL * expected_cost(class, route))
			return 0;
		begin_trial_of(class, route, TRIAL);
		return 1;
	}
	return 0;
}

/* The same with a route that was never tried, if there is one. */
static int begin_first_trial(node_route_class *class, uint32_t allowed)
{
	uint32_t untried = allowed & ~(class->tried | 1u << class->best);

	if (!untried)
		return 0;
	begin_trial_of(class, (uint32_t)__builtin_ctz(untried), FIRST_TRIAL);
	return 1;
}

/* Puts the share of a transfer aside. */
static void save(node_route_class *class, uint32_t best)
{
	class->credit += best / SHARE;
	if (class->credit > (int64_t)best * SAVED_MAX)
		class->credit = (int64_t)best * SAVED_MAX;
}

/* The fastest pipeline up to one of them, of those whose time is known. */
static uint32_t best_pipeline(const node_route_class *class, uint32_t last)
{
	uint32_t route, best = NODE_ROUTE_PIPELINE;

	for (route = best; route <= last; route++) {
		uint32_t ns = node_route_time(class, route), least = node_route_time(class, best);

		if (ns && (!least || ns < least))
			best = route;
	}
	return best;
}

/*
 * Of transfers that follow each other at once the pipeline takes less time each than of one alone:
 * the target copies the last chunk out while the origin copies the next one in.
 */
static uint32_t in_use(const node_route_class *class, uint64_t n, uint64_t chunk, int stream)
{
	uint32_t route = best_pipeline(class, NODE_ROUTE_STREAMING), pipeline;
	uint64_t chunks;

	if (!stream || node_route_is_pipeline(class->best))
		return class->best;
	chunks = (n + chunk - 1) / chunk;
	pipeline = (uint32_t)((uint64_t)node_route_time(class, route) * chunks / (chunks + 1));
	return clearly_less(pipeline, class->in_use) ? route : class->best;
}

/* The first transfers of a class, by the route in use: then its time is known. */
static uint32_t first_ones(const node_route_class *class)
{
	return class->best | (class->transfers > COLD ? NODE_ROUTE_TIMED : 0);
}

/* To time a transfer interrupts a stream, so that waits for one that begins none, but not for ever.
 */
static int is_good_moment(const node_route_class *class, int stream)
{
	return !stream || class->transfers % STREAM_EACH == 0;
}

/* The first transfer of a class: what others have found of the pipelines holds for it. */
static void begin_class(const node_routes *routes, node_route_class *class, uint32_t allowed)
{
	if (routes->streaming && allowed >> NODE_ROUTE_STREAMING & 1)
		class->best = NODE_ROUTE_STREAMING;
	else if (routes->string && allowed >> NODE_ROUTE_STRING & 1)
		class->best = NODE_ROUTE_STRING;
	else if (routes->wide && allowed >> NODE_ROUTE_WIDE & 1)
		class->best = NODE_ROUTE_WIDE;
}

static uint32_t choose(node_route_class *class, uint64_t n, uint32_t allowed, uint64_t chunk,
                       int stream)
{
	uint32_t best;

	if (++class->transfers <= WARM)
		return first_ones(class);
	if (class->running && class->run == 0)
		judge(class);
	best = class->in_use;
	save(class, best);
	if (class->running && allowed >> class->candidate & 1)
		return next_of_run(class);
	if (++class->to_time >= (best ? TIME_EACH : WARM) && is_good_moment(class, stream)) {
		class->to_time = 0;
		return class->best | NODE_ROUTE_TIMED;
	}
	if (best && is_good_moment(class, stream) && begin_first_trial(class, allowed))
		return next_of_run(class);
	if (class->to_try) {
		class->to_try--;
	} else if (best && is_good_moment(class, stream) && begin_trial(class, allowed)) {
		return next_of_run(class);
	}
	return in_use(class, n, chunk, stream);
}

uint32_t node_route_choose(node_routes *routes, int direction, uint64_t n, uint32_t allowed,
                           uint64_t chunk, int stream)
{
	node_route_class *class = &routes->class[direction][node_route_class_of(n)];
	uint32_t route;

	if (routes->forced < NODE_ROUTES)
		return allowed >> routes->forced & 1 ? routes->forced : NODE_ROUTE_PIPELINE;
	if (!(allowed & ~(1u << NODE_ROUTE_PIPELINE)))
		return NODE_ROUTE_PIPELINE;
	if (class->transfers == 0)
		begin_class(routes, class, allowed);
	route = choose(class, n, allowed, chunk, stream);
	return allowed >> (route & ~NODE_ROUTE_TIMED) & 1 ? route : NODE_ROUTE_PIPELINE;
}

int node_route_passed(node_routes *routes, int direction, uint64_t n, uint32_t route)
{
	node_route_class *class = &routes->class[direction][node_route_class_of(n)];
	uint32_t left = class->run;

	save(class, class->in_use);
	if (routes->forced < NODE_ROUTES || route != class->best || class->transfers <= WARM)
		return 0;
	if (class->running == RUNNING && left <= HALF_RUN) {
		/* What a run has still to have of the route in use. */
		if (left == 0)
			judge(class);
		else
			class->run--;
		return left > 0 && left <= RUN_TIMED;
	}
	if (++class->to_time < TIME_EACH)
		return 0;
	class->to_time = 0;
	return 1;
}

int node_route_wakes(const node_routes *routes, int direction, uint64_t n, uint32_t route)
{
	const node_route_class *class = &routes->class[direction][node_route_class_of(n)];

	return class->in_use && (class->best != route || class->running);
}

void node_route_try_soon(node_routes *routes, int direction, uint64_t n)
{
	routes->class[direction][node_route_class_of(n)].to_try = 0;
}

static void keep_sample(node_route_class *class, uint32_t route, uint32_t ns)
{
	class->sample[route][class->next[route]] = ns;
	class->next[route] = (uint8_t)((class->next[route] + 1) % NODE_ROUTE_SAMPLES);
	settle(class);
}

/* The route in use has become slower than another was when last tried: is that still so? */
static void reconsider(node_route_class *class)
{
	uint32_t route, best = class->in_use;

	if (class->running || class->transfers <= WARM)
		return;
	for (route = 0; route < NODE_ROUTES; route++)
		if (route != class->best && clearly_less(node_route_time(class, route), best)) {
			begin_run(class, route);
			return;
		}
}

/* *better: whether a pipeline is faster than each before it, if that is known. */
static void compare_pipeline(const node_route_class *class, uint32_t route, uint32_t *better)
{
	uint32_t before = node_route_time(class, best_pipeline(class, route - 1));
	uint32_t ns = node_route_time(class, route);

	if (before && ns)
		*better = ns < before;
}

/* Which of the pipelines is for all that no route is chosen for. */
static void compare_pipelines(node_routes *routes, const node_route_class *class)
{
	compare_pipeline(class, NODE_ROUTE_WIDE, &routes->wide);
	compare_pipeline(class, NODE_ROUTE_STRING, &routes->string);
	compare_pipeline(class, NODE_ROUTE_STREAMING, &routes->streaming);
}

static void pay(node_route_class *class, uint32_t ns)
{
	int64_t best = class->in_use, loss = (int64_t)ns - best;

	if (loss > COST_MAX * best)
		loss = COST_MAX * best;
	if (loss > 0)
		class->credit -= TRIAL * loss;
}

void node_route_timed(node_routes *routes, int direction, uint64_t n, uint32_t route, uint64_t ns)
{
	uint32_t at = node_route_class_of(n), scaled;
	node_route_class *class = &routes->class[direction][at];
	double one = (double)ns * (double)node_route_least(at) / (double)n;

	scaled = one < 1 ? 1 : one > UINT32_MAX / 2 ? UINT32_MAX / 2 : (uint32_t)one;
	keep_sample(class, route, scaled);
	if (n >= COMPARED_MIN)
		compare_pipelines(routes, class);
	if (route == class->best) {
		reconsider(class);
		return;
	}
	pay(class, scaled);
	if (class->running == RUNNING)
		return; /* the run will be judged as a whole */
	class->running = 0;
	if (clearly_less(scaled, class->in_use))
		begin_run(class, route);
	else
		lost_by(class, route, scaled);
}
