/* private.h - messages, memory by context, ends: the common ground of this room's files. Everything
 * runs under the block's lock. */
#ifndef DAT_RC_PRIVATE_H
#define DAT_RC_PRIVATE_H

#include <stdlib.h>

#include "dat/evd/evd.h"
#include "dat/rc/rc.h"
#include "node/arm.h"
#include "node/put.h"
#include "node/receive.h"

/*
 * The messages. Those before PULL are also core/dat/rc's (wire.go), over links that lose their
 * order; here they come in order, but for those that core had held back, and are sent again from some
 * request on (READY) where that could not be taken.
 */
#define DAT_MSG_DATA 1
#define DAT_MSG_ASK 2 /* dat_ask */
#define DAT_MSG_REPLY 3
#define DAT_MSG_DONE 4
#define DAT_MSG_NOT_READY 5
#define DAT_MSG_READY 6
#define DAT_MSG_END 7
#define DAT_MSG_PULL 8 /* dat_ask */
#define DAT_MSG_HALF 9
#define DAT_MSG_LAST DAT_MSG_HALF

/* Flags of a header, beside those of rc.h. */
#define DAT_FLAG_ERROR 8u /* of DAT_MSG_END */
/* Of a read that is asked for: how the answer is written to chunks, NODE_HOW_ << DAT_FLAG_HOW_AT.
 * Without the flag that is the target's choice. */
#define DAT_FLAG_HOW 16u
#define DAT_FLAG_HOW_AT 5

/* In front of every message, as wire.go has it. */
typedef struct dat_header {
	uint32_t conn, tag;
	uint32_t seq;
	uint8_t op, flags, attempt, status;
	uint32_t total, offset;
	uint64_t addr;
	uint32_t context, immediate;
	uint32_t number; /* of DAT_MSG_END: as done */
	uint32_t done;   /* of DATA and REPLY: each request of the receiver's before it has taken
	                  * effect */
} dat_header;

/* Of DAT_MSG_ASK, and DAT_MSG_PULL, which is a write whose data the target reads. */
typedef struct dat_ask {
	dat_header header;
	uint64_t operand; /* of an atomic operation; of a pull: where the origin has the data */
	uint64_t
		compare; /* of a pull: bytes at the beginning that the origin writes by itself */
} dat_ask;

_Static_assert(sizeof(dat_ask) == 64, "likewise");
_Static_assert(DAT_TABLE_ENDS / 64 <= 64, "a bit of some_waiting for each word");
_Static_assert(sizeof(dat_header) == 48, "as core/dat/rc/wire.go has it");
_Static_assert(sizeof(((dat_end *)0)->rx.coming) == sizeof(dat_ask), "there is room for it");

_Static_assert(sizeof(dat_request) <= 128, "dat_clear can");

static inline node_link *dat_link_of(const dat_end *end)
{
	return (node_link *)(uintptr_t)end->config.link;
}

static inline node_peer *dat_peer_of(const dat_end *end)
{
	return (node_peer *)(uintptr_t)end->config.peer;
}

/* The i-th request from the oldest on, and of a queue the i-th receive. */
static inline dat_request *rc_request_at(const dat_end *end, uint32_t i)
{
	return dat_ring_at(&end->tx.ring, i, sizeof(dat_request));
}

static inline dat_receive *rc_receive_at(const dat_receives *queue, uint32_t i)
{
	return dat_ring_at(&queue->ring, i, sizeof(dat_receive));
}

enum { RC_ROOM_FIRST = 16, RC_ROOM_MOST = 1 << 20 }; /* of both; core/dat's MaxDTOs */

static inline const dat_segment *rc_segments(const dat_local *local)
{
	return local->more ? (const dat_segment *)(uintptr_t)local->more : &local->first;
}

/* A request or receive that is over has its list freed. */
static inline void rc_release(dat_local *local)
{
	if (__builtin_expect(local->more != 0, 0)) {
		free((void *)(uintptr_t)local->more);
		local->more = 0;
	}
}

/* A request may have to wait: bits of held. */
#define RC_HELD_ASKS 1u  /* it asks for something: there is a bound */
#define RC_HELD_FENCE 2u /* until nothing is asked for */
#define RC_HELD_TURN 4u  /* until it is the oldest: it is bad, or a bind */

static inline int rc_asks(const dat_request *request)
{
	return request->op >= RC_READ && request->op <= RC_ADD;
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

	return table ? dat_memory_in(table, end->config.pz, context, addr, n, need, windows) : 0;
}

/*
 * Where n bytes of this process's memory are that the program names itself, to be written; 0: they
 * may not be. window: an RMR's context names them.
 */
static inline uint64_t rc_own(uint64_t zone, int window, const dat_segment *s)
{
	const dat_table *table = (const dat_table *)(uintptr_t)dat_the_lane.table;
	const dat_name *name = table->names + (s->context & DAT_CONTEXT_INDEX) % DAT_TABLE_NAMES;

	if (__builtin_expect(!window, 1))
		return dat_memory_in(table, zone, s->context, s->addr, s->n,
		                     DAT_MEM_PRIV_LOCAL_WRITE_FLAG, 0);
	return name->window && name->privileges & (DAT_MEM_PRIV_REMOTE_WRITE_FLAG |
	                                           DAT_MEM_PRIV_LOCAL_WRITE_FLAG)
	               ? dat_memory_in(table, zone, s->context, s->addr, s->n, 0, 1)
	               : 0;
}

#define RC_NOT_ACCESSIBLE (DAT_CLASS_ERROR | DAT_PROTECTION_VIOLATION | DAT_PROTECTION_WRITE)
#define RC_NO_MEMORY (DAT_CLASS_ERROR | DAT_INSUFFICIENT_RESOURCES | DAT_RESOURCE_MEMORY)

/* A segment that a post names, where its memory is; 0: it may not be accessed so. */
static inline int rc_find_segment(uint64_t pz, int access, const DAT_LMR_TRIPLET *named,
                                  dat_segment *s)
{
	const dat_table *table = (const dat_table *)(uintptr_t)dat_the_lane.table;

	s->addr = named->virtual_address;
	s->n = (uint32_t)named->segment_length;
	s->context = named->lmr_context;
	s->at = !s->n                  ? 1
	        : access == RC_READ_IT ? dat_memory_in(table, pz, s->context, s->addr, s->n, 0, 0)
	                               : rc_own(pz, access == RC_WRITE_WINDOW, s);
	return s->at != 0;
}

/* receives.c: the segments of a post of several. */
DAT_RETURN rc_find_list(uint64_t pz, int access, DAT_COUNT count, const DAT_LMR_TRIPLET *list,
                        dat_local *local);

/* Fills in the own memory of a post, whose n, segments and more are 0. DAT_SUCCESS,
 * RC_NOT_ACCESSIBLE or RC_NO_MEMORY. */
static inline DAT_RETURN rc_find_local(uint64_t pz, int access, DAT_COUNT count,
                                       const DAT_LMR_TRIPLET *list, dat_local *local)
{
	if (__builtin_expect(count > 1, 0))
		return rc_find_list(pz, access, count, list, local);
	if (!count)
		return DAT_SUCCESS;
	if (__builtin_expect(!rc_find_segment(pz, access, list, &local->first), 0))
		return RC_NOT_ACCESSIBLE;
	local->n = local->first.n;
	local->segments = local->n > 0;
	return DAT_SUCCESS;
}

/* direct.c: writes n bytes to own memory, from an offset on. 0: they may not be written. */
int rc_scatter(uint64_t zone, int window, const dat_local *local, uint32_t offset, const void *from,
               uint64_t n);

/*
 * How many of the n bytes at an address come last, in a copy of their own, since programs look at
 * the last byte. The bytes that the kernel copies at once become visible in any order; between two
 * ranges of one call it lets go of the target's pages, which is a full barrier
 * (docs/dev/memory-order.md).
 */
static inline uint64_t dat_last_part(uint64_t at, uint64_t n)
{
	uint64_t last = cshim_last_bytes(at + n);

	return n > last ? last : 0;
}

/* Writes the header of a message about a request: each member. */
static inline void dat_write_header(dat_header *header, const dat_end *end, uint32_t seq,
                                    const dat_request *request)
{
	header->conn = end->config.peer_index;
	header->tag = end->config.peer_tag;
	header->seq = seq;
	header->op = request->op;
	header->flags = request->flags & 0xf;
	header->attempt = request->attempt;
	header->status = 0;
	header->total = request->local.n;
	header->offset = request->sent;
	header->addr = request->addr;
	header->context = request->context;
	header->immediate = request->data;
	header->number = 0;
	header->done = end->rx.expected;
}

/* Such a header by itself. */
static inline dat_header dat_header_of(const dat_end *end, uint32_t seq, const dat_request *request)
{
	dat_header header;

	dat_write_header(&header, end, seq, request);
	return header;
}

/* post.c: posts a request that was judged. */
DAT_RETURN rc_post_node(dat_end *end, const dat_post *post);
/* A request to fill in, behind the others, which tx.posted++ adds; NULL: there is no memory. */
dat_request *rc_new_request(dat_end *end);
/* Sends requests that may begin. */
void rc_send(dat_end *end);
/* Goes on with the requests that have waited, after one is complete, or found bad. */
void rc_advance(dat_end *end);

/* Results of rc_direct. */
#define DAT_DIRECT_DONE 1 /* it is complete */
#define DAT_DIRECT_NOT 0  /* it is to go by messages; request->route and begun say how */

/* routes.c: chooses how a write or read goes, and does it if that is one copy between the two
 * processes. */
int rc_direct(dat_end *end, dat_request *request);
/* After a request that is to go by messages, and timed, was sent. */
void rc_time(dat_end *end, dat_request *request, uint32_t seq);
/* Such a request that is still timed is done. */
void rc_learn(dat_end *end, const dat_request *request);

/* 1 if the target is to copy data of a write, or half. */
static inline int dat_is_pulled(const dat_request *request)
{
	return request->route == NODE_ROUTE_TARGET || request->route == NODE_ROUTE_HALVES;
}

/*
 * direct.c: rc_copy copies all of a request; 0: it could not. rc_copy_part copies n bytes of it,
 * from at on, by one system call; 0 if it cannot, else how many. The peer's rights are looked up
 * for each.
 */
int rc_copy(const dat_end *end, const dat_request *request);
#define DAT_COPY_PART (1u << 20) /* bytes of one copy: freeing the memory waits for it */
uint64_t rc_copy_part(const dat_end *end, const dat_request *request, uint64_t at, uint64_t n);

/* pull.c: sends a write whose data the target reads, all or half. NODE_SENT, or why not. */
#define DAT_PULL_MAX NODE_COPY_MAX
#define DAT_UNPULLED 64 /* requests until the next, if the peer has not read one */
int rc_pull(dat_end *end, uint32_t seq, dat_request *request);
/* Receives such a message. */
void rc_pulled(dat_end *end, const dat_ask *pull);
void rc_half(dat_end *end, const dat_header *header, const node_arrival *arrival);

/* ask.c: asks for the data of a read or atomic operation. NODE_SENT, or why not. */
int rc_ask(dat_end *end, uint32_t seq, dat_request *request);
/* Receives such a request, or an answer. */
void rc_asked(dat_end *end, const dat_ask *ask);
void rc_reply(dat_end *end, const dat_header *header, const node_arrival *arrival);
/* Goes on with an answer that found no room. */
void rc_answer(dat_end *end);

/* done.c: the event of a request, if it is to have one. */
void rc_completion(const dat_end *end, const dat_request *request, uint32_t status);
/* Takes the oldest request out. */
void rc_pop(dat_end *end);
/* Completes requests, now that each before seq has taken effect. */
void rc_done(dat_end *end, uint32_t seq);
/* A request was sent: its completion is looked for. */
void rc_await(const dat_end *end);
/* Sends the messages that are due to the peer, as far as there is room. */
void rc_tell(dat_end *end);
/* The peer's oldest request has taken effect. */
void rc_passed(dat_end *end);

/* A receive to fill in, behind the others of a queue, which count++ adds; NULL: there is no memory. */
static inline dat_receive *rc_new_receive(dat_receives *queue)
{
	if (__builtin_expect(queue->count == queue->ring.room, 0) &&
	    !dat_ring_grow(&queue->ring, queue->count, sizeof(dat_receive), RC_ROOM_FIRST,
	                   RC_ROOM_MOST))
		return NULL;
	return rc_receive_at(queue, queue->count);
}
/* 1 if there is a receive for the request that is coming, which then is rc_receive_of. Else the
 * peer gets NOT_READY, and READY when there is one. */
int rc_take_or_ask(dat_end *end);
static inline int rc_take(dat_end *end)
{
	return (!end->config.srq && end->rx.queue.count > 0) || rc_take_or_ask(end);
}
static inline dat_receive *rc_receive_of(dat_end *end)
{
	return end->config.srq ? &end->rx.taken : rc_receive_at(&end->rx.queue, 0);
}
/* Its event, with a status, and that of n bytes that a message with that header has brought. */
void rc_received(dat_end *end, const dat_header *header, uint32_t status);
/* A receive is there for a connection that has wanted one. */
void rc_ready(dat_end *end);
/* The connection needs nothing of its shared queue any more. */
void rc_leave_shared(dat_end *end);

/* life.c: the connection is over: core is notified. */
void rc_over(dat_end *end, uint32_t how);
/* The same for an error of the peer's request seq, which the peer is notified of. */
void rc_fail(dat_end *end, uint32_t seq, uint32_t status);
/* receive.c: all messages are to be sent again, from the oldest request that has not taken
 * effect on. */
void rc_restart(dat_end *end);

/* receive.c: where the data of a write goes, all of it; 0: it may not be written. */
uint64_t rc_target(const dat_end *end, const dat_header *header);

#endif
