/*
 * crossing.c - two instances of a task, whose header handlers each send on the other: an operation
 * that does not wait works from any handler, whatever the threads of the other instance do and
 * however little the send queue holds (LAPI_SEND_QUEUE); a call that waits is refused there.
 */
#define _GNU_SOURCE
#include "host.h"

#include <pthread.h>
#include <stdint.h>

enum { INSTANCES = 2, MESSAGES = 4000, ROUNDS = 3, HANDLER = 1 };

static lapi_handle_t handles[INSTANCES];
static lapi_cntr_t arrived[INSTANCES];
static void *counters[INSTANCES][128], *sums[INSTANCES][128];
static int task, tasks, next, got[INSTANCES], sum[INSTANCES];

/* In instance me: sends on the other one. */
static void *forward(int me)
{
	int other = 1 - me, one = 1;
	HOST_OK(LAPI_Put(handles[other], (uint)next, 0, NULL, NULL, counters[other][next], NULL,
	                 NULL));
	HOST_OK(LAPI_Rmw(handles[other], FETCH_AND_ADD, (uint)next, sums[other][next], &one, NULL,
	                 NULL));
	__atomic_add_fetch(&got[me], 1, __ATOMIC_ACQ_REL);
	return NULL;
}

static void *in_first(lapi_handle_t *h, void *uhdr, uint *uhdr_len, ulong *msg_len,
                      compl_hndlr_t **handler, void **info)
{
	(void)h, (void)uhdr, (void)uhdr_len, (void)msg_len, (void)info;
	*handler = NULL;
	return forward(0);
}

static void *in_second(lapi_handle_t *h, void *uhdr, uint *uhdr_len, ulong *msg_len,
                       compl_hndlr_t **handler, void **info)
{
	(void)h, (void)uhdr, (void)uhdr_len, (void)msg_len, (void)info;
	*handler = NULL;
	return forward(1);
}

static void *send_all(void *which)
{
	lapi_handle_t h = handles[*(int *)which];
	int i;
	for (i = 0; i < MESSAGES; i++) {
		HOST_OK(LAPI_Amsend(h, (uint)next, (void *)(uintptr_t)HANDLER, NULL, 0, NULL, 0,
		                    NULL, NULL, NULL));
		HOST_OK(LAPI_Probe(h));
	}
	/* the messages that arrive come from the handlers of the previous task */
	HOST_OK(LAPI_Waitcntr(h, &arrived[*(int *)which], MESSAGES, NULL));
	return NULL;
}

static int open_all(void)
{
	lapi_info_t info;
	int i;
	for (i = 0; i < INSTANCES; i++) {
		host_info(&info);
		info.instance_no = (uint)i + 1;
		info.lib_vers = LAST_LIB;
		if (LAPI_Init(&handles[i], &info) != LAPI_SUCCESS)
			return 0;
	}
	HOST_OK(LAPI_Qenv(handles[0], TASK_ID, &task));
	HOST_OK(LAPI_Qenv(handles[0], NUM_TASKS, &tasks));
	next = (task + 1) % tasks;
	for (i = 0; i < INSTANCES; i++) {
		HOST_OK(LAPI_Setcntr(handles[i], &arrived[i], 0));
		HOST_OK(LAPI_Addr_set(handles[i], (void *)(uintptr_t)(i ? in_second : in_first),
		                      HANDLER));
		HOST_OK(LAPI_Address_init(handles[i], &arrived[i], counters[i]));
		HOST_OK(LAPI_Address_init(handles[i], &sum[i], sums[i]));
	}
	return 1;
}

/* In interrupt mode, so that each instance is served while its thread waits for the other. */
static void exchange(void)
{
	int names[INSTANCES] = {0, 1}, i;
	pthread_t threads[INSTANCES];
	for (i = 0; i < INSTANCES; i++) {
		sum[i] = got[i] = 0;
		HOST_OK(LAPI_Gfence(handles[i]));
	}
	for (i = 0; i < INSTANCES; i++)
		HOST_CHECK(pthread_create(&threads[i], NULL, send_all, &names[i]) == 0);
	for (i = 0; i < INSTANCES; i++)
		pthread_join(threads[i], NULL);
	for (i = 0; i < INSTANCES; i++) {
		HOST_OK(LAPI_Gfence(handles[0]));
		HOST_OK(LAPI_Gfence(handles[1]));
	}
	for (i = 0; i < INSTANCES; i++)
		HOST_CHECK(got[i] == MESSAGES && sum[i] == MESSAGES);
}

/* Calls of the other instance that wait, in a handler of the first. */
static void *wait_for_other(lapi_handle_t *h, void *uhdr, uint *uhdr_len, ulong *msg_len,
                            compl_hndlr_t **handler, void **info)
{
	(void)h, (void)uhdr, (void)uhdr_len, (void)msg_len, (void)info;
	*handler = NULL;
	HOST_CODE(LAPI_ERR_UNKNOWN, LAPI_Waitcntr(handles[1], &arrived[1], 1, NULL));
	HOST_CODE(LAPI_ERR_UNKNOWN, LAPI_Nopoll_wait(handles[1], &arrived[1], 1, NULL));
	HOST_CODE(LAPI_ERR_UNKNOWN, LAPI_Fence(handles[1]));
	HOST_CODE(LAPI_ERR_UNKNOWN, LAPI_Gfence(handles[1]));
	HOST_CODE(LAPI_ERR_UNKNOWN, LAPI_Address_init(handles[1], &sum, sums[1]));
	HOST_CODE(LAPI_ERR_UNKNOWN, LAPI_Term(handles[1]));
	HOST_OK(LAPI_Probe(handles[1]));
	__atomic_add_fetch(&got[0], 1, __ATOMIC_ACQ_REL);
	return NULL;
}

static void refuse_waits(void)
{
	lapi_cntr_t done;
	got[0] = 0;
	HOST_OK(LAPI_Setcntr(handles[0], &done, 0));
	HOST_OK(LAPI_Addr_set(handles[0], (void *)(uintptr_t)wait_for_other, HANDLER + 1));
	HOST_OK(LAPI_Gfence(handles[0]));
	HOST_OK(LAPI_Amsend(handles[0], (uint)next, (void *)(uintptr_t)(HANDLER + 1), NULL, 0,
	                    NULL, 0, NULL, NULL, &done));
	HOST_OK(LAPI_Waitcntr(handles[0], &done, 1, NULL));
	HOST_OK(LAPI_Gfence(handles[0]));
	HOST_CHECK(got[0] == 1);
}

int main(void)
{
	int i;
	alarm(120);
	if (!open_all())
		return 2;
	for (i = 0; i < ROUNDS; i++)
		exchange();
	host_end_case("handlers_send_on_each_other", task != 0);
	refuse_waits();
	host_end_case("handlers_wait_for_no_other_instance", task != 0);
	for (i = 0; i < INSTANCES; i++)
		HOST_OK(LAPI_Term(handles[i]));
	return host_close("crossing", task != 0);
}
