/* fake_transfers.c - the transfers of the fake core. */
#define _GNU_SOURCE
#include <string.h>

#include "ctest/fake_core.h"

/* The transfers only note that they were called; core's own tests are elsewhere. They refuse
 * transfers that a lane passes on. */

cshim_transfer fake_transfer;

static void *at(cshim_addr address)
{
	return (void *)(uintptr_t)address;
}

static void move(const cshim_transfer *t, int get)
{
	memcpy(at(get ? t->org_addr : t->tgt_addr), at(get ? t->tgt_addr : t->org_addr), t->len);
}

static void add(const cshim_transfer *t)
{
	CHECK(t->op == FETCH_AND_ADD && t->tgt_addr && t->org_addr && t->prev_val);
	memcpy(at(t->prev_val), at(t->tgt_addr), t->size / 8);
	if (t->size == 32)
		*(int32_t *)at(t->tgt_addr) += *(int32_t *)at(t->org_addr);
	else
		*(int64_t *)at(t->tgt_addr) += *(int64_t *)at(t->org_addr);
}

/* Core's check of the arguments; of vectors the fake knows only whether they are there. */
static int check(uint32_t type, const cshim_transfer *t)
{
	switch (type) {
	case LAPI_AM_XFER:
		return t->hdr_hdl ? LAPI_SUCCESS : LAPI_ERR_HDR_HNDLR_NULL;
	case LAPI_AMV_XFER:
		return !t->hdr_hdl   ? LAPI_ERR_HDR_HNDLR_NULL
		       : t->org_addr ? LAPI_SUCCESS
		                     : LAPI_ERR_ORG_VEC_NULL;
	case LAPI_PUTV_XFER:
	case LAPI_GETV_XFER:
		return !t->org_addr  ? LAPI_ERR_ORG_VEC_NULL
		       : t->tgt_addr ? LAPI_SUCCESS
		                     : LAPI_ERR_TGT_VEC_NULL;
	case LAPI_PUT_XFER:
	case LAPI_GET_XFER:
	case LAPI_RMW_XFER:
		return LAPI_SUCCESS;
	default:
		return LAPI_ERR_XFER_CMD;
	}
}

/* A put's send completion handler runs at once, as core's does for small messages. */
int golapi_xfer(int context, uint32_t type, cshim_transfer *t)
{
	int rc = check(type, t);

	fake_enter(context);
	if (cshim_context_at(context)->lane)
		return LAPI_ERR_TGT;
	fake_transfer = *t;
	if (rc != LAPI_SUCCESS)
		return rc;
	if (t->tgt != 0)
		return LAPI_ERR_TGT;
	if (type == LAPI_PUT_XFER || type == LAPI_GET_XFER)
		move(t, type == LAPI_GET_XFER);
	else if (type == LAPI_RMW_XFER)
		add(t);
	if (t->org_cntr)
		fake_add(context, (int *)at(t->org_cntr), 1);
	if (t->handler && type == LAPI_PUT_XFER)
		cshim_call_send_completion(context, t->handler, t->info, t->tgt, LAPI_SUCCESS);
	return LAPI_SUCCESS;
}

/* Groups of one member, which is their name. */
int golapi_group_create(int context, uint32_t num_tasks, cshim_addr list, cshim_addr group)
{
	CHECK(cshim_lock_owned(&cshim_context_at(context)->progress));
	if (!list || !group)
		return LAPI_ERR_RET_PTR_NULL;
	if (num_tasks != 1)
		return LAPI_ERR_TGT;
	*(lapi_group_t *)(uintptr_t)group = *(uint *)(uintptr_t)list;
	return LAPI_SUCCESS;
}

int golapi_group_free(int context, uint32_t group)
{
	CHECK(cshim_lock_owned(&cshim_context_at(context)->progress));
	return group == 5 ? LAPI_SUCCESS : LAPI_ERR_TGT;
}
