/*
 * lane_direct.c - RDMA writes and reads by one copy between the two processes of a connection. The
 * origin makes it alone: it finds in the peer's protection table (dat_table) what the target would
 * look up. The target takes no part, and need not run.
 *
 * Order: only when every request in front has taken effect, and such a request is over when the
 * call returns. So it needs no number, and the connection's protocol does not know of it. Whatever
 * is not as it should be goes by messages: then the target says what is wrong.
 *
 * And the choice between this and messages, as LAPI's lane makes it, with the same chooser.
 */
#include "dat_lane_shared.h"

enum {
	ROUTED_MIN = 2048, /* as LAPI's: with less a choice costs more than it may bring */
	TIME_EACH = 8,     /* so many short requests from one that is timed to the next */
	SLOW = 4,          /* a peer polls whose answers take at most so many copies' time */
	LOOKS = 4000,      /* for the end of a long request that is timed, and one more */
	LOOK_BYTES = 64,   /* for so many bytes of it */
	SOME_POLLS = 2     /* during one copy: the peer looks for messages all the time */
};

/* Where the peer's memory is that a request names; 0: it may not be accessed so. */
static uint64_t place_there(const dat_end *end, const dat_request *request)
{
	const dat_table *table = (const dat_table *)(uintptr_t)end->table;
	const dat_open *open = table->ends + end->peer_index;

	if (end->peer_index >= DAT_TABLE_ENDS || !__atomic_load_n(&open->open, __ATOMIC_ACQUIRE) ||
	    open->tag != end->peer_tag)
		return 0;
	return dat_memory_in(table, open->pz, request->context, request->addr, request->n,
	                     request->op == DAT_LANE_READ ? DAT_MEM_PRIV_REMOTE_READ_FLAG
	                                                  : DAT_MEM_PRIV_REMOTE_WRITE_FLAG,
	                     1);
}

/* The part of a list from byte at on, n bytes, as a list of its own; how many ranges it has. */
static uint32_t part_of(const node_range *list, uint32_t ranges, uint64_t at, uint64_t n,
                        node_range *part)
{
	uint32_t i, count = 0;

	for (i = 0; i < ranges && n; i++) {
		uint64_t left = list[i].n - at;

		if (at >= list[i].n) {
			at -= list[i].n;
			continue;
		}
		part[count++] = (node_range){list[i].addr + at, left < n ? left : n};
		n -= left < n ? left : n;
		at = 0;
	}
	return count;
}

uint64_t dat_lane_copy_part(const dat_end *end, const dat_request *request, const node_range *local,
                            uint32_t ranges, uint64_t at, uint64_t n)
{
	dat_table *own = (dat_table *)(uintptr_t)dat_the_lane.table;
	node_range here[DAT_LANE_SEGMENTS], remote[2];
	uint64_t last = 0, moved = 0, there;

	ranges = part_of(local, ranges, at, n, here);
	/* pairs with core's look at it, when that has cleared what place_there looks at */
	__atomic_store_n(&own->copies, own->copies + 1, __ATOMIC_RELAXED);
	cshim_full_fence();
	there = place_there(end, request);
	if (there) {
		if (request->op == DAT_LANE_WRITE && at + n == request->n)
			last = dat_last_line(there + at, n);
		remote[0] = (node_range){there + at, n - last};
		remote[1] = (node_range){there + at + n - last, last};
		node_copy_ranges(dat_link_of(end), dat_peer_of(end), request->op == DAT_LANE_READ,
		                 here, ranges, remote, last ? 2 : 1, &moved);
	}
	__atomic_store_n(&own->copies, own->copies + 1, __ATOMIC_RELEASE);
	return moved;
}

static int copy(const dat_end *end, const dat_request *request, const node_range *local,
                uint32_t ranges)
{
	uint64_t at = 0;

	while (at < request->n) {
		uint64_t left = request->n - at;
		uint64_t moved = dat_lane_copy_part(end, request, local, ranges, at,
		                                    left < DAT_COPY_PART ? left : DAT_COPY_PART);

		if (!moved)
			return 0;
		at += moved;
	}
	return 1;
}

static int direction_of(const dat_request *request)
{
	return request->op == DAT_LANE_READ ? NODE_ROUTE_GET : NODE_ROUTE_PUT;
}

/* The routes of a request of one segment that is long enough to choose one. */
static uint32_t routes_of(dat_end *end, const dat_request *request)
{
	uint32_t routes = 1u << NODE_ROUTE_PIPELINE | 1u << NODE_ROUTE_ORIGIN;
	int forced = dat_link_of(end)->routes.forced < NODE_ROUTES;

	if (request->op == DAT_LANE_WRITE && (request->n >= DAT_PULL_MIN || forced) &&
	    request->n <= DAT_PULL_MAX && end->sent == end->posted &&
	    (!end->unpulled || !--end->unpulled))
		routes |= 1u << NODE_ROUTE_TARGET | 1u << NODE_ROUTE_HALVES;
	return routes;
}

/* The route of a request, with NODE_ROUTE_TIMED if it is to be timed. */
static uint32_t route_of(dat_end *end, const dat_request *request)
{
	node_link *link = dat_link_of(end);
	uint32_t timed = end->writes++ % TIME_EACH == 0 ? NODE_ROUTE_TIMED : 0;

	if (!end->polls || !node_polls(dat_peer_of(end)))
		return NODE_ROUTE_ORIGIN | timed;
	if (request->n < ROUTED_MIN)
		return NODE_ROUTE_PIPELINE | timed;
	return node_route_choose(&link->routes, direction_of(request), request->n,
	                         routes_of(end, request), node_chunk_step(link, request->n),
	                         dat_peer_of(end)->sender.turn == link->turn);
}

/* A peer that polls takes a nanosecond for a byte, at the most. */
void dat_lane_learn(dat_end *end, const dat_request *request)
{
	if (cshim_now_ns() - request->begun - request->n > (int64_t)SLOW * end->direct_ns)
		end->polls = 0;
}

static int looks_for(const dat_request *request)
{
	return LOOKS + (int)(request->n / LOOK_BYTES);
}

/* A long request that was to be timed has been sent: waits until it has taken effect. */
void dat_lane_time(dat_end *end, dat_request *request, uint32_t seq)
{
	int64_t begun = request->begun;
	int looks = looks_for(request);

	if (request->n < ROUTED_MIN)
		return; /* dat_lane_learn does that */
	request->begun = 0;
	while (looks-- > 0 && end->on && !end->stuck && (int32_t)(seq - end->oldest) >= 0)
		dat_lane_turn();
	if (!end->on || end->stuck)
		return;
	if ((int32_t)(seq - end->oldest) < 0)
		node_route_timed(&dat_link_of(end)->routes, direction_of(request), request->n,
		                 request->route, (uint64_t)(cshim_now_ns() - begun));
	else
		end->polls = 0;
}

/* Copies, and sees whether the peer polls meanwhile. */
static int copy_and_look(dat_end *end, const dat_request *request, const node_range *local,
                         uint32_t ranges)
{
	const dat_table *table = (const dat_table *)(uintptr_t)end->table;
	uint64_t before = __atomic_load_n(&table->polls, __ATOMIC_RELAXED);
	int done = copy(end, request, local, ranges);

	end->polls = __atomic_load_n(&table->polls, __ATOMIC_RELAXED) - before >= SOME_POLLS;
	return done;
}

/* A copy took so long. */
static void note_copy(dat_end *end, const dat_request *request, int64_t ns)
{
	if (request->n < ROUTED_MIN)
		end->direct_ns = ns < UINT32_MAX ? (uint32_t)ns : UINT32_MAX;
	else if (end->polls)
		node_route_timed(&dat_link_of(end)->routes, direction_of(request), request->n,
		                 NODE_ROUTE_ORIGIN, (uint64_t)ns);
}

/* 1 when every request in front has taken effect. */
static int is_first(dat_end *end, const dat_request *request)
{
	int looks = end->polls && request->n >= ROUTED_MIN ? looks_for(request) : 1;

	for (; end->posted && looks > 0 && end->on && !end->stuck; looks--)
		dat_lane_turn();
	return end->on && !end->posted && !end->stuck;
}

/* 1 if the event of a request that is complete at once has a place. */
static int has_place(const dat_end *end, const dat_request *request)
{
	return request->completion & DAT_COMPLETION_SUPPRESS_FLAG || dat_queue_place(end->request);
}

static int by_copy(dat_end *end, const dat_request *request, const node_range *local,
                   uint32_t ranges, int timed)
{
	int64_t begun;

	if (!is_first(end, request) || !has_place(end, request))
		return DAT_DIRECT_NOT;
	begun = timed ? cshim_now_ns() : 0;
	if (!copy_and_look(end, request, local, ranges))
		return DAT_DIRECT_NOT;
	if (begun)
		note_copy(end, request, cshim_now_ns() - begun);
	return dat_lane_completion(end, request) ? DAT_DIRECT_DONE : DAT_DIRECT_NOT;
}

/* What goes by messages: halves and what is timed only when nothing is in front. */
static int by_messages(dat_end *end, dat_request *request, uint32_t route, int timed)
{
	int first = (timed || route == NODE_ROUTE_HALVES) && is_first(end, request);

	request->route =
		route == NODE_ROUTE_HALVES && !first ? NODE_ROUTE_PIPELINE : (uint8_t)route;
	if (timed && first && request->route == route)
		request->begun = cshim_now_ns();
	return DAT_DIRECT_NOT;
}

int dat_lane_direct(dat_end *end, dat_request *request, const node_range *local, uint32_t ranges)
{
	uint32_t route;
	int timed;

	if (!end->table || !dat_the_lane.table || !dat_peer_of(end)->direct || !request->n ||
	    dat_coin())
		return DAT_DIRECT_NOT;
	/* a list of segments goes by one copy or is core's, which takes longer than any copy */
	if (ranges > 1)
		return by_copy(end, request, local, ranges, 0);
	route = route_of(end, request);
	timed = (route & NODE_ROUTE_TIMED) != 0;
	route &= ~NODE_ROUTE_TIMED;
	return route == NODE_ROUTE_ORIGIN ? by_copy(end, request, local, 1, timed)
	                                  : by_messages(end, request, route, timed);
}
