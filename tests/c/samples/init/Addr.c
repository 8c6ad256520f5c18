/*
 * Addr.c - how tasks learn each other's addresses.
 *
 * A one-sided operation names an address of the target, so the origin must have it first.
 * LAPI_Address_init and LAPI_Address_init64 are collective: every task gives one value and gets
 * everybody's. LAPI_Addr_set and LAPI_Addr_get are local: they keep the address of a header handler
 * under an index that can be the same in all tasks, so that no exchange is needed at all.
 */
#include "sample.h"

#define HANDLER_INDEX 7 /* any number from 1 to LOC_ADDRTBL_SZ - 1, the same in every task */

static void *a_header_handler(lapi_handle_t *hndl, void *uhdr, uint *uhdr_len, ulong *msg_len,
                              compl_hndlr_t **completion, void **user_info)
{
	(void)hndl, (void)uhdr, (void)uhdr_len, (void)msg_len, (void)user_info;
	*completion = NULL;
	return NULL;
}

/* Everybody's address of one variable, as pointers. */
static void exchange_pointers(lapi_handle_t hndl, int task, int num_tasks)
{
	int variable = 100 + task;
	void **table = calloc(num_tasks, sizeof *table);

	CALL(LAPI_Address_init(hndl, &variable, table));
	EXPECT(table[task] == &variable);
	for (int i = 0; i < num_tasks; i++)
		sample_say("LAPI_Address_init: variable of task %d is at %p%s", i, table[i],
		           i == task ? " (mine)" : "");
	/* nobody leaves this function, and its variable, while others may use the address */
	CALL(LAPI_Gfence(hndl));
	free(table);
}

/* The same as 64-bit numbers, which also suits jobs that mix 32- and 64-bit tasks. Any value may be
 * passed. */
static void exchange_numbers(lapi_handle_t hndl, int task, int num_tasks)
{
	lapi_long_t value = 1000000000000ULL + (lapi_long_t)task;
	lapi_long_t *table = calloc(num_tasks, sizeof *table);

	CALL(LAPI_Address_init64(hndl, value, table));
	for (int i = 0; i < num_tasks; i++)
		EXPECT(table[i] == 1000000000000ULL + (lapi_long_t)i);
	sample_say("LAPI_Address_init64: task %d gave %llu", num_tasks - 1, table[num_tasks - 1]);
	free(table);
}

static void use_index(lapi_handle_t hndl)
{
	void *found = NULL;
	int size;

	CALL(LAPI_Qenv(hndl, LOC_ADDRTBL_SZ, &size));
	CALL(LAPI_Addr_set(hndl, (void *)a_header_handler, HANDLER_INDEX));
	CALL(LAPI_Addr_get(hndl, &found, HANDLER_INDEX));
	EXPECT(found == (void *)a_header_handler);
	EXPECT(LAPI_Addr_set(hndl, (void *)a_header_handler, size) == LAPI_ERR_ADDR_HNDL_RANGE);
	sample_say("LAPI_Addr_set: header handler registered as %d (1 to %d are possible)",
	           HANDLER_INDEX, size - 1);
}

int main(void)
{
	lapi_handle_t hndl;
	lapi_info_t info;
	int task, num_tasks;

	memset(&info, 0, sizeof info);
	info.lib_vers = LAST_LIB;
	CALL(LAPI_Init(&hndl, &info));
	CALL(LAPI_Qenv(hndl, TASK_ID, &task));
	CALL(LAPI_Qenv(hndl, NUM_TASKS, &num_tasks));
	sample_begin(task);

	exchange_pointers(hndl, task, num_tasks);
	exchange_numbers(hndl, task, num_tasks);
	use_index(hndl);

	CALL(LAPI_Gfence(hndl));
	CALL(LAPI_Term(hndl));
	return sample_end();
}
