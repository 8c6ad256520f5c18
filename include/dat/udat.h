/*
 * udat.h - uDAPL under the path of DAT 1.x: for programs written for 1.2, and for the proposal on
 * extensions of December 2005. All is <dat2/udat.h>, but for what is different here:
 *
 *   - dat_lmr_create may have 11 arguments: without va_type, which is then DAT_VA_TYPE_VA.
 *     With either number memory that peers may read is open to their atomics too, as the proposal
 *     has it.
 *   - dat_rmr_bind may have 7 arguments: without the LMR, which its triplet names, and va_type.
 *   - Triplets have the member pad, to be set to 0.
 *   - DAT_RMR_TRIPLET's address is also called target_address.
 *   - <dat/dat_extensions.h> is included, as the proposal has it.
 *
 * C++98 by the letter has only the number of arguments of 2.0, and grants no atomics. Sizes and
 * layouts are of 2.0: a program has to be compiled anew. Initializers of triplets by position mean
 * other members, since 1.x has them in another order.
 */
#ifndef DAT1_UDAT_H
#define DAT1_UDAT_H

#define DAT1_TRIPLET_PAD
#include <dat2/udat.h>
#include <dat2/dat_ib_extensions.h>
#include <dat/dat_extensions.h>

#define target_address virtual_address

#ifdef __cplusplus
extern "C" {
#endif

/* dat_lmr_create with the right that peers' atomics need, where they may read. */
static __inline__ DAT_RETURN
dat1_lmr_create(DAT_IA_HANDLE ia_handle, DAT_MEM_TYPE mem_type, DAT_REGION_DESCRIPTION region,
                DAT_VLEN length, DAT_PZ_HANDLE pz_handle, DAT_MEM_PRIV_FLAGS mem_privileges,
                DAT_VA_TYPE va_type, DAT_LMR_HANDLE *lmr_handle, DAT_LMR_CONTEXT *lmr_context,
                DAT_RMR_CONTEXT *rmr_context, DAT_VLEN *registered_length,
                DAT_VADDR *registered_address)
{
	int rights = mem_privileges;

	if (rights & DAT_MEM_PRIV_REMOTE_READ_FLAG)
		rights |= DAT_IB_MEM_PRIV_REMOTE_ATOMIC;
	return dat_lmr_create(ia_handle, mem_type, region, length, pz_handle,
	                      DAT_CAST(DAT_MEM_PRIV_FLAGS, rights), va_type, lmr_handle,
	                      lmr_context, rmr_context, registered_length, registered_address);
}

#ifdef __cplusplus
}
#endif

#ifdef DAT_ARGS_CHOOSE
#define dat_lmr_create(...) DAT_ARGS_CHOOSE(DAT1_LMR_CREATE, __VA_ARGS__)(__VA_ARGS__)
#define DAT1_LMR_CREATE_12 dat1_lmr_create
#define DAT1_LMR_CREATE_11(ia, mem_type, region, length, pz, priv, lmr, lmr_context, rmr_context, \
                           registered_length, registered_address) \
	dat1_lmr_create(ia, mem_type, region, length, pz, priv, DAT_VA_TYPE_VA, lmr, lmr_context, \
	                rmr_context, registered_length, registered_address)

#define dat_rmr_bind(...) DAT_ARGS_CHOOSE(DAT1_RMR_BIND, __VA_ARGS__)(__VA_ARGS__)
#define DAT1_RMR_BIND_9 (dat_rmr_bind)
#define DAT1_RMR_BIND_7(rmr, lmr_triplet, priv, ep, user_cookie, flags, rmr_context) \
	(dat_rmr_bind)(rmr, DAT_HANDLE_NULL, lmr_triplet, priv, DAT_VA_TYPE_VA, ep, user_cookie, flags, \
	               rmr_context)
#endif

#endif /* DAT1_UDAT_H */
