/*
 * Put_xfer.c - LAPI_Xfer with LAPI_PUT_XFER: a put that calls a send completion handler when its
 * buffer is free, instead of changing an origin counter. Here the handler hands buffers back to a
 * small pool, so that the main program never waits for any one of them.
 */
#include <stdatomic.h>
#include "sample.h"

#define MESSAGES 100
#define BUFFERS 4
#define COUNT 6000 /* ints in a message */

static int landing[MESSAGES][COUNT];
static lapi_cntr_t arrived;

static int buffers[BUFFERS][COUNT];
static atomic_int in_use[BUFFERS];
static atomic_int calls;

/*
 * Runs once for each put, with LAPI's lock held, in whatever thread finds out: also inside
 * LAPI_Xfer. It must not wait; it may send.
 */
static void send_completion_handler(lapi_handle_t *hndl, void *completion_param,
                                    lapi_sh_info_t *info)
{
	(void)hndl;
	EXPECT(info->reason == LAPI_SUCCESS);
	atomic_fetch_add(&calls, 1);
	atomic_store_explicit((atomic_int *)completion_param, 0, memory_order_release);
}

/* A buffer that nobody needs any more; LAPI gets its turns while there is none. */
static int free_buffer(lapi_handle_t hndl)
{
	for (;;) {
		for (int i = 0; i < BUFFERS; i++)
			if (!atomic_load_explicit(&in_use[i], memory_order_acquire))
				return i;
		CALL(LAPI_Probe(hndl));
	}
}

static void put_all(lapi_handle_t hndl, int buddy, void **landing_of, void **counter_of)
{
	for (int message = 0; message < MESSAGES; message++) {
		int b = free_buffer(hndl);
		lapi_xfer_t xfer;

		atomic_store(&in_use[b], 1);
		for (int i = 0; i < COUNT; i++)
			buffers[b][i] = message + i;
		memset(&xfer, 0, sizeof xfer);
		xfer.Put.Xfer_type = LAPI_PUT_XFER;
		xfer.Put.tgt = buddy;
		/* 64 bits wide, whatever this program's pointers are. */
		xfer.Put.tgt_addr =
			(lapi_long_t)(ulong)landing_of[buddy] + message * sizeof landing[0];
		xfer.Put.org_addr = buffers[b];
		xfer.Put.len = sizeof buffers[b];
		xfer.Put.shdlr = send_completion_handler;
		xfer.Put.sinfo = &in_use[b];
		xfer.Put.tgt_cntr = (lapi_long_t)(ulong)counter_of[buddy];
		CALL(LAPI_Xfer(hndl, &xfer));
	}
	while (atomic_load(&calls) < MESSAGES)
		CALL(LAPI_Probe(hndl));
	EXPECT(atomic_load(&calls) == MESSAGES);
	sample_say("put %d messages to task %d out of %d buffers", MESSAGES, buddy, BUFFERS);
}

static void look(lapi_handle_t hndl, int buddy)
{
	int wrong = 0;

	CALL(LAPI_Waitcntr(hndl, &arrived, MESSAGES, NULL));
	for (int message = 0; message < MESSAGES; message++)
		for (int i = 0; i < COUNT; i++)
			wrong += landing[message][i] != message + i;
	EXPECT(wrong == 0);
	sample_say("%d messages of task %d are here and whole", MESSAGES, buddy);
}

int main(void)
{
	lapi_handle_t hndl;
	lapi_info_t info;
	int task, num_tasks, buddy;
	void **landing_of, **counter_of;

	memset(&info, 0, sizeof info);
	info.lib_vers = LAST_LIB;
	CALL(LAPI_Init(&hndl, &info));
	CALL(LAPI_Qenv(hndl, TASK_ID, &task));
	CALL(LAPI_Qenv(hndl, NUM_TASKS, &num_tasks));
	sample_begin(task);
	buddy = task ^ 1;

	landing_of = calloc(num_tasks, sizeof *landing_of);
	counter_of = calloc(num_tasks, sizeof *counter_of);
	CALL(LAPI_Setcntr(hndl, &arrived, 0));
	CALL(LAPI_Address_init(hndl, landing, landing_of));
	CALL(LAPI_Address_init(hndl, &arrived, counter_of));

	if (buddy >= num_tasks)
		sample_say("no buddy for me, I only fence");
	else if (task % 2 == 0)
		put_all(hndl, buddy, landing_of, counter_of);
	else
		look(hndl, buddy);

	CALL(LAPI_Gfence(hndl));
	CALL(LAPI_Term(hndl));
	free(landing_of);
	free(counter_of);
	return sample_end();
}
