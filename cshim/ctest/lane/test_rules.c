/*
 * test_rules.c - when the fast lane must not be fast: what a fence waits for, which messages are
 * core's, the content of a ring whose task was given up, and counters of two contexts. One step
 * after the other, but for the counters. Each case is one of the defects of tests/mutants.
 */
#define _GNU_SOURCE
#include <string.h>
#include <unistd.h>

#include "node/guard.h"
#include "lane/lane_shared.h"
#include "ctest/fake_lane.h"
#include "lane/lane_send.h"

enum { BYTES = 200, COUNTS = 200000 };

static lapi_handle_t handles[2];
static unsigned char source[BYTES], sink[BYTES];

static cshim_lane *lane_of(int task)
{
	return (cshim_lane *)(uintptr_t)fake_context(handles[task])->lane;
}

static void start(void)
{
	fake_lane_open(handles);
	memset(source, 7, sizeof(source));
	memset(sink, 0, sizeof(sink));
}

static void stop(void)
{
	fake_lane_close(handles);
}

static int put(uint64_t n, lapi_cntr_t *tgt_cntr, lapi_cntr_t *cmpl_cntr)
{
	return LAPI_Put(handles[0], 1, n, sink, source, tgt_cntr, NULL, cmpl_cntr);
}

static void probe(int task)
{
	CHECK(LAPI_Probe(handles[task]) == LAPI_SUCCESS);
}

/* Whether task 0's fence is over, as far as the lane knows. */
static int fenced(void)
{
	cshim_context *context = fake_context(handles[0]);
	int over;

	cshim_lock(&context->progress);
	over = cshim_lane_fenced(context) == CSHIM_FENCE_OVER;
	cshim_unlock(&context->progress);
	return over;
}

/* How often something was stored past the caches, and by a string instruction. */
static int streamed, strung;

int __real_node_guarded_stream(void *to, const void *from, size_t n);
int __wrap_node_guarded_stream(void *to, const void *from, size_t n);
int __real_node_guarded_string(void *to, const void *from, size_t n);
int __wrap_node_guarded_string(void *to, const void *from, size_t n);

/* Instead of node_guarded_stream and _string, everywhere (ctest.mk). */
int __wrap_node_guarded_stream(void *to, const void *from, size_t n)
{
	__atomic_fetch_add(&streamed, 1, __ATOMIC_RELAXED);
	return __real_node_guarded_stream(to, from, n);
}

int __wrap_node_guarded_string(void *to, const void *from, size_t n)
{
	__atomic_fetch_add(&strung, 1, __ATOMIC_RELAXED);
	return __real_node_guarded_string(to, from, n);
}

/* A put or get of many chunks by a route. */
static void long_one(uint32_t route, int get)
{
	enum { LONG = 100000 };
	static unsigned char from[LONG], to[LONG];
	lapi_cntr_t over;
	int value = 0;

	streamed = strung = 0;
	cshim_link_of(lane_of(0))->routes.forced = route;
	memset(from, 5, sizeof(from));
	memset(to, 0, sizeof(to));
	CHECK(LAPI_Setcntr(handles[0], &over, 0) == LAPI_SUCCESS);
	if (get)
		CHECK(LAPI_Get(handles[0], 1, LONG, from, to, NULL, &over) == LAPI_SUCCESS);
	else
		CHECK(LAPI_Put(handles[0], 1, LONG, to, from, NULL, NULL, &over) == LAPI_SUCCESS);
	while (!value) {
		probe(1);
		probe(0);
		CHECK(LAPI_Getcntr(handles[0], &over, &value) == LAPI_SUCCESS);
	}
	CHECK(memcmp(from, to, sizeof(to)) == 0);
}

/* The reader's stores pass its caches, and the writer uses a string instruction, by the routes for
 * that, and by no other. */
static void ways_to_store(void)
{
	int get;

	start();
	for (get = 0; get < 2; get++) {
		long_one(NODE_ROUTE_PIPELINE, get);
		CHECK(streamed == 0 && strung == 0);
		long_one(NODE_ROUTE_STREAMING, get);
		CHECK(streamed > 10 && strung == 0);
		long_one(NODE_ROUTE_STRING, get);
		CHECK(streamed == 0 && (strung > 10 || !node_has_string()));
		long_one(NODE_ROUTE_WIDE, get);
		CHECK(streamed == 0 && strung == 0);
	}
	stop();
}

/* Until the very last message was taken, and none of them is held. */
static void fence_of_messages(void)
{
	node_ring_control *control;

	start();
	control = node_control(fake_lane_peer(handles[0])->out_control);
	CHECK(fenced());
	CHECK(put(8, NULL, NULL) == LAPI_SUCCESS);
	CHECK(!fenced());
	probe(1);
	CHECK(put(8, NULL, NULL) == LAPI_SUCCESS);
	CHECK(!fenced());
	probe(1);
	/* As where transport/shm keeps a message that its handler has refused. */
	__atomic_store_n(&control->held, 1, __ATOMIC_SEQ_CST);
	CHECK(!fenced());
	__atomic_store_n(&control->held, 0, __ATOMIC_SEQ_CST);
	CHECK(fenced());
	stop();
}

/* Until answers are here, core's too, and not where the lane is closed. */
static void fence_of_operations(void)
{
	lapi_cntr_t over;

	start();
	CHECK(LAPI_Setcntr(handles[0], &over, 0) == LAPI_SUCCESS);
	CHECK(LAPI_Get(handles[0], 1, 8, source, sink, NULL, &over) == LAPI_SUCCESS);
	probe(1);
	CHECK(!fenced());
	probe(0);
	CHECK(fenced());
	lane_of(0)->go_busy = 1;
	CHECK(!fenced());
	lane_of(0)->go_busy = 0;
	CHECK(put(8, NULL, NULL) == LAPI_SUCCESS);
	probe(1);
	fake_lane_peer(handles[0])->closed = NODE_CLOSED_OWNER;
	CHECK(!fenced());
	fake_lane_peer(handles[0])->closed = 0;
	CHECK(fenced());
	stop();
}

static void *take(lapi_handle_t *hndl, void *uhdr, uint *uhdr_len, ulong *msg_len,
                  compl_hndlr_t **completion, void **info)
{
	(void)hndl, (void)uhdr, (void)uhdr_len, (void)msg_len, (void)info;
	*completion = NULL;
	return NULL;
}

static int amsend(uint uhdr_len, ulong n, lapi_cntr_t *tgt_cntr)
{
	return LAPI_Amsend(handles[0], 1, (void *)take, uhdr_len ? source : NULL, uhdr_len, source,
	                   n, tgt_cntr, NULL, NULL);
}

/* A put from bulk_min bytes on, to the byte, is a bulk transfer, which is core's. */
static void bulk_is_cores(void)
{
	const node_sender *sender;
	lapi_cntr_t over;
	uint64_t tail;

	start();
	CHECK(LAPI_Setcntr(handles[0], &over, 0) == LAPI_SUCCESS);
	lane_of(0)->bulk_min = 100;
	sender = &fake_lane_peer(handles[0])->sender;
	tail = sender->tail;
	CHECK(put(100, NULL, NULL) == LAPI_ERR_TGT);
	CHECK(amsend(0, 100, NULL) == LAPI_ERR_TGT && amsend(8, 100, NULL) == LAPI_ERR_TGT);
	CHECK(LAPI_Get(handles[0], 1, 100, source, sink, NULL, &over) == LAPI_ERR_TGT);
	CHECK(sender->tail == tail);
	CHECK(put(99, NULL, NULL) == LAPI_SUCCESS && amsend(8, 99, NULL) == LAPI_SUCCESS);
	CHECK(LAPI_Get(handles[0], 1, 99, source, sink, NULL, &over) == LAPI_SUCCESS);
	probe(1);
	probe(0);
	CHECK(LAPI_Waitcntr(handles[0], &over, 1, NULL) == LAPI_SUCCESS);
	stop();
}

/* With ERROR_CHK on a user header whose length is no multiple of 4 is core's to refuse. */
static void lengths_are_checked(void)
{
	start();
	lane_of(0)->error_check = 1;
	CHECK(amsend(5, 8, NULL) != LAPI_SUCCESS && amsend(8, 8, NULL) == LAPI_SUCCESS);
	lane_of(0)->error_check = 0;
	CHECK(amsend(5, 8, NULL) == LAPI_SUCCESS);
	probe(1);
	stop();
}

static lapi_cntr_t arrived;

static int value_of(lapi_handle_t handle, lapi_cntr_t *counter)
{
	int value = -1;

	CHECK(LAPI_Getcntr(handle, counter, &value) == LAPI_SUCCESS);
	return value;
}

/* Nothing comes of a ring whose task was given up. */
static void stopped_is_not_read(void)
{
	node_peer *peer;

	start();
	peer = fake_lane_peer(handles[1]);
	CHECK(LAPI_Setcntr(handles[1], &arrived, 0) == LAPI_SUCCESS);
	CHECK(put(8, &arrived, NULL) == LAPI_SUCCESS);
	peer->stopped = 1;
	probe(1);
	CHECK(value_of(handles[1], &arrived) == 0 && sink[0] == 0 && peer->receiver.head == 0);
	peer->stopped = 0;
	probe(1);
	CHECK(value_of(handles[1], &arrived) == 1 && sink[0] == 7);
	stop();
}

static void *give_up(lapi_handle_t *hndl, void *uhdr, uint *uhdr_len, ulong *msg_len,
                     compl_hndlr_t **completion, void **info)
{
	(void)hndl, (void)uhdr, (void)uhdr_len, (void)msg_len, (void)info;
	fake_lane_peer(handles[1])->stopped = 1;
	*completion = NULL;
	return NULL;
}

/* Nor of a message during whose handler that has happened. */
static void stopped_in_its_handler(void)
{
	node_peer *peer;

	start();
	peer = fake_lane_peer(handles[1]);
	CHECK(LAPI_Setcntr(handles[1], &arrived, 0) == LAPI_SUCCESS);
	CHECK(LAPI_Amsend(handles[0], 1, (void *)give_up, NULL, 0, source, 8, &arrived, NULL,
	                  NULL) == LAPI_SUCCESS);
	probe(1);
	CHECK(peer->stopped && value_of(handles[1], &arrived) == 0);
	CHECK(peer->receiver.head == 0 && fake_lane_counts.handled == 0);
	peer->receiver.head = fake_lane_peer(handles[0])->sender.tail;
	peer->stopped = 0;
	stop();
}

/* Messages of one slot and of more, in one row: none is taken for another. */
static void lengths_in_a_row(void)
{
	static const uint64_t lengths[] = {0, 8, 32, 33, 40, 41, 100, BYTES, 8};
	enum { LENGTHS = sizeof(lengths) / sizeof(lengths[0]) };
	lapi_cntr_t got;
	int i;

	start();
	CHECK(LAPI_Setcntr(handles[1], &arrived, 0) == LAPI_SUCCESS);
	CHECK(LAPI_Setcntr(handles[0], &got, 0) == LAPI_SUCCESS);
	for (i = 0; i < LENGTHS; i++) {
		CHECK(put(lengths[i], &arrived, NULL) == LAPI_SUCCESS);
		CHECK(amsend(0, lengths[i], &arrived) == LAPI_SUCCESS);
		if (lengths[i])
			CHECK(LAPI_Get(handles[0], 1, lengths[i], source, sink, &arrived, &got) ==
			      LAPI_SUCCESS);
	}
	probe(1);
	CHECK(value_of(handles[1], &arrived) == 3 * LENGTHS - 1);
	probe(0);
	CHECK(value_of(handles[0], &got) == LENGTHS - 1);
	stop();
}

/* While core must see each message the lane takes none but answers. */
static void off_is_cores(void)
{
	const node_peer *peer;

	start();
	peer = fake_lane_peer(handles[1]);
	CHECK(LAPI_Setcntr(handles[1], &arrived, 0) == LAPI_SUCCESS);
	lane_of(1)->off = CSHIM_OFF_LISTS;
	CHECK(put(8, &arrived, NULL) == LAPI_SUCCESS);
	probe(1);
	CHECK(peer->receiver.head == 0 && value_of(handles[1], &arrived) == 0);
	lane_of(1)->off = 0;
	probe(1);
	CHECK(value_of(handles[1], &arrived) == 1);
	stop();
}

/* The answer to an operation of core's is core's. */
static void answers_of_core(void)
{
	static int word;
	cshim_context *context;
	node_link *link;
	node_peer *peer;
	node_arrival arrival;
	node_op *op;

	start();
	context = fake_context(handles[0]);
	link = (node_link *)(uintptr_t)lane_of(0)->link;
	peer = fake_lane_peer(handles[0]);
	cshim_lock(&context->progress);
	op = node_rmw(link, peer, NODE_BY_LINK, NODE_ADD, 4, CSHIM_ADDR(&word), 3, 0);
	CHECK(op);
	cshim_unlock(&context->progress);
	probe(1);
	probe(0);
	CHECK(word == 3 && op->kind == NODE_OP_RMW && peer->receiver.head == 0);
	CHECK(node_next(peer, &arrival) == NODE_SOME);
	CHECK(node_serve(link, peer, &arrival, NODE_BY_LINK, &link->event) == NODE_ANSWERED);
	CHECK(op->kind == NODE_OP_FREE);
	stop();
}

/* An operation on a word that the target cannot access is not reported as done: core is notified at
 * both ends. */
static void word_that_cannot_be(void)
{
	lapi_cntr_t over;
	int one = 1, previous = -1;

	start();
	CHECK(LAPI_Setcntr(handles[0], &over, 0) == LAPI_SUCCESS);
	CHECK(LAPI_Rmw(handles[0], FETCH_AND_ADD, 1, (int *)(uintptr_t)16, &one, &previous,
	               &over) == LAPI_SUCCESS);
	probe(1);
	CHECK(fake_lane_counts.faults == 1);
	probe(0);
	CHECK(fake_lane_counts.faults == 2 && value_of(handles[0], &over) == 0 && previous == -1);
	stop();
}

/* Of completions that are reported together none is owed any more, and each is counted once. */
static void completions_together(void)
{
	const node_peer *peer;
	lapi_cntr_t completed;
	int i;

	start();
	peer = fake_lane_peer(handles[0]);
	CHECK(LAPI_Setcntr(handles[0], &completed, 0) == LAPI_SUCCESS);
	for (i = 0; i < 5; i++)
		CHECK(put(8, NULL, &completed) == LAPI_SUCCESS);
	CHECK(peer->owner[CSHIM_PEER_EXPECTED] == 5);
	probe(1);
	CHECK(fake_lane_peer(handles[1])->sender.tail == 1);
	probe(0);
	CHECK(value_of(handles[0], &completed) == 5 && peer->owner[CSHIM_PEER_EXPECTED] == 0);
	stop();
}

/*
 * Core learns whether a put without a completion counter was sent since the last fence. Puts that
 * this task writes, or the target reads, are none of these.
 */
static void uncounted_is_noted(void)
{
	static const uint32_t routes[] = {NODE_ROUTE_ORIGIN, NODE_ROUTE_TARGET};
	const uint32_t *used;
	lapi_cntr_t completed;
	size_t i;

	start();
	used = &fake_lane_peer(handles[0])->owner[CSHIM_PEER_USED];
	CHECK(LAPI_Setcntr(handles[0], &completed, 0) == LAPI_SUCCESS);
	CHECK(put(8, NULL, &completed) == LAPI_SUCCESS && *used == CSHIM_USED_ANY);
	CHECK(put(8, NULL, NULL) == LAPI_SUCCESS &&
	      *used == (CSHIM_USED_ANY | CSHIM_USED_UNCOUNTED));
	CHECK(put(8, NULL, &completed) == LAPI_SUCCESS &&
	      *used == (CSHIM_USED_ANY | CSHIM_USED_UNCOUNTED));
	probe(1);
	CHECK(fenced() && *used == 0);
	for (i = 0; i < 2; i++) {
		fake_lane_peer(handles[i])->direct = 1;
		fake_lane_peer(handles[i])->pid = getpid();
	}
	for (i = 0; i < sizeof(routes) / sizeof(routes[0]); i++) {
		long_one(routes[i], 0);
		CHECK((*used & CSHIM_USED_UNCOUNTED) == 0);
		probe(0);
		probe(1);
		CHECK(fenced());
	}
	stop();
}

/* Core has a turn now and then, however busy the lane is: only so deaths become known. */
static void core_has_its_turn(void)
{
	cshim_context *context;
	uint32_t without = 0, flags;
	int i;

	start();
	context = fake_context(handles[1]);
	cshim_lock(&context->progress);
	lane_of(1)->turns_max = 10;
	for (i = 0; i < 1000 && without != 10;
	     i++) { /* sooner, if a tick of the clock comes first */
		cshim_lane_turned(context);
		for (without = 0, flags = 0; without < 10 && !(flags & CSHIM_LANE_CORE);
		     without++) {
			CHECK(put(8, NULL, NULL) == LAPI_SUCCESS);
			flags = cshim_lane_turn(context);
			CHECK(flags & CSHIM_PROGRESS_MADE);
		}
		CHECK(flags & CSHIM_LANE_CORE);
	}
	cshim_unlock(&context->progress);
	CHECK(without == 10);
	stop();
}

static int ready; /* atomic: threads that have sent all */

static void *count_together(void *argument)
{
	int me = (int)(intptr_t)argument, i;

	for (i = 0; i < COUNTS; i++)
		while (LAPI_Put(handles[me], (uint)(1 - me), 0, NULL, NULL, NULL, &arrived, NULL) !=
		       LAPI_SUCCESS)
			probe(me);
	__atomic_add_fetch(&ready, 1, __ATOMIC_SEQ_CST);
	while (__atomic_load_n(&ready, __ATOMIC_SEQ_CST) < 2)
		probe(me); /* the other one needs the room */
	return NULL;
}

/* Threads of two contexts count one counter at once, and lose none. */
static void counted_in_two_contexts(void)
{
	pthread_t threads[2];
	int i;

	start();
	CHECK(LAPI_Setcntr(handles[0], &arrived, 0) == LAPI_SUCCESS);
	ready = 0;
	for (i = 0; i < 2; i++)
		threads[i] = fake_thread(count_together, (void *)(intptr_t)i);
	for (i = 0; i < 2; i++)
		CHECK(pthread_join(threads[i], NULL) == 0);
	while (fake_lane_peer(handles[0])->receiver.head !=
	               fake_lane_peer(handles[1])->sender.tail ||
	       fake_lane_peer(handles[1])->receiver.head !=
	               fake_lane_peer(handles[0])->sender.tail) {
		probe(0);
		probe(1);
	}
	CHECK(value_of(handles[0], &arrived) == 2 * COUNTS);
	stop();
}

void test_rules(void)
{
	node_guard_install();
	ways_to_store();
	fence_of_messages();
	fence_of_operations();
	bulk_is_cores();
	lengths_are_checked();
	stopped_is_not_read();
	lengths_in_a_row();
	off_is_cores();
	answers_of_core();
	word_that_cannot_be();
	stopped_in_its_handler();
	completions_together();
	uncounted_is_noted();
	core_has_its_turn();
	counted_in_two_contexts();
}
