/*
 * end.h - endpoints, shared receive queues and connections of the node engine as C and core share
 * them, and the protection table, which other processes read: there the order is said with it. All
 * else is touched under the block's lock only. Off the Go heap; fixed widths, addresses as
 * integers.
 */
#ifndef DAT_RC_END_H
#define DAT_RC_END_H

#include <stdint.h>

#include "cpu/shared.h"
#include "dat/evd/evd.h"
#include "dat/lane.h"
#include "dat/request.h"

/* The memory of a context: a copy of core's, made when the context is, and cleared when it ends. */
typedef struct dat_name {
	uint64_t addr, n;
	uint64_t pz;         /* a handle */
	CSHIM_SHARED uint32_t context;    /* 0: none */
	uint16_t privileges; /* DAT_MEM_PRIV_FLAGS */
	uint8_t zerobased;
	uint8_t window; /* it is an RMR's */
} dat_name;

#define DAT_CONTEXT_INDEX 0xfffffu /* of a context: its place */
#define DAT_TABLE_NAMES 131072     /* contexts of a process */

/*
 * A connection whose peer may access this process's memory, and what the peer may know of it.
 *
 * done: this process stores it (release) when requests of the peer's have taken effect; the peer
 * loads it (acquire) when it looks for completions. After the store this process looks whether a
 * waiting thread of the peer's sleeps, and if so sends Done, too. The peer stores that it will
 * sleep, calls membarrier, and looks at done once more (arm.h).
 * tag is 0 while another connection takes the place: a reader that finds the same tag before and
 * after done has read that connection's.
 */
typedef struct dat_open {
	uint64_t pz;        /* a handle: its contexts are those of this zone */
	CSHIM_SHARED uint32_t tag, open; /* rc's; 1: it is open */
	uint64_t zero;
	uint64_t line0[5];
	CSHIM_SHARED uint32_t done; /* each request of the peer's before this number has taken effect */
	uint32_t zero1;
	uint64_t line1[7];
} dat_open;

/*
 * The protection table of a process: what its peers may access. Other processes of the node map it,
 * and can only read it. The origin of a copy makes copies odd, looks the connection and the name
 * up, copies, and makes copies even. A process that withdraws a connection or name clears it, and
 * then waits until each copies that was odd has changed. Each side has a full barrier between its
 * store and its look.
 */
typedef struct dat_table {
	CSHIM_SHARED uint64_t copies; /* odd: this process accesses the memory of another; under its lock */
	uint64_t line0[7];
	CSHIM_SHARED uint64_t polls; /* a hint: how often a program has looked for events in vain */
	/*
	 * 1: a waiting thread of this process is asleep, or some CNO is to be triggered; 0: only
	 * the service thread is asleep, which wakes for nothing that a program does not wait for.
	 * Stored before the links are armed, and valid while they are.
	 */
	CSHIM_SHARED uint32_t waits;
	uint32_t zero;
	uint64_t line1[6];
	dat_open ends[DAT_TABLE_ENDS];   /* by number; open is stored last (release) */
	dat_name names[DAT_TABLE_NAMES]; /* context likewise */
} dat_table;

/* A piece of a program's memory: as a triplet names it, and where it was at the post. */
typedef struct dat_segment {
	uint64_t addr, at;
	uint32_t n, context;
} dat_segment;

/* The program's own memory of a request or receive. */
typedef struct dat_local {
	dat_segment first; /* of the segments that have bytes */
	uint64_t more;     /* address of all of them, dat_segment[segments], if there are several */
	uint32_t n;        /* bytes in all, 2^32 - 1 at most */
	uint32_t segments;
} dat_local;

/* A request, until it is complete. */
typedef struct dat_request {
	uint64_t cookie;
	dat_local local;
	uint64_t addr;          /* of the peer's memory */
	uint32_t context, data; /* likewise; immediate */
	uint32_t sent; /* bytes; of what is asked for: 1 once it was */
	uint32_t got;  /* bytes of the answer */
	uint8_t op, flags; /* of messages */
	uint8_t route;     /* NODE_ROUTE_...; NODE_ROUTES: by messages, none was chosen */
	uint8_t attempt;
	uint8_t status;      /* other than success: its own memory is bad, or the peer has said so */
	uint8_t held;        /* it may have to wait for others: RC_HELD_... */
	uint16_t zero;
	uint32_t completion, zero1; /* DAT_COMPLETION_FLAGS */
	uint64_t operand, compare;  /* of an atomic operation; operand of a bind: core's number of it */
	int64_t begun;              /* ns; 0: it is not timed */
} dat_request;

/* A receive likewise. */
typedef struct dat_receive {
	uint64_t cookie;
	dat_local local;
	uint32_t completion;
	uint32_t status;
} dat_receive;

/* Receives that are posted, oldest first. */
typedef struct dat_receives {
	dat_ring ring; /* of dat_receive */
	uint32_t count, zero;
} dat_receives;

/* A shared receive queue. */
typedef struct dat_srq {
	dat_receives queue;
	uint64_t handle, pz;
	uint64_t first, last; /* addresses of the dat_end that wait for a receive */
	uint32_t max, max_iov;
	uint32_t posted; /* receives that are not complete: those in the queue, and taken ones */
	uint32_t low;    /* core is notified when the queue has fewer; 0: not */
	uint32_t is_low; /* that is so, and core has not seen it */
	uint32_t core_waits; /* connections of core's wait for a receive */
	uint64_t device; /* address of the dev_queue, where an RDMA adapter has the receives; or 0 */
} dat_srq;

/* state of a dat_ep: legal posts */
#define DAT_EP_IDLE 0u      /* receives alone */
#define DAT_EP_CONNECTED 1u
#define DAT_EP_OVER 2u      /* posts are flushed */
#define DAT_EP_DATAGRAMS 3u /* a UD endpoint */

/* An endpoint, as far as posts are judged by it. Kept true by core. */
typedef struct dat_ep {
	uint64_t end; /* address of the dat_end that its connection is; 0: another engine has it */
	uint64_t pair; /* address of its dev_pair on an RDMA adapter; 0: it is on links */
	uint64_t recv, request; /* EVDs: handles; 0: none */
	uint64_t srq;           /* handle; 0: none */
	uint32_t state;
	uint32_t max_message;
	uint32_t max_requests, max_receives;
	uint32_t max_request_iov, max_receive_iov, max_write_iov, max_read_iov;
	uint32_t requests, receives; /* posted and not complete, of other engines */
} dat_ep;

#define DAT_END_COUNTERS 24 /* DAT_EP_COUNTERS */

/* state of a dat_end_rx */
#define DAT_COMING_NOTHING 0u
#define DAT_COMING_DATA 1u /* a part of its data is here */
#define DAT_COMING_PULL 2u /* this side has read its half; the peer's is not announced yet */
#define DAT_COMING_ASK 3u  /* a read or atomic operation whose answer is not sent as a whole */

/* Set when the connection opens; constant. */
typedef struct dat_end_config {
	uint64_t link, peer;    /* addresses of node_link and node_peer */
	uint64_t ep, pz;        /* handles */
	uint64_t recv, request; /* EVDs: handles; 0: none */
	uint64_t srq;           /* address of its dat_srq; 0: none */
	uint64_t table;         /* address of the peer's dat_table; 0: only messages reach its memory */
	/* addresses of the connection's dat_open, in the own table and the peer's; 0: neither has
	 * one */
	uint64_t own, peers;
	uint32_t solicited;  /* receives wake only if the sender says so */
	uint32_t index, tag; /* of this end, and of the peer's */
	uint32_t peer_index, peer_tag;
	uint32_t reads; /* reads and atomic operations that may be under way */
} dat_end_config;

/* Which route writes and reads take (routes.c, direct.c, pull.c). */
typedef struct dat_end_route {
	uint32_t polls;    /* the peer does: writes may be better by messages */
	uint32_t writes;   /* and reads, that went one way or the other */
	uint32_t unpulled; /* requests until the peer is to read a write's data again */
	uint32_t ns;       /* duration of the latest short copy that was timed */
} dat_end_route;

/* The state of an end's own requests. */
typedef struct dat_end_tx {
	dat_ring ring; /* of dat_request */
	/* number of the oldest, how many, how many of these were sent, how many of these ask for
	 * something; each before done has taken effect */
	uint32_t oldest, posted, sent, asked, done;
	uint32_t blocked; /* the peer has no receive */
} dat_end_tx;

/* The state of the peer's requests. */
typedef struct dat_end_rx {
	/* number of the next to take effect; how much of that has come, or was answered;
	 * DAT_COMING_ of it */
	uint32_t expected, got, state;
	uint32_t attempt;  /* of it */
	uint32_t restarts; /* messages of earlier attempts are still on their way */
	uint32_t dropped;  /* the requests after this one have to be sent again */
	uint32_t wants;    /* it waits for a receive */
	uint32_t has;      /* of a shared queue: taken is valid */
	dat_receive taken; /* its receive */
	dat_receives queue;
	uint64_t coming[8]; /* the message that has begun it; valid if state is not 0 */
} dat_end_rx;

/* Messages that are due to the peer, bits of tell. */
#define RC_TELL_DONE 1u
#define RC_TELL_NOT_READY 2u
#define RC_TELL_READY 4u
#define RC_TELL_END 8u

/* how a connection is over */
#define RC_BY_USER 0u
#define RC_BY_PEER 1u
#define RC_BROKEN 2u

/*
 * An end of a connection, from its opening to its end. Each part is a multiple of 8 bytes, so that
 * one layout serves every word size.
 */
typedef struct dat_end {
	dat_end_config config;
	dat_end_route route;
	uint32_t on;      /* 0: it is over, and core has to call rc_flush */
	uint32_t how;     /* then: RC_... */
	uint32_t closing; /* it ends when nothing posted is left */
	uint32_t tell;    /* RC_TELL_... */
	uint32_t end_seq; /* of RC_TELL_END: the request that has failed, and with what */
	uint32_t end_status;
	uint32_t end_flags;
	uint32_t collected; /* by core: it deals with the end */
	dat_end_tx tx;
	dat_end_rx rx;
	uint64_t waits_before, waits_after; /* addresses of the dat_end that wait for the same srq */
	uint64_t counters[DAT_END_COUNTERS];
} dat_end;

#endif
