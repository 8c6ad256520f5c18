/*
 * lane_shared.h - what the files of the lane share: how it finds a peer, and what it does with
 * counters and completions. Private to cshim/lane. Everything runs under the context lock.
 */
#ifndef CSHIM_LANE_SHARED_H
#define CSHIM_LANE_SHARED_H

#include "context/contexts.h"
#include "node/put.h"
#include "node/serve.h"
#include "lane/lane.h"
#include "packets/packets.h"

/* Sends end in one of these. */
#define CSHIM_LANE_DONE 1 /* all of it */
#define CSHIM_LANE_PASS 0 /* nothing: core shall */

static inline cshim_lane *cshim_lane_of(const cshim_context *context)
{
	return (cshim_lane *)(uintptr_t)context->lane;
}

static inline node_link *cshim_link_of(const cshim_lane *lane)
{
	return (node_link *)(uintptr_t)lane->link;
}

/* LAPI_FASTLANE=random: 1 if core shall do it. */
static inline int cshim_lane_coin(uint32_t *random)
{
	if (__builtin_expect(*random == 0, 1))
		return 0;
	*random = *random * 1664525u + 1013904223u;
	return (int)(*random >> 31);
}

/* The peer that is a task, if the lane may send there now, else NULL. */
static inline node_peer *cshim_lane_peer(const cshim_context *context, cshim_lane *lane,
                                         uint32_t tgt)
{
	node_peer *peer;
	int16_t ring;

	if (!lane || lane->off || tgt >= (uint32_t)context->num_tasks)
		return NULL;
	ring = ((const int16_t *)(uintptr_t)lane->ring_of)[tgt];
	if (ring < 0)
		return NULL;
	peer = &cshim_link_of(lane)->peer[ring];
	CSHIM_KEEP(peer);
	if (peer->closed || cshim_lane_coin(&lane->random))
		return NULL;
	return peer;
}

/*
 * The other task of a message, at the end of a ring or of a queue pair. owner: CSHIM_PEER_ of
 * lane.h. stopped changes when all with the task ends.
 */
typedef struct cshim_end {
	int32_t task;
	uint32_t *owner;
	const uint32_t *stopped;
	node_peer *ring;  /* NULL: it is a pair's */
	verbs_peer *pair; /* NULL: it is a ring's */
} cshim_end;

static inline cshim_end cshim_end_of_ring(node_peer *peer)
{
	return (cshim_end){peer->task, peer->owner, &peer->stopped, peer, NULL};
}

static inline cshim_end cshim_end_of_pair(verbs_peer *peer)
{
	return (cshim_end){peer->task, peer->owner, &peer->life, NULL, peer};
}

static inline verbs_link *cshim_packets_of(const cshim_lane *lane)
{
	return (verbs_link *)(uintptr_t)lane->verbs;
}

/* Something was sent to the task of which these are the owner's words. */
static inline void cshim_lane_used(cshim_lane *lane, uint32_t *owner)
{
	owner[CSHIM_PEER_USED] |= CSHIM_USED_ANY;
	lane->dirty = 1;
}

/* An operation of the user's has sent a message there. kind: lapi_err_t. */
static inline void cshim_lane_note(cshim_lane *lane, uint32_t *owner, lapi_err_t kind)
{
	cshim_lane_used(lane, owner);
	owner[CSHIM_PEER_KIND] = (uint32_t)kind + 1;
	lane->issued++;
}

/* A counter, or what LAPI_Msgpoll reports, has changed. */
static inline void cshim_lane_event(cshim_context *context)
{
	cshim_event(&context->progress);
}

/* Adds 1 to a counter, if there is one, that src named in a message between this task and peer.
 * off: core must. */
static inline void cshim_lane_count(cshim_context *context, uint32_t off, uint64_t cntr,
                                    lapi_err_t kind, int32_t src, int32_t peer)
{
	if (cntr == 0)
		return;
	if (__builtin_expect(
		    off || cntr % sizeof(int32_t) ||
			    node_guarded_count(node_memory_at(cntr), cshim_progress_active() > 1),
		    0))
		golapi_lane_count(cshim_index_of(context), cntr, (int32_t)kind, src, peer);
	else
		cshim_lane_event(context);
}

/* The origin's half of a put or active message is over: its buffer is free, as the data was copied.
 */
static inline void cshim_lane_copied(cshim_context *context, cshim_lane *lane, uint32_t *owner,
                                     int32_t task, lapi_err_t kind, uint64_t org_cntr)
{
	cshim_lane_note(lane, owner, kind);
	context->msg_state |= LAPI_SEND_COMPLETE;
	cshim_lane_count(context, lane->off, org_cntr, kind, context->task, task);
}

/* The same, and the message is on its way. */
static inline void cshim_lane_sent_to(cshim_context *context, cshim_lane *lane, uint32_t *owner,
                                      int32_t task, lapi_err_t kind, uint64_t org_cntr,
                                      uint64_t cmpl_cntr)
{
	if (cmpl_cntr)
		owner[CSHIM_PEER_EXPECTED]++;
	else
		owner[CSHIM_PEER_USED] |= CSHIM_USED_UNCOUNTED;
	cshim_lane_copied(context, lane, owner, task, kind, org_cntr);
}

static inline void cshim_lane_sent(cshim_context *context, cshim_lane *lane, node_peer *peer,
                                   lapi_err_t kind, uint64_t org_cntr, uint64_t cmpl_cntr)
{
	cshim_lane_sent_to(context, lane, peer->owner, peer->task, kind, org_cntr, cmpl_cntr);
}

/* lane_receive.c: sends a task the completions that cshim_lane_tell has put off. */
void cshim_lane_tell_now(cshim_context *context, cshim_lane *lane, const cshim_end *to);
/*
 * Takes a peer's answers and completion messages until wanted is over, or (NULL) all of the lane's
 * operations with it are; only as long as nothing else comes, so that no handler runs:
 * NODE_WAIT_NOT (../node/timed.h). n: bytes that are under way.
 */
int cshim_lane_settle(cshim_context *context, cshim_lane *lane, node_peer *peer,
                      const node_op *wanted, uint64_t n);

/*
 * Notifies the origin that its message is complete, at the latest at the end of the turn of this
 * ring or queue pair.
 */
static inline void cshim_lane_tell(cshim_context *context, cshim_lane *lane, const cshim_end *to,
                                   uint64_t cmpl_cntr)
{
	if (cmpl_cntr == 0)
		return;
	/* no more at once than its receiver believes */
	if (lane->told == cmpl_cntr && lane->told_more < NODE_RING_SLOTS - 1) {
		lane->told_more++;
		return;
	}
	if (lane->told) {
		const cshim_end whole = *to; /* so that *to need not be in memory before */

		cshim_lane_tell_now(context, lane, &whole);
	}
	lane->told = cmpl_cntr;
	lane->told_more = 0;
}

/* An operation that waits for its answer has begun. */
static inline void cshim_lane_begun(cshim_lane *lane, node_peer *peer, node_op *op, lapi_err_t kind,
                                    uint64_t org_cntr)
{
	cshim_lane_note(lane, peer->owner, kind);
	op->tag[CSHIM_TAG_COUNTER] = org_cntr;
	op->tag[CSHIM_TAG_SEQ] = lane->issued;
}

/*
 * lane_packets.c: takes the packets that have come, up to a batch of each port, or until counter,
 * if it is not NULL, has reached val. How many, with CSHIM_LANE_CORE if core is to look.
 */
uint32_t cshim_packets_receive(cshim_context *context, cshim_lane *lane, const int *counter,
                               int val);
/* 1 if something has come. */
int cshim_packets_hold(const cshim_lane *lane);

/* The data of a get, or the value that an operation on a word found, is here. */
static inline void cshim_lane_got(cshim_context *context, const cshim_lane *lane,
                                  const node_peer *peer, const node_op *op, lapi_err_t kind)
{
	context->msg_state |= LAPI_RECV_COMPLETE;
	cshim_lane_event(context);
	cshim_lane_count(context, lane->off, op->tag[CSHIM_TAG_COUNTER], kind, context->task,
	                 peer->task);
}

/* A get was answered: its target's counter. */
static inline void cshim_lane_was_read(cshim_context *context, const cshim_lane *lane,
                                       const node_peer *peer, uint64_t cntr)
{
	context->msg_state |= LAPI_SEND_COMPLETE;
	cshim_lane_count(context, lane->off, cntr, GET_ERR, peer->task, peer->task);
}

/*
 * lane_routes.c: puts that do not fit slots, and gets whose data does not fit slots or whose
 * target does not poll, by the best route. The notices of transfer are the target's counter and,
 * of a put, the completion counter.
 */
int cshim_lane_put_long(cshim_context *context, cshim_lane *lane, node_peer *peer,
                        const node_transfer *transfer, uint64_t org_cntr);
int cshim_lane_get_long(cshim_context *context, cshim_lane *lane, node_peer *peer,
                        const node_transfer *transfer, uint64_t org_cntr);
/* All of a put that the target was to read goes again, in messages: event is node_serve's. */
void cshim_lane_put_again(cshim_context *context, cshim_lane *lane, node_peer *peer,
                          const node_event *event);

/*
 * lane_ops.c: gets and read-modify-writes whose answer is one message, as they usually are: 1 if a
 * request has its answer, or if an answer has ended its operation. 0: nothing was done, and
 * node_serve deals with it.
 */
int cshim_lane_requested(cshim_context *context, cshim_lane *lane, node_peer *peer,
                         const node_arrival *arrival);
int cshim_lane_replied(cshim_context *context, cshim_lane *lane, node_peer *peer,
                       const node_arrival *arrival);

/* lane_ops.c: an operation of the lane's is over: result is what node_serve said. */
void cshim_lane_answered(cshim_context *context, cshim_lane *lane, node_peer *peer, int result,
                         const node_event *event);

#endif
