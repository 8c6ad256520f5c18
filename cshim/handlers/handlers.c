/* handlers.c - calls the user's handlers for core, on the stack of the thread that dispatches. */
#define _GNU_SOURCE
#include <string.h>

#include "node/guard.h"
#include "handlers/handlers.h"
#include "handlers/procedure.h"

/* A handler begins that may run without the lock, as queued completion handlers do. */
static void handler_begins(cshim_context *context, cshim_handler *handler)
{
	handler->progress = NULL;
	if (cshim_lock_owned(&context->progress))
		cshim_handler_begins(&context->progress, handler);
	else
		handler->outside = cshim_outside_begins();
}

static void handler_ends(cshim_context *context, cshim_handler *handler)
{
	if (handler->progress) {
		cshim_handler_ends(&context->progress, handler);
		return;
	}
	cshim_outside_ends(handler->outside);
	cshim_lock_forfeit(&context->progress);
}

/*
 * The header handler wrote over the structure: nothing in it can be believed, so the message is
 * delivered as by default.
 */
static void distrust(cshim_context *context, cshim_header_result *result)
{
	static int told; /* atomic */

	if (!__atomic_exchange_n(&told, 1, __ATOMIC_RELAXED))
		cshim_complain(context, "a header handler changed MAGIC of its lapi_return_info_t; "
		                        "its flags are ignored");
	result->ret_flags = LAPI_NORMAL;
	result->ctl_flags = LAPI_DELIVER_MSG;
	result->dgsp = 0;
	result->bytes = 0;
	result->skip = 0;
}

/*
 * The header handler that a message names, 0 if this task has none: then *result says that the
 * message's data is thrown away. Another program than the origin's runs here, which on no system
 * would know the procedure, or a 32-bit one, which has no such addresses.
 */
static cshim_addr header_handler_of(cshim_context *context, cshim_addr handler, int32_t src,
                                    cshim_header_result *result)
{
	static int told; /* atomic */
	cshim_addr found = handler;

	if (__builtin_expect((handler & CSHIM_PROCEDURE_NAME) != 0, 0))
		found = cshim_procedure_at(handler);
	if (__builtin_expect(found && node_memory_at(found), 1))
		return found;
	if (__atomic_exchange_n(&told, 1, __ATOMIC_RELAXED))
		;
	else if (handler & CSHIM_PROCEDURE_NAME)
		cshim_complain(context,
		               "task %d names a Fortran procedure as header handler that this "
		               "program does not have; its message is thrown away. "
		               "Between different programs exchange addresses (LAPI_ADDRESS_INIT) "
		               "or use indices (LAPI_ADDR_SET)",
		               (int)src);
	else
		cshim_complain(
			context,
			"task %d names address %#llx as header handler, which a 32-bit task cannot "
			"have; its message is thrown away. "
			"Exchange addresses by LAPI_Address_init64 or use indices (LAPI_Addr_set)",
			(int)src, (unsigned long long)handler);
	memset(result, 0, sizeof *result);
	result->ctl_flags = LAPI_BURY_MSG;
	return 0;
}

void cshim_header_said(cshim_context *context, const cshim_header_call *call,
                       cshim_header_result *result)
{
	result->buffer = (uintptr_t)call->buffer;
	result->completion = (uintptr_t)call->completion;
	result->info = (uintptr_t)call->user_info;
	result->dgsp = (uintptr_t)call->info.dgsp_handle;
	result->bytes = call->info.bytes;
	result->skip = call->info.recv_offset_dgsp_bytes;
	result->ret_flags = call->info.ret_flags;
	result->ctl_flags = (int32_t)call->info.ctl_flags;
	if (call->info.MAGIC != CSHIM_RETURN_INFO_MAGIC)
		distrust(context, result);
}

void cshim_call_header(int context, cshim_addr handler, cshim_addr uhdr, uint32_t uhdr_len,
                       uint64_t msg_len, int32_t src, cshim_addr one_packet,
                       cshim_header_result *result)
{
	cshim_context *block = &cshim_contexts[context];
	cshim_header_call call;

	handler = header_handler_of(block, handler, src, result);
	if (!handler)
		return;
	cshim_header_run(block, handler, uhdr, uhdr_len, msg_len, src, one_packet, &call);
	cshim_header_said(block, &call, result);
}

/*
 * The prototype gives the handler len_vec, a pointer to a pointer to the lengths. Programs take it
 * for a lapi_return_info_t as well, to ask for an inline completion handler or to drop the message:
 * so that pointer is the first word of one.
 */
void cshim_call_vector_header(int context, cshim_addr handler, cshim_addr uhdr, uint32_t uhdr_len,
                              cshim_addr lengths, int32_t src, cshim_addr one_packet,
                              cshim_header_result *result)
{
	cshim_context *block = &cshim_contexts[context];
	cshim_header_call call = {.info = {.MAGIC = CSHIM_RETURN_INFO_MAGIC,
	                                   .src = src,
	                                   .udata_one_pkt_ptr = (void *)(uintptr_t)one_packet}};
	vhdr_hndlr_t *header_handler =
		(vhdr_hndlr_t *)(uintptr_t)header_handler_of(block, handler, src, result);
	uint length = uhdr_len;
	cshim_handler before;

	_Static_assert(sizeof call.lengths == sizeof call.info.msg_len,
	               "the pointer fills the word of msg_len");
	if (!header_handler)
		return;
	call.lengths = (ulong *)(uintptr_t)lengths;
	handler_begins(block, &before);
	call.buffer = header_handler(cshim_handle_of(block), (void *)(uintptr_t)uhdr, &length,
	                             &call.lengths, &call.completion, &call.user_info);
	handler_ends(block, &before);
	cshim_header_said(block, &call, result);
}

cshim_sent cshim_sents[CSHIM_MAX_CONTEXTS];

/*
 * Also outside of progress calls, at the end of a call that sends. While the handler runs a
 * progress call counts as being made by this thread, so that a call which would wait inside the
 * handler is refused as in all handlers that hold the lock.
 */
static void run_sent(cshim_context *context, cshim_addr handler, cshim_addr info,
                     lapi_sh_info_t *why)
{
	cshim_progress *progress = &context->progress;
	scompl_hndlr_t *send_handler = (scompl_hndlr_t *)(uintptr_t)handler;
	uint32_t was = CSHIM_OWN(progress->calling), caller = progress->caller;
	cshim_handler before;

	cshim_call_begins(progress);
	handler_begins(context, &before);
	send_handler(cshim_handle_of(context), (void *)(uintptr_t)info, why);
	handler_ends(context, &before);
	if (!was)
		cshim_call_ends(progress);
	progress->caller = caller;
}

/* Runs the oldest handler that waits. */
static void run_waiting(cshim_context *context, cshim_sent *sent)
{
	lapi_sh_info_t why = {.src = sent->due[0].tgt, .reason = sent->due[0].reason};
	cshim_addr handler = sent->due[0].handler, info = sent->due[0].info;

	sent->waiting--;
	memmove(&sent->due[0], &sent->due[1], sent->waiting * sizeof(sent->due[0]));
	run_sent(context, handler, info, &why);
}

/* One after the other, however they send: handlers inside each other would fill the stack. */
void cshim_call_send_completion(int context, cshim_addr handler, cshim_addr info, uint32_t tgt,
                                uint32_t reason)
{
	cshim_sent *sent = &cshim_sents[context];
	lapi_sh_info_t why = {.src = tgt, .reason = reason};

	if (sent->running && sent->waiting < CSHIM_SENT_MOST) {
		sent->due[sent->waiting].handler = handler;
		sent->due[sent->waiting].info = info;
		sent->due[sent->waiting].tgt = tgt;
		sent->due[sent->waiting++].reason = reason;
		return;
	}
	sent->running++;
	run_sent(&cshim_contexts[context], handler, info, &why);
	while (sent->running == 1 && sent->waiting)
		run_waiting(&cshim_contexts[context], sent);
	sent->running--;
}

void cshim_call_completion(int context, cshim_addr handler, cshim_addr info)
{
	cshim_context *block = &cshim_contexts[context];
	compl_hndlr_t *completion_handler = (compl_hndlr_t *)(uintptr_t)handler;

	cshim_handler before;

	handler_begins(block, &before);

	completion_handler(cshim_handle_of(block), (void *)(uintptr_t)info);
	handler_ends(block, &before);
}

int cshim_call_udp_handler(cshim_addr handler, int context, cshim_addr local, cshim_addr list,
                           cshim_addr info)
{
	udp_init_hndlr *udp_handler = (udp_init_hndlr *)(uintptr_t)handler;
	cshim_outside before = cshim_outside_begins();
	int code = udp_handler(cshim_handle_of(&cshim_contexts[context]),
	                       (lapi_udp_t *)(uintptr_t)local, (lapi_udp_t *)(uintptr_t)list,
	                       (lapi_udpinfo_t *)(uintptr_t)info);

	cshim_outside_ends(before);
	return code;
}

int64_t cshim_call_ddm(int context, cshim_addr handler, cshim_addr in, cshim_addr inout, int64_t n,
                       int32_t operand, int32_t operation)
{
	typedef long fortran_ddm(void *in, void *inout, long *bytes, int32_t *operand,
	                         int32_t *operation);
	ddm_func_t *ddm_func = (ddm_func_t *)(uintptr_t)handler;
	long bytes = (long)n;
	cshim_context *block = &cshim_contexts[context];
	cshim_handler before;

	handler_begins(block, &before);

	if (handler & CSHIM_FORTRAN_DDM)
		bytes = ((fortran_ddm *)(uintptr_t)(handler & ~CSHIM_FORTRAN_DDM))(
			(void *)(uintptr_t)in, (void *)(uintptr_t)inout, &bytes, &operand,
			&operation);
	else
		bytes = ddm_func((void *)(uintptr_t)in, (void *)(uintptr_t)inout, bytes, operand,
		                 operation);
	handler_ends(block, &before);
	return bytes;
}
