/*
 * rc.h - the node engine: connections between two processes of a node, or within one, from their
 * opening to their end (docs/dev/dat.md); posts of all engines, which are judged here; shared receive
 * queues. The contract of this room. Everything runs under the block's lock.
 */
#ifndef DAT_RC_H
#define DAT_RC_H

#include "dat/common.h"
#include "dat/coll/coll.h"
#include "dat/post.h"
#include "dat/rc/end.h"

/*
 * receive.c: receives the messages of the links of the node, sends those that wait for room, and
 * goes on with groups.
 * DAT_LANE_MADE if something came; DAT_LANE_CORE if core must have a turn too.
 */
uint32_t rc_turn(void);
/* The thread that slept is awake. Core learns of it when it is called next. */
void rc_disarm(void);
/*
 * The same but for groups, for a thread that polls an EVD, a handle: core has had its turn if it is
 * to have one. 1: an event was taken and is in *event, otherwise the queue may have some. evd 0: for
 * none.
 */
int rc_poll(uint64_t evd, DAT_EVENT *event);
/* 1: RDMA adapters alone can have something for a poll, and rc_poll_adapters does all that rc_poll does:
 * no process of the node is connected, and there are no groups. */
static inline int rc_adapters_alone(void)
{
	return dat_the_lane.on && !(dat_the_lane.num_links | dat_the_lane.unsent | dat_the_lane.ended) &&
	       !dat_groups;
}
/* RC_CORE_CALLED, beside what rc_poll returns: core has had its turn. */
#define RC_CORE_CALLED 2
int rc_poll_adapters(uint64_t evd, DAT_EVENT *event);
/* done.c: completes what peers say they have done, of requests whose events go to an EVD (a
 * handle), 0: to any. 1: something is complete. */
int rc_look(uint64_t evd);
/* done.c: events are news from now on though no thread waits: peers wake this process for them. */
void rc_watch(void);

/* Which parameters of the call, from 1, are the count, the local and remote triplets, the flags. */
enum {
	RC_PARAMS_SEND,
	RC_PARAMS_RDMA,
	RC_PARAMS_IMMED,
	RC_PARAMS_RMR,
	RC_PARAMS_ADD,
	RC_PARAMS_SWAP
};

/* A post counts as a poll. With RDMA adapters it looks for completions if it is such a one. */
#define DAT_POSTS_PER_LOOK 16u

/* judge.c: posts, by the engine that has the endpoint's connection. */
DAT_RETURN rc_post(DAT_EP_HANDLE ep_handle, const dat_post *post);
DAT_RETURN rc_post_receive(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments,
                           const DAT_LMR_TRIPLET *local_iov, uint64_t cookie, uint32_t completion);
DAT_RETURN rc_post_shared(DAT_SRQ_HANDLE srq_handle, DAT_COUNT num_segments,
                          const DAT_LMR_TRIPLET *local_iov, uint64_t cookie);

/* receives.c: a shared queue, whose receives an adapter's dev_queue has unless device is 0; NULL:
 * there is no memory. Core frees it when no endpoint has it. */
dat_srq *rc_open_shared(uint64_t handle, uint64_t pz, uint32_t max, uint32_t max_iov,
                        uint64_t device);
void rc_close_shared(dat_srq *srq);
/* A receive, whose list of segments becomes the queue's; 0: there is no memory. */
int rc_add_shared(dat_srq *srq, const dat_receive *receive);
/* Takes the oldest out, for a connection of core's; 0: there is none. */
int rc_take_shared(dat_srq *srq, dat_receive *receive);
/* A receive that was taken is complete. */
void rc_done_shared(dat_srq *srq);

/* life.c: connections, for core. Opens one, which core closes after its end and rc_flush; NULL:
 * there is no memory. */
dat_end *rc_open(const dat_end_config *config);
void rc_close(dat_end *end);
/* A receive that was posted before the connection; its list of segments becomes the end's. 0: there
 * is no memory. */
int rc_add_receive(dat_end *end, const dat_receive *receive);
/* A bind, which core does by godat_bind; 0: there is no memory. */
int rc_bind(dat_end *end, uint64_t number, uint32_t completion);
/* Ends it, with a message to the peer; gracefully: when no request is left. */
void rc_disconnect(dat_end *end, int graceful);
/* Ends it, as the peer is gone. */
void rc_cut(dat_end *end, uint32_t how);
/* Completes all posted requests and receives of a connection that is over. */
void rc_flush(dat_end *end);
/* receive.c: a message that core has found. */
void rc_message(dat_end *end, uint32_t kind, const void *header, uint64_t header_bytes,
                const void *data, uint64_t n);

#endif
