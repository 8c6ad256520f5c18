/*
 * contexts.h - a context as the C side of LAPI uses it: finding, entering and leaving one, counters,
 * messages to the user.
 *
 * Lock order: the lock of the context, nothing else. "Under the lock" means that of the same
 * context.
 */
#ifndef CSHIM_CONTEXTS_H
#define CSHIM_CONTEXTS_H

#include <stddef.h>
#include <stdint.h>

#include "context/context.h"
#include "context/golapi.h"
#include "context/trace.h"
#include "progress/lock.h"
#include "start/start.h"

/* The library's exports; all else is hidden (-fvisibility=hidden, exports.map). */
#pragma GCC visibility push(default)
#include <lapi.h>
#pragma GCC visibility pop

/* An address as core knows it: a pointer, or a lapi_long_t, which is wider in a 32-bit task. */
#define CSHIM_ADDR(address) \
	((cshim_addr) _Generic((address), lapi_long_t : (address), default : (uintptr_t)(address)))

/* contexts.c */

extern cshim_context cshim_contexts[CSHIM_MAX_CONTEXTS];

static inline int cshim_index_of(const cshim_context *context)
{
	return (int)(context - cshim_contexts);
}

static inline cshim_context *cshim_context_of(cshim_progress *progress)
{
	_Static_assert(offsetof(cshim_context, progress) == 0, "a block is its context");
	return (cshim_context *)(void *)progress;
}

/* The name by which the program knows it. */
static inline lapi_handle_t *cshim_handle_of(cshim_context *context)
{
	return &context->progress.handle;
}

/* 1 in the child of a fork, where nothing but exec works; says so on stderr, once. */
int cshim_forked_away(void);

/*
 * Starts core, if it has not started in this process. LAPI_SUCCESS; LAPI_ERR_UNKNOWN in the child
 * of a fork that came later; LAPI_ERR_MEMORY_EXHAUSTED if limits do not let it start. Both errors
 * write a line to stderr.
 */
int cshim_core_refused(void);

/*
 * Makes the compiler keep an address that it has worked out, rather than work it out again at each
 * use.
 */
#define CSHIM_KEEP(pointer) __asm__("" : "+r"(pointer))

/* The active context that handle names, without locking it; NULL if there is none. */
static inline cshim_context *cshim_find(lapi_handle_t handle)
{
	cshim_context *context = &cshim_contexts[handle & (CSHIM_MAX_CONTEXTS - 1)];

	if (__builtin_expect(__atomic_load_n(&cshim_forked, __ATOMIC_RELAXED), 0) &&
	    cshim_forked_away())
		return NULL;
	CSHIM_KEEP(context);
	if (!context) /* which the compiler cannot know any more */
		__builtin_unreachable();
	return __builtin_expect(cshim_alive(&context->progress, handle), 1) ? context : NULL;
}

/*
 * A free block, in state INITIALIZING, with a new handle; NULL if all are in use. owner, the same in
 * every call, is what a context does for its progress block.
 */
cshim_context *cshim_claim(const cshim_owner *owner);
/* Gives a block back that is INITIALIZING or TERMINATING. */
void cshim_give_back(cshim_context *context);

/*
 * A message of the library to stderr, in one write, with the task's number in front; context may be
 * NULL.
 */
void cshim_complain(const cshim_context *context, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* trace.c */

/*
 * Adds a record without peer and size, if the context is ACTIVE. Under the lock;
 * context->trace_level is not 0.
 */
void cshim_trace_write(const cshim_context *context, uint32_t kind, const char *name, int32_t code);

/*
 * Likewise if the trace has level or more. Off it costs a load and a branch, always taken the same
 * way.
 */
static inline void cshim_trace(const cshim_context *context, uint32_t level, uint32_t kind,
                               const char *name, int32_t code)
{
	if (__builtin_expect(__atomic_load_n(&context->trace_level, __ATOMIC_RELAXED) >= level, 0))
		cshim_trace_write(context, kind, name, code);
}

/*
 * The active context that handle names, locked; NULL if there is none. call is the API's call, for
 * the trace. Every golapi_ call that needs the lock lies between cshim_enter and cshim_leave.
 */
static inline __attribute__((always_inline)) cshim_context *cshim_enter_call(lapi_handle_t handle,
                                                                             const char *call)
{
	cshim_context *context = cshim_find(handle);

	if (!context || !cshim_inside_begins())
		return NULL;
	cshim_lock(&context->progress);
	/* LAPI_Term may have gone through while this thread waited for the lock. */
	if (__builtin_expect(!cshim_alive(&context->progress, handle), 0)) {
		cshim_lock_drop(&context->progress);
		cshim_inside_ends();
		return NULL;
	}
	cshim_trace(context, CSHIM_TRACE_CALLS, CSHIM_TRACE_BEGIN | CSHIM_TRACE_CALL, call, 0);
	return context;
}
#define cshim_enter(handle) cshim_enter_call((handle), __func__)

/*
 * Notifies (cshim_notify) and gives up one level of the lock. Returns code, the call's return code,
 * which the trace shows.
 */
static inline int cshim_leave(cshim_context *context, int code)
{
	cshim_progress *progress = &context->progress;

	cshim_trace(context, CSHIM_TRACE_CALLS, CSHIM_TRACE_END | CSHIM_TRACE_CALL, "", code);
	cshim_notify(progress);
	if (__builtin_expect(__atomic_load_n(&progress->lock_waiters, __ATOMIC_RELAXED) != 0, 0))
		cshim_lock_be_fair(progress);
	cshim_lock_drop(progress);
	cshim_inside_ends();
	return code;
}

/*
 * Why cshim_enter has refused: LAPI_ERR_HNDL_INVALID, or LAPI_ERR_UNKNOWN, with a message, for a
 * call from a signal handler that has interrupted another one.
 */
int cshim_refused(const char *call);

/*
 * A call that works in the context of hndl, under its lock. After hndl comes an expression of the
 * call's return code, in which that context is called context. CSHIM_CALL_WITHOUT needs no context,
 * and may be the first call that needs core.
 */
/* clang-format off */
#define CSHIM_CALL(hndl, ...)                                                               \
	({                                                                                  \
		cshim_context *context = cshim_enter(hndl);                                 \
		context ? cshim_leave(context, (__VA_ARGS__)) : cshim_refused(__func__);    \
	})
#define CSHIM_CALL_WITHOUT(...)                                                             \
	({                                                                                  \
		int code;                                                                   \
                                                                                            \
		if (cshim_inside_begins()) {                                                \
			code = cshim_core_refused() ?: (__VA_ARGS__);                       \
			cshim_inside_ends();                                                \
		} else {                                                                    \
			code = cshim_refused(__func__);                                     \
		}                                                                           \
		code;                                                                       \
	})
/* clang-format on */

/*
 * Adds to a counter, under the lock. While there is one context every thread that changes a counter
 * has the lock, so no locked instruction is needed; others read. Returns the new value. Release: a
 * thread that sees it sees what was written before.
 */
static inline int cshim_counter_add(int *counter, int n)
{
	int sum;

	if (__builtin_expect(cshim_progress_active() > 1, 0))
		return __atomic_add_fetch(counter, n, __ATOMIC_SEQ_CST);
	sum = __atomic_load_n(counter, __ATOMIC_RELAXED) + n;
	__atomic_store_n(counter, sum, __ATOMIC_RELEASE);
	return sum;
}

/* 1 if a wait for a counter is over. */
static inline int cshim_counter_reached(const int *counter, int val)
{
	/*
	 * Acquire pairs with core's atomic increment: a thread that sees the counter sees the data
	 * that it announces.
	 */
	return __atomic_load_n(counter, __ATOMIC_ACQUIRE) >= val;
}

#endif
