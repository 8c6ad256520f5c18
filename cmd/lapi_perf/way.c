/*
 * way.c - over which link operations went and how, by the packets that LAPI_Qenv counts. A single
 * copy counts as a packet, whatever its length; copies through shared memory go in chunks, each a
 * packet (docs/dev/bulk.md).
 */
#include "perf.h"

#include <stdlib.h>

const char *const link_names[] = {"-", "self", "shm", "UDP", "RDMA"};
const char *const way_names[] = {"-", "slot", "single copy", "chunks", "datagrams", "adapter"};

static int64_t packets(task *t, lapi_query_t query)
{
	lapi_statistics_t s;

	MUST(LAPI_Qenv(t->handle, query, (int *)&s));
	return (int64_t)(s.Tot_pkt_sent_cnt + s.Tot_pkt_rcv_cnt);
}

void count_packets(task *t, counted *c, int sign)
{
	lapi_statistics_t self;

	MUST(LAPI_Qenv(t->handle, QUERY_LOCAL_SEND_STATISTICS, (int *)&self));
	c->network += sign * packets(t, QUERY_STATISTICS);
	c->memory += sign * packets(t, QUERY_SHM_STATISTICS);
	c->self += sign * (int64_t)self.Tot_data_sent;
}

/* Whether the peer is reached by shared memory: LAPI_Gfence uses it without a packet. */
static int shares_memory(task *t)
{
	int *number = calloc((size_t)t->num_tasks, sizeof *number), shares;

	if (!number)
		fail("no memory");
	MUST(LAPI_Qenv(t->handle, QUERY_SHM_TASKS, number));
	shares = number[t->peer] >= 0;
	free(number);
	return shares;
}

int link_of(task *t, const counted *c)
{
	int pairs_of_queues = 0;

	if (c->memory > 0 && c->memory >= c->network)
		return LINK_SHM;
	if (c->network > 0) {
		MUST(LAPI_Qenv(t->handle, RC_QP_IN_USE, &pairs_of_queues));
		return pairs_of_queues > 0 ? LINK_RDMA : LINK_UDP;
	}
	return c->self > 0 ? LINK_SELF : shares_memory(t) ? LINK_SHM : LINK_UNKNOWN;
}

enum { TELLING = 8192, TELLING_MESSAGE = 65536 };

/* Through shared memory. A get by one packet needs nothing of the target: it was read there. From
 * TELLING bytes on there are more chunks than packets of a single copy and its notices; active
 * messages have larger chunks. */
static int memory_way(const row *r, double each)
{
	if (r->size <= LONGEST_SLOT)
		return WAY_SLOT;
	if (r->op == GET && each < 1.5)
		return WAY_SINGLE;
	if (r->size < (r->op == AM ? TELLING_MESSAGE : TELLING))
		return WAY_UNKNOWN;
	return each < (r->op == GET ? 4.5 : 3.5) ? WAY_SINGLE : WAY_CHUNKS;
}

int way_of(const row *r, const counted *c)
{
	double messages = (double)c->operations * (operations[r->op].one_way ? 2 : 1);

	if (r->link == LINK_UDP)
		return WAY_DATAGRAMS;
	if (r->link == LINK_RDMA)
		return WAY_ADAPTER;
	if (r->link != LINK_SHM || !operations[r->op].sized)
		return WAY_UNKNOWN;
	return memory_way(r, (double)c->memory / messages);
}
