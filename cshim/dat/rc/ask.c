/*
 * ask.c - reads and atomic operations by messages: request, answer. Of a peer that polls that
 * takes less than a system call; and one that may not be copied from is reached by nothing else.
 */
#include "dat/rc/private.h"

_Static_assert(DAT_LANE_SWAP + 1 == DAT_LANE_ADD, "all behind reads are atomic");

int dat_lane_ask(dat_end *end, uint32_t seq, dat_request *request)
{
	dat_ask ask = {dat_header_of(end, seq, request), request->operand, request->compare};
	node_link *link = dat_link_of(end);
	node_message message;
	int rc = dat_peer_of(end)->closed
	                 ? NODE_BUSY
	                 : node_begin(link, dat_peer_of(end), sizeof(ask), 0, &message);

	if (rc != NODE_SENT)
		return rc;
	if (node_route_is_pipeline(request->route))
		ask.header.flags |= DAT_FLAG_HOW | node_how(link, request->route)
		                                           << DAT_FLAG_HOW_AT;
	memcpy(message.header, &ask, sizeof(ask));
	request->sent = 1;
	return node_end(link, dat_peer_of(end), &message, DAT_MSG_ASK, sizeof(ask));
}

/* What is in front of a part of an answer. */
static dat_header answer_header(const dat_end *end, const dat_header *asked)
{
	return (dat_header){.conn = end->config.peer_index,
	                    .tag = end->config.peer_tag,
	                    .seq = asked->seq,
	                    .op = asked->op,
	                    .total = asked->total,
	                    .done = asked->seq};
}

/* An atomic operation; 0: core says what is wrong, or there is no room for the answer. */
static int operate(dat_end *end, const dat_ask *ask)
{
	int op = ask->header.op == DAT_LANE_ADD ? NODE_ADD : NODE_CAS;
	dat_header header = answer_header(end, &ask->header);
	uint64_t at = dat_memory_of(end, ask->header.context, ask->header.addr, 8,
	                            DAT_IB_MEM_PRIV_REMOTE_ATOMIC, 1);
	node_peer *peer = dat_peer_of(end);
	void *reply;

	/* The same instruction as LAPI_Rmw64 by the lane and core have: atomic with them. */
	if (!at || at % 8 || ask->header.total != 8 || peer->closed ||
	    !(reply = node_short_begin(peer)) ||
	    node_guarded_rmw(op, 8, node_memory_at(at), ask->operand, ask->compare, &header.addr))
		return 0;
	memcpy(reply, &header, sizeof(header));
	if (node_short_end(dat_link_of(end), peer, DAT_MSG_REPLY, sizeof(header), 0) != NODE_SENT)
		dat_the_lane.stuck = end->stuck = 1;
	dat_lane_passed(end);
	return 1;
}

/* The rest of an answer, whose data is at an address: NODE_SENT, or why it was not sent. */
static int answer_from(dat_end *end, const dat_header *asked, uint64_t from)
{
	node_link *link = dat_link_of(end);
	node_peer *peer = dat_peer_of(end);
	dat_header header = answer_header(end, asked);
	uint64_t step = asked->total <= NODE_INLINE_MAX ? NODE_INLINE_MAX
	                                                : node_chunk_step(link, asked->total);

	while (end->rx.got < asked->total) {
		uint32_t left = asked->total - end->rx.got,
			 part = left < step ? left : (uint32_t)step;
		int rc;

		header.offset = end->rx.got;
		rc = peer->closed ? NODE_BUSY
		                  : node_send_inline(link, peer, DAT_MSG_REPLY, &header,
		                                     sizeof(header), from + end->rx.got, part);
		if (rc != NODE_SENT)
			return rc;
		end->rx.got += part;
	}
	return NODE_SENT;
}

/* How a request for data wants it. */
static uint32_t how_asked(const node_link *link, const dat_header *asked)
{
	return asked->flags & DAT_FLAG_HOW ? asked->flags >> DAT_FLAG_HOW_AT & NODE_HOW_ALL
	                                   : node_how(link, NODE_ROUTES);
}

/* Sends an answer from end->got on; its request is coming. */
static int answer(dat_end *end)
{
	dat_header asked;
	uint64_t from;
	int rc;

	memcpy(&asked, end->rx.coming, sizeof(asked));
	from = dat_memory_of(end, asked.context, asked.addr, asked.total,
	                     DAT_MEM_PRIV_REMOTE_READ_FLAG, 1);
	if (!from)
		return NODE_BAD_LOCAL;
	node_chunks_how(dat_link_of(end), how_asked(dat_link_of(end), &asked));
	rc = answer_from(end, &asked, from);
	node_chunks_limit(dat_link_of(end), NODE_ROUTES);
	if (rc == NODE_SENT)
		dat_lane_passed(end);
	return rc;
}

void dat_lane_answer(dat_end *end)
{
	int rc = answer(end);

	if (rc == NODE_BUSY && !dat_peer_of(end)->closed)
		dat_the_lane.unsent = 1;
	else if (rc != NODE_SENT)
		dat_the_lane.stuck = end->stuck = 1; /* core says what is wrong */
}

int dat_lane_asked(dat_end *end, const node_arrival *arrival)
{
	dat_ask ask;

	/* not at once with the header that its end was found by: read once */
	node_take_words(&ask, arrival->body, sizeof(dat_header));
	node_take_words(&ask.operand, arrival->body + sizeof(dat_header),
	                sizeof(ask) - sizeof(dat_header));
	if (ask.header.conn != end->config.index || ask.header.tag != end->config.tag ||
	    ask.header.seq != end->rx.expected || end->rx.state || ask.header.attempt ||
	    arrival->data || !ask.header.total)
		return 0;
	if (ask.header.op > DAT_LANE_READ)
		return ask.header.op <= DAT_LANE_ADD && operate(end, &ask);
	if (ask.header.op != DAT_LANE_READ ||
	    !dat_memory_of(end, ask.header.context, ask.header.addr, ask.header.total,
	                   DAT_MEM_PRIV_REMOTE_READ_FLAG, 1))
		return 0;
	memcpy(end->rx.coming, &ask.header, sizeof(ask.header));
	end->rx.state = DAT_COMING_ASK;
	end->rx.got = 0;
	dat_lane_answer(end);
	return 1;
}

/* Where the next bytes of an answer go; 0: core says what is wrong. */
static uint64_t place_of(const dat_end *end, const dat_request *request, const dat_header *header,
                         uint64_t n)
{
	uint64_t at;

	if (request->op != header->op || header->offset != request->got ||
	    n > request->n - request->got || (!n && request->op == DAT_LANE_READ))
		return 0;
	at = dat_local_of(end, request);
	return at ? at + header->offset : 0;
}

int dat_lane_reply(dat_end *end, const dat_header *header, const node_arrival *arrival)
{
	dat_request *request = dat_request_at(end, header->seq);
	int reads = request->op == DAT_LANE_READ;
	uint64_t n = reads ? arrival->data : sizeof(header->addr), at;
	const void *from = reads ? (const void *)(uintptr_t)arrival->bytes : &header->addr;

	if (header->seq - end->tx.oldest >= end->tx.sent || request->op < DAT_LANE_READ ||
	    (!reads && arrival->data) || !(at = place_of(end, request, header, n)) ||
	    node_guarded_copy(node_memory_at(at), from, n))
		return 0;
	request->got += (uint32_t)n;
	/* If an event is core's the request is complete there. */
	if (request->got == request->n && !dat_lane_done(end, end->tx.done))
		dat_the_lane.stuck = end->stuck = 1;
	return 1;
}
