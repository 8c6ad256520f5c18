/* ib.c - InfiniBand extensions as functions, but for queries by name (providers.c). Each has
 * core do it. */
#include "dat/rc/rc.h"
#include "dat/api/providers.h"

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

DAT_RETURN(dat_ib_post_send_ud)
(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments, DAT_LMR_TRIPLET *local_iov,
 DAT_IB_ADDR_HANDLE *remote_ah, DAT_CONTEXT user_context, DAT_COMPLETION_FLAGS completion_flags)
{
	DAT_PROVIDED_OP(DAT_IB_UD_SEND_OP, ep_handle, num_segments, local_iov, remote_ah,
	                user_context, completion_flags);
	return DAT_CALL(ib_post_send_ud, DAT_P(ep_handle), DAT_I(num_segments), DAT_P(local_iov),
	                DAT_P(remote_ah), user_context.as_64, DAT_I(completion_flags));
}

DAT_RETURN(dat_ib_ud_cm_free)(DAT_EP_HANDLE ep_handle, DAT_CONTEXT context)
{
	DAT_PROVIDED_OP(DAT_IB_UD_CM_FREE_OP, ep_handle, context);
	return DAT_CALL(ib_ud_cm_free, DAT_P(ep_handle), context.as_64);
}

DAT_RETURN(dat_ib_ud_ah_free)(DAT_EP_HANDLE ep_handle, DAT_IB_ADDR_HANDLE *ah)
{
	DAT_PROVIDED_OP(DAT_IB_UD_AH_FREE_OP, ep_handle, ah);
	return DAT_CALL(ib_ud_ah_free, DAT_P(ep_handle), DAT_P(ah));
}

DAT_RETURN(dat_ib_query_counters)(DAT_HANDLE handle, int counter, DAT_UINT64 *counters, int reset)
{
	DAT_PROVIDED_OP(DAT_IB_QUERY_COUNTERS_OP, handle, counter, counters, reset);
	return DAT_CALL(ib_query_counters, DAT_P(handle), DAT_I(counter), DAT_P(counters),
	                DAT_I(reset));
}

DAT_RETURN(dat_ib_print_counters)(DAT_HANDLE handle, int counter, int reset)
{
	DAT_PROVIDED_OP(DAT_IB_PRINT_COUNTERS_OP, handle, counter, reset);
	return DAT_CALL(ib_print_counters, DAT_P(handle), DAT_I(counter), DAT_I(reset));
}

DAT_RETURN(dat_ib_start_counter)(DAT_IA_HANDLE ia_handle, DAT_COUNTER_TYPE type)
{
	DAT_PROVIDED_OP(DAT_IB_START_COUNTERS_OP, ia_handle, type);
	return DAT_CALL(ib_start_counter, DAT_P(ia_handle), DAT_I(type));
}

DAT_RETURN(dat_ib_stop_counter)(DAT_IA_HANDLE ia_handle, DAT_COUNTER_TYPE type)
{
	DAT_PROVIDED_OP(DAT_IB_STOP_COUNTERS_OP, ia_handle, type);
	return DAT_CALL(ib_stop_counter, DAT_P(ia_handle), DAT_I(type));
}
