/*
 * broken.c - an invariant of the library breaks in task 0, in a library that is built for this
 * (capi/inject_tag.go). The context ends through its error handler, also in a thread that waits,
 * and the process goes on. With the argument `alone` there is no error handler: the task ends. The
 * other task survives. With `idle` the program makes no call meanwhile except the waiting one.
 */
#define _GNU_SOURCE
#include "host.h"

#include <pthread.h>
#include <stdint.h>

enum { ROUNDS = 3000 };

static lapi_handle_t handle;
static int task, tasks, reported, code_reported, lost;
static int target, handled, messages, runs[4 * ROUNDS];
static lapi_cntr_t never;

static void on_error(lapi_handle_t *h, int *code, lapi_err_t *type, int *here, int *src)
{
	(void)h, (void)type, (void)src;
	if (*code != LAPI_ERR_UNKNOWN) {
		__atomic_store_n(&lost, 1, __ATOMIC_SEQ_CST);
		return;
	}
	HOST_CHECK(*here == task);
	code_reported = *code;
	__atomic_add_fetch(&reported, 1, __ATOMIC_SEQ_CST);
}

static void completed_handler(lapi_handle_t *h, void *info)
{
	(void)h;
	HOST_CHECK(info && ++*(int *)info == 1); /* once for each message */
}

static void *header_handler(lapi_handle_t *h, void *header, uint *length, ulong *size,
                            compl_hndlr_t **completion, void **info)
{
	(void)h, (void)header, (void)length, (void)size;
	*completion = (compl_hndlr_t *)completed_handler;
	*info = &runs[messages++];
	return NULL;
}

static int use(void **where, lapi_cntr_t *completed)
{
	int rc = LAPI_SUCCESS, i;

	for (i = 0; handled && i < 4 && rc == LAPI_SUCCESS; i++)
		rc = LAPI_Amsend(handle, 0, (void *)(uintptr_t)header_handler, NULL, 0, NULL, 0,
		                 NULL, NULL, NULL);
	if (rc == LAPI_SUCCESS)
		rc = LAPI_Put(handle, 1, sizeof target, where[1], &target, NULL, NULL, completed);
	return rc == LAPI_SUCCESS ? LAPI_Probe(handle) : rc;
}

static void *waits(void *result)
{
	*(int *)result = LAPI_Waitcntr(handle, &never, 1, NULL);
	return NULL;
}

static void break_it(void **where, int idle)
{
	pthread_t waiter;
	lapi_cntr_t completed;
	int i, result = 0, rc = LAPI_SUCCESS;
	HOST_OK(LAPI_Setcntr(handle, &never, 0));
	HOST_OK(LAPI_Setcntr(handle, &completed, 0));
	pthread_create(&waiter, NULL, waits, &result);
	setenv("LAPI_INJECT", getenv("LAPI_INJECT_LATER"), 1);
	for (i = 0; i < ROUNDS && !__atomic_load_n(&reported, __ATOMIC_SEQ_CST); i++) {
		if (rc == LAPI_SUCCESS && !idle)
			rc = use(where, &completed);
		usleep(10000);
	}
	pthread_join(waiter, NULL);
	HOST_CHECK(result == LAPI_ERR_HNDL_INVALID || result == LAPI_ERR_UNKNOWN);
	HOST_CHECK(reported == 1 && code_reported == LAPI_ERR_UNKNOWN);
	HOST_CODE(LAPI_ERR_HNDL_INVALID, LAPI_Probe(handle));
	HOST_CODE(LAPI_ERR_HNDL_INVALID, LAPI_Term(handle));
}

int main(int argc, char **argv)
{
	lapi_info_t info;
	void *where[64];
	const char *how = argc > 1 ? argv[1] : "", *child = getenv("MP_CHILD");

	host_info(&info);
	info.err_hndlr = NULL;
	if (strcmp(how, "alone") != 0 || !child || strcmp(child, "0") != 0)
		info.err_hndlr = (LAPI_err_hndlr *)on_error;
	if (LAPI_Init(&handle, &info) != LAPI_SUCCESS)
		return 2;
	HOST_OK(LAPI_Qenv(handle, TASK_ID, &task));
	HOST_OK(LAPI_Qenv(handle, NUM_TASKS, &tasks));
	HOST_OK(LAPI_Address_init(handle, &target, where));
	HOST_OK(LAPI_Gfence(handle));
	handled = strcmp(how, "handled") == 0;
	if (task == 0) {
		break_it(where, strcmp(how, "idle") == 0);
	} else {
		int i;
		for (i = 0; i < 300 && !__atomic_load_n(&lost, __ATOMIC_SEQ_CST); i++) {
			HOST_OK(LAPI_Probe(handle));
			usleep(10000);
		}
		HOST_OK(LAPI_Term(handle));
	}
	host_end_case("a_broken_invariant_ends_the_context", task != 0);
	return host_close("broken", task != 0);
}
