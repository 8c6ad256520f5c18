/*
 * short.c - groups whose members are each alone on a node, with rails to each other (rail.c). Their
 * short barriers, broadcasts and allreduces are done here: no call into Go from the post of one to
 * its event. All other operations are core's, and have their turn in the same queue.
 *
 * A barrier is a dissemination. A broadcast goes along a binomial tree. Of an allreduce members
 * exchange what they have with those twice as far away each time, where their number is a power of
 * two; else each collects all elements by Bruck's rounds, and combines them in the order of ranks.
 * Either way each element is combined in one order at all members. In all of them a member has
 * messages with those only that are a power of two away from it.
 */
#include "dat/coll/private.h"

#include <string.h>

#include "coll/reduce.h"

int dat_groups_near;

void dat_rails_fail(dat_group *group)
{
	if (group->failed)
		return;
	group->failed = 1;
	group->rails.core = 1;
	group->progressed = 1;
}

/* The rank d places behind this member's. */
static uint32_t behind(const dat_group *group, uint32_t d)
{
	return (group->config.rank + group->config.size - d) % group->config.size;
}

static uint32_t ahead(const dat_group *group, uint32_t d)
{
	return (group->config.rank + d) % group->config.size;
}

static int is_power(uint32_t n)
{
	return !(n & (n - 1));
}

/* 1 if the operation is done here. All members find the same, as their calls have check in common.
 */
static int is_short(const dat_group *group, const dat_group_op *op)
{
	uint64_t size = group->config.size;

	switch (op->kind) {
	case DAT_IB_COLLECTIVE_BARRIER_STATUS:
		return 1;
	case DAT_IB_COLLECTIVE_BROADCAST_STATUS:
		return op->n <= DAT_RAIL_DATA;
	case DAT_IB_COLLECTIVE_ALLREDUCE_STATUS:
		return op->n <= DAT_RAIL_DATA &&
		       (is_power((uint32_t)size) || (op->n * ((size + 1) / 2) <= DAT_RAIL_DATA &&
		                                     op->n * size <= DAT_GROUP_SCRATCH));
	default:
		return 0;
	}
}

/* Sends data of the operation to a member; 0: there is no room, or the group has failed. */
static int say(dat_group *group, const dat_group_op *op, uint32_t rank, const void *data,
               uint64_t n)
{
	const dat_rail_message message = {.addr = (uintptr_t)data,
	                                  .check = op->check,
	                                  .total = n,
	                                  .n = n,
	                                  .seq = (uint32_t)group->rails.number,
	                                  .what = DAT_RAIL_PART,
	                                  .kind = op->kind & 0xff};

	if (!dat_rail_room(group, rank))
		return 0;
	group->progressed = 1;
	if (dat_rail_send(group, rank, &message))
		return 1;
	dat_rails_fail(group); /* the program's memory is not what it should be */
	return 0;
}

/* The n bytes that a member has sent of the operation, until dat_rail_take; NULL: they are not
 * here, or the group has failed. */
static const unsigned char *hear(dat_group *group, const dat_group_op *op, uint32_t rank,
                                 uint64_t n)
{
	const dat_rail_tail *tail = dat_rail_await(group, rank);

	if (!tail)
		return NULL;
	group->progressed = 1;
	if (tail->check == op->check && tail->seq == (uint32_t)group->rails.number &&
	    tail->what == DAT_RAIL_PART && tail->n == n && tail->total == n)
		return dat_rail_data(tail, (uint32_t)n);
	dat_rails_fail(group); /* members have called different operations */
	return NULL;
}

static int barrier(dat_group *group, const dat_group_op *op)
{
	dat_group_rails *rails = &group->rails;

	for (; 1u << rails->step < group->config.size; rails->step++, rails->sent = 0) {
		uint32_t d = 1u << rails->step;

		if (!rails->sent &&
		    !(rails->sent = (uint32_t)say(group, op, ahead(group, d), NULL, 0)))
			return 0;
		if (!hear(group, op, behind(group, d), 0))
			return 0;
		dat_rail_take(group, behind(group, d));
	}
	return 1;
}

/* sent: 1 once this member has the data. step: those that get them of it, the farthest first. */
static int broadcast(dat_group *group, const dat_group_op *op)
{
	dat_group_rails *rails = &group->rails;
	uint32_t size = group->config.size;
	uint32_t at = (group->config.rank + size - op->root) % size, low = at & -at;

	if (!at)
		for (low = 1; low < size; low *= 2)
			;
	if (at && !rails->sent) {
		const unsigned char *data = hear(group, op, behind(group, low), op->n);

		if (!data || !dat_group_copy(group, op->send.addr, (uintptr_t)data, op->n))
			return 0;
		dat_rail_take(group, behind(group, low));
		rails->sent = 1;
	}
	for (; low >> (rails->step + 1); rails->step++) {
		uint32_t d = low >> (rails->step + 1);

		if (at + d < size &&
		    !say(group, op, ahead(group, d), node_memory_at(op->send.addr), op->n))
			return 0;
	}
	return 1;
}

static int doubling(dat_group *group, const dat_group_op *op)
{
	dat_group_rails *rails = &group->rails;
	uint64_t count = op->n / coll_type_size((int)op->op, (int)op->type);

	for (; 1u << rails->step < group->config.size; rails->step++, rails->sent = 0) {
		uint32_t with = group->config.rank ^ 1u << rails->step;
		const unsigned char *data;

		if (!rails->sent &&
		    !(rails->sent = (uint32_t)say(group, op, with, rails->room, op->n)))
			return 0;
		if (!(data = hear(group, op, with, op->n)))
			return 0;
		coll_reduce_to((int)op->op, (int)op->type, rails->room,
		               with < group->config.rank ? data : rails->room,
		               with < group->config.rank ? rails->room : data, count);
		dat_rail_take(group, with);
	}
	return 1;
}

/* The elements of the ranks from this member's own on, one after the other. */
static int collect(dat_group *group, const dat_group_op *op)
{
	dat_group_rails *rails = &group->rails;
	uint32_t size = group->config.size;

	for (; 1u << rails->step < size; rails->step++, rails->sent = 0) {
		uint32_t d = 1u << rails->step, some = d < size - d ? d : size - d;
		const unsigned char *data;

		if (!rails->sent && !(rails->sent = (uint32_t)say(group, op, behind(group, d),
		                                                  rails->room, some * op->n)))
			return 0;
		if (!(data = hear(group, op, ahead(group, d), some * op->n)))
			return 0;
		memcpy(rails->room + d * op->n, data, some * op->n);
		dat_rail_take(group, ahead(group, d));
	}
	return 1;
}

/* Combines them in the order of ranks; where the result is. */
static unsigned char *combine(dat_group *group, const dat_group_op *op)
{
	uint64_t count = op->n / coll_type_size((int)op->op, (int)op->type);
	uint32_t size = group->config.size, rank;
	unsigned char *result = group->rails.room + (size - group->config.rank) % size * op->n;

	for (rank = 1; rank < size; rank++)
		coll_reduce_to((int)op->op, (int)op->type, result, result,
		               group->rails.room +
		                       (rank + size - group->config.rank) % size * op->n,
		               count);
	return result;
}

static int allreduce(dat_group *group, const dat_group_op *op)
{
	unsigned char *result = group->rails.room;

	if (is_power(group->config.size)) {
		if (!doubling(group, op))
			return 0;
	} else {
		if (!collect(group, op))
			return 0;
		result = combine(group, op);
	}
	return dat_group_copy(group, op->recv.addr, (uintptr_t)result, op->n);
}

/* Begins the oldest operation. */
static int begin(dat_group *group, const dat_group_op *op)
{
	dat_group_rails *rails = &group->rails;

	group->queue.running = 1;
	rails->step = rails->sent = 0;
	if (op->kind != DAT_IB_COLLECTIVE_ALLREDUCE_STATUS)
		return 1;
	return dat_group_copy(group, (uintptr_t)rails->room,
	                      op->send.addr ? op->send.addr : op->recv.addr, op->n);
}

static int run(dat_group *group, const dat_group_op *op)
{
	switch (op->kind) {
	case DAT_IB_COLLECTIVE_BARRIER_STATUS:
		return barrier(group, op);
	case DAT_IB_COLLECTIVE_BROADCAST_STATUS:
		return broadcast(group, op);
	default:
		return allreduce(group, op);
	}
}

/* One step of the oldest operation; 0: it waits, or the group has failed. */
static int step(dat_group *group)
{
	const dat_group_op *op = dat_group_op_at(group, group->queue.head);
	dat_group_rails *rails = &group->rails;

	if (rails->handed)
		return 0;
	if (op->kind == DAT_IB_COLLECTIVE_CLOCK_SET_STATUS || !is_short(group, op)) {
		rails->handed = DAT_HANDED_WANTED;
		rails->core = 1;
		return 0;
	}
	if (rails->number >= rails->until) {
		dat_rails_fail(group);
		return 0;
	}
	if ((!group->queue.running && !begin(group, op)) || !run(group, op) || group->failed)
		return 0;
	rails->number++;
	dat_group_complete(group);
	return 1;
}

int dat_rails_turn(dat_group *group)
{
	group->progressed = 0;
	if (!group->queue.posted)
		return 0;
	dat_rails_look(group);
	while (group->queue.posted && !group->failed && step(group))
		;
	while (group->failed && group->queue.posted && !group->rails.handed)
		dat_group_complete(group);
	return (int)group->progressed;
}

int dat_group_go_on(dat_group *group)
{
	if (group->engine == DAT_ENGINE_RAILS)
		return dat_rails_turn(group);
	dat_rails_look(group);
	return 0;
}

void dat_group_begin(dat_group *group, uint64_t number)
{
	group->rails.number = number;
}

void dat_group_until(dat_group *group, uint64_t number)
{
	if (number < group->rails.until)
		group->rails.until = number;
}

uint64_t dat_group_number(const dat_group *group)
{
	return group->rails.number;
}

uint32_t dat_group_queued(const dat_group *group)
{
	uint32_t i, n = 0;

	for (i = 0; i < group->queue.posted; i++)
		n += dat_group_op_at(group, group->queue.head + i)->kind !=
		     DAT_IB_COLLECTIVE_CLOCK_SET_STATUS;
	return n;
}

const void *dat_group_wanted(dat_group *group, void **lists)
{
	group->rails.core = 0;
	if (group->rails.handed != DAT_HANDED_WANTED)
		return NULL;
	group->rails.handed = DAT_HANDED_TAKEN;
	*lists = dat_group_list(group, group->queue.head, 0);
	return dat_group_op_at(group, group->queue.head);
}

void dat_group_passed(dat_group *group)
{
	if (dat_group_op_at(group, group->queue.head)->kind != DAT_IB_COLLECTIVE_CLOCK_SET_STATUS)
		group->rails.number++;
	group->rails.handed = DAT_HANDED_NOT;
	dat_group_pass(group);
}

int dat_group_broken(const dat_group *group)
{
	return (int)group->failed;
}

void dat_group_fail_all(dat_group *group)
{
	dat_rails_fail(group);
	dat_rails_turn(group);
}
