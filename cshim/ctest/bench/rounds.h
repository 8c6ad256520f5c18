/*
 * rounds.h - how long one round of something takes in this thread, for the benchmarks here. Their
 * arguments are a row's name, for that row alone, and a number of rounds, which are then only done,
 * to be counted (count.sh).
 */
#ifndef CTEST_ROUNDS_H
#define CTEST_ROUNDS_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* A function of a row that count.sh counts by itself. */
#define COUNTED __attribute__((noinline))

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

/* A row of a benchmark with these arguments. */
static void measure(char **argv, const char *name, void (*round)(void))
{
	const char *wanted = argv[1], *rounds = wanted ? argv[2] : NULL;
	int i, n = rounds ? atoi(rounds) : 0;

	if (wanted && strcmp(wanted, name) != 0)
		return;
	for (i = 0; i < n; i++)
		round();
	if (!rounds)
		measure_rounds(name, round);
}

#endif
