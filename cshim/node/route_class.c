/*
 * route_class.c - see route_class.h.
 *
 * One route is in use: at first the pipeline. It is timed now and then. Another is tried, a few
 * transfers of which the last is timed, when that has been paid for: each transfer puts a small
 * share of its time aside, and a trial spends what it takes longer. A route that looks better gets
 * a run of some transfers, because the first one finds caches as the old route left them; then the
 * route in use gets one, because its samples may be of a worse time. If it still is better it takes
 * over. A route that loses is tried less and less often.
 *
 * A route that was never tried is tried at once, on credit: its cost is paid back before anything
 * is tried again. A single copy that may have been slow because it was the first for long gets some
 * more transfers, and the last of these counts.
 *
 * A route's time is the least of its latest samples: a disturbance makes a transfer slower, never
 * faster; and old samples are forgotten.
 *
 * In a class of streams all this is said of stretches in the place of transfers. A stretch has
 * caches as its own route leaves them, so few are enough.
 *
 * In one of groups it is said of operations. There are fewer of these, and each makes many copies,
 * of which the first ones find caches as the other route left them: so a route that was never tried
 * gets its run even if it looks somewhat worse.
 */
#include "node/route_class.h"

enum {
	SHARE = 64,       /* trials may cost the time of one transfer in 64 */
	DOUBTFUL = 2,     /* times of the route in use: a first sample of more is not trusted */
	COST_MAX = 16,    /* a trial's loss counts as 16 transfers at most: it was disturbed */
	PATIENCE_MAX = 3, /* a route that lost is tried 2^3 times less often */
	SHORT_NS = 10000, /* a single copy of less, by the pipeline's time, may be cold, */
	COLD = 3,         /* if it takes at most 3 times as long as the route in use */
	MARGIN_PERCENT = 5 /* a route that takes over is faster by this */
};

/* How many transfers, or stretches. */
typedef struct pace {
	uint32_t cold;        /* first ones of a class, which nobody times: memory is touched */
	uint32_t warm;        /* and those after them, which are all timed */
	uint32_t time_each;   /* then, from one timed transfer to the next */
	uint32_t try_each;    /* from trial to trial, at least */
	uint32_t trial;       /* of a trial; the last is timed */
	uint32_t first_trial; /* of a route's first one */
	uint32_t near;        /* a run follows a trial that took less than this, percent */
	uint32_t warming;     /* more of a single copy's that was cold; the last is timed */
	uint32_t half_run;    /* of each of the two in a run; */
	uint32_t run_timed;   /* the last of these are timed */
} pace;

static const pace of_transfers = {.cold = 4,
                                  .warm = 8,
                                  .time_each = 64,
                                  .try_each = 64,
                                  .trial = 3,
                                  .first_trial = 2,
                                  .near = 100 - MARGIN_PERCENT,
                                  .warming = 5,
                                  .half_run = 6,
                                  .run_timed = 4};
static const pace of_streams = {.cold = 0,
                                .warm = 2,
                                .time_each = 24,
                                .try_each = 24,
                                .trial = 1,
                                .first_trial = 1,
                                .near = 100 - MARGIN_PERCENT,
                                .half_run = 2,
                                .run_timed = 2};
static const pace of_groups = {.cold = 4,
                               .warm = 6,
                               .time_each = 64,
                               .try_each = 64,
                               .trial = 3,
                               .first_trial = 3,
                               .near = 130,
                               .half_run = 6,
                               .run_timed = 4};

static const pace *pace_of(const node_route_class *class)
{
	if (class->of_groups)
		return &of_groups;
	return class->of_streams ? &of_streams : &of_transfers;
}

/* node_route_class.running */
enum { TRYING = 1, RUNNING = 2, WARMING = 3 };

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

int node_class_clearly_less(uint32_t ns, uint32_t than)
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
		class->tried &= (uint8_t) ~(1u << route);
}

static void begin_run(node_route_class *class, uint32_t route)
{
	forget(class, route);
	class->candidate = (uint8_t)route;
	class->run = (uint8_t)(2 * pace_of(class)->half_run);
	class->running = RUNNING;
}

/* The next of a trial, or of a run. A run is first the candidate's, then that of the route in use:
 * all of its samples are new then.
 */
static uint32_t next_of_run(node_route_class *class)
{
	const pace *pace = pace_of(class);
	uint32_t left = class->run--, half = pace->half_run, timed = pace->run_timed;

	if (class->running != RUNNING)
		return class->candidate | (left == 1 ? NODE_ROUTE_TIMED : 0);
	if (left > half)
		return class->candidate | (left - half <= timed ? NODE_ROUTE_TIMED : 0);
	return class->best | (left <= timed ? NODE_ROUTE_TIMED : 0);
}

/* The end of a run: the candidate takes over, or has lost. */
static void judge(node_route_class *class)
{
	uint32_t route = class->candidate;
	int tried = class->running != RUNNING; /* and nobody could time it */

	class->running = 0;
	class->to_try = pace_of(class)->try_each;
	if (tried || !node_class_clearly_less(node_route_time(class, route), class->in_use)) {
		lost(class, route);
		return;
	}
	class->best = (uint8_t)route;
	settle(class);
	class->patience[route] = 0;
	class->to_time = pace_of(class)->time_each;
}

/* The expected cost of a trial of a route for each transfer, ns: if nothing is known, twice the
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

static void begin_trial_of(node_route_class *class, uint32_t route, uint32_t transfers)
{
	class->tried |= (uint8_t)(1u << route);
	class->candidate = (uint8_t)route;
	class->to_try = pace_of(class)->try_each << class->patience[route];
	class->run = (uint8_t)transfers;
	class->running = TRYING;
}

/* Begins a trial, if it has been paid for. Each route has its turn: an expensive route keeps the
 * others waiting. */
static int begin_trial(node_route_class *class, uint32_t allowed)
{
	uint32_t i, route = class->candidate, trial = pace_of(class)->trial;

	for (i = 0; i < NODE_ROUTES; i++) {
		route = (route + 1) % NODE_ROUTES;
		if (route == class->best || !(allowed >> route & 1))
			continue;
		if (class->credit < trial * expected_cost(class, route))
			return 0;
		begin_trial_of(class, route, trial);
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
	begin_trial_of(class, (uint32_t)__builtin_ctz(untried), pace_of(class)->first_trial);
	return 1;
}

/* Puts the share of n transfers aside; at most what the dearest trial costs. */
void node_class_save(node_route_class *class, uint32_t n)
{
	int64_t best = class->in_use, most = best * pace_of(class)->trial * COST_MAX;

	class->credit += best * n / SHARE;
	if (class->credit > most)
		class->credit = most;
}

uint32_t node_class_pipeline(const node_route_class *class, uint32_t last)
{
	uint32_t route, best = NODE_ROUTE_PIPELINE;

	for (route = best; route <= last; route++) {
		uint32_t ns = node_route_time(class, route), least = node_route_time(class, best);

		if (ns && (!least || ns < least))
			best = route;
	}
	return best;
}

/* The first transfers of a class, by the route in use: then its time is known. */
static uint32_t first_ones(const node_route_class *class)
{
	return class->best | (class->transfers > pace_of(class)->cold ? NODE_ROUTE_TIMED : 0);
}

uint32_t node_class_choose(node_route_class *class, uint32_t allowed, int good_moment)
{
	const pace *pace = pace_of(class);
	uint32_t known;

	if (++class->transfers <= pace->warm)
		return first_ones(class);
	if (class->running && class->run == 0)
		judge(class);
	known = class->in_use;
	node_class_save(class, 1);
	if (class->running && allowed >> class->candidate & 1)
		return next_of_run(class);
	if (++class->to_time >= (known ? pace->time_each : pace->warm) && good_moment) {
		class->to_time = 0;
		return class->best | NODE_ROUTE_TIMED;
	}
	if (known && good_moment && begin_first_trial(class, allowed))
		return next_of_run(class);
	if (class->to_try)
		class->to_try--;
	else if (known && good_moment && begin_trial(class, allowed))
		return next_of_run(class);
	return class->best;
}

int node_class_is_calm(const node_route_class *class)
{
	return class->transfers > pace_of(class)->warm && !class->running && class->in_use;
}

void node_class_held(node_route_class *class)
{
	node_class_save(class, 1);
	class->to_time++;
	if (class->to_try)
		class->to_try--;
}

int node_class_passed(node_route_class *class, uint32_t route)
{
	const pace *pace = pace_of(class);
	uint32_t left = class->run;

	node_class_save(class, 1);
	if (route != class->best || class->transfers <= pace->warm)
		return 0;
	if (class->running == RUNNING && left <= pace->half_run) {
		/* The half of a run that goes by the route in use. */
		if (left == 0)
			judge(class);
		else
			class->run--;
		return left > 0 && left <= pace->run_timed;
	}
	if (++class->to_time < pace->time_each)
		return 0;
	class->to_time = 0;
	return 1;
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

	if (class->running || class->transfers <= pace_of(class)->warm)
		return;
	for (route = 0; route < NODE_ROUTES; route++)
		if (route != class->best &&
		    node_class_clearly_less(node_route_time(class, route), best)) {
			begin_run(class, route);
			return;
		}
}

static void pay(node_route_class *class, uint32_t ns, uint32_t transfers)
{
	int64_t best = class->in_use, loss = (int64_t)ns - best;

	if (loss > COST_MAX * best)
		loss = COST_MAX * best;
	if (loss > 0)
		class->credit -= transfers * loss;
}

static int deserves_run(const node_route_class *class, uint32_t route, uint32_t ns)
{
	int first = !class->sample[route][1];

	return node_class_clearly_less(ns, class->in_use) ||
	       (first && (uint64_t)ns * 100 < (uint64_t) class->in_use * pace_of(class)->near);
}

/* The kernel's part of a single copy is slow as long as its code is in no cache. */
static int may_be_cold(const node_route_class *class, uint32_t route, uint32_t ns)
{
	return pace_of(class)->warming && !node_route_is_pipeline(route) &&
	       class->in_use < SHORT_NS && ns < COLD * class->in_use;
}

static void begin_warming(node_route_class *class, uint32_t route)
{
	class->candidate = (uint8_t)route;
	class->run = (uint8_t)pace_of(class)->warming;
	class->running = WARMING;
}

void node_class_timed(node_route_class *class, uint32_t route, uint32_t ns)
{
	const pace *pace = pace_of(class);
	uint32_t was = class->running;

	keep_sample(class, route, ns);
	if (route == class->best) {
		reconsider(class);
		return;
	}
	pay(class, ns, was == WARMING ? pace->warming : pace->trial);
	if (was == RUNNING)
		return; /* the run will be judged as a whole */
	class->running = 0;
	if (deserves_run(class, route, ns))
		begin_run(class, route);
	else if (was == TRYING && may_be_cold(class, route, ns))
		begin_warming(class, route);
	else
		lost_by(class, route, ns);
}
