/*
 * dat_group.h - groups whose members are all processes of one node, as the fast lane and core share
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

/* What a member says of a round. */
typedef struct dat_card {
	/* 1 + the round. Stored last (release): publishes the rest, and the unit of the stage */
	uint64_t stamp;
	uint64_t check;  /* what all members' calls must have in common */
	uint64_t n;      /* bytes, of operations whose lengths differ */
	uint32_t rounds; /* for how many rounds it has data; of the operation's first round */
	uint32_t zero;
	unsigned char tiny[DAT_GROUP_TINY];
} dat_card;

/* What a member writes, in memory that all map. */
typedef struct dat_seat {
	uint64_t done; /* it reads nothing of rounds before this one any more (release) */
	uint64_t line0[7];
	uint64_t ended; /* 1, by it or by who has seen its end: it writes no card any more (release)
	                 */
	uint64_t line1[7];
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

typedef struct dat_group {
	/* constant */
	uint64_t handle, evd;
	uint64_t seats;   /* address of dat_seat[size] */
	uint64_t stages;  /* address of each member's units */
	uint64_t scratch; /* address of DAT_GROUP_SCRATCH bytes */
	uint32_t size, rank;
	uint32_t units;   /* rounds that a member may be ahead of another, a power of two */
	uint32_t unit;    /* bytes, a power of two */
	uint32_t crowded; /* there are more members than processors */
	uint32_t random;  /* LAPI_FASTLANE=random at some member: the seed of their coins */
	/* failed: by either; core ends the group. lost: by core; a member's process is gone, and
	 * what is posted from now on fails in its turn */
	uint32_t failed, lost;
	uint32_t state;
	uint32_t line0; /* 64-bit words stand at multiples of 8 for every word size */
	uint64_t peers[DAT_GROUP_MOST]; /* addresses of node_peer; 0: none to wake */
	/* operations that are posted, oldest first; core makes room for more */
	uint64_t ops;    /* address of dat_group_op[room] */
	uint64_t lists;  /* address of dat_span[room][2][size] */
	uint32_t room;   /* a power of two */
	uint32_t head;   /* the oldest is in place head % room */
	uint32_t posted; /* how many */
	uint32_t count;  /* of all that were posted: the same at all members */
	uint64_t base;   /* the round in which the oldest begins, or the next one will */
	uint64_t free;   /* all members are done with rounds before this one */
	uint64_t check;  /* of the oldest operation, while it runs, as what follows */
	/* of group_move.c: */
	uint32_t wrote;                 /* rounds that this member has published */
	uint32_t rounds;                /* for which it has data */
	uint32_t all;                   /* of the operation, as far as known */
	uint32_t own;                   /* 1: the part that stays at this member was copied */
	uint32_t huge;                  /* 1: all members together receive more than caches hold */
	uint32_t line1;
	uint32_t got[DAT_GROUP_MOST];   /* rounds that were read of each member */
	uint32_t limit[DAT_GROUP_MOST]; /* of how many, as far as known */
	uint64_t total[DAT_GROUP_MOST]; /* bytes that each member has for this one */
	/* of group_reduce.c: blocks that were published, reduced, and whose result was taken; and
	 * the member whose card is looked for next, of what is to be reduced, and of results */
	uint32_t staged, reduced, taken, input_next, result_next;
	uint32_t news; /* 1: this turn has stored something that others may wait for */
} dat_group;

#endif
