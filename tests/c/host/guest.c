/*
 * guest.c - a program that uses the library keeps its own signal actions and masks, limits,
 * descriptors, working directory, umask, environment, locale, floating-point modes, names,
 * alternate stacks. docs/scope.md lists the exceptions. Its signal handlers have 1 MiB of stack
 * wherever they interrupt it. The argument is lapi or dat.
 */
#define _GNU_SOURCE
#include "guest.h"

#include <dat2/udat.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/time.h>

enum { ROUNDS = 60, LONG = 1 << 20, DEEP = 900, ALTERNATE = 65536 };

static lapi_handle_t handle;
static DAT_IA_HANDLE adapter;
static int task, tasks, is_dat;
static char from[LONG], to[LONG], alternate[ALTERNATE];
static void *places[64];
static volatile long hits;

/* KiB of the stack, each written. */
static void use_stack(int kib)
{
	volatile char room[1024];
	memset((char *)room, kib, sizeof room);
	if (kib > 1)
		use_stack(kib - 1);
	hits += room[kib % 1024] != (char)kib; /* not a tail call */
}

static void on_timer(int number)
{
	(void)number;
	hits++;
	use_stack(DEEP);
}

static void open_library(void)
{
	lapi_info_t info;
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	if (is_dat) {
		HOST_CHECK(dat_ia_open("lapi", 8, &async, &adapter) == DAT_SUCCESS);
		return;
	}
	host_info(&info);
	HOST_OK(LAPI_Init(&handle, &info));
	HOST_OK(LAPI_Qenv(handle, TASK_ID, &task));
	HOST_OK(LAPI_Qenv(handle, NUM_TASKS, &tasks));
	HOST_OK(LAPI_Address_init(handle, to, places));
}

static void close_library(void)
{
	if (is_dat) {
		HOST_CHECK(dat_ia_close(adapter, DAT_CLOSE_ABRUPT_FLAG) == DAT_SUCCESS);
		return;
	}
	HOST_OK(LAPI_Gfence(handle));
	HOST_OK(LAPI_Term(handle));
}

static void work_dat(int rounds)
{
	DAT_EVD_HANDLE evd;
	DAT_EVENT event;
	DAT_COUNT more;
	DAT_IA_ATTR attributes;
	while (rounds-- > 0) {
		HOST_CHECK(dat_ia_query(adapter, NULL, DAT_IA_FIELD_ALL, &attributes, 0, NULL) ==
		           DAT_SUCCESS);
		HOST_CHECK(dat_evd_create(adapter, 16, DAT_HANDLE_NULL, DAT_EVD_SOFTWARE_FLAG,
		                          &evd) == DAT_SUCCESS);
		(void)dat_evd_wait(evd, 100, 1, &event, &more);
		HOST_CHECK(dat_evd_free(evd) == DAT_SUCCESS);
	}
}

static void work(int rounds)
{
	lapi_cntr_t done;
	int next = (task + 1) % (tasks ? tasks : 1), i;
	if (is_dat) {
		work_dat(rounds);
		return;
	}
	HOST_OK(LAPI_Setcntr(handle, &done, 0));
	for (i = 0; i < rounds; i++) {
		ulong size = i % 3 == 0 ? sizeof from : i % 3 == 1 ? 3000 : 8;
		HOST_OK(LAPI_Put(handle, (uint)next, size, places[next], from, NULL, NULL, &done));
		HOST_OK(LAPI_Waitcntr(handle, &done, 1, NULL));
		HOST_OK(LAPI_Qenv(handle, NUM_TASKS, &tasks));
		HOST_OK(LAPI_Fence(handle));
	}
}

static void nothing_at_load(void)
{
	int number;
	struct sigaction action;
	HOST_CHECK(guest_threads() == 1);
	for (number = 1; number < 32; number++)
		if (sigaction(number, NULL, &action) == 0)
			HOST_CHECK(action.sa_handler == SIG_DFL || action.sa_handler == SIG_IGN);
}

static void install(int number, int flags)
{
	struct sigaction action;
	memset(&action, 0, sizeof action);
	action.sa_handler = on_timer;
	action.sa_flags = SA_RESTART | flags;
	sigaction(number, &action, NULL);
}

/* us: of processor time, or of the clock. */
static void strike(int timer, int us)
{
	struct itimerval every = {{0, us}, {0, us}}, off = {{0, 0}, {0, 0}};
	long before = hits;
	int i;
	setitimer(timer, &every, NULL);
	for (i = 0; i < 20000 && (i < 3 || hits < before + 20); i++)
		work(ROUNDS / 10);
	setitimer(timer, &off, NULL);
	HOST_CHECK(hits >= before + 20);
}

/* A thread of its own: without an alternate stack, and with signals that it blocks. */
static void *thread_is_left_alone(void *unused)
{
	static const int blocked[] = {SIGPROF, SIGCHLD, SIGURG, SIGPIPE, SIGUSR1};
	sigset_t set, mask;
	size_t i;
	sigemptyset(&set);
	for (i = 0; i < sizeof blocked / sizeof *blocked; i++)
		sigaddset(&set, blocked[i]);
	pthread_sigmask(SIG_SETMASK, &set, NULL);
	work(6);
	pthread_sigmask(SIG_SETMASK, NULL, &mask);
	for (i = 0; i < 32; i++)
		HOST_CHECK(i == 0 || sigismember(&mask, (int)i) == sigismember(&set, (int)i));
	strike(ITIMER_REAL, 1000);
	return unused;
}

/* The timer's signals are for this thread only. */
static void in_another_thread(void *(*body)(void *))
{
	pthread_t thread;
	sigset_t set, before;
	sigemptyset(&set);
	sigaddset(&set, SIGALRM);
	pthread_sigmask(SIG_BLOCK, &set, &before);
	pthread_create(&thread, NULL, body, NULL);
	pthread_join(thread, NULL);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* Of a thread without an alternate stack of the program: at least 1 MiB. */
static void *on_own_alternate_stack(void *unused)
{
	sigset_t set;
	stack_t stack;
	work(1);
	sigaltstack(NULL, &stack);
	if (guest_is_instrumented() && stack.ss_size < LONG)
		return unused; /* a sanitizer's own */
	HOST_CHECK(!(stack.ss_flags & SS_DISABLE) && stack.ss_size >= LONG);
	sigemptyset(&set);
	sigaddset(&set, SIGALRM);
	install(SIGALRM, SA_ONSTACK);
	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
	strike(ITIMER_REAL, 1000);
	return unused;
}

int main(int argc, char **argv)
{
	static guest_state first, now;
	stack_t own = {.ss_sp = alternate, .ss_size = sizeof alternate};
	int fds;

	is_dat = argc > 1 && strcmp(argv[1], "dat") == 0;
	if (!guest_is_instrumented())
		nothing_at_load();
	host_end_case("nothing_of_the_library_runs_at_load", 0);
	install(SIGALRM, 0);
	install(SIGPROF, 0);
	sigaltstack(&own, NULL);
	guest_look(&first);
	open_library();
	guest_look(&now);
	guest_compare(&first, &now, "after Init");
	work(ROUNDS);
	guest_look(&now);
	guest_compare(&first, &now, "after work");
	host_end_case("process_keeps_what_is_its_own", task != 0);
	strike(ITIMER_REAL, 1000);
	strike(ITIMER_PROF, 1000);
	strike(ITIMER_PROF, 10000);
	host_end_case("handlers_have_1_mib_of_stack", task != 0);
	in_another_thread(thread_is_left_alone);
	in_another_thread(on_own_alternate_stack);
	host_end_case("other_threads_too", task != 0);
	install(SIGALRM, 0);
	close_library();
	guest_look(&now);
	guest_compare(&first, &now, "after Term");
	fds = now.descriptors;
	open_library();
	close_library();
	guest_look(&now);
	guest_compare(&first, &now, "after a second Term");
	HOST_CHECK(now.descriptors <= fds);
	guest_forks();
	host_end_case("and_after_the_end", task != 0);
	return host_close("guest", task != 0);
}
