/*
 * steady.c - puts that go to and fro all the time, for networks that fail meanwhile.
 *
 * usage: lapirun --on A -n N --on B -n N steady SECONDS [LARGEST]
 *
 * Each task of the lower half has a partner in the upper half. In a round it puts a message, a
 * header and a pattern, into its partner's memory, which checks it and puts it back, and adds 1 to
 * a word there, whose former value tells whether an earlier addition was lost or done twice. Every
 * 16th message is LARGEST bytes long (256 KiB), the others 64. This goes on for SECONDS and, if
 * STEADY_UNTIL names a file, until that is there; then each driver also says `steady: task T: at
 * round R` about every 0.1 s, after a round, so that it is seen that rounds go on. Task 0 says
 * `steady: started` when all is set up; each driver ends with `steady: task T: R rounds, longest
 * pause P us`, where a pause is the time of one round.
 *
 * STEADY_FORK=nothing|exec|call: after each 64th round a driver forks a child, which ends, executes a
 * program, or makes calls, all of which must fail.
 */
#include "forks.h"

#include <lapi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct header {
	uint64_t round;
	uint64_t length; /* of the whole message */
	uint64_t last;   /* 1: no round follows */
};

enum { SMALL = 64, LARGE_EVERY = 16, MOST_TASKS = 128, TELL_US = 100000 };

static lapi_handle_t hndl;
static int task_id, num_tasks, partner;
static unsigned char *inbox, *outbox;
static lapi_cntr_t arrived;
static int additions; /* the partner adds here */
static void *inboxes[MOST_TASKS], *counters[MOST_TASKS], *words[MOST_TASKS];

static void must(int code, const char *what)
{
	char text[LAPI_MAX_ERR_STRING];
	if (code == LAPI_SUCCESS)
		return;
	LAPI_Msg_string(code, text);
	fprintf(stderr, "steady: task %d: %s: %s\n", task_id, what, text);
	exit(1);
}
#define MUST(call) must((call), #call)

static void wrong(const char *what, uint64_t round)
{
	fprintf(stderr, "steady: task %d: round %llu: %s\n", task_id, (unsigned long long)round,
	        what);
	exit(1);
}

static int64_t now_us(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

/* The byte at a place of a round's pattern. */
static unsigned char pattern(uint64_t round, uint64_t at)
{
	return (unsigned char)(round * 31 + at * 7 + (at >> 8));
}

static void check(uint64_t round)
{
	struct header h;
	uint64_t i;
	memcpy(&h, inbox, sizeof h);
	if (h.round != round)
		wrong("another round's message has arrived", round);
	for (i = sizeof h; i < h.length; i++)
		if (inbox[i] != pattern(round, i))
			wrong("the message has arrived damaged", round);
}

static void put(const void *from, uint64_t length)
{
	lapi_cntr_t done;
	int value;
	MUST(LAPI_Setcntr(hndl, &done, 0));
	MUST(LAPI_Put(hndl, (uint)partner, length, inboxes[partner], (void *)(uintptr_t)from,
	              counters[partner], &done, NULL));
	MUST(LAPI_Waitcntr(hndl, &done, 1, &value));
}

static void await(void)
{
	int value;
	MUST(LAPI_Waitcntr(hndl, &arrived, 1, &value));
}

/* Adds 1 to the partner's word; round of them have been added before. */
static void add(uint64_t round)
{
	lapi_cntr_t done;
	int one = 1, before = -1, value;
	MUST(LAPI_Setcntr(hndl, &done, 0));
	MUST(LAPI_Rmw(hndl, FETCH_AND_ADD, (uint)partner, words[partner], &one, &before, &done));
	MUST(LAPI_Waitcntr(hndl, &done, 1, &value));
	if ((uint64_t)before != round)
		wrong("additions were lost or repeated", round);
}

/* Whether the file that is waited for is there, or there is none. */
static int let_go(void)
{
	const char *until = getenv("STEADY_UNTIL");
	return !until || access(until, F_OK) == 0;
}

/* Prints its round, if STEADY_UNTIL is set. */
static void tell(uint64_t round, int64_t now)
{
	static int64_t told;
	if (now - told < TELL_US || !getenv("STEADY_UNTIL"))
		return;
	told = now;
	printf("steady: task %d: at round %llu\n", task_id, (unsigned long long)round);
	fflush(stdout);
}

static int calls(void)
{
	int value;

	return LAPI_Probe(hndl) == LAPI_SUCCESS ||
	       LAPI_Getcntr(hndl, &arrived, &value) == LAPI_SUCCESS ||
	       LAPI_Put(hndl, (uint)partner, SMALL, inboxes[partner], outbox, NULL, NULL, NULL) ==
		       LAPI_SUCCESS;
}

static void fork_some(uint64_t round)
{
	const char *what = getenv("STEADY_FORK");

	if (what && round % 64 == 0 && !forks_well(what, calls))
		wrong("a child has not ended well", round);
}

static void drive(double seconds, uint64_t largest)
{
	int64_t begin = now_us(), end = begin + (int64_t)(seconds * 1e6), last = begin, longest = 0,
		now;
	uint64_t round, i;
	struct header h = {0, 0, 0};
	for (round = 0; !h.last; round++) {
		h.round = round;
		h.length = round % LARGE_EVERY == LARGE_EVERY - 1 ? largest : SMALL;
		h.last = last >= end && let_go();
		memcpy(outbox, &h, sizeof h);
		for (i = sizeof h; i < h.length; i++)
			outbox[i] = pattern(round, i);
		put(outbox, h.length);
		fork_some(round);
		await();
		check(round);
		add(round);
		now = now_us();
		longest = now - last > longest ? now - last : longest;
		last = now;
		tell(round, now);
	}
	printf("steady: task %d: %llu rounds, longest pause %lld us\n", task_id,
	       (unsigned long long)round, (long long)longest);
}

static void answer(void)
{
	uint64_t round;
	struct header h = {0, 0, 0};
	for (round = 0; !h.last; round++) {
		await();
		check(round);
		memcpy(&h, inbox, sizeof h);
		memcpy(outbox, inbox, h.length);
		put(outbox, h.length);
	}
}

int main(int argc, char **argv)
{
	lapi_info_t info;
	double seconds = argc > 1 ? atof(argv[1]) : 1;
	uint64_t largest = argc > 2 ? strtoull(argv[2], NULL, 10) : 256 * 1024;
	memset(&info, 0, sizeof info);
	must(LAPI_Init(&hndl, &info), "LAPI_Init");
	MUST(LAPI_Qenv(hndl, TASK_ID, &task_id));
	MUST(LAPI_Qenv(hndl, NUM_TASKS, &num_tasks));
	inbox = calloc(1, largest);
	outbox = calloc(1, largest);
	if (num_tasks % 2 || num_tasks > MOST_TASKS || largest < SMALL || !inbox || !outbox) {
		fprintf(stderr,
		        "usage: an even number of tasks, at most %d, and messages of at least %d bytes\n",
		        MOST_TASKS, SMALL);
		return 2;
	}
	partner = (task_id + num_tasks / 2) % num_tasks;
	MUST(LAPI_Setcntr(hndl, &arrived, 0));
	MUST(LAPI_Address_init(hndl, inbox, inboxes));
	MUST(LAPI_Address_init(hndl, &arrived, counters));
	MUST(LAPI_Address_init(hndl, &additions, words));
	MUST(LAPI_Gfence(hndl));
	if (task_id == 0) {
		printf("steady: started\n");
		fflush(stdout);
	}
	if (task_id < num_tasks / 2)
		drive(seconds, largest);
	else
		answer();
	MUST(LAPI_Gfence(hndl));
	MUST(LAPI_Term(hndl));
	return 0;
}
