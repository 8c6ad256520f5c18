/*
 * test_rc_shared.c - shared receive queues of the node engine: receives are taken in order, by
 * connections that have waited in theirs; the low watermark; ends that are over while they wait, or
 * have taken a receive; a peer that sends messages that it was asked to hold. One thread.
 */
#include "ctest/dat/fake_rc.h"

#include <string.h>

enum { AT = 4096, N = 64, MOST = 16 };

static const uint32_t OK = DAT_DTO_SUCCESS, FLUSHED = DAT_DTO_ERR_FLUSHED;
static dat_end *more[2];
static dat_srq *srq;

/* The second has a shared queue, which both connections use. */
static void open_shared(void)
{
	fake_rc_open(0);
	fake_dat_share(1, MOST);
	fake_rc_open_more(more);
	srq = fake_dat[1].srq;
}

static void close_shared(void)
{
	fake_rc_close_more(more);
	CHECK(srq->posted == srq->queue.count);
	fake_dat_close();
}

static void send_by(dat_end *end, uint64_t cookie, uint64_t at, uint64_t n)
{
	fake_dat[0].posts.end = (uintptr_t)end;
	fake_rc_post(0, (fake_rc){.op = RC_SEND, .cookie = cookie, .at = at, .n = n});
	fake_dat[0].posts.end = (uintptr_t)fake_dat[0].end;
}

/* The oldest goes to the message that begins first; a list may be its memory. */
static void in_order(void)
{
	DAT_LMR_TRIPLET list[FAKE_DAT_IOV];
	const DAT_RETURN full = DAT_CLASS_ERROR | DAT_INSUFFICIENT_RESOURCES | DAT_RESOURCE_SRQ;
	uint32_t i;

	open_shared();
	fake_rc_list(1, AT, N, list);
	for (i = 0; i < MOST; i++)
		CHECK(fake_dat[1].rc->post_shared(fake_dat[1].srq_slot, FAKE_DAT_IOV, list, i) ==
		      DAT_SUCCESS);
	CHECK(fake_dat[1].rc->post_shared(fake_dat[1].srq_slot, 1, list, i) == full);
	CHECK(second_rc_post_receive(fake_dat[1].ep, 1, list, 0, 0) ==
	      (DAT_CLASS_ERROR | DAT_INVALID_STATE | DAT_INVALID_STATE_SRQ_IN_USE));
	for (i = 0; i < MOST; i++) {
		send_by(i % 3 ? more[0] : fake_dat[0].end, i, 0, N);
		fake_dat_turns();
		fake_dat_expect(1, fake_dat[1].recv, i, OK);
		fake_dat_expect(0, fake_dat[0].request, i, OK);
		CHECK(srq->posted == MOST - 1 - i);
	}
	CHECK(srq->queue.count == 0 &&
	      *(unsigned char *)node_memory_at(list[1].virtual_address) == 3);
	close_shared();
}

/* The end that has waited longest gets the next receive. */
static void waiting(void)
{
	int i;

	open_shared();
	send_by(more[0], 1, 0, N);
	second_rc_turn();
	send_by(fake_dat[0].end, 2, 0, N / 2);
	fake_dat_turns();
	CHECK(more[1]->rx.wants && fake_dat[1].end->rx.wants && more[0]->tx.blocked);
	CHECK(srq->first == (uintptr_t)more[1] && srq->last == (uintptr_t)fake_dat[1].end);
	fake_rc_receive_shared(1, 1, AT, N);
	CHECK(!more[1]->rx.wants && more[1]->rx.has && fake_dat[1].end->rx.wants);
	fake_rc_receive_shared(1, 2, AT, N);
	fake_rc_receive_shared(1, 3, AT, N);
	CHECK(srq->posted == 3 && srq->queue.count == 1 && !srq->first && !srq->last);
	fake_dat_turns();
	for (i = 0; i < 2; i++) {
		const dat_completion c = fake_dat_take(1, fake_dat[1].recv);

		CHECK(!c.status && c.length == (c.cookie == 1 ? N : N / 2));
		CHECK(!fake_dat_take(0, fake_dat[0].request).status);
	}
	send_by(more[0], 3, 0, N);
	fake_dat_turns();
	RECEIVES_ARE(1, {3, OK});
	CHECK(srq->posted == 0);
	close_shared();
}

/* Core is notified once when fewer than that are left. */
static void low(void)
{
	uint32_t i;

	open_shared();
	for (i = 0; i < 4; i++)
		fake_rc_receive_shared(1, i, AT, N);
	srq->low = 3;
	for (i = 0; i < 4; i++) {
		second_lane.ended = 0;
		send_by(more[0], i, 0, N);
		fake_dat_turns();
		CHECK(srq->is_low == (i >= 1) && second_lane.ended == (i == 1));
	}
	CHECK(srq->low == 0);
	close_shared();
}

/* An end that is over while it waits takes no receive; the next in the queue gets it. */
static void over_while_waiting(int last)
{
	dat_end *leaves = last ? fake_dat[1].end : more[1];

	open_shared();
	leaves = last ? fake_dat[1].end : more[1];
	send_by(more[0], 1, 0, N);
	second_rc_turn();
	send_by(fake_dat[0].end, 2, 0, N);
	fake_dat_turns();
	fake_dat[1].rc->cut(leaves, RC_BROKEN);
	fake_rc_receive_shared(1, 1, AT, N);
	CHECK(!leaves->rx.has && srq->queue.count == 0);
	fake_dat[1].rc->flush(leaves);
	fake_dat_turns();
	RECEIVES_ARE(1, {1, OK});
	REQUESTS_ARE(0, {last ? 1u : 2u, OK});
	CHECK(!srq->first && !srq->last);
	fake_rc_receive_shared(1, 2, AT, N);
	CHECK(srq->queue.count == 1);
	close_shared();
}

/* An end that has taken a receive, of half a message, flushes that alone. */
static void over_with_receive(void)
{
	dat_header h;

	fake_rc_open(0);
	fake_dat_share(0, MOST);
	srq = fake_dat[0].srq;
	fake_rc_receive_shared(0, 1, AT, N);
	fake_rc_receive_shared(0, 2, AT, N);
	h = fake_rc_header(0);
	h.total = 16;
	fake_rc_say(DAT_MSG_DATA, &h, "12345678", 8);
	rc_turn();
	CHECK(fake_dat[0].end->rx.has && srq->queue.count == 1 && srq->posted == 2);
	rc_cut(fake_dat[0].end, RC_BROKEN);
	CHECK(fake_dat_over(0));
	RECEIVES_ARE(0, {1, FLUSHED});
	CHECK(srq->queue.count == 1 && srq->posted == 1);
	fake_dat_close();
}

/* A peer that sends, although it was asked to hold, in the attempt that it was not asked for yet:
 * the end waits once. */
static void not_held(void)
{
	dat_header h;
	int i;

	fake_rc_open(0);
	fake_dat_share(0, MOST);
	srq = fake_dat[0].srq;
	h = fake_rc_header(0);
	h.total = 8;
	for (i = 0; i < 3; i++) {
		h.attempt = (uint8_t)i;
		fake_rc_say(DAT_MSG_DATA, &h, "1234567", 8);
		rc_turn();
		CHECK(fake_dat[0].end->rx.wants && srq->first == (uintptr_t)fake_dat[0].end);
		CHECK(!fake_dat[0].end->waits_before && !fake_dat[0].end->waits_after);
	}
	fake_rc_receive_shared(0, 1, AT, N);
	CHECK(!srq->first && !srq->last && fake_dat[0].end->rx.has);
	h.attempt = (uint8_t)fake_dat[0].end->rx.attempt;
	fake_rc_say(DAT_MSG_DATA, &h, "1234567", 8);
	rc_turn();
	RECEIVES_ARE(0, {1, OK});
	fake_dat_close();
}

void test_rc_shared(void)
{
	in_order();
	waiting();
	low();
	over_while_waiting(0);
	over_while_waiting(1);
	over_with_receive();
	not_held();
}
