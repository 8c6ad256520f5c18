/*
 * memory.h - part of <dat2/dat.h>: protection zones and memory regions. The conventions of dat.h
 * hold.
 */
#ifndef DAT2_PARTS_MEMORY_H
#define DAT2_PARTS_MEMORY_H

#include <dat2/parts/basic.h>
#include <dat2/parts/object.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Protection zones ---- */

/* dat_pz_create makes a zone: an endpoint uses and exposes memory of its own zone only. */
DAT_EXPORT DAT_RETURN DAT_API dat_pz_create(DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE *pz_handle);

/* dat_pz_query fills *pz_param. */
DAT_EXPORT DAT_RETURN DAT_API dat_pz_query(DAT_PZ_HANDLE pz_handle, DAT_PZ_PARAM_MASK pz_param_mask,
                                           DAT_PZ_PARAM *pz_param);

/*
 * dat_pz_free frees it. Errors: DAT_INVALID_STATE (DAT_INVALID_STATE_PZ_IN_USE: an object has it).
 */
DAT_EXPORT DAT_RETURN DAT_API dat_pz_free(DAT_PZ_HANDLE pz_handle);

/* ---- Local memory regions ---- */

/*
 * dat_lmr_create registers memory: nothing is copied, and the process may pass any of its memory. The
 * member of region that mem_type names is the address, length the number of bytes. mem_privileges are
 * rights; va_type says what virtual_address in its triplets means. The handle goes to *lmr_handle,
 * the contexts for triplets of this process and of peers to *lmr_context and *rmr_context, the
 * registered range to *registered_length and *registered_address; all but lmr_handle may be NULL. Errors:
 * DAT_LENGTH_ERROR (0), DAT_MODEL_NOT_SUPPORTED, DAT_INVALID_PARAMETER.
 */
DAT_EXPORT DAT_RETURN DAT_API dat_lmr_create(DAT_IA_HANDLE ia_handle, DAT_MEM_TYPE mem_type,
                                             DAT_REGION_DESCRIPTION region, DAT_VLEN length,
                                             DAT_PZ_HANDLE pz_handle,
                                             DAT_MEM_PRIV_FLAGS mem_privileges, DAT_VA_TYPE va_type,
                                             DAT_LMR_HANDLE *lmr_handle, DAT_LMR_CONTEXT *lmr_context,
                                             DAT_RMR_CONTEXT *rmr_context, DAT_VLEN *registered_length,
                                             DAT_VADDR *registered_address);

/* dat_lmr_query fills *lmr_param. */
DAT_EXPORT DAT_RETURN DAT_API dat_lmr_query(DAT_LMR_HANDLE lmr_handle,
                                            DAT_LMR_PARAM_MASK lmr_param_mask,
                                            DAT_LMR_PARAM *lmr_param);

/*
 * dat_lmr_free ends a registration, also while operations on it are posted: they fail when they are
 * carried out. Errors: DAT_INVALID_STATE (DAT_INVALID_STATE_LMR_IN_USE: an RMR is bound to it).
 */
DAT_EXPORT DAT_RETURN DAT_API dat_lmr_free(DAT_LMR_HANDLE lmr_handle);

/*
 * dat_lmr_sync_rdma_read makes what the program has written to the segments visible to RDMA reads,
 * dat_lmr_sync_rdma_write makes what RDMA writes have written visible to the program. Memory is
 * coherent here: they check the arguments, and lmr_sync_req of DAT_PROVIDER_ATTR is FALSE.
 */
DAT_EXPORT DAT_RETURN DAT_API dat_lmr_sync_rdma_read(DAT_IA_HANDLE ia_handle,
                                                     const DAT_LMR_TRIPLET *local_segments,
                                                     DAT_VLEN num_segments);
DAT_EXPORT DAT_RETURN DAT_API dat_lmr_sync_rdma_write(DAT_IA_HANDLE ia_handle,
                                                      const DAT_LMR_TRIPLET *local_segments,
                                                      DAT_VLEN num_segments);

/* ---- Remote memory regions ---- */

/* dat_rmr_create makes a window, bound to nothing, and stores its handle in *rmr_handle. */
DAT_EXPORT DAT_RETURN DAT_API dat_rmr_create(DAT_PZ_HANDLE pz_handle, DAT_RMR_HANDLE *rmr_handle);

/*
 * dat_rmr_create_for_ep makes a window that only the peer of its bind's endpoint may use
 * (DAT_RMR_SCOPE_EP). Addition.
 */
DAT_EXPORT DAT_RETURN DAT_API dat_rmr_create_for_ep(DAT_PZ_HANDLE pz_handle,
                                                    DAT_RMR_HANDLE *rmr_handle);

/* dat_rmr_query fills *rmr_param. */
DAT_EXPORT DAT_RETURN DAT_API dat_rmr_query(DAT_RMR_HANDLE rmr_handle,
                                            DAT_RMR_PARAM_MASK rmr_param_mask,
                                            DAT_RMR_PARAM *rmr_param);

/*
 * dat_rmr_bind opens the part of lmr_handle that lmr_triplet names to peers, with these rights, and
 * stores the context for them in *rmr_context. Segment length 0 closes it. It is a request of
 * ep_handle, and complete with DAT_RMR_BIND_COMPLETION_EVENT on its request EVD. A binding before
 * it ends. A null lmr_handle means the LMR of lmr_triplet's lmr_context (DAT 1.x has no such
 * argument). Errors: DAT_INVALID_STATE (the EP is not connected), DAT_PRIVILEGES_VIOLATION (more
 * than the LMR's), DAT_PROTECTION_VIOLATION (bounds, zones), DAT_INSUFFICIENT_RESOURCES.
 */
DAT_EXPORT DAT_RETURN DAT_API dat_rmr_bind(DAT_RMR_HANDLE rmr_handle, DAT_LMR_HANDLE lmr_handle,
                                           const DAT_LMR_TRIPLET *lmr_triplet,
                                           DAT_MEM_PRIV_FLAGS mem_privileges, DAT_VA_TYPE va_type,
                                           DAT_EP_HANDLE ep_handle, DAT_RMR_COOKIE user_cookie,
                                           DAT_COMPLETION_FLAGS completion_flags,
                                           DAT_RMR_CONTEXT *rmr_context);

/* dat_rmr_free frees a window; the memory bound to it is closed. */
DAT_EXPORT DAT_RETURN DAT_API dat_rmr_free(DAT_RMR_HANDLE rmr_handle);

#ifdef __cplusplus
}
#endif

#endif /* DAT2_PARTS_MEMORY_H */
