/*
 * end.h - connections over links of the node as C and core share them, and the protection table,
 * which other processes read: there the order is told with it. All else is touched under the
 * block's lock only. Made by core, off the Go heap; fixed widths, addresses as integers.
 */
#ifndef DAT_RC_END_H
#define DAT_RC_END_H

#include <stdint.h>

#include "dat/lane.h"

#define DAT_LANE_SEGMENTS 256 /* of a request: core/dat's MaxIOV */
#define DAT_LANE_WINDOW 64    /* requests of a connection under way: core/dat/rc's Window */

/* What a context names: a copy of core's, made when the context is, and cleared when it ends. */
typedef struct dat_name {
	uint64_t addr, n;
	uint64_t pz;         /* a handle */
	uint32_t context;    /* 0: none */
	uint16_t privileges; /* DAT_MEM_PRIV_FLAGS */
	uint8_t zerobased;
	uint8_t window; /* it is an RMR's */
} dat_name;

#define DAT_CONTEXT_INDEX 0xfffffu /* of a context: its place */
#define DAT_TABLE_NAMES 65536      /* contexts that C knows; others are core's alone */

/*
 * A connection whose peer may access this process's memory, and what the peer may know of it.
 *
 * done: stored (release) by the lane when requests of the peer's have taken effect, loaded
 * (acquire) by the peer's lane when it looks for completions. Then this process looks whether a
 * thread of the peer's that waits sleeps, or its lane does not look: then it sends rc's Done, too.
 * The peer stores that it will sleep, or not look, calls membarrier, and looks at done once more
 * (arm.h).
 * tag is 0 while another connection takes the place: who finds the same tag before and after done
 * has read that connection's.
 */
typedef struct dat_open {
	uint64_t pz;        /* a handle: its contexts are those of this zone */
	uint32_t tag, open; /* rc's; 1: it is open */
	uint32_t
		looks; /* 1: the lane has the connection's requests, and looks at the peer's done */
	uint32_t zero;
	uint64_t line0[5];
	uint32_t done; /* each request of the peer's before this number has taken effect */
	uint32_t zero1;
	uint64_t line1[7];
} dat_open;

/*
 * The protection table of a process: what its peers may access. Other processes of the node map
 * it, and can only read. The origin of a copy makes copies odd, looks the connection and the name
 * up, copies, and makes it even. Who takes one of these away clears it, and then waits until each
 * copies that was odd has changed. Each side has a full barrier between its store and its look.
 */
typedef struct dat_table {
	uint64_t copies; /* odd: this process accesses the memory of another; under its lock */
	uint64_t line0[7];
	uint64_t polls; /* a hint: how often a program has looked for events in vain */
	/*
	 * 1: of the threads that this process has, one that waits is asleep, or some CNO is to be
	 * triggered; 0: only the service thread is asleep, which wakes for nothing that a program
	 * does not wait for. Stored before the
	 * links are armed, and valid while they are.
	 */
	uint32_t waits;
	uint32_t zero;
	uint64_t line1[6];
	dat_open ends[DAT_TABLE_ENDS];   /* by number; open is stored last (release) */
	dat_name names[DAT_TABLE_NAMES]; /* context likewise */
} dat_table;

/* A request of a connection that the lane has, until it is complete. */
typedef struct dat_request {
	uint64_t cookie;
	uint64_t from; /* local memory, as the triplet names it, */
	uint64_t addr; /* the peer's likewise */
	uint32_t n, local;
	uint32_t context, data; /* of the peer's memory; immediate */
	uint32_t number;        /* of the receive that it takes */
	uint32_t sent;          /* bytes; of what is asked for: 1 once it was */
	uint8_t op, flags;      /* of rc's messages */
	uint8_t route;          /* NODE_ROUTE_…; NODE_ROUTES: by messages, none was chosen */
	uint8_t zero;
	uint32_t completion;       /* DAT_COMPLETION_FLAGS */
	uint32_t got, zero1;       /* bytes of the answer */
	uint64_t at;               /* where the local memory was at the post */
	uint64_t operand, compare; /* of an atomic operation */
	int64_t begun;             /* ns; 0: it is not timed */
} dat_request;

/* A receive likewise. */
typedef struct dat_receive {
	uint64_t cookie;
	uint64_t addr;
	uint32_t n, context;
	uint32_t completion, zero;
} dat_receive;

#define DAT_END_COUNTERS 24 /* DAT_EP_COUNTERS */

/* state of a dat_end_rx */
#define DAT_COMING_NOTHING 0u
#define DAT_COMING_DATA 1u /* a part of its data is here */
#define DAT_COMING_PULL 2u /* this side has read its half; the peer's is not announced yet */
#define DAT_COMING_ASK 3u  /* a read whose answer is not sent as a whole */

/* Set by core when the connection opens; constant while it is open. */
typedef struct dat_end_config {
	uint64_t link, peer; /* addresses of node_link and node_peer */
	uint64_t ep, pz;     /* handles */
	uint64_t recv;       /* EVDs: handles; 0: none */
	uint64_t request;
	/* address of the peer's dat_table; 0: only messages reach its memory */
	uint64_t table;
	/* addresses of the connection's dat_open, in the own table and the peer's; 0: neither has
	 * one */
	uint64_t own, peers;
	uint64_t requests; /* address of dat_request[DAT_LANE_WINDOW] */
	uint64_t receives; /* address of dat_receive[room] */
	uint32_t room;     /* a power of two */
	uint32_t max_requests;
	uint32_t max_receives;
	uint32_t max_writes, max_reads; /* segments of a write, of a read */
	uint32_t solicited;             /* receives wake only if the sender says so */
	uint32_t index, tag;            /* of this end, and of the peer's: rc's */
	uint32_t peer_index, peer_tag;
	uint32_t reads; /* so many, and atomic operations, may be under way */
	uint32_t zero;
} dat_end_config;

/* Which route writes and reads take (routes.c, direct.c, pull.c). */
typedef struct dat_end_route {
	uint32_t polls;     /* the peer does: writes may be better by messages */
	uint32_t writes;    /* and reads, that went one way or the other */
	uint32_t unpulled;  /* requests until the peer is to read a write's data again */
	uint32_t ns;        /* duration of the latest short copy that was timed */
} dat_end_route;

/* The state of an end's own requests. */
typedef struct dat_end_tx {
	/* number of the oldest, how many, how many of these were sent, how many ask for something;
	 * each before done has taken effect */
	uint32_t oldest, posted, sent, asked, done;
	uint32_t numbers; /* receives of the peer's that were taken */
} dat_end_tx;

/* The state of the peer's requests. */
typedef struct dat_end_rx {
	/* number of the next to take effect; how much of that has come, or was answered;
	 * DAT_COMING_ of it, and how many bytes of it the peer writes */
	uint32_t expected, got, state, theirs;
	uint32_t base;     /* number of the oldest receive */
	uint32_t received; /* receives that are posted */
	uint32_t tell;     /* the peer is to hear of expected */
	uint32_t zero;
	/* header of the request that is coming in; valid if state is not 0 */
	uint64_t coming[6];
} dat_end_rx;

/*
 * An end of a connection over a link of the node. While on is 1 the lane has the connection's state,
 * tx and rx; else core has. Each part is a multiple of 8 bytes, so that one layout serves every word
 * size.
 */
typedef struct dat_end {
	dat_end_config config;
	dat_end_route route;
	uint32_t on;
	uint32_t stuck; /* core must go on: the link, or memory, is not as it was */
	dat_end_tx tx;
	dat_end_rx rx;
	uint64_t counters[DAT_END_COUNTERS];
} dat_end;

#endif
