/*
 * dgsp.c - LAPI_DGSP_XFER and LAPI_AMX_XFER with every kind of receiver; dgsp_program.c has the
 * programs themselves.
 */
#include "dgsp_common.h"

static lapi_cntr_t tgt_cntr, org_cntr, cmpl_cntr;
static void *tgt_cntrs[CONFORM_MAX_TASKS], *handlers[CONFORM_MAX_TASKS];
static int next;

enum { IN_ONE_PIECE, BY_DGSP, BY_DGSP_IN_PART };
static int receive_as;     /* what the header handler says; the same in all tasks */
static ulong receive_from; /* byte of the DGSP */

static void *header(lapi_handle_t *h, void *uhdr, uint *uhdr_len, ulong *msg_len,
                    compl_hndlr_t **comp_h, void **uinfo)
{
	lapi_return_info_t *info = (lapi_return_info_t *)(void *)msg_len;
	(void)h, (void)uhdr, (void)uhdr_len;
	*comp_h = NULL;
	*uinfo = NULL;
	if (receive_as != IN_ONE_PIECE)
		info->dgsp_handle = strided;
	info->recv_offset_dgsp_bytes = receive_from; /* means nothing without a DGSP */
	if (receive_as == BY_DGSP_IN_PART)
		info->bytes = info->msg_len / 2;
	return sink;
}

static void send_one(ulong bytes, int from_addresses)
{
	lapi_xfer_t x;
	lapi_dg_handle_t by = strided;
	struct strided_code absolute = strided_code;
	memset(&x, 0, sizeof x);
	memset(sink, 0, sizeof sink);
	LAPI_OK(LAPI_Gfence(hndl));
	if (from_addresses) { /* the offsets are addresses, udata is NULL */
		lapi_dgsp_descr_t d;
		absolute.copy.offset += (long)source;
		d = describe(&absolute, sizeof absolute);
		LAPI_OK(enroll(&d, &by));
	}
	x.Dgsp.Xfer_type = LAPI_DGSP_XFER;
	x.Dgsp.tgt = (uint)next;
	x.Dgsp.hdr_hdl = (lapi_long_t)(uintptr_t)handlers[next];
	x.Dgsp.udata = from_addresses ? NULL : source;
	x.Dgsp.udata_len = bytes;
	x.Dgsp.tgt_cntr = (lapi_long_t)(uintptr_t)tgt_cntrs[next];
	x.Dgsp.org_cntr = &org_cntr;
	x.Dgsp.cmpl_cntr = &cmpl_cntr;
	x.Dgsp.dgsp = by;
	LAPI_OK(LAPI_Xfer(hndl, &x));
	if (from_addresses)
		LAPI_OK(unreserve(by)); /* the library keeps it while it needs it */
	LAPI_OK(LAPI_Waitcntr(hndl, &org_cntr, 1, NULL));
	LAPI_OK(LAPI_Waitcntr(hndl, &tgt_cntr, 1, NULL));
	LAPI_OK(LAPI_Waitcntr(hndl, &cmpl_cntr, 1, NULL));
	CHECK(arrived(receive_as == BY_DGSP_IN_PART ? bytes / 2 : bytes,
	              receive_as == IN_ONE_PIECE));
	LAPI_OK(LAPI_Gfence(hndl));
}

static void dgsp_transfers(void)
{
	static const ulong lengths[] = {8, 100, 801, 4099, 8 * ELEMENTS};
	size_t i;
	int from_addresses;
	/* the same everywhere, so each task knows what must arrive */
	fill_pattern(source, sizeof source, 7);
	for (receive_as = IN_ONE_PIECE; receive_as <= BY_DGSP_IN_PART; receive_as++)
		for (from_addresses = 0; from_addresses < 2; from_addresses++)
			for (i = 0; i < sizeof lengths / sizeof lengths[0]; i++)
				send_one(lengths[i], from_addresses);
}

/* From one block, large enough to be fetched directly, into a DGSP. */
static void dgsp_receives_a_contiguous_message(void)
{
	static const ulong lengths[] = {8, 4000, 8 * ELEMENTS};
	size_t i;
	ulong k;
	receive_as = BY_DGSP;
	fill_pattern(source, sizeof source, 9);
	for (i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
		memset(sink, 0, sizeof sink);
		LAPI_OK(LAPI_Gfence(hndl));
		LAPI_OK(LAPI_Amsend(hndl, (uint)next, handlers[next], NULL, 0, source, lengths[i],
		                    (lapi_cntr_t *)tgt_cntrs[next], NULL, NULL));
		LAPI_OK(LAPI_Waitcntr(hndl, &tgt_cntr, 1, NULL));
		for (k = 0; k < lengths[i] && sink[k / 8 * 32 + 4 + k % 8] == source[k]; k++)
			;
		CHECK_EQUAL(k, lengths[i]);
		LAPI_OK(LAPI_Gfence(hndl));
	}
}

/* Where byte i of the strided program's stream lies. */
static ulong place(ulong i)
{
	return i / 8 * 32 + 4 + i % 8;
}

/* Sends bytes from byte from of the program on; the receiver puts them from its receive_from on. */
static void send_amx(lapi_xfer_type_t type, lapi_dg_handle_t by, ulong bytes, ulong from)
{
	lapi_xfer_t x;
	ulong i, touched = 0;
	memset(&x, 0, sizeof x);
	memset(sink, 0, sizeof sink);
	LAPI_OK(LAPI_Gfence(hndl));
	x.Amx.Xfer_type = type;
	x.Amx.tgt = (uint)next;
	x.Amx.hdr_hdl = (lapi_long_t)(uintptr_t)handlers[next];
	x.Amx.udata = source;
	x.Amx.udata_len = bytes;
	x.Amx.tgt_cntr = (lapi_long_t)(uintptr_t)tgt_cntrs[next];
	x.Amx.org_cntr = &org_cntr;
	x.Amx.cmpl_cntr = &cmpl_cntr;
	x.Amx.dgsp = by;
	x.Amx.send_offset_dgsp_bytes = from;
	LAPI_OK(LAPI_Xfer(hndl, &x));
	LAPI_OK(LAPI_Waitcntr(hndl, &org_cntr, 1, NULL));
	LAPI_OK(LAPI_Waitcntr(hndl, &tgt_cntr, 1, NULL));
	LAPI_OK(LAPI_Waitcntr(hndl, &cmpl_cntr, 1, NULL));
	if (type != LAPI_AMX_XFER)
		from = 0; /* the member is not looked at */
	for (i = 0; i < bytes; i++)
		if (sink[receive_as == IN_ONE_PIECE ? i : place(receive_from + i)] !=
		    source[by == LAPI_BYTE ? from + i : place(from + i)])
			break;
	CHECK_EQUAL(i, bytes);
	for (i = 0; i < sizeof sink; i++)
		touched += sink[i] != 0;
	CHECK(touched <= bytes);
	LAPI_OK(LAPI_Gfence(hndl));
}

static void dgsp_amx(void)
{
	static const ulong lengths[] = {0, 1, 8, 801, 4099, 20000, 30001},
			   offsets[] = {0, 3, 8, 805, 9000};
	size_t i, k;
	fill_pattern(source, sizeof source, 11);
	for (receive_as = IN_ONE_PIECE; receive_as <= BY_DGSP; receive_as++)
		for (k = 0; k < sizeof offsets / sizeof offsets[0]; k++)
			for (i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
				receive_from = offsets[(k + i) % 5];
				send_amx(LAPI_AMX_XFER, strided, lengths[i], offsets[k]);
				send_amx(LAPI_DGSP_XFER, strided, lengths[i], offsets[k]);
			}
	receive_from = 0;
}

/* From one block, where the offset only moves the address: small, and large enough to be
 * fetched. */
static void dgsp_amx_of_bytes(void)
{
	receive_as = IN_ONE_PIECE;
	fill_pattern(source, sizeof source, 12);
	send_amx(LAPI_AMX_XFER, LAPI_BYTE, 8, 12345);
	send_amx(LAPI_AMX_XFER, LAPI_BYTE, 20000, 12345);
	send_amx(LAPI_AMX_XFER, LAPI_BYTE, SPAN - 12345, 12345);
}

static void dgsp_transfer_errors(void)
{
	static const lapi_xfer_type_t types[] = {LAPI_DGSP_XFER, LAPI_AMX_XFER};
	lapi_xfer_t x;
	size_t i;
	memset(&x, 0, sizeof x);
	x.Dgsp.Xfer_type = LAPI_DGSP_XFER;
	x.Dgsp.tgt = (uint)next;
	x.Dgsp.hdr_hdl = (lapi_long_t)(uintptr_t)handlers[next];
	x.Dgsp.udata = source;
	x.Dgsp.udata_len = 8;
	for (i = 0; i < 2; i++) {
		x.Xfer_type = types[i];
		x.Dgsp.dgsp = NULL;
		CHECK_CODE(LAPI_ERR_DGSP, LAPI_Xfer(hndl, &x));
		x.Dgsp.dgsp = strided;
		x.Dgsp.tgt = (uint)num_tasks;
		CHECK_CODE(LAPI_ERR_TGT, LAPI_Xfer(hndl, &x));
		x.Dgsp.tgt = (uint)next;
		x.Dgsp.hdr_hdl = 0;
		CHECK_CODE(LAPI_ERR_HDR_HNDLR_NULL, LAPI_Xfer(hndl, &x));
		x.Dgsp.hdr_hdl = (lapi_long_t)(uintptr_t)handlers[next];
		x.Dgsp.udata_len = (ulong)LAPI_MAX_MSG_SZ + 1;
		CHECK_CODE(LAPI_ERR_DATA_LEN, LAPI_Xfer(hndl, &x));
		x.Dgsp.udata_len = 8;
		x.Dgsp.uhdr_len = 8;
		CHECK_CODE(LAPI_ERR_UHDR_NULL, LAPI_Xfer(hndl, &x));
		x.Dgsp.uhdr_len = 100000;
		CHECK_CODE(LAPI_ERR_UHDR_LEN, LAPI_Xfer(hndl, &x));
		x.Dgsp.uhdr_len = 0;
	}
	x.Amx.send_offset_dgsp_bytes = ~0UL; /* such an offset cannot be counted */
	CHECK_CODE(LAPI_ERR_DGSP_OTHER, LAPI_Xfer(hndl, &x));
}

/* The receiver's offset is as bad: its error handler is called, the message is dropped, the
 * sender's counters change. */
static void dgsp_receiver_with_a_bad_offset(void)
{
	receive_as = BY_DGSP;
	receive_from = ~0UL;
	conform_expect_errors(1);
	LAPI_OK(LAPI_Gfence(hndl));
	LAPI_OK(LAPI_Amsend(hndl, (uint)next, handlers[next], NULL, 0, source, 5000, NULL,
	                    &org_cntr, NULL));
	LAPI_OK(LAPI_Waitcntr(hndl, &org_cntr, 1, NULL));
	POLL_UNTIL(conform_errors() > 0);
	CHECK_EQUAL(conform_error_at(0).code, LAPI_ERR_DGSP_OTHER);
	CHECK_EQUAL(conform_error_at(0).type, AM_ERR);
	LAPI_OK(LAPI_Gfence(hndl));
	conform_expect_errors(0);
	receive_from = 0;
}

/* Registers the DGSP and exchanges the addresses that the other cases need. */
static void dgsp_prepare(void)
{
	lapi_dgsp_descr_t d = describe(&strided_code, sizeof strided_code);
	LAPI_OK(enroll(&d, &strided));
	next = (task_id + 1) % num_tasks;
	counter_zero(&tgt_cntr);
	counter_zero(&org_cntr);
	counter_zero(&cmpl_cntr);
	exchange(&tgt_cntr, tgt_cntrs);
	exchange((void *)(uintptr_t)header, handlers);
}

static const conform_case cases[] = {
	CONFORM_CASE(dgsp_prepare),
	CONFORM_CASE(dgsp_transfers),
	CONFORM_CASE(dgsp_receives_a_contiguous_message),
	CONFORM_CASE(dgsp_amx),
	CONFORM_CASE(dgsp_amx_of_bytes),
	CONFORM_CASE(dgsp_transfer_errors),
	CONFORM_CASE(dgsp_receiver_with_a_bad_offset),
};

int main(int argc, char **argv)
{
	return conform_main(argc, argv, cases, sizeof cases / sizeof cases[0]);
}
