/*
 * completion.c - a handler thread: runs queued completion handlers, one at a time, without the
 * lock.
 */
#define _GNU_SOURCE
#include <limits.h>

#include "progress/futex.h"
#include "handlers/handlers.h"

/*
 * Sleeps until core queues a handler. completion_seq is read under the lock, under which core adds
 * to it and wakes, after the queue was found empty: so when a handler is queued later this thread
 * is in the futex's queue, or finds another value there.
 */
static void rest(cshim_context *context)
{
	uint32_t seen = __atomic_load_n(&context->completion_seq, __ATOMIC_SEQ_CST), depth;

	depth = cshim_lock_release_all(&context->progress);
	cshim_futex_wait(&context->completion_seq, seen, -1);
	cshim_lock_restore(&context->progress, depth);
}

/*
 * Without the lock: a thread that reads completion_seq after this change finds before it rests that
 * the generation has ended.
 */
void cshim_completion_wake(cshim_progress *progress)
{
	cshim_context *context = cshim_context_of(progress);

	__atomic_add_fetch(&context->completion_seq, 1, __ATOMIC_SEQ_CST);
	cshim_futex_wake(&context->completion_seq, INT_MAX);
}

void cshim_completion_run(cshim_progress *progress, uint32_t handle)
{
	cshim_context *context = cshim_context_of(progress);
	int index = cshim_index_of(context);
	cshim_completion completion;
	uint32_t depth;

	cshim_lock(progress);
	while (cshim_alive(progress, handle)) {
		if (!golapi_next_completion(index, &completion)) {
			rest(context);
			continue;
		}
		cshim_trace(context, CSHIM_TRACE_HANDLERS, CSHIM_TRACE_BEGIN | CSHIM_TRACE_HANDLER,
		            "completion handler", 0);
		depth = cshim_lock_release_all(progress);
		cshim_call_completion(index, completion.handler, completion.info);
		cshim_lock_restore(progress, depth);
		if (!cshim_alive(progress, handle))
			break;
		cshim_trace(context, CSHIM_TRACE_HANDLERS, CSHIM_TRACE_END | CSHIM_TRACE_HANDLER,
		            "", 0);
		/*
		 * Counters change now, and the peer is notified: threads that wait for that are
		 * woken.
		 */
		golapi_completion_done(index, completion.id);
		cshim_notify(progress);
	}
	cshim_unlock(progress);
}
