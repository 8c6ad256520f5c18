/*
 * atexit.c - LAPI_Gfence, messages and LAPI_Term inside exit handlers: the library closes nothing
 * before they have run.
 *
 * The verdict is the exit status, which an exit handler can only change with _exit; so this program
 * prints its closing line itself.
 */
#define _GNU_SOURCE
#include "conform.h"

static int failures;
static int word;
static void *words[CONFORM_MAX_TASKS];

static void expect(int code, const char *call)
{
	if (code != LAPI_SUCCESS) {
		fprintf(stderr, "task %d: atexit.c: %s returned %d in an exit handler\n", task_id,
		        call, code);
		failures++;
	}
}

static void say(void)
{
	if (task_id == 0)
		printf("atexit: %d passed, %d failed, 0 skipped\n", failures ? 0 : 1,
		       failures ? 1 : 0);
	fflush(NULL);
	if (failures)
		_exit(1);
}

/* Runs first (handlers run in reverse order): messages and a fence. */
static void fence_at_exit(int status, void *argument)
{
	int next = (task_id + 1) % num_tasks, one = 1;
	(void)status, (void)argument;
	expect(LAPI_Rmw(hndl, FETCH_AND_ADD, (uint)next, (int *)words[next], &one, NULL, NULL),
	       "LAPI_Rmw");
	expect(LAPI_Gfence(hndl), "LAPI_Gfence");
	if (word != 1) {
		fprintf(stderr, "task %d: the word is %d, not 1\n", task_id, word);
		failures++;
	}
}

static void term_at_exit(void)
{
	expect(LAPI_Gfence(hndl), "LAPI_Gfence");
	expect(LAPI_Term(hndl), "LAPI_Term");
}

int main(void)
{
	lapi_info_t info;
	int code;
	conform_start();
	conform_fill_info(&info);
	atexit(say); /* registered first, runs last */
	code = LAPI_Init(&hndl, &info);
	if (code != LAPI_SUCCESS) {
		fprintf(stderr, "LAPI_Init returned %d\n", code);
		failures++;
		return 1;
	}
	task_id = query(TASK_ID);
	num_tasks = query(NUM_TASKS);
	conform_set_mode(hndl);
	exchange(&word, words);
	atexit(term_at_exit);
	on_exit(fence_at_exit, NULL);
	return 0;
}
