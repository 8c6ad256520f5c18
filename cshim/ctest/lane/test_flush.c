/*
 * test_flush.c - a fence over adapters (packets/packets.h): which packet asks for it, which thread
 * answers, when it is over, and when it is core's. Over an adapter made of memory.
 */
#define _GNU_SOURCE
#include "ctest/lane/fake_packets.h"

static cshim_fence fence;

/* How far a fence is that begins now, if it has something to wait for. */
static int fence_begins(void)
{
	cshim_context *context = fake_context(handles[0]);
	int how;

	cshim_lock(&context->progress);
	how = cshim_lane_fenced(context);
	if (how == CSHIM_FENCE_WAITS) {
		cshim_fence_begin(context, &fence);
		how = cshim_fence_look(context, &fence);
	}
	cshim_unlock(&context->progress);
	return how;
}

static int fence_is(void)
{
	cshim_context *context = fake_context(handles[0]);
	int how;

	cshim_lock(&context->progress);
	how = cshim_fence_look(context, &fence);
	cshim_unlock(&context->progress);
	return how;
}

/* A put without a counter, that shares no packet. */
static void put_alone(void)
{
	CHECK(LAPI_Put(handles[0], 1, ALONE, sink, source, NULL, NULL, NULL) == LAPI_SUCCESS);
}

/* The last packet to task 1. */
static const verbs_head *last_packet(void)
{
	const verbs_ring *ring = &fake_pair_of(0)->ring;
	const verbs_sent *sent = &ring->packets[(ring->head + ring->count - 1) % VERBS_RING];

	return (const void *)(uintptr_t)verbs_slot_at(fake_packets_of(0), (int32_t)sent->slot);
}

static int posts(void)
{
	return fake_adapter_of(0)->sends;
}

/* A put is in place when the fence is over, and not before. */
static void asks_and_is_answered(void)
{
	verbs_peer *there = fake_pair_of(0), *here = fake_pair_of(1);

	begin();
	CHECK(fence_begins() == CSHIM_FENCE_OVER && posts() == 0);
	put_alone();
	CHECK(fence_begins() == CSHIM_FENCE_WAITS && posts() == 2 && there->asked == 2);
	CHECK(last_packet()->kind == (VERBS_KIND_FLUSH | VERBS_ASKS) &&
	      last_packet()->number == 1 && last_packet()->header == 0 && last_packet()->data == 0);
	CHECK(fence_begins() == CSHIM_FENCE_WAITS && posts() == 2); /* one question for both */
	CHECK(turn(0) == 0 && fence_is() == CSHIM_FENCE_WAITS);
	CHECK(turn(1) == 2 && memcmp(sink, source, ALONE) == 0 && fake_adapter_of(1)->sends == 1);
	CHECK(here->wanted == 0 && here->number == 1 && here->laden == 0);
	CHECK(fence_is() == CSHIM_FENCE_WAITS);
	CHECK(turn(0) == 1 && there->flushed == 2 && fence_is() == CSHIM_FENCE_OVER);
	CHECK(there->owner[CSHIM_PEER_USED] == 0 && fence_begins() == CSHIM_FENCE_OVER);
	CHECK(posts() == 2);
	all_slots();
}

/* It covers packets sent before it, and no later ones. */
static void covers_what_was_before(void)
{
	begin();
	put_alone();
	CHECK(fence_begins() == CSHIM_FENCE_WAITS);
	CHECK(turn(1) == 2);
	put_alone();
	CHECK(turn(0) == 1 && fence_is() == CSHIM_FENCE_OVER);
	CHECK(fake_pair_of(0)->owner[CSHIM_PEER_USED] != 0); /* of the later put */
	CHECK(fence_begins() == CSHIM_FENCE_WAITS && turn(1) == 2 && turn(0) == 1 &&
	      fence_is() == CSHIM_FENCE_OVER);
}

/* A packet that waits for more messages goes with the question. */
static void open_packet_asks(void)
{
	int i;

	begin();
	for (i = 0; i < VERBS_BUSY; i++)
		put_alone();
	CHECK(LAPI_Put(handles[0], 1, 8, sink, source, NULL, NULL, NULL) == LAPI_SUCCESS);
	CHECK(posts() == VERBS_BUSY);
	CHECK(fence_begins() == CSHIM_FENCE_WAITS && posts() == VERBS_BUSY + 1);
	CHECK(last_packet()->kind == (VERBS_KIND_MESSAGES | VERBS_ASKS));
	CHECK(turn(1) == VERBS_BUSY + 1 && turn(0) == 1 && fence_is() == CSHIM_FENCE_OVER);
	all_slots();
}

/* A task that fences after as many packets as twice before sends no question: the last of these
 * packets asks. */
static void learns_when_to_ask(void)
{
	int round, sent;

	begin();
	for (round = 0; round < 5; round++) {
		sent = posts();
		put_alone();
		put_alone();
		CHECK(fence_begins() == CSHIM_FENCE_WAITS);
		CHECK(posts() == sent + (round < 2 ? 3 : 2));
		CHECK((turn(1) & ~CSHIM_LANE_CORE) == (uint32_t)(posts() - sent));
		CHECK((turn(0) & ~CSHIM_LANE_CORE) == 1 && fence_is() == CSHIM_FENCE_OVER);
	}
	put_alone(); /* fewer: it asks */
	sent = posts();
	CHECK(fence_begins() == CSHIM_FENCE_WAITS && posts() == sent + 1);
	turn(1), turn(0);
	CHECK(fence_is() == CSHIM_FENCE_OVER);
	put_alone(); /* as many as once before */
	put_alone();
	sent = fake_adapter_of(1)->sends;
	turn(1), turn(0);
	CHECK(fake_adapter_of(1)->sends == sent); /* nobody asks for packets without a fence */
}

/* While messages are held that were refused, the link answers. */
static void leaves_answers(void)
{
	verbs_peer *here = fake_pair_of(1);

	begin();
	put_alone();
	CHECK(fence_begins() == CSHIM_FENCE_WAITS);
	here->held = 1;
	CHECK(turn(1) == (CSHIM_LANE_CORE | 2) && here->wanted == 2);
	CHECK(fake_adapter_of(1)->sends == 0);
	here->held = 0;
	begin();
	put_alone();
	CHECK(fence_begins() == CSHIM_FENCE_WAITS);
	here->closed = 1; /* messages wait in front */
	CHECK(turn(1) == (CSHIM_LANE_CORE | 2) && here->wanted == 2);
	here->closed = 0;
	begin(); /* an answer that the link waits for is its news */
	put_alone();
	CHECK(fence_begins() == CSHIM_FENCE_WAITS && turn(1) == 2);
	fake_pair_of(0)->flushing = 1;
	CHECK(turn(0) == (CSHIM_LANE_CORE | 1) && fake_pair_of(0)->flushed == 2);
}

static struct {
	int runs, cuts;
	uint32_t came;
} within;

/* A header handler that lets another thread in, which takes the messages behind its own. */
static void *letting_in(lapi_handle_t *handle, void *uhdr, uint *uhdr_len, ulong *msg_len,
                        compl_hndlr_t **handler, void **info)
{
	(void)handle, (void)uhdr, (void)uhdr_len, (void)msg_len, (void)info;
	*handler = NULL;
	if (within.runs++ == 0) {
		within.came = cshim_packets_receive(fake_context(handles[1]),
		                                    fake_packet_lane_of(1), NULL, 0);
		CHECK(fake_adapter_of(1)->sends == 0);
	}
	if (within.cuts)
		*fake_pair_of(1) = (verbs_peer){.life = fake_pair_of(1)->life + 1};
	return sink;
}

/* A message whose header handler runs is not accepted, whichever thread takes those behind it. */
static void waits_for_handlers(void)
{
	begin();
	memset(&within, 0, sizeof(within));
	CHECK(LAPI_Amsend(handles[0], 1, (void *)(uintptr_t)letting_in, NULL, 0, source, 8, NULL,
	                  NULL, NULL) == LAPI_SUCCESS);
	CHECK(fence_begins() == CSHIM_FENCE_WAITS);
	CHECK(turn(1) == 1 && within.runs == 1 && within.came == 1);
	CHECK(fake_adapter_of(1)->sends == 1 && fake_pair_of(1)->handling == 0);
	CHECK(turn(0) == 1 && fence_is() == CSHIM_FENCE_OVER);
	/* While it runs all with the task ends: the count belongs to another generation. */
	within.cuts = 1;
	CHECK(LAPI_Amsend(handles[0], 1, (void *)(uintptr_t)letting_in, NULL, 0, source, 8, NULL,
	                  NULL, NULL) == LAPI_SUCCESS);
	CHECK(turn(1) == 1 && fake_pair_of(1)->handling == 0);
}

/* Fences that core has to see to. */
static void leaves_fences(void)
{
	verbs_peer *there = fake_pair_of(0);

	begin();
	put_alone();
	there->closed = 1;
	CHECK(fence_begins() == CSHIM_FENCE_CORE);
	there->closed = 0, there->usable = 0;
	CHECK(fence_begins() == CSHIM_FENCE_CORE);
	there->usable = 1, there->credit = there->number;
	CHECK(fence_begins() == CSHIM_FENCE_CORE && posts() == 1); /* it cannot ask */
	there->credit = VERBS_WINDOW, fake_packets_of(0)->num_news = VERBS_NEWS + 1;
	CHECK(fence_begins() == CSHIM_FENCE_CORE);
	fake_packets_of(0)->num_news = 1;
	CHECK(fence_begins() == CSHIM_FENCE_WAITS);
	there->flushed = there->laden, there->closed = 1; /* messages of core's wait since */
	CHECK(fence_is() == CSHIM_FENCE_CORE);
	there->flushed = there->closed = 0;
	there->life++; /* all with the task has ended, and it is there again */
	CHECK(fence_is() == CSHIM_FENCE_CORE);
	/* A counter that has not come: its message may be lost, though it was accepted. */
	begin();
	CHECK(put(8) && fence_begins() == CSHIM_FENCE_WAITS);
	there->flushed = there->laden;
	CHECK(fence_is() == CSHIM_FENCE_CORE && there->owner[CSHIM_PEER_USED] == 1);
	begin(); /* the post of the question fails: the link repeats it */
	put_alone();
	fake_adapter_of(0)->refuses_sends = 1;
	CHECK(fence_begins() == CSHIM_FENCE_CORE && there->failed && there->ring.count == 2);
	begin(); /* operations of core's are outstanding */
	put_alone();
	fake_packet_lane_of(0)->go_busy = 1;
	CHECK(fence_begins() == CSHIM_FENCE_CORE);
	fake_packet_lane_of(0)->go_busy = 0;
}

/* Malformed packets of flushes, and answers to no question, are left to the link. */
static void leaves_bad_answers(void)
{
	static const struct {
		verbs_head head;
		uint64_t mark;
	} bad[] = {{{VERBS_KIND_FLUSHED, 0, 8, 0, 0, 0}, 3},
	           {{VERBS_KIND_FLUSHED, 0, 8, 0, 0, 0}, UINT64_MAX},
	           {{VERBS_KIND_FLUSHED, 1, 8, 0, 0, 0}, 2},
	           {{VERBS_KIND_FLUSHED, 0, 0, 8, 0, 0}, 2},
	           {{VERBS_KIND_FLUSH | VERBS_ASKS, 0, 8, 0, 0, 0}, 2},
	           {{VERBS_KIND_CREDIT | VERBS_ASKS, 0, 8, 0, 0, 0}, 2}};
	const struct ibv_wc good = {.qp_num = FAKE_QPN, .status = IBV_WC_SUCCESS};
	size_t i;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		begin();
		put_alone();
		CHECK(fence_begins() == CSHIM_FENCE_WAITS && fake_pair_of(0)->asked == 2);
		fake_adapter_complete(0, &good, &bad[i], sizeof(bad[i]));
		CHECK(turn(0) == CSHIM_LANE_CORE && fake_pair_of(0)->flushed == 0 &&
		      fake_pair_of(0)->expected == 0 && fence_is() == CSHIM_FENCE_WAITS);
	}
}

/* LAPI_Fence: without core, whichever thread makes the target's progress. */
static void fence_returns(void)
{
	int i;

	begin();
	service_leaves();
	for (i = 0; i < 3; i++) {
		put_alone();
		put_alone();
		CHECK(fence_begins() == CSHIM_FENCE_WAITS);
		CHECK((turn(1) & ~CSHIM_LANE_CORE) > 0);
		CHECK(LAPI_Fence(handles[0]) == LAPI_SUCCESS);
		CHECK(fake_pair_of(0)->flushed >= fake_pair_of(0)->laden);
	}
	CHECK(__atomic_load_n(&fake_counts.dispatches, __ATOMIC_SEQ_CST) == 0);
	service_returns();
}

void test_flush(void)
{
	start();
	asks_and_is_answered();
	covers_what_was_before();
	open_packet_asks();
	learns_when_to_ask();
	leaves_answers();
	waits_for_handlers();
	leaves_fences();
	leaves_bad_answers();
	fence_returns();
	stop();
}
