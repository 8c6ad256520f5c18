/* functions.h - what is in the table of provider.c, as it is in the library or with a change. */
#ifndef DAT_PROVIDER_FUNCTIONS_H
#define DAT_PROVIDER_FUNCTIONS_H

/*
 * The object's table has, as its extension, the name's line in the registry that loaded it: this
 * text, then the parameters of the line in that registry's dat.conf, which may be another file than
 * the library reads.
 */
#define OBJECT_PARAMS "libdapllapi.so.2 params: "

/* clang-format off */
#define FUNCTIONS(X) \
	X(ia_query) X(ia_close) X(set_consumer_context) X(get_consumer_context) \
	X(get_handle_type) X(cno_create) X(cno_modify_agent) X(cno_free) X(cno_wait) \
	X(cr_query) X(cr_accept) X(cr_reject) X(cr_handoff) X(evd_create) \
	X(evd_modify_cno) X(evd_enable) X(evd_disable) X(evd_wait) X(evd_resize) \
	X(evd_post_se) X(evd_dequeue) X(evd_free) X(ep_create) X(ep_modify) \
	X(ep_connect) X(ep_dup_connect) X(ep_disconnect) X(ep_post_send) \
	X(ep_post_recv) X(ep_post_rdma_read) X(ep_post_rdma_write) X(ep_get_status) \
	X(ep_free) X(lmr_create) X(lmr_free) X(rmr_create) X(rmr_bind) X(rmr_free) \
	X(psp_create) X(psp_free) X(rsp_create) X(rsp_free) X(pz_create) X(pz_free) \
	X(psp_create_any) X(ep_reset) X(evd_set_unwaitable) X(evd_clear_unwaitable) \
	X(lmr_sync_rdma_read) X(lmr_sync_rdma_write) X(ep_create_with_srq) \
	X(ep_recv_query) X(ep_set_watermark) X(srq_create) X(srq_free) X(srq_post_recv) \
	X(srq_resize) X(srq_set_lw) X(csp_create) X(csp_free) X(ep_common_connect) \
	X(rmr_create_for_ep) X(ep_post_send_with_invalidate) \
	X(ep_post_rdma_read_to_rmr) X(cno_fd_create) X(cno_trigger)

/* Queries, whose parameters name an adapter. */
#define QUERIES(X) \
	X(cno, CNO) X(evd, EVD) X(ep, EP) X(lmr, LMR) X(rmr, RMR) X(psp, PSP) X(rsp, RSP) \
	X(pz, PZ) X(srq, SRQ) X(csp, CSP)
/* clang-format on */

#endif
