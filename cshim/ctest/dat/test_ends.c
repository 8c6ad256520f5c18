/*
 * test_ends.c - what the node engine does where a transfer is not as usual: there are no segments,
 * the receive is too short, the peer takes nothing for long, has gone, or says what cannot be. One
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
	origin = fake_dat[0].end;
	target = fake_dat[1].end;
	memset(fake_dat[0].memory, 3, FAKE_DAT_MEMORY);
	memset(fake_dat[1].memory, 9, FAKE_DAT_MEMORY);
}

static uint32_t completed(void)
{
	return fake_dat[0].request->length;
}

/* Sends n bytes; 0: a send without segments. */
static DAT_RETURN send_some(uint64_t n)
{
	const DAT_LMR_TRIPLET from = fake_dat_local(0, 0, n);
	const dat_post post = {
		.op = RC_SEND, .num_segments = n > 0, .local_iov = n > 0 ? &from : NULL};

	return rc_post(fake_dat[0].ep, &post);
}

static DAT_RETURN receive_some(uint64_t n)
{
	const DAT_LMR_TRIPLET to = fake_dat_local(1, AT, n);

	return second_rc_post_receive(fake_dat[1].ep, n > 0, n > 0 ? &to : NULL, 0, 0);
}

/* A message without segments takes a receive without segments, and a receive with some. */
static void no_segments(void)
{
	uint64_t n;

	for (n = 0; n <= N; n += N) {
		open_both();
		CHECK(receive_some(n) == DAT_SUCCESS && send_some(0) == DAT_SUCCESS);
		CHECK(!(second_rc_turn() & DAT_LANE_CORE) && fake_dat[1].recv->length == 1);
		CHECK(fake_dat_take(1, fake_dat[1].recv).length == 0);
		rc_turn();
		CHECK(completed() == 1 && fake_dat[1].memory[AT] == 9);
		fake_dat_close();
	}
}

/* The origin's only request is complete with that status. */
static void expect_request(uint32_t status)
{
	fake_dat_expect(0, fake_dat[0].request, 0, status);
	CHECK(completed() == 0 && origin->tx.posted == 0);
}

/* Both ends are over, by an error; and that of the request and of the receive, if there is one. */
static void both_broken(uint32_t request, uint32_t receive)
{
	second_rc_turn();
	rc_turn();
	CHECK(fake_dat_over(0) && origin->how == RC_BROKEN && !origin->tell);
	CHECK(fake_dat_over(1) && target->how == RC_BROKEN && !target->tell);
	expect_request(request);
	if (receive)
		fake_dat_expect(1, fake_dat[1].recv, 0, receive);
	CHECK(fake_dat[1].recv->length == 0 && target->rx.queue.count == 0);
}

/* A number of segments, and no list of them. */
static void no_list(void)
{
	const dat_post post = {.op = RC_SEND, .num_segments = 1};
	const DAT_RETURN no_list = DAT_BAD_ARGUMENT(3), no_count = DAT_BAD_ARGUMENT(2);

	open_both();
	CHECK(rc_post(fake_dat[0].ep, &post) == no_list && origin->tx.posted == 0);
	CHECK(second_rc_post_receive(fake_dat[1].ep, 1, NULL, 0, 0) == no_list);
	CHECK(second_rc_post_receive(fake_dat[1].ep, -1, NULL, 0, 0) == no_count);
	CHECK(target->rx.queue.count == 0);
	fake_dat_close();
}

/* A message that finds no receive is sent again when there is one. Until then nothing else is. */
static void no_receive(void)
{
	open_both();
	CHECK(send_some(N) == DAT_SUCCESS);
	CHECK(!(second_rc_turn() & DAT_LANE_CORE) && fake_dat[1].recv->length == 0);
	CHECK(target->rx.wants && target->rx.expected == 0);
	rc_turn();
	CHECK(origin->tx.blocked && send_some(N) == DAT_SUCCESS && origin->tx.sent == 1);
	CHECK(receive_some(N) == DAT_SUCCESS && receive_some(N) == DAT_SUCCESS);
	CHECK(!target->rx.wants);
	rc_turn();
	CHECK(!origin->tx.blocked && origin->tx.sent == 2 && completed() == 0);
	second_rc_turn();
	rc_turn();
	CHECK(fake_dat[1].recv->length == 2 && completed() == 2);
	CHECK(fake_dat[1].memory[AT] == 3 && origin->on && target->on);
	fake_dat_close();
}

/* A message that is longer than its receive ends the connection, and no byte is written. */
static void too_long(void)
{
	uint64_t n;

	for (n = 0; n < N; n += N / 2) {
		open_both();
		CHECK(receive_some(n) == DAT_SUCCESS && send_some(N) == DAT_SUCCESS);
		CHECK(second_rc_turn() & DAT_LANE_CORE && fake_dat[1].memory[AT] == 9);
		both_broken(DAT_DTO_ERR_REMOTE_RESPONDER, DAT_DTO_ERR_LOCAL_LENGTH);
		fake_dat_close();
	}
}

/* A peer that takes nothing for so long that there is no room: waiting messages go in later
 * turns. */
static void no_room(void)
{
	enum { LONG = 512 }; /* bytes: more such messages can be posted than the ring holds */
	uint32_t posted = 0, i;

	open_both();
	while (!dat_the_lane.unsent && posted < FAKE_DAT_REQUESTS) {
		CHECK(receive_some(LONG) == DAT_SUCCESS && send_some(LONG) == DAT_SUCCESS);
		posted++;
	}
	CHECK(origin->tx.posted == posted && origin->tx.sent < posted && origin->on);
	for (i = 0; i < 8 && completed() < posted; i++) {
		second_rc_turn();
		rc_turn();
	}
	CHECK(completed() == posted && !dat_the_lane.unsent);
	fake_dat_close();
}

/* A peer that has closed its link: the request waits until core says that it is gone. */
static void left(void)
{
	open_both();
	CHECK(receive_some(N) == DAT_SUCCESS);
	node_leave(fake_node_link(1));
	fake_node_peer(0)->closed = 1; /* as core says when it has seen that */
	CHECK(send_some(N) == DAT_SUCCESS && origin->tx.posted == 1 && origin->tx.sent == 0);
	rc_turn();
	CHECK(origin->on && dat_the_lane.unsent && completed() == 0);
	rc_cut(origin, RC_BROKEN);
	CHECK(fake_dat_over(0) && origin->how == RC_BROKEN && !origin->tell);
	expect_request(DAT_DTO_ERR_FLUSHED);
	CHECK(send_some(N) == DAT_SUCCESS); /* core flushes that */
	expect_request(DAT_DTO_ERR_FLUSHED);
	fake_node_peer(0)->closed = 0;
	fake_dat_close();
}

/* A peer that says that it is done with requests that were never sent. By message: that ends the
 * connection. By its word in memory: that is ignored. */
static void done_too_much(void)
{
	open_both();
	CHECK(send_some(N) == DAT_SUCCESS);
	target->rx.expected = 7;
	target->config.own = 0; /* so that it sends rc's Done */
	target->tell = RC_TELL_DONE;
	second_lane.unsent = 1;
	second_rc_turn();
	CHECK(rc_turn() & DAT_LANE_CORE && completed() == 0 && origin->tx.posted == 1);
	CHECK(origin->end_status == DAT_DTO_ERR_BAD_RESPONSE);
	both_broken(DAT_DTO_ERR_FLUSHED, 0);
	fake_dat_close();

	open_both();
	CHECK(send_some(N) == DAT_SUCCESS);
	fake_dat[1].table->ends[FAKE_DAT_INDEX].done = 7;
	rc_turn();
	CHECK(completed() == 0 && origin->tx.posted == 1);
	fake_dat[1].table->ends[FAKE_DAT_INDEX].done = 1;
	rc_turn();
	CHECK(completed() == 1 && origin->tx.posted == 0);
	fake_dat_close();
}

/* A word of another connection, which has taken the place, is not looked at. */
static void done_by_another(void)
{
	dat_open *word;

	open_both();
	word = &fake_dat[1].table->ends[FAKE_DAT_INDEX];
	CHECK(send_some(N) == DAT_SUCCESS);
	word->done = 1;
	word->tag++;
	rc_turn();
	CHECK(completed() == 0);
	word->tag--;
	rc_turn();
	CHECK(completed() == 1);
	fake_dat_close();
}

/* A sleeping task is notified of a completion by a message, but not if only its service thread
 * sleeps: that need not wake. The task finds the word when it looks. */
static void asleep(void)
{
	uint32_t waits;

	for (waits = 0; waits < 2; waits++) {
		open_both();
		CHECK(receive_some(N) == DAT_SUCCESS && send_some(N) == DAT_SUCCESS);
		fake_dat[0].table->waits = waits;
		CHECK(!node_arm(fake_node_link(0)));
		second_rc_turn();
		CHECK(node_holds(fake_node_peer(0)) == (int)waits);
		node_disarm(fake_node_link(0));
		rc_turn();
		CHECK(completed() == 1 && origin->tx.posted == 0);
		fake_dat_close();
	}
}

static uint32_t asked;

static int nothing_there(void)
{
	asked++;
	return 0;
}

/* With an RDMA adapter a thread that posts counts as a polling thread, so that no service thread
 * begins beside it, and looks at the adapter now and then: even if its posts are invalid. */
static void posts_to_adapter(void)
{
	const DAT_LMR_TRIPLET from = {.segment_length = 8};
	const dat_post post = {.op = RC_SEND, .num_segments = 1, .local_iov = &from};
	const DAT_RETURN no_endpoint = DAT_CLASS_ERROR | DAT_INVALID_HANDLE | DAT_INVALID_HANDLE_EP;
	uint32_t polls, i;

	open_both();
	dat_progress.state = CSHIM_ACTIVE;
	polls = dat_progress.polls;
	for (i = 0; i < 64; i++)
		CHECK(rc_post(NULL, &post) == no_endpoint);
	CHECK(dat_progress.polls == polls); /* without one */
	dat_the_lane.adapters = (uintptr_t)nothing_there;
	for (i = 0; i < 64; i++)
		CHECK(rc_post(NULL, &post) == no_endpoint);
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
}
