/*
 * rc.h - connections over links of the node (docs/dat.md): the contract of this room. Everything
 * runs under the block's lock. An operation is done completely, or not at all, and then core does it
 * with the same result.
 */
#ifndef DAT_RC_H
#define DAT_RC_H

#include "dat/common.h"
#include "dat/rc/end.h"

/*
 * receive.c: receives what the links of the node hold, and sends what waits for room.
 * DAT_LANE_MADE if something came; DAT_LANE_CORE if core must have a turn too.
 */
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
/* done.c: completes what peers say they have done, of requests whose events go to an EVD (a
 * handle), 0: to any. 1: something is complete. */
int dat_lane_look(uint64_t evd);
/* done.c: events are news from now on though no thread waits: peers wake this process for them. */
void dat_lane_watch(void);

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

/* post.c. 1: it is posted. 0: core shall. */
int dat_lane_post(DAT_EP_HANDLE ep_handle, const dat_post *post);
int dat_lane_receive(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments,
                     const DAT_LMR_TRIPLET *local_iov, uint64_t cookie, uint32_t completion);

#endif
