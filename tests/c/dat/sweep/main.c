/*
 * main.c - runs all calls over each engine, in processes of their own, and compares: all engines
 * have the same results except for differences.txt; results are as documented (codes.txt); each
 * code is in the call's man page.
 *
 * Arguments: none: that; "device NAME": compares the node's engine with the RDMA adapter of that
 * name; "run MODE [CALL]": prints the results over the engine that the environment
 * says, MODE 1 with the peer in a process of its own, 0 in a thread. SWEEP_IA names the adapter.
 */
#define _GNU_SOURCE
#include "report.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sweep_documents.h"

static const struct engine {
	const char *name, *mode, *variable, *value;
} engines[] = {
	{"node", "1", "LAPI_FASTLANE", "on"},
	{"node without lane", "1", "LAPI_FASTLANE", "off"},
	{"node, lane at random", "1", "LAPI_FASTLANE", "random"},
	{"udp", "1", "LAPI_USE_SHM", "no"},
	{"one process", "0", "LAPI_FASTLANE", "on"},
	{"one process without lane", "0", "LAPI_FASTLANE", "off"},
};

enum { ENGINES = sizeof engines / sizeof *engines };

static lines results[ENGINES];
static char used[sizeof justified / sizeof *justified];

/* 1 if the engine's process has succeeded; its lines are in l. */
static int collect(const struct engine *e, lines *l)
{
	FILE *to = tmpfile();
	char number[16];
	int status = -1;
	pid_t pid;

	if (!to)
		return 0;
	snprintf(number, sizeof number, "%d", fileno(to));
	if ((pid = fork()) == 0) {
		setenv(e->variable, e->value, 1);
		execl("/proc/self/exe", "sweep", "into", number, e->mode, (char *)NULL);
		_exit(9);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0)
		printf("%s: status %#x\n", e->name, (unsigned)status);
	else
		lines_read(l, to);
	fclose(to);
	return status == 0;
}

/*
 * If one side breaks a connection of an RDMA adapter, the other learns of the end only by the
 * connection manager, which gives no reason: that does not count as a difference.
 */
static void take_end_for_broken(lines *l)
{
	static const char end[] = "there DISCONNECTED", broken[] = "there BROKEN";
	int i;

	for (i = 0; i < l->n; i++) {
		char *at = strstr(l->of[i].result, end);

		if (at) {
			memmove(at + strlen(broken), at + strlen(end),
			        strlen(at + strlen(end)) + 1);
			memcpy(at, broken, strlen(broken));
		}
	}
}

/* Compares the node's engine with an RDMA adapter; the number of differences. */
static int compare_device(char *name)
{
	const struct engine device = {"device", "1", "SWEEP_IA", name};

	if (!collect(&engines[0], &results[0]) || !collect(&device, &results[1]))
		return 1;
	take_end_for_broken(&results[1]);
	return compare(&results[0], engines[0].name, &results[1], device.name, justified, used);
}

static int compare_all(void)
{
	int i, bad = 0;

	for (i = 0; i < ENGINES; i++)
		if (!collect(&engines[i], &results[i]))
			return 1;
	for (i = 1; i < ENGINES; i++)
		bad += compare(&results[0], engines[0].name, &results[i], engines[i].name,
		               justified, used);
	bad += check_documented(&results[0], documented);
	bad += check_pages(&results[0], pages);
	for (i = 0; justified[i][0]; i++)
		if (!used[i] && strcmp(justified[i][1], "device")) {
			printf("there is no such difference: %s\n", justified[i][0]);
			bad++;
		}
	return bad;
}

int main(int argc, char **argv)
{
	int status;

	alarm(300);
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc > 3 && !strcmp(argv[1], "into"))
		return run(atoi(argv[3]), NULL, fdopen(atoi(argv[2]), "w+"));
	if (argc > 2 && !strcmp(argv[1], "run"))
		return run(atoi(argv[2]), argc > 3 ? argv[3] : NULL, stdout);
	if (argc > 2 && !strcmp(argv[1], "device"))
		status = compare_device(argv[2]);
	else if (argc > 1)
		return 2;
	else
		status = compare_all();
	if (status)
		return 1;
	printf("%d calls of each engine\nsweep: passed\n", results[0].n);
	return 0;
}
