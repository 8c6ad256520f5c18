/* timed.c - see timed.h. */
#include "timed.h"

#include "guard.h"

enum { LOOKS = 4000, LOOK_BYTES = 16 /* one more for so many */ };

int node_takes_part(const node_link *link, const node_peer *peer, int reached, int processors)
{
	return node_polls(peer) &&
	       (processors > 1 || !reached || link->routes.forced < NODE_ROUTES);
}

uint32_t node_routes_for(const node_link *link, uint64_t n, int reached)
{
	uint32_t routes = 1u << NODE_ROUTE_PIPELINE;

	if (link->chunk_units > link->chunk_narrow)
		routes |= 1u << NODE_ROUTE_WIDE;
	if (node_has_string())
		routes |= 1u << NODE_ROUTE_STRING;
	if (n >= NODE_STREAM_MIN || link->routes.forced < NODE_ROUTES)
		routes |= 1u << NODE_ROUTE_STREAMING;
	if (!reached)
		return routes;
	routes |= 1u << NODE_ROUTE_ORIGIN;
	if (n >= NODE_TARGET_MIN || link->routes.forced < NODE_ROUTES)
		routes |= 1u << NODE_ROUTE_TARGET | 1u << NODE_ROUTE_HALVES;
	return routes;
}

uint32_t node_route_of(node_link *link, const node_peer *peer, int direction, uint64_t n,
                       uint32_t allowed)
{
	/*
	 * What a transfer takes alone, as it is timed, says little of many by this route once the writer
	 * has to wait for chunks: on Zen 5 a get of 1 MiB took 40 us alone, and 130 among others. So it
	 * is found for puts that a part of the chunk area holds whole.
	 */
	if (link->routes.forced == NODE_ROUTES &&
	    (direction == NODE_ROUTE_GET || n > (uint64_t)link->chunk_narrow * NODE_CHUNK_UNIT))
		allowed &= ~(1u << NODE_ROUTE_STRING);
	return node_route_choose(&link->routes, direction, n, allowed, node_chunk_step(link, n),
	                         peer->sender.turn == link->turn);
}

int node_looks_for(uint64_t n)
{
	uint64_t looks = LOOKS + n / LOOK_BYTES;

	return looks < INT32_MAX ? (int)looks : INT32_MAX;
}

int node_wait(int (*look)(void *object), void *object, uint64_t n)
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
