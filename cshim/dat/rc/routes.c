/*
 * routes.c - by which route a write or read goes: by one copy (direct.c), by a copy of
 * the target's (pull.c), or by messages. For long ones the chooser of LAPI's lane decides, and
 * they are timed as there (../node/timed.h). A wait that runs out also says that the peer does not
 * poll.
 */
#include "node/timed.h"
#include "dat/rc/private.h"

enum {
	TIME_EACH = 8, /* every TIME_EACH-th short request is timed */
	SLOW = 4,      /* a peer polls if its answers take at most SLOW copies' time */
	SOME_POLLS = 2 /* during one copy: the peer looks for messages all the time */
};

static int direction_of(const dat_request *request)
{
	return request->op == RC_READ ? NODE_ROUTE_GET : NODE_ROUTE_PUT;
}

/* 1 if this process may copy to and from the peer's memory. */
static int reaches(const dat_end *end)
{
	return end->config.table && dat_the_lane.table && dat_peer_of(end)->direct;
}

/* 1 if the peer looks for messages all the time, as far as is known, and can take part at once. */
static int peer_polls(const dat_end *end)
{
	int reached = reaches(end);

	return (end->route.polls || !reached) &&
	       node_takes_part(dat_link_of(end), dat_peer_of(end), reached);
}

/* The routes of a request of one segment that is long enough to choose one. */
static uint32_t routes_of(dat_end *end, const dat_request *request)
{
	uint32_t target = 1u << NODE_ROUTE_TARGET | 1u << NODE_ROUTE_HALVES;
	uint32_t routes = node_routes_for(dat_link_of(end), request->local.n, reaches(end)) &
	                  ~(1u << NODE_ROUTE_STREAMING);

	if (routes & target &&
	    (request->op != RC_WRITE || request->local.n > DAT_PULL_MAX ||
	     end->tx.sent != end->tx.posted || (end->route.unpulled && --end->route.unpulled)))
		routes &= ~target;
	return routes;
}

/*
 * The route of a request, with NODE_ROUTE_TIMED if it is to be timed. NODE_ROUTES: by messages,
 * which is best for requests that no route is chosen for.
 */
static uint32_t route_of(dat_end *end, const dat_request *request)
{
	int reached = reaches(end);
	uint32_t timed = reached && end->route.writes++ % TIME_EACH == 0 ? NODE_ROUTE_TIMED : 0;

	if (!peer_polls(end))
		return (reached ? NODE_ROUTE_ORIGIN : NODE_ROUTES) | timed;
	if (request->local.n < NODE_ROUTED_MIN)
		return NODE_ROUTES | timed;
	return node_route_of(dat_link_of(end), dat_peer_of(end), direction_of(request), request->local.n,
	                     routes_of(end, request), NODE_ROUTE_NOBODY);
}

/* How far the requests of an end are: a number that changes when one goes on. */
static uint32_t state_of(const dat_end *end)
{
	const dat_request *oldest = end->tx.posted ? rc_request_at(end, 0) : NULL;

	return end->tx.oldest + end->tx.sent + end->tx.done +
	       (oldest ? oldest->got + oldest->sent : 0);
}

/* A wait until each request before a number has taken effect. */
typedef struct settling {
	dat_end *end;
	uint32_t seq, state;
} settling;

static int look_for_end(void *object)
{
	settling *s = object;
	uint32_t state;

	if ((int32_t)(s->seq - s->end->tx.oldest) <= 0)
		return NODE_LOOK_OVER;
	rc_turn();
	if (!s->end->on)
		return NODE_LOOK_NOT;
	state = state_of(s->end);
	if (state == s->state)
		return NODE_LOOK_NOTHING;
	s->state = state;
	return NODE_LOOK_MOVED;
}

static int settle(dat_end *end, uint32_t seq, uint32_t n)
{
	settling s = {end, seq, state_of(end)};

	return node_wait(dat_peer_of(end), look_for_end, &s, n);
}

/* A peer that polls takes a nanosecond for a byte, at the most. */
void rc_learn(dat_end *end, const dat_request *request)
{
	if (cshim_now_ns() - request->begun - request->local.n > (int64_t)SLOW * end->route.ns)
		end->route.polls = 0;
}

static void timed(const dat_end *end, const dat_request *request, uint32_t route, int64_t begun,
                  int waited)
{
	node_time(dat_link_of(end), direction_of(request), request->local.n, route, (uint64_t)begun,
	          waited);
}

/* A long request that was to be timed has been sent: waits until it has taken effect. */
void rc_time(dat_end *end, dat_request *request, uint32_t seq)
{
	/* its place may be another's when it is over */
	const dat_request copy = *request;
	int waited;

	if (request->local.n < NODE_ROUTED_MIN)
		return; /* rc_learn does that */
	request->begun = 0;
	waited = settle(end, seq + 1, request->local.n);
	timed(end, &copy, copy.route, copy.begun, waited);
	if (waited != NODE_WAIT_OVER)
		end->route.polls = 0;
}

/* Copies, and sees whether the peer polls meanwhile. */
static int copy_and_look(dat_end *end, const dat_request *request)
{
	const dat_table *table = (const dat_table *)(uintptr_t)end->config.table;
	uint64_t before = __atomic_load_n(&table->polls, __ATOMIC_RELAXED);
	int done = rc_copy(end, request);

	end->route.polls = __atomic_load_n(&table->polls, __ATOMIC_RELAXED) - before >= SOME_POLLS;
	return done;
}

/* A copy has begun then, and is over. */
static void note_copy(dat_end *end, const dat_request *request, int64_t begun)
{
	int64_t ns;

	if (request->local.n >= NODE_ROUTED_MIN) {
		if (end->route.polls)
			timed(end, request, NODE_ROUTE_ORIGIN, begun, NODE_WAIT_OVER);
		return;
	}
	ns = cshim_now_ns() - begun;
	end->route.ns = ns < UINT32_MAX ? (uint32_t)ns : UINT32_MAX;
}

/*
 * 1 when every request in front has taken effect. If the peer polls and the request is long, waits
 * for that.
 */
static int is_first(dat_end *end, const dat_request *request)
{
	if (!end->tx.posted)
		return 1;
	if (request->local.n >= NODE_ROUTED_MIN && peer_polls(end))
		return settle(end, end->tx.oldest + end->tx.posted, request->local.n) == NODE_WAIT_OVER;
	rc_turn();
	return end->on && !end->tx.posted;
}

static int by_copy(dat_end *end, const dat_request *request, int to_time)
{
	int64_t begun;

	if (!is_first(end, request))
		return DAT_DIRECT_NOT;
	begun = to_time ? cshim_now_ns() : 0;
	if (!copy_and_look(end, request))
		return DAT_DIRECT_NOT;
	if (begun)
		note_copy(end, request, begun);
	rc_completion(end, request, DAT_DTO_SUCCESS);
	return DAT_DIRECT_DONE;
}

/* A request by messages: halves and timed requests only when no request is in front. */
static int by_messages(dat_end *end, dat_request *request, uint32_t route, int to_time)
{
	int first = (to_time || route == NODE_ROUTE_HALVES) && is_first(end, request);

	request->route = route == NODE_ROUTE_HALVES && !first ? NODE_ROUTES : (uint8_t)route;
	if (!to_time || !first)
		return DAT_DIRECT_NOT;
	if (route == NODE_ROUTE_WIDE)
		node_chunks_widen(dat_link_of(end), dat_peer_of(end));
	request->begun = cshim_now_ns();
	return DAT_DIRECT_NOT;
}

int rc_direct(dat_end *end, dat_request *request)
{
	uint32_t route;
	int to_time;

	if (!request->local.n)
		return DAT_DIRECT_NOT;
	/* by messages, a list of segments takes longer than by any copy */
	if (request->local.segments > 1)
		return reaches(end) ? by_copy(end, request, 0) : DAT_DIRECT_NOT;
	route = route_of(end, request);
	to_time = (route & NODE_ROUTE_TIMED) != 0;
	route &= ~NODE_ROUTE_TIMED;
	return route == NODE_ROUTE_ORIGIN ? by_copy(end, request, to_time)
	                                  : by_messages(end, request, route, to_time);
}
