/*
 * matrix.c - a matrix spread over all tasks by rows is transposed: each task gets its columns'
 * pieces from all others, one strided get from each.
 *
 * With n tasks a task owns ROWS rows of ROWS * n elements. Afterwards its array holds the same rows
 * of the transposed matrix.
 */
#include "sample.h"

#define ROWS 24

static int *own;        /* ROWS rows of width elements */
static int *transposed; /* the same of the transposed matrix */

/*
 * Element (i, j) of the whole matrix is i * width + j. Column j, as far as task holds it, is ROWS
 * elements, width apart; it becomes ROWS neighbours in a row here.
 */
static void get_column(lapi_handle_t hndl, int task, void **own_of, int width, int j, int row,
                       lapi_cntr_t *here)
{
	void *from_info[3] = {(int *)own_of[task] + j, (void *)sizeof(int),
	                      (void *)(width * sizeof(int))};
	void *to_info[3] = {transposed + (size_t)row * width + task * ROWS, (void *)sizeof(int),
	                    (void *)sizeof(int)};
	lapi_vec_t from = {LAPI_GEN_STRIDED_XFER, ROWS, from_info, NULL},
		   to = {LAPI_GEN_STRIDED_XFER, ROWS, to_info, NULL};

	CALL(LAPI_Getv(hndl, task, &from, &to, NULL, here));
	CALL(LAPI_Waitcntr(hndl, here, 1, NULL)); /* the descriptions are on this stack */
}

int main(void)
{
	lapi_handle_t hndl;
	lapi_info_t info;
	lapi_cntr_t here;
	int task, num_tasks, width, wrong = 0;
	void **own_of;

	memset(&info, 0, sizeof info);
	info.lib_vers = LAST_LIB;
	CALL(LAPI_Init(&hndl, &info));
	CALL(LAPI_Qenv(hndl, TASK_ID, &task));
	CALL(LAPI_Qenv(hndl, NUM_TASKS, &num_tasks));
	sample_begin(task);

	width = ROWS * num_tasks;
	own = calloc((size_t)ROWS * width, sizeof *own);
	transposed = calloc((size_t)ROWS * width, sizeof *transposed);
	own_of = calloc(num_tasks, sizeof *own_of);
	for (int row = 0; row < ROWS; row++)
		for (int j = 0; j < width; j++)
			own[row * width + j] = (task * ROWS + row) * width + j;
	CALL(LAPI_Setcntr(hndl, &here, 0));
	CALL(LAPI_Address_init(hndl, own, own_of));
	for (int other = 0; other < num_tasks; other++)
		for (int row = 0; row < ROWS; row++)
			get_column(hndl, other, own_of, width, task * ROWS + row, row, &here);
	for (int row = 0; row < ROWS; row++)
		for (int j = 0; j < width; j++)
			wrong += transposed[row * width + j] != j * width + task * ROWS + row;
	EXPECT(wrong == 0);
	sample_say("my %d rows of the transposed matrix are here: %d columns from each task", ROWS,
	           ROWS);

	CALL(LAPI_Gfence(hndl)); /* others may still read from here */
	CALL(LAPI_Term(hndl));
	free(own_of);
	free(transposed);
	free(own);
	return sample_end();
}
