/*
 * crossing.c - two instances of a task, whose header handlers each send on the other: an operation
 * that does not wait works from any handler, whatever the threads of the other instance do.
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
	/* what this task's handlers have sent comes from the one before it */
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

int main(void)
{
	int i;
	alarm(120);
	if (!open_all())
		return 2;
	for (i = 0; i < ROUNDS; i++)
		exchange();
	host_end_case("handlers_send_on_each_other", task != 0);
	for (i = 0; i < INSTANCES; i++)
		HOST_OK(LAPI_Term(handles[i]));
	return host_close("crossing", task != 0);
}
