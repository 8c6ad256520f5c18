/*
 * test_joined.c - small puts that share a packet (../../packets/packets.h): when one waits for
 * others, which call posts it, and which are left to core. Over an adapter made of memory.
 */
#define _GNU_SOURCE
#include "ctest/lane/fake_packets.h"

/* Some puts that go by themselves: those that follow wait for company. */
static void busy(void)
{
	int i;

	begin();
	for (i = 0; i < VERBS_BUSY; i++)
		CHECK(put(8));
	CHECK(fake_adapter_of(0)->sends == VERBS_BUSY);
}

static void puts_share_packets(void)
{
	verbs_peer *peer = fake_pair_of(0);
	const unsigned char *packet;
	int i;

	busy();
	CHECK(put(5));
	packet = (const void *)(uintptr_t)verbs_slot_at(
		fake_packets_of(0), (int32_t)peer->ring.packets[VERBS_BUSY].slot);
	memset((void *)(uintptr_t)(packet + 24 + 8 + 24 + 5), 0xee, 3);
	CHECK(put(8) && put(0));
	CHECK(fake_adapter_of(0)->sends == VERBS_BUSY && value(&origin) == VERBS_BUSY + 3);
	CHECK(peer->number == VERBS_BUSY + 1 && peer->laden == peer->number &&
	      peer->ring.count == VERBS_BUSY + 1 && peer->ring.posted == VERBS_BUSY);
	CHECK(peer->owner[CSHIM_PEER_EXPECTED] == VERBS_BUSY + 3);
	for (i = 0; i < 3; i++) /* padding tells nothing */
		CHECK(packet[24 + 8 + 24 + 5 + i] == 0);
	turn(0); /* any look for messages posts it */
	CHECK(fake_adapter_of(0)->sends == VERBS_BUSY + 1 && peer->ring.posted == peer->ring.count);
	CHECK(turn(1) == VERBS_BUSY + 1 && value(&target) == VERBS_BUSY + 3);
	CHECK(memcmp(sink, source, 8) == 0);
	CHECK(fake_pair_of(1)->expected == VERBS_BUSY + 1);
	CHECK(turn(0) == 1 && value(&completion) == VERBS_BUSY + 3);
	all_slots();
	/* Now nothing is under way: the next goes at once. */
	CHECK(put(8) && fake_adapter_of(0)->sends == VERBS_BUSY + 2);
	/* Many more than fit one packet. */
	busy();
	for (i = 0; i < 55; i++)
		CHECK(put(64));
	CHECK(peer->ring.count == VERBS_BUSY + 3 && peer->ring.posted == peer->ring.count - 1);
	turn(0);
	CHECK(turn(1) == VERBS_BUSY + 3 && value(&target) == VERBS_BUSY + 55);
	turn(0);
	CHECK(value(&completion) == VERBS_BUSY + 55);
	all_slots();
}

/* More completions than one message can report. */
static void tells_of_many(void)
{
	int i, many = 2 * NODE_RING_SLOTS + 44;

	busy();
	for (i = 0; i < many; i++)
		CHECK(put(8));
	turn(0);
	CHECK((turn(1) & ~CSHIM_LANE_CORE) > VERBS_BUSY && value(&target) == VERBS_BUSY + many);
	CHECK(turn(0) == 3 && value(&completion) == VERBS_BUSY + many);
	CHECK(fake_packets_told == 0);
	all_slots();
}

/* A message that does not join a packet goes behind those that did; and nothing joins a packet that
 * the link has posted. */
static void keeps_order(void)
{
	verbs_peer *peer = fake_pair_of(0);

	busy();
	CHECK(put(8) && put(ALONE));
	CHECK(fake_adapter_of(0)->sends == VERBS_BUSY + 2 && peer->ring.posted == VERBS_BUSY + 2);
	CHECK(put(8));
	CHECK(LAPI_Amsend(handles[0], 1, (void *)7, NULL, 0, source, 8, NULL, NULL, NULL) ==
	      LAPI_SUCCESS);
	CHECK(fake_adapter_of(0)->sends == VERBS_BUSY + 4);
	CHECK(turn(1) == (CSHIM_LANE_CORE | (VERBS_BUSY + 3)));
	busy();
	CHECK(put(8));
	peer->ring.posted++; /* the link has */
	CHECK(put(8) && peer->ring.count == VERBS_BUSY + 2);
	busy(); /* another thread sleeps until something comes */
	fake_context(handles[0])->progress.poller = 1;
	CHECK(put(8) && fake_adapter_of(0)->sends == VERBS_BUSY + 1);
	fake_context(handles[0])->progress.poller = 0;
	busy();
	CHECK(put(8));
	fake_adapter_of(0)->refuses_sends = 1;
	CHECK(turn(0) == CSHIM_LANE_CORE);
	CHECK(peer->failed && !peer->usable && peer->ring.posted == peer->ring.count - 1);
	CHECK(!put(8));
	all_slots();
}

/* Of a packet with several puts the link takes what C cannot, and nothing twice. */
static void leaves_the_rest(void)
{
	verbs_port *port = fake_port_of(1);
	const uint32_t each = 8 + 24 + 8;

	busy();
	CHECK(turn(1) == VERBS_BUSY);
	CHECK(put(8));
	CHECK(LAPI_Put(handles[0], 1, 8, (void *)16, source, &target, NULL, NULL) == LAPI_SUCCESS);
	CHECK(put(8));
	turn(0);
	CHECK(turn(1) == CSHIM_LANE_CORE && port->taken == each);
	CHECK(value(&target) == VERBS_BUSY + 1 && fake_pair_of(1)->expected == VERBS_BUSY);
	CHECK(turn(1) == CSHIM_LANE_CORE && port->taken == each &&
	      value(&target) == VERBS_BUSY + 1);
	CHECK(port->receives == FAKE_TARGET);
}

/* A packet of several messages that is not right is the link's, as it is. */
static void leaves_bad_parts(void)
{
	static const verbs_front fronts[] = {{CSHIM_MSG_PUT, 1, 24, 8},
	                                     {CSHIM_MSG_COUNTER, 0, 24, 8},
	                                     {CSHIM_MSG_PUT, 0, 16, 8},
	                                     {CSHIM_MSG_PUT, 0, 24, 9},
	                                     {CSHIM_MSG_PUT, 0, 24, UINT32_MAX}};
	const struct ibv_wc good = {.qp_num = FAKE_QPN, .status = IBV_WC_SUCCESS};
	size_t i;

	for (i = 0; i <= sizeof(fronts) / sizeof(fronts[0]); i++) {
		struct {
			verbs_head head;
			verbs_front front;
			cshim_put_header put;
			uint64_t data;
		} packet = {.head = {VERBS_KIND_MESSAGES, 0, 0, 40, 0, 0}};
		uint32_t n = sizeof(packet);

		begin();
		packet.put.tgt_addr = CSHIM_ADDR(sink);
		packet.put.tgt_cntr = CSHIM_ADDR(&target);
		if (i < sizeof(fronts) / sizeof(fronts[0]))
			packet.front = fronts[i];
		else
			n -= 16, packet.head.data -= 16;
		fake_adapter_complete(1, &good, &packet, n);
		CHECK(turn(1) == CSHIM_LANE_CORE && fake_port_of(1)->taken == 0 &&
		      fake_pair_of(1)->expected == 0 && value(&target) == 0);
	}
}

void test_joined(void)
{
	start();
	puts_share_packets();
	tells_of_many();
	keeps_order();
	leaves_the_rest();
	leaves_bad_parts();
	stop();
}
