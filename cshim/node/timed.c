/* timed.c - see timed.h. */
#include "node/timed.h"

#include "node/guard.h"

enum { LOOKS = 4000, LOOK_BYTES = 16 /* bytes for one more look */ };

int node_takes_part(const node_link *link, const node_peer *peer, int reached)
{
	return node_polls(peer) &&
	       (node_may_spin(peer) || !reached || link->routes.forced < NODE_ROUTES);
}

/*
 * The routes of which the time of a lone transfer does not predict that of many. A string
 * instruction is one once the writer has to wait for chunks: on Zen 5 a get of 1 MiB took 40 us
 * alone, and 130 among others. For puts that a narrow part of the chunk area holds whole the time
 * does predict it.
 */
static uint32_t only_alone(const node_link *link, int direction, uint64_t n)
{
	return direction == NODE_ROUTE_PUT && n <= (uint64_t)link->chunk_narrow * NODE_CHUNK_UNIT
	               ? 0
	               : 1u << NODE_ROUTE_STRING;
}

uint32_t node_routes_for(const node_link *link, uint64_t n, int reached)
{
	uint32_t routes = 1u << NODE_ROUTE_PIPELINE;
	int forced = link->routes.forced < NODE_ROUTES;

	if (link->chunk_units > link->chunk_narrow)
		routes |= 1u << NODE_ROUTE_WIDE;
	if (node_has_string())
		routes |= 1u << NODE_ROUTE_STRING;
	if (forced || n >= NODE_STREAM_MIN)
		routes |= 1u << NODE_ROUTE_STREAMING;
	if (!reached)
		return routes;
	routes |= 1u << NODE_ROUTE_ORIGIN;
	if (forced || n >= NODE_TARGET_MIN)
		routes |= 1u << NODE_ROUTE_TARGET | 1u << NODE_ROUTE_HALVES;
	return routes;
}

uint32_t node_route_of(node_link *link, const node_peer *peer, int direction, uint64_t n,
                       uint32_t allowed, uint32_t task)
{
	node_route_question question = {.direction = direction,
	                                .stream = peer->sender.turn == link->turn,
	                                .n = n,
	                                .chunk = node_chunk_step(link, n),
	                                .allowed = allowed,
	                                .alone = only_alone(link, direction, n),
	                                .task = task};

	return node_route_choose(&link->routes, &question);
}

int node_looks_for(uint64_t n)
{
	uint64_t looks = LOOKS + n / LOOK_BYTES;

	return looks < INT32_MAX ? (int)looks : INT32_MAX;
}

int node_wait(const node_peer *peer, int (*look)(void *object), void *object, uint64_t n)
{
	int looks = node_looks_for(n), left = looks;

	for (;;) {
		switch (look(object)) {
		case NODE_LOOK_OVER:
			return NODE_WAIT_OVER;
		case NODE_LOOK_NOT:
			return NODE_WAIT_NOT;
		case NODE_LOOK_MOVED:
			left = looks;
			break;
		default:
			if (!node_may_spin(peer))
				return NODE_WAIT_NOT;
			if (--left <= 0)
				return NODE_WAIT_LATE;
			cshim_between_polls();
		}
	}
}

void node_time(node_link *link, int direction, uint64_t n, uint32_t route, uint64_t begun,
               int waited)
{
	if (waited != NODE_WAIT_NOT)
		node_route_timed(&link->routes, direction, n, route, node_now_ns() - begun);
}
