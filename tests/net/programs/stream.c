/*
 * stream.c - how fast large puts go from one half of a job to the other.
 *
 * usage: lapirun --on A --on B stream MEGABYTES [SECONDS]
 *
 * Each task of the lower half puts messages of 1 MiB into the memory of its partner in the upper
 * half, a few at a time, MEGABYTES in all or for SECONDS, and waits until all have arrived. Each
 * then ends with `stream: task T: B bytes in U us`. Every byte is checked at the end, once.
 */
#include <lapi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MESSAGE = 1 << 20, AHEAD = 4, MOST_TASKS = 128 };

static lapi_handle_t hndl;
static int task_id, num_tasks;
static unsigned char memory[MESSAGE];
static void *memories[MOST_TASKS];

static void must(int code, const char *what)
{
	char text[LAPI_MAX_ERR_STRING];
	if (code == LAPI_SUCCESS)
		return;
	LAPI_Msg_string(code, text);
	fprintf(stderr, "stream: task %d: %s: %s\n", task_id, what, text);
	exit(1);
}
#define MUST(call) must((call), #call)

static int64_t now_us(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static unsigned char pattern(int task, size_t at)
{
	return (unsigned char)((size_t)task * 31 + at * 7 + (at >> 8));
}

/* Puts messages to the partner for limit microseconds; at most AHEAD of them are under way. */
static void drive(long messages, int64_t limit, int partner)
{
	static unsigned char from[MESSAGE];
	lapi_cntr_t complete;
	int64_t begin;
	size_t at;
	long i;
	int value;
	for (at = 0; at < MESSAGE; at++)
		from[at] = pattern(task_id, at);
	MUST(LAPI_Setcntr(hndl, &complete, 0));
	begin = now_us();
	for (i = 0; i < messages && (i == 0 || now_us() - begin < limit); i++) {
		if (i >= AHEAD)
			MUST(LAPI_Waitcntr(hndl, &complete, 1, &value));
		MUST(LAPI_Put(hndl, (uint)partner, MESSAGE, memories[partner], from, NULL, NULL,
		              &complete));
	}
	MUST(LAPI_Waitcntr(hndl, &complete, (int)(i < AHEAD ? i : AHEAD), &value));
	printf("stream: task %d: %lld bytes in %lld us\n", task_id, (long long)i * MESSAGE,
	       (long long)(now_us() - begin));
}

int main(int argc, char **argv)
{
	lapi_info_t info;
	long messages = argc > 1 ? atol(argv[1]) : 64;
	int64_t limit = argc > 2 ? atol(argv[2]) * 1000000 : INT64_MAX;
	int partner;
	size_t at;
	memset(&info, 0, sizeof info);
	must(LAPI_Init(&hndl, &info), "LAPI_Init");
	MUST(LAPI_Qenv(hndl, TASK_ID, &task_id));
	MUST(LAPI_Qenv(hndl, NUM_TASKS, &num_tasks));
	if (num_tasks % 2 || num_tasks > MOST_TASKS || messages < 1) {
		fprintf(stderr,
		        "usage: stream MEGABYTES [SECONDS], with an even number of tasks, at "
		        "most %d\n",
		        MOST_TASKS);
		return 2;
	}
	partner = (task_id + num_tasks / 2) % num_tasks;
	MUST(LAPI_Address_init(hndl, memory, memories));
	MUST(LAPI_Gfence(hndl));
	if (task_id < num_tasks / 2)
		drive(messages, limit, partner);
	MUST(LAPI_Gfence(hndl));
	for (at = 0; task_id >= num_tasks / 2 && at < MESSAGE; at++)
		if (memory[at] != pattern(partner, at)) {
			fprintf(stderr, "stream: task %d: byte %zu has arrived damaged\n", task_id,
			        at);
			return 1;
		}
	MUST(LAPI_Term(hndl));
	return 0;
}
