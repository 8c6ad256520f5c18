/* ops.c - the operations that are measured, and what their targets do meanwhile. */
#include "perf.h"

#include <string.h>

/* Where the header handler puts the data of a message. */
static char *message_buffer;

void *header_handler(lapi_handle_t *h, void *uhdr, uint *uhdr_len, ulong *msg_len,
                     compl_hndlr_t **completion, void **info)
{
	(void)h, (void)uhdr, (void)uhdr_len, (void)msg_len;
	*completion = NULL;
	*info = NULL;
	return message_buffer;
}

static unsigned char pattern(int task, uint64_t i)
{
	return (unsigned char)(1 + (uint64_t)task * 7 + i % 113 + (i >> 9) % 101);
}

void prepare(task *t, uint64_t size)
{
	message_buffer = t->mine->own.in;
	for (uint64_t i = 0; i < size; i++)
		t->mine->own.out[i] = (char)pattern(t->id, i);
	memset(t->mine->own.in, 0, size);
}

int64_t wrong_byte(const task *t, uint64_t size)
{
	for (uint64_t i = 0; i < size; i++)
		if ((unsigned char)t->mine->own.in[i] != pattern(t->peer, i))
			return (int64_t)i;
	return -1;
}

/* Starts a put or an active message. */
static void begin(task *t, int op, uint64_t size, lapi_cntr_t *arrived, lapi_cntr_t *completed)
{
	const hello *own = &t->mine->own, *peer = &t->mine->peer;

	if (op == AM)
		MUST(LAPI_Amsend(t->handle, (uint)t->peer, peer->handler, NULL, 0, own->out, size,
		                 arrived, NULL, completed));
	else
		MUST(LAPI_Put(t->handle, (uint)t->peer, size, peer->in, own->out, arrived, NULL,
		              completed));
}

static void order_answers(task *t, int op, uint64_t size, uint64_t count)
{
	tell(t, t->peer, ANSWER, op, size, count);
}

static void there_and_back(task *t, int op, uint64_t size, uint64_t count)
{
	for (; count > 0; count--) {
		begin(t, op, size, &t->of[t->peer]->arrived, NULL);
		await(t, &t->mine->arrived, 1);
	}
}

void answer(task *t, int op, uint64_t size, uint64_t count)
{
	for (; count > 0; count--) {
		await(t, &t->mine->arrived, 1);
		begin(t, op, size, &t->of[t->peer]->arrived, NULL);
	}
}

static void begin_get(task *t, uint64_t size)
{
	MUST(LAPI_Get(t->handle, (uint)t->peer, size, t->mine->peer.out, t->mine->own.in, NULL,
	              &t->completed));
}

static void begin_rmw(task *t)
{
	int one = 1;

	MUST(LAPI_Rmw(t->handle, FETCH_AND_ADD, (uint)t->peer, &t->of[t->peer]->word, &one,
	              &t->fetched, &t->completed));
}

static void start(task *t, int op, uint64_t size)
{
	if (op == GET)
		begin_get(t, size);
	else if (op == RMW)
		begin_rmw(t);
	else
		begin(t, op, size, NULL, &t->completed);
}

static void one_by_one(task *t, int op, uint64_t size, uint64_t count)
{
	for (; count > 0; count--) {
		start(t, op, size);
		await(t, &t->completed, 1);
	}
}

/* 64 operations under way, 16 above 64 KiB: as UCX's and Open MPI's own benchmarks. */
static void windows(task *t, int op, uint64_t size, uint64_t count)
{
	uint64_t most = size <= 65536 ? 64 : 16;

	while (count > 0) {
		uint64_t n = count < most ? count : most;

		for (uint64_t i = 0; i < n; i++)
			start(t, op, size);
		await(t, &t->completed, (int)n);
		count -= n;
	}
}

static void fences(task *t, int op, uint64_t size, uint64_t count)
{
	(void)op;
	for (; count > 0; count--) {
		begin(t, PUT, size, NULL, NULL);
		MUST(LAPI_Fence(t->handle));
	}
}

static void order_gfences(task *t, int op, uint64_t size, uint64_t count)
{
	for (int i = 1; i < t->num_tasks; i++)
		tell(t, i, GFENCES, op, size, count);
}

static void gfences(task *t, int op, uint64_t size, uint64_t count)
{
	(void)op, (void)size;
	for (; count > 0; count--)
		MUST(LAPI_Gfence(t->handle));
}

const operation operations[OPERATIONS] = {
	{"put", 1, 1, 1, order_answers, there_and_back, windows},
	{"get", 1, 0, 2, NULL, one_by_one, windows},
	{"am", 1, 1, 1, order_answers, there_and_back, windows},
	{"rmw", 0, 0, 2, NULL, one_by_one, windows},
	{"fence", 0, 0, 2, NULL, fences, NULL},
	{"gfence", 0, 0, 1, order_gfences, gfences, NULL},
};
