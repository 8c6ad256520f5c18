/*
 * Am.c - LAPI_Amsend: an active message, whose data goes where the target's header handler says,
 * and whose completion handler runs at the target when all of it is there.
 *
 * Tasks form pairs of buddies, 0 with 1, 2 with 3 and so on. The even one is the origin. It waits
 * for its completion counter, which changes only after the target's completion handler has
 * returned.
 */
#include "sample.h"

#define COUNT 5000

static int origin_data[COUNT];

/* At the target: where messages go, and what the handlers found out. */
static int landing[COUNT];
static ulong announced_length;
static long long sum;

/* Runs on a thread of its own, may take its time and may call LAPI. user_info is what the header
 * handler set. */
static void completion_handler(lapi_handle_t *hndl, void *user_info)
{
	const int *data = user_info;
	long long total = 0;

	(void)hndl;
	for (int i = 0; i < COUNT; i++)
		total += data[i];
	sum = total;
}

/*
 * Runs on the thread that happens to be in LAPI, so it is short, does not block and makes no LAPI
 * call. It decides where the data goes and which handler runs when it is complete.
 */
static void *header_handler(lapi_handle_t *hndl, void *uhdr, uint *uhdr_len, ulong *msg_len,
                            compl_hndlr_t **completion, void **user_info)
{
	(void)hndl, (void)uhdr, (void)uhdr_len;
	announced_length = *msg_len;
	*completion = completion_handler; /* NULL here would mean: none */
	*user_info = landing;
	return landing;
}

static void send_to(lapi_handle_t hndl, int buddy, void **handler_of)
{
	lapi_cntr_t completion_counter;

	for (int i = 0; i < COUNT; i++)
		origin_data[i] = i;
	CALL(LAPI_Setcntr(hndl, &completion_counter, 0));
	CALL(LAPI_Amsend(hndl, buddy, handler_of[buddy], NULL, 0, origin_data, sizeof origin_data,
	                 NULL, NULL, &completion_counter));
	CALL(LAPI_Waitcntr(hndl, &completion_counter, 1, NULL));
	sample_say("sent %zu bytes to task %d, its completion handler has run", sizeof origin_data,
	           buddy);
}

/* After the fence: the origin came to it only when the completion handler had returned. */
static void look(int buddy)
{
	EXPECT(announced_length == sizeof landing);
	EXPECT(sum == (long long)COUNT * (COUNT - 1) / 2);
	sample_say("message of %lu bytes from task %d, my completion handler added it up: %lld",
	           announced_length, buddy, sum);
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
		send_to(hndl, buddy, handler_of);
	CALL(LAPI_Gfence(hndl));
	if (buddy < num_tasks && task % 2 == 1)
		look(buddy);
	if (buddy >= num_tasks)
		sample_say("no buddy for me, I only fence");

	CALL(LAPI_Term(hndl));
	free(handler_of);
	return sample_end();
}
