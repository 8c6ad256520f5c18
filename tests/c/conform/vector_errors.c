/*
 * vector_errors.c - every error that LAPI_Putv, LAPI_Getv and LAPI_Amsendv return. A call that
 * fails has no effect.
 */
#include "conform.h"

static unsigned char source[4096];
static lapi_cntr_t org_cntr, cmpl_cntr;
static void *handlers[CONFORM_MAX_TASKS];
static int header_calls;

static lapi_vec_t *vector_header(lapi_handle_t *h, void *uhdr, uint *uhdr_len, ulong *len_vec[],
                                 compl_hndlr_t **handler, void **info)
{
	(void)h, (void)uhdr, (void)uhdr_len, (void)len_vec;
	header_calls++;
	*handler = NULL;
	*info = NULL;
	return NULL;
}

static void prepare(void)
{
	counter_zero(&org_cntr);
	counter_zero(&cmpl_cntr);
	header_calls = 0;
	exchange((void *)(uintptr_t)vector_header, handlers);
}

static void describe(lapi_vec_t *v, lapi_vectype_t type, uint count, void **info, ulong *len)
{
	v->vec_type = type;
	v->num_vecs = count;
	v->info = info;
	v->len = len;
}

static void both(int code, lapi_vec_t *org, lapi_vec_t *tgt)
{
	CHECK_CODE(code, LAPI_Putv(hndl, 0, tgt, org, NULL, &org_cntr, &cmpl_cntr));
	CHECK_CODE(code, LAPI_Getv(hndl, 0, tgt, org, NULL, &org_cntr));
}

static void all_three(int code, lapi_vec_t *org, lapi_vec_t *tgt)
{
	both(code, org, tgt);
	CHECK_CODE(code,
	           LAPI_Amsendv(hndl, 0, handlers[0], NULL, 0, org, NULL, &org_cntr, &cmpl_cntr));
}

static lapi_vec_t list_of(void *a, ulong n, void **info, ulong *len)
{
	lapi_vec_t v;
	info[0] = source;
	info[1] = a;
	len[0] = 4;
	len[1] = n;
	describe(&v, LAPI_GEN_IOVECTOR, 2, info, len);
	return v;
}

static lapi_vec_t lines_of(void *a, ulong block, ulong stride, void **info)
{
	lapi_vec_t v;
	info[0] = a;
	info[1] = (void *)block;
	info[2] = (void *)stride;
	describe(&v, LAPI_GEN_STRIDED_XFER, 2, info, NULL);
	return v;
}

static void vector_errors_of_lists(void)
{
	void *info[2], *good_info[2];
	ulong len[2], good_len[2];
	lapi_vec_t good, v;
	prepare();
	good = list_of(source, 4, good_info, good_len);
	all_three(LAPI_ERR_ORG_VEC_NULL, NULL, &good);
	both(LAPI_ERR_TGT_VEC_NULL, &good, NULL);
	v = list_of(source, 4, info, len);
	v.vec_type = (lapi_vectype_t)17;
	all_three(LAPI_ERR_ORG_VEC_TYPE, &v, &good);
	both(LAPI_ERR_TGT_VEC_TYPE, &good, &v);
	v.vec_type = LAPI_GEN_GENERIC;
	both(LAPI_ERR_ORG_VEC_TYPE, &v, &good);
	both(LAPI_ERR_TGT_VEC_TYPE, &good, &v);
	v = list_of(source, 4, info, len);
	v.num_vecs = 1;
	both(LAPI_ERR_VEC_NUM_DIFF, &good, &v);
	v = list_of(source, (ulong)LAPI_MAX_MSG_SZ, info, len);
	all_three(LAPI_ERR_ORG_VEC_LEN, &v, &good);
	both(LAPI_ERR_TGT_VEC_LEN, &good, &v);
	if (conform_checking) { /* element by element */
		v = list_of(source, 5, info, len);
		both(LAPI_ERR_VEC_LEN_DIFF, &good, &v);
		v = list_of(NULL, 4, info, len);
		all_three(LAPI_ERR_ORG_VEC_ADDR, &v, &good);
		both(LAPI_ERR_TGT_VEC_ADDR, &good, &v);
	}
	v = list_of(NULL, 0, info, len); /* no address is needed for no bytes */
	LAPI_OK(LAPI_Putv(hndl, (uint)task_id, &v, &v, NULL, &org_cntr, NULL));
	counter_wait(&org_cntr, 1);
	conform_sync();
	CHECK_EQUAL(counter_value(&org_cntr), 0);
	CHECK_EQUAL(counter_value(&cmpl_cntr), 0);
	CHECK_EQUAL(header_calls, 0);
}

static void vector_errors_of_strides(void)
{
	void *info[3], *good_info[3], *list_info[2];
	ulong len[2];
	lapi_vec_t good, v;
	prepare();
	good = lines_of(source, 8, 16, good_info);
	v = list_of(source, 4, list_info, len);
	both(LAPI_ERR_VEC_TYPE_DIFF, &good, &v);
	v = lines_of(NULL, 8, 16, info);
	all_three(LAPI_ERR_STRIDE_ORG_VEC_ADDR_NULL, &v, &good);
	both(LAPI_ERR_STRIDE_TGT_VEC_ADDR_NULL, &good, &v);
	v = lines_of(source, 8, 7, info);
	all_three(LAPI_ERR_ORG_STRIDE, &v, &good);
	both(LAPI_ERR_TGT_STRIDE, &good, &v);
	v = lines_of(source, 8, (ulong)LAPI_MAX_MSG_SZ / 2 + 1, info);
	all_three(LAPI_ERR_ORG_EXTENT, &v, &good);
	both(LAPI_ERR_TGT_EXTENT, &good, &v);
	v = lines_of(source, 12, 16, info);
	both(LAPI_ERR_VEC_LEN_DIFF, &good, &v);
	conform_sync();
	CHECK_EQUAL(counter_value(&org_cntr), 0);
}

static void vector_errors_of_calls(void)
{
	void *info[2];
	ulong len[2];
	lapi_vec_t good;
	prepare();
	good = list_of(source, 4, info, len);
	CHECK_CODE(LAPI_ERR_TGT, LAPI_Putv(hndl, (uint)num_tasks, &good, &good, NULL, NULL, NULL));
	CHECK_CODE(LAPI_ERR_TGT, LAPI_Getv(hndl, (uint)num_tasks, &good, &good, NULL, NULL));
	CHECK_CODE(LAPI_ERR_TGT,
	           LAPI_Amsendv(hndl, ~0u, handlers[0], NULL, 0, &good, NULL, NULL, NULL));
	CHECK_CODE(LAPI_ERR_HDR_HNDLR_NULL,
	           LAPI_Amsendv(hndl, 0, NULL, NULL, 0, &good, NULL, NULL, NULL));
	CHECK_CODE(LAPI_ERR_UHDR_NULL,
	           LAPI_Amsendv(hndl, 0, handlers[0], NULL, 8, &good, NULL, NULL, NULL));
	CHECK_CODE(LAPI_ERR_UHDR_LEN,
	           LAPI_Amsendv(hndl, 0, handlers[0], source, (uint)query(MAX_UHDR_SZ) + 8, &good,
	                        NULL, NULL, NULL));
	if (conform_checking)
		CHECK_CODE(LAPI_ERR_HDR_LEN,
		           LAPI_Amsendv(hndl, 0, handlers[0], source, 6, &good, NULL, NULL, NULL));
	conform_sync();
	CHECK_EQUAL(header_calls, 0);
}

static const conform_case cases[] = {
	CONFORM_CASE(vector_errors_of_lists),
	CONFORM_CASE(vector_errors_of_strides),
	CONFORM_CASE(vector_errors_of_calls),
};

int main(int argc, char **argv)
{
	return conform_main(argc, argv, cases, sizeof cases / sizeof cases[0]);
}
