/*
 * fake_paths.h - groups of one node whose members can read each other's memory, and long operations
 * of theirs with what each member has and is to get.
 */
#ifndef FAKE_PATHS_H
#define FAKE_PATHS_H

#include "ctest/dat/fake_group.h"

enum {
	FAKE_BROADCAST = DAT_IB_COLLECTIVE_BROADCAST_STATUS,
	FAKE_ALLREDUCE = DAT_IB_COLLECTIVE_ALLREDUCE_STATUS,
	FAKE_ALLTOALL = DAT_IB_COLLECTIVE_ALLTOALL_STATUS,
	FAKE_GATHER = DAT_IB_COLLECTIVE_GATHER_STATUS,
	FAKE_SCATTER = DAT_IB_COLLECTIVE_SCATTER_STATUS,
	FAKE_ALLGATHER = DAT_IB_COLLECTIVE_ALLGATHER_STATUS,
	FAKE_PART = DAT_GROUP_COPY_MIN + 40, /* bytes */
	FAKE_COUNT = FAKE_PART / 8,
	FAKE_MEMBERS = 4,
	FAKE_KINDS = 6
};

extern const int fake_kinds[FAKE_KINDS];
extern double fake_in[FAKE_MEMBERS][FAKE_COUNT * FAKE_MEMBERS];
extern double fake_out[FAKE_MEMBERS][FAKE_COUNT * FAKE_MEMBERS];

/* Makes a group of size members; route: as LAPI_ROUTE says, NODE_ROUTES: none. */
void fake_open_copying(uint32_t size, uint32_t route);
void fake_set_route(uint32_t route);
/* A member cannot read the memory of any other any more. */
void fake_refuse(uint32_t rank);
/* New elements; nothing is there of what members get. */
void fake_fill(void);
/* A member's call of an operation, and the check of its result. */
void fake_post(uint32_t rank, int kind, uint32_t root);
void fake_check(uint32_t rank, int kind, uint32_t root);

#endif
