/*
 * interop_words.c - read-modify-writes through LAPI_Xfer, of 32 and of 64 bits, between tasks of
 * either word size (interop.c). Each task works on the next one.
 */
#include "conform.h"

static lapi_cntr_t org_cntr;
static lapi_long_t words[CONFORM_MAX_TASKS];
static int next;
static long long word_of_mine __attribute__((aligned(8)));

static long long modify(RMW_ops_t op, unsigned size, long long *in)
{
	int in32[2] = {(int)in[0], (int)in[1]}, before32 = -1;
	long long before64 = -1;
	lapi_xfer_t x;
	memset(&x, 0, sizeof x);
	x.Rmw.Xfer_type = LAPI_RMW_XFER;
	x.Rmw.op = op;
	x.Rmw.tgt = (uint)next;
	x.Rmw.size = size;
	x.Rmw.tgt_var = words[next];
	x.Rmw.in_val = size == 32 ? (void *)in32 : in;
	x.Rmw.prev_tgt_val = size == 32 ? (void *)&before32 : &before64;
	x.Rmw.org_cntr = &org_cntr;
	LAPI_OK(LAPI_Xfer(hndl, &x));
	counter_wait(&org_cntr, 1);
	return size == 32 ? before32 : before64;
}

static void words_of_either_width(void)
{
	long long pair[2] = {5, 0};
	word_of_mine = 1000;
	next = (task_id + 1) % num_tasks;
	counter_zero(&org_cntr);
	LAPI_OK(LAPI_Address_init64(hndl, (lapi_long_t)(uintptr_t)&word_of_mine, words));
	conform_sync();
	CHECK_EQUAL(modify(FETCH_AND_ADD, 32, pair), 1000);
	pair[0] = 1ll << 40;
	CHECK_EQUAL(modify(FETCH_AND_ADD, 64, pair), 1005);
	pair[0] = 2;
	CHECK_EQUAL(modify(FETCH_AND_OR, 64, pair), (1ll << 40) + 1005);
	pair[0] = (1ll << 40) + 1007;
	pair[1] = 1ll << 50;
	CHECK_EQUAL(modify(COMPARE_AND_SWAP, 64, pair), 1);
	pair[0] = 77;
	CHECK_EQUAL(modify(SWAP, 64, pair), 1ll << 50);
	conform_sync();
	CHECK_EQUAL(word_of_mine, 77);
}

static const conform_case cases[] = {
	CONFORM_CASE(words_of_either_width),
};

int main(int argc, char **argv)
{
	return conform_main(argc, argv, cases, sizeof cases / sizeof cases[0]);
}
