/* lapi_gfence.c - LAPI_Gfence among all tasks with nothing under way, and what a call costs that sends nothing. */
#include "lapi_bench.h"

/* n times, timed. */
static void gfences(task *t, batches *s, uint64_t n)
{
	uint64_t i;

	batch_begin(s);
	for (i = 0; i < n; i++)
		CHECK(LAPI_Gfence(t->handle));
	batch_end(s, n);
}

void test_gfence(board *b, const bench_options *o)
{
	double before = 0, after = 0;
	batches s = {.count = 0};
	task t;

	task_init(&t, b, o, 0, 8);
	task_meet(&t);
	if (t.id < 2 && t.num_tasks > 1)
		before = board_state(b, t.id);
	CHECK(LAPI_Gfence(t.handle));
	gfences(&t, &s, 20); /* only to see how long one takes */
	if (t.id == 0)
		b->word[0].value = batch_iterations(o, s.ns[0], 1);
	task_meet(&t);
	s.count = 0;
	while (s.count < BATCHES)
		gfences(&t, &s, b->word[0].value);
	task_meet(&t);
	if (t.id < 2 && t.num_tasks > 1)
		after = board_state(b, t.id);
	/* with more tasks than cores giving up the core is part of it: every batch counts */
	if (t.id == 0)
		print_row("gfence", "gfence", (size_t)t.num_tasks,
		          (t.num_tasks > usable_cores() ? median(s.ns, BATCHES) : batches_median(&s)) / 1e3, "us", before, after,
		          batches_preempted(&s));
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
