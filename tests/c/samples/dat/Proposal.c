/*
 * Proposal.c - a program as it was written in 2005, for DAT 1.2 and the proposal on extensions.
 *
 * <dat/udat.h> has the names: dat_lmr_create without the kind of addresses, target_address in a
 * triplet, and dat_ep_post_rdma_write_immed and its like. Server and client each write into the
 * other's buffer with immediate data, which takes a receive of the other. Then the client changes a
 * word of the server's with fetch-and-add and compare-and-swap.
 */
#define SAMPLE_OF_2005
#include "dat_sample.h"

enum { LENGTH = 256, START = 1000, ADDED = 234, SWAPPED = 4711 };
static const DAT_UINT32 of_server = 0x5e57e4, of_client = 0xc11e47;

/* Where a side's memory is: each tells the other. */
static struct memory_of {
	DAT_RMR_TRIPLET buffer, word;
} mine, theirs;

static char source[LENGTH], target[LENGTH];
static DAT_UINT64 word = START, result;
static DAT_LMR_TRIPLET source_segment, result_segment, mine_segment, theirs_segment;
static DAT_EP_HANDLE ep;

/* Peers that may read may also do atomic operations: so the proposal has it. */
static DAT_LMR_TRIPLET registered(void *start, DAT_SEG_LENGTH length, DAT_RMR_TRIPLET *remote)
{
	DAT_REGION_DESCRIPTION region;
	DAT_LMR_HANDLE lmr;
	DAT_LMR_TRIPLET segment;
	DAT_RMR_CONTEXT context;
	DAT_VLEN bytes;
	DAT_VADDR address;

	region.for_va = start;
	CALL(dat_lmr_create(adapter, DAT_MEM_TYPE_VIRTUAL, region, length, zone,
	                    DAT_MEM_PRIV_ALL_FLAG, &lmr, &segment.lmr_context, &context, &bytes,
	                    &address));
	segment.virtual_address = (uintptr_t)start;
	segment.segment_length = length;
	if (remote) {
		remote->target_address = (uintptr_t)start;
		remote->segment_length = length;
		remote->rmr_context = context;
	}
	return segment;
}

/* The adapter says by a named attribute that it has extensions. */
static void look_for_extensions(void)
{
	DAT_PROVIDER_ATTR attr;
	int found = 0;

	CALL(dat_ia_query(adapter, NULL, 0, NULL, DAT_PROVIDER_FIELD_ALL, &attr));
	for (int i = 0; i < attr.num_provider_specific_attr; i++)
		if (strcmp(attr.provider_specific_attr[i].name, DAT_EXT_ATTR) == 0)
			found = strcmp(attr.provider_specific_attr[i].value, DAT_EXT_ATTR_TRUE) ==
			        0;
	EXPECT(found);
	EXPECT(dat_extensions == 1);
}

/* An extended transfer's event, whose dto must be good. */
static DAT_EVENT extended(DAT_UINT64 cookie, DAT_SEG_LENGTH length)
{
	DAT_EVENT event = side_done(DAT_EXTENSION_EVENT, cookie);

	EXPECT(event.event_data.extension_data.dto.transfered_length == length);
	return event;
}

/* The immediate data of an event that brings some. */
static DAT_UINT32 immediate(const DAT_EVENT *event)
{
	EXPECT(event->event_data.extension_data.type == DAT_EXT_RECV_IMMED_DATA_EVENT);
	return event->event_data.extension_data.val.immed.data;
}

/* Posts receives: for the other side's memory description, and for its immediate data. */
static void post_receives(void)
{
	if (!side_host)
		CALL(dat_ep_post_recv(ep, 1, &theirs_segment, side_cookie(1),
		                      DAT_COMPLETION_DEFAULT_FLAG));
	CALL(dat_ep_post_recv_immed(ep, 0, NULL, side_cookie(2), DAT_COMPLETION_DEFAULT_FLAG));
}

/* Writes into the other's buffer, with immediate data. */
static void write_immediate(const char *text, DAT_UINT32 data)
{
	snprintf(source, sizeof source, "%s", text);
	CALL(dat_ep_post_rdma_write_immed(ep, 1, &source_segment, side_cookie(3), &theirs.buffer,
	                                  data, DAT_EXT_WRITE_IMMED_FLAG,
	                                  DAT_COMPLETION_DEFAULT_FLAG));
}

/* Has both events: the own write is complete, the other's has arrived. In any order. */
static void await_immediate(DAT_UINT32 data, const char *text)
{
	for (int i = 0; i < 2; i++) {
		DAT_EVENT event = side_event(done_evd, DAT_EXTENSION_EVENT);
		const DAT_DTO_COMPLETION_EVENT_DATA *dto = &event.event_data.extension_data.dto;

		EXPECT(dto->status == DAT_DTO_SUCCESS);
		EXPECT(dto->transfered_length == LENGTH);
		if (dto->user_cookie.as_64 != 2)
			continue;
		side_say("\"%s\", with immediate data %#x", target, immediate(&event));
		EXPECT(immediate(&event) == data);
		EXPECT(strcmp(target, text) == 0);
	}
}

static void atomics(void)
{
	CALL(dat_ep_post_fetch_and_add(ep, ADDED, &result_segment, side_cookie(4), &theirs.word,
	                               DAT_COMPLETION_DEFAULT_FLAG));
	extended(4, sizeof word);
	side_say("fetch and add %d: it was %d", ADDED, (int)result);
	EXPECT(result == START);
	CALL(dat_ep_post_cmp_and_swap(ep, START + ADDED, SWAPPED, &result_segment, side_cookie(5),
	                              &theirs.word, DAT_COMPLETION_DEFAULT_FLAG));
	extended(5, sizeof word);
	side_say("compare and swap: it was %d", (int)result);
	EXPECT(result == START + ADDED);
}

int main(int argc, char **argv)
{
	side_begin(argc, argv);
	side_open();
	look_for_extensions();
	source_segment = registered(source, LENGTH, NULL);
	registered(target, LENGTH, &mine.buffer);
	registered(&word, sizeof word, &mine.word);
	result_segment = registered(&result, sizeof result, NULL);
	mine_segment = registered(&mine, sizeof mine, NULL);
	theirs_segment = registered(&theirs, sizeof theirs, NULL);
	CALL(dat_ep_create(adapter, zone, done_evd, done_evd, connect_evd, NULL, &ep));
	post_receives();
	if (side_host) {
		side_connect(ep, &theirs, sizeof theirs);
		CALL(dat_ep_post_send(ep, 1, &mine_segment, side_cookie(6),
		                      DAT_COMPLETION_SUPPRESS_FLAG));
		write_immediate("from the client", of_client);
		await_immediate(of_server, "from the server");
		atomics();
	} else {
		side_listen();
		side_connect(ep, &mine, sizeof mine);
		side_done(DAT_DTO_COMPLETION_EVENT, 1);
		write_immediate("from the server", of_server);
		await_immediate(of_client, "from the client");
	}
	side_finish(ep);
	if (!side_host)
		EXPECT(word == SWAPPED);
	return side_end();
}
