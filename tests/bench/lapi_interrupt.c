/*
 * lapi_interrupt.c - interrupt mode: how long a message waits whose target computes and calls
 * nothing.
 *
 * The origin sleeps between messages and does not wait in LAPI for them, so with one computing
 * thread at the target a core is free; with as many as there are cores, none is.
 */
#include "lapi_bench.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SAMPLES 1000 /* at most */

static board *served_board;
static volatile int computing_over;
static void **handler_at; /* note_delay, as each task has it */

/* Runs at the target: the delay since the origin's time, which the user header carries. */
static void *note_delay(lapi_handle_t *hndl, void *uhdr, uint *uhdr_len, ulong *msg_len,
                        compl_hndlr_t **completion, void **info)
{
	uint64_t now = clock_ns(), served = served_board->count.value;

	(void)hndl;
	(void)uhdr_len;
	(void)msg_len;
	*completion = NULL;
	*info = NULL;
	if (served < SAMPLES)
		served_board->sample[served] = (double)(now - *(uint64_t *)uhdr);
	/* release: publishes the sample to the origin's acquire */
	__atomic_store_n(&served_board->count.value, served + 1, __ATOMIC_RELEASE);
	return NULL;
}

static void *compute(void *arg)
{
	volatile double x = 1;

	(void)arg;
	while (!computing_over)
		x = x * 1.0000001 + 1e-9;
	return NULL;
}

/* The target: computes in n threads, this one included, until the origin says on the board that it
 * has finished. */
static void target(task *t, int n)
{
	pthread_t *threads = calloc((size_t)n, sizeof *threads);
	volatile double x = 1;
	int i;

	for (i = 1; i < n; i++)
		if (!threads || pthread_create(&threads[i], NULL, compute, NULL))
			fail("no thread to compute in");
	while (__atomic_load_n(&t->b->word[1].value, __ATOMIC_ACQUIRE) == 0)
		x = x * 1.0000001 + 1e-9;
	computing_over = 1;
	for (i = 1; i < n; i++)
		pthread_join(threads[i], NULL);
	free(threads);
}

/* One message; returns when it was served. */
static void one_message(task *t, uint64_t number)
{
	uint64_t sent = clock_ns();

	CHECK(LAPI_Amsend(t->handle, 1, handler_at[1], &sent, sizeof sent, NULL, 0, NULL, NULL,
	                  NULL));
	while (__atomic_load_n(&t->b->count.value, __ATOMIC_ACQUIRE) < number) {
		if (clock_ns() - sent > 10000000000u)
			fail("message %d was not served within 10 s: interrupt mode does not work",
			     (int)number);
		usleep(500);
	}
}

static void origin(task *t, const char *op)
{
	static const struct {
		const char *name;
		double p;
	} quantiles[] = {{"median", 0.5}, {"p90", 0.9}, {"max", 1}};
	double v[SAMPLES];
	char name[64];
	uint64_t start;
	int n = 0, i;

	start = clock_ns();
	/* 1 to 5 ms between messages, never in step with anything periodic; a fixed seed so that
	 * runs compare */
	for (srand(1);
	     n < SAMPLES && (n < 20 || (double)(clock_ns() - start) < t->o->seconds * 1e9); n++) {
		usleep(1000 + (useconds_t)(rand() % 4000));
		one_message(t, (uint64_t)n + 1);
	}
	__atomic_store_n(&t->b->word[1].value, 1, __ATOMIC_RELEASE);
	for (i = 0; i < n; i++)
		v[i] = t->b->sample[i];
	for (i = 0; i < 3; i++) {
		snprintf(name, sizeof name, "%s-%s", op, quantiles[i].name);
		print_row("interrupt", name, 8, fraction(v, n, quantiles[i].p) / 1e3, "us", 0, 0,
		          0);
	}
}

static void run(board *b, const bench_options *o, const char *op, int threads)
{
	task t;

	ordinary_priority();
	served_board = b;
	task_init(&t, b, o, 1, 8);
	if (t.num_tasks != 2)
		fail("interrupt needs 2 tasks");
	handler_at = task_exchange(&t, (void *)note_delay);
	CHECK(LAPI_Gfence(t.handle));
	if (t.id == 0)
		origin(&t, op);
	else
		target(&t, threads);
	task_term(&t);
	free(handler_at);
}

void test_interrupt(board *b, const bench_options *o)
{
	run(b, o, "free-core", 1);
}

void test_interrupt_busy(board *b, const bench_options *o)
{
	run(b, o, "no-free-core", usable_cores());
}
