/*
 * lane_origin.h - the origin's side of puts, gets, active messages and read-modify-writes, for
 * transfer.h. Under the lock, with the arguments of the golapi_ functions of the same names.
 * CSHIM_LANE_DONE, or CSHIM_LANE_PASS: nothing was done, as something is not as usual. Inline, so
 * that an entry point need not hand on its arguments through memory.
 */
#ifndef CSHIM_LANE_ORIGIN_H
#define CSHIM_LANE_ORIGIN_H

#include "lane/lane_shared.h"

_Static_assert(FETCH_AND_ADD == NODE_ADD && FETCH_AND_OR == NODE_OR && SWAP == NODE_SWAP &&
                       COMPARE_AND_SWAP == NODE_CAS,
               "one numbering");

static inline int cshim_lane_put(cshim_context *context, uint32_t tgt, uint64_t len,
                                 uint64_t tgt_addr, uint64_t org_addr, uint64_t tgt_cntr,
                                 uint64_t org_cntr, uint64_t cmpl_cntr)
{
	cshim_lane *lane = cshim_lane_of(context);
	node_peer *peer = cshim_lane_peer(context, lane, tgt);

	if (!peer || (len && (!tgt_addr || !org_addr)))
		return CSHIM_LANE_PASS;
	if (__builtin_expect(len > NODE_PUT_SHORT || len >= lane->bulk_min, 0)) {
		node_transfer put = {org_addr, tgt_addr, len, 0, {tgt_cntr, cmpl_cntr}};

		return cshim_lane_put_long(context, lane, peer, &put, org_cntr);
	}
	/* If an address is bad nothing was published: core gets the same fault. */
	if (node_put_short(cshim_link_of(lane), peer, tgt_addr, org_addr, len, tgt_cntr,
	                   cmpl_cntr) != NODE_SENT)
		return CSHIM_LANE_PASS;
	cshim_lane_sent(context, lane, peer, PUT_ERR, org_cntr, cmpl_cntr);
	return CSHIM_LANE_DONE;
}

/* lane_send.c: the same with an active message that has a user header, or more data than a slot. */
int cshim_lane_am_long(cshim_context *context, cshim_lane *lane, node_peer *peer, uint64_t hdr_hdl,
                       uint64_t uhdr, uint32_t uhdr_len, uint64_t udata, uint64_t udata_len,
                       uint64_t tgt_cntr, uint64_t org_cntr, uint64_t cmpl_cntr);

/* One without a user header whose data fits one slot. */
static inline int cshim_am_short(cshim_context *context, cshim_lane *lane, node_peer *peer,
                                 uint64_t hdr_hdl, uint64_t udata, uint64_t udata_len,
                                 uint64_t tgt_cntr, uint64_t org_cntr, uint64_t cmpl_cntr)
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

static inline int cshim_lane_amsend(cshim_context *context, uint32_t tgt, uint64_t hdr_hdl,
                                    uint64_t uhdr, uint32_t uhdr_len, uint64_t udata,
                                    uint64_t udata_len, uint64_t tgt_cntr, uint64_t org_cntr,
                                    uint64_t cmpl_cntr)
{
	cshim_lane *lane = cshim_lane_of(context);
	node_peer *peer = cshim_lane_peer(context, lane, tgt);

	if (!peer || !hdr_hdl || hdr_hdl >> CSHIM_AM_PADDING_SHIFT || (udata_len && !udata) ||
	    udata_len >= lane->bulk_min)
		return CSHIM_LANE_PASS;
	if (uhdr_len == 0 && udata_len <= NODE_ONE_SLOT - sizeof(cshim_am_header))
		return cshim_am_short(context, lane, peer, hdr_hdl, udata, udata_len, tgt_cntr,
		                      org_cntr, cmpl_cntr);
	return cshim_lane_am_long(context, lane, peer, hdr_hdl, uhdr, uhdr_len, udata, udata_len,
	                          tgt_cntr, org_cntr, cmpl_cntr);
}

static inline int cshim_lane_get(cshim_context *context, uint32_t tgt, uint64_t len,
                                 uint64_t tgt_addr, uint64_t org_addr, uint64_t tgt_cntr,
                                 uint64_t org_cntr)
{
	cshim_lane *lane = cshim_lane_of(context);
	node_peer *peer = cshim_lane_peer(context, lane, tgt);
	node_op *op;

	if (!peer || len > CSHIM_LENGTH_MAX || len == 0 || !tgt_addr || !org_addr)
		return CSHIM_LANE_PASS;
	/* Only a task that polls answers soon; the others' memory is read. */
	if (__builtin_expect(len > NODE_INLINE_MAX || len >= lane->bulk_min || !node_polls(peer),
	                     0)) {
		node_transfer get = {org_addr, tgt_addr, len, 0, {tgt_cntr, 0}};

		return cshim_lane_get_long(context, lane, peer, &get, org_cntr);
	}
	op = node_get(cshim_link_of(lane), peer, NODE_BY_OWNER, tgt_addr, org_addr, len, tgt_cntr,
	              0, 0);
	if (!op)
		return CSHIM_LANE_PASS;
	cshim_lane_begun(lane, peer, op, GET_ERR, org_cntr);
	return CSHIM_LANE_DONE;
}

/* Reads one or two words of width bytes, zero-extended; 1 if they cannot be. */
static inline int cshim_load_words(uint64_t from, uint32_t width, size_t count, uint64_t words[2])
{
	uint32_t narrow[2] = {0};

	words[1] = 0;
	if (width == 8)
		return node_guarded_copy_short(words, node_memory_at(from), 8 * count);
	if (node_guarded_copy_short(narrow, node_memory_at(from), 4 * count))
		return 1;
	words[0] = narrow[0];
	words[1] = narrow[1];
	return 0;
}

/* width: 4 or 8 bytes */
static inline int cshim_lane_rmw(cshim_context *context, uint32_t width, uint32_t operation,
                                 uint32_t tgt, uint64_t tgt_var, uint64_t in_val,
                                 uint64_t prev_tgt_val, uint64_t org_cntr)
{
	cshim_lane *lane = cshim_lane_of(context);
	node_peer *peer = cshim_lane_peer(context, lane, tgt);
	int compares = operation == COMPARE_AND_SWAP || operation == CSHIM_COMPARE_AND_FETCH;
	uint64_t in[2], compare;
	node_op *op;

	if (!peer || operation > CSHIM_RMW_LAST || !tgt_var || !in_val ||
	    cshim_load_words(in_val, width, compares ? 2 : 1, in))
		return CSHIM_LANE_PASS;
	compare = compares ? in[0] : 0;
	op = node_rmw(cshim_link_of(lane), peer, NODE_BY_OWNER, compares ? NODE_CAS : operation, width, tgt_var,
	              in[compares], compare);
	if (!op)
		return CSHIM_LANE_PASS;
	op->note = operation == COMPARE_AND_SWAP;
	op->tag[CSHIM_TAG_PREVIOUS] = prev_tgt_val;
	op->tag[CSHIM_TAG_COMPARE] = compare;
	cshim_lane_begun(lane, peer, op, RMW_ERR, org_cntr);
	return CSHIM_LANE_DONE;
}

#endif
