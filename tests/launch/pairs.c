/*
 * pairs.c - each task puts a word to every task and checks that all words have come. The last line,
 * of task 0: the time it took. usage: pairs
 */
#include <lapi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

static void must(int code, const char *what)
{
	char text[LAPI_MAX_ERR_STRING];

	if (code == LAPI_SUCCESS)
		return;
	LAPI_Msg_string(code, text);
	fprintf(stderr, "pairs: %s: %s\n", what, text);
	exit(99);
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* A word that encodes its sender and its target. */
static long word(int from, int to)
{
	return (long)from << 32 | (to + 1);
}

static void put_all(lapi_handle_t handle, int task, int tasks, void **places, long *mine)
{
	lapi_cntr_t sent;
	int i, to;

	must(LAPI_Setcntr(handle, &sent, 0), "LAPI_Setcntr");
	for (i = 0; i < tasks; i++) {
		to = (task + i) % tasks;
		mine[to] = word(task, to);
		must(LAPI_Put(handle, to, sizeof(long), (long *)places[to] + task, &mine[to], NULL,
		              &sent, NULL),
		     "LAPI_Put");
	}
	must(LAPI_Waitcntr(handle, &sent, tasks, NULL), "LAPI_Waitcntr");
	must(LAPI_Gfence(handle), "LAPI_Gfence");
}

int main(void)
{
	double begin = now(), ready, done;
	lapi_handle_t handle;
	lapi_info_t info;
	struct rusage usage;
	int task, tasks, from, wrong = 0;
	long *words, *mine;
	void **places;

	memset(&info, 0, sizeof(info));
	must(LAPI_Init(&handle, &info), "LAPI_Init");
	must(LAPI_Qenv(handle, TASK_ID, &task), "LAPI_Qenv");
	must(LAPI_Qenv(handle, NUM_TASKS, &tasks), "LAPI_Qenv");
	words = calloc((size_t)tasks, sizeof(*words));
	mine = calloc((size_t)tasks, sizeof(*mine));
	places = calloc((size_t)tasks, sizeof(*places));
	must(LAPI_Address_init(handle, words, places), "LAPI_Address_init");
	ready = now();
	put_all(handle, task, tasks, places, mine);
	done = now();
	for (from = 0; from < tasks; from++)
		wrong += words[from] != word(from, task);
	if (wrong)
		printf("task %d: %d wrong words\n", task, wrong);
	must(LAPI_Term(handle), "LAPI_Term");
	getrusage(RUSAGE_SELF, &usage);
	if (task == 0)
		printf("pairs: %d tasks: ready after %.2f s, all pairs in %.2f s, %ld MiB resident\n",
		       tasks, ready - begin, done - ready, usage.ru_maxrss / 1024);
	return wrong != 0;
}
