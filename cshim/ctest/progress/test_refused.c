/*
 * test_refused.c - the lock and the lane where a filter of system calls refuses membarrier: from
 * the start, or when it had been granted. Each in a program of its own, since no filter can be
 * taken back.
 */
#define _GNU_SOURCE
#include "ctest/fake.h"

#include <spawn.h>
#include <string.h>
#include <sys/wait.h>

#include "../../../tests/c/host/refuse.h"
#include "ctest/fake_lane.h"

enum { NO_FILTERS = 77 };

extern char **environ;

static void refuse(void)
{
	if (refuse_membarrier() != 0)
		exit(NO_FILTERS);
}

static void from_the_start(void)
{
	refuse();
	test_lock();
	CHECK(test_lock_fenced());
	test_wait();
	test_stress();
	test_lane();
	CHECK(fake_lane_ordered_by() == FAKE_LANE_SENDERS);
}

/* Threads have locked and slept before, and the first that sleeps behind finds out. */
static void lock_later(void)
{
	test_lock();
	if (test_lock_fenced())
		exit(NO_FILTERS); /* the kernel has no membarrier anyway */
	refuse();
	test_lock();
	CHECK(test_lock_fenced());
	test_lock();
	test_wait();
	test_stress();
}

static void lane_later(void)
{
	test_lane_after(refuse);
	CHECK(fake_lane_ordered_by() == (FAKE_NODE_FENCED ? FAKE_LANE_SENDERS : FAKE_LANE_NOBODY));
}

static const struct {
	const char *name;
	void (*run)(void);
} children[] = {
	{"from-the-start", from_the_start}, {"lock-later", lock_later}, {"lane-later", lane_later}};

int refused_main(const char *what)
{
	size_t i;

	for (i = 0; i < sizeof(children) / sizeof(children[0]); i++)
		if (strcmp(children[i].name, what) == 0) {
			children[i].run();
			return 0;
		}
	return 1;
}

static void run(const char *what)
{
	char *arguments[] = {"cshim-test", "refused-child", (char *)(uintptr_t)what, NULL};
	int status;
	pid_t pid;

	CHECK(posix_spawn(&pid, "/proc/self/exe", NULL, NULL, arguments, environ) == 0);
	CHECK(waitpid(pid, &status, 0) == pid);
	CHECK(WIFEXITED(status));
	if (WEXITSTATUS(status) == NO_FILTERS)
		printf("skipped: refused %s: no filters of system calls, or no membarrier, here\n",
		       what);
	else
		CHECK(WEXITSTATUS(status) == 0);
}

void test_refused(void)
{
	size_t i;

	for (i = 0; i < sizeof(children) / sizeof(children[0]); i++)
		run(children[i].name);
}
