/*
 * address.c - LAPI_Address_init, LAPI_Address_init64, LAPI_Address, LAPI_Addr_set, LAPI_Addr_get.
 */
#include "conform.h"

static void address_init_exchanges_pointers(void)
{
	void *table[CONFORM_MAX_TASKS + 1];
	int i, mine;
	void *guard = &mine;
	for (i = 0; i <= CONFORM_MAX_TASKS; i++)
		table[i] = guard;
	LAPI_OK(LAPI_Address_init(hndl, (void *)(uintptr_t)(0x1000 + task_id), table));
	for (i = 0; i < num_tasks; i++)
		CHECK(table[i] == (void *)(uintptr_t)(0x1000 + i));
	for (; i <= CONFORM_MAX_TASKS; i++) /* NUM_TASKS entries, not one more */
		CHECK(table[i] == guard);
}

static void address_init_null_values(void)
{
	void *table[CONFORM_MAX_TASKS];
	int i;
	memset(table, 1, sizeof table);
	LAPI_OK(LAPI_Address_init(hndl, NULL, table));
	for (i = 0; i < num_tasks; i++)
		CHECK(table[i] == NULL);
	LAPI_OK(LAPI_Address_init(hndl, task_id % 2 ? (void *)table : NULL, table));
	for (i = 0; i < num_tasks; i++)
		CHECK((table[i] == NULL) == (i % 2 == 0));
}

/* An all-gather of any value of a pointer's size, hundreds of times. */
static void address_init_hundreds_of_times(void)
{
	void *table[CONFORM_MAX_TASKS];
	int round, i;
	for (round = 0; round < 400; round++) {
		LAPI_OK(LAPI_Address_init(hndl, (void *)(uintptr_t)(round * 1000 + task_id * 7),
		                          table));
		for (i = 0; i < num_tasks; i++)
			if (!CHECK(table[i] == (void *)(uintptr_t)(round * 1000 + i * 7)))
				return;
	}
}

static void address_init64_exchanges_64_bits(void)
{
	lapi_long_t table[CONFORM_MAX_TASKS + 1];
	int i, round;
	for (round = 0; round < 50; round++) {
		memset(table, 0x5A, sizeof table);
		LAPI_OK(LAPI_Address_init64(
			hndl, 0xfedcba9800000000ull + (lapi_long_t)(task_id + round), table));
		for (i = 0; i < num_tasks; i++)
			CHECK(table[i] == 0xfedcba9800000000ull + (lapi_long_t)(i + round));
		CHECK(table[num_tasks] == 0x5A5A5A5A5A5A5A5Aull);
	}
	LAPI_OK(LAPI_Address_init64(hndl, 0, table));
	for (i = 0; i < num_tasks; i++)
		CHECK(table[i] == 0);
}

static unsigned char source[200000], sink[200000];
static lapi_cntr_t tgt_cntr, cmpl_cntr;

/* Unrelated messages, small and large, under way all the time. */
static void address_init_with_traffic_under_way(void)
{
	void *sinks[CONFORM_MAX_TASKS], *cntrs[CONFORM_MAX_TASKS], *table[CONFORM_MAX_TASKS];
	int round, i, next = (task_id + 1) % num_tasks;
	counter_zero(&tgt_cntr);
	counter_zero(&cmpl_cntr);
	exchange(sink, sinks);
	exchange(&tgt_cntr, cntrs);
	fill_pattern(source, sizeof source, 1);
	for (round = 0; round < 200; round++) {
		size_t n = round % 10 ? (size_t)round : sizeof source;
		LAPI_OK(LAPI_Put(hndl, (uint)next, n, sinks[next], source,
		                 (lapi_cntr_t *)cntrs[next], NULL, &cmpl_cntr));
		LAPI_OK(LAPI_Address_init(hndl, (void *)(uintptr_t)(round + task_id), table));
		for (i = 0; i < num_tasks; i++)
			CHECK(table[i] == (void *)(uintptr_t)(round + i));
	}
	counter_wait(&tgt_cntr, 200);
	counter_wait(&cmpl_cntr, 200);
	CHECK(same_pattern(sink, sizeof sink, 1));
}

/* Both widths, and Gfences, in turn: collective calls need only come in the same order
 * everywhere. */
static void address_init_between_gfences(void)
{
	void *table[CONFORM_MAX_TASKS];
	lapi_long_t table64[CONFORM_MAX_TASKS];
	int round, last = num_tasks - 1;
	for (round = 0; round < 50; round++) {
		if ((round + task_id) % 3 == 0)
			sched_yield();
		LAPI_OK(LAPI_Address_init(hndl, (void *)(uintptr_t)(round + 1), table));
		CHECK(table[last] == (void *)(uintptr_t)(round + 1));
		if (round % 2)
			conform_sync();
		LAPI_OK(LAPI_Address_init64(hndl, (lapi_long_t)round, table64));
		CHECK(table64[last] == (lapi_long_t)round);
	}
}

static void address_init_null_table(void)
{
	CHECK_CODE(LAPI_ERR_RET_PTR_NULL, LAPI_Address_init(hndl, sink, NULL));
	CHECK_CODE(LAPI_ERR_RET_PTR_NULL, LAPI_Address_init64(hndl, 1, NULL));
	conform_sync(); /* and the tasks are still in step */
}

static void address_converts_pointer(void)
{
	ulong value = 0;
	LAPI_OK(LAPI_Address(sink, &value));
	CHECK(value == (ulong)(uintptr_t)sink);
	CHECK_CODE(LAPI_ERR_ORG_ADDR_NULL, LAPI_Address(NULL, &value));
	CHECK_CODE(LAPI_ERR_TGT_ADDR_NULL, LAPI_Address(sink, NULL));
	CHECK(value == (ulong)(uintptr_t)sink);
}

static void addr_set_and_get(void)
{
	int size = query(LOC_ADDRTBL_SZ), i, indices[4] = {1, 2, 0, 0};
	void *got = NULL;
	if (!CHECK(size >= 8))
		return;
	indices[2] = size / 2;
	indices[3] = size - 1;
	for (i = 0; i < 4; i++)
		LAPI_OK(LAPI_Addr_set(hndl, source + i, indices[i]));
	for (i = 0; i < 4; i++) {
		LAPI_OK(LAPI_Addr_get(hndl, &got, indices[i]));
		CHECK(got == (void *)(source + i));
	}
	LAPI_OK(LAPI_Addr_set(hndl, sink, 1)); /* again, with another */
	LAPI_OK(LAPI_Addr_get(hndl, &got, 1));
	CHECK(got == (void *)sink);
}

static void addr_index_range(void)
{
	int size = query(LOC_ADDRTBL_SZ);
	void *got = source;
	CHECK_CODE(LAPI_ERR_ADDR_HNDL_RANGE, LAPI_Addr_set(hndl, sink, 0));
	CHECK_CODE(LAPI_ERR_ADDR_HNDL_RANGE, LAPI_Addr_set(hndl, sink, size));
	CHECK_CODE(LAPI_ERR_ADDR_HNDL_RANGE, LAPI_Addr_set(hndl, sink, -1));
	CHECK_CODE(LAPI_ERR_ADDR_HNDL_RANGE, LAPI_Addr_get(hndl, &got, 0));
	CHECK_CODE(LAPI_ERR_ADDR_HNDL_RANGE, LAPI_Addr_get(hndl, &got, size));
	CHECK_CODE(LAPI_ERR_ADDR_HNDL_RANGE, LAPI_Addr_get(hndl, &got, INT32_MIN));
	CHECK_CODE(LAPI_ERR_RET_PTR_NULL, LAPI_Addr_get(hndl, NULL, 1));
	CHECK(got == (void *)source);
}

static const conform_case cases[] = {
	CONFORM_CASE(address_init_exchanges_pointers),
	CONFORM_CASE(address_init_null_values),
	CONFORM_CASE(address_init_hundreds_of_times),
	CONFORM_CASE(address_init64_exchanges_64_bits),
	CONFORM_CASE(address_init_with_traffic_under_way),
	CONFORM_CASE(address_init_between_gfences),
	CONFORM_CASE(address_init_null_table),
	CONFORM_CASE(address_converts_pointer),
	CONFORM_CASE(addr_set_and_get),
	CONFORM_CASE(addr_index_range),
};

int main(int argc, char **argv)
{
	return conform_main(argc, argv, cases, sizeof cases / sizeof cases[0]);
}
