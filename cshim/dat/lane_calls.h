/*
 * lane_calls.h - the fast lane (docs/dat.md) as the entry points call it: under the block's lock.
 * It does an operation completely, or nothing, and then core does it with the same result.
 */
#ifndef DAT_LANE_CALLS_H
#define DAT_LANE_CALLS_H

#include "dat/dat_internal.h"
#include "dat/godat.h"

extern dat_lane dat_the_lane;

/* A call that the lane does, if done says so, else core. */
#define DAT_CALL_OR_LANE(done, number, ...)                                                        \
	(dat_enter() ? dat_leave((done) ? DAT_SUCCESS                                              \
	                                : godat_call(DAT_CALL_##number,                            \
	                                             (uint64_t *)(const uint64_t[]){__VA_ARGS__})) \
	             : (DAT_RETURN)(DAT_CLASS_ERROR | DAT_INVALID_STATE))

/* LAPI_FASTLANE=random: 1 if core shall do it. */
static inline int dat_coin(void)
{
	if (__builtin_expect(dat_the_lane.random == 0, 1))
		return 0;
	dat_the_lane.random = dat_the_lane.random * 1664525u + 1013904223u;
	return (int)(dat_the_lane.random >> 31);
}

/*
 * The slot of a handle of that kind, if the lane may do something with it now; else NULL: it is
 * core's to say what the handle is. No memory is touched but that of handles.
 */
static inline dat_slot *dat_slot_of(const void *handle, DAT_HANDLE_TYPE kind)
{
	uint64_t at = (uintptr_t)handle, area = at >> DAT_AREA_SHIFT << DAT_AREA_SHIFT;
	dat_slot *slot = (dat_slot *)(uintptr_t)at;

	if (!dat_the_lane.on || !area || at % sizeof(dat_slot) ||
	    dat_the_lane.areas[at >> DAT_AREA_SHIFT & (DAT_LANE_AREAS - 1)] != area ||
	    slot->kind != 1 + (uint32_t)kind || !slot->lane || dat_coin())
		return NULL;
	return slot;
}

static inline dat_queue *dat_queue_of(const dat_slot *slot)
{
	return (dat_queue *)(uintptr_t)slot->lane;
}

/* lane_event.c: takes the oldest event of at least one. */
void dat_queue_pop(dat_slot *slot, dat_queue *queue, DAT_EVENT *event);
/*
 * The next event of an EVD whose queue is empty is to be written where the program wants it, and
 * not to the queue first: as it is made of short stores, a copy right after them would wait for
 * them. Until dat_queue_wanted: 1 if it was, and so has been taken. Nothing of core's in between,
 * which may let another thread have the lock. evd 0: nothing.
 */
void dat_queue_want(uint64_t evd, DAT_EVENT *event);
int dat_queue_wanted(void);
/* Where an event is to be written that dat_queue_post then adds; NULL: core must do it. */
DAT_EVENT *dat_queue_place(uint64_t evd);
/* counter: DCNT_EVD_DTO_CALLBACK or another. silent: it ends no wait. */
void dat_queue_post(uint64_t evd, int counter, int silent);

/*
 * lane_receive.c: receives what the links of the node hold, and sends what waits for room.
 * DAT_LANE_MADE if something came; DAT_LANE_CORE if core must have a turn too.
 */
#define DAT_LANE_MADE 1u
#define DAT_LANE_CORE 2u
#define DAT_LANE_RINGS 4u /* as a ring holds something that is core's */
uint32_t dat_lane_turn(void);
/* The thread that slept is awake. Core hears of it when it is called next. */
void dat_lane_disarm(void);
/* Says what core is to leave alone in the turn that comes next, after one that returned flags. */
void dat_lane_leave(uint32_t flags);
/* A turn of core's after one of the lane's that returned flags. */
uint32_t dat_lane_core(uint32_t flags);
/*
 * The same for a thread that polls an EVD, a handle: core has had its turn if it is to have one. 1:
 * an event was taken and is in *event, otherwise the queue may have some. evd 0: for none.
 */
int dat_lane_poll(uint64_t evd, DAT_EVENT *event);
/* lane_done.c: completes what peers say they have done, of requests whose events go to an EVD (a
 * handle), 0: to any. 1: something is complete. */
int dat_lane_look(uint64_t evd);

/*
 * group_rounds.c: goes on with what is posted to groups of one node; flags as above. Or to one
 * group: 1 if others may have waited for what was done.
 */
uint32_t dat_groups_turn(void);
/* An operation of a group waits whose members share processors. */
extern int dat_groups_crowd;
int dat_group_turn(dat_group *group);

/* What an entry point posts. */
typedef struct dat_post {
	int op;    /* DAT_LANE_SEND … */
	int immed; /* with data, a write takes a receive */
	DAT_COUNT num_segments;
	const DAT_LMR_TRIPLET *local_iov;
	uint64_t cookie;
	const DAT_RMR_TRIPLET *remote_iov; /* of a write or read */
	uint32_t data;
	uint64_t operand, compare; /* of an atomic operation */
	uint32_t completion;       /* DAT_COMPLETION_FLAGS */
} dat_post;

/* Operations, as rc's messages have them. */
#define DAT_LANE_SEND 0
#define DAT_LANE_WRITE 1
#define DAT_LANE_READ 2
#define DAT_LANE_SWAP 3
#define DAT_LANE_ADD 4

/* lane_post.c. 1: it is posted. 0: core shall. */
int dat_lane_post(DAT_EP_HANDLE ep_handle, const dat_post *post);
int dat_lane_receive(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments,
                     const DAT_LMR_TRIPLET *local_iov, uint64_t cookie, uint32_t completion);

#endif
