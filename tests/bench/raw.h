/* raw.h - the raw limits: what the machine does without the library. One function for each test of
 * the program. */
#ifndef BENCH_RAW_H
#define BENCH_RAW_H

#include "measure.h"

/* The part of a test in each of two or more pinned processes; id counts from 0. */
typedef void raw_body(board *b, const bench_options *o, int id, void *arg);

/* Runs body in n processes, each pinned to a core by its id; the caller is number 0. Returns when
 * all have ended; ends the program if one failed. arg goes to each, as it was before the fork. */
void raw_spawn(board *b, const bench_options *o, int n, raw_body *body, void *arg);

/* Sides 0 and 1 in step: see measure. */
typedef void raw_rounds(void *arg, uint64_t n);
measured raw_measure(board *b, const bench_options *o, int id, raw_rounds *rounds, void *arg);

void raw_cacheline(board *b, const bench_options *o);
void raw_queue(board *b, const bench_options *o);
void raw_barrier(board *b, const bench_options *o);
void raw_memcpy(board *b, const bench_options *o);
void raw_writev(board *b, const bench_options *o);
void raw_writev_computing(board *b, const bench_options *o);
void raw_writev_turns(board *b, const bench_options *o);
void raw_pipeline(board *b, const bench_options *o);
void raw_route(board *b, const bench_options *o);
void raw_state(board *b, const bench_options *o);
void raw_udp_pingpong(board *b, const bench_options *o);
void raw_udp_stream(board *b, const bench_options *o);
void raw_udp_rate(board *b, const bench_options *o);

#endif
