/*
 * node.h - data between the tasks of one node: a process's state of its ends. Private to the
 * library.
 *
 * This part moves bytes: messages in rings and chunks (send.h, receive.h), puts of any length, gets
 * and operations on words (put.c, op.c, serve.c), copies straight between two processes (cma.c),
 * and whom to wake (arm.c). It knows neither LAPI nor DAT. Its owner is who has the node_link: a
 * fast path in C calls the inline functions, transport/shm calls the others for everything else.
 * The owner's lock covers all that is process-private; the segments' words are ordered as segment.h
 * says.
 *
 * The structs are made by transport/shm off the Go heap, and read by Go through transport/layout:
 * fixed widths, addresses as integers.
 */
#ifndef NODE_NODE_H
#define NODE_NODE_H

#include <stddef.h>
#include <stdint.h>

#include "node/barrier.h"
#include "node/message.h"
#include "node/route.h"
#include "node/segment.h"

#define NODE_RING_MASK (NODE_RING_SLOTS - 1)
#define NODE_OPS 256              /* gets and operations on words in flight at once, of a link */
#define NODE_COPY_MAX (32u << 20) /* bytes of one system call that copies between processes */
/* Bounds the sleeps of a task that cannot order its peers (arm.h): longer than any processor keeps
 * a store to itself. */
#define NODE_LOOK_AGAIN_NS 10000000
#define NODE_LENGTH_MAX ((uint64_t)1 << 62) /* bytes of one operation */

/* One for each peer in each direction. */

typedef struct node_sender {
	uint64_t tail;     /* index of the next slot to write; slot = index % NODE_RING_SLOTS */
	uint64_t consumed; /* last seen in the receiver's ring control, checked */
	/* bit: the slot was last written as a continuation */
	uint64_t continued[NODE_RING_SLOTS / 64];
	/* Messages that are sent without a progress call between them are a stream. */
	uint64_t turn;     /* node_link.turn when the latest message was sent */
	uint64_t streamed; /* index of the first slot since then */
} node_sender;

typedef struct node_receiver {
	uint64_t head;      /* index of the next slot to read */
	uint64_t published; /* last stored in consumed */
	uint64_t turn;      /* the progress call that last found a message */
	uint64_t chunked;   /* bytes of chunks read since consumed was last stored */
	uint64_t placed;    /* bytes of the parts of the put that is coming in */
	uint64_t mapped;    /* bytes of the peer's chunk area that this process has mapped */
	uint8_t line[16];
} node_receiver;

/* Receivers publish consumed when this many bytes of chunks are free: the sender waits for them
   sooner than for slots. */
#define NODE_CHUNK_PUBLISH (NODE_CHUNK_AREA_LEAST / 16)

/* The sender's view of its chunk area. */
typedef struct node_chunks {
	uint32_t next; /* unit to write, unless the message does not fit before the circle's end */
	/* Units that are in use, in a circle: grows with the data in flight, up to
	 * node_link.chunk_units, and is given back when nothing is sent for a while; of these
	 * chunk_limit are used. 0: NODE_CHUNK_LEAST. */
	uint32_t used;
	uint64_t sent; /* messages */
	/* The unit is in use until consumed is so far. */
	uint64_t until[NODE_CHUNK_UNITS];
	uint8_t line[48];
} node_chunks;

/* closed: why the fast path must not send to a peer; each reason has a bit */
/* the link: not connected, gone, or a new generation is not announced yet */
#define NODE_CLOSED_LINK 1u
#define NODE_CLOSED_OWNER 2u /* the owner: messages wait for room, the task is dead or purged */
/* the link: operations wait for room, which others must not overtake */
#define NODE_CLOSED_QUEUE 4u

/* This process's end of both rings between it and one task of the node. */
typedef struct node_peer {
	node_sender sender;
	node_receiver receiver;
	/* Addresses in this process, constant while connected: the peer's segment, and what lies in
	 * this task's. */
	uint64_t out_head;    /* node_segment_head */
	uint64_t out_control; /* node_ring_control */
	uint64_t out_slots;   /* node_slot[NODE_RING_SLOTS] */
	uint64_t out_chunks;  /* chunk_area bytes */
	uint64_t in_control;
	uint64_t in_slots;
	uint64_t in_chunks;
	int32_t task;
	int32_t bell;     /* eventfd that wakes the peer */
	uint32_t closed;  /* NODE_CLOSED_ bits; 0: the fast path may send */
	uint32_t stopped; /* by the link: the fast path must not receive */
	uint32_t active;  /* the ring is on the list of those that are looked at */
	/*
	 * constant while connected: the peer cannot call membarrier, senders need a barrier of
	 * their own
	 */
	uint32_t fenced;
	uint32_t direct; /* by the link: cross-memory attach reaches the peer */
	/* an address of the put whose parts are coming in was bad: its last part gives no notice */
	uint32_t put_failed;
	/* constant: bytes of a chunk area, NODE_CHUNK_AREA or _LEAST by the number of rings */
	uint32_t chunk_area;
	uint32_t blocked;  /* there was no room since this task last saw some */
	int32_t pid;       /* of the peer, for copies between processes */
	uint32_t flushing; /* by the link: a flush waits for the peer */
	/* bytes that single-copy gets have read of the peer, not reported to it yet */
	uint64_t unsaid;
	/* by the link: the message at the head was refused and waits for others that were */
	uint32_t stalled;
	uint32_t owner[3]; /* the owner's; the node part does not look at it */
	/* the latest pull of the peer's did not succeed: its other half gives no notice */
	uint32_t pull_failed;
	uint32_t pull_refused; /* the peer has said that it cannot read this task's memory */
	/* by the owner: transfers made with the peer while it slept, since it was last woken for
	 * one; after how many it is woken; and sender.tail of that time */
	uint32_t slept, wake_after;
	uint64_t woken;
	/* by the link: this task has to share processors with others (node_may_spin) */
	uint32_t crowded;
	uint8_t line[36];
	node_chunks chunks;
} node_peer;

/* kind of a node_op */
#define NODE_OP_FREE 0
#define NODE_OP_GET 1
#define NODE_OP_RMW 2
#define NODE_OP_PUT 3 /* whose data the target reads, all or half */

/* A get, a put that the target reads or an operation on a word that waits for its answer. */
typedef struct node_op {
	uint32_t token; /* index | how often the place was used << 8: a late answer finds nothing */
	uint8_t kind;
	uint8_t width; /* of an operation on a word: 4 or 8 bytes; of others: 0, or below */
	uint8_t by;    /* its issuer, below */
	uint8_t note;  /* the issuer's */
	int32_t task;
	uint32_t next;   /* index, while free */
	uint64_t local;  /* address where the data of a get goes, of a put comes from */
	uint64_t n;      /* bytes of a get or put */
	uint64_t tag[4]; /* the issuer's */
} node_op;

/* width of a put that the target reads: which part of it this task has written */
#define NODE_PULL_ALL 0       /* none: the target reads all */
#define NODE_PULL_HALF 1      /* the first half */
#define NODE_PULL_UNWRITTEN 2 /* it should have, and could not */
/* of a get that comes in messages: this task's stores of the data bypass its caches */
#define NODE_GET_STREAMED 3
/* of a get that the target writes: which part of it this task reads */
#define NODE_PUSH_HALF 4   /* the first half */
#define NODE_PUSH_UNREAD 5 /* it should have, and could not: all of it follows in messages */
#define NODE_PUSH_NONE 6   /* the target writes all */

#define NODE_BY_LINK 0  /* transport/shm: only it takes the answer */
#define NODE_BY_OWNER 1 /* the owner's fast path: only it takes the answer */

/* A message that has come, while it is looked at. */
typedef struct node_arrival {
	uint32_t kind, zero;
	uint64_t slots;
	uint64_t header, data; /* bytes, checked */
	uint64_t body, bytes;  /* addresses of header and data */
} node_arrival;

/* The result of serving a message, or of a step of receiving: result is NODE_NONE … of receive.h
 * and serve.h. */
typedef struct node_event {
	node_arrival arrival;
	uint64_t addr; /* of a request, or the bad one of a fault */
	uint64_t n;            /* bytes moved, or asked for */
	uint64_t notice[2];
	uint64_t value; /* of an operation on a word: before it */
	uint64_t operand, compare;
	uint32_t token;    /* of a request */
	uint8_t op, width; /* of a request, or the kind of the operation that is over */
	uint8_t operation; /* on a word, of a request */
	uint8_t zero[5];
	/*
	 * index of the operation that is over; its place holds all but its kind until it is taken
	 * again
	 */
	uint32_t done;
} node_event;

/* All ends of one link. */
typedef struct node_link {
	uint64_t turn;     /* number of the progress call */
	uint64_t own_head; /* address of this task's node_segment_head */
	uint32_t rings;
	uint32_t own_ring; /* where this task's messages go in each segment */
	uint32_t num_active;
	uint32_t first;                 /* where in active the next progress call begins */
	uint8_t active[NODE_MAX_RINGS]; /* rings that are looked at in each progress call */
	/* Counts of messages, copies and bytes of data that went over the link; and of messages
	 * that no peer sends (ghosts). */
	uint64_t packets_sent, data_sent, packets_received, data_received, ghosts;
	/* constant: bytes of the chunks in which 2^i bytes or more go, less than twice that */
	uint32_t chunk_of[NODE_CHUNK_CLASSES];
	/* also in the segment's head, to prove that cross-memory attach reaches this memory */
	uint64_t cookie;
	uint64_t scratch; /* for that proof */
	/* Constant: units of each area that this task's messages use at most: in the wide pipeline,
	 * in the narrow one. Powers of two. */
	uint32_t chunk_units, chunk_narrow;
	uint64_t sleeps; /* times that this task was armed: the number of the sleep */
	/* constant: the peers need no barrier of their own, this task calls membarrier for them */
	uint32_t fencing;
	uint32_t unordered;   /* and the kernel refuses that now */
	uint32_t ops;         /* how many of op are in flight */
	uint32_t free_op;     /* index of the first free op; NODE_OPS: none */
	uint64_t cooled;      /* the turn that last looked for rings that went cold */
	node_event event;     /* of the latest call of transport/shm */
	uint8_t out[1024];    /* of transport/shm: the header of the message that it sends */
	uint64_t message[10]; /* likewise: the message that node_link_begin has begun */
	uint64_t transfer[6]; /* likewise: the node_transfer of the latest call */
	/* constant, 1: peers may send this task messages, and nothing that touches its memory */
	uint32_t messages_only;
	/* units of each area that messages use now: chunk_units or chunk_narrow */
	uint32_t chunk_limit;
	/* not 0: messages are written to chunks by a string instruction now */
	uint32_t string;
	uint8_t line[60];
	node_barrier barrier;
	node_routes routes;
	node_op op[NODE_OPS];
	node_peer peer[NODE_MAX_RINGS];
} node_link;

#ifndef __cplusplus
_Static_assert(sizeof(node_sender) == 64 && sizeof(node_receiver) == 64 && sizeof(node_op) == 64,
               "one line each");
_Static_assert(sizeof(node_chunks) % 64 == 0 && sizeof(node_peer) % 64 == 0 &&
                       offsetof(node_link, barrier) % 64 == 0 &&
                       offsetof(node_link, peer) % 64 == 0,
               "whole lines");
#endif

#endif
