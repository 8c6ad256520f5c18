/* posts.c - what is posted to endpoints and shared receive queues. */
#include "dat/rc/rc.h"
#include "dat/api/block.h"

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

DAT_RETURN dat_srq_post_recv(DAT_SRQ_HANDLE srq_handle, DAT_COUNT num_segments,
                             DAT_LMR_TRIPLET *local_iov, DAT_DTO_COOKIE user_cookie)
{
	DAT_PROVIDED(srq_post_recv, srq_handle, num_segments, local_iov, user_cookie);
	return DAT_LOCKED(rc_post_shared(srq_handle, num_segments, local_iov, user_cookie.as_64));
}

DAT_RETURN(dat_ib_post_rdma_write_immed)
(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments, DAT_LMR_TRIPLET *local_iov,
 DAT_CONTEXT user_context, DAT_RMR_TRIPLET *remote_iov, DAT_UINT32 immediate_data,
 DAT_COMPLETION_FLAGS completion_flags)
{
	DAT_PROVIDED_OP(DAT_IB_RDMA_WRITE_IMMED_OP, ep_handle, num_segments, local_iov,
	                user_context, remote_iov, immediate_data, completion_flags);
	const dat_post post = {.op = RC_WRITE,
	                       .flags = RC_IMMEDIATE,
	                       .params = RC_PARAMS_IMMED,
	                       .num_segments = num_segments,
	                       .local_iov = local_iov,
	                       .cookie = user_context.as_64,
	                       .remote_iov = remote_iov,
	                       .data = immediate_data,
	                       .completion = completion_flags};

	return DAT_LOCKED(rc_post(ep_handle, &post));
}

DAT_RETURN(dat_ib_post_cmp_and_swap)
(DAT_EP_HANDLE ep_handle, DAT_UINT64 cmp_value, DAT_UINT64 swap_value, DAT_LMR_TRIPLET *local_iov,
 DAT_CONTEXT user_context, DAT_RMR_TRIPLET *remote_iov, DAT_COMPLETION_FLAGS completion_flags)
{
	DAT_PROVIDED_OP(DAT_IB_CMP_AND_SWAP_OP, ep_handle, cmp_value, swap_value, local_iov,
	                user_context, remote_iov, completion_flags);
	const dat_post post = {.op = RC_SWAP,
	                       .params = RC_PARAMS_SWAP,
	                       .num_segments = 1,
	                       .local_iov = local_iov,
	                       .cookie = user_context.as_64,
	                       .remote_iov = remote_iov,
	                       .operand = swap_value,
	                       .compare = cmp_value,
	                       .completion = completion_flags};

	return DAT_LOCKED(rc_post(ep_handle, &post));
}

DAT_RETURN(dat_ib_post_fetch_and_add)
(DAT_EP_HANDLE ep_handle, DAT_UINT64 add_value, DAT_LMR_TRIPLET *local_iov,
 DAT_CONTEXT user_context, DAT_RMR_TRIPLET *remote_iov, DAT_COMPLETION_FLAGS completion_flags)
{
	DAT_PROVIDED_OP(DAT_IB_FETCH_AND_ADD_OP, ep_handle, add_value, local_iov, user_context,
	                remote_iov, completion_flags);
	const dat_post post = {.op = RC_ADD,
	                       .params = RC_PARAMS_ADD,
	                       .num_segments = 1,
	                       .local_iov = local_iov,
	                       .cookie = user_context.as_64,
	                       .remote_iov = remote_iov,
	                       .operand = add_value,
	                       .completion = completion_flags};

	return DAT_LOCKED(rc_post(ep_handle, &post));
}
