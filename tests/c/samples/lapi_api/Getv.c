/*
 * Getv.c - LAPI_Getv: fetches blocks that lie here and there at the target, as one message, without
 * its help.
 *
 * The even task of a pair collects the diagonal blocks of its buddy's matrix into one array.
 */
#include "sample.h"

#define BLOCKS 8
#define EDGE 20 /* a block is EDGE consecutive elements of a row */

static double matrix[BLOCKS][BLOCKS * EDGE]; /* at the target */
static double diagonal[BLOCKS][EDGE];        /* at the origin */

static void collect(lapi_handle_t hndl, int buddy, void **matrix_of)
{
	void *from[BLOCKS], *to[BLOCKS];
	ulong length[BLOCKS];
	lapi_vec_t origin = {LAPI_GEN_IOVECTOR, BLOCKS, to, length},
		   target = {LAPI_GEN_IOVECTOR, BLOCKS, from, length};
	lapi_cntr_t here;
	int wrong = 0;

	for (int block = 0; block < BLOCKS; block++) {
		/* The address is the buddy's: computed like one's own, never looked at. */
		from[block] = (char *)matrix_of[buddy] +
		              (block * BLOCKS * EDGE + block * EDGE) * sizeof(double);
		to[block] = diagonal[block];
		length[block] = sizeof diagonal[block];
	}
	CALL(LAPI_Setcntr(hndl, &here, 0));
	CALL(LAPI_Getv(hndl, buddy, &target, &origin, NULL, &here));
	CALL(LAPI_Waitcntr(hndl, &here, 1, NULL)); /* of a get: the data is here */
	for (int block = 0; block < BLOCKS; block++)
		for (int i = 0; i < EDGE; i++)
			wrong += diagonal[block][i] != 1000.0 * block + block * EDGE + i;
	EXPECT(wrong == 0);
	sample_say("got %d blocks of task %d, the last begins with %.0f", BLOCKS, buddy,
	           diagonal[BLOCKS - 1][0]);
}

int main(void)
{
	lapi_handle_t hndl;
	lapi_info_t info;
	int task, num_tasks, buddy;
	void **matrix_of;

	memset(&info, 0, sizeof info);
	info.lib_vers = LAST_LIB;
	CALL(LAPI_Init(&hndl, &info));
	CALL(LAPI_Qenv(hndl, TASK_ID, &task));
	CALL(LAPI_Qenv(hndl, NUM_TASKS, &num_tasks));
	sample_begin(task);
	buddy = task ^ 1;

	for (int row = 0; row < BLOCKS; row++)
		for (int column = 0; column < BLOCKS * EDGE; column++)
			matrix[row][column] = 1000.0 * row + column;
	matrix_of = calloc(num_tasks, sizeof *matrix_of);
	CALL(LAPI_Address_init(hndl, matrix, matrix_of)); /* and by then every matrix is filled */

	if (buddy >= num_tasks)
		sample_say("no buddy for me, I only fence");
	else if (task % 2 == 0)
		collect(hndl, buddy, matrix_of);

	CALL(LAPI_Gfence(hndl)); /* an odd task may leave only when its buddy has read */
	CALL(LAPI_Term(hndl));
	free(matrix_of);
	return sample_end();
}
