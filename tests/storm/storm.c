/*
 * storm.c - a task of the kill storm.
 *
 * usage: storm BOARD LOG SEED TASKS LIMIT
 *
 * BOARD is the file that all tasks map, LOG.N is the log of task N. A task that is to end early
 * writes that there first; the last line of a surviving task is "survived". LIMIT: seconds that a
 * call, or the end of an operation, may take; against hangs only. LAPI_Init may take longer by its
 * wait for tasks that do not come.
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "storm.h"

storm_task storm;

/* The plan of this run, made from its seed. */
static struct plan {
	uint64_t seed;
	int doomed[STORM_TASKS]; /* 0, or the letter of the way in which the task ends */
	int early[STORM_TASKS];  /* it may end before, or in, LAPI_Init */
	unsigned moment[STORM_TASKS]; /* us from the start until then */
	int rounds, polls;
} plan;

static FILE *log_file;
static double limit;
static int leave_soon; /* of the moment's thread: the main thread is to leave by LAPI_Term */
static pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER;
static struct { const char *call; int about; double since, limit; } inside;

double storm_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void note(const char *what, const char *format, va_list arguments)
{
	char text[400];

	vsnprintf(text, sizeof text, format, arguments);
	pthread_mutex_lock(&log_lock);
	fprintf(log_file, "%s%s\n", what, text);
	fflush(log_file);
	pthread_mutex_unlock(&log_lock);
}

__attribute__((format(printf, 1, 2))) static void say(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	note("", format, arguments);
	va_end(arguments);
}

void storm_bad(const char *format, ...)
{
	va_list arguments;

	if (storm.board && storm_is_over(storm.id))
		return; /* what an ending task sees is its own affair */
	va_start(arguments, format);
	note("bad: ", format, arguments);
	va_end(arguments);
}

unsigned storm_random(uint64_t *state, unsigned below)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return (unsigned)((*state * 0x2545F4914F6CDD1Du >> 32) % below);
}

static uint64_t stream(uint64_t seed, unsigned which)
{
	uint64_t state = (seed + 1) * 0x9E3779B97F4A7C15u ^ (which + 1) * 0xBF58476D1CE4E5B9u;
	int i;

	state |= !state;
	for (i = 0; i < 8; i++)
		storm_random(&state, 2);
	return state;
}

int storm_is_doomed(int task)
{
	return plan.doomed[task] != 0;
}

int storm_is_over(int task)
{
	return __atomic_load_n(&storm.board->over[task], __ATOMIC_ACQUIRE);
}

void storm_enter(const char *call, int about)
{
	inside.about = about;
	inside.limit = limit + (storm.lapi_is_up ? 0 : STORM_MEETING);
	inside.since = storm_now();
	__atomic_store_n(&inside.call, call, __ATOMIC_RELEASE);
}

void storm_leave(void)
{
	__atomic_store_n(&inside.call, NULL, __ATOMIC_RELEASE);
}

/* At least one task stays. */
static void make_plan(uint64_t seed, int tasks)
{
	static const char ways[] = "TTTTtEEe_KKKASx";
	uint64_t state = stream(seed, 0);
	unsigned span = 1u << (10 + storm_random(&state, 9)); /* 1 to 262 ms */
	int i, leave = (int)storm_random(&state, (unsigned)tasks);

	plan.seed = seed;
	for (i = 0; i < tasks; i++) {
		plan.moment[i] = storm_random(&state, span);
		plan.early[i] = storm_random(&state, 12) == 0;
		plan.doomed[i] = ways[storm_random(&state, sizeof ways - 1)];
		if (plan.doomed[i] == 'x' && getenv("PMI_RANK"))
			plan.doomed[i] = 'K'; /* with 'x' the library has the launcher end the job */
		if (i == leave || storm_random(&state, 3) == 0)
			plan.doomed[i] = 0;
	}
	plan.rounds = 2 + (int)storm_random(&state, 60);
	plan.polls = storm_random(&state, 2) != 0;
}

static void mark_over(void)
{
	say("ends by %c", plan.doomed[storm.id]);
	__atomic_store_n(&storm.board->over[storm.id], 1, __ATOMIC_RELEASE);
}

static void end_now(int way)
{
	static volatile int *volatile nowhere;

	switch (way) {
	case 'E':
		exit(0);
	case '_':
		_exit(0);
	case 'x':
		exit(3);
	case 'A':
		abort();
	case 'S':
		signal(SIGSEGV, SIG_DFL);
		*nowhere = 1;
		/* fallthrough */
	default:
		kill(getpid(), SIGKILL);
	}
}

/* Ends this task at its moment, whatever call the main thread is in. */
static void *at_moment(void *unused)
{
	int way = plan.doomed[storm.id];

	(void)unused;
	usleep(plan.moment[storm.id]);
	if (way == 'T' || way == 'e') { /* between two calls */
		__atomic_store_n(&leave_soon, 1, __ATOMIC_RELEASE);
		return NULL;
	}
	mark_over();
	if (way == 't') {
		LAPI_Term(storm.handle);
		exit(0);
	}
	end_now(way);
	return NULL;
}

/* Ends this task, which is stuck and has logged that. */
static void give_up(void)
{
	operations_complain();
	if (getenv("STORM_WAITS"))
		pause(); /* for a debugger */
	__atomic_store_n(&storm.board->over[storm.id], 1, __ATOMIC_RELEASE);
	_exit(97);
}

/* Ends the task if a call takes too long. */
__attribute__((noreturn)) static void *watch(void *unused)
{
	(void)unused;
	for (;;) {
		const char *call = __atomic_load_n(&inside.call, __ATOMIC_ACQUIRE);

		if (call && storm_now() - inside.since > inside.limit) {
			storm_bad("%s (%d) has not returned in %.0f s", call, inside.about,
			          inside.limit);
			give_up();
		}
		usleep(200000);
	}
}

static void heard(lapi_handle_t *handle, int *code, lapi_err_t *type, int *own, int *other)
{
	(void)handle;
	(void)own;
	say("task %d: error %d, kind %d", *other, *code, (int)*type);
	if (*other < 0 || *other >= storm.tasks || *other == storm.id) {
		storm_bad("error %d about task %d", *code, *other);
		return;
	}
	if (*code != LAPI_ERR_NO_CONNECTIVITY && *code != LAPI_ERR_TIMEOUT)
		storm_bad("error %d about task %d", *code, *other);
	if (!storm_is_over(*other))
		storm_bad("error %d about task %d, which has not ended", *code, *other);
	storm.told_at[*other] = storm_now();
	if (__atomic_add_fetch(&storm.told[*other], 1, __ATOMIC_ACQ_REL) > 1)
		storm_bad("a second error about task %d: %d", *other, *code);
}

static int is_time_to_leave(void)
{
	return __atomic_load_n(&leave_soon, __ATOMIC_ACQUIRE);
}

/* The end of a task that ends between two calls. */
static void leave(void)
{
	mark_over();
	if (plan.doomed[storm.id] == 'T') {
		storm.lapi_is_up = 0;
		storm_enter("LAPI_Term", storm.id);
		LAPI_Term(storm.handle);
		storm_leave();
	}
	exit(0);
}

static void poll(void)
{
	storm_enter("LAPI_Probe", 0);
	LAPI_Probe(storm.handle);
	storm_leave();
	if (is_time_to_leave())
		leave();
}

/* Makes a fence or collective, and checks its result: 0, or, if a task has ended,
 * LAPI_ERR_NO_CONNECTIVITY. */
static int fence(int which)
{
	static const char *const names[] = {"LAPI_Fence", "LAPI_Gfence", "LAPI_Address_init"};
	void *table[STORM_TASKS];
	int number = storm.fences, code, i;
	double began = storm_now();

	storm_enter(names[which], 0);
	code = which == 0   ? LAPI_Fence(storm.handle)
	       : which == 1 ? LAPI_Gfence(storm.handle)
	                    : LAPI_Address_init(storm.handle, storm.area, table);
	storm_leave();
	if (which < 2) {
		operations_fenced(number, code, began, storm_now());
		storm.fences++;
	}
	for (i = 0; i < storm.tasks && !storm_is_over(i); i++)
		;
	if (code != LAPI_SUCCESS && (code != LAPI_ERR_NO_CONNECTIVITY || i == storm.tasks))
		storm_bad("%s returned %d; %s", names[which], code,
		          i == storm.tasks ? "no task has ended" : "a task has ended");
	return code;
}

/* The collectives are the same in all tasks: surviving tasks make each of them, until one has
 * failed. */
static void rounds(void)
{
	uint64_t common = stream(plan.seed, 1);
	int together = 1, round, n;

	for (round = 0; round < plan.rounds; round++) {
		unsigned what = storm_random(&common, 8);

		for (n = (int)storm_random(&storm.random, 24); n > 0; n--) {
			operation_begin();
			if (storm_random(&storm.random, 4) == 0)
				operations_look();
			if (storm_random(&storm.random, 8) == 0)
				operation_wait();
			if (storm_random(&storm.random, 4) == 0)
				poll();
			else if (is_time_to_leave())
				leave();
		}
		if (what == 0)
			fence(0);
		else if (what < 4 && together)
			together = fence(what == 1 ? 2 : 1) == LAPI_SUCCESS;
	}
}

/* 1 if the flag of each task is set, or the task is over. */
static int all(const int *flags)
{
	int i;

	for (i = 0; i < storm.tasks; i++)
		if (!__atomic_load_n(&flags[i], __ATOMIC_ACQUIRE) && !storm_is_over(i))
			return 0;
	return 1;
}

/* Waits until all surviving tasks are as far as this task. */
static void meet(int *flags)
{
	__atomic_store_n(&flags[storm.id], 1, __ATOMIC_RELEASE);
	while (!all(flags)) {
		poll();
		usleep(100);
	}
}

/* Waits until all operations have ended. */
static void settle(void)
{
	double since = storm_now();

	while (operations_look() > 0) {
		poll();
		if (storm_now() - since > limit)
			give_up();
	}
	meet(storm.board->done);
}

static int mine(void)
{
	static const char *const names[] = {"MP_CHILD", "PMI_RANK", "PMIX_RANK",
	                                    "OMPI_COMM_WORLD_RANK"};
	size_t i;

	for (i = 0; i < sizeof names / sizeof names[0]; i++)
		if (getenv(names[i]))
			return atoi(getenv(names[i]));
	exit(2);
}

static void begin(void)
{
	lapi_info_t info;
	pthread_t thread;
	int code, i, anybody = 0;

	pthread_create(&thread, NULL, watch, NULL);
	if (plan.early[storm.id] && plan.doomed[storm.id] && plan.doomed[storm.id] != 't')
		pthread_create(&thread, NULL, at_moment, NULL);
	memset(&info, 0, sizeof info);
	info.err_hndlr = heard;
	info.lib_vers = LAST_LIB;
	storm_enter("LAPI_Init", 0);
	code = LAPI_Init(&storm.handle, &info);
	storm_leave();
	for (i = 0; i < storm.tasks; i++)
		anybody |= storm_is_over(i);
	if (code != LAPI_SUCCESS) {
		if (!anybody)
			storm_bad("LAPI_Init returned %d, and no task has ended", code);
		mark_over();
		say("survived: LAPI_Init returned %d", code);
		_exit(0);
	}
	storm.lapi_is_up = 1;
	LAPI_Senv(storm.handle, TIMEOUT, (int)limit / 2); /* a loaded machine is silent, too */
	if (plan.polls)
		LAPI_Senv(storm.handle, INTERRUPT_SET, 0);
	__atomic_store_n(&storm.board->ready[storm.id], 1, __ATOMIC_RELEASE);
	while (!all(storm.board->ready))
		poll();
	if (plan.doomed[storm.id] && (!plan.early[storm.id] || plan.doomed[storm.id] == 't'))
		pthread_create(&thread, NULL, at_moment, NULL);
}

int main(int argc, char **argv)
{
	char name[4096];
	int fd, number;

	if (argc != 6)
		return 2;
	number = mine();
	storm.id = number;
	storm.tasks = atoi(argv[4]);
	limit = atof(argv[5]);
	snprintf(name, sizeof name, "%s.%d", argv[2], number);
	fd = open(argv[1], O_RDWR | O_CLOEXEC);
	storm.board = mmap(NULL, sizeof *storm.board, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	storm.area = mmap(NULL, (size_t)storm.tasks * STORM_AREA, PROT_READ | PROT_WRITE,
	                  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (!(log_file = fopen(name, "we")) || storm.board == MAP_FAILED ||
	    storm.area == MAP_FAILED || storm.tasks < 2 || storm.tasks > STORM_TASKS)
		return 2;
	close(fd);
	storm.board->area[number] = (uint64_t)(uintptr_t)storm.area;
	storm.board->handler[number] = operations_handler();
	make_plan(strtoull(argv[3], NULL, 10), storm.tasks);
	storm.random = stream(plan.seed, 2 + (unsigned)number);
	if (plan.doomed[number])
		say("is to end by %c after %u us%s", plan.doomed[number], plan.moment[number],
		    plan.early[number] ? ", early" : "");
	begin();
	rounds();
	settle();
	fence(0);
	fence(1);
	meet(storm.board->fenced);
	operations_judge();
	if (plan.doomed[number]) /* its moment has not come */
		while (1)
			poll();
	storm.lapi_is_up = 0;
	storm_enter("LAPI_Term", number);
	if ((fd = LAPI_Term(storm.handle)) != LAPI_SUCCESS)
		storm_bad("LAPI_Term returned %d", fd);
	storm_leave();
	say("survived");
	return 0;
}
