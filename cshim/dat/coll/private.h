/*
 * private.h - rounds, descriptors and staging buffers: the common ground of this room's files.
 * Everything runs under the block's lock.
 *
 * An operation has rounds, numbered over the group's life and the same at all members. In a round a
 * member may publish a descriptor, with data in the descriptor or in a chunk of its staging buffer;
 * the others read the data when they find the descriptor's stamp. A chunk is used again after
 * group->chunks rounds, and a member publishes into it only when all have read its earlier data
 * (dat_rank_slot.done). So a late member holds the others up after that many rounds, and nobody
 * ever writes what another reads.
 */
#ifndef DAT_COLL_PRIVATE_H
#define DAT_COLL_PRIVATE_H

#include "dat/coll/coll.h"
#include "dat/coll/group.h"
#include "dat/evd/evd.h"
#include "node/arm.h"
#include "node/put.h"
#include "node/route_class.h"

#define DAT_GROUP_SCRATCH 16384

/* Posted operations, oldest first. */
typedef struct dat_group_queue {
	dat_group_op *ops; /* [room], and behind them the lists: [room][2][size] */
	uint32_t room;     /* a power of two */
	uint32_t head;     /* the oldest is in place head % room */
	uint32_t posted;   /* how many */
	uint32_t running;  /* 1: the oldest has begun */
} dat_group_queue;

typedef struct dat_group_round {
	uint64_t base;  /* the round in which the oldest operation begins, or the next one will */
	uint64_t free;  /* all members are done with rounds before this one */
	uint64_t check; /* of the oldest operation, while it runs, as the parts below */
} dat_group_round;

/* move.c */
typedef struct dat_group_moving {
	uint32_t wrote;                 /* rounds that this member has published */
	uint32_t rounds;                /* rounds for which it has data */
	uint32_t all;                   /* of the operation, as far as known */
	uint32_t own;                   /* 1: the part that stays at this member was copied */
	uint32_t huge;                  /* 1: all members together receive more than caches hold */
	uint32_t got[DAT_GROUP_MOST];   /* rounds that were read of each member */
	uint32_t limit[DAT_GROUP_MOST]; /* rounds that there are to read, as far as known */
	uint64_t total[DAT_GROUP_MOST]; /* bytes that each member has for this one */
} dat_group_moving;

/* reduce.c */
typedef struct dat_group_reducing {
	/* blocks: published, reduced, and those whose result was taken */
	uint32_t staged, reduced, taken;
	uint32_t input, result; /* the member whose descriptor is looked for next, of each kind */
	uint64_t part;          /* bytes of its part that are reduced, of elements that stay */
	unsigned char *scratch; /* [DAT_GROUP_SCRATCH] */
} dat_group_reducing;

/* path.c */
typedef struct dat_group_path {
	node_route_class (*classes)[DAT_GROUP_CLASSES]; /* by kind; NULL: not all read each other */
	uint32_t current;                               /* the path of its data, DAT_PATH_ */
	uint32_t how;                                   /* DAT_DESC_ bits of its first descriptor */
	uint32_t timing;                                /* 0, DAT_TIMING_ */
	uint32_t best; /* the path that was last found to be the faster of some class */
	/* the last decision, and the number of operations of check same_args that it holds for */
	uint32_t holds, held;
	uint64_t same_args;
	uint64_t weight;   /* bytes by which the class is found */
	uint64_t begun;    /* ns */
	uint64_t notified; /* the last round of which this member has published that it is done */
	uint64_t first;    /* the operation's first round */
} dat_group_path;

/* pull.c */
typedef struct dat_group_pulling {
	uint32_t asking; /* 1 more than the rank that it asks; 0: none */
	uint32_t serves; /* 1 more than the rank that reads the answer; 0: none does */
	uint64_t pulled; /* bytes that it asked for and that have arrived */
	uint64_t answered[DAT_GROUP_MOST]; /* asks of each member that were answered */
} dat_group_pulling;

/* push.c */
typedef struct dat_group_pushing {
	uint32_t to_push; /* 1: it has still to write the other's memory */
	uint32_t rest;    /* 1: it has read what the other does not write; 2: in an earlier turn */
} dat_group_pushing;

/* rail.c: the way to a member. */
typedef struct dat_rail {
	dat_rail_config config; /* memory is 0: there is none */
	dat_rail_state state;
	uint64_t credited;          /* messages of which the peer knows that they were taken */
	uint32_t posted, reclaimed; /* requests; those whose place in the queue is free again */
	uint32_t signaled;          /* posted at the last request with a completion */
	uint32_t gone;              /* the member receives nothing more */
	uint32_t armed;             /* the peer has this member's asleep, or has sent the wake */
	uint32_t asked;             /* asks of this member's */
} dat_rail;

/* rail.c, short.c: a group of DAT_ENGINE_RAILS, and the rails of one of DAT_ENGINE_PLAN. */
typedef struct dat_group_rails {
	dat_rail *of;    /* [size]; NULL: there are none */
	uint64_t number; /* of the oldest operation, or of the next one */
	uint64_t until;  /* some member takes part in no operation from this one on */
	uint32_t handed; /* DAT_HANDED_: the oldest operation is core's */
	uint32_t core;   /* 1: core has something to do */
	uint32_t owes;   /* 1: some peer is to learn that messages were taken */
	uint32_t step, sent, looks;
	uint32_t awaits;      /* the rank whose message is looked for */
	unsigned char *room;  /* [DAT_GROUP_SCRATCH], data of the oldest operation */
	dat_rail_post *posts; /* [DAT_RAIL_POSTS], that core is to post */
	uint32_t first, posted;
} dat_group_rails;

#define DAT_RAIL_POSTS 4096u
/* handed: core is to fetch it; has it */
#define DAT_HANDED_NOT 0u
#define DAT_HANDED_WANTED 1u
#define DAT_HANDED_TAKEN 2u

struct dat_group {
	dat_group_config config; /* but that a member that is gone has no peer and no link */
	dat_group *next;         /* of dat_groups */
	uint64_t last;           /* reading of the clock */
	uint32_t engine;
	uint32_t failed;     /* all posted operations fail */
	uint32_t lost;       /* a member's process is gone: operations posted from now on fail */
	uint32_t long_double; /* not 0: it has one format at all members */
	uint32_t progressed; /* 1: this turn has stored something that others may wait for */
	dat_group_queue queue;
	dat_group_round round;
	dat_group_moving move;
	dat_group_reducing reduce;
	dat_group_path path;
	dat_group_pulling pull;
	dat_group_pushing push;
	dat_group_rails rails;
};

/*
 * current: not known yet; through the staging buffer; each reader copies straight from the
 * program's memory; of two members the sender writes the other's memory: all, or half if the other
 * sends nothing; the same, and the part that an allgather leaves at a member bypasses its caches
 */
#define DAT_PATH_OPEN 0
#define DAT_PATH_STAGING 1
#define DAT_PATH_COPY 2
#define DAT_PATH_PUSH 3
#define DAT_PATH_STREAM 4
#define DAT_PATHS 5
#define DAT_HOLDS_AT 4
#define DAT_DECIDED_AT 16
/* timing: it waits until all have finished earlier operations; it runs */
#define DAT_TIMING_WAITS 1
#define DAT_TIMING_RUNS 2

/* The kinds of buffers. */
enum {
	DAT_BUFFER_NONE,
	DAT_BUFFER_ONE,
	DAT_BUFFER_PARTS,  /* a part for each rank, of one length */
	DAT_BUFFER_LIST,   /* a part for each rank, of its own length */
	DAT_BUFFER_COUNTED /* the same, of which this member has its own alone */
};

/* Properties of a kind of operation. */
enum {
	DAT_RULE_ROOT = 1,
	DAT_RULE_FROM_ROOT =
		2,            /* the root alone sends; in place there is nothing to receive into */
	DAT_RULE_TO_ROOT = 4, /* the root alone receives */
	DAT_RULE_EQUAL = 8,   /* the data sent are as long as this member's part of the result */
	DAT_RULE_REDUCES = 16
};

typedef struct dat_rule {
	uint8_t send, recv; /* DAT_BUFFER_ */
	uint8_t is;         /* DAT_RULE_ */
} dat_rule;

/* call.c: by kind, from that of set_clock on. */
#define DAT_RULE_FIRST DAT_IB_COLLECTIVE_CLOCK_SET_STATUS
extern const dat_rule dat_rules[];

static inline const dat_rule *dat_rule_of(const dat_group_op *op)
{
	return &dat_rules[op->kind - DAT_RULE_FIRST];
}

static inline int dat_group_reduces(const dat_group_op *op)
{
	return dat_rule_of(op)->is & DAT_RULE_REDUCES;
}

/* One member alone has data, or gets them. */
static inline int dat_group_has_root(const dat_group_op *op)
{
	return (dat_rule_of(op)->is & (DAT_RULE_ROOT | DAT_RULE_REDUCES)) == DAT_RULE_ROOT;
}

/* Reads a call into op and its lists, [2][size]; 0: it is not legal. */
int dat_group_read_call(const dat_group *group, const uint64_t *arguments, dat_group_op *op,
                        dat_span *lists);

static inline dat_rank_slot *dat_group_slot(const dat_group *group, uint32_t rank)
{
	return (dat_rank_slot *)(uintptr_t)group->config.slots + rank;
}

/* The chunk of a member's staging buffer for a round. */
static inline unsigned char *dat_group_staging(const dat_group *group, uint32_t rank,
                                               uint64_t round)
{
	return (unsigned char *)(uintptr_t)group->config.staging +
	       ((uint64_t)rank * group->config.chunks + (round & (group->config.chunks - 1))) *
	               group->config.chunk;
}

/* The place of a member's descriptor of a round; it may hold that of an earlier or later round. */
static inline dat_desc *dat_group_desc_at(const dat_group *group, uint32_t rank, uint64_t round)
{
	return &dat_group_slot(group, rank)->desc[round & (group->config.chunks - 1)];
}

static inline dat_group_op *dat_group_op_at(const dat_group *group, uint32_t index)
{
	return group->queue.ops + index % group->queue.room;
}

/* The list of parts of an operation: to send, or to receive. */
static inline dat_span *dat_group_list(const dat_group *group, uint32_t index, int receive)
{
	return (dat_span *)(void *)(group->queue.ops + group->queue.room) +
	       (uint64_t)(index % group->queue.room * 2 + (receive != 0)) * group->config.size;
}

/* The part of a rank of the oldest operation's buffer. */
static inline dat_span dat_group_part(const dat_group *group, const dat_group_op *op, int receive,
                                      uint32_t rank)
{
	const dat_span *one = receive ? &op->recv : &op->send;
	uint64_t stride = receive ? op->recv_stride : op->send_stride;

	if (op->flags & (receive ? DAT_GROUP_RECV_LIST : DAT_GROUP_SEND_LIST))
		return dat_group_list(group, group->queue.head, receive)[rank];
	return (dat_span){one->addr + rank * stride, one->n};
}

/* rounds.c */

/* Goes on with a group's posted operations: 1 if others may have waited for the progress made. */
int dat_group_turn(dat_group *group);
/* The group fails: all posted operations fail when the turn is over. */
void dat_group_fail(dat_group *group);
/* The oldest operation is over: its event, if it has one, and the turn of the next one. */
void dat_group_complete(dat_group *group);
/* The same without an event, which core has posted. */
void dat_group_pass(dat_group *group);
/* Ends a group that has failed: completes its posted operations, and wakes the other members. */
void dat_group_end(dat_group *group);
/* group.c: sets the clock, unless it is past that. */
void dat_group_set_clock(const dat_group *group, uint64_t value);
/* 1 if the rounds before upto may be published. */
int dat_group_has_room(dat_group *group, uint64_t upto);
/*
 * Publishes this member's descriptor of a round. n: bytes that it sends in the operation. data:
 * NULL, or where the DAT_GROUP_INLINE bytes are that go in the descriptor.
 */
void dat_group_publish(dat_group *group, uint64_t round, uint64_t n, const void *data);
/* A member's descriptor of a round, or NULL: it is not there; or it never will be, and the group
 * has failed. */
const dat_desc *dat_group_desc(dat_group *group, uint32_t rank, uint64_t round);
/*
 * dat_group_done: this member reads nothing of rounds before round any more. dat_group_done_before:
 * 1 if another member does not either. dat_group_has_ended: 1 if a member has ended; that is to be
 * asked first, and the other one again after it.
 */
void dat_group_done(dat_group *group, uint64_t round);
int dat_group_done_before(const dat_group *group, uint32_t rank, uint64_t round);
int dat_group_has_ended(const dat_group *group, uint32_t rank);
/*
 * Copies where one side is the program's memory; 0: that cannot be accessed, and the group has
 * failed.
 */
int dat_group_copy(dat_group *group, uint64_t to, uint64_t from, uint64_t n);
/* The same of more data than caches hold. */
int dat_group_stream(dat_group *group, uint64_t to, uint64_t from, uint64_t n);

/* Data of a round: in the descriptor if it is so short, else in the staging buffer. */
static inline const unsigned char *dat_group_data(const dat_group *group, uint32_t rank,
                                                  uint64_t round, uint64_t n)
{
	return n <= DAT_GROUP_INLINE ? dat_group_desc_at(group, rank, round)->inlined
	                             : dat_group_staging(group, rank, round);
}

/*
 * path.c: an operation begins, whose first descriptors have this round; weight: bytes by whose time
 * the path is chosen, of what this member sends or, if it decides, of what all send, as far as it
 * knows; moves: the most that it sends to another, or that another could write to its memory. Then:
 * 1 if group->path.current is known. At the end, with the round in which the next operation begins:
 * 1 if this member may go on, as nobody reads its memory any more.
 */
void dat_group_path_begin(dat_group *group, const dat_group_op *op, uint64_t round, uint64_t weight,
                          uint64_t moves);
int dat_group_path_known(dat_group *group, const dat_group_op *op);
int dat_group_all_read(dat_group *group, const dat_group_op *op, uint64_t next);
/*
 * The time that counts for an operation that took ns and that nothing overlapped. An operation with
 * a root goes through staging buffers while others still read the operation before, or already copy
 * the next; by one copy it cannot, so the copy is the better path only if it is faster by more than
 * such a time shows.
 */
uint64_t dat_group_path_time(const dat_group_op *op, uint32_t path, uint64_t ns);

/*
 * A read of a member's memory: n bytes at addr there, at an offset of the data that it sends or, of
 * a reduction (what), of its elements or results.
 */
typedef struct dat_read {
	uint32_t from, what;
	uint64_t addr, offset, n;
	uint64_t to; /* address */
} dat_read;

/*
 * pull.c: reads it. 1: it is there. 0: it is awaited, and this is to be called again with the
 * same; or the group has failed.
 */
int dat_group_read(dat_group *group, const dat_read *read);
/* Answers members that cannot read this member's memory. */
void dat_group_serve(dat_group *group, const dat_group_op *op);

/*
 * push.c. 1 if the operation, of long data, is one whose sender may write the other's memory; 1 if
 * it is one of which a member's own part may bypass its caches.
 */
int dat_group_may_push(const dat_group *group, const dat_group_op *op);
int dat_group_may_stream(const dat_group *group, const dat_group_op *op);
/* Goes on with that; 1: this member has written its share, or has none. */
int dat_group_push(dat_group *group, const dat_group_op *op);
/* As dat_group_read, of memory whose rest the other member writes. */
int dat_group_take(dat_group *group, const dat_group_op *op, dat_read *read);

/*
 * move.c and reduce.c: begins an operation; goes on with it, 1: it is over. After that
 * next is the round in which the next one begins.
 */
void dat_group_move_begin(dat_group *group, dat_group_op *op);
int dat_group_move(dat_group *group, dat_group_op *op, uint64_t *next);
void dat_group_reduce_begin(dat_group *group, const dat_group_op *op);
int dat_group_reduce(dat_group *group, dat_group_op *op, uint64_t *next);

/*
 * rail.c. dat_rail_room: 1 if a message can be sent now. dat_rail_send sends one, which has room:
 * 0: its data cannot be read. dat_rail_next: the oldest message that was not taken; NULL: there is
 * none; dat_rail_take takes it. dat_rail_await is dat_rail_next of a message that an operation
 * needs: the group fails if it cannot come.
 */
int dat_rail_room(dat_group *group, uint32_t rank);
int dat_rail_send(dat_group *group, uint32_t rank, const dat_rail_message *message);
const dat_rail_tail *dat_rail_next(const dat_group *group, uint32_t rank);
const dat_rail_tail *dat_rail_await(dat_group *group, uint32_t rank);
void dat_rail_take(dat_group *group, uint32_t rank);
/* Takes completions of all rails now and then, and sends credits that had no room. */
void dat_rails_look(dat_group *group);

/* The data of a message. */
static inline const unsigned char *dat_rail_data(const dat_rail_tail *tail, uint32_t n)
{
	return (const unsigned char *)tail - ((n + 7) & ~7u);
}

/* short.c: dat_group_turn of a group of DAT_ENGINE_RAILS, and its failure. */
int dat_rails_turn(dat_group *group);
void dat_rails_fail(dat_group *group);

/* Where what comes of a member goes; where what a member reads of this one's memory is. */
dat_span dat_group_move_target(const dat_group *group, const dat_group_op *op, uint32_t from);
dat_span dat_group_move_place(const dat_group *group, const dat_group_op *op, uint32_t to);
dat_span dat_group_reduce_place(const dat_group_op *op, uint64_t what);

#endif
