/*
 * test_polls.c - a poll of an EVD while the node engine makes events: it gets the oldest event, not
 * by the queue, and no later one. One thread.
 */
#include "ctest/dat/fake_dat.h"

#include <string.h>

enum { AT = 4096, MANY = 3 };

static fake_dat_side *target;

/* Opens both; the target has receives. */
static void open_both(void)
{
	DAT_LMR_TRIPLET to;
	int i;

	fake_dat_open(0);
	to = fake_dat_local(1, AT, 64);
	target = &fake_dat[1];
	for (i = 0; i < 2 * MANY; i++)
		CHECK(second_rc_post_receive(target->ep, 1, &to, (uint64_t)i, 0) == DAT_SUCCESS);
}

static void send_many(int n)
{
	const DAT_LMR_TRIPLET from = fake_dat_local(0, 0, 8);
	const dat_post post = {.op = RC_SEND, .num_segments = 1, .local_iov = &from};

	for (; n > 0; n--)
		CHECK(rc_post(fake_dat[0].ep, &post) == DAT_SUCCESS);
}

static uint64_t cookie_of(const DAT_EVENT *event)
{
	return event->event_data.dto_completion_event_data.user_cookie.as_64;
}

/* Takes the oldest of the target's queue, which is to be that receive's. */
static void take(uint64_t cookie)
{
	DAT_EVENT event;

	CHECK(target->recv->length > 0);
	second_evd_take((uintptr_t)target->recv, (evd_event *)(void *)&event);
	CHECK(cookie_of(&event) == cookie);
}

static int is(const DAT_EVENT *event, unsigned char byte)
{
	DAT_EVENT same;

	memset(&same, byte, sizeof(same));
	return memcmp(event, &same, sizeof(same)) == 0;
}

/* The first of some goes straight to the program, the others to the queue; each counts once. */
static void first_of_many(void)
{
	DAT_EVENT event;

	open_both();
	send_many(MANY);
	CHECK(second_rc_poll((uintptr_t)target->recv, &event) == 1 && cookie_of(&event) == 0);
	CHECK(event.evd_handle == (DAT_EVD_HANDLE)target->recv);
	CHECK(target->recv->length == MANY - 1 && target->recv->ready == MANY - 1);
	CHECK(dat_queue_of(target->recv)->counters[DCNT_EVD_DTO_CALLBACK] == MANY);
	take(1);
	take(2);
	fake_dat_close();
}

/* Of a queue that has one already the poll gets none: the older comes first. */
static void behind_another(void)
{
	DAT_EVENT event;

	open_both();
	memset(&event, 7, sizeof(event));
	send_many(1);
	second_rc_turn();
	send_many(1);
	CHECK(second_rc_poll((uintptr_t)target->recv, &event) == 0 && is(&event, 7));
	take(0);
	take(1);
	fake_dat_close();
}

/* An event of another EVD is not what the poll is for. */
static void of_another(void)
{
	DAT_EVENT event;

	open_both();
	memset(&event, 7, sizeof(event));
	send_many(1);
	CHECK(second_rc_poll((uintptr_t)target->request, &event) == 0 && is(&event, 7));
	CHECK(target->request->length == 0);
	take(0);
	fake_dat_close();
}

/* Once the poll is over its event is the program's again. */
static void after_it(void)
{
	DAT_EVENT event;

	open_both();
	CHECK(second_rc_poll((uintptr_t)target->recv, &event) == 0);
	memset(&event, 7, sizeof(event));
	send_many(1);
	second_rc_turn();
	CHECK(is(&event, 7));
	take(0);
	fake_dat_close();
}

/* By the entry point: the program sees each event once, and the counters say what it did. */
static void by_the_call(void)
{
	DAT_EVD_HANDLE evd;
	DAT_EVENT event;
	uint64_t *counters;

	open_both();
	evd = (DAT_EVD_HANDLE)fake_dat[0].request;
	counters = dat_queue_of(fake_dat[0].request)->counters;
	send_many(1);
	CHECK(DAT_GET_TYPE(dat_evd_dequeue(evd, &event)) == DAT_QUEUE_EMPTY);
	second_rc_turn();
	CHECK(dat_evd_dequeue(evd, &event) == DAT_SUCCESS);
	CHECK(event.event_data.dto_completion_event_data.operation == DAT_DTO_SEND);
	CHECK(DAT_GET_TYPE(dat_evd_dequeue(evd, &event)) == DAT_QUEUE_EMPTY);
	CHECK(counters[DCNT_EVD_DEQUEUE] == 3 && counters[DCNT_EVD_DEQUEUE_POLL] == 3);
	CHECK(counters[DCNT_EVD_DEQUEUE_FOUND] == 1 && counters[DCNT_EVD_DEQUEUE_NOT_FOUND] == 2);
	CHECK(counters[DCNT_EVD_DEQUEUE_POLL_FOUND] == 1);
	fake_dat_close();
}

void test_polls(void)
{
	first_of_many();
	behind_another();
	of_another();
	after_it();
	by_the_call();
}
