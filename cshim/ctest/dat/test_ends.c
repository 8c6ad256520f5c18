/*
 * test_ends.c - what uDAPL's lane does where a transfer is not as usual: there are no segments, the
 * receive is too short, the peer takes nothing for long, has gone, or says what cannot be. One
 * thread.
 */
#include "ctest/dat/fake_dat.h"

#include <string.h>

#include "node/arm.h"

enum { AT = 4096, N = 64 };

static dat_end *origin, *target;

static void open_both(void)
{
	fake_dat_open(0);
	origin = &fake_dat[0].end;
	target = &fake_dat[1].end;
	memset(fake_dat[0].memory, 3, FAKE_DAT_MEMORY);
	memset(fake_dat[1].memory, 9, FAKE_DAT_MEMORY);
}

static uint32_t completed(void)
{
	return fake_dat[0].request->length;
}

/* What the target's first event says. */
static uint32_t received_length(void)
{
	dat_completion event;

	memcpy(&event, fake_dat[1].recv_events, sizeof(event));
	return event.length;
}

/* Sends n bytes; 0: a send without segments. */
static int send_some(uint64_t n)
{
	const DAT_LMR_TRIPLET from = fake_dat_local(0, 0, n);
	const dat_post post = {
		.op = DAT_LANE_SEND, .num_segments = n > 0, .local_iov = n > 0 ? &from : NULL};

	return dat_lane_post(fake_dat[0].ep, &post);
}

static int receive_some(uint64_t n)
{
	const DAT_LMR_TRIPLET to = fake_dat_local(1, AT, n);

	return second_receive(fake_dat[1].ep, n > 0, n > 0 ? &to : NULL, 0, 0);
}

/* A message without segments takes a receive without segments, and one that has some. */
static void no_segments(void)
{
	uint64_t n;

	for (n = 0; n <= N; n += N) {
		open_both();
		CHECK(receive_some(n) == 1 && send_some(0) == 1);
		CHECK(!(second_turn() & DAT_LANE_CORE) && fake_dat[1].recv->length == 1);
		CHECK(received_length() == 0);
		dat_lane_turn();
		CHECK(completed() == 1 && fake_dat[1].memory[AT] == 9);
		fake_dat_close();
	}
}

/* A number of segments, and no list of them: core says what is wrong. */
static void no_list(void)
{
	const dat_post post = {.op = DAT_LANE_SEND, .num_segments = 1};

	open_both();
	CHECK(dat_lane_post(fake_dat[0].ep, &post) == 0 && origin->tx.posted == 0);
	CHECK(second_receive(fake_dat[1].ep, 1, NULL, 0, 0) == 0);
	CHECK(second_receive(fake_dat[1].ep, -1, NULL, 0, 0) == 0 && target->rx.received == 0);
	fake_dat_close();
}

/* A message that finds no receive is left to core. */
static void no_receive(void)
{
	open_both();
	CHECK(send_some(0) == 1);
	CHECK(second_turn() & DAT_LANE_CORE && fake_dat[1].recv->length == 0);
	CHECK(target->rx.base == 0 && target->rx.expected == 0);
	fake_dat_close();
}

/* A message that is longer than its receive is left to core, and no byte is written. */
static void too_long(void)
{
	uint64_t n;

	for (n = 0; n < N; n += N / 2) {
		open_both();
		CHECK(receive_some(n) == 1 && send_some(N) == 1);
		CHECK(second_turn() & DAT_LANE_CORE && fake_dat[1].recv->length == 0);
		CHECK(fake_dat[1].memory[AT] == 9 && target->rx.received == 1);
		fake_dat_close();
	}
}

/* A peer that takes nothing for so long that there is no room: what waits goes in later turns. */
static void no_room(void)
{
	enum { LONG = 512 }; /* bytes: the window holds more such messages than the ring does */
	uint32_t posted = 0, i;

	open_both();
	while (!dat_the_lane.unsent && posted < DAT_LANE_WINDOW) {
		CHECK(receive_some(LONG) == 1 && send_some(LONG) == 1);
		posted++;
	}
	CHECK(origin->tx.posted == posted && origin->tx.sent < posted && !origin->stuck);
	for (i = 0; i < 8 && completed() < posted; i++) {
		second_turn();
		dat_lane_turn();
	}
	CHECK(completed() == posted && !dat_the_lane.unsent);
	fake_dat_close();
}

/* A peer that has closed its link: the request stays, and core has the connection. */
static void left(void)
{
	open_both();
	node_leave(fake_node_link(1));
	fake_node_peer(0)->closed = 1; /* as core says when it has seen that */
	CHECK(send_some(N) == 0 && origin->tx.posted == 0);
	fake_node_peer(0)->closed = 0;
	fake_dat_close();

	open_both();
	CHECK(send_some(N) == 1 && origin->tx.posted == 1);
	node_leave(fake_node_link(1));
	fake_node_peer(0)->closed = 1;
	origin->tx.sent = 0; /* as one that found no room */
	dat_the_lane.unsent = 1;
	CHECK(dat_lane_turn() & DAT_LANE_CORE);
	CHECK(origin->stuck && dat_the_lane.stuck && origin->tx.posted == 1 && completed() == 0);
	fake_node_peer(0)->closed = 0;
	fake_dat_close();
}

/* A peer that says it is done with what was never sent, by message: that is core's to judge, and
 * completes nothing. By its word in memory: that is taken for nothing. */
static void done_too_much(void)
{
	open_both();
	CHECK(send_some(N) == 1);
	target->rx.expected = 7;
	target->config.own = 0; /* so that it sends rc's Done */
	target->rx.tell = 1;
	second_lane.unsent = 1;
	second_turn();
	CHECK(dat_lane_turn() & DAT_LANE_CORE && completed() == 0 && origin->tx.posted == 1);
	fake_dat_close();

	open_both();
	CHECK(send_some(N) == 1);
	fake_dat[1].table->ends[FAKE_DAT_INDEX].done = 7;
	dat_lane_turn();
	CHECK(completed() == 0 && origin->tx.posted == 1);
	fake_dat[1].table->ends[FAKE_DAT_INDEX].done = 1;
	dat_lane_turn();
	CHECK(completed() == 1 && origin->tx.posted == 0);
	fake_dat_close();
}

/* A word of another connection, which has taken the place, is not looked at. */
static void done_by_another(void)
{
	dat_open *word;

	open_both();
	word = &fake_dat[1].table->ends[FAKE_DAT_INDEX];
	CHECK(send_some(N) == 1);
	word->done = 1;
	word->tag++;
	dat_lane_turn();
	CHECK(completed() == 0);
	word->tag--;
	dat_lane_turn();
	CHECK(completed() == 1);
	fake_dat_close();
}

/* Of a completion one that sleeps is told by a message, but not if only its service thread sleeps:
 * that need not wake. It finds the word when it looks. */
static void asleep(void)
{
	uint32_t waits;

	for (waits = 0; waits < 2; waits++) {
		open_both();
		CHECK(receive_some(N) == 1 && send_some(N) == 1);
		fake_dat[0].table->waits = waits;
		CHECK(!node_arm(fake_node_link(0)));
		second_turn();
		CHECK(node_holds(fake_node_peer(0)) == (int)waits);
		node_disarm(fake_node_link(0));
		dat_lane_turn();
		CHECK(completed() == 1 && origin->tx.posted == 0);
		fake_dat_close();
	}
}

/* After a turn of the lane core takes messages only if one is its own: others are the lane's. */
static void leaves(void)
{
	uint32_t messages = 0, links = 0, i;

	open_both();
	for (i = 0; i < 64; i++) {
		dat_lane_leave(DAT_LANE_CORE);
		messages += dat_the_lane.leave == DAT_LEAVE_MESSAGES;
		links += dat_the_lane.leave == DAT_LEAVE_LINKS;
	}
	CHECK(messages > 0 && links > messages && messages + links == 64);
	dat_lane_leave(DAT_LANE_CORE | DAT_LANE_RINGS);
	CHECK(dat_the_lane.leave == DAT_LEAVE_NOTHING);
	fake_dat_close();
}

static uint32_t asked;

static int nothing_there(void)
{
	asked++;
	return 0;
}

/* With an RDMA adapter who posts counts as one that polls, so that no service thread begins beside
 * him, and looks at the adapter now and then: also if his posts are no good. */
static void posts_to_adapter(void)
{
	const DAT_LMR_TRIPLET from = {.segment_length = 8};
	const dat_post post = {.op = DAT_LANE_WRITE, .num_segments = 1, .local_iov = &from};
	uint32_t polls, i;

	open_both();
	dat_progress.state = CSHIM_ACTIVE;
	polls = dat_progress.polls;
	for (i = 0; i < 64; i++)
		CHECK(!dat_lane_post(NULL, &post));
	CHECK(dat_progress.polls == polls); /* without one */
	dat_the_lane.adapters = (uintptr_t)nothing_there;
	for (i = 0; i < 64; i++)
		CHECK(!dat_lane_post(NULL, &post));
	CHECK(dat_progress.polls == polls + 64 && asked == 4);
	dat_progress.state = CSHIM_FREE;
	dat_the_lane.adapters = 0;
	fake_dat_close();
}

void test_ends(void)
{
	posts_to_adapter();
	no_segments();
	no_list();
	no_receive();
	too_long();
	no_room();
	left();
	done_too_much();
	done_by_another();
	asleep();
	leaves();
}
