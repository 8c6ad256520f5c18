/* main.c - runs the tests named on the command line, or all. A test that hangs is killed by the
 * alarm, which names it. */
#define _GNU_SOURCE
#include "fake.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

/* Where others use the processors, and under the thread sanitizer, what takes seconds takes
 * minutes. */
enum { HANG_S = 600 };

static const struct {
	const char *name;
	void (*run)(void);
} tests[] = {
	{"guard", test_guard}, /* first: the handler that it looks for is there before the library's
                                */
	{"node", test_node},
	{"looks", test_looks},
	{"route", test_route},
	{"stretch", test_stretch},
	{"cold", test_cold},
	{"streams", test_streams},
	{"pull", test_pull},
	{"push", test_push},
	{"trace", test_trace},
	{"lane", test_lane},
	{"rules", test_rules},
	{"hostile", test_hostile},
	{"barrier", test_barrier},
	{"outbox", test_outbox},
	{"packets", test_packets},
	{"joined", test_joined},
	{"progress", test_progress},
	{"lock", test_lock},
	{"block", test_block},
	{"wait", test_wait},
	{"stress", test_stress},
	{"threads", test_threads},
	{"calls", test_calls},
	{"handlers", test_handlers},
	{"term", test_term},
	{"fork", test_fork},
	{"exit", test_exit},
	{"share", test_share},
	{"fatal", test_fatal},
	{"refused", test_refused},
	{"fortran", test_fortran},
	{"coll", test_coll},
	{"group", test_group},
	{"group_threads", test_group_threads},
	{"group_way", test_group_way},
	{"group_copy", test_group_copy},
	{"group_give", test_group_give},
	{"direct", test_direct},
	{"ends", test_ends},
	{"polls", test_polls},
	{"dat_threads", test_dat_threads},
	{"completions", test_completions},
	{"rdma_open", test_rdma_open},
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
		running = tests[i].name;
		alarm(HANG_S);
		fake_reset_counts();
		tests[i].run();
		printf("ok %s\n", running);
		fflush(stdout);
		ran++;
	}
	if (ran == 0) {
		fprintf(stderr, "no such test\n");
		return 1;
	}
	return 0;
}
