/*
 * test_node.c - the node part by itself: both ends of a link in one process, a thread each; one
 * sends, one receives. Messages of all lengths, puts in parts, gets and operations on words, with
 * contents checked. No lock, no handler, no LAPI.
 */
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <unistd.h>

#include "ctest/fake.h"
#include "ctest/fake_node.h"
#include "node/put.h"
#include "node/serve.h"
#include "node/arm.h"

enum { MESSAGES = 20000, TRANSFERS = 600, LONGEST = 300000, KIND = 9 };
#define LAST_NOTICE ((uint64_t)1 << 40)

static unsigned char source[LONGEST], sink[LONGEST], copy[LONGEST];
static uint64_t word;
static int bells[2];

static uint64_t next_random(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return *state >> 33;
}

static uint64_t length_of(uint64_t i)
{
	uint64_t state = i + 1;

	next_random(&state);
	return next_random(&state) % 5 ? next_random(&state) % 700 : next_random(&state) % 60000;
}

static void start(void)
{
	int i;

	bells[0] = bells[1] = -1;
	fake_node_make(bells);
	for (i = 0; i < LONGEST; i++)
		source[i] = (unsigned char)(i * 7 + i / 251);
	word = 0;
}

/* The receiver of messages: each must be as the sender made it, in order. */
static void *receive_all(void *unused)
{
	node_peer *peer = fake_node_peer(1);
	node_arrival arrival;
	uint64_t i, number;

	for (i = 0; i < MESSAGES;) {
		int found = node_next(peer, &arrival);

		CHECK(found != NODE_CANNOT);
		if (found == NODE_NONE) {
			if (peer->receiver.head != peer->receiver.published)
				node_publish_consumed(peer);
			sched_yield();
			continue;
		}
		CHECK(arrival.kind == KIND && arrival.header == 16 && arrival.data == length_of(i));
		node_take_header(&number, &arrival, sizeof(number));
		CHECK(number == i &&
		      memcmp((void *)(uintptr_t)arrival.bytes, source, arrival.data) == 0);
		node_advance(peer, &arrival);
		i++;
	}
	node_publish_consumed(peer);
	return unused;
}

static void messages(void)
{
	node_link *link = fake_node_link(0);
	node_peer *peer = fake_node_peer(0);
	pthread_t receiver;
	uint64_t i;

	start();
	receiver = fake_thread(receive_all, NULL);
	for (i = 0; i < MESSAGES;) {
		uint64_t header[2] = {i, ~i};
		int rc = node_send(link, peer, KIND, header, sizeof(header), (uintptr_t)source,
		                   length_of(i));

		CHECK(rc == NODE_SENT || rc == NODE_BUSY);
		i += rc == NODE_SENT;
		if (rc == NODE_BUSY)
			sched_yield();
	}
	CHECK(pthread_join(receiver, NULL) == 0);
	CHECK(node_flushed(peer, peer->sender.tail) == 1 && link->packets_sent == MESSAGES);
}

/* Serves messages until the put with the last notice. Returns how many puts were complete. */
static uint64_t serve_until_last(int task)
{
	node_link *link = fake_node_link(task);
	node_peer *peer = fake_node_peer(task);
	node_arrival arrival;
	node_event event;
	uint64_t puts = 0;

	for (;;) {
		int result = node_next(peer, &arrival);

		CHECK(result != NODE_CANNOT);
		if (result == NODE_SOME)
			result = node_serve(link, peer, &arrival, NODE_BY_LINK, &event);
		if (result == NODE_NONE || result == NODE_LATER) {
			if (peer->receiver.head != peer->receiver.published)
				node_publish_consumed(peer);
			sched_yield();
			continue;
		}
		CHECK(result == NODE_SERVED || result == NODE_ARRIVED || result == NODE_WAS_READ);
		if (result != NODE_ARRIVED)
			continue;
		if (event.notice[0] == LAST_NOTICE)
			break;
		CHECK(event.n == event.notice[0] && event.notice[1] == ~event.n &&
		      memcmp(sink, source, event.n) == 0);
		memset(sink, 0, event.n);
		puts++;
	}
	node_publish_consumed(peer);
	return puts;
}

static void *serve(void *result)
{
	*(uint64_t *)result = serve_until_last(1);
	return NULL;
}

static void put(uint64_t n, uint64_t notice)
{
	node_transfer transfer = {(uintptr_t)source, (uintptr_t)sink, n, 0, {notice, ~n}};
	int rc;

	while ((rc = node_put(fake_node_link(0), fake_node_peer(0), &transfer, 0)) != NODE_SENT) {
		CHECK(rc == NODE_BUSY && transfer.at < (n ? n : 1));
		sched_yield();
	}
}

/* Takes answers until nothing of this task's is in flight; the last one's value. */
static uint64_t await_answers(void)
{
	node_link *link = fake_node_link(0);
	node_peer *peer = fake_node_peer(0);
	node_arrival arrival;
	node_event event;
	uint64_t value = 0;

	while (link->ops) {
		int result = node_next(peer, &arrival);

		if (result == NODE_NONE) {
			sched_yield();
			continue;
		}
		CHECK(result == NODE_SOME && arrival.kind == NODE_REPLY);
		result = node_serve(link, peer, &arrival, NODE_BY_LINK, &event);
		CHECK(result == NODE_SERVED || result == NODE_ANSWERED);
		if (result == NODE_ANSWERED)
			value = event.value;
	}
	node_publish_consumed(peer);
	return value;
}

static void get(uint64_t n)
{
	while (!node_get(fake_node_link(0), fake_node_peer(0), NODE_BY_LINK, (uintptr_t)source,
	                 (uintptr_t)copy, n, 0, 0, 0))
		sched_yield();
	await_answers();
	CHECK(memcmp(copy, source, n) == 0);
	memset(copy, 0, n);
}

static void add(uint64_t before)
{
	while (!node_rmw(fake_node_link(0), fake_node_peer(0), NODE_BY_LINK, NODE_ADD, 8,
	                 (uintptr_t)&word, 1, 0))
		sched_yield();
	CHECK(await_answers() == before);
}

static void transfers(void)
{
	uint64_t i, state = 1, puts = 0;
	pthread_t target;

	start();
	target = fake_thread(serve, &puts);
	for (i = 0; i < TRANSFERS; i++) {
		uint64_t n = next_random(&state) % (i % 3 ? 600 : LONGEST);

		put(n, n);
		get(next_random(&state) % (i % 3 ? 600 : LONGEST) + 1);
		add(i);
	}
	put(0, LAST_NOTICE);
	CHECK(pthread_join(target, NULL) == 0);
	CHECK(puts == TRANSFERS && word == TRANSFERS);
}

/* A bad address in a part of a put: reported once, its last part gives no notice, and the next put
 * is whole. */
static void bad_put(void)
{
	node_link *link = fake_node_link(1);
	node_peer *peer = fake_node_peer(1);
	node_transfer bad = {(uintptr_t)source, 4096, 40000, 0, {1, 2}},
		      good = {(uintptr_t)source, (uintptr_t)sink, 40000, 0, {3, 4}};
	int results[NODE_CANNOT + 40] = {0}, found;
	node_arrival arrival;
	node_event event;

	start();
	CHECK(node_put(fake_node_link(0), fake_node_peer(0), &bad, 0) == NODE_SENT);
	CHECK(node_put(fake_node_link(0), fake_node_peer(0), &good, 0) == NODE_SENT);
	while ((found = node_next(peer, &arrival)) != NODE_NONE) {
		int result = node_serve(link, peer, &arrival, NODE_BY_LINK, &event);

		results[result]++;
		CHECK(result != NODE_FAULT || (event.addr - 4096 < 40000 && event.op == 0));
		CHECK(result != NODE_ARRIVED ||
		      (event.notice[0] == 3 && event.notice[1] == 4 && event.n == 40000));
	}
	CHECK(results[NODE_FAULT] == 1 && results[NODE_ARRIVED] == 1);
	/* the memory that the sender has come to use was mapped in one piece */
	CHECK(peer->receiver.mapped >= 80000 && peer->receiver.mapped <= NODE_CHUNK_AREA);
	CHECK(memcmp(sink, source, 40000) == 0);
	memset(sink, 0, sizeof(sink));
}

/* A message that begins and does not end leaves no trace; a message to a task that has left is
 * known not to be read. */
static void beginnings_and_ends(void)
{
	node_link *link = fake_node_link(0);
	node_peer *peer = fake_node_peer(0);
	node_message message;
	node_arrival arrival;
	uint64_t lengths[] = {0, 100, 512, 513, 60000}, i;

	start();
	for (i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		CHECK(node_begin(link, peer, 8, lengths[i], &message) == NODE_SENT);
		CHECK(peer->sender.tail == 0 &&
		      node_next(fake_node_peer(1), &arrival) == NODE_NONE);
	}
	CHECK(node_send(link, peer, KIND, &i, 8, 4096, 100) == NODE_BAD_LOCAL &&
	      link->event.addr - 4096 < 100 && peer->sender.tail == 0);
	CHECK(node_put_short(link, peer, (uintptr_t)sink, 16, 8, 0, 0) == NODE_BAD_LOCAL &&
	      peer->sender.tail == 0);
	node_head(peer->out_head)->armed = NODE_CLOSED;
	CHECK(node_send(link, peer, KIND, &i, 8, 0, 0) == NODE_GONE);
	CHECK(!node_get(link, peer, NODE_BY_LINK, (uintptr_t)source, (uintptr_t)copy, 8, 0, 0, 0) &&
	      link->ops == 0);
}

/* Sends messages, each consumed before the next. */
static void one_at_a_time(node_link *link, node_peer *peer, uint64_t messages)
{
	node_peer *other = fake_node_peer(1);
	node_arrival arrival;
	uint64_t i;

	for (i = 0; i < messages; i++) {
		CHECK(node_send(link, peer, KIND, &i, 8, (uintptr_t)source, 1000) == NODE_SENT);
		CHECK(node_next(other, &arrival) == NODE_SOME);
		node_advance(other, &arrival);
		node_publish_consumed(other);
	}
}

/* Chunks take the memory that the data in flight needs: a page, more while more is under way, until
 * it is consumed. Where few share the node's memory a sender that goes on has all in the end, in
 * whole pages. */
static void chunk_memory(void)
{
	node_peer *peer = fake_node_peer(0), *other = fake_node_peer(1);
	node_link *link = fake_node_link(0);
	node_arrival arrival;
	uint32_t rings = link->rings;
	uint64_t i, used;

	start();
	one_at_a_time(link, peer, 1);
	CHECK(peer->chunks.used <= NODE_CHUNK_LEAST && !node_chunks_rest(peer));
	one_at_a_time(link, peer, 2);
	CHECK(peer->chunks.used == 4 * NODE_CHUNK_LEAST);
	one_at_a_time(link, peer, link->chunk_units);
	CHECK(peer->chunks.used == link->chunk_units && peer->chunks.next % NODE_CHUNK_LEAST == 0);
	CHECK(node_chunks_rest(peer) && peer->chunks.used == NODE_CHUNK_LEAST);

	start();
	link->rings = NODE_CHUNK_AREA_RINGS + 1;
	one_at_a_time(link, peer, 3 * link->chunk_units);
	CHECK(peer->chunks.used <= NODE_CHUNK_LEAST && !node_chunks_rest(peer));
	for (i = 0; i < 3; i++)
		CHECK(node_send(link, peer, KIND, &i, 8, (uintptr_t)source, 60000) == NODE_SENT);
	used = peer->chunks.used;
	CHECK(used > 3 * 60000 / NODE_CHUNK_UNIT && used <= link->chunk_units);
	CHECK(!node_chunks_rest(peer) && peer->chunks.used == used);
	for (i = 0; i < 3; i++) {
		CHECK(node_next(other, &arrival) == NODE_SOME &&
		      memcmp((void *)(uintptr_t)arrival.bytes, source, 60000) == 0);
		node_advance(other, &arrival);
	}
	node_publish_consumed(other);
	CHECK(node_chunks_rest(peer) && peer->chunks.used == NODE_CHUNK_LEAST);
	CHECK(!node_chunks_rest(peer));
	while (node_send(link, peer, KIND, &i, 8, (uintptr_t)source, 60000) == NODE_SENT)
		;
	CHECK(peer->chunks.used == link->chunk_units && peer->blocked);
	link->rings = rings;
}

/* A look at what a peer owes takes no news from a thread that waits for room, or for an answer. */
static void debts(void)
{
	node_link *link = fake_node_link(0);
	node_peer *peer = fake_node_peer(0), *other = fake_node_peer(1);
	uint64_t heard, before;
	node_arrival arrival;
	node_event event;
	node_op *op;

	start();
	CHECK(!node_is_due(link, peer, &before));
	while (node_send(link, peer, KIND, &before, 8, 0, 0) == NODE_SENT)
		;
	CHECK(peer->blocked && node_is_due(link, peer, &before));
	CHECK(!node_arm(link));
	node_disarm(link);
	while (node_next(other, &arrival) == NODE_SOME)
		node_advance(other, &arrival);
	node_publish_consumed(other);
	CHECK(!node_is_due(link, peer, &heard) && heard != before);
	CHECK(node_arm(link)); /* there is room again */
	node_disarm(link);
	op = node_get(link, peer, NODE_BY_OWNER, (uintptr_t)source, (uintptr_t)copy, 8, 0, 0, 0);
	CHECK(op && node_next(other, &arrival) == NODE_SOME);
	other->closed = NODE_CLOSED_QUEUE; /* others' answers wait for room */
	CHECK(node_serve(fake_node_link(1), other, &arrival, NODE_BY_OWNER, &event) == NODE_LATER);
	node_advance(other, &arrival);
	node_publish_consumed(other);
	CHECK(node_is_due(link, peer, &heard)); /* the answer */
	node_op_free(link, op);
	CHECK(!node_is_due(link, peer, &heard));
	/* A message that says nothing. */
	CHECK(node_ask(link, peer) == NODE_SENT && node_is_due(link, peer, &heard));
	CHECK(node_next(other, &arrival) == NODE_SOME &&
	      node_serve(fake_node_link(1), other, &arrival, NODE_BY_LINK, &event) == NODE_SERVED &&
	      node_next(other, &arrival) == NODE_NONE);
}

/* The messages of a task that leaves are received first; then all know, and wake. */
static void leaving(void)
{
	node_link *link = fake_node_link(0);
	node_peer *peer = fake_node_peer(0), *other = fake_node_peer(1);
	node_arrival arrival;
	uint64_t i = 0;

	start();
	CHECK(node_send(fake_node_link(1), other, KIND, &i, 8, 0, 0) == NODE_SENT);
	CHECK(node_next(peer, &arrival) == NODE_SOME && !node_is_over(peer));
	node_advance(peer, &arrival);
	CHECK(!node_some_pending(link));
	CHECK(node_send(fake_node_link(1), other, KIND, &i, 8, 0, 0) == NODE_SENT);
	node_leave(fake_node_link(1));
	CHECK(node_has_left(peer) && node_some_pending(link) && !node_is_over(peer));
	CHECK(node_next(peer, &arrival) == NODE_SOME);
	node_advance(peer, &arrival);
	CHECK(node_is_over(peer) && node_arm(link));
	CHECK(node_flushed(peer, 0) == NODE_SENT);
	CHECK(node_send(link, peer, KIND, &i, 8, 0, 0) == NODE_GONE);
	CHECK(node_flushed(peer, peer->sender.tail) == NODE_GONE);
	node_disarm(link);
}

/* No more operations are in flight than there are places, and each place is used again. */
static void places(void)
{
	node_link *link = fake_node_link(0);
	node_peer *peer = fake_node_peer(0);
	uint32_t i, token;

	start();
	for (i = 0; i < NODE_OPS - 1; i++)
		CHECK(node_get(link, peer, NODE_BY_LINK, 1, 1, 1, 0, 0, 0));
	token = link->op[link->free_op].token;
	CHECK(node_get(link, peer, NODE_BY_LINK, 1, 1, 1, 0, 0, 0));
	CHECK(link->ops == NODE_OPS && !node_rmw(link, peer, NODE_BY_LINK, NODE_ADD, 4, 1, 1, 1));
	node_op_free(link, &link->op[token % NODE_OPS]);
	CHECK(link->ops == NODE_OPS - 1 && link->op[link->free_op].token != token &&
	      link->free_op == token % NODE_OPS);
}

void test_node(void)
{
	node_guard_install();
	cshim_cpu_prepare();
	beginnings_and_ends();
	places();
	chunk_memory();
	debts();
	leaving();
	bad_put();
	messages();
	transfers();
}
