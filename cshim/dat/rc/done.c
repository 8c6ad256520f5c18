/*
 * done.c - when requests are complete: events, how the peer tells, and how it is found out.
 *
 * Each message of data says how far the receiver's own requests have come. Beside that the lane of
 * the responder stores the same number where the requester's looks at it (dat_open.done). Only a
 * requester that sleeps, or whose lane does not look, gets rc's Done.
 */
#include "dat/rc/private.h"

static void extend_request(dat_completion *c, const dat_request *request)
{
	switch (request->op) {
	case DAT_LANE_WRITE:
		if (request->flags & DAT_FLAG_IMMEDIATE) {
			dat_extend(c, DAT_IB_RDMA_WRITE_IMMED, 1, request->data);
			c->operation = DAT_IB_DTO_RDMA_WRITE_IMMED;
		}
		break;
	case DAT_LANE_SWAP:
		dat_extend(c, DAT_IB_CMP_AND_SWAP, 6, 0);
		break;
	case DAT_LANE_ADD:
		dat_extend(c, DAT_IB_FETCH_AND_ADD, 5, 0);
		break;
	}
}

int dat_lane_completion(const dat_end *end, const dat_request *request)
{
	static const uint32_t operations[] = {[DAT_LANE_SEND] = DAT_DTO_SEND,
	                                      [DAT_LANE_WRITE] = DAT_DTO_RDMA_WRITE,
	                                      [DAT_LANE_READ] = DAT_DTO_RDMA_READ,
	                                      [DAT_LANE_SWAP] = DAT_IB_DTO_CMP_SWAP,
	                                      [DAT_LANE_ADD] = DAT_IB_DTO_FETCH_ADD};
	dat_completion *c;
	DAT_EVENT *event;

	if (request->completion & DAT_COMPLETION_SUPPRESS_FLAG)
		return 1;
	if (!(event = evd_place(end->config.request)))
		return 0;
	c = dat_completion_at(event, end->config.request, end, request->cookie);
	c->length = request->n;
	c->operation = operations[request->op];
	extend_request(c, request);
	evd_placed(end->config.request, DCNT_EVD_DTO_CALLBACK, 0);
	return 1;
}

/* 1 if nothing is missing of a request. */
static int is_over(const dat_end *end, const dat_request *request)
{
	if (request->op >= DAT_LANE_READ && request->n)
		return request->got == request->n;
	return (int32_t)(end->tx.done - end->tx.oldest) > 0;
}

int dat_lane_done(dat_end *end, uint32_t seq)
{
	if ((int32_t)(seq - end->tx.done) > 0) /* else an old one */
		end->tx.done = seq;
	while (end->tx.sent) {
		const dat_request *request = dat_request_at(end, end->tx.oldest);

		if (!is_over(end, request))
			break;
		if (!dat_lane_completion(end, request))
			return 0;
		if (__builtin_expect(request->begun != 0, 0))
			dat_lane_learn(end, request);
		end->tx.asked -= request->op >= DAT_LANE_READ;
		end->tx.oldest++;
		end->tx.posted--;
		end->tx.sent--;
	}
	return 1;
}

void dat_lane_await(const dat_end *end)
{
	if (!end->config.own)
		return;
	dat_the_lane.waiting[end->config.index / 64] |= (uint64_t)1 << (end->config.index % 64);
	dat_the_lane.some_waiting |= (uint64_t)1 << (end->config.index / 64);
}

/* Looks for one end: 1 if something is complete. */
static int look(dat_end *end)
{
	const dat_open *peers = (const dat_open *)(uintptr_t)end->config.peers;
	uint32_t before = __atomic_load_n(&peers->tag, __ATOMIC_ACQUIRE), done,
		 oldest = end->tx.oldest;

	/* acquire: pairs with dat_lane_tell; and the second look at tag comes after it */
	done = __atomic_load_n(&peers->done, __ATOMIC_ACQUIRE);
	if (before != end->config.peer_tag ||
	    __atomic_load_n(&peers->tag, __ATOMIC_RELAXED) != before ||
	    (done == end->tx.done && !end->tx.asked) || done - end->tx.oldest - 1 >= end->tx.sent)
		return 0;
	if (!dat_lane_done(end, done))
		dat_the_lane.stuck = end->stuck = 1; /* core looks at the same word */
	return end->tx.oldest != oldest;
}

/* The end with that number, if its requests are the lane's and one is under way. */
static dat_end *waiting_end(uint32_t index)
{
	const uint64_t *ends = (const uint64_t *)(uintptr_t)dat_the_lane.ends;
	dat_end *end = index < dat_the_lane.num_ends ? (dat_end *)(uintptr_t)ends[index] : NULL;

	return end && end->on && !end->stuck && end->tx.posted ? end : NULL;
}

/* The same of 64 ends; those that wait for nothing any more are taken out. */
static int look_at_some(uint32_t word, uint64_t evd)
{
	uint64_t bits = dat_the_lane.waiting[word];
	int some = 0;

	for (; bits; bits &= bits - 1) {
		uint32_t bit = (uint32_t)__builtin_ctzll(bits);
		dat_end *end = waiting_end(word * 64 + bit);

		if (!end)
			dat_the_lane.waiting[word] &= ~((uint64_t)1 << bit);
		else if (!evd || end->config.request == evd)
			some |= look(end);
	}
	return some;
}

int dat_lane_look(uint64_t evd)
{
	uint64_t words = dat_the_lane.some_waiting;
	int some = 0;

	for (; words; words &= words - 1) {
		uint32_t word = (uint32_t)__builtin_ctzll(words);

		some |= look_at_some(word, evd);
		if (!dat_the_lane.waiting[word])
			dat_the_lane.some_waiting &= ~((uint64_t)1 << word);
	}
	return some;
}

void dat_lane_watch(void)
{
	dat_table *own = (dat_table *)(uintptr_t)dat_the_lane.table;
	uint32_t i;

	if (!dat_the_lane.on || !own || __atomic_load_n(&own->waits, __ATOMIC_RELAXED))
		return;
	__atomic_store_n(&own->waits, 1, __ATOMIC_RELAXED);
	/* a peer has stored done, and has seen that nobody waits; or it sees waits */
	for (i = 0; i < dat_the_lane.num_links; i++)
		node_order_peers((node_link *)(uintptr_t)dat_the_lane.links[i]);
	dat_lane_look(0);
}

/*
 * 1 if the peer looks at the word that was stored, or will before a thread of it waits asleep. If
 * nobody waits there its service thread need not wake for a completion: who asks for it looks.
 */
static int looks(const dat_end *end)
{
	const dat_open *peers = (const dat_open *)(uintptr_t)end->config.peers;
	const dat_table *table = (const dat_table *)(uintptr_t)end->config.table;
	node_peer *peer = dat_peer_of(end);

	node_store_then_look(peer);
	return __atomic_load_n(&peers->looks, __ATOMIC_RELAXED) == 1 &&
	       (__atomic_load_n(&node_head(peer->out_head)->armed, __ATOMIC_ACQUIRE) ==
	                NODE_AWAKE ||
	        (table && !__atomic_load_n(&table->waits, __ATOMIC_RELAXED)));
}

void dat_lane_tell(dat_end *end)
{
	node_peer *peer = dat_peer_of(end);
	dat_header header = {.conn = end->config.peer_index,
	                     .tag = end->config.peer_tag,
	                     .seq = end->rx.expected};
	void *at;

	if (end->config.own) {
		/* release: what the requests have brought is in place */
		__atomic_store_n(&((dat_open *)(uintptr_t)end->config.own)->done, end->rx.expected,
		                 __ATOMIC_RELEASE);
		if (looks(end)) {
			end->rx.tell = 0;
			return;
		}
	}
	at = peer->closed ? NULL : node_short_begin(peer);
	if (!at) {
		dat_the_lane.unsent = 1;
		return;
	}
	memcpy(at, &header, sizeof(header));
	end->rx.tell = 0;
	if (node_short_end(dat_link_of(end), peer, DAT_MSG_DONE, sizeof(header), 0) != NODE_SENT)
		dat_the_lane.stuck = end->stuck = 1;
}

void dat_lane_passed(dat_end *end)
{
	end->rx.state = DAT_COMING_NOTHING;
	end->rx.got = 0;
	end->rx.expected++;
	end->rx.tell = 1;
}
