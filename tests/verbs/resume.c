/*
 * resume.c - messages both ways between two processes over RDMA adapters that fail meanwhile. When
 * a connection ends they make another, if need be on an adapter that is opened again, and continue
 * after the last message received: no message may be lost or come twice, each request completes
 * once, and both go on.
 *
 * usage: resume -P ADAPTER [-h SERVER] [-s SECONDS]
 *        resume -P ADAPTER -l      memory of 64 KiB at most may be locked: what fits can be
 * registered
 *
 * Each message is an RDMA write of a pattern to the peer and a send with its number and how many of
 * the peer's have come. The client ends the stream after SECONDS (4). Both print `resume:
 * connection N` for each, and `resume: passed` at the end. RESUME_FORK=nothing|exec|call: a child
 * is forked now and then, which ends, executes a program, or makes calls, all of which must fail.
 * RESUME_KEEP: an adapter that has reported a catastrophe is used on, since only a queue of it has
 * failed.
 */
#include "../net/programs/forks.h"

#include <arpa/inet.h>
#include <dat2/udat.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { QUALIFIER = 4720, WINDOW = 8, MOST = 4 * WINDOW, LARGEST = 16384, SMALLEST = 512 };
enum { HANG_MS = 40000, FORK_MS = 150 };
enum { KIND_WRITE = 1, KIND_SEND, KIND_ACK };
enum { GOING, ENDING, ENDED }; /* the client says ENDING, the server answers ENDED */

struct header {
	uint64_t number; /* of a message; NO_NUMBER: it only says what has come */
	uint64_t next, ending;
};
#define NO_NUMBER UINT64_MAX

/* The private data of both sides of a connection. */
struct hello {
	uint64_t life, knows /* the peer's life that next is about */, next, address;
	uint32_t context, lost /* what has come was lost with its adapter */, slot;
};

struct memory {
	char in[WINDOW * LARGEST], out[WINDOW * LARGEST];
	struct header receive[MOST], message[WINDOW], ack[MOST];
};

static struct memory m __attribute__((aligned(4096)));
static const char *adapter, *server, *seconds = "4";
static DAT_IA_HANDLE ia;
static DAT_EVD_HANDLE async, arrivals, receives, requests, connections;
static DAT_PZ_HANDLE pz;
static DAT_LMR_HANDLE lmr;
static DAT_LMR_CONTEXT local;
static DAT_RMR_CONTEXT remote;
static DAT_PSP_HANDLE psp;
static DAT_EP_HANDLE ep;
static struct hello own, peer;
static uint64_t posted, done, acked, next, told; /* numbers of messages: see resume() */
static int receives_out, requests_out, acks, broken, ended, catastrophe, catastrophes, ending, joined;

static uint64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static void fail(int line, const char *what)
{
	printf("resume: line %d: %s: posted %llu, complete %llu, acknowledged %llu, next %llu, "
	       "requests %d, receives %d\n",
	       line, what, (unsigned long long)posted, (unsigned long long)done,
	       (unsigned long long)acked, (unsigned long long)next, requests_out, receives_out);
	exit(1);
}
#define CHECK(condition)                            \
	do {                                        \
		if (!(condition))                   \
			fail(__LINE__, #condition); \
	} while (0)

static char pattern(uint64_t number, uint64_t at)
{
	return (char)(number * 31 + at * 7);
}

/* ---- An adapter ---- */

static int create_all(void)
{
	DAT_REGION_DESCRIPTION region = {.for_va = &m};
	DAT_VLEN size;
	DAT_VADDR address;

	return dat_ia_open((DAT_NAME_PTR)(uintptr_t)adapter, 8, &async, &ia) == DAT_SUCCESS &&
	       dat_pz_create(ia, &pz) == DAT_SUCCESS &&
	       dat_lmr_create(ia, DAT_MEM_TYPE_VIRTUAL, region, sizeof m, pz, DAT_MEM_PRIV_ALL_FLAG,
	                      DAT_VA_TYPE_VA, &lmr, &local, &remote, &size,
	                      &address) == DAT_SUCCESS &&
	       dat_evd_create(ia, 8, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG, &arrivals) == DAT_SUCCESS &&
	       (server || dat_psp_create(ia, QUALIFIER, arrivals, DAT_PSP_CONSUMER_FLAG, &psp) ==
	                          DAT_SUCCESS);
}

static void close_adapter(void)
{
	if (ia)
		CHECK(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG) == DAT_SUCCESS);
	ia = async = DAT_HANDLE_NULL;
}

/* An adapter that is gone, or refuses, is tried again. */
static void open_adapter(void)
{
	uint64_t limit = now_ms() + HANG_MS;

	while (async = DAT_HANDLE_NULL, ia = DAT_HANDLE_NULL, !create_all()) {
		close_adapter();
		CHECK(now_ms() < limit);
		usleep(50000);
	}
	catastrophe = 0;
}

/* ---- A connection ---- */

static DAT_LMR_TRIPLET triplet(void *at, size_t n)
{
	DAT_LMR_TRIPLET t = {.lmr_context = local,
	                     .virtual_address = (DAT_VADDR)(uintptr_t)at,
	                     .segment_length = (DAT_SEG_LENGTH)n};
	return t;
}

static DAT_DTO_COOKIE cookie(uint64_t kind, uint64_t number)
{
	return (DAT_DTO_COOKIE){.as_64 = kind << 56 | number};
}

static void post_receive(uint64_t at)
{
	DAT_LMR_TRIPLET t = triplet(&m.receive[at], sizeof m.receive[at]);

	if (dat_ep_post_recv(ep, 1, &t, cookie(0, at), DAT_COMPLETION_DEFAULT_FLAG) == DAT_SUCCESS)
		receives_out++;
	else
		broken = 1;
}

static int create_endpoint(void)
{
	DAT_EP_ATTR attr = {.service_type = DAT_SERVICE_TYPE_RC,
	                    .max_recv_dtos = MOST,
	                    .max_request_dtos = MOST,
	                    .max_recv_iov = 1,
	                    .max_request_iov = 1};

	receives = requests = connections = ep = DAT_HANDLE_NULL;
	receives_out = requests_out = broken = ended = acks = catastrophes = 0;
	if (dat_evd_create(ia, 2 * MOST, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &receives) ||
	    dat_evd_create(ia, 2 * MOST, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &requests) ||
	    dat_evd_create(ia, 8, DAT_HANDLE_NULL, DAT_EVD_CONNECTION_FLAG, &connections) ||
	    dat_ep_create(ia, pz, receives, requests, connections, &attr, &ep))
		return 0;
	for (uint64_t i = 0; i < MOST; i++)
		post_receive(i);
	return !broken;
}

static void free_endpoint(void)
{
	DAT_EVD_HANDLE *all[] = {&receives, &requests, &connections};

	if (ep)
		CHECK(dat_ep_free(ep) == DAT_SUCCESS);
	ep = DAT_HANDLE_NULL;
	for (int i = 0; i < 3; i++) {
		if (*all[i])
			CHECK(dat_evd_free(*all[i]) == DAT_SUCCESS);
		*all[i] = DAT_HANDLE_NULL;
	}
}

/* With a peer that is another process than before, both begin again. */
static void meet(void)
{
	if (own.knows != peer.life) {
		own.knows = peer.life;
		posted = done = acked = next = 0;
	}
	if (peer.knows != own.life)
		peer.next = 0;
}

/* Both go on with the first message that the peer does not have. */
static void resume(void)
{
	if (!peer.lost)
		CHECK(peer.next >= done); /* what has completed has arrived */
	CHECK(peer.next <= posted);
	posted = done = acked = peer.next;
	told = next;
	own.lost = 0;
	joined++;
	printf("resume: connection %d: %llu sent, %llu received\n", joined,
	       (unsigned long long)posted, (unsigned long long)next);
	fflush(stdout);
}

static void say_hello(void)
{
	own.next = next;
	own.address = (uint64_t)(uintptr_t)m.in;
	own.context = remote;
}

static void note_async(void)
{
	DAT_EVENT e;

	while (dat_evd_dequeue(async, &e) == DAT_SUCCESS) {
		printf("resume: asynchronous event %#x\n", (unsigned)e.event_number);
		if (e.event_number == DAT_ASYNC_ERROR_EVD_OVERFLOW)
			continue;
		own.lost = 1;
		catastrophe |= e.event_number == DAT_ASYNC_ERROR_PROVIDER_INTERNAL_ERROR ||
		               e.event_data.asynch_error_event_data.reason ==
		                       (DAT_COUNT)DAT_IA_CATASTROPHIC_ERROR;
		CHECK(++catastrophes <= 1); /* once for all that is lost */
	}
	if (catastrophe && getenv("RESUME_KEEP"))
		catastrophe = 0;
}

/* 1: an event of the queue; 0: none came in time, or the adapter is lost. */
static int event_of(DAT_EVD_HANDLE evd, int ms, DAT_EVENT *e)
{
	uint64_t limit = now_ms() + (uint64_t)ms;
	DAT_COUNT more;

	do {
		if (dat_evd_wait(evd, 20000, 1, e, &more) == DAT_SUCCESS)
			return 1;
		note_async();
	} while (now_ms() < limit && !catastrophe);
	return 0;
}

static int connect_client(void)
{
	struct sockaddr_in to = {.sin_family = AF_INET};
	DAT_EVENT e;

	CHECK(inet_pton(AF_INET, server, &to.sin_addr) == 1);
	say_hello();
	if (dat_ep_connect(ep, (DAT_IA_ADDRESS_PTR)&to, QUALIFIER, 2000000, sizeof own, &own,
	                   DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG) ||
	    !event_of(connections, 5000, &e) || e.event_number != DAT_CONNECTION_EVENT_ESTABLISHED)
		return 0;
	memcpy(&peer, e.event_data.connect_event_data.private_data, sizeof peer);
	meet();
	return 1;
}

static int connect_server(void)
{
	DAT_CR_PARAM param;
	DAT_CR_HANDLE cr;
	DAT_EVENT e;

	if (!event_of(arrivals, 1000, &e))
		return 0;
	cr = e.event_data.cr_arrival_event_data.cr_handle;
	if (dat_cr_query(cr, DAT_CR_FIELD_ALL, &param))
		return 0;
	memcpy(&peer, param.private_data, sizeof peer);
	meet();
	say_hello();
	if (dat_cr_accept(cr, ep, sizeof own, &own))
		return 0;
	return event_of(connections, 5000, &e) &&
	       e.event_number == DAT_CONNECTION_EVENT_ESTABLISHED;
}

/* ---- Messages ---- */

static void send_header(uint64_t kind, struct header *h, uint64_t number)
{
	DAT_LMR_TRIPLET t = triplet(h, sizeof *h);

	*h = (struct header){kind == KIND_SEND ? number : NO_NUMBER, next, (uint64_t)ending};
	told = next;
	if (dat_ep_post_send(ep, 1, &t, cookie(kind, number), DAT_COMPLETION_DEFAULT_FLAG))
		broken = 1;
	else
		requests_out++;
}

static void send_message(void)
{
	uint64_t number = posted, slot = number % WINDOW, n = number % 5 ? 64 : LARGEST;
	DAT_RMR_TRIPLET to = {.rmr_context = peer.context,
	                      .virtual_address = peer.address + slot * LARGEST,
	                      .segment_length = (DAT_SEG_LENGTH)n};
	DAT_LMR_TRIPLET from = triplet(m.out + slot * LARGEST, n);

	for (uint64_t i = 0; i < n; i++)
		m.out[slot * LARGEST + i] = pattern(number, i);
	if (dat_ep_post_rdma_write(ep, 1, &from, cookie(KIND_WRITE, number), &to,
	                           DAT_COMPLETION_DEFAULT_FLAG)) {
		broken = 1;
		return;
	}
	requests_out++;
	posted++;
	send_header(KIND_SEND, &m.message[slot], number);
}

static int send_some(void)
{
	int before = requests_out;

	if (!broken && posted < acked + WINDOW && posted < done + WINDOW &&
	    requests_out + 2 < MOST && ending != ENDED)
		send_message();
	if (!broken && requests_out + 2 < MOST && next - told >= WINDOW / 2)
		send_header(KIND_ACK, &m.ack[acks++ % MOST], 0);
	return requests_out - before;
}

static void arrived(uint64_t at)
{
	struct header h = m.receive[at];

	if (h.number != NO_NUMBER) {
		uint64_t n = h.number % 5 ? 64 : LARGEST;
		CHECK(h.number == next);
		for (uint64_t i = 0; i < n; i++)
			CHECK(m.in[h.number % WINDOW * LARGEST + i] == pattern(h.number, i));
		next++;
	}
	CHECK(h.next >= acked && h.next <= posted);
	acked = h.next;
	if (h.ending == ENDING && !server)
		ending = ENDED;
	if (h.ending == ENDED && server)
		ending = ENDED;
	if (!broken)
		post_receive(at);
}

static int take_receive(void)
{
	DAT_EVENT e;

	if (dat_evd_dequeue(receives, &e) != DAT_SUCCESS)
		return 0;
	CHECK(e.event_number == DAT_DTO_COMPLETION_EVENT && receives_out > 0);
	receives_out--;
	if (e.event_data.dto_completion_event_data.status == DAT_DTO_SUCCESS)
		arrived(e.event_data.dto_completion_event_data.user_cookie.as_64);
	else
		broken = 1;
	return 1;
}

static int take_request(void)
{
	DAT_DTO_COMPLETION_EVENT_DATA d;
	DAT_EVENT e;

	if (dat_evd_dequeue(requests, &e) != DAT_SUCCESS)
		return 0;
	d = e.event_data.dto_completion_event_data;
	CHECK(e.event_number == DAT_DTO_COMPLETION_EVENT && requests_out > 0);
	requests_out--;
	if (d.status != DAT_DTO_SUCCESS)
		broken = 1;
	else if (d.user_cookie.as_64 >> 56 == KIND_SEND)
		CHECK((d.user_cookie.as_64 & (UINT64_MAX >> 8)) == done++);
	return 1;
}

static int take_end(void)
{
	DAT_EVENT e;

	if (dat_evd_dequeue(connections, &e) != DAT_SUCCESS)
		return 0;
	CHECK(e.event_number == DAT_CONNECTION_EVENT_BROKEN ||
	      e.event_number == DAT_CONNECTION_EVENT_DISCONNECTED);
	CHECK(!ended);
	return ended = 1;
}

/* ---- Children ---- */

static int calls(void)
{
	DAT_LMR_TRIPLET t = triplet(&m.ack[0], sizeof m.ack[0]);
	DAT_EVENT e;

	return dat_evd_dequeue(requests, &e) == DAT_SUCCESS ||
	       dat_ep_post_send(ep, 1, &t, cookie(0, 0), DAT_COMPLETION_DEFAULT_FLAG) ==
	               DAT_SUCCESS ||
	       dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG) == DAT_SUCCESS;
}

static void fork_some(void)
{
	const char *what = getenv("RESUME_FORK");
	static uint64_t due;

	if (!what || now_ms() < due)
		return;
	due = now_ms() + FORK_MS;
	CHECK(forks_well(what, calls));
}

/* ---- Both ---- */

/* A connection from begin to end; every posted request completes. */
static void use_connection(uint64_t stop)
{
	uint64_t limit = now_ms() + HANG_MS, before = 0;
	DAT_COUNT more;
	DAT_EVENT e;

	for (;;) {
		int found = take_receive() + take_request() + take_end();

		note_async();
		if (broken + ended + catastrophe && receives_out + requests_out == 0)
			break;
		if (!ended && !broken && !catastrophe) {
			if (server && ending == GOING && now_ms() >= stop)
				ending = ENDING;
			found += send_some();
			fork_some();
		}
		if (server && ending == ENDED && !ended && done == posted) {
			(void)dat_ep_disconnect(ep, DAT_CLOSE_GRACEFUL_FLAG);
			broken = 1;
		}
		if (next + done != before)
			limit = now_ms() + HANG_MS;
		before = next + done;
		CHECK(now_ms() < limit); /* it hangs */
		if (!found)
			(void)(dat_evd_wait(receives, 500, MOST + 1, &e, &more));
	}
	/* the end is reported as well, unless the adapter is lost */
	for (; !ended && !catastrophe; note_async()) {
		CHECK(now_ms() < limit);
		if (!take_end())
			usleep(1000);
	}
}

int main(int argc, char **argv)
{
	uint64_t stop, limit;
	int option;

	while ((option = getopt(argc, argv, "P:h:s:")) != -1)
		*(option == 'P' ? &adapter : option == 'h' ? &server : &seconds) = optarg;
	CHECK(adapter);
	own.life = now_ms() << 20 | (uint64_t)getpid();
	open_adapter();
	printf("resume: started\n");
	fflush(stdout);
	stop = now_ms() + strtoull(seconds, NULL, 10) * 1000;
	for (limit = now_ms() + HANG_MS; ending != ENDED;) {
		if (catastrophe) {
			close_adapter();
			open_adapter();
		}
		if (create_endpoint() && (server ? connect_client() : connect_server())) {
			resume();
			use_connection(stop);
			limit = now_ms() + HANG_MS;
		} else if (server) {
			usleep(20000);
		}
		if (!catastrophe)
			free_endpoint();
		note_async();
		CHECK(now_ms() < limit); /* no connection */
	}
	close_adapter();
	printf("resume: passed: %llu sent, %llu received, %d connections\n",
	       (unsigned long long)posted, (unsigned long long)next, joined);
	return 0;
}
