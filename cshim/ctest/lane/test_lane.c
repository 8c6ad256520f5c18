/*
 * test_lane.c - the fast lane with both ends in one process, a thread each: all its operations with
 * contents checked, full rings, sleep and wake-up. Built without the sleepers' safety net: a lost
 * wake-up is a hang.
 */
#define _GNU_SOURCE
#include <string.h>
#include <time.h>

#include "node/arm.h"
#include "node/guard.h"
#include "lane/lane_send.h"
#include "lane/lane_shared.h"
#include "ctest/fake_lane.h"

/* DATA goes in several chunks. */
enum { ROUNDS = 3000, FLOOD = 400, DATA = 30000, BUFFER = DATA + 8, BIG = 8000, BIGS = 60 };
/* Where others use the processors a round takes many times as long: then there are fewer rounds. Up
 * to FIRST_SLEEP each makes sure that the other has slept. */
enum { LEAST_ROUNDS = 200, ENOUGH_S = 10, FIRST_SLEEP = 64 };

static lapi_handle_t handles[2];
static unsigned rounds; /* atomic: of which the exchange consists */

/* The memory that a task offers the other. */
static struct side {
	unsigned char in[2][BUFFER], message[2][BUFFER];
	lapi_cntr_t arrived, messages, origin, completed;
	int sum;
	long long wide_sum __attribute__((
		aligned(8))); /* in 32 bits too, where the lane leaves others to core */
	uint32_t expect_round;
} sides[2];

static unsigned next_random(unsigned *state)
{
	*state = *state * 1103515245u + 12345u;
	return *state >> 16;
}

static void fill(unsigned char *to, size_t n, unsigned seed)
{
	size_t i;

	for (i = 0; i < n; i++)
		to[i] = (unsigned char)(seed * 7 + i * 13);
}

static void check(const unsigned char *at, size_t n, unsigned seed)
{
	size_t i;

	for (i = 0; i < n; i++)
		CHECK(at[i] == (unsigned char)(seed * 7 + i * 13));
}

/* The user header: which task, which round, and the seed of as many more bytes as there are. */
typedef struct message_head {
	uint32_t origin, round;
} message_head;

static void *take_message(lapi_handle_t *hndl, void *uhdr, uint *uhdr_len, ulong *msg_len,
                          compl_hndlr_t **completion, void **info)
{
	const message_head *head = uhdr;
	lapi_return_info_t *more = (lapi_return_info_t *)msg_len;

	(void)hndl, (void)info;
	CHECK((uintptr_t)uhdr % 8 == 0 && *uhdr_len >= sizeof(*head));
	check((const unsigned char *)(head + 1), *uhdr_len - sizeof(*head), head->round);
	memset(uhdr, 0, *uhdr_len); /* it is the handler's to change */
	CHECK(more->msg_len <= BUFFER);
	*completion = NULL;
	return sides[1 - head->origin].message[head->round % 2];
}

/* Does op until the lane has taken it: the fake core takes nothing. */
#define UNTIL_TAKEN(op, handle)                            \
	do {                                               \
		int taken = (op);                          \
		if (taken == LAPI_SUCCESS)                 \
			break;                             \
		CHECK(taken == LAPI_ERR_TGT);              \
		CHECK(LAPI_Probe(handle) == LAPI_SUCCESS); \
	} while (1)

static void wait_for(lapi_handle_t handle, lapi_cntr_t *counter, int n)
{
	CHECK(LAPI_Waitcntr(handle, counter, n, NULL) == LAPI_SUCCESS);
}

/* Both tasks put to each other; a buffer is used again two rounds later, when the other has
 * answered for the round between. */
static void put_round(int me, unsigned round, unsigned *random)
{
	unsigned char data[BUFFER];
	size_t n = next_random(random) % (DATA - 8) + 8;
	struct side *mine = &sides[me], *its = &sides[1 - me];
	uint32_t length = (uint32_t)n;

	fill(data, n, round);
	memcpy(data, &length, sizeof(length));
	UNTIL_TAKEN(LAPI_Put(handles[me], (uint)(1 - me), n, its->in[round % 2], data,
	                     &its->arrived, &mine->origin, &mine->completed),
	            handles[me]);
	memset(data, 0, n); /* it was copied */
	wait_for(handles[me], &mine->origin, 1);
	wait_for(handles[me], &mine->completed, 1);
	wait_for(handles[me], &mine->arrived, 1);
	memcpy(&length, mine->in[round % 2], sizeof(length));
	CHECK(length >= 8 && length <= DATA);
	check(mine->in[round % 2] + length - 1, 0, round);
	CHECK(mine->in[round % 2][length - 1] == (unsigned char)(round * 7 + (length - 1) * 13));
}

static void message_round(int me, unsigned round, unsigned *random)
{
	unsigned char data[BUFFER], header[64];
	message_head head = {(uint32_t)me, round};
	size_t n = next_random(random) % 3 ? next_random(random) % 600 : next_random(random) % DATA,
	       extra = next_random(random) % 48;
	struct side *mine = &sides[me], *its = &sides[1 - me];

	memcpy(header, &head, sizeof(head));
	fill(header + sizeof(head), extra, round);
	fill(data, n, round);
	UNTIL_TAKEN(LAPI_Amsend(handles[me], (uint)(1 - me), (void *)take_message, header,
	                        (uint)(sizeof(head) + extra), data, n, &its->messages, NULL,
	                        &mine->completed),
	            handles[me]);
	wait_for(handles[me], &mine->completed, 1);
	wait_for(handles[me], &mine->messages, 1);
	check(mine->message[round % 2], 0, round);
}

/* Reads back what this task put in this round, while the other may still be looking at it. */
static void get_round(int me, unsigned *random)
{
	unsigned char data[BUFFER];
	size_t n = next_random(random) % DATA + 1, i;
	struct side *mine = &sides[me], *its = &sides[1 - me];
	static const unsigned char nothing[BUFFER];

	memset(data, 0xEE, sizeof(data));
	UNTIL_TAKEN(LAPI_Get(handles[me], (uint)(1 - me), n, (void *)(uintptr_t)nothing, data, NULL,
	                     &mine->origin),
	            handles[me]);
	(void)its;
	wait_for(handles[me], &mine->origin, 1);
	for (i = 0; i < n; i++)
		CHECK(data[i] == 0);
	CHECK(data[n] == 0xEE);
}

static void rmw_round(int me)
{
	struct side *mine = &sides[me];
	int one = 1, before = -1, pair[2] = {-5, 7}, swapped = 9;
	long long wide = 1LL << 33, wide_before = -1;

	UNTIL_TAKEN(LAPI_Rmw(handles[me], FETCH_AND_ADD, (uint)(1 - me), &sides[1 - me].sum, &one,
	                     &before, &mine->origin),
	            handles[me]);
	wait_for(handles[me], &mine->origin, 1);
	CHECK(before >= 0);
	UNTIL_TAKEN(LAPI_Rmw64(handles[me], FETCH_AND_ADD, (uint)(1 - me), &sides[1 - me].wide_sum,
	                       &wide, &wide_before, &mine->origin),
	            handles[me]);
	wait_for(handles[me], &mine->origin, 1);
	CHECK(wide_before % wide == 0);
	UNTIL_TAKEN(LAPI_Rmw(handles[me], COMPARE_AND_SWAP, (uint)(1 - me), &sides[1 - me].sum,
	                     pair, &swapped, &mine->origin),
	            handles[me]);
	wait_for(handles[me], &mine->origin, 1);
	CHECK(swapped == 0); /* it is never -5 */
}

/* More than the ring holds before the first wait. */
static void flood_round(int me)
{
	struct side *mine = &sides[me];
	uint64_t value = 1;
	int i;

	for (i = 0; i < FLOOD; i++)
		UNTIL_TAKEN(LAPI_Put(handles[me], (uint)(1 - me), sizeof(value),
		                     sides[1 - me].in[0], &value, &sides[1 - me].arrived, NULL,
		                     &mine->completed),
		            handles[me]);
	wait_for(handles[me], &mine->completed, FLOOD);
	wait_for(handles[me], &mine->arrived, FLOOD);
}

/* More than the chunk area holds, before the first wait: no chunk may be written again before it
 * was read. */
static void chunk_round(int me, unsigned round)
{
	static unsigned char places[2][BIGS][BIG];
	unsigned char data[BIG];
	struct side *mine = &sides[me];
	unsigned i;

	for (i = 0; i < BIGS; i++) {
		fill(data, BIG, round + i);
		UNTIL_TAKEN(LAPI_Put(handles[me], (uint)(1 - me), BIG, places[1 - me][i], data,
		                     &sides[1 - me].arrived, NULL, &mine->completed),
		            handles[me]);
	}
	wait_for(handles[me], &mine->completed, BIGS);
	wait_for(handles[me], &mine->arrived, BIGS);
	for (i = 0; i < BIGS; i++)
		check(places[me][i], BIG, round + i);
}

/* Task 0 says when it is enough: two rounds later, for the other may be one ahead, and cannot be
 * more. */
static void look_at_the_clock(unsigned round, time_t began)
{
	if (round >= LEAST_ROUNDS && time(NULL) - began >= ENOUGH_S &&
	    __atomic_load_n(&rounds, __ATOMIC_SEQ_CST) > round + 2)
		__atomic_store_n(&rounds, round + 2, __ATOMIC_SEQ_CST);
}

/* The other one falls asleep meanwhile: for certain once, however long its turns take here. */
static void let_it_sleep(unsigned round)
{
	int ms;

	if (round > FIRST_SLEEP) {
		fake_sleep_us(300);
		return;
	}
	for (ms = 0; ms < 60000 && !__atomic_load_n(&fake_lane_counts.arms, __ATOMIC_RELAXED); ms++)
		fake_sleep_us(1000);
}

static void *task_main(void *argument)
{
	int me = (int)(intptr_t)argument;
	unsigned random = (unsigned)me + 1;
	unsigned round;
	time_t began = time(NULL);

	for (round = 0; round < __atomic_load_n(&rounds, __ATOMIC_SEQ_CST); round++) {
		put_round(me, round, &random);
		message_round(me, round, &random);
		if (round % 3 == 0)
			get_round(me, &random);
		if (round % 3 == 1)
			rmw_round(me);
		if (round % 100 == 0)
			flood_round(me);
		if (round % 100 == 50)
			chunk_round(me, round);
		if (round % 50 == 0)
			CHECK(LAPI_Fence(handles[me]) == LAPI_SUCCESS);
		if (round > 0 && round % 64 == (unsigned)me * 32)
			let_it_sleep(round);
		if (me == 0)
			look_at_the_clock(round, began);
	}
	/* The other may still need answers. */
	UNTIL_TAKEN(LAPI_Put(handles[me], (uint)(1 - me), 0, NULL, NULL, &sides[1 - me].arrived,
	                     NULL, NULL),
	            handles[me]);
	wait_for(handles[me], &sides[me].arrived, 1);
	return NULL;
}

static void start(uint32_t spin)
{
	fake_settings.spin_turns = spin;
	fake_settings.yield_turns = spin ? 20 : 2;
	memset(sides, 0, sizeof(sides));
	fake_lane_open(handles);
}

static void stop(void)
{
	fake_lane_close(handles);
	fake_settings.spin_turns = 200;
	fake_settings.yield_turns = 20;
}

/* first: runs once the two are joined. */
static void exchange(uint32_t spin, void (*first)(void))
{
	pthread_t threads[2];
	int i, sums;

	start(spin);
	rounds = ROUNDS;
	if (first)
		first();
	for (i = 0; i < 2; i++)
		threads[i] = fake_thread(task_main, (void *)(intptr_t)i);
	for (i = 0; i < 2; i++)
		CHECK(pthread_join(threads[i], NULL) == 0);
	sums = (int)(rounds + 1) / 3; /* one in each round after a third one */
	for (i = 0; i < 2; i++) {
		CHECK(sides[i].sum == sums);
		CHECK(sides[i].wide_sum == (1LL << 33) * sums);
	}
	CHECK(fake_lane_counts.arms > 0);
	CHECK(fake_lane_counts.faults == 0 && fake_lane_counts.handled == 0 &&
	      fake_lane_counts.bad_counters == 0);
	stop();
}

/* Calls that the lane must not serve: it passes them on and changes nothing. */
static void passes(void)
{
	node_peer *peer;
	lapi_cntr_t counter;
	uint64_t tail;
	int four = 4;

	start(200);
	peer = fake_lane_peer(handles[0]);
	tail = peer->sender.tail;
	CHECK(LAPI_Setcntr(handles[0], &counter, 0) == LAPI_SUCCESS);
	CHECK(LAPI_Put(handles[0], 1, 8, sides[1].in, (void *)16, NULL, &counter, NULL) ==
	      LAPI_ERR_TGT);
	CHECK(LAPI_Put(handles[0], 1, 8, NULL, sides[0].in, NULL, &counter, NULL) == LAPI_ERR_TGT);
	CHECK(LAPI_Put(handles[0], 2, 8, sides[1].in, sides[0].in, NULL, &counter, NULL) ==
	      LAPI_ERR_TGT);
	CHECK(LAPI_Amsend(handles[0], 1, (void *)take_message, (void *)16, 8, NULL, 0, NULL, NULL,
	                  NULL) == LAPI_ERR_TGT);
	CHECK(LAPI_Rmw(handles[0], (RMW_ops_t)9, 1, &sides[1].sum, &four, NULL, NULL) !=
	      LAPI_SUCCESS);
	peer->closed = NODE_CLOSED_OWNER;
	CHECK(LAPI_Put(handles[0], 1, 8, sides[1].in, sides[0].in, NULL, &counter, NULL) ==
	      LAPI_ERR_TGT);
	peer->closed = 0;
	CHECK(peer->sender.tail == tail);
	/* A bad counter or target is found at once, or by the target; nobody dies of it. */
	CHECK(LAPI_Put(handles[0], 1, 8, sides[1].in, sides[0].in, NULL, (lapi_cntr_t *)16, NULL) ==
	      LAPI_SUCCESS);
	CHECK(fake_lane_counts.bad_counters == 1);
	CHECK(LAPI_Put(handles[0], 1, 8, sides[1].in, sides[0].in, (lapi_cntr_t *)17, NULL, NULL) ==
	      LAPI_SUCCESS);
	CHECK(LAPI_Probe(handles[1]) == LAPI_SUCCESS);
	CHECK(fake_lane_counts.bad_counters == 2);
	stop();
}

/* Transfers of every length to a task that has left, and the fence after a transfer that it did not
 * take, are for core: no counter changes, nothing is in flight. */
static void target_left(void)
{
	static const ulong lengths[] = {0, 8, 200, 600, DATA};
	unsigned char *in = sides[1].in[0], *out = sides[0].in[0];
	int four = 4, value = -1;
	lapi_cntr_t counter;
	size_t i;

	start(200);
	CHECK(LAPI_Setcntr(handles[0], &counter, 0) == LAPI_SUCCESS);
	CHECK(LAPI_Put(handles[0], 1, 8, in, out, NULL, NULL, &counter) == LAPI_SUCCESS);
	node_leave(fake_node_link(1));
	CHECK(cshim_lane_fenced(fake_context(handles[0])) == CSHIM_FENCE_CORE);
	for (i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		CHECK(LAPI_Put(handles[0], 1, lengths[i], in, out, NULL, &counter, &counter) ==
		      LAPI_ERR_TGT);
		CHECK(LAPI_Get(handles[0], 1, lengths[i], in, out, NULL, &counter) == LAPI_ERR_TGT);
		CHECK(LAPI_Amsend(handles[0], 1, (void *)take_message, NULL, 0, out, lengths[i],
		                  NULL, &counter, &counter) == LAPI_ERR_TGT);
		CHECK(LAPI_Amsend(handles[0], 1, (void *)take_message, out, 8, out, lengths[i],
		                  NULL, &counter, &counter) == LAPI_ERR_TGT);
	}
	CHECK(LAPI_Rmw(handles[0], FETCH_AND_ADD, 1, &sides[1].sum, &four, NULL, &counter) ==
	      LAPI_ERR_TGT);
	CHECK(LAPI_Getcntr(handles[0], &counter, &value) == LAPI_SUCCESS && value == 0);
	CHECK(fake_node_link(0)->ops == 0);
	/* core gets a turn in the next progress call */
	CHECK(cshim_lane_turn(fake_context(handles[0])) & CSHIM_LANE_CORE);
	stop();
}

/* The one operation that is in flight. */
static const node_op *op_in_flight(lapi_handle_t handle)
{
	const node_link *link = fake_node_link(fake_context(handle)->task);
	const node_op *found = NULL;
	int i;

	for (i = 0; i < NODE_OPS; i++)
		if (link->op[i].kind != NODE_OP_FREE) {
			CHECK(!found);
			found = &link->op[i];
		}
	CHECK(found);
	return found;
}

/* The peer answers once more an operation that is over: so would a peer that core had given up. */
static void answer_late(lapi_handle_t handle, uint32_t token, uint64_t value, uint64_t data)
{
	cshim_context *context = fake_context(handle);
	node_link *link = fake_node_link(context->task);
	node_peer *peer = fake_lane_peer(handle);
	node_reply_header reply = {token, NODE_REPLY_OK, value};
	node_message message;

	cshim_lock(&context->progress);
	CHECK(node_begin(link, peer, sizeof(reply), data, &message) == NODE_SENT);
	memcpy(message.header, &reply, sizeof(reply));
	memset(message.bytes, 0xee, data);
	CHECK(node_end(link, peer, &message, NODE_REPLY, sizeof(reply)) == NODE_SENT);
	cshim_unlock(&context->progress);
}

/* The peer serves the operation that is in flight, and it is over. */
static void finish(lapi_cntr_t *over)
{
	CHECK(LAPI_Probe(handles[1]) == LAPI_SUCCESS && LAPI_Probe(handles[0]) == LAPI_SUCCESS);
	wait_for(handles[0], over, 1);
}

/* Nothing that came has ended op, which the peer has not served. */
static void goes_on(const node_op *op, lapi_cntr_t *over)
{
	int value = -1;

	CHECK(LAPI_Probe(handles[0]) == LAPI_SUCCESS);
	CHECK(op_in_flight(handles[0]) == op);
	CHECK(LAPI_Getcntr(handles[0], over, &value) == LAPI_SUCCESS && value == 0);
}

/* Operations take the same place one after the other; an answer to an earlier operation of that
 * place finds nothing. */
static void late_answers(void)
{
	static const unsigned char untouched[8];
	const node_op *op;
	lapi_cntr_t over;
	uint32_t first, second;
	int one = 1, previous = -1;

	start(200);
	fill(sides[1].in[0], 8, 5);
	CHECK(LAPI_Setcntr(handles[0], &over, 0) == LAPI_SUCCESS);
	CHECK(LAPI_Get(handles[0], 1, 8, sides[1].in[0], sides[0].in[0], NULL, &over) ==
	      LAPI_SUCCESS);
	op = op_in_flight(handles[0]);
	first = op->token;
	finish(&over);

	CHECK(LAPI_Get(handles[0], 1, 8, sides[1].in[0], sides[0].in[1], NULL, &over) ==
	      LAPI_SUCCESS);
	second = op_in_flight(handles[0])->token;
	answer_late(handles[1], first, 0, 8);
	goes_on(op, &over);
	CHECK(memcmp(sides[0].in[1], untouched, 8) == 0);
	finish(&over);
	check(sides[0].in[1], 8, 5);

	CHECK(LAPI_Rmw(handles[0], FETCH_AND_ADD, 1, &sides[1].sum, &one, &previous, &over) ==
	      LAPI_SUCCESS);
	answer_late(handles[1], first, 99, 0);
	answer_late(handles[1], second, 99, 0);
	goes_on(op, &over);
	CHECK(previous == -1);
	finish(&over);
	CHECK(previous == 0 && sides[1].sum == 1);
	stop();
}

void test_lane(void)
{
	node_guard_install();
	passes();
	target_left();
	late_answers();
	exchange(200, NULL); /* mostly spinning */
	exchange(0, NULL);   /* mostly asleep */
}

void test_lane_after(void (*first)(void))
{
	node_guard_install();
	exchange(0, first);
}
