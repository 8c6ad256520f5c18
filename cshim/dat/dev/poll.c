/* poll.c - completions: those that are as usual become events; core takes the others. */
#include "dat/dev/room.h"

enum {
	LOOKS = 4,   /* of dev_poll, and queue, each of a batch */
	OTHERS = 64 /* completions of others that a look for one EVD takes at the most */
};

/* The EVD that the latest event went to. */
static uint64_t posted_to;

/* Takes the oldest request out, and posts its event. */
static inline void finish(dev_pair *pair, uint32_t status)
{
	const dev_request *request = request_at(pair, pair->sent++);

	pair->requests--;
	if (!status && request->completion & DAT_COMPLETION_SUPPRESS_FLAG)
		return;
	posted_to = pair->request;
	request_over(pair, request, status);
}

/* 0: it is core's. */
static inline int complete_request(const struct ibv_wc *wc)
{
	dev_pair *pair = object_of((uint32_t)(wc->wr_id >> 32), DEV_PAIR);
	uint32_t number = (uint32_t)wc->wr_id;

	if (__builtin_expect(!pair || number - pair->sent >= pair->requests, 0))
		return 1; /* an old one */
	if (__builtin_expect(wc->status != IBV_WC_SUCCESS || pair->special, 0))
		return 0;
	do
		finish(pair, DAT_DTO_SUCCESS);
	while (pair->sent != number + 1);
	if (__builtin_expect(pair->closing && !pair->requests, 0))
		dev_work = 1;
	return 1;
}

static dev_pair *pair_of(const dev_adapter *adapter, uint32_t number)
{
	dev_pair *pair = adapter->by_number[number % BUCKETS];

	while (pair && pair->number != number)
		pair = pair->next;
	return pair;
}

static uint32_t operation_of(const struct ibv_wc *wc, uint32_t datagrams)
{
	if (datagrams)
		return DAT_IB_DTO_RECV_UD;
	if (!(wc->wc_flags & IBV_WC_WITH_IMM))
		return DAT_DTO_RECEIVE;
	return wc->opcode == IBV_WC_RECV_RDMA_WITH_IMM ? DAT_IB_DTO_RECV_IMMED
	                                               : DAT_IB_DTO_RECV_MSG_IMMED;
}

/*
 * Whether a send has freed a window. soft-RoCE has the kernel's flag for that in what it gives to
 * programs, which there says that an IP checksum is good: of a connection's receive it can mean
 * nothing else, but nobody promises that.
 */
static inline int may_invalidate(const struct ibv_wc *wc)
{
	return wc->wc_flags & (IBV_WC_WITH_INV | IBV_WC_IP_CSUM_OK) &&
	       !(wc->wc_flags & IBV_WC_WITH_IMM);
}

/* Counts what a receive has got. */
static inline void count(dev_pair *pair, uint32_t operation, uint32_t n)
{
	int counter = operation == DAT_IB_DTO_RECV_UD                ? DCNT_EP_RECV_UD
	              : operation == DAT_IB_DTO_RECV_IMMED ||
	                              operation == DAT_IB_DTO_RECV_MSG_IMMED
	                      ? DCNT_EP_RECV_RDMA_IMM
	                      : DCNT_EP_RECV;

	pair->counters[counter]++;
	pair->counters[counter + 1] += n;
}

/* Takes a receive out of a queue; its cookie. */
static inline uint64_t take_shared(dev_queue *queue, uint32_t place)
{
	dev_receive *receive = &queue->receives[place];
	uint64_t cookie = receive->cookie;

	receive->next = queue->free;
	queue->free = place;
	if (--queue->posted < queue->low) {
		queue->is_low = 1;
		dev_work = 1;
	}
	return cookie;
}

static inline int is_posted(const dev_queue *queue, uint32_t place)
{
	return place < queue->room && queue->receives[place].next == place;
}

static inline uint64_t take_own(dev_pair *pair)
{
	pair->receives--;
	return receive_at(pair, pair->taken++)->cookie;
}

/* The event of a receive that goes well. */
static inline void arrived(dev_pair *pair, const struct ibv_wc *wc, uint64_t cookie)
{
	const dat_arrived a = {.evd = pair->recv,
	                       .ep = pair->ep,
	                       .cookie = cookie,
	                       .n = wc->byte_len,
	                       .operation = operation_of(wc, pair->datagrams),
	                       .data = wc->imm_data,
	                       .silent = (int)pair->silent};

	count(pair, a.operation, a.n);
	posted_to = pair->recv;
	dat_receive_over(&a);
}

/* Of a pair that is gone: the event goes where its events went, while that is there. */
static void arrived_late(const dev_adapter *adapter, dev_queue *queue, const struct ibv_wc *wc)
{
	uint64_t cookie = take_shared(queue, (uint32_t)wc->wr_id);
	uint32_t i;

	for (i = 0; i < GONE; i++) {
		const gone_pair *gone = &adapter->gone[i];
		const dat_arrived a = {.evd = gone->recv,
		                       .ep = gone->ep,
		                       .cookie = cookie,
		                       .n = wc->status ? 0 : wc->byte_len,
		                       .status = wc->status ? DAT_DTO_ERR_FLUSHED : DAT_DTO_SUCCESS,
		                       .operation = operation_of(wc, 0),
		                       .data = wc->imm_data};

		if (gone->recv && gone->number == wc->qp_num) {
			posted_to = gone->recv;
			dat_receive_over(&a);
			return;
		}
	}
}

/* 0: it is core's. */
static inline int complete_receive(const dev_adapter *adapter, const struct ibv_wc *wc)
{
	uint32_t serial = (uint32_t)(wc->wr_id >> 32) & 0x7fffffff, place = (uint32_t)wc->wr_id;
	dev_pair *pair = object_of(serial, DEV_PAIR);
	dev_queue *queue = NULL;

	if (!pair) {
		queue = object_of(serial, DEV_QUEUE);
		if (!queue || !is_posted(queue, place))
			return 1;
		pair = pair_of(adapter, wc->qp_num);
		if (__builtin_expect(!pair, 0)) {
			arrived_late(adapter, queue, wc);
			return 1;
		}
	} else if (__builtin_expect(place != pair->taken || !pair->receives, 0)) {
		return place - pair->taken >= pair->receives; /* an old one, or others were lost */
	}
	if (__builtin_expect(wc->status != IBV_WC_SUCCESS, 0) ||
	    (__builtin_expect(may_invalidate(wc), 0) && !pair->datagrams))
		return 0;
	arrived(pair, wc, queue ? take_shared(queue, place) : take_own(pair));
	return 1;
}

/* Deals with the completions that were found; 0: the first of the rest is core's. */
static inline int deal(dev_pool *pool)
{
	for (; pool->at < pool->count; pool->at++) {
		const struct ibv_wc *wc = &pool->found[pool->at];

		if (!(wc->wr_id & RECEIVE_BIT ? complete_receive(pool->adapter, wc)
		                              : complete_request(wc)))
			return 0;
	}
	return 1;
}

/* The same where core is to be called. */
static inline int deal_or_stop(dev_pool *pool)
{
	if (__builtin_expect(deal(pool), 1))
		return 1;
	dev_work = 1;
	return 0;
}

/* Looks for at most most completions; how many are there. An event says when a queue is broken. */
static inline uint32_t look(dev_pool *pool, int most)
{
	if (pool->at == pool->count) {
		int n = ibv_poll_cq(pool->cq, most, pool->found);

		pool->at = 0;
		pool->count = n > 0 ? (uint32_t)n : 0;
	}
	return pool->count - pool->at;
}

int dev_poll(void)
{
	const dev_adapter *adapter;
	dev_pool *pool;
	int some = 0, looks;

	for (adapter = dev_adapters; adapter; adapter = adapter->next) {
		for (pool = adapter->pools; pool; pool = pool->next) {
			for (looks = 0; looks < LOOKS && look(pool, BATCH); looks++) {
				some = 1;
				if (!deal_or_stop(pool) || pool->count < BATCH)
					break;
			}
		}
	}
	return some;
}

/* Mostly there is one queue, and it is asked. */
int dev_some(void)
{
	const dev_adapter *adapter = dev_adapters;
	dev_pool *pool = adapter ? adapter->pools : NULL;
	int n;

	if (!pool || pool->next || adapter->next || pool->at != pool->count)
		return 1;
	n = ibv_poll_cq(pool->cq, 1, pool->found);
	if (n <= 0)
		return 0;
	pool->at = 0;
	pool->count = 1;
	return 1;
}

void dev_poll_for(uint64_t evd)
{
	const dev_adapter *adapter;
	dev_pool *pool;
	int others = 0;

	posted_to = 0;
	for (adapter = dev_adapters; adapter; adapter = adapter->next) {
		for (pool = adapter->pools; pool; pool = pool->next) {
			while (look(pool, 1) && deal_or_stop(pool)) {
				if (posted_to == evd || ++others == OTHERS)
					return;
			}
		}
	}
}

/* Which window a send has freed. */
static void take_key(const struct ibv_wc *wc, dev_notice *notice)
{
	if (!may_invalidate(wc))
		return;
	notice->invalidated = 1;
	notice->perhaps = !(wc->wc_flags & IBV_WC_WITH_INV);
	notice->key = wc->invalidated_rkey;
}

static void describe(const dev_pool *pool, const struct ibv_wc *wc, dev_notice *notice)
{
	uint32_t serial = (uint32_t)(wc->wr_id >> 32) & 0x7fffffff;

	*notice = (dev_notice){.number = (uint32_t)wc->wr_id,
	                       .receive = !!(wc->wr_id & RECEIVE_BIT),
	                       .qpn = wc->qp_num,
	                       .status = wc->status,
	                       .pair = object_of(serial, DEV_PAIR),
	                       .queue = object_of(serial, DEV_QUEUE)};
	if (notice->queue)
		notice->pair = pair_of(pool->adapter, wc->qp_num);
	else if (notice->receive && notice->pair)
		notice->skips = notice->number != notice->pair->taken;
	if (wc->status) { /* nothing else is valid */
		notice->vendor_err = wc->vendor_err;
		return;
	}
	if (!notice->receive)
		return;
	notice->n = wc->byte_len;
	notice->has_data = !!(wc->wc_flags & IBV_WC_WITH_IMM);
	notice->by_write = wc->opcode == IBV_WC_RECV_RDMA_WITH_IMM;
	notice->immediate = wc->imm_data;
	take_key(wc, notice);
}

int dev_step(dev_adapter *adapter, dev_pool *pool, dev_notice *notice, uint32_t *made)
{
	dev_pool *at;

	for (at = adapter->pools; at; at = at->next) {
		if (pool && at != pool)
			continue;
		while (look(at, BATCH)) {
			uint32_t before = at->at;
			int all = deal(at);

			*made += at->at - before;
			if (all)
				continue;
			describe(at, &at->found[at->at++], notice);
			++*made;
			return 1;
		}
	}
	return 0;
}

const dev_request *dev_oldest(const dev_pair *pair)
{
	return pair->requests ? request_at(pair, pair->sent) : NULL;
}

void dev_finish_request(dev_pair *pair, uint32_t status)
{
	const dev_request *request = request_at(pair, pair->sent);

	pair->special -= request->op == RC_BIND || !request->known;
	if (request->op != RC_BIND) {
		finish(pair, status);
		return;
	}
	pair->sent++;
	pair->requests--;
}

const dev_receive *dev_receive_of(const dev_notice *notice)
{
	if (notice->queue)
		return is_posted(notice->queue, notice->number)
		               ? &notice->queue->receives[notice->number]
		               : NULL;
	return notice->pair && notice->pair->receives ? receive_at(notice->pair, notice->pair->taken)
	                                              : NULL;
}

void dev_finish_receive(const dev_notice *notice, uint32_t status, int invalidated)
{
	dev_pair *pair = notice->pair;
	dat_arrived a = {
		.evd = pair->recv,
		.ep = pair->ep,
		.cookie = notice->queue ? take_shared(notice->queue, notice->number) : take_own(pair),
		.n = notice->n,
		.status = status,
		.context = notice->key,
		.data = notice->immediate,
		.silent = pair->silent && !status,
		.operation = pair->datagrams ? DAT_IB_DTO_RECV_UD : DAT_DTO_RECEIVE};

	if (notice->has_data)
		a.operation = notice->by_write ? DAT_IB_DTO_RECV_IMMED : DAT_IB_DTO_RECV_MSG_IMMED;
	else if (invalidated)
		a.operation = DAT_DTO_RECEIVE_WITH_INVALIDATE;
	if (!status)
		count(pair, a.operation, a.n);
	posted_to = pair->recv;
	dat_receive_over(&a);
}

void dev_flush_receives(dev_pair *pair)
{
	while (pair->receives) {
		const dev_notice notice = {.pair = pair, .receive = 1};

		dev_finish_receive(&notice, DAT_DTO_ERR_FLUSHED, 0);
	}
}
