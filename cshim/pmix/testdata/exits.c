/*
 * exits.c LIBRARY HOW - a task that uses pmix.h and exits with status 0. HOW: return; fork: a child
 * exits before; silent: without the exit handler.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pmix/pmix.h"

int main(int argc, char **argv)
{
	uint32_t rank, size;
	char why[CSHIM_PMIX_WHY];

	if (argc != 3 || cshim_pmix_open(argv[1], &rank, &size, why) < 0 ||
	    cshim_pmix_give("key", "x", 1, why) < 0) {
		fprintf(stderr, "%s\n", argc == 3 ? why : "two arguments");
		return 2;
	}
	if (!strcmp(argv[2], "fork")) {
		pid_t child = fork();
		if (child == 0)
			exit(cshim_pmix_give("key2", "x", 1, why) < 0 &&
			                     cshim_pmix_open(argv[1], &rank, &size, why) < 0
			             ? 0
			             : 3);
		int status;
		if (child < 0 || waitpid(child, &status, 0) != child || status != 0) {
			fprintf(stderr, "the child's status is %#x\n", status);
			return 4;
		}
		/* the connection is as it was */
		if (cshim_pmix_give("key3", "x", 1, why) < 0) {
			fprintf(stderr, "%s\n", why);
			return 5;
		}
	}
	if (!strcmp(argv[2], "silent"))
		_exit(0);
	return 0;
}
