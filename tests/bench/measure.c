/* measure.c - see measure.h. */
#include "measure.h"

#include <string.h>

static void over(const measurement *m)
{
	if (m->over)
		m->over(m->arg);
}

static void meet(const measurement *m)
{
	board_barrier(m->b, 2, m->progress, m->arg);
}

measured measure(const measurement *m)
{
	measured r = {0, 0, 0, 0};
	int active = m->id == 0 || !m->over;
	batches s = {.count = 0};
	uint64_t n, start;

	meet(m);
	r.before = board_state(m->b, m->id);
	if (active) {
		m->rounds(m->arg, 4); /* cold: not to be timed */
		start = clock_ns();
		m->rounds(m->arg, 16);
		if (m->id == 0)
			m->b->word[0].value =
				batch_iterations(m->o, (double)(clock_ns() - start), 16);
	}
	over(m);
	meet(m);
	n = m->b->word[0].value;
	while (active && s.count < BATCHES) {
		batch_begin(&s);
		m->rounds(m->arg, n);
		batch_end(&s, n);
	}
	over(m);
	meet(m);
	r.after = board_state(m->b, m->id);
	if (active) {
		r.ns = batches_median(&s);
		r.preempted = batches_preempted(&s);
	}
	return r;
}

/* n barriers, timed. */
static void barriers(const barrier_measurement *m, batches *s, uint64_t n)
{
	uint64_t i;

	batch_begin(s);
	for (i = 0; i < n; i++)
		m->barrier(m->arg);
	batch_end(s, n);
}

measured measure_barrier(const barrier_measurement *m)
{
	measured r = {0, 0, 0, 0};
	batches s = {.count = 0};

	board_barrier(m->b, m->n, m->progress, m->arg);
	if (m->id < 2 && m->n > 1)
		r.before = board_state(m->b, m->id);
	board_barrier(m->b, m->n, m->progress, m->arg);
	m->barrier(m->arg);
	barriers(m, &s, 20); /* only to see how long one takes */
	if (m->id == 0)
		m->b->word[0].value = batch_iterations(m->o, s.ns[0], 1);
	board_barrier(m->b, m->n, m->progress, m->arg);
	s.count = 0;
	while (s.count < BATCHES)
		barriers(m, &s, m->b->word[0].value);
	board_barrier(m->b, m->n, m->progress, m->arg);
	if (m->id < 2 && m->n > 1)
		r.after = board_state(m->b, m->id);
	r.ns = m->n > usable_cores() ? median(s.ns, BATCHES) : batches_median(&s);
	r.preempted = batches_preempted(&s);
	return r;
}

int compared_window(size_t size)
{
	return size <= 65536 ? 64 : 16;
}

int is_wanted(const char *names, const char *name)
{
	size_t n = strlen(name);

	while (names && (strncmp(names, name, n) || (names[n] != ',' && names[n] != 0))) {
		names = strchr(names, ',');
		if (!names)
			return 0;
		names++;
	}
	return 1;
}
