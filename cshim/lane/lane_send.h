/*
 * lane_send.h - the operations of the fast lane (docs/dev/fastlane.md) as the entry points call them:
 * under the lock, with the arguments of the golapi_ functions of the same names. 1: all is done,
 * the result is LAPI_SUCCESS. 0: nothing is, core shall do it. lane_origin.h has those between
 * tasks of a node.
 */
#ifndef CSHIM_LANE_SEND_H
#define CSHIM_LANE_SEND_H

#include "context/contexts.h"
#include "node/segment.h"
#include "packets/packets.h"

/* Small ones over RDMA adapters (lane_packets.c). */
int cshim_packet_put(cshim_context *context, uint32_t tgt, uint64_t len, uint64_t tgt_addr,
                     uint64_t org_addr, uint64_t tgt_cntr, uint64_t org_cntr, uint64_t cmpl_cntr);
int cshim_packet_amsend(cshim_context *context, uint32_t tgt, uint64_t hdr_hdl, uint64_t uhdr,
                        uint32_t uhdr_len, uint64_t udata, uint64_t udata_len, uint64_t tgt_cntr,
                        uint64_t org_cntr, uint64_t cmpl_cntr);
/* A small put to a task that is reached over UDP joins the packet that waits for company
 * (outbox.h). */
int cshim_outbox_put(cshim_context *context, uint32_t tgt, uint64_t len, uint64_t tgt_addr,
                     uint64_t org_addr, uint64_t tgt_cntr, uint64_t org_cntr, uint64_t cmpl_cntr);

/*
 * lane_fence.c: LAPI_Fence. Everything under the lock; a fence lies on the stack of the thread that
 * waits for it. It covers the operations issued before it began: messages to tasks of this node,
 * which are complete when the peer has consumed their slots, packets over adapters, of which the
 * peer says that it has accepted them, and operations that wait for an answer.
 */
typedef struct cshim_fence {
	uint64_t seq;    /* cshim_lane.issued when it began */
	uint32_t redone; /* cshim_lane.redone when it began */
	uint32_t ring;   /* the peers of lower rings have taken all that it covers */
	uint32_t op;     /* the operations in lower places that it covers are over */
	uint32_t pairs, pair; /* peers over adapters; those before pair have taken all */
	uint32_t cores;       /* 1: it is core's, as there was no room to ask one of these */
	uint64_t mark[NODE_MAX_RINGS]; /* the tail of each ring when it began; 0: nothing is covered */
	struct {
		verbs_peer *peer;
		uint64_t mark; /* verbs_peer.laden when it began */
		uint32_t life, zero;
	} packets[VERBS_NEWS];
} cshim_fence;

/* How far a fence is. */
#define CSHIM_FENCE_OVER 1 /* all that it covers is complete */
#define CSHIM_FENCE_WAITS 0
/* core must be asked: its operations are outstanding, or a task is gone, or the lane is closed */
#define CSHIM_FENCE_CORE 2

/* A fence that may have nothing to wait for: how far it is, as nothing was waited for. */
int cshim_lane_fenced(cshim_context *context);
/* Begins a fence over the operations so far: after CSHIM_FENCE_WAITS of cshim_lane_fenced. */
void cshim_fence_begin(cshim_context *context, cshim_fence *fence);
/* How far it is. Quick: a look at one ring, or at one operation, while nothing has changed. */
int cshim_fence_look(cshim_context *context, cshim_fence *fence);
/* cshim_lane_await, below, for a fence: CSHIM_SEEN_OVER also if core must be asked. */
uint32_t cshim_fence_await(cshim_context *context, cshim_fence *fence, int looks);

/*
 * A turn: receives what active rings hold, and runs handlers. CSHIM_PROGRESS_MADE if something
 * came; CSHIM_LANE_CORE if core must have a turn too. Never nested (progress.calling).
 */
#define CSHIM_LANE_CORE 0x80000000u
uint32_t cshim_lane_turn(cshim_context *context);
/*
 * The same for a thread that waits for a counter: looks up to looks times whether an active ring
 * holds something; then receives that until the counter has reached val. CSHIM_SEEN_ flags
 * (../progress/wait.h): a call is due also if it is time for a turn of the dispatcher with all that
 * belongs to it. None: nothing came, or another thread wants the lock. The caller makes sure that
 * the context is not dispatching.
 */
uint32_t cshim_lane_await(cshim_context *context, const int *counter, int val, int looks);
/* Core has had a turn. */
void cshim_lane_turned(cshim_context *context);

#endif
