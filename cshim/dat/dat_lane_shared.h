/* dat_lane_shared.h - what the files of the lane share: messages, contexts, ends. Private to
 * cshim/dat. Everything runs under the block's lock. */
#ifndef DAT_LANE_SHARED_H
#define DAT_LANE_SHARED_H

#include "../node/receive.h"
#include "lane_calls.h"

/* The messages of core/dat/rc (wire.go) that the lane knows; it leaves the others to core. */
#define DAT_MSG_DATA 1
#define DAT_MSG_DONE 4

/* Flags of a header. */
#define DAT_FLAG_IMMEDIATE 1u
#define DAT_FLAG_INVALIDATE 2u
#define DAT_FLAG_SOLICITED 4u

/* In front of every message, as wire.go has it. */
typedef struct dat_header {
	uint32_t conn, tag;
	uint32_t seq;
	uint8_t op, flags, attempt, status;
	uint32_t total, offset;
	uint64_t addr;
	uint32_t context, immediate;
	uint32_t number, zero;
} dat_header;

_Static_assert(sizeof(dat_header) == 48, "as core/dat/rc/wire.go has it");
_Static_assert(sizeof(((dat_end *)0)->coming) == sizeof(dat_header), "there is room for it");

static inline node_link *dat_link_of(const dat_end *end)
{
	return (node_link *)(uintptr_t)end->link;
}

static inline node_peer *dat_peer_of(const dat_end *end)
{
	return (node_peer *)(uintptr_t)end->peer;
}

static inline dat_request *dat_request_at(const dat_end *end, uint32_t number)
{
	return (dat_request *)(uintptr_t)end->requests + number % DAT_LANE_WINDOW;
}

static inline dat_receive *dat_receive_at(const dat_end *end, uint32_t number)
{
	return (dat_receive *)(uintptr_t)end->receives + number % end->room;
}

/*
 * Where n bytes are that a context of a table names for a zone, as the program or the peer counts
 * them; 0: they are not to be accessed so. need: privileges, all of which it must have. windows: it
 * may be an RMR's.
 */
static inline uint64_t dat_memory_in(const dat_table *table, uint64_t pz, uint32_t context,
                                     uint64_t addr, uint64_t n, uint16_t need, int windows)
{
	uint32_t index = context & DAT_CONTEXT_INDEX;
	const dat_name *c = table->names + index;
	uint64_t start;

	if (index >= DAT_TABLE_NAMES || context == 0 ||
	    __atomic_load_n(&c->context, __ATOMIC_ACQUIRE) != context || c->pz != pz ||
	    (c->privileges & need) != need || (c->window && !windows))
		return 0;
	start = c->zerobased ? 0 : c->addr;
	/* what lies before it wraps round, past its end */
	if (addr - start > c->n || n > c->n - (addr - start))
		return 0;
	return c->addr + (addr - start);
}

/* The same of this process's memory, for an end's zone. */
static inline uint64_t dat_memory_of(const dat_end *end, uint32_t context, uint64_t addr,
                                     uint64_t n, uint16_t need, int windows)
{
	const dat_table *table = (const dat_table *)(uintptr_t)dat_the_lane.table;

	return table ? dat_memory_in(table, end->pz, context, addr, n, need, windows) : 0;
}

/* lane_post.c: sends what requests have not sent yet. 1: all of it went. */
int dat_lane_send(dat_end *end);

/*
 * lane_direct.c: does a write or read by one copy between the two processes, if that is possible,
 * and for a write the best. 1: it is done. 0: it is to go by messages.
 */
int dat_lane_direct(dat_end *end, dat_request *request);
/* After a write that is to go by messages was sent. */
void dat_lane_time(dat_end *end, dat_request *request);
/* Such a write that is still timed is done. */
void dat_lane_learn(dat_end *end, const dat_request *request);

/* lane_receive.c: the event of a request that has succeeded, if it is to have one; 0: core must do
 * it. */
int dat_lane_completion(const dat_end *end, const dat_request *request);

#endif
