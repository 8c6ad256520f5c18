/*
 * errors.c - invalid handles, invalid addresses, and LAPI_Msg_string.
 */
#include "conform.h"

#include <errno.h>
#include <sys/mman.h>

static lapi_cntr_t cntr;
static int word;
static long long word64;

/* Every call with one handle that is not valid. */
static void every_call_with(lapi_handle_t h)
{
	int value = 1;
	long long value64 = 1;
	void *table[CONFORM_MAX_TASKS], *address = NULL;
	lapi_long_t table64[CONFORM_MAX_TASKS];
	lapi_msg_info_t info;
	CHECK_CODE(LAPI_ERR_HNDL_INVALID, LAPI_Qenv(h, TASK_ID, &value));
	CHECK_CODE(LAPI_ERR_HNDL_INVALID, LAPI_Senv(h, TIMEOUT, 100));
	CHECK_CODE(LAPI_ERR_HNDL_INVALID, LAPI_Address_init(h, NULL, table));
	CHECK_CODE(LAPI_ERR_HNDL_INVALID, LAPI_Address_init64(h, 0, table64));
	CHECK_CODE(LAPI_ERR_HNDL_INVALID, LAPI_Addr_set(h, &word, 1));
	CHECK_CODE(LAPI_ERR_HNDL_INVALID, LAPI_Addr_get(h, &address, 1));
	CHECK_CODE(LAPI_ERR_HNDL_INVALID, LAPI_Put(h, 0, 4, &word, &value, NULL, NULL, NULL));
	CHECK_CODE(LAPI_ERR_HNDL_INVALID, LAPI_Get(h, 0, 4, &word, &value, NULL, NULL));
	CHECK_CODE(LAPI_ERR_HNDL_INVALID,
	           LAPI_Amsend(h, 0, &word, NULL, 0, NULL, 0, NULL, NULL, NULL));
	CHECK_CODE(LAPI_ERR_HNDL_INVALID, LAPI_Rmw(h, SWAP, 0, &word, &value, NULL, NULL));
	CHECK_CODE(LAPI_ERR_HNDL_INVALID, LAPI_Rmw64(h, SWAP, 0, &word64, &value64, NULL, NULL));
	CHECK_CODE(LAPI_ERR_HNDL_INVALID, LAPI_Putv(h, 0, NULL, NULL, NULL, NULL, NULL));
	CHECK_CODE(LAPI_ERR_HNDL_INVALID, LAPI_Getv(h, 0, NULL, NULL, NULL, NULL));
	CHECK_CODE(LAPI_ERR_HNDL_INVALID,
	           LAPI_Amsendv(h, 0, &word, NULL, 0, NULL, NULL, NULL, NULL));
	CHECK_CODE(LAPI_ERR_HNDL_INVALID, LAPI_Xfer(h, NULL));
	CHECK_CODE(LAPI_ERR_HNDL_INVALID, LAPI_Setcntr(h, &cntr, 9));
	CHECK_CODE(LAPI_ERR_HNDL_INVALID, LAPI_Getcntr(h, &cntr, &value));
	CHECK_CODE(LAPI_ERR_HNDL_INVALID, LAPI_Waitcntr(h, &cntr, 1, &value));
	CHECK_CODE(LAPI_ERR_HNDL_INVALID, LAPI_Probe(h));
	CHECK_CODE(LAPI_ERR_HNDL_INVALID, LAPI_Msgpoll(h, 1, &info));
	CHECK_CODE(LAPI_ERR_HNDL_INVALID, LAPI_Fence(h));
	CHECK_CODE(LAPI_ERR_HNDL_INVALID, LAPI_Gfence(h));
	CHECK_CODE(LAPI_ERR_HNDL_INVALID, LAPI_Term(h));
	CHECK_EQUAL(value, 1);
	CHECK_EQUAL(word, 0);
	CHECK_EQUAL(counter_value(&cntr), 0);
}

static void handle_never_valid(void)
{
	lapi_handle_t bad[] = {LAPI_VOID_HANDLE, 0x12345678u, 0x7fffffffu, 100000u};
	size_t i;
	counter_zero(&cntr);
	for (i = 0; i < sizeof bad / sizeof bad[0]; i++)
		if (CHECK(bad[i] != hndl))
			every_call_with(bad[i]);
}

/* A handle whose context was terminated, also when another context has taken its place. */
static void handle_after_term(void)
{
	lapi_handle_t second, third;
	lapi_info_t info;
	counter_zero(&cntr);
	conform_fill_info(&info);
	if (!LAPI_OK(LAPI_Init(&second, &info)))
		return;
	LAPI_OK(LAPI_Gfence(second));
	LAPI_OK(LAPI_Term(second));
	every_call_with(second);
	conform_fill_info(&info);
	if (!LAPI_OK(LAPI_Init(&third, &info)))
		return;
	CHECK(third != second);
	every_call_with(second);
	LAPI_OK(LAPI_Gfence(third));
	LAPI_OK(LAPI_Term(third));
	CHECK_CODE(LAPI_ERR_HNDL_INVALID, LAPI_Term(third));
}

/* ---- addresses that lead nowhere ---- */

static unsigned char source[200000], sink[200000];

/* Memory without access: mapped, so that no other mapping takes its place meanwhile. */
static void *inaccessible(size_t n)
{
	void *page = mmap(NULL, n, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(page != MAP_FAILED);
	return page;
}

/* Some task's error handler was called with the code, and all calls have valid arguments. */
static void expect_address_errors(int code)
{
	int i, right = 0, n = conform_errors();
	for (i = 0; i < n && i < CONFORM_MAX_ERRORS; i++) {
		conform_error e = conform_error_at(i);
		right += e.code == code;
		CHECK(e.code == code);
		CHECK_EQUAL(e.task, task_id);
		CHECK(e.src >= 0 && e.src < num_tasks);
		CHECK(e.type >= GET_ERR && e.type <= TMR_ERR);
	}
	CHECK(sum_over_tasks(right) >= 1);
}

static void wait_for_errors(void)
{
	int turns; /* not a clock: all tasks must leave after the same turn */
	for (turns = 0; turns < 3000 && sum_over_tasks(conform_errors()) == 0; turns++)
		sleep_ms(1);
}

static void still_works(void)
{
	static lapi_cntr_t done;
	void *sinks[CONFORM_MAX_TASKS];
	int next = (task_id + 1) % num_tasks, previous = (task_id + num_tasks - 1) % num_tasks;
	counter_zero(&done);
	exchange(sink, sinks);
	fill_pattern(source, sizeof source, (unsigned)task_id);
	LAPI_OK(LAPI_Put(hndl, (uint)next, sizeof source, sinks[next], source, NULL, NULL, &done));
	counter_wait(&done, 1);
	conform_sync();
	CHECK(same_pattern(sink, sizeof source, (unsigned)previous));
	conform_sync();
}

static void bad_target_address_of_put(size_t n)
{
	void *pages[CONFORM_MAX_TASKS];
	int next = (task_id + 1) % num_tasks;
	exchange(inaccessible(1 << 18), pages);
	conform_expect_errors(1);
	conform_sync();
	if (task_id == 0)
		LAPI_OK(LAPI_Put(hndl, (uint)next, n, pages[next], source, NULL, NULL, NULL));
	wait_for_errors();
	expect_address_errors(LAPI_ERR_TGT_ADDR_NULL);
	conform_sync();
	conform_expect_errors(0);
	still_works();
}

static void put_to_unmapped_memory(void)
{
	bad_target_address_of_put(8);
	bad_target_address_of_put(200);
	bad_target_address_of_put(100000);
}

static void get_from_unmapped_memory(void)
{
	void *pages[CONFORM_MAX_TASKS];
	int next = (task_id + 1) % num_tasks;
	size_t n;
	for (n = 8; n <= 80000; n *= 100) {
		exchange(inaccessible(1 << 18), pages);
		conform_expect_errors(1);
		conform_sync();
		if (task_id == 0)
			LAPI_OK(LAPI_Get(hndl, (uint)next, n, pages[next], sink, NULL, NULL));
		wait_for_errors();
		expect_address_errors(LAPI_ERR_TGT_ADDR_NULL);
		conform_sync();
		conform_expect_errors(0);
	}
	still_works();
}

static void rmw_on_unmapped_memory(void)
{
	void *pages[CONFORM_MAX_TASKS];
	int next = (task_id + 1) % num_tasks, one = 1;
	exchange(inaccessible(4096), pages);
	conform_expect_errors(1);
	conform_sync();
	if (task_id == 0)
		LAPI_OK(LAPI_Rmw(hndl, FETCH_AND_ADD, (uint)next, (int *)pages[next], &one, NULL,
		                 NULL));
	wait_for_errors();
	expect_address_errors(LAPI_ERR_TGT_ADDR_NULL);
	conform_sync();
	conform_expect_errors(0);
	still_works();
}

/* The origin's own buffer: the call may fail at once, or the error handler is called. */
static void put_from_unmapped_memory(void)
{
	void *sinks[CONFORM_MAX_TASKS];
	int next = (task_id + 1) % num_tasks, code = LAPI_SUCCESS;
	size_t n;
	exchange(sink, sinks);
	for (n = 8; n <= 80000; n *= 100) {
		conform_expect_errors(1);
		conform_sync();
		if (task_id == 0)
			code = LAPI_Put(hndl, (uint)next, n, sinks[next], inaccessible(1 << 18),
			                NULL, NULL, NULL);
		CHECK(code == LAPI_SUCCESS || code == LAPI_ERR_ORG_ADDR_NULL);
		if (sum_over_tasks(code) == 0) {
			wait_for_errors();
			expect_address_errors(LAPI_ERR_ORG_ADDR_NULL);
		}
		conform_sync();
		conform_expect_errors(0);
	}
	still_works();
}

/* ---- LAPI_Msg_string ---- */

static void msg_string_known_codes(void)
{
	int code, known = 0;
	char text[LAPI_MAX_ERR_STRING + 16];
	for (code = 400; code <= 511; code++) {
		memset(text, 0x7E, sizeof text);
		if (LAPI_Msg_string(code, text) == LAPI_SUCCESS) {
			known++;
			CHECK(memchr(text, 0, LAPI_MAX_ERR_STRING) != NULL);
			CHECK(text[0] != 0);
		}
		/* no byte beyond what the header promises */
		CHECK_EQUAL(text[LAPI_MAX_ERR_STRING], 0x7E);
	}
	CHECK(known >= 100);
	LAPI_OK(LAPI_Msg_string(LAPI_SUCCESS, text));
	LAPI_OK(LAPI_Msg_string(LAPI_ERR_TGT, text));
	LAPI_OK(LAPI_Msg_string(LAPI_ERR_CODE_UNKNOWN, text));
}

static void msg_string_errno_values(void)
{
	char text[LAPI_MAX_ERR_STRING + 16];
	LAPI_OK(LAPI_Msg_string(ENOENT, text));
	CHECK(strcmp(text, strerror(ENOENT)) == 0);
	LAPI_OK(LAPI_Msg_string(EINVAL, text));
	CHECK(strcmp(text, strerror(EINVAL)) == 0);
}

static void msg_string_errors(void)
{
	static const int unknown[] = {-1, 399, 512, 9999, INT32_MIN, INT32_MAX};
	char text[LAPI_MAX_ERR_STRING + 16];
	size_t i;
	for (i = 0; i < sizeof unknown / sizeof unknown[0]; i++)
		CHECK_CODE(LAPI_ERR_CODE_UNKNOWN, LAPI_Msg_string(unknown[i], text));
	CHECK_CODE(LAPI_ERR_RET_PTR_NULL, LAPI_Msg_string(LAPI_ERR_TGT, NULL));
}

/* clang-format off */
static const conform_case cases[] = {
	CONFORM_CASE(handle_never_valid),
	CONFORM_CASE(handle_after_term),
	CONFORM_CASE(put_to_unmapped_memory),
	CONFORM_CASE(get_from_unmapped_memory),
	CONFORM_CASE(rmw_on_unmapped_memory),
	CONFORM_CASE(put_from_unmapped_memory),
	CONFORM_CASE(msg_string_known_codes),
	CONFORM_CASE(msg_string_errno_values),
	CONFORM_CASE(msg_string_errors),
};
/* clang-format on */

int main(int argc, char **argv)
{
	return conform_main(argc, argv, cases, sizeof cases / sizeof cases[0]);
}
