/*
 * dat_lane_bench.c - what short operations of uDAPL's node engine cost in instructions, ns: `make
 * dat-lane-bench`; see rounds.h.
 *
 * Both processes run in one thread, so no line ever goes to another processor: only the calls
 * themselves are measured. "answered" is a message and its answer; of each side that is the post,
 * the look that finds the message, the next receive and the event of the own send. "write" and
 * "read" are by the kernel's copy, "asked" is a read that the other process answers. The other
 * process's lane is called without the lock and the entry points.
 */
#define _GNU_SOURCE
#include "ctest/dat/fake_dat.h"
#include "ctest/bench/rounds.h"

enum { RECEIVES = 32, BYTES = 8 };

static DAT_LMR_TRIPLET out[2], in[2];
static DAT_RMR_TRIPLET there;

/* An event of an EVD of the first process. */
static COUNTED void take(dat_slot *evd)
{
	DAT_EVENT event;

	if (dat_evd_dequeue((DAT_EVD_HANDLE)evd, &event) != DAT_SUCCESS ||
	    event.event_data.dto_completion_event_data.status != DAT_DTO_SUCCESS)
		abort();
}

/* The same of the second. */
static void second_take(dat_slot *evd)
{
	DAT_EVENT event;

	if (evd->length == 0 && second_rc_poll((uintptr_t)evd, &event))
		return;
	if (evd->length == 0)
		abort();
	second_evd_take((uintptr_t)evd, (evd_event *)(void *)&event);
}

static COUNTED void first_sends(void)
{
	DAT_DTO_COOKIE cookie = {.as_64 = 1};

	dat_ep_post_send((DAT_EP_HANDLE)fake_dat[0].ep, 1, &out[0], cookie,
	                 DAT_COMPLETION_DEFAULT_FLAG);
}

static COUNTED void first_receives(void)
{
	DAT_DTO_COOKIE cookie = {.as_64 = 2};

	dat_ep_post_recv((DAT_EP_HANDLE)fake_dat[0].ep, 1, &in[0], cookie,
	                 DAT_COMPLETION_DEFAULT_FLAG);
}

static void second_sends(void)
{
	const dat_post post = {.op = RC_SEND, .num_segments = 1, .local_iov = &out[1]};

	second_rc_post((DAT_EP_HANDLE)fake_dat[1].ep, &post);
}

static void second_receives(void)
{
	second_rc_post_receive((DAT_EP_HANDLE)fake_dat[1].ep, 1, &in[1], 2, 0);
}

static void answered(void)
{
	first_sends();
	second_take(fake_dat[1].recv);
	second_receives();
	second_sends();
	take(fake_dat[0].recv);
	first_receives();
	take(fake_dat[0].request);
	second_take(fake_dat[1].request);
}

static COUNTED void first_writes(void)
{
	DAT_DTO_COOKIE cookie = {.as_64 = 3};

	dat_ep_post_rdma_write((DAT_EP_HANDLE)fake_dat[0].ep, 1, &out[0], cookie, &there,
	                       DAT_COMPLETION_DEFAULT_FLAG);
}

static void write_completed(void)
{
	first_writes();
	second_rc_turn();
	take(fake_dat[0].request);
}

static COUNTED void first_reads(void)
{
	DAT_DTO_COOKIE cookie = {.as_64 = 4};

	dat_ep_post_rdma_read((DAT_EP_HANDLE)fake_dat[0].ep, 1, &out[0], cookie, &there,
	                      DAT_COMPLETION_DEFAULT_FLAG);
}

static COUNTED void second_answers(void)
{
	second_rc_turn();
}

static void read_completed(void)
{
	first_reads();
	second_answers();
	take(fake_dat[0].request);
}

static void nothing(void)
{
	DAT_EVENT event;

	dat_evd_dequeue((DAT_EVD_HANDLE)fake_dat[0].recv, &event);
}

int main(int argc, char **argv)
{
	int i;

	(void)argc;
	fake_dat_open(0);
	for (i = 0; i < 2; i++) {
		out[i] = fake_dat_local(i, 0, BYTES);
		in[i] = fake_dat_local(i, 4096, BYTES);
	}
	there = fake_dat_remote(1, 8192, BYTES);
	for (i = 0; i < RECEIVES; i++) {
		first_receives();
		second_receives();
	}
	measure(argv, "answered", answered);
	measure(argv, "write", write_completed);
	measure(argv, "read", read_completed);
	measure(argv, "nothing", nothing);
	for (i = 0; i < 2; i++) /* no copies by the kernel: by messages */
		fake_node_peer(i)->direct = 0;
	measure(argv, "asked", read_completed);
	fake_dat_close();
	return 0;
}
