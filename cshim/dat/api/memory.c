/* memory.c - protection zones and memory regions. Each has core do it. */
#include "node/guard.h"
#include "dat/api/providers.h"

DAT_RETURN dat_pz_create(DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE *pz_handle)
{
	DAT_PROVIDED_IA(pz_create, ia_handle, pz_handle);
	return DAT_CALL(pz_create, DAT_P(ia_handle), DAT_P(pz_handle));
}

DAT_RETURN dat_pz_query(DAT_PZ_HANDLE pz_handle, DAT_PZ_PARAM_MASK pz_param_mask,
                        DAT_PZ_PARAM *pz_param)
{
	DAT_PROVIDED(pz_query, pz_handle, pz_param_mask, pz_param);
	return DAT_CALL(pz_query, DAT_P(pz_handle), DAT_I(pz_param_mask), DAT_P(pz_param));
}

DAT_RETURN dat_pz_free(DAT_PZ_HANDLE pz_handle)
{
	DAT_PROVIDED(pz_free, pz_handle);
	return DAT_CALL(pz_free, DAT_P(pz_handle));
}

DAT_RETURN dat_lmr_create(DAT_IA_HANDLE ia_handle, DAT_MEM_TYPE mem_type,
                          DAT_REGION_DESCRIPTION region, DAT_VLEN length, DAT_PZ_HANDLE pz_handle,
                          DAT_MEM_PRIV_FLAGS mem_privileges, DAT_VA_TYPE va_type,
                          DAT_LMR_HANDLE *lmr_handle, DAT_LMR_CONTEXT *lmr_context,
                          DAT_RMR_CONTEXT *rmr_context, DAT_VLEN *registered_length,
                          DAT_VADDR *registered_address)
{
	DAT_PROVIDED_IA(lmr_create, ia_handle, mem_type, region, length, pz_handle, mem_privileges,
	                va_type, lmr_handle, lmr_context, rmr_context, registered_length,
	                registered_address);
	/* faults in it are the library's, also if the program has put its own handler before it */
	node_guard_install();
	return DAT_CALL(lmr_create, DAT_P(ia_handle), DAT_I(mem_type),
	                DAT_P(region.for_shared_memory.virtual_address),
	                DAT_P(region.for_shared_memory.shared_memory_id), length, DAT_P(pz_handle),
	                DAT_I(mem_privileges), DAT_I(va_type), DAT_P(lmr_handle),
	                DAT_P(lmr_context), DAT_P(rmr_context), DAT_P(registered_length),
	                DAT_P(registered_address));
}

DAT_RETURN dat_lmr_query(DAT_LMR_HANDLE lmr_handle, DAT_LMR_PARAM_MASK lmr_param_mask,
                         DAT_LMR_PARAM *lmr_param)
{
	DAT_PROVIDED(lmr_query, lmr_handle, lmr_param_mask, lmr_param);
	return DAT_CALL(lmr_query, DAT_P(lmr_handle), DAT_I(lmr_param_mask), DAT_P(lmr_param));
}

DAT_RETURN dat_lmr_free(DAT_LMR_HANDLE lmr_handle)
{
	DAT_PROVIDED(lmr_free, lmr_handle);
	return DAT_CALL(lmr_free, DAT_P(lmr_handle));
}

DAT_RETURN dat_lmr_sync_rdma_read(DAT_IA_HANDLE ia_handle, const DAT_LMR_TRIPLET *local_segments,
                                  DAT_VLEN num_segments)
{
	DAT_PROVIDED_IA(lmr_sync_rdma_read, ia_handle, local_segments, num_segments);
	return DAT_CALL(lmr_sync_rdma_read, DAT_P(ia_handle), DAT_P(local_segments), num_segments);
}

DAT_RETURN dat_lmr_sync_rdma_write(DAT_IA_HANDLE ia_handle, const DAT_LMR_TRIPLET *local_segments,
                                   DAT_VLEN num_segments)
{
	DAT_PROVIDED_IA(lmr_sync_rdma_write, ia_handle, local_segments, num_segments);
	return DAT_CALL(lmr_sync_rdma_write, DAT_P(ia_handle), DAT_P(local_segments), num_segments);
}

DAT_RETURN dat_rmr_create(DAT_PZ_HANDLE pz_handle, DAT_RMR_HANDLE *rmr_handle)
{
	DAT_PROVIDED(rmr_create, pz_handle, rmr_handle);
	return DAT_CALL(rmr_create, DAT_P(pz_handle), DAT_P(rmr_handle));
}

DAT_RETURN dat_rmr_create_for_ep(DAT_PZ_HANDLE pz_handle, DAT_RMR_HANDLE *rmr_handle)
{
	DAT_PROVIDED(rmr_create_for_ep, pz_handle, rmr_handle);
	return DAT_CALL(rmr_create_for_ep, DAT_P(pz_handle), DAT_P(rmr_handle));
}

DAT_RETURN dat_rmr_query(DAT_RMR_HANDLE rmr_handle, DAT_RMR_PARAM_MASK rmr_param_mask,
                         DAT_RMR_PARAM *rmr_param)
{
	DAT_PROVIDED(rmr_query, rmr_handle, rmr_param_mask, rmr_param);
	return DAT_CALL(rmr_query, DAT_P(rmr_handle), DAT_I(rmr_param_mask), DAT_P(rmr_param));
}

DAT_RETURN dat_rmr_bind(DAT_RMR_HANDLE rmr_handle, DAT_LMR_HANDLE lmr_handle,
                        const DAT_LMR_TRIPLET *lmr_triplet, DAT_MEM_PRIV_FLAGS mem_privileges,
                        DAT_VA_TYPE va_type, DAT_EP_HANDLE ep_handle, DAT_RMR_COOKIE user_cookie,
                        DAT_COMPLETION_FLAGS completion_flags, DAT_RMR_CONTEXT *rmr_context)
{
	DAT_PROVIDED(rmr_bind, rmr_handle, lmr_handle, lmr_triplet, mem_privileges, va_type,
	             ep_handle, user_cookie, completion_flags, rmr_context);
	return DAT_CALL(rmr_bind, DAT_P(rmr_handle), DAT_P(lmr_handle), DAT_P(lmr_triplet),
	                DAT_I(mem_privileges), DAT_I(va_type), DAT_P(ep_handle), user_cookie.as_64,
	                DAT_I(completion_flags), DAT_P(rmr_context));
}

DAT_RETURN dat_rmr_free(DAT_RMR_HANDLE rmr_handle)
{
	DAT_PROVIDED(rmr_free, rmr_handle);
	return DAT_CALL(rmr_free, DAT_P(rmr_handle));
}
