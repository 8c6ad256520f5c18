/*
 * private.h - rounds, cards and stages: the common ground of this room's files. Everything runs
 * under the block's lock.
 *
 * An operation has rounds, numbered over the group's life and the same at all members. In a round a
 * member may publish a card, with data in the card or in a unit of its stage; the others read that
 * when they find the card's stamp. A member publishes what needs the unit of group->units rounds
 * before only when all have read that (dat_seat.done). So one that runs late holds the others up
 * after that many rounds, and nobody ever writes what another reads.
 */
#ifndef DAT_COLL_PRIVATE_H
#define DAT_COLL_PRIVATE_H

#include "dat/coll/coll.h"
#include "dat/coll/group.h"
#include "dat/evd/evd.h"
#include "node/arm.h"
#include "node/put.h"

static inline dat_seat *dat_group_seat(const dat_group *group, uint32_t rank)
{
	return (dat_seat *)(uintptr_t)group->config.seats + rank;
}

/* The unit of a member's stage for a round. */
static inline unsigned char *dat_group_stage(const dat_group *group, uint32_t rank, uint64_t round)
{
	return (unsigned char *)(uintptr_t)group->config.stages +
	       ((uint64_t)rank * group->config.units + (round & (group->config.units - 1))) *
	               group->config.unit;
}

/* A member's card of a round, or of one that had it before, or will. */
static inline dat_card *dat_group_card_at(const dat_group *group, uint32_t rank, uint64_t round)
{
	return &dat_group_seat(group, rank)->card[round & (group->config.units - 1)];
}

static inline dat_group_op *dat_group_op_at(const dat_group *group, uint32_t index)
{
	return (dat_group_op *)(uintptr_t)group->queue.ops + index % group->queue.room;
}

/* The list of parts of an operation: to send, or to receive. */
static inline dat_span *dat_group_list(const dat_group *group, uint32_t index, int receive)
{
	return (dat_span *)(uintptr_t)group->queue.lists +
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

/* Goes on with what is posted to a group: 1 if others may have waited for what was done. */
int dat_group_turn(dat_group *group);
/* The operation, and the group, fail: core tells. */
void dat_group_fail(dat_group *group);
/* 1 if what lies before round upto may be published. */
int dat_group_has_room(dat_group *group, uint64_t upto);
/*
 * Publishes this member's card of a round. n: bytes that it sends in the operation. data: NULL, or
 * where the DAT_GROUP_TINY bytes are that go in the card.
 */
void dat_group_publish(dat_group *group, uint64_t round, uint64_t n, const void *data);
/* A member's card of a round, or NULL: it is not there; or it never will be, and the group has
 * failed. */
const dat_card *dat_group_card(dat_group *group, uint32_t rank, uint64_t round);
/* This member reads nothing of rounds before this one any more; 1 if another one does not; and if
 * it has ended: that is to be asked first, and what it has done again after that. */
void dat_group_done(dat_group *group, uint64_t round);
int dat_group_done_before(const dat_group *group, uint32_t rank, uint64_t round);
int dat_group_has_ended(const dat_group *group, uint32_t rank);
/* Copies where one side is the program's memory; 0: it is not what it should be, and the group has
 * failed. */
int dat_group_copy(dat_group *group, uint64_t to, uint64_t from, uint64_t n);
/* The same of more data than caches hold. */
int dat_group_stream(dat_group *group, uint64_t to, uint64_t from, uint64_t n);

/* Data of a round: in the card if it is so short, else in the stage. */
static inline const unsigned char *dat_group_data(const dat_group *group, uint32_t rank,
                                                  uint64_t round, uint64_t n)
{
	return n <= DAT_GROUP_TINY ? dat_group_card_at(group, rank, round)->tiny
	                           : dat_group_stage(group, rank, round);
}

/*
 * way.c: an operation begins, whose first cards have this round; weight: bytes by whose time
 * the way is chosen, of what this member sends or, if it decides, of what all send, as far as it
 * knows; moves: the most that it sends to another, or that another could write to its memory. Then:
 * 1 if group->way.current is known. At the end, with the round in which the next operation begins:
 * 1 if this member may go on, as nobody reads its memory any more.
 */
void dat_group_way_begin(dat_group *group, const dat_group_op *op, uint64_t round, uint64_t weight,
                         uint64_t moves);
int dat_group_way_known(dat_group *group, const dat_group_op *op);
int dat_group_all_read(dat_group *group, const dat_group_op *op, uint64_t next);
/*
 * What ns count for that an operation took which nothing overlapped. One with a root goes through
 * stages while others still read the one before, or already copy the next; by one copy it cannot,
 * so that is the better only if it is faster by more than such a time shows.
 */
uint64_t dat_group_way_time(uint32_t kind, uint32_t way, uint64_t ns);

/* What is read of a member's memory: n bytes at addr there, which are at an offset of what it sends
 * or, of a reduction (what), of its elements or results. */
typedef struct dat_read {
	uint32_t from, what;
	uint64_t addr, offset, n;
	uint64_t to; /* address */
} dat_read;

/*
 * feed.c: reads it. 1: it is there. 0: it is awaited, and this is to be called again with the
 * same; or the group has failed.
 */
int dat_group_read(dat_group *group, const dat_read *read);
/* Answers those that cannot read this member's memory. */
void dat_group_feed(dat_group *group, const dat_group_op *op);

/*
 * give.c. 1 if the operation, of long data, is one whose sender may write the other's memory;
 * and one of which a member's own part may pass its caches.
 */
int dat_group_may_give(const dat_group *group, const dat_group_op *op);
int dat_group_may_stream(const dat_group *group, const dat_group_op *op);
/* Goes on with that; 1: this member has written what is its to write, or has nothing. */
int dat_group_give(dat_group *group, const dat_group_op *op);
/* As dat_group_read, of memory whose rest the other writes. */
int dat_group_take(dat_group *group, const dat_group_op *op, dat_read *read);

/*
 * move.c and reduce.c: begins an operation; goes on with it, 1: it is over. After that
 * next is the round in which the next one begins.
 */
void dat_group_move_begin(dat_group *group, dat_group_op *op);
int dat_group_move(dat_group *group, dat_group_op *op, uint64_t *next);
void dat_group_reduce_begin(dat_group *group, const dat_group_op *op);
int dat_group_reduce(dat_group *group, dat_group_op *op, uint64_t *next);

/* Where what comes of a member goes; where what a member reads of this one's memory is. */
dat_span dat_group_move_target(const dat_group *group, const dat_group_op *op, uint32_t from);
dat_span dat_group_move_place(const dat_group *group, const dat_group_op *op, uint32_t to);
dat_span dat_group_reduce_place(const dat_group_op *op, uint64_t what);

/* One member alone has data, or gets them. */
static inline int dat_group_has_root(uint32_t kind)
{
	return kind == DAT_IB_COLLECTIVE_BROADCAST_STATUS ||
	       kind == DAT_IB_COLLECTIVE_SCATTER_STATUS ||
	       kind == DAT_IB_COLLECTIVE_SCATTERV_STATUS ||
	       kind == DAT_IB_COLLECTIVE_GATHER_STATUS || kind == DAT_IB_COLLECTIVE_GATHERV_STATUS;
}

static inline int dat_group_reduces(const dat_group_op *op)
{
	return op->kind >= DAT_IB_COLLECTIVE_REDUCE_STATUS &&
	       op->kind <= DAT_IB_COLLECTIVE_SCAN_STATUS;
}

#endif
