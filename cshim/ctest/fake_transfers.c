/* fake_transfers.c - the transfers of the fake core. */
#define _GNU_SOURCE
#include <string.h>

#include "fake_core.h"

/* The transfers only note that they were called; core's own tests are elsewhere. What a lane passes on they refuse. */

static int refused(int context, uint32_t tgt)
{
	return tgt != 0 || cshim_context_at(context)->lane;
}

static int transfer(int context, uint32_t tgt, cshim_addr org_cntr)
{
	fake_enter(context);
	if (refused(context, tgt))
		return LAPI_ERR_TGT;
	if (org_cntr)
		fake_add(context, (int *)(uintptr_t)org_cntr, 1);
	return LAPI_SUCCESS;
}

int golapi_put(int context, uint32_t tgt, uint64_t len, cshim_addr tgt_addr, cshim_addr org_addr, cshim_addr tgt_cntr,
               cshim_addr org_cntr, cshim_addr cmpl_cntr)
{
	(void)tgt_cntr, (void)cmpl_cntr;
	if (!refused(context, tgt))
		memcpy((void *)(uintptr_t)tgt_addr, (void *)(uintptr_t)org_addr, len);
	return transfer(context, tgt, org_cntr);
}

int golapi_get(int context, uint32_t tgt, uint64_t len, cshim_addr tgt_addr, cshim_addr org_addr, cshim_addr tgt_cntr,
               cshim_addr org_cntr)
{
	(void)tgt_cntr;
	if (!refused(context, tgt))
		memcpy((void *)(uintptr_t)org_addr, (void *)(uintptr_t)tgt_addr, len);
	return transfer(context, tgt, org_cntr);
}

int golapi_amsend(int context, uint32_t tgt, cshim_addr hdr_hdl, cshim_addr uhdr, uint32_t uhdr_len, cshim_addr udata,
                  uint64_t udata_len, cshim_addr tgt_cntr, cshim_addr org_cntr, cshim_addr cmpl_cntr)
{
	(void)uhdr, (void)uhdr_len, (void)udata, (void)udata_len, (void)tgt_cntr, (void)cmpl_cntr;
	if (!hdr_hdl)
		return LAPI_ERR_HDR_HNDLR_NULL;
	return transfer(context, tgt, org_cntr);
}

/* Of vectors the fake knows only the counters. */
int golapi_putv(int context, uint32_t tgt, cshim_addr tgt_vec, cshim_addr org_vec, cshim_addr tgt_cntr, cshim_addr org_cntr,
                cshim_addr cmpl_cntr)
{
	(void)tgt_cntr, (void)cmpl_cntr;
	if (!org_vec)
		return LAPI_ERR_ORG_VEC_NULL;
	return tgt_vec ? transfer(context, tgt, org_cntr) : LAPI_ERR_TGT_VEC_NULL;
}

int golapi_getv(int context, uint32_t tgt, cshim_addr tgt_vec, cshim_addr org_vec, cshim_addr tgt_cntr, cshim_addr org_cntr)
{
	return golapi_putv(context, tgt, tgt_vec, org_vec, tgt_cntr, org_cntr, 0);
}

int golapi_amsendv(int context, uint32_t tgt, cshim_addr hdr_hdl, cshim_addr uhdr, uint32_t uhdr_len, cshim_addr org_vec,
                   cshim_addr tgt_cntr, cshim_addr org_cntr, cshim_addr cmpl_cntr)
{
	(void)uhdr, (void)uhdr_len, (void)tgt_cntr, (void)cmpl_cntr;
	if (!hdr_hdl)
		return LAPI_ERR_HDR_HNDLR_NULL;
	return org_vec ? transfer(context, tgt, org_cntr) : LAPI_ERR_ORG_VEC_NULL;
}

cshim_transfer fake_transfer;

/* A transfer's send completion handler runs at once, as core's does for small messages. */
int golapi_xfer(int context, uint32_t type, cshim_transfer *t)
{
	int rc = LAPI_ERR_XFER_CMD;

	fake_transfer = *t;
	if (type == LAPI_PUT_XFER)
		rc = golapi_put(context, t->tgt, t->len, t->tgt_addr, t->org_addr, t->tgt_cntr, t->org_cntr, t->cmpl_cntr);
	else if (type == LAPI_GET_XFER)
		rc = golapi_get(context, t->tgt, t->len, t->tgt_addr, t->org_addr, t->tgt_cntr, t->org_cntr);
	if (rc == LAPI_SUCCESS && t->handler && type == LAPI_PUT_XFER)
		cshim_call_send_completion(context, t->handler, t->info, t->tgt, LAPI_SUCCESS);
	return rc;
}

/* Groups of one member, which is their name. */
int golapi_group_create(int context, uint32_t num_tasks, cshim_addr list, cshim_addr group)
{
	CHECK(cshim_lock_owned(cshim_context_at(context)));
	if (!list || !group)
		return LAPI_ERR_RET_PTR_NULL;
	if (num_tasks != 1)
		return LAPI_ERR_TGT;
	*(lapi_group_t *)(uintptr_t)group = *(uint *)(uintptr_t)list;
	return LAPI_SUCCESS;
}

int golapi_group_free(int context, uint32_t group)
{
	CHECK(cshim_lock_owned(cshim_context_at(context)));
	return group == 5 ? LAPI_SUCCESS : LAPI_ERR_TGT;
}

int golapi_rmw(int context, uint32_t width, uint32_t op, uint32_t tgt, cshim_addr tgt_var, cshim_addr in_val,
               cshim_addr prev_tgt_val, cshim_addr org_cntr)
{
	if (refused(context, tgt))
		return LAPI_ERR_TGT;
	CHECK(op == FETCH_AND_ADD && tgt_var && in_val && prev_tgt_val);
	memcpy((void *)(uintptr_t)prev_tgt_val, (void *)(uintptr_t)tgt_var, width);
	if (width == 4)
		*(int32_t *)(uintptr_t)tgt_var += *(int32_t *)(uintptr_t)in_val;
	else
		*(int64_t *)(uintptr_t)tgt_var += *(int64_t *)(uintptr_t)in_val;
	return transfer(context, tgt, org_cntr);
}
