/*
 * Am_xfer.c - LAPI_Xfer with LAPI_AM_XFER: an active message whose buffer was made for it and is
 * freed by the send completion handler. Nobody waits for it; LAPI frees it through the program, so
 * to speak.
 */
#include <stdatomic.h>
#include "sample.h"

#define COUNT 30000

static long landing[COUNT];
static long long sum;
static atomic_int freed;

static void send_completion_handler(lapi_handle_t *hndl, void *completion_param,
                                    lapi_sh_info_t *info)
{
	(void)hndl, (void)info;
	free(completion_param);
	atomic_fetch_add(&freed, 1);
}

static void completion_handler(lapi_handle_t *hndl, void *user_info)
{
	(void)hndl, (void)user_info;
	for (int i = 0; i < COUNT; i++)
		sum += landing[i];
}

static void *header_handler(lapi_handle_t *hndl, void *uhdr, uint *uhdr_len, ulong *msg_len,
                            compl_hndlr_t **completion, void **user_info)
{
	(void)hndl, (void)uhdr, (void)uhdr_len, (void)msg_len;
	*completion = completion_handler;
	*user_info = NULL;
	return landing;
}

static void send_and_forget(lapi_handle_t hndl, int buddy, void **handler_of)
{
	long *data = malloc(COUNT * sizeof *data);
	lapi_cntr_t completion_counter;
	lapi_xfer_t xfer;

	if (!data)
		exit(2);
	for (int i = 0; i < COUNT; i++)
		data[i] = i;
	CALL(LAPI_Setcntr(hndl, &completion_counter, 0));
	memset(&xfer, 0, sizeof xfer);
	xfer.Am.Xfer_type = LAPI_AM_XFER;
	xfer.Am.tgt = buddy;
	xfer.Am.hdr_hdl = (lapi_long_t)(ulong)handler_of[buddy];
	xfer.Am.udata = data;
	xfer.Am.udata_len = COUNT * sizeof *data;
	xfer.Am.shdlr = send_completion_handler;
	xfer.Am.sinfo = data;
	xfer.Am.cmpl_cntr = &completion_counter;
	/* xfer itself may be used again at once; data is not ours any more */
	CALL(LAPI_Xfer(hndl, &xfer));
	CALL(LAPI_Waitcntr(hndl, &completion_counter, 1, NULL));
	while (atomic_load(&freed) == 0)
		CALL(LAPI_Probe(hndl));
	EXPECT(atomic_load(&freed) == 1);
	sample_say(
		"sent %d longs to task %d; their buffer was freed by the send completion handler",
		COUNT, buddy);
}

int main(void)
{
	lapi_handle_t hndl;
	lapi_info_t info;
	int task, num_tasks, buddy;
	void **handler_of;

	memset(&info, 0, sizeof info);
	info.lib_vers = LAST_LIB;
	CALL(LAPI_Init(&hndl, &info));
	CALL(LAPI_Qenv(hndl, TASK_ID, &task));
	CALL(LAPI_Qenv(hndl, NUM_TASKS, &num_tasks));
	sample_begin(task);
	buddy = task ^ 1;

	handler_of = calloc(num_tasks, sizeof *handler_of);
	CALL(LAPI_Address_init(hndl, (void *)header_handler, handler_of));

	if (buddy < num_tasks && task % 2 == 0)
		send_and_forget(hndl, buddy, handler_of);
	CALL(LAPI_Gfence(hndl));
	if (buddy < num_tasks && task % 2 == 1) {
		EXPECT(sum == (long long)COUNT * (COUNT - 1) / 2);
		sample_say("the message of task %d adds up to %lld", buddy, sum);
	}
	if (buddy >= num_tasks)
		sample_say("no buddy for me, I only fence");

	CALL(LAPI_Term(hndl));
	free(handler_of);
	return sample_end();
}
