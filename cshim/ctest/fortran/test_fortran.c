/* test_fortran.c - the Fortran entry points' arguments: LAPI_ADDR_NULL, numbers, procedures and
 * their names, a DDM function's numbers. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "fortran/fortran.h"
#include "handlers/procedure.h"
#include "ctest/fake.h"

extern uintptr_t lapi_addresses_[2];
extern int lapi_put_(const int32_t *hndl, const int32_t *tgt, const ulong *len,
                     void *const *tgt_addr, void *org_addr, void *const *tgt_cntr, void *org_cntr,
                     void *cmpl_cntr, int32_t *ierror);
extern int lapi_amsend_(const int32_t *hndl, const int32_t *tgt, void *hdr_hdl, void *uhdr,
                        const int32_t *uhdr_len, void *udata, const ulong *udata_len,
                        void *const *tgt_cntr, void *org_cntr, void *cmpl_cntr, int32_t *ierror);
extern int LAPI_PROBE_(const int32_t *hndl, int32_t *ierror);

static int32_t handle, me = 0, eight = 8;
static ulong length = 8;
static int32_t rc;

static void *a_handler(void)
{
	return NULL;
}

/* The header handler that would be sent. */
static uint64_t sent(void *hdr_hdl)
{
	char data[8] = "data";

	memset(&fake_transfer, 0, sizeof fake_transfer);
	lapi_amsend_(&handle, &me, hdr_hdl, data, &eight, data, &length,
	             (void *const *)lapi_addresses_, lapi_addresses_, lapi_addresses_, &rc);
	CHECK(fake_transfer.uhdr == (uintptr_t)data && fake_transfer.uhdr_len == 8 &&
	      fake_transfer.org_addr == (uintptr_t)data);
	CHECK(fake_transfer.len == 8 && fake_transfer.tgt_cntr == 0 &&
	      fake_transfer.org_cntr == 0 && fake_transfer.cmpl_cntr == 0);
	return fake_transfer.hdr_hdl;
}

static void test_nulls(void)
{
	char from[8] = "1234567", to[8] = "";
	void *tgt_addr = to, *none = NULL;
	lapi_cntr_t counter;
	int32_t bad = 77;

	CHECK(cshim_fortran_null(lapi_addresses_) && cshim_fortran_null(NULL) &&
	      !cshim_fortran_null(&bad));
	CHECK(lapi_addresses_[0] == 0 && lapi_addresses_[1] == cshim_byte());
	LAPI_Setcntr((lapi_handle_t)handle, &counter, 0);
	CHECK(lapi_put_(&handle, &me, &length, &tgt_addr, from, &none, &counter, lapi_addresses_,
	                &rc) == LAPI_SUCCESS &&
	      rc == LAPI_SUCCESS);
	CHECK(memcmp(from, to, 8) == 0);
	CHECK(LAPI_PROBE_(&bad, &rc) == LAPI_ERR_HNDL_INVALID && rc == LAPI_ERR_HNDL_INVALID);
	/* Nothing is stored in LAPI_ADDR_NULL, or where there is no variable. */
	CHECK(LAPI_PROBE_(&bad, (int32_t *)lapi_addresses_) == LAPI_ERR_HNDL_INVALID &&
	      lapi_addresses_[0] == 0);
	CHECK(LAPI_PROBE_(NULL, NULL) == LAPI_ERR_HNDL_INVALID);
}

static void test_procedures(void)
{
	static const uintptr_t constant = 5;
	uintptr_t variable = (uintptr_t)a_handler, index = 7,
		  *allocated = malloc(sizeof *allocated);
	uint64_t name = cshim_procedure_name((void *)(uintptr_t)a_handler), there;

	CHECK(allocated);
	*allocated = 12345678;
	CHECK(sent((void *)(uintptr_t)a_handler) == name && (name & CSHIM_PROCEDURE_NAME));
	CHECK(sent(&variable) == variable && sent(&index) == 7 &&
	      sent((void *)(uintptr_t)&constant) == 5 && sent(allocated) == 12345678);
	CHECK(sent(lapi_addresses_) == 0);
	CHECK(cshim_procedure_at(name) == (uintptr_t)a_handler);
	/* Of another file than the program. */
	there = cshim_procedure_name((void *)(uintptr_t)qsort);
	CHECK(there != name && (there & CSHIM_PROCEDURE_NAME) &&
	      cshim_procedure_at(there) == (uintptr_t)qsort);
	/* Procedures that this program does not have: no such file, no code at the offset. Data has
	 * no name but its address. */
	CHECK(cshim_procedure_at(there ^ (uint64_t)1 << 40) == 0 &&
	      cshim_procedure_at(CSHIM_PROCEDURE_NAME | 0xfffffff0u) == 0);
	CHECK(cshim_procedure_name(&index) == (uintptr_t)&index);
	CHECK(!cshim_is_procedure(NULL) && !cshim_is_procedure(&index) &&
	      cshim_is_procedure((void *)(uintptr_t)qsort));
	free(allocated);
}

static int64_t told[3];

static long by_value(void *in, void *inout, long bytes, int operand, int operation)
{
	told[0] = bytes, told[1] = operand, told[2] = operation;
	return in && inout ? bytes : -1;
}

static long by_reference(void *in, void *inout, long *bytes, int32_t *operand, int32_t *operation)
{
	return by_value(in, inout, *bytes + 1, *operand + 1, *operation + 1);
}

static void test_ddm(void)
{
	char data[8];

	CHECK(cshim_call_ddm(0, (uintptr_t)by_value, (uintptr_t)data, (uintptr_t)data, 5, -6, 7) ==
	      5);
	CHECK(told[0] == 5 && told[1] == -6 && told[2] == 7);
	CHECK(cshim_call_ddm(0, (uintptr_t)by_reference | CSHIM_FORTRAN_DDM, (uintptr_t)data,
	                     (uintptr_t)data, 5, -6, 7) == 6);
	CHECK(told[0] == 6 && told[1] == -5 && told[2] == 8);
}

void test_fortran(void)
{
	handle = (int32_t)fake_init(NULL);
	test_nulls();
	test_procedures();
	test_ddm();
	CHECK(LAPI_Term((lapi_handle_t)handle) == LAPI_SUCCESS);
}
