/*
 * exits.c - a task that ends without LAPI_Term. With status 0 that is no failure of the job: the
 * other tasks get an error only if they wait for the task or send to it. With another status it has
 * died. argv[1] is the case:
 *
 *   quiet    task 1 sends something and returns from main; nobody waits for it
 *   awaited  task 1 exits with status 0 while task 0 waits for the completion of a message to it
 *   fenced   task 1 exits with status 0 while the others are in LAPI_Gfence
 *   status   task 1 exits with status 3, after a child that it had forked has exited with 0; run it
 * with --keep-going
 *
 * Three tasks, under lapirun, or, if there is no launcher, started by hand by this program itself.
 */
#define _GNU_SOURCE
#include "by_hand.h"

#include <signal.h>
#include <stdint.h>
#include <sys/wait.h>

enum { TASKS = 3, GOES = 1, HEARS = 0, GREETING = 1, NEVER = 2 };

static lapi_handle_t handle;
static int task = -1, greeted;
static int calls, heard_code, heard_type, heard_src;
static int word;
static lapi_cntr_t done, arrived;
static void *words[TASKS], *arrivals[TASKS];

static void hear(lapi_handle_t *h, int *code, lapi_err_t *type, int *own, int *src)
{
	(void)h, (void)own;
	heard_code = *code;
	heard_type = (int)*type;
	heard_src = *src;
	fprintf(stderr, "task %d: error handler: code %d type %d src %d\n", task, *code, (int)*type,
	        *src);
	__atomic_add_fetch(&calls, 1, __ATOMIC_ACQ_REL);
}

static int number_of_calls(void)
{
	return __atomic_load_n(&calls, __ATOMIC_ACQUIRE);
}

static void *greeting(lapi_handle_t *h, void *uhdr, uint *uhdr_len, ulong *msg_len,
                      compl_hndlr_t **handler, void **info)
{
	(void)h, (void)uhdr, (void)uhdr_len, (void)msg_len, (void)handler, (void)info;
	__atomic_store_n(&greeted, 1, __ATOMIC_RELEASE);
	return NULL;
}

/* The error handler reports the end of task GOES exactly once, with this type. */
static void check_heard(lapi_err_t type)
{
	while (!number_of_calls()) {
		LAPI_Probe(handle);
		usleep(1000);
	}
	HOST_CHECK(heard_code == LAPI_ERR_NO_CONNECTIVITY);
	HOST_CHECK(heard_src == GOES);
	HOST_CHECK(heard_type == (int)type);
	HOST_CHECK(number_of_calls() == 1);
}

/* The two remaining tasks still reach each other; neither reaches the third. */
static void check_the_rest(void)
{
	int other = 2 - task, code = LAPI_SUCCESS, i;

	for (i = 0; i < 120000 && code == LAPI_SUCCESS; i++) {
		if (i % 100 == 99) /* seldom: puts that find room are lost silently */
			code = LAPI_Put(handle, GOES, sizeof word, words[GOES], &word, NULL, NULL,
			                NULL);
		LAPI_Probe(handle);
		usleep(1000);
	}
	HOST_CHECK(code == LAPI_ERR_NO_CONNECTIVITY);
	HOST_CODE(LAPI_ERR_NO_CONNECTIVITY, LAPI_Gfence(handle));
	HOST_OK(LAPI_Put(handle, (uint)other, sizeof word, words[other], &word,
	                 (lapi_cntr_t *)arrivals[other], NULL, &done));
	HOST_OK(LAPI_Waitcntr(handle, &done, 1, NULL));
	/* neither task leaves before the other has its message */
	HOST_OK(LAPI_Waitcntr(handle, &arrived, 1, NULL));
	/* one fence returns the error for messages lost on the way to the third task */
	code = LAPI_Fence(handle);
	HOST_CHECK(code == LAPI_SUCCESS || code == LAPI_ERR_NO_CONNECTIVITY);
	HOST_OK(LAPI_Fence(handle));
}

static void quiet(void)
{
	if (task == GOES) {
		HOST_OK(LAPI_Amsend(handle, HEARS, (void *)(uintptr_t)GREETING, NULL, 0, NULL, 0,
		                    NULL, NULL, NULL));
		exit(0);
	}
	check_the_rest();
	HOST_CHECK(number_of_calls() == 0);
	/* the last message was still taken in */
	HOST_CHECK(task != HEARS || __atomic_load_n(&greeted, __ATOMIC_ACQUIRE));
}

static void awaited(void)
{
	lapi_cntr_t never;

	if (task == GOES) { /* in polling mode, without a call: it serves nobody */
		sleep(1);
		exit(0);
	}
	if (task == HEARS) {
		HOST_OK(LAPI_Setcntr(handle, &never, 0));
		HOST_OK(LAPI_Amsend(handle, GOES, (void *)(uintptr_t)NEVER, NULL, 0, NULL, 0, NULL,
		                    NULL, &never));
		check_heard(AM_ERR);
	}
	check_the_rest();
	HOST_CHECK(number_of_calls() == (task == HEARS));
}

static void fenced(void)
{
	if (task == GOES) {
		sleep(1);
		exit(0);
	}
	HOST_CODE(LAPI_ERR_NO_CONNECTIVITY, LAPI_Gfence(handle));
	check_heard(INT_ERR);
	check_the_rest();
}

static void status(void)
{
	int how = -1;
	pid_t child;

	if (task == GOES) {
		child = fork();
		if (child == 0)
			exit(0); /* through all exit handlers: not this task's end */
		HOST_CHECK(child > 0 && waitpid(child, &how, 0) == child && how == 0);
		exit(3);
	}
	check_heard(INT_ERR);
	check_the_rest();
}

static const struct how {
	const char *name, *title;
	void (*run)(void);
} hows[] = {
	{"quiet", "task_exits_and_nobody_waits", quiet},
	{"awaited", "task_exits_while_awaited", awaited},
	{"fenced", "task_exits_while_others_fence", fenced},
	{"status", "task_exits_with_a_bad_status", status},
};

static int be_task(const struct how *how)
{
	lapi_info_t info;

	bzero(&info, sizeof info);
	info.err_hndlr = hear;
	if (how->run == awaited || how->run == quiet)
		info.protocol = (lapi_dev_t)LAPI_INTERRUPT_OFF;
	alarm(300);
	HOST_OK(LAPI_Init(&handle, &info));
	HOST_OK(LAPI_Qenv(handle, TASK_ID, &task));
	HOST_OK(LAPI_Addr_set(handle, (void *)(uintptr_t)greeting, GREETING));
	HOST_OK(LAPI_Address_init(handle, &word, words));
	HOST_OK(LAPI_Address_init(handle, &arrived, arrivals));
	HOST_OK(LAPI_Gfence(handle));
	if (host_case_failures)
		return 2;
	how->run();
	HOST_OK(LAPI_Term(handle));
	host_end_case(how->title, task != 0);
	return host_close("exits", task != 0);
}

/* Without launcher: each task is this program in a process of its own. */
static int by_hand(const char *program, const char *how)
{
	int i, end, bad = 0;
	pid_t tasks[TASKS];

	for (i = 0; i < TASKS; i++) {
		tasks[i] = fork();
		if (tasks[i] != 0)
			continue;
		be_by_hand(i, TASKS, "only", ~0u);
		execl("/proc/self/exe", program, how, (char *)NULL);
		_exit(127);
	}
	for (i = 0; i < TASKS; i++) {
		if (tasks[i] < 0 || waitpid(tasks[i], &end, 0) != tasks[i] || !WIFEXITED(end))
			bad = 1;
		else if (WEXITSTATUS(end) != (i == GOES && strcmp(how, "status") == 0 ? 3 : 0))
			bad = 1;
	}
	return bad;
}

int main(int argc, char **argv)
{
	size_t i;

	for (i = 0; argc == 2 && i < sizeof hows / sizeof hows[0]; i++)
		if (strcmp(argv[1], hows[i].name) == 0)
			return getenv("MP_CHILD") ? be_task(&hows[i]) : by_hand(argv[0], argv[1]);
	fprintf(stderr, "usage: exits quiet|awaited|fenced|status\n");
	return 2;
}
