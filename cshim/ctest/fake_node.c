#define _GNU_SOURCE
#include "ctest/fake_node.h"

#include <string.h>
#include <unistd.h>

#include "node/membarrier.h"
#include "node/op.h"

typedef struct segment {
	node_segment_head head;
	node_ring_control control[2];
	node_slot slots[2][NODE_RING_SLOTS];
	unsigned char chunks[2][NODE_CHUNK_AREA] __attribute__((aligned(64)));
} segment;

static segment segments[2] __attribute__((aligned(64)));
static node_link links[2] __attribute__((aligned(64)));

static uint64_t address(const void *at)
{
	return (uintptr_t)at;
}

static void attach(int task, int peer_bell, uint32_t fenced)
{
	node_link *link = &links[task];
	int other = 1 - task;
	node_peer *peer = &link->peer[other];
	uint32_t i;

	memset(link, 0, sizeof(*link));
	node_op_init(link);
	link->own_head = address(&segments[task].head);
	link->rings = 2;
	link->own_ring = (uint32_t)task;
	link->num_active = 1;
	link->active[0] = (uint8_t)other;
	link->fencing = !fenced;
	for (i = 0; i < NODE_CHUNK_CLASSES; i++)
		link->chunk_of[i] = 8192;
	link->routes.forced = NODE_ROUTES;
	link->chunk_units = link->chunk_narrow = link->chunk_limit =
		NODE_CHUNK_AREA_LEAST / NODE_CHUNK_UNIT;
	link->peer[task].closed = NODE_CLOSED_LINK;
	peer->out_head = address(&segments[other].head);
	peer->out_control = address(&segments[other].control[task]);
	peer->out_slots = address(segments[other].slots[task]);
	peer->out_chunks = address(segments[other].chunks[task]);
	peer->in_control = address(&segments[task].control[other]);
	peer->in_slots = address(segments[task].slots[other]);
	peer->in_chunks = address(segments[task].chunks[other]);
	peer->chunk_area = NODE_CHUNK_AREA;
	peer->task = other;
	peer->bell = peer_bell;
	peer->active = 1;
	peer->fenced = fenced;
}

void fake_node_make(const int bells[2])
{
	uint32_t fenced = !node_membarrier_register() || FAKE_NODE_FENCED;
	int task;

	memset(segments, 0, sizeof(segments));
	for (task = 0; task < 2; task++)
		attach(task, bells[1 - task], fenced);
}

void fake_node_make_direct(unsigned char *source, unsigned char *sink, size_t n)
{
	static const int no_bells[2] = {-1, -1};
	size_t i;
	int task;

	fake_node_make(no_bells);
	for (task = 0; task < 2; task++) {
		fake_node_peer(task)->pid = getpid();
		fake_node_peer(task)->direct = 1;
	}
	for (i = 0; i < n; i++)
		source[i] = (unsigned char)(i * 7 + i / 251);
	memset(sink, 0, n);
}

node_link *fake_node_link(int task)
{
	return &links[task];
}

node_peer *fake_node_peer(int task)
{
	return &links[task].peer[1 - task];
}
