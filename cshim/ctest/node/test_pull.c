/*
 * test_pull.c - puts that the target copies, all or half: both ends in one process, in one thread.
 * Whatever fails, the notice comes once all is in place or not at all, and the origin learns which.
 */
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../../tests/c/host/refuse.h"
#include "ctest/fake.h"
#include "ctest/fake_node.h"
#include "node/put.h"
#include "node/serve.h"

enum { LONGEST = 300000 };

static unsigned char source[LONGEST], sink[LONGEST];
static const uint64_t lengths[] = {1, 600, 8191, 20000, LONGEST};

/* The notices at the target, and the result of the operation at the origin. */
typedef struct outcome {
	int arrived, later;
	uint64_t n, notice[2];
	int answer; /* NODE_ANSWERED, NODE_AGAIN, or 0 */
	node_event event;
} outcome;

/* The target takes all that is there. A pull that it cannot answer now it refuses later. */
static void serve(outcome *o)
{
	node_link *link = fake_node_link(1);
	node_peer *peer = fake_node_peer(1);
	node_arrival arrival;

	while (node_next(peer, &arrival) == NODE_SOME) {
		int result = node_serve(link, peer, &arrival, NODE_BY_OWNER, &link->event);

		CHECK(result == NODE_SERVED || result == NODE_ARRIVED || result == NODE_LATER);
		if (result == NODE_ARRIVED) {
			o->arrived++;
			o->n = link->event.n;
			memcpy(o->notice, link->event.notice, sizeof(o->notice));
		} else if (result == NODE_LATER) {
			node_pulled pulled = {link->event.addr,
			                      {link->event.notice[0], link->event.notice[1]}};

			o->later++;
			CHECK(node_answer_pull(link, peer, link->event.token, NODE_REPLY_AGAIN, 0,
			                       &pulled) == NODE_SENT);
			node_advance(peer, &arrival);
		}
	}
	node_publish_consumed(peer);
}

/* The origin takes the answer. */
static void take_answer(outcome *o)
{
	node_link *link = fake_node_link(0);
	node_peer *peer = fake_node_peer(0);
	node_arrival arrival;
	node_op *op;

	if (node_next(peer, &arrival) != NODE_SOME)
		return;
	CHECK(arrival.kind == NODE_REPLY && (op = node_op_of(link, peer, &arrival)) != NULL);
	o->answer = node_serve(link, peer, &arrival, NODE_BY_OWNER, &o->event);
	CHECK(link->ops == 0);
}

static outcome put(uint64_t n, int halves, uint64_t to)
{
	node_transfer transfer = {(uintptr_t)source, to, n, 0, {n, ~n}};
	outcome o = {0};
	node_op *op = node_pulled_put(fake_node_link(0), fake_node_peer(0), NODE_BY_OWNER,
	                              &transfer, halves);

	CHECK(op && op->kind == NODE_OP_PUT && fake_node_link(0)->ops == 1);
	serve(&o);
	take_answer(&o);
	return o;
}

static void in_place(int halves)
{
	uint64_t i;

	for (i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		uint64_t n = lengths[i];
		uint64_t sent = fake_node_link(0)->data_sent,
			 got = fake_node_link(1)->data_received;
		outcome o = put(n, halves, (uintptr_t)sink);

		CHECK(fake_node_link(0)->data_sent - sent == n &&
		      fake_node_link(1)->data_received - got == n);
		CHECK(o.answer == NODE_ANSWERED && o.event.op == NODE_OP_PUT);
		CHECK(o.arrived == 1 && o.n == n && o.notice[0] == n && o.notice[1] == ~n);
		CHECK(memcmp(sink, source, n) == 0);
		memset(sink, 0, sizeof(sink));
	}
}

/* The put goes again, as it was; the target got no notice. */
static void again(const outcome *o, uint64_t n, uint64_t to)
{
	const node_op *op = &fake_node_link(0)->op[o->event.done];

	CHECK(o->answer == NODE_AGAIN && o->arrived == 0);
	CHECK(o->event.addr == to && o->event.notice[0] == n && o->event.notice[1] == ~n);
	CHECK(op->local == (uintptr_t)source && op->n == n);
}

static void refusals(int halves)
{
	node_peer *origin = fake_node_peer(0), *target = fake_node_peer(1);
	uint64_t n = 40000, to = (uintptr_t)sink;
	outcome o;

	target->direct = 0; /* it may not read */
	o = put(n, halves, to);
	again(&o, n, to);
	CHECK(origin->pull_refused == 1);
	target->direct = 1;
	origin->pull_refused = 0;
	o = put(n, halves, 4096); /* a bad address: messages will say whose */
	again(&o, n, 4096);
	CHECK(origin->pull_refused == 0);
	target->closed = NODE_CLOSED_QUEUE; /* others wait in front of the answer */
	o = put(n, halves, to);
	CHECK(o.later == 1);
	again(&o, n, to);
	target->closed = 0;
	in_place(halves); /* nothing of all that is remembered */
}

/* The origin cannot write its half. */
static void unwritten(void)
{
	node_peer *origin = fake_node_peer(0);
	outcome o;

	origin->direct = 0;
	o = put(40000, 1, (uintptr_t)sink);
	again(&o, 40000, (uintptr_t)sink);
	origin->direct = 1;
	in_place(1);
}

/* Without room for both messages neither goes. */
static void no_room(void)
{
	node_transfer transfer = {(uintptr_t)source, (uintptr_t)sink, 40000, 0, {1, 2}};
	node_link *link = fake_node_link(0);
	node_peer *peer = fake_node_peer(0);
	outcome o = {0};
	uint64_t tail;

	fake_node_make_direct(source, sink, LONGEST);
	while (peer->sender.tail < NODE_RING_SLOTS - 1)
		CHECK(node_send(link, peer, NODE_WRITTEN, (uint64_t[3]){0}, 24, 0, 0) == NODE_SENT);
	tail = peer->sender.tail;
	CHECK(!node_pulled_put(link, peer, NODE_BY_OWNER, &transfer, 1));
	CHECK(peer->sender.tail == tail && link->ops == 0);
	serve(&o);
	CHECK(o.arrived == NODE_RING_SLOTS - 1);
	o = put(40000, 1, (uintptr_t)sink);
	CHECK(o.answer == NODE_ANSWERED && o.arrived == 1);
}

/* In a child, as a filter stays: the kernel refuses the system call from now on, whatever error the
 * filter gives. Then nothing is copied any more, no address counts as bad, and nobody asks again.
 */
static void refused_by_filter(int error)
{
	node_transfer transfer = {(uintptr_t)source, (uintptr_t)sink, 4096, 0, {0, 0}};
	node_peer *peer = fake_node_peer(0);

	fake_node_make_direct(source, sink, LONGEST);
	if (refuse_calls(error, SYS_process_vm_writev, SYS_process_vm_readv))
		_exit(77);
	CHECK(node_copy_to(fake_node_link(0), peer, &transfer) == NODE_DENIED);
	CHECK(peer->direct == 0 && peer->sender.tail == 0);
	_exit(0);
}

static void filters(void)
{
	static const int errors[] = {EPERM, ENOSYS, EACCES};
	size_t i;

	for (i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
		pid_t child = fork();
		int status;

		if (child == 0)
			refused_by_filter(errors[i]);
		CHECK(child > 0 && waitpid(child, &status, 0) == child);
		if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
			printf("skipped: no filters of system calls here\n");
		else
			CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	}
}

void test_pull(void)
{
	int halves;

	node_guard_install();
	for (halves = 0; halves < 2; halves++) {
		fake_node_make_direct(source, sink, LONGEST);
		in_place(halves);
		refusals(halves);
	}
	unwritten();
	no_room();
	filters();
}
