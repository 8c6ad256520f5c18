/*
 * direct.h - for programs that test access to another process's memory: cases, each with a server,
 * whose memory is accessed, and a client; the two meet by pipes. Each case runs with the fast lane
 * on, random and off.
 */
#ifndef DIRECT_H
#define DIRECT_H

#include "two.h"

#include <signal.h>
#include <sys/wait.h>

enum { PAGE = 4096, AREA = 4 << 20, ROUNDS = 25, DEPTH = 8 };

static pid_t other; /* the process of the peer */

static void post_write(DAT_SEG_LENGTH n, DAT_VADDR to, DAT_RMR_CONTEXT context)
{
	DAT_LMR_TRIPLET from = local(0, n);
	DAT_RMR_TRIPLET t = {to, n, context};

	MUST(dat_ep_post_rdma_write(me.p.a.ep, 1, &from, cookie(1), &t,
	                            DAT_COMPLETION_DEFAULT_FLAG));
}

static void post_read(DAT_SEG_LENGTH n, DAT_VADDR from, DAT_RMR_CONTEXT context)
{
	DAT_LMR_TRIPLET to = local(0, n);
	DAT_RMR_TRIPLET t = {from, n, context};

	MUST(dat_ep_post_rdma_read(me.p.a.ep, 1, &to, cookie(1), &t, DAT_COMPLETION_DEFAULT_FLAG));
}

/* The status of the request that was posted. */
static DAT_DTO_COMPLETION_STATUS status(void)
{
	DAT_EVENT event = pair_event(me.p.a.request, DAT_DTO_COMPLETION_EVENT);

	return event.event_data.dto_completion_event_data.status;
}

static void expect(size_t at, size_t n, unsigned char value)
{
	size_t i;

	for (i = 0; i < n; i++)
		CHECK(me.memory[at + i] == value);
}

static DAT_LMR_HANDLE registered(void *memory, size_t n, int privileges, DAT_PZ_HANDLE pz,
                                 DAT_LMR_CONTEXT *context, DAT_RMR_CONTEXT *remote)
{
	DAT_REGION_DESCRIPTION region = {.for_va = memory};
	DAT_LMR_HANDLE lmr;
	DAT_VLEN size;
	DAT_VADDR address;

	MUST(dat_lmr_create(me.p.ia, DAT_MEM_TYPE_VIRTUAL, region, n, pz,
	                    (DAT_MEM_PRIV_FLAGS)privileges, DAT_VA_TYPE_VA, &lmr, context, remote,
	                    &size, &address));
	return lmr;
}

/* A case, and how it runs. */
struct direct_case {
	const char *name;
	void (*run)(void);
	int times;
	int lane_alone;   /* only with the lane on: else the target takes part now and then */
	int no_segments;  /* the endpoints may post none */
	int client_dies;  /* by SIGKILL */
	int requests;     /* that may be posted; 0: DEPTH */
};

static struct {
	const char *name; /* the program's */
	const struct direct_case *cases;
	int count;
} program;

/* Which time this is of the case's. */
static int this_time;

static void open_side(int number)
{
	DAT_EP_ATTR attr;

	MUST(dat_ia_open((DAT_NAME_PTR) "lapi-lo", 8, &me.p.async, &me.p.ia));
	MUST(dat_pz_create(me.p.ia, &me.p.pz));
	CHECK(posix_memalign((void **)&me.memory, PAGE, AREA + 2 * PAGE) == 0);
	memset(me.memory, 0, AREA + 2 * PAGE);
	me.lmr = registered(me.memory, AREA + PAGE, DAT_MEM_PRIV_ALL_FLAG, me.p.pz, &me.local,
	                    &me.remote);
	MUST(dat_evd_create(me.p.ia, 8, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG, &me.p.requests));
	pair_side(&me.p, &me.p.a, DEPTH);
	if (!program.cases[number].no_segments && !program.cases[number].requests)
		return;
	MUST(dat_ep_free(me.p.a.ep));
	memset(&attr, 0, sizeof attr);
	attr.max_recv_dtos = attr.max_request_dtos = DEPTH;
	if (program.cases[number].requests) {
		attr.max_request_dtos = program.cases[number].requests;
		attr.max_request_iov = attr.max_recv_iov = 1;
	}
	attr.max_message_size = attr.max_rdma_size = AREA;
	attr.max_rdma_read_in = attr.max_rdma_read_out = 4;
	MUST(dat_ep_create(me.p.ia, me.p.pz, me.p.a.recv, me.p.a.request, me.p.a.connection, &attr,
	                   &me.p.a.ep));
}

static void tell_each_other(void)
{
	DAT_VADDR address = (DAT_VADDR)(size_t)me.memory;
	pid_t pid = getpid();

	say(&me.remote, sizeof me.remote);
	say(&address, sizeof address);
	say(&pid, sizeof pid);
	hear(&me.theirs, sizeof me.theirs);
	hear(&me.address, sizeof me.address);
	hear(&other, sizeof other);
}

static int side_of(char **argv)
{
	int number = atoi(argv[4]), time = atoi(argv[5]);

	alarm(40); /* guards against hangs */
	begin(argv);
	open_side(number);
	tell_each_other();
	connect_sides();
	meet();
	usleep(2000); /* the fast lane gets the connection when core has nothing to do */
	this_time = time;
	program.cases[number].run();
	MUST(dat_ia_close(me.p.ia, DAT_CLOSE_ABRUPT_FLAG));
	return 0;
}

/* 1 if the case went well. */
static int run(char *path, int number, int time)
{
	int there[2], back[2], server_status, client_status, i;
	pid_t server, client;
	char which[16], when[16];

	snprintf(which, sizeof which, "%d", number);
	snprintf(when, sizeof when, "%d", time);
	CHECK(pipe2(there, 0) == 0 && pipe2(back, 0) == 0);
	server = start(path, "server", there[0], back[1], which, when);
	client = start(path, "client", back[0], there[1], which, when);
	for (i = 0; i < 2; i++) {
		close(there[i]);
		close(back[i]);
	}
	CHECK(waitpid(client, &client_status, 0) == client);
	CHECK(kill(server, SIGCONT) == 0); /* a client that fails may have stopped it */
	CHECK(waitpid(server, &server_status, 0) == server);
	if (program.cases[number].client_dies)
		return server_status == 0 && WIFSIGNALED(client_status) &&
		       WTERMSIG(client_status) == SIGKILL;
	return server_status == 0 && client_status == 0;
}

/* All cases, or one of them, with the fast lane set so; 1 if they went well. */
static int all(char *path, const char *setting, const char *only)
{
	int i, k;

	setenv("LAPI_FASTLANE", setting, 1);
	for (i = 0; i < program.count; i++) {
		const struct direct_case *c = &program.cases[i];

		if ((only && strcmp(only, c->name)) || (c->lane_alone && strcmp(setting, "on")))
			continue;
		printf("%s, %s\n", setting, c->name);
		fflush(stdout);
		for (k = 0; k < c->times; k++)
			if (!run(path, i, k)) {
				printf("%s %d has failed\n", c->name, k);
				return 0;
			}
	}
	return 1;
}

/* The main function of these programs. */
static int direct_main(int argc, char **argv, const char *name, const struct direct_case *cases,
                       int count)
{
	static const char *const settings[] = {"on", "random", "off"};
	const char *only = argc == 2 ? argv[1] : NULL;
	int i;

	program.name = name;
	program.cases = cases;
	program.count = count;
	if (argc == 6)
		return side_of(argv);
	setenv("LAPI_DAT_TIMEOUT", "1000", 1); /* nothing is to end by that */
	for (i = 0; i < 3; i++)
		if (!all(argv[0], settings[i], only))
			return 1;
	printf("%s: passed\n", name); /* as scripts/dat-test.sh wants it */
	return 0;
}

#endif
