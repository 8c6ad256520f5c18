/* main.c - runs the tests named on the command line, or all. A test that hangs is killed by the
 * alarm, which names it. */
#define _GNU_SOURCE
#include "ctest/fake.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

/* Where others use the processors, and under the thread sanitizer, what takes seconds takes
 * minutes. */
enum { HANG_S = 600 };

static const struct {
	const char *name;
	void (*run)(void);
	int events; /* it looks at uDAPL's events, which the lane makes for 64-bit programs only */
} tests[] = {
	/* first: the handler that it looks for is there before the library's */
	{"guard", test_guard, 0},
	{"node", test_node, 0},
	{"looks", test_looks, 0},
	{"route", test_route, 0},
	{"stretch", test_stretch, 0},
	{"cold", test_cold, 0},
	{"streams", test_streams, 0},
	{"pull", test_pull, 0},
	{"push", test_push, 0},
	{"trace", test_trace, 0},
	{"lane", test_lane, 0},
	{"rules", test_rules, 0},
	{"fence", test_fence, 0},
	{"sent", test_sent, 0},
	{"hostile", test_hostile, 0},
	{"barrier", test_barrier, 0},
	{"outbox", test_outbox, 0},
	{"packets", test_packets, 0},
	{"joined", test_joined, 0},
	{"flush", test_flush, 0},
	{"progress", test_progress, 0},
	{"lock", test_lock, 0},
	{"block", test_block, 0},
	{"owed", test_owed, 0},
	{"wait", test_wait, 0},
	{"stress", test_stress, 0},
	{"threads", test_threads, 0},
	{"calls", test_calls, 0},
	{"handlers", test_handlers, 0},
	{"term", test_term, 0},
	{"fork", test_fork, 0},
	{"exit", test_exit, 0},
	{"share", test_share, 0},
	{"fatal", test_fatal, 0},
	{"refused", test_refused, 0},
	{"fortran", test_fortran, 0},
	{"coll", test_coll, 0},
	{"group", test_group, 1},
	{"group_threads", test_group_threads, 1},
	{"group_path", test_group_path, 1},
	{"group_copy", test_group_copy, 1},
	{"group_push", test_group_push, 1},
	{"group_call", test_group_call, 1},
	{"direct", test_direct, 0},
	{"ends", test_ends, 0},
	{"rc", test_rc, 1},
	{"rc_ends", test_rc_ends, 1},
	{"rc_peer", test_rc_peer, 1},
	{"rc_shared", test_rc_shared, 1},
	{"rc_random", test_rc_random, 1},
	{"dat_hostile", test_dat_hostile, 1},
	{"names_hostile", test_names_hostile, 0},
	{"polls", test_polls, 1},
	{"evd", test_evd, 1},
	{"dat_threads", test_dat_threads, 1},
	{"completions", test_completions, 0},
	{"ibv_open", test_rdma_open, 0},
	{"munge_hostile", test_munge_hostile, 0},
	{"pmix_hostile", test_pmix_hostile, 0},
};

static const char *running;

static void hangs(int signal)
{
	(void)signal;
	if (write(2, running, strlen(running)) > 0 && write(2, ": hangs\n", 8) > 0)
		abort();
	abort();
}

static int wanted(int argc, char **argv, const char *name)
{
	int i;

	for (i = 1; i < argc; i++)
		if (strcmp(argv[i], name) == 0)
			return 1;
	return argc < 2;
}

int main(int argc, char **argv)
{
	size_t i, ran = 0;

	if (argc == 2 && strcmp(argv[1], "fatal-child") == 0)
		fatal_main();
	if (argc == 3 && strcmp(argv[1], "lost-child") == 0)
		lost_main(argv[2]);
	if (argc == 3 && strcmp(argv[1], "ending-child") == 0)
		ending_main(argv[2]);
	signal(SIGALRM, hangs);
	if (argc == 3 && strcmp(argv[1], "refused-child") == 0) {
		running = argv[2];
		alarm(HANG_S);
		return refused_main(argv[2]);
	}
	for (i = 0; i < sizeof(tests) / sizeof(tests[0]); i++) {
		if (!wanted(argc, argv, tests[i].name))
			continue;
		ran++;
		running = tests[i].name;
		if (tests[i].events && sizeof(void *) < 8) {
			printf("skipped %s: 32-bit programs open no adapter of uDAPL's\n", running);
			continue;
		}
		alarm(HANG_S);
		fake_reset_counts();
		tests[i].run();
		printf("ok %s\n", running);
		fflush(stdout);
	}
	if (ran == 0) {
		fprintf(stderr, "no such test\n");
		return 1;
	}
	return 0;
}
