/*
 * cancel.c - pthread_cancel of threads that are in LAPI. A thread that waits for a counter is
 * cancelled in its wait, and the context goes on working; inside handlers, and in collective calls,
 * a thread is cancelled when it has left LAPI.
 */
#define _GNU_SOURCE
#include "host.h"

#include <pthread.h>
#include <stdint.h>
#include <time.h>

enum { WAITING = 4, ROUNDS = 12, MESSAGES = 300 };

static lapi_handle_t handle;
static int task, tasks, next, handled;
static lapi_cntr_t never[WAITING], arrived;

static void moment(void)
{
	struct timespec some = {0, 2000000};
	nanosleep(&some, NULL);
}

static void *slow_handler(lapi_handle_t *h, void *uhdr, uint *uhdr_len, ulong *msg_len,
                          compl_hndlr_t **handler, void **info)
{
	struct timespec some = {0, 20000};
	(void)h, (void)uhdr, (void)uhdr_len, (void)msg_len;
	nanosleep(&some, NULL); /* a cancellation point */
	__atomic_add_fetch(&handled, 1, __ATOMIC_ACQ_REL);
	*handler = NULL;
	*info = NULL;
	return NULL;
}

static void *wait_for_ever(void *counter)
{
	LAPI_Waitcntr(handle, counter, 1, NULL);
	return NULL;
}

static void *nopoll_for_ever(void *counter)
{
	LAPI_Nopoll_wait(handle, counter, 1, NULL);
	return NULL;
}

static void join_cancelled(pthread_t thread)
{
	void *result = NULL;
	HOST_CHECK(pthread_join(thread, &result) == 0);
	HOST_CHECK(result == PTHREAD_CANCELED);
}

/* The first of the threads leads, the others follow; they are cancelled in another order each
 * time. */
static void waiting_threads(int polling)
{
	pthread_t threads[WAITING];
	int i, round;
	HOST_OK(LAPI_Senv(handle, INTERRUPT_SET, !polling));
	for (round = 0; round < ROUNDS; round++) {
		for (i = 0; i < WAITING; i++)
			HOST_CHECK(pthread_create(&threads[i], NULL,
			                          (round + i) % 3 ? wait_for_ever : nopoll_for_ever,
			                          &never[i]) == 0);
		moment();
		for (i = 0; i < WAITING; i++) {
			int which = (i * 3 + round) % WAITING;
			HOST_CHECK(pthread_cancel(threads[which]) == 0);
			join_cancelled(threads[which]);
			host_use(handle);
		}
	}
	for (i = 0; i < WAITING; i++)
		HOST_CHECK(never[i].cntr == 0);
	HOST_OK(LAPI_Gfence(handle));
	HOST_OK(LAPI_Senv(handle, INTERRUPT_SET, 1));
}

static lapi_thread_func_t functions;

static void give_back(void *levels)
{
	int i;
	for (i = 0; i < *(int *)levels; i++)
		HOST_CHECK(functions.mutex_unlock(handle) == 0);
}

static void *wait_with_lock(void *counter)
{
	static int levels = 2;
	int i;
	for (i = 0; i < levels; i++)
		HOST_CHECK(functions.mutex_lock(handle) == 0);
	pthread_cleanup_push(give_back, &levels);
	LAPI_Waitcntr(handle, counter, 1, NULL);
	pthread_cleanup_pop(1);
	return NULL;
}

/* The thread's cleanup handler has the program's levels of the lock, as with a mutex. */
static void with_lock_shared(void)
{
	pthread_t thread;
	lapi_util_t command;
	memset(&command, 0, sizeof command);
	command.Util_type = LAPI_GET_THREAD_FUNC;
	HOST_OK(LAPI_Util(handle, &command));
	functions = command.ThreadFunc;
	HOST_CHECK(pthread_create(&thread, NULL, wait_with_lock, &never[0]) == 0);
	moment();
	HOST_CHECK(pthread_cancel(thread) == 0);
	join_cancelled(thread);
	HOST_CHECK(functions.mutex_unlock(handle) != 0); /* this thread has none of it */
	host_use(handle);
}

static void *probe_for_ever(void *unused)
{
	for (;;) {
		LAPI_Probe(handle);
		pthread_testcancel();
	}
	return unused;
}

/* The handler has cancellation points, and the library below it. */
static void in_handlers(void)
{
	static void *handlers[128];
	pthread_t thread;
	int i, round, value = 0;
	HOST_OK(LAPI_Senv(handle, INTERRUPT_SET, 0));
	HOST_OK(LAPI_Setcntr(handle, &arrived, 0));
	HOST_OK(LAPI_Address_init(handle, (void *)(uintptr_t)slow_handler, handlers));
	for (round = 0; round < ROUNDS; round++) {
		HOST_CHECK(pthread_create(&thread, NULL, probe_for_ever, NULL) == 0);
		for (i = 0; i < MESSAGES / ROUNDS; i++)
			HOST_OK(LAPI_Amsend(handle, (uint)next, handlers[next], NULL, 0, NULL, 0,
			                    NULL, NULL, &arrived));
		moment();
		HOST_CHECK(pthread_cancel(thread) == 0);
		join_cancelled(thread);
		HOST_OK(LAPI_Waitcntr(handle, &arrived, MESSAGES / ROUNDS, &value));
		HOST_OK(LAPI_Gfence(handle));
	}
	HOST_CHECK(handled == MESSAGES);
	HOST_OK(LAPI_Senv(handle, INTERRUPT_SET, 1));
}

static void *fence_and_go_on(void *done)
{
	HOST_OK(LAPI_Gfence(handle));
	*(int *)done = 1;
	pthread_testcancel();
	return NULL;
}

static void in_collective_call(void)
{
	pthread_t thread;
	int done = 0;
	if (task == 0) {
		HOST_CHECK(pthread_create(&thread, NULL, fence_and_go_on, &done) == 0);
		moment();
		HOST_CHECK(pthread_cancel(thread) == 0);
		moment();
		HOST_OK(LAPI_Put(handle, 1, 0, NULL, NULL, NULL, NULL, NULL));
		HOST_OK(LAPI_Gfence(handle));
		join_cancelled(thread);
		HOST_CHECK(done);
	} else {
		moment();
		moment();
		moment();
		HOST_OK(LAPI_Gfence(handle));
		HOST_OK(LAPI_Gfence(handle));
	}
	host_use(handle);
}

int main(void)
{
	lapi_info_t info;
	int i;

	alarm(300);
	host_info(&info);
	info.lib_vers = LAST_LIB;
	if (LAPI_Init(&handle, &info) != LAPI_SUCCESS)
		return 2;
	HOST_OK(LAPI_Qenv(handle, TASK_ID, &task));
	HOST_OK(LAPI_Qenv(handle, NUM_TASKS, &tasks));
	next = (task + 1) % tasks;
	for (i = 0; i < WAITING; i++)
		HOST_OK(LAPI_Setcntr(handle, &never[i], 0));
	host_use(handle);
	waiting_threads(1);
	host_end_case("waiting_threads_polling", task != 0);
	waiting_threads(0);
	host_end_case("waiting_threads_interrupt", task != 0);
	with_lock_shared();
	host_end_case("with_the_lock_shared", task != 0);
	in_handlers();
	host_end_case("in_handlers_later", task != 0);
	in_collective_call();
	host_end_case("in_collective_calls_later", task != 0);
	HOST_OK(LAPI_Term(handle));
	return host_close("cancel", task != 0);
}
