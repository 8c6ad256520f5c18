/*
 * dev.h - the device engine: posts to RDMA adapters and their completions (docs/dev/dat.md). Core makes
 * the adapter's objects, connects queue pairs, and ends them; what a message passes is here. The
 * contract of this room. Everything runs under the block's lock.
 *
 * A completion that is as usual becomes an event here. At any other one (of a request that has
 * failed, a bind, a send that has invalidated) its completion queue stops, and core takes it by
 * dev_step, and those behind it after it. No function calls core, or waits.
 */
#ifndef DAT_DEV_H
#define DAT_DEV_H

#include "dat/post.h"

typedef struct dev_adapter dev_adapter;
typedef struct dev_pool dev_pool; /* a completion queue */

/* 1: some completion queue has stopped, or a queue pair has something for core. Core clears it. */
extern int dev_work;

/* Pairs of late, each in the place of its endpoint's handle, dev_recent_of; else a pair that is no
 * endpoint's. */
#define DEV_RECENT 64
extern struct dev_pair *dev_recent[DEV_RECENT];

/* A request, until it is complete. */
typedef struct dev_request {
	uint64_t cookie;
	uint64_t local, remote; /* addresses, for reports */
	uint32_t n, data;       /* bytes; immediate */
	uint32_t completion;    /* DAT_COMPLETION_FLAGS */
	uint8_t op, flags;      /* RC_ */
	/* 0: the adapter does not know it. It is complete, with this status, when all before it are */
	uint8_t known, status;
} dev_request;

/* A receive likewise. */
typedef struct dev_receive {
	uint64_t cookie;
	uint64_t local; /* address of its first byte */
	uint32_t n;
	uint32_t next; /* of a shared queue: its place, while it is posted; else the next free place */
} dev_receive;

#define DEV_PAIR 1u
#define DEV_QUEUE 2u

/* Receives that several pairs share. */
typedef struct dev_queue {
	uint32_t kind, serial; /* as dev_pair */
	dev_adapter *adapter;
	uint64_t srq; /* the adapter's */
	uint64_t pz;  /* handle */
	dev_receive *receives;
	uint32_t room, free; /* places; the first of those that are free */
	uint32_t posted;     /* receives that are not complete */
	uint32_t low;        /* core is notified when fewer are; 0: not */
	uint32_t is_low, zero;
} dev_queue;

/* A queue pair and its posts. First the fields that every post touches. */
typedef struct dev_pair {
	uint32_t kind, serial; /* DEV_PAIR; in the numbers of completions */
	dev_adapter *adapter;
	uint64_t qp; /* the adapter's; 0: none */
	uint64_t pz; /* handle */
	/*
	 * While fewer requests, or receives, are posted, one of a segment of 1 to most_bytes bytes is
	 * legal as far as the endpoint's state and limits go. 0: each is judged as a whole. By core,
	 * but most_requests by dev_set_open.
	 */
	uint32_t most_requests, most_receives, most_bytes;
	uint32_t limit; /* by core: most_requests while the pair is open */
	uint32_t open;  /* requests go to the adapter; else they are flushed in their turn */
	uint32_t reads; /* that may be under way; 0: none can be posted */
	/* requests: the number of the oldest, how many, places - 1; receives of its own likewise */
	uint32_t sent, requests, request_mask;
	uint32_t taken, receives, receive_mask;
	uint32_t special; /* posted requests that core completes, or that the adapter does not know */
	dev_request *request_ring;
	dev_receive *receive_ring;
	uint64_t ep, recv, request; /* handles; 0: none */
	dev_queue *queue;           /* of its receives; NULL: it has its own */
	struct dev_pair *next;      /* of those whose numbers are in the same bucket */
	uint32_t number;            /* of the queue pair */
	uint32_t closing;           /* core is notified when no request is left */
	uint32_t datagrams;         /* it is a UD endpoint's */
	uint32_t silent;            /* good receives end no wait until core wakes their EVD */
	uint64_t counters[24];      /* DAT_EP_COUNTERS */
} dev_pair;

static inline struct dev_pair **dev_recent_of(uint64_t ep)
{
	return &dev_recent[ep / sizeof(dat_slot) % DEV_RECENT];
}

/* Whether requests go to the adapter; also after a change of limit. */
static inline void dev_set_open(dev_pair *pair, uint32_t open)
{
	pair->open = open;
	pair->most_requests = open ? pair->limit : 0;
}

#define DEV_OF_LMR 1u
#define DEV_OF_RMR 2u

/* Memory that a context of local triplets names. */
typedef struct dev_memory {
	uint64_t addr, n;    /* where it is */
	uint64_t start;      /* what the program has for its first address */
	uint64_t shift;      /* from the program's addresses to those of the key */
	uint64_t pz;         /* handle */
	uint32_t context, key; /* the key is what the adapter wants */
	uint16_t privileges; /* DAT_MEM_PRIV_FLAGS */
	uint16_t of;         /* DEV_OF_; 0: the place is free */
	uint32_t zero[3];    /* up to a power of two */
} dev_memory;

/* A completion that is core's, or something that a pair has for it. */
typedef struct dev_notice {
	dev_pair *pair;   /* NULL: the pair is gone */
	dev_queue *queue; /* of a shared receive */
	uint32_t receive; /* 1: it is of a receive */
	uint32_t skips;   /* 1: of a receive of its own, and completions of those before it were lost */
	uint32_t number;  /* of the request, or receive */
	uint32_t qpn, status, vendor_err; /* of ibv_wc */
	uint32_t n, immediate, key;
	uint32_t has_data, by_write, invalidated, perhaps; /* as ibv.Completion */
} dev_notice;

#define DEV_NO_INVALIDATES 1u
#define DEV_NO_ATOMICS 2u

/* device.c: an adapter; NULL: there is no memory. lacks: operations that it does not have. */
dev_adapter *dev_open(uint32_t max_inline, uint32_t lacks);
void dev_close(dev_adapter *adapter);
/* Gives a context its memory; 0: there is no memory for that. */
int dev_add_memory(dev_adapter *adapter, const dev_memory *memory);
void dev_remove_memory(dev_adapter *adapter, uint32_t context, uint32_t of);
/* A completion queue of the adapter, which this room alone polls. */
dev_pool *dev_add_pool(dev_adapter *adapter, uint64_t cq);
void dev_remove_pool(dev_adapter *adapter, dev_pool *pool);

/* pair.c: a pair without a queue pair, with room for these requests and receives; NULL: there is no
 * memory. Core closes it when nothing is posted any more. */
dev_pair *dev_open_pair(dev_adapter *adapter, uint32_t requests, uint32_t receives);
void dev_close_pair(dev_pair *pair);
/* Up to which posts need no closer look (dev_pair), by the endpoint's state and attributes. */
void dev_set_limits(dev_pair *pair, uint32_t requests, uint32_t receives, uint32_t bytes);
/* It has this queue pair; 0: there is no memory. */
int dev_begin_pair(dev_pair *pair, uint64_t qp, uint32_t number, dev_queue *queue);
/* It has none any more: late completions of its own are dropped; receives of its shared queue still
 * have their events. */
void dev_end_pair(dev_pair *pair);
/* No event goes to an EVD any more. */
void dev_forget_evd(dev_adapter *adapter, uint64_t evd);
dev_queue *dev_open_queue(dev_adapter *adapter, uint64_t srq, uint64_t pz, uint32_t receives);
void dev_close_queue(dev_queue *queue);
int dev_resize_queue(dev_queue *queue, uint32_t receives);

/* post.c: posts, which were judged. */
DAT_RETURN dev_post(dev_pair *pair, const dat_post *post);
/* A datagram to the queue pair qpn, by an address handle. */
DAT_RETURN dev_post_datagram(dev_pair *pair, const dat_post *post, uint64_t ah, uint32_t qpn,
                             uint32_t qkey);
DAT_RETURN dev_post_receive(dev_pair *pair, DAT_COUNT count, const DAT_LMR_TRIPLET *list,
                            uint64_t cookie);
DAT_RETURN dev_post_shared(dev_queue *queue, DAT_COUNT count, const DAT_LMR_TRIPLET *list,
                           uint64_t cookie);
/* The adapter has refused the newest request: it completes in its turn, which core sees to. Or the
 * newest receive, which is flushed. */
void dev_post_failed(dev_pair *pair);
void dev_receive_failed(dev_pair *pair);
/* A bind, which core posts by that number (of a completion), and completes in its turn. Until
 * dev_known the adapter does not know it. */
uint64_t dev_bind(dev_pair *pair, uint64_t cookie);
void dev_known(dev_pair *pair);

/* poll.c: takes completions, all that there are up to a bound. 1: some were there. */
int dev_poll(void);
/* 1: there may be completions, for dev_poll_for. 0: there are none. */
int dev_some(void);
/* The same as dev_poll, until an EVD (a handle) has got an event, one at a time. */
void dev_poll_for(uint64_t evd);
/*
 * Core's turn: takes completions of a pool (NULL: of all) until none is there, or the next is
 * core's: then it is in *notice, and the result is 1. *made counts the completions that were taken.
 */
int dev_step(dev_adapter *adapter, dev_pool *pool, dev_notice *notice, uint32_t *made);
/* The oldest request; NULL: there is none. */
const dev_request *dev_oldest(const dev_pair *pair);
/* Completes the oldest request; a bind has no event here. */
void dev_finish_request(dev_pair *pair, uint32_t status);
/* The receive of a notice; NULL: there is none. */
const dev_receive *dev_receive_of(const dev_notice *notice);
/* Completes it, with a status of DAT's. invalidated: its send has freed the window of key. */
void dev_finish_receive(const dev_notice *notice, uint32_t status, int invalidated);
/* Completes all receives of a pair's own. */
void dev_flush_receives(dev_pair *pair);

#endif
