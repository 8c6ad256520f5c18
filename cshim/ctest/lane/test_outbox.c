/*
 * test_outbox.c - small puts that join a packet of which core has reserved the rest: the bytes
 * written, the counters, and that core gets all that does not fit or is not as usual. The fake core
 * refuses puts to task 1, which shows that it was asked.
 */
#define _GNU_SOURCE
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

#include "lane/outbox.h"
#include "lane/message.h"
#include "ctest/fake.h"

enum { SPACE = 512, MOST = 32, HEAD = sizeof(cshim_packet_message) + sizeof(cshim_put_header) };

static struct {
	cshim_outboxes all;
	cshim_outbox of[2];
} boxes __attribute__((aligned(8)));
static unsigned char packet[SPACE] __attribute__((aligned(8)));
static lapi_handle_t handle;
static lapi_cntr_t origin, target, completion;
static char word[8] = "1234567";

/* Gives the lane task 1's packet, in which used bytes are taken, for room messages. */
static void reserve(uint32_t used, uint32_t room)
{
	memset(packet, 0xee, sizeof(packet));
	boxes.all = (cshim_outboxes){MOST, 0};
	memset(boxes.of, 0, sizeof(boxes.of));
	boxes.of[1] = (cshim_outbox){
		.at = CSHIM_ADDR(packet) + used, .end = CSHIM_ADDR(packet) + SPACE, .room = room};
}

static int joins(ulong len, void *from, lapi_cntr_t *org_cntr, lapi_cntr_t *cmpl_cntr)
{
	int rc = LAPI_Put(handle, 1, len, (void *)0x1000, from, &target, org_cntr, cmpl_cntr);

	CHECK(rc == LAPI_SUCCESS || rc == LAPI_ERR_TGT);
	return rc == LAPI_SUCCESS;
}

static void writes_messages(void)
{
	const cshim_packet_message *message = (const void *)(packet + 16);
	const cshim_put_header *put = (const void *)(message + 1);
	const cshim_outbox *box = &boxes.of[1];
	int n;

	reserve(13, 2);
	CHECK(LAPI_Setcntr(handle, &origin, 0) == LAPI_SUCCESS);
	CHECK(joins(5, word, &origin, &completion));
	CHECK(message->kind == CSHIM_MSG_PUT && message->zero == 0 &&
	      message->header == sizeof(*put) && message->data == 5);
	CHECK(put->tgt_addr == 0x1000 && put->tgt_cntr == CSHIM_ADDR(&target) &&
	      put->cmpl_cntr == CSHIM_ADDR(&completion));
	CHECK(memcmp(put + 1, word, 5) == 0);
	CHECK(packet[12] == 0xee && packet[13] == 0 && packet[14] == 0 &&
	      packet[15] == 0); /* padding tells nothing */
	CHECK(box->at == CSHIM_ADDR(packet) + 16 + HEAD + 5 && box->room == 1 &&
	      box->messages == 1 && box->data == 5 && box->completions == 1);
	CHECK(LAPI_Getcntr(handle, &origin, &n) == LAPI_SUCCESS && n == 1);
	CHECK(joins(0, NULL, NULL, NULL));
	CHECK(box->room == 0 && box->messages == 2 && box->data == 5 && box->completions == 1);
	CHECK(!joins(1, word, NULL, NULL)); /* full */
	CHECK(box->messages == 2);
}

/* Nothing of the packet changes. */
static void left_to_core(ulong len, void *from)
{
	cshim_outbox before = boxes.of[1];

	CHECK(!joins(len, from, NULL, NULL));
	CHECK(memcmp(&before, &boxes.of[1], sizeof(before)) == 0);
}

static void leaves_the_unusual(void)
{
	void *hole = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint32_t used;

	CHECK(hole != MAP_FAILED);
	reserve(16, 60);
	left_to_core(MOST + 1, packet);
	left_to_core(4, hole);
	left_to_core(4, NULL);
	CHECK(LAPI_Put(handle, 1, 4, NULL, word, NULL, NULL, NULL) == LAPI_ERR_TGT &&
	      boxes.of[1].messages == 0);
	/* The packet may not be filled to its last byte: with that message it would have to go,
	 * which is core's. */
	for (used = SPACE - HEAD - MOST - 16; used <= SPACE; used++) {
		reserve(used, 60);
		if ((used + 7) / 8 * 8 + HEAD + 8 >= SPACE)
			left_to_core(8, word);
		else
			CHECK(joins(8, word, NULL, NULL) && boxes.of[1].at < boxes.of[1].end);
	}
	reserve(16, 0);
	left_to_core(4, word);
	CHECK(LAPI_Put(handle, 2, 4, (void *)0x1000, word, NULL, NULL, NULL) ==
	      LAPI_ERR_TGT); /* no such task, nor box */
	CHECK(LAPI_Put(handle, ~0u, 4, (void *)0x1000, word, NULL, NULL, NULL) == LAPI_ERR_TGT);
	CHECK(munmap(hole, 4096) == 0);
}

/* LAPI_FASTLANE=random: some join, some do not. */
static void tosses_a_coin(void)
{
	int i, joined = 0;

	for (i = 0; i < 200; i++) {
		uint32_t coin = boxes.all.random;

		reserve(16, 60);
		boxes.all.random = i ? coin : 1;
		joined += joins(4, word, NULL, NULL);
	}
	CHECK(joined > 0 && joined < 200);
}

void test_outbox(void)
{
	lapi_info_t info;
	cshim_context *context;

	memset(&info, 0, sizeof(info));
	fake_settings.polling = 1;
	handle = fake_init(&info);
	context = fake_context(handle);
	CHECK(LAPI_Put(handle, 1, 4, (void *)0x1000, word, NULL, NULL, NULL) ==
	      LAPI_ERR_TGT); /* there are no boxes */
	cshim_lock(&context->progress);
	context->num_tasks = 2;
	context->outboxes = CSHIM_ADDR(&boxes);
	cshim_unlock(&context->progress);
	writes_messages();
	leaves_the_unusual();
	tosses_a_coin();
	cshim_lock(&context->progress);
	context->num_tasks = 1;
	context->outboxes = 0;
	cshim_unlock(&context->progress);
	CHECK(LAPI_Term(handle) == LAPI_SUCCESS);
	fake_settings.polling = 0;
}
