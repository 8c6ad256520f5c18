/*
 * conform.h - the frame around the conformance programs.
 *
 * A program is a list of cases. Every task of the job runs every case, in the same order, with a
 * LAPI_Gfence before each; a case passes when it passes in all tasks. The frame initialises LAPI as
 * the environment says (see conform_main), gathers the verdicts, and prints one line a case and a
 * closing line from task 0.
 *
 * A case checks its results with the CHECK macros. They may be used from any thread and from
 * handlers.
 */
#ifndef CONFORM_H
#define CONFORM_H

#include <lapi.h>
#include <pthread.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CONFORM_MAX_TASKS 128

/* One case; CONFORM_CASE(f) names it after its function. */
typedef struct conform_case {
	const char *name;
	void (*run)(void);
} conform_case;

/* clang-format off */
#define CONFORM_CASE(function) { #function, function }
/* clang-format on */

/* The job, valid from LAPI_Init on; constant. */
extern lapi_handle_t hndl;
extern int task_id;
extern int num_tasks;

/* The settings of this run; constant. */
extern int conform_polling;    /* CONFORM_MODE=polling */
extern int conform_checking;   /* CONFORM_CHECK=on */
extern lapi_lib_t conform_lib; /* CONFORM_LIB=l1 (the default), l2 or last */

/* Attributes as LAPI_Init left them, before the frame set anything. */
extern int conform_initial_interrupt;
extern int conform_initial_checking;
extern lapi_dev_t conform_protocol; /* lapi_info_t.protocol after LAPI_Init */

/*
 * Runs the cases named in argv (all without arguments) and returns main's value: 0 if none failed.
 * Reads CONFORM_MODE (interrupt, polling), CONFORM_CHECK (off, on), CONFORM_LIB,
 * CONFORM_HANG_SECONDS (default 120: a case that takes longer ends the job with a message) and
 * CONFORM_ON_HANG (a shell command run then, with the process id in $PID, to look at the hang).
 */
int conform_main(int argc, char **argv, const conform_case *cases, size_t count);

/* The parts of conform_main, for programs that initialise LAPI in their own way. */
void conform_start(void);
int conform_run(int argc, char **argv, const conform_case *cases, size_t count);
void conform_fill_info(lapi_info_t *info);
void conform_set_mode(lapi_handle_t h);

/* Verdicts: used through the macros below. */
void conform_failed(const char *file, int line, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
int conform_check(int ok, const char *file, int line, const char *expression);
int conform_check_equal(long long a, long long b, const char *file, int line, const char *ea,
                        const char *eb);
int conform_check_code(int got, int want, const char *file, int line, const char *expression);
void conform_skip(const char *reason);

/* CHECK goes on after a failure; both return whether it held. */
#define CHECK(e) conform_check((e) ? 1 : 0, __FILE__, __LINE__, #e)
#define CHECK_EQUAL(a, b) \
	conform_check_equal((long long)(a), (long long)(b), __FILE__, __LINE__, #a, #b)
/* A LAPI call that must return this code; LAPI_OK: LAPI_SUCCESS. */
#define CHECK_CODE(want, call) conform_check_code((call), (want), __FILE__, __LINE__, #call)
#define LAPI_OK(call) CHECK_CODE(LAPI_SUCCESS, call)
/* Ends the case in this task (a void function). Call it in all tasks alike: SKIP depends on the
 * job's shape only. */
#define SKIP(reason)                  \
	do {                          \
		conform_skip(reason); \
		return;               \
	} while (0)

/*
 * Errors that LAPI reports through the error handler. An error that no case expects fails the case;
 * after conform_expect_errors(1) errors are counted instead, from zero.
 */
typedef struct conform_error {
	int code, type, task, src;
} conform_error;
#define CONFORM_MAX_ERRORS 64
void conform_expect_errors(int expect);
int conform_errors(void); /* how many so far */
/* index < conform_errors(), at most CONFORM_MAX_ERRORS are kept */
conform_error conform_error_at(int index);
LAPI_err_hndlr conform_error_handler;

/* Collective helpers. */
void conform_sync(void);                 /* LAPI_Gfence */
void exchange(void *mine, void **table); /* LAPI_Address_init */
long long sum_over_tasks(int mine);      /* the sum of everybody's value */
long long max_over_tasks(int mine);

/* Counters. */
void counter_zero(lapi_cntr_t *cntr);
void counter_wait(lapi_cntr_t *cntr, int val);
int counter_value(lapi_cntr_t *cntr);

/* Reads an int that LAPI or another thread changes. */
static inline int peek(const int *word)
{
	return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

/* Drives LAPI until a condition holds; in polling mode nothing else would. */
#define POLL_UNTIL(condition)                      \
	do {                                       \
		while (!(condition)) {             \
			LAPI_OK(LAPI_Probe(hndl)); \
			sched_yield();             \
		}                                  \
	} while (0)

/* Lets time pass without a LAPI call. */
void sleep_ms(int ms);
/* A monotonic clock in seconds. */
double now(void);

/* Patterns: byte i depends on i and seed; same_pattern reports the first difference itself. */
void fill_pattern(void *buffer, size_t n, unsigned seed);
int same_pattern(const void *buffer, size_t n, unsigned seed);

/* Lengths around everything that could be a boundary: packet, slot, copy size, page; ascending, at
 * most max bytes. */
size_t boundary_lengths(size_t *lengths, size_t room, size_t max);

/* The result of LAPI_Qenv; fails the case if the query fails. */
int query(lapi_query_t what);
/* MP_ or LAPI_ variable, "" if unset. */
const char *variable(const char *name);

#ifdef __cplusplus
}
#endif

#endif
