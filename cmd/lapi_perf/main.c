/*
 * main.c - lapi_perf: the tasks, the orders between them, the rows. options.c has the user's view.
 *
 * Of each pair one task, the origin, measures. The other waits in LAPI_Waitcntr and does what the
 * origin orders: so both are in LAPI whenever something is measured. Task 0 prints.
 */
#define _GNU_SOURCE
#include "perf.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

void fail(const char *format, ...)
{
	va_list args;

	fflush(stdout);
	fputs("lapi_perf: ", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	exit(1);
}

void must(int code, const char *call)
{
	char text[LAPI_MAX_ERR_STRING];

	if (code == LAPI_SUCCESS)
		return;
	if (LAPI_Msg_string(code, text) != LAPI_SUCCESS)
		text[0] = 0;
	fail("%.*s: %s", (int)strcspn(call, "("), call, text);
}

void await(task *t, lapi_cntr_t *c, int count) { MUST(LAPI_Waitcntr(t->handle, c, count, NULL)); }

void write_to(task *t, int target, void *to, void *from, size_t n, lapi_cntr_t *counter)
{
	MUST(LAPI_Put(t->handle, (uint)target, n, to, from, counter, NULL, &t->completed));
	await(t, &t->completed, 1);
}

void tell(task *t, int target, duty what, int op, uint64_t size, uint64_t count)
{
	order given = {what, op, size, count};

	write_to(t, target, &t->of[target]->todo, &given, sizeof given, &t->of[target]->ordered);
}

int64_t ask(task *t, int target, duty what, int op, uint64_t size, uint64_t count)
{
	tell(t, target, what, op, size, count);
	await(t, &t->mine->replied, 1);
	return t->mine->reply;
}

static void reply(task *t, int64_t value)
{
	shared *to = t->of[t->peer];

	write_to(t, t->peer, &to->reply, &value, sizeof value, &to->replied);
}

/* Measures a row as the origin of a pair that is not task 0's. */
static void another_row(task *t, const order *given)
{
	row r;

	measure_row(t, given->op, given->size, &r);
	write_to(t, 0, &t->of[0]->result[t->id], &r, sizeof r, &t->of[0]->finished);
}

void serve(task *t)
{
	for (;;) {
		order given;

		await(t, &t->mine->ordered, 1);
		given = t->mine->todo;
		switch (given.what) {
		case PREPARE: prepare(t, given.size), reply(t, 0); break;
		case ANSWER: answer(t, given.op, given.size, given.count); break;
		case LINES: raw_lines(t, given.size, given.count); break;
		case DATAGRAMS: raw_datagrams(t, given.size, given.count); break;
		case CHECK: reply(t, wrong_byte(t, given.size)); break;
		case WORD: reply(t, t->mine->word); break;
		case OPEN_RAW: reply(t, raw_open(t)); break;
		case ROW: another_row(t, &given); break;
		case STOP: return;
		case GFENCES:
			for (; given.count > 0; given.count--)
				MUST(LAPI_Gfence(t->handle));
		}
	}
}

/* Zeroed memory on a page boundary. */
static void *memory(size_t n)
{
	void *p = NULL;

	if (posix_memalign(&p, 4096, n) != 0)
		fail("no memory for %zu bytes", n);
	memset(p, 0, n);
	return p;
}

static size_t largest(const options *o) { return o->sizes[o->num_sizes - 1]; }

/* Opens the context, chooses the peer, and publishes the address of this task's memory. */
static void join(task *t, const options *o)
{
	lapi_info_t info;
	hello *own;

	memset(&info, 0, sizeof info);
	info.lib_vers = LAST_LIB;
	memset(t, 0, sizeof *t);
	t->o = o;
	MUST(LAPI_Init(&t->handle, &info));
	MUST(LAPI_Qenv(t->handle, TASK_ID, &t->id));
	MUST(LAPI_Qenv(t->handle, NUM_TASKS, &t->num_tasks));
	if (t->num_tasks < 2) {
		fputs("lapi_perf: it measures between tasks: start 2 or more, as in "
		      "lapirun -n 2 lapi_perf\n", stderr);
		exit(2);
	}
	MUST(LAPI_Senv(t->handle, INTERRUPT_SET, 0));
	t->pairs = o->pairs ? t->num_tasks / 2 : 1;
	t->peer = t->id < t->pairs       ? t->id + t->pairs
	          : t->id < 2 * t->pairs ? t->id - t->pairs
	                                 : -1;
	t->mine = memory(sizeof *t->mine + (size_t)t->num_tasks * sizeof(row));
	t->of = memory((size_t)t->num_tasks * sizeof(void *));
	own = &t->mine->own;
	own->in = memory(largest(o));
	own->out = memory(largest(o));
	own->handler = (void *)(uintptr_t)header_handler;
	raw_hello(own, memory(largest(o)));
	MUST(LAPI_Address_init(t->handle, t->mine, (void **)t->of));
}

/* A row of all pairs at once: the slowest median, the sum of the rates. */
static void measure_pairs(task *t, int op, uint64_t size, row *r)
{
	/* All tasks take part in a GFENCE anyway. */
	int others = op == GFENCE ? 0 : t->pairs - 1;

	for (int i = 1; i <= others; i++)
		tell(t, i, ROW, op, size, 0);
	measure_row(t, op, size, r);
	if (others > 0)
		await(t, &t->mine->finished, others);
	for (int i = 1; i <= others; i++) {
		const row *other = &t->mine->result[i];

		r->rate += other->rate;
		r->median = other->median > r->median ? other->median : r->median;
		r->p90 = other->p90 > r->p90 ? other->p90 : r->p90;
		r->least = other->least < r->least ? other->least : r->least;
	}
}

static void measure_all(task *t)
{
	const options *o = t->o;
	row rows[OPERATIONS * SIZES];
	int n = 0;

	print_head(o, t);
	for (int op = 0; op < OPERATIONS; op++) {
		int sized = operations[op].sized;

		for (int i = 0; o->ops >> op & 1 && i < (sized ? o->num_sizes : 1); i++) {
			uint64_t size = sized ? o->sizes[i] : op == GFENCE ? 0 : 8;

			measure_pairs(t, op, size, &rows[n]);
			print_row(o, &rows[n], t->pairs);
			n++;
		}
	}
	if (o->plot)
		print_plot(rows, n);
	print_warnings(t, rows, n);
}

int main(int argc, char **argv)
{
	options o;
	task t;

	read_options(argc, argv, &o);
	join(&t, &o);
	if (t.id == 0) {
		measure_all(&t);
		for (int i = 1; i < t.num_tasks; i++)
			tell(&t, i, STOP, 0, 0, 0);
	} else {
		serve(&t);
	}
	MUST(LAPI_Gfence(t.handle));
	MUST(LAPI_Term(t.handle));
	if (fflush(stdout) != 0 || ferror(stdout))
		fail("standard output cannot be written");
	return 0;
}
