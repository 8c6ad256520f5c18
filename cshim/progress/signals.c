/*
 * signals.c - see signals.h. The first threads are those of Go's run-time, which gives all its later
 * threads the mask that it began with. So it starts with the program's signals blocked (start.c in
 * cshim/start): a program that blocks a signal in all its threads, and takes it by sigwait or
 * signalfd, would else be killed by it in a thread that it knows nothing of. The host test sigwait
 * holds that.
 */
#include "progress/signals.h"

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

void cshim_signals_open_faults(sigset_t *mask)
{
	sigdelset(mask, SIGSEGV);
	sigdelset(mask, SIGBUS);
}
