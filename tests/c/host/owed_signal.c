/*
 * owed_signal.c - SIGTERM and SIGINT whose handlers call LAPI. A polling program is in LAPI nearly
 * always, where such calls are refused: the handler runs once more when LAPI is left, or inside of
 * a call that waits, and then the calls work. Handlers of other signals do not run again, nor do
 * handlers whose calls were not refused.
 *
 *   owed_signal [before|after [interrupts]]   the handlers are installed before or after LAPI_Init;
 *                                             with the service thread, or without
 */
#define _GNU_SOURCE
#include "host.h"

#include <pthread.h>
#include <signal.h>

enum { ROUNDS = 60, PATIENCE = 120 };

static lapi_handle_t handle;
static int task, tasks, next;
static lapi_cntr_t rung;
static void *counters[128];
static pthread_t user;
static volatile sig_atomic_t runs, sent, refused, signal_seen;

/* Sends a message, as the handler of a run-time does to end its job. */
static void send_one(int number)
{
	int code = LAPI_Put(handle, (uint)next, 0, NULL, NULL, counters[next], NULL, NULL);
	runs++;
	signal_seen = number;
	if (code == LAPI_SUCCESS)
		sent++;
	else if (code == LAPI_ERR_UNKNOWN)
		refused++;
}

static void install(int full)
{
	static const int all[] = {SIGTERM, SIGINT, SIGUSR1};
	struct sigaction action;
	int i;
	memset(&action, 0, sizeof action);
	action.sa_handler = send_one;
	if (full)
		sigaddset(&action.sa_mask, SIGHUP);
	for (i = 0; i < 3; i++)
		sigaction(all[i], &action, NULL);
}

static void *kill_later(void *number)
{
	usleep(2000);
	pthread_kill(user, *(int *)number);
	return NULL;
}

/* Calls LAPI_Probe in a loop until a run of the handler has sent. */
static void polling(int number)
{
	pthread_t killer;
	int i, value = 0;
	for (i = 0; i < ROUNDS; i++) {
		runs = sent = refused = 0;
		HOST_CHECK(pthread_create(&killer, NULL, kill_later, &number) == 0);
		while (!sent)
			HOST_OK(LAPI_Probe(handle));
		pthread_join(killer, NULL);
		HOST_CHECK(runs == refused + 1 && refused <= 1 && signal_seen == number);
		HOST_OK(LAPI_Waitcntr(handle, &rung, 1, &value));
	}
}

/* Makes a call that waits for the message of the other task's handler. */
static void waiting(int number)
{
	pthread_t killer;
	int i, value = 0, again = 0;
	for (i = 0; i < ROUNDS; i++) {
		runs = sent = refused = 0;
		HOST_CHECK(pthread_create(&killer, NULL, kill_later, &number) == 0);
		HOST_OK(LAPI_Waitcntr(handle, &rung, 1, &value));
		while (!sent)
			HOST_OK(LAPI_Probe(handle));
		pthread_join(killer, NULL);
		HOST_CHECK(runs == refused + 1 && refused <= 1);
		again += refused;
	}
	HOST_CHECK(again > 0);
}

/* The call in another signal's handler is refused, and the handler does not run again. */
static void others(void)
{
	int number = SIGUSR1, i;
	pthread_t killer;
	for (refused = i = 0; i < 20 * ROUNDS && !refused; i++) {
		runs = sent = 0;
		HOST_CHECK(pthread_create(&killer, NULL, kill_later, &number) == 0);
		while (!runs)
			HOST_OK(LAPI_Probe(handle));
		pthread_join(killer, NULL);
		HOST_OK(LAPI_Probe(handle));
		HOST_CHECK(runs == 1);
		if (sent)
			HOST_OK(LAPI_Waitcntr(handle, &rung, 1, NULL));
	}
	HOST_CHECK(refused == 1);
}

int main(int argc, char **argv)
{
	int after = argc > 1 && strcmp(argv[1], "after") == 0;
	int interrupts = argc > 2 && strcmp(argv[2], "interrupts") == 0;
	lapi_info_t info;
	alarm(PATIENCE);
	host_info(&info);
	if (!after)
		install(0);
	if (LAPI_Init(&handle, &info) != LAPI_SUCCESS)
		return 2;
	if (after)
		install(1);
	user = pthread_self();
	HOST_OK(LAPI_Qenv(handle, TASK_ID, &task));
	HOST_OK(LAPI_Qenv(handle, NUM_TASKS, &tasks));
	next = (task + 1) % tasks;
	HOST_OK(LAPI_Senv(handle, INTERRUPT_SET, interrupts));
	HOST_OK(LAPI_Setcntr(handle, &rung, 0));
	HOST_OK(LAPI_Address_init(handle, &rung, counters));
	polling(SIGTERM);
	host_end_case("handler_runs_again_between_polls", task != 0);
	HOST_OK(LAPI_Gfence(handle));
	waiting(SIGINT);
	host_end_case("handler_runs_again_in_a_wait", task != 0);
	HOST_OK(LAPI_Gfence(handle));
	if (task == 0 || tasks == 1)
		next = task, others();
	host_end_case("other_signals_do_not", task != 0);
	HOST_OK(LAPI_Gfence(handle));
	HOST_OK(LAPI_Term(handle));
	return host_close("owed_signal", task != 0);
}
