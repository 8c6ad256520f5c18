/*
 * test_evd.c - event queues and CNOs (dat/evd/evd.h): which events fit, in which order they are
 * taken, which threads they wake, which CNOs they trigger, and when agents are called.
 */
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#pragma GCC visibility push(default)
#include <dat2/udat.h>
#include <dat2/dat_ib_extensions.h>
#pragma GCC visibility pop

#include "ctest/dat/fake_dat.h"

enum { EVDS = 4, CNO = EVDS, SECOND_CNO, SLOTS };

/* An area of handles, where C finds it. */
static _Alignas(1 << DAT_AREA_SHIFT) union {
	dat_slot slots[SLOTS];
	char all[1 << DAT_AREA_SHIFT];
} area;

static dat_slot *slot(int i)
{
	return &area.slots[i];
}

static uint64_t handle(int i)
{
	return (uintptr_t)slot(i);
}

static uint32_t events_noticed(void)
{
	return __atomic_load_n(&dat_progress.event_seq, __ATOMIC_RELAXED);
}

static void begin(uint32_t size, uint32_t flags)
{
	int i;

	handle_add_area((uintptr_t)&area);
	memset(&area, 0, sizeof(area));
	for (i = 0; i < EVDS; i++) {
		slot(i)->kind = 1 + DAT_HANDLE_TYPE_EVD;
		CHECK(evd_open(handle(i), size, flags, i == EVDS - 1 ? 0 : handle(EVDS - 1)));
	}
	evd_set_async(handle(EVDS - 1), handle(EVDS - 1));
	for (i = CNO; i <= SECOND_CNO; i++) {
		slot(i)->kind = 1 + DAT_HANDLE_TYPE_CNO;
		CHECK(cno_open(handle(i), 0, 0, -1));
	}
}

static void end(void)
{
	int i;

	for (i = 0; i < EVDS; i++)
		evd_close(handle(i));
	for (i = CNO; i <= SECOND_CNO; i++)
		cno_close(handle(i));
	CHECK(!cno_agents());
}

static int post(int i, uint64_t cookie)
{
	const evd_event event = {.number = DAT_DTO_COMPLETION_EVENT, .data = {0, cookie}};

	return evd_post(handle(i), &event, 0);
}

/* The cookie of the oldest event; ~0: there is none. */
static uint64_t taken(int i)
{
	evd_event event;

	if (evd_take(handle(i), &event) != DAT_SUCCESS)
		return UINT64_MAX;
	CHECK(event.evd == handle(i));
	return event.data[1];
}

/* Handles of other kinds, of nobody, freed and invented ones. */
static void finds_handles(void)
{
	begin(4, 0);
	CHECK(handle_find(slot(0), DAT_HANDLE_TYPE_EVD) == slot(0));
	CHECK(!handle_find(slot(0), DAT_HANDLE_TYPE_EP) && !handle_find(NULL, DAT_HANDLE_TYPE_CR));
	CHECK(!handle_find((char *)slot(0) + 8, DAT_HANDLE_TYPE_EVD));
	CHECK(!handle_find((void *)(uintptr_t)(handle(0) + sizeof(area)), DAT_HANDLE_TYPE_EVD));
	CHECK(!handle_find((void *)(uintptr_t)(handle(0) ^ (uint64_t)1 << 40), DAT_HANDLE_TYPE_EVD));
	slot(1)->kind = 0;
	CHECK(!handle_find(slot(1), DAT_HANDLE_TYPE_EVD));
	slot(1)->kind = 1 + DAT_HANDLE_TYPE_EVD;
	end();
}

/* Events come in order, as many as fit, also past what there was memory for at first. */
static void keeps_order(void)
{
	uint64_t next = 0, oldest = 0;
	int round;

	begin(1000, 0);
	while (next < 20) /* the queue grows while its oldest event is not in the first place */
		CHECK(post(0, next++));
	while (oldest < 13)
		CHECK(taken(0) == oldest++);
	for (round = 0; round < 20; round++) {
		while (slot(0)->length < 900)
			CHECK(post(0, next++));
		while (slot(0)->length > (uint32_t)round * 40)
			CHECK(taken(0) == oldest++);
	}
	CHECK(slot(0)->ready == slot(0)->length && dat_queue_of(slot(0))->ring.room == 1024);
	while (slot(0)->length > 0)
		CHECK(taken(0) == oldest++);
	CHECK(oldest == next && taken(0) == UINT64_MAX);
	end();
}

/* An overflow is reported once until the queue was empty, and never for the queue that reports. */
static void reports_overflow(void)
{
	evd_event event;
	int i;

	begin(4, 0);
	for (i = 0; i < 7; i++)
		CHECK(post(0, (uint64_t)i) == (i < 4));
	CHECK(slot(EVDS - 1)->length == 1 && dat_queue_of(slot(0))->overflows == 1);
	CHECK(evd_take(handle(EVDS - 1), &event) == DAT_SUCCESS &&
	      event.number == DAT_ASYNC_ERROR_EVD_OVERFLOW && event.data[0] == handle(0));
	CHECK(taken(0) == 0 && post(0, 4) && !post(0, 5) && slot(EVDS - 1)->length == 0);
	while (taken(0) != UINT64_MAX)
		;
	for (i = 0; i < 6; i++)
		post(0, 0);
	CHECK(slot(EVDS - 1)->length == 1 && dat_queue_of(slot(0))->overflows == 2);
	for (i = 0; i < 6; i++)
		post(EVDS - 1, 0);
	CHECK(slot(EVDS - 1)->length == 4 && dat_queue_of(slot(EVDS - 1))->overflows == 0);
	/* a smaller or larger queue; not smaller than its content */
	CHECK(evd_set_size(handle(0), 3) == (DAT_CLASS_ERROR | DAT_INVALID_STATE));
	CHECK(evd_set_size(handle(0), 0) ==
	      (DAT_CLASS_ERROR | DAT_INVALID_PARAMETER | DAT_INVALID_ARG2));
	CHECK(DAT_GET_TYPE(evd_set_size(handle(0), (1 << 22) + 1)) == DAT_INSUFFICIENT_RESOURCES);
	CHECK(evd_set_size(handle(0), 5) == DAT_SUCCESS && post(0, 9) && !post(0, 10));
	/* the queue that reports has gone before */
	while (taken(EVDS - 1) != UINT64_MAX || taken(0) != UINT64_MAX)
		;
	slot(EVDS - 1)->kind = 0;
	for (i = 0; i < 6; i++)
		post(0, 0);
	CHECK(dat_queue_of(slot(0))->overflows == 3 && slot(EVDS - 1)->length == 0);
	slot(EVDS - 1)->kind = 1 + DAT_HANDLE_TYPE_EVD;
	end();
}

/* Silent events end no wait until a thread looks, or they are no longer silent. */
static void wakes(void)
{
	const evd_event event = {.number = DAT_DTO_COMPLETION_EVENT};
	uint32_t before;

	begin(8, 0);
	evd_set_cno(handle(0), handle(CNO));
	before = events_noticed();
	CHECK(evd_post(handle(0), &event, 1) && slot(0)->ready == 0 && slot(0)->length == 1);
	CHECK(events_noticed() == before && slot(CNO)->ready == 0);
	evd_wake(handle(0));
	CHECK(events_noticed() != before && slot(0)->ready == 1 && slot(CNO)->ready == 1);
	before = events_noticed();
	evd_wake(handle(1)); /* of no events none is woken */
	CHECK(events_noticed() == before);
	evd_set_cno(handle(0), 0);
	CHECK(evd_post(handle(0), &event, 1) && slot(0)->ready == 1);
	CHECK(evd_wait_begins(handle(0), 2, 0) == DAT_SUCCESS && slot(0)->ready == 2);
	evd_wait_cancelled(handle(0));
	end();
}

/* The rules of dat_evd_wait. */
static void waits(void)
{
	const uint32_t state = DAT_CLASS_ERROR | DAT_INVALID_STATE;
	evd_event event;
	int32_t more = -1;
	uint32_t poked;

	begin(4, 0);
	CHECK(evd_wait_begins(handle(0), 0, 1) ==
	      (DAT_CLASS_ERROR | DAT_INVALID_PARAMETER | DAT_INVALID_ARG3));
	CHECK(evd_wait_begins(handle(0), 5, 1) ==
	      (DAT_CLASS_ERROR | DAT_INVALID_PARAMETER | DAT_INVALID_ARG3));
	CHECK(evd_wait_begins(handle(0), 2, 1) == DAT_SUCCESS);
	CHECK(evd_wait_begins(handle(0), 1, 1) == (state | DAT_INVALID_STATE_EVD_WAITER));
	CHECK(evd_take(handle(0), &event) == (state | DAT_INVALID_STATE_EVD_WAITER));
	CHECK(post(0, 1));
	CHECK(evd_wait_ends(handle(0), 2, &event, &more) ==
	              (DAT_CLASS_ERROR | DAT_TIMEOUT_EXPIRED) &&
	      more == 1);
	CHECK(evd_wait_begins(handle(0), 2, 1) == DAT_SUCCESS && post(0, 2) && post(0, 3));
	CHECK(evd_wait_ends(handle(0), 2, &event, &more) == DAT_SUCCESS && event.data[1] == 1 &&
	      more == 2);
	CHECK(dat_queue_of(slot(0))->counters[DCNT_EVD_WAIT] == 5 &&
	      dat_queue_of(slot(0))->counters[DCNT_EVD_WAIT_BLOCKED] == 2 &&
	      dat_queue_of(slot(0))->counters[DCNT_EVD_WAIT_NOTIFY] == 1);
	/* that a queue is made unwaitable ends waits */
	CHECK(evd_wait_begins(handle(0), 4, 1) == DAT_SUCCESS);
	poked = slot(0)->poked;
	evd_set_waitable(handle(0), 0);
	CHECK(slot(0)->poked != poked);
	CHECK(evd_wait_ends(handle(0), 1, &event, &more) ==
	              (state | DAT_INVALID_STATE_EVD_UNWAITABLE) &&
	      more == 2);
	CHECK(evd_wait_begins(handle(0), 1, 1) == (state | DAT_INVALID_STATE_EVD_UNWAITABLE));
	evd_set_waitable(handle(0), 1);
	CHECK(evd_wait_begins(handle(0), 1, 1) == DAT_SUCCESS);
	evd_wait_cancelled(handle(0));
	CHECK(taken(0) == 2 && taken(0) == 3);
	/* the return code of an empty queue, as programs expect it */
	CHECK(evd_take(handle(0), &event) == (DAT_CLASS_ERROR | DAT_QUEUE_EMPTY));
	end();
	begin(4, DAT_QUEUE_DTO);
	CHECK(evd_take(handle(0), &event) == DAT_QUEUE_EMPTY);
	end();
}

static void software_events(void)
{
	evd_event event;
	int i;

	begin(2, 0);
	CHECK(evd_post_software(handle(0), DAT_SOFTWARE_EVENT, 1) ==
	      (DAT_CLASS_ERROR | DAT_INVALID_PARAMETER | DAT_INVALID_ARG2));
	end();
	begin(2, DAT_QUEUE_SOFTWARE);
	CHECK(evd_post_software(handle(0), DAT_DTO_COMPLETION_EVENT, 1) ==
	      (DAT_CLASS_ERROR | DAT_INVALID_PARAMETER | DAT_INVALID_ARG2));
	for (i = 0; i < 2; i++)
		CHECK(evd_post_software(handle(0), DAT_SOFTWARE_EVENT, 70 + (uint64_t)i) ==
		      DAT_SUCCESS);
	CHECK(evd_post_software(handle(0), DAT_SOFTWARE_EVENT, 1) ==
	      (DAT_CLASS_ERROR | DAT_QUEUE_FULL));
	CHECK(dat_queue_of(slot(0))->overflows == 0);
	CHECK(evd_take(handle(0), &event) == DAT_SUCCESS && event.number == DAT_SOFTWARE_EVENT &&
	      event.data[0] == 70);
	end();
}

/* Whose events a CNO has, in the order in which they fired, each EVD once until it was taken. */
static void triggers(void)
{
	uint64_t evd;
	int i;

	begin(8, 0);
	for (i = 0; i < 3; i++)
		evd_set_cno(handle(i), handle(CNO));
	CHECK(dat_cno_of(slot(CNO))->evds == 3 && slot(CNO)->ready == 0);
	CHECK(cno_take(handle(CNO), &evd) == DAT_QUEUE_EMPTY && evd == 0);
	CHECK(post(1, 0) && post(2, 0) && post(1, 0) && post(0, 0) && slot(CNO)->ready == 1);
	evd_set_cno(handle(2), handle(SECOND_CNO)); /* it leaves, and triggers the other one */
	CHECK(slot(SECOND_CNO)->ready == 1);
	CHECK(cno_take(handle(CNO), &evd) == DAT_SUCCESS && evd == handle(1));
	CHECK(slot(CNO)->ready == 1 && post(1, 0)); /* it fires again, behind the other */
	CHECK(cno_take(handle(CNO), &evd) == DAT_SUCCESS && evd == handle(0));
	CHECK(cno_take(handle(CNO), &evd) == DAT_SUCCESS && evd == handle(1));
	CHECK(slot(CNO)->ready == 0 && cno_take(handle(CNO), &evd) == DAT_QUEUE_EMPTY);
	evd_enable(handle(0), 0); /* a disabled one collects events */
	CHECK(post(0, 0) && slot(CNO)->ready == 0);
	evd_enable(handle(0), 1);
	CHECK(slot(CNO)->ready == 1);
	evd_set_cno(handle(0), 0);
	CHECK(slot(CNO)->ready == 0 && dat_cno_of(slot(CNO))->evds == 1);
	evd_set_cno(handle(0), handle(CNO)); /* for the events that are there */
	CHECK(slot(CNO)->ready == 1);
	cno_waits(handle(CNO), 1);
	cno_waits(handle(CNO), 1);
	cno_waits(handle(CNO), 0);
	CHECK(dat_cno_of(slot(CNO))->waiting == 1);
	evd_close(handle(0)); /* a triggered one goes */
	CHECK(slot(CNO)->ready == 0);
	CHECK(evd_open(handle(0), 8, 0, 0));
	end();
}

/* The descriptor of a CNO is readable while it is triggered. */
static void signals_descriptors(void)
{
	struct pollfd file = {.fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC), .events = POLLIN};
	uint64_t evd;

	CHECK(file.fd >= 0);
	begin(8, 0);
	cno_close(handle(CNO));
	CHECK(cno_open(handle(CNO), 0, 0, file.fd));
	evd_set_cno(handle(0), handle(CNO));
	CHECK(poll(&file, 1, 0) == 0);
	CHECK(post(0, 0) && post(0, 1) && poll(&file, 1, 0) == 1);
	CHECK(cno_take(handle(CNO), &evd) == DAT_SUCCESS && poll(&file, 1, 0) == 0);
	end();
	CHECK(write(file.fd, &evd, sizeof(evd)) < 0); /* it was closed */
}

/* An agent is called once until the CNO was taken, for the EVD that fired first. */
static void calls_agents(void)
{
	uint64_t function, instance, evd;
	int i;

	begin(8, 0);
	for (i = 0; i < 2; i++) {
		cno_set_agent(handle(CNO + i), 11 + (uint64_t)i, 21 + (uint64_t)i);
		evd_set_cno(handle(i), handle(CNO + i));
	}
	dat_progress.due = 0;
	CHECK(!cno_next_agent(&function, &instance, &evd));
	CHECK(post(1, 0) && post(0, 0) && post(1, 1) && dat_progress.due == 1);
	CHECK(cno_next_agent(&function, &instance, &evd) && function == 12 && instance == 22 &&
	      evd == handle(1));
	CHECK(post(1, 2)); /* not again */
	CHECK(cno_next_agent(&function, &instance, &evd) && function == 11 && evd == handle(0));
	CHECK(!cno_next_agent(&function, &instance, &evd));
	CHECK(cno_take(handle(CNO), &evd) == DAT_SUCCESS && post(0, 1) && cno_agents());
	CHECK(cno_next_agent(&function, &instance, &evd) && evd == handle(0));
	cno_set_agent(handle(CNO), 13, 23); /* another one, for the next event */
	CHECK(!cno_agents() && post(0, 2));
	CHECK(cno_next_agent(&function, &instance, &evd) && function == 13 && instance == 23);
	/* those of a CNO that goes are not called, in whatever place they are */
	for (i = 0; i < 2; i++)
		CHECK(cno_take(handle(CNO + i), &evd) == DAT_SUCCESS && post(i, 3));
	evd_set_cno(handle(1), 0);
	cno_close(handle(SECOND_CNO));
	CHECK(cno_open(handle(SECOND_CNO), 14, 24, -1));
	evd_set_cno(handle(1), handle(SECOND_CNO));
	CHECK(cno_next_agent(&function, &instance, &evd) && function == 13);
	CHECK(cno_next_agent(&function, &instance, &evd) && function == 14);
	CHECK(cno_take(handle(CNO), &evd) == DAT_SUCCESS && post(0, 4) && cno_agents());
	cno_set_agent(handle(CNO), 0, 0); /* between the event and the call, by another thread */
	CHECK(!cno_agents() && post(0, 5) && !cno_agents());
	end();
}

/* Events that are written in place, to the queue or where the program wants them. */
static void places(void)
{
	evd_event event, *at;

	begin(2, 0);
	CHECK((at = evd_place(handle(0))) != NULL);
	at->data[1] = 5;
	at->evd = handle(0);
	CHECK(slot(0)->length == 0); /* until it is posted */
	evd_placed(handle(0), DCNT_EVD_DTO_CALLBACK, 0);
	CHECK(slot(0)->length == 1 && slot(0)->ready == 1);
	evd_want(handle(0), &event);
	CHECK(evd_place(handle(0)) != &event && !evd_wanted()); /* it is not the oldest */
	CHECK(taken(0) == 5);
	evd_want(handle(0), &event);
	CHECK(evd_place(handle(1)) != &event && evd_place(handle(0)) == &event);
	evd_placed(handle(0), DCNT_EVD_DTO_CALLBACK, 0);
	CHECK(slot(0)->length == 0 && evd_place(handle(0)) != &event); /* the second one */
	evd_placed(handle(0), DCNT_EVD_DTO_CALLBACK, 1);
	CHECK(evd_wanted() && slot(0)->length == 1 && slot(0)->ready == 0);
	CHECK(dat_queue_of(slot(0))->counters[DCNT_EVD_DTO_CALLBACK] == 3);
	CHECK(evd_place(handle(0)) != NULL);
	evd_placed(handle(0), DCNT_EVD_DTO_CALLBACK, 0);
	CHECK(evd_place(handle(0)) == NULL && evd_place(0) == NULL); /* it is full */
	evd_set_cno(handle(1), handle(CNO)); /* an event that triggers a CNO is queued */
	evd_want(handle(1), &event);
	CHECK(cno_some() && evd_place(handle(1)) != &event);
	evd_placed(handle(1), DCNT_EVD_DTO_CALLBACK, 1);
	CHECK(slot(CNO)->ready == 0);
	evd_placed(handle(1), DCNT_EVD_DTO_CALLBACK, 0);
	CHECK(!evd_wanted() && slot(CNO)->ready == 1 && slot(1)->length == 2);
	evd_set_cno(handle(1), 0);
	CHECK(!cno_some());
	end();
}

/* Events that an adapter keeps until a thread looks, outside of a wait. */
static int kept;

static void hand_over(void)
{
	const evd_event event = {.number = DAT_DTO_COMPLETION_EVENT};
	uint64_t evd = (uintptr_t)fake_dat[0].recv;

	if (kept && !(dat_queue_of(fake_dat[0].recv)->flags & DAT_QUEUE_WAITING))
		kept -= evd_post(evd, &event, 1);
}

/* A wait collects events that wake nobody before it begins. */
static void collects(void)
{
	DAT_EVD_HANDLE evd;
	DAT_EVENT event;
	DAT_COUNT more;

	fake_dat_open(1);
	evd = (DAT_EVD_HANDLE)fake_dat[0].recv;
	fake_dat_core = hand_over;
	kept = 1;
	CHECK(DAT_GET_TYPE(dat_evd_wait(evd, 0, 1, &event, &more)) == DAT_TIMEOUT_EXPIRED);
	evd_set((uintptr_t)evd, DAT_QUEUE_SOLICITED, 1);
	CHECK(dat_evd_wait(evd, 0, 1, &event, &more) == DAT_SUCCESS && more == 0 && kept == 0);
	fake_dat_core = NULL;
	fake_dat_close();
}

/* A wait for one event of several that are there takes the oldest, and counts no wait that blocked. */
static void takes_at_once(void)
{
	evd_event sent = {.number = DAT_DTO_COMPLETION_EVENT};
	const uint64_t *counters;
	DAT_EVD_HANDLE evd;
	DAT_EVENT event;
	DAT_COUNT more;

	fake_dat_open(1);
	evd = (DAT_EVD_HANDLE)fake_dat[0].recv;
	counters = dat_queue_of(fake_dat[0].recv)->counters;
	dat_the_lane.num_links = 0; /* so it looks in place */
	sent.evd = (uintptr_t)evd;
	CHECK(evd_post((uintptr_t)evd, &sent, 0) && evd_post((uintptr_t)evd, &sent, 0));
	CHECK(dat_evd_wait(evd, 0, 1, &event, &more) == DAT_SUCCESS && more == 1);
	CHECK(dat_evd_wait(evd, 0, 1, &event, &more) == DAT_SUCCESS && more == 0);
	CHECK(counters[DCNT_EVD_WAIT] == 2 && counters[DCNT_EVD_WAIT_BLOCKED] == 0);
	CHECK(counters[DCNT_EVD_DEQUEUE] == 0);
	CHECK(evd_post((uintptr_t)evd, &sent, 0));
	evd_set_waitable((uintptr_t)evd, 0);
	CHECK(DAT_GET_TYPE(dat_evd_wait(evd, 0, 1, &event, &more)) == DAT_INVALID_STATE);
	dat_the_lane.num_links = 1;
	fake_dat_close();
}

/* With a CNO events are news though no thread waits: the peers see it. */
static void watches(void)
{
	fake_dat_open(0);
	rc_watch();
	CHECK(fake_dat[0].table->waits == 1);
	fake_dat_close();
}

/* The codes of bad arguments: of memory that is not there first, then of the handle, then NULL. */
static void refuses_arguments(void)
{
	const DAT_RETURN bad = DAT_CLASS_ERROR | DAT_INVALID_PARAMETER,
			 bad_evd = DAT_CLASS_ERROR | DAT_INVALID_HANDLE |
	                           DAT_INVALID_HANDLE_EVD_REQUEST,
			 bad_cno = DAT_CLASS_ERROR | DAT_INVALID_HANDLE | DAT_INVALID_HANDLE_CNO;
	DAT_EVENT event, *nowhere = (DAT_EVENT *)16;
	DAT_COUNT more;
	DAT_EVD_HANDLE evd, fired;

	fake_dat_open(1);
	evd = (DAT_EVD_HANDLE)fake_dat[0].recv;
	CHECK(dat_evd_dequeue(&event, nowhere) == (bad | DAT_INVALID_ARG2));
	CHECK(dat_evd_dequeue(&event, &event) == bad_evd && dat_evd_dequeue(NULL, NULL) == bad_evd);
	CHECK(dat_evd_dequeue(evd, NULL) == (bad | DAT_INVALID_ARG2));
	CHECK(dat_evd_wait(&event, 0, 1, nowhere, &more) == (bad | DAT_INVALID_ARG4));
	CHECK(dat_evd_wait(&event, 0, 1, &event, (DAT_COUNT *)16) == (bad | DAT_INVALID_ARG5));
	CHECK(dat_evd_wait(fake_dat[0].ep, 0, 1, &event, &more) == bad_evd);
	CHECK(dat_evd_wait(evd, 0, 1, NULL, &more) == (bad | DAT_INVALID_ARG4));
	CHECK(dat_evd_wait(evd, 0, 1, &event, NULL) == (bad | DAT_INVALID_ARG5));
	CHECK(dat_evd_wait(evd, 0, 0, &event, &more) == (bad | DAT_INVALID_ARG3));
	CHECK(dat_cno_wait(evd, 0, (void *)16) == (bad | DAT_INVALID_ARG3));
	CHECK(dat_cno_wait(evd, 0, &fired) == bad_cno && dat_cno_wait(NULL, 0, NULL) == bad_cno);
	fake_dat_close();
}

void test_evd(void)
{
	finds_handles();
	keeps_order();
	reports_overflow();
	wakes();
	waits();
	software_events();
	triggers();
	signals_descriptors();
	calls_agents();
	places();
	collects();
	takes_at_once();
	watches();
	refuses_arguments();
}
