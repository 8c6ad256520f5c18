/*
 * direct.c - RDMA writes and reads by one copy between the two processes of a connection. The
 * origin makes it alone: it finds in the peer's protection table (dat_table) what the target would
 * look up. The target takes no part, and need not run.
 *
 * Order: only when every request in front has taken effect, and such a request is over when the
 * call returns. So it needs no number, and the connection's protocol does not know of it. A request
 * with an error goes by messages: then the target reports the error.
 */
#include "dat/rc/private.h"

int rc_scatter(uint64_t zone, int window, const dat_local *local, uint32_t offset, const void *from,
               uint64_t n)
{
	const dat_segment *segments = rc_segments(local);
	const unsigned char *next = from;
	uint32_t i;

	for (i = 0; i < local->segments && n; i++) {
		uint64_t at, part = segments[i].n - offset;

		if (offset >= segments[i].n) {
			offset -= segments[i].n;
			continue;
		}
		part = part < n ? part : n;
		at = rc_own(zone, window, segments + i);
		if (!at || node_guarded_copy(node_memory_at(at + offset), next, part))
			return 0;
		next += part;
		n -= part;
		offset = 0;
	}
	return n == 0;
}

/* Where the peer's memory is that a request names; 0: it may not be accessed so. */
static uint64_t place_there(const dat_end *end, const dat_request *request)
{
	const dat_table *table = (const dat_table *)(uintptr_t)end->config.table;
	const dat_open *open = table->ends + end->config.peer_index;

	if (end->config.peer_index >= DAT_TABLE_ENDS ||
	    !__atomic_load_n(&open->open, __ATOMIC_ACQUIRE) ||
	    __atomic_load_n(&open->tag, __ATOMIC_RELAXED) != end->config.peer_tag)
		return 0;
	return dat_memory_in(table, open->pz, request->context, request->addr, request->local.n,
	                     request->op == RC_READ ? DAT_MEM_PRIV_REMOTE_READ_FLAG
	                                                  : DAT_MEM_PRIV_REMOTE_WRITE_FLAG,
	                     1);
}

/* The part of own memory from byte at on, n bytes, as a list of ranges; how many these are. */
static uint32_t part_of(const dat_local *local, uint64_t at, uint64_t n, node_range *part)
{
	const dat_segment *list = rc_segments(local);
	uint32_t i, count = 0;

	for (i = 0; i < local->segments && n; i++) {
		uint64_t left = list[i].n - at;

		if (at >= list[i].n) {
			at -= list[i].n;
			continue;
		}
		part[count++] = (node_range){list[i].at + at, left < n ? left : n};
		n -= left < n ? left : n;
		at = 0;
	}
	return count;
}

uint64_t rc_copy_part(const dat_end *end, const dat_request *request, uint64_t at, uint64_t n)
{
	dat_table *own = (dat_table *)(uintptr_t)dat_the_lane.table;
	node_range here[DAT_SEGMENTS], remote[2];
	uint32_t ranges = part_of(&request->local, at, n, here);
	uint64_t last = 0, moved = 0, there;

	/* pairs with core's look at it, when that has cleared what place_there looks at */
	__atomic_store_n(&own->copies, CSHIM_OWN(own->copies) + 1, __ATOMIC_RELAXED);
	cshim_full_fence();
	there = place_there(end, request);
	if (there) {
		if (request->op == RC_WRITE && at + n == request->local.n)
			last = dat_last_part(there + at, n);
		remote[0] = (node_range){there + at, n - last};
		remote[1] = (node_range){there + at + n - last, last};
		node_copy_ranges(dat_link_of(end), dat_peer_of(end), request->op == RC_READ,
		                 here, ranges, remote, last ? 2 : 1, &moved);
	}
	__atomic_store_n(&own->copies, CSHIM_OWN(own->copies) + 1, __ATOMIC_RELEASE);
	return moved;
}

int rc_copy(const dat_end *end, const dat_request *request)
{
	uint64_t at = 0;

	while (at < request->local.n) {
		uint64_t left = request->local.n - at;
		uint64_t moved = rc_copy_part(end, request, at,
		                              left < DAT_COPY_PART ? left : DAT_COPY_PART);

		if (!moved)
			return 0;
		at += moved;
	}
	return 1;
}
