/*
 * libtiming.c - a profiling library: it defines LAPI subroutines itself, measures, and calls the
 * real ones under their PLAPI_ names. A program that is linked with it in front of LAPI, or that
 * has it preloaded, needs no change.
 *
 * For each subroutine it counts the calls and adds up the time; LAPI_Term prints the table. Several
 * threads may call: sums are kept with atomic additions.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>
#include <lapi.h>

struct sum {
	const char *name;
	atomic_ullong calls, nanoseconds;
};

enum which { AMSEND, FENCE, GET, GFENCE, PUT, WAITCNTR, SUBROUTINES };

static struct sum sums[SUBROUTINES] = {
	[AMSEND] = {.name = "LAPI_Amsend"}, [FENCE] = {.name = "LAPI_Fence"},
	[GET] = {.name = "LAPI_Get"},       [GFENCE] = {.name = "LAPI_Gfence"},
	[PUT] = {.name = "LAPI_Put"},       [WAITCNTR] = {.name = "LAPI_Waitcntr"},
};

static unsigned long long now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000000000ULL + time.tv_nsec;
}

/* Adds one call that began at start; gives its code through. */
static int add(enum which which, unsigned long long start, int code)
{
	/* relaxed: only sums, read when the program is about to end */
	atomic_fetch_add_explicit(&sums[which].nanoseconds, now() - start, memory_order_relaxed);
	atomic_fetch_add_explicit(&sums[which].calls, 1, memory_order_relaxed);
	return code;
}

int LAPI_Put(lapi_handle_t hndl, uint tgt, ulong len, void *tgt_addr, void *org_addr,
             lapi_cntr_t *tgt_cntr, lapi_cntr_t *org_cntr, lapi_cntr_t *cmpl_cntr)
{
	unsigned long long start = now();

	return add(PUT, start,
	           PLAPI_Put(hndl, tgt, len, tgt_addr, org_addr, tgt_cntr, org_cntr, cmpl_cntr));
}

int LAPI_Get(lapi_handle_t hndl, uint tgt, ulong len, void *tgt_addr, void *org_addr,
             lapi_cntr_t *tgt_cntr, lapi_cntr_t *org_cntr)
{
	unsigned long long start = now();

	return add(GET, start, PLAPI_Get(hndl, tgt, len, tgt_addr, org_addr, tgt_cntr, org_cntr));
}

int LAPI_Amsend(lapi_handle_t hndl, uint tgt, void *hdr_hdl, void *uhdr, uint uhdr_len, void *udata,
                ulong udata_len, lapi_cntr_t *tgt_cntr, lapi_cntr_t *org_cntr,
                lapi_cntr_t *cmpl_cntr)
{
	unsigned long long start = now();

	return add(AMSEND, start,
	           PLAPI_Amsend(hndl, tgt, hdr_hdl, uhdr, uhdr_len, udata, udata_len, tgt_cntr,
	                        org_cntr, cmpl_cntr));
}

int LAPI_Waitcntr(lapi_handle_t hndl, lapi_cntr_t *cntr, int val, int *cur_cntr_val)
{
	unsigned long long start = now();

	return add(WAITCNTR, start, PLAPI_Waitcntr(hndl, cntr, val, cur_cntr_val));
}

int LAPI_Fence(lapi_handle_t hndl)
{
	unsigned long long start = now();

	return add(FENCE, start, PLAPI_Fence(hndl));
}

int LAPI_Gfence(lapi_handle_t hndl)
{
	unsigned long long start = now();

	return add(GFENCE, start, PLAPI_Gfence(hndl));
}

/* The end of a context: the table of what was used. */
int LAPI_Term(lapi_handle_t hndl)
{
	int task = -1;

	PLAPI_Qenv(hndl, TASK_ID, &task);
	for (int i = 0; i < SUBROUTINES; i++) {
		unsigned long long calls = atomic_load(&sums[i].calls),
				   time = atomic_load(&sums[i].nanoseconds);

		if (calls)
			printf("timing, task %d: %-14s %6llu calls %10.3f ms %9.2f us each\n", task,
			       sums[i].name, calls, time / 1e6, time / 1e3 / calls);
	}
	fflush(stdout);
	return PLAPI_Term(hndl);
}
