/* lapi_stream.c - many operations under way at once: bandwidth of large ones, rate of small
 * ones. */
#include "lapi_bench.h"

#define RATE_WINDOW 64
#define WINDOW_BYTES (16u << 20)

/* How many operations of a size are under way at once. */
static int window_of(size_t size)
{
	size_t w = WINDOW_BYTES / size;

	return w < 4 ? 4 : w > RATE_WINDOW ? RATE_WINDOW : (int)w;
}

void put_window(task *t, size_t size, int count)
{
	int i;

	for (i = 0; i < count; i++)
		CHECK(LAPI_Put(t->handle, 1, size, t->in_at[1], t->out, NULL, NULL, &t->completed));
	task_wait(t, &t->completed, count);
}

void get_window(task *t, size_t size, int count)
{
	int i;

	for (i = 0; i < count; i++)
		CHECK(LAPI_Get(t->handle, 1, size, t->in_at[1], t->out, NULL, &t->origin));
	task_wait(t, &t->origin, count);
}

void put_fence_window(task *t, size_t size, int count)
{
	int i;

	for (i = 0; i < count; i++)
		CHECK(LAPI_Put(t->handle, 1, size, t->in_at[1], t->out, NULL, NULL, NULL));
	CHECK(LAPI_Fence(t->handle));
}

static void put_rounds(task *t, size_t size, uint64_t n)
{
	for (; n > 0; n--)
		put_window(t, size, window_of(size));
}

static void get_window_rounds(task *t, size_t size, uint64_t n)
{
	for (; n > 0; n--)
		get_window(t, size, window_of(size));
}

static void put_then_fence_rounds(task *t, size_t size, uint64_t n)
{
	for (; n > 0; n--)
		put_fence_window(t, size, window_of(size));
}

static void bandwidth(task *t, const char *op, lapi_rounds *rounds, size_t size)
{
	measured r = task_measure(t, rounds, 0, size);

	if (t->id == 0)
		print_row("bandwidth", op, size, (double)size * window_of(size) / r.ns, "GB/s",
		          r.before, r.after, r.preempted);
}

void test_bandwidth(board *b, const bench_options *o)
{
	task t;
	int i;

	task_init(&t, b, o, 0, o->sizes[o->num_sizes - 1]);
	if (t.num_tasks != 2)
		fail("bandwidth needs 2 tasks");
	CHECK(LAPI_Gfence(t.handle));
	for (i = 0; i < o->num_sizes; i++) {
		bandwidth(&t, "put", put_rounds, o->sizes[i]);
		bandwidth(&t, "get", get_window_rounds, o->sizes[i]);
	}
	task_term(&t);
}

static void rate(task *t, const char *op, lapi_rounds *rounds)
{
	measured r = task_measure(t, rounds, 0, 8);

	if (t->id == 0)
		print_row("rate", op, 8, window_of(8) * 1e3 / r.ns, "M/s", r.before, r.after,
		          r.preempted);
}

void test_rate(board *b, const bench_options *o)
{
	task t;

	task_init(&t, b, o, 0, 8);
	if (t.num_tasks != 2)
		fail("rate needs 2 tasks");
	CHECK(LAPI_Gfence(t.handle));
	rate(&t, "put", put_rounds);
	rate(&t, "put-fence", put_then_fence_rounds);
	task_term(&t);
}
