/*
 * dgsp_common.h - shared by dgsp.c and dgsp_program.c: a strided program, its registration, and the
 * check of its effect.
 */
#ifndef DGSP_COMMON_H
#define DGSP_COMMON_H

#include "conform.h"

#define ELEMENTS 5000 /* applications of the strided program: 8 of 32 bytes each */
#define SPAN (ELEMENTS * 32)

static unsigned char source[SPAN], sink[SPAN];
static lapi_dg_handle_t strided;

/* 8 bytes at offset 4, then the next 32 bytes. */
static struct strided_code {
	lapi_dgsm_copy_t copy;
	lapi_dgsm_iterate_t iterate;
} strided_code = {{LAPI_DGSM_COPY, 8, 4},
                  {LAPI_DGSM_ITERATE, -(int)(sizeof(lapi_dgsm_copy_t) / sizeof(int))}};

static inline lapi_dgsp_descr_t describe(void *code, size_t bytes)
{
	lapi_dgsp_descr_t d;
	memset(&d, 0, sizeof d);
	d.code = (int *)code;
	d.code_size = (int)(bytes / sizeof(int));
	d.depth = 1;
	d.density = LAPI_DGSM_SPARSE;
	d.size = 8;
	d.extent = 32;
	d.lext = 4;
	d.rext = 12;
	return d;
}

static inline int enroll(lapi_dgsp_descr_t *d, lapi_dg_handle_t *handle)
{
	lapi_util_t cmd;
	int rc;
	memset(&cmd, 0, sizeof cmd);
	cmd.RegDgsp.Util_type = LAPI_REGISTER_DGSP;
	cmd.RegDgsp.idgsp = d;
	rc = LAPI_Util(hndl, &cmd);
	*handle = cmd.RegDgsp.dgsp_handle;
	return rc;
}

static inline int unreserve(lapi_dg_handle_t handle)
{
	lapi_util_t cmd;
	memset(&cmd, 0, sizeof cmd);
	cmd.DrefDgsp.Util_type = LAPI_UNRESERVE_DGSP;
	cmd.DrefDgsp.dgsp_handle = handle;
	return LAPI_Util(hndl, &cmd);
}

/* 1 if bytes gathered from source lie in sink as the strided program, or in one piece, and nothing
 * else was touched. */
static inline int arrived(ulong bytes, int in_one_piece)
{
	ulong i, k = 0;
	for (i = 0; i < sizeof sink; i++) {
		unsigned char want = 0;
		if (in_one_piece)
			want = i < bytes ? source[i / 8 * 32 + 4 + i % 8] : 0;
		else if (i % 32 >= 4 && i % 32 < 12 && k < bytes)
			want = source[i], k++;
		if (sink[i] != want)
			return 0;
	}
	return 1;
}

#endif
