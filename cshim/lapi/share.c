/*
 * share.c - lock sharing (guide, Chapter 12): the functions that LAPI_Util(LAPI_GET_THREAD_FUNC)
 * hands out. The lock is the context lock itself, so that a program that holds it makes LAPI calls
 * without locking anything; condition variables belong to it.
 *
 * Nothing of a waiting thread is kept in the user's lapi_cond_t, only a word that says whether it
 * is one: waiting threads are listed in the context, under its lock. So memory of a condition
 * variable that is overwritten or freed harms nobody but its users, and LAPI_Term finds all waiting
 * threads.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <time.h>

#include "progress/futex.h"
#include "lapi/internal.h"

/* A thread in a wait on a condition variable, on its stack. */
typedef struct cshim_sharer {
	const lapi_cond_t *cond;
	CSHIM_SHARED uint32_t outcome;          /* atomic futex: below; written under the lock */
	struct cshim_sharer *next; /* under the lock */
} cshim_sharer;

enum { WAITING, SIGNALED, ENDED };

/*
 * The first word of a lapi_cond_t. Zero is what a static variable and PTHREAD_COND_INITIALIZER
 * hold: ready as well.
 */
enum { COND_ZERO = 0, COND_READY = 0x434f4e44, COND_DESTROYED = 0x44454144 };

/*
 * The handle with which this thread last took each lock: it can give the lock back also when
 * LAPI_Term, called by another thread, has ended the handle meanwhile. Otherwise the block's next
 * user would wait for ever.
 */
static __thread lapi_handle_t taken_with[CSHIM_MAX_CONTEXTS]
	__attribute__((tls_model("initial-exec")));

static int mutex_lock(lapi_handle_t hndl)
{
	cshim_context *context = cshim_enter(hndl);

	if (!context)
		return EINVAL;
	taken_with[cshim_index_of(context)] = hndl;
	cshim_inside_ends();
	return 0;
}

static int mutex_trylock(lapi_handle_t hndl)
{
	cshim_context *context = cshim_find(hndl);

	int busy;

	if (!context)
		return EINVAL;
	if (!cshim_inside_begins())
		return EBUSY;
	busy = cshim_trylock(&context->progress);
	cshim_inside_ends();
	if (busy)
		return EBUSY;
	if (!cshim_alive(&context->progress, hndl)) { /* ended between the two */
		cshim_unlock(&context->progress);
		return EINVAL;
	}
	taken_with[cshim_index_of(context)] = hndl;
	return 0;
}

static int mutex_unlock(lapi_handle_t hndl)
{
	cshim_context *context = &cshim_contexts[hndl & (CSHIM_MAX_CONTEXTS - 1)];

	if (cshim_forked_away() || cshim_this_thread.inside ||
	    !cshim_lock_owned(&context->progress))
		return EINVAL;
	if (!cshim_alive(&context->progress, hndl) && taken_with[cshim_index_of(context)] != hndl)
		return EINVAL;
	/* A handler gives up what it has taken itself, not what the library holds around it. */
	if (context->progress.lock_depth <= context->progress.lock_floor)
		return EINVAL;
	return cshim_unlock(&context->progress);
}

static int mutex_getowner(lapi_handle_t hndl, pthread_t *tid)
{
	cshim_context *context = cshim_find(hndl);
	uint64_t thread;

	if (!context || !tid)
		return EINVAL;
	thread = cshim_lock_thread(&context->progress);
	*tid = thread ? (pthread_t)thread : LAPI_NULL_THREAD_ID;
	return 0;
}

static uint32_t *word_of(lapi_cond_t *cond)
{
	return (uint32_t *)(void *)cond;
}

static int aligned(const lapi_cond_t *cond)
{
	return cond && (uintptr_t)cond % sizeof(uint32_t) == 0;
}

static int usable(lapi_cond_t *cond)
{
	uint32_t word =
		aligned(cond) ? __atomic_load_n(word_of(cond), __ATOMIC_RELAXED) : COND_DESTROYED;

	return word == COND_ZERO || word == COND_READY;
}

/*
 * Where the oldest wait on cond hangs; *that is NULL if there is none. Under the lock, as all list
 * functions.
 */
static cshim_sharer **oldest_on(cshim_context *context, const lapi_cond_t *cond)
{
	cshim_sharer **at = &context->sharers.at;

	while (*at && (*at)->cond != cond)
		at = &(*at)->next;
	return at;
}

/* Where a wait hangs, NULL: the end of the list, where a new one belongs. */
static cshim_sharer **place_of(cshim_context *context, const cshim_sharer *sharer)
{
	cshim_sharer **at = &context->sharers.at;

	while (*at != sharer)
		at = &(*at)->next;
	return at;
}

/* Takes the wait off the list and lets its thread go, which then wants the lock. */
static void let_go(cshim_sharer **at, uint32_t outcome)
{
	cshim_sharer *sharer = *at;

	*at = sharer->next;
	/*
	 * The sharer lies on its thread's stack, but that thread needs the lock, which the caller
	 * has, to leave.
	 */
	__atomic_store_n(&sharer->outcome, outcome, __ATOMIC_SEQ_CST);
	cshim_futex_wake(&sharer->outcome, 1);
}

/* Waits without the lock, until *until if that is not NULL; all levels of it are taken back. */
static int wait_on(cshim_context *context, const lapi_cond_t *cond, const struct timespec *until)
{
	cshim_sharer sharer = {.cond = cond, .outcome = WAITING};
	uint32_t depth, outcome;

	*place_of(context, NULL) = &sharer;
	depth = cshim_lock_release_all(&context->progress);
	while (__atomic_load_n(&sharer.outcome, __ATOMIC_SEQ_CST) == WAITING &&
	       !cshim_futex_wait_until(&sharer.outcome, WAITING, until))
		;
	cshim_lock_restore(&context->progress, depth);
	/* A signal that came while this thread waited for the lock counts. */
	outcome = __atomic_load_n(&sharer.outcome, __ATOMIC_RELAXED);
	if (outcome != WAITING)
		return outcome == SIGNALED ? 0 : EINVAL;
	*place_of(context, &sharer) = sharer.next;
	return ETIMEDOUT;
}

/*
 * The conditions of both waits. The lock's owner cannot lose the context between this and the wait.
 */
static cshim_context *may_wait(lapi_handle_t hndl, lapi_cond_t *cond)
{
	cshim_context *context = cshim_find(hndl);

	if (!context || cshim_this_thread.inside || !cshim_lock_owned(&context->progress) ||
	    !usable(cond) || cshim_holds_others() || cshim_in_handler(&context->progress))
		return NULL;
	return context;
}

static int cond_wait(lapi_handle_t hndl, lapi_cond_t *cond)
{
	cshim_context *context = may_wait(hndl, cond);

	return context ? wait_on(context, cond, NULL) : EINVAL;
}

static int cond_timedwait(lapi_handle_t hndl, lapi_cond_t *cond, struct timespec *timeout)
{
	static const struct timespec long_ago = {0, 0};
	cshim_context *context = may_wait(hndl, cond);

	if (!context || !timeout || timeout->tv_nsec < 0 || timeout->tv_nsec >= 1000000000)
		return EINVAL;
	return wait_on(context, cond, timeout->tv_sec < 0 ? &long_ago : timeout);
}

/*
 * cshim_leave of a call that changes no more than a condition variable. The program may hold the
 * lock around it, and it must stay held: nobody else is let in between.
 */
static int leave_held(cshim_context *context, int code)
{
	cshim_trace(context, CSHIM_TRACE_CALLS, CSHIM_TRACE_END | CSHIM_TRACE_CALL, "", code);
	cshim_lock_drop(&context->progress);
	cshim_inside_ends();
	return code;
}

/* The caller need not own the lock. */
static int cond_signal(lapi_handle_t hndl, lapi_cond_t *cond)
{
	cshim_context *context = cshim_enter(hndl);
	cshim_sharer **at;
	int ok;

	if (!context)
		return EINVAL;
	ok = usable(cond);
	at = oldest_on(context, cond);
	if (ok && *at)
		let_go(at, SIGNALED);
	return leave_held(context, ok ? 0 : EINVAL);
}

/*
 * Makes a word of *cond the condition variable's state; must_be_one: only if it is a condition
 * variable now.
 */
static int change_cond(lapi_handle_t hndl, lapi_cond_t *cond, int must_be_one, uint32_t word)
{
	cshim_context *context = cshim_enter(hndl);
	int rc = 0;

	if (!context)
		return EINVAL;
	if (!aligned(cond) || (must_be_one && !usable(cond)))
		rc = EINVAL;
	else if (*oldest_on(context, cond))
		rc = EBUSY;
	else
		__atomic_store_n(word_of(cond), word, __ATOMIC_RELAXED);
	return leave_held(context, rc);
}

static int cond_init(lapi_handle_t hndl, lapi_cond_t *cond)
{
	return change_cond(hndl, cond, 0, COND_READY);
}

static int cond_destroy(lapi_handle_t hndl, lapi_cond_t *cond)
{
	return change_cond(hndl, cond, 1, COND_DESTROYED);
}

void cshim_share_functions(lapi_thread_func_t *functions)
{
	*functions = (lapi_thread_func_t){functions->Util_type, mutex_lock,     mutex_unlock,
	                                  mutex_trylock,        mutex_getowner, cond_wait,
	                                  cond_timedwait,       cond_signal,    cond_init,
	                                  cond_destroy};
}

void cshim_share_end(cshim_context *context)
{
	while (context->sharers.at)
		let_go(&context->sharers.at, ENDED);
}
