/*
 * test_progress.c - a progress block whose owner is no LAPI context: a queue of numbers behind an
 * eventfd, and threads that wait until a number of them have come. It sees nothing of the library
 * but the headers of cshim/progress.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "progress/wait.h"

#define CHECK(condition)                                                                        \
	do {                                                                                    \
		if (!(condition)) {                                                             \
			fprintf(stderr, "%s:%d: failed: %s\n", __FILE__, __LINE__, #condition); \
			abort();                                                                \
		}                                                                               \
	} while (0)

enum { THREADS = 4, ROUNDS = 300, HANDLE = 16 };

static cshim_progress block;
static uint32_t sent;              /* atomic: by other threads, without the lock */
static uint32_t armed;             /* atomic */
static uint64_t arrived;           /* under the lock */
static uint32_t begun;             /* atomic: handler threads */
static uint32_t polls_told, ended; /* atomic */

static uint32_t call(cshim_progress *progress, uint64_t ticket)
{
	uint32_t news = __atomic_exchange_n(&sent, 0, __ATOMIC_SEQ_CST);

	CHECK(cshim_lock_owned(progress) && ticket == 0);
	if (news == 0)
		return 0;
	arrived += news;
	cshim_event(progress);
	return CSHIM_PROGRESS_MADE;
}

static int arm(cshim_progress *progress, int64_t *timeout_ns)
{
	CHECK(cshim_lock_owned(progress));
	*timeout_ns = -1;
	__atomic_store_n(&armed, 1, __ATOMIC_SEQ_CST);
	return __atomic_load_n(&sent, __ATOMIC_SEQ_CST) != 0;
}

static void disarm(cshim_progress *progress)
{
	uint64_t rings;

	CHECK(cshim_lock_owned(progress));
	__atomic_store_n(&armed, 0, __ATOMIC_SEQ_CST);
	if (read(progress->descriptors[1], &rings, sizeof(rings)) < 0)
		return;
}

static void polling(cshim_progress *progress, int polls)
{
	CHECK(cshim_lock_owned(progress));
	__atomic_store_n(&polls_told, (uint32_t)polls, __ATOMIC_SEQ_CST);
}

static void errors(cshim_progress *progress, int polls)
{
	(void)progress, (void)polls;
	CHECK(!"this owner has no errors");
}

static void trace(cshim_progress *progress, const char *what, int32_t code)
{
	(void)what, (void)code;
	CHECK(cshim_lock_owned(progress));
}

static void handlers(cshim_progress *progress, uint32_t handle)
{
	CHECK(__atomic_load_n(&begun, __ATOMIC_SEQ_CST) > 0);
	while (cshim_alive(progress, handle))
		usleep(100);
	__atomic_add_fetch(&ended, 1, __ATOMIC_SEQ_CST);
}

static void wake_handlers(cshim_progress *progress)
{
	(void)progress;
}

static const cshim_owner owner = {"test", call,  arm,      disarm,        polling,
                                  errors, trace, handlers, wake_handlers, NULL};

static void send_one(void)
{
	uint64_t one = 1;

	__atomic_add_fetch(&sent, 1, __ATOMIC_SEQ_CST);
	if (__atomic_exchange_n(&armed, 0, __ATOMIC_SEQ_CST))
		CHECK(write(block.descriptors[1], &one, sizeof(one)) == sizeof(one));
}

static int have_come(cshim_progress *progress, const cshim_goal *goal)
{
	CHECK(cshim_lock_owned(progress));
	return arrived >= goal->number;
}

static const cshim_goal_kind arrivals = {.over = have_come};
static const cshim_patience patient = {.looks = 20, .looks_per_call = 2}, sleeps = {.sleeps = 1};

static int await(uint64_t number, const cshim_patience *patience, int64_t until_ns)
{
	const cshim_goal goal = {
		.kind = &arrivals, .patience = patience, .number = number, .until_ns = until_ns};
	int how;

	cshim_lock(&block);
	how = cshim_wait_for(&block, &goal);
	cshim_notify(&block);
	cshim_unlock(&block);
	return how;
}

static int64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void open_block(uint32_t spins)
{
	int i;

	cshim_progress_prepare();
	if (!block.owner.at)
		cshim_progress_add(&block, &owner);
	block.state = CSHIM_INITIALIZING;
	cshim_progress_clear(&block);
	block.handle += HANDLE;
	block.spin_calls = spins;
	block.yields = spins / 10;
	block.interrupts = 0;
	for (i = 0; i < 2; i++)
		CHECK((block.descriptors[i] = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) >= 0);
	block.num_descriptors = 2;
	arrived = 0;
	begun = ended = 0;
	__atomic_store_n(&block.state, CSHIM_ACTIVE, __ATOMIC_RELEASE);
}

static void close_block(void)
{
	cshim_lock(&block);
	cshim_progress_close(&block);
	cshim_threads_stop(&block);
	close(block.descriptors[0]);
	close(block.descriptors[1]);
	__atomic_store_n(&block.state, CSHIM_FREE, __ATOMIC_RELEASE);
}

static void *wait_for_all(void *argument)
{
	uint64_t i;

	for (i = 1; i <= ROUNDS; i++)
		CHECK(await(i, argument, 0) == CSHIM_WAIT_OVER);
	return NULL;
}

/* Every thread sees every arrival: spinning, asleep, leading and following. */
static void test_arrivals(uint32_t spins, const cshim_patience *patience)
{
	pthread_t threads[THREADS];
	int i;

	open_block(spins);
	for (i = 0; i < THREADS; i++)
		CHECK(pthread_create(&threads[i], NULL, wait_for_all,
		                     (void *)(uintptr_t)patience) == 0);
	for (i = 0; i < ROUNDS; i++) {
		if (i % 3 == 0)
			usleep(100);
		send_one();
	}
	for (i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	CHECK(arrived == ROUNDS && block.followers == 0 && block.polling == 0 && !block.leader.at &&
	      !block.waits.at);
	close_block();
}

/*
 * A wait ends at its time if nothing came; what is there already is found, however late it is.
 */
static void test_until(void)
{
	int64_t until = now_ns() + 5000000;

	open_block(50);
	CHECK(await(1, &patient, until) == CSHIM_WAIT_LATE && now_ns() >= until);
	CHECK(await(1, &sleeps, now_ns() + 5000000) == CSHIM_WAIT_LATE);
	send_one();
	CHECK(await(1, &sleeps, 1) == CSHIM_WAIT_OVER);
	close_block();
}

static void *wait_in_vain(void *argument)
{
	(void)argument;
	CHECK(await(1, &sleeps, 0) == CSHIM_WAIT_ENDED);
	return NULL;
}

static void begin_handler(void *first, void *second)
{
	CHECK(first == &block && second == &begun);
	__atomic_add_fetch(&begun, 1, __ATOMIC_SEQ_CST);
}

/* The end of the generation ends all waits and threads. */
static void test_end(void)
{
	const cshim_threads_plan plan = {
		.handlers = 2, .begin = begin_handler, .first = &block, .second = &begun};
	pthread_t threads[2];
	int i;

	open_block(50);
	CHECK(cshim_threads_start(&block, &plan) == 0);
	for (i = 0; i < 2; i++)
		CHECK(pthread_create(&threads[i], NULL, wait_in_vain, NULL) == 0);
	while (__atomic_load_n(&block.followers, __ATOMIC_SEQ_CST) == 0)
		usleep(100);
	close_block();
	for (i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	CHECK(ended == 2 && begun == 3); /* the service thread too */
}

/* Nobody polls for a while, then somebody does: the owner is notified of both. */
static void test_polling(void)
{
	const cshim_threads_plan plan = {.handlers = 0};

	open_block(50);
	__atomic_store_n(&polls_told, 1, __ATOMIC_SEQ_CST);
	CHECK(cshim_threads_start(&block, &plan) == 0);
	while (__atomic_load_n(&polls_told, __ATOMIC_SEQ_CST))
		usleep(100);
	send_one();
	CHECK(await(1, &patient, 0) == CSHIM_WAIT_OVER);
	CHECK(__atomic_load_n(&polls_told, __ATOMIC_SEQ_CST) == 1);
	close_block();
}

void test_progress(void);
void test_progress(void)
{
	test_arrivals(200, &patient);
	test_arrivals(0, &patient);
	test_arrivals(50, &sleeps);
	test_until();
	test_end();
	test_polling();
}
