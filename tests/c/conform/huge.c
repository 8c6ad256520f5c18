/*
 * huge.c - one message of 2 GiB + 1 byte by put, get and active message: lengths and offsets beyond
 * 31 and 32 bits. Needs about 4 GiB of memory a task; run by `make conform-huge` only.
 */
#include "conform.h"

#include <sys/mman.h>

static const size_t huge = ((size_t)2 << 30) + 1;
static unsigned char *from, *to;
static void *froms[CONFORM_MAX_TASKS], *tos[CONFORM_MAX_TASKS];
static lapi_cntr_t tgt_cntr, org_cntr, cmpl_cntr;
static void *cntrs[CONFORM_MAX_TASKS];
static ulong announced;

static void *allocate(void)
{
	void *memory = mmap(NULL, huge, PROT_READ | PROT_WRITE,
	                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	return memory == MAP_FAILED ? NULL : memory;
}

static int prepare(void)
{
	if (!from)
		from = (unsigned char *)allocate();
	if (!to)
		to = (unsigned char *)allocate();
	if (!CHECK(from && to))
		return 0;
	counter_zero(&tgt_cntr);
	counter_zero(&org_cntr);
	counter_zero(&cmpl_cntr);
	fill_pattern(from, huge, (unsigned)task_id + 1);
	memset(to, 0, huge);
	exchange(from, froms);
	exchange(to, tos);
	exchange(&tgt_cntr, cntrs);
	return 1;
}

static void put_huge(void)
{
	int next = (task_id + 1) % num_tasks, previous = (task_id + num_tasks - 1) % num_tasks;
	if (!prepare())
		return;
	LAPI_OK(LAPI_Put(hndl, (uint)next, huge, tos[next], from, (lapi_cntr_t *)cntrs[next],
	                 &org_cntr, &cmpl_cntr));
	counter_wait(&tgt_cntr, 1);
	CHECK(same_pattern(to, huge, (unsigned)previous + 1));
	counter_wait(&org_cntr, 1);
	counter_wait(&cmpl_cntr, 1);
}

static void get_huge(void)
{
	int next = (task_id + 1) % num_tasks;
	if (!prepare())
		return;
	LAPI_OK(LAPI_Get(hndl, (uint)next, huge, froms[next], to, (lapi_cntr_t *)cntrs[next],
	                 &org_cntr));
	counter_wait(&org_cntr, 1);
	CHECK(same_pattern(to, huge, (unsigned)next + 1));
	counter_wait(&tgt_cntr, 1);
}

static void *take(lapi_handle_t *h, void *uhdr, uint *uhdr_len, ulong *msg_len,
                  compl_hndlr_t **completion, void **user_info)
{
	(void)h, (void)uhdr, (void)uhdr_len, (void)completion, (void)user_info;
	announced = *msg_len;
	return to;
}

static void am_huge(void)
{
	void *handlers[CONFORM_MAX_TASKS];
	int next = (task_id + 1) % num_tasks, previous = (task_id + num_tasks - 1) % num_tasks;
	if (!prepare())
		return;
	exchange((void *)(uintptr_t)take, handlers);
	LAPI_OK(LAPI_Amsend(hndl, (uint)next, handlers[next], NULL, 0, from, huge,
	                    (lapi_cntr_t *)cntrs[next], &org_cntr, &cmpl_cntr));
	counter_wait(&tgt_cntr, 1);
	CHECK(announced == huge);
	CHECK(same_pattern(to, huge, (unsigned)previous + 1));
	counter_wait(&org_cntr, 1);
	counter_wait(&cmpl_cntr, 1);
}

static const conform_case cases[] = {
	CONFORM_CASE(put_huge),
	CONFORM_CASE(get_huge),
	CONFORM_CASE(am_huge),
};

int main(int argc, char **argv)
{
	return conform_main(argc, argv, cases, sizeof cases / sizeof cases[0]);
}
