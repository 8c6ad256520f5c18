/*
 * pull.c - puts that the target copies, all or half, by cross-memory attach: a rendezvous of two
 * that poll.
 *
 *	origin                          target
 *	NODE_PULL  ───────────────────>
 *	writes the first half           reads the second
 *	NODE_HALF  ───────────────────> gives the notice
 *	           <─────────────────── NODE_REPLY
 *
 * The two messages of the origin are adjacent in its ring, so the target has one flag for whether
 * the pull succeeded. The half is announced also if it could not be written: then without a notice,
 * and with the answer the origin sends all of it in messages.
 */
#include "node/put.h"
#include "node/serve.h"

/* Writes the first half, and says so. There is room for that. */
static void write_half(node_link *link, node_peer *peer, const node_transfer *put, node_op *op)
{
	static const uint64_t none[2];
	node_transfer half = {put->local, put->remote, node_first_half(put->n), 0, {0, 0}};
	int written = node_copy(link, peer, 0, &half) == NODE_SENT;

	op->width = written ? NODE_PULL_HALF : NODE_PULL_UNWRITTEN;
	node_tell_copied(link, peer, NODE_HALF, written ? half.n : 0, written ? put->notice : none);
}

node_op *node_pulled_put(node_link *link, node_peer *peer, uint8_t by, const node_transfer *put,
                         int halves)
{
	uint64_t own = halves ? node_first_half(put->n) : 0;
	node_pull_header *header;
	node_op *op;

	if (link->free_op >= NODE_OPS || !node_room(peer, 2) || !(header = node_short_begin(peer)))
		return NULL;
	op = node_op_take(link, peer, NODE_OP_PUT, by);
	op->local = put->local;
	op->n = put->n;
	op->width = NODE_PULL_ALL;
	header->from = put->local + own;
	header->at = put->remote + own;
	header->n = put->n - own;
	header->token = op->token | (own ? 0 : NODE_PULL_WHOLE);
	header->notice[0] = put->notice[0];
	header->notice[1] = put->notice[1];
	op = node_op_sent(link, op, node_short_end(link, peer, NODE_PULL, sizeof(*header), 0));
	if (op && own)
		write_half(link, peer, put, op);
	return op;
}

int node_answer_pull(node_link *link, node_peer *peer, uint32_t token, uint32_t state,
                     uint64_t value, const node_pulled *pulled)
{
	node_reply_header *reply = node_short_begin(peer);

	if (!reply)
		return NODE_BUSY;
	reply->token = token;
	reply->state = state;
	reply->value = value;
	*(node_pulled *)(void *)(reply + 1) = *pulled;
	return node_short_end(link, peer, NODE_REPLY, sizeof(*reply), sizeof(*pulled));
}

int node_serve_pull(node_link *link, node_peer *peer, const node_arrival *arrival,
                    node_event *event)
{
	node_transfer data = {0};
	node_pull_header pull;
	node_pulled pulled;
	int rc;

	if (arrival->header != sizeof(pull) || arrival->data != 0)
		return NODE_BROKEN;
	node_take_header(&pull, arrival, sizeof(pull));
	if (pull.n - 1 >= NODE_LENGTH_MAX)
		return NODE_BROKEN;
	event->token = (uint32_t)pull.token;
	event->addr = pulled.at = pull.at;
	event->notice[0] = pulled.notice[0] = pull.notice[0];
	event->notice[1] = pulled.notice[1] = pull.notice[1];
	event->op = NODE_OP_PUT;
	event->n = peer->receiver.placed = pull.n;
	peer->pull_failed = 1;
	if (peer->closed || !node_room(peer, 1))
		return NODE_LATER; /* the answer: nothing is read, as its notice could not wait */
	data.local = pull.at;
	data.remote = pull.from;
	data.n = pull.n;
	rc = node_copy(link, peer, 1, &data);
	peer->pull_failed = rc != NODE_SENT;
	node_answer_pull(link, peer, event->token,
	                 rc == NODE_SENT ? NODE_REPLY_OK : NODE_REPLY_AGAIN, rc == NODE_DENIED,
	                 &pulled);
	event->addr = pull.at;
	return rc == NODE_SENT && pull.token & NODE_PULL_WHOLE ? NODE_ARRIVED : NODE_SERVED;
}

int node_serve_half(node_link *link, const node_peer *peer, const node_arrival *arrival,
                    node_event *event)
{
	node_copied_header half;

	if (arrival->header != sizeof(half) || arrival->data != 0)
		return NODE_BROKEN;
	node_take_header(&half, arrival, sizeof(half));
	link->packets_received += half.n / NODE_COPY_MAX + (half.n % NODE_COPY_MAX != 0);
	link->data_received += half.n;
	event->n = half.n + peer->receiver.placed;
	event->notice[0] = half.notice[0];
	event->notice[1] = half.notice[1];
	return peer->pull_failed || half.n == 0 ? NODE_SERVED : NODE_ARRIVED;
}

int node_pull_over(node_link *link, const node_arrival *arrival, const node_reply_header *reply,
                   node_peer *peer, const node_op *op, node_event *event)
{
	uint64_t own = op->width == NODE_PULL_ALL ? 0 : node_first_half(op->n), read = op->n - own;
	node_pulled pulled;

	/* read once: the peer may write there */
	node_take_words(&pulled, arrival->bytes, sizeof(pulled));
	event->addr = pulled.at - own;
	event->notice[0] = pulled.notice[0];
	event->notice[1] = pulled.notice[1];
	if (reply->state == NODE_REPLY_AGAIN) {
		peer->pull_refused |= reply->value == 1;
		return NODE_AGAIN;
	}
	link->packets_sent += read / NODE_COPY_MAX + (read % NODE_COPY_MAX != 0);
	link->data_sent += read;
	return op->width == NODE_PULL_UNWRITTEN ? NODE_AGAIN : NODE_ANSWERED;
}
