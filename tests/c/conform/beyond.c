/*
 * beyond.c - addresses, handlers and lengths that a 32-bit task does not have, named by other tasks
 * through LAPI_Xfer. That task refuses each, and its memory stays as it was. Among 64-bit tasks
 * only bad addresses are tested.
 *
 * Each task works on the next one.
 */
#include "conform.h"

#include <sys/mman.h>

#define ROOM 400000

static unsigned char source[ROOM], sink[ROOM], back[ROOM];
static lapi_cntr_t tgt_cntr, org_cntr, cmpl_cntr;
static lapi_long_t sinks[CONFORM_MAX_TASKS], sources[CONFORM_MAX_TASKS],
	tgt_cntrs[CONFORM_MAX_TASKS], words[CONFORM_MAX_TASKS], bits[CONFORM_MAX_TASKS],
	handlers[CONFORM_MAX_TASKS];
static int next, previous, headers;
static long long word_of_mine __attribute__((aligned(8)));

static void address64(const void *mine, lapi_long_t *table)
{
	LAPI_OK(LAPI_Address_init64(hndl, (lapi_long_t)(uintptr_t)mine, table));
}

/* No message may reach this handler, neither of one block nor of a vector. */
static void *header_handler(lapi_handle_t *h, void *uhdr, uint *uhdr_len, ulong *msg_len,
                            compl_hndlr_t **completion, void **user_info)
{
	(void)h, (void)uhdr, (void)uhdr_len, (void)msg_len;
	headers++;
	*completion = NULL;
	*user_info = NULL;
	return NULL;
}

static void prepare(unsigned seed)
{
	next = (task_id + 1) % num_tasks;
	previous = (task_id + num_tasks - 1) % num_tasks;
	counter_zero(&tgt_cntr);
	counter_zero(&org_cntr);
	counter_zero(&cmpl_cntr);
	memset(sink, 0, sizeof sink);
	memset(back, 0, sizeof back);
	fill_pattern(source, sizeof source, seed + (unsigned)task_id);
	headers = 0;
	address64(sink, sinks);
	address64(source, sources);
	address64(&tgt_cntr, tgt_cntrs);
	address64(&word_of_mine, words);
	address64((void *)(uintptr_t)header_handler, handlers);
	LAPI_OK(LAPI_Address_init64(hndl, 8 * sizeof(void *), bits));
}

static const size_t lengths[] = {8, 1000, 6000, 100000, ROOM};
#define LENGTHS ((int)(sizeof lengths / sizeof lengths[0]))

/* Puts to, gets from, a word and a counter so far behind the next task's memory, and waits for all
 * of them. */
static void name_memory(lapi_long_t beyond)
{
	lapi_xfer_t x;
	long long in = 1, before = -1;
	int i;
	for (i = 0; i < LENGTHS; i++) {
		memset(&x, 0, sizeof x);
		x.Put.Xfer_type = LAPI_PUT_XFER;
		x.Put.tgt = (uint)next;
		x.Put.tgt_addr = sinks[next] + beyond;
		x.Put.org_addr = source;
		x.Put.len = lengths[i];
		LAPI_OK(LAPI_Xfer(hndl, &x));
		memset(&x, 0, sizeof x);
		x.Get.Xfer_type = LAPI_GET_XFER;
		x.Get.tgt = (uint)next;
		x.Get.tgt_addr = sources[next] + beyond;
		x.Get.org_addr = back;
		x.Get.len = lengths[i];
		LAPI_OK(LAPI_Xfer(hndl, &x));
	}
	memset(&x, 0, sizeof x);
	x.Rmw.Xfer_type = LAPI_RMW_XFER;
	x.Rmw.op = FETCH_AND_ADD;
	x.Rmw.tgt = (uint)next;
	x.Rmw.size = 64;
	x.Rmw.tgt_var = words[next] + beyond;
	x.Rmw.in_val = &in;
	x.Rmw.prev_tgt_val = &before;
	LAPI_OK(LAPI_Xfer(hndl, &x));
	memset(&x, 0, sizeof x);
	x.Put.Xfer_type = LAPI_PUT_XFER;
	x.Put.tgt = (uint)next;
	x.Put.tgt_cntr = tgt_cntrs[next] + beyond;
	LAPI_OK(LAPI_Xfer(hndl, &x));
	LAPI_OK(LAPI_Fence(hndl));
}

/*
 * The same address 4 GiB further, which a 32-bit task must not take for its own, or, in a 64-bit
 * one, where no user memory is. The origin gets an error for each put, each get and the word; the
 * target for each put, each get and the counter.
 */
static void bad_addresses(void)
{
	int told = (num_tasks > 1 ? 2 : 1) * (2 * LENGTHS + 1), i;
	size_t k, wrong = 0;
	word_of_mine = 5;
	prepare(700);
	conform_expect_errors(1);
	conform_sync();
	name_memory(bits[next] == 32 ? (lapi_long_t)1 << 32 : (lapi_long_t)1 << 46);
	POLL_UNTIL(conform_errors() >= told);
	for (i = 0; i < told; i++)
		CHECK_EQUAL(conform_error_at(i).code, LAPI_ERR_TGT_ADDR_NULL);
	conform_sync();
	for (k = 0; k < ROOM; k++)
		wrong += sink[k] != 0 || back[k] != 0;
	CHECK_EQUAL(wrong, 0);
	CHECK_EQUAL(word_of_mine, 5);
	CHECK_EQUAL(counter_value(&tgt_cntr), 0);
	conform_sync();
	conform_expect_errors(0);
}

/* A handler's address that no 32-bit task can have: reported once on stderr, the message is
 * dropped, its counters change. */
static void header_handlers(void)
{
	static const size_t lengths[] = {100, 100000};
	lapi_xfer_t x;
	size_t i;
	prepare(800);
	if (sum_over_tasks(bits[next] == 32) == 0)
		SKIP("no 32-bit task");
	for (i = 0; i < 2; i++) {
		conform_sync();
		if (bits[next] == 32) {
			int header[3] = {task_id, (int)lengths[i], 0};
			memset(&x, 0, sizeof x);
			x.Am.Xfer_type = LAPI_AM_XFER;
			x.Am.tgt = (uint)next;
			x.Am.hdr_hdl = handlers[next] + (1ull << 32);
			x.Am.uhdr = header;
			x.Am.uhdr_len = sizeof header;
			x.Am.udata = source;
			x.Am.udata_len = lengths[i];
			x.Am.org_cntr = &org_cntr;
			x.Am.cmpl_cntr = &cmpl_cntr;
			LAPI_OK(LAPI_Xfer(hndl, &x));
			counter_wait(&org_cntr, 1);
			counter_wait(&cmpl_cntr, 1);
		}
		conform_sync();
	}
	CHECK(headers == 0 && sink[0] == 0 && sink[sizeof sink - 1] == 0);
}

/* A message longer than a 32-bit target can express: both tasks' error handlers are called, and no
 * header handler runs. */
static void message_lengths(void)
{
#if defined(__LP64__)
	static const size_t too_long[] = {(size_t)1 << 31, ((size_t)1 << 32) + 100};
	unsigned char *much = NULL;
	void *from[1];
	ulong length[1];
	lapi_vec_t here = {LAPI_GEN_GENERIC, 1, from, length};
	lapi_xfer_t x;
	size_t i;
#endif
	int told = 0;
	prepare(900);
	/* Without shared memory all of it would travel. */
	if (sum_over_tasks(bits[next] == 32 && sizeof(void *) == 8) == 0 ||
	    strcasecmp(variable("LAPI_USE_SHM"), "no") == 0)
		SKIP("no 64-bit task with a 32-bit one next to it in shared memory");
	conform_expect_errors(1);
	conform_sync();
#if defined(__LP64__)
	if (bits[next] == 32) {
		much = mmap(NULL, too_long[1], PROT_READ | PROT_WRITE,
		            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		CHECK(much != MAP_FAILED);
		from[0] = much;
		for (i = 0; i < 2; i++) {
			memset(&x, 0, sizeof x);
			x.Am.Xfer_type = LAPI_AM_XFER;
			x.Am.tgt = (uint)next;
			x.Am.hdr_hdl = handlers[next];
			x.Am.udata = much;
			x.Am.udata_len = too_long[i];
			x.Am.org_cntr = &org_cntr;
			LAPI_OK(LAPI_Xfer(hndl, &x));
			length[0] = too_long[i];
			memset(&x, 0, sizeof x);
			x.Amv.Xfer_type = LAPI_AMV_XFER;
			x.Amv.tgt = (uint)next;
			x.Amv.hdr_hdl = handlers[next];
			x.Amv.org_vec = &here;
			x.Amv.org_cntr = &org_cntr;
			LAPI_OK(LAPI_Xfer(hndl, &x));
			counter_wait(&org_cntr, 2);
			told += 2;
			/* More than any of its memory: the existing part may be written here. */
			memset(&x, 0, sizeof x);
			x.Get.Xfer_type = LAPI_GET_XFER;
			x.Get.tgt = (uint)next;
			x.Get.tgt_addr = sources[next];
			x.Get.org_addr = much;
			x.Get.len = too_long[i];
			LAPI_OK(LAPI_Xfer(hndl, &x));
			told++;
			LAPI_OK(LAPI_Fence(hndl));
		}
	}
#endif
	if (sizeof(void *) == 4 && bits[previous] == 64)
		told += 4;
	POLL_UNTIL(conform_errors() >= told);
	for (told = 0; told < conform_errors() && told < CONFORM_MAX_ERRORS; told++)
		CHECK(conform_error_at(told).code == (conform_error_at(told).type == AM_ERR
		                                              ? LAPI_ERR_DATA_LEN
		                                              : LAPI_ERR_TGT_ADDR_NULL));
	conform_sync();
	CHECK_EQUAL(headers, 0);
	conform_expect_errors(0);
#if defined(__LP64__)
	if (much)
		munmap(much, too_long[1]);
#endif
}

static const conform_case cases[] = {
	CONFORM_CASE(bad_addresses),
	CONFORM_CASE(header_handlers),
	CONFORM_CASE(message_lengths),
};

int main(int argc, char **argv)
{
	return conform_main(argc, argv, cases, sizeof cases / sizeof cases[0]);
}
