/* ends.c - see ends.h. */
#include "ctest/ends/ends.h"

#include <string.h>

#include "dat/calls.h"
#include "dat/godat.h"

static dat_lane lanes[ENDS_PROCESSES];
static int current;

void ends_begin(void)
{
	memset(lanes, 0, sizeof(lanes));
	memset(&dat_the_lane, 0, sizeof(dat_the_lane));
	current = 0;
}

dat_lane *ends_enter(int process)
{
	if (process != current) {
		lanes[current] = dat_the_lane;
		dat_the_lane = lanes[process];
		current = process;
	}
	return &dat_the_lane;
}

uint32_t ends_post(uint64_t ep, int op, uint32_t flags, int params, int32_t num_segments,
                   const DAT_LMR_TRIPLET *local, uint64_t cookie, const DAT_RMR_TRIPLET *remote,
                   uint32_t data, uint64_t operand, uint64_t compare, uint32_t completion)
{
	const dat_post post = {.op = op,
	                       .flags = (uint8_t)flags,
	                       .params = (uint8_t)params,
	                       .num_segments = num_segments,
	                       .local_iov = local,
	                       .cookie = cookie,
	                       .remote_iov = remote,
	                       .data = data,
	                       .operand = operand,
	                       .compare = compare,
	                       .completion = completion};

	return rc_post((DAT_EP_HANDLE)(uintptr_t)ep, &post);
}

uint32_t ends_post_receive(uint64_t ep, int32_t num_segments, const DAT_LMR_TRIPLET *local,
                           uint64_t cookie)
{
	return rc_post_receive((DAT_EP_HANDLE)(uintptr_t)ep, num_segments, local, cookie, 0);
}

uint32_t ends_post_shared(uint64_t srq, int32_t num_segments, const DAT_LMR_TRIPLET *local,
                          uint64_t cookie)
{
	return rc_post_shared((DAT_SRQ_HANDLE)(uintptr_t)srq, num_segments, local, cookie);
}

int ends_poll(uint64_t evd, evd_event *event)
{
	return rc_poll(evd, (DAT_EVENT *)(void *)event);
}

/* Functions of core's that the engine calls. */

uint32_t godat_call(int number, uint64_t *arguments)
{
	(void)number; /* posts to connections that are over */
	(void)arguments;
	return ENDS_OVER;
}

/* The test gives core its turn. */
uint32_t godat_progress(void)
{
	return 0;
}
