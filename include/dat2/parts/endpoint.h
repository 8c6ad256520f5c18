/*
 * endpoint.h - part of <dat2/dat.h>: endpoints, data transfer operations and shared receive queues.
 *
 * Of what one endpoint posts, requests (sends, RDMA, binds) begin and complete in the order of
 * posting, and so do receives; there is no order between the two. Memory of a segment must be
 * registered in the EP's protection zone, with the rights that the operation needs; that is
 * checked, here and at the peer, and a violation breaks the connection. The conventions of dat.h
 * hold.
 */
#ifndef DAT2_PARTS_ENDPOINT_H
#define DAT2_PARTS_ENDPOINT_H

#include <dat2/parts/basic.h>
#include <dat2/parts/object.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Endpoints ---- */

/*
 * dat_ep_create makes an endpoint, UNCONNECTED, and stores its handle in *ep_handle. recv and
 * request EVDs need DAT_EVD_DTO_FLAG, the connect EVD DAT_EVD_CONNECTION_FLAG; they may be one EVD.
 * A null PZ or EVD makes it unconfigured: dat_ep_modify must give it before it is used. attr NULL:
 * reliable, 16 receives and 16 requests of 4 segments, 4 reads each way. Errors:
 * DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER (DAT_INVALID_ARG6: what attr asks for is too much, or a
 * count of operations does not fit to its EVD).
 */
DAT_EXPORT DAT_RETURN DAT_API dat_ep_create(DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE pz_handle,
                                            DAT_EVD_HANDLE recv_evd_handle,
                                            DAT_EVD_HANDLE request_evd_handle,
                                            DAT_EVD_HANDLE connect_evd_handle,
                                            const DAT_EP_ATTR *ep_attr, DAT_EP_HANDLE *ep_handle);

/*
 * dat_ep_create_with_srq is dat_ep_create for an endpoint that takes its receives from srq_handle.
 */
DAT_EXPORT DAT_RETURN DAT_API dat_ep_create_with_srq(
	DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE pz_handle, DAT_EVD_HANDLE recv_evd_handle,
	DAT_EVD_HANDLE request_evd_handle, DAT_EVD_HANDLE connect_evd_handle, DAT_SRQ_HANDLE srq_handle,
	const DAT_EP_ATTR *ep_attr, DAT_EP_HANDLE *ep_handle);

/* dat_ep_query fills *ep_param. Any bit of the mask fills all. */
DAT_EXPORT DAT_RETURN DAT_API dat_ep_query(DAT_EP_HANDLE ep_handle, DAT_EP_PARAM_MASK ep_param_mask,
                                           DAT_EP_PARAM *ep_param);

/*
 * dat_ep_modify changes what the bits of the mask name: PZ, EVDs and attributes, before the
 * endpoint is connected. Errors: DAT_INVALID_STATE, DAT_INVALID_PARAMETER (a bit of what cannot be
 * changed).
 */
DAT_EXPORT DAT_RETURN DAT_API dat_ep_modify(DAT_EP_HANDLE ep_handle, DAT_EP_PARAM_MASK ep_param_mask,
                                            const DAT_EP_PARAM *ep_param);

/*
 * dat_ep_get_status stores the state, and whether no receive and no request is posted and not
 * complete. Each pointer may be NULL.
 */
DAT_EXPORT DAT_RETURN DAT_API dat_ep_get_status(DAT_EP_HANDLE ep_handle, DAT_EP_STATE *ep_state,
                                                DAT_BOOLEAN *recv_idle, DAT_BOOLEAN *request_idle);

/*
 * dat_ep_reset makes a DISCONNECTED endpoint UNCONNECTED, to be connected anew. On an UNCONNECTED
 * one it does nothing: receives stay posted. Errors: DAT_INVALID_STATE otherwise.
 */
DAT_EXPORT DAT_RETURN DAT_API dat_ep_reset(DAT_EP_HANDLE ep_handle);

/*
 * dat_ep_free frees an endpoint; a connected one is disconnected abruptly first. Posted requests are
 * flushed; events stay in their EVDs. Errors: DAT_INVALID_STATE (a service point or a request has
 * it).
 */
DAT_EXPORT DAT_RETURN DAT_API dat_ep_free(DAT_EP_HANDLE ep_handle);

/*
 * dat_ep_recv_query stores how many receives of its SRQ the endpoint has taken and not completed,
 * and the number of messages from the first of them to the newest. Each pointer may be NULL.
 */
DAT_EXPORT DAT_RETURN DAT_API dat_ep_recv_query(DAT_EP_HANDLE ep_handle,
                                                DAT_COUNT *nbufs_allocated,
                                                DAT_COUNT *bufs_alloc_span);

/*
 * dat_ep_set_watermark: more than soft_high_watermark receives of the SRQ taken raise
 * DAT_SRQ_SOFT_HIGH_WATERMARK_EVENT, more than hard_high_watermark end the connection.
 * DAT_WATERMARK_INFINITE: never.
 */
DAT_EXPORT DAT_RETURN DAT_API dat_ep_set_watermark(DAT_EP_HANDLE ep_handle,
                                                   DAT_COUNT soft_high_watermark,
                                                   DAT_COUNT hard_high_watermark);

/* ---- Data transfer operations ---- */

/*
 * Of every dat_ep_post_ call: it queues one operation and returns at once. The array of segments is
 * the caller's again then; the buffers are when the event with user_cookie has come. No segment (0,
 * the array may be NULL) is a transfer of 0 bytes. With DAT_COMPLETION_SUPPRESS_FLAG there is an
 * event only if it fails. On a DISCONNECTED endpoint requests are flushed. Errors:
 * DAT_INVALID_STATE (a request on an endpoint that was not connected), DAT_LENGTH_ERROR,
 * DAT_INVALID_PARAMETER (segments, flags), DAT_INSUFFICIENT_RESOURCES (the queue is full),
 * DAT_PROTECTION_VIOLATION, DAT_PRIVILEGES_VIOLATION (where local memory is looked at when
 * posting).
 */

/* dat_ep_post_send sends the segments as one message, which takes one receive of the peer. */
DAT_EXPORT DAT_RETURN DAT_API dat_ep_post_send(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments,
                                               DAT_LMR_TRIPLET *local_iov,
                                               DAT_DTO_COOKIE user_cookie,
                                               DAT_COMPLETION_FLAGS completion_flags);

/*
 * dat_ep_post_send_with_invalidate is dat_ep_post_send, and if invalidate_flag is TRUE it takes the
 * peer's rmr_context back before its receive completes as DAT_DTO_RECEIVE_WITH_INVALIDATE.
 * Addition.
 */
DAT_EXPORT DAT_RETURN DAT_API dat_ep_post_send_with_invalidate(
	DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments, DAT_LMR_TRIPLET *local_iov,
	DAT_DTO_COOKIE user_cookie, DAT_COMPLETION_FLAGS completion_flags, DAT_BOOLEAN invalidate_flag,
	DAT_RMR_CONTEXT rmr_context);

/*
 * dat_ep_post_recv gives room for one message, in any state of the endpoint. Needs LOCAL_WRITE.
 * Errors: DAT_INVALID_STATE (DAT_INVALID_STATE_SRQ_IN_USE: the endpoint has an SRQ).
 */
DAT_EXPORT DAT_RETURN DAT_API dat_ep_post_recv(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments,
                                               DAT_LMR_TRIPLET *local_iov,
                                               DAT_DTO_COOKIE user_cookie,
                                               DAT_COMPLETION_FLAGS completion_flags);

/*
 * dat_ep_post_rdma_read copies the peer's memory, which needs REMOTE_READ, to the segments, which
 * need LOCAL_WRITE. Their lengths must be equal in sum to remote_iov's. The peer's program does
 * nothing.
 */
DAT_EXPORT DAT_RETURN DAT_API dat_ep_post_rdma_read(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments,
                                                    DAT_LMR_TRIPLET *local_iov,
                                                    DAT_DTO_COOKIE user_cookie,
                                                    const DAT_RMR_TRIPLET *remote_iov,
                                                    DAT_COMPLETION_FLAGS completion_flags);

/*
 * dat_ep_post_rdma_read_to_rmr is dat_ep_post_rdma_read to one segment that an RMR of this process
 * names. Addition.
 */
DAT_EXPORT DAT_RETURN DAT_API dat_ep_post_rdma_read_to_rmr(DAT_EP_HANDLE ep_handle,
                                                           const DAT_RMR_TRIPLET *local_iov,
                                                           DAT_DTO_COOKIE user_cookie,
                                                           const DAT_RMR_TRIPLET *remote_iov,
                                                           DAT_COMPLETION_FLAGS completion_flags);

/*
 * dat_ep_post_rdma_write copies the segments to the peer's memory, which needs REMOTE_WRITE. Bytes
 * appear there in the order of addresses, the last one last: a program may watch it. Its event says
 * that the data is there. The peer's program does nothing, and has no event.
 */
DAT_EXPORT DAT_RETURN DAT_API dat_ep_post_rdma_write(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments,
                                                     DAT_LMR_TRIPLET *local_iov,
                                                     DAT_DTO_COOKIE user_cookie,
                                                     const DAT_RMR_TRIPLET *remote_iov,
                                                     DAT_COMPLETION_FLAGS completion_flags);

/* ---- Shared receive queues ---- */

/*
 * dat_srq_create makes a queue of receives for several endpoints (dat_ep_create_with_srq), and
 * stores its handle in *srq_handle. srq_attr is read. Errors: DAT_INVALID_PARAMETER,
 * DAT_INVALID_HANDLE.
 */
DAT_EXPORT DAT_RETURN DAT_API dat_srq_create(DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE pz_handle,
                                             DAT_SRQ_ATTR *srq_attr, DAT_SRQ_HANDLE *srq_handle);

/* dat_srq_free frees it; posted receives are dropped. Errors: DAT_INVALID_STATE (an EP has it). */
DAT_EXPORT DAT_RETURN DAT_API dat_srq_free(DAT_SRQ_HANDLE srq_handle);

/* dat_srq_post_recv gives room for one message of any of its endpoints; as dat_ep_post_recv. */
DAT_EXPORT DAT_RETURN DAT_API dat_srq_post_recv(DAT_SRQ_HANDLE srq_handle, DAT_COUNT num_segments,
                                                DAT_LMR_TRIPLET *local_iov,
                                                DAT_DTO_COOKIE user_cookie);

/* dat_srq_query fills *srq_param. */
DAT_EXPORT DAT_RETURN DAT_API dat_srq_query(DAT_SRQ_HANDLE srq_handle,
                                            DAT_SRQ_PARAM_MASK srq_param_mask,
                                            DAT_SRQ_PARAM *srq_param);

/*
 * dat_srq_resize makes room for srq_max_recv_dto receives. Errors: DAT_INVALID_STATE (more are
 * posted), DAT_INVALID_PARAMETER.
 */
DAT_EXPORT DAT_RETURN DAT_API dat_srq_resize(DAT_SRQ_HANDLE srq_handle, DAT_COUNT srq_max_recv_dto);

/*
 * dat_srq_set_lw: DAT_SRQ_LOW_WATERMARK_EVENT comes, once, when fewer than low_watermark receives
 * are left. DAT_SRQ_LW_DEFAULT: never.
 */
DAT_EXPORT DAT_RETURN DAT_API dat_srq_set_lw(DAT_SRQ_HANDLE srq_handle, DAT_COUNT low_watermark);

#ifdef __cplusplus
}
#endif

#endif /* DAT2_PARTS_ENDPOINT_H */
