/*
 * proposal.c - a program written to the proposal of December 2005: its calls, by name and by
 * dat_extension, its events and its attributes, over the library.
 */
#include <netinet/in.h>
#include <dat/udat.h>
#include <dat/dat_extensions.h>

#define PAIR_NO_HEADERS
#include "pair.h"

static pair p;

/* An event as the proposal has it. */
static DAT_EXTENSION_DATA next(DAT_EVD_HANDLE evd)
{
	DAT_EVENT event;
	DAT_COUNT more;

	MUST(dat_evd_wait(evd, PAIR_WAIT, 1, &event, &more));
	CHECK(event.event_number == DAT_EXTENSION_EVENT);
	CHECK(event.event_data.extension_data.dto.status == DAT_DTO_SUCCESS);
	return event.event_data.extension_data;
}

static const char *attribute(const DAT_PROVIDER_ATTR *attributes, const char *name)
{
	int i;

	for (i = 0; i < attributes->num_provider_specific_attr; i++)
		if (strcmp(attributes->provider_specific_attr[i].name, name) == 0)
			return attributes->provider_specific_attr[i].value;
	return "absent";
}

static void attributes(void)
{
	static const struct {
		const char *name, *value;
	} expected[] = {
		{DAT_EXT_ATTR, DAT_EXT_ATTR_TRUE},
		{DAT_EXT_ATTR_RDMA_WRITE_IMMED, DAT_EXT_ATTR_TRUE},
		{DAT_EXT_ATTR_RECV_IMMED, DAT_EXT_ATTR_TRUE},
		{DAT_EXT_ATTR_RECV_IMMED_EVENT, DAT_EXT_ATTR_TRUE},
		{DAT_EXT_ATTR_RECV_IMMED_PAYLOAD, DAT_EXT_ATTR_FALSE},
		{DAT_EXT_ATTR_FETCH_AND_ADD, DAT_EXT_ATTR_TRUE},
		{DAT_EXT_ATTR_CMP_AND_SWAP, DAT_EXT_ATTR_TRUE},
	};
	DAT_PROVIDER_ATTR provider;
	size_t i;

	MUST(dat_ia_query(p.ia, NULL, 0, NULL, DAT_PROVIDER_FIELD_ALL, &provider));
	for (i = 0; i < sizeof expected / sizeof *expected; i++)
		if (strcmp(attribute(&provider, expected[i].name), expected[i].value) != 0)
			pair_fail(__FILE__, __LINE__, expected[i].name, 0);
}

/* Immediate data: the write's end, and the receive that it takes at the peer. */
static void immediate(int by_number)
{
	DAT_LMR_TRIPLET local = pair_local(&p, 0, 64), into = pair_local(&p, 2048, 64);
	DAT_RMR_TRIPLET remote = pair_remote(&p, 1024, 64);
	const DAT_COMPLETION_FLAGS flags = DAT_COMPLETION_DEFAULT_FLAG;
	DAT_EXTENSION_DATA end;
	DAT_DTO_COOKIE cookie;

	cookie.as_64 = 0x1234;
	p.memory[0] = 0x5555 + (DAT_UINT64)by_number;
	if (by_number)
		MUST(dat_extension(p.b.ep, DAT_EXT_RECV_IMMED, 1, &into, cookie, flags));
	else
		MUST(dat_ep_post_recv_immed(p.b.ep, 1, &into, cookie, flags));
	if (by_number)
		MUST(dat_extension(p.a.ep, DAT_EXT_RDMA_WRITE_IMMED, 1, &local, cookie, &remote,
		                   0xaabbccdd, DAT_EXT_WRITE_CONFIRM_FLAG, flags));
	else
		MUST(dat_ep_post_rdma_write_immed(p.a.ep, 1, &local, cookie, &remote, 0xaabbccdd,
		                                  DAT_EXT_WRITE_CONFIRM_FLAG, flags));
	end = next(p.a.request);
	CHECK(end.type == DAT_EXT_RDMA_WRITE_IMMED_STATUS && end.dto.transfered_length == 64);
	CHECK(end.dto.user_cookie.as_64 == 0x1234 && end.dto.ep_handle == p.a.ep);
	end = next(p.b.recv);
	CHECK(end.type == DAT_EXT_RECV_IMMED_DATA_EVENT && end.val.immed.data == 0xaabbccdd);
	CHECK(p.memory[128] == p.memory[0]);
}

/* Operations on a word. */
static void words(int by_number)
{
	DAT_LMR_TRIPLET local = pair_local(&p, 0, 8);
	DAT_RMR_TRIPLET remote = pair_remote(&p, 1024, 8);
	const DAT_COMPLETION_FLAGS flags = DAT_COMPLETION_DEFAULT_FLAG;
	DAT_DTO_COOKIE cookie;

	cookie.as_64 = 1;
	p.memory[128] = 40;
	if (by_number)
		MUST(dat_extension(p.a.ep, DAT_EXT_FETCH_AND_ADD, (DAT_UINT64)2, &local, cookie,
		                   &remote, flags));
	else
		MUST(dat_ep_post_fetch_and_add(p.a.ep, 2, &local, cookie, &remote, flags));
	CHECK(next(p.a.request).type == DAT_EXT_FETCH_AND_ADD_STATUS);
	CHECK(p.memory[0] == 40 && p.memory[128] == 42);
	if (by_number)
		MUST(dat_extension(p.a.ep, DAT_EXT_CMP_AND_SWAP, (DAT_UINT64)42, (DAT_UINT64)7,
		                   &local, cookie, &remote, flags));
	else
		MUST(dat_ep_post_cmp_and_swap(p.a.ep, 42, 7, &local, cookie, &remote, flags));
	CHECK(next(p.a.request).type == DAT_EXT_CMP_AND_SWAP_STATUS);
	CHECK(p.memory[0] == 42 && p.memory[128] == 7);
}

/* A receive without immediate data is an event of today's. */
static void plain(void)
{
	DAT_DTO_COOKIE cookie;
	DAT_EVENT event;

	cookie.as_64 = 1;
	MUST(dat_ep_post_recv_immed(p.b.ep, 0, NULL, cookie, DAT_COMPLETION_DEFAULT_FLAG));
	MUST(dat_ep_post_send(p.a.ep, 0, NULL, cookie, DAT_COMPLETION_DEFAULT_FLAG));
	event = pair_event(p.b.recv, DAT_DTO_COMPLETION_EVENT);
	CHECK(event.event_data.extension_data.type == 0);
	pair_event(p.a.request, DAT_DTO_COMPLETION_EVENT);
}

int main(void)
{
	DAT_DTO_COOKIE cookie;

	cookie.as_64 = 1;
	CHECK(dat_extensions == 0);
	CHECK(dat_extension(&p, DAT_EXT_RECV_IMMED, 0, NULL, cookie, 0) == DAT_NOT_IMPLEMENTED);
	pair_open(&p, 8);
	CHECK(dat_extensions == 1);
	attributes();
	immediate(0);
	immediate(1);
	words(0);
	words(1);
	plain();
	pair_close(&p);
	puts("proposal: passed");
	return 0;
}
