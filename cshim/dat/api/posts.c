/*
 * posts.c - posts to endpoints and shared receive queues. On an RDMA adapter most posts are made
 * here (dev/quick.h); all others are judged as a whole.
 */
#if defined(__GNUC__) && !defined(__clang__)
/* Posts fill small structures member by member: by vectors that takes longer. */
#pragma GCC optimize("no-tree-slp-vectorize")
#endif

#include "dat/api/block.h"
#include "dat/dev/quick.h"
#include "dat/rc/rc.h"
#include "node/probe.h"

/* The work of a call that the adapter does not get at once: begun is how. Each is a function, so that
 * the call itself needs to keep no argument. */
#define SLOW __attribute__((noinline, cold))

/* A post that is judged as a whole; begun as dat_enter_quickly has it. */
static DAT_RETURN judge(DAT_EP_HANDLE ep, const dat_post *post,
                                                        int begun)
{
	return dat_enter_after(begun) ? dat_leave(rc_post(ep, post)) : dat_refused();
}

/* The newest post was refused. */
static SLOW void refused(void)
{
	if (dev_work)
		godat_progress();
	dat_leave(DAT_SUCCESS);
}

enum { POSTED = DAT_ENTERED + 1 };

/* After a post to an adapter. */
static inline __attribute__((always_inline)) int posted(int how)
{
	if (__builtin_expect(how == DEV_POSTED, 1))
		dat_leave_quickly();
	else if (how == DEV_REFUSED)
		refused();
	else
		return DAT_ENTERED;
	return POSTED;
}

/*
 * Posts a request of count segments to an adapter, if no closer look is needed. Without a call that
 * returns before the adapter's, so that the arguments stay where they are.
 */
static inline __attribute__((always_inline)) int quickly(DAT_EP_HANDLE ep, DAT_COUNT count,
                                                         const dev_quick post)
{
	int begun = count == 1 ? dat_enter_quickly() : DAT_NOT_BEGUN;
	dev_pair *pair;

	if (__builtin_expect(begun != DAT_ENTERED, 0))
		return begun;
	pair = *dev_recent_of((uintptr_t)ep);
	/* it is judged, too, when it is time to look for completions */
	if (__builtin_expect(pair->ep != (uintptr_t)ep ||
	                             (CSHIM_OWN(dat_progress.polls) + 1) % DAT_POSTS_PER_LOOK == 0 ||
	                             dat_progress.not_polling ||
	                             !node_can_read(post.local, sizeof *post.local) ||
	                             (post.op != RC_SEND &&
	                              !node_can_read(post.remote, sizeof *post.remote)),
	                     0))
		return DAT_ENTERED;
	cshim_poll_note(&dat_progress);
	return posted(dev_post_quickly(pair, &post));
}

/* A receive likewise. */
static inline __attribute__((always_inline)) int receive_quickly(DAT_EP_HANDLE ep, DAT_COUNT count,
                                                                 const DAT_LMR_TRIPLET *local,
                                                                 uint64_t cookie,
                                                                 uint32_t completion)
{
	int begun = count == 1 && !(completion & ~DAT_COMPLETION_KNOWN) ? dat_enter_quickly()
	                                                                : DAT_NOT_BEGUN;
	dev_pair *pair;

	if (__builtin_expect(begun != DAT_ENTERED, 0))
		return begun;
	pair = *dev_recent_of((uintptr_t)ep);
	if (__builtin_expect(pair->ep != (uintptr_t)ep || !node_can_read(local, sizeof *local), 0))
		return DAT_ENTERED;
	return posted(dev_receive_quickly(pair, local, cookie));
}

static SLOW DAT_RETURN slow_send(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments, DAT_LMR_TRIPLET *local_iov, DAT_DTO_COOKIE user_cookie, DAT_COMPLETION_FLAGS completion_flags, int begun)
{
	if (begun == DAT_NOT_BEGUN)
		DAT_PROVIDED(ep_post_send, ep_handle, num_segments, local_iov, user_cookie,
		             completion_flags);
	const dat_post post = {.op = RC_SEND,
	                       .params = RC_PARAMS_SEND,
	                       .num_segments = num_segments,
	                       .local_iov = local_iov,
	                       .cookie = user_cookie.as_64,
	                       .completion = completion_flags};

	return judge(ep_handle, &post, begun);
}

DAT_RETURN dat_ep_post_send(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments,
                            DAT_LMR_TRIPLET *local_iov, DAT_DTO_COOKIE user_cookie,
                            DAT_COMPLETION_FLAGS completion_flags)
{
	const dev_quick quick = {.op = RC_SEND,
	                         .local = local_iov,
	                         .cookie = user_cookie.as_64,
	                         .completion = completion_flags};
	int how = quickly(ep_handle, num_segments, quick);

	return __builtin_expect(how == POSTED, 1) ? DAT_SUCCESS
	                                          : slow_send(ep_handle, num_segments, local_iov, user_cookie, completion_flags, how);
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

static SLOW DAT_RETURN slow_recv(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments,
                           DAT_LMR_TRIPLET *local_iov, DAT_DTO_COOKIE user_cookie,
                           DAT_COMPLETION_FLAGS completion_flags, int begun)
{
	if (begun == DAT_NOT_BEGUN)
		DAT_PROVIDED(ep_post_recv, ep_handle, num_segments, local_iov, user_cookie,
		             completion_flags);
	if (!dat_enter_after(begun))
		return dat_refused();
	return dat_leave(rc_post_receive(ep_handle, num_segments, local_iov, user_cookie.as_64,
	                                 completion_flags));
}

DAT_RETURN dat_ep_post_recv(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments,
                            DAT_LMR_TRIPLET *local_iov, DAT_DTO_COOKIE user_cookie,
                            DAT_COMPLETION_FLAGS completion_flags)
{
	int how = receive_quickly(ep_handle, num_segments, local_iov, user_cookie.as_64,
	                          completion_flags);

	return __builtin_expect(how == POSTED, 1)
	               ? DAT_SUCCESS
	               : slow_recv(ep_handle, num_segments, local_iov, user_cookie, completion_flags, how);
}

static SLOW DAT_RETURN slow_rdma_read(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments, DAT_LMR_TRIPLET *local_iov, DAT_DTO_COOKIE user_cookie, const DAT_RMR_TRIPLET *remote_iov, DAT_COMPLETION_FLAGS completion_flags, int begun)
{
	if (begun == DAT_NOT_BEGUN)
		DAT_PROVIDED(ep_post_rdma_read, ep_handle, num_segments, local_iov, user_cookie, remote_iov,
		             completion_flags);
	const dat_post post = {.op = RC_READ,
	                       .params = RC_PARAMS_RDMA,
	                       .num_segments = num_segments,
	                       .local_iov = local_iov,
	                       .cookie = user_cookie.as_64,
	                       .remote_iov = remote_iov,
	                       .completion = completion_flags};

	return judge(ep_handle, &post, begun);
}

DAT_RETURN dat_ep_post_rdma_read(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments,
                                 DAT_LMR_TRIPLET *local_iov, DAT_DTO_COOKIE user_cookie,
                                 const DAT_RMR_TRIPLET *remote_iov,
                                 DAT_COMPLETION_FLAGS completion_flags)
{
	const dev_quick quick = {.op = RC_READ,
	                         .local = local_iov,
	                         .cookie = user_cookie.as_64,
	                         .remote = remote_iov,
	                         .completion = completion_flags};
	int how = quickly(ep_handle, num_segments, quick);

	return __builtin_expect(how == POSTED, 1) ? DAT_SUCCESS
	                                          : slow_rdma_read(ep_handle, num_segments, local_iov, user_cookie, remote_iov, completion_flags, how);
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

static SLOW DAT_RETURN slow_rdma_write(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments, DAT_LMR_TRIPLET *local_iov, DAT_DTO_COOKIE user_cookie, const DAT_RMR_TRIPLET *remote_iov, DAT_COMPLETION_FLAGS completion_flags, int begun)
{
	if (begun == DAT_NOT_BEGUN)
		DAT_PROVIDED(ep_post_rdma_write, ep_handle, num_segments, local_iov, user_cookie,
		             remote_iov, completion_flags);
	const dat_post post = {.op = RC_WRITE,
	                       .params = RC_PARAMS_RDMA,
	                       .num_segments = num_segments,
	                       .local_iov = local_iov,
	                       .cookie = user_cookie.as_64,
	                       .remote_iov = remote_iov,
	                       .completion = completion_flags};

	return judge(ep_handle, &post, begun);
}

DAT_RETURN dat_ep_post_rdma_write(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments,
                                  DAT_LMR_TRIPLET *local_iov, DAT_DTO_COOKIE user_cookie,
                                  const DAT_RMR_TRIPLET *remote_iov,
                                  DAT_COMPLETION_FLAGS completion_flags)
{
	const dev_quick quick = {.op = RC_WRITE,
	                         .local = local_iov,
	                         .cookie = user_cookie.as_64,
	                         .remote = remote_iov,
	                         .completion = completion_flags};
	int how = quickly(ep_handle, num_segments, quick);

	return __builtin_expect(how == POSTED, 1) ? DAT_SUCCESS
	                                          : slow_rdma_write(ep_handle, num_segments, local_iov, user_cookie, remote_iov, completion_flags, how);
}

DAT_RETURN dat_srq_post_recv(DAT_SRQ_HANDLE srq_handle, DAT_COUNT num_segments,
                             DAT_LMR_TRIPLET *local_iov, DAT_DTO_COOKIE user_cookie)
{
	DAT_PROVIDED(srq_post_recv, srq_handle, num_segments, local_iov, user_cookie);
	return DAT_LOCKED(rc_post_shared(srq_handle, num_segments, local_iov, user_cookie.as_64));
}

static SLOW DAT_RETURN slow_rdma_write_immed(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments, DAT_LMR_TRIPLET *local_iov, DAT_CONTEXT user_context, DAT_RMR_TRIPLET *remote_iov, DAT_UINT32 immediate_data, DAT_COMPLETION_FLAGS completion_flags, int begun)
{
	if (begun == DAT_NOT_BEGUN)
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

	return judge(ep_handle, &post, begun);
}

DAT_RETURN(dat_ib_post_rdma_write_immed)
(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments, DAT_LMR_TRIPLET *local_iov,
 DAT_CONTEXT user_context, DAT_RMR_TRIPLET *remote_iov, DAT_UINT32 immediate_data,
 DAT_COMPLETION_FLAGS completion_flags)
{
	const dev_quick quick = {.op = RC_WRITE,
	                         .flags = RC_IMMEDIATE,
	                         .local = local_iov,
	                         .cookie = user_context.as_64,
	                         .remote = remote_iov,
	                         .data = immediate_data,
	                         .completion = completion_flags};
	int how = quickly(ep_handle, num_segments, quick);

	return __builtin_expect(how == POSTED, 1) ? DAT_SUCCESS
	                                          : slow_rdma_write_immed(ep_handle, num_segments, local_iov, user_context, remote_iov, immediate_data, completion_flags, how);
}

static SLOW DAT_RETURN slow_cmp_and_swap(DAT_EP_HANDLE ep_handle, DAT_UINT64 cmp_value, DAT_UINT64 swap_value, DAT_LMR_TRIPLET *local_iov, DAT_CONTEXT user_context, DAT_RMR_TRIPLET *remote_iov, DAT_COMPLETION_FLAGS completion_flags, int begun)
{
	if (begun == DAT_NOT_BEGUN)
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

	return judge(ep_handle, &post, begun);
}

DAT_RETURN(dat_ib_post_cmp_and_swap)
(DAT_EP_HANDLE ep_handle, DAT_UINT64 cmp_value, DAT_UINT64 swap_value, DAT_LMR_TRIPLET *local_iov,
 DAT_CONTEXT user_context, DAT_RMR_TRIPLET *remote_iov, DAT_COMPLETION_FLAGS completion_flags)
{
	const dev_quick quick = {.op = RC_SWAP,
	                         .local = local_iov,
	                         .cookie = user_context.as_64,
	                         .remote = remote_iov,
	                         .operand = swap_value,
	                         .compare = cmp_value,
	                         .completion = completion_flags};
	int how = quickly(ep_handle, 1, quick);

	return __builtin_expect(how == POSTED, 1) ? DAT_SUCCESS
	                                          : slow_cmp_and_swap(ep_handle, cmp_value, swap_value, local_iov, user_context, remote_iov, completion_flags, how);
}

static SLOW DAT_RETURN slow_fetch_and_add(DAT_EP_HANDLE ep_handle, DAT_UINT64 add_value, DAT_LMR_TRIPLET *local_iov, DAT_CONTEXT user_context, DAT_RMR_TRIPLET *remote_iov, DAT_COMPLETION_FLAGS completion_flags, int begun)
{
	if (begun == DAT_NOT_BEGUN)
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

	return judge(ep_handle, &post, begun);
}

DAT_RETURN(dat_ib_post_fetch_and_add)
(DAT_EP_HANDLE ep_handle, DAT_UINT64 add_value, DAT_LMR_TRIPLET *local_iov,
 DAT_CONTEXT user_context, DAT_RMR_TRIPLET *remote_iov, DAT_COMPLETION_FLAGS completion_flags)
{
	const dev_quick quick = {.op = RC_ADD,
	                         .local = local_iov,
	                         .cookie = user_context.as_64,
	                         .remote = remote_iov,
	                         .operand = add_value,
	                         .completion = completion_flags};
	int how = quickly(ep_handle, 1, quick);

	return __builtin_expect(how == POSTED, 1) ? DAT_SUCCESS
	                                          : slow_fetch_and_add(ep_handle, add_value, local_iov, user_context, remote_iov, completion_flags, how);
}
