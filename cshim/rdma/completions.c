/*
 * completions.c - completion queues.
 *
 * A look (cshim_rdma_look) asks all of them without a call into Go. What it finds it keeps for
 * core's next poll: a queue cannot be asked without taking. All of this is under the lock of
 * uDAPL's block.
 */
#include <errno.h>
#include <stdlib.h>

#include "rdma/library.h"
#include "rdma/rdma.h"

enum {
	BATCH = 32,
	CORE_LOOKS = 8 /* in vain, to one for what core has to look for beside completions */
};

/* The context of a completion queue. */
struct queue {
	struct queue *next;
	struct ibv_cq *cq;
	int at, count; /* of found: what core has not taken */
	struct ibv_wc found[BATCH];
};

static struct queue *queues; /* of all adapters */

static struct queue *queue_of(cshim_rdma_object completions)
{
	return OBJECT(struct ibv_cq, completions)->cq_context;
}

int cshim_rdma_new_completions(struct cshim_rdma *a, int entries, cshim_rdma_object *completions)
{
	struct queue *q = calloc(1, sizeof(*q));

	if (!q)
		return ENOMEM;
	errno = 0;
	q->cq = verbs.create_cq(a->bound->verbs, entries, q, a->completions, 0);
	if (!q->cq) {
		int err = rdma_reason();

		free(q);
		return err;
	}
	q->next = queues;
	queues = q;
	*completions = NUMBER(q->cq);
	return 0;
}

/* One that the adapter does not free is not asked any more either. */
int cshim_rdma_free_completions(cshim_rdma_object completions)
{
	struct queue *q = queue_of(completions), **at = &queues;

	while (*at != q)
		at = &(*at)->next;
	*at = q->next;
	int err = verbs.destroy_cq(q->cq);
	if (!err)
		free(q);
	return err;
}

int cshim_rdma_look(void)
{
	static uint32_t looks;
	int some = 0;

	for (struct queue *q = queues; q; q = q->next) {
		if (q->at == q->count) {
			int n = ibv_poll_cq(q->cq, BATCH, q->found);

			q->at = 0;
			q->count = n > 0 ? n : 0;
		}
		some |= q->count > 0;
	}
	return some || ++looks % CORE_LOOKS == 0;
}

/* DAT_DTO_COMPLETION_STATUS. */
static uint8_t status_of(enum ibv_wc_status status)
{
	switch (status) {
	case IBV_WC_SUCCESS:
		return 0;
	case IBV_WC_WR_FLUSH_ERR:
		return 1;
	case IBV_WC_LOC_LEN_ERR:
		return 2;
	case IBV_WC_LOC_QP_OP_ERR:
		return 3;
	case IBV_WC_LOC_PROT_ERR:
	case IBV_WC_LOC_ACCESS_ERR:
		return 4;
	case IBV_WC_BAD_RESP_ERR:
		return 5;
	case IBV_WC_REM_ACCESS_ERR:
		return 6;
	case IBV_WC_REM_INV_REQ_ERR:
	case IBV_WC_REM_OP_ERR:
		return 7;
	case IBV_WC_RNR_RETRY_EXC_ERR:
		return 9;
	default:
		return 8;
	}
}

/*
 * Which window a send has freed. soft-RoCE has the kernel's flag for that in what it gives to
 * programs, which there says that an IP checksum is good: of a connection's receive it can mean
 * nothing else, but nobody promises that.
 */
static void take_key(const struct ibv_wc *c, struct cshim_rdma_completion *out)
{
	if (!(c->opcode & IBV_WC_RECV) || c->wc_flags & IBV_WC_WITH_IMM ||
	    !(c->wc_flags & (IBV_WC_WITH_INV | IBV_WC_IP_CSUM_OK)))
		return;
	out->invalidated = 1;
	out->perhaps = !(c->wc_flags & IBV_WC_WITH_INV);
	out->key = c->invalidated_rkey;
}

static struct cshim_rdma_completion tell(const struct ibv_wc *c)
{
	struct cshim_rdma_completion out = {
		.id = c->wr_id, .qpn = c->qp_num, .status = status_of(c->status)};

	if (c->status)
		return out; /* nothing else is valid */
	out.n = c->byte_len;
	out.has_data = c->opcode & IBV_WC_RECV && c->wc_flags & IBV_WC_WITH_IMM;
	out.by_write = c->opcode == IBV_WC_RECV_RDMA_WITH_IMM;
	out.immediate = c->imm_data;
	take_key(c, &out);
	return out;
}

int cshim_rdma_poll(cshim_rdma_object completions, int max, struct cshim_rdma_completion *out)
{
	struct queue *q = queue_of(completions);
	struct ibv_wc list[BATCH];
	int n = 0, more = 0;

	while (n < max && q->at < q->count)
		out[n++] = tell(&q->found[q->at++]);
	/* who gets fewer than it has asked for takes the queue for empty */
	if (n < max)
		more = ibv_poll_cq(q->cq, max - n < BATCH ? max - n : BATCH, list);
	for (int i = 0; i < more; i++)
		out[n++] = tell(&list[i]);
	return n;
}

int cshim_rdma_arm(cshim_rdma_object completions, int solicited)
{
	return ibv_req_notify_cq(OBJECT(struct ibv_cq, completions), solicited);
}

cshim_rdma_object cshim_rdma_told(struct cshim_rdma *a)
{
	struct ibv_cq *cq;
	void *context;

	if (verbs.get_cq_event(a->completions, &cq, &context))
		return 0;
	verbs.ack_cq_events(cq, 1);
	return NUMBER(cq);
}
