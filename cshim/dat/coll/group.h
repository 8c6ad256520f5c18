/*
 * group.h - what core and this room share of groups: how a group is described, its judged
 * operations, and the memory of a group whose members are all processes of one node (docs/dat.md,
 * "Collectives on one node"). Private to the library.
 *
 * A group is made by core, which describes it by a dat_group_config, and is this room's from then
 * on (coll.h). dat_rank_slot is memory that all members map: the order of what stands there is
 * argued at its fields, and nothing that another member has written there is trusted.
 */
#ifndef DAT_GROUP_H
#define DAT_GROUP_H

#include <stdint.h>

#define DAT_GROUP_MOST 64     /* members: core/dat's neighboursMax */
#define DAT_GROUP_CHUNKS 32   /* rounds that a member may be ahead of another, at the most */
#define DAT_GROUP_CHUNK 65536 /* bytes of a chunk at the most */
#define DAT_GROUP_ALL 4194304 /* bytes of all staging buffers at the most */
#define DAT_GROUP_INLINE 32   /* bytes that travel in a descriptor */

/* Which path is the faster is learnt for each kind of operation and class of lengths, of which the
 * first has DAT_GROUP_COPY_MIN bytes. */
#define DAT_GROUP_COPY_MIN 16384
#define DAT_GROUP_KINDS 16
#define DAT_GROUP_CLASSES 18

/* What a member says of a round. */
typedef struct dat_desc {
	/* 1 + the round. Stored last (release): publishes the rest, and the chunk of the staging
	 * buffer */
	uint64_t stamp;
	uint64_t check;  /* what all members' calls must have in common */
	uint64_t n;      /* bytes, of operations whose lengths differ */
	uint32_t rounds; /* for how many rounds it has data; of the operation's first round */
	uint32_t how;    /* DAT_DESC_ bits; of the operation's first round */
	unsigned char inlined[DAT_GROUP_INLINE];
} dat_desc;

/* how of a descriptor: this member's data are read where they lie. inlined has a dat_span that says
 * where; of pieces the chunk has one for each rank. */
#define DAT_DESC_PLACE 1u
/* This member's memory may be written by the only other one: the second half of inlined has a
 * dat_span that says where. */
#define DAT_DESC_TAKES 2u

/* The request of a member that cannot read another's memory, and its answer to another's request
 * (pull.c). */
typedef struct dat_pull {
	uint64_t asks;  /* number of requests (release): publishes the request */
	uint64_t from;  /* the rank that it asks; DAT_GROUP_MOST: none */
	uint64_t what;  /* of a reduction: 0 elements, 1 results */
	uint64_t at, n; /* n bytes at a place of the data that that rank sends */
	/* the request that is answered: its number, and rank (release): publishes the answer */
	uint64_t answers;
} dat_pull;

/* A member's own part of the memory that all map. */
typedef struct dat_rank_slot {
	uint64_t done; /* it reads nothing of rounds before this one any more (release) */
	dat_pull pull;
	/* the decider's (release): the round after the operation's first one, DAT_DECIDED_AT bits
	 * up; the number of later operations with the same arguments that it holds for,
	 * DAT_HOLDS_AT bits up; and the path of long data, DAT_PATH_ */
	uint64_t decided;
	/* 1: it writes no descriptor any more (release), and nobody may write its memory. Set by
	 * itself or, when its process is gone, by the others */
	uint64_t ended;
	/* 1 more than the first round of the operation of which it has written the other's memory
	 * (release), and up to which byte of what it sends */
	uint64_t pushed, upto;
	uint32_t pushing; /* odd: it is about to write it, or does */
	uint32_t zero;
	/* of a member whose memory the other may write: twice 1 more than that round, and 1 if the
	 * other does, 0 if this one reads all by itself. The first of the two claims it (compare
	 * and swap) */
	uint64_t claim;
	/* of rank 0: how much the group's clock is ahead of CLOCK_MONOTONIC; 0: nobody has looked
	 */
	uint64_t clock;
	uint64_t line1[2];
	dat_desc desc[DAT_GROUP_CHUNKS]; /* by round */
} dat_rank_slot;

typedef struct dat_span {
	uint64_t addr, n;
} dat_span;

/* flags of a dat_group_op */
#define DAT_GROUP_QUIET 1u     /* no event of success */
#define DAT_GROUP_SEND_LIST 2u /* the parts to send are in a list */
#define DAT_GROUP_RECV_LIST 4u
#define DAT_GROUP_SHORT 8u /* data did not fit: it fails at this member alone */
#define DAT_GROUP_LOST 16u /* it was posted after a member's process was gone: it fails */

/* An operation that is posted, whose arguments are legal (call.c). */
typedef struct dat_group_op {
	uint32_t kind; /* of its event */
	uint32_t flags;
	uint32_t root, op, type, zero; /* op, type: of a reduction */
	uint64_t context;
	uint64_t n;     /* bytes that all members' calls have in common; of set_clock its value */
	uint64_t check; /* all that they have in common */
	dat_span send, recv;               /* the buffer, or the part of rank 0 */
	uint64_t send_stride, recv_stride; /* from one rank's part to the next one's */
} dat_group_op;

/* Which engine does the operations of a group, from its making to its end. */
#define DAT_ENGINE_NONE 0u /* it is being made */
#define DAT_ENGINE_NODE 1u /* this room: all members are processes of one node */
#define DAT_ENGINE_PLAN 2u /* core/dat/coll, over links */

/* How core describes a group when it makes it; constant. */
typedef struct dat_group_config {
	uint64_t handle, evd;
	uint64_t slots; /* address of dat_rank_slot[size]; 0: only the plan can do its operations */
	uint64_t staging; /* address of each member's chunks */
	uint32_t size, rank;
	uint32_t chunks;  /* rounds that a member may be ahead of another, a power of two */
	uint32_t chunk;   /* bytes, a power of two */
	uint32_t crowded; /* there are more members than processors */
	uint32_t random;  /* LAPI_FASTLANE=random: the seed of the decider's choices; 0: by time */
	uint64_t peers[DAT_GROUP_MOST]; /* addresses of node_peer; 0: none to wake */
	uint64_t links[DAT_GROUP_MOST]; /* of node_link, by which its memory is read */
} dat_group_config;

#endif
