/*
 * start.c - see start.h: the one gate to core, and the order of the steps around its start.
 *
 * The state changes under the mutex. It is UNDER_WAY while the run-time starts: a fork in another
 * thread at that time gives a child with half of a run-time, which is refused like a later fork.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "node/guard.h"
#include "node/membarrier.h"
#include "progress/membarrier.h"
#include "progress/progress.h"
#include "progress/say.h"
#include "progress/signals.h"
#include "start/stacks.h"
#include "start/start.h"
#include "start/steps.h"

int cshim_start_state;
int cshim_forked;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

/* This thread starts the run-time: its own first call into Go passes. */
static __thread int starting __attribute__((tls_model("initial-exec")));

/* Only this thread is in the child; of a run-time that has started nothing works there. */
static void in_child(void)
{
	cshim_tid_forget();
	if (__atomic_load_n(&cshim_start_state, __ATOMIC_RELAXED) == CSHIM_START_NONE)
		return;
	__atomic_store_n(&cshim_forked, 1, __ATOMIC_RELAXED);
	__atomic_store_n(&cshim_start_state, CSHIM_START_LOST, __ATOMIC_RELAXED);
}

void cshim_start_say(const char *api, const char *format, ...)
{
	char text[512];
	size_t used = (size_t)snprintf(text, sizeof(text), "%s: ", api);
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text + used, sizeof(text) - used - 1, format, arguments);
	va_end(arguments);
	used = strlen(text);
	text[used++] = '\n';
	cshim_say(text, used);
}

static int start(const char *api)
{
	struct rlimit limit;

	if (!cshim_limits_allow(api) || cshim_runtime_prepare() != 0)
		return CSHIM_START_LIMITS;
	/* Now, with few threads: with many the kernel waits for all processors, milliseconds. */
	cshim_membarrier_register();
	node_membarrier_register();
	cshim_descriptors_hold();
	cshim_limits_save(&limit);
	cshim_reserve_prepare();
	__atomic_store_n(&cshim_start_state, CSHIM_START_UNDER_WAY, __ATOMIC_RELEASE);
	cshim_go_signals_clear();
	cshim_stacks_begin();
	cshim_runtime_start(&limit);
	node_guard_runtime();
	cshim_limits_restore(&limit);
	cshim_descriptors_release();
	return CSHIM_STARTED;
}

/* A run-time that runs from load on is lost in a child of a fork as well. */
static int start_once(const char *api)
{
	static int watched;
	int result = CSHIM_STARTED;

	pthread_mutex_lock(&mutex);
	if (__atomic_load_n(&cshim_start_state, __ATOMIC_RELAXED) == CSHIM_START_NONE) {
		watched = watched || pthread_atfork(NULL, NULL, in_child) == 0;
		starting = 1;
		if (!watched)
			result = CSHIM_START_LIMITS;
		else if (cshim_runtime_is_dormant())
			result = start(api);
		starting = 0;
		if (result == CSHIM_STARTED)
			__atomic_store_n(&cshim_start_state, CSHIM_START_DONE, __ATOMIC_RELEASE);
	}
	pthread_mutex_unlock(&mutex);
	return result;
}

/*
 * With the program's signals blocked: none of its handlers interrupts the start and calls the
 * library, and the run-time's threads inherit the mask. No cancellation in the midst of it.
 */
int cshim_start_now(const char *api)
{
	sigset_t before;
	int result, cancel;

	if (__atomic_load_n(&cshim_forked, __ATOMIC_RELAXED))
		return CSHIM_START_FORKED;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	cshim_signals_block(&before);
	result = start_once(api);
	if (result == CSHIM_STARTED)
		cshim_signals_open_faults(&before);
	cshim_signals_restore(&before);
	pthread_setcancelstate(cancel, NULL);
	return result;
}

/*
 * Each function that Go exports begins with a call of _cgo_wait_runtime_init_done, which the linker
 * leads here (--wrap). A thread's first call prepares it (stacks.h). Weak: builds without that
 * option have no such name, and do not come here.
 */
extern uintptr_t __real__cgo_wait_runtime_init_done(void) __attribute__((weak));
uintptr_t __wrap__cgo_wait_runtime_init_done(void);

uintptr_t __wrap__cgo_wait_runtime_init_done(void)
{
	if (__builtin_expect(__atomic_load_n(&cshim_start_state, __ATOMIC_ACQUIRE) !=
	                             CSHIM_START_DONE,
	                     0) &&
	    !starting && cshim_start_now("liblapi_r") != CSHIM_STARTED) {
		cshim_start_say("liblapi_r", "core cannot start, and this call cannot fail");
		abort();
	}
	cshim_stacks_enter();
	return __real__cgo_wait_runtime_init_done();
}
