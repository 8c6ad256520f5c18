/*
 * fake_group.h - the members of a group of one node in one process and thread, each with its own
 * state, and the memory that all map. The test decides which member gets a turn, and when. Nobody
 * sleeps, and core only counts. Memory of others is read as if they were other processes.
 */
#ifndef FAKE_GROUP_H
#define FAKE_GROUP_H

#include "ctest/fake.h"

#include "dat/api/block.h"
#include "dat/coll/private.h"

enum { FAKE_MOST = 8, FAKE_ROOM = 16, FAKE_CHUNK = 256, FAKE_CHUNKS = 8 };

typedef struct fake_member {
	dat_slot *group_slot, *evd_slot;
	dat_group group;
	node_link link;
	node_peer peer[FAKE_MOST]; /* all of this process */
	struct {
		dat_group_op ops[FAKE_ROOM];
		dat_span lists[FAKE_ROOM * 2 * FAKE_MOST];
	} queued;
	dat_queue queue;
	DAT_EVENT events[64];
	unsigned char scratch[DAT_GROUP_SCRATCH];
} fake_member;

extern struct fake_world {
	uint32_t size;
	fake_member member[FAKE_MOST];
	dat_rank_slot *slots;
	unsigned char *staging;
	int flags;  /* of all calls */
	int copies; /* 1: groups that are opened can read each other's memory */
} fake_world;

/* Makes a group of size members, at round base, with a chunk of FAKE_CHUNK; ends it. */
void fake_group_open(uint32_t size, uint64_t base, int crowded);
void fake_group_close(void);

/* A turn of a member's; as dat_group_turn. */
int fake_turn(uint32_t rank);
/* Turns of all until nothing happens. */
void fake_turns(void);
/* Turns of each member in a thread of its own, of some more slowly, until all is over. */
void fake_threads(void);
/* How many events a member has; the oldest is taken: its status. */
uint32_t fake_events(uint32_t rank);
uint32_t fake_status(uint32_t rank, uint32_t kind);

/* Calls of a member's, each to be legal. */
void fake_barrier(uint32_t rank);
void fake_broadcast(uint32_t rank, uint32_t root, void *buffer, uint32_t n);
void fake_sum(uint32_t rank, int kind, uint32_t root, void *send, void *recv, uint32_t n);
void fake_alltoall(uint32_t rank, void *send, void *recv, uint32_t part);
void fake_gather(uint32_t rank, uint32_t root, void *send, void *recv, uint32_t part);
void fake_scatter(uint32_t rank, uint32_t root, void *send, void *recv, uint32_t part);
void fake_allgather(uint32_t rank, void *send, void *recv, uint32_t part);

#endif
