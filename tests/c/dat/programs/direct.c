/*
 * direct.c - writes and reads by one copy between two processes of a node, which the target takes
 * no part in: that they are made, and that they keep order and protection. Each case has a server,
 * whose memory is accessed, and a client; the two meet by pipes. The server's program calls nothing
 * of the library while it hears a pipe.
 */
#define _GNU_SOURCE
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

/* A target that is stopped takes part in nothing. Its memory is written and read all the same. */
static void stopped(void)
{
	static const DAT_SEG_LENGTH sizes[] = {8, 511, 3000, 5000, AREA};
	size_t i;

	for (i = 0; !me.is_server && i < sizeof sizes / sizeof *sizes; i++) {
		CHECK(kill(other, SIGSTOP) == 0);
		memset(me.memory, (int)i + 1, AREA);
		post_write(sizes[i], me.address, me.theirs);
		CHECK(status() == DAT_DTO_SUCCESS);
		memset(me.memory, 0, AREA);
		post_read(sizes[i], me.address, me.theirs);
		CHECK(status() == DAT_DTO_SUCCESS);
		expect(0, sizes[i], (unsigned char)(i + 1));
		expect(sizes[i], PAGE, 0);
		memset(me.memory, 0, AREA);
		CHECK(kill(other, SIGCONT) == 0);
		meet();
		meet();
	}
	for (i = 0; me.is_server && i < sizeof sizes / sizeof *sizes; i++) {
		meet();
		expect(0, sizes[i], (unsigned char)(i + 1));
		memset(me.memory, 0, AREA + PAGE);
		meet();
	}
}

/* Of several segments likewise: one copy gathers, or scatters, them all. */
static void segments(void)
{
	enum { PIECES = 3 };
	static const size_t at[PIECES] = {PAGE, 3 * PAGE + 5, 2000};
	static const DAT_SEG_LENGTH n[PIECES] = {5000, 1 << 21, 77};
	DAT_LMR_TRIPLET list[PIECES + 1];
	DAT_RMR_TRIPLET there = {me.address, 0, me.theirs};
	size_t sum = 0;
	int i;

	for (i = 0; i < PIECES; i++) {
		list[i] = local(at[i], n[i]);
		sum += n[i];
	}
	list[PIECES] = local(0, 0); /* nothing */
	there.segment_length = sum;
	if (me.is_server) {
		meet();
		for (i = 0, sum = 0; i < PIECES; sum += n[i++])
			expect(sum, n[i], (unsigned char)(i + 1));
		expect(sum, PAGE, 0);
		return;
	}
	CHECK(kill(other, SIGSTOP) == 0);
	memset(me.memory, 0, AREA);
	for (i = 0; i < PIECES; i++)
		memset(me.memory + at[i], i + 1, n[i]);
	MUST(dat_ep_post_rdma_write(me.p.a.ep, PIECES + 1, list, cookie(1), &there,
	                            DAT_COMPLETION_DEFAULT_FLAG));
	CHECK(status() == DAT_DTO_SUCCESS);
	memset(me.memory, 0, AREA);
	MUST(dat_ep_post_rdma_read(me.p.a.ep, PIECES + 1, list, cookie(1), &there,
	                           DAT_COMPLETION_DEFAULT_FLAG));
	CHECK(status() == DAT_DTO_SUCCESS);
	for (i = 0; i < PIECES; i++) {
		expect(at[i], n[i], (unsigned char)(i + 1));
		expect(at[i] + n[i], 64, 0);
	}
	CHECK(kill(other, SIGCONT) == 0);
	meet();
}

/* A write does not overtake a send that waits for its receive: not with its last byte. */
static void order(void)
{
	DAT_LMR_TRIPLET t = local(AREA, 8);
	int i;

	for (i = 0; i < ROUNDS; i++) {
		if (!me.is_server) {
			meet();
			memset(me.memory, 7, 64);
			MUST(dat_ep_post_send(me.p.a.ep, 1, &t, cookie(0),
			                      DAT_COMPLETION_SUPPRESS_FLAG));
			post_write(64, me.address, me.theirs);
			meet();
			CHECK(status() == DAT_DTO_SUCCESS);
			meet();
			continue;
		}
		memset(me.memory, 0, 64);
		meet();
		meet();
		usleep(2000);
		expect(63, 1, 0);
		MUST(dat_ep_post_recv(me.p.a.ep, 1, &t, cookie(0), DAT_COMPLETION_DEFAULT_FLAG));
		pair_event(me.p.a.recv, DAT_DTO_COMPLETION_EVENT);
		meet();
		expect(0, 64, 7);
	}
}

/* Who looks at a write's last byte sees the others, with as many writes as show it. */
static void last_byte(void)
{
	static const DAT_SEG_LENGTH sizes[] = {65, 200, 2047, 4096, 5000, 70000};
	enum { SIZES = sizeof sizes / sizeof *sizes, WRITES = 1500 };
	unsigned char *memory = me.memory;
	int i;

	for (i = 0; i < WRITES * SIZES; i++) {
		DAT_SEG_LENGTH n = sizes[i % SIZES];
		unsigned char value = (unsigned char)(i % 251 + 1);
		size_t at = (size_t)(i / SIZES % 3 * 24);

		if (!me.is_server) {
			memset(memory, value, n);
			meet();
			usleep(1); /* now the server looks */
			post_write(n, me.address + at, me.theirs);
			CHECK(status() == DAT_DTO_SUCCESS);
			continue;
		}
		meet();
		while (__atomic_load_n(memory + at + n - 1, __ATOMIC_ACQUIRE) != value) {
		}
		while (n-- > 0) /* from the end: a copy from the start on stays in front of no one */
			CHECK(memory[at + n] == value);
	}
	meet();
}

/* Writes that follow each other until one fails. */
static void write_until_it_ends(void)
{
	do
		post_write(AREA, me.address, me.theirs);
	while (status() == DAT_DTO_SUCCESS);
}

/* A byte of each page, so that it is quick. */
static void mark(unsigned char value)
{
	size_t at;

	for (at = 0; at < AREA; at += PAGE)
		me.memory[at] = value;
}

static void stay_marked(unsigned char value)
{
	size_t at;

	usleep(3000);
	for (at = 0; at < AREA; at += PAGE)
		CHECK(me.memory[at] == value);
}

/* Memory whose registration ends while it is written: not after dat_lmr_free has returned. */
static void freed(void)
{
	if (!me.is_server) {
		meet();
		write_until_it_ends();
		return;
	}
	meet();
	usleep((useconds_t)(getpid() % 13 * 100));
	MUST(dat_lmr_free(me.lmr));
	mark(0x55);
	stay_marked(0x55);
	pair_event(me.p.a.connection, DAT_CONNECTION_EVENT_BROKEN);
}

/* Likewise of a connection that ends: not after the event. */
static void disconnected(void)
{
	if (!me.is_server) {
		meet();
		write_until_it_ends();
		return;
	}
	meet();
	usleep((useconds_t)(getpid() % 13 * 100));
	MUST(dat_ep_disconnect(me.p.a.ep, DAT_CLOSE_ABRUPT_FLAG));
	pair_event(me.p.a.connection, DAT_CONNECTION_EVENT_DISCONNECTED);
	mark(0x55);
	stay_marked(0x55);
}

/* An origin that is killed while it copies holds nobody up, and not what it had been given. */
static void killed(void)
{
	if (!me.is_server) {
		meet();
		write_until_it_ends();
		exit(1); /* nothing ends it but a signal */
	}
	meet();
	usleep(1000 + (useconds_t)(getpid() % 13 * 100));
	CHECK(kill(other, SIGKILL) == 0);
	MUST(dat_lmr_free(me.lmr));
	mark(0x55);
	stay_marked(0x55);
	pair_event(me.p.a.connection, DAT_CONNECTION_EVENT_BROKEN);
}

/* A target that dies: the origin hears of it. */
static void deserted(void)
{
	if (me.is_server) {
		meet();
		usleep(1000 + (useconds_t)(getpid() % 13 * 100));
		_exit(0);
	}
	meet();
	write_until_it_ends();
	pair_event(me.p.a.connection, DAT_CONNECTION_EVENT_BROKEN);
}

static DAT_RMR_CONTEXT bad;
static DAT_VADDR bad_address;

/* What the client may not access, by number; it learns context and address. */
enum { NO_WRITE, NO_READ, OTHER_ZONE, BOUNDS, BEFORE, STALE, NO_SUCH, BADS };

static void make_bad(int kind)
{
	unsigned char *at = me.memory + AREA;
	DAT_LMR_CONTEXT context;
	DAT_LMR_HANDLE lmr;
	DAT_PZ_HANDLE pz = me.p.pz;
	int privileges = DAT_MEM_PRIV_ALL_FLAG;

	if (kind == NO_WRITE)
		privileges &= ~DAT_MEM_PRIV_REMOTE_WRITE_FLAG;
	if (kind == NO_READ)
		privileges &= ~DAT_MEM_PRIV_REMOTE_READ_FLAG;
	if (kind == OTHER_ZONE)
		MUST(dat_pz_create(me.p.ia, &pz));
	lmr = registered(at, PAGE, privileges, pz, &context, &bad);
	bad_address = (DAT_VADDR)(size_t)at + (kind == BOUNDS ? PAGE - 63 : 0);
	if (kind == BEFORE)
		bad_address -= 1;
	if (kind == STALE)
		MUST(dat_lmr_free(lmr));
	if (kind == NO_SUCH)
		bad ^= 0x7ff00000;
}

static void forbidden(int kind)
{
	if (me.is_server) {
		memset(me.memory, 9, AREA + 2 * PAGE);
		make_bad(kind);
		say(&bad, sizeof bad);
		say(&bad_address, sizeof bad_address);
		meet();
		expect(0, AREA + 2 * PAGE, 9);
		return;
	}
	hear(&bad, sizeof bad);
	hear(&bad_address, sizeof bad_address);
	memset(me.memory, 3, PAGE);
	if (kind == NO_READ)
		post_read(64, bad_address, bad);
	else
		post_write(64, bad_address, bad);
	CHECK(status() == DAT_DTO_ERR_REMOTE_ACCESS);
	expect(0, 64, 3);
	meet();
}

/* An endpoint that may post no segments: neither lane nor copy gets round that. */
static void no_segments(void)
{
	DAT_LMR_TRIPLET t = local(0, 8);
	DAT_RMR_TRIPLET to = {me.address, 8, me.theirs};
	int i;

	meet();
	for (i = 0; !me.is_server && i < ROUNDS; i++) {
		CHECK(DAT_GET_TYPE(dat_ep_post_send(me.p.a.ep, 1, &t, cookie(0),
		                                    DAT_COMPLETION_DEFAULT_FLAG)) ==
		      DAT_INVALID_PARAMETER);
		CHECK(DAT_GET_TYPE(dat_ep_post_recv(me.p.a.ep, 1, &t, cookie(0),
		                                    DAT_COMPLETION_DEFAULT_FLAG)) ==
		      DAT_INVALID_PARAMETER);
		CHECK(DAT_GET_TYPE(dat_ep_post_rdma_write(me.p.a.ep, 1, &t, cookie(0), &to,
		                                          DAT_COMPLETION_DEFAULT_FLAG)) ==
		      DAT_INVALID_PARAMETER);
		CHECK(DAT_GET_TYPE(dat_ep_post_rdma_read(me.p.a.ep, 1, &t, cookie(0), &to,
		                                         DAT_COMPLETION_DEFAULT_FLAG)) ==
		      DAT_INVALID_PARAMETER);
		usleep(1000);
	}
	meet();
}

static const struct {
	const char *name;
	void (*run)(void);
	int times;
} cases[] = {
	{"stopped", stopped, 1},    {"segments", segments, 1},
	{"order", order, 1},
	{"last byte", last_byte, 1},
	{"freed", freed, ROUNDS},   {"disconnected", disconnected, ROUNDS},
	{"killed", killed, ROUNDS}, {"deserted", deserted, ROUNDS},
	{"forbidden", NULL, BADS},  {"no segments", no_segments, 1},
};

enum { CASES = sizeof cases / sizeof *cases };

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
	if (cases[number].run != no_segments)
		return;
	MUST(dat_ep_free(me.p.a.ep));
	memset(&attr, 0, sizeof attr);
	attr.max_recv_dtos = attr.max_request_dtos = DEPTH;
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
	if (cases[number].run)
		cases[number].run();
	else
		forbidden(time);
	MUST(dat_ia_close(me.p.ia, DAT_CLOSE_ABRUPT_FLAG));
	return 0;
}

/* 1 if the case went well. */
static int run(char *program, int number, int time)
{
	int there[2], back[2], server_status, client_status, i;
	pid_t server, client;
	char which[16], when[16];

	snprintf(which, sizeof which, "%d", number);
	snprintf(when, sizeof when, "%d", time);
	CHECK(pipe2(there, 0) == 0 && pipe2(back, 0) == 0);
	server = start(program, "server", there[0], back[1], which, when);
	client = start(program, "client", back[0], there[1], which, when);
	for (i = 0; i < 2; i++) {
		close(there[i]);
		close(back[i]);
	}
	CHECK(waitpid(client, &client_status, 0) == client);
	CHECK(kill(server, SIGCONT) == 0); /* a client that fails may have stopped it */
	CHECK(waitpid(server, &server_status, 0) == server);
	if (cases[number].run == killed)
		return server_status == 0 && WIFSIGNALED(client_status) &&
		       WTERMSIG(client_status) == SIGKILL;
	return server_status == 0 && client_status == 0;
}

/* All cases, or one of them, with the fast lane set so; 1 if they went well. */
static int all(char *program, const char *setting, const char *only)
{
	int i, k;

	setenv("LAPI_FASTLANE", setting, 1);
	for (i = 0; i < CASES; i++) {
		if (only && strcmp(only, cases[i].name))
			continue;
		if (strcmp(setting, "on") &&
		    (cases[i].run == stopped || cases[i].run == segments))
			continue; /* then the target takes part, at least now and then */
		printf("%s, %s\n", setting, cases[i].name);
		fflush(stdout);
		for (k = 0; k < cases[i].times; k++)
			if (!run(program, i, k)) {
				printf("%s %d has failed\n", cases[i].name, k);
				return 0;
			}
	}
	return 1;
}

int main(int argc, char **argv)
{
	static const char *const settings[] = {"on", "random", "off"};
	const char *only = argc == 2 ? argv[1] : NULL;
	int i;

	if (argc == 6)
		return side_of(argv);
	setenv("LAPI_DAT_TIMEOUT", "1000", 1); /* nothing is to end by that */
	for (i = 0; i < 3; i++)
		if (!all(argv[0], settings[i], only))
			return 1;
	puts("direct: passed"); /* as scripts/dat-test.sh wants it */
	return 0;
}
