/*
 * lane_routes.c - transfers of the lane that do not fit slots, by the best route (../node/route.h),
 * timed as ../node/timed.h says. Nothing is timed in a handler: there the ring may be in the middle
 * of a message.
 */
#define _GNU_SOURCE
#include <string.h>

#include "node/timed.h"
#include "lane/lane_shared.h"

enum {
	DIRECT_MIN = 4096, /* bytes of a put from which a target that does not poll is written to */
	WAKE_LEAST = 32,   /* gets from a target that sleeps, before it is woken for one */
	WAKE_MOST = 1024
};

/* Waits until the target has taken all that was sent to it. */
static int drained(node_peer *peer, uint64_t n)
{
	int rc = node_await_consumed(peer, peer->sender.tail, node_looks_for(n));

	if (rc == NODE_SENT)
		return NODE_WAIT_OVER;
	return rc == NODE_BUSY && node_polls(peer) && !node_holds(peer) && node_may_spin(peer)
	               ? NODE_WAIT_LATE
	               : NODE_WAIT_NOT;
}

static int takes_part(cshim_lane *lane, const node_peer *peer)
{
	return node_takes_part(cshim_link_of(lane), peer, peer->direct != 0);
}

/* Waits until nothing is under way with the target any more; not in a handler. */
static int settled(cshim_context *context, cshim_lane *lane, node_peer *peer, uint64_t n)
{
	int waited = CSHIM_OWN(context->progress.calling) ? NODE_WAIT_NOT
	                                       : cshim_lane_settle(context, lane, peer, NULL, n);

	return waited == NODE_WAIT_OVER ? drained(peer, n) : waited;
}

static int alone(cshim_context *context, cshim_lane *lane, node_peer *peer, uint64_t n)
{
	return settled(context, lane, peer, n) == NODE_WAIT_OVER;
}

/* A stretch begins with the transfer that comes. */
static void begin_stretch(cshim_context *context, cshim_lane *lane, node_peer *peer, uint64_t n)
{
	node_routes *routes = &cshim_link_of(lane)->routes;

	if (alone(context, lane, peer, n))
		node_stretch_begin(routes, node_now_ns());
	else
		node_stretch_cut(routes);
}

/* A transfer that may belong to one has gone as was chosen, or not. */
static void mind_stretch(cshim_context *context, cshim_lane *lane, node_peer *peer, uint64_t n,
                         uint32_t chosen, int done)
{
	node_routes *routes = &cshim_link_of(lane)->routes;

	if (done && !(chosen & NODE_ROUTE_ENDS))
		return;
	if (done && settled(context, lane, peer, n) != NODE_WAIT_NOT)
		node_stretch_end(routes, node_now_ns());
	else
		node_stretch_cut(routes);
}

/* The route of a transfer to or from a target that polls. whole: it cannot be made in halves. */
static uint32_t route_of(cshim_lane *lane, node_peer *peer, int direction, uint64_t n, int whole)
{
	node_link *link = cshim_link_of(lane);
	uint32_t target = 1u << NODE_ROUTE_TARGET | 1u << NODE_ROUTE_HALVES, allowed;

	if (n < NODE_ROUTED_MIN && link->routes.forced == NODE_ROUTES)
		return NODE_ROUTE_PIPELINE;
	allowed = node_routes_for(link, n, peer->direct != 0);
	if (direction == NODE_ROUTE_PUT && (peer->pull_refused || n <= lane->copy_max))
		allowed &= ~target;
	if (whole)
		allowed &= ~(1u << NODE_ROUTE_HALVES);
	return node_route_of(link, peer, direction, n, allowed, (uint32_t)peer->task);
}

/* A put that found no room for all of it: the rest is core's, unless nothing went. */
static int put_rest(cshim_context *context, cshim_lane *lane, node_peer *peer,
                    const node_transfer *put, uint64_t org_cntr)
{
	node_link *link = cshim_link_of(lane);

	node_stretch_cut(&link->routes);
	if (put->at == 0)
		return CSHIM_LANE_PASS;
	cshim_lane_used(lane, peer->owner);
	peer->owner[CSHIM_PEER_KIND] = PUT_ERR + 1;
	memcpy(link->transfer, put, sizeof(*put));
	golapi_lane_put_rest(cshim_index_of(context), peer->task, org_cntr);
	return CSHIM_LANE_DONE;
}

/* A put that is too short for parts. */
static int put_whole(cshim_context *context, cshim_lane *lane, node_peer *peer,
                     const node_transfer *put, uint64_t org_cntr)
{
	node_put_header header = {put->remote, {put->notice[0], put->notice[1]}};

	if (node_send_inline(cshim_link_of(lane), peer, NODE_PUT, &header, sizeof(header),
	                     put->local, put->n) != NODE_SENT)
		return CSHIM_LANE_PASS;
	cshim_lane_sent(context, lane, peer, PUT_ERR, org_cntr, put->notice[1]);
	return CSHIM_LANE_DONE;
}

/*
 * route: one of the pipelines, or any other: then the pipeline that is best for transfers without a
 * chosen route. *waited: it is to be timed, so it waits for room, bounded, rather than leave its
 * rest to core, as a transfer of a stretch does; a put whose rest is left to core all the same has
 * no time.
 */
static int put_in_messages(cshim_context *context, cshim_lane *lane, node_peer *peer,
                           node_transfer put, uint64_t org_cntr, uint32_t route, int *waited)
{
	node_link *link = cshim_link_of(lane);
	int patient = *waited || node_in_stretch(&link->routes);
	int rc, tries = patient ? node_looks_for(put.n) / NODE_CHUNK_LOOKS : 1;

	node_chunks_limit(link, route);
	if (route == NODE_ROUTE_WIDE)
		node_chunks_widen(link, peer);
	do
		rc = node_put(link, peer, &put, node_streams(link, route, put.n));
	while (rc == NODE_BUSY && --tries > 0 && node_polls(peer));
	node_chunks_limit(link, NODE_ROUTES);
	if (rc != NODE_SENT) {
		*waited = NODE_WAIT_NOT;
		return put_rest(context, lane, peer, &put, org_cntr);
	}
	cshim_lane_sent(context, lane, peer, PUT_ERR, org_cntr, put.notice[1]);
	return CSHIM_LANE_DONE;
}

/* The same where no route is chosen, and nothing is timed. */
static int put_as_known(cshim_context *context, cshim_lane *lane, node_peer *peer,
                        node_transfer put, uint64_t org_cntr)
{
	int waited = NODE_WAIT_NOT;

	return put_in_messages(context, lane, peer, put, org_cntr, NODE_ROUTES, &waited);
}

/*
 * This task writes the target's memory. Without a counter at the target the put is complete then:
 * nothing is left that the target would have to answer for.
 */
static int put_written(cshim_context *context, cshim_lane *lane, node_peer *peer, node_transfer put,
                       uint64_t org_cntr)
{
	uint64_t completion = put.notice[0] ? 0 : put.notice[1];

	if (completion)
		put.notice[1] = 0;
	if (!node_short_begin(peer) || node_has_left(peer) ||
	    node_copy_to(cshim_link_of(lane), peer, &put) != NODE_SENT)
		return CSHIM_LANE_PASS;
	if (put.notice[0]) {
		cshim_lane_sent(context, lane, peer, PUT_ERR, org_cntr, put.notice[1]);
		return CSHIM_LANE_DONE;
	}
	cshim_lane_copied(context, lane, peer->owner, peer->task, PUT_ERR, org_cntr);
	cshim_lane_count(context, lane->off, completion, PUT_ERR, peer->task, peer->task);
	return CSHIM_LANE_DONE;
}

/* The target reads all, or half. Its answer frees the buffer. */
static int put_pulled(cshim_context *context, cshim_lane *lane, node_peer *peer, node_transfer put,
                      uint64_t org_cntr, int halves, int *waited)
{
	uint64_t completion = put.notice[0] ? 0 : put.notice[1];
	node_op *op;

	if (completion)
		put.notice[1] = 0;
	op = node_pulled_put(cshim_link_of(lane), peer, NODE_BY_OWNER, &put, halves);
	if (!op)
		return CSHIM_LANE_PASS;
	cshim_lane_begun(lane, peer, op, PUT_ERR, org_cntr);
	op->tag[CSHIM_TAG_COMPLETION] = completion;
	if (put.notice[1])
		peer->owner[CSHIM_PEER_EXPECTED]++;
	if (*waited)
		*waited = cshim_lane_settle(context, lane, peer, op, put.n);
	return CSHIM_LANE_DONE;
}

/* A put by a route; *waited: it is to be timed, and then how the wait for its end has ended. */
static int put_by(cshim_context *context, cshim_lane *lane, node_peer *peer,
                  const node_transfer *put, uint64_t org_cntr, uint32_t route, int *waited)
{
	int done;

	switch (route) {
	case NODE_ROUTE_ORIGIN:
		return put_written(context, lane, peer, *put, org_cntr);
	case NODE_ROUTE_TARGET:
	case NODE_ROUTE_HALVES:
		return put_pulled(context, lane, peer, *put, org_cntr, route == NODE_ROUTE_HALVES,
		                  waited);
	}
	done = put_in_messages(context, lane, peer, *put, org_cntr, route, waited);
	if (*waited)
		*waited = done ? drained(peer, put->n) : NODE_WAIT_NOT;
	return done;
}

/*
 * 1 if a transfer wakes a target that sleeps in a wait of LAPI's: then it may take part in the next
 * ones, which may be much faster than single copies, or not: only while it is awake that can be
 * found out. It is woken for one of many; for fewer and fewer if it soon sleeps again.
 */
static int wakes(const node_link *link, node_peer *peer)
{
	if (link->routes.forced < NODE_ROUTES ||
	    __atomic_load_n(&node_head(peer->out_head)->away, __ATOMIC_RELAXED) ||
	    ++peer->slept < peer->wake_after)
		return 0;
	if (peer->sender.tail - peer->woken >= WAKE_LEAST || peer->wake_after == 0)
		peer->wake_after = WAKE_LEAST;
	else if (peer->wake_after < WAKE_MOST)
		peer->wake_after *= 2;
	peer->slept = 0;
	peer->woken = peer->sender.tail;
	return 1;
}

/* A put to a target that polls, by the route that is chosen. */
static int put_chosen(cshim_context *context, cshim_lane *lane, node_peer *peer,
                      const node_transfer *put, uint64_t org_cntr)
{
	uint32_t chosen = route_of(lane, peer, NODE_ROUTE_PUT, put->n, 0);
	uint32_t route = chosen & NODE_ROUTE_MASK;
	int timed = (chosen & NODE_ROUTE_TIMED) && alone(context, lane, peer, put->n), done;
	uint64_t begin;

	if (chosen & NODE_ROUTE_BEGINS)
		begin_stretch(context, lane, peer, put->n);
	begin = timed ? node_now_ns() : 0;
	done = put_by(context, lane, peer, put, org_cntr, route, &timed);
	if (__builtin_expect(timed && done, 0))
		node_time(cshim_link_of(lane), NODE_ROUTE_PUT, put->n, route, begin, timed);
	mind_stretch(context, lane, peer, put->n, chosen, done);
	/* Messages may do what a single copy cannot: they also say which address is bad. */
	return done || node_route_is_pipeline(route)
	               ? done
	               : put_as_known(context, lane, peer, *put, org_cntr);
}

/* A put to a target that does not poll, by a single copy: nobody else takes part in it. */
static int put_to_idle(cshim_context *context, cshim_lane *lane, node_peer *peer,
                       const node_transfer *put, uint64_t org_cntr)
{
	node_link *link = cshim_link_of(lane);
	int timed, done;
	uint64_t begin;

	timed = node_route_passed(&link->routes, NODE_ROUTE_PUT, put->n, NODE_ROUTE_ORIGIN);
	if (node_route_wakes(&link->routes, NODE_ROUTE_PUT, put->n, NODE_ROUTE_ORIGIN) &&
	    wakes(link, peer)) {
		node_route_try_soon(&link->routes, NODE_ROUTE_PUT, put->n);
		return put_as_known(context, lane, peer, *put, org_cntr);
	}
	begin = timed ? node_now_ns() : 0;
	done = put_written(context, lane, peer, *put, org_cntr);
	if (__builtin_expect(timed && done, 0))
		node_time(link, NODE_ROUTE_PUT, put->n, NODE_ROUTE_ORIGIN, begin, NODE_WAIT_OVER);
	return done;
}

int cshim_lane_put_long(cshim_context *context, cshim_lane *lane, node_peer *peer,
                        const node_transfer *put, uint64_t org_cntr)
{
	int bulk = put->n >= lane->bulk_min;

	if (!bulk &&
	    (put->n <= NODE_INLINE_MAX ||
	     (put->n < NODE_ROUTED_MIN && cshim_link_of(lane)->routes.forced == NODE_ROUTES)))
		return put_whole(context, lane, peer, put, org_cntr);
	if (put->n > CSHIM_LENGTH_MAX)
		return CSHIM_LANE_PASS;
	if (bulk)
		return peer->direct ? put_written(context, lane, peer, *put, org_cntr)
		                    : CSHIM_LANE_PASS;
	if (takes_part(lane, peer))
		return put_chosen(context, lane, peer, put, org_cntr);
	return peer->direct && put->n >= DIRECT_MIN
	               ? put_to_idle(context, lane, peer, put, org_cntr)
	               : put_as_known(context, lane, peer, *put, org_cntr);
}

void cshim_lane_put_again(cshim_context *context, cshim_lane *lane, node_peer *peer,
                          const node_event *event)
{
	node_link *link = cshim_link_of(lane);
	const node_op *op = &link->op[event->done];
	uint64_t org_cntr = op->tag[CSHIM_TAG_COUNTER], completion = op->tag[CSHIM_TAG_COMPLETION];
	node_transfer put = {
		op->local, event->addr, op->n, 0, {event->notice[0], event->notice[1]}};

	node_stretch_cut(&link->routes);
	lane->redone++; /* a fence that waits for the put waits for these messages */
	/* From here on the completion is the target's to tell, and counted as if nothing was sent.
	 */
	if (completion)
		put.notice[1] = completion;
	else if (put.notice[1])
		peer->owner[CSHIM_PEER_EXPECTED]--;
	if (!peer->closed && put_as_known(context, lane, peer, put, org_cntr))
		return;
	cshim_lane_used(lane, peer->owner);
	memcpy(link->transfer, &put, sizeof(put));
	golapi_lane_put_rest(cshim_index_of(context), peer->task, org_cntr);
}

/* This task reads the target's memory. */
static int get_read(cshim_context *context, cshim_lane *lane, node_peer *peer, node_transfer get,
                    uint64_t org_cntr)
{
	if ((get.notice[0] && !node_short_begin(peer)) || node_has_left(peer) ||
	    node_copy_from(cshim_link_of(lane), peer, &get) != NODE_SENT)
		return CSHIM_LANE_PASS;
	cshim_lane_note(lane, peer->owner, GET_ERR);
	context->msg_state |= LAPI_RECV_COMPLETE;
	cshim_lane_event(context);
	cshim_lane_count(context, lane->off, org_cntr, GET_ERR, context->task, peer->task);
	return CSHIM_LANE_DONE;
}

/* The target sends it, or writes it or a half of it here, by the route. */
static int get_asked(cshim_context *context, cshim_lane *lane, node_peer *peer,
                     const node_transfer *get, uint64_t org_cntr, uint32_t route, int *waited)
{
	node_link *link = cshim_link_of(lane);
	int sent = node_route_is_pipeline(route);
	node_op *op =
		sent ? node_get(link, peer, NODE_BY_OWNER, get->remote, get->local, get->n,
	                        get->notice[0], 0, node_get_flag(link, route))
		     : node_pushed_get(link, peer, NODE_BY_OWNER, get, route == NODE_ROUTE_HALVES);

	if (!op)
		return CSHIM_LANE_PASS;
	if (sent && node_streams(link, route, get->n))
		op->width = NODE_GET_STREAMED;
	cshim_lane_begun(lane, peer, op, GET_ERR, org_cntr);
	if (*waited)
		*waited = cshim_lane_settle(context, lane, peer, op, get->n);
	return CSHIM_LANE_DONE;
}

/* A get from a target that does not poll, or that is to be a single copy. */
static int get_from_idle(cshim_context *context, cshim_lane *lane, node_peer *peer,
                         const node_transfer *get, uint64_t org_cntr)
{
	node_link *link = cshim_link_of(lane);
	int timed, done;
	uint64_t begin;

	if (!peer->direct)
		return CSHIM_LANE_PASS;
	timed = node_route_passed(&link->routes, NODE_ROUTE_GET, get->n, NODE_ROUTE_ORIGIN);
	if (get->n < lane->bulk_min && wakes(link, peer)) {
		node_route_try_soon(&link->routes, NODE_ROUTE_GET, get->n);
		return get_asked(context, lane, peer, get, org_cntr, NODE_ROUTE_PIPELINE,
		                 &(int){0});
	}
	begin = timed ? node_now_ns() : 0;
	done = get_read(context, lane, peer, *get, org_cntr);
	if (__builtin_expect(timed && done, 0))
		node_time(link, NODE_ROUTE_GET, get->n, NODE_ROUTE_ORIGIN, begin, NODE_WAIT_OVER);
	return done;
}

int cshim_lane_get_long(cshim_context *context, cshim_lane *lane, node_peer *peer,
                        const node_transfer *get, uint64_t org_cntr)
{
	node_link *link = cshim_link_of(lane);
	int timed, done;
	uint32_t chosen, route;
	uint64_t begin;

	if (get->n >= lane->bulk_min || !takes_part(lane, peer))
		return get_from_idle(context, lane, peer, get, org_cntr);
	/* The target would change its counter while this task still reads its half. */
	chosen = route_of(lane, peer, NODE_ROUTE_GET, get->n, get->notice[0] != 0);
	route = chosen & NODE_ROUTE_MASK;
	timed = (chosen & NODE_ROUTE_TIMED) && alone(context, lane, peer, get->n);
	if (chosen & NODE_ROUTE_BEGINS)
		begin_stretch(context, lane, peer, get->n);
	begin = timed ? node_now_ns() : 0;
	done = route == NODE_ROUTE_ORIGIN && get_read(context, lane, peer, *get, org_cntr);
	if (!done) {
		timed = timed && route != NODE_ROUTE_ORIGIN;
		if (route == NODE_ROUTE_ORIGIN)
			node_stretch_cut(&link->routes);
		done = get_asked(context, lane, peer, get, org_cntr,
		                 route == NODE_ROUTE_ORIGIN ? NODE_ROUTE_PIPELINE : route, &timed);
	}
	if (__builtin_expect(timed && done, 0))
		node_time(link, NODE_ROUTE_GET, get->n, route, begin, timed);
	mind_stretch(context, lane, peer, get->n, chosen, done);
	return done;
}
