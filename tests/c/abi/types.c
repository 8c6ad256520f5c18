/*
 * types.c - prints the number, pointer and function types of lapi.h and css_shared.h.
 */
#include "abi.h"

void print_numbers(void)
{
	NUMBER(uint);
	NUMBER(ulong);
	NUMBER(lapi_handle_t);
	NUMBER(lapi_long_t);
	NUMBER(lapi_msglen_t);
	NUMBER(lapi_status_t);
	NUMBER(lapi_msg_state_t);
	NUMBER(lapi_ret_flags_t);
	NUMBER(lapi_group_t);
	NUMBER(lapi_user_cxt_t);
	NUMBER(lapi_user_pvo_t);
	NUMBER(lapi_rdma_tag_t);
	NUMBER(lapi_rdma_op_t);
	NUMBER(lapi_rdma_flg_t);
	NUMBER(css_task_t);
	NUMBER(css_dev_t);
	NUMBER(lapi_dev_t);
	NUMBER(RMW_ops_t);
	NUMBER(Rmw_ops_t);
	NUMBER(lapi_query_t);
	NUMBER(lapi_err_t);
	NUMBER(lapi_lib_t);
	NUMBER(lapi_vectype_t);
	NUMBER(lapi_xfer_type_t);
	NUMBER(lapi_util_type_t);
	NUMBER(lapi_usr_fcall_t);
	NUMBER(lapi_ctl_flags_t);
	NUMBER(lapi_rdma_req_t);
	NUMBER(lapi_dgsm_opcode_t);
	NUMBER(lapi_dgsp_density_t);
}

void print_pointers(void)
{
	SAME(lapi_dg_handle_t, lapi_dgsp_descr_t *);
	SAME(lapi_dgsp_handle_t, lapi_dgsp_descr_t *);
	SAME(__typeof__(LAPI_BYTE), lapi_dgsp_descr_t *);
	SAME(lapi_hwxfer_t *, struct lapi_hwxfer *);
	SAME(lapi_rdma_notification_t *, struct lapi_rdma_notification *);
	SAME(lapi_trigger_util_t *, struct lapi_trigger_util *);
	SAME(lapi_stat_util_t *, struct lapi_stat_util *);
}

void print_functions(void)
{
	SAME(thread_init_fptr, void(void *, void *));
	SAME(LAPI_err_hndlr, void(unsigned int *, int *, lapi_err_t *, int *, int *));
	SAME(hdr_hndlr_t, void *(unsigned int *, void *, unsigned int *, unsigned long *,
	                         compl_hndlr_t **, void **));
	/* The golden has the type's spelling, spaces included. */
	/* clang-format off */
	SAME(vhdr_hndlr_t, lapi_vec_t *(unsigned int *, void *, unsigned int *, unsigned long **,
	                                compl_hndlr_t **, void **));
	/* clang-format on */
	SAME(compl_hndlr_t, void(unsigned int *, void *));
	SAME(scompl_hndlr_t, void(unsigned int *, void *, lapi_sh_info_t *));
	SAME(udp_init_hndlr, int(unsigned int *, lapi_udp_t *, lapi_udp_t *, lapi_udpinfo_t *));
	SAME(udp_init_ext_hndlr,
	     int(unsigned int *, lapi_udp_storage *, lapi_udp_storage *, lapi_udpinfo_t *));
	SAME(ddm_func_t, long(void *, void *, long, int, int));
	SAME(lapi_mutex_lock_t, int (*)(unsigned int));
	SAME(lapi_mutex_unlock_t, int (*)(unsigned int));
	SAME(lapi_mutex_trylock_t, int (*)(unsigned int));
	SAME(lapi_mutex_getowner_t, int (*)(unsigned int, pthread_t *));
	SAME(lapi_cond_wait_t, int (*)(unsigned int, lapi_cond_t *));
	SAME(lapi_cond_timedwait_t, int (*)(unsigned int, lapi_cond_t *, struct timespec *));
	SAME(lapi_cond_signal_t, int (*)(unsigned int, lapi_cond_t *));
	SAME(lapi_cond_init_t, int (*)(unsigned int, lapi_cond_t *));
	SAME(lapi_cond_destroy_t, int (*)(unsigned int, lapi_cond_t *));
}
