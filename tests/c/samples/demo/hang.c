/*
 * hang.c - a job that hangs by a mistake: task 0 waits for two messages, and one is sent. The others
 * are in LAPI_Gfence. `lapirun --timeout 2 -n 3 ./hang` says so and ends it.
 */
#include "../common/sample.h"

int main(void)
{
	lapi_handle_t hndl;
	lapi_info_t info;
	lapi_cntr_t arrived;
	void *arrived_of[64];
	int task, tasks;

	memset(&info, 0, sizeof info);
	info.lib_vers = LAST_LIB;
	if (LAPI_Init(&hndl, &info) != LAPI_SUCCESS)
		return 1;
	LAPI_Qenv(hndl, TASK_ID, &task);
	LAPI_Qenv(hndl, NUM_TASKS, &tasks);
	LAPI_Setcntr(hndl, &arrived, 0);
	if (tasks > 64 || LAPI_Address_init(hndl, &arrived, arrived_of) != LAPI_SUCCESS)
		return 1;
	if (task == 1)
		LAPI_Put(hndl, 0, 0, NULL, NULL, arrived_of[0], NULL, NULL);
	if (task == 0)
		LAPI_Waitcntr(hndl, &arrived, 2, NULL); /* one too many */
	LAPI_Gfence(hndl);
	return LAPI_Term(hndl) != LAPI_SUCCESS;
}
