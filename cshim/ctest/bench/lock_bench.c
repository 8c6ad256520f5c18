/*
 * lock_bench.c - what the context lock costs, ns: `make lock-bench`, or lock_bench case [us].
 *
 *   pair           one thread locks and unlocks
 *   alternate      two threads lock and unlock in turn, handing the turn over by a word of their
 * own; ns for each pair contend        two threads lock and unlock as fast as they can; ns for each
 * pair of the two together occasional us  one thread locks and unlocks, another does so every us
 * microseconds: the first one's pair, and how long the other's lock takes
 *
 * One line a run; the figures of one run are noisy, so lock_bench is run several times, in turn
 * with the program that it is compared with.
 */
#define _GNU_SOURCE
#include <string.h>
#include <time.h>

#include "ctest/fake.h"

enum {
	PAIRS = 20000000,
	ALTERNATIONS = 300000,
	CONTENDED_PAIRS = 2000000,
	OCCASIONAL_NS = 500000000
};

static cshim_progress own_block __attribute__((aligned(128))), *const block = &own_block;
static uint32_t turn; /* atomic: whose it is */
static uint32_t over; /* atomic */
static long pause_us;
static double waited_ns; /* by the other thread; read after its end */
static long waits;

static double now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static void pairs(long n)
{
	while (n-- > 0) {
		cshim_lock(block);
		cshim_unlock(block);
	}
}

static double pair(void)
{
	double begin;

	pairs(PAIRS / 10);
	begin = now_ns();
	pairs(PAIRS);
	return (now_ns() - begin) / PAIRS;
}

static void *take_turns(void *argument)
{
	uint32_t self = argument != NULL;
	int i;

	for (i = 0; i < ALTERNATIONS; i++) {
		while (__atomic_load_n(&turn, __ATOMIC_ACQUIRE) != self)
			cshim_pause();
		cshim_lock(block);
		cshim_unlock(block);
		__atomic_store_n(&turn, !self, __ATOMIC_RELEASE);
	}
	return NULL;
}

static double alternate(void)
{
	double begin = now_ns();
	pthread_t other = fake_thread(take_turns, &turn);

	take_turns(NULL);
	pthread_join(other, NULL);
	return (now_ns() - begin) / (2.0 * ALTERNATIONS);
}

static void *contend_main(void *argument)
{
	(void)argument;
	pairs(CONTENDED_PAIRS);
	return NULL;
}

static double contend(void)
{
	double begin = now_ns();
	pthread_t other = fake_thread(contend_main, NULL);

	pairs(CONTENDED_PAIRS);
	pthread_join(other, NULL);
	return (now_ns() - begin) / (2.0 * CONTENDED_PAIRS);
}

static void *come_by(void *argument)
{
	(void)argument;
	while (!__atomic_load_n(&over, __ATOMIC_RELAXED)) {
		double begin;

		fake_sleep_us(pause_us);
		begin = now_ns();
		pairs(1);
		waited_ns += now_ns() - begin;
		waits++;
	}
	return NULL;
}

static double occasional(void)
{
	pthread_t other = fake_thread(come_by, NULL);
	double begin = now_ns(), end = begin + OCCASIONAL_NS, now;
	long n = 0;

	do {
		pairs(1000);
		n += 1000;
		now = now_ns();
	} while (now < end);
	__atomic_store_n(&over, 1, __ATOMIC_RELAXED);
	pthread_join(other, NULL);
	return (now - begin) / (double)n;
}

int main(int argc, char **argv)
{
	static const cshim_owner nobody;
	const char *name = argc > 1 ? argv[1] : "pair";

	cshim_progress_prepare();
	cshim_progress_add(block, &nobody);
	if (strcmp(name, "pair") == 0) {
		printf("pair %.2f\n", pair());
	} else if (strcmp(name, "alternate") == 0) {
		printf("alternate %.1f\n", alternate());
	} else if (strcmp(name, "contend") == 0) {
		printf("contend %.1f\n", contend());
	} else if (strcmp(name, "occasional") == 0 && argc > 2 && (pause_us = atol(argv[2])) > 0) {
		double ns = occasional();

		printf("occasional %ld us: pair %.2f, the other's lock %.0f\n", pause_us, ns,
		       waits ? waited_ns / (double)waits : 0);
	} else {
		fprintf(stderr, "usage: lock_bench pair | alternate | contend | occasional us\n");
		return 2;
	}
	return 0;
}
