/*
 * use.c - what programs do with lapi.h, in the words that C89 and C++ share. Compiled by
 * headers.sh, never run.
 */
#include <lapi.h>

#ifndef LAPI_ERR_BAD_NINTH_PARM
#error sources take this for an older LAPI
#endif
#ifndef LAPI_DGSM_COPY_SIZE
#error sources take this for a LAPI without DGSPs
#endif
#if defined(__LP64__) && !defined(__64BIT__)
#error sources take this for a 32-bit system
#endif
#if LAPI_ERR_FIRSTCODE != 400 || LAPI_ERR_LASTCODE != 511
#error the codes are no preprocessor numbers
#endif

/* Programs' own limits, by the words of the guide's Appendix F. */
enum { MAX_TASKS = 256, MAX_NODES = 32, MAX_SHM_TASKS = 16, MAX_SLOTS_PER_TASK = 4 };

/* uint and ulong are there in every dialect, as are the thread and address types. */
struct program {
	uint tgt;
	ulong len;
	lapi_handle_t hndl;
	pthread_t thread;
	in_addr_t address;
	in_port_t port;
	struct timespec until;
};

/* Handlers of exactly these types; a cast to a handler type is a cast to a pointer. */
void on_error(lapi_handle_t *hndl, int *error_code, lapi_err_t *err_type, int *task_ID, int *src);
void *on_header(lapi_handle_t *hndl, void *uhdr, uint *uhdr_len, ulong *msg_len,
                compl_hndlr_t **comp_h, void **uinfo);
void on_completion(lapi_handle_t *hndl, void *completion_param);
void on_sent(lapi_handle_t *hndl, void *completion_param, lapi_sh_info_t *info);
int on_udp(lapi_handle_t *hndl, lapi_udp_t *local_addr, lapi_udp_t *addr_list,
           lapi_udpinfo_t *info);
int main(void);

/* The newer way to read msg_len, and a completion handler that runs inline. */
void *on_header(lapi_handle_t *hndl, void *uhdr, uint *uhdr_len, ulong *msg_len,
                compl_hndlr_t **comp_h, void **uinfo)
{
	lapi_return_info_t *more = (lapi_return_info_t *)msg_len;

	more->ret_flags = LAPI_SEND_REPLY;
	more->ctl_flags =
		*hndl == LAPI_VOID_HANDLE || *uhdr_len == 0 ? LAPI_BURY_MSG : LAPI_DELIVER_MSG;
	*comp_h = on_completion;
	*uinfo = uhdr;
	return more->udata_one_pkt_ptr ? LAPI_ADDR_NULL : uhdr;
}

int main(void)
{
	int code[LAPI_DGSM_COPY_SIZE + LAPI_DGSM_ITERATE_SIZE];
	struct program p;
	lapi_info_t info;
	lapi_extend_t extend;
	lapi_cntr_t cntr;
	lapi_xfer_t xfer;
	lapi_util_t util;
	lapi_statistics_t statistics;
	int value = 0, in_val = 1;

	extend.udp_hndlr = (udp_init_hndlr *)on_udp;
	info.protocol = (lapi_dev_t)LAPI_INTERRUPT_OFF;
	info.lib_vers = LAST_LIB;
	info.err_hndlr = (LAPI_err_hndlr *)on_error;
	info.add_info = &extend;
	p.tgt = 0;
	p.len = sizeof(code);
	if (LAPI_Init(&p.hndl, &info) != LAPI_SUCCESS || PLAPI_Setcntr(p.hndl, &cntr, 0))
		return 1;
	statistics.Tot_pkt_rcv_cnt = statistics.Tot_pkt_recv_cnt;
	LAPI_Qenv(p.hndl, QUERY_STATISTICS, (int *)&statistics);
	LAPI_Amsend(p.hndl, p.tgt, (void *)1, NULL, 0, code, p.len, (lapi_cntr_t *)LAPI_ADDR_NULL,
	            &cntr, NULL);
	LAPI_Rmw(p.hndl, FETCH_AND_ADD, p.tgt, &value, &in_val, NULL, &cntr);
	xfer.Am.Xfer_type = LAPI_AM_XFER;
	xfer.Am.shdlr = on_sent;
	xfer.Am.hdr_hdl = (lapi_long_t)(ulong)on_header;
	LAPI_Xfer(p.hndl, &xfer);
	util.PackDgsp.dgsp_handle = util.UnpackDgsp.dgsp;
	util.UnpackDgsp.in_buf = util.UnpackDgsp.buf;
	return LAPI_Util(p.hndl, &util) + LAPI_Waitcntr(p.hndl, &cntr, 2, &cntr.cntr) +
	       LAPI_Term(p.hndl);
}
