/*
 * dat_group_bench.c - short operations of a group of two on one node: `make dat-count`; see
 * rounds.h.
 *
 * Both members run in one thread. The second one has come before the first one posts, so the first
 * one's operation is over in its post, and its event is there when it looks.
 */
#define _GNU_SOURCE
#include "ctest/dat/fake_group.h"
#include "ctest/bench/rounds.h"

static double sent[2], received[2];

static COUNTED void first_barrier(void)
{
	fake_barrier(0);
}

static COUNTED void first_sums(void)
{
	fake_sum(0, DAT_IB_COLLECTIVE_ALLREDUCE_STATUS, 0, &sent[0], &received[0], sizeof(double));
}

static COUNTED void take(void)
{
	DAT_EVENT event;

	if (dat_evd_dequeue((DAT_EVD_HANDLE)fake_world.member[0].evd_slot, &event) != DAT_SUCCESS)
		abort();
}

/* Nothing has come yet: the members' memory is looked at. */
static COUNTED void look(void)
{
	DAT_EVENT event;

	dat_evd_dequeue((DAT_EVD_HANDLE)fake_world.member[0].evd_slot, &event);
}

static void second_takes(void)
{
	evd_event event;

	fake_turn(1);
	evd_take((uintptr_t)fake_world.member[1].evd_slot, &event);
}

static void barrier(void)
{
	fake_barrier(1);
	first_barrier();
	take();
	second_takes();
}

static void sum(void)
{
	fake_sum(1, DAT_IB_COLLECTIVE_ALLREDUCE_STATUS, 0, &sent[1], &received[1], sizeof(double));
	first_sums();
	take();
	second_takes();
}

static void waits(void)
{
	first_barrier();
	look();
	fake_barrier(1);
	take();
	second_takes();
}

int main(int argc, char **argv)
{
	(void)argc;
	fake_group_open(2, 0, 0);
	dat_groups = &fake_world.member[0].group;
	fake_world.member[0].queue.flags = DAT_QUEUE_TRANSFERS;
	measure(argv, "barrier", barrier);
	measure(argv, "sum", sum);
	measure(argv, "waits", waits);
	dat_groups = NULL;
	fake_group_close();
	return 0;
}
