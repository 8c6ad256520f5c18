/*
 * unknown.c - a message that names a Fortran procedure which the target does not have, as one of
 * another program would: the message is thrown away with a complaint, its counters change, and the
 * job goes on. The name is made by hand (cshim/handlers/procedure.c).
 */
#include <lapi.h>
#include <stdio.h>
#include <string.h>

static const lapi_long_t no_such_file = 1LL << 55 | 0x123456LL << 32 | 0x1000,
			 no_code = 1LL << 55 | 0xfffffff0;

static int send_to(lapi_handle_t hndl, lapi_long_t handler, int length)
{
	static char data[100000];
	lapi_cntr_t done;
	lapi_xfer_t xfer;
	int rc;

	memset(&xfer, 0, sizeof xfer);
	LAPI_Setcntr(hndl, &done, 0);
	xfer.Am.Xfer_type = LAPI_AM_XFER;
	xfer.Am.tgt = 1;
	xfer.Am.hdr_hdl = handler;
	xfer.Am.udata = data;
	xfer.Am.udata_len = length;
	xfer.Am.cmpl_cntr = &done;
	rc = LAPI_Xfer(hndl, &xfer);
	return rc == LAPI_SUCCESS ? LAPI_Waitcntr(hndl, &done, 1, NULL) : rc;
}

int main(void)
{
	lapi_handle_t hndl;
	lapi_info_t info;
	int task, wrong = 0;

	memset(&info, 0, sizeof info);
	if (LAPI_Init(&hndl, &info) != LAPI_SUCCESS)
		return 2;
	LAPI_Qenv(hndl, TASK_ID, &task);
	if (task == 0) {
		wrong += send_to(hndl, no_such_file, 8) != LAPI_SUCCESS;
		wrong += send_to(hndl, no_such_file, 100000) != LAPI_SUCCESS;
		wrong += send_to(hndl, no_code, 8) != LAPI_SUCCESS;
		printf("unknown: %d passed, %d failed, 0 skipped\n", 3 - wrong, wrong);
	}
	LAPI_Gfence(hndl);
	LAPI_Term(hndl);
	return wrong != 0;
}
