/*
 * tracer.h - a task whose instructions are counted, by a child of it, through ptrace. Both mark the
 * beginning and the end of what counts with breakpoint().
 */
#ifndef TRACER_H
#define TRACER_H

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#if !defined(__x86_64__) && !defined(__i386__) && !defined(__aarch64__)
#error "no breakpoint instruction known"
#endif

/* The task's side. */
static inline void breakpoint(void)
{
#ifdef __aarch64__
	__asm__ volatile("brk #0\n" ::: "memory");
#else
	__asm__ volatile("int3" ::: "memory");
#endif
}

/* The child's side. */

/* 0, or the errno with which the system refuses it. The task is stopped then. */
static inline int seize(pid_t pid)
{
	int status;

	if (ptrace(PTRACE_SEIZE, pid, NULL, NULL) < 0 ||
	    ptrace(PTRACE_INTERRUPT, pid, NULL, NULL) < 0)
		return errno;
	return waitpid(pid, &status, __WALL) == pid ? 0 : errno;
}

/* One step or more of the task. 0: it is gone. Sets what stopped it. */
static inline int resume(enum __ptrace_request how, pid_t pid, int *signal, siginfo_t *why)
{
	int status;

	if (ptrace(how, pid, NULL, (void *)(intptr_t)*signal) < 0 ||
	    waitpid(pid, &status, __WALL) != pid || !WIFSTOPPED(status))
		return 0;
	*signal = WSTOPSIG(status);
	if (status >> 16 || ptrace(PTRACE_GETSIGINFO, pid, NULL, why) < 0) {
		memset(why, 0, sizeof *why);
		*signal = 0; /* no signal that the task is to get */
	}
	return 1;
}

/* 1: a breakpoint; its signal is not for the task. 0: another signal, or a step. */
static inline int at_breakpoint(int *signal, const siginfo_t *why)
{
	int is = *signal == SIGTRAP && why->si_code != TRAP_TRACE;

	if (*signal == SIGTRAP)
		*signal = 0;
	return is;
}

/* 0: the task is gone. */
static inline int resume_to_breakpoint(pid_t pid, int *signal)
{
	siginfo_t why;

	do
		if (!resume(PTRACE_CONT, pid, signal, &why))
			return 0;
	while (!at_breakpoint(signal, &why));
	return 1;
}

#endif
