/*
 * judge.c - legality of posts, in one place for all engines, and which engine then has them. The
 * codes are those of the calls' man pages.
 */
#include "dat/calls.h"
#include "dat/coll/coll.h"
#include "dat/dev/dev.h"
#include "dat/godat.h"
#include "dat/rc/private.h"
#include "node/probe.h"
#include "node/timed.h"

#include <stdlib.h>
#include <string.h>

/* The numbers of parameters; remote 0: there is none. */
typedef struct params {
	uint8_t count, local, remote, flags;
} params;

static const params params_of[] = {[RC_PARAMS_SEND] = {2, 3, 0, 5}, [RC_PARAMS_RDMA] = {2, 3, 5, 6},
                                   [RC_PARAMS_IMMED] = {2, 3, 5, 7}, [RC_PARAMS_RMR] = {2, 2, 4, 5},
                                   [RC_PARAMS_ADD] = {3, 3, 5, 6}, [RC_PARAMS_SWAP] = {4, 4, 6, 7}};

#define STATE(why) (DAT_CLASS_ERROR | DAT_INVALID_STATE | DAT_INVALID_STATE_##why)
#define RESOURCE(what) (DAT_CLASS_ERROR | DAT_INSUFFICIENT_RESOURCES | DAT_RESOURCE_##what)

/* 1 if there are n bytes that can be read, or none is needed. */
static inline int readable(const void *at, size_t n)
{
	return !at || !n || node_can_read(at, n);
}

/* A list of local segments. */
static inline DAT_RETURN judge_list(DAT_COUNT count, const DAT_LMR_TRIPLET *list, const params *p)
{
	if ((uint32_t)count > DAT_SEGMENTS)
		return DAT_BAD_ARGUMENT(p->count);
	if (!readable(list, (size_t)count * sizeof *list) || (count && !list))
		return DAT_BAD_ARGUMENT(p->local);
	return DAT_SUCCESS;
}

/* The arguments by themselves. */
static inline DAT_RETURN judge_arguments(const dat_post *post, const params *p)
{
	DAT_RETURN result = judge_list(post->num_segments, post->local_iov, p);

	if (result != DAT_SUCCESS)
		return result;
	if (p->remote && (!post->remote_iov || !readable(post->remote_iov, sizeof *post->remote_iov)))
		return DAT_BAD_ARGUMENT(p->remote);
	return post->completion & ~DAT_COMPLETION_KNOWN ? DAT_BAD_ARGUMENT(p->flags) : DAT_SUCCESS;
}

static inline dat_end *end_of(const dat_ep *ep)
{
	return (dat_end *)(uintptr_t)ep->end;
}

static inline dev_pair *pair_of(const dat_ep *ep)
{
	return (dev_pair *)(uintptr_t)ep->pair;
}

/* Later posts find the pair by the endpoint's handle. */
static inline dev_pair *recent(DAT_EP_HANDLE ep_handle, const dat_ep *ep)
{
	dev_pair *pair = pair_of(ep);

	*dev_recent_of((uintptr_t)ep_handle) = pair;
	return pair;
}

/* Requests, and receives, that are posted and not complete. */
static inline uint32_t requests_of(const dat_ep *ep)
{
	return ep->requests + (ep->pair  ? pair_of(ep)->requests
	                       : ep->end ? end_of(ep)->tx.posted
	                                 : 0);
}

static inline uint32_t receives_of(const dat_ep *ep)
{
	return ep->receives + (ep->pair  ? pair_of(ep)->receives
	                       : ep->end ? end_of(ep)->rx.queue.count
	                                 : 0);
}

/* The state and the limits of the endpoint. */
static inline DAT_RETURN judge_endpoint(const dat_ep *ep)
{
	if (__builtin_expect(ep->state == DAT_EP_IDLE, 0))
		return STATE(EP_UNCONNECTED);
	if (__builtin_expect(ep->state == DAT_EP_DATAGRAMS, 0))
		return STATE(EP_NOTREADY);
	if (!ep->request)
		return STATE(EP_EVD_REQUEST);
	if (__builtin_expect(requests_of(ep) >= ep->max_requests, 0)) {
		if (ep->end || ep->pair)
			rc_turn(); /* some may be complete */
		if (requests_of(ep) >= ep->max_requests)
			return RESOURCE(TEP);
	}
	return DAT_SUCCESS;
}

/* Lengths and alignment. */
static inline DAT_RETURN judge_data(const dat_ep *ep, const dat_post *post, const params *p)
{
	uint32_t most = post->op == RC_SEND    ? ep->max_request_iov
	                : post->op == RC_WRITE ? ep->max_write_iov
	                : post->op == RC_READ  ? ep->max_read_iov
	                                       : 1;
	uint64_t total = 0;
	DAT_COUNT i;

	if ((uint32_t)post->num_segments > most)
		return DAT_BAD_ARGUMENT(p->count);
	for (i = 0; i < post->num_segments; i++)
		total += post->local_iov[i].segment_length;
	if (total > ep->max_message)
		return DAT_CLASS_ERROR | DAT_LENGTH_ERROR;
	if (post->op == RC_SEND)
		return DAT_SUCCESS;
	if (post->op > RC_READ && (total != 8 || post->local_iov->virtual_address % 8))
		return DAT_BAD_ARGUMENT(p->local);
	if (post->op > RC_READ && post->remote_iov->virtual_address % 8)
		return DAT_BAD_ARGUMENT(p->remote);
	return post->op <= RC_READ && post->remote_iov->segment_length < total
	               ? DAT_CLASS_ERROR | DAT_LENGTH_ERROR
	               : DAT_SUCCESS;
}

/*
 * A thread that posts much makes progress, too, as if it polled: copies, and posts to an
 * adapter, take time, and the service thread would begin to serve beside them.
 */
static void look_between(const dat_post *post)
{
	int large = post->num_segments > 0 && post->local_iov->segment_length >= NODE_TARGET_MIN;

	if ((!large && !dat_the_lane.adapters) || CSHIM_OWN(dat_progress.state) != CSHIM_ACTIVE ||
	    !dat_the_lane.on)
		return;
	cshim_poll_note(&dat_progress);
	if (!large && CSHIM_OWN(dat_progress.polls) % DAT_POSTS_PER_LOOK)
		return;
	rc_poll(0, NULL);
	if (dat_groups)
		dat_groups_turn();
}

/* The engine of the connection is core's, or it is over. */
static DAT_RETURN post_by_core(DAT_EP_HANDLE ep_handle, const dat_post *post)
{
	uint64_t arguments[] = {(uintptr_t)ep_handle, (uint32_t)post->op, post->flags,
	                        (uint32_t)post->num_segments, (uintptr_t)post->local_iov, post->cookie,
	                        (uintptr_t)post->remote_iov, post->data, post->operand, post->compare,
	                        post->completion};

	return godat_call(DAT_CALL_post, arguments);
}

DAT_RETURN rc_post(DAT_EP_HANDLE ep_handle, const dat_post *post)
{
	const params *p = &params_of[post->params];
	DAT_RETURN result = judge_arguments(post, p);
	const dat_slot *slot;
	const dat_ep *ep;

	if (result != DAT_SUCCESS)
		return result;
	look_between(post); /* first: core may end the connection */
	slot = handle_find(ep_handle, DAT_HANDLE_TYPE_EP);
	if (!slot)
		return DAT_CLASS_ERROR | DAT_INVALID_HANDLE | DAT_INVALID_HANDLE_EP;
	ep = (const dat_ep *)(uintptr_t)slot->lane;
	if ((result = judge_endpoint(ep)) != DAT_SUCCESS ||
	    (result = judge_data(ep, post, p)) != DAT_SUCCESS)
		return result;
	if (ep->pair) {
		result = dev_post(recent(ep_handle, ep), post);
		if (__builtin_expect(dev_work != 0, 0))
			godat_progress();
		return result;
	}
	if (ep->end && end_of(ep)->on && !end_of(ep)->closing) {
		result = rc_post_node(end_of(ep), post);
		if (result != DAT_QUEUE_EMPTY) /* else it is over meanwhile */
			return result;
	}
	return post_by_core(ep_handle, post);
}

/* Fills in a receive: each member that a post decides. */
static inline DAT_RETURN find_receive(uint64_t pz, DAT_COUNT count, const DAT_LMR_TRIPLET *list,
                                      dat_receive *receive)
{
	receive->local.more = 0;
	receive->local.n = receive->local.segments = receive->status = 0;
	return rc_find_local(pz, RC_WRITE_IT, count, list, &receive->local);
}

static inline DAT_RETURN receive_node(dat_end *end, DAT_COUNT count, const DAT_LMR_TRIPLET *list,
                                      uint64_t cookie, uint32_t completion)
{
	dat_receive *receive = rc_new_receive(&end->rx.queue);
	DAT_RETURN result;

	if (!receive)
		return RC_NO_MEMORY;
	receive->cookie = cookie;
	receive->completion = completion;
	if ((result = find_receive(end->config.pz, count, list, receive)) != DAT_SUCCESS)
		return result;
	end->rx.queue.count++;
	end->counters[DCNT_EP_POST_RECV]++;
	end->counters[DCNT_EP_POST_RECV + 1] += receive->local.n; /* bytes */
	if (__builtin_expect(end->rx.wants != 0, 0))
		rc_ready(end);
	return DAT_SUCCESS;
}

static DAT_RETURN receive_shared(dat_srq *srq, DAT_COUNT count, const DAT_LMR_TRIPLET *list,
                                 dat_receive *receive)
{
	DAT_RETURN result = find_receive(srq->pz, count, list, receive);

	if (result == DAT_SUCCESS && !rc_add_shared(srq, receive)) {
		rc_release(&receive->local);
		result = RC_NO_MEMORY;
	}
	return result;
}

DAT_RETURN rc_post_receive(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments,
                           const DAT_LMR_TRIPLET *local_iov, uint64_t cookie, uint32_t completion)
{
	static const params p = {2, 3, 0, 5};
	DAT_RETURN result = judge_list(num_segments, local_iov, &p);
	const dat_slot *slot;
	const dat_ep *ep;

	if (result != DAT_SUCCESS)
		return result;
	if (completion & ~DAT_COMPLETION_KNOWN)
		return DAT_BAD_ARGUMENT(p.flags);
	slot = handle_find(ep_handle, DAT_HANDLE_TYPE_EP);
	if (!slot)
		return DAT_CLASS_ERROR | DAT_INVALID_HANDLE | DAT_INVALID_HANDLE_EP;
	ep = (const dat_ep *)(uintptr_t)slot->lane;
	if (ep->srq)
		return STATE(SRQ_IN_USE);
	if (!ep->recv)
		return STATE(EP_EVD_RECV);
	if (receives_of(ep) >= ep->max_receives)
		return RESOURCE(TEP);
	if ((uint32_t)num_segments > ep->max_receive_iov)
		return DAT_BAD_ARGUMENT(p.count);
	if (ep->pair)
		return dev_post_receive(recent(ep_handle, ep), num_segments, local_iov, cookie);
	if (ep->end && end_of(ep)->on)
		return receive_node(end_of(ep), num_segments, local_iov, cookie, completion);
	return godat_call(DAT_CALL_ep_post_recv,
	                  (uint64_t[]){(uintptr_t)ep_handle, (uint32_t)num_segments,
	                               (uintptr_t)local_iov, cookie, completion});
}

DAT_RETURN rc_post_shared(DAT_SRQ_HANDLE srq_handle, DAT_COUNT num_segments,
                          const DAT_LMR_TRIPLET *local_iov, uint64_t cookie)
{
	static const params p = {2, 3, 0, 0};
	const dat_slot *slot;
	DAT_RETURN result = judge_list(num_segments, local_iov, &p);
	dat_receive receive = {.cookie = cookie};
	dev_queue *queue;
	dat_srq *srq;

	if (result != DAT_SUCCESS)
		return result;
	slot = handle_find(srq_handle, DAT_HANDLE_TYPE_SRQ);
	if (!slot)
		return DAT_CLASS_ERROR | DAT_INVALID_HANDLE | DAT_INVALID_HANDLE_SRQ;
	srq = (dat_srq *)(uintptr_t)slot->lane;
	queue = (dev_queue *)(uintptr_t)srq->device;
	if ((queue ? queue->posted : srq->posted) >= srq->max)
		return RESOURCE(SRQ);
	if ((uint32_t)num_segments > srq->max_iov)
		return DAT_BAD_ARGUMENT(p.count);
	if (queue)
		return dev_post_shared(queue, num_segments, local_iov, cookie);
	if (dat_the_lane.table && !srq->core_waits)
		return receive_shared(srq, num_segments, local_iov, &receive);
	return godat_call(DAT_CALL_srq_post_recv,
	                  (uint64_t[]){(uintptr_t)srq_handle, (uint32_t)num_segments,
	                               (uintptr_t)local_iov, cookie});
}
