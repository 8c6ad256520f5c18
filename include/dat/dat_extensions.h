/*
 * dat_extensions.h - the names of the proposal on extensions of December 2005, for programs written
 * to it. They are mapped by name to what dat_ib_extensions.h has today.
 *
 * A program sees in an event:
 *   - event_number DAT_EXTENSION_EVENT, which is today's DAT_IB_DTO_EVENT;
 *   - event_data.extension_data, with the proposal's values: dto as of any transfer, type a
 *     DAT_EXT_EVENT_TYPE, val.immed.data. A receive without immediate data has today's
 *     DAT_DTO_COMPLETION_EVENT instead of DAT_EXT_RECV_NO_IMMED.
 * Today's extension data, beside it in the event, has the same news in today's values.
 *
 * Source: the proposal, its patch to dat_extensions.h and dat.h, and the letter before it.
 */
#ifndef DAT1_DAT_EXTENSIONS_H
#define DAT1_DAT_EXTENSIONS_H

#include <stdarg.h>
#include <dat2/udat.h>
#include <dat2/dat_ib_extensions.h>

/* ---- Named attributes of the provider, each "TRUE" or "FALSE" ---- */

#define DAT_EXT_ATTR "DAT_EXTENSION_INTERFACE"
#define DAT_EXT_ATTR_RDMA_WRITE_IMMED "DAT_EXT_RDMA_WRITE_IMMED"
#define DAT_EXT_ATTR_RECV_IMMED "DAT_EXT_RECV_IMMED"
#define DAT_EXT_ATTR_RECV_IMMED_EVENT "DAT_EXT_RECV_IMMED_EVENT"
#define DAT_EXT_ATTR_RECV_IMMED_PAYLOAD "DAT_EXT_RECV_IMMED_PAYLOAD"
#define DAT_EXT_ATTR_FETCH_AND_ADD "DAT_EXT_FETCH_AND_ADD"
#define DAT_EXT_ATTR_CMP_AND_SWAP "DAT_EXT_CMP_AND_SWAP"
#define DAT_EXT_ATTR_TRUE "TRUE"
#define DAT_EXT_ATTR_FALSE "FALSE"

/* ---- Operations, events, flags ---- */

/* For dat_extension alone: dat_extension_op has other numbers for the same operations. */
typedef enum dat_ext_op {
	DAT_EXT_RDMA_WRITE_IMMED = 0,
	DAT_EXT_RECV_IMMED = 1,
	DAT_EXT_FETCH_AND_ADD = 2,
	DAT_EXT_CMP_AND_SWAP = 3
} DAT_EXT_OP;

/* event_number of an extended operation's event. */
#define DAT_EXTENSION_EVENT DAT_IB_EXTENSION_RANGE_BASE

typedef enum dat_ext_event_type { /* type of extension_data */
	DAT_EXT_RDMA_WRITE_IMMED_STATUS = 1, /* a write of this side is complete */
	DAT_EXT_RECV_NO_IMMED = 2,
	DAT_EXT_RECV_IMMED_DATA_EVENT = 3,   /* the peer's write took a receive: val.immed */
	DAT_EXT_RECV_IMMED_DATA_PAYLOAD = 4, /* immediate data is in the buffer; not here */
	DAT_EXT_FETCH_AND_ADD_STATUS = 5,
	DAT_EXT_CMP_AND_SWAP_STATUS = 6
} DAT_EXT_EVENT_TYPE;

#define DAT_EXT_RECV_IMMED_DATA_IN_EVENT DAT_EXT_RECV_IMMED_DATA_EVENT
#define DAT_EXT_RECV_IMMED_DATA_IN_PAYLOAD DAT_EXT_RECV_IMMED_DATA_PAYLOAD

typedef enum dat_ext_flags { /* of dat_ep_post_rdma_write_immed; every write does both here */
	DAT_EXT_WRITE_IMMED_FLAG = 0x1,  /* immediate data follows */
	DAT_EXT_WRITE_CONFIRM_FLAG = 0x2 /* complete when the data is at the peer */
} DAT_EXT_FLAGS;

/* ---- Calls ---- */

#ifdef __cplusplus
extern "C" {
#endif

/* 1 as soon as an adapter was opened that has extensions, 0 before. The library's: do not write. */
extern int dat_extensions;

/*
 * dat_extension does the operation op with the arguments of its call below, in their order.
 * Errors: DAT_INVALID_HANDLE (null), DAT_NOT_IMPLEMENTED (dat_extensions is 0, or no such op), and
 * those of the operation.
 */
DAT_EXPORT DAT_RETURN DAT_API dat_extension(DAT_HANDLE handle, DAT_EXT_OP op, ...);

/* A provider's part of it, and the call of it through a handle (dat2/udat_redirection.h). */
typedef DAT_RETURN(DAT_API *DAT_EXTENSION_FUNC)(DAT_HANDLE handle, DAT_EXT_OP op, va_list args);
#define DAT_EXTENSION(handle, op, args) DAT_HANDLE_EXTENDEDOP(handle, op, args)

#ifdef __cplusplus
}
#endif

/*
 * dat_ep_post_rdma_write_immed and, as the letter has it, dat_ep_post_write_immed: see
 * dat_ib_post_rdma_write_immed. The first has DAT_EXT_FLAGS, which change nothing.
 */
#define dat_ep_post_rdma_write_immed(ep, size, lbuf, cookie, rbuf, idata, eflgs, flgs) \
	((void)(eflgs), dat_ib_post_rdma_write_immed(ep, size, lbuf, cookie, rbuf, idata, flgs))
#define dat_ep_post_write_immed(ep, size, lbuf, cookie, rbuf, idata, flgs) \
	dat_ib_post_rdma_write_immed(ep, size, lbuf, cookie, rbuf, idata, flgs)

/* dat_ep_post_recv_immed is dat_ep_post_recv: any receive can take immediate data. */
#define dat_ep_post_recv_immed(ep, size, lbuf, cookie, flgs) \
	dat_ep_post_recv(ep, size, lbuf, cookie, flgs)

/* See dat_ib_post_fetch_and_add, dat_ib_post_cmp_and_swap. */
#define dat_ep_post_fetch_and_add(ep, add_val, lbuf, cookie, rbuf, flgs) \
	dat_ib_post_fetch_and_add(ep, add_val, lbuf, cookie, rbuf, flgs)
#define dat_ep_post_cmp_and_swap(ep, cmp_val, swap_val, lbuf, cookie, rbuf, flgs) \
	dat_ib_post_cmp_and_swap(ep, cmp_val, swap_val, lbuf, cookie, rbuf, flgs)

#endif /* DAT1_DAT_EXTENSIONS_H */
