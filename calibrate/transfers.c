/*
 * transfers.c - the transfers that `lapirun --calibrate` times, as any program makes them: from
 * task 0 to task 1 of one node, which waits in LAPI, until the completion counter says that they
 * are over. Task 0 prints a line for each result: KIND SIZE WAY NANOSECONDS, the median of some
 * batches.
 *
 * Usage: transfers chunks|direct MILLISECONDS (for each line)
 *
 *   chunks  puts. Kind put; WAY is how many are under way, waited for together: 1 or 4. The task's
 * own calibration file says in which chunks they go. direct  kinds put, am and block (puts of 32
 * KiB in blocks of SIZE), one at a time; WAY is direct, as the flag of LAPI_Xfer asks for, or
 * packets. What is compared is the work of both tasks, as the target that this is for has no
 * processor to spare. So the calibration file must make one chunk of each message: then the two
 * copies come one after the other.
 */
#define _GNU_SOURCE
#include <lapi.h>

#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
	PAGE = 4096,
	LARGEST = 4 << 20,
	LEAST = 256,
	BLOCK_LEAST = 1024,
	ONE_CHUNK = 64 << 10,
	BLOCK_MOST = 16 << 10,
	ALL_BLOCKS = 32 << 10
};
enum { BATCHES = 1000, FEWEST = 5, UNDER_WAY = 4 };

static lapi_handle_t handle;
static int task;
static char *buffer; /* LARGEST bytes */
static void *buffers[2], *stops[2];
static lapi_cntr_t over, stop;

static void check(int code, const char *what)
{
	char text[LAPI_MAX_ERR_STRING];

	if (code == LAPI_SUCCESS)
		return;
	LAPI_Msg_string(code, text);
	fprintf(stderr, "transfers: %s: %s\n", what, text);
	exit(1);
}

static int64_t nanoseconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Each task on a processor of its own, so that no result is of two on one. */
static void take_processor(void)
{
	cpu_set_t all, one;
	int processor, skip = task;

	if (sched_getaffinity(0, sizeof all, &all) < 0)
		return;
	for (processor = 0; processor < CPU_SETSIZE; processor++)
		if (CPU_ISSET(processor, &all) && skip-- == 0)
			break;
	if (processor == CPU_SETSIZE)
		return;
	CPU_ZERO(&one);
	CPU_SET(processor, &one);
	/* refused: results are as good as the system's choice */
	sched_setaffinity(0, sizeof one, &one);
}

static void *place(lapi_handle_t *h, void *uhdr, uint *uhdr_len, ulong *msg_len,
                   compl_hndlr_t **completion, void **info)
{
	(void)h, (void)uhdr, (void)uhdr_len, (void)msg_len, (void)info;
	*completion = NULL;
	return buffer;
}

/* One transfer of a kind, with LAPI_Xfer's flags. */
typedef void transfer(size_t size, int flags);

static void put(size_t size, int ways)
{
	lapi_xfer_t x;

	memset(&x, 0, sizeof x);
	x.Put.Xfer_type = LAPI_PUT_XFER;
	x.Put.flags = ways;
	x.Put.tgt = 1;
	x.Put.tgt_addr = (lapi_long_t)(uintptr_t)buffers[1];
	x.Put.org_addr = buffer;
	x.Put.len = size;
	x.Put.cmpl_cntr = &over;
	check(LAPI_Xfer(handle, &x), "LAPI_Xfer of a put");
}

static void am(size_t size, int ways)
{
	lapi_xfer_t x;

	memset(&x, 0, sizeof x);
	x.Am.Xfer_type = LAPI_AM_XFER;
	x.Am.flags = ways;
	x.Am.tgt = 1;
	x.Am.hdr_hdl = 1;
	x.Am.udata = buffer;
	x.Am.udata_len = size;
	x.Am.cmpl_cntr = &over;
	check(LAPI_Xfer(handle, &x), "LAPI_Xfer of an active message");
}

static void blocks(size_t size, int ways)
{
	void *here[3] = {buffer, (void *)size, (void *)(2 * size)},
	     *there[3] = {buffers[1], (void *)size, (void *)(2 * size)};
	lapi_vec_t org = {LAPI_GEN_STRIDED_XFER, (uint)(ALL_BLOCKS / size), here, NULL},
		   tgt = {LAPI_GEN_STRIDED_XFER, (uint)(ALL_BLOCKS / size), there, NULL};
	lapi_xfer_t x;

	memset(&x, 0, sizeof x);
	x.Putv.Xfer_type = LAPI_PUTV_XFER;
	x.Putv.flags = ways | USE_TGT_VEC_TYPE;
	x.Putv.tgt = 1;
	x.Putv.tgt_vec = &tgt;
	x.Putv.org_vec = &org;
	x.Putv.cmpl_cntr = &over;
	check(LAPI_Xfer(handle, &x), "LAPI_Xfer of blocks");
}

static int by_value(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

static int64_t median(int64_t *ns, int n)
{
	qsort(ns, (size_t)n, sizeof *ns, by_value);
	return ns[n / 2];
}

/* So many under way at a time, until all are over. */
static int64_t batch(transfer *make, size_t size, int ways, int under_way)
{
	int64_t began = nanoseconds();
	int i;

	for (i = 0; i < under_way; i++)
		make(size, ways);
	check(LAPI_Waitcntr(handle, &over, under_way, NULL), "LAPI_Waitcntr");
	return nanoseconds() - began;
}

/* Times as many ways as there are, in turn, so that what else the machine does meets all of
 * them. */
static void compare(const char *kind, transfer *make, size_t size, const int *ways,
                    const int *under_way, const char *const *names, int64_t ms)
{
	static int64_t ns[2][BATCHES];
	int64_t end = nanoseconds() + 2 * ms * 1000000;
	int n, way;

	for (way = 0; way < 2; way++)
		batch(make, size, ways[way], under_way[way]); /* brings the memory in */
	for (n = 0; n < BATCHES && (n < FEWEST || nanoseconds() < end); n++)
		for (way = 0; way < 2; way++)
			ns[way][n] = batch(make, size, ways[way], under_way[way]);
	for (way = 0; way < 2; way++)
		printf("%s %zu %s %lld\n", kind, size, names[way], (long long)median(ns[way], n));
	fflush(stdout);
}

static void chunks(int64_t ms)
{
	static const int none[2] = {0, 0}, under_way[2] = {1, UNDER_WAY};
	static const char *const names[2] = {"1", "4"};
	size_t size;

	for (size = PAGE; size <= LARGEST; size *= 2)
		compare("put", put, size, none, under_way, names, ms);
}

static void direct(int64_t ms)
{
	static const int ways[2] = {LAPI_USE_BULK_XFER, 0}, under_way[2] = {1, 1};
	static const char *const names[2] = {"direct", "packets"};
	size_t size;

	for (size = LEAST; size <= ONE_CHUNK; size *= 2) {
		compare("put", put, size, ways, under_way, names, ms);
		compare("am", am, size, ways, under_way, names, ms);
	}
	for (size = BLOCK_LEAST; size <= BLOCK_MOST; size *= 2)
		compare("block", blocks, size, ways, under_way, names, ms);
}

int main(int argc, char **argv)
{
	int64_t ms = argc == 3 ? atoll(argv[2]) : 0;
	lapi_info_t info;
	int tasks;

	if (ms < 1 || ms > 10000 || (strcmp(argv[1], "chunks") && strcmp(argv[1], "direct"))) {
		fprintf(stderr,
		        "usage: transfers chunks|direct MILLISECONDS; run by lapirun --calibrate\n");
		return 2;
	}
	memset(&info, 0, sizeof info);
	check(LAPI_Init(&handle, &info), "LAPI_Init");
	check(LAPI_Qenv(handle, TASK_ID, &task), "LAPI_Qenv");
	check(LAPI_Qenv(handle, NUM_TASKS, &tasks), "LAPI_Qenv");
	if (tasks != 2) {
		fprintf(stderr, "transfers: %d tasks instead of 2\n", tasks);
		return 2;
	}
	buffer = aligned_alloc(PAGE, LARGEST);
	if (!buffer) {
		fprintf(stderr, "transfers: no memory\n");
		return 1;
	}
	memset(buffer, task + 1, LARGEST);
	check(LAPI_Addr_set(handle, (void *)(uintptr_t)place, 1), "LAPI_Addr_set");
	check(LAPI_Address_init(handle, buffer, buffers), "LAPI_Address_init");
	check(LAPI_Address_init(handle, &stop, stops), "LAPI_Address_init");
	take_processor();
	check(LAPI_Gfence(handle), "LAPI_Gfence");
	if (task == 1) {
		check(LAPI_Waitcntr(handle, &stop, 1, NULL), "LAPI_Waitcntr");
	} else {
		if (strcmp(argv[1], "chunks") == 0)
			chunks(ms);
		else
			direct(ms);
		check(LAPI_Put(handle, 1, 0, NULL, NULL, stops[1], NULL, NULL), "LAPI_Put");
	}
	check(LAPI_Gfence(handle), "LAPI_Gfence");
	check(LAPI_Term(handle), "LAPI_Term");
	free(buffer);
	return 0;
}
