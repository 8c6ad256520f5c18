/*
 * lane_bulk.c - puts and answers to gets that do not fit slots: in parts, through chunks, so that both ends copy at once. As long as the other
 * end consumes the sender stays with it; what finds no room in the end is core's, which goes on when there is some.
 */
#include "lane_path.h"

#include <string.h>

#include "lane_send.h"

/* One message with its data from an address of the user's. 0: no room, or the address is bad; nothing was published. */
static int send_chunk(cshim_paths *paths, cshim_path *path, uint32_t kind, const void *header, uint64_t header_bytes, uint64_t from, uint64_t n)
{
	cshim_chunk chunk;

	if (!cshim_chunk_begin(paths, path, header_bytes, n, &chunk))
		return 0;
	memcpy(chunk.header, header, header_bytes);
	if (cshim_guarded_copy(chunk.bytes, cshim_memory_at(from), n))
		return 0;
	cshim_chunk_end(paths, path, &chunk, kind, header_bytes);
	return 1;
}

/* The parts of a put but for the last, which is of at most step bytes. Returns how many bytes went. */
static uint64_t put_parts(cshim_paths *paths, cshim_path *path, uint64_t len, uint64_t step, uint64_t tgt_addr, uint64_t org_addr)
{
	uint64_t huge = len >= CSHIM_HUGE_MIN ? CSHIM_PART_HUGE : 0, at;

	for (at = 0; len - at > step; at += step) {
		cshim_part_header part = {tgt_addr + at, huge | (at == 0 ? CSHIM_PART_FIRST : 0)};

		if (!send_chunk(paths, path, CSHIM_MSG_PUT_PART, &part, sizeof(part), org_addr + at, step))
			break;
	}
	return at;
}

int cshim_bulk_put(cshim_context *context, cshim_path *path, uint64_t len, const cshim_put_header *put, uint64_t org_addr, uint64_t org_cntr)
{
	cshim_lane *lane = cshim_lane_of(context);
	cshim_paths *paths = cshim_paths_of(lane);
	uint64_t step = cshim_chunk_step(paths, len), at;
	cshim_put_header last = *put;

	if (len > CSHIM_LENGTH_MAX || (path->direct && !cshim_attends(path)))
		return CSHIM_LANE_PASS;
	at = put_parts(paths, path, len, step, put->tgt_addr, org_addr);
	last.tgt_addr += at;
	if (len - at <= step &&
	    send_chunk(paths, path, at ? CSHIM_MSG_PUT_LAST : CSHIM_MSG_PUT, &last, sizeof(last), org_addr + at, len - at)) {
		cshim_lane_sent(context, lane, path, PUT_ERR, org_cntr, put->cmpl_cntr);
		return CSHIM_LANE_DONE;
	}
	if (at == 0)
		return CSHIM_LANE_PASS;
	path->used = 1;
	path->kind = PUT_ERR + 1;
	lane->dirty = 1;
	golapi_lane_put_rest(cshim_index_of(context), path->task, len - at, last.tgt_addr, org_addr + at, put->tgt_cntr, org_cntr,
	                     put->cmpl_cntr);
	return CSHIM_LANE_DONE;
}

int cshim_bulk_serve_get(cshim_context *context, cshim_lane *lane, cshim_path *path, const cshim_get_header *get)
{
	cshim_paths *paths = cshim_paths_of(lane);
	uint64_t step = cshim_chunk_step(paths, get->length), at, n;

	if (get->length > CSHIM_LENGTH_MAX)
		return 0;
	for (at = 0; at < get->length; at += n) {
		cshim_reply_header reply = {(uint32_t)get->token, CSHIM_REPLY_PART, at};

		n = get->length - at < step ? get->length - at : step;
		if (at + n == get->length)
			reply.state = CSHIM_REPLY_OK;
		if (!send_chunk(paths, path, CSHIM_MSG_LANE_REPLY, &reply, sizeof(reply), get->addr + at, n))
			break;
	}
	if (at == 0)
		return 0;
	path->used = 1;
	lane->dirty = 1;
	if (at < get->length) {
		golapi_lane_get_rest(cshim_index_of(context), path->task, (uint32_t)get->token, get->length, get->addr, at, get->cntr);
		return 1;
	}
	context->msg_state |= LAPI_SEND_COMPLETE;
	cshim_lane_count(context, lane, get->cntr, GET_ERR, path->task, path->task);
	return 1;
}
