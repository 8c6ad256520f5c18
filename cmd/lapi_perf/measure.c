/*
 * measure.c - one row: blocks of single operations, of streams of operations, and of the raw limit,
 * in turn, so that whatever disturbs the machine disturbs all three.
 */
#include "perf.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { BLOCKS = 20, MOST = 1 << 20, PHASES = 3 };

double now(void)
{
	struct timespec at;

	clock_gettime(CLOCK_MONOTONIC, &at);
	return (double)at.tv_sec + (double)at.tv_nsec / 1e9;
}

/* A kind of block. run does it count times; 0 if it failed. */
typedef struct timed timed;
struct timed {
	task *t;
	int op;
	uint64_t size;
	int (*run)(timed *m, uint64_t count);
	uint64_t count;      /* in a block */
	counted seen;        /* of run_once */
	double took[BLOCKS]; /* seconds of one */
};

static int run_once(timed *m, uint64_t count)
{
	operations[m->op].once(m->t, m->op, m->size, count);
	return 1;
}

static int run_stream(timed *m, uint64_t count)
{
	operations[m->op].stream(m->t, m->op, m->size, count);
	return 1;
}

static int run_lines(timed *m, uint64_t count) { return raw_lines(m->t, m->size, count); }

static int run_datagrams(timed *m, uint64_t count) { return raw_datagrams(m->t, m->size, count); }

static int run_copies(timed *m, uint64_t count) { return raw_copies(m->t, m->size, count); }

/* Says to the other side what it does while m runs count times. */
static void announce(const timed *m, uint64_t count)
{
	task *t = m->t;

	if (m->run == run_once && operations[m->op].announce)
		operations[m->op].announce(t, m->op, m->size, count);
	else if (m->run == run_lines)
		tell(t, t->peer, LINES, 0, m->size, count);
	else if (m->run == run_datagrams)
		tell(t, t->peer, DATAGRAMS, 0, m->size, count);
}

/* Seconds of count, after a first one without timing; 0 if it failed. */
static double block(timed *m, uint64_t count)
{
	int counts = m->run == run_once, worked;
	double took;

	announce(m, count + 1);
	if (!m->run(m, 1))
		return 0;
	if (counts)
		count_packets(m->t, &m->seen, -1);
	took = -now();
	worked = m->run(m, count);
	took += now();
	if (counts)
		count_packets(m->t, &m->seen, 1);
	m->seen.operations += count;
	return worked ? took : 0;
}

/* Sets the count of a block that takes about this time; 0 if it failed. */
static int calibrate(timed *m, double seconds)
{
	double took = 0;

	for (m->count = 1; m->count < MOST; m->count *= 2) {
		took = block(m, m->count);
		if (took <= 0)
			return 0;
		if (took > seconds / 4)
			break;
	}
	m->count = (uint64_t)((double)m->count * seconds / took);
	m->count = m->count < 1 ? 1 : m->count > MOST ? MOST : m->count;
	return 1;
}

static int in_order(const void *a, const void *b)
{
	double d = *(const double *)a - *(const double *)b;

	return (d > 0) - (d < 0);
}

static double fraction(timed *m, double which)
{
	qsort(m->took, BLOCKS, sizeof *m->took, in_order);
	return m->took[(int)(which * (BLOCKS - 1))];
}

/* ---- the row ---- */

/* Which raw limit goes with the row's link and size: what moves the same bytes. A get of more than
 * a slot can be had without the target, by a single copy. */
static int limit_of(const task *t, const row *r)
{
	int copied = r->size > (r->op == GET ? LONGEST_SLOT : RAW_LINE_MAX);

	if (r->link == LINK_SHM && !copied && t->raw & RAW_LINES)
		return LIMIT_LINES;
	if (r->link == LINK_SHM && copied && t->raw & RAW_COPY)
		return LIMIT_COPY;
	if (r->link == LINK_UDP && r->size <= RAW_UDP_MAX && t->raw & RAW_UDP)
		return LIMIT_UDP;
	return LIMIT_NONE;
}

static int runnable(void)
{
	FILE *f = fopen("/proc/loadavg", "re");
	int n = 0;

	if (f && fscanf(f, "%*s %*s %*s %d", &n) != 1)
		n = 0;
	if (f)
		fclose(f);
	return n;
}

/* Data are checked when all is measured: of rmw the sum, else the bytes of both sides. */
static void check(task *t, const row *r, int word)
{
	const operation *op = &operations[r->op];
	int64_t there = -1, here = -1;

	if (r->op == RMW) {
		if (ask(t, t->peer, WORD, 0, 0, 0) == word)
			fail("rmw: the word of task %d did not change", t->peer);
		return;
	}
	if (r->op == GFENCE)
		return;
	if (r->op != GET)
		there = ask(t, t->peer, CHECK, 0, r->size, 0);
	if (r->op == GET || op->one_way)
		here = wrong_byte(t, r->size);
	if (there >= 0 || here >= 0)
		fail("%s of %llu bytes: byte %lld at task %d is wrong", op->name,
		     (unsigned long long)r->size, (long long)(there >= 0 ? there : here),
		     there >= 0 ? t->peer : t->id);
}

static void prepare_raw(timed *raw, row *r, double seconds)
{
	static int (*const runs[])(timed *, uint64_t) = {NULL, run_lines, run_copies,
	                                                 run_datagrams};

	r->limit = limit_of(raw->t, r);
	raw->run = runs[r->limit];
	if (raw->run && !calibrate(raw, seconds))
		raw->run = NULL;
}

static void fill_in(row *r, timed *one, timed *many, timed *raw)
{
	const operation *op = &operations[r->op];
	double ways = op->one_way ? 2 : 1;

	r->median = fraction(one, 0.5) / ways;
	r->least = one->took[0] / ways;
	r->p90 = fraction(one, 0.9) / ways;
	r->rate = op->stream ? 1 / fraction(many, 0.5) : 1 / r->median;
	if (!raw->run)
		r->limit = LIMIT_NONE;
	if (r->limit == LIMIT_COPY)
		r->raw = fraction(raw, 0.5);
	else if (r->limit)
		r->raw = fraction(raw, 0.5) / 2 * op->trips;
}

void measure_row(task *t, int op, uint64_t size, row *r)
{
	const operation *of = &operations[op];
	double seconds = t->o->seconds / BLOCKS / PHASES;
	timed one = {.t = t, .op = op, .size = size, .run = run_once}, many = one, raw = one;
	timed *all[PHASES] = {&one, &many, &raw};
	int word;

	open_pair(t);
	memset(r, 0, sizeof *r);
	r->op = op;
	r->size = size;
	prepare(t, size);
	ask(t, t->peer, PREPARE, op, size, 0);
	word = (int)ask(t, t->peer, WORD, 0, 0, 0);
	many.run = of->stream ? run_stream : NULL;
	calibrate(&one, seconds);
	if (many.run)
		calibrate(&many, seconds);
	r->link = link_of(t, &one.seen);
	prepare_raw(&raw, r, seconds);
	for (int b = 0; b < BLOCKS; b++) {
		for (int i = 0; i < PHASES; i++) {
			if (all[i]->run)
				all[i]->took[b] =
					block(all[i], all[i]->count) / (double)all[i]->count;
			if (all[i]->run && all[i]->took[b] <= 0)
				all[i]->run = NULL; /* only raw limits can fail */
		}
	}
	r->runnable = runnable();
	check(t, r, word);
	r->way = way_of(r, &one.seen);
	fill_in(r, &one, &many, &raw);
}
