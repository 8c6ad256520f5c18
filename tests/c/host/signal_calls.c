/*
 * signal_calls.c - calls of LAPI from signal handlers, as run-times make them on their way out.
 * Where the signal has interrupted the program's own code all calls work, those that wait too.
 * Where it has interrupted LAPI in the same thread they return LAPI_ERR_UNKNOWN and do nothing.
 */
#define _GNU_SOURCE
/* A failing check prints in the handler: the test has failed then. */
#pragma GCC diagnostic ignored "-Wanalyzer-unsafe-call-within-signal-handler"

#include "host.h"

#include <signal.h>
#include <stdint.h>
#include <sys/time.h>

enum { ROUNDS = 400, LEAST = 20, CALLS = 40, SIZE = 100000 };

static lapi_handle_t handle;
static int task, tasks, next, got;
static int done, refused, other; /* of the calls in the handler: by their codes */
static void *handlers[128], *places[128], *counters[128];
static unsigned char source[SIZE], sink[SIZE + sizeof(int)];
static lapi_cntr_t completed, by_signal, arrived;

static void *take(lapi_handle_t *h, void *uhdr, uint *uhdr_len, ulong *msg_len,
                  compl_hndlr_t **handler, void **info)
{
	(void)h, (void)uhdr, (void)uhdr_len, (void)msg_len;
	__atomic_add_fetch(&got, 1, __ATOMIC_ACQ_REL);
	*handler = NULL;
	*info = NULL;
	return NULL;
}

static int note(int code)
{
	if (code == LAPI_SUCCESS)
		done++;
	else if (code == LAPI_ERR_UNKNOWN)
		refused++;
	else
		other++;
	return code == LAPI_SUCCESS;
}

/* The handler runs in the middle of anything. Its messages are counted, and must arrive. */
static volatile sig_atomic_t sent;
static void send_one(int signal_number)
{
	int value = signal_number;
	char text[LAPI_MAX_ERR_STRING];
	if (note(LAPI_Amsend(handle, (uint)next, handlers[next], &value, sizeof value, NULL, 0,
	                     NULL, NULL, NULL)))
		sent++;
	note(LAPI_Probe(handle));
	note(LAPI_Setcntr(handle, &by_signal, 0));
	note(LAPI_Msg_string(LAPI_ERR_TGT, text));
	HOST_OK(LAPI_Getcntr(handle, &by_signal, &value)); /* it only looks */
}

static void while_messages_pass(void)
{
	struct itimerval timer = {{0, 400}, {0, 400}}, off = {{0, 0}, {0, 0}};
	struct sigaction action;
	lapi_cntr_t *there = counters[next];
	int i, value, all = 0, before;
	memset(&action, 0, sizeof action);
	action.sa_handler = send_one;
	action.sa_flags = SA_RESTART;
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &timer, NULL);
	for (i = 0; i < ROUNDS || refused < LEAST; i++) {
		HOST_OK(LAPI_Put(handle, (uint)next, SIZE, places[next], source, NULL, NULL,
		                 &completed));
		HOST_OK(LAPI_Waitcntr(handle, &completed, 1, NULL));
	}
	setitimer(ITIMER_REAL, &off, NULL);
	before = (int)sent;
	HOST_OK(LAPI_Gfence(handle));
	/* the one before sends to this task */
	HOST_OK(LAPI_Put(handle, (uint)next, sizeof before, (char *)places[next] + SIZE, &before,
	                 there, NULL, NULL));
	HOST_OK(LAPI_Waitcntr(handle, &arrived, 1, &value));
	memcpy(&all, sink + SIZE, sizeof all);
	HOST_OK(LAPI_Gfence(handle));
	HOST_CHECK(got == all);
	HOST_CHECK(memcmp(sink, source, SIZE) == 0);
	HOST_CHECK(refused >= LEAST);
	HOST_CHECK(other == 0);
}

/* Nothing of LAPI is interrupted: everything works. */
static void use_all(int signal_number)
{
	(void)signal_number;
	HOST_OK(LAPI_Put(handle, (uint)next, SIZE, places[next], source, NULL, NULL, &completed));
	HOST_OK(LAPI_Waitcntr(handle, &completed, 1, NULL));
	HOST_OK(LAPI_Fence(handle));
	host_use(handle);
}

static void in_own_code(void)
{
	int i;
	signal(SIGUSR1, use_all);
	for (i = 0; i < CALLS; i++)
		raise(SIGUSR1);
	HOST_OK(LAPI_Gfence(handle));
}

/* As a run-time's exit does. */
static void leave(int signal_number)
{
	(void)signal_number;
	HOST_OK(LAPI_Gfence(handle));
	HOST_OK(LAPI_Term(handle));
}

int main(void)
{
	lapi_info_t info;
	int i;

	alarm(300);
	host_info(&info);
	if (LAPI_Init(&handle, &info) != LAPI_SUCCESS)
		return 2;
	HOST_OK(LAPI_Qenv(handle, TASK_ID, &task));
	HOST_OK(LAPI_Qenv(handle, NUM_TASKS, &tasks));
	next = (task + 1) % tasks;
	for (i = 0; i < SIZE; i++)
		source[i] = (unsigned char)(i * 7 + 3);
	HOST_OK(LAPI_Setcntr(handle, &completed, 0));
	HOST_OK(LAPI_Setcntr(handle, &arrived, 0));
	HOST_OK(LAPI_Address_init(handle, (void *)(uintptr_t)take, handlers));
	HOST_OK(LAPI_Address_init(handle, sink, places));
	HOST_OK(LAPI_Address_init(handle, &arrived, counters));
	in_own_code();
	host_end_case("calls_from_a_handler_in_own_code", task != 0);
	while_messages_pass();
	host_end_case("calls_from_a_handler_in_the_middle_of_calls", task != 0);
	signal(SIGTERM, leave);
	HOST_OK(LAPI_Gfence(handle));
	raise(SIGTERM);
	host_end_case("term_from_a_handler", task != 0);
	return host_close("signal_calls", task != 0);
}
