/*
 * group.h - groups whose members are all processes of one node, as the fast lane and core share
 * them (docs/dat.md, "Collectives on one node"). Private to the library.
 *
 * dat_group and what it points to are the process's own, made by core, touched under the block's
 * lock only. dat_seat is memory that all members map: the order is told with it, and nothing that
 * another member has written there is trusted.
 */
#ifndef DAT_GROUP_H
#define DAT_GROUP_H

#include <stdint.h>

#define DAT_GROUP_MOST 64     /* members: core/dat's neighboursMax */
#define DAT_GROUP_UNITS 32    /* rounds that a member may be ahead of another, at the most */
#define DAT_GROUP_UNIT 65536  /* bytes of a unit at the most */
#define DAT_GROUP_ALL 4194304 /* bytes of all stages at the most */
#define DAT_GROUP_TINY 32     /* bytes that travel in a card */
#define DAT_GROUP_SCRATCH 16384

/* Which way is the faster is learnt for each kind of operation and class of lengths, of which the
 * first has DAT_GROUP_COPY_MIN bytes. */
#define DAT_GROUP_COPY_MIN 16384
#define DAT_GROUP_KINDS 16
#define DAT_GROUP_CLASSES 18

/* What a member says of a round. */
typedef struct dat_card {
	/* 1 + the round. Stored last (release): publishes the rest, and the unit of the stage */
	uint64_t stamp;
	uint64_t check;  /* what all members' calls must have in common */
	uint64_t n;      /* bytes, of operations whose lengths differ */
	uint32_t rounds; /* for how many rounds it has data; of the operation's first round */
	uint32_t how;    /* DAT_CARD_ bits; of the operation's first round */
	unsigned char tiny[DAT_GROUP_TINY];
} dat_card;

/* how of a card: this member's data are read where they lie. tiny has a dat_span that says where;
 * of pieces the unit has one for each rank. */
#define DAT_CARD_PLACE 1u
/* This member's memory may be written by the only other one: the second half of tiny has a dat_span
 * that says where. */
#define DAT_CARD_TAKES 2u

/* What a member that cannot read another's memory asks of that one, and its own answer to another
 * (feed.c). */
typedef struct dat_feed {
	uint64_t asks;  /* how often it has asked (release): publishes the question */
	uint64_t from;  /* a rank; DAT_GROUP_MOST: nobody, it has what it wanted */
	uint64_t what;  /* of a reduction: 0 elements, 1 results */
	uint64_t at, n; /* so many bytes at a place of what that one sends */
	/* the question of another: its number, and rank (release): publishes the answer */
	uint64_t answers;
} dat_feed;

/* What a member writes, in memory that all map. */
typedef struct dat_seat {
	uint64_t done; /* it reads nothing of rounds before this one any more (release) */
	dat_feed feed;
	/* of who decides (release): the round after the operation's first one, DAT_DECIDED_AT bits
	 * up; for how many alike that follow it holds, too, DAT_HOLDS_AT bits up; and which way
	 * long data go, DAT_WAY_ */
	uint64_t decided;
	/* 1, by it or by who has seen its end: it writes no card any more (release), and nobody
	 * may write its memory */
	uint64_t ended;
	/* 1 more than the first round of the operation of which it has written the other's memory
	 * (release), and up to which byte of what it sends */
	uint64_t gave, upto;
	uint32_t giving; /* odd: it is about to write it, or does */
	uint32_t zero;
	/* of whom another may write the memory: twice 1 more than that round, and 1 if the other
	 * does, 0 if this one reads all by itself. Who is the first says so (compare and swap) */
	uint64_t claim;
	uint64_t line1[3];
	dat_card card[DAT_GROUP_UNITS]; /* by round */
} dat_seat;

typedef struct dat_span {
	uint64_t addr, n;
} dat_span;

/* flags of a dat_group_op */
#define DAT_GROUP_QUIET 1u     /* no event of success */
#define DAT_GROUP_SEND_LIST 2u /* the parts to send are in a list */
#define DAT_GROUP_RECV_LIST 4u
#define DAT_GROUP_OF_CORE 8u /* core does it when its turn has come */
#define DAT_GROUP_SHORT 16u  /* data did not fit: it fails at this member alone */

/* An operation that is posted. */
typedef struct dat_group_op {
	uint32_t kind; /* of its event */
	uint32_t flags;
	uint32_t root, op, type, zero; /* op, type: of a reduction */
	uint64_t context;
	uint64_t n;                        /* bytes, of a reduction and a broadcast */
	dat_span send, recv;               /* the buffer, or the part of rank 0 */
	uint64_t send_stride, recv_stride; /* from one rank's part to the next one's */
} dat_group_op;

/* state of the oldest operation */
#define DAT_GROUP_WAITS 0 /* it has not begun */
#define DAT_GROUP_RUNS 1
#define DAT_GROUP_OVER 2 /* but its event is core's to post */
#define DAT_GROUP_CORE 3 /* core does it */

/* Set by core when the group is made; constant, but that core clears the peer and link of a member
 * that is gone. */
typedef struct dat_group_config {
	uint64_t handle, evd;
	uint64_t seats;   /* address of dat_seat[size] */
	uint64_t stages;  /* address of each member's units */
	uint64_t scratch; /* address of DAT_GROUP_SCRATCH bytes */
	/* address of node_route_class[DAT_GROUP_KINDS][DAT_GROUP_CLASSES]; 0: not all members can
	 * read each other's memory */
	uint64_t ways;
	uint32_t size, rank;
	uint32_t units;   /* rounds that a member may be ahead of another, a power of two */
	uint32_t unit;    /* bytes, a power of two */
	uint32_t crowded; /* there are more members than processors */
	uint32_t random;  /* LAPI_FASTLANE=random at some member: the seed of their coins */
	uint64_t peers[DAT_GROUP_MOST]; /* addresses of node_peer; 0: none to wake */
	uint64_t links[DAT_GROUP_MOST]; /* of node_link, by which its memory is read */
} dat_group_config;

/* Operations that are posted, oldest first; core makes room for more. */
typedef struct dat_group_queue {
	uint64_t ops;    /* address of dat_group_op[room] */
	uint64_t lists;  /* address of dat_span[room][2][size] */
	uint32_t room;   /* a power of two */
	uint32_t head;   /* the oldest is in place head % room */
	uint32_t posted; /* how many */
	uint32_t count;  /* of all that were posted: the same at all members */
} dat_group_queue;

typedef struct dat_group_round {
	uint64_t base;  /* the round in which the oldest operation begins, or the next one will */
	uint64_t free;  /* all members are done with rounds before this one */
	uint64_t check; /* of the oldest operation, while it runs, as the parts below */
} dat_group_round;

/* move.c */
typedef struct dat_group_moving {
	uint32_t wrote;  /* rounds that this member has published */
	uint32_t rounds; /* for which it has data */
	uint32_t all;    /* of the operation, as far as known */
	uint32_t own;    /* 1: the part that stays at this member was copied */
	uint32_t huge;   /* 1: all members together receive more than caches hold */
	uint32_t zero;
	uint32_t got[DAT_GROUP_MOST];   /* rounds that were read of each member */
	uint32_t limit[DAT_GROUP_MOST]; /* of how many, as far as known */
	uint64_t total[DAT_GROUP_MOST]; /* bytes that each member has for this one */
} dat_group_moving;

/* reduce.c: blocks that were published, reduced, and whose result was taken; and the member whose
 * card is looked for next, of what is to be reduced, and of results. */
typedef struct dat_group_reducing {
	uint32_t staged, reduced, taken, input, result;
	uint32_t zero;
} dat_group_reducing;

/* way.c */
typedef struct dat_group_way {
	uint32_t current; /* which this member's data go, DAT_WAY_ */
	uint32_t how;     /* DAT_CARD_ bits of its first card */
	uint32_t timing;  /* 0, DAT_TIMING_ */
	uint32_t best;    /* the way that was last found to be the faster of some class */
	/* what was last decided holds for so many more operations whose check is alike's */
	uint32_t holds, held;
	uint64_t alike;
	uint64_t weight; /* bytes by which the class is found */
	uint64_t begun;  /* ns */
	uint64_t told;   /* the round before which others were last told that this one is done */
	uint64_t first;  /* the operation's first round */
	uint64_t part;   /* bytes of its part that are reduced, of elements that stay */
} dat_group_way;

/* feed.c */
typedef struct dat_group_feeding {
	uint32_t asking; /* 1 more than the rank of whom it is asking; 0: nobody */
	uint32_t feeds;  /* 1 more than the rank that reads the answer; 0: none does */
	uint64_t fed;    /* bytes of what it asks for that have come */
	uint64_t answered[DAT_GROUP_MOST]; /* asks of each member that were answered */
} dat_group_feeding;

/* give.c */
typedef struct dat_group_giving {
	uint32_t gives; /* 1: it has still to write the other's memory */
	uint32_t rest;  /* 1: it has read what the other does not write; 2: in an earlier turn */
} dat_group_giving;

/* Each part is a multiple of 8 bytes, so that one layout serves every word size. */
typedef struct dat_group {
	dat_group_config config;
	/* failed: by either; core ends the group. lost: by core; a member's process is gone, and
	 * what is posted from now on fails in its turn */
	uint32_t failed, lost;
	uint32_t state; /* DAT_GROUP_ of the oldest operation */
	uint32_t news;  /* 1: this turn has stored something that others may wait for */
	dat_group_queue queue;
	dat_group_round round;
	dat_group_moving move;
	dat_group_reducing reduce;
	dat_group_way way;
	dat_group_feeding feed;
	dat_group_giving give;
} dat_group;

/* current: not known yet; through the stage; each reader copies straight from the program's memory;
 * of two members who sends writes all of it to the other's memory, or half if that one sends
 * nothing; so, and the part that an allgather leaves at a member passes its caches */
#define DAT_WAY_OPEN 0
#define DAT_WAY_STAGE 1
#define DAT_WAY_COPY 2
#define DAT_WAY_GIVE 3
#define DAT_WAY_STREAM 4
#define DAT_WAYS 5
#define DAT_HOLDS_AT 4
#define DAT_DECIDED_AT 16
/* timing: it waits until all are done with what was before; it runs */
#define DAT_TIMING_WAITS 1
#define DAT_TIMING_RUNS 2

#endif
