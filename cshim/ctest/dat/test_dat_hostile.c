/*
 * test_dat_hostile.c - the node engine against a peer that writes anything into its ring: messages
 * of every kind, whose head words lie about lengths, with headers that are random, or nearly right.
 * A message that is for no connection is left to core, which now and then gives it to the engine.
 * Whatever comes, only memory that the peer may write changes, each receive and each request
 * completes once, in order, and the sanitizers find nothing.
 *
 * CSHIM_FUZZ and CSHIM_SEED: see random.h.
 */
#include "ctest/dat/fake_dat.h"
#include "ctest/random.h"

#include <string.h>

enum {
	MESSAGES = 20000, /* by default */
	ROUND = 50,       /* messages to one connection, at most */
	RECEIVES = 6,
	RECEIVE_APART = 1000, /* from the start of one to that of the next */
	LOCAL = DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_LOCAL_WRITE_FLAG,
	REQUESTS = 4,
	NAMED = 1 << 18, /* where the memory that the connection's context names begins, and its */
	NAMED_SIZE = 1 << 16,     /* size */
	READ_TO = NAMED + 0x8000, /* where the first's own reads go */
	READ_SIZE = 256,
	BODY = 200
};

static uint64_t state;
static int noise;                           /* the message has fields that are wrong by chance */
static int quiet;                           /* the peer may write nothing: only receives change */
static uint32_t receive_size[RECEIVES + 1]; /* of those of the round, from 1 on */
static uint32_t receives, requests;         /* that were posted; cookies go down to 1 */

static uint64_t next_random(void)
{
	return random_next(&state);
}

static uint32_t below(uint32_t n)
{
	return random_below(&state, n);
}

/* A value near one of those that are looked for, or any. */
static uint32_t near(uint32_t value)
{
	switch (noise ? below(8) : 2) {
	case 0:
		return value + below(3) - 1;
	case 1:
		return (uint32_t)next_random();
	default:
		return value;
	}
}

/* Where receive i is in the first's memory. */
static uint64_t place_of(unsigned i)
{
	return NAMED + RECEIVE_APART * i;
}

/* A connection whose first end has receives and requests; the peer's rights differ. */
static void begin_round(void)
{
	static const uint8_t ops[] = {RC_SEND, RC_WRITE, RC_READ};
	dat_name *name;
	unsigned i;

	fake_dat_open(0);
	name = &fake_dat[0].table->names[FAKE_DAT_NAME];
	fake_node_peer(0)->direct = (uint8_t)below(2);
	memset(receive_size, 0, sizeof(receive_size));
	receives = below(RECEIVES + 1);
	for (i = receives; i > 0; i--) {
		const DAT_LMR_TRIPLET to =
			fake_dat_local(0, place_of(i), below(below(2) ? 100 : 700));

		receive_size[i] = to.segment_length;
		CHECK(rc_post_receive(fake_dat[0].ep, 1, &to, i, 0) == DAT_SUCCESS);
	}
	requests = below(REQUESTS + 1);
	for (i = requests; i > 0; i--) {
		const DAT_LMR_TRIPLET own = fake_dat_local(0, READ_TO, 1 + below(READ_SIZE));
		const DAT_RMR_TRIPLET there = fake_dat_remote(1, 64 * i, own.segment_length);
		const dat_post post = {.op = ops[below(3)],
		                       .params = RC_PARAMS_RDMA,
		                       .cookie = i,
		                       .num_segments = 1,
		                       .local_iov = &own,
		                       .remote_iov = &there};

		CHECK(rc_post(fake_dat[0].ep, &post) == DAT_SUCCESS);
	}
	name->addr += NAMED;
	name->n = NAMED_SIZE;
	quiet = !below(3);
	name->privileges &= (uint16_t)(quiet ? LOCAL : below(2) ? -1 : (int)next_random());
}

static int is_zero(const unsigned char *b, size_t n)
{
	return b[0] == 0 && memcmp(b, b + 1, n - 1) == 0;
}

/* Each posted request has one event, in order; after the first error there are only errors. Returns
 * how many were successful. */
static uint32_t take_all(const dat_slot *evd, uint32_t posted)
{
	uint32_t good = 0, bad = 0;

	CHECK(evd->length == posted);
	for (; posted > 0; posted--) {
		const dat_completion c = fake_dat_take(0, evd);

		CHECK(c.cookie == posted && (c.status || !bad));
		bad |= c.status;
		good += !c.status;
	}
	return good;
}

static void end_round(uint64_t *received, uint64_t *completed)
{
	const unsigned char *memory = fake_dat[0].memory;
	unsigned i;

	rc_cut(fake_dat[0].end, RC_BROKEN);
	CHECK(fake_dat_over(0));
	*received += take_all(fake_dat[0].recv, receives);
	*completed += take_all(fake_dat[0].request, requests);
	for (i = 0; quiet && i <= RECEIVES; i++)
		CHECK(is_zero(memory + place_of(i) + receive_size[i],
		              RECEIVE_APART - receive_size[i]));
	CHECK(is_zero(memory, NAMED));
	CHECK(is_zero(memory + NAMED + NAMED_SIZE, FAKE_DAT_MEMORY - NAMED - NAMED_SIZE));
	fake_dat_close();
}

static dat_ask body_of(void)
{
	const dat_end *end = fake_dat[0].end;
	dat_ask b;

	noise = (int)below(2);
	memset(&b, 0, sizeof(b));
	b.header.conn = near(FAKE_DAT_INDEX);
	b.header.tag = near(end->config.tag);
	b.header.seq = near(below(3) ? end->rx.expected : end->tx.oldest + below(REQUESTS + 1));
	b.header.op = (uint8_t)(below(2) ? below(2) : below(4) ? below(8) : next_random());
	b.header.flags = (uint8_t)(below(3) ? 0 : next_random());
	b.header.attempt = (uint8_t)(below(6) ? 0 : next_random());
	b.header.status = (uint8_t)(below(6) ? 0 : next_random());
	b.header.total = below(3) ? below(1200) : near(below(1 << 22));
	b.header.offset = below(3) ? end->rx.got : near(below(2048));
	b.header.addr = (uintptr_t)fake_dat[0].memory + NAMED - 64 + below(NAMED_SIZE + 128);
	if (!below(4)) /* near the end */
		b.header.addr = (uintptr_t)fake_dat[0].memory + NAMED + NAMED_SIZE - below(400);
	if (!below(8))
		b.header.addr = next_random();
	b.header.context = near(FAKE_DAT_CONTEXT);
	b.header.immediate = (uint32_t)next_random();
	b.header.number = near(end->tx.oldest);
	b.header.done = near(end->tx.oldest + below(REQUESTS + 1));
	b.operand =
		below(4) ? (uintptr_t)fake_dat[1].memory + below(FAKE_DAT_MEMORY) : next_random();
	b.compare = below(2) ? 0 : below(2) ? below(1 << 20) : next_random();
	return b;
}

/* Core gives the connection a message that it has found. */
static void give(uint32_t kind, const dat_ask *body)
{
	unsigned char data[BODY];
	unsigned i;

	for (i = 0; i < BODY; i++)
		data[i] = (unsigned char)(1 + i);
	rc_message(fake_dat[0].end, kind, body, below(2) ? sizeof(*body) : sizeof(body->header),
	           data, below(BODY));
}

/* The peer publishes a message, which the engine takes or leaves; a message that is left is
 * removed. */
static void deliver(void)
{
	static const uint64_t kinds[] = {
		DAT_MSG_DATA, DAT_MSG_DATA,  DAT_MSG_DATA, DAT_MSG_ASK,  DAT_MSG_REPLY,
		DAT_MSG_DONE, DAT_MSG_READY, DAT_MSG_PULL, DAT_MSG_HALF, DAT_MSG_NOT_READY};
	node_peer *peer = fake_node_peer(0);
	uint64_t kind = below(10) ? kinds[below(10)] : next_random() & 0xff;
	uint64_t header = kind == DAT_MSG_ASK || kind == DAT_MSG_PULL ? sizeof(dat_ask) / 8
	                                                              : sizeof(dat_header) / 8;
	uint64_t data = below(3) ? below(160) : below(4) ? 0 : next_random() & 0xffff;
	uint64_t head = peer->receiver.head, position = head % NODE_RING_SLOTS, word;
	unsigned char *slot =
		(unsigned char *)(uintptr_t)peer->in_slots + position * NODE_SLOT_SIZE;
	dat_ask body = body_of();
	uint64_t room = (NODE_RING_SLOTS - position) * NODE_SLOT_SIZE - 8, i;

	if (!below(12))
		header = next_random() & 0xff;
	if (kind == DAT_MSG_DATA && header == sizeof(dat_header) / 8 && below(2)) /* the last, */
		body.header.total = body.header.offset + (uint32_t)data;
	else if (kind == DAT_MSG_DATA && !below(3)) /* or with more data than there is to come */
		body.header.total = body.header.offset + below((uint32_t)data + 1);
	for (i = 0; i < room && i < BODY; i++)
		slot[8 + i] = (unsigned char)(1 + i);
	memcpy(slot + 8, &body, room < sizeof(body) ? room : sizeof(body));
	word = kind << 32 | header << 40 | data << 48 | (uint32_t)head | NODE_SEQUENCE_VALID;
	memcpy(slot, &word, 8);
	rc_turn();
	if (peer->receiver.head != head)
		return;
	memset(slot, 0, 8);
	peer->receiver.head = peer->receiver.published = head + 1 + below(8);
	if (below(2))
		give((uint32_t)kind, &body);
}

static void check(void)
{
	const dat_end *end = fake_dat[0].end;

	if (fake_dat[0].lane->ended) {
		CHECK(fake_dat_over(0));
		CHECK(end->tx.posted == 0 && end->rx.queue.count == 0);
	}
	CHECK(fake_dat[0].recv->length + end->rx.queue.count == receives);
	CHECK(fake_dat[0].request->length + end->tx.posted == requests);
	CHECK(end->tx.sent <= end->tx.posted && end->tx.asked <= end->tx.sent);
	CHECK(end->rx.state || end->rx.got == 0 || !end->on);
}

/*
 * A send, or a write, to the first's only receive, or memory, of n bytes: it is taken, or ends the
 * connection and touches nothing.
 */
static void deliver_length(uint8_t op, uint32_t n, uint32_t total, uint32_t data, int taken)
{
	node_peer *peer;
	dat_header header = {.conn = FAKE_DAT_INDEX, .op = op, .total = total};
	dat_name *name;
	unsigned char *slot;
	DAT_LMR_TRIPLET to;
	uint64_t word, head;

	fake_dat_open(0);
	to = fake_dat_local(0, NAMED, n);
	CHECK(rc_post_receive(fake_dat[0].ep, 1, &to, 1, 0) == DAT_SUCCESS);
	name = &fake_dat[0].table->names[FAKE_DAT_NAME];
	name->addr += NAMED;
	name->n = n;
	header.tag = fake_dat[0].end->config.tag;
	header.seq = fake_dat[0].end->rx.expected;
	header.done = fake_dat[0].end->tx.oldest;
	header.addr = (uintptr_t)fake_dat[0].memory + NAMED;
	header.context = FAKE_DAT_CONTEXT;
	peer = fake_node_peer(0);
	head = peer->receiver.head;
	slot = (unsigned char *)(uintptr_t)peer->in_slots + head % NODE_RING_SLOTS * NODE_SLOT_SIZE;
	memcpy(slot + 8, &header, sizeof(header));
	memset(slot + 8 + sizeof(header), 0x77, data);
	word = (uint64_t)DAT_MSG_DATA << 32 | (uint64_t)sizeof(header) / 8 << 40 |
	       (uint64_t)data << 48 | (uint32_t)head | NODE_SEQUENCE_VALID;
	memcpy(slot, &word, 8);
	rc_turn();
	CHECK(peer->receiver.head != head && (int)fake_dat[0].end->on == taken);
	CHECK(is_zero(fake_dat[0].memory, NAMED));
	CHECK(is_zero(fake_dat[0].memory + NAMED + (taken ? data : 0),
	              FAKE_DAT_MEMORY - NAMED - (taken ? data : 0)));
	memset(slot, 0, 8);
	fake_dat_close();
}

static void lengths(void)
{
	static const struct {
		uint32_t n, total, data;
		int taken;
	} all[] = {
		{100, 100, 100, 1}, {100, 50, 50, 1},   {100, 60, 40, 1},  {100, 101, 101, 0},
		{100, 101, 50, 0},  {100, 100, 101, 0}, {100, 50, 120, 0}, {100, 0, 1, 0},
		{100, 50, 51, 0},   {100, 50, 0, 0},    {1, 1, 150, 0},    {100, 1u << 31, 100, 0},
	};
	size_t i;

	for (i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		deliver_length(RC_SEND, all[i].n, all[i].total, all[i].data, all[i].taken);
		deliver_length(RC_WRITE, all[i].n, all[i].total, all[i].data, all[i].taken);
	}
}

void test_dat_hostile(void)
{
	uint64_t messages = random_setting("CSHIM_FUZZ", MESSAGES), i, received = 0, completed = 0;
	uint32_t left = 0;

	lengths();
	state = random_setting("CSHIM_SEED", 1);
	for (i = 0; i < messages; i++) {
		if (!left) {
			begin_round();
			left = ROUND;
		}
		deliver();
		check();
		left = fake_dat[0].end->on || below(4) ? left - 1 : 0;
		if (!left || i == messages - 1)
			end_round(&received, &completed);
	}
	CHECK(received > messages / 2000 && completed > messages / 10000); /* some are right */
}
