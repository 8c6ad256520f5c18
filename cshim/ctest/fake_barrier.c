/*
 * fake_barrier.c - what transport/shm and core/lapi make of the node barrier, for contexts of this
 * process: segments' heads, paths, and core's answers when the barrier cannot go on.
 */
#define _GNU_SOURCE
#include "ctest/fake_barrier.h"

#include <linux/membarrier.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lane/lane_shared.h"
#include "ctest/fake_lane.h"

static node_segment_head heads[FAKE_BARRIER_TASKS] __attribute__((aligned(128)));
static node_link paths[FAKE_BARRIER_TASKS] __attribute__((aligned(64)));
static uint64_t sleeps[FAKE_BARRIER_TASKS];
struct fake_barrier_counts fake_barrier_counts;

static node_link *paths_of(const cshim_context *context)
{
	return (node_link *)(uintptr_t)context->barrier;
}

static void attach(int task, const lapi_handle_t *handles, int n, uint32_t rounds)
{
	cshim_context *context = fake_context(handles[task]);
	node_link *ends = &paths[task];
	int peer;

	memset(ends, 0, sizeof(*ends));
	ends->own_head = CSHIM_ADDR(&heads[task]);
	ends->rings = (uint32_t)n;
	ends->own_ring = (uint32_t)task;
	ends->barrier.rounds = rounds;
	for (peer = 0; peer < n; peer++) {
		ends->peer[peer].out_head = CSHIM_ADDR(&heads[peer]);
		ends->peer[peer].task = peer;
		ends->peer[peer].bell = fake_context(handles[peer])->progress.descriptors[1];
		ends->peer[peer].fenced = FAKE_NODE_FENCED;
	}
	cshim_lock(&context->progress);
	context->task = task;
	context->num_tasks = n;
	context->barrier = CSHIM_ADDR(ends);
	cshim_unlock(&context->progress);
}

void fake_barrier_attach(const lapi_handle_t *handles, int n, uint32_t rounds)
{
	int task;

	CHECK(n <= FAKE_BARRIER_TASKS);
	CHECK(syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED, 0, 0) == 0);
	memset(heads, 0, sizeof(heads));
	memset(&fake_barrier_counts, 0, sizeof(fake_barrier_counts));
	for (task = 0; task < n; task++)
		attach(task, handles, n, rounds);
}

void fake_barrier_detach(lapi_handle_t handle)
{
	cshim_context *context = fake_context(handle);

	cshim_lock(&context->progress);
	context->barrier = 0;
	cshim_unlock(&context->progress);
}

node_barrier_words *fake_barrier_words(int task)
{
	return &heads[task].barrier;
}

/* Stores news in a peer's segment, as Go does, and wakes it. */
static void tell(int me, int n, uint64_t refused)
{
	int peer;

	for (peer = 0; peer < n; peer++) {
		if (peer == me)
			continue;
		if (refused)
			__atomic_store_n(&heads[peer].barrier.refused.value, refused,
			                 __ATOMIC_SEQ_CST);
		cshim_full_fence();
		if (__atomic_load_n(&heads[peer].armed, __ATOMIC_SEQ_CST) & NODE_ASLEEP)
			node_ring_bell(&paths[me].peer[peer]);
	}
}

void fake_barrier_leave(int me, int n)
{
	__atomic_store_n(&heads[me].armed, NODE_CLOSED, __ATOMIC_SEQ_CST);
	tell(me, n, 0);
}

void fake_barrier_refuse(int me, int n, int code)
{
	tell(me, n, (uint64_t)code);
}

int fake_barrier_arm(cshim_context *context)
{
	uint64_t sleep;

	if (!context->barrier)
		return 0;
	sleep = ++sleeps[context->task];
	__atomic_store_n(&heads[context->task].armed, sleep * NODE_SLEEP | NODE_ASLEEP,
	                 __ATOMIC_SEQ_CST);
	CHECK(syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0, 0) == 0);
	__atomic_add_fetch(&fake_barrier_counts.arms, 1, __ATOMIC_RELAXED);
	return 0;
}

void fake_barrier_disarm(cshim_context *context)
{
	if (context->barrier)
		__atomic_store_n(&heads[context->task].armed, NODE_AWAKE, __ATOMIC_SEQ_CST);
}

/* As failCollectives in core/lapi. */
static void fail(int context, int code)
{
	cshim_context *block = cshim_context_at(context);

	CHECK(cshim_lock_owned(&block->progress));
	if (paths_of(block)->barrier.failed)
		return;
	paths_of(block)->barrier.failed = (uint32_t)code;
	tell(block->task, block->num_tasks, (uint64_t)code);
	__atomic_add_fetch(&block->progress.event_seq, 1, __ATOMIC_SEQ_CST);
}

void golapi_barrier_broken(int context, int32_t task)
{
	(void)task;
	__atomic_add_fetch(&fake_barrier_counts.broken, 1, __ATOMIC_RELAXED);
	fail(context, LAPI_ERR_NO_CONNECTIVITY);
}

void golapi_barrier_refused(int context, int32_t code)
{
	__atomic_add_fetch(&fake_barrier_counts.refused, 1, __ATOMIC_RELAXED);
	fail(context, code);
}
