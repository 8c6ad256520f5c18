/* lapi_gfence.c - LAPI_Gfence among all tasks with nothing under way, and what a call costs that sends nothing. */
#include "lapi_bench.h"

#define GFENCE_BATCHES 15

void test_gfence(board *b, const bench_options *o)
{
	double v[GFENCE_BATCHES], before = 0, after = 0;
	uint64_t start, i, n = 20;
	long preempted = 0;
	task t;
	int k;

	task_init(&t, b, o, 0, 8);
	task_meet(&t);
	if (t.id < 2 && t.num_tasks > 1)
		before = board_state(b, t.id);
	for (k = -1; k < GFENCE_BATCHES; k++) {
		CHECK(LAPI_Gfence(t.handle));
		start = clock_ns();
		for (i = 0; i < n; i++)
			CHECK(LAPI_Gfence(t.handle));
		if (k >= 0)
			v[k] = (double)(clock_ns() - start) / (double)n;
		else if (t.id == 0)
			b->word[0].value = batch_iterations(o, GFENCE_BATCHES, (double)(clock_ns() - start), n);
		if (k >= 0)
			continue;
		task_meet(&t);
		n = b->word[0].value;
		preempted = preemptions();
	}
	preempted = preemptions() - preempted;
	task_meet(&t);
	if (t.id < 2 && t.num_tasks > 1)
		after = board_state(b, t.id);
	if (t.id == 0)
		print_row("gfence", "gfence", (size_t)t.num_tasks, median(v, GFENCE_BATCHES) / 1e3, "us", before, after, preempted);
	task_term(&t);
}

static void qenv_rounds(task *t, size_t size, uint64_t n)
{
	int value;

	(void)size;
	for (; n > 0; n--)
		CHECK(LAPI_Qenv(t->handle, TASK_ID, &value));
}

static void getcntr_rounds(task *t, size_t size, uint64_t n)
{
	int value;

	(void)size;
	for (; n > 0; n--)
		CHECK(LAPI_Getcntr(t->handle, &t->arrived, &value));
}

static void probe_rounds(task *t, size_t size, uint64_t n)
{
	(void)size;
	for (; n > 0; n--)
		CHECK(LAPI_Probe(t->handle));
}

static void one(task *t, const char *op, lapi_rounds *rounds)
{
	lapi_result r = task_measure(t, rounds, 0, 8);

	if (t->id == 0)
		print_row("call", op, 0, r.ns, "ns", r.before, r.after, r.preempted);
}

void test_call(board *b, const bench_options *o)
{
	task t;

	task_init(&t, b, o, 0, 8);
	if (t.num_tasks != 2)
		fail("call needs 2 tasks");
	one(&t, "qenv", qenv_rounds);
	one(&t, "getcntr", getcntr_rounds);
	one(&t, "probe", probe_rounds);
	task_term(&t);
}
