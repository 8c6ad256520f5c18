/*
 * nopie.c - a program built non-PIE names the other tasks' functions and variables by their static
 * addresses, without any exchange. Built with -no-pie; compiled as C++ as well (see conform.mk), so
 * it stays within both languages.
 */
#include "conform.h"

static unsigned char source[30000], sink[30000];
static lapi_cntr_t tgt_cntr, cmpl_cntr;
static int header_calls;

static void *take(lapi_handle_t *h, void *uhdr, uint *uhdr_len, ulong *msg_len,
                  compl_hndlr_t **completion, void **user_info)
{
	(void)h, (void)uhdr, (void)uhdr_len, (void)msg_len, (void)completion, (void)user_info;
	header_calls++;
	return sink;
}

static void static_addresses_without_exchange(void)
{
	int i, next = (task_id + 1) % num_tasks, previous = (task_id + num_tasks - 1) % num_tasks;
	void *handlers[CONFORM_MAX_TASKS];
	counter_zero(&tgt_cntr);
	counter_zero(&cmpl_cntr);
	exchange((void *)(uintptr_t)take, handlers);
	for (i = 0; i < num_tasks; i++)
		CHECK(handlers[i] ==
		      (void *)(uintptr_t)take); /* else this was not built as it must be */
	fill_pattern(source, sizeof source, (unsigned)task_id);
	LAPI_OK(LAPI_Amsend(hndl, (uint)next, (void *)(uintptr_t)take, NULL, 0, source,
	                    sizeof source, &tgt_cntr, NULL, &cmpl_cntr));
	counter_wait(&tgt_cntr, 1);
	CHECK_EQUAL(header_calls, 1);
	CHECK(same_pattern(sink, sizeof sink, (unsigned)previous));
	counter_wait(&cmpl_cntr, 1);
	conform_sync();
	LAPI_OK(LAPI_Put(hndl, (uint)next, 100, sink, source + 5, &tgt_cntr, NULL, &cmpl_cntr));
	counter_wait(&tgt_cntr, 1);
	counter_wait(&cmpl_cntr, 1);
}

static const conform_case cases[] = {
	CONFORM_CASE(static_addresses_without_exchange),
};

int main(int argc, char **argv)
{
	return conform_main(argc, argv, cases, sizeof cases / sizeof cases[0]);
}
