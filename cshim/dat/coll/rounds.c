/* rounds.c - the rounds of groups on one node: descriptors, waking members, and the next step. */
#include "dat/coll/private.h"

#include <string.h>

#include "node/arm.h"

int dat_groups_crowd;

void dat_group_fail(dat_group *group)
{
	if (group->engine == DAT_ENGINE_RAILS) {
		dat_rails_fail(group);
		return;
	}
	if (group->failed)
		return;
	group->failed = 1;
	/* release: a member that finds it sees all descriptors */
	__atomic_store_n(&dat_group_slot(group, group->config.rank)->ended, 1, __ATOMIC_RELEASE);
	group->progressed = 1;
}

int dat_group_has_ended(const dat_group *group, uint32_t rank)
{
	return __atomic_load_n(&dat_group_slot(group, rank)->ended, __ATOMIC_ACQUIRE) != 0;
}

int dat_group_done_before(const dat_group *group, uint32_t rank, uint64_t round)
{
	/* acquire: pairs with dat_group_done; its reads are over */
	return __atomic_load_n(&dat_group_slot(group, rank)->done, __ATOMIC_ACQUIRE) >= round;
}

int dat_group_has_room(dat_group *group, uint64_t upto)
{
	uint64_t least = upto;
	uint32_t i;

	if (upto <= group->round.free + group->config.chunks)
		return 1;
	for (i = 0; i < group->config.size; i++) {
		/* acquire: pairs with dat_group_done; its reads are over */
		uint64_t done = __atomic_load_n(&dat_group_slot(group, i)->done, __ATOMIC_ACQUIRE);

		if (i != group->config.rank && done < least && !dat_group_has_ended(group, i))
			least = done;
	}
	if (least > group->round.free)
		group->round.free = least;
	return upto <= group->round.free + group->config.chunks;
}

void dat_group_publish(dat_group *group, uint64_t round, uint64_t n, const void *data)
{
	dat_desc *desc = dat_group_desc_at(group, group->config.rank, round);

	desc->check = group->round.check;
	desc->n = n;
	desc->rounds = group->move.rounds;
	desc->how = group->path.how;
	if (data)
		memcpy(desc->inlined, data, sizeof(desc->inlined));
	/* release: pairs with dat_group_desc */
	__atomic_store_n(&desc->stamp, round + 1, __ATOMIC_RELEASE);
	group->progressed = 1;
	/* others have the next descriptor in their caches, from the time when it was last written
	 */
	cshim_prefetch_to_write(dat_group_desc_at(group, group->config.rank, round + 1));
}

const dat_desc *dat_group_desc(dat_group *group, uint32_t rank, uint64_t round)
{
	const dat_desc *desc = dat_group_desc_at(group, rank, round);
	/* acquire: pairs with dat_group_publish */
	uint64_t stamp = __atomic_load_n(&desc->stamp, __ATOMIC_ACQUIRE);

	if (stamp != round + 1 && dat_group_has_ended(group, rank)) {
		stamp = __atomic_load_n(&desc->stamp, __ATOMIC_ACQUIRE);
		if (stamp != round + 1)
			dat_group_fail(group);
	}
	if (__builtin_expect(stamp == round + 1, 1)) {
		if (__builtin_expect(desc->check == group->round.check, 1))
			return desc;
		dat_group_fail(group); /* members have called different operations */
	} else if (stamp - (round + 1) < UINT64_C(1) << 63) {
		dat_group_fail(group); /* it has gone on without this member */
	}
	return NULL;
}

void dat_group_done(dat_group *group, uint64_t round)
{
	/* release: pairs with dat_group_has_room */
	__atomic_store_n(&dat_group_slot(group, group->config.rank)->done, round, __ATOMIC_RELEASE);
	group->progressed = 1;
}

/* 1 if a guarded copy met no fault. */
static int copied(dat_group *group, int fault)
{
	if (fault)
		dat_group_fail(group);
	return !fault;
}

int dat_group_copy(dat_group *group, uint64_t to, uint64_t from, uint64_t n)
{
	return n == 0 || to == from ||
	       copied(group, node_guarded_copy(node_memory_at(to), node_memory_at(from), n));
}

int dat_group_stream(dat_group *group, uint64_t to, uint64_t from, uint64_t n)
{
	return n == 0 ||
	       copied(group, node_guarded_stream(node_memory_at(to), node_memory_at(from), n));
}

/* Wakes the others, if they sleep, for all that was stored before. */
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

void dat_group_pass(dat_group *group)
{
	group->queue.running = 0;
	group->queue.head++;
	group->queue.posted--;
}

void dat_group_complete(dat_group *group)
{
	const dat_group_op *op = dat_group_op_at(group, group->queue.head);
	int failed = group->failed || op->flags & DAT_GROUP_SHORT;
	uint64_t status = failed ? DAT_IB_COLL_COMP_ERR : DAT_OP_SUCCESS;
	/* DAT_IB_EXTENSION_EVENT_DATA */
	const evd_event event = {
		.number = DAT_IB_COLLECTIVE_EVENT,
		.evd = group->config.evd,
		.extension = {op->kind | status << 32, 0, group->config.handle, op->context}};
	evd_event *at;

	dat_group_pass(group);
	if (op->flags & DAT_GROUP_QUIET && !failed)
		return;
	if ((at = evd_place(event.evd))) {
		*at = event;
		evd_placed(event.evd, DCNT_EVD_CONN_CALLBACK, 0);
	} else {
		evd_post(event.evd, &event, 0); /* it overflows */
	}
}

void dat_group_end(dat_group *group)
{
	uint32_t other = !group->config.rank;
	const node_peer *peer = (const node_peer *)(uintptr_t)group->config.peers[other];

	/* the program reuses its memory once the failure is reported (push.c) */
	if (group->config.size == 2 && peer)
		node_await_copy(peer, &dat_group_slot(group, other)->pushing);
	while (group->queue.posted)
		dat_group_complete(group);
	wake(group);
}

/* A barrier: one descriptor of each member, and nothing else. */
static int barrier(dat_group *group, uint64_t *next)
{
	uint32_t i;

	if (!group->move.wrote)
		dat_group_publish(group, group->round.base, 0, NULL);
	group->move.wrote = 1;
	/* those behind a missing one are looked at, too: they may have ended */
	for (i = group->reduce.input; i < group->config.size; i++)
		if (i == group->config.rank || dat_group_desc(group, i, group->round.base))
			group->reduce.input += i == group->reduce.input;
	if (group->reduce.input < group->config.size)
		return 0;
	group->round.free = group->round.base; /* all have come so far */
	*next = group->round.base + 1;
	return 1;
}

/* Goes on with the oldest operation; 1: it is over, and next is the round after it. */
static int run(dat_group *group, dat_group_op *op, uint64_t *next)
{
	if (op->kind == DAT_IB_COLLECTIVE_BARRIER_STATUS)
		return barrier(group, next);
	return dat_group_reduces(op) ? dat_group_reduce(group, op, next)
	                             : dat_group_move(group, op, next);
}

/* Begins the oldest operation. */
static int begin(dat_group *group, dat_group_op *op)
{
	if (!dat_group_has_room(group, group->round.base + 1))
		return 0;
	group->round.check = op->check;
	group->move.rounds = 1;
	group->path.how = 0;
	group->queue.running = 1;
	if (op->kind == DAT_IB_COLLECTIVE_BARRIER_STATUS)
		group->move.wrote = group->reduce.input = 0;
	else if (dat_group_reduces(op))
		dat_group_reduce_begin(group, op);
	else
		dat_group_move_begin(group, op);
	return 1;
}

/* One step of the oldest operation; 0: it waits, or the group has failed. */
static int step(dat_group *group)
{
	dat_group_op *op = dat_group_op_at(group, group->queue.head);
	uint64_t next;

	if (op->flags & DAT_GROUP_LOST) {
		dat_group_fail(group);
		return 0;
	}
	if (op->kind == DAT_IB_COLLECTIVE_CLOCK_SET_STATUS) {
		dat_group_set_clock(group, op->n);
	} else {
		if (!group->queue.running && !begin(group, op))
			return 0;
		if (!run(group, op, &next) || group->failed)
			return 0;
		group->round.base = next;
		dat_group_done(group, next);
	}
	dat_group_complete(group);
	return 1;
}

int dat_group_turn(dat_group *group)
{
	if (group->engine == DAT_ENGINE_RAILS)
		return dat_rails_turn(group);
	if (!group->queue.posted)
		return 0;
	group->progressed = 0;
	while (group->queue.posted && !group->failed && step(group))
		;
	if (group->failed)
		dat_group_end(group);
	else if (group->progressed)
		wake(group);
	return (int)group->progressed;
}

uint32_t dat_groups_turn(void)
{
	dat_group *group;
	uint32_t flags = 0;

	dat_groups_crowd = dat_groups_near = 0;
	for (group = dat_groups; group; group = group->next) {
		if (dat_group_turn(group))
			flags |= DAT_LANE_MADE;
		if (group->rails.core)
			flags |= DAT_LANE_CORE;
		else if (group->queue.posted && group->engine == DAT_ENGINE_RAILS)
			dat_groups_near = 1;
		if (group->queue.posted && group->config.crowded)
			dat_groups_crowd = 1;
	}
	return flags;
}
