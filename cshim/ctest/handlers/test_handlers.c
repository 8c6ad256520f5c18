/* test_handlers.c - calls of the user's handlers, and the calls that handlers make. */
#include "ctest/fake.h"

#include <string.h>

static lapi_handle_t handle;
static int target[4];
static lapi_cntr_t done;

static void finished(lapi_handle_t *hndl, void *argument)
{
	CHECK(*hndl == handle && argument == target);
}

static void *full_handler(lapi_handle_t *hndl, void *uhdr, uint *uhdr_len, ulong *msg_len,
                          compl_hndlr_t **comp_h, void **uinfo)
{
	lapi_return_info_t *info = (lapi_return_info_t *)(void *)msg_len;

	CHECK(*hndl == handle && cshim_lock_owned(&fake_context(*hndl)->progress));
	CHECK(*uhdr_len == 12 && *msg_len == 5000 && *(int *)uhdr == 17);
	CHECK(info->src == 3 && info->udata_one_pkt_ptr == &target[1]);
	CHECK(info->ret_flags == LAPI_NORMAL && info->ctl_flags == LAPI_DELIVER_MSG &&
	      info->dgsp_handle == NULL && info->bytes == 5000);
	CHECK(info->recv_offset_dgsp_bytes == 0);
	info->recv_offset_dgsp_bytes = 77;
	info->ret_flags = LAPI_SEND_REPLY;
	info->ctl_flags = LAPI_BURY_MSG;
	info->bytes = 9;
	*comp_h = finished;
	*uinfo = target;
	return &target[2];
}

/* Knows only the older interface, and sets nothing but its result. */
static void *plain_handler(lapi_handle_t *hndl, void *uhdr, uint *uhdr_len, ulong *msg_len,
                           compl_hndlr_t **comp_h, void **uinfo)
{
	(void)hndl, (void)uhdr, (void)uhdr_len, (void)msg_len;
	*comp_h = NULL;
	*uinfo = NULL;
	return NULL;
}

static void *spoiling_handler(lapi_handle_t *hndl, void *uhdr, uint *uhdr_len, ulong *msg_len,
                              compl_hndlr_t **comp_h, void **uinfo)
{
	(void)hndl, (void)uhdr, (void)uhdr_len, (void)comp_h, (void)uinfo;
	memset(msg_len, 0x11, sizeof(lapi_return_info_t));
	return NULL;
}

static const ulong block_lengths[2] = {70, 30};

/* Reads the lengths through the prototype, and takes the same pointer for a lapi_return_info_t. */
static lapi_vec_t *vector_handler(lapi_handle_t *hndl, void *uhdr, uint *uhdr_len, ulong *len_vec[],
                                  compl_hndlr_t **comp_h, void **uinfo)
{
	lapi_return_info_t *info = (lapi_return_info_t *)(void *)len_vec;

	CHECK(*hndl == handle && cshim_lock_owned(&fake_context(*hndl)->progress));
	CHECK(*uhdr_len == 4 && *(int *)uhdr == 17 && (*len_vec)[0] == 70 && (*len_vec)[1] == 30);
	CHECK(info->src == 3 && info->udata_one_pkt_ptr == &target[1] &&
	      info->ret_flags == LAPI_NORMAL);
	info->ret_flags = LAPI_LOCAL_STATE;
	*comp_h = finished;
	*uinfo = target;
	return (lapi_vec_t *)(void *)&target[2];
}

static void call_vector_handler(int context)
{
	static int uhdr = 17;
	cshim_header_result result;

	memset(&result, 0xee, sizeof(result));
	cshim_call_vector_header(context, CSHIM_ADDR(vector_handler), CSHIM_ADDR(&uhdr),
	                         sizeof(uhdr), CSHIM_ADDR(block_lengths), 3, CSHIM_ADDR(&target[1]),
	                         &result);
	CHECK(result.buffer == CSHIM_ADDR(&target[2]) && result.completion == CSHIM_ADDR(finished));
	CHECK(result.info == CSHIM_ADDR(target) && result.ret_flags == LAPI_LOCAL_STATE &&
	      result.ctl_flags == LAPI_DELIVER_MSG);
}

static int sent;

/* Runs inside LAPI_Xfer, outside the dispatcher: it may send, and gets an error when it waits. */
static void send_handler(lapi_handle_t *hndl, void *param, lapi_sh_info_t *info)
{
	char byte = 1;

	CHECK(*hndl == handle && cshim_lock_owned(&fake_context(*hndl)->progress));
	CHECK(info->src == 0 && info->reason == LAPI_SUCCESS && param == target);
	CHECK(LAPI_Fence(*hndl) == LAPI_ERR_UNKNOWN && LAPI_Probe(*hndl) == LAPI_ERR_UNKNOWN);
	CHECK(LAPI_Put(*hndl, 0, 1, &byte, &byte, NULL, NULL, NULL) == LAPI_SUCCESS);
	sent++;
}

static void test_send_handler(void)
{
	char from = 5, to = 0;
	lapi_xfer_t xfer;

	memset(&xfer, 0, sizeof(xfer));
	xfer.Put.Xfer_type = LAPI_PUT_XFER;
	xfer.Put.tgt_addr = (lapi_long_t)(uintptr_t)&to;
	xfer.Put.org_addr = &from;
	xfer.Put.len = 1;
	xfer.Put.shdlr = send_handler;
	xfer.Put.sinfo = target;
	CHECK(LAPI_Xfer(handle, &xfer) == LAPI_SUCCESS && sent == 1 && to == 5);
	CHECK(!fake_context(handle)->progress.calling && LAPI_Fence(handle) == LAPI_SUCCESS);
	xfer.Xfer_type = LAPI_DGSP_XFER;
	CHECK(LAPI_Xfer(handle, &xfer) == LAPI_ERR_XFER_CMD &&
	      LAPI_Xfer(handle, NULL) == LAPI_ERR_XFER_CMD);
}

static void call(int context, hdr_hndlr_t *handler, cshim_header_result *result)
{
	static int uhdr[3] = {17, 0, 0};

	memset(result, 0xee, sizeof(*result));
	cshim_call_header(context, CSHIM_ADDR(handler), CSHIM_ADDR(uhdr), sizeof(uhdr), 5000, 3,
	                  CSHIM_ADDR(&target[1]), result);
}

static void call_header_handlers(int context, void *argument)
{
	cshim_header_result result;

	(void)argument;
	call(context, full_handler, &result);
	CHECK(result.buffer == CSHIM_ADDR(&target[2]) && result.completion == CSHIM_ADDR(finished));
	CHECK(result.info == CSHIM_ADDR(target) && result.bytes == 9 && result.dgsp == 0 &&
	      result.skip == 77);
	CHECK(result.ret_flags == LAPI_SEND_REPLY && result.ctl_flags == LAPI_BURY_MSG);
	cshim_call_completion(context, result.completion, result.info);
	call(context, plain_handler, &result);
	CHECK(result.buffer == 0 && result.completion == 0 && result.info == 0 &&
	      result.bytes == 5000 && result.skip == 0);
	CHECK(result.ret_flags == LAPI_NORMAL && result.ctl_flags == LAPI_DELIVER_MSG);
	call(context, spoiling_handler, &result);
	CHECK(result.ret_flags == LAPI_NORMAL && result.ctl_flags == LAPI_DELIVER_MSG &&
	      result.dgsp == 0 && result.bytes == 0 && result.skip == 0);
	call_vector_handler(context);
	fake_add(context, (int *)&done, 1);
}

/* An inline handler may send, and gets an error when it waits, and does not hang. */
static void calls(lapi_handle_t *hndl, void *argument)
{
	lapi_cntr_t counter;
	lapi_msg_info_t info;
	void *table[1];
	char byte = 1;

	(void)hndl, (void)argument;
	CHECK(LAPI_Put(handle, 0, 1, &byte, &byte, NULL, NULL, NULL) == LAPI_SUCCESS);
	CHECK(LAPI_Setcntr(handle, &counter, 0) == LAPI_SUCCESS);
	CHECK(LAPI_Waitcntr(handle, &counter, 0, NULL) == LAPI_SUCCESS);
	CHECK(LAPI_Waitcntr(handle, &counter, 1, NULL) == LAPI_ERR_UNKNOWN);
	CHECK(LAPI_Fence(handle) == LAPI_ERR_UNKNOWN);
	CHECK(LAPI_Gfence(handle) == LAPI_ERR_UNKNOWN);
	CHECK(LAPI_Address_init(handle, NULL, table) == LAPI_ERR_UNKNOWN);
	CHECK(LAPI_Probe(handle) == LAPI_ERR_UNKNOWN);
	CHECK(LAPI_Msgpoll(handle, 1, &info) == LAPI_ERR_UNKNOWN);
	CHECK(LAPI_Term(handle) == LAPI_ERR_UNKNOWN);
}

static void call_from_inside(int context, void *argument)
{
	cshim_call_completion(context, CSHIM_ADDR(calls), CSHIM_ADDR(argument));
	fake_add(context, (int *)&done, 1);
}

static void run(fake_action *action)
{
	fake_arrive(fake_context(handle), action, NULL);
	CHECK(LAPI_Waitcntr(handle, &done, 1, NULL) == LAPI_SUCCESS);
}

static uint32_t errors; /* atomic */

static void on_error(lapi_handle_t *hndl, int *code, lapi_err_t *type, int *task, int *src)
{
	lapi_cntr_t counter = {0};

	CHECK(*hndl == handle && *code == LAPI_ERR_TIMEOUT && *type == PUT_ERR && *task == 0 &&
	      *src == 3);
	CHECK(!cshim_lock_owned(&fake_context(*hndl)->progress));
	/* It may make any call. */
	fake_count(fake_context(*hndl), (int *)&counter);
	CHECK(LAPI_Waitcntr(*hndl, &counter, 1, NULL) == LAPI_SUCCESS);
	__atomic_add_fetch(&errors, 1, __ATOMIC_SEQ_CST);
}

static void fail_twice(int context, void *argument)
{
	(void)argument;
	fake_queue_error(context, on_error, LAPI_ERR_TIMEOUT);
	fake_queue_error(context, on_error, LAPI_ERR_TIMEOUT);
}

/* In a call that holds the lock, in LAPI_Probe, in the service thread; afterwards all goes on. */
static void test_error_handler(void)
{
	cshim_context *context = fake_context(handle);

	cshim_lock(&context->progress);
	fake_arrive(context, fail_twice, NULL);
	while (__atomic_load_n(&errors, __ATOMIC_SEQ_CST) < 2)
		CHECK(LAPI_Fence(handle) == LAPI_SUCCESS);
	CHECK(cshim_lock_owned(&context->progress) && context->progress.lock_depth == 1);
	fake_arrive(context, fail_twice, NULL);
	while (__atomic_load_n(&errors, __ATOMIC_SEQ_CST) < 4)
		CHECK(LAPI_Probe(handle) == LAPI_SUCCESS);
	CHECK(cshim_unlock(&context->progress) == 0);
	fake_arrive(context, fail_twice, NULL);
	fake_await(&errors, 6);
	run(call_header_handlers);
}

static int udp_handler(lapi_handle_t *hndl, lapi_udp_t *local, lapi_udp_t *list,
                       lapi_udpinfo_t *info)
{
	CHECK(*hndl == handle && local->port_no == 5 && info->num_tasks == 2);
	list[1].port_no = 77;
	return 12;
}

static void test_udp_handler(void)
{
	lapi_udp_t local = {.port_no = 5}, list[2] = {{.port_no = 0}, {.port_no = 0}};
	lapi_udpinfo_t info = {.num_tasks = 2};
	int index = cshim_index_of(fake_context(handle));

	CHECK(cshim_call_udp_handler(CSHIM_ADDR(udp_handler), index, CSHIM_ADDR(&local),
	                             CSHIM_ADDR(list), CSHIM_ADDR(&info)) == 12);
	CHECK(list[1].port_no == 77);
}

void test_handlers(void)
{
	handle = fake_init(NULL);
	run(call_header_handlers);
	run(call_from_inside);
	test_send_handler();
	test_error_handler();
	test_udp_handler();
	CHECK(LAPI_Term(handle) == LAPI_SUCCESS);
}
