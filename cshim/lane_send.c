/* lane_send.c - the origin's side of puts and active messages. Whatever is not as usual returns CSHIM_LANE_PASS. */
#include "lane_path.h"

#include <string.h>

#include "lane_send.h"

/* A put whose data fits one slot with its header. */
static inline int put_short(cshim_context *context, cshim_lane *lane, cshim_path *path, uint64_t len, uint64_t tgt_addr, uint64_t org_addr,
                            uint64_t tgt_cntr, uint64_t org_cntr, uint64_t cmpl_cntr)
{
	cshim_put_header *header = cshim_one_slot_begin(path);

	if (!header)
		return CSHIM_LANE_PASS;
	header->tgt_addr = tgt_addr;
	header->tgt_cntr = tgt_cntr;
	header->cmpl_cntr = cmpl_cntr;
	if (cshim_guarded_copy_short(header + 1, (const void *)(uintptr_t)org_addr, len))
		return CSHIM_LANE_PASS; /* nothing was published: core meets the same fault */
	cshim_one_slot_end(cshim_paths_of(lane), path, CSHIM_MSG_PUT, sizeof(*header), len);
	cshim_lane_sent(context, lane, path, PUT_ERR, org_cntr, cmpl_cntr);
	return CSHIM_LANE_DONE;
}

int cshim_lane_put(cshim_context *context, uint32_t tgt, uint64_t len, uint64_t tgt_addr, uint64_t org_addr, uint64_t tgt_cntr,
                   uint64_t org_cntr, uint64_t cmpl_cntr)
{
	cshim_lane *lane = cshim_lane_of(context);
	cshim_path *path = cshim_lane_path(context, lane, tgt);
	cshim_put_header *header;
	cshim_append append;

	if (!path || (len && (!tgt_addr || !org_addr)) || len >= lane->bulk_min)
		return CSHIM_LANE_PASS;
	if (__builtin_expect(len <= CSHIM_ONE_SLOT - sizeof(*header), 1))
		return put_short(context, lane, path, len, tgt_addr, org_addr, tgt_cntr, org_cntr, cmpl_cntr);
	if (len > CSHIM_INLINE_MAX) {
		cshim_put_header put = {tgt_addr, tgt_cntr, cmpl_cntr};

		return cshim_bulk_put(context, path, len, &put, org_addr, org_cntr);
	}
	if (!cshim_append_begin(path, sizeof(*header) + len, &append))
		return CSHIM_LANE_PASS;
	header = (cshim_put_header *)append.body;
	header->tgt_addr = tgt_addr;
	header->tgt_cntr = tgt_cntr;
	header->cmpl_cntr = cmpl_cntr;
	if (cshim_guarded_copy(header + 1, (const void *)(uintptr_t)org_addr, len))
		return CSHIM_LANE_PASS; /* nothing was published: core meets the same fault */
	cshim_append_end(cshim_paths_of(lane), path, &append, CSHIM_MSG_PUT, sizeof(*header), len);
	cshim_lane_sent(context, lane, path, PUT_ERR, org_cntr, cmpl_cntr);
	return CSHIM_LANE_DONE;
}

/* Where header and data of an active message go: slots, or a chunk for the data. */
typedef struct am_place {
	int chunked;
	cshim_append append;
	cshim_chunk chunk;
	unsigned char *header, *bytes;
} am_place;

_Static_assert((8 + sizeof(cshim_am_header) + CSHIM_LANE_UHDR + CSHIM_INLINE_MAX + CSHIM_SLOT_SIZE - 1) / CSHIM_SLOT_SIZE <= CSHIM_MESSAGE_SLOTS,
               "any active message without a chunk fits the slots of a message");

static int am_begin(const cshim_paths *paths, cshim_path *path, uint64_t header, uint64_t data, am_place *place)
{
	place->chunked = data > CSHIM_INLINE_MAX;
	if (place->chunked) {
		if (!cshim_chunk_begin(paths, path, header, data, &place->chunk))
			return 0;
		place->header = place->chunk.header;
		place->bytes = place->chunk.bytes;
		return 1;
	}
	if (!cshim_append_begin(path, header + data, &place->append))
		return 0;
	place->header = place->append.body;
	place->bytes = place->header + header;
	return 1;
}

static void am_end(cshim_paths *paths, cshim_path *path, am_place *place, uint64_t header, uint64_t data)
{
	if (place->chunked)
		cshim_chunk_end(paths, path, &place->chunk, CSHIM_MSG_AM_SMALL, header);
	else
		cshim_append_end(paths, path, &place->append, CSHIM_MSG_AM_SMALL, header, data);
}

/* 1 if a whole active message of that much data is for the lane: core reads, or lets the target read, what is longer. */
static int am_fits(const cshim_path *path, uint64_t udata_len)
{
	return udata_len <= CSHIM_INLINE_MAX || (udata_len <= CSHIM_LANE_AM && (!path->direct || cshim_attends(path)));
}

/* One without a user header whose data fits one slot. */
static inline int am_short(cshim_context *context, cshim_lane *lane, cshim_path *path, uint64_t hdr_hdl, uint64_t udata, uint64_t udata_len,
                           uint64_t tgt_cntr, uint64_t org_cntr, uint64_t cmpl_cntr)
{
	cshim_am_header *header = cshim_one_slot_begin(path);

	if (!header)
		return CSHIM_LANE_PASS;
	header->handler = hdr_hdl;
	header->tgt_cntr = tgt_cntr;
	header->cmpl_cntr = cmpl_cntr;
	if (cshim_guarded_copy_short(header + 1, (const void *)(uintptr_t)udata, udata_len))
		return CSHIM_LANE_PASS;
	cshim_one_slot_end(cshim_paths_of(lane), path, CSHIM_MSG_AM_SMALL, sizeof(*header), udata_len);
	cshim_lane_sent(context, lane, path, AM_ERR, org_cntr, cmpl_cntr);
	return CSHIM_LANE_DONE;
}

int cshim_lane_amsend(cshim_context *context, uint32_t tgt, uint64_t hdr_hdl, uint64_t uhdr, uint32_t uhdr_len, uint64_t udata,
                      uint64_t udata_len, uint64_t tgt_cntr, uint64_t org_cntr, uint64_t cmpl_cntr)
{
	cshim_lane *lane = cshim_lane_of(context);
	cshim_path *path = cshim_lane_path(context, lane, tgt);
	uint64_t padding, header_bytes;
	cshim_am_header *header;
	am_place place;

	if (!path || !hdr_hdl || hdr_hdl >> CSHIM_AM_PADDING_SHIFT || (udata_len && !udata) || udata_len >= lane->bulk_min)
		return CSHIM_LANE_PASS;
	if (uhdr_len == 0 && udata_len <= CSHIM_ONE_SLOT - sizeof(*header))
		return am_short(context, lane, path, hdr_hdl, udata, udata_len, tgt_cntr, org_cntr, cmpl_cntr);
	if (uhdr_len > CSHIM_LANE_UHDR || (uhdr_len && !uhdr) || (lane->error_check && uhdr_len % 4) || !am_fits(path, udata_len))
		return CSHIM_LANE_PASS;
	padding = -(uint64_t)uhdr_len & 7;
	header_bytes = sizeof(*header) + uhdr_len + padding;
	if (!am_begin(cshim_paths_of(lane), path, header_bytes, udata_len, &place))
		return CSHIM_LANE_PASS;
	header = (cshim_am_header *)(void *)place.header;
	header->handler = hdr_hdl | padding << CSHIM_AM_PADDING_SHIFT;
	header->tgt_cntr = tgt_cntr;
	header->cmpl_cntr = cmpl_cntr;
	if (padding)
		memset(place.header + header_bytes - 8, 0, 8);
	if (cshim_guarded_copy(header + 1, (const void *)(uintptr_t)uhdr, uhdr_len) ||
	    cshim_guarded_copy(place.bytes, (const void *)(uintptr_t)udata, udata_len))
		return CSHIM_LANE_PASS;
	am_end(cshim_paths_of(lane), path, &place, header_bytes, udata_len);
	cshim_lane_sent(context, lane, path, AM_ERR, org_cntr, cmpl_cntr);
	return CSHIM_LANE_DONE;
}
