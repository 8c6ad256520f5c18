/*
 * soak.c - all kinds of operations, at a low rate, for as long as is wanted.
 *
 * usage: lapirun --on A --on B soak SECONDS [PAUSE_MS [SEED]]
 *
 * Each task has a partner in the other half of the job. In a round it begins some operations with
 * it, up to MOST of random kinds and lengths: puts, gets, active messages, read-modify-writes and
 * vector puts; then it waits for all of them, checks what came back, and sleeps PAUSE_MS (20). The
 * partner does the same. Task T first says `soak: task T: pid P`, and at its end
 * `soak: task T: R rounds`.
 */
#include <lapi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
	MOST = 24,
	LONGEST = 300000,
	MOST_TASKS = 128,
	HANDLER = 1,
	KINDS = 5
};

static lapi_handle_t hndl;
static int task_id, num_tasks, partner;
static unsigned char *here, *from, *inbox, *message; /* each LONGEST bytes */
static void *heres[MOST_TASKS], *inboxes[MOST_TASKS], *words[MOST_TASKS];
static int word;
static unsigned state;

static void must(int code, const char *what)
{
	char text[LAPI_MAX_ERR_STRING];
	if (code == LAPI_SUCCESS)
		return;
	LAPI_Msg_string(code, text);
	fprintf(stderr, "soak: task %d: %s: %s\n", task_id, what, text);
	exit(1);
}
#define MUST(call) must((call), #call)

static void wrong(const char *what)
{
	fprintf(stderr, "soak: task %d: %s\n", task_id, what);
	exit(1);
}

static unsigned draw(unsigned below)
{
	state = state * 1664525 + 1013904223;
	return (state >> 8) % below;
}

/* The byte at a place of a task's memory, the same all the time. */
static unsigned char pattern(int task, unsigned at)
{
	return (unsigned char)((unsigned)task * 31 + at * 7 + (at >> 8));
}

static void completed(lapi_handle_t *h, void *argument)
{
	(void)h;
	free(argument);
}

/* Some messages' data goes to memory of their own, which a completion handler frees. */
static void *arrived(lapi_handle_t *h, void *uhdr, uint *uhdr_len, ulong *length,
                     compl_hndlr_t **then, void **argument)
{
	void *own = *length % 2 ? malloc(*length) : NULL;
	(void)h, (void)uhdr, (void)uhdr_len;
	*then = own ? completed : NULL;
	*argument = own;
	return own ? own : message;
}

static void put_vector(unsigned length, lapi_cntr_t *done)
{
	void *sources[2] = {from, from + length}, *targets[2] = {inboxes[partner],
	                                                         (char *)inboxes[partner] + length};
	ulong lengths[2] = {length / 2, length / 3};
	lapi_vec_t source = {LAPI_GEN_IOVECTOR, 2, sources, lengths},
	           target = {LAPI_GEN_IOVECTOR, 2, targets, lengths};
	MUST(LAPI_Putv(hndl, (uint)partner, &target, &source, NULL, NULL, done));
}

/* Begins one. done counts all but those whose answer gotten counts, *gets of them. */
static void begin(lapi_cntr_t *done, lapi_cntr_t *gotten, int *gets)
{
	static int one = 1, before;
	unsigned shape = draw(10);
	unsigned length = shape < 6 ? draw(200) : shape < 9 ? draw(9000) : draw(LONGEST);
	switch (draw(KINDS)) {
	case 0:
		MUST(LAPI_Put(hndl, (uint)partner, length, inboxes[partner], from, NULL, NULL, done));
		break;
	case 1:
		MUST(LAPI_Get(hndl, (uint)partner, length, heres[partner], here, NULL, gotten));
		++*gets;
		break;
	case 2:
		MUST(LAPI_Amsend(hndl, (uint)partner, (void *)HANDLER, &length, 8, from, length, NULL,
		                 NULL, done));
		break;
	case 3:
		MUST(LAPI_Rmw(hndl, FETCH_AND_ADD, (uint)partner, words[partner], &one, &before,
		              gotten));
		++*gets;
		break;
	default:
		put_vector(length / 3, done);
	}
}

static void run_round(void)
{
	lapi_cntr_t done, gotten;
	int i, n = 1 + (int)draw(MOST), gets = 0, value;
	unsigned at;
	MUST(LAPI_Setcntr(hndl, &done, 0));
	MUST(LAPI_Setcntr(hndl, &gotten, 0));
	for (i = 0; i < n; i++)
		begin(&done, &gotten, &gets);
	MUST(LAPI_Waitcntr(hndl, &gotten, gets, &value));
	MUST(LAPI_Waitcntr(hndl, &done, n - gets, &value));
	for (at = 0; at < LONGEST; at += 1009)
		if (here[at] && here[at] != pattern(partner, at))
			wrong("a get has brought other bytes than the partner has there");
}

/* Returns how many rounds there were. */
static long run(double seconds, unsigned pause_ms)
{
	struct timespec pause = {pause_ms / 1000, (long)(pause_ms % 1000) * 1000000};
	time_t end = time(NULL) + (time_t)seconds;
	long rounds;
	for (rounds = 0; time(NULL) < end; rounds++) {
		run_round();
		nanosleep(&pause, NULL);
	}
	return rounds;
}

int main(int argc, char **argv)
{
	lapi_info_t info;
	void *handler;
	double seconds = argc > 1 ? atof(argv[1]) : 10;
	unsigned pause_ms = argc > 2 ? (unsigned)atoi(argv[2]) : 20, at;
	memset(&info, 0, sizeof info);
	must(LAPI_Init(&hndl, &info), "LAPI_Init");
	MUST(LAPI_Qenv(hndl, TASK_ID, &task_id));
	MUST(LAPI_Qenv(hndl, NUM_TASKS, &num_tasks));
	state = (argc > 3 ? (unsigned)atoi(argv[3]) : 1) * 1000 + (unsigned)task_id;
	if (num_tasks % 2 || num_tasks > MOST_TASKS) {
		fprintf(stderr, "usage: an even number of tasks, at most %d\n", MOST_TASKS);
		return 2;
	}
	partner = (task_id + num_tasks / 2) % num_tasks;
	here = calloc(4, LONGEST);
	if (!here)
		return 2;
	inbox = here + LONGEST;
	from = inbox + LONGEST;
	message = from + LONGEST;
	for (at = 0; at < LONGEST; at++)
		from[at] = pattern(task_id, at);
	*(hdr_hndlr_t **)&handler = arrived;
	MUST(LAPI_Addr_set(hndl, handler, HANDLER));
	MUST(LAPI_Address_init(hndl, from, heres));
	MUST(LAPI_Address_init(hndl, inbox, inboxes));
	MUST(LAPI_Address_init(hndl, &word, words));
	printf("soak: task %d: pid %d\n", task_id, (int)getpid());
	fflush(stdout);
	printf("soak: task %d: %ld rounds\n", task_id, run(seconds, pause_ms));
	MUST(LAPI_Gfence(hndl));
	MUST(LAPI_Term(hndl));
	return 0;
}
