/*
 * path.c - which path long data of a group on one node goes: through the sender's staging buffer,
 * where both ends copy, or by one copy of the kernel's, straight from the sender's memory, which
 * the reader makes, or between two members the sender, or each a half.
 *
 * Which is the faster depends on the machine and the hour, so it is found out as the routes of
 * other transfers are (../node/route_class.h). One member decides for an operation, the root or
 * rank 0, and publishes it in its rank slot; members with long data wait for that. A timed
 * operation begins when all are done with those before, and ends when all are done with it.
 *
 * A member whose memory others read is over when all have read it.
 */
#include "dat/coll/private.h"

#include "node/route_class.h"
#include "node/timed.h"

_Static_assert(DAT_IB_COLLECTIVE_BARRIER_STATUS - DAT_IB_COLLECTIVE_SCATTER_STATUS <
                       DAT_GROUP_KINDS,
               "a place for each kind");

/* A decision that is no trial's holds for this number of operations with the same arguments that
 * follow at once: nobody waits for the decider in these. */
enum { HOLDS = 15 };

static uint32_t decider(const dat_group_op *op)
{
	return op->root; /* 0 where there is none */
}

static node_route_class *class_of(const dat_group *group, const dat_group_op *op)
{
	uint32_t class =
		node_route_class_of(group->path.weight) - node_route_class_of(DAT_GROUP_COPY_MIN);

	return &group->path.classes[op->kind - DAT_IB_COLLECTIVE_SCATTER_STATUS]
	                           [class < DAT_GROUP_CLASSES ? class : DAT_GROUP_CLASSES - 1];
}

/* LAPI_ROUTE, of the link to a member; NODE_ROUTES: none is forced. */
static uint32_t forced(const dat_group *group)
{
	const node_link *link =
		(node_link *)(uintptr_t)group->config.links[group->config.rank == 0];

	return link->routes.forced;
}

/* The chooser's route for each path. */
static const uint8_t routes[DAT_PATHS] = {
	[DAT_PATH_STAGING] = NODE_ROUTE_PIPELINE,
	[DAT_PATH_COPY] = NODE_ROUTE_TARGET,
	[DAT_PATH_PUSH] = NODE_ROUTE_ORIGIN,
	[DAT_PATH_STREAM] = NODE_ROUTE_STREAMING,
};

/* The nearest path that the operation can go. */
static uint32_t path_of(const dat_group *group, const dat_group_op *op, uint32_t path)
{
	if (path == DAT_PATH_STREAM && !dat_group_may_stream(group, op))
		path = DAT_PATH_PUSH;
	return path == DAT_PATH_PUSH && !dat_group_may_push(group, op) ? DAT_PATH_COPY : path;
}

static uint32_t path_of_route(const dat_group *group, const dat_group_op *op, uint32_t route)
{
	uint32_t path = DAT_PATH_STAGING;

	while (path < DAT_PATHS - 1 && routes[path] != route)
		path++;
	return path_of(group, op, path);
}

static uint32_t forced_path(const dat_group *group, const dat_group_op *op, uint32_t route)
{
	if (node_route_is_pipeline(route))
		return DAT_PATH_STAGING;
	return path_of(group, op, route == NODE_ROUTE_TARGET ? DAT_PATH_COPY : DAT_PATH_PUSH);
}

/* The decider's choice by time. */
static uint32_t choose_class(dat_group *group, const dat_group_op *op)
{
	node_route_class *class = class_of(group, op);
	uint32_t allowed = 0, path, route;

	for (path = DAT_PATH_STAGING; path < DAT_PATHS; path++)
		allowed |= 1u << routes[path_of(group, op, path)];
	if (class->transfers == 0) {
		class->of_groups = 1;
		class->best = routes[path_of_route(group, op, group->path.best)];
	}
	route = node_class_choose(class, allowed, 1);
	if (route & NODE_ROUTE_TIMED)
		group->path.timing = DAT_TIMING_WAITS;
	else if (node_class_is_calm(class))
		group->path.holds = HOLDS;
	return path_of_route(group, op, route & NODE_ROUTE_MASK);
}

/* The decider's choice. */
static uint32_t choose(dat_group *group, const dat_group_op *op)
{
	uint32_t route = forced(group);

	if (route < NODE_ROUTES)
		return forced_path(group, op, route);
	if (group->config.random) /* the others do as they read, so these coins are this member's */
		return path_of(group, op,
		               DAT_PATH_STAGING + (group->queue.head * 2654435761u >> 30));
	return choose_class(group, op);
}

/*
 * 1 if the members that read this member's data have finished all rounds before round. A member
 * that has ended without that fails the group.
 */
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

void dat_group_path_begin(dat_group *group, const dat_group_op *op, uint64_t round, uint64_t weight,
                          uint64_t moves)
{
	uint64_t most = decider(op) == group->config.rank ? weight : moves;

	group->path.first = round;
	group->path.timing = 0;
	group->path.weight = weight;
	group->path.current = group->path.classes && most >= DAT_GROUP_COPY_MIN ? DAT_PATH_OPEN
	                                                                        : DAT_PATH_STAGING;
	if (group->round.check != group->path.same_args || group->path.current != DAT_PATH_OPEN)
		group->path.holds = 0;
	group->path.same_args = group->round.check;
	group->push.to_push = group->push.rest = 0;
}

/* The decider's own choice. It is published before the decider copies anything. */
static void decide(dat_group *group, const dat_group_op *op)
{
	if (group->path.holds) {
		group->path.holds--;
		node_class_held(class_of(group, op));
	} else {
		group->path.held = choose(group, op);
	}
	group->path.current = group->path.held;
	/* release: pairs with decided_by */
	__atomic_store_n(&dat_group_slot(group, group->config.rank)->decided,
	                 (group->path.first + 1) << DAT_DECIDED_AT |
	                         group->path.holds << DAT_HOLDS_AT | group->path.current,
	                 __ATOMIC_RELEASE);
	group->progressed = 1;
}

/* The path that another member has decided; DAT_PATH_OPEN if it has not. */
static uint32_t decided_by(dat_group *group, const dat_group_op *op, uint32_t rank)
{
	/* acquire: pairs with decide */
	uint64_t said = __atomic_load_n(&dat_group_slot(group, rank)->decided, __ATOMIC_ACQUIRE);
	uint32_t path = (uint32_t)said & ((1u << DAT_HOLDS_AT) - 1);

	if (said >> DAT_DECIDED_AT != group->path.first + 1)
		return DAT_PATH_OPEN;
	group->path.holds = (uint32_t)said % (1u << DAT_DECIDED_AT) >> DAT_HOLDS_AT;
	group->path.held = path_of(group, op, path < DAT_PATHS ? path : DAT_PATH_COPY);
	return group->path.held;
}

/*
 * Does as another member has decided; 0: its decision is not known yet. A member whose own data are
 * short decides nothing: its first descriptor shows that.
 */
static int follow(dat_group *group, const dat_group_op *op, uint32_t rank)
{
	if (group->path.holds) {
		group->path.holds--;
		group->path.current = group->path.held;
		return 1;
	}
	group->path.current = decided_by(group, op, rank);
	if (group->path.current == DAT_PATH_OPEN &&
	    dat_group_desc(group, rank, group->path.first)) {
		group->path.current = decided_by(group, op, rank);
		if (group->path.current == DAT_PATH_OPEN)
			group->path.current = DAT_PATH_STAGING;
	}
	return group->path.current != DAT_PATH_OPEN;
}

int dat_group_path_known(dat_group *group, const dat_group_op *op)
{
	if (group->path.current == DAT_PATH_OPEN && decider(op) == group->config.rank)
		decide(group, op);
	else if (group->path.current == DAT_PATH_OPEN && !follow(group, op, decider(op)))
		return 0;
	if (group->path.timing == DAT_TIMING_WAITS) {
		if (!all_done(group, op, group->round.base))
			return 0;
		group->path.timing = DAT_TIMING_RUNS;
		group->path.begun = node_now_ns();
	}
	return 1;
}

uint64_t dat_group_path_time(const dat_group_op *op, uint32_t path, uint64_t ns)
{
	return path != DAT_PATH_STAGING && dat_group_has_root(op) ? ns + ns / 4 : ns;
}

static void learn(dat_group *group, const dat_group_op *op)
{
	node_route_class *class = class_of(group, op);
	uint64_t ns =
		dat_group_path_time(op, group->path.current, node_now_ns() - group->path.begun);

	group->path.timing = 0;
	node_class_timed(class, routes[group->path.current],
	                 node_route_scaled(ns, group->path.weight));
	if (class->transfers > DAT_GROUP_CLASSES)
		group->path.best = class->best;
}

int dat_group_all_read(dat_group *group, const dat_group_op *op, uint64_t next)
{
	if (!(group->path.how & DAT_DESC_PLACE) && !group->path.timing)
		return 1;
	/* a member that waits likewise waits for this one */
	if (group->path.notified != next) {
		group->path.notified = next;
		dat_group_done(group, next);
	}
	if (!all_done(group, op, next))
		return 0;
	if (group->path.timing)
		learn(group, op);
	return 1;
}
