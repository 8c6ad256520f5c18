/*
 * strided.c - LAPI_GEN_STRIDED_XFER: one column of a matrix that is stored by rows, in one message
 * that says no more than where the column begins, how long a piece is and how far the next is.
 *
 * The even task of a pair puts a column of its matrix into a column of its buddy's, which has
 * longer rows: number and size of blocks must agree, strides need not.
 */
#include "sample.h"

#define ROWS 300
#define ORIGIN_COLUMNS 40
#define TARGET_COLUMNS 64

static double mine[ROWS][ORIGIN_COLUMNS];
static double theirs[ROWS][TARGET_COLUMNS];
static lapi_cntr_t arrived;

static lapi_vec_t column(void *info[3], void *first, size_t stride)
{
	lapi_vec_t v = {LAPI_GEN_STRIDED_XFER, ROWS, info, NULL};

	info[0] = first;
	info[1] = (void *)sizeof(double); /* numbers, in an array of pointers: so it is defined */
	info[2] = (void *)stride;
	return v;
}

static void put_column(lapi_handle_t hndl, int buddy, void **matrix_of, void **counter_of)
{
	void *from_info[3], *to_info[3];
	lapi_vec_t from = column(from_info, &mine[0][7], sizeof mine[0]);
	lapi_vec_t to =
		column(to_info, (char *)matrix_of[buddy] + 3 * sizeof(double), sizeof theirs[0]);
	lapi_cntr_t sent;

	for (int row = 0; row < ROWS; row++)
		mine[row][7] = row + 0.5;
	CALL(LAPI_Setcntr(hndl, &sent, 0));
	CALL(LAPI_Putv(hndl, buddy, &to, &from, counter_of[buddy], &sent, NULL));
	CALL(LAPI_Waitcntr(hndl, &sent, 1, NULL));
	for (int row = 0; row < ROWS; row++)
		mine[row][7] = -1; /* allowed: the origin counter has changed */
	sample_say("put my column 7 into column 3 of task %d", buddy);
}

static void look(lapi_handle_t hndl, int buddy)
{
	int wrong = 0, touched = 0;

	CALL(LAPI_Waitcntr(hndl, &arrived, 1, NULL));
	for (int row = 0; row < ROWS; row++)
		for (int c = 0; c < TARGET_COLUMNS; c++)
			if (c == 3)
				wrong += theirs[row][c] != row + 0.5;
			else
				touched += theirs[row][c] != 0;
	EXPECT(wrong == 0);
	EXPECT(touched == 0);
	sample_say("column 3 is from task %d, its last element is %.1f", buddy,
	           theirs[ROWS - 1][3]);
}

int main(void)
{
	lapi_handle_t hndl;
	lapi_info_t info;
	int task, num_tasks, buddy;
	void **matrix_of, **counter_of;

	memset(&info, 0, sizeof info);
	info.lib_vers = LAST_LIB;
	CALL(LAPI_Init(&hndl, &info));
	CALL(LAPI_Qenv(hndl, TASK_ID, &task));
	CALL(LAPI_Qenv(hndl, NUM_TASKS, &num_tasks));
	sample_begin(task);
	buddy = task ^ 1;

	matrix_of = calloc(num_tasks, sizeof *matrix_of);
	counter_of = calloc(num_tasks, sizeof *counter_of);
	CALL(LAPI_Setcntr(hndl, &arrived, 0));
	CALL(LAPI_Address_init(hndl, theirs, matrix_of));
	CALL(LAPI_Address_init(hndl, &arrived, counter_of));

	if (buddy >= num_tasks)
		sample_say("no buddy for me, I only fence");
	else if (task % 2 == 0)
		put_column(hndl, buddy, matrix_of, counter_of);
	else
		look(hndl, buddy);

	CALL(LAPI_Gfence(hndl));
	CALL(LAPI_Term(hndl));
	free(matrix_of);
	free(counter_of);
	return sample_end();
}
