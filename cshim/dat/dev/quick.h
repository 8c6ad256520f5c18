/*
 * quick.h - posts that are legal beyond doubt and are posted in place, without a call but the adapter's:
 * one segment, in memory that its context may name, of an endpoint that is connected and has room.
 * Whatever is not so is judged as a whole (rc_post), which knows the codes; nothing was done of it
 * then. Also what posts of either kind share. For this room and the entry points of posts.
 *
 * Everything under the block's lock.
 */
#ifndef DAT_DEV_QUICK_H
#define DAT_DEV_QUICK_H

#include <infiniband/verbs.h>

#include "dat/dev/dev.h"

/* The beginning of a dev_adapter: memory by context, a hash table; and what requests may be. */
typedef struct dev_names {
	dev_memory *memory;
	uint32_t mask; /* places - 1 */
	uint32_t max_inline, lacks;
} dev_names;

/*
 * The number of a completion has the serial of its pair or queue, and the request's or receive's
 * there. The highest bit marks receives: the adapter does not say whether a failed completion is of
 * a receive or a request.
 */
#define RECEIVE_BIT ((uint64_t)1 << 63)

static inline uint64_t completion_number(uint32_t serial, uint32_t number)
{
	return (uint64_t)serial << 32 | number;
}

static inline dev_request *request_at(const dev_pair *pair, uint32_t number)
{
	return &pair->request_ring[number & pair->request_mask];
}

static inline dev_receive *receive_at(const dev_pair *pair, uint32_t number)
{
	return &pair->receive_ring[number & pair->receive_mask];
}

static inline struct ibv_qp *qp_of(const dev_pair *pair)
{
	return (struct ibv_qp *)(uintptr_t)pair->qp;
}

static inline uint32_t dev_hash(uint32_t context)
{
	return (context * 0x9e3779b1u) >> 8; /* keys differ in their middle bits most */
}

/* Where n bytes are that a triplet names; 0: they are not to be accessed so. */
static inline uint64_t place_of(const dev_memory *m, uint64_t pz, int access,
                                const DAT_LMR_TRIPLET *t)
{
	uint64_t offset;

	if (!m || m->pz != pz ||
	    (access == RC_WRITE_IT && !(m->privileges & DAT_MEM_PRIV_LOCAL_WRITE_FLAG)) ||
	    (access == RC_WRITE_WINDOW && !(m->privileges & (DAT_MEM_PRIV_REMOTE_WRITE_FLAG |
	                                                     DAT_MEM_PRIV_LOCAL_WRITE_FLAG))))
		return 0;
	offset = t->virtual_address - m->start; /* what lies before it wraps round, past its end */
	return offset > m->n || t->segment_length > m->n - offset ? 0 : m->addr + offset;
}

static inline unsigned flags_of(uint32_t completion)
{
	return IBV_SEND_SIGNALED |
	       (completion & DAT_COMPLETION_SOLICITED_WAIT_FLAG ? IBV_SEND_SOLICITED : 0) |
	       (completion & DAT_COMPLETION_BARRIER_FENCE_FLAG ? IBV_SEND_FENCE : 0);
}

/* The segment of a post where it is as the adapter wants it; *at is where it lies. 0: a closer look
 * is needed. */
static inline __attribute__((always_inline)) int
dev_quick_memory(const dev_pair *pair, int access, const DAT_LMR_TRIPLET *local, struct ibv_sge *sge,
                 uint64_t *at)
{
	const dev_names *names = (const dev_names *)(const void *)pair->adapter;
	uint32_t context = local->lmr_context;
	const dev_memory *m = &names->memory[dev_hash(context) & names->mask];
	uint64_t offset, end;

	if (__builtin_expect(m->context != context || m->of != DEV_OF_LMR || m->pz != pair->pz ||
	                             local->segment_length - 1 >= pair->most_bytes ||
	                             (access == RC_WRITE_IT &&
	                              !(m->privileges & DAT_MEM_PRIV_LOCAL_WRITE_FLAG)),
	                     0))
		return 0;
	offset = local->virtual_address - m->start; /* as place_of has it */
	if (__builtin_expect(__builtin_add_overflow(offset, local->segment_length, &end) || end > m->n,
	                     0))
		return 0;
	*at = m->addr + offset;
	sge->addr = local->virtual_address + m->shift;
	sge->length = local->segment_length;
	sge->lkey = m->key;
	return 1;
}

/* The outcome of a post. */
enum {
	DEV_JUDGE, /* nothing, as it is to be judged */
	DEV_POSTED,
	DEV_REFUSED /* the adapter has refused it, so core may have something to do */
};

/* A post as the entry points have it, in registers: op and flags are constants. */
typedef struct dev_quick {
	int op;
	uint8_t flags; /* 0 or RC_IMMEDIATE */
	const DAT_LMR_TRIPLET *local;
	uint64_t cookie;
	const DAT_RMR_TRIPLET *remote;
	uint32_t completion, data;
	uint64_t operand, compare;
} dev_quick;

/* 1 if the arguments beside the local memory need no closer look. */
static inline __attribute__((always_inline)) int dev_quick_legal(const dev_pair *pair,
                                                                 const dev_quick *post)
{
	const dev_names *names = (const dev_names *)(const void *)pair->adapter;

	if (__builtin_expect(pair->requests >= pair->most_requests, 0) ||
	    (__builtin_expect(post->completion != 0, 0) && post->completion & ~DAT_COMPLETION_KNOWN))
		return 0;
	if (post->op >= RC_READ && __builtin_expect(!pair->reads, 0))
		return 0;
	if (post->op == RC_WRITE || post->op == RC_READ)
		return post->remote->segment_length >= post->local->segment_length;
	return post->op == RC_SEND ||
	       (post->local->segment_length == 8 && !names->lacks &&
	        !((post->local->virtual_address | post->remote->virtual_address) % 8));
}

static inline __attribute__((always_inline)) void dev_quick_work(struct ibv_send_wr *wr,
                                                                 const dev_quick *post)
{
	switch (post->op) {
	case RC_SEND:
		wr->opcode = IBV_WR_SEND;
		break;
	case RC_WRITE:
		wr->opcode = post->flags & RC_IMMEDIATE ? IBV_WR_RDMA_WRITE_WITH_IMM
		                                        : IBV_WR_RDMA_WRITE;
		if (post->flags & RC_IMMEDIATE)
			wr->imm_data = post->data;
		break;
	case RC_READ:
		wr->opcode = IBV_WR_RDMA_READ;
		break;
	case RC_SWAP:
	case RC_ADD:
		wr->opcode = post->op == RC_ADD ? IBV_WR_ATOMIC_FETCH_AND_ADD
		                                : IBV_WR_ATOMIC_CMP_AND_SWP;
		wr->wr.atomic.remote_addr = post->remote->virtual_address;
		wr->wr.atomic.rkey = post->remote->rmr_context;
		wr->wr.atomic.compare_add = post->op == RC_ADD ? post->operand : post->compare;
		wr->wr.atomic.swap = post->operand;
		return;
	}
	if (post->op != RC_SEND) {
		wr->wr.rdma.remote_addr = post->remote->virtual_address;
		wr->wr.rdma.rkey = post->remote->rmr_context;
	}
}

static inline __attribute__((always_inline)) void dev_quick_note(dev_request *request,
                                                                 const dev_quick *post, uint32_t n,
                                                                 uint64_t at)
{
	request->cookie = post->cookie;
	request->local = at;
	request->remote = post->op == RC_SEND ? 0 : post->remote->virtual_address;
	request->n = n;
	if (post->flags & RC_IMMEDIATE)
		request->data = post->data;
	request->completion = post->completion;
	request->op = (uint8_t)post->op;
	request->flags = post->flags;
	request->known = 1;
	request->status = DAT_DTO_SUCCESS;
}

/* Posts a request. */
static inline __attribute__((always_inline)) int dev_post_quickly(dev_pair *pair,
                                                                  const dev_quick *post)
{
	const dev_names *names = (const dev_names *)(const void *)pair->adapter;
	const dat_post counted = {.op = post->op, .flags = post->flags};
	uint32_t number = pair->sent + pair->requests;
	struct ibv_send_wr wr, *bad;
	struct ibv_sge sge;
	uint64_t at;

	if (!dev_quick_legal(pair, post) ||
	    !dev_quick_memory(pair, dat_access_of(&counted), post->local, &sge, &at))
		return DEV_JUDGE;
	wr.wr_id = completion_number(pair->serial, number);
	wr.next = NULL;
	wr.sg_list = &sge;
	wr.num_sge = 1;
	wr.send_flags = IBV_SEND_SIGNALED;
	if (__builtin_expect(post->completion != 0, 0))
		wr.send_flags = flags_of(post->completion);
	if (post->op <= RC_WRITE && !(post->flags & RC_IMMEDIATE) && sge.length <= names->max_inline) {
		wr.send_flags |= IBV_SEND_INLINE; /* copied at the post, from its own address */
		sge.addr = at;
	}
	dev_quick_work(&wr, post);
	dev_quick_note(request_at(pair, number), post, sge.length, at);
	dat_count_post(pair->counters, &counted, sge.length);
	pair->requests++;
	if (__builtin_expect(ibv_post_send(qp_of(pair), &wr, &bad) == 0, 1))
		return DEV_POSTED;
	dev_post_failed(pair);
	return DEV_REFUSED;
}

/* The same for a receive. If the adapter refuses it, it is flushed. */
static inline __attribute__((always_inline)) int
dev_receive_quickly(dev_pair *pair, const DAT_LMR_TRIPLET *local, uint64_t cookie)
{
	uint32_t number = pair->taken + pair->receives;
	struct ibv_recv_wr wr, *bad;
	dev_receive *receive;
	struct ibv_sge sge;
	uint64_t at;

	if (__builtin_expect(pair->receives >= pair->most_receives, 0) ||
	    !dev_quick_memory(pair, RC_WRITE_IT, local, &sge, &at))
		return DEV_JUDGE;
	wr.wr_id = RECEIVE_BIT | completion_number(pair->serial, number);
	wr.next = NULL;
	wr.sg_list = &sge;
	wr.num_sge = 1;
	receive = receive_at(pair, number);
	receive->cookie = cookie;
	receive->local = at;
	receive->n = sge.length;
	pair->counters[DCNT_EP_POST_RECV]++;
	pair->counters[DCNT_EP_POST_RECV + 1] += sge.length; /* bytes */
	pair->receives++;
	if (__builtin_expect(ibv_post_recv(qp_of(pair), &wr, &bad) == 0, 1))
		return DEV_POSTED;
	dev_receive_failed(pair);
	return DEV_REFUSED;
}

#endif
