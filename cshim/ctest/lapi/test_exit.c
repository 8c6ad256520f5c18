/* test_exit.c - a task says goodbye to a launcher with PMI-1, however long the launcher takes to
 * answer: a launcher whose task is gone before that crashes, and its other tasks with it. And a
 * task that ends without LAPI_Term says so when its messages have arrived. */
#define _GNU_SOURCE
#include "ctest/fake.h"
#include "lapi/internal.h"

#include <poll.h>
#include <pthread.h>
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

enum { NOTICE_FD = 20, TURNS = 50 };

/* After *turn turns of the dispatcher the last message is acknowledged. */
static void acknowledge(int context, void *turn)
{
	int *left = (int *)turn;

	if (--*left > 0) {
		fake_arrive(&cshim_contexts[context], acknowledge, turn);
		return;
	}
	CHECK(write(NOTICE_FD, "sent ", 5) == 5);
	fake_finish_tickets(context, LAPI_SUCCESS);
}

/* The hub's answer, a while after the last message was acknowledged. */
static void *answer(void *unused)
{
	fake_sleep_us(100000);
	CHECK(write(NOTICE_FD, " answered", 9) == 9);
	cshim_exit_notice_answered();
	return unused;
}

/*
 * In a program of its own: a task that ends in its main program, or where it has the lock, or with
 * a hub that answers.
 */
void ending_main(const char *where)
{
	static const int fd = NOTICE_FD;
	static int left = TURNS;
	cshim_context *context;
	pthread_t thread;

	fake_settings.polling = 1; /* nobody else makes progress */
	context = fake_context(fake_init(NULL));
	cshim_exit_notice_set(cshim_index_of(context), "ends", 4, &fd, 1);
	fake_hold_tickets(1);
	fake_arrive(context, acknowledge, &left);
	if (strcmp(where, "handler") == 0)
		cshim_lock(&context->progress);
	if (strcmp(where, "hub") == 0) {
		cshim_exit_notice_wait();
		CHECK(pthread_create(&thread, NULL, answer, NULL) == 0);
		CHECK(pthread_detach(thread) == 0);
	}
	exit(0);
}

/* News of other tasks are there to be read, as they are no answer. */
static void says(const char *where, const char *expected)
{
	char *arguments[] = {"cshim-test", "ending-child", (char *)(uintptr_t)where, NULL};
	char said[64] = "";
	size_t n = 0;
	ssize_t got;
	int both[2];
	pid_t pid;

	CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, both) == 0);
	pid = fork();
	CHECK(pid >= 0);
	if (pid == 0) {
		if (dup2(both[1], NOTICE_FD) == NOTICE_FD)
			execv("/proc/self/exe", arguments);
		_exit(9);
	}
	close(both[1]);
	CHECK(write(both[0], "news", 4) == 4);
	while ((got = read(both[0], said + n, sizeof(said) - 1 - n)) > 0)
		n += (size_t)got;
	ends_well(pid);
	close(both[0]);
	CHECK(strstr(said, expected));
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

	says("main", "sent ends");
	says("hub", " answered");
	says("handler", "ends"); /* nothing can be waited for there */
}
