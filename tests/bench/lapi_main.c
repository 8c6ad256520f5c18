/* lapi_main.c - the benchmark programs that use LAPI: picks the test; functions that the tests
 * share. */
#include "lapi_bench.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct {
	const char *name;
	void (*run)(board *, const bench_options *);
	/* clang-format off */
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
	{"compare", test_compare},
	{"compare-computing", test_compare_computing},
	{"interrupt", test_interrupt},
	{"interrupt-busy", test_interrupt_busy},
};
/* clang-format on */

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

char *task_buffer(size_t n)
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
	t->out = task_buffer(o->offset + buffers) + o->offset;
	t->in = task_buffer(o->offset + buffers) + o->offset;
	t->in_at = task_exchange(t, t->in);
	t->arrived_at = task_exchange(t, &t->arrived);
	t->over_at = task_exchange(t, &t->over);
	t->word_at = task_exchange(t, &t->word);
}

void task_term(task *t)
{
	CHECK(LAPI_Gfence(t->handle));
	CHECK(LAPI_Term(t->handle));
	if (t->out)
		free(t->out - t->o->offset);
	if (t->in)
		free(t->in - t->o->offset);
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

/* A stretch of rounds, as measure calls it. */
typedef struct stretch {
	task *t;
	lapi_rounds *rounds;
	size_t size;
} stretch;

static void stretch_rounds(void *arg, uint64_t n)
{
	stretch *s = arg;

	s->rounds(s->t, s->size, n);
}

static void stretch_over(void *arg)
{
	task *t = ((stretch *)arg)->t;

	if (t->id == 1) {
		task_wait(t, &t->over, 1);
	} else {
		CHECK(LAPI_Put(t->handle, 1, 0, NULL, NULL, (lapi_cntr_t *)t->over_at[1], NULL,
		               &t->completed));
		task_wait(t, &t->completed, 1);
	}
}

static void stretch_progress(void *arg)
{
	probe(((stretch *)arg)->t);
}

measured task_measure(task *t, lapi_rounds *rounds, int in_step, size_t size)
{
	stretch s = {t, rounds, size};
	measurement m = {
		t->b, t->o, t->id, stretch_rounds, in_step ? NULL : stretch_over, stretch_progress,
		&s};

	return measure(&m);
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
