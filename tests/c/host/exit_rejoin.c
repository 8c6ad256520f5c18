/*
 * exit_rejoin.c - three tasks are started by hand on one node. One is killed and started again
 * (guide, Chapter 19), and another returns from main without LAPI_Term at about that time. The
 * third resumes the killed task and works with it, whichever event comes first. The restarted task
 * and the exited task do not use each other. This program starts the tasks, which are itself with
 * the argument "task".
 */
#define _GNU_SOURCE
#include "by_hand.h"

enum { TASKS = 3, STAYS = 0, GOES = 1, COMES_BACK = 2, ROUNDS = 12, SIZE = 100000 };

/* In a file that all processes map. */
typedef struct board {
	uint64_t sinks[TASKS], counters[TASKS];
	int ready, goes, finished;
} board;

static board *common;
static lapi_handle_t handle;
static int task;
static unsigned char source[SIZE], sink[SIZE];
static lapi_cntr_t completed, arrived;

/* Every task may be notified of the killed task's death; none of the exited task's end, because no
 * task waits for it. */
static void hear(lapi_handle_t *h, int *code, lapi_err_t *type, int *own, int *src)
{
	(void)h, (void)type, (void)own;
	if (*code != LAPI_ERR_NO_CONNECTIVITY || *src != COMES_BACK) {
		fprintf(stderr, "task %d: error handler: code %d, task %d\n", task, *code, *src);
		host_case_failures++;
	}
}

static int put_to(int other)
{
	return LAPI_Put(handle, (uint)other, SIZE, (void *)(uintptr_t)common->sinks[other], source,
	                (lapi_cntr_t *)(uintptr_t)common->counters[other], NULL, &completed);
}

static void enter(void)
{
	common->sinks[task] = (uintptr_t)sink;
	common->counters[task] = (uintptr_t)&arrived;
	add(&common->ready);
}

/* The staying task and the restarted one work with each other. */
static void work_with(int other)
{
	HOST_OK(put_to(other));
	HOST_OK(LAPI_Waitcntr(handle, &completed, 1, NULL));
	HOST_OK(LAPI_Waitcntr(handle, &arrived, 1, NULL));
	HOST_CHECK(memcmp(sink, source, SIZE) == 0);
	add(&common->finished);
	UNTIL(handle, value_of(&common->finished) >= 2);
}

static void stay(void)
{
	int code;

	UNTIL(handle, (code = LAPI_Put(handle, COMES_BACK, 0, NULL, NULL, NULL, NULL, NULL)) !=
	                      LAPI_SUCCESS);
	HOST_CHECK(code == LAPI_ERR_NO_CONNECTIVITY);
	HOST_OK(LAPI_Purge_totask(handle, COMES_BACK));
	HOST_OK(LAPI_Resume_totask(handle, COMES_BACK));
	UNTIL(handle, value_of(&common->ready) >= TASKS + 1);
	work_with(COMES_BACK);
}

/* argv: task FILE AGAIN */
static int be_task(char **argv)
{
	lapi_info_t info;
	int i, again = argv[3][0] == '1';

	common = map_board(argv[2], sizeof *common);
	if (!common)
		return 2;
	task = atoi(getenv("MP_CHILD"));
	for (i = 0; i < SIZE; i++)
		source[i] = (unsigned char)(i * 7 + 3);
	bzero(&info, sizeof info);
	info.err_hndlr = hear;
	alarm(300);
	HOST_OK(LAPI_Init(&handle, &info));
	if (host_case_failures)
		return 1;
	HOST_OK(LAPI_Setcntr(handle, &completed, 0));
	HOST_OK(LAPI_Setcntr(handle, &arrived, 0));
	enter();
	if (again) {
		work_with(STAYS);
	} else {
		UNTIL(handle, value_of(&common->ready) >= TASKS);
		if (task == STAYS)
			stay();
		if (task == COMES_BACK)
			for (;;)
				pause(); /* to be killed */
		if (task == GOES) {
			/* in interrupt mode others are served meanwhile */
			while (!value_of(&common->goes))
				usleep(100);
			return host_case_failures != 0;
		}
	}
	HOST_OK(LAPI_Term(handle));
	return host_case_failures != 0;
}

/* ---- the starter ---- */

static pid_t start(int id, const char *file, const char *again)
{
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (pid != 0)
		return pid;
	be_by_hand(id, TASKS, "only", ~0u);
	execl("/proc/self/exe", "exit_rejoin", "task", file, again, (char *)NULL);
	_exit(127);
}

/* early: microseconds from the kill to the exit or, if negative, from the exit to the kill. */
static void job(const char *file, int early)
{
	pid_t pids[TASKS];
	int i;

	common = new_board(file, sizeof *common);
	if (!common) {
		HOST_CHECK(!"room for the test");
		return;
	}
	for (i = 0; i < TASKS; i++)
		pids[i] = start(i, file, "0");
	await(&common->ready, TASKS);
	if (early < 0) {
		add(&common->goes);
		usleep((useconds_t)-early);
	}
	kill(pids[COMES_BACK], SIGKILL);
	HOST_CHECK(waitpid(pids[COMES_BACK], NULL, 0) == pids[COMES_BACK]);
	pids[COMES_BACK] = start(COMES_BACK, file, "1");
	if (early >= 0) {
		usleep((useconds_t)early);
		add(&common->goes);
	}
	for (i = 0; i < TASKS; i++)
		ends_well("exit_rejoin", i, pids[i]);
	munmap(common, sizeof *common);
}

int main(int argc, char **argv)
{
	char file[] = HOST_FOLDER "/exit_rejoin-XXXXXX";
	int fd, round;

	if (argc == 4 && strcmp(argv[1], "task") == 0)
		return be_task(argv);
	fd = mkstemp(file);
	if (fd < 0) {
		perror(file);
		return 2;
	}
	close(fd);
	for (round = 0; round < ROUNDS; round++)
		job(file, round * 1500);
	host_end_case("task_exits_while_another_comes_back", 0);
	for (round = 1; round < ROUNDS; round++)
		job(file, -round * round * 100);
	host_end_case("task_exits_before_another_comes_back", 0);
	unlink(file);
	return host_close("exit_rejoin", 0);
}
