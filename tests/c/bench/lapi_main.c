/* lapi_main.c - the benchmark programs that use LAPI: picks the test, and what the tests share. */
#include "lapi_bench.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct {
	const char *name;
	void (*run)(board *, const bench_options *);
} tests[] = {
	{"latency", test_latency},
	{"bandwidth", test_bandwidth},
	{"rate", test_rate},
	{"vector", test_vector},
	{"pack", test_pack},
	{"lock", test_lock},
	{"gfence", test_gfence},
	{"call", test_call},
	{"startup", test_startup},
	{"memory", test_memory},
	{"interrupt", test_interrupt},
	{"interrupt-busy", test_interrupt_busy},
};

void check(int code, const char *call)
{
	char text[LAPI_MAX_ERR_STRING] = "";

	if (code == LAPI_SUCCESS)
		return;
	LAPI_Msg_string(code, text);
	fail("%s: %d %s", call, code, text);
}

void **task_exchange(task *t, void *mine)
{
	void **table = calloc((size_t)t->num_tasks, sizeof *table);

	if (!table)
		fail("no memory for %d addresses", t->num_tasks);
	CHECK(LAPI_Address_init(t->handle, mine, table));
	return table;
}

static char *buffer(size_t n)
{
	void *p;

	if (posix_memalign(&p, 4096, n))
		fail("no memory for %zu bytes", n);
	return memset(p, 1, n);
}

void task_init(task *t, board *b, const bench_options *o, int interrupts, size_t buffers)
{
	lapi_info_t info;

	memset(t, 0, sizeof *t);
	memset(&info, 0, sizeof info);
	t->b = b;
	t->o = o;
	CHECK(LAPI_Init(&t->handle, &info));
	CHECK(LAPI_Senv(t->handle, INTERRUPT_SET, interrupts));
	CHECK(LAPI_Qenv(t->handle, TASK_ID, &t->id));
	CHECK(LAPI_Qenv(t->handle, NUM_TASKS, &t->num_tasks));
	if (!interrupts)
		pin_to_core(t->id);
	if (!buffers)
		return;
	CHECK(LAPI_Setcntr(t->handle, &t->arrived, 0));
	CHECK(LAPI_Setcntr(t->handle, &t->over, 0));
	CHECK(LAPI_Setcntr(t->handle, &t->origin, 0));
	CHECK(LAPI_Setcntr(t->handle, &t->completed, 0));
	t->out = buffer(buffers);
	t->in = buffer(buffers);
	t->in_at = task_exchange(t, t->in);
	t->arrived_at = task_exchange(t, &t->arrived);
	t->over_at = task_exchange(t, &t->over);
	t->word_at = task_exchange(t, &t->word);
}

void task_term(task *t)
{
	CHECK(LAPI_Gfence(t->handle));
	CHECK(LAPI_Term(t->handle));
	free(t->out);
	free(t->in);
	free(t->in_at);
	free(t->arrived_at);
	free(t->over_at);
	free(t->word_at);
}

static void probe(void *arg)
{
	task *t = arg;

	CHECK(LAPI_Probe(t->handle));
}

void task_meet(task *t)
{
	board_barrier(t->b, t->num_tasks, probe, t);
}

void task_wait(task *t, lapi_cntr_t *c, int val)
{
	CHECK(LAPI_Waitcntr(t->handle, c, val, NULL));
}

/* Ends a stretch in which task 1 only waited in LAPI: task 0 tells it, task 1 waits to be told. */
static void end_of_rounds(task *t, int in_step)
{
	if (in_step)
		return;
	if (t->id == 1) {
		task_wait(t, &t->over, 1);
	} else {
		CHECK(LAPI_Put(t->handle, 1, 0, NULL, NULL, (lapi_cntr_t *)t->over_at[1], NULL, &t->completed));
		task_wait(t, &t->completed, 1);
	}
}

lapi_result task_measure(task *t, lapi_rounds *rounds, int in_step, size_t size)
{
	lapi_result r = {0, 0, 0, 0};
	int active = t->id == 0 || in_step;
	batches s = {.count = 0};
	uint64_t n, start;

	task_meet(t);
	r.before = board_state(t->b, t->id);
	if (active) {
		rounds(t, size, 4); /* cold: not to be timed */
		start = clock_ns();
		rounds(t, size, 16);
		if (t->id == 0)
			t->b->word[0].value = batch_iterations(t->o, (double)(clock_ns() - start), 16);
	}
	end_of_rounds(t, in_step);
	task_meet(t);
	n = t->b->word[0].value;
	while (active && s.count < BATCHES) {
		batch_begin(&s);
		rounds(t, size, n);
		batch_end(&s, n);
	}
	end_of_rounds(t, in_step);
	task_meet(t);
	r.after = board_state(t->b, t->id);
	if (active) {
		r.ns = batches_median(&s);
		r.preempted = batches_preempted(&s);
	}
	return r;
}

int main(int argc, char **argv)
{
	bench_options o;
	board *b;
	size_t i;

	parse_options(argc, argv, &o);
	if (!o.board_path)
		fail("--board is needed: the tasks meet in that file");
	alarm(180); /* guards against hangs only; the harness may set less */
	b = board_open(o.board_path);
	for (i = 0; i < sizeof tests / sizeof *tests; i++) {
		if (!strcmp(o.test, tests[i].name)) {
			tests[i].run(b, &o);
			board_account(b);
			return 0;
		}
	}
	fail("no test %s", o.test);
}
