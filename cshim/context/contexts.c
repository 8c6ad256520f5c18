/*
 * contexts.c - the context blocks of this process, their handles, and the ends of their use:
 * LAPI_Term and fork.
 */
#define _GNU_SOURCE
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "context/contexts.h"
#include "progress/say.h"

/*
 * A handle is generation * 16 + index of the block, the generation starting at 1: small numbers,
 * never 0, and a handle from before the last LAPI_Term of a block does not match the block's next
 * use.
 */
enum { INDEX_BITS = 4 };
_Static_assert(CSHIM_MAX_CONTEXTS == 1 << INDEX_BITS, "a handle's index names every block");

/* Own cache lines, so that one context's lock does not disturb another's. */
cshim_context cshim_contexts[CSHIM_MAX_CONTEXTS] __attribute__((aligned(128)));

static int forked_told; /* atomic: the message was written */

cshim_context *cshim_context_at(int context)
{
	return context >= 0 && context < CSHIM_MAX_CONTEXTS ? &cshim_contexts[context] : NULL;
}

int cshim_forked_away(void)
{
	if (__builtin_expect(!__atomic_load_n(&cshim_forked, __ATOMIC_RELAXED), 1))
		return 0;
	if (!__atomic_exchange_n(&forked_told, 1, __ATOMIC_RELAXED))
		cshim_complain(
			NULL,
			"this process was made by fork: LAPI cannot be used in it before an exec");
	return 1;
}

int cshim_core_refused(void)
{
	switch (cshim_start("LAPI")) {
	case CSHIM_STARTED:
		return LAPI_SUCCESS;
	case CSHIM_START_FORKED:
		(void)cshim_forked_away();
		return LAPI_ERR_UNKNOWN;
	default:
		return LAPI_ERR_MEMORY_EXHAUSTED;
	}
}

/* Some context, for a message to name the task; NULL: there is none. */
static const cshim_context *any_context(void)
{
	int i;

	for (i = 0; i < CSHIM_MAX_CONTEXTS; i++)
		if (__atomic_load_n(&cshim_contexts[i].progress.state, __ATOMIC_ACQUIRE) ==
		    CSHIM_ACTIVE)
			return &cshim_contexts[i];
	return NULL;
}

int cshim_refused(const char *call)
{
	static int told; /* atomic */

	if (!cshim_this_thread.inside)
		return LAPI_ERR_HNDL_INVALID;
	cshim_owe_signal();
	if (!__atomic_exchange_n(&told, 1, __ATOMIC_RELAXED))
		cshim_complain(any_context(),
		               "%s called from a signal handler that has interrupted LAPI in the "
		               "same thread: it fails, as all such calls do; the handlers of "
		               "SIGTERM and SIGINT run once more when LAPI is left. If a signal "
		               "handler has left LAPI by siglongjmp before, this thread cannot "
		               "call LAPI any more",
		               call + (*call == 'P'));
	return LAPI_ERR_UNKNOWN;
}

cshim_context *cshim_claim(const cshim_owner *owner)
{
	int i;

	for (i = 0; i < CSHIM_MAX_CONTEXTS; i++) {
		cshim_context *context = &cshim_contexts[i];
		uint32_t expected = CSHIM_FREE;

		/*
		 * Acquire pairs with cshim_give_back: the last user's writes to the block are over.
		 */
		if (!__atomic_compare_exchange_n(&context->progress.state, &expected,
		                                 CSHIM_INITIALIZING, 0, __ATOMIC_ACQUIRE,
		                                 __ATOMIC_RELAXED))
			continue;
		__atomic_add_fetch(&cshim_progress_claimed, 1, __ATOMIC_RELAXED);
		if (!context->progress.owner.at)
			cshim_progress_add(&context->progress, owner);
		context->incarnations++;
		/* keep clear of LAPI_VOID_HANDLE; 2^27 uses later old handles recur */
		if (context->incarnations >> (32 - INDEX_BITS - 1))
			context->incarnations = 1;
		__atomic_store_n(&context->progress.handle,
		                 context->incarnations << INDEX_BITS | (uint32_t)i,
		                 __ATOMIC_RELAXED);
		return context;
	}
	return NULL;
}

void cshim_give_back(cshim_context *context)
{
	__atomic_sub_fetch(&cshim_progress_claimed, 1, __ATOMIC_RELAXED);
	__atomic_store_n(&context->progress.state, CSHIM_FREE, __ATOMIC_RELEASE);
}

void cshim_complain(const cshim_context *context, const char *format, ...)
{
	char text[512];
	size_t used;
	va_list arguments;

	if (context)
		snprintf(text, sizeof(text), "LAPI task %d: ", context->task);
	else
		strcpy(text, "LAPI: ");
	used = strlen(text);
	va_start(arguments, format);
	vsnprintf(text + used, sizeof(text) - used - 1, format, arguments);
	va_end(arguments);
	used = strlen(text);
	text[used++] = '\n';
	cshim_say(text, used);
}
