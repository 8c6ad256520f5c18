/*
 * segment.h - the memory through which tasks of one node exchange messages (transport/shm). Private to the library.
 *
 * Each task owns one segment, a sealed memfd that all others of the node map. It holds what comes in: per sender one
 * ring of slots with one producer and one consumer, so that no lock is needed and a sender that dies blocks nobody.
 *
 *	head | cshim_ring_control[rings] | up to a page boundary | ring of sender 0 | ring of sender 1 | ... | chunk area of sender 0 | ...
 *
 * The same layout for every word size and architecture (little-endian): fixed widths, no pointers. Whoever writes a
 * word that another process reads says below what orders it. Nobody trusts what it reads here: every value is
 * range-checked, and what a process must rely on is kept in its private structs at the end of this file.
 *
 * A message takes one slot or several consecutive ones: the head word, the header (a multiple of 8 bytes), the data. It
 * never wraps; a message that does not fit before the ring's end is preceded by padding. The receiver knows a new
 * message by the sequence in the head word of the next slot. That slot may hold bytes of a longer message of
 * the previous round, which might look like anything; therefore the sender remembers the slots it used as
 * continuations and clears the head word of such a slot before it publishes the message in front of it.
 *
 * Data that is too long for slots lies in the sender's chunk area: CSHIM_KIND_CHUNK is set in the message's kind, the head word says 0 bytes of
 * data, and the 8 bytes behind it say where the data lies and how much it is. The sender fills the area in order, in units,
 * each chunk in one piece; a unit is free again when consumed passes the message that used it. So chunks need no words of their
 * own, and both ends copy at once: a pipeline.
 *
 * Sleeping, cold rings and waiting for room each are a pair "store mine, then read yours" on both sides. Go's accesses
 * are sequentially consistent; the fast lane's are not, and the side that is about to sleep fences for both (docs/fastlane.md). So at least
 * one side sees the other's store and no wake-up is lost. cshim/model has these rules for a checker.
 */
#ifndef CSHIM_SEGMENT_H
#define CSHIM_SEGMENT_H

#include <stdint.h>

#include "node/barrier.h"

#define CSHIM_SEGMENT_MAGIC 0x315F6D68736C4150u /* bytes "PAlshm_1" */
#define CSHIM_SEGMENT_VERSION 5
#define CSHIM_MAX_RINGS 128      /* tasks of one node: MAX_SHM_TASKS of the guide's Appendix F */
#define CSHIM_SLOT_SIZE 64       /* one cache line */
#define CSHIM_RING_SLOTS 256     /* 16 KiB: rings of 64 slots halve the message rate, 1024 gain nothing */
#define CSHIM_MESSAGE_SLOTS 40   /* the longest message in slots: CSHIM_INLINE_MAX of data and any header */
#define CSHIM_INLINE_MAX 512     /* longer data goes in a chunk: a long message in slots leaves little of the ring to others, measured from 768 */
#define CSHIM_PAGE 4096
#define CSHIM_BARRIER_ROUNDS 7   /* log2 of CSHIM_MAX_RINGS */
#define CSHIM_BARRIER_PLACES 64  /* for processors; more of them share */

#define CSHIM_CHUNK_UNIT 4096
#define CSHIM_CHUNK_UNITS 256    /* of an area, 1 MiB, where few tasks share the node's memory; a sender may use less of it (transport/calibration) */
#define CSHIM_CHUNK_AREA (CSHIM_CHUNK_UNIT * CSHIM_CHUNK_UNITS)
#define CSHIM_CHUNK_AREA_RINGS 4 /* with more rings than this, */
#define CSHIM_CHUNK_AREA_LEAST (256 << 10) /* so much */
#define CSHIM_CHUNK_MAX (17 * CSHIM_CHUNK_UNIT) /* header and data of the longest message: 64 KiB and any header */
#define CSHIM_CHUNK_CLASSES 32   /* of lengths, by powers of two */

/*
 * armed. Asleep, or about to look once more and sleep: ASLEEP, with the number of the sleep above it. Whoever has news writes the bell and then, so that
 * others need not, changes that very number to AWAKE. In this order one that stops between the two keeps nobody else's news from the
 * sleeper; and by the number one that comes late takes no sleep for which it has not rung. (A bell too many only makes the owner look once more.)
 */
#define CSHIM_AWAKE 0
#define CSHIM_ASLEEP 1 /* a bit */
#define CSHIM_CLOSED 2 /* the owner has left; nothing will be read any more */
#define CSHIM_SLEEP 4  /* the number's unit */

/* head word of a message: sequence | kind << 32 | header units << 40 | data bytes << 48 */
#define CSHIM_SEQUENCE_VALID 0x80000000u /* sequence = slot index | this; so a cleared word is never valid */
#define CSHIM_HEADER_UNIT 8
#define CSHIM_KIND_PADDING 255 /* skip to the ring's end; other kinds are transport.MsgID, 1 to 31, */
#define CSHIM_KIND_RENEWED 254 /* and this: the sender has disconnected and begins anew (transport/shm/renew.go) */
#define CSHIM_KIND_CHUNK 0x80  /* or'd to a kind of 1 to 31: the data lies in the chunk area; cshim_place is in front of the header */

typedef struct cshim_place {
	uint32_t offset; /* in the chunk area */
	uint32_t length; /* bytes of data */
} cshim_place;

typedef struct cshim_slot {
	uint64_t head; /* stored last, as one word: publishes the message (release; pairs with the receiver's load, acquire) */
	uint8_t bytes[CSHIM_SLOT_SIZE - 8];
} cshim_slot;

/* One for each sender, in the receiver's segment. Three lines that never move together, and one unused so that the
   adjacent-line prefetcher does not tie them to the next ring's. */
typedef struct cshim_ring_control {
	/* Written by the receiver at the end of each batch and each quarter ring. */
	uint64_t consumed; /* slots before this index are free (release; the receiver has finished reading them) */
	uint64_t held;     /* 1 + index of the oldest refused message that was not accepted since, 0: none; stored before the
	                      consumed that passes it. A message is accepted if consumed is past it and held is 0 or past it. */
	uint8_t line0[48];
	/* Written by the receiver, rarely. */
	uint32_t cold;     /* 1: the receiver does not look at this ring unless its bit in pending is set */
	uint8_t line1[60];
	/* Set by the sender before it sleeps, taken by the receiver. */
	uint32_t waiting;  /* 1: wake the sender when consumed or held changes */
	uint8_t line2[60];
	uint8_t line3[64];
} cshim_ring_control;

/* A word of the node barrier (barrier.h), alone on two lines, so that neither a neighbour nor the prefetcher moves it. */
typedef struct cshim_barrier_word {
	uint64_t value;
	uint8_t line[120];
} cshim_barrier_word;

/* The barrier's words in one segment. All of them are loaded with acquire. */
typedef struct cshim_barrier_words {
	/*
	 * Written by the owner (release): the generation that it has signalled in each round. That of round 0 is its arrival, and stored
	 * in every barrier; the others only where the barrier is a dissemination.
	 */
	cshim_barrier_word round[CSHIM_BARRIER_ROUNDS];
	/* Used in the segment of the node's first task only, where the barrier is a central counter. */
	cshim_barrier_word arrivals; /* fetch-and-add by each task that arrives: generations times tasks */
	cshim_barrier_word released; /* the generation that is over; stored by the last to arrive */
	/* Stored by any peer: it takes part in no collective any more; the lapi code to fail with. Then it rings the bell. */
	cshim_barrier_word refused;
	/*
	 * In the segment of the node's first task, by processor: who has arrived there, see node/barrier.c. Stored by tasks that arrive, one at a
	 * time as they share the processor, or hardly ever not. A hint: nothing is wrong with any value, only slow.
	 */
	cshim_barrier_word gathered[CSHIM_BARRIER_PLACES];
} cshim_barrier_words;

typedef struct cshim_segment_head {
	/* Constant once the descriptor has been given away. */
	uint64_t magic;
	uint32_t version;
	uint32_t slot_size;
	uint32_t ring_slots;
	uint32_t rings;        /* sender i of the node's tasks in ascending order uses ring i */
	int32_t task;
	int32_t pid;
	uint64_t size;         /* of the segment, bytes */
	uint64_t cookie;       /* random; also in the owner's private memory, to prove that cross-memory attach reaches it */
	uint8_t line0[16];
	uint8_t line1[64];
	/* Written by the owner, and by senders that have rung (compare-and-swap of what they had read before, to AWAKE). */
	uint64_t armed;
	/* Written by the owner: 1 while no user thread has polled for a moment. It computes: who moves much data should do it alone. A hint. */
	uint32_t away;
	uint8_t line2[52];
	uint8_t line3[64];
	/* Bit set: the cold ring of that sender has messages. Set by senders, taken by the owner. */
	uint64_t pending[CSHIM_MAX_RINGS / 64];
	uint8_t line4[48];
	uint8_t line5[64];
	cshim_barrier_words barrier;
} cshim_segment_head;

/* Process-private, under the context lock: one for each peer in each direction. */

typedef struct cshim_sender {
	uint64_t tail;     /* index of the next slot to write; slot = index % CSHIM_RING_SLOTS */
	uint64_t consumed; /* last seen in the receiver's ring control, checked */
	uint64_t continued[CSHIM_RING_SLOTS / 64]; /* bit: the slot was last written as a continuation */
	/* The lane's: messages that it sends without a turn of the dispatcher between them are a stream. */
	uint64_t turn;     /* cshim_paths.turn when it sent the latest message */
	uint64_t streamed; /* index of the first slot since then */
} cshim_sender;

typedef struct cshim_receiver {
	uint64_t head;      /* index of the next slot to read */
	uint64_t published; /* last stored in consumed */
	uint64_t turn;      /* the turn of the dispatcher that last found a message */
	uint64_t chunked;   /* bytes of chunks read since consumed was last stored */
	uint8_t line[32];
} cshim_receiver;

/* Receivers publish consumed when so many bytes of chunks are free: the sender waits for them sooner than for slots. */
#define CSHIM_CHUNK_PUBLISH (CSHIM_CHUNK_AREA_LEAST / 16)

/* The sender's view of its chunk area. */
typedef struct cshim_chunks {
	uint64_t tail; /* number of the next unit to write; its place is that modulo cshim_paths.chunk_units */
	uint64_t until[CSHIM_CHUNK_UNITS]; /* by place: the unit is in use until consumed is so far. Never less than an older unit's. */
	uint8_t line[56];
} cshim_chunks;

/* closed: why the lane must not send on a path; who has a reason sets its bit */
#define CSHIM_CLOSED_LINK 1u /* the link: not connected, gone, or its announcement has found no room yet (transport/shm/renew.go) */
#define CSHIM_CLOSED_CORE 2u /* core: messages wait for room, the task is dead or purged */

/* Process-private, under the context lock: this task's end of both rings between it and one task of the node. */
typedef struct cshim_path {
	cshim_sender sender;
	cshim_receiver receiver;
	/* Addresses in this process, constant while connected: the peer's segment, and what lies in this task's. */
	uint64_t out_head;    /* cshim_segment_head */
	uint64_t out_control; /* cshim_ring_control */
	uint64_t out_slots;   /* cshim_slot[CSHIM_RING_SLOTS] */
	uint64_t out_chunks;  /* chunk_area bytes */
	uint64_t in_control;
	uint64_t in_slots;
	uint64_t in_chunks;
	int32_t task;
	int32_t bell;         /* eventfd that wakes the peer */
	uint32_t closed;      /* CSHIM_CLOSED_ bits; 0: the lane may send */
	uint32_t stopped;     /* by the link: the lane must not receive */
	uint32_t active;      /* by the link: the ring is on the list of those that are looked at */
	uint32_t fenced;      /* constant while connected: the peer cannot call membarrier, senders need a fence of their own */
	/* What the lane did and core has yet to hear (core/lapi/lane.go). */
	uint32_t used;        /* something was sent since the last fence */
	uint32_t kind;        /* lapi_err_t of the latest operation, 1 more; 0: none */
	int32_t expected;     /* completions that the peer owes, less those that came */
	uint32_t direct;      /* by the link: cross-memory attach reaches the peer */
	uint32_t put_failed;  /* by core: an address of the put whose parts are coming in was bad, so its last part changes no counter */
	uint32_t chunk_area;  /* constant: bytes of a chunk area, CSHIM_CHUNK_AREA or _LEAST by the number of rings */
	uint8_t line[24];
	cshim_chunks chunks;
} cshim_path;

/* Process-private, under the context lock: all ends of one link. */
typedef struct cshim_paths {
	uint64_t turn;       /* of the dispatcher */
	uint64_t own_head;   /* address of this task's cshim_segment_head */
	uint32_t rings;
	uint32_t own_ring;   /* where this task's messages go in each segment */
	uint32_t num_active;
	uint32_t first;      /* where in active the next turn begins */
	uint8_t active[CSHIM_MAX_RINGS]; /* by the link: rings that are looked at in each turn */
	/* What went through the lane, since the link last added it to its statistics. */
	uint64_t packets_sent, data_sent, packets_received, data_received;
	uint32_t chunk_of[CSHIM_CHUNK_CLASSES]; /* constant: bytes of the chunks in which 2^i bytes or more go, less than twice that */
	uint64_t cookie;     /* also in the segment's head, to prove that cross-memory attach reaches this memory */
	uint8_t scratch[48]; /* for that proof */
	uint64_t chunk_units; /* constant: so many units of each area this task's messages use: a power of two */
	cshim_barrier barrier;
	cshim_path path[CSHIM_MAX_RINGS];
} cshim_paths;

#ifndef __cplusplus
_Static_assert(sizeof(cshim_path) == 2368 && sizeof(cshim_place) == 8 && sizeof(cshim_paths) % 64 == 0, "paths are whole lines");
_Static_assert(sizeof(cshim_slot) == CSHIM_SLOT_SIZE, "a slot is one line");
_Static_assert(sizeof(cshim_ring_control) == 256, "ring control is four lines");
_Static_assert(sizeof(cshim_barrier_words) == (10 + CSHIM_BARRIER_PLACES) * 128 && sizeof(cshim_segment_head) == 384 + sizeof(cshim_barrier_words),
               "segment head is six lines and the barrier's");
_Static_assert(1 << CSHIM_BARRIER_ROUNDS >= CSHIM_MAX_RINGS, "rounds for all tasks of a node");
_Static_assert(sizeof(cshim_sender) == 64 && sizeof(cshim_receiver) == 64, "one line each");
_Static_assert(sizeof(cshim_chunks) % 64 == 0, "whole lines");
#endif

#endif
