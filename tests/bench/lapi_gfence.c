/* lapi_gfence.c - LAPI_Gfence among all tasks with nothing under way, and the cost of a call that
 * sends nothing. */
#include "lapi_bench.h"

static void gfence(void *arg)
{
	CHECK(LAPI_Gfence(((task *)arg)->handle));
}

static void progress(void *arg)
{
	CHECK(LAPI_Probe(((task *)arg)->handle));
}

void test_gfence(board *b, const bench_options *o)
{
	barrier_measurement m = {b, o, 0, 0, gfence, progress, NULL};
	measured r;
	task t;

	task_init(&t, b, o, 0, 8);
	m.id = t.id;
	m.n = t.num_tasks;
	m.arg = &t;
	r = measure_barrier(&m);
	if (t.id == 0)
		print_row("gfence", "gfence", (size_t)t.num_tasks, r.ns / 1e3, "us", r.before,
		          r.after, r.preempted);
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
	measured r = task_measure(t, rounds, 0, 8);

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
