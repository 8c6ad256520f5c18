/*
 * timed.h - what those who move data by the chooser's routes (route.h) have in common: which routes
 * there are for a transfer, and how one is timed. Under the owner's lock.
 *
 * A transfer that is to be timed begins when everything in front of it has taken effect, and the
 * call returns when it has done so itself: else its time would be that of other transfers, too, or
 * of the user's own work. Each of these waits is bounded. If a wait reaches its bound, the transfer
 * took at least so long, and that is its time: a target that polls but has no processor to run on
 * is slow to take part.
 */
#ifndef NODE_TIMED_H
#define NODE_TIMED_H

#include <time.h>

#include "node/send.h"

#define NODE_ROUTED_MIN 2048        /* bytes: with less a choice costs more than it may bring */
#define NODE_TARGET_MIN (16u << 10) /* bytes that the target may move: less is over sooner */

static inline uint64_t node_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/*
 * 1 if a target that polls may do its part at once: there is a processor for it beside this task's.
 * Where they share one (node_may_spin) both would only take turns: then this task copies alone, if
 * it reaches the other's memory.
 */
int node_takes_part(const node_link *link, const node_peer *peer, int reached);
/* The routes that a link has for n bytes, a bit each: the owner takes out those that it cannot
 * use. */
uint32_t node_routes_for(const node_link *link, uint64_t n, int reached);
/* The route of a transfer, of those, as node_route_choose gives it. task: NODE_ROUTE_NOBODY if the
 * owner times no stretches. */
uint32_t node_route_of(node_link *link, const node_peer *peer, int direction, uint64_t n,
                       uint32_t allowed, uint32_t task);

/* How a wait has ended: its goal is reached; all looks have been in vain; or it was not worth
 * waiting on, and its time says nothing. */
#define NODE_WAIT_OVER 1
#define NODE_WAIT_LATE (-1)
#define NODE_WAIT_NOT 0
/* The result of one look: the wait is over, it goes on, there is nothing new, it is to end. */
enum { NODE_LOOK_OVER, NODE_LOOK_MOVED, NODE_LOOK_NOTHING, NODE_LOOK_NOT };

/* How often to look for something new of a transfer of n bytes. */
int node_looks_for(uint64_t n);
/*
 * Looks until what n bytes bring from or to the peer is there; object is the owner's, for look.
 * Where node_may_spin says no, the first look in vain ends it with NODE_WAIT_NOT.
 */
int node_wait(const node_peer *peer, int (*look)(void *object), void *object, uint64_t n);
/* Reports to the chooser a transfer that began at begun, and whose wait ended with waited. */
void node_time(node_link *link, int direction, uint64_t n, uint32_t route, uint64_t begun,
               int waited);

#endif
