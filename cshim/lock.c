#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "futex.h"
#include "internal.h"
#include "lock.h"

enum {
	SPINS = 100,       /* looks at a taken lock before sleeping: about as long as one dispatcher turn of the owner */
	PASS_SPINS = 64,   /* pauses that a passing owner gives a waiter that is awake on another processor */
	PASS_YIELDS = 400, /* then yields: enough for a sleeping waiter to wake; a bound, should it never run */
};

/* Initial-exec: one instruction, and no allocation on first use in a thread. */
static __thread uint32_t own_tid __attribute__((tls_model("initial-exec")));

uint32_t cshim_tid(void)
{
	if (__builtin_expect(own_tid == 0, 0))
		own_tid = (uint32_t)syscall(SYS_gettid);
	return own_tid;
}

void cshim_tid_forget(void)
{
	own_tid = 0;
}

int cshim_processors(void)
{
	static int answer; /* 0: not asked; all writers write the same */
	int known = __atomic_load_n(&answer, __ATOMIC_RELAXED);

	if (known == 0) {
		long online = sysconf(_SC_NPROCESSORS_ONLN);

		known = online > 0 ? (int)online : 1;
		__atomic_store_n(&answer, known, __ATOMIC_RELAXED);
	}
	return known;
}

void cshim_pause(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#endif
}

static uint32_t owner_of(uint32_t word)
{
	return word & ~CSHIM_LOCK_CONTENDED;
}

/* Only a thread itself writes its own id into the word, so a relaxed load tells it reliably whether it is the owner. */
int cshim_lock_owned(cshim_context *context)
{
	return owner_of(__atomic_load_n(&context->lock_word, __ATOMIC_RELAXED)) == cshim_tid();
}

/* The caller has just put its id into lock_word. Until it has run, lock_owner says that nobody owns the lock. */
static void take(cshim_context *context, uint32_t depth)
{
	/* Only the owner writes lock_turns and the owner's pthread_t; others read them without the lock, hence atomics. */
	uint32_t turns = __atomic_load_n(&context->lock_turns, __ATOMIC_RELAXED);

	context->lock_depth = depth;
	__atomic_store_n(&context->lock_turns, turns + 1, __ATOMIC_RELAXED);
	__atomic_store_n(&cshim_private_of(context)->lock_owner, pthread_self(), __ATOMIC_RELAXED);
}

/* Free word to the caller's id; mark is CSHIM_LOCK_CONTENDED or 0. Acquire pairs with the release in release(). */
static int try_take(cshim_context *context, uint32_t mark, int order)
{
	uint32_t expected = 0;

	return __atomic_compare_exchange_n(&context->lock_word, &expected, cshim_tid() | mark, 0, order, __ATOMIC_RELAXED);
}

static void release(cshim_context *context)
{
	uint32_t word;

	context->lock_depth = 0;
	/* Before the word is free, so that no later owner's entry is overwritten. */
	__atomic_store_n(&cshim_private_of(context)->lock_owner, LAPI_NULL_THREAD_ID, __ATOMIC_RELAXED);
	/* Sequentially consistent, thus also a release: lock_slow counts on one order of this, lock_waiters and its looks. */
	word = __atomic_exchange_n(&context->lock_word, 0, __ATOMIC_SEQ_CST);
	if (word & CSHIM_LOCK_CONTENDED)
		cshim_futex_wake(&context->lock_word, 1);
}

/*
 * A thread takes the word without the mark only if it is the only one counted in lock_waiters. A sleeper cannot be missed
 * so: it added itself to the count before it looked at the word with the mark in it, which was before the owner's
 * exchange to 0, which was before our look at the count (all sequentially consistent). A thread that comes
 * later sets the mark itself before it sleeps.
 */
static void lock_slow(cshim_context *context)
{
	int spins = cshim_processors() > 1 ? SPINS : 0; /* of use only where the owner can run at the same time */

	__atomic_add_fetch(&context->lock_waiters, 1, __ATOMIC_SEQ_CST);
	for (;;) {
		uint32_t word = __atomic_load_n(&context->lock_word, __ATOMIC_SEQ_CST);

		if (word == 0) {
			uint32_t others = __atomic_load_n(&context->lock_waiters, __ATOMIC_SEQ_CST) - 1;

			if (try_take(context, others ? CSHIM_LOCK_CONTENDED : 0, __ATOMIC_SEQ_CST))
				break;
			continue;
		}
		if (spins > 0) {
			spins--;
			cshim_pause();
			continue;
		}
		if (!(word & CSHIM_LOCK_CONTENDED)) {
			uint32_t marked = word | CSHIM_LOCK_CONTENDED;

			if (!__atomic_compare_exchange_n(&context->lock_word, &word, marked, 0, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
				continue;
			word = marked;
		}
		cshim_futex_wait(&context->lock_word, word, -1);
	}
	__atomic_sub_fetch(&context->lock_waiters, 1, __ATOMIC_SEQ_CST);
}

void cshim_lock(cshim_context *context)
{
	if (cshim_lock_owned(context)) {
		context->lock_depth++;
		return;
	}
	cshim_lock_restore(context, 1);
}

int cshim_trylock(cshim_context *context)
{
	if (cshim_lock_owned(context)) {
		context->lock_depth++;
		return 0;
	}
	if (!try_take(context, 0, __ATOMIC_SEQ_CST))
		return EBUSY;
	take(context, 1);
	return 0;
}

int cshim_unlock(cshim_context *context)
{
	if (!cshim_lock_owned(context))
		return EINVAL;
	if (context->lock_depth > 1) {
		context->lock_depth--;
		return 0;
	}
	release(context);
	return 0;
}

uint32_t cshim_lock_release_all(cshim_context *context)
{
	uint32_t depth = context->lock_depth;

	release(context);
	return depth;
}

void cshim_lock_forfeit(cshim_context *context)
{
	if (cshim_lock_owned(context))
		release(context);
}

void cshim_lock_restore(cshim_context *context, uint32_t depth)
{
	if (!try_take(context, 0, __ATOMIC_ACQUIRE))
		lock_slow(context);
	take(context, depth);
}

void cshim_lock_pass(cshim_context *context)
{
	uint32_t turns, depth;
	int i;

	if (__atomic_load_n(&context->lock_waiters, __ATOMIC_RELAXED) == 0 || context->dispatching ||
	    cshim_private_of(context)->handler_floor)
		return;
	turns = __atomic_load_n(&context->lock_turns, __ATOMIC_RELAXED);
	depth = cshim_lock_release_all(context);
	for (i = 0; i < PASS_SPINS + PASS_YIELDS; i++) {
		if (__atomic_load_n(&context->lock_turns, __ATOMIC_RELAXED) != turns)
			break;
		if (__atomic_load_n(&context->lock_waiters, __ATOMIC_RELAXED) == 0)
			break;
		if (i < PASS_SPINS && cshim_processors() > 1)
			cshim_pause();
		else
			sched_yield();
	}
	cshim_lock_restore(context, depth);
}

pthread_t cshim_lock_getowner(cshim_context *context)
{
	return __atomic_load_n(&cshim_private_of(context)->lock_owner, __ATOMIC_RELAXED);
}
