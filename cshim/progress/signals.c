/*
 * signals.c - see signals.h. The first threads are those of Go's run-time. It starts when the
 * library is loaded, and gives all its later threads the mask that it began with. So that one has
 * the program's signals blocked: a program that blocks a signal in all its threads, and takes it by
 * sigwait or signalfd, would else be killed by it in a thread that it knows nothing of.
 *
 * The run-time is a constructor without a priority, in the object that stands first at the link. So
 * one with a priority comes before it, and one without, in another object, after it. The host test
 * sigwait holds that.
 */
#include "signals.h"

#include <pthread.h>

void cshim_signals_block(sigset_t *before)
{
	static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT};
	sigset_t blocked;
	size_t i;

	sigfillset(&blocked);
	for (i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
		sigdelset(&blocked, faults[i]);
	pthread_sigmask(SIG_SETMASK, &blocked, before);
}

void cshim_signals_restore(const sigset_t *before)
{
	pthread_sigmask(SIG_SETMASK, before, NULL);
}

/* Of the thread that loads the library: the loader loads one at a time. */
static sigset_t loading;

__attribute__((constructor(101))) static void before_runtime(void)
{
	cshim_signals_block(&loading);
}

__attribute__((constructor)) static void after_runtime(void)
{
	cshim_signals_restore(&loading);
}
