/* endpoint.c - endpoints, what they post, shared receive queues. Each has core do it. */
#include "dat/rc/rc.h"
#include "dat/api/providers.h"

DAT_RETURN dat_ep_create(DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE pz_handle,
                         DAT_EVD_HANDLE recv_evd_handle, DAT_EVD_HANDLE request_evd_handle,
                         DAT_EVD_HANDLE connect_evd_handle, const DAT_EP_ATTR *ep_attr,
                         DAT_EP_HANDLE *ep_handle)
{
	DAT_PROVIDED_IA(ep_create, ia_handle, pz_handle, recv_evd_handle, request_evd_handle,
	                connect_evd_handle, ep_attr, ep_handle);
	return DAT_CALL(ep_create, DAT_P(ia_handle), DAT_P(pz_handle), DAT_P(recv_evd_handle),
	                DAT_P(request_evd_handle), DAT_P(connect_evd_handle), DAT_P(ep_attr),
	                DAT_P(ep_handle));
}

DAT_RETURN dat_ep_create_with_srq(DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE pz_handle,
                                  DAT_EVD_HANDLE recv_evd_handle, DAT_EVD_HANDLE request_evd_handle,
                                  DAT_EVD_HANDLE connect_evd_handle, DAT_SRQ_HANDLE srq_handle,
                                  const DAT_EP_ATTR *ep_attr, DAT_EP_HANDLE *ep_handle)
{
	DAT_PROVIDED_IA(ep_create_with_srq, ia_handle, pz_handle, recv_evd_handle,
	                request_evd_handle, connect_evd_handle, srq_handle, ep_attr, ep_handle);
	return DAT_CALL(ep_create_with_srq, DAT_P(ia_handle), DAT_P(pz_handle),
	                DAT_P(recv_evd_handle), DAT_P(request_evd_handle),
	                DAT_P(connect_evd_handle), DAT_P(srq_handle), DAT_P(ep_attr),
	                DAT_P(ep_handle));
}

DAT_RETURN dat_ep_query(DAT_EP_HANDLE ep_handle, DAT_EP_PARAM_MASK ep_param_mask,
                        DAT_EP_PARAM *ep_param)
{
	DAT_PROVIDED(ep_query, ep_handle, ep_param_mask, ep_param);
	return DAT_CALL(ep_query, DAT_P(ep_handle), ep_param_mask, DAT_P(ep_param));
}

DAT_RETURN dat_ep_modify(DAT_EP_HANDLE ep_handle, DAT_EP_PARAM_MASK ep_param_mask,
                         const DAT_EP_PARAM *ep_param)
{
	DAT_PROVIDED(ep_modify, ep_handle, ep_param_mask, ep_param);
	return DAT_CALL(ep_modify, DAT_P(ep_handle), ep_param_mask, DAT_P(ep_param));
}

DAT_RETURN dat_ep_get_status(DAT_EP_HANDLE ep_handle, DAT_EP_STATE *ep_state,
                             DAT_BOOLEAN *recv_idle, DAT_BOOLEAN *request_idle)
{
	DAT_PROVIDED(ep_get_status, ep_handle, ep_state, recv_idle, request_idle);
	return DAT_CALL(ep_get_status, DAT_P(ep_handle), DAT_P(ep_state), DAT_P(recv_idle),
	                DAT_P(request_idle));
}

DAT_RETURN dat_ep_reset(DAT_EP_HANDLE ep_handle)
{
	DAT_PROVIDED(ep_reset, ep_handle);
	return DAT_CALL(ep_reset, DAT_P(ep_handle));
}

DAT_RETURN dat_ep_free(DAT_EP_HANDLE ep_handle)
{
	DAT_PROVIDED(ep_free, ep_handle);
	return DAT_CALL(ep_free, DAT_P(ep_handle));
}

DAT_RETURN dat_ep_recv_query(DAT_EP_HANDLE ep_handle, DAT_COUNT *nbufs_allocated,
                             DAT_COUNT *bufs_alloc_span)
{
	DAT_PROVIDED(ep_recv_query, ep_handle, nbufs_allocated, bufs_alloc_span);
	return DAT_CALL(ep_recv_query, DAT_P(ep_handle), DAT_P(nbufs_allocated),
	                DAT_P(bufs_alloc_span));
}

DAT_RETURN dat_ep_set_watermark(DAT_EP_HANDLE ep_handle, DAT_COUNT soft_high_watermark,
                                DAT_COUNT hard_high_watermark)
{
	DAT_PROVIDED(ep_set_watermark, ep_handle, soft_high_watermark, hard_high_watermark);
	return DAT_CALL(ep_set_watermark, DAT_P(ep_handle), DAT_I(soft_high_watermark),
	                DAT_I(hard_high_watermark));
}

DAT_RETURN dat_ep_post_send(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments,
                            DAT_LMR_TRIPLET *local_iov, DAT_DTO_COOKIE user_cookie,
                            DAT_COMPLETION_FLAGS completion_flags)
{
	DAT_PROVIDED(ep_post_send, ep_handle, num_segments, local_iov, user_cookie,
	             completion_flags);
	const dat_post post = {.op = RC_SEND,
	                       .num_segments = num_segments,
	                       .local_iov = local_iov,
	                       .cookie = user_cookie.as_64,
	                       .completion = completion_flags};

	return DAT_LOCKED(rc_post(ep_handle, &post));
}

DAT_RETURN dat_ep_post_send_with_invalidate(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments,
                                            DAT_LMR_TRIPLET *local_iov, DAT_DTO_COOKIE user_cookie,
                                            DAT_COMPLETION_FLAGS completion_flags,
                                            DAT_BOOLEAN invalidate_flag,
                                            DAT_RMR_CONTEXT rmr_context)
{
	DAT_PROVIDED(ep_post_send_with_invalidate, ep_handle, num_segments, local_iov, user_cookie,
	             completion_flags, invalidate_flag, rmr_context);
	const dat_post post = {.op = RC_SEND,
	                       .flags = invalidate_flag ? RC_INVALIDATE : 0,
	                       .num_segments = num_segments,
	                       .local_iov = local_iov,
	                       .cookie = user_cookie.as_64,
	                       .data = rmr_context,
	                       .completion = completion_flags};

	return DAT_LOCKED(rc_post(ep_handle, &post));
}

DAT_RETURN dat_ep_post_recv(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments,
                            DAT_LMR_TRIPLET *local_iov, DAT_DTO_COOKIE user_cookie,
                            DAT_COMPLETION_FLAGS completion_flags)
{
	DAT_PROVIDED(ep_post_recv, ep_handle, num_segments, local_iov, user_cookie,
	             completion_flags);
	return DAT_LOCKED(rc_post_receive(ep_handle, num_segments, local_iov, user_cookie.as_64,
	                                  completion_flags));
}

DAT_RETURN dat_ep_post_rdma_read(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments,
                                 DAT_LMR_TRIPLET *local_iov, DAT_DTO_COOKIE user_cookie,
                                 const DAT_RMR_TRIPLET *remote_iov,
                                 DAT_COMPLETION_FLAGS completion_flags)
{
	DAT_PROVIDED(ep_post_rdma_read, ep_handle, num_segments, local_iov, user_cookie, remote_iov,
	             completion_flags);
	const dat_post post = {.op = RC_READ,
	                       .params = RC_PARAMS_RDMA,
	                       .num_segments = num_segments,
	                       .local_iov = local_iov,
	                       .cookie = user_cookie.as_64,
	                       .remote_iov = remote_iov,
	                       .completion = completion_flags};

	return DAT_LOCKED(rc_post(ep_handle, &post));
}

DAT_RETURN dat_ep_post_rdma_read_to_rmr(DAT_EP_HANDLE ep_handle, const DAT_RMR_TRIPLET *local_iov,
                                        DAT_DTO_COOKIE user_cookie,
                                        const DAT_RMR_TRIPLET *remote_iov,
                                        DAT_COMPLETION_FLAGS completion_flags)
{
	DAT_PROVIDED(ep_post_rdma_read_to_rmr, ep_handle, local_iov, user_cookie, remote_iov,
	             completion_flags);
	const dat_post post = {.op = RC_READ,
	                       .flags = RC_TO_RMR,
	                       .params = RC_PARAMS_RMR,
	                       .num_segments = 1,
	                       .local_iov = (const DAT_LMR_TRIPLET *)(const void *)local_iov,
	                       .cookie = user_cookie.as_64,
	                       .remote_iov = remote_iov,
	                       .completion = completion_flags};

	return DAT_LOCKED(rc_post(ep_handle, &post));
}

DAT_RETURN dat_ep_post_rdma_write(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments,
                                  DAT_LMR_TRIPLET *local_iov, DAT_DTO_COOKIE user_cookie,
                                  const DAT_RMR_TRIPLET *remote_iov,
                                  DAT_COMPLETION_FLAGS completion_flags)
{
	DAT_PROVIDED(ep_post_rdma_write, ep_handle, num_segments, local_iov, user_cookie,
	             remote_iov, completion_flags);
	const dat_post post = {.op = RC_WRITE,
	                       .params = RC_PARAMS_RDMA,
	                       .num_segments = num_segments,
	                       .local_iov = local_iov,
	                       .cookie = user_cookie.as_64,
	                       .remote_iov = remote_iov,
	                       .completion = completion_flags};

	return DAT_LOCKED(rc_post(ep_handle, &post));
}

DAT_RETURN dat_srq_create(DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE pz_handle, DAT_SRQ_ATTR *srq_attr,
                          DAT_SRQ_HANDLE *srq_handle)
{
	DAT_PROVIDED_IA(srq_create, ia_handle, pz_handle, srq_attr, srq_handle);
	return DAT_CALL(srq_create, DAT_P(ia_handle), DAT_P(pz_handle), DAT_P(srq_attr),
	                DAT_P(srq_handle));
}

DAT_RETURN dat_srq_free(DAT_SRQ_HANDLE srq_handle)
{
	DAT_PROVIDED(srq_free, srq_handle);
	return DAT_CALL(srq_free, DAT_P(srq_handle));
}

DAT_RETURN dat_srq_post_recv(DAT_SRQ_HANDLE srq_handle, DAT_COUNT num_segments,
                             DAT_LMR_TRIPLET *local_iov, DAT_DTO_COOKIE user_cookie)
{
	DAT_PROVIDED(srq_post_recv, srq_handle, num_segments, local_iov, user_cookie);
	return DAT_LOCKED(rc_post_shared(srq_handle, num_segments, local_iov, user_cookie.as_64));
}

DAT_RETURN dat_srq_query(DAT_SRQ_HANDLE srq_handle, DAT_SRQ_PARAM_MASK srq_param_mask,
                         DAT_SRQ_PARAM *srq_param)
{
	DAT_PROVIDED(srq_query, srq_handle, srq_param_mask, srq_param);
	return DAT_CALL(srq_query, DAT_P(srq_handle), DAT_I(srq_param_mask), DAT_P(srq_param));
}

DAT_RETURN dat_srq_resize(DAT_SRQ_HANDLE srq_handle, DAT_COUNT srq_max_recv_dto)
{
	DAT_PROVIDED(srq_resize, srq_handle, srq_max_recv_dto);
	return DAT_CALL(srq_resize, DAT_P(srq_handle), DAT_I(srq_max_recv_dto));
}

DAT_RETURN dat_srq_set_lw(DAT_SRQ_HANDLE srq_handle, DAT_COUNT low_watermark)
{
	DAT_PROVIDED(srq_set_lw, srq_handle, low_watermark);
	return DAT_CALL(srq_set_lw, DAT_P(srq_handle), DAT_I(low_watermark));
}
