/*
 * trace.c - adds the records of the C side to the trace file. Core opens the file in LAPI_Init and
 * closes it at the end of LAPI_Term; between the two its address is in the context block.
 */
#define _GNU_SOURCE
#include <string.h>

#include "context/contexts.h"

/* A free record; NULL if the file is full. */
static cshim_trace_record *claim(cshim_trace_head *head)
{
	uint64_t index = __atomic_fetch_add(&head->next, 1, __ATOMIC_RELAXED);

	return index < head->capacity ? (cshim_trace_record *)(void *)(head + 1) + index : NULL;
}

/* Under the profiling name's prefix, users know a call by the other. */
static const char *public_name(const char *name)
{
	return strncmp(name, "PLAPI_", 6) == 0 ? name + 1 : name;
}

void cshim_trace_write(const cshim_context *context, uint32_t kind, const char *name, int32_t code)
{
	cshim_trace_record *record;

	/*
	 * After LAPI_Term there is no file any more. Under the lock the state does not change; see
	 * cshim_alive for the order.
	 */
	if (__atomic_load_n(&context->progress.state, __ATOMIC_ACQUIRE) != CSHIM_ACTIVE)
		return;
	record = claim((cshim_trace_head *)(uintptr_t)context->trace_file);
	if (!record)
		return;
	record->ns = (uint64_t)cshim_now_ns();
	record->thread = (int32_t)cshim_tid();
	record->peer = -1;
	record->code = code;
	name = public_name(name);
	memcpy(record->name, name, strnlen(name, sizeof(record->name)));
	/* Release: a thread that sees the kind sees the rest. */
	__atomic_store_n(&record->kind, kind, __ATOMIC_RELEASE);
}
