/*
 * internal.h - what the C files of the library share: the C-only half of each context, entering and leaving a context,
 * waiting, errors and the library's threads.
 *
 * Lock order: the context lock, nothing else. "Under the lock" means the context lock of the same context.
 */
#ifndef CSHIM_INTERNAL_H
#define CSHIM_INTERNAL_H

#include <stddef.h>
#include <stdint.h>

#include "context.h"
#include "golapi.h"
#include "lock.h"
#include "trace.h"

/* What the library shows; all else is hidden (-fvisibility=hidden, exports.map). */
#pragma GCC visibility push(default)
#include "lapi.h"
#pragma GCC visibility pop

/*
 * One thread's wait, on that thread's stack. At any time one waiting thread, the turner, turns the dispatcher for all; the others follow:
 * they spin for a moment and then sleep on their own futex, until somebody under the lock finds their wait over (sleep.c).
 */
typedef struct cshim_wait {
	uint64_t ticket; /* 0: the wait is for generation, or for counter to reach val */
	uint64_t generation; /* of the node barrier (barrier.h); 0: none */
	int *counter;
	int val;
	int nopoll;              /* LAPI_Nopoll_wait: sleeps at once, and ends early when a task is purged */
	int purged;              /* under the lock: one was */
	int following;           /* under the lock: its thread follows and was not woken yet */
	uint32_t signal;         /* atomic futex: CSHIM_SIGNAL_ */
	struct cshim_wait *next; /* list of all waits of the context, under the lock */
} cshim_wait;

#define CSHIM_SIGNAL_NONE 0   /* the follower spins */
#define CSHIM_SIGNAL_ASLEEP 1 /* it sleeps, or is about to: a futex wake is needed */
#define CSHIM_SIGNAL_WOKEN 2  /* it shall look again */

struct cshim_crew;
struct cshim_sharer;

/*
 * What C keeps of a context besides the shared block. A block is used again after LAPI_Term, possibly while threads of
 * its last incarnation are still on their way out; so what counts them (and the same members of the shared block)
 * is never reset, and a thread that finds another handle than its own touches nothing else.
 */
typedef struct cshim_private {
	uint32_t dispatcher;  /* under the lock: the thread inside golapi_dispatch; valid while context->dispatching */
	uint32_t generation;  /* by the owner of the state INITIALIZING or TERMINATING: incarnations so far */
	uint32_t leaving;     /* under the lock: LAPI_Term has begun */
	uint32_t lib_vers;    /* constant from LAPI_Init on: lapi_info_t.lib_vers */
	uint32_t listed;      /* atomic, written under the lock: LAPI_Setcntr_wstatus has been called in this incarnation */
	/*
	 * By the owner: levels of the lock that the user's handler under way must not give up, as core is in the middle of something below
	 * it; 0 outside of handlers that run with the lock held. While it is not 0 the lock stays with its owner.
	 */
	uint32_t handler_floor;
	struct cshim_sharer *sharers; /* under the lock: threads that wait on condition variables, oldest first (share.c) */

	uint64_t asked;          /* under the lock: the ticket that core was last asked about; it was not done then, */
	uint32_t asked_events;   /* and is not while event_seq is this */
	uint32_t noticed_events; /* under the lock: event_seq up to which waiting threads were told */
	uint32_t crowded;        /* under the lock: calls that left while others waited for the lock */
	uint32_t satisfied;      /* under the lock: calls of LAPI_Waitcntr that had nothing to wait for */
	cshim_wait *waits;       /* under the lock: every wait under way */
	cshim_wait *turner;      /* under the lock: the wait of the thread that turns the dispatcher for all, NULL if none does */
	cshim_wait *watching;    /* under the lock: the turner's wait while it is the watcher, until it is kicked */
	uint32_t followers;      /* atomic, written under the lock: waits that are following */
	uint32_t spinners;       /* atomic: followers that spin */

	uint32_t service_seq;    /* atomic futex: the service thread must look around */
	uint32_t service_parked; /* atomic: it sleeps until user threads leave */
	uint32_t service_tid;    /* atomic: its thread id, 0 if it does not run */
	uint32_t away;           /* under the lock: peers were told that no user thread polls */
	struct cshim_crew *crew; /* by LAPI_Init and LAPI_Term: the library's threads */
	uint8_t line[128 - 5 * sizeof(void *)]; /* as much as a cshim_context in either word size: there are five pointers above */
} cshim_private;

_Static_assert(sizeof(cshim_private) == sizeof(cshim_context), "the one is as far from the first of its kind as the other");

/* contexts.c */

extern cshim_context cshim_contexts[CSHIM_MAX_CONTEXTS];
extern cshim_private cshim_privates[CSHIM_MAX_CONTEXTS];

static inline int cshim_index_of(const cshim_context *context)
{
	return (int)(context - cshim_contexts);
}

static inline cshim_private *cshim_private_of(const cshim_context *context)
{
	return (cshim_private *)(void *)((char *)cshim_privates + ((const char *)context - (const char *)cshim_contexts));
}

/* 1 in the child of a fork, where nothing but exec works; says so on stderr, once. */
int cshim_forked_away(void);
/* The same without a word; async-signal-safe. */
int cshim_is_forked(void);
extern int cshim_forked;
/* 1 if handle names an active context and this is it. Under the lock the answer stays true until the lock is released. */
static inline int cshim_alive(const cshim_context *context, uint32_t handle)
{
	typedef uint64_t __attribute__((may_alias)) identity; /* state and handle, in one look */

	_Static_assert(offsetof(cshim_context, state) == 0 && offsetof(cshim_context, handle) == 4 &&
	               __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "they make one word");
	/* Acquire pairs with the release store of ACTIVE in LAPI_Init: who sees ACTIVE sees the block filled. */
	return __atomic_load_n((const identity *)(const void *)context, __ATOMIC_ACQUIRE) == ((uint64_t)handle << 32 | CSHIM_ACTIVE);
}

/* Makes the compiler keep an address that it has worked out, rather than work it out again at each use. */
#define CSHIM_KEEP(pointer) __asm__("" : "+r"(pointer))

/* The active context that handle names, without locking it; NULL if there is none. */
static inline cshim_context *cshim_find(lapi_handle_t handle)
{
	cshim_context *context = &cshim_contexts[handle & (CSHIM_MAX_CONTEXTS - 1)];

	if (__builtin_expect(__atomic_load_n(&cshim_forked, __ATOMIC_RELAXED), 0) && cshim_forked_away())
		return NULL;
	CSHIM_KEEP(context);
	return __builtin_expect(cshim_alive(context, handle), 1) ? context : NULL;
}

/* Likewise, and locked. Every golapi_ call that needs the lock lies between cshim_enter and cshim_leave. */
static inline cshim_context *cshim_enter_untraced(lapi_handle_t handle)
{
	cshim_context *context = cshim_find(handle);

	if (!context)
		return NULL;
	cshim_lock(context);
	/* LAPI_Term may have gone through while this thread waited for the lock. */
	if (__builtin_expect(!cshim_alive(context, handle), 0)) {
		cshim_lock_drop(context);
		return NULL;
	}
	return context;
}
#define cshim_enter(handle) cshim_enter_call((handle), __func__)
/* Lets threads that wait for the lock have it, now and then. */
void cshim_be_fair(cshim_context *context);
/* A free block, in state INITIALIZING, with a new handle; NULL if all are in use. */
cshim_context *cshim_claim(void);
/* How many contexts are, or are becoming, active. A snapshot. */
extern int cshim_claimed;
static inline int cshim_active_contexts(void)
{
	return __atomic_load_n(&cshim_claimed, __ATOMIC_RELAXED);
}

/*
 * Adds to a counter, under the lock. While there is one context every thread that changes a counter has the lock, so no locked
 * instruction is needed; others read. Returns the new value. Release: who sees it sees what was written before.
 */
static inline int cshim_counter_add(int *counter, int n)
{
	int sum;

	if (__builtin_expect(cshim_active_contexts() > 1, 0))
		return __atomic_add_fetch(counter, n, __ATOMIC_SEQ_CST);
	sum = __atomic_load_n(counter, __ATOMIC_RELAXED) + n;
	__atomic_store_n(counter, sum, __ATOMIC_RELEASE);
	return sum;
}
/* Gives a block back that is INITIALIZING or TERMINATING. */
void cshim_give_back(cshim_context *context);
/* An address as core knows it. */
#define CSHIM_ADDR(pointer) ((cshim_addr)(uintptr_t)(pointer))

/* A message of the library to stderr, in one write, with the task's number in front; context may be NULL. */
void cshim_complain(const cshim_context *context, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* wait.c; all under the lock */

/*
 * One dispatcher turn; CSHIM_DISPATCH_ flags. The caller makes sure with cshim_may_dispatch that it is not in a handler, and
 * calls cshim_run_errors when the flags say so.
 */
uint32_t cshim_dispatch(cshim_context *context, uint64_t ticket);
/* 1 if the caller is a handler that runs with the lock held, or inside the dispatcher: it must not give up the lock. */
static inline int cshim_in_handler(const cshim_context *context)
{
	const cshim_private *private = cshim_private_of(context);

	return __builtin_expect(private->handler_floor != 0, 0) ||
	       (__builtin_expect(context->dispatching, 0) && private->dispatcher == cshim_tid());
}
/* LAPI_SUCCESS, or LAPI_ERR_UNKNOWN with a message that names call, if the caller is a handler inside the dispatcher. */
int cshim_may_dispatch(cshim_context *context, const char *call);
/* Waits until a ticket is done and returns its result; LAPI_ERR_HNDL_INVALID if the context ended meanwhile. */
int cshim_wait_ticket(cshim_context *context, uint64_t ticket);
/* Waits until *counter >= val, subtracts val, and stores what is left to *remainder. LAPI_ERR_MULTIPLE_WAITERS if another waits. */
int cshim_wait_counter(cshim_context *context, int *counter, int val, int *remainder);
/*
 * The same for LAPI_Nopoll_wait: the thread does not spin, it sleeps until something arrives. Also LAPI_ERR_TGT_PURGED, with the counter
 * as it is, when a task was purged that the counter lists, or any task if it lists none.
 */
int cshim_nopoll_counter(cshim_context *context, int *counter, int val, int *remainder);
/* Waits until a generation of the node barrier is over, or never will be: LAPI_SUCCESS. Or LAPI_ERR_HNDL_INVALID. */
int cshim_wait_generation(cshim_context *context, uint64_t generation);
/* A task was purged: lets the calls of LAPI_Nopoll_wait end that it concerns. */
void cshim_end_purged_waits(cshim_context *context);
/* A user thread begins and ends a call that polls: the service thread keeps out of its way. */
void cshim_poll_begin(cshim_context *context);
void cshim_poll_end(cshim_context *context);
/* A user thread polls for a moment, outside of such a call: the service thread sees that it did, and the task is not away any more. */
void cshim_note_poll(cshim_context *context);

/* sleep.c: what follows when event_seq has moved and others wait. */
void cshim_notify_others(cshim_context *context);
/*
 * Every thread that called core does this before it lets go of the lock: wakes followers whose wait is over, and kicks the
 * watcher if its wait may be.
 */
static inline void cshim_notify(cshim_context *context)
{
	cshim_private *private = cshim_private_of(context);
	uint32_t events = __atomic_load_n(&context->event_seq, __ATOMIC_SEQ_CST);

	if (events == private->noticed_events)
		return;
	private->noticed_events = events;
	if (__builtin_expect(__atomic_load_n(&private->followers, __ATOMIC_RELAXED) != 0 || private->watching, 0))
		cshim_notify_others(context);
}

/* trace.c */

/* Adds a record without peer and size, if the context is ACTIVE. Under the lock; context->trace_level is not 0. */
void cshim_trace_write(const cshim_context *context, uint32_t kind, const char *name, int32_t code);

/* Likewise if the trace has level or more. Off it costs a load and a branch, always taken the same way. */
static inline void cshim_trace(const cshim_context *context, uint32_t level, uint32_t kind, const char *name, int32_t code)
{
	if (__builtin_expect(__atomic_load_n(&context->trace_level, __ATOMIC_RELAXED) >= level, 0))
		cshim_trace_write(context, kind, name, code);
}

/*
 * cshim_enter for a function that serves several calls; call names the one, in the trace. Inline, so that nothing is carried
 * across the taking of the lock for a trace that is off.
 */
static inline cshim_context *cshim_enter_call(lapi_handle_t handle, const char *call)
{
	cshim_context *context = cshim_enter_untraced(handle);

	if (context)
		cshim_trace(context, CSHIM_TRACE_CALLS, CSHIM_TRACE_BEGIN | CSHIM_TRACE_CALL, call, 0);
	return context;
}

/* Notifies (cshim_notify) and gives up one level of the lock. */
static inline void cshim_leave_untraced(cshim_context *context)
{
	cshim_notify(context);
	if (__builtin_expect(__atomic_load_n(&context->lock_waiters, __ATOMIC_RELAXED) != 0, 0))
		cshim_be_fair(context);
	cshim_lock_drop(context);
}

/* Notifies (cshim_notify) and gives up one level of the lock. Returns code, the call's return code, which the trace shows. */
static inline int cshim_leave_with(cshim_context *context, int code)
{
	cshim_trace(context, CSHIM_TRACE_CALLS, CSHIM_TRACE_END | CSHIM_TRACE_CALL, "", code);
	cshim_leave_untraced(context);
	return code;
}

/* cshim_leave_with where there is no code to tell. */
static inline void cshim_leave(cshim_context *context)
{
	cshim_leave_with(context, LAPI_SUCCESS);
}

/*
 * A call that works in the context of hndl, under its lock. What follows hndl is an expression of its return code, in which
 * that context is called context.
 */
#define CSHIM_CALL(hndl, ...)                                                                 \
	({                                                                                    \
		cshim_context *context = cshim_enter(hndl);                                   \
		context ? cshim_leave_with(context, (__VA_ARGS__)) : LAPI_ERR_HNDL_INVALID;   \
	})

/* sleep.c; all under the lock */

/* The turner sleeps until something may have happened. Gives up and takes back all levels of the lock. May end its role. */
void cshim_sleep(cshim_context *context, cshim_wait *wait);
/* Lets another thread turn, and waits until wait may be over or a turner is wanted. Likewise with the lock. */
void cshim_follow(cshim_context *context, cshim_wait *wait, uint32_t spins);
/*
 * Takes the watcher's role and sleeps on the descriptors; wait is NULL for the service thread. 0, and nothing done, if another
 * thread is the watcher. The role is given up again before it returns.
 */
int cshim_watch(cshim_context *context, cshim_wait *wait);
/* If nobody turns or watches, wakes a follower to do so. A thread calls it when it stops looking after the context. */
void cshim_hand_over(cshim_context *context);
/* Wakes all followers, to find that the context has ended. */
void cshim_wake_followers(cshim_context *context);
/* Makes the watcher return from its sleep. */
void cshim_kick(cshim_context *context);
/* 1 if a wait for a counter is over. */
static inline int cshim_counter_reached(const int *counter, int val)
{
	/* Acquire pairs with core's atomic increment: who sees the counter sees the data that it announces. */
	return __atomic_load_n(counter, __ATOMIC_ACQUIRE) >= val;
}
/* 1 if a wait that is not for a ticket is over. */
int cshim_reached(cshim_context *context, const cshim_wait *wait);

/* share.c; under the lock */

/* What LAPI_Util(LAPI_GET_THREAD_FUNC) hands out. */
void cshim_share_functions(lapi_thread_func_t *functions);
/* The context has left ACTIVE: every wait on a condition variable ends with EINVAL. */
void cshim_share_end(cshim_context *context);

/* errors.c; under the lock, all levels are released around the user's handler */

void cshim_run_errors(cshim_context *context, int polling);

/* threads.c, service.c, completion.c */

/*
 * Starts the library's threads of a context in state ACTIVE: LAPI_SUCCESS, or a code; also then cshim_threads_stop must be called.
 * Without the lock.
 */
int cshim_threads_start(cshim_context *context, const com_thread_info_t *attributes, uint32_t completion_threads);
/* The context has left ACTIVE: wakes all its threads and waits for their end, but for the calling one. Without the lock. */
void cshim_threads_stop(cshim_context *context);
/* The bodies of the threads; they return when the incarnation called handle has ended. */
void cshim_service_run(cshim_context *context, uint32_t handle);
void cshim_completion_run(cshim_context *context, uint32_t handle);
/* Under the lock. A user thread polls again: tells the peers, and the service thread, which is to notice when it does no more. */
void cshim_come_back(cshim_context *context);
/* Makes the service thread look around, after something that it decides by has changed. */
void cshim_service_alert(cshim_context *context);

/* handlers.c */

/* Calls a standalone job's udp_hndlr; returns what it returns. See lapi.h, udp_init_hndlr, for the arguments. */
int cshim_call_udp_handler(cshim_addr handler, int context, cshim_addr local, cshim_addr list, cshim_addr info);

#endif
