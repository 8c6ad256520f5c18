/*
 * refused_later.c - a program that gives itself a filter of system calls, without membarrier, in
 * the middle of its work: LAPI_Init could use it, and the peers rely on that. argv[1]: the task
 * that does, or all. Two tasks under lapirun, which sleep while they wait.
 *
 * A wake-up that is lost shows as a hang. That a sleep is bounded then is tested in transport/shm,
 * the lock's side in cshim/ctest.
 */
#define _GNU_SOURCE
#include "host.h"
#include "refuse.h"

#include <pthread.h>
#include <sys/wait.h>
#include <time.h>

enum { ROUNDS = 200, FLOOD = 3000, BLOCK = 1024, THREADS = 3, TURNS = 300, HANG_SECONDS = 300 };

static lapi_handle_t handle;
static int task = -1;
static lapi_cntr_t arrived;
static unsigned char block[BLOCK];
static void *counters[2], *blocks[2];

static void rest(long us)
{
	struct timespec t = {0, us * 1000};

	nanosleep(&t, NULL);
}

/* Messages there and back; the sender rests first, so that the other task falls asleep. */
static void ping_pong(void)
{
	int i;

	for (i = 0; i < ROUNDS; i++) {
		if (i % 2 == task) {
			rest(i % 5 * 700);
			HOST_OK(LAPI_Put(handle, (uint)!task, 8, blocks[!task], block,
			                 counters[!task], NULL, NULL));
		} else {
			HOST_OK(LAPI_Waitcntr(handle, &arrived, 1, NULL));
		}
	}
	HOST_OK(LAPI_Gfence(handle));
}

/* More than the ring holds, to a task that comes late: the sender sleeps until there is room. */
static void flood(int from)
{
	int i;

	if (task == from) {
		for (i = 0; i < FLOOD; i++)
			HOST_OK(LAPI_Put(handle, (uint)!task, BLOCK, blocks[!task], block,
			                 counters[!task], NULL, NULL));
		HOST_OK(LAPI_Fence(handle));
	} else {
		for (i = 0; i < FLOOD; i += FLOOD / 10) {
			rest(5000);
			HOST_OK(LAPI_Waitcntr(handle, &arrived, FLOOD / 10, NULL));
		}
	}
	HOST_OK(LAPI_Gfence(handle));
}

static void *put_often(void *argument)
{
	lapi_cntr_t done;
	int i;

	(void)argument;
	memset(&done, 0, sizeof done);
	for (i = 0; i < TURNS; i++) {
		HOST_OK(LAPI_Put(handle, (uint)!task, 8, blocks[!task], block, counters[!task],
		                 NULL, &done));
		HOST_OK(LAPI_Waitcntr(handle, &done, 1, NULL));
		if (i % 16 == 0)
			rest(300);
	}
	return NULL;
}

/* Threads that contend for the lock and follow each other's waits. */
static void threads(void)
{
	pthread_t ids[THREADS];
	int i;

	for (i = 0; i < THREADS; i++)
		HOST_CHECK(pthread_create(&ids[i], NULL, put_often, NULL) == 0);
	for (i = 0; i < THREADS; i++)
		pthread_join(ids[i], NULL);
	HOST_OK(LAPI_Waitcntr(handle, &arrived, THREADS * TURNS, NULL));
	HOST_OK(LAPI_Gfence(handle));
}

/* Barriers whose last task sleeps on the way, by turns. */
static void barriers(void)
{
	int i;

	for (i = 0; i < ROUNDS; i++) {
		if (i % 2 == task)
			rest(i % 4 * 700);
		HOST_OK(LAPI_Gfence(handle));
	}
}

static void everything(const char *when)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} cases[] = {{"ping-pong", ping_pong}, {"threads", threads}, {"barriers", barriers}};
	char name[64];
	size_t i;

	host_use(handle);
	for (i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		cases[i].run();
		snprintf(name, sizeof name, "%s, %s", cases[i].name, when);
		host_end_case(name, task);
	}
	flood(0);
	flood(1);
	snprintf(name, sizeof name, "flood, %s", when);
	host_end_case(name, task);
}

/* Whether there are filters here, tried in a process of its own. */
static int can_refuse(void)
{
	int status = -1;
	pid_t pid = fork();

	if (pid == 0)
		_exit(refuse_membarrier() != 0);
	return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
}

int main(int argc, char **argv)
{
	const char *who = argc > 1 ? argv[1] : "all";
	lapi_info_t info;

	if (!can_refuse()) { /* in none of the tasks */
		printf("refused_later: 0 passed, 0 failed, 1 skipped\n");
		return 0;
	}
	alarm(HANG_SECONDS);
	host_info(&info);
	HOST_OK(LAPI_Init(&handle, &info));
	HOST_OK(LAPI_Qenv(handle, TASK_ID, &task));
	HOST_OK(LAPI_Address_init(handle, &arrived, counters));
	HOST_OK(LAPI_Address_init(handle, block, blocks));
	HOST_OK(LAPI_Setcntr(handle, &arrived, 0));
	everything("before");
	if (strcmp(who, "all") == 0 || atoi(who) == task)
		HOST_CHECK(refuse_membarrier() == 0);
	everything("after");
	HOST_OK(LAPI_Term(handle));
	host_end_case("LAPI_Term", task);
	return host_close("refused_later", task);
}
