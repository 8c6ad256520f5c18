/* lane_send.c - the origin's side of small puts and active messages. Whatever is not as usual returns CSHIM_LANE_PASS. */
#include "lane_path.h"

#include <string.h>

#include "lane_send.h"

/* The origin's half is over: its buffer is free, as the data was copied. */
static void sent(cshim_context *context, cshim_lane *lane, cshim_path *path, lapi_err_t kind, uint64_t org_cntr, uint64_t cmpl_cntr)
{
	cshim_lane_note(lane, path, kind);
	if (cmpl_cntr)
		path->expected++;
	context->msg_state |= LAPI_SEND_COMPLETE;
	cshim_lane_count(context, lane, org_cntr, kind, context->task, path->task);
}

int cshim_lane_put(cshim_context *context, uint32_t tgt, uint64_t len, uint64_t tgt_addr, uint64_t org_addr, uint64_t tgt_cntr,
                   uint64_t org_cntr, uint64_t cmpl_cntr)
{
	cshim_lane *lane = cshim_lane_of(context);
	cshim_path *path = cshim_lane_path(context, lane, tgt);
	cshim_put_header *header;
	cshim_append append;

	if (!path || len > CSHIM_LANE_DATA || (len && (!tgt_addr || !org_addr)) ||
	    !cshim_append_begin(path, sizeof(*header) + len, &append))
		return CSHIM_LANE_PASS;
	header = (cshim_put_header *)append.body;
	header->tgt_addr = tgt_addr;
	header->tgt_cntr = tgt_cntr;
	header->cmpl_cntr = cmpl_cntr;
	if (cshim_guarded_copy(header + 1, (const void *)(uintptr_t)org_addr, len))
		return CSHIM_LANE_PASS; /* nothing was published: core meets the same fault */
	cshim_append_end(cshim_paths_of(lane), path, &append, CSHIM_MSG_PUT, sizeof(*header), len);
	sent(context, lane, path, PUT_ERR, org_cntr, cmpl_cntr);
	return CSHIM_LANE_DONE;
}

int cshim_lane_amsend(cshim_context *context, uint32_t tgt, uint64_t hdr_hdl, uint64_t uhdr, uint32_t uhdr_len, uint64_t udata,
                      uint64_t udata_len, uint64_t tgt_cntr, uint64_t org_cntr, uint64_t cmpl_cntr)
{
	cshim_lane *lane = cshim_lane_of(context);
	cshim_path *path = cshim_lane_path(context, lane, tgt);
	uint64_t padding = -(uint64_t)uhdr_len & 7, header_bytes;
	cshim_am_header *header;
	cshim_append append;

	if (!path || !hdr_hdl || hdr_hdl >> CSHIM_AM_PADDING_SHIFT || uhdr_len > CSHIM_LANE_UHDR || (uhdr_len && !uhdr) ||
	    (lane->error_check && uhdr_len % 4) || (udata_len && !udata) || udata_len > CSHIM_LANE_DATA ||
	    uhdr_len + udata_len > CSHIM_LANE_DATA)
		return CSHIM_LANE_PASS;
	header_bytes = sizeof(*header) + uhdr_len + padding;
	if (!cshim_append_begin(path, header_bytes + udata_len, &append))
		return CSHIM_LANE_PASS;
	header = (cshim_am_header *)append.body;
	header->handler = hdr_hdl | padding << CSHIM_AM_PADDING_SHIFT;
	header->tgt_cntr = tgt_cntr;
	header->cmpl_cntr = cmpl_cntr;
	if (padding)
		memset(append.body + header_bytes - 8, 0, 8);
	if (cshim_guarded_copy(header + 1, (const void *)(uintptr_t)uhdr, uhdr_len) ||
	    cshim_guarded_copy(append.body + header_bytes, (const void *)(uintptr_t)udata, udata_len))
		return CSHIM_LANE_PASS;
	cshim_append_end(cshim_paths_of(lane), path, &append, CSHIM_MSG_AM_SMALL, header_bytes, udata_len);
	sent(context, lane, path, AM_ERR, org_cntr, cmpl_cntr);
	return CSHIM_LANE_DONE;
}
