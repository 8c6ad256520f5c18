/*
 * Rmw.c - LAPI_Rmw: read-modify-write on a variable of another task, atomically, 32 bits wide.
 *
 * Tasks form pairs of buddies, 0 with 1, 2 with 3 and so on. The even one applies each of the four
 * operations to a variable of the odd one, which does nothing and finds the outcome.
 */
#include "sample.h"

#define START 1000
#define ADDED 24
#define BITS 0x7
#define SWAPPED 55
#define LAST 4711

static int variable = START;

/* One operation: returns what it gave back, which is there when the origin counter changes. */
static int rmw(lapi_handle_t hndl, RMW_ops_t op, int tgt, int *tgt_var, int *in_val)
{
	int previous = -1;
	lapi_cntr_t counter;

	CALL(LAPI_Setcntr(hndl, &counter, 0));
	CALL(LAPI_Rmw(hndl, op, tgt, tgt_var, in_val, &previous, &counter));
	CALL(LAPI_Waitcntr(hndl, &counter, 1, NULL));
	return previous;
}

static void operate_on(lapi_handle_t hndl, int buddy, int *tgt_var)
{
	int in_val = ADDED, swap_pair[2], previous;

	previous = rmw(hndl, FETCH_AND_ADD, buddy, tgt_var, &in_val);
	EXPECT(previous == START);
	sample_say("FETCH_AND_ADD    %d: it was %d", in_val, previous);

	in_val = BITS;
	previous = rmw(hndl, FETCH_AND_OR, buddy, tgt_var, &in_val);
	EXPECT(previous == START + ADDED);
	sample_say("FETCH_AND_OR     %d: it was %d", in_val, previous);

	in_val = SWAPPED;
	previous = rmw(hndl, SWAP, buddy, tgt_var, &in_val);
	EXPECT(previous == ((START + ADDED) | BITS));
	sample_say("SWAP             %d: it was %d", in_val, previous);

	/* A pair: what the variable must be, and what it then becomes. The answer is whether it
	 * did. */
	swap_pair[0] = SWAPPED + 1;
	swap_pair[1] = 0;
	previous = rmw(hndl, COMPARE_AND_SWAP, buddy, tgt_var, swap_pair);
	EXPECT(previous == 0);
	sample_say("COMPARE_AND_SWAP if %d then %d: %s", swap_pair[0], swap_pair[1],
	           previous ? "swapped" : "no");

	swap_pair[0] = SWAPPED;
	swap_pair[1] = LAST;
	previous = rmw(hndl, COMPARE_AND_SWAP, buddy, tgt_var, swap_pair);
	EXPECT(previous == 1);
	sample_say("COMPARE_AND_SWAP if %d then %d: %s", swap_pair[0], swap_pair[1],
	           previous ? "swapped" : "no");
}

int main(void)
{
	lapi_handle_t hndl;
	lapi_info_t info;
	int task, num_tasks, buddy;
	void **variable_of;

	memset(&info, 0, sizeof info);
	info.lib_vers = LAST_LIB;
	CALL(LAPI_Init(&hndl, &info));
	CALL(LAPI_Qenv(hndl, TASK_ID, &task));
	CALL(LAPI_Qenv(hndl, NUM_TASKS, &num_tasks));
	sample_begin(task);
	buddy = task ^ 1;

	variable_of = calloc(num_tasks, sizeof *variable_of);
	CALL(LAPI_Address_init(hndl, &variable, variable_of));

	if (buddy < num_tasks && task % 2 == 0)
		operate_on(hndl, buddy, variable_of[buddy]);
	CALL(LAPI_Gfence(hndl));
	if (buddy < num_tasks && task % 2 == 1) {
		EXPECT(variable == LAST);
		sample_say("task %d has left %d in my variable", buddy, variable);
	}
	if (buddy >= num_tasks)
		sample_say("no buddy for me, I only fence");

	CALL(LAPI_Gfence(hndl));
	CALL(LAPI_Term(hndl));
	free(variable_of);
	return sample_end();
}
