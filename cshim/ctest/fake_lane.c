/*
 * fake_lane.c - what transport/shm and core/lapi make of the fast lane, for two contexts of this process: segments, paths, lanes. With them the
 * lane's both ends run in one process, under sanitizers.
 *
 * What the lane leaves to core the fake does not do: a send that passes gives LAPI_ERR_TGT, and the test tries again.
 */
#define _GNU_SOURCE
#include "fake_lane.h"

#include <linux/membarrier.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lane_path.h"

enum { LOOK_AGAIN_NS = 10000000 };

static long membarrier(int command)
{
	return syscall(SYS_membarrier, command, 0, 0);
}

typedef struct segment {
	cshim_segment_head head;
	cshim_ring_control control[2];
	cshim_slot slots[2][CSHIM_RING_SLOTS];
	unsigned char chunks[2][CSHIM_CHUNK_AREA] __attribute__((aligned(64)));
} segment;

static int fenced;    /* senders fence: this process could not register, or runs under the thread sanitizer, which knows no membarrier */
static int unordered; /* atomic: they do not, and now membarrier is refused; as orderPeers in transport/shm/fence.go */
static segment segments[2] __attribute__((aligned(64)));
static cshim_paths paths[2] __attribute__((aligned(64)));
static cshim_lane lanes[2] __attribute__((aligned(64)));
static int16_t ring_of[2][2] = {{-1, 1}, {0, -1}};
static uint64_t scratch[2][CSHIM_LANE_UHDR / 8];
struct fake_lane_counts fake_lane_counts;

static void attach(int task, cshim_context *context, int peer_bell)
{
	cshim_lane *lane = &lanes[task];
	cshim_paths *ends = &paths[task];
	int peer = 1 - task;
	cshim_path *path = &ends->path[peer];
	uint32_t i;

	memset(lane, 0, sizeof(*lane));
	memset(ends, 0, sizeof(*ends));
	ends->own_head = CSHIM_ADDR(&segments[task].head);
	ends->rings = 2;
	ends->own_ring = (uint32_t)task;
	ends->num_active = 1;
	ends->active[0] = (uint8_t)peer;
	ends->path[task].closed = CSHIM_CLOSED_LINK;
	path->out_head = CSHIM_ADDR(&segments[peer].head);
	path->out_control = CSHIM_ADDR(&segments[peer].control[task]);
	path->out_slots = CSHIM_ADDR(segments[peer].slots[task]);
	path->out_chunks = CSHIM_ADDR(segments[peer].chunks[task]);
	path->in_chunks = CSHIM_ADDR(segments[task].chunks[peer]);
	path->in_control = CSHIM_ADDR(&segments[task].control[peer]);
	path->in_slots = CSHIM_ADDR(segments[task].slots[peer]);
	for (i = 0; i < CSHIM_CHUNK_CLASSES; i++)
		ends->chunk_of[i] = 8192;
	ends->chunk_units = CSHIM_CHUNK_AREA_LEAST / CSHIM_CHUNK_UNIT;
	path->chunk_area = CSHIM_CHUNK_AREA;
	path->task = peer;
	path->bell = peer_bell;
	path->active = 1;
	path->fenced = (uint32_t)fenced;
	lane->paths = CSHIM_ADDR(ends);
	lane->ring_of = CSHIM_ADDR(ring_of[task]);
	lane->scratch = CSHIM_ADDR(scratch[task]);
	lane->turns_max = 4096;
	lane->bulk_min = UINT64_MAX;
	for (i = 0; i < CSHIM_LANE_OPS; i++) {
		lane->op[i].token = i;
		lane->op[i].next_free = i + 1;
	}
	cshim_lock(&context->progress);
	context->task = task;
	context->num_tasks = 2;
	context->lane = CSHIM_ADDR(lane);
	cshim_unlock(&context->progress);
}

void fake_lane_attach(lapi_handle_t handles[2])
{
	cshim_context *contexts[2] = {fake_context(handles[0]), fake_context(handles[1])};
	int task;

	fenced = membarrier(MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED) != 0 || FAKE_LANE_FENCED;
	__atomic_store_n(&unordered, 0, __ATOMIC_RELAXED);
	memset(segments, 0, sizeof(segments));
	for (task = 0; task < 2; task++)
		attach(task, contexts[task], contexts[1 - task]->progress.descriptors[1]);
}

void fake_lane_detach(lapi_handle_t handle)
{
	cshim_context *context = fake_context(handle);

	cshim_lock(&context->progress);
	context->lane = 0;
	cshim_unlock(&context->progress);
}

cshim_path *fake_lane_path(lapi_handle_t handle)
{
	int task = fake_context(handle)->task;

	return &paths[task].path[1 - task];
}

fake_lane_order fake_lane_ordered_by(void)
{
	if (fenced)
		return FAKE_LANE_SENDERS;
	return __atomic_load_n(&unordered, __ATOMIC_RELAXED) ? FAKE_LANE_NOBODY : FAKE_LANE_MEMBARRIER;
}

/* Sleeps of each task. */
static uint64_t sleeps[2];

/* As Arm in transport/shm/sleep.go. 1: there is something. */
int fake_lane_arm(cshim_context *context, int64_t *timeout_ns)
{
	cshim_path *path;
	uint64_t word;
	int task;

	if (!context->lane)
		return 0;
	task = context->task;
	path = &paths[task].path[1 - task];
	__atomic_store_n(&segments[task].head.armed, ++sleeps[task] * CSHIM_SLEEP | CSHIM_ASLEEP, __ATOMIC_SEQ_CST);
	if (!fenced && membarrier(MEMBARRIER_CMD_GLOBAL_EXPEDITED) != 0) {
		__atomic_store_n(&unordered, 1, __ATOMIC_RELAXED);
		*timeout_ns = LOOK_AGAIN_NS;
	}
	__atomic_add_fetch(&fake_lane_counts.arms, 1, __ATOMIC_RELAXED);
	word = __atomic_load_n(&((cshim_slot *)(uintptr_t)path->in_slots)[path->receiver.head % CSHIM_RING_SLOTS].head, __ATOMIC_SEQ_CST);
	return (uint32_t)word == ((uint32_t)path->receiver.head | CSHIM_SEQUENCE_VALID);
}

void fake_lane_disarm(cshim_context *context)
{
	if (context->lane)
		__atomic_store_n(&segments[context->task].head.armed, CSHIM_AWAKE, __ATOMIC_SEQ_CST);
}

/* What the lane leaves to core in the middle of something: the tests give no reason for it but where they count. */

void golapi_lane_count(int context, cshim_addr cntr, int32_t kind, int32_t src, int32_t peer)
{
	(void)context, (void)cntr, (void)kind, (void)src, (void)peer;
	__atomic_add_fetch(&fake_lane_counts.bad_counters, 1, __ATOMIC_RELAXED);
}

/* Completion messages that found no room wait for it, as in core; go_work makes the lane call for turns. */
static struct waiting {
	cshim_addr counters[4096];
	unsigned first, end;
} waiting[2];

void golapi_lane_tell(int context, int32_t origin, cshim_addr cmpl_cntr, uint64_t more)
{
	struct waiting *w = &waiting[1 - origin];

	(void)context;
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
		cshim_addr counter = w->counters[w->first++ % 4096];

		lanes[block->task].told = counter;
		lanes[block->task].told_more = 0;
		cshim_lane_tell_now(block, &lanes[block->task], &paths[block->task].path[1 - block->task]);
	}
	lanes[block->task].go_work = w->first != w->end;
	return w->first != before && !lanes[block->task].go_work;
}

void golapi_lane_fault(int context, cshim_addr addr, int32_t kind)
{
	(void)context, (void)addr, (void)kind;
	__atomic_add_fetch(&fake_lane_counts.faults, 1, __ATOMIC_RELAXED);
}

void golapi_lane_handled(int context, uint32_t ring, cshim_header_result *result)
{
	cshim_context *block = cshim_context_at(context);
	cshim_path *path = &paths[block->task].path[ring];
	uint64_t word = ((cshim_slot *)(uintptr_t)path->in_slots)[path->receiver.head % CSHIM_RING_SLOTS].head;

	(void)result;
	__atomic_add_fetch(&fake_lane_counts.handled, 1, __ATOMIC_RELAXED);
	path->receiver.head += (8 + (word >> 40 & 0xff) * CSHIM_HEADER_UNIT + (word >> 48) + CSHIM_SLOT_SIZE - 1) / CSHIM_SLOT_SIZE;
}
