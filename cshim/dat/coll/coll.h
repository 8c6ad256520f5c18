/*
 * coll.h - groups and their collective operations: the contract of this room. The arguments of all
 * calls are judged here. A group has one of two engines, from its making to its end: of a group
 * whose members are all processes of one node this room does the operations, of any other core
 * (core/dat/coll), over links. Everything runs under the block's lock.
 */
#ifndef DAT_COLL_H
#define DAT_COLL_H

#include "dat/common.h"

/* Sizes are of whole buffers, and v-calls have a buffer for each rank; or of one rank's part, and
 * they have displacements. */
enum { DAT_COLL_WHOLE, DAT_COLL_OF_RANK };

/* The arguments of an operation. */
enum {
	DAT_COLL_GROUP,
	DAT_COLL_KIND,
	DAT_COLL_SET,
	DAT_COLL_SEND,
	DAT_COLL_SEND_SIZE,
	DAT_COLL_SEND_SIZES,
	DAT_COLL_SEND_PLACES,
	DAT_COLL_RECV,
	DAT_COLL_RECV_SIZE,
	DAT_COLL_RECV_SIZES,
	DAT_COLL_RECV_PLACES,
	DAT_COLL_ROOT,
	DAT_COLL_OPERATION,
	DAT_COLL_TYPE,
	DAT_COLL_CLOCK,
	DAT_COLL_CONTEXT,
	DAT_COLL_FLAGS,
	DAT_COLL_ARGUMENTS
};

/* Posts an operation; its result is that of the call. */
DAT_RETURN dat_groups_post(const uint64_t *arguments);
/* Goes on with what is posted to groups; DAT_LANE_MADE if others may have waited for that. */
uint32_t dat_groups_turn(void);
/* Groups of this room's engine; NULL: there is none. */
typedef struct dat_group dat_group;
extern dat_group *dat_groups;
/* An operation of one of them waits whose members share processors. */
extern int dat_groups_crowd;

/*
 * For core. Makes a group, as config says, which is a dat_group_config; NULL: there is no memory.
 * The engine is settled once, when all members have agreed: DAT_ENGINE_; reads: all members read
 * each other's memory. From then on the handle takes operations. dat_group_lose: a member's process
 * is gone. dat_group_close fails the posted operations before it returns, and wakes the others.
 */
dat_group *dat_group_open(const void *config);
void dat_group_settle(dat_group *group, uint32_t engine, int reads);
void dat_group_lose(dat_group *group, uint32_t rank);
void dat_group_close(dat_group *group);
/* The clock of a group of this room's engine. */
uint64_t dat_group_clock(dat_group *group);

#endif
