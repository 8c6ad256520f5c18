/*
 * lane_fence.c - LAPI_Fence without core: every peer has consumed the messages sent to it before,
 * and no earlier operation waits for its answer.
 *
 * On a node a peer publishes how far it has consumed its ring when the data that it has read is in
 * place (release; node_flushed loads it with acquire), so no put needs an acknowledgement of its
 * own. Over adapters the peer is asked, and answers when its handlers have accepted all before.
 * Core sets go_busy while anything of its own is outstanding, and closes a peer for which it holds
 * messages, or that has ended; then the fence is core's, which returns the error of lost messages.
 *
 * A fence compares places in rings and numbers of operations with those of its beginning, and counts no
 * ends: so it neither ends early nor waits longer when other threads issue and complete operations.
 */
#include "lane/lane_send.h"

#include "node/arm.h"
#include "lane/lane_shared.h"
#include "progress/wait.h"

/* 1 if a fence must ask core, whatever the rings say. */
static inline int is_cores(const cshim_lane *lane)
{
	return (lane->off | lane->go_busy) != 0;
}

/* How far a fence is with one peer, of whose ring it covers the messages before mark. */
static inline int peer_fenced(node_peer *peer, uint64_t mark)
{
	int rc;

	if (peer->closed)
		return CSHIM_FENCE_CORE;
	rc = node_flushed(peer, mark);
	if (rc != NODE_SENT)
		return rc == NODE_BUSY ? CSHIM_FENCE_WAITS : CSHIM_FENCE_CORE;
	if (mark == peer->sender.tail)
		peer->owner[CSHIM_PEER_USED] = 0;
	return CSHIM_FENCE_OVER;
}

/* The same with a peer over adapters, of whose packets it covers those before mark. */
static inline int pair_fenced(verbs_peer *peer, uint64_t mark)
{
	if (peer->closed || !peer->usable)
		return CSHIM_FENCE_CORE;
	if (peer->flushed < mark)
		return CSHIM_FENCE_WAITS;
	/* Messages that were accepted may still be lost if their target has left: core knows. */
	if (peer->owner[CSHIM_PEER_EXPECTED])
		return CSHIM_FENCE_CORE;
	if (mark == peer->laden)
		peer->owner[CSHIM_PEER_USED] = 0;
	return CSHIM_FENCE_OVER;
}

/* How far a fence of all that was sent over adapters is. Core knows of the peers that are not
 * listed. */
static int packets_fenced(const verbs_link *link)
{
	int how = CSHIM_FENCE_OVER, one;
	int32_t i;

	if (link->num_news > VERBS_NEWS)
		return CSHIM_FENCE_CORE;
	for (i = 0; i < link->num_news; i++) {
		verbs_peer *peer = verbs_peer_of(link, link->news[i]);

		if (peer && !peer->owner[CSHIM_PEER_USED])
			continue;
		one = peer ? pair_fenced(peer, peer->laden) : CSHIM_FENCE_CORE;
		if (one == CSHIM_FENCE_CORE)
			return CSHIM_FENCE_CORE;
		if (one == CSHIM_FENCE_WAITS)
			how = CSHIM_FENCE_WAITS;
	}
	return how;
}

int cshim_lane_fenced(cshim_context *context)
{
	cshim_lane *lane = cshim_lane_of(context);
	node_link *link;
	uint32_t ring;
	int how = CSHIM_FENCE_OVER, one;

	if (!lane || is_cores(lane) || cshim_lane_coin(&lane->random))
		return CSHIM_FENCE_CORE;
	if (lane->verbs)
		how = packets_fenced(cshim_packets_of(lane));
	if (how == CSHIM_FENCE_CORE)
		return how;
	link = cshim_link_of(lane);
	if (link->ops)
		how = CSHIM_FENCE_WAITS;
	for (ring = 0; ring < link->rings; ring++) {
		node_peer *peer = &link->peer[ring];

		if (!peer->owner[CSHIM_PEER_USED])
			continue;
		node_say_read(link, peer); /* without room it is said later */
		one = peer_fenced(peer, peer->sender.tail);
		if (one == CSHIM_FENCE_CORE)
			return CSHIM_FENCE_CORE;
		if (one == CSHIM_FENCE_WAITS)
			how = CSHIM_FENCE_WAITS;
	}
	return how;
}

/* Asks the peers over adapters about the packets that the fence covers. */
static void begin_packets(verbs_link *link, cshim_fence *fence)
{
	int32_t i, listed = link->num_news;

	fence->cores = listed > VERBS_NEWS;
	for (i = 0; i < listed && !fence->cores; i++) {
		verbs_peer *peer = verbs_peer_of(link, link->news[i]);

		if (!peer || !peer->owner[CSHIM_PEER_USED])
			continue;
		fence->packets[fence->pairs].peer = peer;
		fence->packets[fence->pairs].mark = peer->laden;
		fence->packets[fence->pairs++].life = peer->life;
		fence->cores = !verbs_ask(link, peer);
	}
}

void cshim_fence_begin(cshim_context *context, cshim_fence *fence)
{
	const cshim_lane *lane = cshim_lane_of(context);
	const node_link *link = cshim_link_of(lane);
	uint32_t ring;

	fence->seq = lane->issued;
	fence->redone = lane->redone;
	fence->ring = fence->op = fence->pairs = fence->pair = fence->cores = 0;
	for (ring = 0; ring < link->rings; ring++) {
		const node_peer *peer = &link->peer[ring];

		fence->mark[ring] = peer->owner[CSHIM_PEER_USED] ? peer->sender.tail : 0;
	}
	if (lane->verbs)
		begin_packets(cshim_packets_of(lane), fence);
}

/* 1 if an operation that the fence covers waits for its answer. */
static inline int answer_is_due(const node_link *link, cshim_fence *fence)
{
	if (!link->ops)
		return 0;
	/* A place that is taken anew is a later operation's: those in front stay as they are. */
	for (; fence->op < NODE_OPS; fence->op++) {
		const node_op *op = &link->op[fence->op];

		if (op->kind != NODE_OP_FREE && op->by == NODE_BY_OWNER &&
		    op->tag[CSHIM_TAG_SEQ] <= fence->seq)
			return 1;
	}
	return 0;
}

int cshim_fence_look(cshim_context *context, cshim_fence *fence)
{
	const cshim_lane *lane = cshim_lane_of(context);
	node_link *link = cshim_link_of(lane);

	if (__builtin_expect(is_cores(lane) || fence->cores, 0))
		return CSHIM_FENCE_CORE;
	if (__builtin_expect(fence->redone != lane->redone, 0))
		cshim_fence_begin(context, fence);
	for (; fence->ring < link->rings; fence->ring++) {
		uint64_t mark = fence->mark[fence->ring];
		int how = mark ? peer_fenced(&link->peer[fence->ring], mark) : CSHIM_FENCE_OVER;

		if (how != CSHIM_FENCE_OVER)
			return how;
	}
	for (; fence->pair < fence->pairs; fence->pair++) {
		verbs_peer *peer = fence->packets[fence->pair].peer;
		int how = peer->life == fence->packets[fence->pair].life
		                  ? pair_fenced(peer, fence->packets[fence->pair].mark)
		                  : CSHIM_FENCE_CORE;

		if (how != CSHIM_FENCE_OVER)
			return how;
	}
	return answer_is_due(link, fence) ? CSHIM_FENCE_WAITS : CSHIM_FENCE_OVER;
}

/* A counter that never reaches the value: its wait takes whatever comes. */
static const int never;

uint32_t cshim_fence_await(cshim_context *context, cshim_fence *fence, int looks)
{
	uint32_t seen = 0;

	for (; looks > 0 && seen == 0; looks--) {
		if (cshim_fence_look(context, fence) != CSHIM_FENCE_WAITS)
			return CSHIM_SEEN_OVER;
		if (__builtin_expect(
			    __atomic_load_n(&context->progress.lock_waiters, __ATOMIC_RELAXED) != 0,
			    0))
			return 0;
		seen = cshim_lane_await(context, &never, 1, 1);
	}
	return cshim_fence_look(context, fence) != CSHIM_FENCE_WAITS ? seen | CSHIM_SEEN_OVER
	                                                             : seen;
}
