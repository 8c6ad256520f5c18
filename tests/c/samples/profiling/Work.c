/*
 * Work.c - a program that knows nothing of profiling: puts, gets and fences for libtiming to
 * measure.
 */
#include "sample.h"

#define ROUNDS 200
#define COUNT 512

static double mine[COUNT], theirs[COUNT], window[COUNT];

int main(void)
{
	lapi_handle_t hndl;
	lapi_info_t info;
	lapi_cntr_t counter;
	int task, num_tasks, next;
	void **window_of;

	memset(&info, 0, sizeof info);
	info.lib_vers = LAST_LIB;
	CALL(LAPI_Init(&hndl, &info));
	CALL(LAPI_Qenv(hndl, TASK_ID, &task));
	CALL(LAPI_Qenv(hndl, NUM_TASKS, &num_tasks));
	sample_begin(task);
	next = (task + 1) % num_tasks;

	window_of = calloc(num_tasks, sizeof *window_of);
	CALL(LAPI_Address_init(hndl, window, window_of));
	CALL(LAPI_Setcntr(hndl, &counter, 0));
	for (int round = 0; round < ROUNDS; round++) {
		mine[0] = round;
		/* The third counter of a put: the data is at the target, and we know it. */
		CALL(LAPI_Put(hndl, next, sizeof mine, window_of[next], mine, NULL, NULL,
		              &counter));
		CALL(LAPI_Waitcntr(hndl, &counter, 1, NULL));
		CALL(LAPI_Get(hndl, next, sizeof theirs, window_of[next], theirs, NULL, &counter));
		CALL(LAPI_Waitcntr(hndl, &counter, 1, NULL));
		EXPECT(theirs[0] == round);
	}
	CALL(LAPI_Gfence(hndl));
	EXPECT(window[0] == ROUNDS - 1);
	CALL(LAPI_Term(hndl));
	free(window_of);
	return sample_end();
}
