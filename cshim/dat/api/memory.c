/* memory.c - registers memory. */
#include "node/guard.h"
#include "dat/api/block.h"

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
