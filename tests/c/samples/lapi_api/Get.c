/*
 * Get.c - LAPI_Get: the origin reads from the target's memory, which need not do anything for it.
 *
 * Tasks form pairs of buddies, 0 with 1, 2 with 3 and so on. The even one is the origin; its origin
 * counter says when the data is there. The other has filled its buffer before the fence; its target
 * counter shows that the buffer was read.
 */
#include "sample.h"

#define COUNT 1000

static double target_data[COUNT], fetched[COUNT];
static lapi_cntr_t target_counter;

/* Value i of a task's data: differs from task to task. */
static double value_of(int task, int i)
{
	return 1000.0 * task + i / 2.0;
}

static void get_from(lapi_handle_t hndl, int buddy, void **data_of, void **counter_of)
{
	lapi_cntr_t origin_counter;
	int wrong = 0;

	CALL(LAPI_Setcntr(hndl, &origin_counter, 0));
	CALL(LAPI_Get(hndl, buddy, sizeof fetched, data_of[buddy], fetched, counter_of[buddy],
	              &origin_counter));
	/* for a get: the data has arrived here */
	CALL(LAPI_Waitcntr(hndl, &origin_counter, 1, NULL));
	for (int i = 0; i < COUNT; i++)
		wrong += fetched[i] != value_of(buddy, i);
	EXPECT(wrong == 0);
	sample_say("got %zu bytes from task %d: first %.1f, last %.1f", sizeof fetched, buddy,
	           fetched[0], fetched[COUNT - 1]);
}

static void be_read(lapi_handle_t hndl, int buddy)
{
	/* for a get: the data has been read from here */
	CALL(LAPI_Waitcntr(hndl, &target_counter, 1, NULL));
	sample_say("task %d has read my data, I may change it now", buddy);
	memset(target_data, 0xff, sizeof target_data);
}

int main(void)
{
	lapi_handle_t hndl;
	lapi_info_t info;
	int task, num_tasks, buddy;
	void **data_of, **counter_of;

	memset(&info, 0, sizeof info);
	info.lib_vers = LAST_LIB;
	CALL(LAPI_Init(&hndl, &info));
	CALL(LAPI_Qenv(hndl, TASK_ID, &task));
	CALL(LAPI_Qenv(hndl, NUM_TASKS, &num_tasks));
	sample_begin(task);
	buddy = task ^ 1;

	for (int i = 0; i < COUNT; i++)
		target_data[i] = value_of(task, i);
	data_of = calloc(num_tasks, sizeof *data_of);
	counter_of = calloc(num_tasks, sizeof *counter_of);
	CALL(LAPI_Setcntr(hndl, &target_counter, 0));
	CALL(LAPI_Address_init(hndl, target_data, data_of));
	CALL(LAPI_Address_init(hndl, &target_counter, counter_of));
	CALL(LAPI_Gfence(hndl)); /* every task's data is in place before anybody gets */

	if (buddy >= num_tasks)
		sample_say("no buddy for me, I only fence");
	else if (task % 2 == 0)
		get_from(hndl, buddy, data_of, counter_of);
	else
		be_read(hndl, buddy);

	CALL(LAPI_Gfence(hndl));
	CALL(LAPI_Term(hndl));
	free(data_of);
	free(counter_of);
	return sample_end();
}
