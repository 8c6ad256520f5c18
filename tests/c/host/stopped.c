/*
 * stopped.c - a task that is stopped (SIGSTOP) does not answer. The other tasks get
 * LAPI_ERR_TIMEOUT after TIMEOUT seconds, once, and not before, over shared memory as over UDP;
 * with MP_DEBUG_NOTIMEOUT none does, and nothing is lost.
 *
 * argv[1]: "timeout" or "patient", what task 0 must see. A child of task 0 stops task 1; task 0
 * lets it go on after its error handler got the timeout, or after PATIENT_S, which is more than
 * TIMEOUT.
 */
#define _GNU_SOURCE
#include "host.h"

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>

enum { TIMEOUT_S = 10, PATIENT_S = 13 };

static lapi_handle_t handle;
static int task = -1;
static int calls, wrong;

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void hear(lapi_handle_t *h, int *code, lapi_err_t *type, int *own, int *src)
{
	(void)h;
	wrong |= *code != LAPI_ERR_TIMEOUT || (task == 0 && *type != PUT_ERR) || *own != task ||
	         *src != 1 - task;
	if (wrong)
		fprintf(stderr, "task %d: error handler: code %d type %d task %d src %d\n", task,
		        *code, (int)*type, *own, *src);
	__atomic_add_fetch(&calls, 1, __ATOMIC_ACQ_REL);
}

/* Until the kernel shows the process as stopped. */
static void wait_until_stopped(pid_t pid)
{
	char path[64], state = '?';
	int i;
	snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
	for (i = 0; i < 60000 && state != 'T'; i++) {
		FILE *file = fopen(path, "r");
		if (!file || fscanf(file, "%*d (%*[^)]) %c", &state) != 1)
			state = '?';
		if (file)
			fclose(file);
		usleep(1000);
	}
	HOST_CHECK(state == 'T');
}

/* Stops the process; a child does it, in case a library thread of this one is what the other waits
 * for. */
static void stop(pid_t pid)
{
	pid_t child = fork();
	if (child == 0) {
		kill(pid, SIGSTOP);
		_exit(0);
	}
	HOST_CHECK(child > 0);
	wait_until_stopped(pid);
}

/* Sends to the stopped task until an error is reported or the put is through. */
static void send_to_stopped(int want_timeout)
{
	static int value = 7;
	static lapi_cntr_t done;
	static void *words[2];
	static int word;
	lapi_long_t pids[2];
	double start;
	int current = 0, stopped = 1;
	HOST_OK(LAPI_Address_init(handle, &word, words));
	HOST_OK(LAPI_Address_init64(handle, (lapi_long_t)getpid(), pids));
	HOST_OK(LAPI_Gfence(handle));
	/* computes; is stopped meanwhile; ends when task 0 says so, or does not answer any more */
	if (task == 1) {
		while (__atomic_load_n(&word, __ATOMIC_ACQUIRE) != 7 &&
		       !__atomic_load_n(&calls, __ATOMIC_ACQUIRE))
			HOST_OK(LAPI_Probe(handle));
		return;
	}
	stop((pid_t)pids[1]);
	start = now();
	HOST_OK(LAPI_Put(handle, 1, sizeof value, words[1], &value, NULL, NULL, &done));
	while (!__atomic_load_n(&calls, __ATOMIC_ACQUIRE) && current < 1) {
		HOST_OK(LAPI_Getcntr(handle, &done, &current));
		HOST_OK(LAPI_Probe(handle));
		usleep(1000);
		if (!want_timeout && stopped && now() - start >= PATIENT_S) {
			HOST_CHECK(current == 0);
			stopped = kill((pid_t)pids[1], SIGCONT);
		}
	}
	if (want_timeout) {
		HOST_CHECK(calls == 1);
		HOST_CHECK(now() - start >= TIMEOUT_S - 0.5);
		kill((pid_t)pids[1], SIGCONT);
	} else {
		HOST_CHECK(calls == 0);
		HOST_CHECK(!stopped);
	}
	HOST_CHECK(!wrong);
	while (wait(NULL) > 0 || errno == EINTR)
		;
}

int main(int argc, char **argv)
{
	int want_timeout = argc > 1 && strcmp(argv[1], "timeout") == 0;
	lapi_info_t info;
	bzero(&info, sizeof info);
	info.err_hndlr = hear;
	alarm(300);
	if (LAPI_Init(&handle, &info) != LAPI_SUCCESS)
		return 2;
	HOST_OK(LAPI_Qenv(handle, TASK_ID, &task));
	HOST_OK(LAPI_Senv(handle, TIMEOUT, TIMEOUT_S));
	send_to_stopped(want_timeout);
	if (want_timeout && task == 1)
		return 0; /* given up by the other: no orderly end */
	if (!want_timeout)
		HOST_OK(LAPI_Gfence(handle));
	HOST_CHECK(LAPI_Term(handle) == LAPI_SUCCESS);
	host_end_case(want_timeout ? "stopped_task_times_out" : "stopped_task_is_waited_for",
	              task != 0);
	return host_close("stopped", task != 0);
}
