/*
 * errors.c - brings core's errors to the user's error handler, or ends the task where there is
 * none.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "handlers/handlers.h"

/*
 * Writes out what the program has printed, but waits for no other thread: that one may hold the
 * stream for ever.
 */
static void flush_if_free(FILE *stream)
{
	if (ftrylockfile(stream) != 0)
		return;
	fflush_unlocked(stream);
	funlockfile(stream);
}

/* Signals that the program handles do not shorten it. */
static void wait_to_be_ended(int ms)
{
	struct timespec left = {.tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000};

	while (nanosleep(&left, &left) != 0 && errno == EINTR)
		;
}

/*
 * No error handler: the failure ends the task. Not by exit: atexit handlers of the program make
 * LAPI calls, which may wait for the very peer that has failed. A launcher that is about to end the
 * job does so first: the job's status is that of the task that has failed.
 */
static void end_task(const cshim_context *context, const cshim_error *error)
{
	cshim_complain(context, "%.*s", (int)sizeof(error->text), error->text);
	flush_if_free(stdout);
	flush_if_free(stderr);
	wait_to_be_ended(error->patience_ms);
	_exit(EXIT_FAILURE);
}

static _Thread_local const cshim_error *error_now;

const cshim_error *cshim_error_now(void)
{
	return error_now;
}

static void call_error_handler(cshim_context *context, const cshim_error *error)
{
	LAPI_err_hndlr *handler = (LAPI_err_hndlr *)(uintptr_t)error->handler;
	int code = error->code, task = error->task, src = error->src;
	lapi_err_t type = (lapi_err_t)error->type;

	error_now = error;
	handler(cshim_handle_of(context), &code, &type, &task, &src);
	error_now = NULL;
}

/*
 * The handler may call LAPI_Term, from this very thread; then the context is gone when it returns.
 * While the handler runs a polling caller does not poll, and the service thread may step in.
 */
void cshim_run_errors(cshim_context *context, int polls,
                      void (*broken)(cshim_context *context, uint32_t handle))
{
	cshim_progress *progress = &context->progress;
	uint32_t handle = progress->handle, depth;
	cshim_outside before;
	cshim_error error;

	while (cshim_alive(progress, handle) &&
	       golapi_next_error(cshim_index_of(context), &error)) {
		if (!error.handler)
			end_task(context, &error);
		if (polls)
			cshim_poll_end(progress);
		/* Sleepers would have nobody to poll for them meanwhile. */
		cshim_hand_over(progress);
		cshim_trace(context, CSHIM_TRACE_HANDLERS, CSHIM_TRACE_BEGIN | CSHIM_TRACE_HANDLER,
		            "error handler", error.code);
		depth = cshim_lock_release_all(progress);
		before = cshim_outside_begins();
		call_error_handler(context, &error);
		cshim_outside_ends(before);
		cshim_lock_forfeit(progress);
		if (error.ends)
			broken(context, handle);
		cshim_lock_restore(progress, depth);
		cshim_trace(context, CSHIM_TRACE_HANDLERS, CSHIM_TRACE_END | CSHIM_TRACE_HANDLER,
		            "", 0);
		if (polls)
			cshim_poll_begin(progress);
	}
}
