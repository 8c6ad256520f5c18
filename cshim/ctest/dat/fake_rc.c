/* fake_rc.c - see fake_rc.h. */
#include "ctest/dat/fake_rc.h"

#include <string.h>

void fake_rc_open(int direct)
{
	int i;

	fake_dat_open(0);
	for (i = 0; i < 2; i++) {
		fake_node_peer(i)->direct = (uint8_t)direct;
		memset(fake_dat[i].memory, i ? 9 : 3, FAKE_DAT_MEMORY);
	}
}

void fake_rc_list(int side, uint64_t at, uint64_t n, DAT_LMR_TRIPLET list[FAKE_DAT_IOV])
{
	enum { GAP = 72 };
	const uint64_t parts[FAKE_DAT_IOV] = {0, n / 5, 0, n / 3, n / 7, 0, n, 0};
	uint64_t left = n;
	int i;

	for (i = 0; i < FAKE_DAT_IOV; i++) {
		uint64_t part = parts[i] < left ? parts[i] : left;

		list[i] = fake_dat_local(side, at, part);
		at += part + GAP;
		left -= part;
	}
}

void fake_rc_gather(const DAT_LMR_TRIPLET list[FAKE_DAT_IOV], unsigned char *to)
{
	int i;

	for (i = 0; i < FAKE_DAT_IOV; to += list[i++].segment_length)
		memcpy(to, node_memory_at(list[i].virtual_address), list[i].segment_length);
}

DAT_RETURN fake_rc_try(int side, const fake_rc *r)
{
	DAT_LMR_TRIPLET own = fake_dat_local(side, r->at, r->n);
	DAT_RMR_TRIPLET there = fake_dat_remote(1 - side, r->there, r->n);
	const dat_post post = {.op = r->op,
	                       .flags = r->flags,
	                       .params = r->op == RC_SEND ? RC_PARAMS_SEND : RC_PARAMS_RDMA,
	                       .num_segments = r->n > 0,
	                       .local_iov = r->n ? &own : NULL,
	                       .cookie = r->cookie,
	                       .remote_iov = &there,
	                       .data = r->data,
	                       .operand = r->operand,
	                       .compare = r->compare,
	                       .completion = r->completion};

	if (r->own)
		own.lmr_context = r->own;
	if (r->context)
		there.rmr_context = r->context;
	return fake_dat[side].rc->post(fake_dat[side].ep, &post);
}

void fake_rc_post(int side, fake_rc r)
{
	CHECK(fake_rc_try(side, &r) == DAT_SUCCESS);
}

void fake_rc_receive(int side, uint64_t cookie, uint64_t at, uint64_t n)
{
	const DAT_LMR_TRIPLET to = fake_dat_local(side, at, n);

	CHECK(fake_dat[side].rc->post_receive(fake_dat[side].ep, 1, &to, cookie, 0) == DAT_SUCCESS);
}

void fake_rc_receive_shared(int side, uint64_t cookie, uint64_t at, uint64_t n)
{
	const DAT_LMR_TRIPLET to = fake_dat_local(side, at, n);

	CHECK(fake_dat[side].rc->post_shared(fake_dat[side].srq_slot, 1, &to, cookie) ==
	      DAT_SUCCESS);
}

void fake_rc_events(int side, const dat_slot *evd, const fake_rc_event *events, uint32_t n)
{
	uint32_t i;

	CHECK(evd->length == n);
	for (i = 0; i < n; i++)
		fake_dat_expect(side, evd, events[i].cookie, events[i].status);
}

void fake_rc_both_over(uint32_t how0, uint32_t how1)
{
	fake_dat_turns();
	CHECK(fake_dat_over(0) && fake_dat_over(1));
	CHECK(fake_dat[0].end->how == how0 && fake_dat[1].end->how == how1);
	CHECK(fake_dat[0].end->tx.posted == 0 && fake_dat[1].end->tx.posted == 0);
	CHECK(fake_dat[0].end->rx.queue.count == 0 && fake_dat[1].end->rx.queue.count == 0);
	CHECK(!fake_dat[0].end->tell && !fake_dat[1].end->tell);
}

dat_header fake_rc_header(uint32_t seq)
{
	const dat_end *end = fake_dat[1].end;

	return (dat_header){.conn = end->config.peer_index,
	                    .tag = end->config.peer_tag,
	                    .seq = seq,
	                    .context = FAKE_DAT_CONTEXT,
	                    .addr = (uintptr_t)fake_dat[0].memory};
}

void fake_rc_say(uint32_t kind, const dat_header *header, const void *data, uint64_t n)
{
	uint64_t bytes =
		kind == DAT_MSG_ASK || kind == DAT_MSG_PULL ? sizeof(dat_ask) : sizeof(*header);

	CHECK(node_send(fake_node_link(1), fake_node_peer(1), kind, header, bytes, (uintptr_t)data,
	                n) == NODE_SENT);
}

uint32_t fake_rc_hear(dat_header *header)
{
	node_peer *peer = fake_node_peer(1);
	node_arrival arrival;

	if (node_next(peer, &arrival) == NODE_NONE)
		return 0;
	memcpy(header, (const void *)(uintptr_t)arrival.body, sizeof(*header));
	node_take(fake_node_link(1), peer, &arrival);
	node_publish_consumed(peer);
	return (uint32_t)arrival.kind;
}

void fake_rc_open_more(dat_end *ends[2])
{
	enum { MORE = FAKE_DAT_INDEX + 1 };
	int i;

	for (i = 0; i < 2; i++) {
		const fake_dat_side *s = &fake_dat[i], *other = &fake_dat[1 - i];
		dat_end_config config = s->end->config;

		s->table->ends[MORE] = s->table->ends[FAKE_DAT_INDEX];
		config.index = config.peer_index = MORE;
		config.own = (uintptr_t)&s->table->ends[MORE];
		config.peers = (uintptr_t)&other->table->ends[MORE];
		CHECK((ends[i] = s->rc->open(&config)) != NULL);
		((uint64_t *)(uintptr_t)s->lane->ends)[MORE] = (uintptr_t)ends[i];
	}
}

void fake_rc_close_more(dat_end *ends[2])
{
	int i;

	for (i = 0; i < 2; i++) {
		const fake_dat_side *s = &fake_dat[i];

		((uint64_t *)(uintptr_t)s->lane->ends)[ends[i]->config.index] = 0;
		s->rc->cut(ends[i], RC_BY_USER);
		s->rc->flush(ends[i]);
		s->rc->close(ends[i]);
	}
}
