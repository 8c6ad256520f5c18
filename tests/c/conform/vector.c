/*
 * vector.c - LAPI_Putv, LAPI_Getv and LAPI_Amsendv: every rule of the guide's Table 7;
 * vector_errors.c has the errors.
 */
#include "conform.h"

#define BYTES (1 << 20)
#define MOST_BLOCKS 4096

static unsigned char source[BYTES], sink[BYTES];
static lapi_cntr_t tgt_cntr, org_cntr, cmpl_cntr;
static void *sinks[CONFORM_MAX_TASKS], *sources[CONFORM_MAX_TASKS], *tgt_cntrs[CONFORM_MAX_TASKS];
static void *handlers[CONFORM_MAX_TASKS];
static int next, previous;

/* Two descriptions: here, and of the target. */
static void *here_info[MOST_BLOCKS], *there_info[MOST_BLOCKS];
static ulong here_len[MOST_BLOCKS], there_len[MOST_BLOCKS];
static lapi_vec_t here, there;

static void prepare(void)
{
	counter_zero(&tgt_cntr);
	counter_zero(&org_cntr);
	counter_zero(&cmpl_cntr);
	exchange(sink, sinks);
	exchange(source, sources);
	exchange(&tgt_cntr, tgt_cntrs);
	next = (task_id + 1) % num_tasks;
	previous = (task_id + num_tasks - 1) % num_tasks;
	memset(sink, 0, sizeof sink);
	conform_sync(); /* nobody sends before everybody is ready */
}

static void describe(lapi_vec_t *v, lapi_vectype_t type, uint count, void **info, ulong *len)
{
	v->vec_type = type;
	v->num_vecs = count;
	v->info = info;
	v->len = len;
}

/* Blocks of from 0 to most bytes: at the origin one after the other with a gap of 3, at the target
 * of 5 and backwards. */
static size_t lists(uint count, size_t most, void *org, void *tgt)
{
	size_t total = 0, at_org = 0, at_tgt = 0;
	uint i;
	for (i = 0; i < count; i++) {
		uint k = count - 1 - i;
		here_len[i] = there_len[i] = (i * 7919u) % (most + 1);
		here_info[i] = (char *)org + at_org;
		at_org += here_len[i] + 3;
		total += here_len[i];
		there_info[k] = (char *)tgt + at_tgt;
		at_tgt += (k * 7919u) % (most + 1) + 5;
	}
	describe(&here, LAPI_GEN_IOVECTOR, count, here_info, here_len);
	describe(&there, LAPI_GEN_IOVECTOR, count, there_info, there_len);
	return total;
}

static void strides(uint count, ulong block, void *org, ulong org_stride, void *tgt,
                    ulong tgt_stride)
{
	here_info[0] = org;
	here_info[1] = (void *)block;
	here_info[2] = (void *)org_stride;
	there_info[0] = tgt;
	there_info[1] = (void *)block;
	there_info[2] = (void *)tgt_stride;
	describe(&here, LAPI_GEN_STRIDED_XFER, count, here_info, NULL);
	describe(&there, LAPI_GEN_STRIDED_XFER, count, there_info, NULL);
}

/* Blocks of one buffer have reached those of another, both in this task. */
static int same_blocks(const void *a, const void *b, uint count, size_t most)
{
	size_t at_a = 0, at_b = 0;
	uint i;
	static size_t place[MOST_BLOCKS];
	for (i = 0; i < count; i++) {
		uint k = count - 1 - i;
		place[k] = at_b;
		at_b += (k * 7919u) % (most + 1) + 5;
	}
	for (i = 0; i < count; i++) {
		size_t n = (i * 7919u) % (most + 1);
		if (memcmp((const char *)a + at_a, (const char *)b + place[i], n) != 0)
			return 0;
		at_a += n + 3;
	}
	return 1;
}

static const struct {
	uint count;
	size_t most;
} list_shapes[] = {
	{0, 0},      {1, 0},     {1, 100000}, {2, 50},
	{16, 30000}, {64, 1024}, {1100, 400}, {MOST_BLOCKS, 12},
};
static const struct {
	uint count;
	ulong block, org, tgt;
} stride_shapes[] = {
	{0, 4, 4, 4},
	{7, 0, 3, 5},
	{1, 9, 9, 9},
	{3, 5, 8, 11},
	{64, 1024, 2048, 1500},
	{4000, 8, 16, 24},
	{5, 20000, 20000, 30000},
};
#define COUNT(table) (sizeof table / sizeof table[0])

static void putv_lists(void)
{
	size_t i;
	prepare();
	fill_pattern(source, BYTES, 1);
	for (i = 0; i < COUNT(list_shapes); i++) {
		lists(list_shapes[i].count, list_shapes[i].most, source, sinks[next]);
		LAPI_OK(LAPI_Putv(hndl, (uint)next, &there, &here, (lapi_cntr_t *)tgt_cntrs[next],
		                  &org_cntr, &cmpl_cntr));
		counter_wait(&org_cntr, 1);
		memset(&here, 0, sizeof here); /* the descriptions are the program's again */
		memset(here_len, 0, sizeof here_len);
		memset(there_info, 0, sizeof there_info);
		counter_wait(&tgt_cntr, 1);
		counter_wait(&cmpl_cntr, 1);
		/* everybody's source is the same */
		CHECK(same_blocks(source, sink, list_shapes[i].count, list_shapes[i].most));
		conform_sync();
		memset(sink, 0, sizeof sink);
		conform_sync();
	}
}

static void getv_lists(void)
{
	size_t i;
	prepare();
	fill_pattern(source, BYTES, 2);
	conform_sync();
	for (i = 0; i < COUNT(list_shapes); i++) {
		/* here: over there, there: here */
		lists(list_shapes[i].count, list_shapes[i].most, sources[next], sink);
		LAPI_OK(LAPI_Getv(hndl, (uint)next, &here, &there, (lapi_cntr_t *)tgt_cntrs[next],
		                  &org_cntr));
		counter_wait(&org_cntr, 1);
		counter_wait(&tgt_cntr, 1);
		CHECK(same_blocks(source, sink, list_shapes[i].count, list_shapes[i].most));
		memset(sink, 0, sizeof sink);
	}
}

static int strides_arrived(const unsigned char *from, ulong from_stride, const unsigned char *to,
                           ulong to_stride, uint count, ulong block)
{
	uint i;
	ulong k;
	for (i = 0; i < count; i++) {
		if (memcmp(from + i * from_stride, to + i * to_stride, block) != 0)
			return 0;
		for (k = block; k < to_stride; k++)
			if (to[i * to_stride + k] != 0) /* between the blocks */
				return 0;
	}
	return 1;
}

static void putv_and_getv_strided(void)
{
	size_t i;
	prepare();
	fill_pattern(source, BYTES, 3);
	for (i = 0; i < COUNT(stride_shapes); i++) {
		uint count = stride_shapes[i].count;
		ulong block = stride_shapes[i].block, org = stride_shapes[i].org,
		      tgt = stride_shapes[i].tgt;
		strides(count, block, source, org, sinks[next], tgt);
		LAPI_OK(LAPI_Putv(hndl, (uint)next, &there, &here, (lapi_cntr_t *)tgt_cntrs[next],
		                  &org_cntr, &cmpl_cntr));
		counter_wait(&org_cntr, 1);
		counter_wait(&cmpl_cntr, 1);
		counter_wait(&tgt_cntr, 1);
		CHECK(strides_arrived(source, org, sink, tgt, count, block));
		conform_sync();
		memset(sink, 0, sizeof sink);
		strides(count, block, sources[next], org, sink, tgt);
		LAPI_OK(LAPI_Getv(hndl, (uint)next, &here, &there, NULL, &org_cntr));
		counter_wait(&org_cntr, 1);
		CHECK(strides_arrived(source, org, sink, tgt, count, block));
		memset(sink, 0, sizeof sink);
		conform_sync();
	}
}

/* ---- active messages ---- */

static lapi_vec_t returned; /* what the header handler gives back, unless give_null */
static void *returned_info[MOST_BLOCKS];
static ulong returned_len[MOST_BLOCKS];
static int give_null, header_calls, completions, lengths_wrong;
static uint expected_blocks;
static size_t expected_most;
static unsigned uhdr_sum;

static void completed(lapi_handle_t *h, void *param)
{
	(void)h;
	__atomic_fetch_add((int *)param, 1, __ATOMIC_RELEASE);
}

static lapi_vec_t *vector_header(lapi_handle_t *h, void *uhdr, uint *uhdr_len, ulong *len_vec[],
                                 compl_hndlr_t **comp_h, void **uinfo)
{
	uint i;
	(void)h;
	header_calls++;
	for (i = 0; i < expected_blocks; i++)
		lengths_wrong += (*len_vec)[i] != (i * 7919u) % (expected_most + 1);
	for (uhdr_sum = 0, i = 0; i < *uhdr_len; i++)
		uhdr_sum += ((unsigned char *)uhdr)[i];
	*comp_h = completed;
	*uinfo = &completions;
	return give_null ? NULL : &returned;
}

/* The same, but it takes len_vec for a lapi_return_info_t, as programs do: an inline completion
 * handler. */
static lapi_vec_t *inline_header(lapi_handle_t *h, void *uhdr, uint *uhdr_len, ulong *len_vec[],
                                 compl_hndlr_t **comp_h, void **uinfo)
{
	lapi_return_info_t *info = (lapi_return_info_t *)(void *)len_vec;
	info->ret_flags = LAPI_LOCAL_STATE;
	return vector_header(h, uhdr, uhdr_len, len_vec, comp_h, uinfo);
}

static void prepare_am(vhdr_hndlr_t *handler)
{
	prepare();
	give_null = header_calls = lengths_wrong = 0;
	expected_blocks = 0;
	__atomic_store_n(&completions, 0, __ATOMIC_RELAXED);
	exchange((void *)(uintptr_t)handler, handlers);
}

static void send_vector(const void *uhdr, uint uhdr_len)
{
	LAPI_OK(LAPI_Amsendv(hndl, (uint)next, handlers[next], (void *)(uintptr_t)uhdr, uhdr_len,
	                     &here, (lapi_cntr_t *)tgt_cntrs[next], &org_cntr, &cmpl_cntr));
	counter_wait(&org_cntr, 1);
	counter_wait(&tgt_cntr, 1);
	counter_wait(&cmpl_cntr, 1);
}

static void amsendv_lists(void)
{
	static unsigned char uhdr[4096];
	int max_uhdr = query(MAX_UHDR_SZ), calls = 0;
	size_t i, k;
	prepare_am(vector_header);
	fill_pattern(source, BYTES, 4);
	fill_pattern(uhdr, sizeof uhdr, 5);
	for (i = 0; i < COUNT(list_shapes); i++)
		for (k = 0; k < 3; k++) {
			uint lengths[] = {0, 8, (uint)max_uhdr}, n, sum = 0;
			lists(list_shapes[i].count, list_shapes[i].most, source, sink);
			memcpy(returned_info, there_info, sizeof returned_info);
			memcpy(returned_len, there_len, sizeof returned_len);
			describe(&returned, LAPI_GEN_IOVECTOR, list_shapes[i].count, returned_info,
			         returned_len);
			expected_blocks = list_shapes[i].count;
			expected_most = list_shapes[i].most;
			conform_sync();
			send_vector(k ? uhdr : NULL, lengths[k]);
			for (n = 0; n < lengths[k]; n++)
				sum += uhdr[n];
			CHECK_EQUAL(uhdr_sum, sum);
			CHECK_EQUAL(header_calls, ++calls);
			CHECK_EQUAL(peek(&completions), calls);
			CHECK(same_blocks(source, sink, list_shapes[i].count, list_shapes[i].most));
			conform_sync();
			memset(sink, 0, sizeof sink);
		}
	CHECK_EQUAL(lengths_wrong, 0);
}

static void amsendv_strided(void)
{
	size_t i;
	prepare_am(inline_header);
	fill_pattern(source, BYTES, 6);
	for (i = 0; i < COUNT(stride_shapes); i++) {
		strides(stride_shapes[i].count, stride_shapes[i].block, source,
		        stride_shapes[i].org, sink, stride_shapes[i].tgt);
		memcpy(returned_info, there_info, sizeof returned_info);
		describe(&returned, LAPI_GEN_STRIDED_XFER, stride_shapes[i].count, returned_info,
		         NULL);
		conform_sync();
		send_vector(NULL, 0);
		CHECK(strides_arrived(source, stride_shapes[i].org, sink, stride_shapes[i].tgt,
		                      stride_shapes[i].count, stride_shapes[i].block));
		CHECK_EQUAL(peek(&completions), (int)i + 1);
		conform_sync();
		memset(sink, 0, sizeof sink);
	}
}

/* Generic: neither number nor lengths need to agree; the shorter side ends the transfer, the rest
 * stays as it was. */
static void amsendv_generic(void)
{
	static const ulong target_bytes[] = {0, 10, 3000, 200000};
	size_t i, t;
	prepare_am(vector_header);
	fill_pattern(source, BYTES, 7);
	for (i = 0; i < COUNT(target_bytes); i++)
		for (t = 0; t < 2; t++) {
			size_t total = lists(t ? 500 : 3, t ? 300 : 20, source, sink), n, moved = 0;
			uint b;
			here.vec_type = LAPI_GEN_GENERIC;
			returned_info[0] = sink;
			returned_len[0] = target_bytes[i] / 3;
			returned_info[1] = sink + target_bytes[i] / 3;
			returned_len[1] = target_bytes[i] - target_bytes[i] / 3;
			describe(&returned, LAPI_GEN_GENERIC, 2, returned_info, returned_len);
			conform_sync();
			send_vector(NULL, 0);
			for (b = 0; b < here.num_vecs && moved < target_bytes[i]; b++) {
				n = here_len[b] < target_bytes[i] - moved ? here_len[b]
				                                          : target_bytes[i] - moved;
				CHECK(memcmp(here_info[b], sink + moved, n) == 0);
				moved += n;
			}
			CHECK_EQUAL(moved, total < target_bytes[i] ? total : target_bytes[i]);
			for (n = moved; n < moved + 4096; n++)
				if (sink[n] != 0)
					break;
			CHECK_EQUAL(n, moved + 4096);
			conform_sync();
			memset(sink, 0, sizeof sink);
		}
}

static void amsendv_null_vector_drops_the_data(void)
{
	prepare_am(vector_header);
	give_null = 1;
	conform_sync();
	lists(64, 1024, source, sink);
	send_vector(NULL, 0);
	CHECK_EQUAL(header_calls, 1);
	CHECK_EQUAL(peek(&completions), 1);
	CHECK_EQUAL(sink[0], 0);
}

/* A vector that does not fit the origin's: the error handlers of both tasks are called. */
static void amsendv_vector_that_does_not_fit(void)
{
	static const struct {
		lapi_vectype_t type;
		uint count;
		ulong first;
		int code;
	} wrong[] = {
		{LAPI_GEN_GENERIC, 2, 8, LAPI_ERR_VEC_TYPE_DIFF},
		{LAPI_GEN_IOVECTOR, 1, 8, LAPI_ERR_VEC_NUM_DIFF},
		{LAPI_GEN_IOVECTOR, 2, 9, LAPI_ERR_VEC_LEN_DIFF},
	};
	size_t i;
	int want = num_tasks == 1 ? 1 : 2;
	prepare_am(vector_header);
	for (i = 0; i < COUNT(wrong); i++) {
		int k;
		if (wrong[i].code == LAPI_ERR_VEC_LEN_DIFF && !conform_checking)
			continue;
		conform_expect_errors(1);
		here_info[0] = here_info[1] = source;
		here_len[0] = here_len[1] = 8;
		describe(&here, LAPI_GEN_IOVECTOR, 2, here_info, here_len);
		returned_info[0] = returned_info[1] = sink;
		returned_len[0] = wrong[i].first;
		returned_len[1] = 8;
		describe(&returned, wrong[i].type, wrong[i].count, returned_info, returned_len);
		conform_sync();
		LAPI_OK(LAPI_Amsendv(hndl, (uint)next, handlers[next], NULL, 0, &here,
		                     (lapi_cntr_t *)tgt_cntrs[next], &org_cntr, NULL));
		counter_wait(&org_cntr, 1);
		POLL_UNTIL(conform_errors() >= want);
		for (k = 0; k < want; k++) {
			CHECK_EQUAL(conform_error_at(k).code, wrong[i].code);
			CHECK_EQUAL(conform_error_at(k).type, AM_ERR);
		}
		conform_sync();
		CHECK_EQUAL(counter_value(&tgt_cntr), 0);
	}
	conform_expect_errors(0);
}

static const conform_case cases[] = {
	CONFORM_CASE(putv_lists),
	CONFORM_CASE(getv_lists),
	CONFORM_CASE(putv_and_getv_strided),
	CONFORM_CASE(amsendv_lists),
	CONFORM_CASE(amsendv_strided),
	CONFORM_CASE(amsendv_generic),
	CONFORM_CASE(amsendv_null_vector_drops_the_data),
	CONFORM_CASE(amsendv_vector_that_does_not_fit),
};

int main(int argc, char **argv)
{
	return conform_main(argc, argv, cases, sizeof cases / sizeof cases[0]);
}
