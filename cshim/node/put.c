/*
 * put.c - puts in messages. Data that does not fit slots goes in parts, through chunks, so that
 * both ends copy at once. As long as the other end consumes, the sender goes on.
 */
#include "node/put.h"

#include "node/guard.h"

static int send_part(node_link *link, node_peer *peer, const node_transfer *put, int streamed,
                     uint64_t step)
{
	node_part_header part = {put->remote + put->at,
	                         (put->at == 0 ? NODE_PART_FIRST : 0) |
	                                 (streamed ? NODE_PART_STREAMED : 0)};

	return node_send(link, peer, NODE_PART, &part, sizeof(part), put->local + put->at, step);
}

int node_put(node_link *link, node_peer *peer, node_transfer *put, int streamed)
{
	uint64_t step = put->n <= NODE_INLINE_MAX ? NODE_INLINE_MAX : node_chunk_step(link, put->n);
	node_put_header last = {.notice = {put->notice[0], put->notice[1]}};
	int rc;

	for (; put->n - put->at > step; put->at += step) {
		rc = send_part(link, peer, put, streamed, step);
		if (rc != NODE_SENT)
			return rc;
	}
	last.addr = put->remote + put->at;
	rc = node_send(link, peer, put->at ? NODE_LAST : NODE_PUT, &last, sizeof(last),
	               put->local + put->at, put->n - put->at);
	if (rc == NODE_SENT)
		put->at = put->n;
	return rc;
}
