/*
 * lane_direct.c - RDMA writes and reads by one copy between the two processes of a connection. The
 * origin makes it alone: it finds in the peer's protection table (dat_table) what the target would
 * look up. The target takes no part, and need not run.
 *
 * Order: only when every request in front has taken effect, and such a request is over when the
 * call returns. So it needs no number, and the connection's protocol does not know of it. Whatever
 * is not as it should be goes by messages: then the target says what is wrong.
 */
#include "../node/put.h"
#include "dat_lane_shared.h"

enum {
	PART = 1 << 20,    /* bytes of one copy: who frees the memory waits for it */
	LINE = 64,         /* what the processor makes seen at a time */
	ROUTED_MIN = 2048, /* as LAPI's: with less a choice costs more than it may bring */
	TIME_EACH = 8,     /* so many short writes from one that is timed to the next */
	SLOW = 4,          /* a peer polls whose writes take at most so many copies' time */
	LOOKS = 4000,      /* for the end of a long write that is timed, and one more */
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

/*
 * How many of the n bytes at an address come last, in a copy of their own: those in the last line,
 * since programs look at the last byte. What the kernel copies at once is a string instruction's,
 * whose stores are seen in any order.
 */
static uint64_t last_line(uint64_t at, uint64_t n)
{
	uint64_t in_line = (at + n - 1) % LINE + 1;

	return n > in_line ? in_line : 0;
}

/* Copies n bytes of a request, and some at the least: 0 if it cannot. */
static uint64_t copy_part(const dat_end *end, const dat_request *request, uint64_t at, uint64_t n)
{
	dat_table *own = (dat_table *)(uintptr_t)dat_the_lane.table;
	uint64_t last = 0, moved = 0, there;
	node_range here = {request->at + at, n}, ranges[2];

	/* pairs with core's look at it, when that has cleared what place_there looks at */
	__atomic_store_n(&own->copies, own->copies + 1, __ATOMIC_RELAXED);
	cshim_full_fence();
	there = place_there(end, request);
	if (there) {
		if (request->op == DAT_LANE_WRITE && at + n == request->n)
			last = last_line(there + at, n);
		ranges[0] = (node_range){there + at, n - last};
		ranges[1] = (node_range){there + at + n - last, last};
		node_copy_ranges(dat_link_of(end), dat_peer_of(end), request->op == DAT_LANE_READ,
		                 &here, 1, ranges, last ? 2 : 1, &moved);
	}
	__atomic_store_n(&own->copies, own->copies + 1, __ATOMIC_RELEASE);
	return moved;
}

static int copy(const dat_end *end, const dat_request *request)
{
	uint64_t at = 0;

	while (at < request->n) {
		uint64_t left = request->n - at;
		uint64_t moved = copy_part(end, request, at, left < PART ? left : PART);

		if (!moved)
			return 0;
		at += moved;
	}
	return 1;
}

/* The route of a write, with NODE_ROUTE_TIMED if it is to be timed. */
static uint32_t route_of(dat_end *end, const dat_request *request)
{
	node_link *link = dat_link_of(end);
	uint32_t timed = end->writes++ % TIME_EACH == 0 ? NODE_ROUTE_TIMED : 0;

	if (!end->polls || !node_polls(dat_peer_of(end)))
		return NODE_ROUTE_ORIGIN | timed;
	if (request->n < ROUTED_MIN)
		return NODE_ROUTE_PIPELINE | timed;
	return node_route_choose(&link->routes, NODE_ROUTE_PUT, request->n,
	                         1u << NODE_ROUTE_PIPELINE | 1u << NODE_ROUTE_ORIGIN,
	                         node_chunk_step(link, request->n),
	                         dat_peer_of(end)->sender.turn == link->turn);
}

/* A peer that polls takes a nanosecond for a byte, at the most. */
void dat_lane_learn(dat_end *end, const dat_request *request)
{
	if (cshim_now_ns() - request->begun - request->n > (int64_t)SLOW * end->direct_ns)
		end->polls = 0;
}

/* A long write that was to be timed has been sent: waits until the peer has taken it. */
void dat_lane_time(dat_end *end, dat_request *request)
{
	node_peer *peer = dat_peer_of(end);
	int64_t begun = request->begun;

	if (!begun || request->n < ROUTED_MIN)
		return;
	request->begun = 0;
	if (node_await_consumed(peer, peer->sender.tail, LOOKS + (int)(request->n / LOOK_BYTES)) ==
	    NODE_SENT)
		node_route_timed(&dat_link_of(end)->routes, NODE_ROUTE_PUT, request->n,
		                 NODE_ROUTE_PIPELINE, (uint64_t)(cshim_now_ns() - begun));
	else
		end->polls = 0;
}

/* Copies, and sees whether the peer polls meanwhile. */
static int copy_and_look(dat_end *end, const dat_request *request)
{
	const dat_table *table = (const dat_table *)(uintptr_t)end->table;
	uint64_t before = __atomic_load_n(&table->polls, __ATOMIC_RELAXED);
	int done = copy(end, request);

	end->polls = __atomic_load_n(&table->polls, __ATOMIC_RELAXED) - before >= SOME_POLLS;
	return done;
}

/* A copy took so long. */
static void note_copy(dat_end *end, const dat_request *request, int64_t ns)
{
	if (request->n < ROUTED_MIN)
		end->direct_ns = ns < UINT32_MAX ? (uint32_t)ns : UINT32_MAX;
	else if (end->polls)
		node_route_timed(&dat_link_of(end)->routes, NODE_ROUTE_PUT, request->n,
		                 NODE_ROUTE_ORIGIN, (uint64_t)ns);
}

/* 1 when every request in front has taken effect, and there is a place for the event. */
static int is_next(dat_end *end, const dat_request *request)
{
	int looks =
		end->polls && request->n >= ROUTED_MIN ? LOOKS + (int)(request->n / LOOK_BYTES) : 1;

	for (; end->posted && looks > 0 && !end->stuck; looks--)
		dat_lane_turn();
	return !end->posted && !end->stuck &&
	       (request->completion & DAT_COMPLETION_SUPPRESS_FLAG ||
	        dat_queue_place(end->request));
}

static int write_by_route(dat_end *end, dat_request *request)
{
	uint32_t route = route_of(end, request);
	int64_t begun;

	if (route == NODE_ROUTE_PIPELINE || !is_next(end, request))
		return 0;
	begun = route & NODE_ROUTE_TIMED ? cshim_now_ns() : 0;
	if ((route & ~NODE_ROUTE_TIMED) == NODE_ROUTE_PIPELINE) {
		request->begun = begun;
		return 0;
	}
	if (!copy_and_look(end, request))
		return 0;
	if (begun)
		note_copy(end, request, cshim_now_ns() - begun);
	return 1;
}

static int read_by_copy(dat_end *end, const dat_request *request)
{
	return is_next(end, request) && copy_and_look(end, request);
}

int dat_lane_direct(dat_end *end, dat_request *request)
{
	if (!end->table || !dat_the_lane.table || !dat_peer_of(end)->direct || !request->n ||
	    dat_coin())
		return 0;
	if (!(request->op == DAT_LANE_READ ? read_by_copy(end, request)
	                                   : write_by_route(end, request)))
		return 0;
	return dat_lane_completion(end, request);
}
