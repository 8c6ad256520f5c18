/*
 * push.c - gets whose data the target writes, all or half, by cross-memory attach: a rendezvous of
 * two that poll, as pull.c is for puts.
 *
 *	origin                          target
 *	NODE_PUSH  ───────────────────>
 *	reads the first half            writes the second
 *	           <─────────────────── NODE_REPLY
 *
 * Data that the target cannot write it sends in messages, as to a NODE_GET. Data that the origin
 * cannot read it asks for by a NODE_GET under the same token, and then two answers end the
 * operation.
 *
 * The target writes memory that is the origin's program's to use again once the origin has given
 * the operation up. So the origin counts its eras in its ring control, each request names one, and
 * the target looks before each piece whether it still is that one. Between the store of pushing and
 * that look there is a full barrier, as between the store of era and the look at pushing
 * (node_await_copy): at least one of the two sees the other's.
 */
#include <errno.h>
#include <signal.h>
#include <time.h>

#include "node/put.h"
#include "node/serve.h"

/* How long node_await_copy waits for a copy of NODE_COPY_MAX bytes: many times what that takes. */
#define SEVER_NS 200000000

/* The origin's era, in its own memory: values that others write there only make their copies late
 * or their requests vain. */
static uint64_t era_of(const node_ring_control *control)
{
	return __atomic_load_n(&control->era, __ATOMIC_RELAXED) & NODE_PUSH_ERA_MASK;
}

/* Reads the first half, or asks for all of it in messages. There is room for that. */
static void read_half(node_link *link, node_peer *peer, const node_transfer *get, node_op *op)
{
	node_transfer half = {get->local, get->remote, node_first_half(get->n), 0, {0, 0}};
	node_get_header *header;
	int rc = node_copy(link, peer, 1, &half);

	peer->unsaid += half.at;
	if (rc == NODE_SENT || !(header = node_short_begin(peer)))
		return;
	*header = (node_get_header){get->remote, get->n, {0, 0}, op->token};
	op->width = NODE_PUSH_UNREAD;
	node_short_end(link, peer, NODE_GET, sizeof(*header), 0);
}

node_op *node_pushed_get(node_link *link, node_peer *peer, uint8_t by, const node_transfer *get,
                         int halves)
{
	uint64_t token, half = halves ? node_first_half(get->n) : 0;
	node_push_header *header;
	node_op *op;

	if (link->free_op >= NODE_OPS || !node_room(peer, 2) || !(header = node_short_begin(peer)))
		return NULL;
	op = node_op_take(link, peer, NODE_OP_GET, by);
	op->local = get->local;
	op->n = get->n;
	op->width = half ? NODE_PUSH_HALF : NODE_PUSH_NONE;
	token = op->token | era_of(node_control(peer->in_control)) << NODE_PUSH_ERA |
	        (half ? 0 : NODE_PUSH_WHOLE);
	header->get =
		(node_get_header){get->remote, get->n, {get->notice[0], get->notice[1]}, token};
	header->to = get->local;
	op = node_op_sent(link, op, node_short_end(link, peer, NODE_PUSH, sizeof(*header), 0));
	if (op && half)
		read_half(link, peer, get, op);
	return op;
}

int node_push_goes_on(node_link *link, node_op *op, uint64_t data)
{
	uint64_t written = op->n - (op->width == NODE_PUSH_NONE ? 0 : node_first_half(op->n));
	int goes_on = op->width == NODE_PUSH_UNREAD;

	if (data == 0) {
		link->packets_received += written / NODE_COPY_MAX + (written % NODE_COPY_MAX != 0);
		link->data_received += written;
	}
	op->width = 0;
	return goes_on;
}

/* Writes a piece of the origin's memory, if it still wants that. */
static int push_piece(node_link *link, node_peer *peer, uint64_t era, node_transfer *piece)
{
	node_ring_control *own = node_control(peer->in_control);
	int rc = NODE_GONE;

	__atomic_store_n(&own->pushing, CSHIM_OWN(own->pushing) | 1, __ATOMIC_RELAXED);
	cshim_full_fence(); /* pairs with that in node_await_copy */
	if (era_of(node_control(peer->out_control)) == era)
		rc = node_copy(link, peer, 0, piece);
	/* release: the copy is over, pairs with the load in node_await_copy */
	__atomic_store_n(&own->pushing, (CSHIM_OWN(own->pushing) | 1) + 1, __ATOMIC_RELEASE);
	return rc;
}

/* Writes what is left of a get to the origin's memory. */
static int push(node_link *link, node_peer *peer, uint64_t era, node_transfer *data)
{
	int rc = NODE_SENT;

	while (rc == NODE_SENT && data->at < data->n) {
		uint64_t left = data->n - data->at, n = left < NODE_COPY_MAX ? left : NODE_COPY_MAX;
		node_transfer piece = {
			data->local + data->at, data->remote + data->at, n, 0, {0, 0}};

		rc = push_piece(link, peer, era, &piece);
		data->at += piece.at;
	}
	return rc;
}

int node_serve_push(node_link *link, node_peer *peer, const node_arrival *arrival,
                    node_event *event)
{
	node_push_header header;
	const node_get_header *get = &header.get;
	node_transfer data;

	if (arrival->header != sizeof(header) || arrival->data != 0)
		return NODE_BROKEN;
	node_take_header(&header, arrival, sizeof(header));
	if (get->n - 1 >= NODE_LENGTH_MAX)
		return NODE_BROKEN;
	event->n = get->n;
	event->notice[0] = get->notice[0];
	event->notice[1] = get->notice[1];
	data = (node_transfer){get->addr, header.to, get->n, 0, {0, 0}};
	if (!(get->token & NODE_PUSH_WHOLE))
		data.at = node_first_half(get->n);
	if (!peer->closed && node_room(peer, 1) &&
	    push(link, peer, get->token >> NODE_PUSH_ERA, &data) == NODE_SENT) {
		node_answer(link, peer, (uint32_t)get->token, NODE_REPLY_OK, get->n);
		return NODE_WAS_READ;
	}
	return node_serve_long_get(link, peer, get, data.at, event);
}

static int64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

void node_await_copy(const node_peer *peer, const uint32_t *word)
{
	uint32_t pushing;
	int64_t end;

	cshim_full_fence(); /* pairs with the writer's fence: push_piece, dat/coll/give.c */
	pushing = __atomic_load_n(word, __ATOMIC_ACQUIRE);
	if (!(pushing & 1))
		return;
	end = now_ns() + SEVER_NS;
	/* acquire: data written before the change is there */
	while (__atomic_load_n(word, __ATOMIC_ACQUIRE) == pushing && now_ns() < end) {
		if (kill(peer->pid, 0) && errno == ESRCH)
			return; /* it was killed in the middle */
		nanosleep(&(struct timespec){0, 100000}, NULL);
	}
}

void node_sever(const node_peer *peer)
{
	node_ring_control *own = node_control(peer->in_control);

	__atomic_fetch_add(&own->era, 1, __ATOMIC_RELAXED);
	node_await_copy(peer, &node_control(peer->out_control)->pushing);
}
