/*
 * sigwait.c - a program blocks a signal in all its threads and takes it by sigwait, as POSIX wants
 * it. The library's threads, also those that were there before main, must not take it: its default
 * action would end the process.
 */
#define _GNU_SOURCE
#include "host.h"
#include "masks.h"

#include <pthread.h>
#include <signal.h>

enum { SIGNALS = 200, THREADS = 6, ROUNDS = 40 };

/* SIGCHLD, SIGURG and SIGPROF are those that Go's run-time opens in its threads by itself. */
static const int taken[] = {SIGUSR1, SIGTERM, SIGINT,  SIGHUP, SIGALRM,
                            SIGPIPE, SIGQUIT, SIGCHLD, SIGURG, SIGPROF};
enum { KINDS = sizeof taken / sizeof taken[0] };

static lapi_handle_t handle;
static int task, counts[64];

static void *take(void *set)
{
	int i, number;
	for (i = 0; i < SIGNALS; i++) {
		HOST_CHECK(sigwait(set, &number) == 0);
		if (number < 64)
			__atomic_add_fetch(&counts[number], 1, __ATOMIC_ACQ_REL);
	}
	return NULL;
}

static int count_of(int number)
{
	return __atomic_load_n(&counts[number], __ATOMIC_ACQUIRE);
}

/* Each is taken before the next comes: pending ones would count once. */
static void send_signals(sigset_t *set)
{
	pthread_t taker;
	int i;
	pthread_create(&taker, NULL, take, set);
	for (i = 0; i < SIGNALS; i++) {
		int number = taken[i % KINDS], before = count_of(number);
		kill(getpid(), number);
		while (count_of(number) == before)
			HOST_OK(LAPI_Probe(handle));
	}
	/* It opens them while it waits; afterwards it is not there when threads are looked at. */
	pthread_join(taker, NULL);
}

static void nobody_else_takes(void)
{
	int i, all;
	for (i = 0; i < KINDS; i++)
		HOST_CHECK(masks_open(taken[i], &all) == 0);
	HOST_CHECK(masks_open(SIGSEGV, &all) > 3); /* faults must reach their own thread */
}

/* Calls from many threads at once, so that Go's run-time wants more threads of its own. */
static void *calls(void *unused)
{
	int i, value;
	for (i = 0; i < ROUNDS; i++) {
		HOST_OK(LAPI_Qenv(handle, NUM_TASKS, &value));
		usleep(500);
	}
	return unused;
}

static void later_threads(void)
{
	pthread_t threads[THREADS];
	int i;
	for (i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, calls, NULL);
	for (i = 0; i < 20; i++)
		host_use(handle);
	for (i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	nobody_else_takes();
}

int main(void)
{
	lapi_info_t info;
	sigset_t set, mask;
	int i;

	/* Loading the library has left no trace in this thread. */
	pthread_sigmask(SIG_SETMASK, NULL, &mask);
	for (i = 0; i < KINDS; i++)
		HOST_CHECK(!sigismember(&mask, taken[i]));
	sigemptyset(&set);
	for (i = 0; i < KINDS; i++)
		sigaddset(&set, taken[i]);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	host_info(&info);
	if (LAPI_Init(&handle, &info) != LAPI_SUCCESS)
		return 2;
	HOST_OK(LAPI_Qenv(handle, TASK_ID, &task));
	nobody_else_takes();
	host_end_case("library_blocks_the_programs_signals", task != 0);
	send_signals(&set);
	HOST_OK(LAPI_Gfence(handle));
	host_end_case("sigwait_takes_each_signal", task != 0);
	later_threads();
	host_end_case("later_threads_block_them_too", task != 0);
	HOST_OK(LAPI_Term(handle));
	return host_close("sigwait", task != 0);
}
