/*
 * lane_send.h - the operations of the fast lane (docs/fastlane.md) as the entry points call them:
 * under the lock, with the arguments of the golapi_ functions of the same names. 1: all is done,
 * the result is LAPI_SUCCESS. 0: nothing is, core shall do it. lane_origin.h has those between
 * tasks of a node.
 */
#ifndef CSHIM_LANE_SEND_H
#define CSHIM_LANE_SEND_H

#include "internal.h"

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
/* 1: everything sent was consumed, and core has nothing outstanding either: the fence is over. */
int cshim_lane_fenced(cshim_context *context);

/*
 * A turn: receives what active rings hold, and runs handlers. CSHIM_PROGRESS_MADE if something
 * came; CSHIM_LANE_CORE if core must have a turn too. Never nested (progress.calling).
 */
#define CSHIM_LANE_CORE 0x80000000u
uint32_t cshim_lane_turn(cshim_context *context);
/*
 * The same for a thread that waits for a counter: looks so many times, at most, whether an active
 * ring holds something; then receives that until the counter has reached val. CSHIM_SEEN_ flags
 * (../progress/wait.h): a call is due also if it is time for a turn of the dispatcher with all that
 * belongs to it. None: nothing came, or another thread wants the lock. The caller makes sure that
 * the context is not dispatching.
 */
uint32_t cshim_lane_await(cshim_context *context, const int *counter, int val, int looks);
/* Core has had a turn. */
void cshim_lane_turned(cshim_context *context);

#endif
