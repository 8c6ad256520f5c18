/* lane_post.c - posting sends, writes, reads and receives, and sending what was posted. */
#include "dat_lane_shared.h"

static dat_header header_of(const dat_end *end, uint32_t seq, const dat_request *request)
{
	return (dat_header){.conn = end->peer_index,
	                    .tag = end->peer_tag,
	                    .seq = seq,
	                    .op = request->op,
	                    .flags = request->flags,
	                    .total = request->n,
	                    .offset = request->sent,
	                    .addr = request->addr,
	                    .context = request->context,
	                    .immediate = request->data,
	                    .number = request->number};
}

/* Sends the rest of a request, in parts so that both ends copy at once. NODE_SENT, or why not. */
static int send_request(const dat_end *end, uint32_t seq, dat_request *request)
{
	node_link *link = dat_link_of(end);
	node_peer *peer = dat_peer_of(end);
	uint64_t step =
		request->n <= NODE_INLINE_MAX ? NODE_INLINE_MAX : node_chunk_step(link, request->n);

	do {
		dat_header header = header_of(end, seq, request);
		uint32_t left = request->n - request->sent, part = left < step ? left : step;
		int rc = peer->closed ? NODE_BUSY
		                      : node_send_inline(link, peer, DAT_MSG_DATA, &header,
		                                         sizeof(header),
		                                         request->at + request->sent, part);

		if (rc != NODE_SENT)
			return rc;
		request->started = 1;
		request->sent += part;
	} while (request->sent < request->n);
	return NODE_SENT;
}

int dat_lane_send(dat_end *end)
{
	for (; end->sent < end->posted; end->sent++) {
		uint32_t seq = end->oldest + end->sent;
		int rc = send_request(end, seq, dat_request_at(end, seq));

		if (rc == NODE_SENT)
			continue;
		if (rc == NODE_BUSY && !dat_peer_of(end)->closed)
			dat_the_lane.unsent = 1;
		else
			dat_the_lane.stuck = end->stuck = 1;
		return 0;
	}
	return 1;
}

/* The end of an endpoint whose connection the lane has; NULL: core has it. */
static dat_end *end_of(DAT_EP_HANDLE ep_handle)
{
	const dat_slot *slot = dat_slot_of(ep_handle, DAT_HANDLE_TYPE_EP);
	dat_end *end = slot ? (dat_end *)(uintptr_t)slot->lane : NULL;

	return end && end->on && !end->stuck ? end : NULL;
}

/* The one segment of a list, of 0 bytes if there is none. 0: there are more, or it cannot be. */
static int one_segment(DAT_COUNT num, const DAT_LMR_TRIPLET *list, DAT_LMR_TRIPLET *segment)
{
	*segment = (DAT_LMR_TRIPLET){0};
	if (num == 1 && list)
		*segment = *list;
	return num == 0 || (num == 1 && list);
}

static void count(dat_end *end, int counter, uint64_t n)
{
	end->counters[counter]++;
	end->counters[counter + 1] += n;
}

static int has_room(const dat_end *end)
{
	if (end->posted >= DAT_LANE_WINDOW)
		dat_lane_turn();
	return end->on && !end->stuck && end->posted < DAT_LANE_WINDOW &&
	       end->posted < end->max_requests && !dat_peer_of(end)->closed;
}

static uint8_t flags_of(const dat_post *post)
{
	return (uint8_t)((post->immed ? DAT_FLAG_IMMEDIATE : 0) |
	                 (post->completion & DAT_COMPLETION_SOLICITED_WAIT_FLAG ? DAT_FLAG_SOLICITED
	                                                                        : 0));
}

/* Where the local memory of a post is; 0: core's completion says what is wrong. */
static uint64_t local_memory(const dat_end *end, const DAT_LMR_TRIPLET *local, int op)
{
	return dat_memory_of(end, local->lmr_context, local->virtual_address, local->segment_length,
	                     op == DAT_LANE_READ ? DAT_MEM_PRIV_LOCAL_WRITE_FLAG : 0, 0);
}

/* 1 if the other side of a write or read is what the lane can take. */
static int fits_remote(const dat_end *end, const dat_post *post, const DAT_LMR_TRIPLET *local)
{
	return post->op == DAT_LANE_SEND ||
	       (post->remote_iov &&
	        (post->op == DAT_LANE_WRITE ||
	         (end->reads && post->remote_iov->segment_length >= local->segment_length)));
}

static int counter_of(const dat_post *post)
{
	return post->immed                  ? DCNT_EP_POST_WRITE_IMM
	       : post->op == DAT_LANE_WRITE ? DCNT_EP_POST_WRITE
	       : post->op == DAT_LANE_READ  ? DCNT_EP_POST_READ
	                                    : DCNT_EP_POST_SEND;
}

static void fill(dat_request *request, const dat_post *post, const DAT_LMR_TRIPLET *local,
                 uint64_t at)
{
	*request = (dat_request){.cookie = post->cookie,
	                         .from = local->virtual_address,
	                         .n = (uint32_t)local->segment_length,
	                         .local = local->lmr_context,
	                         .op = (uint8_t)post->op,
	                         .flags = flags_of(post),
	                         .completion = post->completion,
	                         .data = post->data,
	                         .at = at};
	if (post->op != DAT_LANE_SEND) {
		request->addr = post->remote_iov->virtual_address;
		request->context = post->remote_iov->rmr_context;
	}
}

int dat_lane_post(DAT_EP_HANDLE ep_handle, const dat_post *post)
{
	dat_end *end = end_of(ep_handle);
	int by_copy = post->op != DAT_LANE_SEND && !post->immed;
	DAT_LMR_TRIPLET local;
	dat_request *request;
	uint64_t at = 0;

	if (!end || !one_segment(post->num_segments, post->local_iov, &local) ||
	    !fits_remote(end, post, &local) || local.segment_length >> 30 || !has_room(end))
		return 0;
	if (local.segment_length && !(at = local_memory(end, &local, post->op)))
		return 0;
	request = dat_request_at(end, end->oldest + end->posted);
	fill(request, post, &local, at);
	if (by_copy && dat_lane_direct(end, request)) {
		count(end, counter_of(post), request->n);
		return 1;
	}
	if (post->op == DAT_LANE_READ || end->stuck)
		return 0;
	if (post->op == DAT_LANE_SEND || post->immed)
		request->number = end->numbers++;
	end->posted++;
	count(end, counter_of(post), request->n);
	if (dat_lane_send(end) && __builtin_expect(request->begun != 0, 0))
		dat_lane_time(end, request);
	return 1;
}

int dat_lane_receive(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments,
                     const DAT_LMR_TRIPLET *local_iov, uint64_t cookie, uint32_t completion)
{
	dat_end *end = end_of(ep_handle);
	DAT_LMR_TRIPLET local;

	if (!end || !one_segment(num_segments, local_iov, &local) ||
	    end->received >= end->max_receives || end->received >= end->room)
		return 0;
	if (local.segment_length &&
	    !dat_memory_of(end, local.lmr_context, local.virtual_address, local.segment_length,
	                   DAT_MEM_PRIV_LOCAL_WRITE_FLAG, 0))
		return 0;
	*dat_receive_at(end, end->base + end->received) =
		(dat_receive){.cookie = cookie,
	                      .addr = local.virtual_address,
	                      .n = (uint32_t)local.segment_length,
	                      .context = local.lmr_context,
	                      .completion = completion};
	end->received++;
	count(end, DCNT_EP_POST_RECV, local.segment_length);
	return 1;
}
