/*
 * test_stress.c - no wake-up is lost. Threads wait on counters of their own, again and again;
 * packets, LAPI_Setcntr and completion handlers end the waits at random moments. Built without the
 * sleepers' safety net: one lost wake-up is a hang.
 */
#include "ctest/fake.h"

#include <string.h>

enum { WAITERS = 6, ROUNDS = 1500 };

static lapi_handle_t handle;

typedef struct partner {
	lapi_cntr_t go, answer; /* go: awaited by the waiter; answer: its answers */
	uint32_t seen;          /* atomic: rounds that the waiter has finished */
	int hold;               /* the waiter holds the lock around its wait */
} partner;

static partner partners[WAITERS];

static void *waiter_main(void *argument)
{
	partner *p = argument;
	cshim_context *context = fake_context(handle);
	int i;

	for (i = 0; i < ROUNDS; i++) {
		if (p->hold)
			cshim_lock(&context->progress);
		CHECK(LAPI_Waitcntr(handle, &p->go, 1, NULL) == LAPI_SUCCESS);
		if (p->hold)
			CHECK(cshim_unlock(&context->progress) == 0);
		__atomic_add_fetch(&p->seen, 1, __ATOMIC_SEQ_CST);
	}
	return NULL;
}

static void complete(lapi_handle_t *hndl, void *argument)
{
	partner *p = argument;
	cshim_context *context = fake_context(*hndl);

	cshim_lock(&context->progress);
	fake_add(cshim_index_of(context), (int *)&p->go, 1);
	cshim_leave(context, LAPI_SUCCESS);
}

static void queue(int context, void *argument)
{
	fake_queue_completion(context, complete, argument);
}

static void nudge(partner *p, unsigned kind)
{
	cshim_context *context = fake_context(handle);

	switch (kind % 3) {
	case 0:
		fake_count(context, (int *)&p->go);
		break;
	case 1:
		/* Nobody else changes the counter now: the waiter has taken its last value. */
		CHECK(LAPI_Setcntr(handle, &p->go, 1) == LAPI_SUCCESS);
		break;
	default:
		fake_arrive(context, queue, p);
	}
}

static unsigned next_random(unsigned *state)
{
	*state = *state * 1103515245u + 12345u;
	return *state >> 16;
}

static void *nudger_main(void *argument)
{
	partner *p = argument;
	unsigned state = (unsigned)(p - partners) + 1;
	uint32_t i;

	for (i = 0; i < ROUNDS; i++) {
		unsigned r = next_random(&state);

		nudge(p, r);
		fake_await(&p->seen, i + 1);
		if (r % 7 == 0)
			fake_sleep_us((long)(r % 200));
	}
	return NULL;
}

static void run(int polling, uint32_t spin, uint32_t yield, int holders)
{
	pthread_t threads[2 * WAITERS];
	int i;

	fake_settings.polling = polling;
	fake_settings.spin_turns = spin;
	fake_settings.yield_turns = yield;
	handle = fake_init(NULL);
	memset(partners, 0, sizeof(partners));
	for (i = 0; i < WAITERS; i++) {
		partners[i].hold = i < holders;
		threads[2 * i] = fake_thread(waiter_main, &partners[i]);
		threads[2 * i + 1] = fake_thread(nudger_main, &partners[i]);
	}
	for (i = 0; i < 2 * WAITERS; i++)
		pthread_join(threads[i], NULL);
	CHECK(LAPI_Term(handle) == LAPI_SUCCESS);
	fake_settings = (struct fake_settings){200, 20, 0, 0, -1, 0};
}

void test_stress(void)
{
	run(0, 0, 0, 0);
	run(1, 0, 0, 0);
	run(1, 3, 2, 2);
	run(0, 20, 5, 2);
}
