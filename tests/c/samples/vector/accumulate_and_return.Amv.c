/*
 * accumulate_and_return.Amv.c - there and back with vectors: a task sends the even elements of an
 * array to its buddy, which keeps them in two halves, adds its own numbers and sends the sums back
 * to where they came from.
 *
 * ../basic/accumulate_and_return.Am.c is the same with plain active messages.
 */
#include <sched.h>
#include <stdatomic.h>
#include "sample.h"

#define COUNT 1000 /* numbers that travel */

/* The user header: who sends, and whether these are the sums. 8 bytes. */
struct request {
	int origin, is_sum;
};

static int numbers[2 * COUNT];   /* at the even task; only the even elements travel */
static int halves[2][COUNT / 2]; /* at the odd task */
static struct request request;   /* of the message that came here last; one comes to each task */
static void **handler_of;
static atomic_int answered;

/* Generic vectors: the lists of the two sides need not look alike. */
static void *even_addresses[COUNT];
static ulong even_lengths[COUNT];
static void *half_addresses[2] = {halves[0], halves[1]};
static ulong half_lengths[2] = {sizeof halves[0], sizeof halves[1]};
static lapi_vec_t even_elements = {LAPI_GEN_GENERIC, COUNT, even_addresses, even_lengths};
static lapi_vec_t both_halves = {LAPI_GEN_GENERIC, 2, half_addresses, half_lengths};

static void completion_handler(lapi_handle_t *hndl, void *user_info)
{
	(void)user_info;
	if (request.is_sum) {
		/* release: whoever reads the flag also sees the data */
		atomic_store_explicit(&answered, 1, memory_order_release);
		return;
	}
	for (int i = 0; i < COUNT; i++)
		halves[i / (COUNT / 2)][i % (COUNT / 2)] += 10 * i;
	request.is_sum = 1;
	CALL(LAPI_Amsendv(*hndl, request.origin, handler_of[request.origin], &request,
	                  sizeof request, &both_halves, NULL, NULL, NULL));
	sample_say("completion handler: added to the numbers of task %d and sent the sums back",
	           request.origin);
}

static lapi_vec_t *header_handler(lapi_handle_t *hndl, void *uhdr, uint *uhdr_len, ulong *len_vec[],
                                  compl_hndlr_t **completion, void **user_info)
{
	(void)hndl, (void)uhdr_len, (void)len_vec;
	request = *(struct request *)uhdr;
	*completion = completion_handler;
	*user_info = NULL;
	return request.is_sum ? &even_elements : &both_halves;
}

static void drive(lapi_handle_t hndl, int task, int buddy)
{
	struct request mine = {task, 0};
	lapi_cntr_t sent;
	int wrong = 0;

	for (int i = 0; i < COUNT; i++) {
		numbers[2 * i] = i;
		numbers[2 * i + 1] = -7;
		even_addresses[i] = &numbers[2 * i];
		even_lengths[i] = sizeof(int);
	}
	CALL(LAPI_Setcntr(hndl, &sent, 0));
	CALL(LAPI_Amsendv(hndl, buddy, handler_of[buddy], &mine, sizeof mine, &even_elements, NULL,
	                  &sent, NULL));
	CALL(LAPI_Waitcntr(hndl, &sent, 1, NULL));
	while (!atomic_load_explicit(&answered, memory_order_acquire)) {
		CALL(LAPI_Probe(hndl));
		sched_yield();
	}
	for (int i = 0; i < COUNT; i++)
		wrong += numbers[2 * i] != 11 * i || numbers[2 * i + 1] != -7;
	EXPECT(wrong == 0);
	sample_say(
		"sent %d even elements to task %d, got them back with its own added: element 200 is %d",
		COUNT, buddy, numbers[200]);
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
