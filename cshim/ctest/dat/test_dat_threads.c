/*
 * test_dat_threads.c - uDAPL's lane with several threads at one endpoint and its EVDs, and a peer
 * that runs at once with a lane of its own. The thread sanitizer sees whether the block's lock, and
 * the orders between two processes, suffice. Outside the library the threads communicate by relaxed
 * accesses only, which order nothing.
 */
#define _GNU_SOURCE
#include "ctest/dat/fake_dat.h"

#include <pthread.h>
#include <sched.h>
#include <string.h>

enum {
	POSTERS = 3,
	EACH = 300,          /* requests of each poster's; */
	BACK = 400,          /* and sends of the peer's */
	CREDITS = 24,        /* receives that a side has posted */
	PLACE = 16 << 10,    /* bytes of memory for each thread's data: */
	WRITTEN = 600 << 10, /* where the peer's memory is written; before that its receives are */
	WAY = 3,             /* requests of a poster's under way, from memory of their own */
	RECEIVES = 100 << 10 /* of a side begin there, the longest has: */
};

static const uint32_t lengths[] = {8, 40, 700, 5000};
enum { LENGTHS = sizeof(lengths) / sizeof(lengths[0]), LONGEST = 5000 };

/* Receives that each side may still take from the other. */
static int credits[2];
static uint32_t done, done_of[POSTERS]; /* requests: of all, of each */

static int take_credit(int side)
{
	int left = __atomic_sub_fetch(&credits[side], 1, __ATOMIC_RELAXED);

	if (left >= 0)
		return 1;
	__atomic_add_fetch(&credits[side], 1, __ATOMIC_RELAXED);
	return 0;
}

static void give_credit(int side)
{
	__atomic_add_fetch(&credits[side], 1, __ATOMIC_RELAXED);
}

/* Where a receive's data goes, by its number. */
static uint64_t place_of(uint32_t number)
{
	return RECEIVES + (uint64_t)(number % CREDITS) * LONGEST;
}

/* Data of n bytes, which says whose it is and which. */
static void fill(unsigned char *at, uint32_t n, uint32_t who, uint32_t number)
{
	uint32_t i;

	for (i = 8; i < n; i++)
		at[i] = (unsigned char)(who * 31 + number + i);
	memcpy(at, &who, 4);
	memcpy(at + 4, &number, 4);
}

/* next: the number that is due of each. */
static void check(const unsigned char *at, uint64_t n, uint32_t *next)
{
	uint32_t who, number, i;

	memcpy(&who, at, 4);
	memcpy(&number, at + 4, 4);
	CHECK(who <= POSTERS && number >= next[who]); /* the numbers between were writes */
	next[who] = number + 1;
	for (i = 8; i < n; i++)
		CHECK(at[i] == (unsigned char)(who * 31 + number + i));
}

static void expect_success(const DAT_EVENT *event)
{
	CHECK(event->event_number == DAT_DTO_COMPLETION_EVENT);
	CHECK(event->event_data.dto_completion_event_data.status == DAT_DTO_SUCCESS);
}

/* Takes events of requests, whosoever they are. */
static void take_completions(void)
{
	DAT_EVENT event;

	while (dat_evd_dequeue((DAT_EVD_HANDLE)fake_dat[0].request, &event) == DAT_SUCCESS) {
		uint64_t who = event.event_data.dto_completion_event_data.user_cookie.as_64;

		expect_success(&event);
		CHECK(who < POSTERS);
		__atomic_add_fetch(&done_of[who], 1, __ATOMIC_RELAXED);
		__atomic_add_fetch(&done, 1, __ATOMIC_RELAXED);
	}
}

static DAT_RETURN post_one(uint32_t who, uint32_t i)
{
	uint64_t at = (uint64_t)who * 2 * PLACE, own = at + i % WAY * LONGEST;
	uint32_t n = lengths[(i + who) % LENGTHS];
	DAT_LMR_TRIPLET from = fake_dat_local(0, own, n);
	DAT_LMR_TRIPLET to = fake_dat_local(0, at + PLACE, n);
	DAT_RMR_TRIPLET there = fake_dat_remote(1, WRITTEN + at, n);
	DAT_DTO_COOKIE cookie = {.as_64 = who};

	switch (i % 4) {
	case 0:
		return dat_ep_post_rdma_write((DAT_EP_HANDLE)fake_dat[0].ep, 1, &from, cookie,
		                              &there, DAT_COMPLETION_DEFAULT_FLAG);
	case 1:
		there = fake_dat_remote(1, WRITTEN + at + PLACE, n);
		return dat_ep_post_rdma_read((DAT_EP_HANDLE)fake_dat[0].ep, 1, &to, cookie, &there,
		                             DAT_COMPLETION_DEFAULT_FLAG);
	default:
		fill(fake_dat[0].memory + own, n, who, i);
		return dat_ep_post_send((DAT_EP_HANDLE)fake_dat[0].ep, 1, &from, cookie,
		                        DAT_COMPLETION_DEFAULT_FLAG);
	}
}

/* Of the first process: posts, and takes completions. A request that waits is sent from its memory
 * later, so each waits until one of the own is complete that had the same. */
static void *poster(void *argument)
{
	uint32_t who = (uint32_t)(uintptr_t)argument, i;

	for (i = 0; i < EACH; i++) {
		int sends = i % 4 >= 2;

		while (__atomic_load_n(&done_of[who], __ATOMIC_RELAXED) + WAY <= i ||
		       (sends && !take_credit(1))) {
			take_completions();
			sched_yield();
		}
		/* no more can be posted: later */
		while (post_one(who, i) != DAT_SUCCESS) {
			take_completions();
			sched_yield();
		}
		take_completions();
	}
	while (__atomic_load_n(&done, __ATOMIC_RELAXED) < POSTERS * EACH) {
		take_completions();
		sched_yield();
	}
	return NULL;
}

static void first_receives(uint32_t number)
{
	DAT_LMR_TRIPLET to = fake_dat_local(0, place_of(number), LONGEST);
	DAT_DTO_COOKIE cookie = {.as_64 = number};

	CHECK(dat_ep_post_recv((DAT_EP_HANDLE)fake_dat[0].ep, 1, &to, cookie,
	                       DAT_COMPLETION_DEFAULT_FLAG) == DAT_SUCCESS);
}

/* Of the first process: waits for the peer's messages. */
static void *waiter(void *argument)
{
	uint32_t next[POSTERS + 1] = {0}, i;

	(void)argument;
	for (i = 0; i < BACK; i++) {
		DAT_EVENT event;
		DAT_COUNT more;
		const DAT_DTO_COMPLETION_EVENT_DATA *dto =
			&event.event_data.dto_completion_event_data;

		CHECK(dat_evd_wait((DAT_EVD_HANDLE)fake_dat[0].recv, DAT_TIMEOUT_INFINITE, 1,
		                   &event, &more) == DAT_SUCCESS);
		expect_success(&event);
		CHECK(dto->user_cookie.as_64 == i);
		check(fake_dat[0].memory + place_of(i), dto->transfered_length, next);
		first_receives(i + CREDITS);
		give_credit(0);
	}
	return NULL;
}

static void second_receives(uint32_t number)
{
	DAT_LMR_TRIPLET to = fake_dat_local(1, place_of(number), LONGEST);

	CHECK(second_rc_post_receive(fake_dat[1].ep, 1, &to, number, 0) == DAT_SUCCESS);
}

/* Takes what the second process has received. */
static uint32_t second_takes(uint32_t received, uint32_t *next)
{
	fake_dat_side *s = &fake_dat[1];
	DAT_EVENT event;

	while (s->recv->length > 0) {
		const DAT_DTO_COMPLETION_EVENT_DATA *dto =
			&event.event_data.dto_completion_event_data;

		second_evd_take((uintptr_t)s->recv, (evd_event *)(void *)&event);
		expect_success(&event);
		CHECK(dto->user_cookie.as_64 == received);
		check(s->memory + place_of(received), dto->transfered_length, next);
		second_receives(received++ + CREDITS);
		give_credit(1);
	}
	return received;
}

static int second_sends(uint32_t number)
{
	uint32_t n = lengths[number % LENGTHS];
	DAT_LMR_TRIPLET from = fake_dat_local(1, 0, n);
	const dat_post send = {.op = RC_SEND, .num_segments = 1, .local_iov = &from};

	if (fake_dat[1].end->tx.posted || !take_credit(0)) /* then its memory is free */
		return 0;
	fill(fake_dat[1].memory, n, POSTERS, number);
	CHECK(second_rc_post(fake_dat[1].ep, &send) == DAT_SUCCESS);
	return 1;
}

/* The second process. */
static void *peer(void *argument)
{
	fake_dat_side *s = &fake_dat[1];
	uint32_t received = 0, sent = 0, complete = 0, next[POSTERS + 1] = {0};

	(void)argument;
	while (complete < BACK || received < POSTERS * EACH / 2 ||
	       __atomic_load_n(&done, __ATOMIC_RELAXED) < POSTERS * EACH) {
		DAT_EVENT event;

		if (second_rc_poll((uintptr_t)s->request, &event)) {
			expect_success(&event);
			complete++;
		}
		received = second_takes(received, next);
		while (s->request->length > 0) {
			second_evd_take((uintptr_t)s->request, (evd_event *)(void *)&event);
			expect_success(&event);
			complete++;
		}
		if (sent < BACK && second_sends(sent))
			sent++;
		sched_yield();
	}
	return NULL;
}

static void run(int direct)
{
	pthread_t threads[POSTERS + 2];
	uint32_t i;

	fake_dat_open(1);
	for (i = 0; i < 2; i++)
		fake_node_peer((int)i)->direct = (uint32_t)direct;
	done = 0;
	memset(done_of, 0, sizeof(done_of));
	credits[0] = credits[1] = CREDITS;
	for (i = 0; i < CREDITS; i++) {
		first_receives(i);
		second_receives(i);
	}
	for (i = 0; i < POSTERS; i++)
		threads[i] = fake_thread(poster, (void *)(uintptr_t)i);
	threads[POSTERS] = fake_thread(waiter, NULL);
	threads[POSTERS + 1] = fake_thread(peer, NULL);
	for (i = 0; i < POSTERS + 2; i++)
		CHECK(pthread_join(threads[i], NULL) == 0);
	CHECK(fake_dat[0].end->tx.posted == 0 && fake_dat[1].end->tx.posted == 0);
	CHECK(fake_dat[0].end->on && fake_dat[1].end->on);
	fake_dat_close();
}

static void *completion_waiter(void *argument)
{
	DAT_EVENT event;
	DAT_COUNT more;

	(void)argument;
	CHECK(dat_evd_wait((DAT_EVD_HANDLE)fake_dat[0].request, DAT_TIMEOUT_INFINITE, 1, &event,
	                   &more) == DAT_SUCCESS);
	expect_success(&event);
	return NULL;
}

/* A thread that waits asleep for a completion is woken by it. */
static void wakes(void)
{
	DAT_LMR_TRIPLET from;
	DAT_DTO_COOKIE cookie = {.as_64 = 0};
	pthread_t waiter;

	fake_dat_open(1);
	from = fake_dat_local(0, 0, 8);
	second_receives(0);
	CHECK(dat_ep_post_send((DAT_EP_HANDLE)fake_dat[0].ep, 1, &from, cookie,
	                       DAT_COMPLETION_DEFAULT_FLAG) == DAT_SUCCESS);
	waiter = fake_thread(completion_waiter, NULL);
	/* its sleep, and not the service thread's */
	while (!__atomic_load_n(&fake_dat[0].table->waits, __ATOMIC_RELAXED) ||
	       __atomic_load_n(&node_head(fake_node_link(0)->own_head)->armed, __ATOMIC_RELAXED) ==
	               NODE_AWAKE)
		sched_yield();
	second_rc_turn();
	CHECK(pthread_join(waiter, NULL) == 0);
	fake_dat_close();
}

void test_dat_threads(void)
{
	wakes();
	run(0);
	run(1);
}
