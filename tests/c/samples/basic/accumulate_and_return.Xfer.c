/*
 * accumulate_and_return.Xfer.c - accumulate_and_return.Am.c by way of LAPI_Xfer: the same
 * conversation, with all parameters in a structure. It adds the send completion handler, which
 * shows without a counter when the user header and the data may be changed.
 */
#include <sched.h>
#include <stdatomic.h>
#include "sample.h"

#define COUNT 2048

/* The user header: what the target must know before the data can land. A multiple of 8 bytes. */
struct request {
	int origin; /* who wants the answer */
	int is_sum; /* 0: numbers to add to; 1: the sums, coming back */
	int factor; /* the target adds factor times i to element i */
	int unused;
};

/* The completion handler's parameter: one for each message under way; only one comes to each task
 * here. */
struct arrival {
	struct request request;
	int *data;
};

static int numbers[COUNT];  /* what the even task sends */
static int received[COUNT]; /* what arrives, at either task */
static struct arrival arrival;
static void **handler_of;   /* everybody's header handler */
static atomic_int answered; /* our own flag, no LAPI counter: set when the sums are here */
static atomic_int sent;     /* set by the send completion handler */

/* Runs with LAPI's lock held, maybe before LAPI_Xfer returns. */
static void send_completion_handler(lapi_handle_t *hndl, void *completion_param,
                                    lapi_sh_info_t *info)
{
	(void)hndl, (void)info;
	atomic_fetch_add((atomic_int *)completion_param, 1);
}

static void send_numbers(lapi_handle_t hndl, int task, struct request *request, int *data)
{
	lapi_xfer_t xfer;

	memset(&xfer, 0, sizeof xfer); /* no flags, no counters */
	xfer.Am.Xfer_type = LAPI_AM_XFER;
	xfer.Am.tgt = task;
	xfer.Am.hdr_hdl = (lapi_long_t)(ulong)handler_of[task];
	xfer.Am.uhdr = request;
	xfer.Am.uhdr_len = sizeof *request;
	xfer.Am.udata = data;
	xfer.Am.udata_len = COUNT * sizeof *data;
	xfer.Am.shdlr = send_completion_handler;
	xfer.Am.sinfo = &sent;
	CALL(LAPI_Xfer(hndl, &xfer));
}

/* The second half of a message's life: runs on the library's completion handler thread, where LAPI
 * calls are allowed. */
static void completion_handler(lapi_handle_t *hndl, void *user_info)
{
	struct arrival *here = user_info;

	if (here->request.is_sum) {
		/* release: whoever reads the flag also sees the data */
		atomic_store_explicit(&answered, 1, memory_order_release);
		return;
	}
	for (int i = 0; i < COUNT; i++)
		here->data[i] += here->request.factor * i;
	here->request.is_sum = 1;
	send_numbers(*hndl, here->request.origin, &here->request, here->data);
	sample_say("completion handler: added to the numbers of task %d and sent the sums back",
	           here->request.origin);
}

/* The first half: the user header is here; the data follows to where we say. */
static void *header_handler(lapi_handle_t *hndl, void *uhdr, uint *uhdr_len, ulong *msg_len,
                            compl_hndlr_t **completion, void **user_info)
{
	(void)hndl, (void)uhdr_len, (void)msg_len;
	arrival.request = *(struct request *)uhdr; /* uhdr itself is gone when we return */
	arrival.data = received;
	*completion = completion_handler;
	*user_info = &arrival;
	return received;
}

static void drive(lapi_handle_t hndl, int task, int buddy)
{
	struct request request = {task, 0, 10, 0};
	int wrong = 0;

	for (int i = 0; i < COUNT; i++)
		numbers[i] = i;
	send_numbers(hndl, buddy, &request, numbers);
	/* Our own flag: a probe on each turn, so that it also works when the program is started in
	 * polling mode. */
	/* The answer may be here before LAPI knows that the question has left. */
	while (!atomic_load_explicit(&answered, memory_order_acquire) || !atomic_load(&sent)) {
		CALL(LAPI_Probe(hndl));
		sched_yield();
	}
	EXPECT(atomic_load(&sent) == 1);
	for (int i = 0; i < COUNT; i++)
		wrong += received[i] != i + 10 * i;
	EXPECT(wrong == 0);
	sample_say(
		"sent %d numbers to task %d, got them back with its own added: element 100 is %d",
		COUNT, buddy, received[100]);
}

int main(void)
{
	lapi_handle_t hndl;
	lapi_info_t info;
	int task, num_tasks, buddy;

	memset(&info, 0, sizeof info);
	info.lib_vers = LAST_LIB;
	CALL(LAPI_Init(&hndl, &info));
	CALL(LAPI_Qenv(hndl, TASK_ID, &task));
	CALL(LAPI_Qenv(hndl, NUM_TASKS, &num_tasks));
	sample_begin(task);
	buddy = task ^ 1;

	handler_of = calloc(num_tasks, sizeof *handler_of);
	CALL(LAPI_Address_init(hndl, (void *)header_handler, handler_of));
	CALL(LAPI_Gfence(hndl)); /* the table is complete everywhere: completion handlers use it */

	if (buddy >= num_tasks)
		sample_say("no buddy for me, I only fence");
	else if (task % 2 == 0)
		drive(hndl, task, buddy);

	CALL(LAPI_Gfence(hndl));
	CALL(LAPI_Term(hndl));
	free(handler_of);
	return sample_end();
}
