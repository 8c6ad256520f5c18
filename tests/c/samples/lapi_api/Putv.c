/*
 * Putv.c - LAPI_Putv: blocks that lie here and there go, as one message, to blocks that lie
 * elsewhere at the target.
 *
 * The even task of a pair puts every other row of a table into consecutive rows at its buddy. Both
 * descriptions are made by the origin; the addresses in the second are the buddy's, from
 * LAPI_Address_init.
 */
#include "sample.h"

#define ROWS 16
#define COLUMNS 50

static int table[2 * ROWS][COLUMNS]; /* at the origin */
static int landing[ROWS][COLUMNS];   /* at the target */
static lapi_cntr_t arrived;

static void put_rows(lapi_handle_t hndl, int buddy, void **landing_of, void **counter_of)
{
	void *from[ROWS], *to[ROWS];
	ulong length[ROWS]; /* the same for both: lengths must agree block by block */
	lapi_vec_t origin = {LAPI_GEN_IOVECTOR, ROWS, from, length},
		   target = {LAPI_GEN_IOVECTOR, ROWS, to, length};
	lapi_cntr_t sent;

	for (int row = 0; row < ROWS; row++) {
		from[row] = table[2 * row];
		to[row] = (char *)landing_of[buddy] + row * sizeof landing[0];
		length[row] = sizeof landing[0];
	}
	for (int row = 0; row < 2 * ROWS; row++)
		for (int column = 0; column < COLUMNS; column++)
			table[row][column] = 1000 * row + column;
	CALL(LAPI_Setcntr(hndl, &sent, 0));
	CALL(LAPI_Putv(hndl, buddy, &target, &origin, counter_of[buddy], &sent, NULL));
	/* Until then neither the rows nor the descriptions, which are on this function's stack, may
	 * change. */
	CALL(LAPI_Waitcntr(hndl, &sent, 1, NULL));
	sample_say("put %d rows to task %d in one message", ROWS, buddy);
}

static void look(lapi_handle_t hndl, int buddy)
{
	int wrong = 0;

	CALL(LAPI_Waitcntr(hndl, &arrived, 1, NULL));
	for (int row = 0; row < ROWS; row++)
		for (int column = 0; column < COLUMNS; column++)
			wrong += landing[row][column] != 1000 * 2 * row + column;
	EXPECT(wrong == 0);
	sample_say("rows of task %d are here, the last begins with %d", buddy,
	           landing[ROWS - 1][0]);
}

int main(void)
{
	lapi_handle_t hndl;
	lapi_info_t info;
	int task, num_tasks, buddy;
	void **landing_of, **counter_of;

	memset(&info, 0, sizeof info);
	info.lib_vers = LAST_LIB;
	CALL(LAPI_Init(&hndl, &info));
	CALL(LAPI_Qenv(hndl, TASK_ID, &task));
	CALL(LAPI_Qenv(hndl, NUM_TASKS, &num_tasks));
	sample_begin(task);
	buddy = task ^ 1;

	landing_of = calloc(num_tasks, sizeof *landing_of);
	counter_of = calloc(num_tasks, sizeof *counter_of);
	CALL(LAPI_Setcntr(hndl, &arrived, 0)); /* before anybody can know its address */
	CALL(LAPI_Address_init(hndl, landing, landing_of));
	CALL(LAPI_Address_init(hndl, &arrived, counter_of));

	if (buddy >= num_tasks)
		sample_say("no buddy for me, I only fence");
	else if (task % 2 == 0)
		put_rows(hndl, buddy, landing_of, counter_of);
	else
		look(hndl, buddy);

	CALL(LAPI_Gfence(hndl));
	CALL(LAPI_Term(hndl));
	free(landing_of);
	free(counter_of);
	return sample_end();
}
