/*
 * fake.h - a core made of a queue, in place of the golapi_ functions of capi: so that the lock,
 * waiting, the threads and the entry points are tested without the Go run-time, under sanitizers.
 * It keeps core's side of golapi.h and aborts when C breaks its own.
 */
#ifndef CTEST_FAKE_H
#define CTEST_FAKE_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "handlers/called.h"
#include "lapi/internal.h"

#define CHECK(condition)                                                                        \
	do {                                                                                    \
		if (!(condition)) {                                                             \
			fprintf(stderr, "%s:%d: failed: %s\n", __FILE__, __LINE__, #condition); \
			abort();                                                                \
		}                                                                               \
	} while (0)

/* Settings of the fake, read at its next use; tests set it before LAPI_Init or between calls. */
extern struct fake_settings {
	uint32_t spin_turns, yield_turns;
	int init_code;      /* golapi_init's result */
	int polling;        /* begin with INTERRUPT_SET off */
	int64_t timeout_ns; /* the timeout that golapi_arm asks for */
	int fence_over;     /* golapi_fence_begin gives no ticket */
} fake_settings;

/* Counts of events since fake_reset_counts; atomic. */
extern struct fake_counts {
	uint32_t dispatches, arms, disarms, inits, term_ends, completions_done;
	uint32_t away; /* the last argument of golapi_away; not reset */
	/* how often it was called for a context's task that is not away any more; not reset */
	uint32_t back[CSHIM_MAX_CONTEXTS];
} fake_counts;
void fake_reset_counts(void);

typedef void fake_action(int context, void *argument);

/* A "packet": action runs in a dispatcher turn, under the lock. From any thread, without the lock.
 */
void fake_arrive(cshim_context *context, fake_action *action, void *argument);
/* A packet that adds 1 to a counter. */
void fake_count(cshim_context *context, int *counter);
/* From an action: adds to a counter as core does; sets bits of msg_state; ends every ticket; queues
 * a completion handler or an error. */
void fake_add(int context, int *counter, int n);
void fake_set_state(int context, uint32_t bits);
void fake_finish_tickets(int context, int result);
void fake_queue_completion(int context, compl_hndlr_t *handler, void *info);
void fake_queue_error(int context, LAPI_err_hndlr *handler, int code);
/* Another task is lost, of which the launcher is about to end the job. */
void fake_queue_loss(int context, int patience_ms);
/* When set, tickets stay open until fake_finish_tickets; else one dispatcher turn ends them. */
void fake_hold_tickets(int hold);
/* The transfer of the last golapi_xfer. */
extern cshim_transfer fake_transfer;
/* The context behind a handle. */
cshim_context *fake_context(lapi_handle_t handle);

/* LAPI_Init that must succeed. */
lapi_handle_t fake_init(lapi_info_t *info);
void fake_sleep_us(long us);
/* Waits until *word is at least value; aborts after a minute. */
void fake_await(const uint32_t *word, uint32_t value);
pthread_t fake_thread(void *(*body)(void *), void *argument);

/* The tests, one function a file. */
void test_progress(void);
void test_lock(void);
void test_block(void);
void test_owed(void);
void test_wait(void);
void test_stress(void);
void test_threads(void);
void test_calls(void);
void test_handlers(void);
void test_term(void);
void test_fork(void);
void test_exit(void);
void test_share(void);
void test_fatal(void);
void test_trace(void);
void test_guard(void);
void test_node(void);
void test_looks(void);
void test_route(void);
void test_route_use(void); /* a part of it */
void test_stretch(void);
void test_cold(void);
void test_streams(void);
void test_pull(void);
void test_push(void);
void test_lane(void);
void test_rules(void);
void test_fence(void);
void test_sent(void);
void test_hostile(void);
void test_outbox(void);
void test_packets(void);
void test_joined(void);
void test_flush(void);
void test_barrier(void);
void test_refused(void);
void test_fortran(void);
void test_coll(void);
void test_group(void);
void test_group_threads(void);
void test_group_path(void);
void test_group_copy(void);
void test_group_push(void);
void test_group_call(void);
void test_direct(void);
void test_ends(void);
void test_rc(void);
void test_rc_ends(void);
void test_rc_peer(void);
void test_rc_shared(void);
void test_dat_hostile(void);
void test_names_hostile(void);
void test_polls(void);
void test_dev(void);
void test_evd(void);
void test_dat_threads(void);
void test_completions(void);
void test_rdma_open(void);
void test_munge_hostile(void);
void test_pmix_hostile(void);
/* Part of test_lane, after first. */
void test_lane_after(void (*first)(void));
/* 1 if the lock's releases have barriers of their own, which is where membarrier is refused. */
int test_lock_fenced(void);
/* The programs that test_fatal and test_refused start. */
void fatal_main(void);
void lost_main(const char *patience);
int refused_main(const char *what);
void ending_main(const char *where);

/* How often the calling thread has given up the processor. */
extern __thread uint32_t fake_yields;

#endif
