/*
 * helpers.c - shared by the cases: collective helpers, counters, patterns, lengths.
 */
#include "conform.h"

void conform_sync(void)
{
	LAPI_OK(LAPI_Gfence(hndl));
}

void exchange(void *mine, void **table)
{
	LAPI_OK(LAPI_Address_init(hndl, mine, table));
}

static long long over_tasks(int mine, int want_sum)
{
	lapi_long_t table[CONFORM_MAX_TASKS];
	long long result = want_sum ? 0 : mine;
	int i;
	if (!LAPI_OK(LAPI_Address_init64(hndl, (lapi_long_t)(long long)mine, table)))
		return -1;
	for (i = 0; i < num_tasks; i++) {
		long long value = (long long)table[i];
		if (want_sum)
			result += value;
		else if (value > result)
			result = value;
	}
	return result;
}

long long sum_over_tasks(int mine)
{
	return over_tasks(mine, 1);
}

long long max_over_tasks(int mine)
{
	return over_tasks(mine, 0);
}

/* With lib_vers L2_LIB and above a counter is a structure, whose other members must start at
 * zero. */
void counter_zero(lapi_cntr_t *cntr)
{
	memset(cntr, 0, sizeof *cntr);
	LAPI_OK(LAPI_Setcntr(hndl, cntr, 0));
}

void counter_wait(lapi_cntr_t *cntr, int val)
{
	LAPI_OK(LAPI_Waitcntr(hndl, cntr, val, NULL));
}

int counter_value(lapi_cntr_t *cntr)
{
	int value = -1;
	LAPI_OK(LAPI_Getcntr(hndl, cntr, &value));
	return value;
}

static unsigned char pattern_byte(size_t i, unsigned seed)
{
	return (unsigned char)(i * 131 + (i >> 8) * 17 + (i >> 16) * 5 + seed * 29 + 1);
}

void fill_pattern(void *buffer, size_t n, unsigned seed)
{
	unsigned char *bytes = (unsigned char *)buffer;
	size_t i;
	for (i = 0; i < n; i++)
		bytes[i] = pattern_byte(i, seed);
}

int same_pattern(const void *buffer, size_t n, unsigned seed)
{
	const unsigned char *bytes = (const unsigned char *)buffer;
	size_t i;
	for (i = 0; i < n; i++)
		if (bytes[i] != pattern_byte(i, seed)) {
			fprintf(stderr, "task %d: byte %lu of %lu is %u, not %u (seed %u)\n",
			        task_id, (unsigned long)i, (unsigned long)n, bytes[i],
			        pattern_byte(i, seed), seed);
			return 0;
		}
	return 1;
}

static size_t add_length(size_t *lengths, size_t count, size_t room, size_t max, size_t n)
{
	if (n > max || count >= room || (count > 0 && lengths[count - 1] >= n))
		return count;
	lengths[count] = n;
	return count + 1;
}

static int ascending(const void *a, const void *b)
{
	size_t x = *(const size_t *)a, y = *(const size_t *)b;
	return x < y ? -1 : x > y;
}

size_t boundary_lengths(size_t *lengths, size_t room, size_t max)
{
	size_t edges[64], all[256], n = 0, total = 0, count = 0, i;
	int around;
	/* of tasks with several MTUs; each must have the same list */
	edges[n++] = (size_t)max_over_tasks(query(MAX_PKT_SZ));
	edges[n++] = (size_t)query(BUF_CP_SIZE);
	edges[n++] = (size_t)query(REX_BUF_SZ);
	edges[n++] = (size_t)query(MAX_UHDR_SZ);
	for (i = 0; i < 4; i++)
		edges[n++] = (i + 2) * edges[0];
	for (i = 8; i <= max; i *= 2)
		edges[n++] = i;
	for (i = 0; i < 4; i++)
		all[total++] = i;
	for (i = 0; i < n; i++)
		for (around = -1; around <= 1; around++)
			all[total++] = edges[i] + (size_t)around;
	qsort(all, total, sizeof all[0], ascending);
	for (i = 0; i < total; i++)
		count = add_length(lengths, count, room, max, all[i]);
	return count;
}

int query(lapi_query_t what)
{
	int value = -1;
	LAPI_OK(LAPI_Qenv(hndl, what, &value));
	return value;
}
