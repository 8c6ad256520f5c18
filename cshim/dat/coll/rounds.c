/* rounds.c - the rounds of groups on one node: cards, whom to wake, and what follows. */
#include "dat/coll/private.h"

#include <string.h>

#include "node/arm.h"

/* core's operations, in the check of a card */
#define CHECK_CORE UINT64_C(0xff)

int dat_groups_crowd;

void dat_group_fail(dat_group *group)
{
	if (group->failed)
		return;
	group->failed = 1;
	/* release: whoever finds it sees all cards */
	__atomic_store_n(&dat_group_seat(group, group->config.rank)->ended, 1, __ATOMIC_RELEASE);
	group->news = 1;
	dat_the_lane.go_groups = 1;
}

int dat_group_has_ended(const dat_group *group, uint32_t rank)
{
	return __atomic_load_n(&dat_group_seat(group, rank)->ended, __ATOMIC_ACQUIRE) != 0;
}

int dat_group_done_before(const dat_group *group, uint32_t rank, uint64_t round)
{
	/* acquire: pairs with dat_group_done; its reads are over */
	return __atomic_load_n(&dat_group_seat(group, rank)->done, __ATOMIC_ACQUIRE) >= round;
}

int dat_group_has_room(dat_group *group, uint64_t upto)
{
	uint64_t least = upto;
	uint32_t i;

	if (upto <= group->round.free + group->config.units)
		return 1;
	for (i = 0; i < group->config.size; i++) {
		/* acquire: pairs with dat_group_done; its reads are over */
		uint64_t done = __atomic_load_n(&dat_group_seat(group, i)->done, __ATOMIC_ACQUIRE);

		if (i != group->config.rank && done < least && !dat_group_has_ended(group, i))
			least = done;
	}
	if (least > group->round.free)
		group->round.free = least;
	return upto <= group->round.free + group->config.units;
}

void dat_group_publish(dat_group *group, uint64_t round, uint64_t n, const void *data)
{
	dat_card *card = dat_group_card_at(group, group->config.rank, round);

	card->check = group->round.check;
	card->n = n;
	card->rounds = group->move.rounds;
	card->how = group->way.how;
	if (data)
		memcpy(card->tiny, data, sizeof(card->tiny));
	/* release: pairs with dat_group_card */
	__atomic_store_n(&card->stamp, round + 1, __ATOMIC_RELEASE);
	group->news = 1;
	/* others have the next card in their caches, from the time when it was last written */
	node_prefetch_to_write(dat_group_card_at(group, group->config.rank, round + 1));
}

const dat_card *dat_group_card(dat_group *group, uint32_t rank, uint64_t round)
{
	const dat_card *card = dat_group_card_at(group, rank, round);
	/* acquire: pairs with dat_group_publish */
	uint64_t stamp = __atomic_load_n(&card->stamp, __ATOMIC_ACQUIRE);

	if (stamp != round + 1 && dat_group_has_ended(group, rank)) {
		stamp = __atomic_load_n(&card->stamp, __ATOMIC_ACQUIRE);
		if (stamp != round + 1)
			dat_group_fail(group);
	}
	if (__builtin_expect(stamp == round + 1, 1)) {
		if (__builtin_expect(card->check == group->round.check, 1))
			return card;
		dat_group_fail(group); /* members have called different operations */
	} else if (stamp - (round + 1) < UINT64_C(1) << 63) {
		dat_group_fail(group); /* it has gone on without this member */
	}
	return NULL;
}

void dat_group_done(dat_group *group, uint64_t round)
{
	/* release: pairs with dat_group_has_room */
	__atomic_store_n(&dat_group_seat(group, group->config.rank)->done, round, __ATOMIC_RELEASE);
	group->news = 1;
}

int dat_group_copy(dat_group *group, uint64_t to, uint64_t from, uint64_t n)
{
	if (n == 0 || to == from || !node_guarded_copy(node_memory_at(to), node_memory_at(from), n))
		return 1;
	dat_group_fail(group);
	return 0;
}

int dat_group_stream(dat_group *group, uint64_t to, uint64_t from, uint64_t n)
{
	if (n == 0 || !node_guarded_stream(node_memory_at(to), node_memory_at(from), n))
		return 1;
	dat_group_fail(group);
	return 0;
}

/* Has the others hear of what was stored before, if they sleep. */
static void wake(const dat_group *group)
{
	uint32_t i;

	for (i = 0; i < group->config.size; i++) {
		node_peer *peer = (node_peer *)(uintptr_t)group->config.peers[i];

		if (!peer)
			continue;
		node_store_then_look(peer);
		if (__builtin_expect(
			    __atomic_load_n(&node_head(peer->out_head)->armed, __ATOMIC_RELAXED) &
				    NODE_ASLEEP,
			    0))
			node_ring_bell(peer);
	}
}

/* An event of a group as core has it (core/dat/event.go). */
typedef struct group_event {
	uint32_t number, zero;
	uint64_t evd;
	uint64_t data[5];
	uint32_t kind, status, immediate, zeros;
	uint64_t group, context;
	uint64_t rest[4];
} group_event;

_Static_assert(sizeof(void *) < 8 || sizeof(group_event) == sizeof(DAT_EVENT), "it is one");

/* 0: the event is core's to post. */
static int tell(const dat_group *group, const dat_group_op *op)
{
	const group_event event = {.number = DAT_IB_COLLECTIVE_EVENT,
	                           .evd = group->config.evd,
	                           .kind = op->kind,
	                           .status = op->flags & DAT_GROUP_SHORT ? DAT_IB_COLL_COMP_ERR
	                                                                 : DAT_OP_SUCCESS,
	                           .group = group->config.handle,
	                           .context = op->context};
	DAT_EVENT *at;

	if (op->flags & DAT_GROUP_QUIET && !(op->flags & DAT_GROUP_SHORT))
		return 1;
	if (!(at = evd_place(group->config.evd)))
		return 0;
	memcpy(at, &event, sizeof(event));
	evd_placed(group->config.evd, DCNT_EVD_CONN_CALLBACK, 0);
	return 1;
}

static uint64_t check_of(const dat_group_op *op)
{
	if (op->flags & DAT_GROUP_OF_CORE)
		return CHECK_CORE;
	return (uint64_t)op->kind | (uint64_t)op->op << 8 | (uint64_t)op->type << 16 |
	       (uint64_t)op->root << 24 | op->n << 32;
}

/* Begins the oldest operation. An operation of core's has a card, too: so that members that call
 * different ones hear of it. */
static int begin(dat_group *group, dat_group_op *op)
{
	if (!dat_group_has_room(group, group->round.base + 1))
		return 0;
	group->round.check = check_of(op);
	group->move.rounds = 1;
	group->way.how = 0;
	if (op->flags & DAT_GROUP_OF_CORE) {
		dat_group_publish(group, group->round.base++, 0, NULL);
		dat_group_done(group, group->round.base);
		group->state = DAT_GROUP_CORE;
		dat_the_lane.go_groups = 1;
		return 1;
	}
	group->state = DAT_GROUP_RUNS;
	if (dat_group_reduces(op))
		dat_group_reduce_begin(group, op);
	else
		dat_group_move_begin(group, op);
	return 1;
}

/* One step of the oldest operation; 0: it waits. */
static int step(dat_group *group)
{
	dat_group_op *op = dat_group_op_at(group, group->queue.head);
	uint64_t next;
	int over;

	if (group->state == DAT_GROUP_WAITS && !begin(group, op))
		return 0;
	if (group->state != DAT_GROUP_RUNS)
		return 0;
	over = dat_group_reduces(op) ? dat_group_reduce(group, op, &next)
	                             : dat_group_move(group, op, &next);
	if (group->failed || !over)
		return 0;
	group->round.base = next;
	dat_group_done(group, next);
	if (!tell(group, op)) {
		group->state = DAT_GROUP_OVER;
		dat_the_lane.go_groups = 1;
		return 0;
	}
	group->state = DAT_GROUP_WAITS;
	group->queue.head++;
	group->queue.posted--;
	return 1;
}

int dat_group_turn(dat_group *group)
{
	if (!group->queue.posted || group->failed)
		return 0;
	group->news = 0;
	while (group->queue.posted && step(group))
		;
	if (group->news)
		wake(group);
	return (int)group->news;
}

uint32_t dat_groups_turn(void)
{
	const uint64_t *groups = (const uint64_t *)(uintptr_t)dat_the_lane.groups;
	uint32_t i, flags = 0;

	dat_groups_crowd = 0;
	for (i = 0; i < dat_the_lane.num_groups; i++) {
		dat_group *group = (dat_group *)(uintptr_t)groups[i];

		if (dat_group_turn(group))
			flags = DAT_LANE_MADE;
		if (group->queue.posted && group->config.crowded)
			dat_groups_crowd = 1;
	}
	return dat_the_lane.go_groups ? flags | DAT_LANE_CORE : flags;
}
