/*
 * Latency.c - what sharing LAPI's lock changes (guide, Chapter 12): two tasks send an empty active
 * message to and fro, and the even one takes the time for the way there. Rounds with the lock held
 * by the program from the first message to the last alternate with rounds without. In each round
 * the program counts its messages, once in a variable that LAPI's own lock protects.
 *
 * usage: Latency [messages each way, default 2000] [rounds of each kind, default 3]
 */
#include <time.h>
#include "sample.h"

enum { PING = 1 }; /* index of the header handler */

static lapi_handle_t hndl;
static lapi_thread_func_t lock; /* the functions that work on LAPI's lock */
static int have_lock;           /* the library has them */
static int task, buddy;
static long handled; /* written by the header handler, which always has the lock */

/* Consumes the message. LAPI holds its lock around this call, so the count needs no other
 * protection. */
static void *ping(lapi_handle_t *h, void *uhdr, uint *uhdr_len, ulong *msg_len,
                  compl_hndlr_t **completion, void **user_info)
{
	lapi_return_info_t *info = (lapi_return_info_t *)(void *)msg_len;

	(void)h, (void)uhdr, (void)uhdr_len;
	handled++;
	*completion = NULL;
	*user_info = NULL;
	info->ctl_flags = LAPI_BURY_MSG;
	return NULL;
}

static double microseconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

static void send_one(void)
{
	CALL(LAPI_Amsend(hndl, (uint)buddy, (void *)PING, NULL, 0, NULL, 0, NULL, NULL, NULL));
}

/* One turn of the dispatcher at a time: each is a call, and each call has to do with the lock. */
static void receive_one(void)
{
	lapi_msg_info_t info;

	do
		CALL(LAPI_Msgpoll(hndl, 1, &info));
	while (!(info.status & LAPI_RECV_COMPLETE));
}

/* Microseconds for one way. */
static double measure(long messages, int share)
{
	double begin, end;
	long i;

	CALL(LAPI_Gfence(hndl));
	if (share)
		EXPECT(lock.mutex_lock(hndl) == 0);
	begin = microseconds();
	for (i = 0; i < messages; i++) {
		if (task % 2 == 0)
			send_one();
		receive_one();
		if (task % 2 != 0)
			send_one();
	}
	end = microseconds();
	if (share)
		EXPECT(lock.mutex_unlock(hndl) == 0);
	CALL(LAPI_Gfence(hndl));
	return (end - begin) / (double)messages / 2;
}

/* A library without the function would say so; then the program does without, as the guide
 * recommends. */
static void ask_for_lock(void)
{
	lock.Util_type = LAPI_GET_THREAD_FUNC;
	have_lock = LAPI_Util(hndl, (lapi_util_t *)(void *)&lock) == LAPI_SUCCESS;
	if (!have_lock)
		sample_say("this library does not share its lock");
}

static void check_owner(void)
{
	pthread_t owner;

	EXPECT(lock.mutex_lock(hndl) == 0);
	EXPECT(lock.mutex_getowner(hndl, &owner) == 0 && pthread_equal(owner, pthread_self()));
	EXPECT(lock.mutex_unlock(hndl) == 0);
}

int main(int argc, char **argv)
{
	long messages = argc > 1 ? atol(argv[1]) : 2000;
	int rounds = argc > 2 ? atoi(argv[2]) : 3, tasks, i;
	double without, with;
	lapi_info_t info;

	memset(&info, 0, sizeof info);
	info.lib_vers = LAST_LIB;
	CALL(LAPI_Init(&hndl, &info));
	CALL(LAPI_Qenv(hndl, TASK_ID, &task));
	CALL(LAPI_Qenv(hndl, NUM_TASKS, &tasks));
	sample_begin(task);
	buddy = task ^ 1;
	CALL(LAPI_Senv(hndl, INTERRUPT_SET, 0)); /* the tasks poll */
	CALL(LAPI_Senv(hndl, ERROR_CHK, 0));
	CALL(LAPI_Addr_set(hndl, (void *)ping, PING));
	ask_for_lock();
	CALL(LAPI_Gfence(hndl));
	for (i = 0; i < rounds && buddy < tasks && have_lock; i++) {
		without = measure(messages, 0);
		with = measure(messages, 1);
		if (task % 2 == 0)
			sample_say("one way: %.2f us without the shared lock, %.2f us with it",
			           without, with);
	}
	EXPECT(buddy >= tasks || !have_lock || handled == 2 * messages * rounds);
	if (have_lock)
		check_owner();
	CALL(LAPI_Gfence(hndl));
	CALL(LAPI_Term(hndl)); /* not with the lock held */
	return sample_end();
}
