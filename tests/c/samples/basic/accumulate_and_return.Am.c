/*
 * accumulate_and_return.Am.c - there and back with active messages: a task sends numbers to its
 * buddy, whose completion handler adds its own and sends the sums back with an active message of
 * its own. The main program of the buddy has no part in it; it is in a fence meanwhile.
 *
 * Two ways of passing information along are shown: the user header travels with the message and is
 * there when the header handler runs; the completion handler's parameter goes from the header
 * handler to the completion handler.
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
	/* User header and data stay ours to keep until LAPI has sent them; both live in static
	 * memory, so no counter is needed. */
	CALL(LAPI_Amsend(*hndl, here->request.origin, handler_of[here->request.origin],
	                 &here->request, sizeof here->request, here->data, sizeof received, NULL,
	                 NULL, NULL));
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
	CALL(LAPI_Amsend(hndl, buddy, handler_of[buddy], &request, sizeof request, numbers,
	                 sizeof numbers, NULL, NULL, NULL));
	/* Our own flag: a probe on each turn, so that it also works when the program is started in
	 * polling mode. */
	while (!atomic_load_explicit(&answered, memory_order_acquire)) {
		CALL(LAPI_Probe(hndl));
		sched_yield();
	}
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
