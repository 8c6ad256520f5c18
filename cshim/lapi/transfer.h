/*
 * transfer.h - how every call that transfers runs: the fast path, or else core. Private to the
 * entry points.
 */
#ifndef CSHIM_TRANSFER_H
#define CSHIM_TRANSFER_H

#include "internal.h"
#include "lane_send.h"

/* 1: the fast path has done all of it. It has no flags and no handlers of LAPI_Xfer. */
static inline int cshim_transfer_fast(cshim_context *context, uint32_t type,
                                      const cshim_transfer *t)
{
	if (t->flags || t->handler)
		return 0;
	switch (type) {
	case LAPI_PUT_XFER:
		return cshim_lane_put(context, t->tgt, t->len, t->tgt_addr, t->org_addr,
		                      t->tgt_cntr, t->org_cntr, t->cmpl_cntr) ||
		       cshim_outbox_put(context, t->tgt, t->len, t->tgt_addr, t->org_addr,
		                        t->tgt_cntr, t->org_cntr, t->cmpl_cntr);
	case LAPI_GET_XFER:
		return cshim_lane_get(context, t->tgt, t->len, t->tgt_addr, t->org_addr,
		                      t->tgt_cntr, t->org_cntr);
	case LAPI_AM_XFER:
		return cshim_lane_amsend(context, t->tgt, t->hdr_hdl, t->uhdr, t->uhdr_len,
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

	if (cshim_transfer_fast(context, type, &transfer))
		return LAPI_SUCCESS;
	whole = transfer;
	return golapi_xfer(cshim_index_of(context), type, &whole);
}

#endif
