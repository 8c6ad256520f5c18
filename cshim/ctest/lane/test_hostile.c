/*
 * test_hostile.c - the fast lane's receiver against a peer that writes anything into its ring and
 * chunk area: head words that lie about lengths, places outside the area, headers of other kinds,
 * answers to requests that nobody made. A message that does not fit is left to core, or dropped and
 * counted, and touches nothing.
 *
 * The lane has no other defence than to look: so each case says by itself what may be taken, from
 * segment.h and message.h. CSHIM_FUZZ and CSHIM_SEED, of random messages: see random.h.
 */
#define _GNU_SOURCE
#include <string.h>

#include "node/guard.h"
#include "lane/lane_shared.h"
#include "ctest/fake_lane.h"
#include "ctest/random.h"

enum { SINK = NODE_CHUNK_AREA, EDGE = 64, RANDOM_MESSAGES = 200000, INDEX = 7 };

static lapi_handle_t handles[2];
static node_peer *peer; /* of task 0, which receives */
static unsigned char sink[EDGE + SINK + EDGE] __attribute__((aligned(64)));
static struct {
	uint32_t calls, uhdr_len;
	uint64_t msg_len;
} seen;
static uint64_t state;

static uint64_t next_random(void)
{
	return random_next(&state);
}

static void *note(lapi_handle_t *hndl, void *uhdr, uint *uhdr_len, ulong *msg_len,
                  compl_hndlr_t **completion, void **info)
{
	(void)hndl, (void)completion, (void)info;
	CHECK(*uhdr_len <= CSHIM_LANE_UHDR && (uhdr != NULL) == (*uhdr_len != 0));
	seen.calls++;
	seen.uhdr_len = *uhdr_len;
	seen.msg_len = *msg_len;
	return NULL;
}

static void start(void)
{
	fake_lane_open(handles);
	peer = fake_lane_peer(handles[0]);
	((cshim_lane *)(uintptr_t)fake_context(handles[0])->lane)->handlers[INDEX] =
		(uintptr_t)note;
	memset(sink, 0, sizeof(sink));
	state = 1;
}

static void stop(void)
{
	fake_lane_close(handles);
}

static unsigned char *slot(uint64_t position)
{
	return (unsigned char *)(uintptr_t)peer->in_slots + position * NODE_SLOT_SIZE;
}

/* The receiver looks at this place of its ring next, wherever it stood. */
static void stand_at(uint64_t position)
{
	peer->receiver.head = peer->receiver.published =
		(peer->receiver.head / NODE_RING_SLOTS + 1) * NODE_RING_SLOTS + position;
}

/*
 * The peer publishes a head word there, with n bytes behind it; 1 if the lane takes the message. A
 * message that the lane leaves is removed.
 */
static int taken(uint64_t word, const void *body, size_t n)
{
	uint64_t head = peer->receiver.head, position = head % NODE_RING_SLOTS;

	CHECK(8 + n <= (NODE_RING_SLOTS - position) * NODE_SLOT_SIZE);
	memcpy(slot(position) + 8, body, n);
	word = (word >> 32) << 32 | (uint32_t)head | NODE_SEQUENCE_VALID;
	memcpy(slot(position), &word, 8);
	CHECK(LAPI_Probe(handles[0]) == LAPI_SUCCESS);
	memset(slot(position), 0, 8);
	return peer->receiver.head != head;
}

/* The same with a header that its kind cannot have: dropped if it can be taken out, and counted. */
static void wrong(uint64_t word, const void *body, size_t n)
{
	node_link *link = fake_node_link(0);
	uint64_t before = link->ghosts;
	int gone = taken(word, body, n);

	CHECK(link->ghosts - before == (uint64_t)gone);
}

static uint64_t word_of(uint64_t kind, uint64_t units, uint64_t data)
{
	return kind << 32 | units << 40 | data << 48;
}

/* Nothing but n bytes of the sink has changed, and those are pattern's. */
static void only(uint64_t n, const unsigned char *pattern)
{
	static const unsigned char zeros[sizeof(sink)];

	CHECK(memcmp(sink, zeros, EDGE) == 0 &&
	      memcmp(sink + EDGE + n, zeros, sizeof(sink) - EDGE - n) == 0);
	CHECK(n == 0 || memcmp(sink + EDGE, pattern, n) == 0);
	memset(sink, 0, sizeof(sink));
}

/* Every place of the ring with lengths around what fits there, of puts. */
static void lengths_of_puts(void)
{
	static const uint64_t places[] = {0, 1, 100, 215, 216, 217, 240, 254, 255};
	static const uint64_t more[] = {0,    1,    8,    32,   33,   511,   512,  2519,
	                                2520, 2521, 2528, 2529, 4096, 16000, 65535};
	node_put_header put = {CSHIM_ADDR(sink + EDGE), {0, 0}};
	size_t i, k;

	memset((void *)(uintptr_t)peer->in_slots, 0x5a, NODE_RING_SLOTS * NODE_SLOT_SIZE);
	for (i = 0; i < sizeof(places) / sizeof(places[0]); i++)
		for (k = 0; k < sizeof(more) / sizeof(more[0]); k++) {
			uint64_t slots =
				(8 + sizeof(put) + more[k] + NODE_SLOT_SIZE - 1) / NODE_SLOT_SIZE;
			int fits =
				slots <= NODE_MESSAGE_SLOTS && places[i] + slots <= NODE_RING_SLOTS;

			stand_at(places[i]);
			CHECK(taken(word_of(NODE_PUT, sizeof(put) / 8, more[k]), &put,
			            sizeof(put)) == fits);
			only(fits ? more[k] : 0, slot(places[i]) + 8 + sizeof(put));
			stand_at(places[i]);
			wrong(word_of(NODE_PUT, 4, more[k]), &put,
			      sizeof(put)); /* another header's length */
			stand_at(places[i]);
			wrong(word_of(NODE_PART, 3, more[k]), &put, sizeof(put));
			only(0, NULL);
		}
}

/* User headers of all lengths that the head word and the padding can name. */
static void lengths_of_user_headers(void)
{
	cshim_am_header am = {0, 0, 0};
	uint64_t units, padding;

	for (units = 0; units < 256; units++)
		for (padding = 0; padding < 256; padding += units < 10 ? 1 : 5) {
			int64_t uhdr =
				(int64_t)(units * 8) - (int64_t)sizeof(am) - (int64_t)padding;
			int fits = uhdr >= 0 && uhdr <= CSHIM_LANE_UHDR;

			am.handler = INDEX | padding << CSHIM_AM_PADDING_SHIFT;
			seen.calls = 0;
			stand_at(0);
			CHECK(taken(word_of(CSHIM_MSG_AM_SMALL, units, 5), &am, sizeof(am)) ==
			      fits);
			CHECK(seen.calls == (uint32_t)fits &&
			      (!fits || (seen.uhdr_len == (uint32_t)uhdr && seen.msg_len == 5)));
		}
	am.handler = INDEX + 1; /* nobody's */
	stand_at(0);
	CHECK(!taken(word_of(CSHIM_MSG_AM_SMALL, 3, 0), &am, sizeof(am)));
}

/* Chunks at all ends of the area, and beyond. */
static void places_of_chunks(void)
{
	static const uint32_t at[] = {0,
	                              1,
	                              4096,
	                              NODE_CHUNK_AREA - 65536,
	                              NODE_CHUNK_AREA - 8,
	                              NODE_CHUNK_AREA - 1,
	                              NODE_CHUNK_AREA,
	                              NODE_CHUNK_AREA + 1,
	                              0x7fffffff,
	                              0x80000000,
	                              UINT32_MAX - 7,
	                              UINT32_MAX};
	static const uint32_t lengths[] = {0,
	                                   1,
	                                   8,
	                                   65536,
	                                   NODE_CHUNK_MAX - 24,
	                                   NODE_CHUNK_MAX - 23,
	                                   NODE_CHUNK_MAX,
	                                   NODE_CHUNK_AREA,
	                                   0x80000000,
	                                   UINT32_MAX};
	struct {
		node_place place;
		node_put_header put;
	} message = {{0, 0}, {CSHIM_ADDR(sink + EDGE), {0, 0}}};
	unsigned char *area = (unsigned char *)(uintptr_t)peer->in_chunks;
	size_t i, k;

	for (i = 0; i < NODE_CHUNK_AREA; i++)
		area[i] = (unsigned char)(i * 7 + (i >> 8) + 1);
	for (i = 0; i < sizeof(at) / sizeof(at[0]); i++)
		for (k = 0; k < sizeof(lengths) / sizeof(lengths[0]); k++) {
			int fits = sizeof(message.put) + (uint64_t)lengths[k] <= NODE_CHUNK_MAX &&
			           (uint64_t)at[i] + lengths[k] <= NODE_CHUNK_AREA;

			message.place.offset = at[i];
			message.place.length = lengths[k];
			stand_at(i);
			CHECK(taken(word_of(NODE_PUT | NODE_KIND_CHUNK, 3, 0), &message,
			            sizeof(message)) == fits);
			only(fits ? lengths[k] : 0, area + at[i]);
			CHECK(!taken(word_of(NODE_PUT | NODE_KIND_CHUNK, 3, 8), &message,
			             sizeof(message))); /* data in slots, too */
			only(0, NULL);
		}
	message.place.offset = message.place.length = 0;
	message.put.addr = INDEX; /* an active message's handler; with a user header of 32 bytes it
	                             has two slots */
	stand_at(NODE_RING_SLOTS - 1);
	CHECK(!taken(word_of(CSHIM_MSG_AM_SMALL | NODE_KIND_CHUNK, 7, 0), &message,
	             sizeof(message)));
	stand_at(NODE_RING_SLOTS - 2);
	CHECK(taken(word_of(CSHIM_MSG_AM_SMALL | NODE_KIND_CHUNK, 7, 0), &message,
	            sizeof(message)));
	stand_at(0); /* padding of a whole ring would be for ever */
	CHECK(!taken(word_of(NODE_KIND_PADDING, 0, 0), &message, 8));
}

/* Read-modify-writes, completions and gets that no origin sends. */
static void nonsense(void)
{
	node_get_header get = {CSHIM_ADDR(sink), 0, {0, 0}, 0};
	uint64_t tail;
	node_rmw_header rmw = {CSHIM_ADDR(sink + EDGE), 1, 0, 3, 0, 4, 0};
	cshim_counter_header counter = {CSHIM_ADDR(sink + EDGE), 0};
	unsigned op, width;

	for (op = 0; op < 256; op++)
		for (width = 0; width < 256; width++) {
			if (op <= NODE_RMW_LAST && (width == 4 || width == 8))
				continue;
			rmw.op = (uint8_t)op;
			rmw.width = (uint8_t)width;
			stand_at(9);
			wrong(word_of(NODE_RMW, 4, 0), &rmw, sizeof(rmw));
		}
	only(0, NULL);
	for (counter.more = NODE_RING_SLOTS; counter.more; counter.more <<= 1) {
		stand_at(0);
		CHECK(!taken(word_of(CSHIM_MSG_COUNTER, 2, 0), &counter, sizeof(counter)));
	}
	only(0, NULL);
	/* However long, an answer takes slots as messages do. */
	for (get.n = 1; get.n <= 65536; get.n += get.n < 600 ? 1 : 997) {
		tail = peer->sender.tail;
		stand_at(0);
		CHECK(taken(word_of(NODE_GET, 5, 0), &get, sizeof(get)));
		CHECK(peer->sender.tail - tail <= NODE_RING_SLOTS - 1 &&
		      fake_lane_counts.faults == 0);
		CHECK(get.n <= NODE_INLINE_MAX ||
		      peer->sender.tail - tail <=
		              2 * (get.n / 8192 + 1) + NODE_INLINE_MAX / NODE_SLOT_SIZE);
		CHECK(LAPI_Probe(handles[1]) ==
		      LAPI_SUCCESS); /* it knows no such token, and drops the answer */
	}
	for (get.n = NODE_LENGTH_MAX + 1; get.n; get.n = get.n > UINT64_MAX / 2 ? 0 : UINT64_MAX) {
		stand_at(0);
		wrong(word_of(NODE_GET, 5, 0), &get, sizeof(get));
	}
	/* A get of memory that cannot be read is answered by a failure, and core is notified. */
	get.addr = 16;
	get.n = 8;
	stand_at(0);
	CHECK(taken(word_of(NODE_GET, 5, 0), &get, sizeof(get)) && fake_lane_counts.faults == 1);
	CHECK(LAPI_Probe(handles[1]) == LAPI_SUCCESS);
	/* A word that is not aligned is core's. */
	rmw.addr = CSHIM_ADDR(sink + EDGE + 1);
	rmw.op = FETCH_AND_ADD;
	rmw.width = 4;
	stand_at(0);
	CHECK(!taken(word_of(NODE_RMW, 4, 0), &rmw, sizeof(rmw)) && fake_lane_counts.later == 1);
	only(0, NULL);
}

/* Answers to the one get that is in flight, which asked for 100 bytes. */
static void wrong_answers(void)
{
	static const struct {
		uint64_t at, data;
		uint32_t state;
	} bad[] = {
		{0, 101, NODE_REPLY_OK},
		{0, 99, NODE_REPLY_OK},
		{100, 1, NODE_REPLY_PART},
		{101, 0, NODE_REPLY_PART},
		{99, 2, NODE_REPLY_PART},
		{UINT64_MAX, 1, NODE_REPLY_OK},
		{UINT64_MAX - 3, 104, NODE_REPLY_OK},
		{UINT64_MAX - 3, 8, NODE_REPLY_PART},
		{0, 1, NODE_REPLY_FAILED},
		{0, 100, 3},
	};
	const node_link *link = fake_node_link(0);
	node_reply_header reply = {link->op[link->free_op].token, 0, 0};
	lapi_cntr_t over;
	unsigned char pattern[100];
	size_t i;

	CHECK(LAPI_Setcntr(handles[0], &over, 0) == LAPI_SUCCESS);
	CHECK(LAPI_Get(handles[0], 1, 100, sink, sink + EDGE, NULL, &over) == LAPI_SUCCESS &&
	      link->ops == 1);
	memset(slot(0), 0x77, 4 * NODE_SLOT_SIZE);
	memset(pattern, 0x77, sizeof(pattern));
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		reply.state = bad[i].state;
		reply.value = bad[i].at;
		stand_at(0);
		CHECK(taken(word_of(NODE_REPLY, 2, bad[i].data), &reply,
		            sizeof(reply))); /* dropped */
		CHECK(link->ops == 1);
		only(0, NULL);
	}
	reply.state = NODE_REPLY_OK;
	reply.value = 0;
	reply.token += NODE_OPS;
	stand_at(0);
	CHECK(taken(word_of(NODE_REPLY, 2, 100), &reply, sizeof(reply)) && link->ops == 1);
	reply.token -= NODE_OPS;
	stand_at(0);
	CHECK(taken(word_of(NODE_REPLY, 2, 100), &reply, sizeof(reply)) && link->ops == 0);
	only(100, pattern);
}

/* Random messages of any content, but for addresses of code. The checks: this process lives, and
 * the sink's edges are unchanged. */
static void anything(void)
{
	static const uint64_t addresses[] = {0,          1,          16,
	                                     4096,       UINT64_MAX, UINT64_MAX - 63,
	                                     1ull << 63, 1ull << 47, 0xdeadbeefdeadbeefu};
	uint64_t messages = random_setting("CSHIM_FUZZ", RANDOM_MESSAGES);
	uint64_t body[64], n, i, word;

	state = random_setting("CSHIM_SEED", 1);
	for (n = 0; n < messages; n++) {
		stand_at(next_random() % 4 ? next_random() % 200 : 246 + next_random() % 2);
		for (i = 0; i < 64; i++)
			body[i] = next_random() % 2   ? addresses[next_random() % 9]
			          : next_random() % 3 ? next_random() % 4096
			                              : next_random();
		word = word_of(next_random() % 2 ? next_random() % 42 : next_random() % 256,
		               next_random() % 4 ? next_random() % 6 : next_random() % 256,
		               next_random() % 2 ? next_random() % 600 : next_random() % 65536);
		if ((word >> 32 & 0x7f) == CSHIM_MSG_AM_SMALL)
			body[0] = body[1] =
				next_random() % CSHIM_LANE_HANDLERS; /* the handler's place, with
			                                                and without a chunk */
		taken(word, body, sizeof(body));
	}
	only(0, NULL);
}

void test_hostile(void)
{
	node_guard_install();
	start();
	lengths_of_puts();
	lengths_of_user_headers();
	places_of_chunks();
	nonsense();
	wrong_answers();
	anything();
	stop();
}
