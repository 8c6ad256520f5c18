/*
 * transfer.h - how every call that transfers runs: the fast path, or else core. Private to the
 * entry points.
 */
#ifndef CSHIM_TRANSFER_H
#define CSHIM_TRANSFER_H

#include "handlers/handlers.h"
#include "lapi/internal.h"
#include "lane/lane_origin.h"
#include "lane/lane_send.h"
#include "lapi/waits.h"

/*
 * Every CSHIM_SENDS_PER_CALL-th transfer makes a progress call first, so that tasks which only send
 * receive, too. The number is large enough that the call does not show in the rate of small
 * transfers.
 */
#define CSHIM_SENDS_PER_CALL 64

/*
 * 1 if the fast path may do a transfer with a handler of LAPI_Xfer: it copies all of the data, so
 * the send completion handler is due at once. A get's handler is not, and core knows when it is.
 */
static inline int cshim_copies_all(const cshim_context *context, uint32_t type,
                                   const cshim_transfer *t)
{
	const cshim_lane *lane = (const cshim_lane *)(uintptr_t)context->lane;

	return cshim_sents[cshim_index_of(context)].waiting < CSHIM_SENT_MOST &&
	       (type == LAPI_AM_XFER ||
	        (type == LAPI_PUT_XFER && (!lane || t->len <= lane->copy_max)));
}

/* 1: the fast path has done all of it but the handler. It has no flags of LAPI_Xfer. */
static inline int cshim_transfer_fast(cshim_context *context, uint32_t type,
                                      const cshim_transfer *t)
{
	if (t->flags || (t->handler && !cshim_copies_all(context, type, t)))
		return 0;
	switch (type) {
	case LAPI_PUT_XFER:
		return cshim_lane_put(context, t->tgt, t->len, t->tgt_addr, t->org_addr,
		                      t->tgt_cntr, t->org_cntr, t->cmpl_cntr) ||
		       cshim_packet_put(context, t->tgt, t->len, t->tgt_addr, t->org_addr,
		                        t->tgt_cntr, t->org_cntr, t->cmpl_cntr) ||
		       cshim_outbox_put(context, t->tgt, t->len, t->tgt_addr, t->org_addr,
		                        t->tgt_cntr, t->org_cntr, t->cmpl_cntr);
	case LAPI_GET_XFER:
		return cshim_lane_get(context, t->tgt, t->len, t->tgt_addr, t->org_addr,
		                      t->tgt_cntr, t->org_cntr);
	case LAPI_AM_XFER:
		return cshim_lane_amsend(context, t->tgt, t->hdr_hdl, t->uhdr, t->uhdr_len,
		                         t->org_addr, t->len, t->tgt_cntr, t->org_cntr,
		                         t->cmpl_cntr) ||
		       cshim_packet_amsend(context, t->tgt, t->hdr_hdl, t->uhdr, t->uhdr_len,
		                           t->org_addr, t->len, t->tgt_cntr, t->org_cntr,
		                           t->cmpl_cntr);
	case LAPI_RMW_XFER:
		return (t->size == 32 || t->size == 64) &&
		       cshim_lane_rmw(context, t->size / 8, t->op, t->tgt, t->tgt_addr, t->org_addr,
		                      t->prev_val, t->org_cntr);
	default:
		return 0;
	}
}

/*
 * Does a transfer in a context, under its lock; type is an lapi_xfer_type_t. Core checks the
 * arguments. Inline, so that a call whose type is a constant fills no structure unless core needs
 * it.
 */
static inline __attribute__((always_inline)) int
cshim_transfer_in(cshim_context *context, uint32_t type, cshim_transfer transfer)
{
	cshim_transfer whole;
	int rc;

	if (__builtin_expect(++context->sends % CSHIM_SENDS_PER_CALL == 0, 0) &&
	    !cshim_progress_for_sends(context))
		return LAPI_ERR_HNDL_INVALID;
	if (cshim_transfer_fast(context, type, &transfer)) {
		if (transfer.handler)
			cshim_call_send_completion(cshim_index_of(context), transfer.handler,
			                           transfer.info, transfer.tgt,
			                           LAPI_SUCCESS);
		return LAPI_SUCCESS;
	}
	whole = transfer;
	rc = golapi_xfer(cshim_index_of(context), type, &whole);
	if (whole.room)
		cshim_await_room(context, whole.room, type);
	return rc;
}

/* A program has the four operations of RMW_ops_t; others are lapi_link's. */
static inline uint32_t cshim_rmw_of(uint32_t op)
{
	return op <= COMPARE_AND_SWAP ? op : UINT32_MAX;
}

/*
 * Members of a cshim_transfer, from the arguments of a call, where s is empty, or from a structure
 * of LAPI_Xfer, where s is a pointer to it and the arrow: the names are the same. Vectors, and a
 * read-modify-write's variable and input, take the place of the addresses.
 */
/* clang-format off */
#define CSHIM_ORIGIN(s, from)                                                             \
	.tgt = s tgt, .org_addr = CSHIM_ADDR(s from), .org_cntr = CSHIM_ADDR(s org_cntr)
#define CSHIM_ENDS(s, to, from) CSHIM_ORIGIN(s, from), .tgt_addr = CSHIM_ADDR(s to)
#define CSHIM_ARRIVED(s) .tgt_cntr = CSHIM_ADDR(s tgt_cntr)
#define CSHIM_COMPLETED(s) CSHIM_ARRIVED(s), .cmpl_cntr = CSHIM_ADDR(s cmpl_cntr)
#define CSHIM_HEADER(s)                                                                   \
	.hdr_hdl = CSHIM_ADDR(s hdr_hdl), .uhdr = CSHIM_ADDR(s uhdr), .uhdr_len = s uhdr_len
#define CSHIM_RMW(s)                                                                      \
	CSHIM_ENDS(s, tgt_var, in_val), .op = cshim_rmw_of((uint32_t)s op),                \
	.prev_val = CSHIM_ADDR(s prev_tgt_val)
/* clang-format on */

#endif
