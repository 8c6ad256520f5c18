/* lapi_startup.c - the cost of a job that does nothing: time from LAPI_Init to LAPI_Term, memory of
 * idle tasks. */
#define _GNU_SOURCE
#include "lapi_bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Waits, after LAPI_Term, until all tasks have left their numbers on the board. */
static void wait_for_tasks(board *b, int n)
{
	uint64_t start = clock_ns();

	while (__atomic_load_n(&b->count.value, __ATOMIC_ACQUIRE) < (uint64_t)n) {
		if (clock_ns() - start > 60000000000u)
			fail("only %d of %d tasks came through LAPI_Term", (int)b->count.value, n);
		usleep(1000);
	}
}

void test_startup(board *b, const bench_options *o)
{
	uint64_t begin = clock_ns(), first, last;
	task t;
	int i;

	task_init(&t, b, o, 0, 0);
	CHECK(LAPI_Gfence(t.handle));
	CHECK(LAPI_Term(t.handle));
	b->task[t.id].begin = begin;
	b->task[t.id].end = clock_ns();
	/* release: publishes the two times above to task 0's acquire */
	__atomic_add_fetch(&b->count.value, 1, __ATOMIC_RELEASE);
	if (t.id != 0)
		return;
	wait_for_tasks(b, t.num_tasks);
	first = b->task[0].begin;
	last = b->task[0].end;
	for (i = 1; i < t.num_tasks; i++) {
		first = b->task[i].begin < first ? b->task[i].begin : first;
		last = b->task[i].end > last ? b->task[i].end : last;
	}
	print_row("startup", "init-term", (size_t)t.num_tasks, (double)(last - first) / 1e6, "ms",
	          0, 0, 0);
}

/* The Pss line of smaps_rollup: shared pages count by their share. MiB. */
static double proportional_memory(void)
{
	char line[256];
	double kib = -1;
	FILE *f = fopen("/proc/self/smaps_rollup", "r");

	if (!f)
		fail("smaps_rollup cannot be read");
	while (fgets(line, sizeof line, f))
		if (sscanf(line, "Pss: %lf", &kib) == 1)
			break;
	fclose(f);
	if (kib < 0)
		fail("smaps_rollup has no Pss");
	return kib / 1024;
}

void test_memory(board *b, const bench_options *o)
{
	double v[BOARD_MAX_TASKS];
	task t;
	int i;

	task_init(&t, b, o, 1, 0);
	CHECK(LAPI_Gfence(t.handle));
	usleep(300000); /* idle: what start-up needed only for a moment is over */
	b->task[t.id].value = proportional_memory();
	/* all tasks read before any leaves: the shares depend on the number of tasks */
	CHECK(LAPI_Gfence(t.handle));
	if (t.id == 0) {
		for (i = 0; i < t.num_tasks; i++)
			v[i] = b->task[i].value;
		print_row("memory", "pss", (size_t)t.num_tasks, median(v, t.num_tasks), "MiB", 0, 0,
		          0);
		print_row("memory", "pss-max", (size_t)t.num_tasks, fraction(v, t.num_tasks, 1),
		          "MiB", 0, 0, 0);
	}
	task_term(&t);
}
