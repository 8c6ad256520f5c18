/*
 * stepped.c - tasks die by SIGKILL after a given number of instructions of a small send, from its
 * entry on. Task 0 and the last task exchange messages all the while; the others die one after the
 * other, each STRIDE instructions later than the previous one, in a message to task 0. That message
 * must have arrived completely or not at all, the error handler must be called once for each death,
 * and the two must go on.
 *
 * Usage: stepped SHARED-FILE WHAT FIRST STRIDE. WHAT: put, long (a put of several slots), am. A
 * victim's child steps it, through ptrace. Status 77: the system permits no ptrace.
 */
#define _GNU_SOURCE
#include "../host.h"
#include "tracer.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>

enum { MOST_TASKS = 128, LONG = 300, UHDR = 24, RING = 256 };

/* In the shared file. */
typedef struct shared {
	int turn;    /* the victim that is to die now */
	int refused; /* errno of ptrace */
	struct end {
		int seized;
		long steps;   /* made before the kill */
		int finished; /* the send was over by then */
	} end[MOST_TASKS];
} shared;

typedef enum what { PUT, LONG_PUT, AM } what;

static shared *common;
static lapi_handle_t handle;
static int task, tasks;
static what sends;

/* Task 0's receive buffers, one for each victim and for the partner. */
static unsigned char sink[MOST_TASKS][LONG];
static lapi_cntr_t arrived[MOST_TASKS], ping;
static int torn, handled[MOST_TASKS];
static int heard[MOST_TASKS], wrong_code;
static int last_batch, batches, filler; /* last_batch: 0: not known yet */

static void *sinks[MOST_TASKS], *counters[MOST_TASKS], *pings[MOST_TASKS], *handlers[MOST_TASKS],
	*lasts[MOST_TASKS], *filler_at[MOST_TASKS];

static void hear(lapi_handle_t *h, int *code, lapi_err_t *type, int *own, int *src)
{
	(void)h, (void)type;
	if (*code != LAPI_ERR_NO_CONNECTIVITY || *own != task || *src < 1 || *src >= tasks - 1) {
		fprintf(stderr, "task %d: error handler: code %d, task %d, src %d\n", task, *code,
		        *own, *src);
		wrong_code++;
		return;
	}
	heard[*src]++;
}

static unsigned char content(int victim, size_t i)
{
	return (unsigned char)(1 + ((size_t)victim * 31 + i * 7) % 255);
}

static size_t length(void)
{
	return sends == PUT ? 8 : LONG;
}

static void *take(lapi_handle_t *h, void *uhdr, uint *uhdr_len, ulong *msg_len,
                  compl_hndlr_t **completion, void **info)
{
	const unsigned char *bytes = uhdr;
	int victim = ((lapi_return_info_t *)(void *)msg_len)->src;
	size_t i;

	(void)h, (void)info;
	*completion = NULL;
	torn += *uhdr_len != UHDR || *msg_len != LONG;
	for (i = 0; i < UHDR; i++)
		torn += bytes[i] != content(victim, i + 1000);
	handled[victim]++;
	return sink[victim];
}

/* The victim's side. */

/* The child: waits for the breakpoint, makes limit steps, or fewer until the next one, and
 * kills. */
static void step(pid_t pid, struct end *end, long limit)
{
	int signal = 0, status;
	siginfo_t why;

	common->refused = seize(pid);
	if (common->refused)
		return;
	__atomic_store_n(&end->seized, 1, __ATOMIC_RELEASE);
	if (!resume_to_breakpoint(pid, &signal))
		return;
	while (end->steps < limit && !end->finished) {
		if (!resume(PTRACE_SINGLESTEP, pid, &signal, &why))
			break;
		end->steps++;
		end->finished = at_breakpoint(&signal, &why);
	}
	kill(pid, SIGKILL);
	waitpid(pid, &status, __WALL);
}

static void send_last(void)
{
	static unsigned char data[LONG], uhdr[UHDR];
	char *to = (char *)sinks[0] + (size_t)task * LONG;
	lapi_cntr_t *counter = (lapi_cntr_t *)counters[0] + task;
	size_t i;

	for (i = 0; i < sizeof data; i++)
		data[i] = content(task, i);
	for (i = 0; i < sizeof uhdr; i++)
		uhdr[i] = content(task, i + 1000);
	if (sends == AM) {
		breakpoint();
		LAPI_Amsend(handle, 0, handlers[0], uhdr, UHDR, data, length(), counter, NULL,
		            NULL);
	} else {
		breakpoint();
		LAPI_Put(handle, 0, length(), to, data, counter, NULL, NULL);
	}
	breakpoint();
}

/* Waits for its turn, sends fillers, so that the ring's end is at another place in each victim's
 * message, and dies in its last send. */
static void be_victim(long limit)
{
	struct end *end = &common->end[task];
	struct timespec rest = {0, 500000};
	int i, before = (RING - 6 + task % 7) % RING;
	lapi_cntr_t done;
	pid_t me = getpid(), child;

	HOST_OK(LAPI_Setcntr(handle, &done, 0));
	while (__atomic_load_n(&common->turn, __ATOMIC_ACQUIRE) != task) {
		HOST_OK(LAPI_Probe(handle));
		nanosleep(&rest, NULL);
	}
	for (i = 0; i < before; i++) {
		HOST_OK(LAPI_Put(handle, 0, sizeof filler, filler_at[0], &filler, NULL, NULL,
		                 &done));
		HOST_OK(LAPI_Waitcntr(handle, &done, 1, NULL));
	}
	child = fork();
	if (child == 0) {
		/* the child must not keep the descriptors by which the job knows that the task
		 * lives */
		close_range(3, ~0u, 0);
		step(me, end, limit);
		_exit(0);
	}
	prctl(PR_SET_PTRACER, child, 0, 0, 0);
	while (!__atomic_load_n(&end->seized, __ATOMIC_ACQUIRE) && !common->refused)
		nanosleep(&rest, NULL);
	if (!common->refused)
		send_last();
	else
		kill(me, SIGKILL);
	pause();
}

/* The others' side. */

/* 1: the victim's message came, 0: it did not; anything between is wrong. */
static int came(int victim)
{
	size_t i, same = 0, zero = 0;
	int count = -1;

	HOST_OK(LAPI_Getcntr(handle, &arrived[victim], &count));
	for (i = 0; i < length(); i++) {
		same += sink[victim][i] == content(victim, i);
		zero += sink[victim][i] == 0;
	}
	HOST_CHECK(count == 0 || count == 1);
	HOST_CHECK(count ? same == length() : zero == length());
	HOST_CHECK(sends != AM || handled[victim] == count);
	return count;
}

/* A batch of messages there and back. At times the partner sleeps meanwhile, so that this task
 * sleeps, too. */
static void exchange(int other)
{
	struct timespec rest = {0, 300000};
	int value = 0, n;

	batches++;
	for (n = 0; n < 16; n++) {
		HOST_OK(LAPI_Put(handle, (uint)other, sizeof value, filler_at[other], &value,
		                 (lapi_cntr_t *)pings[other], NULL, NULL));
		HOST_OK(LAPI_Waitcntr(handle, &ping, 1, NULL));
		if (task != 0 && n % 8 == 0)
			nanosleep(&rest, NULL);
	}
}

static long long milliseconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000LL + t.tv_nsec / 1000000;
}

static void survive(void)
{
	int victim, all = 0, finished = 0, partner = tasks - 1, last;
	long most = 0;

	for (victim = 1; victim < partner; victim++) {
		long long began = milliseconds();

		__atomic_store_n(&common->turn, victim, __ATOMIC_RELEASE);
		while (!heard[victim] && milliseconds() - began < 60000)
			exchange(partner);
		HOST_CHECK(heard[victim] == 1);
		came(victim);
		exchange(partner);
	}
	for (victim = 1; victim < partner; victim++) {
		HOST_CHECK(heard[victim] == 1);
		all += came(victim);
		finished += common->end[victim].finished;
		if (common->end[victim].steps > most)
			most = common->end[victim].steps;
	}
	HOST_CHECK(torn == 0);
	HOST_CHECK(wrong_code == 0);
	last = batches + 1;
	HOST_OK(LAPI_Put(handle, (uint)partner, sizeof last, lasts[partner], &last, NULL, NULL,
	                 NULL));
	exchange(partner);
	printf("survived: %d messages of %d came, %d sends were over, %ld instructions\n", all,
	       partner - 1, finished, most);
}

int main(int argc, char **argv)
{
	lapi_info_t info;
	int fd = argc == 5 ? open(argv[1], O_RDWR | O_CLOEXEC) : -1;

	if (fd < 0) {
		fprintf(stderr, "usage: stepped SHARED-FILE put|long|am FIRST STRIDE\n");
		return 2;
	}
	sends = strcmp(argv[2], "am") == 0 ? AM : strcmp(argv[2], "long") == 0 ? LONG_PUT : PUT;
	common = (shared *)mmap(NULL, sizeof *common, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	alarm(600);
	bzero(&info, sizeof info);
	info.err_hndlr = hear;
	if (common == MAP_FAILED || LAPI_Init(&handle, &info) != LAPI_SUCCESS)
		return 2;
	HOST_OK(LAPI_Qenv(handle, TASK_ID, &task));
	HOST_OK(LAPI_Qenv(handle, NUM_TASKS, &tasks));
	HOST_OK(LAPI_Senv(handle, INTERRUPT_SET, 0));
	HOST_OK(LAPI_Address_init(handle, sink, sinks));
	HOST_OK(LAPI_Address_init(handle, arrived, counters));
	HOST_OK(LAPI_Address_init(handle, &ping, pings));
	HOST_OK(LAPI_Address_init(handle, &last_batch, lasts));
	HOST_OK(LAPI_Address_init(handle, &filler, filler_at));
	HOST_OK(LAPI_Address_init(handle, (void *)(uintptr_t)take, handlers));
	if (task == 0)
		survive();
	else if (task == tasks - 1)
		do
			exchange(0);
		while (batches != *(volatile int *)&last_batch);
	else
		be_victim(atol(argv[3]) + (task - 1) * atol(argv[4]));
	HOST_OK(LAPI_Term(handle));
	if (common->refused)
		return 77;
	return host_case_failures != 0;
}
