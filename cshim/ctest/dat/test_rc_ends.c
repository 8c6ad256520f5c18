/*
 * test_rc_ends.c - the node engine's ends: disconnects with requests under way at both sides, a
 * peer's death, binds and invalidations, event queues that are full, and rings that grow. One
 * thread.
 */
#include "ctest/dat/fake_rc.h"

#include <string.h>

enum { AT = 4096, N = 64, FAR = 512 << 10, MANY = 3000 };

static const uint32_t OK = DAT_DTO_SUCCESS, FLUSHED = DAT_DTO_ERR_FLUSHED;

/* Requests under way at both, the receives for which are there. */
static void open_busy(void)
{
	int side, i;

	fake_rc_open(0);
	for (side = 0; side < 2; side++)
		for (i = 1; i <= 3; i++)
			fake_rc_receive(side, (uint64_t)i, AT, N);
	for (side = 0; side < 2; side++) {
		fake_rc_post(side, (fake_rc){.op = RC_SEND, .cookie = 1, .n = N});
		fake_rc_post(side, (fake_rc){.op = RC_READ, .cookie = 2, .at = FAR, .n = 8});
	}
}

static void disconnects(void)
{
	int side;

	open_busy(); /* gracefully: posted requests complete, and no others are taken */
	rc_disconnect(fake_dat[0].end, 1);
	CHECK(fake_dat[0].end->on && fake_dat[0].end->closing);
	fake_rc_both_over(RC_BY_USER, RC_BY_PEER);
	for (side = 0; side < 2; side++) {
		RECEIVES_ARE(side, {1, OK}, {2, FLUSHED}, {3, FLUSHED});
		REQUESTS_ARE(side, {1, OK}, {2, OK});
	}
	fake_dat_close();

	open_busy(); /* nothing is posted: at once */
	fake_dat_turns();
	fake_dat[1].rc->disconnect(fake_dat[1].end, 1);
	CHECK(!fake_dat[1].end->on);
	fake_rc_both_over(RC_BY_PEER, RC_BY_USER);
	fake_dat_close();

	open_busy(); /* abruptly: the other has seen none of it, or all */
	rc_disconnect(fake_dat[0].end, 0);
	fake_rc_both_over(RC_BY_USER, RC_BY_PEER);
	REQUESTS_ARE(0, {1, FLUSHED}, {2, FLUSHED});
	RECEIVES_ARE(0, {1, FLUSHED}, {2, FLUSHED}, {3, FLUSHED});
	RECEIVES_ARE(1, {1, OK}, {2, FLUSHED}, {3, FLUSHED});
	REQUESTS_ARE(1, {1, FLUSHED}, {2, FLUSHED});
	fake_dat_close();

	open_busy(); /* requests done before the end are complete, though no message has said so */
	fake_dat[1].end->config.own = 0;
	second_rc_turn();
	fake_dat[1].rc->disconnect(fake_dat[1].end, 0);
	CHECK(fake_dat[0].end->tx.posted == 2);
	fake_rc_both_over(RC_BY_PEER, RC_BY_USER);
	REQUESTS_ARE(0, {1, OK}, {2, OK});
	fake_dat_close();
}

/* Both at once, and a peer that has died. */
static void crossed(void)
{
	open_busy();
	rc_disconnect(fake_dat[0].end, 0);
	fake_dat[1].rc->disconnect(fake_dat[1].end, 0);
	fake_rc_both_over(RC_BY_USER, RC_BY_USER);
	fake_dat_close();

	open_busy();
	rc_cut(fake_dat[0].end, RC_BROKEN);
	CHECK(!fake_dat[0].end->tell && dat_the_lane.ended && fake_dat_over(0));
	REQUESTS_ARE(0, {1, FLUSHED}, {2, FLUSHED});
	RECEIVES_ARE(0, {1, FLUSHED}, {2, FLUSHED}, {3, FLUSHED});
	fake_dat_close();
}

/* A message to an end that is over is taken out of the ring, and does nothing. */
static void message_to_over(void)
{
	dat_header h;

	fake_rc_open(1);
	fake_rc_receive(0, 1, AT, N);
	h = fake_rc_header(0);
	h.total = 8;
	rc_cut(fake_dat[0].end, RC_BROKEN);
	fake_rc_say(DAT_MSG_DATA, &h, "1234567", 8);
	rc_turn();
	CHECK(fake_dat_over(0) && fake_dat[0].memory[AT] == 3);
	RECEIVES_ARE(0, {1, FLUSHED});
	fake_dat_close();
}

/* Binds have their turn behind earlier posts, and before later ones; the peer's numbers do not
 * count them. */
static void binds(void)
{
	uint64_t i;

	fake_rc_open(0);
	fake_rc_receive(1, 1, AT, N);
	fake_rc_receive(1, 2, AT, N);
	CHECK(rc_bind(fake_dat[0].end, 1, 0) && fake_dat[0].binds == 1);
	fake_rc_post(0, (fake_rc){.op = RC_READ, .cookie = 2, .at = FAR, .n = 8});
	CHECK(rc_bind(fake_dat[0].end, 3, 0) && fake_dat[0].binds == 1);
	fake_rc_post(0, (fake_rc){.op = RC_SEND, .cookie = 4, .n = N});
	CHECK(rc_bind(fake_dat[0].end, 5, 0) && rc_bind(fake_dat[0].end, 6, 0));
	fake_rc_post(0, (fake_rc){.op = RC_SEND, .cookie = 7, .n = N});
	CHECK(fake_dat[0].end->tx.sent == 1);
	fake_dat_turns();
	for (i = 1; i <= 7; i++) {
		const dat_completion c = fake_dat_take(0, fake_dat[0].request);
		int bound = i == 1 || i == 3 || i == 5 || i == 6;

		CHECK(c.cookie == i && !c.status);
		CHECK((c.number == DAT_RMR_BIND_COMPLETION_EVENT) == bound);
	}
	CHECK(fake_dat[0].end->tx.oldest == 3);
	RECEIVES_ARE(1, {1, OK}, {2, OK});
	fake_rc_post(0, (fake_rc){.op = RC_READ, .cookie = 1, .at = FAR, .n = 8});
	CHECK(rc_bind(fake_dat[0].end, 2, 0));
	rc_cut(fake_dat[0].end, RC_BROKEN);
	CHECK(fake_dat_over(0) && fake_dat[0].binds == 5);
	REQUESTS_ARE(0, {1, FLUSHED}, {2, FLUSHED});
	fake_dat_close();
}

/* A bind that cannot take effect ends the connection, as any error does. */
static void bind_fails(void)
{
	fake_rc_open(0);
	fake_rc_receive(1, 1, AT, N);
	fake_rc_post(0, (fake_rc){.op = RC_SEND, .cookie = 1, .n = N});
	fake_dat[0].fails_binds = 1;
	CHECK(rc_bind(fake_dat[0].end, 2, 0) && rc_bind(fake_dat[0].end, 3, 0));
	fake_rc_post(0, (fake_rc){.op = RC_SEND, .cookie = 4, .n = N});
	fake_rc_both_over(RC_BROKEN, RC_BROKEN);
	REQUESTS_ARE(0, {1, OK}, {2, DAT_RMR_OPERATION_FAILED}, {3, FLUSHED}, {4, FLUSHED});
	RECEIVES_ARE(1, {1, OK});
	fake_dat_close();
}

/*
 * A connection whose ends have no words for each other gets the number of another whose completions
 * were looked for: its own come by messages.
 */
static void without_words(void)
{
	int i;

	fake_rc_open(0);
	fake_rc_post(0, (fake_rc){.op = RC_READ, .cookie = 1, .at = FAR, .n = 8});
	CHECK(dat_the_lane.some_waiting);
	for (i = 0; i < 2; i++)
		fake_dat[i].end->config.own = fake_dat[i].end->config.peers = 0;
	CHECK(!rc_look(0) && !dat_the_lane.some_waiting);
	fake_dat_turns();
	REQUESTS_ARE(0, {1, OK});
	fake_dat_close();
}

/* The peer invalidates a context by a send; where it may not, the connection ends. */
static void invalidates(void)
{
	const fake_rc send = {
		.op = RC_SEND, .flags = RC_INVALIDATE, .cookie = 1, .n = N, .data = 0x123};
	dat_completion c;

	fake_rc_open(1);
	fake_rc_receive(1, 1, AT, N);
	fake_rc_post(0, send);
	fake_dat_turns();
	CHECK(fake_dat[1].invalidated == 0x123);
	c = fake_dat_take(1, fake_dat[1].recv);
	CHECK(c.context == 0x123 && c.operation == DAT_DTO_RECEIVE_WITH_INVALIDATE);
	REQUESTS_ARE(0, {1, OK});
	fake_rc_receive(1, 2, AT, N);
	fake_dat[1].refuses = 1;
	fake_rc_post(0, send);
	fake_rc_both_over(RC_BROKEN, RC_BROKEN);
	REQUESTS_ARE(0, {1, DAT_DTO_ERR_REMOTE_ACCESS});
	RECEIVES_ARE(1, {2, FLUSHED});
	fake_dat_close();
}

/* Completions that find no place are dropped, which is said once; the requests are over. */
static void full_queue(void)
{
	enum { MORE = 4 };
	uint32_t i;

	fake_rc_open(1);
	for (i = 0; i < FAKE_DAT_EVENTS + MORE; i++) {
		fake_rc_receive(1, i, AT, N);
		fake_rc_post(0, (fake_rc){.op = RC_SEND, .cookie = i, .n = N});
		fake_dat_turns();
		RECEIVES_ARE(1, {i, OK});
	}
	CHECK(fake_dat[0].request->length == FAKE_DAT_EVENTS && fake_dat[0].end->tx.posted == 0);
	CHECK(fake_dat[0].async->length == 1 && fake_dat[0].end->on);
	for (i = 0; i < FAKE_DAT_EVENTS; i++)
		fake_dat_expect(0, fake_dat[0].request, i, OK);
	for (i = 0; i < FAKE_DAT_EVENTS + MORE; i++) { /* of receives */
		fake_rc_receive(1, i, AT, N);
		fake_rc_post(0, (fake_rc){.op = RC_SEND, .cookie = i, .n = N});
		fake_dat_turns();
		REQUESTS_ARE(0, {i, OK});
	}
	CHECK(fake_dat[1].recv->length == FAKE_DAT_EVENTS && fake_dat[1].async->length == 1);
	CHECK(fake_dat[1].end->rx.queue.count == 0);
	fake_dat_close();
}

/* Thousands of requests and receives, in rings that grow when their head is anywhere. */
static void growing(void)
{
	uint32_t got = 0, done = 0, i;

	fake_rc_open(1);
	fake_dat[0].posts.max_requests = fake_dat[1].posts.max_receives = 2 * MANY;
	for (i = 0; i < 5; i++) {
		fake_rc_receive(1, i, AT, N);
		fake_rc_post(0, (fake_rc){.op = RC_SEND, .cookie = i, .n = N});
	}
	fake_dat_turns();
	for (; got < 5; got++, done++) {
		fake_dat_expect(1, fake_dat[1].recv, got, OK);
		fake_dat_expect(0, fake_dat[0].request, done, OK);
	}
	for (i = 5; i < MANY; i++) {
		memcpy(fake_dat[0].memory + i * 8, &i, sizeof(i));
		fake_rc_receive(1, i, i * 8, 8);
		fake_rc_post(0, (fake_rc){.op = RC_SEND, .cookie = i, .at = i * 8, .n = 8});
	}
	CHECK(fake_dat[0].end->tx.posted == MANY - 5 && fake_dat[0].end->tx.sent < MANY / 2);
	for (i = 0; i < MANY && done < MANY; i++) {
		second_rc_turn();
		for (; fake_dat[1].recv->length; got++)
			fake_dat_expect(1, fake_dat[1].recv, got, OK);
		rc_turn();
		for (; fake_dat[0].request->length; done++)
			fake_dat_expect(0, fake_dat[0].request, done, OK);
	}
	CHECK(done == MANY && got == MANY);
	for (i = 5; i < MANY; i++)
		CHECK(memcmp(fake_dat[1].memory + i * 8, &i, sizeof(i)) == 0);
	fake_dat_close();
}

/* An endpoint takes no more requests and receives than it was made for. */
static void limits(void)
{
	const DAT_LMR_TRIPLET to[2] = {fake_dat_local(0, 0, N)};
	const DAT_RETURN full = DAT_CLASS_ERROR | DAT_INSUFFICIENT_RESOURCES | DAT_RESOURCE_TEP;
	const fake_rc send = {.op = RC_SEND, .n = N};
	uint32_t i;

	fake_rc_open(1);
	for (i = 0; i < FAKE_DAT_REQUESTS; i++)
		fake_rc_post(0, send);
	CHECK(fake_rc_try(0, &send) == full);
	fake_dat[0].posts.max_receives = 2;
	fake_rc_receive(0, 1, 0, N);
	fake_rc_receive(0, 2, 0, N);
	CHECK(rc_post_receive(fake_dat[0].ep, 1, to, 0, 0) == full);
	fake_dat[0].posts.max_receives = 3;
	CHECK(rc_post_receive(fake_dat[0].ep, 1, to, 0, 1u << 30) == DAT_BAD_ARGUMENT(5));
	fake_dat[0].posts.max_receive_iov = 1;
	CHECK(rc_post_receive(fake_dat[0].ep, 2, to, 0, 0) == DAT_BAD_ARGUMENT(2));
	fake_dat_close();
}

/* A connection that finds the ring full of another's messages, and has none under way. */
static void no_room(void)
{
	enum { MOST = 300 };
	const dat_end *end;
	dat_end *more[2];
	uint32_t i;

	fake_rc_open(0);
	fake_rc_open_more(more);
	end = fake_dat[0].end;
	fake_dat[0].posts.max_requests = MOST;
	fake_dat[0].posts.end = (uintptr_t)more[0];
	for (i = 0; i < MOST && more[0]->tx.sent == more[0]->tx.posted; i++)
		fake_rc_post(0, (fake_rc){.op = RC_WRITE,
		                          .n = N,
		                          .there = FAR,
		                          .completion = DAT_COMPLETION_SUPPRESS_FLAG});
	CHECK(more[0]->tx.sent < more[0]->tx.posted);
	fake_dat[0].posts.end = (uintptr_t)end;
	fake_rc_receive(1, 1, AT, N);
	fake_rc_post(0, (fake_rc){.op = RC_SEND, .cookie = 1, .n = N});
	CHECK(end->tx.posted == 1 && end->tx.sent == 0);
	fake_dat_turns();
	RECEIVES_ARE(1, {1, OK});
	REQUESTS_ARE(0, {1, OK});
	CHECK(more[0]->tx.posted == 0);
	fake_rc_close_more(more);
	fake_dat_close();
}

void test_rc_ends(void)
{
	disconnects();
	crossed();
	message_to_over();
	binds();
	bind_fails();
	without_words();
	invalidates();
	full_queue();
	growing();
	limits();
	no_room();
}
