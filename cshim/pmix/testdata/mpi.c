/*
 * mpi.c LIBRARY WHEN - a task that uses pmix.h and MPI, and exits with status 0. WHEN the
 * connection is opened: before MPI_Init; within, between MPI_Init and MPI_Finalize; after both.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pmix/pmix.h"

static uint32_t rank, size;

static void check(int failed, const char *text)
{
	if (failed) {
		fprintf(stderr, "%s\n", text);
		exit(3);
	}
}

static void use(const char *library, const char *key)
{
	char why[CSHIM_PMIX_WHY];
	void *card;
	size_t length;

	check(cshim_pmix_open(library, &rank, &size, why) < 0, why);
	check(cshim_pmix_give(key, &rank, sizeof rank, why) < 0, why);
	for (uint32_t r = 0; r < size; r++) {
		check(cshim_pmix_take(key, r, &card, &length, why) < 0, why);
		check(length != sizeof r || memcmp(card, &r, sizeof r), "another task's card");
		free(card);
	}
}

static void sum(void)
{
	int one = 1, all = 0, ntasks = 0;

	MPI_Comm_size(MPI_COMM_WORLD, &ntasks);
	MPI_Allreduce(&one, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	check(all != ntasks || ntasks < 2, "MPI's sum is wrong");
}

int main(int argc, char **argv)
{
	check(argc != 3, "two arguments");
	if (!strcmp(argv[2], "before"))
		use(argv[1], "first");
	MPI_Init(&argc, &argv);
	sum();
	if (!strcmp(argv[2], "within"))
		use(argv[1], "first");
	sum();
	MPI_Finalize();
	use(argv[1], "last");
	return 0;
}
