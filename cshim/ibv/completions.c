/*
 * completions.c - completion queues.
 *
 * A look (cshim_ibv_look) asks all queues of adapters that have an address, which are uDAPL's,
 * without a call into Go. It keeps what it finds for core's next poll: a queue cannot be asked
 * without taking. Looks, and these queues, are under the lock of uDAPL's block.
 */
#include <stdlib.h>

#include "ibv/ibv.h"
#include "ibv/library.h"

enum {
	EVENTS_AT_ONCE = 64 /* acknowledgements take a lock, so they are given many at a time */
};

/* The context of a completion queue. */
struct queue {
	struct queue *next; /* of those that are looked at */
	struct ibv_cq *cq;
	unsigned events; /* not acknowledged yet */
	int at, count;   /* of found: completions that core has not taken */
	struct ibv_wc found[CSHIM_IBV_BATCH];
};

static struct queue *looked; /* of all adapters that have an address */

static struct queue *queue_of(cshim_ibv_object cq)
{
	return OBJECT(struct ibv_cq, cq)->cq_context;
}

int cshim_ibv_create_cq(struct cshim_ibv *a, int entries, cshim_ibv_object *cq)
{
	struct queue *q = calloc(1, sizeof(*q));

	if (!q)
		return ENOMEM;
	errno = 0;
	q->cq = ibv.create_cq(a->context, entries, q, a->channel, 0);
	if (!q->cq) {
		int err = ibv_reason();

		free(q);
		return err;
	}
	if (a->cm) {
		q->next = looked;
		looked = q;
	}
	*cq = NUMBER(q->cq);
	return 0;
}

void cshim_ibv_leave(cshim_ibv_object cq)
{
	struct queue **at = &looked;

	while (*at && NUMBER((*at)->cq) != cq)
		at = &(*at)->next;
	if (*at)
		*at = (*at)->next;
}

/* A queue that the adapter does not destroy is not asked any more either. */
int cshim_ibv_destroy_cq(cshim_ibv_object cq)
{
	struct queue *q = queue_of(cq);

	cshim_ibv_leave(cq);
	if (q->events)
		ibv.ack_cq_events(q->cq, q->events);
	q->events = 0;
	int err = ibv.destroy_cq(q->cq);
	if (!err)
		free(q);
	return err;
}

int cshim_ibv_look(void)
{
	int some = 0;

	for (struct queue *q = looked; q; q = q->next) {
		if (q->at == q->count) {
			int n = ibv_poll_cq(q->cq, CSHIM_IBV_BATCH, q->found);

			q->at = 0;
			q->count = n > 0 ? n : 0;
		}
		some |= q->count > 0;
	}
	return some;
}

/*
 * Which window a send has freed. soft-RoCE passes the kernel's flag for that on to programs, where
 * it says that an IP checksum is good: of a connection's receive it can mean nothing else, but
 * nobody promises that.
 */
static void take_key(const struct ibv_wc *c, struct cshim_ibv_completion *out)
{
	if (!(c->opcode & IBV_WC_RECV) || c->wc_flags & IBV_WC_WITH_IMM ||
	    !(c->wc_flags & (IBV_WC_WITH_INV | IBV_WC_IP_CSUM_OK)))
		return;
	out->invalidated = 1;
	out->perhaps = !(c->wc_flags & IBV_WC_WITH_INV);
	out->key = c->invalidated_rkey;
}

static void describe(const struct ibv_wc *c, struct cshim_ibv_completion *out)
{
	*out = (struct cshim_ibv_completion){
		.id = c->wr_id, .qpn = c->qp_num, .status = (uint8_t)c->status};
	if (c->status) { /* nothing else is valid */
		out->vendor_err = c->vendor_err;
		return;
	}
	if (!(c->opcode & IBV_WC_RECV))
		return;
	out->n = c->byte_len;
	out->has_data = !!(c->wc_flags & IBV_WC_WITH_IMM);
	out->by_write = c->opcode == IBV_WC_RECV_RDMA_WITH_IMM;
	out->immediate = c->imm_data;
	take_key(c, out);
}

int cshim_ibv_poll(cshim_ibv_object cq, int max, struct cshim_ibv_completion *out)
{
	struct queue *q = queue_of(cq);
	struct ibv_wc list[CSHIM_IBV_BATCH];
	int n = 0, more = 0;

	while (n < max && q->at < q->count)
		describe(&q->found[q->at++], &out[n++]);
	/* a caller that gets fewer than it has asked for takes the queue for empty */
	if (n < max)
		more = ibv_poll_cq(q->cq, max - n < CSHIM_IBV_BATCH ? max - n : CSHIM_IBV_BATCH,
		                   list);
	for (int i = 0; i < more; i++)
		describe(&list[i], &out[n++]);
	return n == 0 && more < 0 ? more : n;
}

int cshim_ibv_arm(cshim_ibv_object cq, int solicited)
{
	return ibv_req_notify_cq(OBJECT(struct ibv_cq, cq), solicited);
}

cshim_ibv_object cshim_ibv_armed(struct cshim_ibv *a)
{
	struct ibv_cq *cq;
	void *context;

	if (!ibv_has_some(&a->completions) || ibv.get_cq_event(a->channel, &cq, &context))
		return 0;
	struct queue *q = context;
	if (++q->events >= EVENTS_AT_ONCE) {
		ibv.ack_cq_events(cq, q->events);
		q->events = 0;
	}
	return NUMBER(cq);
}
