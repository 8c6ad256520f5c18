/* provided.h - shared by provided_lib.c, a provider, and provided.c, which tests it. */
#ifndef PROVIDED_H
#define PROVIDED_H

#include <dat2/udat.h>
#include <dat2/dat_registry.h>
#include <dat2/dat_ib_extensions.h>
#include <stdint.h>

/* The result of its functions: the registry itself never returns it. */
#define PROVIDED_RESULT ((DAT_RETURN)0x8aaa1234)
#define PROVIDED_REFUSED ((DAT_RETURN)0x8aaa4321)

/* The functions of its table that do nothing but keep a record. */
/* clang-format off */
#define PROVIDED_NAMES(X) \
	X(set_consumer_context) X(get_consumer_context) X(get_handle_type) X(cno_create) \
	X(cno_modify_agent) X(cno_query) X(cno_free) X(cno_wait) X(cr_query) X(cr_accept) \
	X(cr_reject) X(cr_handoff) X(evd_create) X(evd_query) X(evd_modify_cno) X(evd_enable) \
	X(evd_disable) X(evd_wait) X(evd_resize) X(evd_post_se) X(evd_dequeue) X(evd_free) \
	X(ep_create) X(ep_query) X(ep_modify) X(ep_connect) X(ep_dup_connect) X(ep_disconnect) \
	X(ep_post_send) X(ep_post_recv) X(ep_post_rdma_read) X(ep_post_rdma_write) \
	X(ep_get_status) X(ep_free) X(lmr_create) X(lmr_query) X(lmr_free) X(rmr_create) \
	X(rmr_query) X(rmr_bind) X(rmr_free) X(psp_create) X(psp_query) X(psp_free) \
	X(rsp_create) X(rsp_query) X(rsp_free) X(pz_create) X(pz_query) X(pz_free) \
	X(psp_create_any) X(ep_reset) X(evd_set_unwaitable) X(evd_clear_unwaitable) \
	X(lmr_sync_rdma_read) X(lmr_sync_rdma_write) X(ep_create_with_srq) X(ep_recv_query) \
	X(ep_set_watermark) X(srq_create) X(srq_free) X(srq_post_recv) X(srq_query) \
	X(srq_resize) X(srq_set_lw) X(csp_create) X(csp_query) X(csp_free) \
	X(ep_common_connect) X(rmr_create_for_ep) X(ep_post_send_with_invalidate) \
	X(ep_post_rdma_read_to_rmr) X(cno_fd_create) X(cno_trigger)
/* clang-format on */

typedef struct provided_record {
	const char *name; /* of the latest call, */
	uint64_t words[13];
	int calls;
	int inits, opens, closes, finis;
	DAT_PROVIDER_INFO info; /* of the latest init, */
	char params[64];
	char opened[256]; /* of the latest open */
	DAT_COUNT size;
	DAT_IA_HANDLE known; /* what the registry calls the adapter */
	DAT_CLOSE_FLAGS flags;
	DAT_RETURN added, removed, inside;
	struct provided_record *end; /* where fini leaves it all */
} provided_record;

/* Exported by the library, besides a provider's functions. */
provided_record *provided_get(void);
void *provided_object(void);
void dat_provider_init(const DAT_PROVIDER_INFO *info, const char *params);
void dat_provider_fini(const DAT_PROVIDER_INFO *info);
DAT_RETURN dapl_extensions(DAT_HANDLE handle, DAT_EXTENDED_OP op, va_list list);

#endif
