/*
 * ask.c - reads and atomic operations by messages: request, answer. Of a peer that polls that
 * takes less than a system call; and memory that may not be copied from is reached by nothing else.
 */
#include "dat/rc/private.h"

#include <string.h>

_Static_assert(RC_SWAP + 1 == RC_ADD, "all behind reads are atomic");

int rc_ask(dat_end *end, uint32_t seq, dat_request *request)
{
	dat_ask ask = {dat_header_of(end, seq, request), request->operand, request->compare};
	node_link *link = dat_link_of(end);
	node_message message;
	int rc = node_begin(link, dat_peer_of(end), sizeof(ask), 0, &message);

	if (rc != NODE_SENT)
		return rc;
	if (node_route_is_pipeline(request->route))
		ask.header.flags |= DAT_FLAG_HOW | node_how(link, request->route)
		                                           << DAT_FLAG_HOW_AT;
	memcpy(message.header, &ask, sizeof(ask));
	request->sent = 1;
	return node_end(link, dat_peer_of(end), &message, DAT_MSG_ASK, sizeof(ask));
}

/* The header of a part of an answer. */
static dat_header answer_header(const dat_end *end, const dat_header *asked)
{
	return (dat_header){.conn = end->config.peer_index,
	                    .tag = end->config.peer_tag,
	                    .seq = asked->seq,
	                    .op = asked->op,
	                    .total = asked->total,
	                    .done = asked->seq};
}

/* An atomic operation: NODE_SENT, or why it was not made. */
static int operate(dat_end *end, const dat_ask *ask)
{
	int op = ask->header.op == RC_ADD ? NODE_ADD : NODE_CAS;
	dat_header header = answer_header(end, &ask->header);
	uint64_t at = dat_memory_of(end, ask->header.context, ask->header.addr, 8,
	                            DAT_IB_MEM_PRIV_REMOTE_ATOMIC, 1);
	node_peer *peer = dat_peer_of(end);
	void *reply;

	if (!at || at % 8)
		return NODE_BAD_LOCAL;
	if (peer->closed || !(reply = node_short_begin(peer)))
		return NODE_BUSY;
	/* The same instruction as LAPI_Rmw64 has: atomic with it. */
	if (node_guarded_rmw(op, 8, node_memory_at(at), ask->operand, ask->compare, &header.addr))
		return NODE_BAD_LOCAL;
	memcpy(reply, &header, sizeof(header));
	node_short_end(dat_link_of(end), peer, DAT_MSG_REPLY, sizeof(header), 0);
	return NODE_SENT;
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

/* Sends the answer of a read, from rx.got on. */
static int answer(dat_end *end, const dat_header *asked)
{
	uint64_t from = dat_memory_of(end, asked->context, asked->addr, asked->total,
	                              DAT_MEM_PRIV_REMOTE_READ_FLAG, 1);
	int rc;

	if (!from)
		return NODE_BAD_LOCAL;
	node_chunks_how(dat_link_of(end), how_asked(dat_link_of(end), asked));
	rc = answer_from(end, asked, from);
	node_chunks_limit(dat_link_of(end), NODE_ROUTES);
	return rc;
}

void rc_answer(dat_end *end)
{
	dat_ask ask;
	int rc;

	memcpy(&ask, end->rx.coming, sizeof(ask));
	rc = ask.header.op == RC_READ ? answer(end, &ask.header) : operate(end, &ask);
	if (rc == NODE_SENT)
		rc_passed(end);
	else if (rc == NODE_BUSY)
		dat_the_lane.unsent = 1;
	else if (rc == NODE_BAD_LOCAL)
		rc_fail(end, ask.header.seq, DAT_DTO_ERR_REMOTE_ACCESS);
}

void rc_asked(dat_end *end, const dat_ask *ask)
{
	if (end->rx.state || ask->header.op < RC_READ || ask->header.op > RC_ADD ||
	    (ask->header.op > RC_READ && ask->header.total != 8)) {
		rc_fail(end, ask->header.seq, DAT_DTO_ERR_BAD_RESPONSE);
		return;
	}
	if (!ask->header.total) {
		rc_passed(end);
		return;
	}
	memcpy(end->rx.coming, ask, sizeof(*ask));
	end->rx.state = DAT_COMING_ASK;
	rc_answer(end);
}

void rc_reply(dat_end *end, const dat_header *header, const node_arrival *arrival)
{
	uint32_t i = header->seq - end->tx.oldest;
	dat_request *request;
	const void *from = (const void *)(uintptr_t)arrival->bytes;
	uint64_t n = arrival->data;

	if (!end->on || i >= end->tx.sent)
		return; /* of a request that was asked for again */
	request = rc_request_at(end, i);
	if (rc_asks(request) && request->op != RC_READ) {
		from = &header->addr;
		n = sizeof(header->addr);
	}
	if (!rc_asks(request) || request->op != header->op || header->offset != request->got ||
	    n > request->local.n - request->got || !n) {
		rc_fail(end, header->seq, DAT_DTO_ERR_BAD_RESPONSE);
		return;
	}
	if (!rc_scatter(end->config.pz, request->flags & RC_TO_RMR,
	                &request->local, request->got, from, n)) {
		request->status = DAT_DTO_ERR_LOCAL_PROTECTION; /* those in front complete first */
		request->held |= RC_HELD_TURN;
	}
	request->got += (uint32_t)n;
	if (request->got == request->local.n || request->status)
		rc_done(end, end->tx.done);
}
