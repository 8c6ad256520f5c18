/* test_fork.c - in the child of a fork each call that needs core fails at once, core is not entered,
 * and one message says why. */
#define _GNU_SOURCE
#include "ctest/fake.h"

#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static lapi_handle_t handle;

/* Runs in the child; 0 if all is as it should be. */
static int try_calls(void)
{
	lapi_info_t info;
	lapi_handle_t other;
	lapi_cntr_t counter = {0};
	char text[LAPI_MAX_ERR_STRING];
	ulong u;
	uint32_t turns = fake_counts.dispatches, inits = fake_counts.inits;

	memset(&info, 0, sizeof(info));
	if (LAPI_Probe(handle) != LAPI_ERR_HNDL_INVALID ||
	    LAPI_Gfence(handle) != LAPI_ERR_HNDL_INVALID)
		return 1;
	if (LAPI_Waitcntr(handle, &counter, 1, NULL) != LAPI_ERR_HNDL_INVALID ||
	    LAPI_Term(handle) != LAPI_ERR_HNDL_INVALID)
		return 2;
	if (LAPI_Setcntr(handle, &counter, 1) != LAPI_ERR_HNDL_INVALID || counter.cntr != 0)
		return 3;
	if (LAPI_Init(&other, &info) != LAPI_ERR_UNKNOWN)
		return 4;
	/* these need no library behind them */
	if (LAPI_Address(&counter, &u) != LAPI_SUCCESS ||
	    LAPI_Msg_string(417, text) != LAPI_SUCCESS)
		return 5;
	return fake_counts.dispatches == turns && fake_counts.inits == inits ? 0 : 6;
}

static void child(int messages)
{
	if (dup2(messages, STDERR_FILENO) < 0)
		_exit(9);
	_exit(try_calls());
}

static void fork_once(void)
{
	int messages[2], status;
	char text[1024];
	ssize_t n, all = 0;
	pid_t pid;

	CHECK(pipe(messages) == 0);
	pid = fork();
	CHECK(pid >= 0);
	if (pid == 0)
		child(messages[1]);
	close(messages[1]);
	while ((n = read(messages[0], text + all, sizeof(text) - 1 - (size_t)all)) > 0)
		all += n;
	close(messages[0]);
	text[all] = 0;
	CHECK(waitpid(pid, &status, 0) == pid);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	CHECK(strstr(text, "fork") && strchr(text, '\n') == text + all - 1);
}

void test_fork(void)
{
	lapi_cntr_t counter = {0};

	handle = fake_init(NULL);
	fork_once();
	/* With the lock held, which the child inherits. */
	cshim_lock(&fake_context(handle)->progress);
	fork_once();
	cshim_unlock(&fake_context(handle)->progress);
	/* The parent goes on. */
	fake_count(fake_context(handle), (int *)&counter);
	CHECK(LAPI_Waitcntr(handle, &counter, 1, NULL) == LAPI_SUCCESS);
	CHECK(LAPI_Term(handle) == LAPI_SUCCESS);
}
