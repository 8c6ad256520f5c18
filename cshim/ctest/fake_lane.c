/*
 * fake_lane.c - what core/lapi makes of the fast lane, for two contexts of this process, over the
 * two ends of fake_node.h. With them the lane's both ends run in one process, under sanitizers.
 *
 * The fake does not do the work that the lane leaves to core: a send that passes gives
 * LAPI_ERR_TGT, and the test tries again.
 */
#define _GNU_SOURCE
#include "ctest/fake_lane.h"

#include <string.h>

#include "ctest/fake_adapter.h"
#include "ctest/fake_node.h"
#include "lane/lane_shared.h"
#include "node/arm.h"

static cshim_lane lanes[2] __attribute__((aligned(64)));
static int16_t ring_of[2][2] = {{-1, 1}, {0, -1}};
static uint64_t scratch[2][CSHIM_LANE_UHDR / 8];
struct fake_lane_counts fake_lane_counts;

static void attach(int task, cshim_context *context)
{
	cshim_lane *lane = &lanes[task];

	memset(lane, 0, sizeof(*lane));
	lane->link = CSHIM_ADDR(fake_node_link(task));
	lane->ring_of = CSHIM_ADDR(ring_of[task]);
	lane->scratch = CSHIM_ADDR(scratch[task]);
	lane->turns_max = 4096;
	lane->bulk_min = UINT64_MAX;
	cshim_lock(&context->progress);
	context->task = task;
	context->num_tasks = 2;
	context->lane = CSHIM_ADDR(lane);
	cshim_unlock(&context->progress);
}

void fake_lane_attach(lapi_handle_t handles[2])
{
	cshim_context *contexts[2] = {fake_context(handles[0]), fake_context(handles[1])};
	int bells[2] = {contexts[0]->progress.descriptors[1], contexts[1]->progress.descriptors[1]},
	    task;

	fake_node_make(bells);
	for (task = 0; task < 2; task++)
		attach(task, contexts[task]);
}

void fake_lane_detach(lapi_handle_t handle)
{
	cshim_context *context = fake_context(handle);

	cshim_lock(&context->progress);
	context->lane = 0;
	cshim_unlock(&context->progress);
}

void fake_lane_open(lapi_handle_t handles[2])
{
	lapi_info_t info;
	int i;

	fake_settings.polling = 1;
	for (i = 0; i < 2; i++) {
		memset(&info, 0, sizeof(info));
		handles[i] = fake_init(&info);
	}
	memset(&fake_lane_counts, 0, sizeof(fake_lane_counts));
	fake_lane_attach(handles);
}

void fake_lane_close(lapi_handle_t handles[2])
{
	int i;

	for (i = 0; i < 2; i++)
		fake_lane_detach(handles[i]);
	for (i = 0; i < 2; i++)
		CHECK(LAPI_Term(handles[i]) == LAPI_SUCCESS);
	fake_settings.polling = 0;
}

node_peer *fake_lane_peer(lapi_handle_t handle)
{
	return fake_node_peer(fake_context(handle)->task);
}

fake_lane_order fake_lane_ordered_by(void)
{
	const node_link *link = fake_node_link(0);

	if (!link->fencing)
		return FAKE_LANE_SENDERS;
	return link->unordered || fake_node_link(1)->unordered ? FAKE_LANE_NOBODY
	                                                       : FAKE_LANE_MEMBARRIER;
}

/* As transport/shm arms. 1: there is something. */
int fake_lane_arm(cshim_context *context, int64_t *timeout_ns)
{
	node_link *link;
	int some;

	if (!context->lane)
		return 0;
	link = fake_node_link(context->task);
	some = node_arm(link);
	if (link->unordered)
		*timeout_ns = NODE_LOOK_AGAIN_NS;
	__atomic_add_fetch(&fake_lane_counts.arms, 1, __ATOMIC_RELAXED);
	return some;
}

void fake_lane_disarm(cshim_context *context)
{
	if (context->lane)
		node_disarm(fake_node_link(context->task));
}

/* Work that the lane leaves to core in the middle of something: the tests give no reason for it but
 * where they count. */

void golapi_lane_count(int context, cshim_addr cntr, int32_t kind, int32_t src, int32_t peer)
{
	(void)context, (void)cntr, (void)kind, (void)src, (void)peer;
	__atomic_add_fetch(&fake_lane_counts.bad_counters, 1, __ATOMIC_RELAXED);
}

/* Completion messages that found no room wait for it, as in core; go_work makes the lane call for
 * turns. */
static struct waiting {
	cshim_addr counters[4096];
	unsigned first, end;
} waiting[2];

void golapi_lane_tell(int context, int32_t origin, cshim_addr cmpl_cntr, uint64_t more)
{
	struct waiting *w = &waiting[1 - origin];

	if (((const cshim_lane *)(uintptr_t)cshim_context_at(context)->lane)->verbs) {
		fake_packets_told += 1 + (int)more;
		return;
	}
	CHECK(w->end - w->first < 4096);
	for (more++; more > 0; more--)
		w->counters[w->end++ % 4096] = cmpl_cntr;
	lanes[1 - origin].go_work = 1;
}

int fake_lane_turn(int context)
{
	cshim_context *block = cshim_context_at(context);
	struct waiting *w;
	unsigned before, n;

	if (!block->lane)
		return 0;
	w = &waiting[block->task];
	before = w->first;
	n = w->end - w->first;
	while (n-- > 0) { /* those that find no room again come back to the end */
		const cshim_end to = cshim_end_of_ring(fake_node_peer(block->task));
		cshim_addr counter = w->counters[w->first++ % 4096];

		lanes[block->task].told = counter;
		lanes[block->task].told_more = 0;
		cshim_lane_tell_now(block, &lanes[block->task], &to);
	}
	lanes[block->task].go_work = w->first != w->end;
	return w->first != before && !lanes[block->task].go_work;
}

void golapi_lane_fault(int context, int32_t peer, int32_t result, cshim_addr addr, int32_t kind)
{
	(void)context, (void)peer, (void)result, (void)addr, (void)kind;
	__atomic_add_fetch(&fake_lane_counts.faults, 1, __ATOMIC_RELAXED);
}

int golapi_lane_later(int context, uint32_t ring)
{
	(void)context, (void)ring;
	__atomic_add_fetch(&fake_lane_counts.later, 1, __ATOMIC_RELAXED);
	return 0;
}

void golapi_lane_put_rest(int context, int32_t tgt, cshim_addr org_cntr)
{
	(void)context, (void)tgt, (void)org_cntr;
	CHECK(!"the rest of a put: no test here makes the lane leave one");
}

void golapi_lane_handled(int context, uint32_t ring, cshim_header_result *result)
{
	node_peer *peer = fake_node_peer(cshim_context_at(context)->task);
	node_arrival arrival;

	(void)ring, (void)result;
	__atomic_add_fetch(&fake_lane_counts.handled, 1, __ATOMIC_RELAXED);
	CHECK(node_next(peer, &arrival) == NODE_SOME);
	peer->receiver.head += arrival.slots;
}
