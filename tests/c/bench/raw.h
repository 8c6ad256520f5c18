/* raw.h - the raw limits: what the machine does without the library. One function for each test of the program. */
#ifndef BENCH_RAW_H
#define BENCH_RAW_H

#include "board.h"

/* What a test does in each of two or more pinned processes; id counts from 0. */
typedef void raw_body(board *b, const bench_options *o, int id, void *arg);

/* Runs body in n processes, each pinned to a core by its id; the caller is number 0. Returns when all have ended; ends the program
 * if one failed. arg goes to each, as it was before the fork. */
void raw_spawn(board *b, const bench_options *o, int n, raw_body *body, void *arg);

/* The rounds of a test whose sides run in step: round(arg, n) does n rounds and is called by both sides with the same
 * numbers. Side 0 measures the time of one round, in ns, median of batches, and returns it with the state around it. */
typedef struct raw_result {
	double ns, before, after;
	long preempted;
} raw_result;
typedef void raw_rounds(void *arg, uint64_t n);
raw_result raw_measure(board *b, const bench_options *o, int id, raw_rounds *rounds, void *arg);

void raw_cacheline(board *b, const bench_options *o);
void raw_queue(board *b, const bench_options *o);
void raw_barrier(board *b, const bench_options *o);
void raw_memcpy(board *b, const bench_options *o);
void raw_writev(board *b, const bench_options *o);
void raw_udp_pingpong(board *b, const bench_options *o);
void raw_udp_stream(board *b, const bench_options *o);
void raw_udp_rate(board *b, const bench_options *o);

#endif
