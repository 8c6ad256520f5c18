/*
 * group.h - shared by core and this room, of groups: how a group is described, its judged
 * operations, and the memory of a group whose members are all processes of one node
 * (docs/dev/dat.md, "Collectives on one node"). Private to the library.
 *
 * A group is made by core, which describes it by a dat_group_config, and is this room's from then
 * on (coll.h). dat_rank_slot is memory that all members map: the order of its fields is argued at
 * each field, and nothing that another member has written there is trusted.
 */
#ifndef DAT_GROUP_H
#define DAT_GROUP_H

#include <stdint.h>

#include "cpu/shared.h"
#define DAT_GROUP_MOST 64     /* members: core/dat's neighboursMax */
#define DAT_GROUP_CHUNKS 32   /* rounds that a member may be ahead of another, at the most */
#define DAT_GROUP_CHUNK 65536 /* bytes of a chunk at the most */
#define DAT_GROUP_ALL 4194304 /* bytes of all staging buffers at the most */
#define DAT_GROUP_INLINE 32   /* bytes that travel in a descriptor */

/*
 * The faster path is learnt for each kind of operation and class of lengths. The first class has
 * DAT_GROUP_COPY_MIN bytes.
 */
#define DAT_GROUP_COPY_MIN 16384
#define DAT_GROUP_KINDS 16
#define DAT_GROUP_CLASSES 18

/* A member's descriptor of a round. */
typedef struct dat_desc {
	/* 1 + the round. Stored last (release): publishes the rest, and the chunk of the staging
	 * buffer */
	CSHIM_SHARED uint64_t stamp;
	uint64_t check;  /* what all members' calls must have in common */
	uint64_t n;      /* bytes, of operations whose lengths differ */
	uint32_t rounds; /* for how many rounds it has data; of the operation's first round */
	uint32_t how;    /* DAT_DESC_ bits; of the operation's first round */
	unsigned char inlined[DAT_GROUP_INLINE];
} dat_desc;

/*
 * how of a descriptor: this member's data are read where they lie. inlined has a dat_span with
 * their place; if they are pieces the chunk has a dat_span for each rank.
 */
#define DAT_DESC_PLACE 1u
/* This member's memory may be written by the only other one: the second half of inlined has a
 * dat_span that says where. */
#define DAT_DESC_TAKES 2u

/* The request of a member that cannot read another's memory, and its answer to another's request
 * (pull.c). */
typedef struct dat_pull {
	CSHIM_SHARED uint64_t asks;  /* number of requests (release): publishes the request */
	CSHIM_SHARED uint64_t from;  /* the rank that it asks; DAT_GROUP_MOST: none */
	CSHIM_SHARED uint64_t what;  /* of a reduction: 0 elements, 1 results */
	CSHIM_SHARED uint64_t at, n; /* n bytes at a place of the data that that rank sends */
	/* the request that is answered: its number, and rank (release): publishes the answer */
	CSHIM_SHARED uint64_t answers;
} dat_pull;

/* A member's own part of the memory that all map. */
typedef struct dat_rank_slot {
	CSHIM_SHARED uint64_t done; /* it no longer reads rounds before this one (release) */
	dat_pull pull;
	/* the decider's (release): the round after the operation's first one, DAT_DECIDED_AT bits
	 * up; the number of later operations with the same arguments that it holds for,
	 * DAT_HOLDS_AT bits up; and the path of long data, DAT_PATH_ */
	CSHIM_SHARED uint64_t decided;
	/* 1: it writes no descriptor any more (release), and nobody may write its memory. Set by
	 * itself or, when its process is gone, by the others */
	CSHIM_SHARED uint64_t ended;
	/*
	 * 1 + the first round of the operation for which it has written the other's memory
	 * (release), and up to which byte of its data
	 */
	CSHIM_SHARED uint64_t pushed, upto;
	CSHIM_SHARED uint32_t pushing; /* odd: it is about to write the other's memory, or does */
	uint32_t zero;
	/* of a member whose memory the other may write: twice 1 more than that round, and 1 if the
	 * other does, 0 if this one reads all by itself. The first of the two claims it (compare
	 * and swap) */
	CSHIM_SHARED uint64_t claim;
	/* of rank 0: how much the group's clock is ahead of CLOCK_MONOTONIC; 0: nobody has looked
	 */
	CSHIM_SHARED uint64_t clock;
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
#define DAT_ENGINE_PLAN 2u /* core/dat/coll, over links and rails */
#define DAT_ENGINE_RAILS \
	3u /* short operations this room, by rails; the others core/dat/coll, in their turn */

/*
 * A rail is a queue pair to a member on another node, and memory that each end has registered for
 * the other (docs/dev/dat.md, "Collectives between adapters"). A message is one RDMA write, which ends
 * at the end of a slot: its data, and behind them a dat_rail_tail, whose stamp says that all of it
 * is there. The data of a message are padded to 8 bytes.
 */
#define DAT_RAIL_SLOTS 32
#define DAT_RAIL_SLOT 2048
#define DAT_RAIL_DATA 2016 /* bytes of a message */

typedef struct dat_rail_tail {
	uint64_t check; /* what all members' calls must have in common */
	uint64_t total; /* bytes of the plan's message, of which this may be a part */
	uint32_t seq;   /* of the operation, its low bits */
	uint16_t n;     /* bytes of data in front of this */
	uint8_t what, kind;
	CSHIM_SHARED uint64_t stamp; /* 1 + the number of the message on the rail: placed last */
} dat_rail_tail;

/* what of a message: a part of a message of the plan's; an ask where a message is to be written
 * straight to its place; the notice that it was */
#define DAT_RAIL_PART 0
#define DAT_RAIL_ASK 1
#define DAT_RAIL_WRITTEN 2

/* Words that a member writes in the other's memory beside messages. */
typedef struct dat_rail_words {
	CSHIM_SHARED uint64_t taken;  /* messages of the peer's that it has taken */
	CSHIM_SHARED uint64_t asleep; /* a thread of its own sleeps, and is to be woken by a link's message */
	/* where the message whose ask has that number is to be written; n is 0: it is to come in
	 * parts. Written at once, number last */
	uint64_t addr, n, key;
	CSHIM_SHARED uint64_t number;
	uint64_t last; /* nobody reads it: earlier writes have arrived before it */
} dat_rail_words;

/* The registered memory of a rail's end. */
typedef struct dat_rail_memory {
	unsigned char in[DAT_RAIL_SLOTS][DAT_RAIL_SLOT];  /* written by the peer */
	unsigned char out[DAT_RAIL_SLOTS][DAT_RAIL_SLOT]; /* source of the writes to the peer */
	dat_rail_words words;                             /* written by the peer */
	uint64_t line1;
	dat_rail_words own; /* source of the writes to the peer */
	uint64_t line2;
} dat_rail_memory;

typedef struct dat_rail_config {
	uint64_t qp, cq; /* cshim_ibv_object; qp is 0: core posts (dat_rail_post), and polls */
	uint64_t memory, remote; /* addresses of a dat_rail_memory here and there */
	uint32_t lkey, rkey;
	uint32_t inlined; /* bytes that the adapter takes with a request (inline) */
	uint32_t depth;   /* requests that the queue pair has room for */
} dat_rail_config;

/* A request that core is to post: a write of n bytes. */
typedef struct dat_rail_post {
	uint64_t local, remote, id;
	uint32_t lkey, rkey, n, rank, flags, zero;
} dat_rail_post;
#define DAT_RAIL_SIGNALED 1u
#define DAT_RAIL_INLINE 2u

/* status of a rail, beside those of libibverbs: its queue of completions is broken; the adapter has
 * refused a request */
#define DAT_RAIL_BROKEN 254u
#define DAT_RAIL_REFUSED 255u

/* The id of a request that writes a message straight to its place. */
#define DAT_RAIL_STRAIGHT (UINT64_C(1) << 63)

/* A message as core has it. */
typedef struct dat_rail_message {
	uint64_t addr; /* of its data */
	uint64_t check, total, n;
	uint32_t seq, what, kind, zero;
} dat_rail_message;

/* Where a message is to be written. */
typedef struct dat_rail_grant {
	uint64_t addr, n, key, number;
} dat_rail_grant;

/* A rail as core sees it. */
typedef struct dat_rail_state {
	uint64_t sent, taken;    /* messages */
	uint64_t written;        /* requests with DAT_RAIL_STRAIGHT that are complete */
	uint32_t status, vendor; /* of the first request that has failed */
	uint32_t failed, wake;   /* wake: the peer's thread is to be woken */
} dat_rail_state;

/* How core describes a group when it makes it; constant. */
typedef struct dat_group_config {
	uint64_t handle, evd;
	uint64_t slots; /* address of dat_rank_slot[size]; 0: only the plan can do its operations */
	uint64_t staging; /* address of each member's chunks */
	uint32_t size, rank;
	uint32_t chunks;  /* rounds that a member may be ahead of another, a power of two */
	uint32_t chunk;   /* bytes, a power of two */
	uint32_t crowded; /* members share processors: known when the engine is settled */
	uint32_t random;  /* LAPI_FASTLANE=random: the seed of the decider's choices; 0: by time */
	uint64_t peers[DAT_GROUP_MOST]; /* addresses of node_peer; 0: none to wake */
	uint64_t links[DAT_GROUP_MOST]; /* of node_link, by which its memory is read */
} dat_group_config;

#endif
