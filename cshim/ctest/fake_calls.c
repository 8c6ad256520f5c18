/* fake_calls.c - what the fake core answers to the calls that transfer nothing: addresses,
 * environment, DGSPs, recovery, texts. */
#define _GNU_SOURCE
#include <stddef.h>
#include <stdio.h>

#include "ctest/fake_core.h"

int golapi_addr_set(int context, cshim_addr addr, int32_t index)
{
	if (index < 1 || index >= 16)
		return LAPI_ERR_ADDR_HNDL_RANGE;
	fake_enter(context)->addresses[index] = addr;
	return LAPI_SUCCESS;
}

int golapi_addr_get(int context, int32_t index, cshim_addr *addr)
{
	if (index < 1 || index >= 16)
		return LAPI_ERR_ADDR_HNDL_RANGE;
	*addr = fake_enter(context)->addresses[index];
	return LAPI_SUCCESS;
}

int golapi_qenv(int context, uint32_t query, cshim_addr ret_val)
{
	fake_enter(context);
	if (query != INTERRUPT_SET)
		return LAPI_ERR_QUERY_TYPE;
	*(int *)(uintptr_t)ret_val = (int)__atomic_load_n(
		&cshim_context_at(context)->progress.interrupts, __ATOMIC_SEQ_CST);
	return LAPI_SUCCESS;
}

int golapi_senv(int context, uint32_t query, int32_t val)
{
	fake_enter(context);
	if (query != INTERRUPT_SET)
		return LAPI_ERR_QUERY_TYPE;
	__atomic_store_n(&cshim_context_at(context)->progress.interrupts, val ? 1 : 0,
	                 __ATOMIC_SEQ_CST);
	return LAPI_SUCCESS;
}

/* The fake core has no adapters. */
int golapi_register(int context, cshim_addr base, uint64_t size, uint32_t access, uint64_t *key)
{
	fake_enter(context);
	(void)base, (void)size, (void)access, (void)key;
	return CSHIM_NO_KEYS;
}

void golapi_deregister(int context, cshim_addr base, uint64_t size, uint64_t *key)
{
	fake_enter(context);
	(void)base, (void)size, (void)key;
}

/* The fake core knows no DGSP. */
int golapi_dgsp_register(cshim_addr descriptor, cshim_addr *handle)
{
	(void)descriptor;
	*handle = 0;
	return LAPI_ERR_DGSP;
}

int golapi_dgsp_reserve(cshim_addr handle)
{
	(void)handle;
	return LAPI_ERR_DGSP;
}

int golapi_dgsp_unreserve(cshim_addr handle)
{
	(void)handle;
	return LAPI_ERR_DGSP_FREE;
}

void golapi_dgsp_ddm(int context, cshim_addr handler)
{
	fake_enter(context);
	(void)handler;
}

int golapi_dgsp_pack(int context, cshim_addr handle, cshim_addr in, uint64_t n, cshim_addr out,
                     uint64_t size, uint64_t *position)
{
	fake_enter(context);
	(void)handle, (void)in, (void)n, (void)out, (void)size, (void)position;
	return LAPI_ERR_DGSP;
}

int golapi_dgsp_unpack(int context, cshim_addr handle, cshim_addr in, uint64_t in_size,
                       uint64_t *position, cshim_addr out, uint64_t n, uint64_t out_size)
{
	fake_enter(context);
	(void)handle, (void)in, (void)in_size, (void)position, (void)out, (void)n, (void)out_size;
	return LAPI_ERR_DGSP;
}

int golapi_add_udp_dest(int context, uint32_t tgt, uint32_t instance_no, cshim_addr port,
                        int with_family)
{
	fake_enter(context);
	(void)instance_no, (void)with_family;
	return !port ? LAPI_ERR_UDP_PORT_INFO : tgt > 0 ? LAPI_ERR_TGT : LAPI_SUCCESS;
}

/* The only task whose purge counters may list is 0. */
int golapi_purge(int context, uint32_t dest)
{
	fake_enter(context)->purge_news = 1;
	return dest > 0 ? LAPI_ERR_TGT : LAPI_SUCCESS;
}

int golapi_resume(int context, uint32_t dest)
{
	fake_enter(context);
	return dest > 0 ? LAPI_ERR_TGT : LAPI_SUCCESS;
}

int golapi_counter_list(int context, cshim_addr cntr, int32_t num_dest, cshim_addr dest,
                        cshim_addr status, cshim_addr member)
{
	(void)num_dest, (void)dest, (void)status;
	CHECK(member == cntr + offsetof(struct new_cntr, dest_status));
	fake_enter(context)->listed = dest ? cntr : 0;
	return LAPI_SUCCESS;
}

void golapi_counter_unlist(int context, cshim_addr cntr)
{
	if (fake_enter(context)->listed == cntr)
		fake_enter(context)->listed = 0;
}

int golapi_counter_purged(int context, cshim_addr cntr)
{
	fake_core *core = fake_enter(context);
	int news = core->purge_news;

	if (core->listed != cntr)
		return CSHIM_COUNTER_UNLISTED;
	core->purge_news = 0;
	return news ? CSHIM_COUNTER_PURGED : CSHIM_COUNTER_QUIET;
}

int golapi_take_loss(int context)
{
	(void)context;
	return 0;
}
