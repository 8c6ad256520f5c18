/* fake_group.c - see fake_group.h. */
#define _GNU_SOURCE
#include "ctest/dat/fake_group.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { AREA = 1 << DAT_AREA_SHIFT };

struct fake_world fake_world;

static unsigned char *area;

static node_route_class paths[FAKE_MOST][DAT_GROUP_KINDS][DAT_GROUP_CLASSES];
static node_segment_head head = {.armed = NODE_AWAKE};

/* The link to each other member leads to this process itself. */
static void open_paths(fake_member *m)
{
	uint32_t i;

	memset(paths[m->group.config.rank], 0, sizeof(paths[0]));
	m->link.routes.forced = NODE_ROUTES;
	m->group.path.classes = paths[m->group.config.rank];
	for (i = 0; i < fake_world.size; i++) {
		m->peer[i].pid = getpid();
		m->peer[i].direct = 1;
		m->peer[i].out_head = (uintptr_t)&head;
		m->group.config.peers[i] = (uintptr_t)&m->peer[i];
		m->group.config.links[i] = (uintptr_t)&m->link;
	}
}

static void open_member(uint32_t rank, uint64_t base, int crowded)
{
	fake_member *m = &fake_world.member[rank];

	memset(m, 0, sizeof(*m));
	m->group_slot = (dat_slot *)(void *)area + 2 * rank + 1;
	m->evd_slot = m->group_slot + 1;
	m->queue = (dat_queue){.ring = {.at = (uintptr_t)m->events, .room = 64}, .size = 64};
	*m->evd_slot = (dat_slot){.kind = 1 + DAT_HANDLE_TYPE_EVD, .lane = (uintptr_t)&m->queue};
	m->group = (dat_group){.config.handle = (uintptr_t)m->group_slot,
	                       .config.evd = (uintptr_t)m->evd_slot,
	                       .config.slots = (uintptr_t)fake_world.slots,
	                       .config.staging = (uintptr_t)fake_world.staging,
	                       .config.size = fake_world.size,
	                       .config.rank = rank,
	                       .config.chunks = FAKE_CHUNKS,
	                       .config.chunk = FAKE_CHUNK,
	                       .config.crowded = (uint32_t)crowded,
	                       .engine = DAT_ENGINE_NODE,
	                       .queue.ops = m->queued.ops,
	                       .queue.room = FAKE_ROOM,
	                       .reduce.scratch = m->scratch,
	                       .round.base = base,
	                       .round.free = base};
	*m->group_slot = (dat_slot){.kind = 1 + (uint32_t)DAT_IB_HANDLE_TYPE_COLLECTIVE,
	                            .lane = (uintptr_t)&m->group};
	if (fake_world.copies)
		open_paths(m);
	fake_world.slots[rank].done = base;
}

void fake_group_open(uint32_t size, uint64_t base, int crowded)
{
	uint32_t i;

	node_guard_install();
	memset(&dat_the_lane, 0, sizeof(dat_the_lane));
	fake_world.size = size;
	/* of their very size, so that the address sanitizer sees accesses beyond */
	fake_world.slots = aligned_alloc(128, size * sizeof(dat_rank_slot));
	fake_world.staging = aligned_alloc(128, (size_t)size * FAKE_CHUNKS * FAKE_CHUNK);
	if (!area) /* an area of handles is one for good */
		area = aligned_alloc(AREA, AREA);
	CHECK(fake_world.slots && fake_world.staging && area);
	memset(fake_world.slots, 0, size * sizeof(dat_rank_slot));
	memset(fake_world.staging, 0, (size_t)size * FAKE_CHUNKS * FAKE_CHUNK);
	memset(area, 0, AREA);
	for (i = 0; i < size; i++)
		open_member(i, base, crowded);
	dat_the_lane.on = 1;
	handle_add_area((uintptr_t)area);
}

void fake_group_close(void)
{
	free(fake_world.slots);
	free(fake_world.staging);
	memset(&dat_the_lane, 0, sizeof(dat_the_lane));
}

int fake_turn(uint32_t rank)
{
	return dat_group_turn(&fake_world.member[rank].group);
}

void fake_turns(void)
{
	uint32_t i, idle = 0;

	for (i = 0; idle <= fake_world.size; i = (i + 1) % fake_world.size)
		idle = fake_turn(i) ? 0 : idle + 1;
}

static void *member(void *argument)
{
	uint32_t rank = (uint32_t)(uintptr_t)argument, turns = 0;

	while (fake_world.member[rank].group.queue.posted && !fake_world.member[rank].group.failed)
		if (!fake_turn(rank) || ++turns % (rank + 1) == 0)
			sched_yield();
	return NULL;
}

void fake_threads(void)
{
	pthread_t thread[FAKE_MOST];
	uint32_t i;

	for (i = 0; i < fake_world.size; i++)
		CHECK(!pthread_create(&thread[i], NULL, member, (void *)(uintptr_t)i));
	for (i = 0; i < fake_world.size; i++)
		CHECK(!pthread_join(thread[i], NULL));
}

uint32_t fake_events(uint32_t rank)
{
	return fake_world.member[rank].evd_slot->length;
}

uint32_t fake_status(uint32_t rank, uint32_t kind)
{
	fake_member *m = &fake_world.member[rank];
	DAT_IB_EXTENSION_EVENT_DATA data;
	DAT_EVENT event;

	CHECK(m->evd_slot->length > 0);
	evd_take((uintptr_t)m->evd_slot, (evd_event *)(void *)&event);
	memcpy(&data, event.event_extension_data, sizeof(data));
	CHECK((uint32_t)data.type == kind && data.coll.handle == (void *)m->group_slot);
	return (uint32_t)data.status;
}

static void call(uint32_t rank, uint64_t *arguments)
{
	arguments[DAT_COLL_GROUP] = fake_world.member[rank].group.config.handle;
	arguments[DAT_COLL_SET] = DAT_COLL_OF_RANK;
	arguments[DAT_COLL_FLAGS] = (uint64_t)fake_world.flags;
	CHECK(dat_collective_post(arguments) == DAT_SUCCESS);
}

void fake_barrier(uint32_t rank)
{
	uint64_t a[DAT_COLL_ARGUMENTS] = {[DAT_COLL_KIND] = DAT_IB_COLLECTIVE_BARRIER_STATUS};

	call(rank, a);
}

void fake_broadcast(uint32_t rank, uint32_t root, void *buffer, uint32_t n)
{
	uint64_t a[DAT_COLL_ARGUMENTS] = {[DAT_COLL_KIND] = DAT_IB_COLLECTIVE_BROADCAST_STATUS,
	                                  [DAT_COLL_SEND] = (uintptr_t)buffer,
	                                  [DAT_COLL_SEND_SIZE] = n,
	                                  [DAT_COLL_ROOT] = root};

	call(rank, a);
}

static void move(uint32_t rank, int kind, uint32_t root, void *send, void *recv, uint32_t n)
{
	uint64_t a[DAT_COLL_ARGUMENTS] = {[DAT_COLL_KIND] = (uint64_t)kind,
	                                  [DAT_COLL_SEND] = (uintptr_t)send,
	                                  [DAT_COLL_SEND_SIZE] = n,
	                                  [DAT_COLL_RECV] = (uintptr_t)recv,
	                                  [DAT_COLL_RECV_SIZE] = n,
	                                  [DAT_COLL_ROOT] = root,
	                                  [DAT_COLL_OPERATION] = DAT_IB_COLLECTIVE_REDUCE_OP_SUM,
	                                  [DAT_COLL_TYPE] = DAT_IB_COLLECTIVE_TYPE_DOUBLE};

	call(rank, a);
}

void fake_sum(uint32_t rank, int kind, uint32_t root, void *send, void *recv, uint32_t n)
{
	move(rank, kind, root, send, recv, n);
}

void fake_alltoall(uint32_t rank, void *send, void *recv, uint32_t part)
{
	move(rank, DAT_IB_COLLECTIVE_ALLTOALL_STATUS, 0, send, recv, part);
}

void fake_gather(uint32_t rank, uint32_t root, void *send, void *recv, uint32_t part)
{
	move(rank, DAT_IB_COLLECTIVE_GATHER_STATUS, root, send, recv, part);
}

void fake_scatter(uint32_t rank, uint32_t root, void *send, void *recv, uint32_t part)
{
	move(rank, DAT_IB_COLLECTIVE_SCATTER_STATUS, root, send, recv, part);
}

void fake_allgather(uint32_t rank, void *send, void *recv, uint32_t part)
{
	move(rank, DAT_IB_COLLECTIVE_ALLGATHER_STATUS, 0, send, recv, part);
}
