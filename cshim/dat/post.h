/*
 * post.h - a post as the entry points pass it to the engines, and the event of its completion.
 * Everything under the block's lock.
 */
#ifndef DAT_POST_H
#define DAT_POST_H

#include "dat/common.h"
#include "dat/request.h"

typedef struct dat_post {
	int op;         /* RC_SEND ... */
	uint8_t flags;  /* RC_IMMEDIATE ... */
	uint8_t params; /* RC_PARAMS_... */
	DAT_COUNT num_segments;
	const DAT_LMR_TRIPLET *local_iov;
	uint64_t cookie;
	const DAT_RMR_TRIPLET *remote_iov; /* of a write or read */
	uint32_t data;             /* immediate; the context to invalidate */
	uint64_t operand, compare; /* of an atomic operation */
	uint32_t completion;       /* DAT_COMPLETION_FLAGS */
} dat_post;

/* The flags that a post may have. */
#define DAT_COMPLETION_KNOWN                                                                       \
	((uint32_t)(DAT_COMPLETION_SUPPRESS_FLAG | DAT_COMPLETION_SOLICITED_WAIT_FLAG |            \
	            DAT_COMPLETION_UNSIGNALLED_FLAG | DAT_COMPLETION_BARRIER_FENCE_FLAG |          \
	            DAT_COMPLETION_EVD_THRESHOLD_FLAG | DAT_COMPLETION_LMR_INVALIDATE_FENCE_FLAG))

/* How the program's own memory is accessed: as any of it may be; written; through an RMR. */
enum { RC_READ_IT, RC_WRITE_IT, RC_WRITE_WINDOW };

static inline int dat_access_of(const dat_post *post)
{
	return post->op < RC_READ || post->op == RC_DATAGRAM ? RC_READ_IT
	       : post->flags & RC_TO_RMR                     ? RC_WRITE_WINDOW
	                                                     : RC_WRITE_IT;
}

/* Counts a post of n bytes among the counters of an endpoint (DAT_EP_COUNTERS). */
static inline void dat_count_post(uint64_t *counters, const dat_post *post, uint64_t n)
{
	static const uint8_t of[] = {[RC_SEND] = DCNT_EP_POST_SEND,
	                             [RC_WRITE] = DCNT_EP_POST_WRITE,
	                             [RC_READ] = DCNT_EP_POST_READ,
	                             [RC_SWAP] = DCNT_EP_POST_CMP_SWAP,
	                             [RC_ADD] = DCNT_EP_POST_FETCH_ADD,
	                             [RC_DATAGRAM] = DCNT_EP_POST_SEND_UD};
	int counter = post->flags & RC_IMMEDIATE ? DCNT_EP_POST_WRITE_IMM : of[post->op];

	counters[counter]++;
	if (post->op != RC_SWAP && post->op != RC_ADD)
		counters[counter + 1] += n;
}

/*
 * Clears n bytes, a constant multiple of 8 up to 128. Of an initializer of that size compilers make
 * a string instruction, which takes longer than all else that is done to the memory. No loop, of
 * which they make the same.
 */
static inline __attribute__((always_inline)) void dat_clear(void *memory, size_t n)
{
	typedef uint64_t __attribute__((vector_size(16), aligned(8), may_alias)) two;
	typedef uint64_t __attribute__((may_alias)) one;
	const two zero = {0, 0};
	two *at = memory;

	if (n >= 16)
		at[0] = zero;
	if (n >= 32)
		at[1] = zero;
	if (n >= 48)
		at[2] = zero;
	if (n >= 64)
		at[3] = zero;
	if (n >= 80)
		at[4] = zero;
	if (n >= 96)
		at[5] = zero;
	if (n >= 112)
		at[6] = zero;
	if (n >= 128)
		at[7] = zero;
	if (n % 16)
		((one *)memory)[n / 8 - 1] = 0;
}

/* A completion as events have it (core/dat/event.go). */
typedef struct dat_completion {
	uint32_t number, zero;
	uint64_t evd, ep, cookie;
	uint32_t status, length, operation, context;
	uint32_t proposed, proposed_data; /* what the proposal of 2005 has there */
	uint32_t kind, kind_status, data; /* the extension's */
	uint32_t rest[13];
} dat_completion;

_Static_assert(sizeof(dat_completion) == sizeof(evd_event), "it is one");
_Static_assert(sizeof(dat_completion) <= 128, "dat_clear can");

/* Begins an event: all other members are 0. */
static inline dat_completion *dat_completion_at(void *event, uint64_t evd, uint64_t ep,
                                                uint64_t cookie)
{
	dat_completion *c = event;

	dat_clear(c, sizeof(*c));
	c->number = DAT_DTO_COMPLETION_EVENT;
	c->evd = evd;
	c->ep = ep;
	c->cookie = cookie;
	return c;
}

/* Makes it an extended event. */
static inline void dat_extend(dat_completion *c, uint32_t kind, uint32_t proposed, uint32_t data)
{
	c->number = DAT_IB_DTO_EVENT;
	c->kind = kind;
	c->kind_status = c->status;
	c->proposed = proposed;
	c->data = c->proposed_data = data;
}

/* A request that is over, as its event describes it. */
typedef struct dat_over {
	uint64_t evd, ep, cookie; /* handles */
	uint32_t n, data;         /* bytes if it has succeeded; immediate */
	uint32_t status, completion;
	uint8_t op, flags;
} dat_over;

static inline void dat_extend_request(dat_completion *c, const dat_over *over)
{
	switch (over->op) {
	case RC_WRITE:
		if (over->flags & RC_IMMEDIATE) {
			dat_extend(c, DAT_IB_RDMA_WRITE_IMMED, 1, over->data);
			c->operation = DAT_IB_DTO_RDMA_WRITE_IMMED;
		}
		break;
	case RC_SWAP:
		dat_extend(c, DAT_IB_CMP_AND_SWAP, 6, 0);
		break;
	case RC_ADD:
		dat_extend(c, DAT_IB_FETCH_AND_ADD, 5, 0);
		break;
	case RC_DATAGRAM:
		dat_extend(c, DAT_IB_UD_SEND, 0, 0);
		c->length = over->n;
		break;
	}
}

/* Posts the event of a request, if it is to have one. */
static inline void dat_request_over(const dat_over *over)
{
	static const uint8_t operations[] = {[RC_SEND] = DAT_DTO_SEND,
	                                     [RC_WRITE] = DAT_DTO_RDMA_WRITE,
	                                     [RC_READ] = DAT_DTO_RDMA_READ,
	                                     [RC_SWAP] = DAT_IB_DTO_CMP_SWAP,
	                                     [RC_ADD] = DAT_IB_DTO_FETCH_ADD,
	                                     [RC_DATAGRAM] = DAT_IB_DTO_SEND_UD};
	dat_completion full, *c;
	void *event;

	if (!over->status && over->completion & DAT_COMPLETION_SUPPRESS_FLAG)
		return;
	event = evd_place(over->evd);
	c = dat_completion_at(event ? event : &full, over->evd, over->ep, over->cookie);
	c->status = over->status;
	c->length = over->status ? 0 : over->n;
	c->operation = operations[over->op];
	if (over->op != RC_SEND)
		dat_extend_request(c, over);
	if (event)
		evd_placed(over->evd, DCNT_EVD_DTO_CALLBACK, 0);
	else
		evd_post(over->evd, (evd_event *)(void *)&full, 0);
}

/* A receive that is over, as its event describes it. */
typedef struct dat_arrived {
	uint64_t evd, ep, cookie; /* handles */
	uint32_t n;               /* bytes */
	uint32_t status;
	uint32_t operation; /* DAT_DTO_RECEIVE ...; of immediate data its own */
	uint32_t context;   /* that was invalidated */
	uint32_t data;      /* immediate */
	int silent;         /* it ends no wait */
} dat_arrived;

/* Posts the event of a receive. */
static inline void dat_receive_over(const dat_arrived *a)
{
	dat_completion full, *c;
	void *event = evd_place(a->evd);

	c = dat_completion_at(event ? event : &full, a->evd, a->ep, a->cookie);
	c->status = a->status;
	c->length = a->n;
	c->context = a->context;
	c->operation = a->operation;
	if (a->operation == DAT_IB_DTO_RECV_IMMED || a->operation == DAT_IB_DTO_RECV_MSG_IMMED)
		dat_extend(c, DAT_IB_RDMA_WRITE_IMMED_DATA, 3, a->data);
	else if (a->operation == DAT_IB_DTO_RECV_UD)
		dat_extend(c, DAT_IB_UD_RECV, 0, 0);
	if (event)
		evd_placed(a->evd, DCNT_EVD_DTO_CALLBACK, a->silent);
	else if (a->evd)
		evd_post(a->evd, (evd_event *)(void *)&full, a->silent);
}

#endif
