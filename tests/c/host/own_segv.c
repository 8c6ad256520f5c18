/*
 * own_segv.c - a program that handles SIGSEGV itself gets its own faults, and LAPI's error handler
 * is called for bad addresses given to LAPI: whether the program's handler was installed before
 * LAPI_Init or after it, and also if it calls the handler that it replaced.
 */
#define _GNU_SOURCE
#include "host.h"

#include <setjmp.h>
#include <signal.h>
#include <stdint.h>

enum { ROUNDS = 5 };

static lapi_handle_t handle;
static int task, tasks, next, errors;
static sig_atomic_t faults, chained;
static int ours; /* the program's own fault is under way */
static sigjmp_buf after_fault;
static struct sigaction found;

static void hear(lapi_handle_t *h, int *code, lapi_err_t *type, int *own, int *src)
{
	(void)h, (void)code, (void)type, (void)own, (void)src;
	__atomic_add_fetch(&errors, 1, __ATOMIC_ACQ_REL);
}

static void on_fault(int signal_number, siginfo_t *info, void *context)
{
	faults++;
	if (ours)
		siglongjmp(after_fault, 1);
	(void)signal_number, (void)info, (void)context;
	(void)!write(2, "own_segv: a fault of LAPI's\n", 28);
	_exit(9);
}

/* Passes faults that it does not know to the handler that it replaced, as libraries do. */
static void on_fault_chain(int signal_number, siginfo_t *info, void *context)
{
	chained++;
	if (ours)
		on_fault(signal_number, info, context);
	if (found.sa_flags & SA_SIGINFO)
		found.sa_sigaction(signal_number, info, context);
}

static void install(void (*handler)(int, siginfo_t *, void *))
{
	struct sigaction action;
	memset(&action, 0, sizeof action);
	action.sa_sigaction = handler;
	action.sa_flags = SA_SIGINFO | SA_NODEFER;
	sigaction(SIGSEGV, &action, &found);
}

/* LAPI is given bad addresses, at both ends; its error handler is called for each. */
static void bad_addresses(void)
{
	void *nowhere = (void *)(uintptr_t)0x5000;
	static char from[100000], to[100000];
	void *places[128];
	int i, before;
	HOST_OK(LAPI_Address_init(handle, to, places));
	for (i = 0; i < ROUNDS; i++) {
		before = __atomic_load_n(&errors, __ATOMIC_ACQUIRE);
		HOST_OK(LAPI_Put(handle, (uint)next, i % 2 ? 4 : sizeof from, nowhere, from, NULL,
		                 NULL, NULL));
		HOST_OK(LAPI_Gfence(handle));
		while (__atomic_load_n(&errors, __ATOMIC_ACQUIRE) < before + 1)
			HOST_OK(LAPI_Probe(handle));
		HOST_OK(LAPI_Gfence(handle));
	}
	LAPI_Put(handle, (uint)next, sizeof from, places[next], nowhere, NULL, NULL, NULL);
	LAPI_Get(handle, (uint)next, 8, nowhere, to, NULL, NULL);
	HOST_OK(LAPI_Gfence(handle));
	HOST_CHECK(faults == 0);
}

static void own_fault(void)
{
	ours = 1;
	if (sigsetjmp(after_fault, 1) == 0) {
		volatile int *volatile nowhere = (volatile int *)16;
		*nowhere = 1;
		HOST_CHECK(!"the write to address 16 faulted");
	}
	ours = 0;
	HOST_CHECK(faults > 0);
	faults = 0;
}

/* A thread sleeps in LAPI: the service thread, as the program does something else. */
static void moment(void)
{
	usleep(50000);
	HOST_OK(LAPI_Gfence(handle));
}

int main(void)
{
	lapi_info_t info;

	alarm(300);
	install(on_fault);
	host_info(&info);
	info.err_hndlr = hear;
	if (LAPI_Init(&handle, &info) != LAPI_SUCCESS)
		return 2;
	HOST_OK(LAPI_Qenv(handle, TASK_ID, &task));
	HOST_OK(LAPI_Qenv(handle, NUM_TASKS, &tasks));
	next = (task + 1) % tasks;
	bad_addresses();
	own_fault();
	host_end_case("installed_before_init", task != 0);
	install(on_fault);
	moment();
	bad_addresses();
	own_fault();
	host_end_case("installed_after_init", task != 0);
	install(on_fault_chain);
	moment();
	bad_addresses();
	own_fault();
	own_fault();
	HOST_CHECK(chained > 0);
	host_end_case("calls_the_one_before", task != 0);
	HOST_OK(LAPI_Gfence(handle));
	HOST_OK(LAPI_Term(handle));
	return host_close("own_segv", task != 0);
}
