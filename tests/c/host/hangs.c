/*
 * hangs.c - jobs that do not go on, one for each kind, for run-hangs: `hangs KIND`. It never ends by
 * itself.
 */
#include "host.h"

#include <signal.h>
#include <stdint.h>
#include <unistd.h>

static lapi_handle_t h;
static int task;
static lapi_cntr_t counter;

static void compute(void)
{
	volatile unsigned long n = 0;

	for (;;)
		n++;
}

static void *never_returns(lapi_handle_t *hndl, void *uhdr, uint *uhdr_len, ulong *msg_len,
                           compl_hndlr_t **completion, void **info)
{
	(void)hndl, (void)uhdr, (void)uhdr_len, (void)msg_len, (void)completion, (void)info;
	compute();
	return NULL;
}

static void *takes_all(lapi_handle_t *hndl, void *uhdr, uint *uhdr_len, ulong *msg_len,
                       compl_hndlr_t **completion, void **info)
{
	static char buffer[4096];

	(void)hndl, (void)uhdr, (void)uhdr_len, (void)msg_len, (void)info;
	*completion = NULL;
	return buffer;
}

static void wait_for_counter(void)
{
	HOST_OK(LAPI_Waitcntr(h, &counter, 1, NULL));
}

/* The others are in LAPI_Gfence. */
static void gfence(void)
{
	if (task == 0)
		wait_for_counter();
}

static void counter_alone(void)
{
	wait_for_counter();
}

static void stopped(void)
{
	if (task == 0)
		raise(SIGSTOP);
}

static void computes(void)
{
	if (task == 0)
		compute();
}

static void handler(void)
{
	if (task == 1) {
		HOST_OK(LAPI_Amsend(h, 0, (void *)1, NULL, 0, NULL, 0, NULL, NULL, &counter));
		wait_for_counter();
	}
}

static void locked(void)
{
	lapi_thread_func_t lock = {.Util_type = LAPI_GET_THREAD_FUNC};

	if (task != 0)
		return;
	HOST_OK(LAPI_Util(h, (lapi_util_t *)&lock));
	HOST_OK(lock.mutex_lock(h));
	compute();
}

/* Task 0 sends more than there is room for; task 1 does not poll. */
static void room(void)
{
	static char data[1024];
	int i;

	if (task == 1) {
		HOST_OK(LAPI_Senv(h, INTERRUPT_SET, 0));
		compute();
	}
	for (i = 0; i < 100000 && task == 0; i++)
		HOST_OK(LAPI_Amsend(h, 1, (void *)2, NULL, 0, data, sizeof data, NULL, NULL, NULL));
}

/* Task 1 sends to task 0 after task 0 has stopped, too. */
static void lost(void)
{
	int i;

	if (task == 0)
		raise(SIGSTOP);
	for (i = 0; i < 30; i++) {
		HOST_OK(LAPI_Amsend(h, 0, (void *)2, NULL, 0, NULL, 0, NULL, NULL, NULL));
		usleep(100000);
	}
	HOST_OK(LAPI_Fence(h));
}

static const struct {
	const char *kind;
	void (*run)(void);
} kinds[] = {
	{"gfence", gfence},     {"counter", counter_alone}, {"stopped", stopped},
	{"computes", computes}, {"handler", handler},       {"locked", locked},
	{"room", room},         {"lost", lost},
};

int main(int argc, char **argv)
{
	lapi_info_t info;
	size_t i;

	if (argc != 2)
		return 2;
	/* not even in LAPI_Init */
	if (strcmp(argv[1], "init") == 0 && strcmp(getenv("MP_CHILD"), "1") == 0)
		pause();
	host_info(&info);
	HOST_OK(LAPI_Init(&h, &info));
	HOST_OK(LAPI_Qenv(h, TASK_ID, &task));
	HOST_OK(LAPI_Setcntr(h, &counter, 0));
	HOST_OK(LAPI_Addr_set(h, (void *)(uintptr_t)never_returns, 1));
	HOST_OK(LAPI_Addr_set(h, (void *)(uintptr_t)takes_all, 2));
	HOST_OK(LAPI_Gfence(h));
	for (i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
		if (strcmp(argv[1], kinds[i].kind) == 0)
			kinds[i].run();
	HOST_OK(LAPI_Gfence(h));
	pause();
	return 1;
}
