/*
 * lapi_compare.c - the operations that are compared with other libraries (make bench-peers). Where
 * it can be, each is done as those libraries' own benchmarks do it; mpi_compare.c has MPI's. Names
 * of operations are the same in both.
 */
#include "lapi_bench.h"

#include <stdlib.h>
#include <string.h>

static char *message_buffer;      /* where the header handlers put a message's data */
static volatile uint64_t handled; /* how often probed_handler ran */
/* how often this task has waited for it: it may run before, as any call makes progress */
static uint64_t awaited;
static void **handler_at, **probed_handler_at;

static void *handler(lapi_handle_t *hndl, void *uhdr, uint *uhdr_len, ulong *msg_len,
                     compl_hndlr_t **completion, void **info)
{
	(void)hndl;
	(void)uhdr;
	(void)uhdr_len;
	(void)msg_len;
	*completion = NULL;
	*info = NULL;
	return message_buffer;
}

static void *probed_handler(lapi_handle_t *hndl, void *uhdr, uint *uhdr_len, ulong *msg_len,
                            compl_hndlr_t **completion, void **info)
{
	handled++;
	return handler(hndl, uhdr, uhdr_len, msg_len, completion, info);
}

/* There and back. No origin counter is needed: the answer says that the data was read. */
static void put_rounds(task *t, size_t size, uint64_t n)
{
	uint peer = (uint)(1 - t->id);

	for (; n > 0; n--) {
		if (t->id == 1)
			task_wait(t, &t->arrived, 1);
		CHECK(LAPI_Put(t->handle, peer, size, t->in_at[peer], t->out,
		               (lapi_cntr_t *)t->arrived_at[peer], NULL, NULL));
		if (t->id == 0)
			task_wait(t, &t->arrived, 1);
	}
}

static void am_rounds(task *t, size_t size, uint64_t n)
{
	uint peer = (uint)(1 - t->id);

	for (; n > 0; n--) {
		if (t->id == 1)
			task_wait(t, &t->arrived, 1);
		CHECK(LAPI_Amsend(t->handle, peer, handler_at[peer], NULL, 0, t->out, size,
		                  (lapi_cntr_t *)t->arrived_at[peer], NULL, NULL));
		if (t->id == 0)
			task_wait(t, &t->arrived, 1);
	}
}

static void sent(lapi_handle_t *hndl, void *info, lapi_sh_info_t *why)
{
	(void)hndl;
	(void)info;
	(void)why;
}

static void am_handler_rounds(task *t, size_t size, uint64_t n)
{
	uint peer = (uint)(1 - t->id);
	lapi_xfer_t x;

	memset(&x, 0, sizeof(x));
	x.Am.Xfer_type = LAPI_AM_XFER;
	x.Am.tgt = peer;
	x.Am.hdr_hdl = (uintptr_t)handler_at[peer];
	x.Am.udata = t->out;
	x.Am.udata_len = size;
	x.Am.shdlr = sent;
	x.Am.tgt_cntr = (uintptr_t)t->arrived_at[peer];
	for (; n > 0; n--) {
		if (t->id == 1)
			task_wait(t, &t->arrived, 1);
		CHECK(LAPI_Xfer(t->handle, &x));
		if (t->id == 0)
			task_wait(t, &t->arrived, 1);
	}
}

static void probe_until_handled(task *t)
{
	for (awaited++; handled < awaited;)
		CHECK(LAPI_Probe(t->handle));
}

static void am_probe_rounds(task *t, size_t size, uint64_t n)
{
	uint peer = (uint)(1 - t->id);

	for (; n > 0; n--) {
		if (t->id == 1)
			probe_until_handled(t);
		CHECK(LAPI_Amsend(t->handle, peer, probed_handler_at[peer], NULL, 0, t->out, size,
		                  NULL, NULL, NULL));
		if (t->id == 0)
			probe_until_handled(t);
	}
}

static void put_windows(task *t, size_t size, uint64_t n)
{
	for (; n > 0; n--)
		put_window(t, size, compared_window(size));
}

static void put_fence_rounds(task *t, size_t size, uint64_t n)
{
	for (; n > 0; n--)
		put_fence_window(t, size, 1);
}

static void put_fence_windows(task *t, size_t size, uint64_t n)
{
	for (; n > 0; n--)
		put_fence_window(t, size, compared_window(size));
}

static void get_windows(task *t, size_t size, uint64_t n)
{
	for (; n > 0; n--)
		get_window(t, size, compared_window(size));
}

static void am_windows(task *t, size_t size, uint64_t n)
{
	int i, window = compared_window(size);

	for (; n > 0; n--) {
		for (i = 0; i < window; i++)
			CHECK(LAPI_Amsend(t->handle, 1, handler_at[1], NULL, 0, t->out, size, NULL,
			                  NULL, &t->completed));
		task_wait(t, &t->completed, window);
	}
}

/* The result that one round's nanoseconds stand for. */
typedef enum meaning { ONE_WAY_US, WHOLE_US, RATE, BANDWIDTH, BANDWIDTH_OF_ONE } meaning;
/* Which buffer must hold the other task's data afterwards. */
typedef enum effect { NOTHING, DATA_AT_TARGET, DATA_AT_ORIGIN, DATA_AT_BOTH } effect;

static const struct operation {
	const char *name;
	lapi_rounds *rounds;
	meaning is;
	effect leaves;
} operations[] = {
	{"am", am_rounds, ONE_WAY_US, DATA_AT_BOTH},
	{"am-handler", am_handler_rounds, ONE_WAY_US, DATA_AT_BOTH},
	{"am-probe", am_probe_rounds, ONE_WAY_US, DATA_AT_BOTH},
	{"put", put_rounds, ONE_WAY_US, DATA_AT_BOTH},
	{"put-completed", put_completed_rounds, WHOLE_US, DATA_AT_TARGET},
	{"put-fence", put_fence_rounds, WHOLE_US, DATA_AT_TARGET},
	{"get", get_rounds, WHOLE_US, DATA_AT_ORIGIN},
	{"fetch-and-add", fetch_and_add_rounds, WHOLE_US, NOTHING},
	{"put-rate", put_windows, RATE, DATA_AT_TARGET},
	{"put-fence-rate", put_fence_windows, RATE, DATA_AT_TARGET},
	{"am-rate", am_windows, RATE, DATA_AT_TARGET},
	{"put-bandwidth", put_windows, BANDWIDTH, DATA_AT_TARGET},
	{"get-bandwidth", get_windows, BANDWIDTH, DATA_AT_ORIGIN},
	{"put-cold", put_completed_rounds, BANDWIDTH_OF_ONE, DATA_AT_TARGET},
};

static double in_unit(meaning is, double ns, size_t size, const char **unit)
{
	int window = compared_window(size);

	*unit = is == RATE ? "M/s" : is == BANDWIDTH || is == BANDWIDTH_OF_ONE ? "GB/s" : "us";
	switch (is) {
	case ONE_WAY_US:
		return ns / 2e3;
	case WHOLE_US:
		return ns / 1e3;
	case RATE:
		return window * 1e3 / ns;
	case BANDWIDTH:
		return (double)size * window / ns;
	case BANDWIDTH_OF_ONE:
		return (double)size / ns;
	}
	fail("no meaning %d", (int)is);
}

static void expect(const char *buffer, size_t size, char value, const char *op)
{
	size_t i;

	for (i = 0; i < size; i++)
		if (buffer[i] != value)
			fail("%s of %zu bytes: byte %zu is %#x, not %#x: the operation did not do its work",
			     op, size, i, (unsigned char)buffer[i], (unsigned char)value);
}

/* A figure counts only if the data got there: buffers are marked before, and looked at
 * afterwards. */
static void one(task *t, const struct operation *op, size_t size)
{
	const char mark[2] = {'o', 't'}; /* by task */
	const char *unit;
	long long word = t->word;
	measured r;
	double v;

	memset(t->out, mark[t->id], size);
	memset(t->in, op->leaves == DATA_AT_ORIGIN ? mark[t->id] : 0, size);
	r = task_measure(t, op->rounds, op->is == ONE_WAY_US, size);
	CHECK(LAPI_Gfence(t->handle));
	if (op->leaves == DATA_AT_BOTH || (op->leaves == DATA_AT_TARGET && t->id == 1))
		expect(t->in, size, mark[1 - t->id], op->name);
	if (op->leaves == DATA_AT_ORIGIN && t->id == 0)
		expect(t->out, size, mark[1], op->name);
	if (op->rounds == fetch_and_add_rounds && t->id == 1 && t->word == word)
		fail("%s: the word did not change", op->name);
	if (t->id != 0)
		return;
	v = in_unit(op->is, r.ns, size, &unit);
	print_row("compare", op->name, size, v, unit, r.before, r.after, r.preempted);
}

void test_compare(board *b, const bench_options *o)
{
	task t;
	size_t k;
	int i;

	task_init(&t, b, o, 0, o->sizes[o->num_sizes - 1]);
	if (t.num_tasks != 2)
		fail("compare needs 2 tasks");
	message_buffer = t.in;
	handler_at = task_exchange(&t, (void *)handler);
	probed_handler_at = task_exchange(&t, (void *)probed_handler);
	CHECK(LAPI_Gfence(t.handle));
	for (k = 0; k < sizeof operations / sizeof *operations; k++)
		for (i = 0; i < o->num_sizes; i++)
			if (is_wanted(o->ops, operations[k].name))
				one(&t, &operations[k], o->sizes[i]);
	task_term(&t);
	free(handler_at);
	free(probed_handler_at);
}

/* ---- puts to a target that computes ---- */

typedef struct computing {
	task *t;
	size_t size;
} computing;

static void origin_windows(void *arg, uint64_t n)
{
	computing *c = arg;
	task *t = c->t;
	int i, window = compared_window(c->size);

	for (; n > 0; n--) {
		for (i = 0; i < window; i++)
			CHECK(LAPI_Put(t->handle, 1, c->size, t->in_at[1], t->out, NULL, &t->origin,
			               NULL));
		task_wait(t, &t->origin, window);
	}
}

/* The target computes, and makes no call, until the origin says on the board that it has
 * finished. */
static void compute_until_over(void *arg)
{
	computing *c = arg;
	board *b = c->t->b;
	volatile double x = 1;

	if (c->t->id == 0) {
		CHECK(LAPI_Fence(c->t->handle));
		__atomic_add_fetch(&b->count.value, 1, __ATOMIC_RELEASE);
		return;
	}
	while (__atomic_load_n(&b->count.value, __ATOMIC_ACQUIRE) == b->word[1].value)
		x = x * 1.0000001 + 1e-9;
	b->word[1].value++;
}

static void computing_progress(void *arg)
{
	CHECK(LAPI_Probe(((computing *)arg)->t->handle));
}

void test_compare_computing(board *b, const bench_options *o)
{
	task t;
	computing c = {&t, 0};
	measurement m = {b, o, 0, origin_windows, compute_until_over, computing_progress, &c};
	measured r;
	int i;

	ordinary_priority();
	task_init(&t, b, o, 1, o->sizes[o->num_sizes - 1]);
	if (t.num_tasks != 2)
		fail("compare-computing needs 2 tasks");
	/* Only this thread: the library's own, made by LAPI_Init, may run wherever a core is
	 * free. */
	pin_to_core(t.id);
	m.id = t.id;
	for (i = 0; i < o->num_sizes; i++) {
		c.size = o->sizes[i];
		memset(t.out, 'o', c.size);
		memset(t.in, 0, c.size);
		r = measure(&m);
		CHECK(LAPI_Gfence(t.handle));
		if (t.id == 1)
			expect(t.in, c.size, 'o', "put-computing");
		else
			print_row("compare", "put-computing", c.size,
			          (double)c.size * compared_window(c.size) / r.ns, "GB/s", r.before,
			          r.after, r.preempted);
	}
	task_term(&t);
}
