/*
 * hosts.c - two processes on two hosts, by IPv4 or IPv6: every kind of transfer with data that is
 * checked, and the end of a peer.
 *
 * usage: hosts server                     serves one client
 *        hosts client ADDRESS transfers   moves data to and fro, and disconnects
 *        hosts client ADDRESS end         waits until the server is gone: the connection is broken,
 * and what was posted is flushed
 */
#include "pair.h"

#include <arpa/inet.h>
#include <unistd.h>

enum { QUALIFIER = 21500, ROUNDS = 200, BLOCK = 8192, AT = PAIR_MEMORY / 2 };

static pair p; /* of which a is in use */

/* The server's memory as the client must know it. */
static struct {
	DAT_VADDR address;
	DAT_RMR_CONTEXT context;
} theirs;

static DAT_DTO_COOKIE cookie(DAT_UINT64 n)
{
	return (DAT_DTO_COOKIE){.as_64 = n};
}

static void open_side(const char *name)
{
	int privileges = DAT_MEM_PRIV_ALL_FLAG | DAT_IB_MEM_PRIV_REMOTE_ATOMIC;
	DAT_REGION_DESCRIPTION region = {.for_va = p.memory};
	DAT_VLEN size;
	DAT_VADDR address;

	MUST(dat_ia_open((DAT_NAME_PTR)name, 8, &p.async, &p.ia));
	MUST(dat_pz_create(p.ia, &p.pz));
	MUST(dat_lmr_create(p.ia, DAT_MEM_TYPE_VIRTUAL, region, sizeof p.memory, p.pz,
	                    (DAT_MEM_PRIV_FLAGS)privileges, DAT_VA_TYPE_VA, &p.lmr, &p.local,
	                    &p.remote, &size, &address));
	MUST(dat_evd_create(p.ia, 8, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG, &p.requests));
	pair_side(&p, &p.a, 32);
}

static void close_side(void)
{
	pair_close_side(&p.a);
	MUST(dat_evd_free(p.requests));
	MUST(dat_lmr_free(p.lmr));
	MUST(dat_pz_free(p.pz));
	MUST(dat_ia_close(p.ia, DAT_CLOSE_GRACEFUL_FLAG));
}

static void receive(size_t at, DAT_SEG_LENGTH n)
{
	DAT_LMR_TRIPLET t = pair_local(&p, at, n);

	MUST(dat_ep_post_recv(p.a.ep, 1, &t, cookie(at), DAT_COMPLETION_DEFAULT_FLAG));
}

/* Waits for the next transfer, which must succeed. */
static DAT_SEG_LENGTH done(DAT_EVD_HANDLE evd)
{
	DAT_EVENT e = pair_event(evd, DAT_DTO_COMPLETION_EVENT);

	CHECK(e.event_data.dto_completion_event_data.status == DAT_DTO_SUCCESS);
	return e.event_data.dto_completion_event_data.transfered_length;
}

static void send_from(size_t at, DAT_SEG_LENGTH n)
{
	DAT_LMR_TRIPLET t = pair_local(&p, at, n);

	MUST(dat_ep_post_send(p.a.ep, 1, &t, cookie(at), DAT_COMPLETION_DEFAULT_FLAG));
}

/* Sends received data back, until the client disconnects. */
static int serve(void)
{
	DAT_PSP_HANDLE psp;
	DAT_CR_HANDLE cr;
	DAT_EVENT event;
	DAT_COUNT more;

	MUST(dat_psp_create(p.ia, QUALIFIER, p.requests, DAT_PSP_CONSUMER_FLAG, &psp));
	puts("listens");
	fflush(stdout);
	cr = pair_event(p.requests, DAT_CONNECTION_REQUEST_EVENT)
	             .event_data.cr_arrival_event_data.cr_handle;
	theirs.address = (DAT_VADDR)(size_t)p.memory;
	theirs.context = p.remote;
	receive(0, BLOCK);
	MUST(dat_cr_accept(cr, p.a.ep, sizeof theirs, &theirs));
	pair_event(p.a.connection, DAT_CONNECTION_EVENT_ESTABLISHED);
	for (;;) {
		MUST(dat_evd_wait(p.a.recv, DAT_TIMEOUT_INFINITE, 1, &event, &more));
		if (event.event_data.dto_completion_event_data.status != DAT_DTO_SUCCESS)
			break;
		send_from(0, event.event_data.dto_completion_event_data.transfered_length);
		done(p.a.request);
		receive(0, BLOCK);
	}
	pair_event(p.a.connection, DAT_CONNECTION_EVENT_DISCONNECTED);
	MUST(dat_psp_free(psp));
	return 1;
}

static void connect_to(const char *address)
{
	struct sockaddr_in6 six = {.sin6_family = AF_INET6};
	struct sockaddr_in four = {.sin_family = AF_INET};
	void *to = &four;
	DAT_EVENT event;

	if (inet_pton(AF_INET6, address, &six.sin6_addr) == 1)
		to = &six;
	else
		CHECK(inet_pton(AF_INET, address, &four.sin_addr) == 1);
	MUST(dat_ep_connect(p.a.ep, to, QUALIFIER, PAIR_WAIT, 0, NULL, DAT_QOS_BEST_EFFORT,
	                    DAT_CONNECT_DEFAULT_FLAG));
	event = pair_event(p.a.connection, DAT_CONNECTION_EVENT_ESTABLISHED);
	CHECK(event.event_data.connect_event_data.private_data_size >= (DAT_COUNT)sizeof theirs);
	memcpy(&theirs, event.event_data.connect_event_data.private_data, sizeof theirs);
}

static unsigned char pattern(int round, size_t i)
{
	return (unsigned char)(round * 31 + (int)(i * 7) + 1);
}

static void round_of(int round)
{
	unsigned char *out = (unsigned char *)p.memory, *in = out + BLOCK;
	DAT_SEG_LENGTH n = (DAT_SEG_LENGTH)(1 + round * 997 % BLOCK), i;
	DAT_RMR_TRIPLET far = {theirs.address + AT, n, theirs.context};
	DAT_LMR_TRIPLET from = pair_local(&p, 0, n), to = pair_local(&p, BLOCK, n);

	for (i = 0; i < n; i++)
		out[i] = pattern(round, i);
	receive(BLOCK, BLOCK);
	send_from(0, n);
	CHECK(done(p.a.recv) == n && memcmp(in, out, n) == 0);
	done(p.a.request);
	memset(in, 0, n);
	MUST(dat_ep_post_rdma_write(p.a.ep, 1, &from, cookie(1), &far,
	                            DAT_COMPLETION_DEFAULT_FLAG));
	MUST(dat_ep_post_rdma_read(p.a.ep, 1, &to, cookie(2), &far, DAT_COMPLETION_DEFAULT_FLAG));
	done(p.a.request);
	done(p.a.request);
	CHECK(memcmp(in, out, n) == 0);
}

static void add(int round)
{
	DAT_RMR_TRIPLET far = {theirs.address + PAIR_MEMORY - 8, 8, theirs.context};
	DAT_LMR_TRIPLET old = pair_local(&p, PAIR_MEMORY - 16, 8);
	DAT_EVENT e;

	MUST((dat_ib_post_fetch_and_add)(p.a.ep, 3, &old, cookie(4), &far,
	                                 DAT_COMPLETION_DEFAULT_FLAG));
	e = pair_event(p.a.request, DAT_IB_DTO_EVENT);
	CHECK(e.event_data.dto_completion_event_data.status == DAT_DTO_SUCCESS);
	CHECK(p.memory[PAIR_MEMORY / 8 - 2] == 3u * (unsigned)round);
}

static int transfers(void)
{
	int round;

	for (round = 0; round < ROUNDS; round++) {
		round_of(round);
		add(round);
	}
	MUST(dat_ep_disconnect(p.a.ep, DAT_CLOSE_GRACEFUL_FLAG));
	pair_event(p.a.connection, DAT_CONNECTION_EVENT_DISCONNECTED);
	return 1;
}

/* The server is killed, or the way to it is cut: by the shell script, once this program prints its
 * line.
 */
static int end_of_server(void)
{
	DAT_RMR_TRIPLET far = {theirs.address, 8, theirs.context};
	DAT_LMR_TRIPLET from = pair_local(&p, 0, 8);
	DAT_EVENT e;

	receive(BLOCK, BLOCK);
	puts("connected");
	fflush(stdout);
	pair_event(p.a.connection, DAT_CONNECTION_EVENT_BROKEN);
	e = pair_event(p.a.recv, DAT_DTO_COMPLETION_EVENT);
	CHECK(e.event_data.dto_completion_event_data.status == DAT_DTO_ERR_FLUSHED);
	MUST(dat_ep_post_rdma_write(p.a.ep, 1, &from, cookie(1), &far,
	                            DAT_COMPLETION_DEFAULT_FLAG));
	e = pair_event(p.a.request, DAT_DTO_COMPLETION_EVENT);
	CHECK(e.event_data.dto_completion_event_data.status == DAT_DTO_ERR_FLUSHED);
	return 1;
}

int main(int argc, char **argv)
{
	const char *name = getenv("HOSTS_NAME");
	int fine;

	CHECK(argc >= 2);
	open_side(name ? name : "ofa-v2-eth0");
	if (!strcmp(argv[1], "server")) {
		fine = serve();
	} else {
		CHECK(argc == 4);
		connect_to(argv[2]);
		fine = !strcmp(argv[3], "end") ? end_of_server() : transfers();
	}
	close_side();
	CHECK(fine);
	puts("hosts: passed");
	return 0;
}
