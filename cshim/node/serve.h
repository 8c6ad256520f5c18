/*
 * serve.h - what the target, and the origin when an answer comes, do with the messages of
 * message.h. Under the owner's lock.
 */
#ifndef NODE_SERVE_H
#define NODE_SERVE_H

#include "node/guard.h"
#include "node/op.h"

/* Results of node_serve. But for NODE_LATER and NODE_OTHERS the message was dealt with, and is out
 * of the ring. */
#define NODE_SERVED 16   /* there is nothing to report */
#define NODE_ARRIVED 17  /* a put of n bytes is complete: notice */
#define NODE_WAS_READ 18 /* memory of this task was read: notice, n */
#define NODE_ANSWERED 19 /* an operation of this task is over: done; value */
#define NODE_FAILED 20   /* likewise, but addr could not be accessed at the target */
#define NODE_STRANDED 21 /* likewise, but the answer could not be stored at addr */
/*
 * a request or put named an address of this task that cannot be accessed: addr; op is NODE_OP_ of
 * the request, 0: a put
 */
#define NODE_FAULT 22
/* a request for which there is no room, or a word that is not aligned: nothing was done */
#define NODE_LATER 23
#define NODE_BROKEN 24 /* no peer sends such a message */
/*
 * of an answer: the peer did not read what it was to put in place, or this task did not write its
 * half: all of the put goes again, in messages. The place of done has its address and length here;
 * addr is where to; notice
 */
#define NODE_AGAIN 25

#define NODE_OTHERS 26 /* an answer that another issuer takes */

/*
 * Deals with the message of a kind of message.h at the head of peer's ring, for an issuer of
 * operations (NODE_BY_). event gets what the result says, and of NODE_LATER the request.
 */
int node_serve(node_link *link, node_peer *peer, const node_arrival *arrival, uint8_t by,
               node_event *event);
/* pull.c: a request to read this put from the peer's memory, and the messages behind it. */
int node_serve_pull(node_link *link, node_peer *peer, const node_arrival *arrival,
                    node_event *event);
int node_serve_half(node_link *link, const node_peer *peer, const node_arrival *arrival,
                    node_event *event);
/* push.c: a get whose data this task writes to the peer's memory. */
int node_serve_push(node_link *link, node_peer *peer, const node_arrival *arrival,
                    node_event *event);
/* An answer to such a get that says that it is over, with data bytes: 1 if another answer
 * follows. */
int node_push_goes_on(node_link *link, node_op *op, uint64_t data);
/* Answers a get with messages, from a byte of it on. */
int node_serve_long_get(node_link *link, node_peer *peer, const node_get_header *get, uint64_t at,
                        node_event *event);
/* The answer to a pull: NODE_REPLY_OK or NODE_REPLY_AGAIN. NODE_SENT, or NODE_BUSY … */
int node_answer_pull(node_link *link, node_peer *peer, uint32_t token, uint32_t state,
                     uint64_t value, const node_pulled *pulled);
/* The result of such an answer for op: NODE_ANSWERED or NODE_AGAIN. */
int node_pull_over(node_link *link, const node_arrival *arrival, const node_reply_header *reply,
                   node_peer *peer, const node_op *op, node_event *event);

/* An answer in one slot, with n bytes of data. */
static inline __attribute__((always_inline)) int
node_reply(node_link *link, node_peer *peer, node_reply_header answer, uint64_t addr, uint64_t n)
{
	node_reply_header *header = node_short_begin(peer);

	if (!header)
		return NODE_BUSY;
	if (n && node_guarded_copy_short(header + 1, node_memory_at(addr), n))
		return NODE_BAD_LOCAL;
	*header = answer;
	return node_short_end(link, peer, NODE_REPLY, sizeof(*header), n);
}

#define NODE_REPLY_SHORT (NODE_ONE_SLOT - sizeof(node_reply_header)) /* bytes of data */

/* 1 if a get has its answer, in slots. */
static inline int node_answer_slots_get(node_link *link, node_peer *peer,
                                        const node_get_header *get)
{
	const node_reply_header answer = {(uint32_t)get->token, NODE_REPLY_OK, 0};

	if (get->n - 1 >= NODE_INLINE_MAX || peer->closed)
		return 0;
	return (get->n <= NODE_REPLY_SHORT
	                ? node_reply(link, peer, answer, get->addr, get->n)
	                : node_send(link, peer, NODE_REPLY, &answer, sizeof(answer), get->addr,
	                            get->n)) == NODE_SENT;
}

/*
 * Sends the data that a get asked for, from *at on, and moves *at; NODE_SENT: all went.
 * NODE_BAD_LOCAL: the data cannot be read; the failure was sent to the origin, if there was room
 * (then *at is n), else try again.
 */
int node_answer_get(node_link *link, node_peer *peer, uint32_t token, uint64_t addr, uint64_t n,
                    uint64_t *at);
/* Answers an operation on a word, or, with NODE_REPLY_FAILED and the bad address, any request.
 * NODE_SENT, or NODE_BUSY … */
int node_answer(node_link *link, node_peer *peer, uint32_t token, uint32_t state, uint64_t value);

/*
 * A whole put, or the last part of one: *put gets its header. Inline for the fast path, which
 * leaves whatever is not NODE_ARRIVED to node_serve: that does the same.
 */
static inline int node_serve_put(node_peer *peer, const node_arrival *arrival, node_put_header *put)
{
	const void *from;
	void *to;
	int failed;

	if (arrival->header != sizeof(*put))
		return NODE_BROKEN;
	node_take_header(put, arrival, sizeof(*put));
	if (__builtin_expect(peer->put_failed != 0, 0)) {
		peer->put_failed = 0;
		if (arrival->kind == NODE_LAST)
			return NODE_SERVED;
	}
	to = node_memory_at(put->addr);
	from = (const void *)(uintptr_t)arrival->bytes;
	failed = arrival->data <= NODE_ONE_SLOT ? node_guarded_copy_short(to, from, arrival->data)
	                                        : node_guarded_copy(to, from, arrival->data);
	return __builtin_expect(failed, 0) ? NODE_FAULT : NODE_ARRIVED;
}

/* Likewise a get whose answer fits slots: 1 if it has it; *get gets its header. */
static inline int node_serve_slots_get(node_link *link, node_peer *peer,
                                       const node_arrival *arrival, node_get_header *get)
{
	if (arrival->header != sizeof(*get) || arrival->data != 0)
		return 0;
	node_take_header(get, arrival, sizeof(*get));
	return node_answer_slots_get(link, peer, get);
}

/* Likewise an operation on a word; *rmw gets its header. If the result is not NODE_SERVED, the
 * message is left to node_serve; a word that is not aligned is NODE_LATER. */
static inline int node_serve_word(node_link *link, node_peer *peer, const node_arrival *arrival,
                                  node_rmw_header *rmw)
{
	uint64_t old;

	if (arrival->header != sizeof(*rmw) || arrival->data != 0)
		return NODE_BROKEN;
	node_take_header(rmw, arrival, sizeof(*rmw));
	if (rmw->op > NODE_RMW_LAST || (rmw->width != 8 && rmw->width != 4))
		return NODE_BROKEN;
	if (rmw->addr & (rmw->width - 1u) || peer->closed || !node_short_begin(peer))
		return NODE_LATER;
	if (node_guarded_rmw(rmw->op, rmw->width, node_memory_at(rmw->addr), rmw->operand,
	                     rmw->compare, &old))
		return NODE_FAULT;
	node_reply(link, peer, (node_reply_header){rmw->token, NODE_REPLY_OK, old}, 0, 0);
	return NODE_SERVED;
}

/* Likewise the answers, of op (node_op_of): 1 if it is over, and its place is free. */
static inline int node_take_word(node_link *link, node_op *op, const node_arrival *arrival,
                                 uint64_t *old)
{
	node_reply_header answer;

	if (arrival->data != 0)
		return 0;
	node_take_header(&answer, arrival, sizeof(answer));
	if (answer.state != NODE_REPLY_OK)
		return 0;
	*old = answer.value;
	node_op_free(link, op);
	return 1;
}

static inline int node_take_slots_get(node_link *link, node_op *op, const node_arrival *arrival)
{
	node_reply_header answer;

	if (arrival->data != op->n || arrival->data > NODE_INLINE_MAX)
		return 0;
	node_take_header(&answer, arrival, sizeof(answer));
	if (answer.state != NODE_REPLY_OK || answer.value != 0 ||
	    node_guarded_copy(node_memory_at(op->local), (const void *)(uintptr_t)arrival->bytes,
	                      arrival->data))
		return 0;
	node_op_free(link, op);
	return 1;
}

#endif
