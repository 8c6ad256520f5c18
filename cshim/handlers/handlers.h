/*
 * handlers.h - calls of the user's handlers: the contract of this part with the C side. called.h
 * has what core calls.
 *
 * Header, inline completion and send completion handlers run under the lock, in the thread that
 * makes a progress call or sends. Completion handlers run without it in handler threads, error
 * handlers without it in any thread that waits or polls.
 */
#ifndef CSHIM_HANDLERS_H
#define CSHIM_HANDLERS_H

#include "context/contexts.h"
#include "handlers/called.h"

/* The MAGIC of a lapi_return_info_t; any value that a stray store is unlikely to produce. */
#define CSHIM_RETURN_INFO_MAGIC 0x4c415049

/*
 * A call of a header handler: its arguments and results. A vector's gets the address of the lengths
 * in the place of msg_len.
 */
typedef struct cshim_header_call {
	union {
		lapi_return_info_t info;
		ulong *lengths;
	};
	void *buffer;
	compl_hndlr_t *completion;
	void *user_info;
} cshim_header_call;

/*
 * Calls a header handler, under the lock: with all preset so that one which says nothing has its
 * message delivered.
 */
static inline void cshim_header_run(cshim_context *context, cshim_addr handler, cshim_addr uhdr,
                                    uint32_t uhdr_len, uint64_t msg_len, int32_t src,
                                    cshim_addr one_packet, cshim_header_call *call)
{
	hdr_hndlr_t *header_handler = (hdr_hndlr_t *)(uintptr_t)handler;
	uint length = uhdr_len;
	cshim_handler before;

	call->info = (lapi_return_info_t){
		.msg_len = (ulong)msg_len,
		.MAGIC = CSHIM_RETURN_INFO_MAGIC,
		.ret_flags = LAPI_NORMAL,
		.ctl_flags = LAPI_DELIVER_MSG,
		/* a DGSP delivers all of it unless the handler says less */
		.bytes = (ulong)msg_len,
		.src = src,
		.udata_one_pkt_ptr = (void *)(uintptr_t)one_packet,
	};
	call->completion = NULL;
	call->user_info = NULL;
	/*
	 * The prototype knows only a length; the structure behind it is the newer interface (guide,
	 * Chapter 11).
	 */
	cshim_handler_begins(&context->progress, &before);
	call->buffer =
		header_handler(cshim_handle_of(context), (void *)(uintptr_t)uhdr, &length,
	                       (ulong *)(void *)&call->info, &call->completion, &call->user_info);
	cshim_handler_ends(&context->progress, &before);
}

/*
 * Send completion handlers that are due, of one context, under its lock. They run one after the
 * other (cshim_call_send_completion): up to CSHIM_SENT_MOST wait in C while another one runs. Core
 * keeps the rest, as it has memory for any number.
 */
enum { CSHIM_SENT_MOST = 16 };
typedef struct cshim_sent {
	uint32_t running; /* how many run, inside each other */
	uint32_t waiting; /* how many wait, oldest first */
	struct {
		cshim_addr handler, info;
		uint32_t tgt, reason;
	} due[CSHIM_SENT_MOST];
} cshim_sent;
extern cshim_sent cshim_sents[CSHIM_MAX_CONTEXTS]; /* by context */

/* header.c: what core needs to know of it. */
void cshim_header_said(cshim_context *context, const cshim_header_call *call,
                       cshim_header_result *result);

/* errors.c: in an error handler, the error that it is called for. */
const cshim_error *cshim_error_now(void);

/*
 * errors.c: calls the user's error handler for each error that core has. When the handler of an
 * error that breaks the context has returned, broken ends the context of that handle; the caller
 * does not own its lock then.
 */
void cshim_run_errors(cshim_context *context, int polls,
                      void (*broken)(cshim_context *context, uint32_t handle));

/* completion.c: cshim_owner.handlers and wake_handlers */
void cshim_completion_run(cshim_progress *progress, uint32_t handle);
void cshim_completion_wake(cshim_progress *progress);

#endif
