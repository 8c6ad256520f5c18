/*
 * windows.c - memory windows, sends that invalidate, and solicited waits on RDMA adapters, between
 * two machines. The server has memory and opens parts of it; the client accesses them, also where
 * it may not: each of these attempts is on a connection of its own, which it breaks. Both do the
 * same steps; over the first connection they send each other contexts, and notes that a step is
 * done.
 *
 * usage: windows -P ADAPTER [-h SERVER]
 */
#include "../c/dat/programs/pair.h"

#include <arpa/inet.h>
#include <unistd.h>

enum { QUALIFIER = 4711, REQUESTS = 16, LENGTH = 64, AT = 1024, NOTES = 60000 };

static pair p;
static struct sockaddr_in server;
static int serving;

/* The note that the two processes send each other. */
typedef struct note {
	DAT_UINT64 address;
	DAT_RMR_CONTEXT context;
} note;

static const DAT_DTO_COOKIE none;

static void open_adapter(char *name)
{
	DAT_REGION_DESCRIPTION region = {.for_va = p.memory};
	DAT_VLEN size;
	DAT_VADDR address;
	DAT_PSP_HANDLE psp;

	MUST(dat_ia_open(name, 8, &p.async, &p.ia));
	MUST(dat_pz_create(p.ia, &p.pz));
	MUST(dat_lmr_create(p.ia, DAT_MEM_TYPE_VIRTUAL, region, sizeof p.memory, p.pz,
	                    DAT_MEM_PRIV_ALL_FLAG, DAT_VA_TYPE_VA, &p.lmr, &p.local, &p.remote,
	                    &size, &address));
	MUST(dat_evd_create(p.ia, 8, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG, &p.requests));
	if (serving)
		MUST(dat_psp_create(p.ia, QUALIFIER, p.requests, DAT_PSP_CONSUMER_FLAG, &psp));
}

static void post_receive(side *s)
{
	DAT_LMR_TRIPLET at = pair_local(&p, NOTES, sizeof(note));

	MUST(dat_ep_post_recv(s->ep, 1, &at, none, DAT_COMPLETION_DEFAULT_FLAG));
}

/* A connection of both sides. */
static void join(side *s, DAT_COMPLETION_FLAGS receives)
{
	DAT_EP_ATTR attr = {.recv_completion_flags = receives,
	                    .max_recv_dtos = REQUESTS,
	                    .max_request_dtos = REQUESTS,
	                    .max_recv_iov = 1,
	                    .max_request_iov = 1};
	DAT_EVENT event;

	pair_side(&p, s, REQUESTS);
	if (receives) {
		MUST(dat_ep_free(s->ep));
		MUST(dat_ep_create(p.ia, p.pz, s->recv, s->request, s->connection, &attr, &s->ep));
	}
	for (int i = 0; i < 4; i++)
		post_receive(s);
	if (serving) {
		event = pair_event(p.requests, DAT_CONNECTION_REQUEST_EVENT);
		MUST(dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle, s->ep, 0,
		                   NULL));
	} else {
		MUST(dat_ep_connect(s->ep, (DAT_IA_ADDRESS_PTR)&server, QUALIFIER, PAIR_WAIT, 0,
		                    NULL, DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
	}
	pair_event(s->connection, DAT_CONNECTION_EVENT_ESTABLISHED);
}

static DAT_DTO_COMPLETION_EVENT_DATA completion(DAT_EVD_HANDLE evd)
{
	return pair_event(evd, DAT_DTO_COMPLETION_EVENT).event_data.dto_completion_event_data;
}

/* A request of that queue that succeeds. */
static void succeeds(DAT_EVD_HANDLE evd)
{
	DAT_DTO_COMPLETION_EVENT_DATA d = completion(evd);

	if (d.status != DAT_DTO_SUCCESS)
		printf("status %d, operation %d\n", d.status, d.operation);
	CHECK(d.status == DAT_DTO_SUCCESS);
}

static void tell(side *s, DAT_RMR_CONTEXT context, const void *address)
{
	note *n = (note *)((char *)p.memory + NOTES + 1024);
	DAT_LMR_TRIPLET at = pair_local(&p, NOTES + 1024, sizeof *n);

	*n = (note){(DAT_UINT64)(size_t)address, context};
	MUST(dat_ep_post_send(s->ep, 1, &at, none, DAT_COMPLETION_DEFAULT_FLAG));
	succeeds(s->request);
}

static note hear(side *s)
{
	DAT_DTO_COMPLETION_EVENT_DATA d = completion(s->recv);
	note n;

	CHECK(d.status == DAT_DTO_SUCCESS && d.operation == DAT_DTO_RECEIVE);
	memcpy(&n, (char *)p.memory + NOTES, sizeof n);
	post_receive(s);
	return n;
}

static void meet(side *s)
{
	if (serving) {
		tell(s, 0, NULL);
		hear(s);
	} else {
		hear(s);
		tell(s, 0, NULL);
	}
}

/* The client's access, and its status. */
static DAT_DTO_COMPLETION_STATUS reach(side *s, int write, note n, DAT_SEG_LENGTH length)
{
	DAT_LMR_TRIPLET here = pair_local(&p, 0, length);
	DAT_RMR_TRIPLET there = {n.address, length, n.context};

	if (write)
		MUST(dat_ep_post_rdma_write(s->ep, 1, &here, none, &there,
		                            DAT_COMPLETION_DEFAULT_FLAG));
	else
		MUST(dat_ep_post_rdma_read(s->ep, 1, &here, none, &there,
		                           DAT_COMPLETION_DEFAULT_FLAG));
	return completion(s->request).status;
}

/* The end of a connection that an access has broken. */
static void broken(side *s)
{
	DAT_EVENT event;
	DAT_COUNT more;

	MUST(dat_evd_wait(s->connection, PAIR_WAIT, 1, &event, &more));
	CHECK(event.event_number == DAT_CONNECTION_EVENT_BROKEN ||
	      event.event_number == DAT_CONNECTION_EVENT_DISCONNECTED);
	pair_close_side(s);
}

/* An access that the window does not grant, or not by another connection. */
static void denied(const char *what, int write, note n, DAT_SEG_LENGTH length)
{
	side s;

	join(&s, DAT_COMPLETION_DEFAULT_FLAG);
	if (!serving) {
		DAT_DTO_COMPLETION_STATUS status = reach(&s, write, n, length);
		if (status != DAT_DTO_ERR_REMOTE_ACCESS)
			printf("%s: status %d\n", what, status);
		CHECK(status == DAT_DTO_ERR_REMOTE_ACCESS);
	}
	broken(&s);
}

/* Binds. */
static DAT_RMR_CONTEXT open_as(side *s, DAT_RMR_HANDLE rmr, size_t at, DAT_SEG_LENGTH n, int rights,
                               DAT_VA_TYPE type)
{
	DAT_LMR_TRIPLET part = pair_local(&p, at, n);
	const DAT_RMR_BIND_COMPLETION_EVENT_DATA *d;
	DAT_EVENT event;
	DAT_RMR_PARAM param;
	DAT_RMR_CONTEXT context;

	MUST(dat_rmr_bind(rmr, n ? p.lmr : DAT_HANDLE_NULL, &part, (DAT_MEM_PRIV_FLAGS)rights,
	                  type, s->ep, none, DAT_COMPLETION_DEFAULT_FLAG, &context));
	event = pair_event(s->request, DAT_RMR_BIND_COMPLETION_EVENT);
	d = &event.event_data.rmr_completion_event_data;
	CHECK(d->rmr_handle == rmr && d->status == DAT_RMR_BIND_SUCCESS);
	MUST(dat_rmr_query(rmr, DAT_RMR_FIELD_ALL, &param));
	CHECK(param.rmr_context == (n ? context : 0));
	return context;
}

/* With addresses; n is 0: unbinds. */
static DAT_RMR_CONTEXT open_window(side *s, DAT_RMR_HANDLE rmr, size_t at, DAT_SEG_LENGTH n,
                                   int rights)
{
	return open_as(s, rmr, at, n, rights, DAT_VA_TYPE_VA);
}

static char *memory_at(size_t at)
{
	return (char *)p.memory + at;
}

/* A window that any connection may use: its rights and bounds, bound anew, closed. */
static void windows_of_zone(side *s)
{
	enum { BOTH = DAT_MEM_PRIV_REMOTE_READ_FLAG | DAT_MEM_PRIV_REMOTE_WRITE_FLAG };
	DAT_RMR_HANDLE rmr = DAT_HANDLE_NULL;
	note first, n = {0, 0};

	memset(memory_at(serving ? AT : 0), serving ? 's' : 'c', LENGTH);
	if (serving) {
		MUST(dat_rmr_create(p.pz, &rmr));
		tell(s, open_window(s, rmr, AT, LENGTH, BOTH), memory_at(AT));
		hear(s);
		CHECK(*memory_at(AT) == 'c' && *memory_at(AT + 8) == 's');
		CHECK(DAT_GET_TYPE(dat_lmr_free(p.lmr)) == DAT_INVALID_STATE);
	} else {
		n = hear(s);
		CHECK(n.context != p.remote && reach(s, 1, n, 8) == DAT_DTO_SUCCESS);
		CHECK(reach(s, 0, n, LENGTH) == DAT_DTO_SUCCESS);
		CHECK(*memory_at(7) == 'c' && *memory_at(LENGTH - 1) == 's');
		tell(s, 0, NULL);
	}
	denied("beyond its end", 0, n, LENGTH + 1);
	first = n;
	if (serving) {
		tell(s, open_window(s, rmr, AT + 8, 8, DAT_MEM_PRIV_REMOTE_READ_FLAG),
		     memory_at(AT + 8));
	} else {
		n = hear(s);
		CHECK(n.context != first.context && reach(s, 0, n, 8) == DAT_DTO_SUCCESS);
		CHECK(*memory_at(0) == 's');
	}
	denied("by the context before", 0, first, 8);
	denied("a write to what may be read", 1, n, 8);
	if (serving)
		open_window(s, rmr, 0, 0, 0);
	meet(s);
	denied("closed", 0, n, 8);
	if (serving)
		MUST(dat_rmr_free(rmr));
}

/* A window of one endpoint, which the peer invalidates with a send. */
static void windows_of_endpoint(side *s)
{
	DAT_LMR_TRIPLET empty = pair_local(&p, 0, 4);
	DAT_DTO_COMPLETION_EVENT_DATA d;
	DAT_RMR_HANDLE rmr = DAT_HANDLE_NULL;
	DAT_RMR_CONTEXT context;
	DAT_RMR_PARAM param;
	note n = {0, 0};

	if (serving)
		MUST(dat_rmr_create_for_ep(p.pz, &rmr));
	for (int round = 0; round < 3; round++) {
		if (serving) {
			context = open_window(s, rmr, AT, LENGTH, DAT_MEM_PRIV_REMOTE_READ_FLAG);
			tell(s, context, memory_at(AT));
			d = completion(s->recv);
			CHECK(d.status == DAT_DTO_SUCCESS && d.transfered_length == 4);
			CHECK(d.operation == DAT_DTO_RECEIVE_WITH_INVALIDATE);
			CHECK(d.rmr_context == context);
			post_receive(s);
			MUST(dat_rmr_query(rmr, DAT_RMR_FIELD_ALL, &param));
			CHECK(param.rmr_context == 0 && param.rmr_scope == DAT_RMR_SCOPE_EP);
		} else {
			n = hear(s);
			CHECK(reach(s, 0, n, LENGTH) == DAT_DTO_SUCCESS);
			MUST(dat_ep_post_send_with_invalidate(s->ep, 1, &empty, none,
			                                      DAT_COMPLETION_DEFAULT_FLAG, DAT_TRUE,
			                                      n.context));
			succeeds(s->request);
		}
	}
	if (serving) /* twice: the second gives the first back */
		for (int i = 0; i < 2; i++)
			tell(s, open_window(s, rmr, AT, LENGTH, DAT_MEM_PRIV_REMOTE_READ_FLAG),
			     memory_at(AT));
	else
		for (int i = 0; i < 2; i++)
			n = hear(s);
	denied("by another connection", 0, n, 8);
	if (!serving) {
		CHECK(reach(s, 0, n, 8) == DAT_DTO_SUCCESS);
		tell(s, 0, NULL);
	} else {
		hear(s);
		open_window(s, rmr, 0, 0, 0);
		MUST(dat_rmr_free(rmr));
	}
	meet(s);
}

/* A window of type 2 whose first byte has the address 0 for the peer. */
static void windows_from_zero(side *s)
{
	enum { BOTH = DAT_MEM_PRIV_REMOTE_READ_FLAG | DAT_MEM_PRIV_REMOTE_WRITE_FLAG };
	DAT_LMR_TRIPLET empty = pair_local(&p, 0, 4);
	DAT_DTO_COMPLETION_EVENT_DATA d;
	DAT_RMR_HANDLE rmr = DAT_HANDLE_NULL;
	DAT_RMR_CONTEXT context;
	DAT_RMR_PARAM param;
	note n = {0, 0};

	memset(memory_at(serving ? AT : 0), serving ? 's' : 'c', LENGTH);
	if (serving)
		MUST(dat_rmr_create_for_ep(p.pz, &rmr));
	for (int round = 0; round < 2; round++) {
		if (serving) {
			context = open_as(s, rmr, AT, LENGTH, BOTH, DAT_VA_TYPE_ZB);
			tell(s, context, NULL);
			d = completion(s->recv);
			CHECK(d.operation == DAT_DTO_RECEIVE_WITH_INVALIDATE &&
			      d.rmr_context == context);
			post_receive(s);
			MUST(dat_rmr_query(rmr, DAT_RMR_FIELD_ALL, &param));
			CHECK(param.rmr_context == 0);
			CHECK(*memory_at(AT + 7) == 'c' && *memory_at(AT + 8) == 's');
		} else {
			n = hear(s);
			CHECK(reach(s, 1, n, 8) == DAT_DTO_SUCCESS);
			CHECK(reach(s, 0, n, LENGTH) == DAT_DTO_SUCCESS);
			CHECK(*memory_at(7) == 'c' && *memory_at(8) == 's');
			memset(memory_at(0), 'c', LENGTH);
			MUST(dat_ep_post_send_with_invalidate(s->ep, 1, &empty, none,
			                                      DAT_COMPLETION_DEFAULT_FLAG, DAT_TRUE,
			                                      n.context));
			succeeds(s->request);
		}
	}
	if (serving)
		tell(s, open_as(s, rmr, AT, LENGTH, BOTH, DAT_VA_TYPE_ZB), NULL);
	else
		n = hear(s);
	denied("from 0, by another connection", 0, n, 8);
	if (serving)
		MUST(dat_rmr_free(rmr));
	meet(s);
}

static DAT_UINT64 blocked(DAT_EVD_HANDLE evd)
{
	DAT_UINT64 all[DCNT_EVD_ALL_COUNTERS];

	MUST(dat_ib_query_counters(evd, DCNT_EVD_WAIT_BLOCKED, all, 0));
	return all[DCNT_EVD_WAIT_BLOCKED];
}

/* A thread that waits for solicited messages gets a plain message only together with the next
 * solicited one. A wait that came too late, and found the first message at once, proves nothing:
 * another round follows. */
static void solicited(side *s)
{
	DAT_LMR_TRIPLET empty = pair_local(&p, 0, 4);
	DAT_EVENT event;
	DAT_COUNT more = 0;
	side w;
	int found = 0;

	join(&w, DAT_COMPLETION_SOLICITED_WAIT_FLAG);
	for (int round = 0; round < 20 && !found; round++) {
		if (serving) {
			DAT_UINT64 before = blocked(w.recv);
			tell(s, 0, NULL);
			MUST(dat_evd_wait(w.recv, PAIR_WAIT, 1, &event, &more));
			CHECK(event.event_number == DAT_DTO_COMPLETION_EVENT);
			found = blocked(w.recv) > before;
			CHECK(!found || more == 1);
			MUST(dat_evd_wait(w.recv, PAIR_WAIT, 1, &event, &more));
			post_receive(&w);
			post_receive(&w);
			tell(s, (DAT_RMR_CONTEXT)found, NULL);
			hear(s); /* it has read that: the next note goes to the same place */
		} else {
			hear(s);
			for (int i = 0; i < 2; i++) {
				usleep(200000);
				MUST(dat_ep_post_send(w.ep, 1, &empty, none,
				                      i ? DAT_COMPLETION_SOLICITED_WAIT_FLAG
				                        : DAT_COMPLETION_DEFAULT_FLAG));
				succeeds(w.request);
			}
			found = (int)hear(s).context;
			tell(s, 0, NULL);
		}
	}
	CHECK(found);
	MUST(dat_ep_disconnect(w.ep, DAT_CLOSE_ABRUPT_FLAG));
	broken(&w);
}

int main(int argc, char **argv)
{
	char *name = NULL;
	side s;
	int option;

	serving = 1;
	while ((option = getopt(argc, argv, "P:h:")) != -1) {
		if (option == 'P') {
			name = optarg;
		} else if (option == 'h') {
			serving = 0;
			server.sin_family = AF_INET;
			CHECK(inet_pton(AF_INET, optarg, &server.sin_addr) == 1);
		}
	}
	CHECK(name);
	open_adapter(name);
	setvbuf(stdout, NULL, _IOLBF, 0); /* a log says how far it came */
	printf("listening\n");
	join(&s, DAT_COMPLETION_DEFAULT_FLAG);
	windows_of_zone(&s);
	printf("windows of a zone\n");
	windows_of_endpoint(&s);
	printf("windows of an endpoint\n");
	windows_from_zero(&s);
	printf("windows that count from 0\n");
	solicited(&s);
	printf("solicited waits\n");
	meet(&s);
	if (!serving)
		MUST(dat_ep_disconnect(s.ep, DAT_CLOSE_GRACEFUL_FLAG));
	broken(&s);
	MUST(dat_ia_close(p.ia, DAT_CLOSE_ABRUPT_FLAG));
	printf("Windows Test Complete\n");
	return 0;
}
