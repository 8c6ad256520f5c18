/*
 * route.c - see route.h. route_class.c finds the best route for one class of lengths; this file has
 * the rules between classes, and for streams.
 *
 * Transfers of a stream have classes of their own, which are timed by stretches. A stretch begins
 * with the second transfer of a stream, when nearly nothing is under way and waiting for that costs
 * least. At first a stretch may also follow another directly, and in a stream that never pauses a
 * stretch begins now and then. A stretch that another transfer, or a pause, has cut is tried again
 * with the next stream. Where all are cut, as with streams that are too short, or that go to
 * several tasks in turn, only the times of single transfers are known.
 */
#include "node/route.h"

#include "node/route_class.h"

enum {
	STREAMS_MAX = 512 << 10, /* bytes: longer ones are streams by themselves */
	STRETCH_MOST = 32,       /* transfers of a stretch, */
	STRETCH_LEAST = 8,       /* STRETCH_MOST >> SHORTER_MAX, */
	SHORTER_MAX = 2,
	STRETCH_BYTES = 256 << 10, /* so that it has this many bytes */
	CHAINED = 24,              /* the first stretches of a class, which may follow each other */
	STREAM_EACH = 512,         /* in a stream that never pauses one in 512 may be timed */
	CUT_MAX = 4, /* stretches in a row that were cut, until none is begun for a while */
	REST = 128,  /* that while, in streams: earlier times are not trusted meanwhile */
	COMPARED_MIN = 16 << 10 /* bytes from which the two pipelines differ by more than noise */
};

/*
 * Of transfers that follow each other at once the pipeline takes less time each than of one alone:
 * the target copies the last chunk out while the origin copies the next one in. So much can be said
 * of a stream that was not timed.
 */
static uint32_t guess(const node_route_class *class, const node_route_question *q)
{
	uint32_t best = class->best, route = node_class_pipeline(class, NODE_ROUTE_STREAMING), ns;
	uint64_t chunks;

	if (q->alone >> route & 1)
		route = node_class_pipeline(class, NODE_ROUTE_WIDE);
	if (node_route_is_pipeline(best))
		return q->alone >> best & 1 ? route : best;
	chunks = (q->n + q->chunk - 1) / q->chunk;
	ns = (uint32_t)((uint64_t)node_route_time(class, route) * chunks / (chunks + 1));
	return node_class_clearly_less(ns, class->in_use) ? route : best;
}

/* The first transfer of a class: it takes the pipeline that other classes found best. */
static void begin_class(const node_routes *routes, node_route_class *class, uint32_t allowed)
{
	if (routes->streaming && allowed >> NODE_ROUTE_STREAMING & 1)
		class->best = NODE_ROUTE_STREAMING;
	else if (routes->string && allowed >> NODE_ROUTE_STRING & 1)
		class->best = NODE_ROUTE_STRING;
	else if (routes->wide && allowed >> NODE_ROUTE_WIDE & 1)
		class->best = NODE_ROUTE_WIDE;
}

static uint32_t index_of(const node_route_question *q)
{
	return (uint32_t)q->direction * NODE_ROUTE_CLASSES + node_route_class_of(q->n);
}

static node_route_class *stream_at(node_routes *routes, uint32_t index)
{
	return &routes->stream[index / NODE_ROUTE_CLASSES][index % NODE_ROUTE_CLASSES];
}

static int goes_on(const node_stretch *stretch, const node_route_question *q)
{
	return q->stream && stretch->left > 0 && stretch->class == index_of(q) &&
	       stretch->task == q->task && q->allowed >> stretch->route & 1;
}

/* How many transfers a stretch has: enough that the waits for its begin and end count for little.
 * It is shorter where some were cut. */
static uint32_t length_of(const node_route_class *stream, uint64_t n)
{
	uint64_t length = STRETCH_BYTES / n;

	length = (length < STRETCH_MOST ? length : STRETCH_MOST) >> stream->shorter;
	return length > STRETCH_LEAST ? (uint32_t)length : STRETCH_LEAST;
}

void node_stretch_cut(node_routes *routes)
{
	node_stretch *stretch = &routes->stretch;
	node_route_class *class = stream_at(routes, stretch->class);

	if (!node_in_stretch(routes))
		return;
	stretch->left = stretch->ended = 0;
	class->again = (uint8_t)(stretch->route + 1);
	if (class->shorter < SHORTER_MAX)
		class->shorter++;
	else if (++class->cut == CUT_MAX) {
		class->cut = class->shorter = 0;
		class->again = (uint8_t)(class->best + 1);
		class->rest = REST;
	}
}

void node_stretch_begin(node_routes *routes, uint64_t now)
{
	routes->stretch.begun = now;
}

/* The next transfer of the stretch that is under way. */
static uint32_t next_of_stretch(node_stretch *stretch, uint64_t n)
{
	stretch->bytes += n;
	stretch->ended = --stretch->left == 0;
	return stretch->route | (stretch->ended ? NODE_ROUTE_ENDS : 0);
}

static uint32_t begin_stretch(node_routes *routes, const node_route_class *stream,
                              const node_route_question *q, uint32_t route)
{
	node_stretch *stretch = &routes->stretch;

	stretch->begun = 0;
	stretch->bytes = q->n;
	stretch->class = index_of(q);
	stretch->task = q->task;
	stretch->route = (uint8_t)route;
	stretch->left = (uint8_t)(length_of(stream, q->n) - 1);
	return route | NODE_ROUTE_BEGINS;
}

/* 1 if a stretch may begin with this transfer. */
static int is_good_moment(const node_routes *routes, node_route_class *stream,
                          const node_route_question *q)
{
	const node_stretch *stretch = &routes->stretch;

	if (stream->since < STREAM_EACH &&
	    (stretch->first != index_of(q) + 1 || stretch->first_task != q->task))
		return 0;
	if (stream->rest == 0)
		return 1;
	stream->rest--;
	stream->since = 0;
	return 0;
}

/* The choice for the next stretch: the stretch itself, or the transfers until then. */
static uint32_t choose_stretch(node_routes *routes, node_route_class *stream,
                               const node_route_question *q)
{
	uint32_t route;

	node_class_save(stream, stream->since / length_of(stream, q->n));
	stream->since = 0;
	if (stream->again && q->allowed >> (stream->again - 1) & 1)
		route = (stream->again - 1u) | NODE_ROUTE_TIMED;
	else
		route = node_class_choose(stream, q->allowed, 1);
	stream->again = 0;
	return route & NODE_ROUTE_TIMED ? begin_stretch(routes, stream, q, route & NODE_ROUTE_MASK)
	                                : route;
}

/* The route of a transfer of a stream; NODE_ROUTES: it is not known. */
static uint32_t choose_in_stream(node_routes *routes, const node_route_class *class,
                                 const node_route_question *q)
{
	node_route_class *stream = stream_at(routes, index_of(q));

	if (node_in_stretch(routes))
		return next_of_stretch(&routes->stretch, q->n);
	if (stream->transfers == 0) {
		stream->of_streams = 1;
		stream->best = (uint8_t)guess(class, q);
	}
	stream->since++;
	if (is_good_moment(routes, stream, q))
		return choose_stretch(routes, stream, q);
	return stream->in_use && !stream->rest && q->allowed >> stream->best & 1 ? stream->best
	                                                                         : NODE_ROUTES;
}

/* By the times of single transfers. */
static uint32_t choose_alone(node_route_class *class, const node_route_question *q)
{
	uint32_t route = node_class_choose(class, q->allowed,
	                                   !q->stream || class->transfers % STREAM_EACH == 0);

	return q->stream && route == class->best && !class->running ? guess(class, q) : route;
}

/* A stretch ends where another transfer comes, and one may begin behind a stream's first. */
static void note(node_routes *routes, const node_route_question *q)
{
	if (node_in_stretch(routes) && !goes_on(&routes->stretch, q))
		node_stretch_cut(routes);
	if (!q->stream) {
		routes->stretch.first = index_of(q) + 1;
		routes->stretch.first_task = q->task;
	}
}

uint32_t node_route_choose(node_routes *routes, const node_route_question *q)
{
	node_route_class *class = &routes->class[q->direction][node_route_class_of(q->n)];
	uint32_t route = NODE_ROUTES;

	if (routes->forced < NODE_ROUTES)
		return q->allowed >> routes->forced & 1 ? routes->forced : NODE_ROUTE_PIPELINE;
	if (!(q->allowed & ~(1u << NODE_ROUTE_PIPELINE)))
		return NODE_ROUTE_PIPELINE;
	if (class->transfers == 0)
		begin_class(routes, class, q->allowed);
	if (q->task != NODE_ROUTE_NOBODY)
		note(routes, q);
	if (q->stream && q->task != NODE_ROUTE_NOBODY && q->n < STREAMS_MAX) {
		route = choose_in_stream(routes, class, q);
		routes->stretch.first = 0;
	}
	if (route == NODE_ROUTES)
		route = choose_alone(class, q);
	return q->allowed >> (route & NODE_ROUTE_MASK) & 1 ? route : NODE_ROUTE_PIPELINE;
}

int node_route_passed(node_routes *routes, int direction, uint64_t n, uint32_t route)
{
	node_stretch_cut(routes);
	return node_class_passed(&routes->class[direction][node_route_class_of(n)], route) &&
	       routes->forced == NODE_ROUTES;
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

/* *better: whether a pipeline is faster than each before it, if that is known. */
static void compare_pipeline(const node_route_class *class, uint32_t route, uint32_t *better)
{
	uint32_t before = node_route_time(class, node_class_pipeline(class, route - 1));
	uint32_t ns = node_route_time(class, route);

	if (before && ns)
		*better = ns < before;
}

/* The pipeline of all transfers for which no route is chosen. A string instruction may be fast
 * alone, and slow among others. */
static void compare_pipelines(node_routes *routes, const node_route_class *class)
{
	compare_pipeline(class, NODE_ROUTE_WIDE, &routes->wide);
	if (class->of_streams)
		compare_pipeline(class, NODE_ROUTE_STRING, &routes->string);
	compare_pipeline(class, NODE_ROUTE_STREAMING, &routes->streaming);
}

/* The time of one of the class's least length, if each of n bytes takes as long. */
static uint32_t scaled(uint64_t ns, uint64_t n, uint32_t class)
{
	double one = (double)ns * (double)node_route_least(class) / (double)n;

	return one < 1 ? 1 : one > UINT32_MAX / 2 ? UINT32_MAX / 2 : (uint32_t)one;
}

static void timed(node_routes *routes, node_route_class *class, uint64_t least, uint32_t route,
                  uint32_t ns)
{
	node_class_timed(class, route, ns);
	if (least >= COMPARED_MIN)
		compare_pipelines(routes, class);
}

uint32_t node_route_scaled(uint64_t ns, uint64_t n)
{
	return scaled(ns, n, node_route_class_of(n));
}

void node_route_timed(node_routes *routes, int direction, uint64_t n, uint32_t route, uint64_t ns)
{
	uint32_t at = node_route_class_of(n);

	timed(routes, &routes->class[direction][at], n, route, scaled(ns, n, at));
}

void node_stretch_end(node_routes *routes, uint64_t now)
{
	node_stretch *stretch = &routes->stretch;
	node_route_class *class = stream_at(routes, stretch->class);
	uint32_t at = stretch->class % NODE_ROUTE_CLASSES;

	if (!stretch->ended)
		return;
	if (!stretch->begun) {
		node_stretch_cut(routes);
		return;
	}
	stretch->ended = 0;
	if (class->transfers < CHAINED) { /* nothing is under way now either */
		stretch->first = stretch->class + 1;
		stretch->first_task = stretch->task;
	}
	class->cut = 0;
	timed(routes, class, node_route_least(at), stretch->route,
	      scaled(now - stretch->begun, stretch->bytes, at));
}
