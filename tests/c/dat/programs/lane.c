/*
 * lane.c - two connected processes of a node: transfers by the fast lane, transfers by core, and
 * each change between the two, with LAPI_FASTLANE on, off and random in either process. The first
 * process of all starts a client and a server for each pair of settings; these meet by pipes.
 */
#define _GNU_SOURCE
#include "two.h"

#include <poll.h>
#include <sys/wait.h>
#include <time.h>

enum { DEPTH = 16, SENDS = 600, ROUNDS = 600, TRIGGERS = 20, AREA = 4096, LONG = 300000 };

/* Both sides draw the same numbers. */
static unsigned random_state;

static unsigned draw(unsigned below)
{
	random_state = random_state * 1103515245u + 12345u;
	return (random_state >> 16) % below;
}

static DAT_RMR_TRIPLET remote(size_t at, DAT_SEG_LENGTH n)
{
	DAT_RMR_TRIPLET t = {me.address + at, n, me.theirs};

	return t;
}

static void post_recv(DAT_UINT64 n, size_t at, DAT_SEG_LENGTH size)
{
	DAT_LMR_TRIPLET t = local(at, size);

	MUST(dat_ep_post_recv(me.p.a.ep, 1, &t, cookie(n), DAT_COMPLETION_DEFAULT_FLAG));
}

/* The next event of an EVD, by polling or waiting, must be a completion of that request. */
static DAT_EVENT completed(DAT_EVD_HANDLE evd, DAT_UINT64 n, DAT_DTO_COMPLETION_STATUS status)
{
	DAT_DTO_COMPLETION_EVENT_DATA *dto;
	DAT_RETURN result = DAT_QUEUE_EMPTY;
	DAT_EVENT event;
	DAT_COUNT more;
	int i;

	for (i = 0; i < 1000 && result != DAT_SUCCESS; i++)
		result = dat_evd_dequeue(evd, &event);
	if (result != DAT_SUCCESS)
		MUST(dat_evd_wait(evd, PAIR_WAIT, 1, &event, &more));
	dto = &event.event_data.dto_completion_event_data;
	CHECK(event.evd_handle == evd && dto->ep_handle == me.p.a.ep);
	if (dto->user_cookie.as_64 != n || dto->status != status) {
		printf("cookie %llu, not %llu; status %d, not %d\n",
		       (unsigned long long)dto->user_cookie.as_64, (unsigned long long)n,
		       (int)dto->status, (int)status);
		exit(1);
	}
	return event;
}

static void fill(size_t at, size_t n, unsigned seed)
{
	size_t i;

	for (i = 0; i < n; i++)
		me.memory[at + i] = (unsigned char)(seed + i * 7);
}

static void expect(size_t at, size_t n, unsigned seed)
{
	size_t i;

	for (i = 0; i < n; i++)
		CHECK(me.memory[at + i] == (unsigned char)(seed + i * 7));
}

/* Mostly short, some in several parts. */
static DAT_SEG_LENGTH length(void)
{
	unsigned n = draw(20);

	return n == 0   ? 0
	       : n < 12 ? 1 + draw(600)
	       : n < 18 ? draw(AREA)
	                : 20000 + draw(LONG - 20000);
}

/* Messages with receives posted before, in order. */
static void sends(void)
{
	DAT_UINT64 i;

	if (me.is_server)
		for (i = 0; i < DEPTH; i++)
			post_recv(i, LONG * (i % 2), LONG);
	meet();
	for (i = 0; i < SENDS; i++) {
		DAT_SEG_LENGTH n = length();

		if (me.is_server) {
			DAT_EVENT event = completed(me.p.a.recv, i, DAT_DTO_SUCCESS);

			CHECK(event.event_data.dto_completion_event_data.transfered_length == n);
			expect(LONG * (i % 2), n, (unsigned)i);
			post_recv(i + DEPTH, LONG * (i % 2), LONG);
		} else {
			DAT_LMR_TRIPLET t = local(0, n);

			fill(0, n, (unsigned)i);
			MUST(dat_ep_post_send(me.p.a.ep, n > 0, &t, cookie(i),
			                      DAT_COMPLETION_DEFAULT_FLAG));
			completed(me.p.a.request, i, DAT_DTO_SUCCESS);
		}
		if (i % 2)
			meet(); /* two buffers are there */
	}
}

/* Many at once, the receives come later; some of the requests say nothing. */
static void late_receives(void)
{
	DAT_UINT64 i;

	if (me.is_server) /* receives of the earlier sends */
		for (i = 0; i < DEPTH; i++)
			completed(me.p.a.recv, SENDS + i, DAT_DTO_SUCCESS);
	for (i = 0; !me.is_server && i < DEPTH; i++) {
		MUST(dat_ep_post_send(me.p.a.ep, 0, NULL, cookie(i), DAT_COMPLETION_SUPPRESS_FLAG));
	}
	meet();
	for (i = 0; !me.is_server && i < 8; i++) {
		DAT_LMR_TRIPLET t = local(i * 16, 16);

		fill(i * 16, 16, (unsigned)i);
		MUST(dat_ep_post_send(me.p.a.ep, 1, &t, cookie(i),
		                      i % 3 ? DAT_COMPLETION_DEFAULT_FLAG
		                            : DAT_COMPLETION_SUPPRESS_FLAG));
	}
	meet();
	usleep(2000);
	for (i = 0; i < 8; i++) {
		if (me.is_server) {
			post_recv(i, i * 16, 16);
			completed(me.p.a.recv, i, DAT_DTO_SUCCESS);
			expect(i * 16, 16, (unsigned)i);
		} else if (i % 3) {
			completed(me.p.a.request, i, DAT_DTO_SUCCESS);
		}
	}
	meet();
}

/* Reads and atomics are done by core: the connection changes between lane and core. */
static void round_of(DAT_UINT64 i)
{
	DAT_SEG_LENGTH n = length();
	DAT_LMR_TRIPLET from = local(0, n), word = local(AREA * 300, 8);
	DAT_RMR_TRIPLET to = remote(0, n), counter = remote(AREA * 310, 8);

	fill(0, n, (unsigned)i);
	switch (draw(6)) {
	case 0:
	case 1: /* a write and its notice; the first makes no event */
		MUST(dat_ep_post_rdma_write(me.p.a.ep, 1, &from, cookie(0), &to,
		                            DAT_COMPLETION_SUPPRESS_FLAG));
		MUST(dat_ep_post_send(me.p.a.ep, 0, NULL, cookie(i), DAT_COMPLETION_DEFAULT_FLAG));
		break;
	case 2:
	case 3:
		MUST(dat_ib_post_rdma_write_immed(me.p.a.ep, 1, &from, cookie(i), &to,
		                                  (DAT_UINT32)i, DAT_COMPLETION_DEFAULT_FLAG));
		break;
	case 4:
		MUST(dat_ep_post_rdma_write(me.p.a.ep, 1, &from, cookie(i), &to,
		                            DAT_COMPLETION_DEFAULT_FLAG));
		completed(me.p.a.request, i, DAT_DTO_SUCCESS);
		memset(me.memory, 0, n);
		MUST(dat_ep_post_rdma_read(me.p.a.ep, 1, &from, cookie(i), &to,
		                           DAT_COMPLETION_DEFAULT_FLAG));
		completed(me.p.a.request, i, DAT_DTO_SUCCESS);
		expect(0, n, (unsigned)i);
		MUST(dat_ep_post_send(me.p.a.ep, 0, NULL, cookie(i), DAT_COMPLETION_DEFAULT_FLAG));
		break;
	default:
		MUST(dat_ep_post_rdma_write(me.p.a.ep, 1, &from, cookie(0), &to,
		                            DAT_COMPLETION_SUPPRESS_FLAG));
		MUST(dat_ib_post_fetch_and_add(me.p.a.ep, 1, &word, cookie(i), &counter,
		                               DAT_COMPLETION_DEFAULT_FLAG));
		MUST(dat_ep_post_send(me.p.a.ep, 0, NULL, cookie(i), DAT_COMPLETION_DEFAULT_FLAG));
		completed(me.p.a.request, i, DAT_DTO_SUCCESS);
	}
	completed(me.p.a.request, i, DAT_DTO_SUCCESS);
}

static void see_round(DAT_UINT64 i)
{
	DAT_SEG_LENGTH n = length();
	unsigned kind = draw(6);
	DAT_EVENT event = completed(me.p.a.recv, i, DAT_DTO_SUCCESS);

	if (kind == 2 || kind == 3) {
		const DAT_IB_EXTENSION_EVENT_DATA *extension =
			(const void *)event.event_extension_data;

		CHECK((unsigned)event.event_number == DAT_IB_DTO_EVENT);
		CHECK(extension->type == DAT_IB_RDMA_WRITE_IMMED_DATA);
		CHECK(extension->val.immed.data == (DAT_UINT32)i);
		CHECK(event.event_data.dto_completion_event_data.transfered_length == n);
	}
	expect(0, n, (unsigned)i);
	post_recv(i + DEPTH, LONG, 64);
}

static void mixed(void)
{
	DAT_UINT64 i;

	if (me.is_server)
		for (i = 0; i < DEPTH; i++)
			post_recv(i, LONG, 64);
	meet();
	for (i = 0; i < ROUNDS; i++) {
		if (me.is_server)
			see_round(i);
		else
			round_of(i);
		meet();
	}
}

/* Sleeps until the descriptor of a CNO is readable, as that EVD has fired. */
static void triggered(DAT_CNO_HANDLE cno, DAT_FD fd, DAT_EVD_HANDLE evd)
{
	struct pollfd file = {.fd = (int)fd, .events = POLLIN};
	DAT_EVD_HANDLE fired;

	CHECK(poll(&file, 1, PAIR_WAIT / 1000) == 1);
	MUST(dat_cno_trigger(cno, &fired));
	CHECK(fired == evd);
}

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int in_order(const void *a, const void *b)
{
	double d = *(const double *)a - *(const double *)b;

	return (d > 0) - (d < 0);
}

/* A message to a process that sleeps: how long it takes until this one is woken, by the descriptor
 * of a CNO or, without one, by dat_evd_wait. */
static double woken(DAT_UINT64 round, DAT_CNO_HANDLE cno, DAT_FD fd)
{
	DAT_EVD_HANDLE evd = me.is_server ? me.p.a.recv : me.p.a.request;
	DAT_LMR_TRIPLET t = local(0, 8);
	DAT_EVENT event;
	DAT_COUNT more;
	double took;

	meet();
	usleep(1000 + draw(3000)); /* the service threads sleep */
	MUST(dat_evd_modify_cno(evd, cno));
	took = -seconds();
	if (!me.is_server)
		MUST(dat_ep_post_send(me.p.a.ep, 1, &t, cookie(round),
		                      DAT_COMPLETION_DEFAULT_FLAG));
	if (cno)
		triggered(cno, fd, evd);
	MUST(dat_evd_wait(evd, PAIR_WAIT, 1, &event, &more));
	took += seconds();
	MUST(dat_evd_modify_cno(evd, DAT_HANDLE_NULL));
	CHECK(event.event_data.dto_completion_event_data.user_cookie.as_64 ==
	      (me.is_server ? ROUNDS + round : round));
	if (me.is_server)
		post_recv(ROUNDS + DEPTH + round, LONG, 64);
	return took;
}

/*
 * A program that sleeps in poll(2) until the descriptor of a CNO is readable: for receives, and for
 * completions, of which no message of the peer's need tell. It is woken as soon as a thread that
 * waits for the event, not when the library looks after peers the next time. The CNO is new each
 * time.
 */
static void descriptors(void)
{
	double by_event[TRIGGERS], by_descriptor[TRIGGERS];
	DAT_CNO_HANDLE cno;
	DAT_UINT64 i;
	DAT_FD fd;

	MUST(dat_cno_fd_create(me.p.ia, &fd, &cno));
	for (i = 0; i < TRIGGERS; i++) {
		by_event[i] = woken(2 * i, DAT_HANDLE_NULL, 0);
		by_descriptor[i] = woken(2 * i + 1, cno, fd);
	}
	qsort(by_event, TRIGGERS, sizeof(double), in_order);
	qsort(by_descriptor, TRIGGERS, sizeof(double), in_order);
	/* the server may have its message before it looks */
	if (!me.is_server && by_descriptor[TRIGGERS / 2] > 50 * by_event[TRIGGERS / 2]) {
		printf("woken by an event after %.0f us, by a descriptor after %.0f us\n",
		       by_event[TRIGGERS / 2] * 1e6, by_descriptor[TRIGGERS / 2] * 1e6);
		exit(1);
	}
	MUST(dat_cno_free(cno));
	meet();
}

/* Memory that is no longer registered ends the connection, and everything completes. */
static void ending(void)
{
	DAT_LMR_TRIPLET t = local(0, 8);
	DAT_RMR_TRIPLET to = remote(0, 8);
	DAT_UINT64 i;

	if (me.is_server) {
		MUST(dat_lmr_free(me.lmr));
		meet();
		for (i = 0; i < DEPTH; i++)
			completed(me.p.a.recv, ROUNDS + 2 * TRIGGERS + i, DAT_DTO_ERR_FLUSHED);
	} else {
		post_recv(7, 0, 8);
		meet();
		MUST(dat_ep_post_rdma_write(me.p.a.ep, 1, &t, cookie(1), &to,
		                            DAT_COMPLETION_DEFAULT_FLAG));
		MUST(dat_ep_post_send(me.p.a.ep, 0, NULL, cookie(2), DAT_COMPLETION_DEFAULT_FLAG));
		completed(me.p.a.request, 1, DAT_DTO_ERR_REMOTE_ACCESS);
		completed(me.p.a.request, 2, DAT_DTO_ERR_FLUSHED);
		completed(me.p.a.recv, 7, DAT_DTO_ERR_FLUSHED);
	}
	pair_event(me.p.a.connection, DAT_CONNECTION_EVENT_BROKEN);
	meet();
}

static void register_memory(void)
{
	int privileges = DAT_MEM_PRIV_ALL_FLAG | DAT_IB_MEM_PRIV_REMOTE_ATOMIC;
	DAT_REGION_DESCRIPTION region;
	DAT_VLEN size;
	DAT_VADDR address;

	me.memory = calloc(1, AREA * 400);
	CHECK(me.memory != NULL);
	region.for_va = me.memory;
	MUST(dat_lmr_create(me.p.ia, DAT_MEM_TYPE_VIRTUAL, region, AREA * 400, me.p.pz,
	                    (DAT_MEM_PRIV_FLAGS)privileges, DAT_VA_TYPE_VA, &me.lmr, &me.local,
	                    &me.remote, &size, &address));
	address = (DAT_VADDR)(size_t)me.memory;
	say(&me.remote, sizeof me.remote);
	say(&address, sizeof address);
	hear(&me.theirs, sizeof me.theirs);
	hear(&me.address, sizeof me.address);
}

static int side_of(char **argv)
{
	begin(argv);
	random_state = 7;
	MUST(dat_ia_open((DAT_NAME_PTR) "lapi-lo", 8, &me.p.async, &me.p.ia));
	MUST(dat_pz_create(me.p.ia, &me.p.pz));
	register_memory();
	MUST(dat_evd_create(me.p.ia, 8, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG, &me.p.requests));
	pair_side(&me.p, &me.p.a, 2 * DEPTH);
	connect_sides();
	sends();
	late_receives();
	mixed();
	descriptors();
	ending();
	MUST(dat_ia_close(me.p.ia, DAT_CLOSE_ABRUPT_FLAG));
	return 0;
}

static void run(char *program, const char *server, const char *client, const char *route)
{
	int there[2], back[2], status, i;

	printf("server %s, client %s, route %s\n", server, client, route);
	fflush(stdout);
	setenv("LAPI_ROUTE", route, 1);
	CHECK(pipe(there) == 0 && pipe(back) == 0);
	setenv("LAPI_FASTLANE", server, 1);
	start(program, "server", there[0], back[1], NULL, NULL);
	setenv("LAPI_FASTLANE", client, 1);
	start(program, "client", back[0], there[1], NULL, NULL);
	for (i = 0; i < 2; i++)
		CHECK(wait(&status) > 0 && status == 0);
	for (i = 0; i < 2; i++) {
		close(there[i]);
		close(back[i]);
	}
}

int main(int argc, char **argv)
{
	static const char *const settings[] = {"on", "random", "off"};
	static const char *const routes[] = {"pipeline", "origin", "target", "halves"};
	int i, k;

	alarm(280); /* guards against hangs only */
	if (argc == 4)
		return side_of(argv);
	for (i = 0; i < 3; i++)
		for (k = 0; k < 3; k++)
			run(argv[0], settings[i], settings[k], "auto");
	for (i = 0; i < 4; i++)
		for (k = 0; k < 2; k++) /* a server that answers by chance has it sent again */
			run(argv[0], settings[k], settings[0], routes[i]);
	printf("lane: passed\n");
	return 0;
}
