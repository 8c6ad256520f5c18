/*
 * signals.c - the program's own signal handlers, mask and alternate stack are its own business:
 * LAPI leaves them as they are, and signals that arrive in the middle of LAPI calls do no harm.
 */
#define _GNU_SOURCE
#include "host.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/time.h>

static lapi_handle_t handle;
static int task, tasks;
static volatile sig_atomic_t alarms, user_signals, on_alternate_stack;
static char alternate_stack[1 << 16];
static sigjmp_buf after_fault;

static void on_alarm(int signal_number)
{
	(void)signal_number;
	alarms++;
}

static void on_user_signal(int signal_number, siginfo_t *info, void *context)
{
	char here;
	(void)signal_number, (void)info, (void)context;
	user_signals++;
	if (&here >= alternate_stack && &here < alternate_stack + sizeof alternate_stack)
		on_alternate_stack++;
}

static void on_fault(int signal_number)
{
	(void)signal_number;
	siglongjmp(after_fault, 1);
}

static void install(void)
{
	struct sigaction action;
	stack_t stack;
	stack.ss_sp = alternate_stack;
	stack.ss_size = sizeof alternate_stack;
	stack.ss_flags = 0;
	sigaltstack(&stack, NULL);
	memset(&action, 0, sizeof action);
	action.sa_handler = on_alarm;
	action.sa_flags = SA_ONSTACK; /* also without SA_RESTART: calls of the library see EINTR */
	sigaction(SIGALRM, &action, NULL);
	action.sa_sigaction = on_user_signal;
	action.sa_flags = SA_ONSTACK | SA_SIGINFO;
	sigaction(SIGUSR1, &action, NULL);
	signal(SIGTERM, SIG_IGN);
	signal(SIGCHLD, SIG_DFL);
}

static void check_installed(void)
{
	struct sigaction action;
	stack_t stack;
	sigset_t mask;
	sigaltstack(NULL, &stack);
	HOST_CHECK(stack.ss_sp == alternate_stack && stack.ss_size == sizeof alternate_stack);
	sigaction(SIGALRM, NULL, &action);
	HOST_CHECK(action.sa_handler == on_alarm);
	sigaction(SIGUSR1, NULL, &action);
	HOST_CHECK(action.sa_sigaction == on_user_signal);
	sigaction(SIGTERM, NULL, &action);
	HOST_CHECK(action.sa_handler == SIG_IGN);
	pthread_sigmask(SIG_SETMASK, NULL, &mask);
	HOST_CHECK(!sigismember(&mask, SIGALRM) && !sigismember(&mask, SIGUSR1) &&
	           sigismember(&mask, SIGUSR2));
}

static void handlers_survive_init_and_traffic(void)
{
	int i;
	check_installed();
	for (i = 0; i < 20; i++)
		host_use(handle);
	check_installed();
}

/* A timer that strikes every 300 us while messages pass. */
static void signals_during_calls(void)
{
	struct itimerval timer = {{0, 300}, {0, 300}}, off = {{0, 0}, {0, 0}};
	int i;
	setitimer(ITIMER_REAL, &timer, NULL);
	for (i = 0; i < 300 || alarms < 50; i++) {
		/* the others may have enough already: no collective calls any more */
		if (i >= 300) {
			HOST_OK(LAPI_Probe(handle));
			continue;
		}
		host_use(handle);
	}
	setitimer(ITIMER_REAL, &off, NULL);
	HOST_CHECK(alarms >= 50);
}

static void own_signal_on_alternate_stack(void)
{
	int i;
	for (i = 0; i < 50; i++) {
		HOST_OK(LAPI_Probe(handle));
		raise(SIGUSR1);
	}
	HOST_CHECK(user_signals == 50);
	HOST_CHECK(on_alternate_stack == 50);
}

/* As most programs install them: without SA_ONSTACK, so on whatever stack the thread has at the
 * moment. Takes 40 KiB of it. */
static void on_alarm_anywhere(int signal_number)
{
	volatile char room[40960];
	memset((void *)room, signal_number, sizeof room);
	alarms += room[signal_number] == signal_number;
}

static void handler_without_alternate_stack(void)
{
	struct sigaction action, before;
	struct itimerval timer = {{0, 150}, {0, 150}}, off = {{0, 0}, {0, 0}};
	int i;
	memset(&action, 0, sizeof action);
	action.sa_handler = on_alarm_anywhere;
	action.sa_flags = SA_RESTART;
	sigaction(SIGALRM, &action, &before);
	alarms = 0;
	setitimer(ITIMER_REAL, &timer, NULL);
	for (i = 0; i < 1500; i++)
		host_use(handle);
	setitimer(ITIMER_REAL, &off, NULL);
	HOST_CHECK(alarms > 0);
	sigaction(SIGALRM, &before, NULL);
}

/* A program that handles its own faults goes on handling them. */
static void own_fault_handler(void)
{
	struct sigaction action, before;
	volatile int round;
	memset(&action, 0, sizeof action);
	action.sa_handler = on_fault;
	action.sa_flags = SA_ONSTACK | SA_NODEFER;
	sigaction(SIGSEGV, &action, &before);
	for (round = 0; round < 3; round++) {
		if (sigsetjmp(after_fault, 1) == 0) {
			volatile int *volatile nowhere = (volatile int *)16;
			*nowhere = 1;
			HOST_CHECK(!"the write to address 16 faulted");
		}
		host_use(handle);
	}
	sigaction(SIGSEGV, &before, NULL);
}

int main(void)
{
	lapi_info_t info;
	sigset_t blocked;
	sigemptyset(&blocked);
	sigaddset(&blocked, SIGUSR2);
	pthread_sigmask(SIG_BLOCK, &blocked, NULL);
	install();
	host_info(&info);
	if (LAPI_Init(&handle, &info) != LAPI_SUCCESS)
		return 2;
	HOST_OK(LAPI_Qenv(handle, TASK_ID, &task));
	HOST_OK(LAPI_Qenv(handle, NUM_TASKS, &tasks));
	handlers_survive_init_and_traffic();
	host_end_case("handlers_survive_init_and_traffic", task != 0);
	signals_during_calls();
	HOST_OK(LAPI_Gfence(handle));
	host_end_case("signals_during_calls", task != 0);
	handler_without_alternate_stack();
	HOST_OK(LAPI_Gfence(handle));
	host_end_case("handler_without_alternate_stack", task != 0);
	own_signal_on_alternate_stack();
	host_end_case("own_signal_on_alternate_stack", task != 0);
	own_fault_handler();
	host_end_case("own_fault_handler", task != 0);
	HOST_OK(LAPI_Gfence(handle));
	HOST_OK(LAPI_Term(handle));
	check_installed();
	host_end_case("handlers_survive_term", task != 0);
	return host_close("signals", task != 0);
}
