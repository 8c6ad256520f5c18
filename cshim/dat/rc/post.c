/* post.c - posting sends, writes, reads and atomic operations, and sending them. */
#include "dat/rc/private.h"
#include "node/timed.h"

#include <stdlib.h>
#include <string.h>

/* Where the rest of a request's data begins: at most *n bytes of it are there, the others
 * elsewhere. */
static uint64_t rest_of(const dat_request *request, uint32_t *n)
{
	const dat_segment *segments = rc_segments(&request->local);
	uint32_t at = request->sent, i;

	for (i = 0; i < request->local.segments; i++) {
		if (at < segments[i].n) {
			if (*n > segments[i].n - at)
				*n = segments[i].n - at;
			return segments[i].at + at;
		}
		at -= segments[i].n;
	}
	*n = 0;
	return 0;
}

/* Sends at most n bytes of the rest of a request. NODE_SENT, or why not. */
static inline int send_part(const dat_end *end, uint32_t seq, dat_request *request, uint32_t n)
{
	dat_header header = dat_header_of(end, seq, request);
	uint64_t from = rest_of(request, &n);
	int rc = node_send_inline(dat_link_of(end), dat_peer_of(end), DAT_MSG_DATA, &header,
	                          sizeof(header), from, n);

	if (rc == NODE_SENT)
		request->sent += n;
	return rc;
}

/* All of the rest in parts, so that both ends copy at once, by the pipeline that was chosen. */
static int send_parts(const dat_end *end, uint32_t seq, dat_request *request)
{
	node_link *link = dat_link_of(end);
	uint64_t step = request->local.n <= NODE_INLINE_MAX ? NODE_INLINE_MAX
	                                              : node_chunk_step(link, request->local.n);
	int rc = NODE_SENT;

	node_chunks_limit(link, request->route);
	while (request->sent < request->local.n && rc == NODE_SENT) {
		uint32_t left = request->local.n - request->sent;

		rc = send_part(end, seq, request, left < step ? left : (uint32_t)step);
	}
	node_chunks_limit(link, NODE_ROUTES);
	return rc;
}

/* The data of several segments behind one another; 1 if it cannot be read. */
static int gather(void *to, const dat_request *request)
{
	const dat_segment *segments = rc_segments(&request->local);
	unsigned char *at = to;
	uint32_t i;

	for (i = 0; i < request->local.segments; at += segments[i++].n)
		if (node_guarded_copy(at, node_memory_at(segments[i].at), segments[i].n))
			return 1;
	return 0;
}

/* All of a request that fits one slot with its header, which is written where it goes. */
static inline int send_short(const dat_end *end, uint32_t seq, dat_request *request)
{
	dat_header *header = node_short_begin(dat_peer_of(end));

	if (!header)
		return NODE_BUSY;
	dat_write_header(header, end, seq, request);
	if (__builtin_expect(request->local.more != 0, 0)
	            ? gather(header + 1, request)
	            : node_guarded_copy_short(header + 1, node_memory_at(request->local.first.at),
	                                      request->local.n))
		return NODE_BAD_LOCAL;
	request->sent = request->local.n;
	return node_short_end(dat_link_of(end), dat_peer_of(end), DAT_MSG_DATA, sizeof(*header),
	                      request->local.n);
}

static int send_request(dat_end *end, uint32_t seq, dat_request *request)
{
	if (request->op >= RC_READ)
		return rc_ask(end, seq, request);
	if (__builtin_expect(dat_is_pulled(request), 0))
		return rc_pull(end, seq, request);
	if (request->local.n <= NODE_ONE_SLOT - sizeof(dat_header))
		return send_short(end, seq, request);
	return request->local.n <= NODE_INLINE_MAX && !request->local.more
	               ? send_part(end, seq, request, request->local.n)
	               : send_parts(end, seq, request);
}

/* 1 if a request may begin now. */
static int may_begin(const dat_end *end, const dat_request *request)
{
	return !(request->held & RC_HELD_TURN) &&
	       !(request->held & RC_HELD_ASKS && end->tx.asked >= end->config.reads) &&
	       !(request->held & RC_HELD_FENCE && end->tx.asked);
}

static void is_bad(dat_request *request)
{
	request->status = DAT_DTO_ERR_LOCAL_PROTECTION;
	request->held |= RC_HELD_TURN;
}

/* A request could not be sent. */
static void not_sent(dat_end *end, dat_request *request, int rc)
{
	switch (rc) {
	case NODE_BUSY:
		dat_the_lane.unsent = 1;
		break;
	case NODE_BAD_LOCAL:
		is_bad(request);
		break;
	case NODE_GONE: /* core sees that */
		break;
	default:
		rc_over(end, RC_BROKEN);
	}
}

void rc_send(dat_end *end)
{
	while (end->tx.sent < end->tx.posted && !end->tx.blocked) {
		dat_request *request = rc_request_at(end, end->tx.sent);
		int rc;

		if (__builtin_expect(request->held != 0, 0) && !may_begin(end, request))
			return;
		if (dat_peer_of(end)->closed) {
			dat_the_lane.unsent = 1;
			return;
		}
		rc = send_request(end, end->tx.oldest + end->tx.sent, request);
		if (rc != NODE_SENT) {
			not_sent(end, request, rc);
			return;
		}
		end->tx.asked += (uint32_t)rc_asks(request);
		end->tx.sent++;
	}
}

dat_request *rc_new_request(dat_end *end)
{
	dat_request *request;

	if (__builtin_expect(end->tx.posted == end->tx.ring.room, 0) &&
	    !dat_ring_grow(&end->tx.ring, end->tx.posted, sizeof(*request), RC_ROOM_FIRST,
	                   RC_ROOM_MOST))
		return NULL;
	request = rc_request_at(end, end->tx.posted);
	dat_clear(request, sizeof(*request));
	request->route = NODE_ROUTES;
	return request;
}

/* The own memory; 0: there is no memory for it. A request whose memory is bad fails in its turn. */
static inline int find_local(const dat_end *end, const dat_post *post, dat_request *request)
{
	DAT_RETURN result = rc_find_local(end->config.pz, dat_access_of(post), post->num_segments,
	                                  post->local_iov, &request->local);

	if (__builtin_expect(result == RC_NOT_ACCESSIBLE, 0))
		is_bad(request);
	return result != RC_NO_MEMORY;
}

static void fill(dat_request *request, const dat_post *post)
{
	request->cookie = post->cookie;
	request->op = (uint8_t)post->op;
	request->flags = post->flags;
	if (post->completion & DAT_COMPLETION_SOLICITED_WAIT_FLAG)
		request->flags |= RC_SOLICITED;
	request->held = (uint8_t)((post->op >= RC_READ ? RC_HELD_ASKS : 0) |
	                          (post->completion & DAT_COMPLETION_BARRIER_FENCE_FLAG
	                                   ? RC_HELD_FENCE
	                                   : 0));
	request->completion = post->completion;
	request->data = post->data;
	request->operand = post->operand;
	request->compare = post->compare;
	if (post->op != RC_SEND) {
		request->addr = post->remote_iov->virtual_address;
		request->context = post->remote_iov->rmr_context;
	} else if (post->flags & RC_INVALIDATE) {
		request->context = post->data;
	}
}

/* 1 if a request may go by a copy between the two processes. */
static inline int may_copy(const dat_request *request)
{
	return (request->op == RC_WRITE || request->op == RC_READ) && !request->status &&
	       !(request->flags & RC_IMMEDIATE);
}

DAT_RETURN rc_post_node(dat_end *end, const dat_post *post)
{
	dat_request *request = rc_new_request(end);
	uint32_t seq;

	if (!request)
		return RC_NO_MEMORY;
	fill(request, post);
	if (!find_local(end, post, request))
		return RC_NO_MEMORY;
	if (may_copy(request) && rc_direct(end, request) == DAT_DIRECT_DONE) {
		dat_count_post(end->counters, post, request->local.n);
		rc_release(&request->local);
		return DAT_SUCCESS;
	}
	if (__builtin_expect(!end->on, 0)) {
		rc_release(&request->local);
		return DAT_QUEUE_EMPTY;
	}
	seq = end->tx.oldest + end->tx.posted++;
	rc_await(end);
	dat_count_post(end->counters, post, request->local.n);
	rc_send(end);
	if (__builtin_expect(end->tx.sent != end->tx.posted, 0))
		rc_advance(end);
	if (__builtin_expect(request->begun != 0, 0) && end->on)
		rc_time(end, request, seq);
	if (__builtin_expect(dat_the_lane.untimed != 0, 0)) {
		dat_the_lane.untimed = 0;
		cshim_kick(&dat_progress); /* from now on something is due from a peer */
	}
	return DAT_SUCCESS;
}
