/* group.c - a group from its making to its end, and the posts of operations (coll.h). */
#include "dat/coll/private.h"

#include <stdlib.h>
#include <string.h>

#include "dat/calls.h"
#include "dat/godat.h"
#include "node/timed.h"

/* Operations that there is room for at first, and at most. */
enum { ROOM_FIRST = 64, ROOM_MOST = 1 << 16 };

dat_group *dat_groups;

/* A handle keeps the group's address as an integer, which the analyzer does not follow. */
#pragma GCC diagnostic push
#ifndef __clang__
#pragma GCC diagnostic ignored "-Wanalyzer-malloc-leak"
#endif
/* Makes room for twice as many operations, or, for the plan's engine, for a single call; 0: there
 * is no memory. */
static int grow(dat_group *group)
{
	dat_group_queue *queue = &group->queue;
	size_t lists = 2 * group->config.size * sizeof(dat_span);
	int one = !group->config.slots && group->engine != DAT_ENGINE_RAILS;
	uint32_t room = one ? 1 : queue->room >= ROOM_FIRST ? 2 * queue->room : ROOM_FIRST, i;
	dat_group_op *ops = room > ROOM_MOST ? NULL : calloc(room, sizeof(*ops) + lists);

	if (!ops)
		return 0;
	for (i = queue->head; i != queue->head + queue->posted; i++) {
		memcpy(&ops[i % room], dat_group_op_at(group, i), sizeof(*ops));
		memcpy((unsigned char *)(ops + room) + i % room * lists,
		       dat_group_list(group, i, 0), lists);
	}
	free(queue->ops);
	queue->ops = ops;
	queue->room = room;
	return 1;
}
#pragma GCC diagnostic pop

dat_group *dat_group_open(const void *config)
{
	dat_group *group = calloc(1, sizeof(*group));

	if (!group)
		return NULL;
	group->config = *(const dat_group_config *)config;
	group->rails.until = UINT64_MAX;
	if (group->config.slots) {
		group->reduce.scratch = aligned_alloc(64, DAT_GROUP_SCRATCH);
		group->path.classes = calloc(DAT_GROUP_KINDS, sizeof(*group->path.classes));
	}
	if (grow(group) && (!group->config.slots || (group->reduce.scratch && group->path.classes)))
		return group;
	dat_group_close(group);
	return NULL;
}

void dat_group_settle(dat_group *group, uint32_t engine, uint32_t agreed)
{
	group->engine = engine;
	group->config.crowded = (agreed & DAT_AGREED_CROWDED) != 0;
	group->long_double = agreed & DAT_AGREED_LONG_DOUBLE;
	if (!(agreed & DAT_AGREED_READS)) {
		free(group->path.classes);
		group->path.classes = NULL;
	}
	dat_slot_at(group->config.handle)->lane = (uintptr_t)group;
	if (engine != DAT_ENGINE_NODE)
		group->config.slots = 0; /* they are core's again */
	if (engine == DAT_ENGINE_PLAN)
		return;
	group->next = dat_groups;
	dat_groups = group;
}

void dat_group_lose(dat_group *group, uint32_t rank)
{
	if (!group->config.slots)
		return;
	group->config.peers[rank] = group->config.links[rank] = 0;
	group->lost = 1;
	__atomic_store_n(&dat_group_slot(group, rank)->ended, 1, __ATOMIC_RELEASE);
}

void dat_group_close(dat_group *group)
{
	dat_group **at = &dat_groups;

	while (*at && *at != group)
		at = &(*at)->next;
	if (*at)
		*at = group->next;
	if (group->config.slots) {
		dat_group_fail(group);
		dat_group_end(group);
	}
	if (group->engine == DAT_ENGINE_RAILS)
		dat_group_fail_all(group);
	if (group->engine)
		dat_slot_at(group->config.handle)->lane = 0;
	free(group->queue.ops);
	free(group->reduce.scratch);
	free(group->path.classes);
	free(group->rails.of);
	free(group->rails.room);
	free(group->rails.posts);
	free(group);
}

/* How much the clock is ahead of CLOCK_MONOTONIC. It begins when some member first looks. Only the
 * word itself counts, so its order with other memory does not matter (relaxed). */
static uint64_t *clock_of(const dat_group *group, uint64_t now)
{
	uint64_t *ahead = &dat_group_slot(group, 0)->clock, none = 0;

	if (!__atomic_load_n(ahead, __ATOMIC_RELAXED))
		__atomic_compare_exchange_n(ahead, &none, -now, 0, __ATOMIC_RELAXED,
		                            __ATOMIC_RELAXED);
	return ahead;
}

uint64_t dat_group_clock(dat_group *group)
{
	uint64_t now = node_now_ns();
	uint64_t reading = now + __atomic_load_n(clock_of(group, now), __ATOMIC_RELAXED);

	group->last = reading > group->last ? reading : group->last + 1;
	return group->last;
}

void dat_group_set_clock(const dat_group *group, uint64_t value)
{
	uint64_t now = node_now_ns(), *ahead = clock_of(group, now);
	uint64_t was = __atomic_load_n(ahead, __ATOMIC_RELAXED);

	while (value > now + was &&
	       !__atomic_compare_exchange_n(ahead, &was, value - now, 0, __ATOMIC_RELAXED,
	                                    __ATOMIC_RELAXED))
		;
}

int dat_group_enqueue(dat_group *group, const void *op)
{
	if (group->queue.posted == group->queue.room && !grow(group))
		return 0;
	*dat_group_op_at(group, group->queue.head + group->queue.posted++) =
		*(const dat_group_op *)op;
	return 1;
}

/* Has core do an operation. */
static DAT_RETURN hand_over(const dat_group *group, uint64_t handle, const dat_group_op *op,
                            uint32_t place)
{
	return godat_call(
		DAT_CALL_collective,
		(uint64_t[]){handle, (uintptr_t)op, (uintptr_t)dat_group_list(group, place, 0)});
}

DAT_RETURN dat_groups_post(const uint64_t *arguments)
{
	const dat_slot *slot = handle_find((const void *)(uintptr_t)arguments[DAT_COLL_GROUP],
	                                   DAT_IB_HANDLE_TYPE_COLLECTIVE);
	dat_group *group = slot ? (dat_group *)(uintptr_t)slot->lane : NULL;
	dat_group_op *op;
	uint32_t place;

	if (!group)
		return DAT_CLASS_ERROR | DAT_INVALID_HANDLE | DAT_INVALID_HANDLE1;
	if (group->queue.posted == group->queue.room && !grow(group))
		return DAT_CLASS_ERROR | DAT_INSUFFICIENT_RESOURCES | DAT_RESOURCE_MEMORY;
	place = group->queue.head + group->queue.posted;
	op = dat_group_op_at(group, place);
	if (!dat_group_read_call(group, arguments, op, dat_group_list(group, place, 0)))
		return DAT_CLASS_ERROR | DAT_INVALID_PARAMETER;
	if (group->engine == DAT_ENGINE_PLAN)
		return hand_over(group, arguments[DAT_COLL_GROUP], op, place);
	op->flags |= group->lost ? DAT_GROUP_LOST : 0;
	group->queue.posted++;
	dat_group_turn(group);
	if (__builtin_expect(group->rails.core != 0, 0))
		godat_progress(); /* it has an operation to do, or a peer to wake */
	return DAT_SUCCESS;
}
