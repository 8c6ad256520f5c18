/* fake_lane.h - two contexts of one process, joined by the fast lane. */
#ifndef CTEST_FAKE_LANE_H
#define CTEST_FAKE_LANE_H

#include "lane/lane.h"
#include "ctest/fake.h"

#include "ctest/fake_node.h"

/* Atomic. */
extern struct fake_lane_counts {
	uint32_t arms, bad_counters, faults, handled, later, fences;
} fake_lane_counts;

/* Makes two contexts in polling mode and attaches them; the counts begin at 0. */
void fake_lane_open(lapi_handle_t handles[2]);
void fake_lane_close(lapi_handle_t handles[2]);
/* The contexts become tasks 0 and 1 of a job. Nothing else may use them meanwhile. */
void fake_lane_attach(lapi_handle_t handles[2]);
void fake_lane_detach(lapi_handle_t handle);
/* This task's end of the rings between the two. */
node_peer *fake_lane_peer(lapi_handle_t handle);

/* The barrier between a sender's store and its look whether the receiver sleeps: its own fence, the
 * receiver's membarrier, or nothing any more. */
typedef enum fake_lane_order {
	FAKE_LANE_SENDERS,
	FAKE_LANE_MEMBARRIER,
	FAKE_LANE_NOBODY
} fake_lane_order;
fake_lane_order fake_lane_ordered_by(void);

/* For fake.c. */
int fake_lane_arm(cshim_context *context, int64_t *timeout_ns);
void fake_lane_disarm(cshim_context *context);
/* Sends completion messages that found no room; 1 if something went. */
int fake_lane_turn(int context);

#endif
