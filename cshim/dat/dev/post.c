/* post.c - posts to an adapter: one call of its library each. */
#include "dat/dev/room.h"

#define NO_RESOURCE(what) (DAT_CLASS_ERROR | DAT_INSUFFICIENT_RESOURCES | DAT_RESOURCE_##what)

/* The program's own memory of a post. */
typedef struct own_memory {
	struct ibv_sge list[DAT_SEGMENTS]; /* as the adapter wants it */
	uint64_t at[DAT_SEGMENTS]; /* where each is: in a region that counts from 0 that differs */
	int count;                 /* of those that have bytes; -1: some is not to be accessed */
	uint32_t n;                /* bytes */
} own_memory;

/* Not initialized as a whole: it is large. */
static inline __attribute__((always_inline)) void find_memory(const dev_adapter *adapter,
                                                              uint64_t pz, int access,
                                                              DAT_COUNT count,
                                                              const DAT_LMR_TRIPLET *triplets,
                                                              own_memory *own)
{
	int n = 0;
	DAT_COUNT i;

	own->n = 0;
	for (i = 0; i < count; i++) {
		const DAT_LMR_TRIPLET *t = &triplets[i];
		const dev_memory *m;

		if (!t->segment_length)
			continue;
		m = memory_of(adapter, t->lmr_context,
		              access == RC_WRITE_WINDOW ? DEV_OF_RMR : DEV_OF_LMR);
		own->at[n] = place_of(m, pz, access, t);
		if (__builtin_expect(!own->at[n], 0)) {
			own->count = -1;
			return;
		}
		own->list[n].addr = t->virtual_address + m->shift;
		own->list[n].length = t->segment_length;
		own->list[n].lkey = m->key;
		own->n += own->list[n++].length;
	}
	own->count = n;
}

/* The request that the adapter is to get, but for where a datagram goes. */
static inline void fill_work(struct ibv_send_wr *wr, const dat_post *post)
{
	static const uint8_t opcodes[] = {[RC_SEND] = IBV_WR_SEND,
	                                  [RC_WRITE] = IBV_WR_RDMA_WRITE,
	                                  [RC_READ] = IBV_WR_RDMA_READ,
	                                  [RC_SWAP] = IBV_WR_ATOMIC_CMP_AND_SWP,
	                                  [RC_ADD] = IBV_WR_ATOMIC_FETCH_AND_ADD,
	                                  [RC_DATAGRAM] = IBV_WR_SEND};

	wr->opcode = opcodes[post->op];
	switch (post->op) {
	case RC_SEND:
		if (post->flags & RC_INVALIDATE) {
			wr->opcode = IBV_WR_SEND_WITH_INV;
			wr->invalidate_rkey = post->data;
		}
		break;
	case RC_WRITE:
		if (post->flags & RC_IMMEDIATE) { /* in this host's order, as the original has it */
			wr->opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
			wr->imm_data = post->data;
		}
		/* fallthrough */
	case RC_READ:
		wr->wr.rdma.remote_addr = post->remote_iov->virtual_address;
		wr->wr.rdma.rkey = post->remote_iov->rmr_context;
		break;
	case RC_SWAP:
	case RC_ADD:
		wr->wr.atomic.remote_addr = post->remote_iov->virtual_address;
		wr->wr.atomic.rkey = post->remote_iov->rmr_context;
		wr->wr.atomic.compare_add = post->op == RC_ADD ? post->operand : post->compare;
		wr->wr.atomic.swap = post->operand;
		break;
	}
}

/* The data of a short request goes along: it is taken now, from where it is. */
static inline unsigned go_inline(const dev_pair *pair, const dat_post *post, own_memory *own)
{
	int i;

	if (own->n > pair->adapter->names.max_inline ||
	    (post->op > RC_WRITE && post->op != RC_DATAGRAM) || post->flags & RC_IMMEDIATE)
		return 0;
	for (i = 0; i < own->count; i++)
		own->list[i].addr = own->at[i];
	return IBV_SEND_INLINE;
}

/* A request to fill in, behind the others, which requests++ adds: there is room for all that are
 * legal. */
static inline dev_request *new_request(const dev_pair *pair, const dat_post *post,
                                       const own_memory *own)
{
	dev_request *request = request_at(pair, pair->sent + pair->requests);

	request->cookie = post->cookie;
	request->local = own->count > 0 ? own->at[0] : 0;
	request->remote = post->remote_iov ? post->remote_iov->virtual_address : 0;
	request->n = own->n;
	request->data = post->data;
	request->completion = post->completion;
	request->op = (uint8_t)post->op;
	request->flags = post->flags;
	request->known = 1;
	request->status = DAT_DTO_SUCCESS;
	return request;
}

/* The adapter does not get the newest request, nor any after it: it completes in its turn, and core
 * sees to it. */
static __attribute__((noinline)) void fail(dev_pair *pair, dev_request *request, uint8_t status)
{
	request->known = 0;
	request->status = status;
	pair->special++;
	dev_set_open(pair, 0);
	dev_work = 1;
}

void dev_post_failed(dev_pair *pair)
{
	fail(pair, request_at(pair, pair->sent + pair->requests - 1), DAT_DTO_ERR_TRANSPORT);
}

/* The connection is over, or will be when the earlier posts are complete. */
static __attribute__((noinline)) void flush_request(dev_pair *pair, dev_request *request)
{
	if (pair->requests) {
		pair->requests++;
		fail(pair, request, DAT_DTO_ERR_FLUSHED);
		return;
	}
	request_over(pair, request, DAT_DTO_ERR_FLUSHED);
}

/* 1 if there is no such operation. */
static inline int is_lacking(const dev_adapter *adapter, const dat_post *post)
{
	return __builtin_expect(adapter->names.lacks != 0, 0) &&
	       ((post->flags & RC_INVALIDATE && adapter->names.lacks & DEV_NO_INVALIDATES) ||
	        ((post->op == RC_SWAP || post->op == RC_ADD) && adapter->names.lacks & DEV_NO_ATOMICS));
}

static inline int asks(const dat_post *post)
{
	return post->op >= RC_READ && post->op != RC_DATAGRAM;
}

/* Of count segments, which is a constant where compilers know it. */
static inline __attribute__((always_inline)) DAT_RETURN post_work(dev_pair *pair,
                                                                  const dat_post *post,
                                                                  DAT_COUNT count)
{
	own_memory own;
	struct ibv_send_wr wr, *bad;
	dev_request *request;

	if (is_lacking(pair->adapter, post))
		return DAT_CLASS_ERROR | DAT_MODEL_NOT_SUPPORTED;
	find_memory(pair->adapter, pair->pz, dat_access_of(post), count, post->local_iov, &own);
	request = new_request(pair, post, &own);
	dat_count_post(pair->counters, post, own.n);
	if (__builtin_expect(!pair->open, 0)) {
		flush_request(pair, request);
		return DAT_SUCCESS;
	}
	wr.wr_id = completion_number(pair->serial, pair->sent + pair->requests++);
	if (__builtin_expect(own.count < 0, 0)) {
		fail(pair, request, DAT_DTO_ERR_LOCAL_PROTECTION);
		return DAT_SUCCESS;
	}
	if (__builtin_expect(asks(post) && !pair->reads, 0)) {
		fail(pair, request, DAT_DTO_ERR_LOCAL_EP);
		return DAT_SUCCESS;
	}
	wr.next = NULL;
	wr.sg_list = own.list;
	wr.num_sge = own.count;
	wr.send_flags = flags_of(post->completion) | go_inline(pair, post, &own);
	fill_work(&wr, post);
	if (__builtin_expect(ibv_post_send(qp_of(pair), &wr, &bad) != 0, 0))
		fail(pair, request, DAT_DTO_ERR_TRANSPORT);
	return DAT_SUCCESS;
}

static __attribute__((noinline)) DAT_RETURN post_list(dev_pair *pair, const dat_post *post)
{
	return post_work(pair, post, post->num_segments);
}

DAT_RETURN dev_post(dev_pair *pair, const dat_post *post)
{
	return __builtin_expect(post->num_segments == 1, 1) ? post_work(pair, post, 1)
	                                                   : post_list(pair, post);
}

/* A datagram that the adapter refuses is not posted. */
DAT_RETURN dev_post_datagram(dev_pair *pair, const dat_post *post, uint64_t ah, uint32_t qpn,
                             uint32_t qkey)
{
	own_memory own;
	struct ibv_send_wr wr = {
		.wr_id = completion_number(pair->serial, pair->sent + pair->requests),
		.opcode = IBV_WR_SEND};
	struct ibv_send_wr *bad;

	if (!pair->qp)
		return NO_RESOURCE(TEP);
	find_memory(pair->adapter, pair->pz, RC_READ_IT, post->num_segments, post->local_iov, &own);
	if (own.count < 0)
		return DAT_CLASS_ERROR | DAT_PROTECTION_VIOLATION | DAT_PROTECTION_READ;
	wr.sg_list = own.list;
	wr.num_sge = own.count;
	wr.send_flags = flags_of(post->completion & ~(uint32_t)DAT_COMPLETION_BARRIER_FENCE_FLAG) |
	                go_inline(pair, post, &own);
	wr.wr.ud.ah = (struct ibv_ah *)(uintptr_t)ah;
	wr.wr.ud.remote_qpn = qpn;
	wr.wr.ud.remote_qkey = qkey;
	if (ibv_post_send(qp_of(pair), &wr, &bad))
		return NO_RESOURCE(TEP);
	new_request(pair, post, &own);
	pair->requests++;
	dat_count_post(pair->counters, post, own.n);
	return DAT_SUCCESS;
}

#define NOT_WRITABLE (DAT_CLASS_ERROR | DAT_PROTECTION_VIOLATION | DAT_PROTECTION_WRITE)

static void flush_receive(const dev_pair *pair, uint64_t cookie)
{
	const dat_arrived arrived = {.evd = pair->recv,
	                             .ep = pair->ep,
	                             .cookie = cookie,
	                             .status = DAT_DTO_ERR_FLUSHED,
	                             .operation = pair->datagrams ? DAT_IB_DTO_RECV_UD
	                                                          : DAT_DTO_RECEIVE};

	dat_receive_over(&arrived);
}

void dev_receive_failed(dev_pair *pair)
{
	pair->receives--;
	flush_receive(pair, receive_at(pair, pair->taken + pair->receives)->cookie);
}

/* A receive without a queue pair is flushed, and a receive that the adapter refuses. */
static inline __attribute__((always_inline)) DAT_RETURN post_receive(dev_pair *pair,
                                                                     DAT_COUNT count,
                                                                     const DAT_LMR_TRIPLET *list,
                                                                     uint64_t cookie)
{
	own_memory own;
	struct ibv_recv_wr wr, *bad;
	uint32_t number = pair->taken + pair->receives;
	dev_receive *receive;

	find_memory(pair->adapter, pair->pz, RC_WRITE_IT, count, list, &own);
	if (__builtin_expect(own.count < 0, 0))
		return NOT_WRITABLE;
	pair->counters[DCNT_EP_POST_RECV]++;
	pair->counters[DCNT_EP_POST_RECV + 1] += own.n; /* bytes */
	wr.wr_id = RECEIVE_BIT | completion_number(pair->serial, number);
	wr.next = NULL;
	wr.sg_list = own.list;
	wr.num_sge = own.count;
	if (__builtin_expect(!pair->qp || ibv_post_recv(qp_of(pair), &wr, &bad), 0)) {
		flush_receive(pair, cookie);
		return DAT_SUCCESS;
	}
	receive = receive_at(pair, number);
	receive->cookie = cookie;
	receive->local = own.count ? own.at[0] : 0;
	receive->n = own.n;
	pair->receives++;
	return DAT_SUCCESS;
}

static __attribute__((noinline)) DAT_RETURN receive_list(dev_pair *pair, DAT_COUNT count,
                                                         const DAT_LMR_TRIPLET *list,
                                                         uint64_t cookie)
{
	return post_receive(pair, count, list, cookie);
}

DAT_RETURN dev_post_receive(dev_pair *pair, DAT_COUNT count, const DAT_LMR_TRIPLET *list,
                            uint64_t cookie)
{
	return __builtin_expect(count == 1, 1) ? post_receive(pair, 1, list, cookie)
	                                       : receive_list(pair, count, list, cookie);
}

DAT_RETURN dev_post_shared(dev_queue *queue, DAT_COUNT count, const DAT_LMR_TRIPLET *list,
                           uint64_t cookie)
{
	own_memory own;
	struct ibv_recv_wr wr, *bad;
	uint32_t place = queue->free;
	dev_receive *receive;

	find_memory(queue->adapter, queue->pz, RC_WRITE_IT, count, list, &own);
	if (__builtin_expect(own.count < 0, 0))
		return NOT_WRITABLE;
	wr.wr_id = RECEIVE_BIT | completion_number(queue->serial, place);
	wr.next = NULL;
	wr.sg_list = own.list;
	wr.num_sge = own.count;
	if (place >= queue->room ||
	    ibv_post_srq_recv((struct ibv_srq *)(uintptr_t)queue->srq, &wr, &bad))
		return NO_RESOURCE(SRQ);
	receive = &queue->receives[place];
	queue->free = receive->next;
	receive->cookie = cookie;
	receive->local = own.count ? own.at[0] : 0;
	receive->n = own.n;
	receive->next = place;
	queue->posted++;
	return DAT_SUCCESS;
}

uint64_t dev_bind(dev_pair *pair, uint64_t cookie)
{
	uint32_t number = pair->sent + pair->requests++;

	*request_at(pair, number) = (dev_request){.cookie = cookie, .op = RC_BIND};
	pair->special++;
	return completion_number(pair->serial, number);
}

void dev_known(dev_pair *pair)
{
	request_at(pair, pair->sent + pair->requests - 1)->known = 1;
}
