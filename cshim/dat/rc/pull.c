/*
 * pull.c - writes whose data the target reads from the origin's memory, all or half, for two
 * that poll (../node/route.h):
 *
 *	origin                          target
 *	DAT_MSG_PULL ─────────────────>
 *	writes the first half           reads the second, but the last line
 *	DAT_MSG_HALF ─────────────────> has the last line
 *	             <───────────────── the request has taken effect
 *
 * The target looks up its context for each. Data that it cannot read is sent again in messages
 * (READY). Only a write in front of which nothing is under way has a half written
 * by the origin: that half would overtake.
 */
#include "dat/rc/private.h"

#include <string.h>

/* Slots of the two messages, and those skipped at the ring's end. */
enum { SLOTS = 2 + 1 + 2 + 1 };

static uint64_t own_half(const dat_request *request)
{
	return request->route == NODE_ROUTE_HALVES ? node_first_half(request->local.n) : 0;
}

/* The origin's half, and the message that it is there, or could not be. */
static int send_half(const dat_end *end, const dat_request *request, dat_header *header)
{
	uint64_t last = dat_last_part(request->addr, request->local.n);
	uint64_t own = own_half(request), at = 0, moved = 1;

	while (at < own && moved) {
		uint64_t left = own - at;

		moved = rc_copy_part(end, request, at,
		                     left < DAT_COPY_PART ? left : DAT_COPY_PART);
		at += moved;
	}
	header->offset = request->local.n - (uint32_t)last;
	header->status = at < own;
	return node_send(dat_link_of(end), dat_peer_of(end), DAT_MSG_HALF, header, sizeof(*header),
	                 request->local.first.at + header->offset, last);
}

int rc_pull(dat_end *end, uint32_t seq, dat_request *request)
{
	uint64_t own = own_half(request);
	dat_ask pull = {dat_header_of(end, seq, request), request->local.first.at, own};
	node_peer *peer = dat_peer_of(end);
	node_message message;
	int rc = NODE_BUSY;

	if (node_room(peer, SLOTS))
		rc = node_begin(dat_link_of(end), peer, sizeof(pull), 0, &message);
	if (rc != NODE_SENT)
		return rc;
	memcpy(message.header, &pull, sizeof(pull));
	rc = node_end(dat_link_of(end), peer, &message, DAT_MSG_PULL, sizeof(pull));
	if (rc == NODE_SENT && own)
		rc = send_half(end, request, &pull.header);
	if (rc == NODE_SENT)
		request->sent = request->local.n;
	else /* the target gets no half, and all of it by messages */
		request->route = NODE_ROUTES;
	return rc;
}

/* Reads bytes of the origin's memory to this process's, at most once around. */
static int read_all(const dat_end *end, uint64_t from, const node_range *all, uint32_t ranges)
{
	node_range now = all[0], there, to[2];
	uint64_t left = now.n, moved;

	if (ranges > 1)
		left += all[1].n;
	while (left) {
		to[0] = now;
		to[1] = all[ranges - 1];
		there = (node_range){from, left};
		if (node_copy_ranges(dat_link_of(end), dat_peer_of(end), 1, to, ranges, &there, 1,
		                     &moved) != NODE_SENT)
			return 0;
		left -= moved;
		from += moved;
		if (ranges > 1 && moved >= now.n) {
			moved -= now.n;
			now = all[1];
			ranges = 1;
			all++;
		}
		now.addr += moved;
		now.n -= moved;
	}
	return 1;
}

/* Data that cannot be read is sent by messages. */
static void send_again(dat_end *end)
{
	rc_restart(end);
	rc_tell(end);
}

void rc_pulled(dat_end *end, const dat_ask *pull)
{
	uint64_t at, last, own = pull->compare;
	node_range to[2] = {{0, 0}, {0, 0}};

	if (end->rx.state || pull->header.op != RC_WRITE || pull->header.flags & RC_IMMEDIATE ||
	    pull->header.total > DAT_PULL_MAX) {
		rc_fail(end, pull->header.seq, DAT_DTO_ERR_BAD_RESPONSE);
		return;
	}
	if (!(at = rc_target(end, &pull->header))) {
		rc_fail(end, pull->header.seq, DAT_DTO_ERR_REMOTE_ACCESS);
		return;
	}
	/*
	 * the kernel's copy needs the line of at itself; a half needs the same number as the origin
	 * computes
	 */
	last = dat_last_part(own ? pull->header.addr : at, pull->header.total);
	if (!last || own >= pull->header.total - last) {
		send_again(end);
		return;
	}
	to[0] = (node_range){at + own, pull->header.total - last - own};
	to[1] = (node_range){at + pull->header.total - last, last};
	if (!read_all(end, pull->operand + own, to, own ? 1 : 2)) {
		send_again(end);
		return;
	}
	if (!own) {
		rc_passed(end);
		return;
	}
	memcpy(end->rx.coming, pull, sizeof(*pull));
	end->rx.state = DAT_COMING_PULL;
}

void rc_half(dat_end *end, const dat_header *header, const node_arrival *arrival)
{
	dat_header pull;
	uint64_t at;

	memcpy(&pull, end->rx.coming, sizeof(pull));
	if (end->rx.state != DAT_COMING_PULL || header->seq != end->rx.expected ||
	    header->attempt != end->rx.attempt)
		return; /* the write is sent again */
	if (header->status) {
		send_again(end);
		return;
	}
	if (header->total != pull.total || header->offset > pull.total ||
	    arrival->data != pull.total - header->offset ||
	    arrival->data != dat_last_part(pull.addr, pull.total)) {
		rc_fail(end, header->seq, DAT_DTO_ERR_BAD_RESPONSE);
		return;
	}
	if (!(at = rc_target(end, &pull)) ||
	    node_guarded_copy(node_memory_at(at + header->offset),
	                      (const void *)(uintptr_t)arrival->bytes, arrival->data)) {
		rc_fail(end, header->seq, DAT_DTO_ERR_REMOTE_ACCESS);
		return;
	}
	rc_passed(end);
}
