/* dgsp.c - LAPI_BYTE, and the commands of LAPI_Util for DGSPs (guide, Chapter 6 and LAPI_Util). */
#include "lapi/internal.h"

/* One byte, again and again. */
static struct {
	lapi_dgsm_copy_t copy;
	lapi_dgsm_iterate_t iterate;
} byte_code = {{LAPI_DGSM_COPY, 1, 0},
               {LAPI_DGSM_ITERATE, -(int)(sizeof(lapi_dgsm_copy_t) / sizeof(int))}};

static lapi_dgsp_descr_t byte_descriptor = {
	.code = (int *)&byte_code,
	.code_size = sizeof(byte_code) / sizeof(int),
	.depth = 1,
	.density = LAPI_DGSM_UNIT,
	.size = 1,
	.extent = 1,
	.lext = 0,
	.rext = 1,
	.atom_size = 0,
};

__attribute__((visibility("default"))) lapi_dg_handle_t LAPI_BYTE = &byte_descriptor;

cshim_addr cshim_byte(void)
{
	return CSHIM_ADDR(&byte_descriptor);
}

static int register_dgsp(lapi_util_t *cmd)
{
	cshim_addr handle;
	int rc = golapi_dgsp_register(CSHIM_ADDR(cmd->RegDgsp.idgsp), &handle);

	if (rc == LAPI_SUCCESS)
		cmd->RegDgsp.dgsp_handle = (lapi_dg_handle_t)(uintptr_t)handle;
	return rc;
}

int cshim_dgsp_needs_no_context(lapi_util_type_t type)
{
	return type == LAPI_REGISTER_DGSP || type == LAPI_RESERVE_DGSP ||
	       type == LAPI_UNRESERVE_DGSP;
}

int cshim_dgsp_without_context(lapi_util_t *cmd)
{
	switch (cmd->Util_type) {
	case LAPI_REGISTER_DGSP:
		return register_dgsp(cmd);
	case LAPI_RESERVE_DGSP:
		return golapi_dgsp_reserve(CSHIM_ADDR(cmd->ResvDgsp.dgsp_handle));
	default:
		return golapi_dgsp_unreserve(CSHIM_ADDR(cmd->DrefDgsp.dgsp_handle));
	}
}

static int pack(int context, lapi_pack_dgsp_t *cmd)
{
	uint64_t position = cmd->position;
	int rc = golapi_dgsp_pack(context, CSHIM_ADDR(cmd->dgsp_handle), CSHIM_ADDR(cmd->in_buf),
	                          cmd->bytes, CSHIM_ADDR(cmd->out_buf), cmd->out_size, &position);

	cmd->position = (ulong)position;
	return rc;
}

static int unpack(int context, lapi_unpack_dgsp_t *cmd)
{
	uint64_t position = cmd->position;
	int rc = golapi_dgsp_unpack(context, CSHIM_ADDR(cmd->dgsp_handle), CSHIM_ADDR(cmd->buf),
	                            cmd->in_size, &position, CSHIM_ADDR(cmd->out_buf), cmd->bytes,
	                            cmd->out_size);

	cmd->position = (ulong)position;
	return rc;
}

int cshim_dgsp_in_context(int context, lapi_util_t *cmd)
{
	switch (cmd->Util_type) {
	case LAPI_REG_DDM_FUNC:
		golapi_dgsp_ddm(context, CSHIM_ADDR(cmd->DdmFunc.ddm_func));
		return LAPI_SUCCESS;
	case LAPI_DGSP_PACK:
		return pack(context, &cmd->PackDgsp);
	case LAPI_DGSP_UNPACK:
		return unpack(context, &cmd->UnpackDgsp);
	default:
		return LAPI_ERR_UTIL_CMD;
	}
}
