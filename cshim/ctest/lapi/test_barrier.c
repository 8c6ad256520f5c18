/*
 * test_barrier.c - LAPI_Gfence through the node barrier, all tasks in one process: nobody leaves
 * before all have arrived, data written before the barrier is seen behind it (the thread sanitizer
 * knows), sleepers are woken, threads of a task take turns, and no failure hangs. Built without the
 * sleepers' safety net: a lost wake-up is a hang.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <string.h>
#include <time.h>

#include "ctest/fake_barrier.h"

enum {
	ROUNDS = 500,
	THREAD_ROUNDS = 200,
	PINNED_ROUNDS = 60
}; /* pinned tasks wait for whatever else runs there */

/* Where others use the processors a round takes many times as long: then fewer do. */
enum { LEAST_ROUNDS = 40, ENOUGH_S = 3 };

static lapi_handle_t handles[FAKE_BARRIER_TASKS];
static uint64_t steps; /* atomic: of which in_step consists; changed by task 0, before it arrives in
                          the last */
static int tasks;
static int sleepy; /* now and then a task comes late */

/* By generation, modulo 2: nobody writes what others may still read. */
static struct written {
	uint64_t value;
} written[2][FAKE_BARRIER_TASKS];

static unsigned next_random(unsigned *state)
{
	*state = *state * 1103515245u + 12345u;
	return *state >> 16;
}

/* However long a turn takes here: the others give up polling while a task does not come. */
static void until_one_sleeps(void)
{
	int ms;

	for (ms = 0; ms < 60000 && !__atomic_load_n(&fake_barrier_counts.arms, __ATOMIC_RELAXED);
	     ms++)
		fake_sleep_us(1000);
}

static void *task_main(void *argument)
{
	int me = (int)(intptr_t)argument, i;
	unsigned random = (unsigned)me + 1;
	time_t began = time(NULL);
	uint64_t round;

	if (sleepy && me == 0)
		until_one_sleeps();
	for (round = 1; round <= __atomic_load_n(&steps, __ATOMIC_SEQ_CST); round++) {
		if (me == 0 && round >= LEAST_ROUNDS && time(NULL) - began >= ENOUGH_S)
			__atomic_store_n(&steps, round, __ATOMIC_SEQ_CST);
		written[round % 2][me].value = round * 100 + (uint64_t)me;
		if (sleepy && next_random(&random) % 40 == 0)
			fake_sleep_us((long)(next_random(&random) % 400));
		CHECK(LAPI_Gfence(handles[me]) == LAPI_SUCCESS);
		for (i = 0; i < tasks; i++)
			CHECK(written[round % 2][i].value == round * 100 + (uint64_t)i);
	}
	return NULL;
}

static void start(int n, uint32_t rounds, uint32_t spin)
{
	lapi_info_t info;
	int i;

	fake_settings.spin_turns = spin;
	fake_settings.yield_turns = spin ? 20 : 2;
	fake_settings.polling = 1;
	tasks = n;
	memset(written, 0, sizeof(written));
	for (i = 0; i < n; i++) {
		memset(&info, 0, sizeof(info));
		handles[i] = fake_init(&info);
	}
	fake_barrier_attach(handles, n, rounds);
}

static void stop(void)
{
	int i;

	for (i = 0; i < tasks; i++)
		fake_barrier_detach(handles[i]);
	for (i = 0; i < tasks; i++)
		CHECK(LAPI_Term(handles[i]) == LAPI_SUCCESS);
	fake_settings.polling = 0;
	fake_settings.spin_turns = 200;
	fake_settings.yield_turns = 20;
}

static void run(void *(*body)(void *), int first, int n)
{
	pthread_t threads[FAKE_BARRIER_TASKS];
	int i;

	for (i = first; i < n; i++)
		threads[i] = fake_thread(body, (void *)(intptr_t)i);
	for (i = first; i < n; i++)
		CHECK(pthread_join(threads[i], NULL) == 0);
}

static void in_step(int n, uint32_t exchanges, uint32_t spin, int late)
{
	start(n, exchanges, spin);
	sleepy = late;
	steps = ROUNDS;
	run(task_main, 0, n);
	if (late)
		CHECK(fake_barrier_counts.arms > 0);
	CHECK(fake_barrier_counts.broken == 0 && fake_barrier_counts.refused == 0);
	stop();
}

static int is_away(int task)
{
	cshim_context *context = fake_context(handles[task]);
	int away;

	cshim_lock(&context->progress);
	away = (int)(context)->progress.not_polling;
	cshim_unlock(&context->progress);
	return away;
}

static void *one_gfence(void *argument)
{
	CHECK(LAPI_Gfence(handles[(intptr_t)argument]) == LAPI_SUCCESS);
	return NULL;
}

static uint32_t came_back(int task)
{
	int index = cshim_index_of(fake_context(handles[task]));

	return __atomic_load_n(&fake_counts.back[index], __ATOMIC_SEQ_CST);
}

/* LAPI_Gfence is polling, for the task, too, that comes last and finds that all are there. */
static void ends_being_away(uint32_t rounds, uint32_t spin)
{
	uint32_t before[2];
	pthread_t first;
	int ms;

	start(2, rounds, spin);
	for (ms = 0; ms < 60000 && !(is_away(0) && is_away(1)); ms++)
		fake_sleep_us(1000);
	before[0] = came_back(0);
	before[1] = came_back(1);
	first = fake_thread(one_gfence, (void *)1);
	until_one_sleeps();
	CHECK(LAPI_Gfence(handles[0]) == LAPI_SUCCESS);
	CHECK(pthread_join(first, NULL) == 0);
	/* A task that waits for long may be away again and come back more than once. */
	CHECK(came_back(0) > before[0] && came_back(1) > before[1]);
	stop();
}

/* Two threads of each task: whichever comes first in one may come second in another; the number of
 * calls is what counts. */
static void *two_threads(void *argument)
{
	int me = (int)(intptr_t)argument % 2, i;
	unsigned random = (unsigned)(intptr_t)argument;

	for (i = 0; i < THREAD_ROUNDS; i++) {
		if (next_random(&random) % 20 == 0)
			fake_sleep_us(200);
		CHECK(LAPI_Gfence(handles[me]) == LAPI_SUCCESS);
	}
	return NULL;
}

static void threads_take_turns(uint32_t rounds)
{
	int task;

	start(2, rounds, 50);
	run(two_threads, 0, 4);
	for (task = 0; task < 2; task++)
		CHECK(fake_barrier_words(task)->round[0].value == 2 * THREAD_ROUNDS);
	stop();
}

static int expected;

static void *fails(void *argument)
{
	lapi_handle_t handle = handles[(intptr_t)argument];

	CHECK(LAPI_Gfence(handle) == expected);
	/* A second call is left to core: the fake core answers success. The barrier is not used
	 * again. */
	CHECK(LAPI_Gfence(handle) == LAPI_SUCCESS);
	return NULL;
}

static void *waits(void *counter)
{
	CHECK(LAPI_Waitcntr(handles[1], counter, 1, NULL) == LAPI_SUCCESS);
	return NULL;
}

static int64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* The failure is no news for ever: a wait sleeps as before. */
static void sleeps_behind(void)
{
	lapi_cntr_t counter;
	pthread_t waiter;
	uint32_t before, sleeps;
	int64_t began;

	CHECK(LAPI_Setcntr(handles[1], &counter, 0) == LAPI_SUCCESS);
	before = __atomic_load_n(&fake_barrier_counts.arms, __ATOMIC_RELAXED);
	waiter = fake_thread(waits, &counter);
	fake_await(&fake_barrier_counts.arms, before + 1);
	began = now_ms();
	before = __atomic_load_n(&fake_barrier_counts.arms, __ATOMIC_RELAXED);
	fake_sleep_us(100000);
	sleeps = __atomic_load_n(&fake_barrier_counts.arms, __ATOMIC_RELAXED) - before;
	/* Each 10 ms, for there are several contexts: a tenth of this, however long the time was.
	 */
	CHECK(sleeps <= now_ms() - began);
	fake_count(fake_context(handles[1]), (int *)&counter);
	CHECK(pthread_join(waiter, NULL) == 0);
}

/* Task 0 does not come: another event ends the others' wait, asleep or not. */
static void nobody_hangs(uint32_t rounds, uint32_t spin, void (*happens)(void), int code)
{
	pthread_t threads[FAKE_BARRIER_TASKS];
	int i;

	start(4, rounds, spin);
	expected = code;
	for (i = 1; i < 4; i++)
		threads[i] = fake_thread(fails, (void *)(intptr_t)i);
	fake_sleep_us(20000);
	happens();
	for (i = 1; i < 4; i++)
		CHECK(pthread_join(threads[i], NULL) == 0);
	sleeps_behind();
	stop();
}

static void leaves(void)
{
	fake_barrier_leave(0, tasks);
}

static void purges(void)
{
	fake_barrier_refuse(0, tasks, LAPI_ERR_TGT_PURGED);
}

static void refuses_with_nonsense(void)
{
	fake_barrier_refuse(0, tasks, 0x7fffffff);
}

/* Nobody rings when nonsense is written: the tasks must be awake to see it, or be woken. */
static void writes_nonsense(void)
{
	int i;

	for (i = 0; i < NODE_BARRIER_ROUNDS; i++)
		__atomic_store_n(&fake_barrier_words(0)->round[i].value, 1ULL << 63,
		                 __ATOMIC_SEQ_CST);
	__atomic_store_n(&fake_barrier_words(0)->released.value, 12345, __ATOMIC_SEQ_CST);
	fake_barrier_refuse(0, tasks, 0);
}

/* A counter that cannot be. */
static void impossible_counter(void)
{
	start(2, 0, 200);
	fake_barrier_words(0)->arrivals.value = ~0ULL - 5;
	CHECK(LAPI_Gfence(handles[0]) == LAPI_ERR_NO_CONNECTIVITY);
	CHECK(LAPI_Gfence(handles[1]) == LAPI_SUCCESS); /* both have arrived */
	CHECK(fake_barrier_counts.broken == 2);
	stop();
}

/* A task that left after all had arrived has harmed nobody. */
static void late_look(uint32_t rounds)
{
	start(2, rounds, 0);
	__atomic_store_n(&fake_barrier_words(0)->round[0].value, 1, __ATOMIC_SEQ_CST);
	fake_barrier_leave(0, 2);
	fake_barrier_refuse(0, 2, LAPI_ERR_TGT_PURGED);
	CHECK(LAPI_Gfence(handles[1]) == LAPI_SUCCESS);
	stop();
}

static int last_arrivals; /* atomic */

/* Counts the generations in which the task found itself the last to arrive on its processor. */
static void *counts_last(void *argument)
{
	int me = (int)(intptr_t)argument, i;
	const node_link *paths = (const node_link *)(uintptr_t)fake_context(handles[me])->barrier;

	for (i = 0; i < PINNED_ROUNDS; i++) {
		CHECK(LAPI_Gfence(handles[me]) == LAPI_SUCCESS);
		__atomic_add_fetch(&last_arrivals, paths->barrier.last, __ATOMIC_RELAXED);
	}
	return NULL;
}

/* Five tasks of one processor: how many generations had somebody who found himself the last. */
static int looked_on(uint64_t hint)
{
	cpu_set_t before, one;
	int processor = sched_getcpu(), i;

	CPU_ZERO(&one);
	CPU_SET(processor, &one);
	CHECK(sched_getaffinity(0, sizeof(before), &before) == 0);
	start(5, 0, 0);
	for (i = 0; i < NODE_BARRIER_PLACES; i++)
		fake_barrier_words(0)->gathered[i].value = hint;
	last_arrivals = 0;
	CHECK(sched_setaffinity(0, sizeof(one), &one) == 0); /* the threads inherit it */
	run(counts_last, 0, 5);
	CHECK(sched_setaffinity(0, sizeof(before), &before) == 0);
	stop();
	return last_arrivals;
}

/*
 * Of the tasks of one processor the last to arrive looks on, and no other. A wrong earlier hint
 * does no harm. Once a generation, but where a task was interrupted while it counted itself: on a
 * machine that others use that may spoil a try, not each of ten.
 */
static void one_looks_on(uint64_t hint)
{
	int tries, found = 0;

	for (tries = 0; tries < 10 && !found; tries++) {
		int times = looked_on(hint);

		found = times > PINNED_ROUNDS / 2 && times < PINNED_ROUNDS * 3 / 2;
	}
	CHECK(found);
}

void test_barrier(void)
{
	static const uint32_t spins[] = {200, 0};
	size_t i;

	for (i = 0; i < 2; i++) {
		in_step(2, 1, spins[i], 0);
		in_step(3, 2, spins[i], 1);
		in_step(5, 3, spins[i], 1);
		in_step(2, 0, spins[i], 1);
		in_step(6, 0, spins[i], 1);
		nobody_hangs(2, spins[i], leaves, LAPI_ERR_NO_CONNECTIVITY);
		nobody_hangs(0, spins[i], leaves, LAPI_ERR_NO_CONNECTIVITY);
		nobody_hangs(2, spins[i], purges, LAPI_ERR_TGT_PURGED);
		nobody_hangs(0, spins[i], purges, LAPI_ERR_TGT_PURGED);
		nobody_hangs(2, spins[i], refuses_with_nonsense, LAPI_ERR_NO_CONNECTIVITY);
		nobody_hangs(2, spins[i], writes_nonsense, LAPI_ERR_NO_CONNECTIVITY);
		nobody_hangs(0, spins[i], writes_nonsense, LAPI_ERR_NO_CONNECTIVITY);
	}
	ends_being_away(1, 200);
	ends_being_away(0, 200);
	ends_being_away(0, 0);
	threads_take_turns(1);
	threads_take_turns(0);
	one_looks_on(0);
	one_looks_on(~(uint64_t)0);
	impossible_counter();
	late_look(1);
	late_look(0);
}
