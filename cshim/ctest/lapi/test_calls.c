/* test_calls.c - each entry point: the checks that C makes, and that arguments and results pass to
 * and from core as they are. */
#include "ctest/fake.h"

#include <string.h>

static lapi_handle_t handle;

static void check_bad_handle(lapi_handle_t bad)
{
	lapi_cntr_t counter;
	lapi_msg_info_t info;
	void *table[4];
	lapi_long_t table64[4];
	int v = 0;
	long long w = 0;

	CHECK(LAPI_Term(bad) == LAPI_ERR_HNDL_INVALID);
	CHECK(LAPI_Qenv(bad, INTERRUPT_SET, NULL) == LAPI_ERR_HNDL_INVALID);
	CHECK(LAPI_Senv(bad, INTERRUPT_SET, 1) == LAPI_ERR_HNDL_INVALID);
	CHECK(LAPI_Addr_set(bad, &v, 99) == LAPI_ERR_HNDL_INVALID);
	CHECK(LAPI_Addr_get(bad, NULL, 99) == LAPI_ERR_HNDL_INVALID);
	CHECK(LAPI_Address_init(bad, NULL, NULL) == LAPI_ERR_HNDL_INVALID);
	CHECK(LAPI_Address_init(bad, NULL, table) == LAPI_ERR_HNDL_INVALID);
	CHECK(LAPI_Address_init64(bad, 0, table64) == LAPI_ERR_HNDL_INVALID);
	CHECK(LAPI_Setcntr(bad, NULL, 1) == LAPI_ERR_HNDL_INVALID);
	CHECK(LAPI_Getcntr(bad, &counter, NULL) == LAPI_ERR_HNDL_INVALID);
	CHECK(LAPI_Waitcntr(bad, NULL, 0, NULL) == LAPI_ERR_HNDL_INVALID);
	CHECK(LAPI_Put(bad, 9, 1, NULL, NULL, NULL, NULL, NULL) == LAPI_ERR_HNDL_INVALID);
	CHECK(LAPI_Get(bad, 9, 1, NULL, NULL, NULL, NULL) == LAPI_ERR_HNDL_INVALID);
	CHECK(LAPI_Amsend(bad, 9, NULL, NULL, 0, NULL, 0, NULL, NULL, NULL) ==
	      LAPI_ERR_HNDL_INVALID);
	CHECK(LAPI_Rmw(bad, SWAP, 9, &v, &v, &v, NULL) == LAPI_ERR_HNDL_INVALID);
	CHECK(LAPI_Rmw64(bad, SWAP, 9, &w, &w, &w, NULL) == LAPI_ERR_HNDL_INVALID);
	CHECK(LAPI_Probe(bad) == LAPI_ERR_HNDL_INVALID);
	CHECK(LAPI_Msgpoll(bad, 1, NULL) == LAPI_ERR_HNDL_INVALID);
	CHECK(LAPI_Msgpoll(bad, 1, &info) == LAPI_ERR_HNDL_INVALID);
	CHECK(LAPI_Fence(bad) == LAPI_ERR_HNDL_INVALID);
	CHECK(LAPI_Gfence(bad) == LAPI_ERR_HNDL_INVALID);
	CHECK(LAPI_Group_create(bad, 1, NULL, NULL) == LAPI_ERR_HNDL_INVALID);
	CHECK(LAPI_Group_free(bad, 1) == LAPI_ERR_HNDL_INVALID);
}

static void test_init_arguments(void)
{
	lapi_info_t info;
	lapi_handle_t h = 5;

	memset(&info, 0, sizeof(info));
	CHECK(LAPI_Init(NULL, &info) == LAPI_ERR_HNDL_INVALID);
	CHECK(LAPI_Init(&h, NULL) == LAPI_ERR_INFO_NULL);
	fake_settings.init_code = LAPI_ERR_NO_ENV_VAR;
	CHECK(LAPI_Init(&h, &info) == LAPI_ERR_NO_ENV_VAR && h == 5);
	fake_settings.init_code = 0;
}

static void test_addresses(void)
{
	ulong u = 0;
	void *p = NULL, *table[1] = {NULL};
	lapi_long_t table64[1] = {0};
	int v;

	CHECK(LAPI_Address(&v, &u) == LAPI_SUCCESS && u == (ulong)&v);
	CHECK(LAPI_Address(NULL, &u) == LAPI_ERR_ORG_ADDR_NULL);
	CHECK(LAPI_Address(&v, NULL) == LAPI_ERR_TGT_ADDR_NULL);
	CHECK(LAPI_Addr_set(handle, &v, 3) == LAPI_SUCCESS);
	CHECK(LAPI_Addr_set(handle, &v, 0) == LAPI_ERR_ADDR_HNDL_RANGE);
	CHECK(LAPI_Addr_get(handle, &p, 3) == LAPI_SUCCESS && p == &v);
	CHECK(LAPI_Addr_get(handle, NULL, 3) == LAPI_ERR_RET_PTR_NULL);
	CHECK(LAPI_Address_init(handle, &v, table) == LAPI_SUCCESS && table[0] == &v);
	CHECK(LAPI_Address_init(handle, &v, NULL) == LAPI_ERR_RET_PTR_NULL);
	CHECK(LAPI_Address_init64(handle, 77, table64) == LAPI_SUCCESS && table64[0] == 77);
	CHECK(LAPI_Address_init64(handle, 77, NULL) == LAPI_ERR_RET_PTR_NULL);
}

static void test_environment(void)
{
	char text[LAPI_MAX_ERR_STRING];
	int v = -1;

	CHECK(LAPI_Qenv(handle, INTERRUPT_SET, &v) == LAPI_SUCCESS && v == 1);
	CHECK(LAPI_Qenv(handle, LAST_QUERY, &v) == LAPI_ERR_QUERY_TYPE);
	CHECK(LAPI_Qenv(handle, INTERRUPT_SET, NULL) == LAPI_ERR_RET_PTR_NULL);
	CHECK(LAPI_Senv(handle, TASK_ID, 1) == LAPI_ERR_QUERY_TYPE);
	CHECK(LAPI_Msg_string(417, text) == LAPI_SUCCESS && text[0] != 0);
	CHECK(LAPI_Msg_string(417, NULL) == LAPI_ERR_RET_PTR_NULL);
}

static void test_transfers(void)
{
	lapi_cntr_t counter = {0};
	char from[8] = "abcdefg", to[8] = "";
	int word = 40, in = 2, previous = 0;
	long long wide = 4000000000LL, wide_in = 5, wide_previous = 0;

	CHECK(LAPI_Put(handle, 0, 8, to, from, NULL, &counter, NULL) == LAPI_SUCCESS &&
	      strcmp(to, from) == 0);
	CHECK(LAPI_Put(handle, 1, 8, to, from, NULL, &counter, NULL) == LAPI_ERR_TGT);
	memset(to, 0, sizeof(to));
	CHECK(LAPI_Get(handle, 0, 8, from, to, NULL, &counter) == LAPI_SUCCESS &&
	      strcmp(to, from) == 0);
	CHECK(LAPI_Amsend(handle, 0, from, NULL, 0, NULL, 0, NULL, &counter, NULL) == LAPI_SUCCESS);
	CHECK(LAPI_Amsend(handle, 0, NULL, NULL, 0, NULL, 0, NULL, &counter, NULL) ==
	      LAPI_ERR_HDR_HNDLR_NULL);
	CHECK(LAPI_Rmw(handle, FETCH_AND_ADD, 0, &word, &in, &previous, &counter) == LAPI_SUCCESS);
	CHECK(word == 42 && previous == 40);
	CHECK(LAPI_Rmw64(handle, FETCH_AND_ADD, 0, &wide, &wide_in, &wide_previous, &counter) ==
	      LAPI_SUCCESS);
	CHECK(wide == 4000000005LL && wide_previous == 4000000000LL);
	CHECK(LAPI_Waitcntr(handle, &counter, 5, &in) == LAPI_SUCCESS && in == 0);
}

static void test_counters(void)
{
	lapi_cntr_t counter;
	int v;

	memset(&counter, 0x5a, sizeof(counter));
	CHECK(LAPI_Setcntr(handle, &counter, -7) == LAPI_SUCCESS);
	CHECK(LAPI_Getcntr(handle, &counter, &v) == LAPI_SUCCESS && v == -7);
	CHECK(((unsigned char *)&counter)[sizeof(int)] ==
	      0x5a); /* L1_LIB: only the first 4 bytes are ours */
	CHECK(LAPI_Setcntr(handle, NULL, 1) == LAPI_ERR_CNTR_NULL);
	CHECK(LAPI_Getcntr(handle, NULL, &v) == LAPI_ERR_CNTR_NULL);
	CHECK(LAPI_Getcntr(handle, &counter, NULL) == LAPI_ERR_RET_PTR_NULL);
}

static void set_received(int context, void *argument)
{
	(void)argument;
	fake_set_state(context, LAPI_RECV_COMPLETE);
}

static void set_sent(int context, void *argument)
{
	(void)argument;
	fake_set_state(context, LAPI_SEND_COMPLETE);
}

static uint32_t poll_status(uint count)
{
	lapi_msg_info_t info;

	memset(&info, 0xff, sizeof(info));
	CHECK(LAPI_Msgpoll(handle, count, &info) == LAPI_SUCCESS);
	return info.status;
}

/* In polling mode: LAPI_Msgpoll alone turns the dispatcher. */
static void test_msgpoll(void)
{
	cshim_context *context = fake_context(handle);

	CHECK(LAPI_Senv(handle, INTERRUPT_SET, 0) == LAPI_SUCCESS);
	CHECK(poll_status(0) == LAPI_DISP_CNTR);
	CHECK(poll_status(3) == LAPI_DISP_CNTR);
	fake_arrive(context, set_received, NULL);
	CHECK(poll_status(1) == LAPI_RECV_COMPLETE);
	CHECK(poll_status(1) == LAPI_DISP_CNTR);
	/* Completed in another call, reported by the next Msgpoll, once. */
	fake_arrive(context, set_received, NULL);
	fake_arrive(context, set_sent, NULL);
	CHECK(LAPI_Probe(handle) == LAPI_SUCCESS);
	CHECK(poll_status(0) == LAPI_BOTH_COMPLETE);
	CHECK(poll_status(1000) == LAPI_DISP_CNTR);
	CHECK(LAPI_Msgpoll(handle, 1, NULL) == LAPI_ERR_MSG_INFO_NULL);
	CHECK(LAPI_Senv(handle, INTERRUPT_SET, 1) == LAPI_SUCCESS);
}

static uint32_t inside, go_on; /* atomic */

static void linger(int context, void *argument)
{
	(void)argument;
	__atomic_store_n(&inside, 1, __ATOMIC_SEQ_CST);
	while (!__atomic_load_n(&go_on, __ATOMIC_SEQ_CST))
		fake_sleep_us(100);
	fake_set_state(context, LAPI_SEND_COMPLETE);
}

static void *probe_once(void *argument)
{
	(void)argument;
	CHECK(LAPI_Probe(handle) == LAPI_SUCCESS);
	return NULL;
}

static void *poll_beside(void *status)
{
	*(uint32_t *)status = poll_status(1);
	return NULL;
}

/*
 * In polling mode: until the service thread has seen that, and sleeps for good. It takes the lock
 * for the last time when it goes away, which it does anew after the LAPI_Probe.
 */
static void await_service_asleep(void)
{
	__atomic_store_n(&fake_counts.away, 0, __ATOMIC_SEQ_CST);
	CHECK(LAPI_Probe(handle) == LAPI_SUCCESS);
	fake_await(&fake_counts.away, 1);
}

enum { PROBES = 320 };

static uint32_t yields_of_probes(int spin_calls)
{
	lapi_handle_t own;
	int before = fake_settings.spin_turns, i;

	fake_settings.spin_turns = spin_calls;
	own = fake_init(NULL);
	fake_settings.spin_turns = before;
	fake_yields = 0;
	for (i = 0; i < PROBES; i++)
		CHECK(LAPI_Probe(own) == LAPI_SUCCESS);
	before = (int)fake_yields;
	CHECK(LAPI_Term(own) == LAPI_SUCCESS);
	return (uint32_t)before;
}

/* LAPI_Probe in a loop gives up the processor where tasks share it, and only there. */
static void test_probe_yields(void)
{
	int tries = 0;

	CHECK(yields_of_probes(0) >= PROBES / 32);
	/* it does too where another thread wants the lock at that moment */
	while (yields_of_probes(400) != 0)
		CHECK(++tries < 100);
}

/* While another thread is in the dispatcher: LAPI_POLLING_NET, and what that thread has completed.
 */
static void test_polling_net(void)
{
	pthread_t prober, poller;
	uint32_t status = 0;
	cshim_context *context = fake_context(handle);

	CHECK(LAPI_Senv(handle, INTERRUPT_SET, 0) == LAPI_SUCCESS);
	await_service_asleep(); /* so that only the poller waits for the lock */
	fake_arrive(context, linger, NULL);
	prober = fake_thread(probe_once, NULL);
	fake_await(&inside, 1);
	poller = fake_thread(poll_beside, &status);
	fake_await(&context->progress.lock_waiters, 1);
	__atomic_store_n(&go_on, 1, __ATOMIC_SEQ_CST);
	pthread_join(prober, NULL);
	pthread_join(poller, NULL);
	CHECK(status == (LAPI_POLLING_NET | LAPI_SEND_COMPLETE));
	CHECK(LAPI_Senv(handle, INTERRUPT_SET, 1) == LAPI_SUCCESS);
}

static void test_groups(void)
{
	uint member = 5;
	lapi_group_t group = 0;
	lapi_xfer_t xfer;

	CHECK(LAPI_Group_create(handle, 1, &member, NULL) == LAPI_ERR_RET_PTR_NULL);
	CHECK(LAPI_Group_create(handle, 1, NULL, &group) == LAPI_ERR_RET_PTR_NULL);
	CHECK(LAPI_Group_create(handle, 2, &member, &group) == LAPI_ERR_TGT && group == 0);
	CHECK(LAPI_Group_create(handle, 1, &member, &group) == LAPI_SUCCESS && group == 5);
	memset(&xfer, 0xee, sizeof(xfer));
	xfer.Mc = (lapi_mc_t){.Xfer_type = LAPI_MC_XFER,
	                      .flags = 1,
	                      .group = group,
	                      .hdr_hdl = 2,
	                      .uhdr_len = 3,
	                      .uhdr = &member,
	                      .udata = &group,
	                      .udata_len = 4,
	                      .shdlr = NULL,
	                      .sinfo = &xfer};
	LAPI_Xfer(handle, &xfer);
	CHECK(fake_transfer.flags == 1 && fake_transfer.tgt == 5 && fake_transfer.hdr_hdl == 2 &&
	      fake_transfer.uhdr_len == 3);
	CHECK(fake_transfer.uhdr == CSHIM_ADDR(&member) &&
	      fake_transfer.org_addr == CSHIM_ADDR(&group) && fake_transfer.len == 4);
	CHECK(fake_transfer.handler == 0 && fake_transfer.info == CSHIM_ADDR(&xfer));
	CHECK(fake_transfer.tgt_cntr == 0 && fake_transfer.org_cntr == 0 &&
	      fake_transfer.cmpl_cntr == 0);
	CHECK(LAPI_Group_free(handle, group + 1) == LAPI_ERR_TGT &&
	      LAPI_Group_free(handle, group) == LAPI_SUCCESS);
}

/* Core tells the two kinds of target vectors apart by a flag, which these calls have no parameter
 * for. */
static void test_vectors(void)
{
	lapi_vec_t target, origin;
	lapi_cntr_t counter;

	CHECK(LAPI_Putv(handle, 1, &target, NULL, NULL, NULL, NULL) == LAPI_ERR_ORG_VEC_NULL);
	CHECK(LAPI_Putv(handle, 1, &target, &origin, NULL, NULL, &counter) == LAPI_ERR_TGT);
	CHECK(fake_transfer.flags == USE_TGT_VEC_TYPE && fake_transfer.tgt == 1 &&
	      fake_transfer.tgt_addr == CSHIM_ADDR(&target));
	CHECK(fake_transfer.org_addr == CSHIM_ADDR(&origin) &&
	      fake_transfer.cmpl_cntr == CSHIM_ADDR(&counter));
	CHECK(LAPI_Getv(handle, 1, &origin, &target, &counter, NULL) == LAPI_ERR_TGT);
	CHECK(fake_transfer.flags == USE_TGT_VEC_TYPE &&
	      fake_transfer.tgt_addr == CSHIM_ADDR(&origin));
	CHECK(fake_transfer.org_addr == CSHIM_ADDR(&target) &&
	      fake_transfer.tgt_cntr == CSHIM_ADDR(&counter));
	CHECK(LAPI_Amsendv(handle, 1, &handle, &counter, 8, &origin, NULL, NULL, NULL) ==
	      LAPI_ERR_TGT);
	CHECK(fake_transfer.flags == 0 && fake_transfer.hdr_hdl == CSHIM_ADDR(&handle) &&
	      fake_transfer.uhdr_len == 8);
	CHECK(fake_transfer.uhdr == CSHIM_ADDR(&counter) &&
	      fake_transfer.org_addr == CSHIM_ADDR(&origin));
}

/* LAPI_AMX_XFER has one member more than LAPI_DGSP_XFER, which has one more than LAPI_AM_XFER. */
static void test_amx_members(void)
{
	lapi_xfer_t xfer;
	lapi_cntr_t counter;

	memset(&xfer, 0xee, sizeof(xfer));
	xfer.Amx = (lapi_amx_t){.Xfer_type = LAPI_AMX_XFER,
	                        .tgt = 1,
	                        .hdr_hdl = 2,
	                        .udata_len = 3,
	                        .tgt_cntr = 4,
	                        .cmpl_cntr = &counter,
	                        .dgsp = LAPI_BYTE,
	                        .send_offset_dgsp_bytes = 1UL << 30};
	LAPI_Xfer(handle, &xfer);
	CHECK(fake_transfer.tgt == 1 && fake_transfer.hdr_hdl == 2 && fake_transfer.len == 3 &&
	      fake_transfer.tgt_cntr == 4);
	CHECK(fake_transfer.cmpl_cntr == CSHIM_ADDR(&counter) &&
	      fake_transfer.tgt_addr == CSHIM_ADDR(LAPI_BYTE));
	CHECK(fake_transfer.skip == 1UL << 30);
	xfer.Xfer_type = LAPI_DGSP_XFER;
	LAPI_Xfer(handle, &xfer);
	CHECK(fake_transfer.skip == 0 && fake_transfer.tgt_addr == CSHIM_ADDR(LAPI_BYTE));
}

/* The LAPI_ names are weak aliases of the PLAPI_ ones. */
static void test_pairs(void)
{
	CHECK((uintptr_t)LAPI_Put == (uintptr_t)PLAPI_Put);
	CHECK((uintptr_t)LAPI_Init == (uintptr_t)PLAPI_Init);
	CHECK((uintptr_t)LAPI_Group_create == (uintptr_t)PLAPI_Group_create &&
	      (uintptr_t)LAPI_Group_free == (uintptr_t)PLAPI_Group_free);
	CHECK((uintptr_t)LAPI_Msg_string == (uintptr_t)PLAPI_Msg_string);
}

void test_calls(void)
{
	test_init_arguments();
	check_bad_handle(0);
	check_bad_handle(LAPI_VOID_HANDLE);
	handle = fake_init(NULL);
	check_bad_handle(0);
	check_bad_handle(handle + 1);
	check_bad_handle(handle + CSHIM_MAX_CONTEXTS);
	check_bad_handle(LAPI_VOID_HANDLE);
	test_addresses();
	test_environment();
	test_transfers();
	test_groups();
	test_vectors();
	test_amx_members();
	test_counters();
	test_msgpoll();
	test_probe_yields();
	test_polling_net();
	test_pairs();
	CHECK(LAPI_Term(handle) == LAPI_SUCCESS);
	check_bad_handle(handle);
}
