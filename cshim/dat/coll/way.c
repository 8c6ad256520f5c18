/*
 * way.c - which way long data of a group on one node goes: through the sender's stage, where
 * both ends copy, or by one copy of the kernel's, straight from the sender's memory, which the
 * reader makes, or between two members the sender, or each a half.
 *
 * Which is the faster depends on the machine and the hour, so it is found out as the routes of
 * other transfers are (../node/route_class.h). One member decides for an operation, the root or
 * rank 0, and says so in its seat; who has long data to move waits for that. An operation
 * that is timed begins when all are done with what was before, and ends when all are done with it.
 *
 * A member whose memory others read is over when all have read it.
 */
#include "dat/coll/private.h"

#include "node/route_class.h"
#include "node/timed.h"

_Static_assert(DAT_IB_COLLECTIVE_BARRIER_STATUS - DAT_IB_COLLECTIVE_SCATTER_STATUS <
                       DAT_GROUP_KINDS,
               "a place for each kind");

/* A decision that is no trial's holds for so many more operations that are alike and follow at
 * once: nobody waits for the decider in these. */
enum { HOLDS = 15 };

static uint32_t decider(const dat_group_op *op)
{
	return op->root; /* 0 where there is none */
}

static node_route_class *class_of(const dat_group *group, const dat_group_op *op)
{
	uint32_t class =
		node_route_class_of(group->way.weight) - node_route_class_of(DAT_GROUP_COPY_MIN);

	return &group->way.classes[op->kind - DAT_IB_COLLECTIVE_SCATTER_STATUS]
	                          [class < DAT_GROUP_CLASSES ? class : DAT_GROUP_CLASSES - 1];
}

/* LAPI_ROUTE, of the link to a member; NODE_ROUTES: none is forced. */
static uint32_t forced(const dat_group *group)
{
	const node_link *link =
		(node_link *)(uintptr_t)group->config.links[group->config.rank == 0];

	return link->routes.forced;
}

/* What a way is to the chooser. */
static const uint8_t routes[DAT_WAYS] = {
	[DAT_WAY_STAGE] = NODE_ROUTE_PIPELINE,
	[DAT_WAY_COPY] = NODE_ROUTE_TARGET,
	[DAT_WAY_GIVE] = NODE_ROUTE_ORIGIN,
	[DAT_WAY_STREAM] = NODE_ROUTE_STREAMING,
};

/* The nearest way that the operation can go. */
static uint32_t way_of(const dat_group *group, const dat_group_op *op, uint32_t way)
{
	if (way == DAT_WAY_STREAM && !dat_group_may_stream(group, op))
		way = DAT_WAY_GIVE;
	return way == DAT_WAY_GIVE && !dat_group_may_give(group, op) ? DAT_WAY_COPY : way;
}

static uint32_t way_of_route(const dat_group *group, const dat_group_op *op, uint32_t route)
{
	uint32_t way = DAT_WAY_STAGE;

	while (way < DAT_WAYS - 1 && routes[way] != route)
		way++;
	return way_of(group, op, way);
}

static uint32_t forced_way(const dat_group *group, const dat_group_op *op, uint32_t route)
{
	if (node_route_is_pipeline(route))
		return DAT_WAY_STAGE;
	return way_of(group, op, route == NODE_ROUTE_TARGET ? DAT_WAY_COPY : DAT_WAY_GIVE);
}

/* The decider's choice by time. */
static uint32_t choose_class(dat_group *group, const dat_group_op *op)
{
	node_route_class *class = class_of(group, op);
	uint32_t allowed = 0, way, route;

	for (way = DAT_WAY_STAGE; way < DAT_WAYS; way++)
		allowed |= 1u << routes[way_of(group, op, way)];
	if (class->transfers == 0) {
		class->of_groups = 1;
		class->best = routes[way_of_route(group, op, group->way.best)];
	}
	route = node_class_choose(class, allowed, 1);
	if (route & NODE_ROUTE_TIMED)
		group->way.timing = DAT_TIMING_WAITS;
	else if (node_class_is_calm(class))
		group->way.holds = HOLDS;
	return way_of_route(group, op, route & NODE_ROUTE_MASK);
}

/* What the decider says. */
static uint32_t choose(dat_group *group, const dat_group_op *op)
{
	uint32_t route = forced(group);

	if (route < NODE_ROUTES)
		return forced_way(group, op, route);
	if (group->config.random) /* the others do as they read, so these coins are this member's */
		return way_of(group, op, DAT_WAY_STAGE + (group->queue.head * 2654435761u >> 30));
	return choose_class(group, op);
}

/* 1 if the members that read what this one sends are done with all before a round. One that has
 * ended without that fails the group. */
static int all_done(dat_group *group, const dat_group_op *op, uint64_t round)
{
	int to_root = !dat_group_reduces(op) && dat_rule_of(op)->is & DAT_RULE_TO_ROOT;
	uint32_t i;

	for (i = 0; i < group->config.size; i++) {
		if (i == group->config.rank || (to_root && i != op->root))
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
                         uint64_t moves)
{
	uint64_t most = decider(op) == group->config.rank ? weight : moves;

	group->way.first = round;
	group->way.timing = 0;
	group->way.weight = weight;
	group->way.current =
		group->way.classes && most >= DAT_GROUP_COPY_MIN ? DAT_WAY_OPEN : DAT_WAY_STAGE;
	if (group->round.check != group->way.alike || group->way.current != DAT_WAY_OPEN)
		group->way.holds = 0;
	group->way.alike = group->round.check;
	group->give.gives = group->give.rest = 0;
}

/* The decider's own choice. The others hear of it before it copies anything. */
static void decide(dat_group *group, const dat_group_op *op)
{
	if (group->way.holds) {
		group->way.holds--;
		node_class_held(class_of(group, op));
	} else {
		group->way.held = choose(group, op);
	}
	group->way.current = group->way.held;
	/* release: pairs with decided_by */
	__atomic_store_n(&dat_group_seat(group, group->config.rank)->decided,
	                 (group->way.first + 1) << DAT_DECIDED_AT |
	                         group->way.holds << DAT_HOLDS_AT | group->way.current,
	                 __ATOMIC_RELEASE);
	group->news = 1;
}

/* What another one has decided, if it has: a way. */
static uint32_t decided_by(dat_group *group, const dat_group_op *op, uint32_t rank)
{
	/* acquire: pairs with decide */
	uint64_t said = __atomic_load_n(&dat_group_seat(group, rank)->decided, __ATOMIC_ACQUIRE);
	uint32_t way = (uint32_t)said & ((1u << DAT_HOLDS_AT) - 1);

	if (said >> DAT_DECIDED_AT != group->way.first + 1)
		return DAT_WAY_OPEN;
	group->way.holds = (uint32_t)said % (1u << DAT_DECIDED_AT) >> DAT_HOLDS_AT;
	group->way.held = way_of(group, op, way < DAT_WAYS ? way : DAT_WAY_COPY);
	return group->way.held;
}

/* Does as another one has decided; 0: that is not known yet. One whose own data are short decides
 * nothing: its first card says so. */
static int follow(dat_group *group, const dat_group_op *op, uint32_t rank)
{
	if (group->way.holds) {
		group->way.holds--;
		group->way.current = group->way.held;
		return 1;
	}
	group->way.current = decided_by(group, op, rank);
	if (group->way.current == DAT_WAY_OPEN && dat_group_card(group, rank, group->way.first)) {
		group->way.current = decided_by(group, op, rank);
		if (group->way.current == DAT_WAY_OPEN)
			group->way.current = DAT_WAY_STAGE;
	}
	return group->way.current != DAT_WAY_OPEN;
}

int dat_group_way_known(dat_group *group, const dat_group_op *op)
{
	if (group->way.current == DAT_WAY_OPEN && decider(op) == group->config.rank)
		decide(group, op);
	else if (group->way.current == DAT_WAY_OPEN && !follow(group, op, decider(op)))
		return 0;
	if (group->way.timing == DAT_TIMING_WAITS) {
		if (!all_done(group, op, group->round.base))
			return 0;
		group->way.timing = DAT_TIMING_RUNS;
		group->way.begun = node_now_ns();
	}
	return 1;
}

uint64_t dat_group_way_time(const dat_group_op *op, uint32_t way, uint64_t ns)
{
	return way != DAT_WAY_STAGE && dat_group_has_root(op) ? ns + ns / 4 : ns;
}

static void learn(dat_group *group, const dat_group_op *op)
{
	node_route_class *class = class_of(group, op);
	uint64_t ns = dat_group_way_time(op, group->way.current, node_now_ns() - group->way.begun);

	group->way.timing = 0;
	node_class_timed(class, routes[group->way.current],
	                 node_route_scaled(ns, group->way.weight));
	if (class->transfers > DAT_GROUP_CLASSES)
		group->way.best = class->best;
}

int dat_group_all_read(dat_group *group, const dat_group_op *op, uint64_t next)
{
	if (!(group->way.how & DAT_CARD_PLACE) && !group->way.timing)
		return 1;
	/* who waits likewise waits for this member */
	if (group->way.told != next) {
		group->way.told = next;
		dat_group_done(group, next);
	}
	if (!all_done(group, op, next))
		return 0;
	if (group->way.timing)
		learn(group, op);
	return 1;
}
