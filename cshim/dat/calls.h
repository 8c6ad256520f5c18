/*
 * calls.h - the calls that core does: their numbers and, of most, the types of their parameters.
 * From these come the entry points that do nothing but pass a call on (api/calls.c), which also
 * reads the extended operations by number.
 */
#ifndef DAT_CALLS_H
#define DAT_CALLS_H

/* X(name, types of parameters), by what the first one is. clang-format off */
#define DAT_CALLS_OF_ADAPTER(X) \
	X(ia_query, DAT_IA_HANDLE, DAT_EVD_HANDLE *, DAT_IA_ATTR_MASK, DAT_IA_ATTR *, \
	  DAT_PROVIDER_ATTR_MASK, DAT_PROVIDER_ATTR *) \
	X(cno_fd_create, DAT_IA_HANDLE, DAT_FD *, DAT_CNO_HANDLE *) \
	X(pz_create, DAT_IA_HANDLE, DAT_PZ_HANDLE *) \
	X(lmr_sync_rdma_read, DAT_IA_HANDLE, const DAT_LMR_TRIPLET *, DAT_VLEN) \
	X(lmr_sync_rdma_write, DAT_IA_HANDLE, const DAT_LMR_TRIPLET *, DAT_VLEN) \
	X(ep_create, DAT_IA_HANDLE, DAT_PZ_HANDLE, DAT_EVD_HANDLE, DAT_EVD_HANDLE, \
	  DAT_EVD_HANDLE, const DAT_EP_ATTR *, DAT_EP_HANDLE *) \
	X(ep_create_with_srq, DAT_IA_HANDLE, DAT_PZ_HANDLE, DAT_EVD_HANDLE, DAT_EVD_HANDLE, \
	  DAT_EVD_HANDLE, DAT_SRQ_HANDLE, const DAT_EP_ATTR *, DAT_EP_HANDLE *) \
	X(srq_create, DAT_IA_HANDLE, DAT_PZ_HANDLE, DAT_SRQ_ATTR *, DAT_SRQ_HANDLE *) \
	X(psp_create, DAT_IA_HANDLE, DAT_CONN_QUAL, DAT_EVD_HANDLE, DAT_PSP_FLAGS, \
	  DAT_PSP_HANDLE *) \
	X(psp_create_any, DAT_IA_HANDLE, DAT_CONN_QUAL *, DAT_EVD_HANDLE, DAT_PSP_FLAGS, \
	  DAT_PSP_HANDLE *) \
	X(rsp_create, DAT_IA_HANDLE, DAT_CONN_QUAL, DAT_EP_HANDLE, DAT_EVD_HANDLE, \
	  DAT_RSP_HANDLE *) \
	X(csp_create, DAT_IA_HANDLE, DAT_COMM *, DAT_IA_ADDRESS_PTR, DAT_EVD_HANDLE, \
	  DAT_CSP_HANDLE *)

#define DAT_CALLS_OF_OBJECT(X) \
	X(set_consumer_context, DAT_HANDLE, DAT_CONTEXT) \
	X(get_consumer_context, DAT_HANDLE, DAT_CONTEXT *) \
	X(get_handle_type, DAT_HANDLE, DAT_HANDLE_TYPE *) \
	X(evd_query, DAT_EVD_HANDLE, DAT_EVD_PARAM_MASK, DAT_EVD_PARAM *) \
	X(evd_free, DAT_EVD_HANDLE) \
	X(cno_query, DAT_CNO_HANDLE, DAT_CNO_PARAM_MASK, DAT_CNO_PARAM *) \
	X(cno_free, DAT_CNO_HANDLE) \
	X(pz_query, DAT_PZ_HANDLE, DAT_PZ_PARAM_MASK, DAT_PZ_PARAM *) \
	X(pz_free, DAT_PZ_HANDLE) \
	X(lmr_query, DAT_LMR_HANDLE, DAT_LMR_PARAM_MASK, DAT_LMR_PARAM *) \
	X(lmr_free, DAT_LMR_HANDLE) \
	X(rmr_create, DAT_PZ_HANDLE, DAT_RMR_HANDLE *) \
	X(rmr_create_for_ep, DAT_PZ_HANDLE, DAT_RMR_HANDLE *) \
	X(rmr_query, DAT_RMR_HANDLE, DAT_RMR_PARAM_MASK, DAT_RMR_PARAM *) \
	X(rmr_bind, DAT_RMR_HANDLE, DAT_LMR_HANDLE, const DAT_LMR_TRIPLET *, \
	  DAT_MEM_PRIV_FLAGS, DAT_VA_TYPE, DAT_EP_HANDLE, DAT_RMR_COOKIE, \
	  DAT_COMPLETION_FLAGS, DAT_RMR_CONTEXT *) \
	X(rmr_free, DAT_RMR_HANDLE) \
	X(ep_query, DAT_EP_HANDLE, DAT_EP_PARAM_MASK, DAT_EP_PARAM *) \
	X(ep_modify, DAT_EP_HANDLE, DAT_EP_PARAM_MASK, const DAT_EP_PARAM *) \
	X(ep_get_status, DAT_EP_HANDLE, DAT_EP_STATE *, DAT_BOOLEAN *, DAT_BOOLEAN *) \
	X(ep_reset, DAT_EP_HANDLE) \
	X(ep_free, DAT_EP_HANDLE) \
	X(ep_recv_query, DAT_EP_HANDLE, DAT_COUNT *, DAT_COUNT *) \
	X(ep_set_watermark, DAT_EP_HANDLE, DAT_COUNT, DAT_COUNT) \
	X(ep_connect, DAT_EP_HANDLE, DAT_IA_ADDRESS_PTR, DAT_CONN_QUAL, DAT_TIMEOUT, DAT_COUNT, \
	  const DAT_PVOID, DAT_QOS, DAT_CONNECT_FLAGS) \
	X(ep_dup_connect, DAT_EP_HANDLE, DAT_EP_HANDLE, DAT_TIMEOUT, DAT_COUNT, \
	  const DAT_PVOID, DAT_QOS) \
	X(ep_common_connect, DAT_EP_HANDLE, DAT_IA_ADDRESS_PTR, DAT_TIMEOUT, DAT_COUNT, \
	  const DAT_PVOID) \
	X(ep_disconnect, DAT_EP_HANDLE, DAT_CLOSE_FLAGS) \
	X(srq_free, DAT_SRQ_HANDLE) \
	X(srq_query, DAT_SRQ_HANDLE, DAT_SRQ_PARAM_MASK, DAT_SRQ_PARAM *) \
	X(srq_resize, DAT_SRQ_HANDLE, DAT_COUNT) \
	X(srq_set_lw, DAT_SRQ_HANDLE, DAT_COUNT) \
	X(cr_query, DAT_CR_HANDLE, DAT_CR_PARAM_MASK, DAT_CR_PARAM *) \
	X(cr_accept, DAT_CR_HANDLE, DAT_EP_HANDLE, DAT_COUNT, const DAT_PVOID) \
	X(cr_reject, DAT_CR_HANDLE, DAT_COUNT, const DAT_PVOID) \
	X(cr_handoff, DAT_CR_HANDLE, DAT_CONN_QUAL) \
	X(psp_query, DAT_PSP_HANDLE, DAT_PSP_PARAM_MASK, DAT_PSP_PARAM *) \
	X(psp_free, DAT_PSP_HANDLE) \
	X(rsp_query, DAT_RSP_HANDLE, DAT_RSP_PARAM_MASK, DAT_RSP_PARAM *) \
	X(rsp_free, DAT_RSP_HANDLE) \
	X(csp_query, DAT_CSP_HANDLE, DAT_CSP_PARAM_MASK, DAT_CSP_PARAM *) \
	X(csp_free, DAT_CSP_HANDLE)

/* Extended operations: X(name, operation, types of parameters), */
#define DAT_CALLS_EXTENDED(X) \
	X(ib_post_send_ud, DAT_IB_UD_SEND_OP, DAT_EP_HANDLE, DAT_COUNT, DAT_LMR_TRIPLET *, \
	  DAT_IB_ADDR_HANDLE *, DAT_CONTEXT, DAT_COMPLETION_FLAGS) \
	X(ib_ud_cm_free, DAT_IB_UD_CM_FREE_OP, DAT_EP_HANDLE, DAT_CONTEXT) \
	X(ib_ud_ah_free, DAT_IB_UD_AH_FREE_OP, DAT_EP_HANDLE, DAT_IB_ADDR_HANDLE *) \
	X(ib_query_counters, DAT_IB_QUERY_COUNTERS_OP, DAT_HANDLE, int, DAT_UINT64 *, int) \
	X(ib_print_counters, DAT_IB_PRINT_COUNTERS_OP, DAT_HANDLE, int, int) \
	X(ib_start_counter, DAT_IB_START_COUNTERS_OP, DAT_IA_HANDLE, DAT_COUNTER_TYPE) \
	X(ib_stop_counter, DAT_IB_STOP_COUNTERS_OP, DAT_IA_HANDLE, DAT_COUNTER_TYPE) \
	X(ib_collective_create_member, DAT_IB_COLLECTIVE_CREATE_MEMBER_OP, DAT_IA_HANDLE, \
	  void *, DAT_IB_COLLECTIVE_MEMBER *, DAT_UINT32 *) \
	X(ib_collective_free_member, DAT_IB_COLLECTIVE_FREE_MEMBER_OP, DAT_IA_HANDLE, \
	  DAT_IB_COLLECTIVE_MEMBER) \
	X(ib_collective_free_group, DAT_IB_COLLECTIVE_FREE_GROUP_OP, DAT_IB_COLLECTIVE_HANDLE) \
	X(ib_collective_read_clock, DAT_IB_COLLECTIVE_READ_CLOCK_OP, DAT_IB_COLLECTIVE_HANDLE, \
	  DAT_UINT64 *)
/* and those that are posted: C judges them first, and has no number for core. */
#define DAT_POSTS_EXTENDED(X) \
	X(ib_post_rdma_write_immed, DAT_IB_RDMA_WRITE_IMMED_OP, DAT_EP_HANDLE, DAT_COUNT, \
	  DAT_LMR_TRIPLET *, DAT_CONTEXT, DAT_RMR_TRIPLET *, DAT_UINT32, DAT_COMPLETION_FLAGS) \
	X(ib_post_cmp_and_swap, DAT_IB_CMP_AND_SWAP_OP, DAT_EP_HANDLE, DAT_UINT64, DAT_UINT64, \
	  DAT_LMR_TRIPLET *, DAT_CONTEXT, DAT_RMR_TRIPLET *, DAT_COMPLETION_FLAGS) \
	X(ib_post_fetch_and_add, DAT_IB_FETCH_AND_ADD_OP, DAT_EP_HANDLE, DAT_UINT64, \
	  DAT_LMR_TRIPLET *, DAT_CONTEXT, DAT_RMR_TRIPLET *, DAT_COMPLETION_FLAGS) \
	X(ib_collective_set_clock, DAT_IB_COLLECTIVE_SET_CLOCK_OP, DAT_IB_COLLECTIVE_HANDLE, \
	  DAT_UINT64, DAT_CONTEXT)

/* Calls whose entry points do more, or pass something else. */
#define DAT_CALLS_OTHER(X) \
	X(ia_openv) X(ia_close) X(evd_create) X(evd_modify_cno) X(cno_create) X(lmr_create) \
	X(post) /* what rc_post has judged */ \
	X(ep_post_recv) X(srq_post_recv) X(ib_open_query) X(ib_close_query) \
	X(ib_collective_create_group) X(collective) X(get_ia_handle)
/* clang-format on */

#define DAT_CALL_NUMBER(name, ...) DAT_CALL_##name,
enum {
	DAT_CALLS_OF_ADAPTER(DAT_CALL_NUMBER) DAT_CALLS_OF_OBJECT(DAT_CALL_NUMBER)
		DAT_CALLS_EXTENDED(DAT_CALL_NUMBER) DAT_CALLS_OTHER(DAT_CALL_NUMBER) DAT_NUM_CALLS
};

#endif
