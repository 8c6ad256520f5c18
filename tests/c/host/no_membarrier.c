/*
 * no_membarrier.c - no_membarrier TASK|all PROGRAM [ARGUMENT...]: executes the program, which the
 * kernel refuses membarrier if it is that task of the job, or any. Where there are no such filters
 * it executes nothing; status 77.
 */
#define _GNU_SOURCE
#include "refuse.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
	const char *task = getenv("MP_CHILD");

	if (argc < 3) {
		fprintf(stderr, "usage: no_membarrier TASK|all PROGRAM [ARGUMENT...]\n");
		return 2;
	}
	if ((strcmp(argv[1], "all") == 0 || (task && strcmp(argv[1], task) == 0)) &&
	    refuse_membarrier() != 0) {
		fprintf(stderr, "no_membarrier: the kernel does not filter system calls: %s\n",
		        strerror(errno));
		return 77;
	}
	execvp(argv[2], argv + 2);
	fprintf(stderr, "no_membarrier: %s: %s\n", argv[2], strerror(errno));
	return 2;
}
