/*
 * test_packets.c - small messages in packets that C sends and takes by itself, over an adapter made
 * of memory: the packets that go, the counters, and that core gets all that is not as usual,
 * untouched. The fake core refuses transfers, which shows that it was asked.
 */
#define _GNU_SOURCE
#include <sys/mman.h>

#include "ctest/lane/fake_packets.h"

static int fenced(void)
{
	cshim_context *context = fake_context(handles[0]);
	int over;

	cshim_lock(&context->progress);
	over = cshim_lane_fenced(context) == CSHIM_FENCE_OVER;
	cshim_unlock(&context->progress);
	return over;
}

static void puts_arrive(void)
{
	verbs_peer *there = fake_pair_of(0), *here = fake_pair_of(1);
	const cshim_put_header *header;
	const verbs_head *head;

	begin();
	CHECK(fenced());
	CHECK(put(8));
	head = (const void *)(uintptr_t)verbs_slot_at(fake_packets_of(0),
	                                              (int32_t)there->ring.packets[0].slot);
	header = (const void *)(head + 1);
	CHECK(head->kind == VERBS_KIND_MESSAGE && head->id == CSHIM_MSG_PUT && head->header == 24 &&
	      head->data == 8 && head->number == 0 && head->credit == VERBS_WINDOW);
	CHECK(header->tgt_addr == CSHIM_ADDR(sink) && header->tgt_cntr == CSHIM_ADDR(&target) &&
	      header->cmpl_cntr == CSHIM_ADDR(&completion));
	CHECK(fake_adapter_of(0)->sends == 1 && fake_adapter_of(0)->last_inline);
	CHECK(there->number == 1 && there->laden == 1 && there->owner[CSHIM_PEER_USED] == 1 &&
	      there->owner[CSHIM_PEER_EXPECTED] == 1 &&
	      there->owner[CSHIM_PEER_KIND] == PUT_ERR + 1);
	CHECK(fake_packets_of(0)->num_news == 1 && fake_packets_of(0)->news[0] == 1);
	CHECK(value(&origin) == 1 && value(&target) == 0);
	CHECK(!fenced()); /* the target may not have it yet, and core asks */
	CHECK(turn(1) == 1);
	CHECK(memcmp(sink, source, 8) == 0 && sink[8] == 0 && value(&target) == 1);
	CHECK(here->expected == 1 && here->heard && fake_packets_of(1)->packets_received == 1 &&
	      fake_packets_of(1)->data_received == 8);
	CHECK(value(&completion) == 0);
	CHECK(turn(0) == 1 && value(&completion) == 1 && there->owner[CSHIM_PEER_EXPECTED] == 0);
	CHECK(there->credit == VERBS_WINDOW + 1); /* the completion message has said so */
	CHECK(put(0) && put(4096 - 48));
	CHECK(!put(4096 - 47));
	CHECK(turn(1) == 2 && memcmp(sink, source, 4096 - 48) == 0 && value(&target) == 3);
	CHECK(turn(0) == 1 && value(&completion) == 3); /* both in one message */
	CHECK(fake_adapter_of(1)->sends == 2);
	all_slots();
}

/* Far more than rings, windows and slots hold: everything comes back. */
static void goes_on(void)
{
	int i;

	begin();
	for (i = 0; i < 5000; i++) {
		CHECK(put(8) && turn(1) == 1);
		CHECK((turn(0) & ~CSHIM_LANE_CORE) == 1);
		all_slots();
	}
	CHECK(value(&origin) == 5000 && value(&target) == 5000 && value(&completion) == 5000);
	CHECK(fake_pair_of(0)->ring.done > 4900); /* by completions, each of some packets */
	/* Buffers go back together. */
	CHECK(fake_port_of(1)->receives == FAKE_TARGET &&
	      fake_port_of(1)->num_back < FAKE_TOGETHER);
	CHECK(fake_adapter_of(0)->refuses_sends == 0 && fake_packets_told == 0);
}

/* Without anything that goes back credit has packets of its own. */
static void grants_credit(void)
{
	int i;

	begin();
	for (i = 0; i < 1000; i++) {
		CHECK(LAPI_Put(handles[0], 1, 8, sink, source, &target, NULL, NULL) ==
		      LAPI_SUCCESS);
		turn(0); /* none waits for company */
		CHECK(turn(1) == 1);
		if (turn(0) == CSHIM_LANE_CORE) { /* no message: the link reads what it grants */
			verbs_port *port = fake_port_of(0);
			verbs_head head;
			int32_t slot = (int32_t)port->batch[port->next].id;

			memcpy(&head, (void *)(uintptr_t)verbs_slot_at(fake_packets_of(0), slot),
			       sizeof(head));
			CHECK(head.kind == VERBS_KIND_CREDIT && head.header == 0 && head.data == 0);
			fake_pair_of(0)->credit = head.credit;
			port->next++;
			port->receives--;
			verbs_give_back(fake_packets_of(0), port, slot);
		}
	}
	CHECK(value(&target) == 1000 && fake_adapter_of(1)->sends == 1000 / (VERBS_WINDOW / 2));
	CHECK(fake_packets_of(1)->acks_sent == 1000 / (VERBS_WINDOW / 2));
	CHECK(fake_pair_of(1)->number == 0); /* they have none */
	/* Where there is no room for one the link is to see to it. */
	begin();
	fake_pair_of(1)->ring.posted = -1;
	for (i = 0; i < VERBS_WINDOW / 2; i++)
		CHECK(LAPI_Put(handles[0], 1, ALONE, sink, source, NULL, NULL, NULL) ==
		      LAPI_SUCCESS);
	CHECK(turn(1) == (CSHIM_LANE_CORE | (VERBS_WINDOW / 2)));
	CHECK(turn(1) == CSHIM_LANE_CORE); /* still */
}

/* Sends that must not change anything. */
static void not_sent(ulong n, void *from)
{
	verbs_peer before = *fake_pair_of(0);
	int sends = fake_adapter_of(0)->sends;

	CHECK(LAPI_Put(handles[0], 1, n, sink, from, NULL, &origin, NULL) == LAPI_ERR_TGT);
	CHECK(LAPI_Amsend(handles[0], 1, (void *)7, NULL, 0, from, n, NULL, &origin, NULL) ==
	      LAPI_ERR_TGT);
	CHECK(memcmp(&before, fake_pair_of(0), sizeof(before)) == 0 && value(&origin) == 0);
	CHECK(fake_adapter_of(0)->sends == sends);
	all_slots();
}

static void leaves_sends(void)
{
	void *hole = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	verbs_peer *peer = fake_pair_of(0);
	int i;

	CHECK(hole != MAP_FAILED);
	begin();
	not_sent(8, hole);
	not_sent(8, NULL);
	not_sent(5000, source);
	CHECK(LAPI_Put(handles[0], 1, 8, NULL, source, NULL, NULL, NULL) == LAPI_ERR_TGT);
	CHECK(LAPI_Put(handles[0], 2, 8, sink, source, NULL, NULL, NULL) == LAPI_ERR_TGT);
	CHECK(LAPI_Put(handles[0], 0, 8, sink, source, NULL, NULL, NULL) == LAPI_ERR_TGT);
	peer->usable = 0, not_sent(8, source), peer->usable = 1;
	peer->waits = 1, not_sent(8, source), peer->waits = 0;
	peer->closed = 1, not_sent(8, source), peer->closed = 0;
	peer->credit = peer->number, not_sent(8, source), peer->credit = VERBS_WINDOW;
	fake_packet_lane_of(0)->off = CSHIM_OFF_TERM, not_sent(8, source);
	fake_packet_lane_of(0)->off = 0;
	fake_packet_lane_of(0)->bulk_min = 8, not_sent(8, source);
	fake_packet_lane_of(0)->bulk_min = UINT64_MAX;
	CHECK(LAPI_Amsend(handles[0], 1, (void *)7, source, 1004, NULL, 0, NULL, NULL, NULL) ==
	      LAPI_ERR_TGT);               /* with its own header longer than a link's may be */
	for (i = 0; i < VERBS_WINDOW; i++) /* as far as the credit goes */
		CHECK(put(ALONE));
	CHECK(!put(8));
	begin();
	peer->credit = UINT64_MAX;
	fake_port_of(1)->target = 1000;
	fake_packets_of(0)->limit_send = 10;
	for (i = 0; i < 10; i++)
		CHECK(put(ALONE));
	CHECK(!put(8));
	CHECK(munmap(hole, 4096) == 0);
}

/* A post that fails: the packet is made, and the link's to send again, in its place. */
static void survives_a_failed_post(void)
{
	verbs_peer *peer = fake_pair_of(0);

	begin();
	CHECK(put(8));
	fake_adapter_of(0)->refuses_sends = 1;
	CHECK(put(8));
	CHECK(peer->failed && !peer->usable && peer->number == 2 && peer->ring.count == 2 &&
	      peer->ring.posted == 1 && peer->ring.packets[1].number == 1 &&
	      peer->ring.packets[1].numbered);
	CHECK(value(&origin) == 2 && peer->owner[CSHIM_PEER_EXPECTED] == 2);
	CHECK(turn(0) == CSHIM_LANE_CORE); /* the link is to be notified soon */
	fake_adapter_of(0)->refuses_sends = 0;
	CHECK(!put(8)); /* nothing overtakes it */
	all_slots();
	/* The same with a completion message. */
	begin();
	CHECK(put(8));
	fake_adapter_of(1)->refuses_sends = 1;
	CHECK(turn(1) == (CSHIM_LANE_CORE | 1));
	CHECK(fake_pair_of(1)->ring.count == 1 && fake_pair_of(1)->ring.posted == 0);
	/* With no room core reports the completions. */
	begin();
	CHECK(put(8) && put(8));
	fake_pair_of(1)->ring.posted = -1;
	CHECK(turn(1) == 2 && fake_packets_told == 2);
}

static int bad; /* set: the address of the put in such a packet is */

/* A completion like that, with a packet of a put, is left where it is. */
static void left(const struct ibv_wc *like, const verbs_head *head, uint32_t n)
{
	verbs_port *port = fake_port_of(1);
	verbs_peer before;
	unsigned char packet[VERBS_SLOT] = {0};
	const cshim_put_header put_header = {bad ? 16 : CSHIM_ADDR(sink), CSHIM_ADDR(&target), 0};

	begin();
	before = *fake_pair_of(1);
	memcpy(packet, head, sizeof(*head));
	memcpy(packet + sizeof(*head), &put_header, sizeof(put_header));
	fake_adapter_complete(1, like, packet, n);
	CHECK(put(8)); /* it waits behind that */
	CHECK(turn(1) == CSHIM_LANE_CORE && turn(1) == CSHIM_LANE_CORE);
	CHECK(port->next == 0 && port->count == 2 && port->receives == FAKE_TARGET);
	CHECK(memcmp(&before, fake_pair_of(1), sizeof(before)) == 0 && value(&target) == 0);
}

static void leaves_packets(void)
{
	const struct ibv_wc good = {.qp_num = FAKE_QPN, .status = IBV_WC_SUCCESS};
	const verbs_head put_head = {VERBS_KIND_MESSAGE, CSHIM_MSG_PUT, 24, 8, 0, 0};
	struct ibv_wc wc = good;
	verbs_head head = put_head;

	bad = 1, left(&good, &put_head, 24 + 24 + 8), bad = 0;
	left(&good, &put_head, 24 + 24 + 7);
	left(&good, &put_head, 24 + 24 + 9);
	left(&good, &put_head, 23);
	head.kind = 2, left(&good, &head, 56), head = put_head;
	head.id = 0, left(&good, &head, 56), head = put_head;
	head.id = 3, left(&good, &head, 56), head = put_head;
	head.number = 1, left(&good, &head, 56), head = put_head;
	head.header = 20, head.data = 12, left(&good, &head, 56), head = put_head;
	head.header = 16, head.data = 16, left(&good, &head, 56), head = put_head;
	head.id = CSHIM_MSG_COUNTER, left(&good, &head, 56), head = put_head;
	bad = 1; /* an index that nobody has set */
	head.id = CSHIM_MSG_AM_SMALL, left(&good, &head, 56), head = put_head;
	bad = 0;
	wc.qp_num++, left(&wc, &put_head, 56), wc = good;
	wc.qp_num += VERBS_PAIRS, left(&wc, &put_head, 56), wc = good;
	wc.status = IBV_WC_WR_FLUSH_ERR, left(&wc, &put_head, 56);
}

/* States in which all packets are the link's, valid ones too. */
static void leaves_all(void)
{
	verbs_peer *peer = fake_pair_of(1);
	verbs_port *port = fake_port_of(1);

	begin();
	CHECK(put(8));
	peer->usable = 0;
	CHECK(turn(1) == CSHIM_LANE_CORE);
	peer->usable = 1, peer->waits = 1;
	CHECK(turn(1) == CSHIM_LANE_CORE);
	peer->waits = 0, port->target = FAKE_TARGET - 1, fake_packets_of(1)->starved = 1;
	CHECK(turn(1) == CSHIM_LANE_CORE);
	fake_packets_of(1)->starved = 0;
	port->target = FAKE_TARGET, fake_packet_lane_of(1)->off = CSHIM_OFF_LISTS;
	CHECK(turn(1) == CSHIM_LANE_CORE && value(&target) == 0);
	fake_packet_lane_of(1)->off = 0;
	CHECK(turn(1) == 1 && value(&target) == 1);
	fake_adapter_of(1)->broken = 1;
	CHECK(turn(1) == CSHIM_LANE_CORE && port->broken);
}

/* Completions of sends that somebody waits for, or that make no sense, are the link's. */
static void leaves_completions(void)
{
	struct ibv_wc wc = {.qp_num = FAKE_QPN,
	                    .wr_id = (uint64_t)VERBS_ID_SEND << VERBS_ID_SHIFT | 1};
	verbs_peer *peer = fake_pair_of(0);

	begin();
	CHECK(put(8));
	fake_adapter_complete(0, &wc, NULL, 0);
	fake_packets_of(0)->starved = 1;
	CHECK(turn(0) == CSHIM_LANE_CORE && peer->ring.count == 1);
	fake_packets_of(0)->starved = 0, peer->closed = 1;
	CHECK(turn(0) == CSHIM_LANE_CORE && peer->ring.count == 1);
	peer->closed = 0;
	CHECK(turn(0) == 0 && peer->ring.count == 0 && peer->ring.posted == 0 &&
	      peer->ring.done == 1);
	wc.wr_id++; /* of a packet that was not posted */
	fake_adapter_complete(0, &wc, NULL, 0);
	CHECK(turn(0) == CSHIM_LANE_CORE);
	all_slots();
}

/* Buffers that the adapter does not take back are free. */
static void survives_refused_buffers(void)
{
	int i;

	begin();
	fake_adapter_of(1)->refuses_buffers = 2;
	for (i = 0; i < FAKE_TOGETHER; i++) {
		CHECK(put(8));
		verbs_flush(fake_packets_of(0)); /* each in its packet */
	}
	CHECK(turn(1) == FAKE_TOGETHER);
	CHECK(fake_port_of(1)->receives == FAKE_TARGET - (FAKE_TOGETHER - 1));
	all_slots();
}

/* A buffer whose slot is to go out of use is taken again only when there is no other. */
static void leaves_high_slots(void)
{
	verbs_link *link = fake_packets_of(1);
	int32_t before[FAKE_SLOTS], n;
	int i, taken;

	begin();
	link->used = 0; /* all are */
	n = link->num_free;
	memcpy(before, link->free, (size_t)n * sizeof(before[0]));
	for (i = 0; i < FAKE_TOGETHER; i++) {
		CHECK(put(8));
		verbs_flush(fake_packets_of(0)); /* each in its packet */
	}
	CHECK(turn(1) == FAKE_TOGETHER);
	taken = n + FAKE_TOGETHER - link->num_free; /* for answers */
	CHECK(taken >= 0 && link->free[link->num_free - 1] == before[n - 1 - taken]);
	CHECK(fake_port_of(1)->receives == FAKE_TARGET - FAKE_TOGETHER);
	all_slots();
}

static struct said {
	int runs, drops, cuts;
	unsigned char uhdr[16];
	uint uhdr_len;
	ulong bytes;
	int ended;
} said;

static void ended(lapi_handle_t *handle, void *info)
{
	(void)handle;
	CHECK(info == &said);
	said.ended++;
}

static void *header_handler(lapi_handle_t *handle, void *uhdr, uint *uhdr_len, ulong *msg_len,
                            compl_hndlr_t **handler, void **info)
{
	lapi_return_info_t *more = (lapi_return_info_t *)(void *)msg_len;

	(void)handle;
	said.runs++;
	said.uhdr_len = *uhdr_len;
	said.bytes = more->msg_len;
	if (*uhdr_len)
		memcpy(said.uhdr, uhdr, *uhdr_len);
	if (said.drops)
		more->ctl_flags = LAPI_DROP_PKT;
	if (said.cuts)
		fake_pair_of(1)->life++;
	more->ret_flags = LAPI_SEND_REPLY;
	*handler = ended;
	*info = &said;
	return sink;
}

static int send_am(uint uhdr_len, ulong n)
{
	return LAPI_Amsend(handles[0], 1, (void *)(uintptr_t)header_handler, source + 100, uhdr_len,
	                   source, n, &target, &origin, &completion) == LAPI_SUCCESS;
}

static void active_messages_arrive(void)
{
	begin();
	memset(&said, 0, sizeof(said));
	CHECK(send_am(12, 100) && value(&origin) == 1);
	CHECK(turn(1) == 1 && said.runs == 1 && said.ended == 1);
	CHECK(said.uhdr_len == 12 && memcmp(said.uhdr, source + 100, 12) == 0 && said.bytes == 100);
	CHECK(memcmp(sink, source, 100) == 0 && value(&target) == 1);
	CHECK(turn(0) == 1 && value(&completion) == 1);
	/* A message that its handler refuses, or for which the handler wants more than C can do, is
	 * core's from there on. */
	said.drops = 1;
	CHECK(send_am(0, 8) && turn(1) == 1 && fake_packets_handled == 1 && said.runs == 2);
	CHECK(fake_pair_of(1)->expected == 2 && value(&target) == 1);
	/* While it ran all with the task has ended. */
	said.drops = 0, said.cuts = 1;
	CHECK(send_am(0, 8) && turn(1) == 1 && said.runs == 3);
	CHECK(value(&target) == 1 && fake_packets_handled == 1);
	/* Of an index that nobody has set, core knows what to do. */
	CHECK(LAPI_Amsend(handles[0], 1, (void *)7, NULL, 0, source, 8, NULL, NULL, NULL) ==
	      LAPI_SUCCESS);
	CHECK(turn(1) == CSHIM_LANE_CORE && fake_pair_of(1)->expected == 3);
	all_slots();
}

/* A thread finds by itself what it waits for. */
static void waits_end(void)
{
	int left_over;

	begin();
	CHECK(put(8) && put(8));
	service_leaves();
	CHECK(LAPI_Waitcntr(handles[1], &target, 1, &left_over) == LAPI_SUCCESS && left_over >= 0);
	CHECK(LAPI_Probe(handles[1]) == LAPI_SUCCESS && value(&target) == 1);
	CHECK(LAPI_Waitcntr(handles[0], &completion, 2, &left_over) == LAPI_SUCCESS);
	CHECK(__atomic_load_n(&fake_counts.dispatches, __ATOMIC_SEQ_CST) == 0);
	service_returns();
}

/* LAPI_FASTLANE=random: some are C's, some are not, and nothing is lost. */
static void tosses_coins(void)
{
	int i, sent = 0, came = 0;

	begin();
	fake_packet_lane_of(0)->random = fake_packet_lane_of(1)->random = 1;
	for (i = 0; i < 200; i++) {
		uint32_t flags;

		sent += put(8);
		do {
			flags = turn(1);
			came += (int)(flags & ~CSHIM_LANE_CORE);
		} while (flags & CSHIM_LANE_CORE);
		while (turn(0) & CSHIM_LANE_CORE)
			;
	}
	CHECK(sent > 0 && sent < 200 && came == sent && value(&target) == sent &&
	      value(&completion) == sent);
	all_slots();
}

void test_packets(void)
{
	start();
	puts_arrive();
	goes_on();
	grants_credit();
	leaves_sends();
	survives_a_failed_post();
	leaves_packets();
	leaves_all();
	leaves_completions();
	survives_refused_buffers();
	leaves_high_slots();
	active_messages_arrive();
	waits_end();
	tosses_coins();
	stop();
}
