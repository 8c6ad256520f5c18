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
/* Goes on with posted operations of groups; DAT_LANE_MADE if others may have waited for that. */
uint32_t dat_groups_turn(void);
/* Groups of this room's engine; NULL: there is none. */
typedef struct dat_group dat_group;
extern dat_group *dat_groups;
/* An operation of a group waits: with members that share processors; for an adapter's write. */
extern int dat_groups_crowd, dat_groups_near;

/* All members read each other's memory; share processors; have one format of long double. */
#define DAT_AGREED_READS 1u
#define DAT_AGREED_CROWDED 2u
#define DAT_AGREED_LONG_DOUBLE 4u

/*
 * For core. dat_group_open makes a group as config says, a dat_group_config; NULL: there is no
 * memory. dat_group_settle sets its engine once, when all members have agreed: DAT_ENGINE_, and
 * agreed: DAT_AGREED_. From then on the handle takes operations. dat_group_lose: a member's process
 * is gone. dat_group_close fails the posted operations before it returns, and wakes the other
 * members.
 */
dat_group *dat_group_open(const void *config);
void dat_group_settle(dat_group *group, uint32_t engine, uint32_t agreed);
void dat_group_lose(dat_group *group, uint32_t rank);
void dat_group_close(dat_group *group);
/*
 * For core, of rails (group.h). dat_group_rail opens the rail to a member, whose config is a
 * dat_rail_config; 0: there is no memory. dat_group_begin: the next operation has that number.
 * dat_group_until: some member takes part in no operation from that number on. dat_group_number is
 * the number of the oldest operation, or of the next one, and dat_group_queued how many posted
 * operations have numbers. dat_group_wanted: the oldest operation, if core is to do it, with its
 * lists; NULL: it is not. dat_group_passed: core has done it. dat_group_broken: the group has
 * failed here. dat_group_fail_all fails the posted operations; the operation that core has is
 * core's to fail, and is first.
 */
int dat_group_rail(dat_group *group, uint32_t rank, const void *config);
void dat_group_begin(dat_group *group, uint64_t number);
void dat_group_until(dat_group *group, uint64_t number);
uint64_t dat_group_number(const dat_group *group);
uint32_t dat_group_queued(const dat_group *group);
const void *dat_group_wanted(dat_group *group, void **lists);
void dat_group_passed(dat_group *group);
int dat_group_broken(const dat_group *group);
void dat_group_fail_all(dat_group *group);
/* Posts a dat_group_op that is judged and has no lists; 0: there is no memory. For tests of core.
 */
int dat_group_enqueue(dat_group *group, const void *op);
/* A turn of one group: 1 if something happened. */
int dat_group_go_on(dat_group *group);
/*
 * Messages of core's: dat_rail_message. dat_group_send: 0: no room; -1: the data cannot be read.
 * dat_group_next: 0: none. dat_group_write posts a write of n bytes to where a grant says; 0: no
 * room. dat_group_ask sends an ask and returns its number, 0: no room. dat_group_grant answers an
 * ask; dat_group_granted is the answer to number, a dat_rail_grant; 0: there is none yet.
 */
int dat_group_send(dat_group *group, uint32_t rank, const void *message);
int dat_group_next(dat_group *group, uint32_t rank, void *message);
void dat_group_take_next(dat_group *group, uint32_t rank);
int dat_group_write(dat_group *group, uint32_t rank, uint64_t local, uint32_t lkey, uint64_t remote,
                    uint32_t rkey, uint32_t n);
int dat_group_grant(dat_group *group, uint32_t rank, const void *grant);
int dat_group_granted(const dat_group *group, uint32_t rank, uint64_t number, void *grant);
/* The state of a rail, a dat_rail_state, whose wake is 0 after that. */
void dat_group_rail_state(dat_group *group, uint32_t rank, void *state);
/*
 * The member takes nothing more; its thread was woken, and may sleep again: it must publish that
 * again.
 */
void dat_group_rail_gone(dat_group *group, uint32_t rank);
void dat_group_rail_woken(dat_group *group, uint32_t rank);
/*
 * Notifies peers that a thread of this process sleeps. all: those of all rails, else the one whose
 * message a short operation waits for.
 */
void dat_group_sleeps(dat_group *group, int all);
/* Where core posts: the oldest request, a dat_rail_post, 0: there is none; a completion. */
int dat_group_post(dat_group *group, void *post);
void dat_group_completed(dat_group *group, uint32_t rank, uint64_t id, uint32_t status,
                         uint32_t vendor);
/* Writes to the peer's memory, so that the adapter finds out whether the peer is there. */
void dat_group_probe(dat_group *group, uint32_t rank);
/* A word of the peer's memory that nobody reads, and its key. */
uint64_t dat_group_rail_last(const dat_group *group, uint32_t rank, uint32_t *rkey);
/* Polls the completions of a rail. */
void dat_group_rail_poll(dat_group *group, uint32_t rank);
/* The clock of a group of this room's engine. */
uint64_t dat_group_clock(dat_group *group);

#endif
