/* lapi_latency.c - how long one operation takes, with nothing else under way: put, active message,
 * get, fetch-and-add. */
#include "lapi_bench.h"

#include <stdlib.h>

/* Where the header handler puts the data of a message: the task's own buffer, which it cannot know
 * otherwise. */
static char *message_buffer;
/* Where the other tasks have name_buffer: programs are loaded anywhere. */
static void **handler_at;

static void *name_buffer(lapi_handle_t *hndl, void *uhdr, uint *uhdr_len, ulong *msg_len,
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

/* Put there, put back: each side answers when its target counter says that the other's data has
 * arrived. */
static void put_rounds(task *t, size_t size, uint64_t n)
{
	uint peer = (uint)(1 - t->id);

	for (; n > 0; n--) {
		if (t->id == 1)
			task_wait(t, &t->arrived, 1);
		CHECK(LAPI_Put(t->handle, peer, size, t->in_at[peer], t->out,
		               (lapi_cntr_t *)t->arrived_at[peer], &t->origin, NULL));
		if (t->id == 0)
			task_wait(t, &t->arrived, 1);
		task_wait(t, &t->origin, 1); /* the buffer is used again */
	}
}

static void am_rounds(task *t, size_t size, uint64_t n)
{
	uint peer = (uint)(1 - t->id);
	uint64_t uhdr = 0;

	for (; n > 0; n--) {
		if (t->id == 1)
			task_wait(t, &t->arrived, 1);
		CHECK(LAPI_Amsend(t->handle, peer, handler_at[peer], &uhdr, sizeof uhdr, t->out,
		                  size, (lapi_cntr_t *)t->arrived_at[peer], &t->origin, NULL));
		if (t->id == 0)
			task_wait(t, &t->arrived, 1);
		task_wait(t, &t->origin, 1);
	}
}

/* Until the origin knows that the data is at the target. */
void put_completed_rounds(task *t, size_t size, uint64_t n)
{
	for (; n > 0; n--) {
		CHECK(LAPI_Put(t->handle, 1, size, t->in_at[1], t->out, NULL, NULL, &t->completed));
		task_wait(t, &t->completed, 1);
	}
}

void get_rounds(task *t, size_t size, uint64_t n)
{
	for (; n > 0; n--) {
		CHECK(LAPI_Get(t->handle, 1, size, t->in_at[1], t->out, NULL, &t->origin));
		task_wait(t, &t->origin, 1);
	}
}

void fetch_and_add_rounds(task *t, size_t size, uint64_t n)
{
	long long one = 1, previous;

	(void)size;
	for (; n > 0; n--) {
		CHECK(LAPI_Rmw64(t->handle, FETCH_AND_ADD, 1, t->word_at[1], &one, &previous,
		                 &t->origin));
		task_wait(t, &t->origin, 1);
	}
}

/* The same active messages with the lock that LAPI shares held from the first to the last (guide,
 * Chapter 12). */
static lapi_thread_func_t shared_lock;

static void am_locked_rounds(task *t, size_t size, uint64_t n)
{
	if (shared_lock.mutex_lock(t->handle))
		fail("the shared lock cannot be locked");
	am_rounds(t, size, n);
	if (shared_lock.mutex_unlock(t->handle))
		fail("the shared lock cannot be unlocked");
}

static void row(task *t, const char *test, const char *op, lapi_rounds *rounds, int in_step,
                size_t size)
{
	measured r = task_measure(t, rounds, in_step, size);

	/* in step a round is there and back; else it is the whole operation, as its user waits for
	 * it */
	if (t->id == 0)
		print_row(test, op, size, r.ns / (in_step ? 2e3 : 1e3), "us", r.before, r.after,
		          r.preempted);
}

static void one(task *t, const char *op, lapi_rounds *rounds, int in_step, size_t size)
{
	row(t, "latency", op, rounds, in_step, size);
}

void test_latency(board *b, const bench_options *o)
{
	size_t most = o->sizes[o->num_sizes - 1];
	task t;
	int i;

	task_init(&t, b, o, 0, most);
	if (t.num_tasks != 2)
		fail("latency needs 2 tasks");
	message_buffer = t.in;
	handler_at = task_exchange(&t, (void *)name_buffer);
	CHECK(LAPI_Gfence(t.handle));
	for (i = 0; i < o->num_sizes; i++) {
		one(&t, "put", put_rounds, 1, o->sizes[i]);
		one(&t, "am", am_rounds, 1, o->sizes[i]);
		one(&t, "get", get_rounds, 0, o->sizes[i]);
		one(&t, "put-completed", put_completed_rounds, 0, o->sizes[i]);
	}
	one(&t, "fetch-and-add", fetch_and_add_rounds, 0, 8);
	task_term(&t);
	free(handler_at);
}

void test_lock(board *b, const bench_options *o)
{
	task t;

	task_init(&t, b, o, 0, 8);
	if (t.num_tasks != 2)
		fail("lock needs 2 tasks");
	message_buffer = t.in;
	handler_at = task_exchange(&t, (void *)name_buffer);
	shared_lock.Util_type = LAPI_GET_THREAD_FUNC;
	CHECK(LAPI_Util(t.handle, (lapi_util_t *)(void *)&shared_lock));
	CHECK(LAPI_Gfence(t.handle));
	row(&t, "lock", "am-without", am_rounds, 1, 0);
	row(&t, "lock", "am-with", am_locked_rounds, 1, 0);
	task_term(&t);
	free(handler_at);
}
