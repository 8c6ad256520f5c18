/* lane_send.c - active messages that do not fit a slot. lane_origin.h has the others. */
#include "lane/lane_send.h"

#include <string.h>

#include "lane/lane_shared.h"

_Static_assert((8 + sizeof(cshim_am_header) + CSHIM_LANE_UHDR + NODE_INLINE_MAX + NODE_SLOT_SIZE -
                1) / NODE_SLOT_SIZE <=
                       NODE_MESSAGE_SLOTS,
               "any active message without a chunk fits the slots of a message");

/* 1 if a whole active message of that much data is for the lane: core reads longer messages, or
 * lets the target read them. */
static int am_fits(const node_peer *peer, uint64_t udata_len)
{
	return udata_len <= NODE_INLINE_MAX ||
	       (udata_len <= CSHIM_LANE_AM && (!peer->direct || node_polls(peer)));
}

int cshim_lane_am_long(cshim_context *context, cshim_lane *lane, node_peer *peer, uint64_t hdr_hdl,
                       uint64_t uhdr, uint32_t uhdr_len, uint64_t udata, uint64_t udata_len,
                       uint64_t tgt_cntr, uint64_t org_cntr, uint64_t cmpl_cntr)
{
	uint64_t padding, header_bytes;
	cshim_am_header *header;
	node_message message;

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
