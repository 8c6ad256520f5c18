/*
 * dat_lane.h - what uDAPL's fast lane (docs/dat.md) and core share. Private to the library.
 *
 * Everything here is touched under the block's lock only, so C and Go need no order between them.
 * But for dat_table, which other processes read: there the order is told with it.
 * Made by core, off the Go heap, but for the dat_lane itself; fixed widths, addresses as integers.
 */
#ifndef DAT_LANE_H
#define DAT_LANE_H

#include <stdint.h>

#include "dat/dat_group.h"

#define DAT_LANE_AREAS 1024   /* places for areas of handles; two that need one place share none */
#define DAT_LANE_LINKS 64     /* other processes of the node: core/dat's neighboursMax */
#define DAT_AREA_SHIFT 16     /* an area of handles has 64 KiB */
#define DAT_LANE_SEGMENTS 256 /* of a request: core/dat's MaxIOV */
#define DAT_LANE_WINDOW 64    /* requests of a connection under way: core/dat/rc's Window */

/* What a handle other than an adapter's is the address of: core/dat's Slot. */
typedef struct dat_slot {
	uint64_t table;
	uint32_t kind;   /* 1 + DAT_HANDLE_TYPE; 0: not in use */
	uint32_t ready;  /* of an EVD: events that wake a waiter; of a CNO: 1 if triggered */
	uint32_t poked;  /* it changes to end waits */
	uint32_t length; /* of an EVD: events in the queue */
	/* address of an EVD's dat_queue, of an EP's dat_end, of a group's dat_group; 0: none */
	uint64_t lane;
	uint64_t line[4];
} dat_slot;

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
#define DAT_TABLE_ENDS 4096        /* connections that peers may write and read by themselves */

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
	 * 1: of the threads that this process has, one that waits is asleep; 0: only the service
	 * thread is, which wakes for nothing that a program does not wait for. Stored before the
	 * links are armed, and valid while they are.
	 */
	uint32_t waits;
	uint32_t zero;
	uint64_t line1[6];
	dat_open ends[DAT_TABLE_ENDS];   /* by number; open is stored last (release) */
	dat_name names[DAT_TABLE_NAMES]; /* context likewise */
} dat_table;

/* flags of a dat_queue */
#define DAT_QUEUE_WAITING 1u /* a thread is in dat_evd_wait */
#define DAT_QUEUE_BLOCKED 2u /* in one that has found too few events */
#define DAT_QUEUE_UNWAITABLE 4u
#define DAT_QUEUE_OVERFLOWED 8u /* the asynchronous error was posted since it was empty */
#define DAT_QUEUE_CNO 16u       /* constant or by core: an event is more than an event */
#define DAT_QUEUE_TRANSFERS 32u /* constant: for nothing but what data transfers bring */
#define DAT_QUEUE_DTO 64u       /* constant: DAT_EVD_DTO_FLAG */
#define DAT_QUEUE_SOLICITED 128u /* by core: some receives wake only if solicited */

#define DAT_QUEUE_COUNTERS 10 /* DAT_EVD_COUNTERS */

/* The events of an EVD; how many is in its slot. */
typedef struct dat_queue {
	uint64_t events; /* address of DAT_EVENT[room] */
	uint32_t room;   /* a power of two; core makes more */
	uint32_t head;   /* the oldest is in place head % room */
	uint32_t size;   /* events that fit */
	uint32_t flags;
	uint64_t counters[DAT_QUEUE_COUNTERS];
} dat_queue;

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

/*
 * leave of a dat_lane: what core is to leave alone in a turn, of the node's links. The lane has just
 * looked: a message that was not core's then is the lane's, or it has come since, and the lane finds
 * it in its next turn. If core took it, it would have to take the connection for it.
 */
#define DAT_LEAVE_NOTHING 0u
#define DAT_LEAVE_MESSAGES 1u /* it sees to the links, and takes no messages */
#define DAT_LEAVE_LINKS 2u

#define DAT_END_COUNTERS 24 /* DAT_EP_COUNTERS */

/* coming_as of a dat_end */
#define DAT_COMING_NOTHING 0u
#define DAT_COMING_DATA 1u /* a part of its data is here */
#define DAT_COMING_PULL 2u /* this side has read its half; the peer's is not announced yet */
#define DAT_COMING_ASK 3u  /* a read whose answer is not sent as a whole */

/* An end of a connection over a link of the node. */
typedef struct dat_end {
	/* constant while the connection is open */
	uint64_t link, peer; /* addresses of node_link and node_peer */
	uint64_t ep, pz;     /* handles */
	uint64_t recv;       /* EVDs: handles; 0: none */
	uint64_t request;
	uint64_t table; /* address of the peer's dat_table; 0: only messages reach its memory */
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
	/* of lane_direct.c */
	uint32_t polls;     /* the peer does: writes may be better by messages */
	uint32_t writes;    /* and reads, that went one way or the other */
	uint32_t unpulled;  /* so many requests until the peer is to read a write's data again */
	uint32_t direct_ns; /* what the latest short copy took that was timed */
	/* 1: what follows is the connection's state; 0: core has that */
	uint32_t on;
	/* of its own requests: number of the oldest, how many, how many of these were sent, how
	 * many ask for something; each before done has taken effect */
	uint32_t oldest, posted, sent, asked, done;
	uint32_t numbers; /* receives of the peer's that were taken */
	/* of the peer's: number of the one that takes effect next; how much of that has come, or
	 * was answered; what it is that is coming (below), and how many bytes of it the peer writes
	 */
	uint32_t expected, got, coming_as, theirs;
	uint32_t base;      /* number of the oldest receive */
	uint32_t received;  /* receives that are posted */
	uint32_t tell;      /* the peer is to hear of expected */
	uint32_t stuck;     /* core must go on: the link, or memory, is not as it was */
	uint64_t coming[6]; /* header of the request that is coming in; valid if coming_as is not 0
	                     */
	uint64_t counters[DAT_END_COUNTERS];
} dat_end;

typedef struct dat_lane {
	uint32_t on;      /* constant while an adapter is open: 0: core does all */
	uint32_t random;  /* 0, or the state of the coin of LAPI_FASTLANE=random */
	uint32_t go_work; /* by core: it wants a turn each time */
	uint32_t num_links;
	uint32_t num_ends;
	uint32_t unsent; /* some end has something to send: there was no room */
	uint32_t stuck;  /* some end is stuck */
	uint32_t num_groups;
	uint32_t go_groups; /* by C: core has something to do for some group */
	uint32_t leave; /* by C: DAT_LEAVE_… */
	/* by C: the thread that slept is awake; core, which armed for it, has not heard of it yet */
	uint32_t awake;
	/* by core: a thread sleeps and wakes for no peer's silence; who sends something wakes it */
	uint32_t untimed;
	int32_t bells[DAT_LANE_LINKS]; /* by link: the eventfd that peers wake this process by */
	uint64_t groups; /* address of the addresses of all dat_group */
	/* by core: address of an int (*)(void) that says whether RDMA adapters have something for
	 * core; 0: there are none */
	uint64_t adapters;
	uint64_t ends;   /* address of the dat_end's address by the connection's number; 0: none */
	uint64_t table;  /* address of this process's dat_table; 0: there is no memory for it */
	/* by C: connections by number that have requests under way, and words that have such bits
	 */
	uint64_t waiting[DAT_TABLE_ENDS / 64], some_waiting;
	uint64_t links[DAT_LANE_LINKS]; /* addresses of node_link */
	uint64_t areas[DAT_LANE_AREAS]; /* addresses of areas of handles, each at its place */
} dat_lane;

#endif
