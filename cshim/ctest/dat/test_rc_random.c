/*
 * test_rc_random.c - two ends of the node engine that do anything at random: all operations in both
 * directions, shared receives or not, memory that is taken away, disconnects, deaths. A model
 * beside it says what must be so: each request and receive completes once, in the order of posting,
 * nothing succeeds after the first failure, nothing fails without a cause, the data of each success
 * is right, and both ends come to an end.
 *
 * CSHIM_FUZZ is how many rounds there are, and CSHIM_SEED: see random.h.
 */
#include "ctest/dat/fake_rc.h"
#include "ctest/random.h"

#include <string.h>

enum {
	ROUNDS = 400, /* by default */
	STEPS = 500,  /* of a round, at most */
	SLOTS = 64,   /* places of each kind of memory */
	SLOT = 4096,
	MOST = 40, /* requests, and receives, whose event was not taken */
	/* the memory of a side: own of requests, of receives, written by the peer, read by it,
	   words */
	OWN = 0,
	RECEIVES = SLOTS * SLOT,
	WRITTEN = 2 * SLOTS * SLOT,
	CONSTANT = 3 * SLOTS * SLOT,
	WORDS = CONSTANT + 32 * SLOT,
	LARGEST = 4000
};

typedef struct request {
	int op; /* of rc.h */
	uint8_t flags, suppressed;
	uint32_t n, there;
	uint64_t old; /* that an atomic operation is to find */
} request;

/* A side: numbers, which are cookies, from 0 on; those before taken have had their event. */
typedef struct model {
	request requests[SLOTS];
	uint32_t lengths[SLOTS]; /* of receives */
	uint32_t posted, taken, receives, received;
	uint32_t messages[STEPS + SLOTS], sent; /* requests that take a receive, in order */
	uint32_t arrived, acknowledged;         /* receives and sends that were successful */
	uint64_t adds, swaps;                   /* of the peer's words, by requests so far */
	int failed, receive_failed, dead, closing, cut;
} model;

static uint64_t state;
static model sides[2];
static int trouble; /* something may fail */
static int full;    /* messages take many slots: rings are often full */

static uint32_t below(uint32_t n)
{
	return random_below(&state, n);
}

static unsigned char byte_of(int side, uint32_t number, uint32_t i)
{
	return (unsigned char)(side * 131 + number * 29 + i * 7 + (i >> 8));
}

static uint64_t slot_at(uint32_t kind, uint32_t number)
{
	return kind + (uint64_t)(number % SLOTS) * SLOT;
}

/* The data of a request is at a place of a side's memory. */
static void check_data(int side, uint64_t at, int from, uint32_t number, uint32_t n)
{
	uint32_t i;

	for (i = 0; i < n; i++)
		CHECK(fake_dat[side].memory[at + i] == byte_of(from, number, i));
}

static void begin_round(void)
{
	int side, messages = !below(4);
	uint32_t i;

	memset(sides, 0, sizeof(sides));
	trouble = 0;
	full = !below(3);
	fake_rc_open((int)below(2));
	for (side = 0; side < 2; side++) {
		for (i = 0; i < 32 * SLOT; i++)
			fake_dat[side].memory[CONSTANT + i] = byte_of(side, 77, i);
		memset(fake_dat[side].memory + WORDS, 0, 16);
		fake_dat[side].end->config.reads = 1 + below(FAKE_DAT_READS);
		if (!below(3))
			fake_dat_share(side, MOST + 1);
		if (messages) /* say what is complete, and no word */
			fake_dat[side].end->config.own = 0;
	}
}

static uint32_t any_length(void)
{
	if (full)
		return 400 + below(112);
	switch (below(5)) {
	case 0:
		return 0;
	case 1:
		return below(LARGEST);
	case 2:
		return below(700);
	default:
		return 1 + below(64);
	}
}

/* A list of three segments, one of them empty, or one. */
static DAT_COUNT list_of(int side, uint64_t at, uint32_t n, DAT_LMR_TRIPLET list[3])
{
	uint32_t first = below(n + 1);

	if (below(3)) {
		list[0] = fake_dat_local(side, at, n);
		return n > 0;
	}
	list[0] = fake_dat_local(side, at, first);
	list[1] = fake_dat_local(side, at + first, 0);
	list[2] = fake_dat_local(side, at + first, n - first);
	return 3;
}

/* Fills a request in, and its own memory. */
static void choose(int side, request *r, uint32_t number)
{
	unsigned char *own = fake_dat[side].memory + slot_at(OWN, number);
	uint32_t i;

	*r = (request){.op = (int)below(5), .suppressed = !below(6), .n = any_length()};
	switch (r->op) {
	case RC_SEND:
		r->flags = below(8) ? 0 : RC_INVALIDATE;
		break;
	case RC_WRITE:
		r->flags = below(3) ? 0 : RC_IMMEDIATE;
		r->there = (uint32_t)slot_at(WRITTEN, number);
		break;
	case RC_READ:
		r->there = CONSTANT + below(28 * SLOT);
		break;
	default:
		r->n = 8;
		r->there = WORDS + 8 * (r->op == RC_SWAP);
		r->old = r->op == RC_ADD ? sides[side].adds++ : sides[side].swaps++;
	}
	for (i = 0; i < r->n; i++)
		own[i] = r->op <= RC_WRITE ? byte_of(side, number, i) : 0;
}

/* 1 if a request of a side takes a receive of the peer's. */
static int takes(const request *r)
{
	return r->op == RC_SEND || r->flags & RC_IMMEDIATE;
}

static void post_request(int side)
{
	model *m = &sides[side];
	uint32_t number = m->posted;
	request *r = &m->requests[number % SLOTS];
	DAT_LMR_TRIPLET list[3];
	DAT_RMR_TRIPLET there;
	dat_post post;

	if (number - m->taken >= MOST || m->closing)
		return;
	choose(side, r, number);
	there = fake_dat_remote(1 - side, r->there, r->n);
	post = (dat_post){.op = r->op,
	                  .flags = r->flags,
	                  .cookie = number,
	                  .data = number,
	                  .params = r->op == RC_SEND ? RC_PARAMS_SEND : RC_PARAMS_RDMA,
	                  .local_iov = list,
	                  .remote_iov = &there,
	                  .compare = r->old,
	                  .operand = r->op == RC_ADD ? 1 : r->old + 1};
	post.num_segments = list_of(side, slot_at(OWN, number), r->n, list);
	if (r->op > RC_READ) {
		list[0] = fake_dat_local(side, slot_at(OWN, number), 8);
		post.num_segments = 1;
	}
	post.completion = (r->suppressed ? DAT_COMPLETION_SUPPRESS_FLAG : 0) |
	                  (below(6) ? 0 : DAT_COMPLETION_BARRIER_FENCE_FLAG) |
	                  (below(4) ? 0 : DAT_COMPLETION_SOLICITED_WAIT_FLAG);
	if (!below(600)) {
		list[0].lmr_context++; /* an RMR's */
		trouble = 1;
	}
	if (!below(600)) {
		there.rmr_context += 9;
		trouble = 1;
	}
	m->posted++; /* before: its event may be there at once */
	if (takes(r))
		m->messages[m->sent++] = number;
	CHECK(fake_dat[side].rc->post(fake_dat[side].ep, &post) == DAT_SUCCESS);
}

static void post_bind(int side)
{
	model *m = &sides[side];

	if (m->posted - m->taken >= MOST || m->closing || !fake_dat[side].end->on)
		return;
	m->requests[m->posted % SLOTS] = (request){.op = RC_BIND};
	CHECK(fake_dat[side].rc->bind(fake_dat[side].end, m->posted++, 0));
}

static void post_receive(int side)
{
	const fake_dat_side *s = &fake_dat[side];
	model *m = &sides[side];
	uint32_t number = m->receives, n = below(500) ? LARGEST : below(64);
	DAT_LMR_TRIPLET list[3];
	DAT_COUNT count = list_of(side, slot_at(RECEIVES, number), n, list);
	DAT_RETURN result;

	if (number - m->received >= MOST)
		return;
	trouble |= n < LARGEST;
	m->lengths[number % SLOTS] = n;
	result = s->srq ? s->rc->post_shared(s->srq_slot, count, list, number)
	                : s->rc->post_receive(s->ep, count, list, number, 0);
	CHECK(result == DAT_SUCCESS || trouble); /* the memory was taken away */
	m->receives += result == DAT_SUCCESS;
}

/* A request was successful. */
static void check_request(int side, uint32_t number, const request *r)
{
	uint64_t own = slot_at(OWN, number), old;
	uint32_t i;

	switch (r->op) {
	case RC_WRITE:
		check_data(1 - side, r->there, side, number, r->n);
		break;
	case RC_READ:
		for (i = 0; i < r->n; i++)
			CHECK(fake_dat[side].memory[own + i] ==
			      byte_of(1 - side, 77, r->there - CONSTANT + i));
		break;
	case RC_SWAP:
	case RC_ADD:
		memcpy(&old, fake_dat[side].memory + own, sizeof(old));
		CHECK(old == r->old);
		break;
	}
	sides[side].acknowledged += (uint32_t)takes(r);
}

/* The events of requests; between two of them are suppressed ones. */
static void take_requests(int side)
{
	model *m = &sides[side];

	while (fake_dat[side].request->length) {
		const dat_completion c = fake_dat_take(side, fake_dat[side].request);
		const request *r;

		for (; m->taken != c.cookie; m->taken++) {
			r = &m->requests[m->taken % SLOTS];
			CHECK(m->taken < m->posted && r->suppressed && !m->failed);
			check_request(side, m->taken, r);
		}
		r = &m->requests[m->taken % SLOTS];
		CHECK(m->taken++ < m->posted);
		CHECK(c.status ? trouble : !m->failed && !r->suppressed);
		m->failed |= c.status != 0;
		if (!c.status)
			check_request(side, (uint32_t)c.cookie, r);
	}
	for (; !fake_dat[side].end->tx.posted && m->taken != m->posted; m->taken++) {
		CHECK(m->requests[m->taken % SLOTS].suppressed && !m->failed);
		check_request(side, m->taken, &m->requests[m->taken % SLOTS]);
	}
}

static void take_receives(int side)
{
	model *m = &sides[side], *peer = &sides[1 - side];

	while (fake_dat[side].recv->length) {
		const dat_completion c = fake_dat_take(side, fake_dat[side].recv);
		const request *r;
		uint32_t number;

		CHECK(c.cookie == m->received && m->received++ < m->receives);
		CHECK(c.status ? trouble : !m->receive_failed && m->arrived < peer->sent);
		m->receive_failed |= c.status != 0;
		if (c.status)
			continue;
		number = peer->messages[m->arrived++];
		if (number + SLOTS < peer->posted)
			continue; /* its place is another's */
		r = &peer->requests[number % SLOTS];
		CHECK(c.length == r->n);
		if (r->flags & RC_IMMEDIATE)
			CHECK(c.data == number);
		else
			check_data(side, slot_at(RECEIVES, (uint32_t)c.cookie), 1 - side, number,
			           r->n);
	}
}

static void take(int side)
{
	take_requests(side);
	take_receives(side);
}

/* Ends a connection, or takes away something that it needs. */
static void end_somehow(int side)
{
	fake_dat_side *s = &fake_dat[side];

	trouble = 1;
	switch (below(6)) {
	case 0:
		s->rc->disconnect(s->end, 1);
		sides[side].closing = 1;
		break;
	case 1:
		s->rc->disconnect(s->end, 0);
		break;
	case 2:
		s->rc->cut(s->end, RC_BROKEN);
		sides[side].cut = 1;
		break;
	case 3:
		sides[side].dead = 1;
		break;
	case 4:
		s->refuses = 1;
		break;
	case 5:
		s->table->names[FAKE_DAT_NAME].privileges &= (uint16_t)(below(2) ? ~0x30u : ~0x3u);
		break;
	}
}

static void step(int side)
{
	uint32_t what = below(full && below(3) ? 65 : 100), turns;

	if (sides[side].dead)
		return;
	if (what < 40) {
		post_request(side);
	} else if (what < 62) {
		post_receive(side);
	} else if (what < 65) {
		post_bind(side);
	} else if (what < 92) {
		for (turns = 1 + below(3); turns; turns--)
			fake_dat[side].rc->turn();
	} else if (what < 99) {
		take(side);
	} else if (!below(4)) {
		end_somehow(side);
	}
	if (!fake_dat[side].end->on && below(2))
		fake_dat_over(side);
	if (fake_dat[side].request->length > SLOTS || fake_dat[side].recv->length > SLOTS)
		take(side);
}

/* Where nothing has gone wrong all that was posted completes, as soon as there are receives. */
static void complete_all(void)
{
	uint32_t i;

	for (i = 0; i < 400 && !trouble; i++) {
		int side = (int)(i % 2);

		post_receive(side);
		fake_dat[side].rc->turn();
		take(side);
	}
	CHECK(trouble || (!fake_dat[0].end->tx.posted && !fake_dat[1].end->tx.posted));
}

/* Both come to an end: the ends of dead and cut ones are cut. */
static void end_both(void)
{
	uint32_t i, side = below(2);
	int cut = sides[0].dead || sides[1].dead || sides[0].cut || sides[1].cut;

	trouble = 1;
	if (!cut)
		fake_dat[side].rc->disconnect(fake_dat[side].end, (int)below(2));
	for (i = 0; !cut && i < 400 && (fake_dat[0].end->on || fake_dat[1].end->on); i++) {
		fake_dat[i % 2].rc->turn();
		take((int)(i % 2));
		if (i == 200) { /* gracefully, and the peer has no receive for the rest */
			CHECK(!fake_dat[side].end->on || fake_dat[side].end->tx.posted);
			fake_dat[side].rc->disconnect(fake_dat[side].end, 0);
		}
	}
	for (side = 0; side < 2; side++) {
		if (cut)
			fake_dat[side].rc->cut(fake_dat[side].end, RC_BROKEN);
		CHECK(fake_dat_over((int)side));
	}
}

static void end_round(uint64_t *good)
{
	int side;

	if (below(2))
		complete_all();
	end_both();
	for (side = 0; side < 2; side++) {
		const fake_dat_side *s = &fake_dat[side];
		const model *m = &sides[side];

		take(side);
		CHECK(m->taken == m->posted && s->end->tx.posted == 0 && s->end->tx.sent == 0);
		CHECK(m->received + (s->srq ? s->srq->queue.count : 0) == m->receives);
		CHECK(!s->srq || s->srq->posted == s->srq->queue.count);
		CHECK(!s->srq || (!s->srq->first && !s->srq->last));
		CHECK(s->async->length == 0);
		*good += m->acknowledged;
	}
	for (side = 0; side < 2; side++) /* a send that is complete has been received */
		CHECK(sides[side].acknowledged <= sides[1 - side].arrived);
	fake_dat_close();
}

void test_rc_random(void)
{
	uint64_t rounds = random_setting("CSHIM_FUZZ", ROUNDS);
	uint64_t seed = random_setting("CSHIM_SEED", 1), i, good = 0;

	for (i = 0; i < rounds; i++) {
		uint32_t steps, alone = 0, k;
		int side = 0;

		state = seed + i;
		begin_round();
		steps = below(STEPS);
		for (k = 0; k < steps; k++) {
			if (!alone) { /* for a while one of them does nothing */
				side = (int)below(2);
				alone = below(8) ? 1 : below(120);
			}
			alone -= alone > 0;
			step(side);
		}
		end_round(&good);
	}
	CHECK(good > rounds * 4);
}
