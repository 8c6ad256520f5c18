/* raw_main.c - the raw limits of the machine, measured the way the LAPI programs beside it are. */
#define _GNU_SOURCE
#include "raw.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static const struct {
	const char *name;
	void (*run)(board *, const bench_options *);
} tests[] = {
	{"cacheline", raw_cacheline},
	{"queue", raw_queue},
	{"barrier", raw_barrier},
	{"memcpy", raw_memcpy},
	{"writev", raw_writev},
	{"writev-computing", raw_writev_computing},
	{"writev-turns", raw_writev_turns},
	{"pipeline", raw_pipeline},
	{"each-pipeline", raw_route},
	{"each-write", raw_route},
	{"each-read", raw_route},
	{"each-halves", raw_route},
	{"each-lines", raw_route},
	{"many-pipeline", raw_route},
	{"many-write", raw_route},
	{"many-read", raw_route},
	{"many-halves", raw_route},
	{"state", raw_state},
	{"udp-pingpong", raw_udp_pingpong},
	{"udp-stream", raw_udp_stream},
	{"udp-rate", raw_udp_rate},
};

void raw_spawn(board *b, const bench_options *o, int n, raw_body *body, void *arg)
{
	int i, status;
	pid_t pid;

	for (i = 1; i < n; i++) {
		pid = fork();
		if (pid < 0)
			fail("fork: %s", strerror(errno));
		if (pid > 0)
			continue;
		/* A child never outlives the test: the parent may be killed by the harness. */
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		alarm(120);
		pin_to_core(i);
		body(b, o, i, arg);
		_exit(0);
	}
	pin_to_core(0);
	body(b, o, 0, arg);
	for (i = 1; i < n; i++)
		if (wait(&status) < 0 || status != 0)
			fail("a process of test %s failed (status %#x)", o->test, status);
}

measured raw_measure(board *b, const bench_options *o, int id, raw_rounds *rounds, void *arg)
{
	measurement m = {b, o, id, rounds, NULL, NULL, arg};

	return measure(&m);
}

int main(int argc, char **argv)
{
	bench_options o;
	size_t i;

	parse_options(argc, argv, &o);
	alarm(120);
	for (i = 0; i < sizeof tests / sizeof *tests; i++) {
		if (!strcmp(o.test, tests[i].name)) {
			tests[i].run(board_open(NULL), &o);
			return 0;
		}
	}
	fail("no test %s", o.test);
}
