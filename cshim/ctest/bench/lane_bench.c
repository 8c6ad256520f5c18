/*
 * lane_bench.c - what the small operations of the fast lane cost in instructions, ns: `make
 * lane-bench`; see rounds.h.
 *
 * Both ends run in one thread, so no line ever goes to another processor: only the calls themselves
 * are measured. One line an operation, the median of many batches; "answered" is an operation with
 * an answer: the origin's call, the target's turn, the origin's wait.
 */
#define _GNU_SOURCE
#include <string.h>

#include "ctest/fake_lane.h"
#include "ctest/bench/rounds.h"

static lapi_handle_t origin, target;
static lapi_cntr_t counter, completed;
static long long word, one = 1, previous;
enum { LONGEST = 4096 };
static char from[LONGEST], to[LONGEST];
static unsigned long bytes = 8; /* of the puts and gets */
static int window = 64;         /* puts that the target has not seen, which must find room */

static void *handler(lapi_handle_t *hndl, void *uhdr, uint *uhdr_len, ulong *msg_len,
                     compl_hndlr_t **completion, void **info)
{
	(void)hndl;
	(void)uhdr;
	(void)uhdr_len;
	(void)msg_len;
	*completion = NULL;
	*info = NULL;
	return to;
}

static void put(void)
{
	LAPI_Put(origin, 1, bytes, to, from, &counter, NULL, NULL);
	LAPI_Waitcntr(target, &counter, 1, NULL);
}

static void put_window(void)
{
	int i;

	for (i = 0; i < window; i++)
		LAPI_Put(origin, 1, bytes, to, from, &counter, NULL, NULL);
	LAPI_Waitcntr(target, &counter, window, NULL);
}

static void am(void)
{
	LAPI_Amsend(origin, 1, (void *)handler, NULL, 0, from, 8, &counter, NULL, NULL);
	LAPI_Waitcntr(target, &counter, 1, NULL);
}

static void am_probe(void)
{
	LAPI_Amsend(origin, 1, (void *)handler, NULL, 0, from, 8, NULL, NULL, NULL);
	LAPI_Probe(target);
}

static void put_answered(void)
{
	LAPI_Put(origin, 1, bytes, to, from, NULL, NULL, &completed);
	LAPI_Probe(target);
	LAPI_Waitcntr(origin, &completed, 1, NULL);
}

static void get_answered(void)
{
	LAPI_Get(origin, 1, bytes, from, to, NULL, &completed);
	LAPI_Probe(target);
	LAPI_Waitcntr(origin, &completed, 1, NULL);
}

static void rmw_answered(void)
{
	LAPI_Rmw64(origin, FETCH_AND_ADD, 1, &word, &one, &previous, &completed);
	LAPI_Probe(target);
	LAPI_Waitcntr(origin, &completed, 1, NULL);
}

static void xfer_put(void)
{
	static lapi_xfer_t command;

	command.Put.Xfer_type = LAPI_PUT_XFER;
	command.Put.tgt = 1;
	command.Put.tgt_addr = (uintptr_t)to;
	command.Put.org_addr = from;
	command.Put.len = 8;
	command.Put.tgt_cntr = (uintptr_t)&counter;
	LAPI_Xfer(origin, &command);
	LAPI_Waitcntr(target, &counter, 1, NULL);
}

static void probe_nothing(void)
{
	LAPI_Probe(target);
}

int main(int argc, char **argv)
{
	lapi_handle_t handles[2];

	(void)argc;
	fake_lane_open(handles);
	origin = handles[0];
	target = handles[1];
	cshim_progress_claimed = 1; /* else counters are shared among contexts, which is dearer */
	measure(argv, "put", put);
	measure(argv, "xfer put", xfer_put);
	measure(argv, "am", am);
	measure(argv, "am probe", am_probe);
	measure(argv, "put answered", put_answered);
	measure(argv, "get answered", get_answered);
	measure(argv, "rmw answered", rmw_answered);
	measure(argv, "64 puts", put_window);
	measure(argv, "probe", probe_nothing);
	for (bytes = 512; bytes <= LONGEST; bytes *= bytes < 1024 ? 2 : 4) {
		char name[32];

		window = bytes <= NODE_INLINE_MAX ? 16 : 64; /* those take nine slots each */
		snprintf(name, sizeof(name), "put %lu", bytes);
		measure(argv, name, put);
		snprintf(name, sizeof(name), "%d puts %lu", window, bytes);
		measure(argv, name, put_window);
		snprintf(name, sizeof(name), "get %lu", bytes);
		measure(argv, name, get_answered);
	}
	return 0;
}
