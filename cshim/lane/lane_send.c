/* lane_send.c - the origin's side of puts and active messages, and LAPI_Fence. Whatever is not as
 * usual returns CSHIM_LANE_PASS. */
#include "lane_send.h"

#include <string.h>

#include "arm.h"
#include "lane_shared.h"

int cshim_lane_put(cshim_context *context, uint32_t tgt, uint64_t len, uint64_t tgt_addr,
                   uint64_t org_addr, uint64_t tgt_cntr, uint64_t org_cntr, uint64_t cmpl_cntr)
{
	cshim_lane *lane = cshim_lane_of(context);
	node_peer *peer = cshim_lane_peer(context, lane, tgt);

	if (!peer || (len && (!tgt_addr || !org_addr)))
		return CSHIM_LANE_PASS;
	if (__builtin_expect(len > NODE_PUT_SHORT || len >= lane->bulk_min, 0)) {
		node_transfer put = {org_addr, tgt_addr, len, 0, {tgt_cntr, cmpl_cntr}};

		return cshim_lane_put_long(context, lane, peer, &put, org_cntr);
	}
	/* If an address is bad nothing was published: core meets the same fault. */
	if (node_put_short(cshim_link_of(lane), peer, tgt_addr, org_addr, len, tgt_cntr,
	                   cmpl_cntr) != NODE_SENT)
		return CSHIM_LANE_PASS;
	cshim_lane_sent(context, lane, peer, PUT_ERR, org_cntr, cmpl_cntr);
	return CSHIM_LANE_DONE;
}

_Static_assert((8 + sizeof(cshim_am_header) + CSHIM_LANE_UHDR + NODE_INLINE_MAX + NODE_SLOT_SIZE -
                1) / NODE_SLOT_SIZE <=
                       NODE_MESSAGE_SLOTS,
               "any active message without a chunk fits the slots of a message");

/* 1 if a whole active message of that much data is for the lane: core reads, or lets the target
 * read, what is longer. */
static int am_fits(const node_peer *peer, uint64_t udata_len)
{
	return udata_len <= NODE_INLINE_MAX ||
	       (udata_len <= CSHIM_LANE_AM && (!peer->direct || node_polls(peer)));
}

/* One without a user header whose data fits one slot. */
static inline int am_short(cshim_context *context, cshim_lane *lane, node_peer *peer,
                           uint64_t hdr_hdl, uint64_t udata, uint64_t udata_len, uint64_t tgt_cntr,
                           uint64_t org_cntr, uint64_t cmpl_cntr)
{
	cshim_am_header *header = node_short_begin(peer);

	if (!header)
		return CSHIM_LANE_PASS;
	header->handler = hdr_hdl;
	header->tgt_cntr = tgt_cntr;
	header->cmpl_cntr = cmpl_cntr;
	if (node_guarded_copy_short(header + 1, (const void *)(uintptr_t)udata, udata_len))
		return CSHIM_LANE_PASS;
	if (node_short_end(cshim_link_of(lane), peer, CSHIM_MSG_AM_SMALL, sizeof(*header),
	                   udata_len) != NODE_SENT)
		return CSHIM_LANE_PASS; /* it has left: core says so */
	cshim_lane_sent(context, lane, peer, AM_ERR, org_cntr, cmpl_cntr);
	return CSHIM_LANE_DONE;
}

int cshim_lane_amsend(cshim_context *context, uint32_t tgt, uint64_t hdr_hdl, uint64_t uhdr,
                      uint32_t uhdr_len, uint64_t udata, uint64_t udata_len, uint64_t tgt_cntr,
                      uint64_t org_cntr, uint64_t cmpl_cntr)
{
	cshim_lane *lane = cshim_lane_of(context);
	node_peer *peer = cshim_lane_peer(context, lane, tgt);
	uint64_t padding, header_bytes;
	cshim_am_header *header;
	node_message message;

	if (!peer || !hdr_hdl || hdr_hdl >> CSHIM_AM_PADDING_SHIFT || (udata_len && !udata) ||
	    udata_len >= lane->bulk_min)
		return CSHIM_LANE_PASS;
	if (uhdr_len == 0 && udata_len <= NODE_ONE_SLOT - sizeof(*header))
		return am_short(context, lane, peer, hdr_hdl, udata, udata_len, tgt_cntr, org_cntr,
		                cmpl_cntr);
	if (uhdr_len > CSHIM_LANE_UHDR || (uhdr_len && !uhdr) ||
	    (lane->error_check && uhdr_len % 4) || !am_fits(peer, udata_len))
		return CSHIM_LANE_PASS;
	padding = -(uint64_t)uhdr_len & 7;
	header_bytes = sizeof(*header) + uhdr_len + padding;
	if (node_begin(cshim_link_of(lane), peer, header_bytes, udata_len, &message) != NODE_SENT)
		return CSHIM_LANE_PASS;
	header = (cshim_am_header *)(void *)message.header;
	header->handler = hdr_hdl | padding << CSHIM_AM_PADDING_SHIFT;
	header->tgt_cntr = tgt_cntr;
	header->cmpl_cntr = cmpl_cntr;
	if (padding)
		memset(message.header + header_bytes - 8, 0, 8);
	if (node_guarded_copy(header + 1, (const void *)(uintptr_t)uhdr, uhdr_len) ||
	    node_fill(cshim_link_of(lane), message.bytes, (uintptr_t)udata, udata_len))
		return CSHIM_LANE_PASS;
	if (node_end(cshim_link_of(lane), peer, &message, CSHIM_MSG_AM_SMALL, header_bytes) !=
	    NODE_SENT)
		return CSHIM_LANE_PASS;
	cshim_lane_sent(context, lane, peer, AM_ERR, org_cntr, cmpl_cntr);
	return CSHIM_LANE_DONE;
}

int cshim_lane_fenced(cshim_context *context)
{
	cshim_lane *lane = cshim_lane_of(context);
	node_link *link;
	uint32_t ring;

	if (!lane || lane->off || lane->go_busy || cshim_link_of(lane)->ops ||
	    cshim_lane_coin(&lane->random))
		return 0;
	/* What was sent in packets only their receiver knows of, so a flush has to ask. */
	if (lane->verbs && cshim_packets_of(lane)->num_news > 0)
		return 0;
	link = cshim_link_of(lane);
	for (ring = 0; ring < link->rings; ring++) {
		node_peer *peer = &link->peer[ring];

		if (!peer->owner[CSHIM_PEER_USED])
			continue;
		node_say_read(link, peer); /* without room it is said later */
		if (peer->closed || node_flushed(peer, peer->sender.tail) != NODE_SENT)
			return 0;
		peer->owner[CSHIM_PEER_USED] = 0;
	}
	return 1;
}
