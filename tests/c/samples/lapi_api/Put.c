/*
 * Put.c - LAPI_Put: the origin writes into the target's memory; the target learns of it from its
 * target counter.
 *
 * Tasks form pairs of buddies, 0 with 1, 2 with 3 and so on. The even one is the origin. A last
 * task without a buddy only takes part in the collective calls.
 */
#include "sample.h"

#define COUNT 1000

static int origin_data[COUNT], target_data[COUNT];
static lapi_cntr_t target_counter;

/* The origin: one put; waits until it may use its own buffer again. */
static void put_to(lapi_handle_t hndl, int buddy, void **data_of, void **counter_of)
{
	lapi_cntr_t origin_counter;

	for (int i = 0; i < COUNT; i++)
		origin_data[i] = i * i;
	CALL(LAPI_Setcntr(hndl, &origin_counter, 0));
	CALL(LAPI_Put(hndl, buddy, sizeof origin_data, data_of[buddy], origin_data,
	              counter_of[buddy], &origin_counter, NULL));
	CALL(LAPI_Waitcntr(hndl, &origin_counter, 1, NULL));
	/* allowed now: LAPI needs it no more, wherever the data is */
	memset(origin_data, 0xff, sizeof origin_data);
	sample_say("put %zu bytes to task %d, my buffer is free again", sizeof origin_data, buddy);
}

/* The target: makes no transfer call at all, only waits for its counter. */
static void wait_for_put(lapi_handle_t hndl, int buddy)
{
	CALL(LAPI_Waitcntr(hndl, &target_counter, 1, NULL));
	for (int i = 0; i < COUNT; i++)
		if (target_data[i] != i * i) {
			EXPECT(target_data[i] == i * i);
			break;
		}
	sample_say("task %d has put: element 10 is %d, element %d is %d", buddy, target_data[10],
	           COUNT - 1, target_data[COUNT - 1]);
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

	data_of = calloc(num_tasks, sizeof *data_of);
	counter_of = calloc(num_tasks, sizeof *counter_of);
	CALL(LAPI_Setcntr(hndl, &target_counter, 0));
	CALL(LAPI_Address_init(hndl, target_data, data_of));
	CALL(LAPI_Address_init(hndl, &target_counter, counter_of));
	CALL(LAPI_Gfence(hndl)); /* all counters are set before anybody puts */

	if (buddy >= num_tasks)
		sample_say("no buddy for me, I only fence");
	else if (task % 2 == 0)
		put_to(hndl, buddy, data_of, counter_of);
	else
		wait_for_put(hndl, buddy);

	CALL(LAPI_Gfence(hndl));
	CALL(LAPI_Term(hndl));
	free(data_of);
	free(counter_of);
	return sample_end();
}
