/*
 * traced.c - does a known number of transfers between pairs of tasks, and prints how many, for
 * run-trace to compare with the trace.
 *
 * usage: traced [kill]    kill: task 0 dies in the middle, its trace must be readable
 */
#include <lapi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PUTS 20
#define AMSENDS 10
#define GETS 5
#define LONG_SIZE 200000

#define CHECK(call)                                                                           \
	do {                                                                                  \
		int code_ = (call);                                                           \
		if (code_ != LAPI_SUCCESS) {                                                  \
			fprintf(stderr, "%s:%d: %s: %d\n", __FILE__, __LINE__, #call, code_); \
			exit(1);                                                              \
		}                                                                             \
	} while (0)

static char here[LONG_SIZE], there[LONG_SIZE];
static lapi_cntr_t arrived;

static void completed(lapi_handle_t *hndl, void *info)
{
	(void)hndl, (void)info;
}

static void *header_handler(lapi_handle_t *hndl, void *uhdr, uint *uhdr_len, ulong *msg_len,
                            compl_hndlr_t **completion, void **info)
{
	(void)hndl, (void)uhdr, (void)uhdr_len, (void)msg_len;
	*completion = completed;
	*info = NULL;
	return there;
}

/* Three exchanges, then the transfers from this task to its partner. */
static void transfer(lapi_handle_t hndl, int task, int tasks, int dies)
{
	void **buffers = calloc((size_t)tasks, sizeof(void *)),
	     **handlers = calloc((size_t)tasks, sizeof(void *));
	void **counters = calloc((size_t)tasks, sizeof(void *));
	uint buddy = (uint)task ^ 1u;
	lapi_cntr_t done;
	int i;

	CHECK(LAPI_Address_init(hndl, there, buffers));
	CHECK(LAPI_Address_init(hndl, (void *)header_handler, handlers));
	CHECK(LAPI_Address_init(hndl, &arrived, counters));
	CHECK(LAPI_Setcntr(hndl, &done, 0));
	for (i = 0; i < PUTS; i++)
		CHECK(LAPI_Put(hndl, buddy, i == 0 ? LONG_SIZE : 8, buffers[buddy], here,
		               counters[buddy], NULL, &done));
	CHECK(LAPI_Waitcntr(hndl, &done, PUTS, NULL));
	if (dies && task == 0)
		raise(SIGKILL);
	for (i = 0; i < AMSENDS; i++)
		CHECK(LAPI_Amsend(hndl, buddy, handlers[buddy], NULL, 0, here, 100, counters[buddy],
		                  NULL, &done));
	CHECK(LAPI_Waitcntr(hndl, &done, AMSENDS, NULL));
	for (i = 0; i < GETS; i++)
		CHECK(LAPI_Get(hndl, buddy, i == 0 ? LONG_SIZE : 8, buffers[buddy], here, NULL,
		               &done));
	CHECK(LAPI_Waitcntr(hndl, &done, GETS, NULL));
	CHECK(LAPI_Waitcntr(hndl, &arrived, PUTS + AMSENDS, NULL));
	free(buffers);
	free(handlers);
	free(counters);
}

int main(int argc, char **argv)
{
	lapi_handle_t hndl;
	lapi_info_t info;
	int task, tasks;

	memset(&info, 0, sizeof info);
	info.lib_vers = LAST_LIB;
	CHECK(LAPI_Init(&hndl, &info));
	CHECK(LAPI_Qenv(hndl, TASK_ID, &task));
	CHECK(LAPI_Qenv(hndl, NUM_TASKS, &tasks));
	if (tasks % 2 != 0) {
		fprintf(stderr, "traced: needs an even number of tasks\n");
		return 1;
	}
	if (LAPI_Put(hndl, (uint)tasks, 1, there, here, NULL, NULL, NULL) != LAPI_ERR_TGT) {
		fprintf(stderr, "traced: a put to a task that does not exist\n");
		return 1;
	}
	transfer(hndl, task, tasks, argc > 1 && strcmp(argv[1], "kill") == 0);
	CHECK(LAPI_Gfence(hndl));
	CHECK(LAPI_Term(hndl));
	return 0;
}
