/*
 * test_rc_peer.c - what the node engine makes of the messages of its protocol where they are not
 * the next: gaps, attempts that are over, messages that come while an answer waits, and messages of
 * a peer that lies. The second writes them by hand. One thread.
 */
#include "ctest/dat/fake_rc.h"

#include <string.h>

enum { AT = 4096, N = 64, FAR = 512 << 10 };

static const uint32_t OK = DAT_DTO_SUCCESS, FLUSHED = DAT_DTO_ERR_FLUSHED;
static const char bytes[] = "0123456789abcdef";

/* The first gets a fragment of a send. */
static void fragment(uint32_t seq, uint8_t attempt, uint32_t total, uint32_t offset, uint64_t n)
{
	dat_header h = fake_rc_header(seq);

	h.attempt = attempt;
	h.total = total;
	h.offset = offset;
	fake_rc_say(DAT_MSG_DATA, &h, bytes + offset, n);
	rc_turn();
}

/* The first has asked for that request in that attempt, and for nothing else. */
static void expect_ready(uint32_t seq, uint8_t attempt)
{
	dat_header h;

	CHECK(fake_rc_hear(&h) == DAT_MSG_READY && h.seq == seq && h.attempt == attempt);
	CHECK(fake_rc_hear(&h) == 0);
}

static void open_first(uint32_t receives)
{
	uint32_t i;

	fake_rc_open(0);
	for (i = 1; i <= receives; i++)
		fake_rc_receive(0, i, AT * i, N);
}

static void expect_nothing(void)
{
	dat_header h;

	CHECK(fake_rc_hear(&h) == 0);
}

/* Behind a gap nothing is taken until the peer begins anew with the missing message. */
static void gap(void)
{
	const dat_end *end;

	open_first(3);
	end = fake_dat[0].end;
	fragment(1, 0, 8, 0, 8);
	expect_ready(0, 1);
	fragment(2, 0, 8, 0, 8);
	fragment(0, 0, 8, 0, 8); /* of the attempt that is over */
	fragment(1, 1, 8, 0, 8);
	fragment(0, 1, 8, 4, 4); /* not its beginning */
	CHECK(fake_dat[0].recv->length == 0 && end->rx.expected == 0 && end->on);
	expect_nothing();
	fragment(0, 1, 8, 0, 8);
	fragment(1, 0, 8, 0, 8);
	CHECK(end->rx.expected == 2 && !end->rx.restarts);
	fragment(0, 0, 8, 0, 8); /* an old one */
	fragment(1, 0, 8, 0, 8);
	RECEIVES_ARE(0, {1, OK}, {2, OK});
	expect_nothing();
	fragment(3, 0, 8, 0, 8); /* and once more */
	expect_ready(2, 1);
	fake_dat_close();
}

/* Parts of two attempts do not make one message. */
static void mixed(void)
{
	open_first(2);
	fragment(0, 0, 16, 0, 8);
	fragment(0, 1, 16, 8, 8); /* of an attempt that nobody asked for */
	expect_ready(0, 1);
	CHECK(fake_dat[0].end->rx.got == 0 && fake_dat[0].end->rx.state == DAT_COMING_NOTHING);
	fragment(0, 0, 16, 8, 8);
	CHECK(fake_dat[0].recv->length == 0);
	fragment(0, 1, 16, 0, 8);
	fragment(0, 1, 16, 8, 8);
	RECEIVES_ARE(0, {1, OK});
	CHECK(memcmp(fake_dat[0].memory + AT, bytes, 16) == 0);
	fragment(1, 0, 16, 0, 4);
	fragment(1, 0, 16, 8, 8); /* a hole */
	expect_ready(1, 1);
	fake_dat_close();
}

/* A message whose parts disagree about its kind. */
static void changing(void)
{
	open_first(1);
	fragment(0, 0, 16, 0, 8);
	fragment(0, 0, 24, 8, 8);
	CHECK(!fake_dat[0].end->on && fake_dat[0].end->end_status == DAT_DTO_ERR_BAD_RESPONSE);
	CHECK(fake_dat_over(0));
	RECEIVES_ARE(0, {1, FLUSHED});
	fake_dat_close();
}

/* Requests that come while an answer waits for room are asked for again after it. */
static void dropped(void)
{
	enum { MOST = 300 };
	dat_end *end;
	uint32_t i;

	fake_rc_open(0);
	end = fake_dat[1].end;
	for (i = 0; i < 8; i++)
		fake_rc_receive(1, i, AT, N);
	/* the ring to the first is full */
	fake_dat[1].posts.max_requests = MOST;
	for (i = 0; i < MOST && !second_lane.unsent; i++)
		fake_rc_post(1, (fake_rc){.op = RC_WRITE,
		                          .cookie = i,
		                          .n = N,
		                          .completion = DAT_COMPLETION_SUPPRESS_FLAG});
	CHECK(second_lane.unsent);
	fake_rc_post(0, (fake_rc){.op = RC_SEND, .cookie = 1, .n = N});
	fake_rc_post(0, (fake_rc){.op = RC_READ, .cookie = 2, .at = FAR, .n = N});
	fake_rc_post(0, (fake_rc){.op = RC_SEND, .cookie = 3, .n = N});
	fake_rc_post(0, (fake_rc){.op = RC_ADD,
	                          .cookie = 4,
	                          .at = FAR + N,
	                          .n = 8,
	                          .operand = 1,
	                          .there = FAR});
	fake_rc_post(0, (fake_rc){.op = RC_SEND, .cookie = 5, .n = N});
	second_rc_turn();
	CHECK(end->rx.state == DAT_COMING_ASK && end->rx.dropped && end->rx.expected == 1);
	CHECK(fake_dat[1].recv->length == 1 && !end->rx.restarts);
	fake_dat_turns();
	REQUESTS_ARE(0, {1, OK}, {2, OK}, {3, OK}, {4, OK}, {5, OK});
	RECEIVES_ARE(1, {0, OK}, {1, OK}, {2, OK});
	CHECK(!end->rx.dropped && fake_dat[0].memory[FAR + N - 1] == 9);
	CHECK(fake_dat[1].memory[FAR] == 10); /* once */
	fake_dat_close();
}

/* A message of the peer's about requests. */
static void say(uint32_t kind, uint32_t seq, uint8_t attempt)
{
	dat_header h = fake_rc_header(seq);

	h.attempt = attempt;
	fake_rc_say(kind, &h, NULL, 0);
	rc_turn();
}

/* The peer gets a message of data with that number and attempt. */
static void expect_data(uint32_t seq, uint8_t attempt)
{
	dat_header h;

	CHECK(fake_rc_hear(&h) == DAT_MSG_DATA && h.seq == seq && h.attempt == attempt);
}

/* NOT_READY and READY: of requests that are under way only, and of an attempt only once. */
static void ready(void)
{
	const dat_end *end;
	uint32_t i;

	fake_rc_open(0);
	end = fake_dat[0].end;
	say(DAT_MSG_NOT_READY, 0, 0); /* nothing was sent */
	say(DAT_MSG_READY, 0, 1);
	CHECK(!end->tx.blocked && end->tx.sent == 0);
	for (i = 0; i < 3; i++) {
		fake_rc_post(0, (fake_rc){.op = RC_SEND, .cookie = i, .n = N});
		expect_data(i, 0);
	}
	say(DAT_MSG_NOT_READY, 3, 0);
	say(DAT_MSG_NOT_READY, (uint32_t)-1, 0);
	CHECK(!end->tx.blocked);
	say(DAT_MSG_READY, 3, 1);
	say(DAT_MSG_READY, (uint32_t)-1, 1);
	expect_nothing();
	say(DAT_MSG_NOT_READY, 1, 1);
	CHECK(end->tx.blocked);
	fake_rc_post(0, (fake_rc){.op = RC_SEND, .cookie = 3, .n = N});
	expect_nothing();
	say(DAT_MSG_READY, 1, 0); /* of the attempt that was */
	CHECK(end->tx.blocked);
	expect_nothing();
	say(DAT_MSG_READY, 1, 1);
	CHECK(!end->tx.blocked && end->tx.sent == 4);
	expect_data(1, 1);
	expect_data(2, 0);
	expect_data(3, 0);
	say(DAT_MSG_READY, 1, 1); /* again */
	expect_nothing();
	fake_dat_close();
}

/* From a hostile peer: any number, any attempt. Each request completes once, in order. */
static void ready_lies(void)
{
	uint32_t i, k;

	fake_rc_open(0);
	for (i = 0; i < 8; i++)
		fake_rc_post(
			0,
			(fake_rc){.op = i % 3 ? RC_SEND : RC_READ, .cookie = i, .at = FAR, .n = 8});
	for (k = 0; k < 2000; k++) {
		dat_header h;

		say(k % 5 ? DAT_MSG_READY : DAT_MSG_NOT_READY, k % 11 - 1, (uint8_t)(k * 7));
		CHECK(fake_dat[0].end->tx.asked <= FAKE_DAT_READS);
		CHECK(fake_dat[0].end->tx.sent <= 8 && fake_dat[0].end->tx.posted == 8);
		while (fake_rc_hear(&h))
			CHECK(h.seq < 8);
	}
	CHECK(fake_dat[0].end->on);
	rc_cut(fake_dat[0].end, RC_BROKEN);
	CHECK(fake_dat_over(0) && fake_dat[0].request->length == 8);
	for (i = 0; i < 8; i++)
		fake_dat_expect(0, fake_dat[0].request, i, FLUSHED);
	fake_dat_close();
}

/* The end, with the status of a request that is under way, or of none. */
static void end_status(uint32_t seq, uint8_t flags, uint8_t status, uint32_t is)
{
	dat_header h;

	fake_rc_open(0);
	fake_rc_post(0, (fake_rc){.op = RC_SEND, .cookie = 1, .n = N});
	fake_rc_post(0, (fake_rc){.op = RC_SEND, .cookie = 2, .n = N});
	fake_rc_post(0, (fake_rc){.op = RC_SEND, .cookie = 3, .n = N});
	h = fake_rc_header(seq);
	h.flags = flags;
	h.status = status;
	h.number = 1;
	fake_rc_say(DAT_MSG_END, &h, NULL, 0);
	rc_turn();
	CHECK(fake_dat_over(0));
	CHECK(fake_dat[0].end->how == (flags ? RC_BROKEN : RC_BY_PEER));
	REQUESTS_ARE(0, {1, OK}, {2, is}, {3, FLUSHED});
	fake_dat_close();
}

/* An answer without a question, of another length, or place. */
static void wrong_answer(int op, uint32_t seq, uint8_t as, uint32_t offset, uint32_t n, int taken)
{
	dat_header h;

	fake_rc_open(0);
	fake_rc_post(0, (fake_rc){.op = op, .cookie = 1, .at = FAR, .n = 8});
	h = fake_rc_header(seq);
	h.op = as;
	h.total = 8;
	h.offset = offset;
	fake_rc_say(DAT_MSG_REPLY, &h, bytes, n);
	rc_turn();
	CHECK((int)fake_dat[0].end->on == taken);
	CHECK(fake_dat[0].end->on || fake_dat[0].end->end_status == DAT_DTO_ERR_BAD_RESPONSE);
	CHECK(fake_dat[0].memory[FAR] == 3 && fake_dat[0].memory[FAR + 8] == 3);
	fake_dat_close();
}

/* Operations that there are not, or not of that length. */
static void wrong_ask(uint8_t op, uint32_t total)
{
	dat_ask ask = {{0}, 0, 0};

	fake_rc_open(0);
	ask.header = fake_rc_header(0);
	ask.header.op = op;
	ask.header.total = total;
	fake_rc_say(DAT_MSG_ASK, &ask.header, NULL, 0);
	rc_turn();
	CHECK(!fake_dat[0].end->on && fake_dat[0].end->end_status == DAT_DTO_ERR_BAD_RESPONSE);
	fake_dat_close();
}

/* A message of core's, or for no connection, stays in the ring, and core has a turn. */
static void not_ours(uint32_t kind, uint32_t conn, uint32_t tag)
{
	dat_header h;

	fake_rc_open(0);
	h = fake_rc_header(0);
	h.conn += conn;
	h.tag += tag;
	fake_rc_say(kind, &h, NULL, 0);
	dat_the_lane.rings = 0;
	CHECK(rc_turn() & DAT_LANE_CORE && dat_the_lane.rings);
	CHECK(node_holds(fake_node_peer(0)) && fake_dat[0].end->on);
	fake_dat_close();
}

void test_rc_peer(void)
{
	gap();
	mixed();
	changing();
	dropped();
	ready();
	ready_lies();
	end_status(1, DAT_FLAG_ERROR, DAT_DTO_ERR_REMOTE_ACCESS, DAT_DTO_ERR_REMOTE_ACCESS);
	end_status(7, DAT_FLAG_ERROR, DAT_DTO_ERR_REMOTE_ACCESS, FLUSHED);
	end_status(1, 0, DAT_DTO_ERR_REMOTE_ACCESS, FLUSHED);
	wrong_answer(RC_SEND, 0, RC_SEND, 0, 8, 0);
	wrong_answer(RC_READ, 0, RC_ADD, 0, 8, 0);
	wrong_answer(RC_READ, 0, RC_READ, 4, 4, 0);
	wrong_answer(RC_READ, 0, RC_READ, 0, 9, 0);
	wrong_answer(RC_READ, 0, RC_READ, 0, 0, 0);
	wrong_answer(RC_READ, 1, RC_READ, 0, 8, 1);
	wrong_ask(RC_WRITE, 8);
	wrong_ask(RC_BIND, 8);
	wrong_ask(RC_ADD, 4);
	wrong_ask(RC_SWAP, 16);
	not_ours(DAT_MSG_LAST + 1, 0, 0);
	not_ours(DAT_MSG_DATA, 1, 0);
	not_ours(DAT_MSG_DATA, 1000, 0);
	not_ours(DAT_MSG_DATA, 0, 1);
}
