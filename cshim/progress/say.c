/*
 * say.c - see say.h. The kernel sends SIGPIPE to the thread that writes. So it waits blocked, and is
 * taken from this thread's pending signals afterwards, unless one of the program's own waited there
 * before. Go's os.Stderr would do worse: it ends the process by SIGPIPE even if the program ignores
 * that signal.
 */
#define _GNU_SOURCE
#include "progress/say.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

void cshim_say(const char *text, size_t size)
{
	static const struct timespec now;
	sigset_t pipes, before, pending;
	int saved = errno;

	sigemptyset(&pipes);
	sigaddset(&pipes, SIGPIPE);
	pthread_sigmask(SIG_BLOCK, &pipes, &before);
	sigemptyset(&pending);
	sigpending(&pending);
	/*
	 * Not stdio: a thread of the program may hold its lock, and in the child of a fork nobody
	 * would release it. Not write or sigtimedwait, which are cancellation points.
	 */
	while (syscall(SYS_write, STDERR_FILENO, text, size) < 0 && errno == EINTR)
		;
	if (!sigismember(&pending, SIGPIPE))
		syscall(SYS_rt_sigtimedwait, &pipes, NULL, &now, _NSIG / 8);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	errno = saved;
}
