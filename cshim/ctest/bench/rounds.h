/* rounds.h - how long one round of something takes in this thread, for the benchmarks here. */
#ifndef CTEST_ROUNDS_H
#define CTEST_ROUNDS_H

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { BATCHES = 301, ROUNDS = 2000 };

static double now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Prints the name and the median of many batches, ns. */
static void measure_rounds(const char *name, void (*round)(void))
{
	double ns[BATCHES], begin;
	int batch, i;

	for (batch = 0; batch < BATCHES; batch++) {
		begin = now_ns();
		for (i = 0; i < ROUNDS; i++)
			round();
		ns[batch] = (now_ns() - begin) / ROUNDS;
	}
	qsort(ns, BATCHES, sizeof(ns[0]), ascending);
	printf("%-20s %6.1f\n", name, ns[BATCHES / 2]);
}

#endif
