/* test_exit.c - a task takes leave of a launcher with PMI-1, however long that takes to answer: one
 * whose task is gone before crashes, and its other tasks with it. */
#define _GNU_SOURCE
#include "fake.h"
#include "internal.h"

#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

/* Longer than a task once waited. */
enum { SLOW_MS = 1500 };

static void nothing(int number) { (void)number; }

/* A profiler's signals, which shorten no wait. */
static void profile(void)
{
	struct itimerval each = {.it_interval = {.tv_usec = 10000}, .it_value = {.tv_usec = 10000}};
	struct sigaction ignored = {.sa_handler = nothing};

	CHECK(sigaction(SIGALRM, &ignored, NULL) == 0);
	CHECK(setitimer(ITIMER_REAL, &each, NULL) == 0);
}

/* The task: it ends with status 0. */
static pid_t begin(int *launcher)
{
	int both[2];
	pid_t pid;

	CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, both) == 0);
	pid = fork();
	CHECK(pid >= 0);
	if (pid == 0) {
		close(both[0]);
		profile();
		cshim_exit_launcher_set(both[1], true, false);
		cshim_exit_launcher(0, 0);
		_exit(0);
	}
	close(both[1]);
	*launcher = both[0];
	return pid;
}

static void hears_finalize(int launcher)
{
	char said[64] = "";

	CHECK(read(launcher, said, sizeof(said) - 1) > 0);
	CHECK(strcmp(said, "cmd=finalize\n") == 0);
}

static void ends_well(pid_t task)
{
	int status;

	CHECK(waitpid(task, &status, 0) == task && WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

void test_exit(void)
{
	struct pollfd launcher = {.events = POLLIN};
	pid_t task = begin(&launcher.fd);

	hears_finalize(launcher.fd);
	CHECK(poll(&launcher, 1, SLOW_MS) == 0); /* it has not closed its end */
	CHECK(write(launcher.fd, "cmd=finalize_ack\n", 17) == 17);
	ends_well(task);
	close(launcher.fd);

	task = begin(&launcher.fd); /* a launcher that is gone is not waited for */
	hears_finalize(launcher.fd);
	close(launcher.fd);
	ends_well(task);
}
