/*
 * group_way.c - which way long data of a group on one node goes: through the sender's stage, where
 * both ends copy, or by one copy of the kernel's, straight from the sender's memory.
 *
 * Which is the faster depends on the machine and the hour, so it is found out as the routes of
 * other transfers are (../node/route_class.h). One member decides for an operation, the root or
 * rank 0, and says so in its seat; who has long data to send waits for that. An operation
 * that is timed begins when all are done with what was before, and ends when all are done with it.
 *
 * A member whose memory others read is over when all have read it.
 */
#include "group.h"

#include "../node/route_class.h"
#include "../node/timed.h"

_Static_assert(DAT_IB_COLLECTIVE_BARRIER_STATUS - DAT_IB_COLLECTIVE_SCATTER_STATUS <
                       DAT_GROUP_KINDS,
               "a place for each kind");

static uint32_t decider(const dat_group_op *op)
{
	return op->root; /* 0 where there is none */
}

static node_route_class *class_of(const dat_group *group, const dat_group_op *op)
{
	node_route_class *classes = (node_route_class *)(uintptr_t)group->ways;
	uint32_t class =
		node_route_class_of(group->weight) - node_route_class_of(DAT_GROUP_COPY_MIN);

	return classes +
	       (op->kind - DAT_IB_COLLECTIVE_SCATTER_STATUS) * (uint64_t)DAT_GROUP_CLASSES +
	       (class < DAT_GROUP_CLASSES ? class : DAT_GROUP_CLASSES - 1);
}

/* LAPI_ROUTE, of the link to a member; NODE_ROUTES: none is forced. */
static uint32_t forced(const dat_group *group)
{
	const node_link *link = (node_link *)(uintptr_t)group->links[group->rank == 0];

	return link->routes.forced;
}

/* What the decider says: a route, with NODE_ROUTE_TIMED. */
static uint32_t choose(dat_group *group, const dat_group_op *op)
{
	uint32_t both = 1u << NODE_ROUTE_PIPELINE | 1u << NODE_ROUTE_TARGET;
	uint32_t route = forced(group);
	node_route_class *class;

	if (route < NODE_ROUTES)
		return node_route_is_pipeline(route) ? NODE_ROUTE_PIPELINE : NODE_ROUTE_TARGET;
	if (group->random) /* the others do as they read, so these coins are this member's */
		return group->count * 2654435761u >> 31 ? NODE_ROUTE_TARGET : NODE_ROUTE_PIPELINE;
	class = class_of(group, op);
	if (class->transfers == 0) {
		class->of_groups = 1;
		class->best = (uint8_t)group->best;
	}
	return node_class_choose(class, both, 1);
}

/* 1 if the members that read what this one sends are done with all before a round. One that has
 * ended without that fails the group. */
static int all_done(dat_group *group, const dat_group_op *op, uint64_t round)
{
	int to_root = op->kind == DAT_IB_COLLECTIVE_GATHER_STATUS ||
	              op->kind == DAT_IB_COLLECTIVE_GATHERV_STATUS;
	uint32_t i;

	for (i = 0; i < group->size; i++) {
		if (i == group->rank || (to_root && i != op->root))
			continue;
		if (dat_group_done_before(group, i, round))
			continue;
		if (dat_group_has_ended(group, i) && !dat_group_done_before(group, i, round))
			dat_group_fail(group);
		return 0;
	}
	return 1;
}

void dat_group_way_begin(dat_group *group, const dat_group_op *op, uint64_t round, uint64_t weight,
                         uint64_t sends)
{
	uint64_t most = decider(op) == group->rank ? weight : sends;

	group->first = round;
	group->timing = 0;
	group->weight = weight;
	group->way = group->ways && most >= DAT_GROUP_COPY_MIN ? DAT_WAY_OPEN : DAT_WAY_STAGE;
}

/* The decider's own choice. The others hear of it before it copies anything. */
static void decide(dat_group *group, const dat_group_op *op)
{
	uint32_t route = choose(group, op);
	int copy = (route & NODE_ROUTE_MASK) == NODE_ROUTE_TARGET;

	group->way = copy ? DAT_WAY_COPY : DAT_WAY_STAGE;
	if (route & NODE_ROUTE_TIMED)
		group->timing = DAT_TIMING_WAITS;
	/* release: pairs with decided_by */
	__atomic_store_n(&dat_group_seat(group, group->rank)->decided,
	                 (group->first + 1) * 2 + (uint64_t)copy, __ATOMIC_RELEASE);
	group->news = 1;
}

/* What another one has decided: a dat_way. */
static int decided_by(const dat_group *group, uint32_t rank)
{
	/* acquire: pairs with decide */
	uint64_t said = __atomic_load_n(&dat_group_seat(group, rank)->decided, __ATOMIC_ACQUIRE);

	if (said / 2 != group->first + 1)
		return DAT_WAY_OPEN;
	return said % 2 ? DAT_WAY_COPY : DAT_WAY_STAGE;
}

/* Does as another one has decided; 0: that is not known yet. One whose own data are short decides
 * nothing: its first card says so. */
static int follow(dat_group *group, uint32_t rank)
{
	group->way = decided_by(group, rank);
	if (group->way == DAT_WAY_OPEN && dat_group_card(group, rank, group->first)) {
		group->way = decided_by(group, rank);
		if (group->way == DAT_WAY_OPEN)
			group->way = DAT_WAY_STAGE;
	}
	return group->way != DAT_WAY_OPEN;
}

int dat_group_way_known(dat_group *group, const dat_group_op *op)
{
	if (group->way == DAT_WAY_OPEN && decider(op) == group->rank)
		decide(group, op);
	else if (group->way == DAT_WAY_OPEN && !follow(group, decider(op)))
		return 0;
	if (group->timing == DAT_TIMING_WAITS) {
		if (!all_done(group, op, group->base))
			return 0;
		group->timing = DAT_TIMING_RUNS;
		group->begun = node_now_ns();
	}
	return 1;
}

uint64_t dat_group_way_time(uint32_t kind, uint32_t way, uint64_t ns)
{
	int has_root = kind == DAT_IB_COLLECTIVE_BROADCAST_STATUS ||
	               kind == DAT_IB_COLLECTIVE_SCATTER_STATUS ||
	               kind == DAT_IB_COLLECTIVE_SCATTERV_STATUS ||
	               kind == DAT_IB_COLLECTIVE_GATHER_STATUS ||
	               kind == DAT_IB_COLLECTIVE_GATHERV_STATUS;

	return way == DAT_WAY_COPY && has_root ? ns + ns / 4 : ns;
}

static void learn(dat_group *group, const dat_group_op *op)
{
	node_route_class *class = class_of(group, op);
	uint32_t route = group->way == DAT_WAY_COPY ? NODE_ROUTE_TARGET : NODE_ROUTE_PIPELINE;
	uint64_t ns = dat_group_way_time(op->kind, group->way, node_now_ns() - group->begun);

	group->timing = 0;
	node_class_timed(class, route, node_route_scaled(ns, group->weight));
	if (class->transfers > DAT_GROUP_CLASSES)
		group->best = class->best;
}

int dat_group_all_read(dat_group *group, const dat_group_op *op, uint64_t next)
{
	if (!(group->how & DAT_CARD_PLACE) && !group->timing)
		return 1;
	/* who waits likewise waits for this member */
	if (group->told != next) {
		group->told = next;
		dat_group_done(group, next);
	}
	if (!all_done(group, op, next))
		return 0;
	if (group->timing)
		learn(group, op);
	return 1;
}
