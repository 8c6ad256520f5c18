/*
 * accumulate_and_return.Put.c - there and back with LAPI_Put: a task sends numbers to its buddy,
 * which adds its own to them and puts the sums back. Both sides wait on their target counter: the
 * change says that the data is there.
 *
 *     task 0                                   task 1
 *     put  ───────── numbers ─────────────>    wait for its target counter
 *     wait for its target counter              add own numbers
 *       <────────────── sums ───────────────   put
 *     look                                     fence
 */
#include "sample.h"

#define COUNT 2048

static int numbers[COUNT];  /* what the even task sends */
static int received[COUNT]; /* what arrives, at either task */
static lapi_cntr_t arrived; /* target counter, at either task */

/* Puts data into task tgt's received, counting there, and waits for what comes back. */
static void put_and_wait(lapi_handle_t hndl, int tgt, int *data, void **received_of,
                         void **arrived_of)
{
	CALL(LAPI_Put(hndl, tgt, sizeof numbers, received_of[tgt], data, arrived_of[tgt], NULL,
	              NULL));
	CALL(LAPI_Waitcntr(hndl, &arrived, 1, NULL));
}

static void drive(lapi_handle_t hndl, int buddy, void **received_of, void **arrived_of)
{
	int wrong = 0;

	for (int i = 0; i < COUNT; i++)
		numbers[i] = i;
	put_and_wait(hndl, buddy, numbers, received_of, arrived_of);
	for (int i = 0; i < COUNT; i++)
		wrong += received[i] != i + 10 * i;
	EXPECT(wrong == 0);
	sample_say(
		"sent %d numbers to task %d, got them back with its own added: element 100 is %d",
		COUNT, buddy, received[100]);
}

static void accumulate(lapi_handle_t hndl, int buddy, void **received_of, void **arrived_of)
{
	CALL(LAPI_Waitcntr(hndl, &arrived, 1, NULL));
	for (int i = 0; i < COUNT; i++)
		received[i] += 10 * i;
	CALL(LAPI_Put(hndl, buddy, sizeof received, received_of[buddy], received, arrived_of[buddy],
	              NULL, NULL));
	sample_say("added my numbers to those of task %d and put the sums back", buddy);
}

int main(void)
{
	lapi_handle_t hndl;
	lapi_info_t info;
	int task, num_tasks, buddy;
	void **received_of, **arrived_of;

	memset(&info, 0, sizeof info);
	info.lib_vers = LAST_LIB;
	CALL(LAPI_Init(&hndl, &info));
	CALL(LAPI_Qenv(hndl, TASK_ID, &task));
	CALL(LAPI_Qenv(hndl, NUM_TASKS, &num_tasks));
	sample_begin(task);
	buddy = task ^ 1;

	received_of = calloc(num_tasks, sizeof *received_of);
	arrived_of = calloc(num_tasks, sizeof *arrived_of);
	CALL(LAPI_Setcntr(hndl, &arrived, 0));
	CALL(LAPI_Address_init(hndl, received, received_of));
	CALL(LAPI_Address_init(hndl, &arrived, arrived_of));
	CALL(LAPI_Gfence(hndl));

	if (buddy >= num_tasks)
		sample_say("no buddy for me, I only fence");
	else if (task % 2 == 0)
		drive(hndl, buddy, received_of, arrived_of);
	else
		accumulate(hndl, buddy, received_of, arrived_of);

	CALL(LAPI_Gfence(hndl));
	CALL(LAPI_Term(hndl));
	free(received_of);
	free(arrived_of);
	return sample_end();
}
