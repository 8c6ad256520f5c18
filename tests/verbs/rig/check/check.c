/*
 * check.c - tests of the rig's promises. Runs under `with`, on rig1 and rig2.
 *
 * usage: check [NAME...]
 */
#include "check.h"

static int wanted(const char *name, int n, char **names)
{
	for (int i = 0; i < n; i++)
		if (!strcmp(name, names[i]))
			return 1;
	return n == 0;
}

/* Each runs in a process of its own, so that a deadlock ends with it. */
static int passes(const struct check *c)
{
	int status;

	fflush(stdout);
	pid_t pid = fork();

	if (pid == 0) {
		alarm(60);
		c->run();
		exit(0);
	}
	MUST(waitpid(pid, &status, 0) == pid);
	return status == 0;
}

int main(int argc, char **argv)
{
	const struct check *all[] = {states_checks, data_checks, status_checks, window_checks,
	                             queue_checks,  cm_checks,   fault_checks};
	int passed = 0, failed = 0;

	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		for (const struct check *c = all[i]; c->name; c++) {
			if (!wanted(c->name, argc - 1, argv + 1))
				continue;
			if (passes(c)) {
				passed++;
				continue;
			}
			failed++;
			printf("rig: FAILED %s\n", c->name);
		}
	printf("rig: %d passed, %d failed, 0 skipped\n", passed, failed);
	return failed != 0 || passed == 0;
}
