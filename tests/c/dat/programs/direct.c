/*
 * direct.c - writes and reads by one copy between two processes of a node, in which the target
 * takes no part: that they are made, that they keep order, and that none is made once it is
 * forbidden. The server's program makes no call of the library while it reads a pipe.
 */
#define _GNU_SOURCE
#include "direct.h"

enum { MANY = 2000 };

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

/* A target that sees a write's last byte sees its other bytes, too; enough writes to show it. */
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

/* A peer that is stopped, so that no message of the end finds room, and is killed then: nothing is
 * sent to it by the link that has gone. */
static void unsaid(void)
{
	DAT_LMR_TRIPLET t = local(0, 8);
	DAT_EVENT event;
	int i;

	meet();
	if (!me.is_server)
		for (;;)
			pause();
	CHECK(kill(other, SIGSTOP) == 0);
	for (i = 0; i < MANY; i++)
		MUST(dat_ep_post_send(me.p.a.ep, 1, &t, cookie(0), DAT_COMPLETION_DEFAULT_FLAG));
	MUST(dat_ep_disconnect(me.p.a.ep, DAT_CLOSE_ABRUPT_FLAG));
	pair_event(me.p.a.connection, DAT_CONNECTION_EVENT_DISCONNECTED);
	CHECK(kill(other, SIGKILL) == 0);
	for (i = 0; i < 100; i++) {
		dat_evd_dequeue(me.p.a.recv, &event);
		usleep(3000);
	}
}

/* A target dies: the origin gets an event. */
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

static const struct direct_case cases[] = {
	{.name = "stopped", .run = stopped, .times = 1, .lane_alone = 1},
	{.name = "segments", .run = segments, .times = 1, .lane_alone = 1},
	{.name = "order", .run = order, .times = 1},
	{.name = "last byte", .run = last_byte, .times = 1},
	{.name = "freed", .run = freed, .times = ROUNDS},
	{.name = "disconnected", .run = disconnected, .times = ROUNDS},
	{.name = "unsaid", .run = unsaid, .times = 2, .client_dies = 1, .requests = MANY},
	{.name = "killed", .run = killed, .times = ROUNDS, .client_dies = 1},
	{.name = "deserted", .run = deserted, .times = ROUNDS},
	{.name = "no segments", .run = no_segments, .times = 1, .no_segments = 1},
};

int main(int argc, char **argv)
{
	return direct_main(argc, argv, "direct", cases, sizeof cases / sizeof *cases);
}
