/* main.c - runs the tests named on the command line, or all. A test that hangs is killed by the
 * alarm, which names it. */
#define _GNU_SOURCE
#include "ctest/fake.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

/* Where others use the processors, and under the thread sanitizer, seconds become minutes. */
enum { HANG_S = 600 };

#ifdef __SANITIZE_THREAD__
enum { UNDER_THREAD = 1 };
#else
enum { UNDER_THREAD = 0 };
#endif

enum {
	THREADS = 1, /* it, or a child of its own, makes threads: else the thread sanitizer sees nothing */
	EVENTS = 2,  /* it looks at uDAPL's events, which the lane makes for 64-bit programs only */
};

static const struct {
	const char *name;
	void (*run)(void);
	int what;
} tests[] = {
	/* first: the handler that it looks for is there before the library's */
	{"guard", test_guard, 0},
	{"node", test_node, THREADS},
	{"looks", test_looks, 0},
	{"route", test_route, 0},
	{"stretch", test_stretch, 0},
	{"cold", test_cold, 0},
	{"streams", test_streams, THREADS},
	{"pull", test_pull, 0},
	{"push", test_push, THREADS},
	{"trace", test_trace, THREADS},
	{"lane", test_lane, THREADS},
	{"rules", test_rules, THREADS},
	{"fence", test_fence, THREADS},
	{"sent", test_sent, THREADS},
	{"hostile", test_hostile, THREADS},
	{"barrier", test_barrier, THREADS},
	{"outbox", test_outbox, THREADS},
	{"packets", test_packets, THREADS},
	{"joined", test_joined, THREADS},
	{"flush", test_flush, THREADS},
	{"progress", test_progress, THREADS},
	{"lock", test_lock, THREADS},
	{"block", test_block, THREADS},
	{"owed", test_owed, 0},
	{"wait", test_wait, THREADS},
	{"stress", test_stress, THREADS},
	{"threads", test_threads, THREADS},
	{"calls", test_calls, THREADS},
	{"handlers", test_handlers, THREADS},
	{"term", test_term, THREADS},
	{"fork", test_fork, THREADS},
	{"exit", test_exit, THREADS},
	{"share", test_share, THREADS},
	{"fatal", test_fatal, THREADS},
	{"refused", test_refused, THREADS},
	{"fortran", test_fortran, THREADS},
	{"coll", test_coll, 0},
	{"group", test_group, EVENTS},
	{"group_threads", test_group_threads, THREADS | EVENTS},
	{"group_path", test_group_path, EVENTS},
	{"group_copy", test_group_copy, THREADS | EVENTS},
	{"group_push", test_group_push, THREADS | EVENTS},
	{"group_call", test_group_call, EVENTS},
	{"direct", test_direct, 0},
	{"ends", test_ends, 0},
	{"rc", test_rc, EVENTS},
	{"rc_ends", test_rc_ends, EVENTS},
	{"rc_peer", test_rc_peer, EVENTS},
	{"rc_shared", test_rc_shared, EVENTS},
	{"dat_hostile", test_dat_hostile, EVENTS},
	{"names_hostile", test_names_hostile, 0},
	{"polls", test_polls, EVENTS},
	{"dev", test_dev, EVENTS},
	{"evd", test_evd, THREADS | EVENTS},
	{"dat_threads", test_dat_threads, THREADS | EVENTS},
	{"completions", test_completions, 0},
	{"ibv_open", test_rdma_open, 0},
	{"munge_hostile", test_munge_hostile, 0},
	{"pmix_hostile", test_pmix_hostile, 0},
};

static const char *running;
static int threads_made;

int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *),
                          void *arg);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *),
                          void *arg);

/* Counts the threads that tests make, by themselves or in functions that they call. */
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *),
                          void *arg)
{
	__atomic_fetch_add(&threads_made, 1, __ATOMIC_RELAXED);
	return __real_pthread_create(thread, attr, run, arg);
}

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
		if ((tests[i].what & EVENTS) && sizeof(void *) < 8) {
			printf("skipped %s: 32-bit programs open no adapter of uDAPL's\n", running);
			continue;
		}
		if (argc < 2 && UNDER_THREAD && !(tests[i].what & THREADS))
			continue;
		alarm(HANG_S);
		fake_reset_counts();
		threads_made = 0;
		tests[i].run();
		CHECK((tests[i].what & THREADS) || threads_made == 0);
		printf("ok %s\n", running);
		fflush(stdout);
	}
	if (ran == 0) {
		fprintf(stderr, "no such test\n");
		return 1;
	}
	return 0;
}
