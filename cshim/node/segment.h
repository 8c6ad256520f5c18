/*
 * segment.h - the memory through which tasks of one node exchange messages. Private to the library.
 *
 * Each task owns one segment, a sealed memfd that all others of the node map (transport/shm). It
 * holds what comes in. Each sender has one ring of slots there, with one producer and one consumer.
 * So no lock is needed, and a sender that dies blocks nobody.
 *
 *	head | node_ring_control[rings] | up to a page | ring of sender 0 | ring of sender 1 | ...
 *	     | up to a page | chunk area of sender 0 | ...
 *
 * The layout is the same for every word size and architecture (little-endian): fixed widths, no
 * pointers. The comment of each word that another process reads says what orders it. No process
 * trusts what it reads here: every value is range-checked. A process keeps the values that it
 * relies on in its private structs (node.h).
 *
 * A message takes one slot or several consecutive ones: the head word, the header (a multiple of 8
 * bytes), the data. It never wraps: a message that does not fit before the ring's end is preceded
 * by padding. The receiver knows a new message by the sequence in the head word of the next slot.
 * That slot may hold bytes of a longer message of the previous round, which might look like
 * anything. Therefore the sender remembers the slots it used as continuations, and clears the head
 * word of such a slot before it publishes the message in front of it.
 *
 * Data that is too long for slots lies in the sender's chunk area. Then NODE_KIND_CHUNK is set in
 *the message's kind, the head word says 0 bytes of data, and the 8 bytes behind it say where the
 *data lies and how much it is. The sender fills the area in units, each chunk in one piece. A unit
 *is free again when consumed passes the message that used it: its acquire, with the receiver's
 *release, lets the sender write there again, or give the memory back to the kernel. So chunks need
 *no words of their own, and both ends copy at once: a pipeline. Which units are used is the
 *sender's business alone, under its owner's lock: as few as what is in flight needs. So an area
 *takes memory only where that was once.
 *
 * Sleeping, cold rings and waiting for room each are a pair "store mine, then read yours" on both
 * sides. The side that runs often has a plain store and a plain load. The side that is about to
 *sleep calls membarrier between the two (arm.c). So at least one side sees the other's store and no
 * wake-up is lost. cshim/model has these rules for a checker.
 */
#ifndef NODE_SEGMENT_H
#define NODE_SEGMENT_H

#include <stdint.h>

#include "cpu/shared.h"
#include "node/barrier.h"

#define NODE_SEGMENT_MAGIC 0x315F6D68736C4150u /* bytes "PAlshm_1" */
#define NODE_SEGMENT_VERSION 9
#define NODE_MAX_RINGS 128 /* tasks of one node: MAX_SHM_TASKS of the LAPI guide's Appendix F */
#define NODE_SLOT_SIZE 64  /* one cache line */
/* 16 KiB: rings of 64 slots halve the message rate, 1024 gain nothing */
#define NODE_RING_SLOTS 256
/* the longest message in slots: NODE_INLINE_MAX of data and any header */
#define NODE_MESSAGE_SLOTS 40
/* Longer data goes in a chunk: a long message in slots leaves little of the ring to others. */
#define NODE_INLINE_MAX 512
#define NODE_BARRIER_ROUNDS 7  /* log2 of NODE_MAX_RINGS */
#define NODE_BARRIER_PLACES 64 /* for processors; more of them share */

#define NODE_CHUNK_UNIT 1024
/* Of an area, 1 MiB, where few tasks share the node's memory; a sender may use less of it. */
#define NODE_CHUNK_UNITS 1024
#define NODE_CHUNK_LEAST 4 /* units: a sender keeps these, but for the page it lies in */
#define NODE_CHUNK_AREA (NODE_CHUNK_UNIT * NODE_CHUNK_UNITS)
#define NODE_CHUNK_AREA_RINGS 4           /* with more rings than this, */
#define NODE_CHUNK_AREA_LEAST (256 << 10) /* so much */
/* header and data of the longest message: 64 KiB and any header */
#define NODE_CHUNK_MAX (68 * NODE_CHUNK_UNIT)
#define NODE_CHUNK_CLASSES 32 /* of lengths, by powers of two */

/*
 * armed. Asleep, or about to look once more and sleep: NODE_ASLEEP, with the number of the sleep
 * above it. A peer with news writes the bell. Then it changes that very number to NODE_AWAKE, so
 * that others need not ring. Because of this order a peer that is stopped between the two does not
 * keep others from waking the sleeper. Because of the number a late peer ends no sleep for which it
 * has not rung. (A bell too many only makes the owner look once more.)
 */
#define NODE_AWAKE 0
#define NODE_ASLEEP 1 /* a bit */
#define NODE_CLOSED 2 /* the owner has left; nothing will be read any more */
#define NODE_SLEEP 4  /* the number's unit */

/* head word of a message: sequence | kind << 32 | header units << 40 | data bytes << 48 */
/* sequence = slot index | this; so a cleared word is never valid */
#define NODE_SEQUENCE_VALID 0x80000000u
#define NODE_HEADER_UNIT 8
/* Kinds: 1 to NODE_KIND_MAX are the owner's messages (transport.MsgID), then those of message.h,
 * and: */
#define NODE_KIND_MAX 31
/* or'd to one of those: the data lies in the chunk area, node_place precedes the header */
#define NODE_KIND_CHUNK 0x80
/* the sender has disconnected and begins anew: a new generation (transport/shm) */
#define NODE_KIND_EPOCH 254
#define NODE_KIND_PADDING 255 /* skip to the ring's end */

typedef struct node_place {
	uint32_t offset; /* in the chunk area */
	uint32_t length; /* bytes of data */
} node_place;

typedef struct node_slot {
	/* stored last, as one word: publishes the message (release; pairs with node_next) */
	CSHIM_SHARED uint64_t head;
	uint8_t bytes[NODE_SLOT_SIZE - 8];
} node_slot;

/* One for each sender, in the receiver's segment. Three lines that never move together, and one
   unused so that the adjacent-line prefetcher does not tie them to the next ring's. */
typedef struct node_ring_control {
	/* Written by the receiver at the end of each batch and each quarter ring. */
	/* slots before this index are free (release; the receiver has finished reading) */
	CSHIM_SHARED uint64_t consumed;
	/* 1 + index of the oldest refused message that was not accepted since, 0: none. Stored
	   before the consumed that passes it. A message is accepted if consumed is past it and held
	   is 0 or past it. */
	CSHIM_SHARED uint64_t held;
	uint8_t line0[48];
	/* Written by the receiver, rarely. */
	/* 1: the receiver does not look at this ring unless its bit in pending is set */
	CSHIM_SHARED uint32_t cold;
	/* How often the receiver has given up the operations under way with the sender: the sender
	   must not write data asked for earlier to the receiver's memory any more (pull.c). */
	CSHIM_SHARED uint32_t era;
	/* Odd while the receiver writes the sender's memory, as it was asked to. */
	CSHIM_SHARED uint32_t pushing;
	uint8_t line1[52];
	/* Set by the sender before it sleeps, taken by the receiver. */
	CSHIM_SHARED uint32_t waiting; /* 1: wake the sender when consumed or held changes */
	uint8_t line2[60];
	uint8_t line3[64];
} node_ring_control;

/* A word of the barrier (barrier.h), alone on two lines, so that neither a neighbour nor the
   prefetcher moves it. */
typedef struct node_barrier_word {
	CSHIM_SHARED uint64_t value;
	uint8_t line[120];
} node_barrier_word;

/* The barrier's words in one segment. All of them are loaded with acquire. */
typedef struct node_barrier_words {
	/* Written by the owner (release): the generation that it has signalled in each round. That
	   of round 0 is its arrival, and stored in every barrier; the others only where the barrier
	   is a dissemination. */
	node_barrier_word round[NODE_BARRIER_ROUNDS];
	/* Used in the segment of the node's first task only, where the barrier is a central
	 * counter. */
	node_barrier_word
		arrivals; /* fetch-and-add by each task that arrives: generations times tasks */
	node_barrier_word released; /* the generation that is over; stored by the last to arrive */
	/* Stored by any peer: it takes part in no barrier any more; the owner's code for why. Then
	   it rings the bell. */
	node_barrier_word refused;
	/* In the segment of the node's first task, by processor: which tasks have arrived there,
	   see barrier.c. Stored by tasks that arrive. A hint: nothing is wrong with any value, only
	   slow. */
	node_barrier_word gathered[NODE_BARRIER_PLACES];
} node_barrier_words;

typedef struct node_segment_head {
	/* Constant once the descriptor has been given away. */
	uint64_t magic;
	uint32_t version;
	uint32_t slot_size;
	uint32_t ring_slots;
	uint32_t rings; /* sender i of the node's tasks in ascending order uses ring i */
	int32_t task;
	int32_t pid;
	uint64_t size; /* of the segment, bytes */
	/*
	 * random; also in the owner's private memory, to prove that cross-memory attach reaches it
	 */
	uint64_t cookie;
	uint8_t line0[16];
	uint8_t line1[64];
	/* Written by the owner, and by senders that have rung (compare-and-swap of the value they
	   had read, to NODE_AWAKE). */
	CSHIM_SHARED uint64_t armed;
	/* Written by the owner: 1 while no user thread has polled for a moment. Then it computes: a
	   peer that moves much data should do it alone. A hint. */
	CSHIM_SHARED uint32_t away;
	uint8_t line2[52];
	uint8_t line3[64];
	/* Bit set: the cold ring of that sender has messages, or the sender has left. Set by
	   senders, taken by the owner. */
	CSHIM_SHARED uint64_t pending[NODE_MAX_RINGS / 64];
	uint8_t line4[48];
	uint8_t line5[64];
	node_barrier_words barrier;
} node_segment_head;

#ifndef __cplusplus
_Static_assert(sizeof(node_slot) == NODE_SLOT_SIZE && sizeof(node_place) == 8,
               "a slot is one line");
_Static_assert(sizeof(node_ring_control) == 256, "ring control is four lines");
_Static_assert(sizeof(node_barrier_words) == (10 + NODE_BARRIER_PLACES) * 128 &&
                       sizeof(node_segment_head) == 384 + sizeof(node_barrier_words),
               "segment head is six lines and the barrier's");
_Static_assert(1 << NODE_BARRIER_ROUNDS >= NODE_MAX_RINGS, "rounds for all tasks of a node");
#endif

#endif
