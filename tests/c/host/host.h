/*
 * host.h - shared by the host programs, which start LAPI in ways of their own, so that they cannot
 * use conform_main. Each program prints one line a case and a closing line `NAME: N passed, N
 * failed, N skipped`.
 */
#ifndef HOST_H
#define HOST_H

#include <lapi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

static int host_passed, host_failed, host_case_failures;

/* In a case: says what is wrong and goes on. */
#define HOST_CHECK(e)                                                                             \
	do {                                                                                      \
		if (!(e)) {                                                                       \
			fprintf(stderr, "pid %d: %s:%d: not true: %s\n", (int)getpid(), __FILE__, \
			        __LINE__, #e);                                                    \
			host_case_failures++;                                                     \
		}                                                                                 \
	} while (0)

#define HOST_CODE(want, call)                                                                     \
	do {                                                                                      \
		int host_got = (call);                                                            \
		if (host_got != (want)) {                                                         \
			fprintf(stderr, "pid %d: %s:%d: %s returned %d, not %d\n", (int)getpid(), \
			        __FILE__, __LINE__, #call, host_got, (want));                     \
			host_case_failures++;                                                     \
		}                                                                                 \
	} while (0)

#define HOST_OK(call) HOST_CODE(LAPI_SUCCESS, call)

/* Ends a case. quiet: only failures are printed (in all tasks but one). */
static inline void host_end_case(const char *name, int quiet)
{
	if (host_case_failures)
		host_failed++;
	else
		host_passed++;
	if (!quiet || host_case_failures)
		printf("  %s %s\n", host_case_failures ? "FAIL" : "pass", name);
	host_case_failures = 0;
	fflush(stdout);
}

static inline int host_close(const char *program, int quiet)
{
	if (!quiet)
		printf("%s: %d passed, %d failed, 0 skipped\n", program, host_passed, host_failed);
	fflush(stdout);
	return host_failed ? 1 : 0;
}

static inline void host_error_handler(lapi_handle_t *h, int *code, lapi_err_t *type, int *task,
                                      int *src)
{
	(void)h;
	fprintf(stderr, "pid %d: error handler: code %d type %d task %d src %d\n", (int)getpid(),
	        *code, (int)*type, *task, *src);
	host_case_failures++;
}

static inline void host_info(lapi_info_t *info)
{
	bzero(info, sizeof *info);
	info->err_hndlr = host_error_handler;
}

/* A put to the next task and back in step: enough to see that a context works. Collective. */
static inline void host_use(lapi_handle_t h)
{
	static int word;
	int task = -1, tasks = 0, value;
	lapi_cntr_t done;
	void *words[128];
	HOST_OK(LAPI_Qenv(h, TASK_ID, &task));
	HOST_OK(LAPI_Qenv(h, NUM_TASKS, &tasks));
	if (tasks < 1 || tasks > 128)
		return;
	word = -1;
	memset(&done, 0, sizeof done);
	HOST_OK(LAPI_Setcntr(h, &done, 0));
	HOST_OK(LAPI_Address_init(h, &word, words));
	value = task + 100;
	HOST_OK(LAPI_Put(h, (uint)((task + 1) % tasks), sizeof value, words[(task + 1) % tasks],
	                 &value, NULL, NULL, &done));
	HOST_OK(LAPI_Waitcntr(h, &done, 1, NULL));
	HOST_OK(LAPI_Gfence(h));
	HOST_CHECK(word == (task + tasks - 1) % tasks + 100);
	HOST_OK(LAPI_Gfence(h));
}

#endif
