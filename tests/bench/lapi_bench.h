/* lapi_bench.h - shared by the benchmark programs that use LAPI: the task, its addresses, the
 * measuring of rounds. */
#ifndef LAPI_BENCH_H
#define LAPI_BENCH_H

#include <lapi.h>

#include "measure.h"

/* A LAPI call that must succeed: an error ends the task, and with it the job. */
#define CHECK(call) check((call), #call)
void check(int code, const char *call);

/* The state of a task. The arrays from LAPI_Address_init are indexed by task. */
typedef struct task {
	board *b;
	const bench_options *o;
	lapi_handle_t handle;
	int id, num_tasks;
	char *out, *in;      /* buffers of the largest size */
	void **in_at;        /* in of every task */
	lapi_cntr_t arrived; /* target counter of what is measured */
	void **arrived_at;
	lapi_cntr_t over; /* target counter: the origin has finished a point */
	void **over_at;
	lapi_cntr_t origin, completed;
	long long word; /* target of fetch-and-add */
	void **word_at;
} task;

/* Makes the context with interrupts on or off, finds out who this is, and, when buffers is not 0,
 * allocates buffers of that many bytes and exchanges addresses. Pins the task in polling mode. */
void task_init(task *t, board *b, const bench_options *o, int interrupts, size_t buffers);
/* n bytes on a page boundary, all touched. */
char *task_buffer(size_t n);
/* LAPI_Address_init: the value of every task, in memory that the caller frees. */
void **task_exchange(task *t, void *mine);
/* Gfence, LAPI_Term, frees. */
void task_term(task *t);
/* Meets the other tasks on the board while LAPI makes progress. */
void task_meet(task *t);
/* Waits until a counter has grown by val. */
void task_wait(task *t, lapi_cntr_t *c, int val);

/* n rounds of an operation of size bytes between tasks 0 and 1. In step: task 1 calls it with the
 * same n, answering; else task 1 only waits in LAPI for counter over. Both are in LAPI whenever
 * task 0 measures. */
typedef void lapi_rounds(task *t, size_t size, uint64_t n);
measured task_measure(task *t, lapi_rounds *rounds, int in_step, size_t size);

/* Rounds of one operation that lasts until the origin knows it is complete. */
lapi_rounds put_completed_rounds, get_rounds, fetch_and_add_rounds;

/* A window: starts count operations of size bytes to task 1 and waits for all of them. */
void put_window(task *t, size_t size, int count);
void get_window(task *t, size_t size, int count);
/* By LAPI_Fence instead of the completion counter. */
void put_fence_window(task *t, size_t size, int count);

/* The tests, as named on the command line; they make and end the context. */
void test_latency(board *b, const bench_options *o);
void test_bandwidth(board *b, const bench_options *o);
void test_rate(board *b, const bench_options *o);
void test_vector(board *b, const bench_options *o);
void test_pack(board *b, const bench_options *o);
void test_lock(board *b, const bench_options *o);
void test_gfence(board *b, const bench_options *o);
void test_call(board *b, const bench_options *o);
void test_startup(board *b, const bench_options *o);
void test_memory(board *b, const bench_options *o);
void test_compare(board *b, const bench_options *o);
void test_compare_computing(board *b, const bench_options *o);
void test_interrupt(board *b, const bench_options *o);
void test_interrupt_busy(board *b, const bench_options *o);

#endif
