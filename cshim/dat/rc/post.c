/* post.c - posting sends, writes, reads and receives, and sending what was posted. */
#include "node/probe.h"
#include "node/timed.h"
#include "dat/rc/private.h"

/* Sends n bytes of the rest of a request. NODE_SENT, or why not. */
static inline int send_part(const dat_end *end, uint32_t seq, dat_request *request, uint32_t n)
{
	dat_header header = dat_header_of(end, seq, request);
	int rc = node_send_inline(dat_link_of(end), dat_peer_of(end), DAT_MSG_DATA, &header,
	                          sizeof(header), request->at + request->sent, n);

	if (rc == NODE_SENT)
		request->sent += n;
	return rc;
}

/* All of the rest in parts, so that both ends copy at once, by the pipeline that was chosen. */
static int send_parts(const dat_end *end, uint32_t seq, dat_request *request)
{
	node_link *link = dat_link_of(end);
	uint64_t step = node_chunk_step(link, request->n);
	int rc = NODE_SENT;

	node_chunks_limit(link, request->route);
	while (request->sent < request->n && rc == NODE_SENT) {
		uint32_t left = request->n - request->sent;

		rc = send_part(end, seq, request, left < step ? left : (uint32_t)step);
	}
	node_chunks_limit(link, NODE_ROUTES);
	return rc;
}

/* All of a request that fits one slot with its header, which is written where it goes. */
static inline int send_short(const dat_end *end, uint32_t seq, dat_request *request)
{
	dat_header *header = node_short_begin(dat_peer_of(end));

	if (!header)
		return NODE_BUSY;
	dat_write_header(header, end, seq, request);
	if (node_guarded_copy_short(header + 1, node_memory_at(request->at), request->n))
		return NODE_BAD_LOCAL;
	request->sent = request->n;
	return node_short_end(dat_link_of(end), dat_peer_of(end), DAT_MSG_DATA, sizeof(*header),
	                      request->n);
}

static int send_request(dat_end *end, uint32_t seq, dat_request *request)
{
	if (request->op >= DAT_LANE_READ)
		return dat_lane_ask(end, seq, request);
	if (__builtin_expect(dat_is_pulled(request), 0))
		return dat_lane_pull(end, seq, request);
	if (dat_peer_of(end)->closed)
		return NODE_BUSY;
	if (request->n <= NODE_ONE_SLOT - sizeof(dat_header))
		return send_short(end, seq, request);
	return request->n <= NODE_INLINE_MAX ? send_part(end, seq, request, request->n)
	                                     : send_parts(end, seq, request);
}

int dat_lane_send(dat_end *end)
{
	for (; end->tx.sent < end->tx.posted; end->tx.sent++) {
		uint32_t seq = end->tx.oldest + end->tx.sent;
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

static void count(dat_end *end, int counter, uint64_t n)
{
	end->counters[counter]++;
	end->counters[counter + 1] += n;
}

static int has_room(dat_end *end, int op)
{
	if (end->tx.posted >= DAT_LANE_WINDOW || end->tx.posted >= end->config.max_requests ||
	    (op >= DAT_LANE_READ && end->tx.asked >= end->config.reads))
		dat_lane_turn();
	return end->on && !end->stuck && end->tx.posted < DAT_LANE_WINDOW &&
	       end->tx.posted < end->config.max_requests && !dat_peer_of(end)->closed;
}

static uint8_t flags_of(const dat_post *post)
{
	return (uint8_t)((post->immed ? DAT_FLAG_IMMEDIATE : 0) |
	                 (post->completion & DAT_COMPLETION_SOLICITED_WAIT_FLAG ? DAT_FLAG_SOLICITED
	                                                                        : 0));
}

/* What a post names of its own memory. */
typedef struct local_memory {
	node_range range[DAT_LANE_SEGMENTS]; /* that have bytes */
	uint32_t ranges;
	uint32_t first; /* segment that has some */
	uint64_t n;     /* bytes */
} local_memory;

/* All that there are: core refuses others. */
#define DAT_LANE_COMPLETION_FLAGS                                                                  \
	(DAT_COMPLETION_SUPPRESS_FLAG | DAT_COMPLETION_SOLICITED_WAIT_FLAG |                       \
	 DAT_COMPLETION_UNSIGNALLED_FLAG | DAT_COMPLETION_BARRIER_FENCE_FLAG |                     \
	 DAT_COMPLETION_EVD_THRESHOLD_FLAG | DAT_COMPLETION_LMR_INVALIDATE_FENCE_FLAG)

/* Finds it; 0: core says, now or by the completion, what is wrong, or does it. */
static int find_local(const dat_end *end, const dat_post *post, local_memory *memory)
{
	uint32_t most = post->op == DAT_LANE_WRITE && !post->immed ? end->config.max_writes
	                : post->op == DAT_LANE_READ                ? end->config.max_reads
	                                                           : 1;
	uint16_t need = post->op >= DAT_LANE_READ ? DAT_MEM_PRIV_LOCAL_WRITE_FLAG : 0;
	DAT_COUNT i;

	memory->ranges = 0;
	memory->n = 0;
	if (post->completion & ~DAT_LANE_COMPLETION_FLAGS)
		return 0;
	if ((uint32_t)post->num_segments > most || (post->num_segments && !post->local_iov))
		return 0;
	for (i = 0; i < post->num_segments; i++) {
		const DAT_LMR_TRIPLET *local = post->local_iov + i;
		uint64_t at;

		if (!local->segment_length)
			continue;
		at = dat_memory_of(end, local->lmr_context, local->virtual_address,
		                   local->segment_length, need, 0);
		if (!at)
			return 0;
		if (!memory->ranges)
			memory->first = (uint32_t)i;
		memory->range[memory->ranges++] = (node_range){at, local->segment_length};
		memory->n += local->segment_length;
	}
	return memory->n >> 30 == 0;
}

/* 1 if the other side of a request is what the lane can take. */
static int fits_remote(const dat_end *end, const dat_post *post, const local_memory *memory)
{
	switch (post->op) {
	case DAT_LANE_SEND:
		return 1;
	case DAT_LANE_WRITE:
		return post->remote_iov && post->remote_iov->segment_length >= memory->n;
	case DAT_LANE_READ:
		return end->config.reads && post->remote_iov &&
		       post->remote_iov->segment_length >= memory->n;
	default: /* atomic: core says what is wrong with anything else */
		return end->config.reads && post->remote_iov && post->num_segments == 1 &&
		       memory->n == 8 && post->remote_iov->virtual_address % 8 == 0 &&
		       post->local_iov->virtual_address % 8 == 0 && memory->range[0].addr % 8 == 0;
	}
}

static void count_post(dat_end *end, const dat_post *post, uint64_t n)
{
	static const int counters[] = {[DAT_LANE_SEND] = DCNT_EP_POST_SEND,
	                               [DAT_LANE_WRITE] = DCNT_EP_POST_WRITE,
	                               [DAT_LANE_READ] = DCNT_EP_POST_READ};

	if (post->op == DAT_LANE_SWAP)
		end->counters[DCNT_EP_POST_CMP_SWAP]++;
	else if (post->op == DAT_LANE_ADD)
		end->counters[DCNT_EP_POST_FETCH_ADD]++;
	else
		count(end, post->immed ? DCNT_EP_POST_WRITE_IMM : counters[post->op], n);
}

static void fill(dat_request *request, const dat_post *post, const local_memory *memory)
{
	dat_clear(request, sizeof(*request));
	request->cookie = post->cookie;
	request->n = (uint32_t)memory->n;
	request->op = (uint8_t)post->op;
	request->flags = flags_of(post);
	request->route = NODE_ROUTES;
	request->completion = post->completion;
	request->data = post->data;
	request->operand = post->operand;
	request->compare = post->compare;
	if (memory->ranges) {
		request->from = post->local_iov[memory->first].virtual_address;
		request->local = post->local_iov[memory->first].lmr_context;
		request->at = memory->range[0].addr;
	}
	if (post->op != DAT_LANE_SEND) {
		request->addr = post->remote_iov->virtual_address;
		request->context = post->remote_iov->rmr_context;
	}
}

/* 1 if a request may begin now: it must not wait for others, which core knows to do. */
static int may_begin(const dat_end *end, const dat_request *request)
{
	if (request->op >= DAT_LANE_READ && end->tx.asked >= end->config.reads)
		return 0;
	return !(request->completion & DAT_COMPLETION_BARRIER_FENCE_FLAG && end->tx.asked);
}

enum { POSTS_PER_LOOK = 16 }; /* with an RDMA adapter */

/*
 * Who posts much looks for what has come, too, as one that polls: copies, and posts to an adapter,
 * take time, and the service thread would begin to serve beside them.
 */
static void look_between(const dat_post *post)
{
	static uint32_t posts; /* under the lock */
	int large = post->num_segments > 0 && post->local_iov &&
	            post->local_iov->segment_length >= NODE_TARGET_MIN;

	if ((!large && !dat_the_lane.adapters) || dat_progress.state != CSHIM_ACTIVE ||
	    !dat_the_lane.on)
		return;
	cshim_poll_note(&dat_progress);
	if (large || ++posts % POSTS_PER_LOOK == 0)
		dat_lane_poll(0, NULL);
}

/* 1 if there are n bytes that can be read, or none is needed; else core says what is wrong. */
static inline int readable(const void *at, size_t n)
{
	return !at || !n || node_can_read(at, n);
}

int dat_lane_post(DAT_EP_HANDLE ep_handle, const dat_post *post)
{
	dat_request *request;
	local_memory memory;
	dat_end *end;
	uint32_t seq;

	if ((uint32_t)post->num_segments > DAT_LANE_SEGMENTS ||
	    !readable(post->local_iov, (size_t)post->num_segments * sizeof *post->local_iov) ||
	    !readable(post->remote_iov, sizeof *post->remote_iov))
		return 0;
	look_between(post); /* first: core may end the connection */
	end = end_of(ep_handle);
	if (!end || !find_local(end, post, &memory) || !fits_remote(end, post, &memory) ||
	    !has_room(end, post->op))
		return 0;
	seq = end->tx.oldest + end->tx.posted;
	request = dat_request_at(end, seq);
	fill(request, post, &memory);
	if ((post->op == DAT_LANE_WRITE || post->op == DAT_LANE_READ) && !post->immed &&
	    dat_lane_direct(end, request, memory.range, memory.ranges) == DAT_DIRECT_DONE) {
		count_post(end, post, request->n);
		return 1;
	}
	if (memory.ranges > 1 || end->stuck || !may_begin(end, request))
		return 0;
	if (post->op == DAT_LANE_SEND || post->immed)
		request->number = end->tx.numbers++;
	end->tx.posted++;
	end->tx.asked += post->op >= DAT_LANE_READ;
	dat_lane_await(end);
	count_post(end, post, request->n);
	dat_lane_send(end);
	if (__builtin_expect(request->begun != 0, 0))
		dat_lane_time(end, request, seq);
	if (__builtin_expect(dat_the_lane.untimed != 0, 0)) {
		dat_the_lane.untimed = 0;
		cshim_kick(&dat_progress); /* from now on something is due from a peer */
	}
	return 1;
}

int dat_lane_receive(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments,
                     const DAT_LMR_TRIPLET *local_iov, uint64_t cookie, uint32_t completion)
{
	dat_end *end = end_of(ep_handle);
	dat_receive *receive;

	if (!end || completion & ~DAT_LANE_COMPLETION_FLAGS || num_segments < 0 ||
	    num_segments > 1 || (num_segments && !local_iov) ||
	    !readable(local_iov, (size_t)num_segments * sizeof *local_iov) ||
	    end->rx.received >= end->config.max_receives || end->rx.received >= end->config.room)
		return 0;
	if (num_segments && local_iov->segment_length &&
	    !dat_memory_of(end, local_iov->lmr_context, local_iov->virtual_address,
	                   local_iov->segment_length, DAT_MEM_PRIV_LOCAL_WRITE_FLAG, 0))
		return 0;
	receive = dat_receive_at(end, end->rx.base + end->rx.received);
	*receive = (dat_receive){.cookie = cookie, .completion = completion};
	if (num_segments) {
		receive->addr = local_iov->virtual_address;
		receive->n = (uint32_t)local_iov->segment_length;
		receive->context = local_iov->lmr_context;
	}
	end->rx.received++;
	count(end, DCNT_EP_POST_RECV, receive->n);
	return 1;
}
