/*
 * dat_redirection.h - for providers: the types of the functions in a provider's table, and macros
 * that call them through a handle. udat_redirection.h has the table. Programs do not need them:
 * they call dat_ functions.
 *
 * Source: uDAPL 2.0, provider interface.
 */
#ifndef _DAT_REDIRECTION_H_
#define _DAT_REDIRECTION_H_

#include <stdarg.h>
#include <dat2/udat.h>

typedef struct dat_provider DAT_PROVIDER;

/*
 * The table of the provider that made an object: a provider's object begins with a pointer to it.
 * Only for handles that a provider's own function has given; those that programs have are opaque.
 */
#define DAT_HANDLE_TO_PROVIDER(handle) (*(DAT_PROVIDER **)(handle))
#define DAT_PROVIDER_CALL(handle, function) (*DAT_HANDLE_TO_PROVIDER(handle)->function)

/* ---- Types: DAT_X_FUNC has the prototype of dat_x ---- */

typedef __typeof__(dat_ia_query) *DAT_IA_QUERY_FUNC;
typedef __typeof__(dat_ia_close) *DAT_IA_CLOSE_FUNC;
typedef __typeof__(dat_set_consumer_context) *DAT_SET_CONSUMER_CONTEXT_FUNC;
typedef __typeof__(dat_get_consumer_context) *DAT_GET_CONSUMER_CONTEXT_FUNC;
typedef __typeof__(dat_get_handle_type) *DAT_GET_HANDLE_TYPE_FUNC;
typedef __typeof__(dat_cno_create) *DAT_CNO_CREATE_FUNC;
typedef __typeof__(dat_cno_modify_agent) *DAT_CNO_MODIFY_AGENT_FUNC;
typedef __typeof__(dat_cno_query) *DAT_CNO_QUERY_FUNC;
typedef __typeof__(dat_cno_free) *DAT_CNO_FREE_FUNC;
typedef __typeof__(dat_cno_wait) *DAT_CNO_WAIT_FUNC;
typedef __typeof__(dat_cr_query) *DAT_CR_QUERY_FUNC;
typedef __typeof__(dat_cr_accept) *DAT_CR_ACCEPT_FUNC;
typedef __typeof__(dat_cr_reject) *DAT_CR_REJECT_FUNC;
typedef __typeof__(dat_cr_handoff) *DAT_CR_HANDOFF_FUNC;
typedef __typeof__(dat_evd_create) *DAT_EVD_CREATE_FUNC;
typedef __typeof__(dat_evd_query) *DAT_EVD_QUERY_FUNC;
typedef __typeof__(dat_evd_modify_cno) *DAT_EVD_MODIFY_CNO_FUNC;
typedef __typeof__(dat_evd_enable) *DAT_EVD_ENABLE_FUNC;
typedef __typeof__(dat_evd_disable) *DAT_EVD_DISABLE_FUNC;
typedef __typeof__(dat_evd_wait) *DAT_EVD_WAIT_FUNC;
typedef __typeof__(dat_evd_resize) *DAT_EVD_RESIZE_FUNC;
typedef __typeof__(dat_evd_post_se) *DAT_EVD_POST_SE_FUNC;
typedef __typeof__(dat_evd_dequeue) *DAT_EVD_DEQUEUE_FUNC;
typedef __typeof__(dat_evd_free) *DAT_EVD_FREE_FUNC;
typedef __typeof__(dat_ep_create) *DAT_EP_CREATE_FUNC;
typedef __typeof__(dat_ep_query) *DAT_EP_QUERY_FUNC;
typedef __typeof__(dat_ep_modify) *DAT_EP_MODIFY_FUNC;
typedef __typeof__(dat_ep_connect) *DAT_EP_CONNECT_FUNC;
typedef __typeof__(dat_ep_dup_connect) *DAT_EP_DUP_CONNECT_FUNC;
typedef __typeof__(dat_ep_disconnect) *DAT_EP_DISCONNECT_FUNC;
typedef __typeof__(dat_ep_post_send) *DAT_EP_POST_SEND_FUNC;
typedef __typeof__(dat_ep_post_recv) *DAT_EP_POST_RECV_FUNC;
typedef __typeof__(dat_ep_post_rdma_read) *DAT_EP_POST_RDMA_READ_FUNC;
typedef __typeof__(dat_ep_post_rdma_write) *DAT_EP_POST_RDMA_WRITE_FUNC;
typedef __typeof__(dat_ep_get_status) *DAT_EP_GET_STATUS_FUNC;
typedef __typeof__(dat_ep_free) *DAT_EP_FREE_FUNC;
typedef __typeof__(dat_lmr_create) *DAT_LMR_CREATE_FUNC;
typedef __typeof__(dat_lmr_query) *DAT_LMR_QUERY_FUNC;
typedef __typeof__(dat_lmr_free) *DAT_LMR_FREE_FUNC;
typedef __typeof__(dat_rmr_create) *DAT_RMR_CREATE_FUNC;
typedef __typeof__(dat_rmr_query) *DAT_RMR_QUERY_FUNC;
typedef __typeof__(dat_rmr_bind) *DAT_RMR_BIND_FUNC;
typedef __typeof__(dat_rmr_free) *DAT_RMR_FREE_FUNC;
typedef __typeof__(dat_psp_create) *DAT_PSP_CREATE_FUNC;
typedef __typeof__(dat_psp_query) *DAT_PSP_QUERY_FUNC;
typedef __typeof__(dat_psp_free) *DAT_PSP_FREE_FUNC;
typedef __typeof__(dat_rsp_create) *DAT_RSP_CREATE_FUNC;
typedef __typeof__(dat_rsp_query) *DAT_RSP_QUERY_FUNC;
typedef __typeof__(dat_rsp_free) *DAT_RSP_FREE_FUNC;
typedef __typeof__(dat_pz_create) *DAT_PZ_CREATE_FUNC;
typedef __typeof__(dat_pz_query) *DAT_PZ_QUERY_FUNC;
typedef __typeof__(dat_pz_free) *DAT_PZ_FREE_FUNC;
typedef __typeof__(dat_psp_create_any) *DAT_PSP_CREATE_ANY_FUNC;
typedef __typeof__(dat_ep_reset) *DAT_EP_RESET_FUNC;
typedef __typeof__(dat_evd_set_unwaitable) *DAT_EVD_SET_UNWAITABLE_FUNC;
typedef __typeof__(dat_evd_clear_unwaitable) *DAT_EVD_CLEAR_UNWAITABLE_FUNC;
typedef __typeof__(dat_lmr_sync_rdma_read) *DAT_LMR_SYNC_RDMA_READ_FUNC;
typedef __typeof__(dat_lmr_sync_rdma_write) *DAT_LMR_SYNC_RDMA_WRITE_FUNC;
typedef __typeof__(dat_ep_create_with_srq) *DAT_EP_CREATE_WITH_SRQ_FUNC;
typedef __typeof__(dat_ep_recv_query) *DAT_EP_RECV_QUERY_FUNC;
typedef __typeof__(dat_ep_set_watermark) *DAT_EP_SET_WATERMARK_FUNC;
typedef __typeof__(dat_srq_create) *DAT_SRQ_CREATE_FUNC;
typedef __typeof__(dat_srq_free) *DAT_SRQ_FREE_FUNC;
typedef __typeof__(dat_srq_post_recv) *DAT_SRQ_POST_RECV_FUNC;
typedef __typeof__(dat_srq_query) *DAT_SRQ_QUERY_FUNC;
typedef __typeof__(dat_srq_resize) *DAT_SRQ_RESIZE_FUNC;
typedef __typeof__(dat_srq_set_lw) *DAT_SRQ_SET_LW_FUNC;
typedef __typeof__(dat_csp_create) *DAT_CSP_CREATE_FUNC;
typedef __typeof__(dat_csp_query) *DAT_CSP_QUERY_FUNC;
typedef __typeof__(dat_csp_free) *DAT_CSP_FREE_FUNC;
typedef __typeof__(dat_ep_common_connect) *DAT_EP_COMMON_CONNECT_FUNC;
typedef __typeof__(dat_rmr_create_for_ep) *DAT_RMR_CREATE_FOR_EP_FUNC;
typedef __typeof__(dat_ep_post_send_with_invalidate) *DAT_EP_POST_SEND_WITH_INVALIDATE_FUNC;
typedef __typeof__(dat_ep_post_rdma_read_to_rmr) *DAT_EP_POST_RDMA_READ_TO_RMR_FUNC;
typedef __typeof__(dat_cno_fd_create) *DAT_CNO_FD_CREATE_FUNC;
typedef __typeof__(dat_cno_trigger) *DAT_CNO_TRIGGER_FUNC;
typedef __typeof__(dat_ia_openv) *DAT_IA_OPENV_FUNC;

/* Opens as dat_ia_openv does. The registry has found the version before. */
typedef DAT_RETURN(DAT_API *DAT_IA_OPEN_FUNC)(const DAT_NAME_PTR name, DAT_COUNT async_evd_min_qlen,
                                              DAT_EVD_HANDLE *async_evd_handle,
                                              DAT_IA_HANDLE *ia_handle);

/* Stores whether the adapter and the provider of that name stay up for each other. */
typedef DAT_RETURN(DAT_API *DAT_IA_HA_RELATED_FUNC)(DAT_IA_HANDLE ia_handle,
                                                    const DAT_NAME_PTR provider, DAT_BOOLEAN *answer);

/* Does an extended operation, as dat_extension_op; the arguments are read once. */
typedef DAT_RETURN(DAT_API *DAT_HANDLE_EXTENDEDOP_FUNC)(DAT_HANDLE handle, DAT_EXTENDED_OP op,
                                                        va_list args);

/* ---- Calls: DAT_X(...) calls the function x of the provider that made its first argument ---- */

#define DAT_IA_QUERY(ia, evd, ia_msk, ia_ptr, p_msk, p_ptr) \
	DAT_PROVIDER_CALL(ia, ia_query_func)(ia, evd, ia_msk, ia_ptr, p_msk, p_ptr)
#define DAT_SET_CONSUMER_CONTEXT(handle, context) \
	DAT_PROVIDER_CALL(handle, set_consumer_context_func)(handle, context)
#define DAT_GET_CONSUMER_CONTEXT(handle, context) \
	DAT_PROVIDER_CALL(handle, get_consumer_context_func)(handle, context)
#define DAT_GET_HANDLE_TYPE(handle, handle_type) \
	DAT_PROVIDER_CALL(handle, get_handle_type_func)(handle, handle_type)
#define DAT_CNO_CREATE(ia, proxy, cno) DAT_PROVIDER_CALL(ia, cno_create_func)(ia, proxy, cno)
#define DAT_CNO_MODIFY_AGENT(cno, proxy) DAT_PROVIDER_CALL(cno, cno_modify_agent_func)(cno, proxy)
#define DAT_CNO_QUERY(cno, mask, param) DAT_PROVIDER_CALL(cno, cno_query_func)(cno, mask, param)
#define DAT_CNO_FREE(cno) DAT_PROVIDER_CALL(cno, cno_free_func)(cno)
#define DAT_CNO_WAIT(cno, timeout, evd) DAT_PROVIDER_CALL(cno, cno_wait_func)(cno, timeout, evd)
#define DAT_CR_QUERY(cr, mask, param) DAT_PROVIDER_CALL(cr, cr_query_func)(cr, mask, param)
#define DAT_CR_ACCEPT(cr, ep, size, pdata) \
	DAT_PROVIDER_CALL(cr, cr_accept_func)(cr, ep, size, pdata)
#define DAT_CR_REJECT(cr, size, pdata) DAT_PROVIDER_CALL(cr, cr_reject_func)(cr, size, pdata)
#define DAT_CR_HANDOFF(cr, qual) DAT_PROVIDER_CALL(cr, cr_handoff_func)(cr, qual)
#define DAT_EVD_CREATE(ia, qlen, cno, flags, handle) \
	DAT_PROVIDER_CALL(ia, evd_create_func)(ia, qlen, cno, flags, handle)
#define DAT_EVD_QUERY(evd, mask, param) DAT_PROVIDER_CALL(evd, evd_query_func)(evd, mask, param)
#define DAT_EVD_MODIFY_CNO(evd, cno) DAT_PROVIDER_CALL(evd, evd_modify_cno_func)(evd, cno)
#define DAT_EVD_ENABLE(evd) DAT_PROVIDER_CALL(evd, evd_enable_func)(evd)
#define DAT_EVD_DISABLE(evd) DAT_PROVIDER_CALL(evd, evd_disable_func)(evd)
#define DAT_EVD_WAIT(evd, timeout, threshold, event, nmore) \
	DAT_PROVIDER_CALL(evd, evd_wait_func)(evd, timeout, threshold, event, nmore)
#define DAT_EVD_RESIZE(evd, qsize) DAT_PROVIDER_CALL(evd, evd_resize_func)(evd, qsize)
#define DAT_EVD_POST_SE(evd, event) DAT_PROVIDER_CALL(evd, evd_post_se_func)(evd, event)
#define DAT_EVD_DEQUEUE(evd, event) DAT_PROVIDER_CALL(evd, evd_dequeue_func)(evd, event)
#define DAT_EVD_FREE(evd) DAT_PROVIDER_CALL(evd, evd_free_func)(evd)
#define DAT_EP_CREATE(ia, pz, in_evd, out_evd, connect_evd, attr, ep) \
	DAT_PROVIDER_CALL(ia, ep_create_func)(ia, pz, in_evd, out_evd, connect_evd, attr, ep)
#define DAT_EP_QUERY(ep, mask, param) DAT_PROVIDER_CALL(ep, ep_query_func)(ep, mask, param)
#define DAT_EP_MODIFY(ep, mask, param) DAT_PROVIDER_CALL(ep, ep_modify_func)(ep, mask, param)
#define DAT_EP_CONNECT(ep, ia_addr, conn_qual, timeout, psize, pdata, qos, flags) \
	DAT_PROVIDER_CALL(ep, ep_connect_func) \
	(ep, ia_addr, conn_qual, timeout, psize, pdata, qos, flags)
#define DAT_EP_DUP_CONNECT(ep, dup, timeout, psize, pdata, qos) \
	DAT_PROVIDER_CALL(ep, ep_dup_connect_func)(ep, dup, timeout, psize, pdata, qos)
#define DAT_EP_DISCONNECT(ep, flags) DAT_PROVIDER_CALL(ep, ep_disconnect_func)(ep, flags)
#define DAT_EP_POST_SEND(ep, size, lbuf, cookie, flags) \
	DAT_PROVIDER_CALL(ep, ep_post_send_func)(ep, size, lbuf, cookie, flags)
#define DAT_EP_POST_RECV(ep, size, lbuf, cookie, flags) \
	DAT_PROVIDER_CALL(ep, ep_post_recv_func)(ep, size, lbuf, cookie, flags)
#define DAT_EP_POST_RDMA_READ(ep, size, lbuf, cookie, rbuf, flags) \
	DAT_PROVIDER_CALL(ep, ep_post_rdma_read_func)(ep, size, lbuf, cookie, rbuf, flags)
#define DAT_EP_POST_RDMA_WRITE(ep, size, lbuf, cookie, rbuf, flags) \
	DAT_PROVIDER_CALL(ep, ep_post_rdma_write_func)(ep, size, lbuf, cookie, rbuf, flags)
#define DAT_EP_GET_STATUS(ep, ep_state, recv_idle, request_idle) \
	DAT_PROVIDER_CALL(ep, ep_get_status_func)(ep, ep_state, recv_idle, request_idle)
#define DAT_EP_FREE(ep) DAT_PROVIDER_CALL(ep, ep_free_func)(ep)
#define DAT_LMR_CREATE(ia, mem_type, reg_desc, len, pz, priv, va_type, lmr, lmr_context, \
                       rmr_context, reg_len, reg_addr) \
	DAT_PROVIDER_CALL(ia, lmr_create_func) \
	(ia, mem_type, reg_desc, len, pz, priv, va_type, lmr, lmr_context, rmr_context, \
	 reg_len, reg_addr)
#define DAT_LMR_QUERY(lmr, mask, param) DAT_PROVIDER_CALL(lmr, lmr_query_func)(lmr, mask, param)
#define DAT_LMR_FREE(lmr) DAT_PROVIDER_CALL(lmr, lmr_free_func)(lmr)
#define DAT_RMR_CREATE(pz, rmr) DAT_PROVIDER_CALL(pz, rmr_create_func)(pz, rmr)
#define DAT_RMR_QUERY(rmr, mask, param) DAT_PROVIDER_CALL(rmr, rmr_query_func)(rmr, mask, param)
#define DAT_RMR_BIND(rmr, lmr, lmr_triplet, mem_priv, va_type, ep, cookie, flags, context) \
	DAT_PROVIDER_CALL(rmr, rmr_bind_func) \
	(rmr, lmr, lmr_triplet, mem_priv, va_type, ep, cookie, flags, context)
#define DAT_RMR_FREE(rmr) DAT_PROVIDER_CALL(rmr, rmr_free_func)(rmr)
#define DAT_PSP_CREATE(ia, conn_qual, evd, flags, handle) \
	DAT_PROVIDER_CALL(ia, psp_create_func)(ia, conn_qual, evd, flags, handle)
#define DAT_PSP_QUERY(psp, mask, param) DAT_PROVIDER_CALL(psp, psp_query_func)(psp, mask, param)
#define DAT_PSP_FREE(psp) DAT_PROVIDER_CALL(psp, psp_free_func)(psp)
#define DAT_RSP_CREATE(ia, conn_qual, ep, evd, handle) \
	DAT_PROVIDER_CALL(ia, rsp_create_func)(ia, conn_qual, ep, evd, handle)
#define DAT_RSP_QUERY(rsp, mask, param) DAT_PROVIDER_CALL(rsp, rsp_query_func)(rsp, mask, param)
#define DAT_RSP_FREE(rsp) DAT_PROVIDER_CALL(rsp, rsp_free_func)(rsp)
#define DAT_PZ_CREATE(ia, pz) DAT_PROVIDER_CALL(ia, pz_create_func)(ia, pz)
#define DAT_PZ_QUERY(pz, mask, param) DAT_PROVIDER_CALL(pz, pz_query_func)(pz, mask, param)
#define DAT_PZ_FREE(pz) DAT_PROVIDER_CALL(pz, pz_free_func)(pz)
#define DAT_PSP_CREATE_ANY(ia, conn_qual, evd, flags, handle) \
	DAT_PROVIDER_CALL(ia, psp_create_any_func)(ia, conn_qual, evd, flags, handle)
#define DAT_EP_RESET(ep) DAT_PROVIDER_CALL(ep, ep_reset_func)(ep)
#define DAT_EVD_SET_UNWAITABLE(evd) DAT_PROVIDER_CALL(evd, evd_set_unwaitable_func)(evd)
#define DAT_EVD_CLEAR_UNWAITABLE(evd) DAT_PROVIDER_CALL(evd, evd_clear_unwaitable_func)(evd)
#define DAT_LMR_SYNC_RDMA_READ(ia, lbuf, size) \
	DAT_PROVIDER_CALL(ia, lmr_sync_rdma_read_func)(ia, lbuf, size)
#define DAT_LMR_SYNC_RDMA_WRITE(ia, lbuf, size) \
	DAT_PROVIDER_CALL(ia, lmr_sync_rdma_write_func)(ia, lbuf, size)
#define DAT_EP_CREATE_WITH_SRQ(ia, pz, in_evd, out_evd, connect_evd, srq, attr, ep) \
	DAT_PROVIDER_CALL(ia, ep_create_with_srq_func) \
	(ia, pz, in_evd, out_evd, connect_evd, srq, attr, ep)
#define DAT_EP_RECV_QUERY(ep, nbuf_alloc, buf_span) \
	DAT_PROVIDER_CALL(ep, ep_recv_query_func)(ep, nbuf_alloc, buf_span)
#define DAT_EP_SET_WATERMARK(ep, soft_wm, hard_wm) \
	DAT_PROVIDER_CALL(ep, ep_set_watermark_func)(ep, soft_wm, hard_wm)
#define DAT_SRQ_CREATE(ia, pz, attr, srq) \
	DAT_PROVIDER_CALL(ia, srq_create_func)(ia, pz, attr, srq)
#define DAT_SRQ_FREE(srq) DAT_PROVIDER_CALL(srq, srq_free_func)(srq)
#define DAT_SRQ_POST_RECV(srq, size, lbuf, cookie) \
	DAT_PROVIDER_CALL(srq, srq_post_recv_func)(srq, size, lbuf, cookie)
#define DAT_SRQ_QUERY(srq, mask, param) DAT_PROVIDER_CALL(srq, srq_query_func)(srq, mask, param)
#define DAT_SRQ_RESIZE(srq, qsize) DAT_PROVIDER_CALL(srq, srq_resize_func)(srq, qsize)
#define DAT_SRQ_SET_LW(srq, lw) DAT_PROVIDER_CALL(srq, srq_set_lw_func)(srq, lw)
#define DAT_CSP_CREATE(ia, comm, addr, evd, handle) \
	DAT_PROVIDER_CALL(ia, csp_create_func)(ia, comm, addr, evd, handle)
#define DAT_CSP_QUERY(csp, mask, param) DAT_PROVIDER_CALL(csp, csp_query_func)(csp, mask, param)
#define DAT_CSP_FREE(csp) DAT_PROVIDER_CALL(csp, csp_free_func)(csp)
#define DAT_EP_COMMON_CONNECT(ep, addr, timeout, psize, pdata) \
	DAT_PROVIDER_CALL(ep, ep_common_connect_func)(ep, addr, timeout, psize, pdata)
#define DAT_RMR_CREATE_FOR_EP(pz, rmr) DAT_PROVIDER_CALL(pz, rmr_create_for_ep_func)(pz, rmr)
#define DAT_EP_POST_SEND_WITH_INVALIDATE(ep, size, lbuf, cookie, flags, inv_flag, rmr_context) \
	DAT_PROVIDER_CALL(ep, ep_post_send_with_invalidate_func) \
	(ep, size, lbuf, cookie, flags, inv_flag, rmr_context)
#define DAT_EP_POST_RDMA_READ_TO_RMR(ep, lbuf, cookie, rbuf, flags) \
	DAT_PROVIDER_CALL(ep, ep_post_rdma_read_to_rmr_func)(ep, lbuf, cookie, rbuf, flags)
#define DAT_CNO_FD_CREATE(ia, fd, cno) DAT_PROVIDER_CALL(ia, cno_fd_create_func)(ia, fd, cno)
#define DAT_CNO_TRIGGER(cno, evd) DAT_PROVIDER_CALL(cno, cno_trigger_func)(cno, evd)
#define DAT_IA_HA_RELATED(ia, name, answer) \
	DAT_PROVIDER_CALL(ia, ia_ha_related_func)(ia, name, answer)
#define DAT_HANDLE_EXTENDEDOP(handle, op, args) \
	DAT_PROVIDER_CALL(handle, handle_extendedop_func)(handle, op, args)

#endif /* _DAT_REDIRECTION_H_ */
