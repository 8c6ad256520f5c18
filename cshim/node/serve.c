/* serve.c - puts, requests and answers as they come. Every value of a message is checked before it
 * is used. */
#include "node/serve.h"

#include "node/guard.h"

/* Copies a message's data to an address; 1 if that is bad. streamed: past the caches. */
static int place_data(uint64_t to, const node_arrival *arrival, int streamed)
{
	const void *from = (const void *)(uintptr_t)arrival->bytes;

	return streamed ? node_guarded_stream(node_memory_at(to), from, arrival->data)
	                : node_guarded_copy(node_memory_at(to), from, arrival->data);
}

/* The data of a put could not be placed. */
static int put_fault(node_event *event, uint64_t addr, uint64_t n)
{
	event->addr = node_bad_address(addr, n);
	event->op = 0;
	return NODE_FAULT;
}

static void take_notice(node_event *event, const uint64_t notice[2])
{
	event->notice[0] = notice[0];
	event->notice[1] = notice[1];
}

static int serve_put(node_peer *peer, const node_arrival *arrival, node_event *event)
{
	node_put_header put;
	int result = node_serve_put(peer, arrival, &put);

	if (result == NODE_FAULT)
		return put_fault(event, put.addr, arrival->data);
	if (result != NODE_ARRIVED)
		return result;
	event->n = arrival->data;
	if (arrival->kind == NODE_LAST)
		event->n += peer->receiver.placed;
	take_notice(event, put.notice);
	return result;
}

static int serve_part(node_peer *peer, const node_arrival *arrival, node_event *event)
{
	node_part_header part;

	if (arrival->header != sizeof(part))
		return NODE_BROKEN;
	node_take_header(&part, arrival, sizeof(part));
	if (part.flags & NODE_PART_FIRST) {
		peer->put_failed = 0;
		peer->receiver.placed = 0;
	}
	if (peer->put_failed)
		return NODE_SERVED;
	if (!place_data(part.addr, arrival, (part.flags & NODE_PART_STREAMED) != 0)) {
		peer->receiver.placed += arrival->data;
		return NODE_SERVED;
	}
	peer->put_failed = 1;
	return put_fault(event, part.addr, arrival->data);
}

/* The peer has copied by itself: the statistics of this end, and the notice. */
static int serve_copied(node_link *link, const node_arrival *arrival, node_event *event)
{
	node_copied_header copied;
	uint64_t copies;

	if (arrival->header != sizeof(copied) || arrival->data != 0)
		return NODE_BROKEN;
	node_take_header(&copied, arrival, sizeof(copied));
	copies = copied.n / NODE_COPY_MAX + (copied.n % NODE_COPY_MAX != 0);
	if (arrival->kind == NODE_WRITTEN) {
		link->packets_received += copies;
		link->data_received += copied.n;
	} else {
		link->packets_sent += copies;
		link->data_sent += copied.n;
	}
	event->n = copied.n;
	take_notice(event, copied.notice);
	if (arrival->kind == NODE_WRITTEN)
		return NODE_ARRIVED;
	return copied.notice[0] | copied.notice[1] ? NODE_WAS_READ : NODE_SERVED;
}

int node_answer(node_link *link, node_peer *peer, uint32_t token, uint32_t state, uint64_t value)
{
	return node_reply(link, peer, (node_reply_header){token, state, value}, 0, 0);
}

int node_answer_get(node_link *link, node_peer *peer, uint32_t token, uint64_t addr, uint64_t n,
                    uint64_t *at)
{
	uint64_t step = n <= NODE_INLINE_MAX ? NODE_INLINE_MAX : node_chunk_step(link, n);

	while (*at < n) {
		uint64_t part = n - *at < step ? n - *at : step;
		node_reply_header header = {token,
		                            *at + part == n ? NODE_REPLY_OK : NODE_REPLY_PART, *at};
		int rc = node_send(link, peer, NODE_REPLY, &header, sizeof(header), addr + *at,
		                   part);

		if (rc != NODE_SENT)
			return rc;
		*at += part;
	}
	return NODE_SENT;
}

/* A request's address is bad: tells the origin, and says so here. Without room it is for later. */
static int request_fault(node_link *link, node_peer *peer, node_event *event, uint64_t n)
{
	uint64_t bad = node_bad_address(event->addr, n);

	if (node_answer(link, peer, event->token, NODE_REPLY_FAILED, bad) != NODE_SENT)
		return NODE_LATER;
	event->addr = bad;
	return NODE_FAULT;
}

int node_serve_long_get(node_link *link, node_peer *peer, const node_get_header *get, uint64_t at,
                        node_event *event)
{
	int rc = NODE_BUSY;

	event->token = (uint32_t)get->token;
	event->addr = get->addr;
	event->value = at;
	event->op = NODE_OP_GET;
	if (!peer->closed)
		rc = node_answer_get(link, peer, event->token, get->addr, get->n, &event->value);
	switch (rc) {
	case NODE_SENT:
		return NODE_WAS_READ;
	case NODE_GONE:
		return NODE_SERVED; /* nobody waits for it */
	case NODE_BAD_LOCAL:
		event->addr += event->value;
		return request_fault(link, peer, event, get->n - event->value);
	default:
		return NODE_LATER; /* value: so much went */
	}
}

static int serve_get(node_link *link, node_peer *peer, const node_arrival *arrival,
                     node_event *event)
{
	node_get_header get;
	int result;

	if (arrival->header != sizeof(get) || arrival->data != 0)
		return NODE_BROKEN;
	node_take_header(&get, arrival, sizeof(get));
	if (get.n - 1 >= NODE_LENGTH_MAX)
		return NODE_BROKEN;
	event->n = get.n;
	take_notice(event, get.notice);
	if (node_answer_slots_get(link, peer, &get))
		return NODE_WAS_READ;
	if (get.token & NODE_GET_HOW) {
		uint32_t how = get.token >> NODE_GET_HOW_AT & NODE_HOW_ALL;

		node_chunks_how(link, how);
		if (how & NODE_HOW_WIDE)
			node_chunks_widen(link, peer);
	}
	result = node_serve_long_get(link, peer, &get, 0, event);
	node_chunks_limit(link, NODE_ROUTES);
	return result;
}

/* An operation on a word that cannot be done now; of words that are not aligned all of a process
 * share a lock, which is Go's. */
static void put_off_rmw(const node_rmw_header *rmw, node_event *event)
{
	event->token = rmw->token;
	event->addr = rmw->addr;
	event->value = 0;
	event->op = NODE_OP_RMW;
	event->operation = rmw->op;
	event->width = rmw->width;
	event->operand = rmw->operand;
	event->compare = rmw->compare;
}

static int serve_rmw(node_link *link, node_peer *peer, const node_arrival *arrival,
                     node_event *event)
{
	node_rmw_header rmw;
	int result = node_serve_word(link, peer, arrival, &rmw);

	if (result == NODE_SERVED || result == NODE_BROKEN)
		return result;
	put_off_rmw(&rmw, event);
	return result == NODE_FAULT ? request_fault(link, peer, event, rmw.width) : result;
}

/* 1 if op may have such an answer: its data lies inside the requested data, and ends it if nothing
 * follows. */
static int answers(const node_op *op, const node_reply_header *reply, uint64_t data)
{
	if (reply->state == NODE_REPLY_FAILED)
		return data == 0 && op->kind != NODE_OP_PUT;
	if (op->kind == NODE_OP_RMW)
		return reply->state == NODE_REPLY_OK && data == 0;
	if (op->kind == NODE_OP_PUT)
		return data == sizeof(node_pulled) &&
		       (reply->state == NODE_REPLY_OK || reply->state == NODE_REPLY_AGAIN);
	if (reply->value > op->n || data > op->n - reply->value)
		return 0;
	return reply->state == NODE_REPLY_PART ||
	       (reply->state == NODE_REPLY_OK && reply->value + data == op->n);
}

static int serve_reply(node_link *link, node_peer *peer, const node_arrival *arrival, node_op *op,
                       node_event *event)
{
	node_reply_header answer;
	int result = NODE_ANSWERED;

	if (arrival->header != sizeof(answer))
		return NODE_BROKEN;
	node_take_header(&answer, arrival, sizeof(answer));
	if (!op || !answers(op, &answer, arrival->data))
		return NODE_SERVED; /* it was given up meanwhile */
	event->value = answer.value;
	if (op->kind == NODE_OP_PUT) {
		result = node_pull_over(link, arrival, &answer, peer, op, event);
	} else if (answer.state == NODE_REPLY_FAILED) {
		event->addr = answer.value;
		result = NODE_FAILED;
	} else if (op->kind == NODE_OP_GET &&
	           place_data(op->local + answer.value, arrival, op->width == NODE_GET_STREAMED)) {
		event->addr = node_bad_address(op->local + answer.value, arrival->data);
		result = NODE_STRANDED;
	} else if (answer.state == NODE_REPLY_PART) {
		return NODE_SERVED;
	} else if (op->kind == NODE_OP_GET && node_is_pushed(op) &&
	           node_push_goes_on(link, op, arrival->data)) {
		return NODE_SERVED;
	}
	event->op = op->kind;
	event->done = (uint32_t)(op - link->op);
	node_op_free(link, op); /* if there are other parts they find nothing */
	return result;
}

static int serve(node_link *link, node_peer *peer, const node_arrival *arrival, uint8_t by,
                 node_event *event)
{
	node_op *op;

	switch (arrival->kind) {
	case NODE_PUT:
	case NODE_LAST:
		return serve_put(peer, arrival, event);
	case NODE_PART:
		return serve_part(peer, arrival, event);
	case NODE_GET:
		return serve_get(link, peer, arrival, event);
	case NODE_RMW:
		return serve_rmw(link, peer, arrival, event);
	case NODE_WRITTEN:
	case NODE_READ:
		return serve_copied(link, arrival, event);
	case NODE_PULL:
		return node_serve_pull(link, peer, arrival, event);
	case NODE_HALF:
		return node_serve_half(link, peer, arrival, event);
	case NODE_PUSH:
		return node_serve_push(link, peer, arrival, event);
	case NODE_REPLY:
		op = node_op_of(link, peer, arrival);
		return op && op->by != by ? NODE_OTHERS
		                          : serve_reply(link, peer, arrival, op, event);
	default:
		return NODE_BROKEN;
	}
}

/* A message about a single copy is no packet of the statistics: the copy itself was counted. */
static int tells_of_copy(uint32_t kind)
{
	return kind == NODE_WRITTEN || kind == NODE_READ || kind == NODE_PULL ||
	       kind == NODE_HALF || kind == NODE_PUSH;
}

int node_serve(node_link *link, node_peer *peer, const node_arrival *arrival, uint8_t by,
               node_event *event)
{
	int result = serve(link, peer, arrival, by, event);

	if (result == NODE_LATER || result == NODE_OTHERS)
		return result;
	if (result == NODE_BROKEN || tells_of_copy(arrival->kind))
		node_advance(peer, arrival);
	else
		node_take(link, peer, arrival);
	link->ghosts += result == NODE_BROKEN;
	return result;
}
