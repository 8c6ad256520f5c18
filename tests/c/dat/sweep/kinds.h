/* kinds.h - the kinds of arguments (kinds_*.c), by the names that calls.txt has. */
#ifndef SWEEP_KINDS_H
#define SWEEP_KINDS_H

#include "sweep.h"

/* One of a list of numbers that are wrong, as a kind's function. */
int one_of(int i, word *w, const long long *numbers, int n);
/* One bit of 32, or of 64, each by itself. */
int one_bit(int i, word *w, int bits);

#define COUNT_OF(list) ((int)(sizeof(list) / sizeof *(list)))

/* A number: the right one, and wrong ones. */
#define NUMBERS(name, right_one, ...)                                 \
	static void right_##name(word *w, int at)                     \
	{                                                             \
		(void)at;                                             \
		w[at].number = (DAT_UINT64)(right_one);               \
	}                                                             \
	static int wrong_##name(int i, word *w, int at)               \
	{                                                             \
		static const long long numbers[] = {__VA_ARGS__};     \
		return one_of(i, w + at, numbers, COUNT_OF(numbers)); \
	}                                                             \
	const kind kind_##name = {NO_HANDLE, right_##name, wrong_##name}

/* Flags, or a mask: the right ones, and each bit, known or not. */
#define BITS(name, right_one, bits)                     \
	static void right_##name(word *w, int at)       \
	{                                               \
		w[at].number = (right_one);             \
	}                                               \
	static int wrong_##name(int i, word *w, int at) \
	{                                               \
		return one_bit(i, w + at, bits);        \
	}                                               \
	const kind kind_##name = {NO_HANDLE, right_##name, wrong_##name}

/* A handle: of what type, how the right one is made, and wrong ones beside those of all handles. */
#define HANDLES(name, handle_type, right_one, wrong_ones) \
	static void right_##name(word *w, int at)         \
	{                                                 \
		w[at].pointer = (right_one);              \
	}                                                 \
	const kind kind_##name = {handle_type, right_##name, wrong_ones}

int wrong_handle(int i, word *w, const kind *k); /* those of all handles */
int no_more(int i, word *w, int at);

extern const kind kind_result, kind_text, kind_text_or_none, kind_count_of_list,
	kind_list_of_providers, kind_table, kind_info, kind_name, kind_name_2, kind_async_size,
	kind_async, kind_major, kind_minor, kind_boolean, kind_out, kind_out_or_none,
	kind_out_by_mask, kind_ia_mask, kind_provider_mask, kind_close_flags, kind_context, kind_op,
	kind_op_2005, kind_private_size, kind_private, kind_qualifier_of_psp, kind_evd_size,
	kind_evd_flags, kind_no_time, kind_threshold, kind_evd_new_size, kind_event, kind_agent,
	kind_attributes, kind_modify_mask, kind_parameters, kind_address, kind_qualifier,
	kind_timeout, kind_qos, kind_connect_flags, kind_segments, kind_segments_after,
	kind_local_list, kind_local_list_written, kind_local_rmr, kind_local_word, kind_completion,
	kind_remote_read, kind_remote_written, kind_remote_word, kind_rmr_context, kind_watermark,
	kind_memory_type, kind_region, kind_length, kind_privileges, kind_va_type,
	kind_bound_triplet, kind_psp_flags, kind_new_qualifier, kind_comm, kind_srq_attributes,
	kind_srq_size, kind_srq_low, kind_data, kind_peer_ah, kind_ud_context, kind_counter,
	kind_counter_printed, kind_counter_type, kind_mask_cr, kind_mask_evd, kind_mask_cno,
	kind_mask_ep, kind_mask_lmr, kind_mask_rmr, kind_mask_pz, kind_mask_psp, kind_mask_rsp,
	kind_mask_csp, kind_mask_srq;

extern const kind kind_ia, kind_ia_idle, kind_ia_of_query, kind_any, kind_counted, kind_pz,
	kind_pz_idle, kind_lmr, kind_lmr_idle, kind_rmr, kind_cno, kind_cno_idle, kind_cno_or_none,
	kind_srq, kind_srq_idle, kind_psp, kind_rsp, kind_csp, kind_cr, kind_evd, kind_evd_idle,
	kind_evd_empty, kind_evd_software, kind_evd_recv, kind_evd_request, kind_evd_connect,
	kind_evd_cr, kind_ep_any, kind_ep_unconnected, kind_ep_connected, kind_ep_disconnected,
	kind_ep_ud;

#endif
