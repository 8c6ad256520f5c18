/*
 * deserted.c - tasks wait in LAPI_Gfence for a task that never comes. argv[1] says what it does:
 *
 *   leave   task 0 calls LAPI_Term: the others' calls end with LAPI_ERR_NO_CONNECTIVITY,
 *           and later ones fail at once
 *   die     task 0 is killed: likewise, and the error handlers are called; every other task
 *           prints a closing line (run-kill)
 *   purge   task 0 purges task 1: the others' calls, also task 1's, end with
 *           LAPI_ERR_TGT_PURGED, and later ones fail at once
 *
 * In a first job the tasks spin; in a second job they wait long enough to sleep.
 */
#include "host.h"

#include <signal.h>
#include <time.h>

static int purging, dying, task, tasks;
static int heard;
static lapi_handle_t handle;

static void hear(lapi_handle_t *h, int *code, lapi_err_t *type, int *own, int *src)
{
	(void)h, (void)type;
	HOST_CHECK(*code == LAPI_ERR_NO_CONNECTIVITY && *src == 0 && *own == task && !purging);
	__atomic_add_fetch(&heard, 1, __ATOMIC_ACQ_REL);
}

static void rest_ms(int ms)
{
	struct timespec t = {ms / 1000, ms % 1000 * 1000000L};
	nanosleep(&t, NULL);
}

static void wait_in_vain(void)
{
	int want = purging ? LAPI_ERR_TGT_PURGED : LAPI_ERR_NO_CONNECTIVITY;
	void *table[128];
	HOST_CODE(want, LAPI_Gfence(handle));
	HOST_CODE(want, LAPI_Gfence(handle));
	HOST_CODE(want, LAPI_Address_init(handle, &task, table));
}

static void one_job(int late_ms)
{
	lapi_info_t info;
	memset(&info, 0, sizeof info);
	info.err_hndlr = hear;
	HOST_OK(LAPI_Init(&handle, &info));
	HOST_OK(LAPI_Qenv(handle, TASK_ID, &task));
	HOST_OK(LAPI_Qenv(handle, NUM_TASKS, &tasks));
	HOST_OK(LAPI_Gfence(handle));
	HOST_OK(LAPI_Gfence(handle));
	if (task == 0) {
		rest_ms(late_ms);
		if (dying)
			raise(SIGKILL);
		if (purging) {
			HOST_OK(LAPI_Purge_totask(handle, 1));
			HOST_CODE(LAPI_ERR_TGT_PURGED, LAPI_Gfence(handle));
		}
	} else {
		wait_in_vain();
	}
	/* the call may end first, if a peer has learned of the death first */
	while (dying && __atomic_load_n(&heard, __ATOMIC_ACQUIRE) == 0)
		HOST_OK(LAPI_Probe(handle));
	HOST_OK(LAPI_Term(handle));
	HOST_CHECK(!dying || task == 0 || heard == 1);
	host_end_case(late_ms ? "while they sleep" : "while they come", task != 0);
}

int main(int argc, char **argv)
{
	alarm(300);
	purging = argc > 1 && strcmp(argv[1], "purge") == 0;
	dying = argc > 1 && strcmp(argv[1], "die") == 0;
	if (!dying)
		one_job(0);
	one_job(300);
	return host_close("deserted", task != 0 && !dying);
}
