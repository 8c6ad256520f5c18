/*
 * owed.c - SIGTERM and SIGINT whose handler has called the API in vain, as the signal had
 * interrupted a call of the same thread. The handler runs once more when that call is left, or at a
 * safe point of its wait, and its calls work then. All is the thread's own, shared with its signal
 * handlers only.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

#include "progress/progress.h"

/* Faults: the run-time's handlers, which say nothing about what runs now. */
static int is_fault(int signal)
{
	return signal == SIGSEGV || signal == SIGBUS || signal == SIGFPE || signal == SIGILL;
}

/* 1 if the handler of that signal may run now: one is installed, and what it blocks is blocked. */
static int may_run(int signal, const sigset_t *blocked)
{
	struct sigaction action;
	int other;

	if (is_fault(signal) || sigismember(blocked, signal) != 1 ||
	    sigaction(signal, NULL, &action) != 0)
		return 0;
	if (!(action.sa_flags & SA_SIGINFO) &&
	    (action.sa_handler == SIG_DFL || action.sa_handler == SIG_IGN))
		return 0;
	for (other = 1; other < NSIG; other++)
		if (other != SIGKILL && other != SIGSTOP &&
		    sigismember(&action.sa_mask, other) == 1 && sigismember(blocked, other) != 1)
			return 0;
	return 1;
}

/*
 * The system does not say which signal's handler calls, only which signals are blocked meanwhile.
 * If another signal's handler may be the one, nothing is owed: no handler shall run for a signal
 * that nobody has sent.
 */
void cshim_owe_signal(void)
{
	sigset_t blocked;
	int signal, owed = 0;

	if (pthread_sigmask(SIG_SETMASK, NULL, &blocked) != 0)
		return;
	for (signal = 1; signal < NSIG; signal++) {
		if (!may_run(signal, &blocked))
			continue;
		if (signal != SIGTERM && signal != SIGINT)
			return;
		owed = signal; /* of the two SIGTERM, the later in order */
	}
	if (!owed)
		return;
	cshim_this_thread.owed = owed;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (cshim_this_thread.sleeps)
		cshim_sleep_not(cshim_this_thread.sleeps);
}

/* Not while the thread has the signal blocked, nor in a handler that runs with a lock held. */
int cshim_owed_due(void)
{
	sigset_t blocked;

	return !cshim_this_thread.handler && pthread_sigmask(SIG_SETMASK, NULL, &blocked) == 0 &&
	       sigismember(&blocked, cshim_this_thread.owed) == 0;
}

/* Where this thread is; musl has no such function, and the handler gets zeros. 0: unknown. */
static int read_context(ucontext_t *context)
{
#ifdef __GLIBC__
	return getcontext(context) == 0;
#else
	memset(context, 0, sizeof(*context));
	return 1;
#endif
}

/*
 * Calls the handler as the system does, but on the stack in use, and not through the system: a
 * handler with SA_ONSTACK would run on an alternate stack of the program's, from which core cannot
 * be called.
 */
void cshim_pay_signal(void)
{
	int signal = cshim_this_thread.owed;
	struct sigaction action;
	sigset_t before;
	siginfo_t info = {.si_signo = signal, .si_code = SI_TKILL, .si_pid = getpid(),
	                  .si_uid = getuid()};
	ucontext_t context;

	if (!cshim_owed_due())
		return;
	cshim_this_thread.owed = 0;
	if (sigaction(signal, NULL, &action) != 0 || action.sa_handler == SIG_DFL ||
	    action.sa_handler == SIG_IGN || !read_context(&context))
		return;
	sigaddset(&action.sa_mask, signal);
	pthread_sigmask(SIG_BLOCK, &action.sa_mask, &before);
	if (action.sa_flags & SA_SIGINFO)
		action.sa_sigaction(signal, &info, &context);
	else
		action.sa_handler(signal);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}
