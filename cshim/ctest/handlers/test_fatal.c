/* test_fatal.c - an error without an error handler ends the task: its message, its output so far,
 * status 1; where a launcher is about to do so, that is waited for. In programs of their own. */
#define _GNU_SOURCE
#include "ctest/fake.h"

#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static void fail(int context, void *argument)
{
	(void)argument;
	fake_queue_error(context, NULL, LAPI_ERR_TIMEOUT);
}

/* Patience that never ends in a test, and patience that soon ends. */
enum { FOR_EVER_MS = 1000000000, SOON_MS = 1 };

static void lose(int context, void *patience_ms)
{
	fake_queue_loss(context, *(int *)patience_ms);
}

static void *hold_stream(void *argument)
{
	flockfile(argument);
	while (pause() < 0) /* always: it only ever returns after a signal */
		;
	return NULL;
}

/* The thread sanitizer's own _exit waits for stderr's lock. */
#if defined(__SANITIZE_THREAD__)
enum { STREAM_HELD = 0 };
#else
enum { STREAM_HELD = 1 };
#endif

/* In a program of its own: never returns. */
void lost_main(const char *patience)
{
	int ms = strcmp(patience, "soon") == 0 ? SOON_MS : FOR_EVER_MS;
	lapi_handle_t handle = fake_init(NULL);
	lapi_cntr_t counter = {0};

	fake_arrive(fake_context(handle), lose, &ms);
	LAPI_Waitcntr(handle, &counter, 1, NULL);
	_exit(7);
}

/* In the program of its own: never returns. Another thread holds stderr's lock for ever. */
void fatal_main(void)
{
	lapi_handle_t handle = fake_init(NULL);
	lapi_cntr_t counter = {0};

	if (STREAM_HELD) {
		fake_thread(hold_stream, stderr);
		while (ftrylockfile(stderr) == 0) {
			funlockfile(stderr);
			fake_sleep_us(100);
		}
	}
	printf("printed before");
	fake_arrive(fake_context(handle), fail, NULL);
	LAPI_Waitcntr(handle, &counter, 1, NULL);
	_exit(7);
}

static size_t read_all(int from, char *text, size_t size)
{
	size_t all = 0;
	ssize_t n;

	while (all < size - 1 && (n = read(from, text + all, size - 1 - all)) > 0)
		all += (size_t)n;
	text[all] = 0;
	return all;
}

/* Starts this program again, with its output and errors in the pipe that *from is to read. */
static pid_t start(char *what, char *how, int *from)
{
	posix_spawn_file_actions_t actions;
	char *arguments[] = {"cshim-test", what, how, NULL};
	int both[2];
	pid_t pid;

	CHECK(pipe(both) == 0);
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, both[1], STDOUT_FILENO);
	posix_spawn_file_actions_adddup2(&actions, both[1], STDERR_FILENO);
	posix_spawn_file_actions_addclose(&actions, both[0]);
	posix_spawn_file_actions_addclose(&actions, both[1]);
	CHECK(posix_spawn(&pid, "/proc/self/exe", &actions, NULL, arguments, environ) == 0);
	posix_spawn_file_actions_destroy(&actions);
	close(both[1]);
	*from = both[0];
	return pid;
}

/* The launcher ends it within its patience, or does not. */
static void test_lost(void)
{
	struct pollfd output = {.events = POLLIN};
	char text[1024];
	int status;
	pid_t pid = start("lost-child", "never", &output.fd);

	CHECK(read(output.fd, text, sizeof(text)) > 0); /* its message */
	CHECK(poll(&output, 1, 100) == 0);              /* it goes on */
	kill(pid, SIGKILL);
	CHECK(waitpid(pid, &status, 0) == pid && WIFSIGNALED(status));
	close(output.fd);

	pid = start("lost-child", "soon", &output.fd);
	CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 1);
	close(output.fd);
}

void test_fatal(void)
{
	char text[1024];
	int from, status;
	pid_t pid = start("fatal-child", NULL, &from);

	read_all(from, text, sizeof(text));
	close(from);
	CHECK(waitpid(pid, &status, 0) == pid);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 1);
	CHECK(strstr(text, "LAPI task 0: fake failure 413\n") && strstr(text, "printed before"));
	test_lost();
}
