/*
 * raw_udp.c - raw limits of UDP on this machine: connected sockets on the loopback interface,
 * polled with MSG_DONTWAIT, one sendmsg or recvmsg a datagram, no protocol but credits that keep
 * the receive buffer from overflowing (loopback loses nothing else).
 */
#define _GNU_SOURCE
#include "raw.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define CREDIT_BYTES 4 /* a credit datagram; data datagrams are never that short */
#define SKB_OVERHEAD 2048
#define RECEIVE_BUFFER (16 << 20)
/* nothing for 10 s: something was lost, and there is no retransmission here */
#define QUIET_NS 10000000000u

typedef struct side {
	int id, fd;
	char *out, *in;
	size_t message, datagram; /* bytes */
	int credits;              /* 0: the answer to a message is its credit */
	uint64_t window;          /* most datagrams in flight */
	uint64_t in_flight;       /* sent, not yet credited */
	uint64_t uncredited;      /* received since the last credit went out */
	uint64_t bytes;           /* received, not yet consumed by receive_message */
} side;

static int bound_socket(struct sockaddr_in *a)
{
	socklen_t n = sizeof *a;
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), size = RECEIVE_BUFFER;

	memset(a, 0, sizeof *a);
	a->sin_family = AF_INET;
	a->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (fd < 0 || bind(fd, (struct sockaddr *)a, sizeof *a) < 0 ||
	    getsockname(fd, (struct sockaddr *)a, &n) < 0)
		fail("UDP socket: %s", strerror(errno));
	/* As much as the kernel allows: the limit of the machine is measured, not of a default. */
	if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof size) < 0)
		setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof size);
	return fd;
}

/* Two sockets, each connected to the other. */
static void socket_pair(int fd[2])
{
	struct sockaddr_in a[2];
	int i;

	fd[0] = bound_socket(&a[0]);
	fd[1] = bound_socket(&a[1]);
	for (i = 0; i < 2; i++)
		if (connect(fd[i], (struct sockaddr *)&a[1 - i], sizeof a[0]) < 0)
			fail("connect: %s", strerror(errno));
}

/* How many datagrams of a size fit the receive buffer, with room to spare for the kernel's own
 * accounting. */
static uint64_t window_of(int fd, size_t datagram)
{
	int size = 0;
	socklen_t n = sizeof size;
	uint64_t w;

	getsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, &n);
	w = (uint64_t)size * 2 / 3 / (datagram * 5 / 4 + SKB_OVERHEAD);
	return w < 2 ? 2 : w > 128 ? 128 : w;
}

static void send_bytes(const side *s, const char *p, size_t n)
{
	struct iovec v = {(void *)(uintptr_t)p, n};
	struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1};

	while (sendmsg(s->fd, &m, MSG_DONTWAIT) != (ssize_t)n)
		if (errno != EAGAIN && errno != ENOBUFS && errno != EINTR)
			fail("sendmsg of %zu bytes: %s", n, strerror(errno));
}

/* Receives one datagram if there is one; 0 if not. */
static int receive_one(side *s)
{
	struct iovec v = {s->in, s->datagram};
	struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1};
	ssize_t n = recvmsg(s->fd, &m, MSG_DONTWAIT);
	uint32_t count;

	if (n < 0) {
		if (errno != EAGAIN && errno != EINTR)
			fail("recvmsg: %s", strerror(errno));
		return 0;
	}
	if (n == CREDIT_BYTES) {
		memcpy(&count, s->in, sizeof count);
		s->in_flight -= count;
		return 1;
	}
	s->bytes += (uint64_t)n;
	s->uncredited++;
	return 1;
}

static void give_credit(side *s, uint64_t at_least)
{
	uint32_t count = (uint32_t)s->uncredited;

	if (!s->credits || s->uncredited == 0 || s->uncredited < at_least)
		return;
	s->uncredited = 0;
	send_bytes(s, (char *)&count, sizeof count);
}

/* Polls until something has come. */
static void receive_some(side *s)
{
	uint64_t turns = 0, start = 0;

	while (!receive_one(s)) {
		if ((++turns & 0xffff) != 0)
			continue;
		if (start == 0)
			start = clock_ns();
		else if (clock_ns() - start > QUIET_NS)
			fail("a datagram was lost in test with %zu bytes", s->message);
	}
}

static void send_message(side *s)
{
	size_t left = s->message, n;

	for (; left > 0; left -= n) {
		n = left < s->datagram ? left : s->datagram;
		/* a rest as short as a credit would be taken for one: it borrows from this
		 * datagram */
		if (left > n && left - n < 8)
			n -= 8;
		while (s->credits && s->in_flight >= s->window) {
			receive_some(s);
			give_credit(s, s->window / 4);
		}
		send_bytes(s, s->out, n);
		s->in_flight++;
	}
}

static void receive_message(side *s)
{
	while (s->bytes < s->message) {
		receive_some(s);
		give_credit(s, s->window / 4);
	}
	s->bytes -= s->message;
	if (!s->credits)
		s->in_flight = 0;
}

static void pingpong_rounds(void *arg, uint64_t n)
{
	side *s = arg;

	while (n-- > 0) {
		if (s->id == 0)
			send_message(s);
		receive_message(s);
		if (s->id == 1)
			send_message(s);
	}
}

/* n messages one way; the origin's round ends when the target has credited all of them. */
static void stream_rounds(void *arg, uint64_t n)
{
	side *s = arg;

	for (; n > 0; n--) {
		if (s->id == 0)
			send_message(s);
		else
			receive_message(s);
	}
	if (s->id == 1)
		give_credit(s, 1);
	while (s->id == 0 && s->in_flight > 0)
		receive_some(s);
}

typedef struct udp_test {
	int fd[2];
	const char *op;
	raw_rounds *rounds;
	uint64_t window; /* 0: what the receive buffer holds */
} udp_test;

static char *memory(size_t n)
{
	char *p = malloc(n);

	if (!p)
		fail("no memory for %zu bytes", n);
	memset(p, 1, n);
	return p;
}

static void begin_side(side *s, const udp_test *t, int id, size_t message, size_t datagram)
{
	memset(s, 0, sizeof *s);
	s->id = id;
	s->fd = t->fd[id];
	s->out = memory(datagram);
	s->in = memory(datagram);
	s->message = message;
	s->datagram = datagram;
	s->window =
		t->window ? t->window : window_of(s->fd, message < datagram ? message : datagram);
	s->credits = t->rounds == stream_rounds || message > s->window * (datagram - 8);
}

/* Measures each size; a rate only the smallest. */
static void udp_body(board *b, const bench_options *o, int id, void *arg)
{
	const udp_test *t = arg;
	measured r;
	side s;
	int i;

	for (i = 0; i < (t->window ? 1 : o->num_sizes); i++) {
		begin_side(&s, t, id, o->sizes[i], o->datagram);
		r = raw_measure(b, o, id, t->rounds, &s);
		free(s.out);
		free(s.in);
		if (id == 1)
			continue;
		if (t->rounds == pingpong_rounds)
			print_row("udp", t->op, s.message, r.ns / 2e3, "us", r.before, r.after,
			          r.preempted);
		else if (t->window)
			print_row("udp", t->op, s.message, 1e3 / r.ns, "M/s", r.before, r.after,
			          r.preempted);
		else
			print_row("udp", t->op, s.message, (double)s.message / r.ns, "GB/s",
			          r.before, r.after, r.preempted);
	}
}

static void run(board *b, const bench_options *o, const char *op, raw_rounds *rounds,
                uint64_t window)
{
	udp_test t = {{-1, -1}, op, rounds, window};

	socket_pair(t.fd);
	raw_spawn(b, o, 2, udp_body, &t);
}

void raw_udp_pingpong(board *b, const bench_options *o)
{
	run(b, o, "oneway", pingpong_rounds, 0);
}

void raw_udp_stream(board *b, const bench_options *o)
{
	run(b, o, "bandwidth", stream_rounds, 0);
}

void raw_udp_rate(board *b, const bench_options *o)
{
	run(b, o, "rate", stream_rounds, 64);
}
