/*
 * perf.c - the measurements that `bench` compares with perftest's programs, between two tasks.
 *
 * usage: lapirun ... perf WHAT BYTES ROUNDS
 *
 * put: time of a put one way, half of one there and back, in microseconds, the median; am: the same
 * for active messages; bandwidth: MB/s of puts, 16 under way, of 2^20 bytes as perftest's; gets,
 * messages, vectors: the same of gets, active messages, and puts of vectors of blocks of 64 KiB with
 * gaps; rate: millions of puts a second, 64 under way; counter: time of a put until its completion
 * counter has changed; fence: until a fence is over. Task 0 prints the number alone.
 */
#include <lapi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static lapi_handle_t handle;
static int task;
static char *here;
static lapi_cntr_t arrived, completed;
static void *memory_of[2], *arrived_of[2], *handler_of[2];

static void must(int code, const char *call)
{
	char text[LAPI_MAX_ERR_STRING];

	if (code == LAPI_SUCCESS)
		return;
	LAPI_Msg_string(code, text);
	fprintf(stderr, "perf: task %d: %s: %s\n", task, call, text);
	exit(1);
}
#define MUST(call) must(call, #call)

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void *take(lapi_handle_t *h, void *uhdr, uint *uhdr_len, ulong *msg_len,
                  compl_hndlr_t **completion, void **info)
{
	(void)h, (void)uhdr, (void)uhdr_len, (void)msg_len;
	*completion = NULL;
	*info = NULL;
	return here;
}

static void put(size_t bytes, lapi_cntr_t *cntr)
{
	MUST(LAPI_Put(handle, (uint)(1 - task), bytes, memory_of[1 - task], here, arrived_of[1 - task],
	              NULL, cntr));
}

static void message(size_t bytes)
{
	MUST(LAPI_Amsend(handle, (uint)(1 - task), handler_of[1 - task], NULL, 0, here, bytes,
	                 arrived_of[1 - task], NULL, NULL));
}

static void get(size_t bytes)
{
	MUST(LAPI_Get(handle, (uint)(1 - task), bytes, memory_of[1 - task], here, NULL, &completed));
}

static void long_message(size_t bytes)
{
	MUST(LAPI_Amsend(handle, (uint)(1 - task), handler_of[1 - task], NULL, 0, here, bytes,
	                 arrived_of[1 - task], NULL, &completed));
}

enum { BLOCK = 64 << 10, GAP = 4 << 10 };

/* Memory for BYTES in blocks and gaps. */
static size_t laid_out(size_t bytes) { return (bytes + BLOCK - 1) / BLOCK * (BLOCK + GAP); }

static void vector(size_t bytes)
{
	static void *info[2][3];
	static lapi_vec_t of[2];

	for (int side = 0; side < 2; side++) {
		info[side][0] = side ? memory_of[1 - task] : here;
		info[side][1] = (void *)(uintptr_t)BLOCK;
		info[side][2] = (void *)(uintptr_t)(BLOCK + GAP);
		of[side].vec_type = LAPI_GEN_STRIDED_XFER;
		of[side].num_vecs = (uint)(bytes / BLOCK);
		of[side].info = info[side];
		of[side].len = NULL;
	}
	MUST(LAPI_Putv(handle, (uint)(1 - task), &of[1], &of[0], arrived_of[1 - task], NULL,
	               &completed));
}

static void complete(int by_fence, size_t bytes)
{
	put(bytes, by_fence ? NULL : &completed);
	if (by_fence)
		MUST(LAPI_Fence(handle));
	else
		MUST(LAPI_Waitcntr(handle, &completed, 1, NULL));
}

static void there_and_back(int am, size_t bytes)
{
	for (int side = 0; side < 2; side++)
		if (side != task)
			MUST(LAPI_Waitcntr(handle, &arrived, 1, NULL));
		else if (am)
			message(bytes);
		else
			put(bytes, NULL);
}

static int in_order(const void *a, const void *b)
{
	double d = *(const double *)a - *(const double *)b;

	return (d > 0) - (d < 0);
}

/* Ticks of a cheap clock: a call of the kernel for the time may cost as much as a round. */
static double ticks(void)
{
#ifdef __x86_64__
	return (double)__builtin_ia32_rdtsc();
#else
	return now();
#endif
}

/* The median of a round. Like perftest's t_typical, it hardly depends on other programs on the
 * processor. */
static double median(void (*one)(int how, size_t bytes), int how, size_t bytes, int rounds)
{
	double *took = calloc((size_t)rounds, sizeof *took), begin = now(), first = ticks();

	if (!took)
		exit(1);
	for (int i = 0; i < rounds; i++) {
		took[i] = -ticks();
		one(how, bytes);
		took[i] += ticks();
	}
	double second = (ticks() - first) / (now() - begin);
	qsort(took, (size_t)rounds, sizeof *took, in_order);
	double half = took[rounds / 2];
	free(took);
	return half / second;
}

/* Of a put that task 0 completes, the other making progress. */
static double completion(int by_fence, size_t bytes, int rounds)
{
	double took = 0;

	if (task == 0)
		took = median(complete, by_fence, bytes, rounds);
	else
		MUST(LAPI_Waitcntr(handle, &arrived, rounds, NULL));
	return took;
}

static void one_put(size_t bytes) { put(bytes, &completed); }

/* Time of one transfer, of which some are under way; SEEN: the target counts them. */
static double stream(void (*begin_one)(size_t), int seen, size_t bytes, int rounds, int most)
{
	double begin = now();

	if (task == 0) {
		for (int i = 0; i < rounds; i++) {
			if (i >= most)
				MUST(LAPI_Waitcntr(handle, &completed, 1, NULL));
			begin_one(bytes);
		}
		MUST(LAPI_Waitcntr(handle, &completed, rounds < most ? rounds : most, NULL));
	} else if (seen) {
		MUST(LAPI_Waitcntr(handle, &arrived, rounds, NULL));
	}
	return (now() - begin) / rounds;
}

int main(int argc, char **argv)
{
	lapi_info_t info;
	const char *what = argc == 4 ? argv[1] : "";
	size_t bytes = argc == 4 ? (size_t)atol(argv[2]) : 0;
	int rounds = argc == 4 ? atoi(argv[3]) : 0, tasks;
	double result = 0;

	memset(&info, 0, sizeof info);
	MUST(LAPI_Init(&handle, &info));
	MUST(LAPI_Qenv(handle, TASK_ID, &task));
	MUST(LAPI_Qenv(handle, NUM_TASKS, &tasks));
	if (tasks != 2 || bytes == 0 || rounds < 1) {
		fprintf(stderr, "usage: lapirun -n 2 perf put|am|bandwidth|gets|messages|vectors|rate|counter|"
		        "fence BYTES ROUNDS\n");
		return 2;
	}
	MUST(LAPI_Senv(handle, INTERRUPT_SET, 0));
	if (posix_memalign((void **)&here, 4096, laid_out(bytes)) != 0)
		return 2;
	memset(here, 1, laid_out(bytes));
	MUST(LAPI_Address_init(handle, here, memory_of));
	MUST(LAPI_Address_init(handle, &arrived, arrived_of));
	MUST(LAPI_Address_init(handle, (void *)(uintptr_t)take, handler_of));
	for (int warm = 1; warm >= 0; warm--) {
		int n = warm ? rounds / 10 + 1 : rounds;

		MUST(LAPI_Gfence(handle));
		if (strcmp(what, "put") == 0 || strcmp(what, "am") == 0)
			result = median(there_and_back, what[0] == 'a', bytes, n) / 2 * 1e6;
		else if (strcmp(what, "counter") == 0 || strcmp(what, "fence") == 0)
			result = completion(what[0] == 'f', bytes, n) * 1e6;
		else if (strcmp(what, "bandwidth") == 0)
			result = (double)bytes / stream(one_put, 1, bytes, n, 16) / 0x1p20;
		else if (strcmp(what, "gets") == 0)
			result = (double)bytes / stream(get, 0, bytes, n, 16) / 0x1p20;
		else if (strcmp(what, "messages") == 0)
			result = (double)bytes / stream(long_message, 1, bytes, n, 16) / 0x1p20;
		else if (strcmp(what, "vectors") == 0)
			result = (double)bytes / stream(vector, 1, bytes, n, 16) / 0x1p20;
		else
			result = 1 / stream(one_put, 1, bytes, n, 64) / 1e6;
	}
	if (task == 0)
		printf("%.4f\n", result);
	MUST(LAPI_Gfence(handle));
	MUST(LAPI_Term(handle));
	return 0;
}
