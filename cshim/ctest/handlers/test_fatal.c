/* test_fatal.c - an error without an error handler ends the task: its message, its output so far,
 * status 1. In a program of its own. */
#define _GNU_SOURCE
#include "fake.h"

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

void test_fatal(void)
{
	posix_spawn_file_actions_t actions;
	char *arguments[] = {"cshim-test", "fatal-child", NULL}, text[1024];
	int both[2], status;
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
	read_all(both[0], text, sizeof(text));
	close(both[0]);
	CHECK(waitpid(pid, &status, 0) == pid);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 1);
	CHECK(strstr(text, "LAPI task 0: fake failure 413\n") && strstr(text, "printed before"));
}
