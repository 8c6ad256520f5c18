/*
 * unread.c - nobody reads the standard error any more, and the library has lines for it: they are
 * lost. The program gets no SIGPIPE for what it has not written, whatever it does with that signal.
 */
#define _GNU_SOURCE
#include "by_hand.h"

#include <dat2/udat.h>
#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

static volatile sig_atomic_t caught;

static void on_pipe(int number)
{
	(void)number;
	caught++;
}

static void close_reader(void)
{
	int ends[2];

	if (pipe(ends) != 0 || dup2(ends[1], STDERR_FILENO) < 0)
		_exit(10);
	close(ends[0]);
	close(ends[1]);
}

/* Core's lines at level 6, and C's in the child of a fork, where no call works. */
static int lapi_writes(void)
{
	lapi_info_t info;
	lapi_handle_t h;
	int task, status;
	pid_t pid;

	be_by_hand(0, 1, "yes", 1);
	setenv("MP_INFOLEVEL", "6", 1);
	host_info(&info);
	if (LAPI_Init(&h, &info) != LAPI_SUCCESS)
		return 1;
	host_use(h);
	if ((pid = fork()) == 0)
		_exit(LAPI_Qenv(h, TASK_ID, &task) == LAPI_SUCCESS);
	if (waitpid(pid, &status, 0) != pid || status != 0)
		return 2;
	return LAPI_Term(h) == LAPI_SUCCESS ? 0 : 3;
}

#ifdef __LP64__ /* uDAPL is for 64-bit programs */
static int dat_writes(void)
{
	DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;
	DAT_IA_HANDLE ia;

	setenv("LAPI_UDP_LOSS", "1", 1);
	if (dat_ia_open("lapi", 4, &evd, &ia) != DAT_SUCCESS)
		return 1;
	return dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG) == DAT_SUCCESS ? 0 : 3;
}
#endif

/* Without core: the line of a process that may have no threads or memory. */
static int start_writes(void)
{
	struct rlimit none = {1 << 20, 1 << 20};
	lapi_info_t info;
	lapi_handle_t h;

	setrlimit(RLIMIT_AS, &none);
	host_info(&info);
	return LAPI_Init(&h, &info) == LAPI_SUCCESS;
}

/* In the child: 0, or the number of what went wrong. */
static int work(int (*writes)(void), void (*handler)(int))
{
	sigset_t before, after, pending;
	int result;

	signal(SIGPIPE, handler);
	close_reader();
	sigprocmask(SIG_BLOCK, NULL, &before);
	result = writes();
	sigprocmask(SIG_BLOCK, NULL, &after);
	sigpending(&pending);
	if (sigismember(&before, SIGPIPE) || sigismember(&after, SIGPIPE))
		return 11;
	return caught || sigismember(&pending, SIGPIPE) ? 12 : result;
}

/* A SIGPIPE of the program's own that waits, blocked, still waits afterwards. */
static int waits(int (*writes)(void))
{
	sigset_t one, pending;
	int result;

	signal(SIGPIPE, SIG_DFL);
	sigemptyset(&one);
	sigaddset(&one, SIGPIPE);
	sigprocmask(SIG_BLOCK, &one, NULL);
	close_reader();
	if (write(STDERR_FILENO, "x", 1) != -1 || errno != EPIPE)
		return 13;
	result = writes();
	sigpending(&pending);
	return sigismember(&pending, SIGPIPE) ? result : 14;
}

static void check(const char *what, const char *how, int (*writes)(void), void (*handler)(int))
{
	char name[64];
	int status = -1;
	pid_t pid = fork();

	if (pid == 0) {
		alarm(300);
		_exit(strcmp(how, "waits") == 0 ? waits(writes) : work(writes, handler));
	}
	HOST_CHECK(waitpid(pid, &status, 0) == pid);
	if (status != 0)
		fprintf(stderr, "%s %s: status %#x\n", what, how, (unsigned)status);
	HOST_CHECK(status == 0);
	snprintf(name, sizeof name, "%s_%s", what, how);
	host_end_case(name, 0);
}

int main(void)
{
	static const struct {
		const char *name;
		int (*writes)(void);
	} all[] = {{"lapi", lapi_writes},
	           {"start", start_writes},
#ifdef __LP64__
	           {"dat", dat_writes},
#endif
	};
	size_t i;

	for (i = 0; i < sizeof all / sizeof *all; i++) {
		check(all[i].name, "default", all[i].writes, SIG_DFL);
		check(all[i].name, "ignored", all[i].writes, SIG_IGN);
		check(all[i].name, "handled", all[i].writes, on_pipe);
		check(all[i].name, "waits", all[i].writes, SIG_DFL);
	}
	return host_close("unread", 0);
}
