/*
 * dgsp_program.c - data gather/scatter programs by themselves: registration and its errors,
 * packing, functions of LAPI_REG_DDM_FUNC.
 */
#include "dgsp_common.h"

static unsigned char packed[SPAN];

/* The same under CONTROL. Instructions follow each other without gaps. */
#define CONTROLLED_INTS \
	(sizeof(lapi_dgsm_control_t) / sizeof(int) + sizeof(struct strided_code) / sizeof(int))
static void make_controlled(int *code, int operation, int operand)
{
	lapi_dgsm_control_t control = {LAPI_DGSM_CONTROL, 0, 0};
	struct strided_code rest = strided_code;
	control.operation = operation;
	control.operand = operand;
	rest.iterate.iter_loc -= LAPI_DGSM_CONTROL_SIZE;
	memcpy(code, &control, sizeof control);
	memcpy(code + LAPI_DGSM_CONTROL_SIZE, &rest, sizeof rest);
}

/* ---- registration ---- */

static int reserve(lapi_dg_handle_t handle)
{
	lapi_util_t cmd;
	memset(&cmd, 0, sizeof cmd);
	cmd.ResvDgsp.Util_type = LAPI_RESERVE_DGSP;
	cmd.ResvDgsp.dgsp_handle = handle;
	return LAPI_Util(hndl, &cmd);
}

static void dgsp_register_reserve_unreserve(void)
{
	lapi_dgsp_descr_t d = describe(&strided_code, sizeof strided_code);
	lapi_dg_handle_t handle = NULL;
	LAPI_OK(enroll(&d, &handle));
	if (!CHECK(handle != NULL && handle != &d))
		return;
	CHECK_EQUAL(handle->size, 8); /* a handle reads as the descriptor */
	CHECK_EQUAL(handle->code_size, d.code_size);
	LAPI_OK(reserve(handle));
	LAPI_OK(unreserve(handle));
	LAPI_OK(unreserve(handle));
	CHECK_CODE(LAPI_ERR_DGSP_FREE, unreserve(handle));
	CHECK_CODE(LAPI_ERR_DGSP, reserve(handle));
	CHECK_CODE(LAPI_ERR_DGSP, enroll(NULL, &handle));
	CHECK_CODE(LAPI_ERR_DGSP_FREE, unreserve(LAPI_BYTE));
}

/* Registers a broken program as LAPI_VERIFY_DGSP=yes wants it. */
static int enroll_broken(lapi_dgsp_descr_t d)
{
	lapi_dg_handle_t handle;
	int rc = enroll(&d, &handle);
	if (rc == LAPI_SUCCESS)
		unreserve(handle);
	return rc;
}

static void dgsp_verification(void)
{
	struct {
		lapi_dgsm_gosub_t gosub;
		lapi_dgsm_iterate_t iterate;
	} calls;
	int controlled[CONTROLLED_INTS];
	struct strided_code broken = strided_code;
	lapi_dgsp_descr_t d = describe(&broken, sizeof broken);
	setenv("LAPI_VERIFY_DGSP", "yes", 1);
	LAPI_OK(enroll_broken(d));
	d.atom_size = 1000;
	CHECK_CODE(LAPI_ERR_DGSP_ATOM, enroll_broken(d));
	d.atom_size = 0;
	d.code_size = 0;
	CHECK_CODE(LAPI_ERR_DGSP_OTHER, enroll_broken(d));
	d = describe(&broken, sizeof broken);
	broken.iterate.iter_loc = 1000;
	CHECK_CODE(LAPI_ERR_DGSP_BRANCH, enroll_broken(d));
	broken = strided_code;
	broken.copy.bytes = -1;
	CHECK_CODE(LAPI_ERR_DGSP_COPY_SZ, enroll_broken(d));
	broken = strided_code;
	*(int *)&broken.copy.opcode = 77;
	CHECK_CODE(LAPI_ERR_DGSP_OPC, enroll_broken(d));
	memset(&calls, 0, sizeof calls);
	calls.gosub.opcode = LAPI_DGSM_GOSUB; /* itself, for ever */
	calls.gosub.ret_loc = LAPI_DGSM_GOSUB_SIZE;
	calls.gosub.reps = 1;
	calls.iterate.opcode = LAPI_DGSM_ITERATE;
	CHECK_CODE(LAPI_ERR_DGSP_STACK, enroll_broken(describe(&calls, sizeof calls)));
	calls.gosub.reps = -1;
	CHECK_CODE(LAPI_ERR_DGSP_REPS, enroll_broken(describe(&calls, sizeof calls)));
	make_controlled(controlled, 1, 1);
	d = describe(controlled, sizeof controlled);
	d.density = LAPI_DGSM_CONTIG;
	CHECK_CODE(LAPI_ERR_DGSP_CTL, enroll_broken(d));
	unsetenv("LAPI_VERIFY_DGSP");
}

/* ---- packing ---- */

static int pack(lapi_dg_handle_t handle, ulong bytes, ulong out_size, ulong *position)
{
	lapi_util_t cmd;
	int rc;
	memset(&cmd, 0, sizeof cmd);
	cmd.PackDgsp.Util_type = LAPI_DGSP_PACK;
	cmd.PackDgsp.dgsp_handle = handle;
	cmd.PackDgsp.in_buf = source;
	cmd.PackDgsp.bytes = bytes;
	cmd.PackDgsp.out_buf = packed;
	cmd.PackDgsp.out_size = out_size;
	cmd.PackDgsp.position = *position;
	rc = LAPI_Util(hndl, &cmd);
	*position = cmd.PackDgsp.position;
	return rc;
}

static int unpack(lapi_dg_handle_t handle, ulong bytes, ulong *position)
{
	lapi_util_t cmd;
	int rc;
	memset(&cmd, 0, sizeof cmd);
	cmd.UnpackDgsp.Util_type = LAPI_DGSP_UNPACK;
	cmd.UnpackDgsp.dgsp_handle = handle;
	cmd.UnpackDgsp.buf = packed;
	cmd.UnpackDgsp.in_size = sizeof packed;
	cmd.UnpackDgsp.out_buf = sink;
	cmd.UnpackDgsp.out_size = sizeof sink;
	cmd.UnpackDgsp.bytes = bytes;
	cmd.UnpackDgsp.position = *position;
	rc = LAPI_Util(hndl, &cmd);
	*position = cmd.UnpackDgsp.position;
	return rc;
}

static void dgsp_pack_and_unpack(void)
{
	lapi_dgsp_descr_t d = describe(&strided_code, sizeof strided_code);
	ulong position = 0;
	LAPI_OK(enroll(&d, &strided));
	fill_pattern(source, sizeof source, 7);
	memset(sink, 0, sizeof sink);
	LAPI_OK(pack(strided, 8 * 100, sizeof packed, &position));
	CHECK_EQUAL(position, 800);
	LAPI_OK(pack(LAPI_BYTE, 10, sizeof packed, &position));
	CHECK_EQUAL(position, 810);
	CHECK(memcmp(packed, source + 4, 8) == 0 && memcmp(packed + 8, source + 36, 8) == 0);
	CHECK(memcmp(packed + 800, source, 10) == 0);
	position = 0;
	LAPI_OK(unpack(strided, 8 * 100 - 3, &position));
	CHECK_EQUAL(position, 797);
	CHECK(arrived(797, 0));
	position = 0;
	CHECK_CODE(LAPI_ERR_PACK_SZ, pack(strided, 8 * 100, 799, &position));
	CHECK_EQUAL(position, 0);
	CHECK_CODE(LAPI_ERR_DGSP, pack(NULL, 8, sizeof packed, &position));
}

/* ---- DDM functions ---- */

static long add_words(void *in, void *inout, long bytes, int operand, int operation)
{
	long i;
	for (i = 0; i < bytes / (long)sizeof(int); i++)
		((int *)inout)[i] += operation * ((int *)in)[i] + operand;
	return bytes;
}

static void dgsp_ddm_combines(void)
{
	int code[CONTROLLED_INTS];
	lapi_dgsp_descr_t d = describe(code, sizeof code);
	lapi_dg_handle_t handle;
	lapi_util_t cmd;
	ulong position = 0;
	int i, *into = (int *)(void *)(sink + 4), *from = (int *)(void *)packed;
	make_controlled(code, 2, 5);
	LAPI_OK(enroll(&d, &handle));
	for (i = 0; i < 2; i++)
		into[i] = 100 + i, from[i] = 10 + i;
	CHECK_CODE(LAPI_ERR_DGSP_CTL, unpack(handle, 8, &position)); /* no function yet */
	memset(&cmd, 0, sizeof cmd);
	cmd.DdmFunc.Util_type = LAPI_REG_DDM_FUNC;
	cmd.DdmFunc.ddm_func = add_words;
	LAPI_OK(LAPI_Util(hndl, &cmd));
	LAPI_OK(unpack(handle, 8, &position));
	for (i = 0; i < 2; i++)
		CHECK_EQUAL(into[i], 100 + i + 2 * (10 + i) + 5);
	cmd.DdmFunc.ddm_func = NULL;
	LAPI_OK(LAPI_Util(hndl, &cmd));
	LAPI_OK(unreserve(handle));
}

static const conform_case cases[] = {
	CONFORM_CASE(dgsp_register_reserve_unreserve),
	CONFORM_CASE(dgsp_verification),
	CONFORM_CASE(dgsp_pack_and_unpack),
	CONFORM_CASE(dgsp_ddm_combines),
};

int main(int argc, char **argv)
{
	return conform_main(argc, argv, cases, sizeof cases / sizeof cases[0]);
}
