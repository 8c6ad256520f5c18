/*
 * halted.c - task 1 is stopped after every few instructions of a send to task 0, which sleeps;
 * while it is stopped, task 2 sends to task 0 and must get its answer. Then task 1 goes on, and its
 * message must arrive.
 *
 * Usage: halted SHARED-FILE FIRST STRIDE, with 3 tasks: stopped after FIRST instructions, then
 * STRIDE more each time, until the send is over. A child of task 1 stops it, through ptrace. Status
 * 77: the system permits no ptrace.
 */
#define _GNU_SOURCE
#include "../host.h"
#include "tracer.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>

enum { SLEEPER, HALTED, OTHER, TASKS };
enum { PATIENCE_MS = 60000, NAP_US = 300 };

/* In the shared file. Rounds are counted from 1. */
typedef struct shared {
	int sleeper; /* process of task 0 */
	int refused; /* errno of ptrace */
	int seized;
	int halted;   /* the round in which task 1 is stopped now */
	int released; /* the round in which it may go on */
	int over;     /* the last round: its send had ended before it was stopped */
	int failed;   /* nobody waits any more */
	long steps;
} shared;

static shared *common;
static lapi_handle_t handle;
static int task;

static int word, value, sink;
static lapi_cntr_t asked, answered, came;
static void *words[TASKS], *sinks[TASKS], *askeds[TASKS], *answereds[TASKS], *cames[TASKS];

static int at(const int *place)
{
	return __atomic_load_n(place, __ATOMIC_ACQUIRE);
}

static void set(int *place, int to)
{
	__atomic_store_n(place, to, __ATOMIC_RELEASE);
}

static long long milliseconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000LL + t.tv_nsec / 1000000;
}

/* Waits until round is reached, or a check has failed. */
static void await(const int *place, int round)
{
	while (at(place) < round && !at(&common->failed) && !at(&common->over))
		usleep(NAP_US);
}

/* The system's letter for the state of task 0's main thread. */
static char state_of_sleeper(void)
{
	char path[64], state = '?';
	FILE *file;

	snprintf(path, sizeof path, "/proc/%d/stat", at(&common->sleeper));
	file = fopen(path, "r");
	if (!file)
		return '?';
	if (fscanf(file, "%*d (%*[^)]) %c", &state) != 1)
		state = '?';
	fclose(file);
	return state;
}

/* 1 if the task sleeps for so long that it does not merely wait for the lock. */
static void await_sleep(void)
{
	int in_a_row = 0;
	long long began = milliseconds();

	while (in_a_row < 3 && milliseconds() - began < PATIENCE_MS) {
		in_a_row = state_of_sleeper() == 'S' ? in_a_row + 1 : 0;
		usleep(NAP_US);
	}
}

/* Task 1's child: one round. 0: the task has ended, or its send was over. */
static int halt(pid_t pid, int round, long limit)
{
	int signal = 0, finished = 0;
	long steps;
	siginfo_t why;

	if (!resume_to_breakpoint(pid, &signal))
		return 0;
	await_sleep();
	for (steps = 0; steps < limit && !finished; steps++) {
		if (!resume(PTRACE_SINGLESTEP, pid, &signal, &why))
			return 0;
		finished = at_breakpoint(&signal, &why);
	}
	common->steps = steps;
	if (finished) {
		set(&common->over, round);
		return 0;
	}
	set(&common->halted, round);
	await(&common->released, round);
	return resume_to_breakpoint(pid, &signal);
}

static void be_tracer(pid_t pid, long first, long stride)
{
	int round, signal = 0;

	close_range(3, ~0u, 0); /* what tells the job that the task lives is not for the child */
	alarm(600);
	common->refused = seize(pid);
	set(&common->seized, 1);
	if (common->refused)
		return;
	for (round = 1; halt(pid, round, first + (round - 1) * stride) && !at(&common->failed);
	     round++)
		;
	set(&common->over, round);
	/* Traces until the task ends: a trap of the last step may be under way, and would kill an
	 * untraced task. */
	while (resume_to_breakpoint(pid, &signal))
		;
}

static void be_halted(long first, long stride)
{
	pid_t me = getpid(), child = fork();

	if (child == 0) {
		be_tracer(me, first, stride);
		_exit(0);
	}
	prctl(PR_SET_PTRACER, child, 0, 0, 0);
	while (!at(&common->seized))
		usleep(NAP_US);
	while (!common->refused && !at(&common->over) && !at(&common->failed)) {
		breakpoint();
		LAPI_Put(handle, SLEEPER, sizeof value, sinks[SLEEPER], &value, cames[SLEEPER],
		         NULL, NULL);
		breakpoint();
	}
}

/* Each round's message comes from task 2; the last says that it was. */
static void be_sleeper(void)
{
	int rounds = 0, sent = 0;

	do {
		HOST_OK(LAPI_Waitcntr(handle, &asked, 1, NULL));
		rounds++;
		HOST_OK(LAPI_Put(handle, OTHER, sizeof word, words[OTHER], &word,
		                 (lapi_cntr_t *)answereds[OTHER], NULL, NULL));
	} while (!*(volatile int *)&word);
	HOST_OK(LAPI_Gfence(handle));
	HOST_OK(LAPI_Getcntr(handle, &came, &sent));
	HOST_CHECK(sent >= rounds - 1);
}

static void ask(int last)
{
	HOST_OK(LAPI_Put(handle, SLEEPER, sizeof last, words[SLEEPER], &last,
	                 (lapi_cntr_t *)askeds[SLEEPER], NULL, NULL));
}

/* 1: the sleeper has learned of the death. */
static int hears(void)
{
	long long began = milliseconds();
	int count = 0, unused;

	ask(0);
	while (count == 0 && milliseconds() - began < PATIENCE_MS) {
		HOST_OK(LAPI_Probe(handle));
		HOST_OK(LAPI_Getcntr(handle, &answered, &count));
	}
	if (count)
		HOST_OK(LAPI_Waitcntr(handle, &answered, 1, &unused));
	return count != 0;
}

static void be_other(void)
{
	int round;

	for (round = 1;; round++) {
		await(&common->halted, round);
		if (common->refused || at(&common->over))
			break;
		if (!hears()) {
			fprintf(stderr,
			        "task 0 sleeps though task 2 has sent: task 1 was stopped after %ld instructions of a send\n",
			        common->steps);
			host_case_failures++;
			set(&common->failed, 1);
			break;
		}
		set(&common->released, round);
	}
	HOST_CHECK(common->refused || common->failed || round > 20);
	ask(1);
	HOST_OK(LAPI_Gfence(handle));
	printf("%s: stopped at %d places of a send of %ld instructions\n",
	       host_case_failures ? "FAIL" : "halted", round - 1, common->steps);
}

int main(int argc, char **argv)
{
	lapi_info_t info;
	int fd = argc == 4 ? open(argv[1], O_RDWR | O_CLOEXEC) : -1;

	if (fd < 0) {
		fprintf(stderr, "usage: halted SHARED-FILE FIRST STRIDE\n");
		return 2;
	}
	common = (shared *)mmap(NULL, sizeof *common, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	alarm(600);
	host_info(&info);
	if (common == MAP_FAILED || LAPI_Init(&handle, &info) != LAPI_SUCCESS)
		return 2;
	HOST_OK(LAPI_Qenv(handle, TASK_ID, &task));
	HOST_OK(LAPI_Senv(handle, INTERRUPT_SET, 0));
	if (task == SLEEPER)
		set(&common->sleeper, getpid());
	HOST_OK(LAPI_Address_init(handle, &word, words));
	HOST_OK(LAPI_Address_init(handle, &sink, sinks));
	HOST_OK(LAPI_Address_init(handle, &asked, askeds));
	HOST_OK(LAPI_Address_init(handle, &answered, answereds));
	HOST_OK(LAPI_Address_init(handle, &came, cames));
	if (task == SLEEPER) {
		be_sleeper();
	} else if (task == HALTED) {
		be_halted(atol(argv[2]), atol(argv[3]));
		HOST_OK(LAPI_Gfence(handle));
	} else {
		be_other();
	}
	HOST_OK(LAPI_Term(handle));
	return common->refused ? 77 : host_case_failures != 0;
}
