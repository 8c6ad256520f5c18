/*
 * owner.c - what a LAPI context does for its progress block: progress calls of lane, barrier and
 * core, arming, errors, traces.
 */
#include "node/guard.h"
#include "handlers/handlers.h"
#include "lane/lane_send.h"
#include "lapi/waits.h"
#include "progress/dump.h"

static uint32_t call_core(cshim_context *context, uint64_t ticket)
{
	uint32_t flags = golapi_dispatch(cshim_index_of(context), ticket);

	context->asked = ticket;
	context->asked_events = CSHIM_OWN(context->progress.event_seq);
	cshim_lane_turned(context);
	cshim_gfence_check(context);
	return flags;
}

static uint32_t call(cshim_progress *progress, uint64_t ticket)
{
	cshim_context *context = cshim_context_of(progress);
	uint32_t flags;

	if (context->barrier)
		cshim_gfence_look(context);
	flags = cshim_lane_turn(context);
	/* Tickets end in core's calls, and by messages that are core's. */
	if (flags & CSHIM_LANE_CORE ||
	    (ticket && (ticket != context->asked ||
	                CSHIM_OWN(progress->event_seq) != context->asked_events)))
		flags = (flags & ~CSHIM_LANE_CORE) | call_core(context, ticket);
	return flags;
}

static int arm(cshim_progress *progress, int64_t *timeout_ns)
{
	cshim_context *context = cshim_context_of(progress);

	node_guard_install(); /* a program may have put its own handler before it meanwhile */
	return golapi_arm(cshim_index_of(context), timeout_ns) || cshim_gfence_check(context);
}

static void disarm(cshim_progress *progress)
{
	golapi_disarm(cshim_index_of(cshim_context_of(progress)));
}

static void polling(cshim_progress *progress, int polls)
{
	golapi_away(cshim_index_of(cshim_context_of(progress)), !polls);
}

static void errors(cshim_progress *progress, int polls)
{
	cshim_run_losses(cshim_context_of(progress), polls);
}

static void trace(cshim_progress *progress, const char *what, int32_t how)
{
	cshim_trace(cshim_context_of(progress), CSHIM_TRACE_HANDLERS,
	            (what ? CSHIM_TRACE_BEGIN : CSHIM_TRACE_END) | CSHIM_TRACE_WAIT,
	            what ? what : "", cshim_wait_code(how));
}

/* The buffer is Go's for the time of the call. */
static void dump(cshim_progress *progress, cshim_dump *out, int locked)
{
	cshim_context *context = cshim_context_of(progress);

	if (!locked)
		cshim_dump_line(out, "context context=%u api=lapi task=%d tasks=%d polls=%u interrupts=%u",
		                progress->handle, context->task, context->num_tasks,
		                __atomic_load_n(&progress->polling, __ATOMIC_RELAXED),
		                __atomic_load_n(&progress->interrupts, __ATOMIC_RELAXED));
	else
		out->used += (size_t)golapi_dump(cshim_index_of(context), out->text + out->used,
		                                 out->size - out->used);
}

const cshim_owner cshim_lapi_owner = {
	.name = "lapi",
	.call = call,
	.arm = arm,
	.disarm = disarm,
	.polling = polling,
	.errors = errors,
	.trace = trace,
	.handlers = cshim_completion_run,
	.wake_handlers = cshim_completion_wake,
	.dump = dump,
};

int cshim_must_not_wait(cshim_context *context, const char *call)
{
	cshim_complain(context,
	               "%s called from a header, inline completion or send completion handler "
	               "of this or another instance, which must not wait",
	               call);
	return LAPI_ERR_UNKNOWN;
}
