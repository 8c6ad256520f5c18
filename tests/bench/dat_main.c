/* dat_main.c - the benchmark program that uses uDAPL. lapirun starts its two sides and gives them
 * their numbers; they do not use LAPI. */
#include "dat_bench.h"

#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct {
	const char *name;
	void (*run)(side *);
} tests[] = {
	{"dat", dat_rounds},
	{"dat-idle", dat_idle},
	{"dat-wake", dat_wake},
	{"dat-connections", dat_connections},
};

void dat_check(DAT_RETURN result, const char *call)
{
	const char *major = "", *minor = "";

	if (result == DAT_SUCCESS)
		return;
	dat_strerror(result, &major, &minor);
	fail("%s: %#x %s %s", call, (unsigned)result, major, minor);
}

void side_poll(DAT_EVD_HANDLE evd, DAT_EVENT *event)
{
	DAT_RETURN result;

	while ((result = dat_evd_dequeue(evd, event)) != DAT_SUCCESS)
		if (DAT_GET_TYPE(result) != DAT_QUEUE_EMPTY)
			dat_check(result, "dat_evd_dequeue");
}

DAT_EVENT side_wait(DAT_EVD_HANDLE evd, DAT_EVENT_NUMBER number)
{
	DAT_EVENT event;
	DAT_COUNT more;

	DAT(dat_evd_wait(evd, 20000000, 1, &event, &more));
	if (event.event_number != number)
		fail("event %#x, not %#x", (unsigned)event.event_number, (unsigned)number);
	return event;
}

static DAT_DTO_COMPLETION_STATUS status_of(const DAT_EVENT *event)
{
	return event->event_data.dto_completion_event_data.status;
}

void side_completed(side *s)
{
	DAT_EVENT event;

	side_poll(s->request, &event);
	if (status_of(&event) != DAT_DTO_SUCCESS)
		fail("a request has ended with status %d", (int)status_of(&event));
}

DAT_LMR_TRIPLET side_triplet(const side *s, const volatile char *at, size_t n)
{
	DAT_LMR_TRIPLET t;

	memset(&t, 0, sizeof t);
	t.virtual_address = (DAT_VADDR)(uintptr_t)at;
	t.segment_length = (DAT_SEG_LENGTH)n;
	t.lmr_context = s->local;
	return t;
}

void side_post_recv(side *s)
{
	DAT_LMR_TRIPLET t = side_triplet(s, s->in, s->size);
	DAT_DTO_COOKIE cookie = {.as_64 = 1};

	DAT(dat_ep_post_recv(s->ep, 1, &t, cookie, DAT_COMPLETION_DEFAULT_FLAG));
}

void side_new_endpoint(side *s)
{
	DAT_EP_ATTR attr;

	memset(&attr, 0, sizeof attr);
	attr.max_mtu_size = attr.max_rdma_size = 1 << 24;
	attr.max_recv_dtos = attr.max_request_dtos = DAT_DEPTH;
	attr.max_recv_iov = attr.max_request_iov = 1;
	attr.max_rdma_read_in = attr.max_rdma_read_out = 4;
	DAT(dat_ep_create(s->ia, s->pz, s->recv, s->request, s->connection, &attr, &s->ep));
}

/* Qualifiers are of the machine: each pair of processes has its own. */
static DAT_CONN_QUAL qualifier(const side *s)
{
	return 20000 + (DAT_CONN_QUAL)s->b->word[3].value % 30000;
}

void side_connect(side *s)
{
	struct sockaddr_in to;
	DAT_EVENT event;

	if (s->id == 0) {
		memset(&to, 0, sizeof to);
		to.sin_family = AF_INET;
		to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
		DAT(dat_ep_connect(s->ep, (DAT_IA_ADDRESS_PTR)&to, qualifier(s), 20000000, 0, NULL,
		                   DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
	} else {
		event = side_wait(s->requests, DAT_CONNECTION_REQUEST_EVENT);
		DAT(dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle, s->ep, 0,
		                  NULL));
	}
	side_wait(s->connection, DAT_CONNECTION_EVENT_ESTABLISHED);
}

static void register_memory(side *s)
{
	size_t half = s->o->sizes[s->o->num_sizes - 1];
	DAT_REGION_DESCRIPTION region;
	DAT_RMR_CONTEXT remote;
	DAT_VLEN length;
	DAT_VADDR address;
	void *memory;

	half = half < 4096 ? 4096 : half;
	if (posix_memalign(&memory, 4096, 2 * half))
		fail("no memory for %zu bytes", 2 * half);
	memset(memory, 0, 2 * half);
	s->in = memory;
	s->out = (char *)memory + half;
	region.for_va = memory;
	DAT(dat_lmr_create(s->ia, DAT_MEM_TYPE_VIRTUAL, region, 2 * half, s->pz,
	                   DAT_MEM_PRIV_ALL_FLAG, DAT_VA_TYPE_VA, &s->lmr, &s->local, &remote,
	                   &length, &address));
	/* the sides exchange the addresses to which they may write */
	s->b->task[s->id].begin = (uintptr_t)memory;
	s->b->task[s->id].end = remote;
}

static void open_side(side *s)
{
	DAT_PSP_HANDLE psp;

	if (s->id == 0)
		s->b->word[3].value = (uint64_t)getpid();
	board_barrier(s->b, 2, NULL, NULL);
	DAT(dat_ia_open((DAT_NAME_PTR) "lapi-lo", 8, &s->async, &s->ia));
	DAT(dat_pz_create(s->ia, &s->pz));
	register_memory(s);
	DAT(dat_evd_create(s->ia, 16, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG, &s->requests));
	DAT(dat_evd_create(s->ia, 16, DAT_HANDLE_NULL, DAT_EVD_CONNECTION_FLAG, &s->connection));
	DAT(dat_evd_create(s->ia, 4 * DAT_DEPTH, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &s->recv));
	DAT(dat_evd_create(s->ia, 4 * DAT_DEPTH, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &s->request));
	if (s->id == 1)
		DAT(dat_psp_create(s->ia, qualifier(s), s->requests, DAT_PSP_CONSUMER_FLAG, &psp));
	side_new_endpoint(s);
	board_barrier(s->b, 2, NULL, NULL); /* side 1 listens */
	side_connect(s);
	memset(&s->there, 0, sizeof s->there);
	s->there.virtual_address = s->b->task[1 - s->id].begin;
	s->there.rmr_context = (DAT_RMR_CONTEXT)s->b->task[1 - s->id].end;
}

static void run(board *b, const bench_options *o, int id, void (*test)(side *))
{
	side s;

	memset(&s, 0, sizeof s);
	s.b = b;
	s.o = o;
	s.id = id;
	open_side(&s);
	/* only this thread: the library's own, made by dat_ia_open, runs where a core is free */
	pin_to_core(id);
	test(&s);
	board_barrier(b, 2, NULL, NULL);
	DAT(dat_ia_close(s.ia, DAT_CLOSE_ABRUPT_FLAG));
	board_account(b);
}

int main(int argc, char **argv)
{
	bench_options o;
	const char *child = getenv("MP_CHILD");
	size_t i;

	parse_options(argc, argv, &o);
	if (!o.board_path || !child)
		fail("--board and lapirun are needed: the two sides are tasks of a job");
	alarm(120); /* guards against hangs only */
	for (i = 0; i < sizeof tests / sizeof *tests; i++)
		if (!strcmp(o.test, tests[i].name)) {
			run(board_open(o.board_path), &o, atoi(child), tests[i].run);
			return 0;
		}
	fail("no test %s", o.test);
}
