/*
 * flood.c - task 0 sends a million short messages to task 1, which is stopped (SIGSTOP): its calls
 * wait for room, so that queued messages take no more memory than LAPI_SEND_QUEUE allows. A thread
 * that sees it wait resumes task 1; then everything arrives. argv[1]: put or am.
 */
#define _GNU_SOURCE
#include "host.h"

#include <pthread.h>
#include <stdint.h>
#include <signal.h>
#include <sys/resource.h>

enum { SENDS = 1000000, ROOM_KB = 24 << 10, STALL_MS = 500 };

static lapi_handle_t handle;
static int task;
static long sent;
static int64_t sum;
static long long box;
static pid_t other;

static void *add(lapi_handle_t *h, void *uhdr, uint *uhdr_len, ulong *msg_len,
                 compl_hndlr_t **completion, void **info)
{
	lapi_return_info_t *more = (lapi_return_info_t *)(void *)msg_len;
	(void)h, (void)uhdr_len, (void)info;
	sum += *(long *)uhdr;
	more->ctl_flags = LAPI_BURY_MSG;
	*completion = NULL;
	return NULL;
}

/* Resumes the other task once no message was sent for a while, or all were. */
static void *watch(void *waited_at)
{
	long before, now = -1;
	do {
		before = now;
		usleep(STALL_MS * 1000);
		now = __atomic_load_n(&sent, __ATOMIC_ACQUIRE);
	} while (now != before);
	*(long *)waited_at = now;
	kill(other, SIGCONT);
	return NULL;
}

static long most_kb(void)
{
	struct rusage usage;
	getrusage(RUSAGE_SELF, &usage);
	return usage.ru_maxrss;
}

static void flood(int put, void *to)
{
	long i, waited_at = -1, before = most_kb();
	pthread_t watcher;

	kill(other, SIGSTOP);
	HOST_CHECK(pthread_create(&watcher, NULL, watch, &waited_at) == 0);
	for (i = 1; i <= SENDS; i++) {
		long long value = i;
		if (put)
			HOST_OK(LAPI_Put(handle, 1, sizeof value, to, &value, NULL, NULL, NULL));
		else
			HOST_OK(LAPI_Amsend(handle, 1, (void *)1, &i, sizeof i, NULL, 0, NULL, NULL,
			                    NULL));
		__atomic_store_n(&sent, i, __ATOMIC_RELEASE);
	}
	pthread_join(watcher, NULL);
	HOST_CHECK(waited_at < SENDS);
	HOST_CHECK(most_kb() - before < ROOM_KB);
	if (host_case_failures)
		fprintf(stderr, "waited after %ld sends, %ld KiB more\n", waited_at,
		        most_kb() - before);
}

int main(int argc, char **argv)
{
	int put = argc < 2 || strcmp(argv[1], "put") == 0;
	lapi_long_t pids[2];
	lapi_info_t info;
	void *boxes[2];

	host_info(&info);
	alarm(300);
	HOST_OK(LAPI_Init(&handle, &info));
	HOST_OK(LAPI_Qenv(handle, TASK_ID, &task));
	HOST_OK(LAPI_Addr_set(handle, (void *)(uintptr_t)add, 1));
	HOST_OK(LAPI_Address_init(handle, &box, boxes));
	HOST_OK(LAPI_Address_init64(handle, (lapi_long_t)getpid(), pids));
	other = (pid_t)pids[1];
	HOST_OK(LAPI_Gfence(handle));
	if (task == 0)
		flood(put, boxes[1]);
	HOST_OK(LAPI_Gfence(handle));
	if (task == 1)
		HOST_CHECK(put ? box == SENDS : sum == (int64_t)SENDS * (SENDS + 1) / 2);
	HOST_OK(LAPI_Term(handle));
	host_end_case("a_stopped_task_costs_bounded_memory", task != 0);
	return host_close("flood", task != 0);
}
