/* private.h - messages, memory by context, ends: the common ground of this room's files. Everything
 * runs under the block's lock. */
#ifndef DAT_RC_PRIVATE_H
#define DAT_RC_PRIVATE_H

#include "dat/evd/evd.h"
#include "dat/rc/rc.h"
#include "node/arm.h"
#include "node/put.h"
#include "node/receive.h"

/* The messages of core/dat/rc (wire.go) that the lane knows; it leaves the others to core. */
#define DAT_MSG_DATA 1
#define DAT_MSG_ASK 2 /* dat_ask */
#define DAT_MSG_REPLY 3
#define DAT_MSG_DONE 4
#define DAT_MSG_READY 6
#define DAT_MSG_PULL 8 /* dat_ask */
#define DAT_MSG_HALF 9

/* Flags of a header. */
#define DAT_FLAG_IMMEDIATE 1u
#define DAT_FLAG_INVALIDATE 2u
#define DAT_FLAG_SOLICITED 4u
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
	uint32_t number;
	uint32_t done; /* of DAT_MSG_DATA: each request of the receiver's before it has taken effect
	                */
} dat_header;

/* Of DAT_MSG_ASK, and DAT_MSG_PULL, which is a write whose data the target reads. */
typedef struct dat_ask {
	dat_header header;
	uint64_t operand; /* of an atomic operation; of a pull: where the origin has the data */
	uint64_t
		compare; /* of a pull: so many bytes at the beginning the origin writes by itself */
} dat_ask;

_Static_assert(sizeof(dat_ask) == 64, "likewise");
_Static_assert(DAT_TABLE_ENDS / 64 <= 64, "a bit of some_waiting for each word");
_Static_assert(sizeof(dat_header) == 48, "as core/dat/rc/wire.go has it");
_Static_assert(sizeof(((dat_end *)0)->rx.coming) == sizeof(dat_header), "there is room for it");

/*
 * Clears n bytes, a constant multiple of 8 up to 128. Of an initializer of that size compilers make
 * a string instruction, which takes longer than all else that is done to the memory. No loop, of
 * which they make the same.
 */
static inline __attribute__((always_inline)) void dat_clear(void *memory, size_t n)
{
	typedef uint64_t __attribute__((vector_size(16), aligned(8), may_alias)) two;
	typedef uint64_t __attribute__((may_alias)) one;
	const two zero = {0, 0};
	two *at = memory;

	if (n >= 16)
		at[0] = zero;
	if (n >= 32)
		at[1] = zero;
	if (n >= 48)
		at[2] = zero;
	if (n >= 64)
		at[3] = zero;
	if (n >= 80)
		at[4] = zero;
	if (n >= 96)
		at[5] = zero;
	if (n >= 112)
		at[6] = zero;
	if (n >= 128)
		at[7] = zero;
	if (n % 16)
		((one *)memory)[n / 8 - 1] = 0;
}

/* A completion as events have it (core/dat/event.go). */
typedef struct dat_completion {
	uint32_t number, zero;
	uint64_t evd, ep, cookie;
	uint32_t status, length, operation, context;
	uint32_t proposed, proposed_data; /* what the proposal of 2005 has there */
	uint32_t kind, kind_status, data; /* the extension's */
	uint32_t rest[13];
} dat_completion;

_Static_assert(sizeof(void *) < 8 || sizeof(dat_completion) == sizeof(DAT_EVENT), "it is one");

_Static_assert(sizeof(dat_completion) <= 128 && sizeof(dat_request) <= 128, "dat_clear can");

/* Begins one: all that is not said here is 0. */
static inline dat_completion *dat_completion_at(DAT_EVENT *event, uint64_t evd, const dat_end *end,
                                                uint64_t cookie)
{
	dat_completion *c = (void *)event;

	dat_clear(c, sizeof(*c));
	c->number = DAT_DTO_COMPLETION_EVENT;
	c->evd = evd;
	c->ep = end->config.ep;
	c->cookie = cookie;
	return c;
}

/* What is extended says so. */
static inline void dat_extend(dat_completion *c, uint32_t kind, uint32_t proposed, uint32_t data)
{
	c->number = DAT_IB_DTO_EVENT;
	c->kind = kind;
	c->proposed = proposed;
	c->data = c->proposed_data = data;
}

static inline node_link *dat_link_of(const dat_end *end)
{
	return (node_link *)(uintptr_t)end->config.link;
}

static inline node_peer *dat_peer_of(const dat_end *end)
{
	return (node_peer *)(uintptr_t)end->config.peer;
}

static inline dat_request *dat_request_at(const dat_end *end, uint32_t number)
{
	return (dat_request *)(uintptr_t)end->config.requests + number % DAT_LANE_WINDOW;
}

static inline dat_receive *dat_receive_at(const dat_end *end, uint32_t number)
{
	/* room is a power of two, which compilers do not know: they would divide */
	return (dat_receive *)(uintptr_t)end->config.receives + (number & (end->config.room - 1));
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

/* The own memory of what an end asks for, or receives; 0: it is not what it was any more. */
static inline uint64_t dat_local_of(const dat_end *end, const dat_request *request)
{
	return dat_memory_of(end, request->local, request->from, request->n,
	                     DAT_MEM_PRIV_LOCAL_WRITE_FLAG, 0);
}

/*
 * How many of the n bytes at an address come last, in a copy of their own: those in the last line,
 * since programs look at the last byte. What the kernel copies at once is a string instruction's,
 * whose stores are seen in any order.
 */
#define DAT_LINE 64
static inline uint64_t dat_last_line(uint64_t at, uint64_t n)
{
	uint64_t in_line = (at + n - 1) % DAT_LINE + 1;

	return n > in_line ? in_line : 0;
}

/* Writes the header of a message about a request: each member. */
static inline void dat_write_header(dat_header *header, const dat_end *end, uint32_t seq,
                                    const dat_request *request)
{
	header->conn = end->config.peer_index;
	header->tag = end->config.peer_tag;
	header->seq = seq;
	header->op = request->op;
	header->flags = request->flags;
	header->attempt = header->status = 0;
	header->total = request->n;
	header->offset = request->sent;
	header->addr = request->addr;
	header->context = request->context;
	header->immediate = request->data;
	header->number = request->number;
	header->done = end->rx.expected;
}

/* Such a header by itself. */
static inline dat_header dat_header_of(const dat_end *end, uint32_t seq, const dat_request *request)
{
	dat_header header;

	dat_write_header(&header, end, seq, request);
	return header;
}

/* post.c: sends what requests have not sent yet. 1: all of it went. */
int dat_lane_send(dat_end *end);

/* What dat_lane_direct says of a write or read. */
#define DAT_DIRECT_DONE 1 /* it is complete */
#define DAT_DIRECT_NOT 0  /* it is to go by messages; request->route and begun say how */

/*
 * routes.c: chooses how a write or read goes, and does it if that is one copy between the two
 * processes. local: where its own memory is.
 */
int dat_lane_direct(dat_end *end, dat_request *request, const node_range *local, uint32_t ranges);
/* After a request that is to go by messages, and timed, was sent. */
void dat_lane_time(dat_end *end, dat_request *request, uint32_t seq);
/* Such a request that is still timed is done. */
void dat_lane_learn(dat_end *end, const dat_request *request);

/* 1 if the target is to copy data of a write, or half. */
static inline int dat_is_pulled(const dat_request *request)
{
	return request->route == NODE_ROUTE_TARGET || request->route == NODE_ROUTE_HALVES;
}

/*
 * direct.c: copies all of a request; 0: it could not. Or so many bytes of it, from at on, by
 * one system call; 0 if it cannot, else how many. The peer's rights are looked up for each.
 */
int dat_lane_copy(const dat_end *end, const dat_request *request, const node_range *local,
                  uint32_t ranges);
#define DAT_COPY_PART (1u << 20) /* bytes of one copy: who frees the memory waits for it */
uint64_t dat_lane_copy_part(const dat_end *end, const dat_request *request, const node_range *local,
                            uint32_t ranges, uint64_t at, uint64_t n);

/* pull.c: sends a write whose data the target reads, all or half. NODE_SENT, or why not. */
#define DAT_PULL_MAX NODE_COPY_MAX
#define DAT_UNPULLED 64 /* requests until the next, if the peer has not read one */
int dat_lane_pull(dat_end *end, uint32_t seq, dat_request *request);
/* Receives such a message: 1, or 0: core shall. */
int dat_lane_pulled(dat_end *end, const node_arrival *arrival);
int dat_lane_half(dat_end *end, const dat_header *header, const node_arrival *arrival);

/* ask.c: asks for what a read or atomic operation is to bring. NODE_SENT, or why not. */
int dat_lane_ask(dat_end *end, uint32_t seq, dat_request *request);
/* Receives such a request, or an answer: 1, or 0: core shall. */
int dat_lane_asked(dat_end *end, const node_arrival *arrival);
int dat_lane_reply(dat_end *end, const dat_header *header, const node_arrival *arrival);
/* Goes on with an answer that found no room. */
void dat_lane_answer(dat_end *end);

/* done.c: the event of a request that has succeeded, if it is to have one; 0: core must do
 * it. */
int dat_lane_completion(const dat_end *end, const dat_request *request);
/* Completes requests, now that each before seq has taken effect; 0: core must deal with it. */
int dat_lane_done(dat_end *end, uint32_t seq);
/* A request was sent: its completion is looked for. */
void dat_lane_await(const dat_end *end);
/* Tells the peer how far its requests have come, if it can be told now. */
void dat_lane_tell(dat_end *end);
/* The peer's oldest request has taken effect. */
void dat_lane_passed(dat_end *end);

/* receive.c: where the data of a write goes, all of it; 0: core says what is wrong. */
uint64_t dat_lane_target(const dat_end *end, const dat_header *header);

#endif
