/*
 * test_push.c - gets whose data the target writes, all or half: both ends in one process. Whatever
 * fails, all the data comes, in messages if it must, and the operation ends once. Once the origin
 * has given up an operation, its memory is not written any more.
 */
#include <pthread.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ctest/fake.h"
#include "ctest/fake_node.h"
#include "node/put.h"
#include "node/serve.h"

enum { LONGEST = 300000 };

static unsigned char source[LONGEST], sink[LONGEST];
static const uint64_t lengths[] = {1, 600, 8191, 20000, LONGEST};

/* The notices and results at both ends. */
typedef struct outcome {
	int was_read, later, faults, over; /* over: answers that ended the operation */
	uint64_t notice;
	int answer; /* the last of these */
} outcome;

/* The target takes all that is there; requests that it cannot answer now are answered
 * afterwards. */
static void serve(outcome *o)
{
	node_link *link = fake_node_link(1);
	node_peer *peer = fake_node_peer(1);
	node_arrival arrival;

	while (node_next(peer, &arrival) == NODE_SOME) {
		int result = node_serve(link, peer, &arrival, NODE_BY_OWNER, &link->event);

		if (result == NODE_WAS_READ) {
			o->was_read++;
			o->notice = link->event.notice[0];
		}
		o->faults += result == NODE_FAULT;
		if (result == NODE_LATER) {
			uint64_t at = link->event.value;

			o->later++;
			peer->closed = 0;
			CHECK(node_answer_get(link, peer, link->event.token, link->event.addr,
			                      link->event.n, &at) == NODE_SENT);
			node_advance(peer, &arrival);
		}
	}
	node_publish_consumed(peer);
}

static void take_answers(outcome *o)
{
	node_link *link = fake_node_link(0);
	node_peer *peer = fake_node_peer(0);
	node_arrival arrival;
	node_event event;

	while (node_next(peer, &arrival) == NODE_SOME) {
		int result = node_serve(link, peer, &arrival, NODE_BY_OWNER, &event);

		if (result == NODE_SERVED)
			continue;
		o->over++;
		o->answer = result;
		CHECK(event.op == NODE_OP_GET);
	}
	node_publish_consumed(peer);
}

static node_op *ask(uint64_t from, uint64_t to, uint64_t n, int halves)
{
	node_transfer transfer = {to, from, n, 0, {halves ? 0 : n, 0}};
	node_op *op = node_pushed_get(fake_node_link(0), fake_node_peer(0), NODE_BY_OWNER,
	                              &transfer, halves);

	CHECK(op && op->kind == NODE_OP_GET && fake_node_link(0)->ops == 1);
	return op;
}

static outcome get(uint64_t from, uint64_t to, uint64_t n, int halves)
{
	outcome o = {0};

	ask(from, to, n, halves);
	serve(&o);
	take_answers(&o);
	CHECK(fake_node_link(0)->ops == 0);
	return o;
}

static void in_place(int halves)
{
	uint64_t i;

	for (i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		uint64_t n = lengths[i];
		uint64_t got = fake_node_link(0)->data_received,
			 own = halves ? node_first_half(n) : 0,
			 sent = fake_node_link(1)->data_sent;
		outcome o = get((uintptr_t)source, (uintptr_t)sink, n, halves);

		CHECK(o.over == 1 && o.answer == NODE_ANSWERED && o.later == 0);
		CHECK(fake_node_link(0)->data_received - got == n);
		CHECK(fake_node_link(1)->data_sent - sent == n - own);
		CHECK(o.was_read == 1 && (halves || o.notice == n));
		CHECK(memcmp(sink, source, n) == 0);
		memset(sink, 0, sizeof(sink));
	}
}

/* All of it is there, and it ended once. */
static void whole(const outcome *o, uint64_t n)
{
	CHECK(o->over == 1 && o->answer == NODE_ANSWERED && o->faults == 0);
	CHECK(memcmp(sink, source, n) == 0);
	memset(sink, 0, sizeof(sink));
}

static void refusals(int halves)
{
	node_peer *origin = fake_node_peer(0), *target = fake_node_peer(1);
	uint64_t n = 40000;
	outcome o;

	target->direct = 0; /* it may not write */
	o = get((uintptr_t)source, (uintptr_t)sink, n, halves);
	whole(&o, n);
	target->direct = 1;
	target->closed = NODE_CLOSED_QUEUE; /* others wait in front of the answer */
	o = get((uintptr_t)source, (uintptr_t)sink, n, halves);
	CHECK(o.later == 1);
	whole(&o, n);
	origin->direct = 0; /* this task may not read */
	o = get((uintptr_t)source, (uintptr_t)sink, n, halves);
	whole(&o, n);
	target->direct = 0; /* and nobody may */
	o = get((uintptr_t)source, (uintptr_t)sink, n, halves);
	whole(&o, n);
	origin->direct = target->direct = 1;
	in_place(halves); /* nothing of all that is remembered */
}

/* A bad address at either end is found, whichever end would have copied. */
static void bad_addresses(int halves)
{
	outcome o = get(4096, (uintptr_t)sink, 40000, halves);

	CHECK(o.over == 1 && o.answer == NODE_FAILED && o.faults >= 1);
	o = get((uintptr_t)source, 4096, 40000, halves);
	CHECK(o.over == 1 && o.answer == NODE_STRANDED);
	in_place(halves);
}

/* Without room for two messages none goes. */
static void no_room(void)
{
	node_transfer transfer = {(uintptr_t)sink, (uintptr_t)source, 40000, 0, {0, 0}};
	node_link *link = fake_node_link(0);
	node_peer *peer = fake_node_peer(0);
	uint64_t tail;

	fake_node_make_direct(source, sink, LONGEST);
	while (peer->sender.tail < NODE_RING_SLOTS - 1)
		CHECK(node_send(link, peer, NODE_WRITTEN, (uint64_t[3]){0}, 24, 0, 0) == NODE_SENT);
	tail = peer->sender.tail;
	CHECK(!node_pushed_get(link, peer, NODE_BY_OWNER, &transfer, 1));
	CHECK(peer->sender.tail == tail && link->ops == 0);
}

/* Data that was asked for before the origin gave up is not written after that; data of later
 * requests is. */
static void severed(void)
{
	outcome o = {0};
	node_op *op;

	fake_node_make_direct(source, sink, LONGEST);
	op = ask((uintptr_t)source, (uintptr_t)sink, 40000, 0);
	node_sever(fake_node_peer(0));
	node_op_free(fake_node_link(0), op);
	serve(&o);
	take_answers(&o);
	CHECK(o.over == 0 && sink[0] == 0 && memcmp(sink, sink + 1, 39999) == 0);
	in_place(0);
}

static void *change_later(void *control)
{
	usleep(20000);
	sink[0] = 77; /* the copy's last byte, say */
	__atomic_fetch_add(&((node_ring_control *)control)->pushing, 1, __ATOMIC_RELEASE);
	return NULL;
}

/* A copy that is under way is waited for; of a process that has ended in the middle it is not. */
static void under_way(void)
{
	node_peer *peer = fake_node_peer(0);
	node_ring_control *control = node_control(peer->out_control);
	pthread_t thread;
	pid_t child = fork();

	if (child == 0)
		_exit(0);
	CHECK(child > 0 && waitpid(child, NULL, 0) == child);
	control->pushing = 1;
	sink[0] = 0;
	CHECK(pthread_create(&thread, NULL, change_later, control) == 0);
	node_sever(peer);
	CHECK(sink[0] == 77);
	CHECK(pthread_join(thread, NULL) == 0);
	control->pushing = 3;
	peer->pid = child;
	node_sever(peer);
	CHECK(control->pushing == 3);
}

void test_push(void)
{
	int halves;

	node_guard_install();
	for (halves = 0; halves < 2; halves++) {
		fake_node_make_direct(source, sink, LONGEST);
		in_place(halves);
		refusals(halves);
		bad_addresses(halves);
	}
	no_room();
	severed();
	fake_node_make_direct(source, sink, LONGEST);
	under_way();
}
