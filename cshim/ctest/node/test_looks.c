/*
 * test_looks.c - the looks of a task that is about to sleep, and what a ring keeps of a message:
 * each by itself, both ends in one thread. cshim/model covers what may happen between them. Each
 * case is one of the defects of tests/mutants.
 */
#include <string.h>
#include <time.h>

#include "node/arm.h"
#include "ctest/fake.h"
#include "ctest/fake_node.h"
#include "node/put.h"
#include "node/serve.h"

enum { KIND = 9 };

static unsigned char source[60000], sink[60000];

static void start(void)
{
	int bells[2] = {-1, -1};

	fake_node_make(bells);
	memset(source, 3, sizeof(source));
	memset(sink, 0, sizeof(sink));
}

static void send_one(void)
{
	uint64_t header = 0;

	CHECK(node_send(fake_node_link(0), fake_node_peer(0), KIND, &header, sizeof(header),
	                (uintptr_t)source, 8) == NODE_SENT);
}

/* Takes all that task 1's ring holds; how many messages that were. */
static int take_all(void)
{
	node_peer *peer = fake_node_peer(1);
	node_arrival arrival;
	int n = 0;

	for (; node_next(peer, &arrival) == NODE_SOME; n++)
		node_advance(peer, &arrival);
	node_publish_consumed(peer);
	return n;
}

/* A message that came before a task was armed is seen by its second look. */
static void second_look(void)
{
	node_link *link = fake_node_link(1);

	start();
	CHECK(!node_arm(link));
	node_disarm(link);
	send_one();
	CHECK(node_arm(link));
	node_disarm(link);
	CHECK(take_all() == 1);
	CHECK(!node_arm(link));
	node_disarm(link);
	/* a cold ring's sender has said so */
	__atomic_store_n(&node_head(link->own_head)->pending[1], 1, __ATOMIC_SEQ_CST);
	CHECK(node_arm(link));
	node_disarm(link);
}

/* So is room, for a sender that waits for it, and that the peer has left, which gives none any
 * more. */
static void second_look_at_room(void)
{
	node_link *link = fake_node_link(0);
	node_peer *peer = fake_node_peer(0);
	int i;

	start();
	__atomic_store_n(&node_head(peer->out_head)->away, 1, __ATOMIC_SEQ_CST);
	for (i = 0; i < NODE_RING_SLOTS; i++)
		send_one();
	CHECK(!node_short_begin(peer) && peer->blocked);
	CHECK(!node_arm(link));
	node_disarm(link);
	CHECK(node_control(peer->out_control)->waiting == 1);
	CHECK(take_all() == NODE_RING_SLOTS);
	CHECK(node_control(peer->out_control)->waiting == 0);
	CHECK(node_arm(link) && !peer->blocked);
	node_disarm(link);
	for (i = 0; i < NODE_RING_SLOTS; i++)
		send_one();
	CHECK(!node_short_begin(peer) && peer->blocked);
	__atomic_store_n(&node_head(peer->out_head)->armed, NODE_CLOSED, __ATOMIC_SEQ_CST);
	CHECK(node_arm(link));
	node_disarm(link);
}

static uint64_t thread_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* The processor time of a wait for a peer that polls and consumes nothing: the least of some. */
static uint64_t vain_wait_ns(node_peer *peer)
{
	enum { TRIES = 20 };
	uint64_t least = UINT64_MAX, begun, ns;
	int i;

	for (i = 0; i < TRIES; i++) {
		begun = thread_ns();
		CHECK(node_await_consumed(peer, peer->sender.tail, NODE_CHUNK_LOOKS) == NODE_BUSY);
		ns = thread_ns() - begun;
		least = ns < least ? ns : least;
	}
	return least;
}

/* Where tasks share processors one look is enough: thousands cost a task its processor. */
static void one_look_where_crowded(void)
{
	node_peer *peer = fake_node_peer(0);
	uint64_t patient;

	start();
	send_one();
	patient = vain_wait_ns(peer);
	peer->crowded = 1;
	if (cshim_processors() > 1)
		CHECK(vain_wait_ns(peer) < patient / 4);
	CHECK(take_all() == 1);
	CHECK(node_await_consumed(peer, peer->sender.tail, NODE_CHUNK_LOOKS) == NODE_SENT);
}

/* The data of a message of slots looks like the head words that come there a round later. */
static void data_like_heads(void)
{
	uint64_t data[64], header = 0, i;
	node_arrival arrival;

	start();
	for (i = 0; i < 64; i++) /* slot 1 begins 48 bytes behind slot 0's header */
		data[i] = (NODE_RING_SLOTS + 1 + (i - 6) / 8) | NODE_SEQUENCE_VALID |
		          (uint64_t)KIND << 32 | (uint64_t)1 << 40;
	CHECK(node_send(fake_node_link(0), fake_node_peer(0), KIND, &header, sizeof(header),
	                (uintptr_t)data, sizeof(data)) == NODE_SENT);
	CHECK(take_all() == 1);
	while (fake_node_peer(0)->sender.tail < NODE_RING_SLOTS) {
		send_one();
		CHECK(take_all() == 1);
	}
	send_one(); /* in slot 0: the next slot was the inside of the first message */
	CHECK(node_next(fake_node_peer(1), &arrival) == NODE_SOME);
	node_advance(fake_node_peer(1), &arrival);
	CHECK(node_next(fake_node_peer(1), &arrival) == NODE_NONE);
}

/* Serves all that task 1's ring holds; how many puts were complete. */
static int serve_all(uint64_t *bytes)
{
	node_peer *peer = fake_node_peer(1);
	node_arrival arrival;
	node_event event;
	int n = 0;

	while (node_next(peer, &arrival) == NODE_SOME)
		if (node_serve(fake_node_link(1), peer, &arrival, NODE_BY_LINK, &event) ==
		    NODE_ARRIVED) {
			*bytes = event.n;
			n++;
		}
	node_publish_consumed(peer);
	return n;
}

/* A put of which a part had a bad address, and that its origin then gave up, leaves no trace: the
 * next one in parts is whole, and has the length that it has. */
static void put_given_up(void)
{
	node_part_header bad = {4096, NODE_PART_FIRST};
	node_transfer good = {(uintptr_t)source, (uintptr_t)sink, 40000, 0, {1, 2}};
	uint64_t bytes = 0;

	start();
	CHECK(node_send(fake_node_link(0), fake_node_peer(0), NODE_PART, &bad, sizeof(bad),
	                (uintptr_t)source, 8192) == NODE_SENT);
	CHECK(serve_all(&bytes) == 0);
	CHECK(node_put(fake_node_link(0), fake_node_peer(0), &good, 0) == NODE_SENT);
	CHECK(serve_all(&bytes) == 1 && bytes == 40000 && memcmp(sink, source, 40000) == 0);
}

void test_looks(void)
{
	node_guard_install();
	second_look();
	second_look_at_room();
	one_look_where_crowded();
	data_like_heads();
	put_given_up();
}
