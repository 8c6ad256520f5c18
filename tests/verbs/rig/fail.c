/* fail.c - completions of requests and receives, good and bad; events of a queue pair. */
#include "world.h"

#include <string.h>

enum { VENDOR = 0x5200, JUNK = 0x5a };

static struct rig_cq *cq_at(uint32_t index)
{
	return &rig_mapped()->cqs[index];
}

void rig_qp_event(struct rig_qp *q, enum ibv_event_type type)
{
	rig_async(q->context, type, RIG_E_QP, RIG_INDEX(rig_mapped()->qps, q), q->slot.generation);
}

/* Of a completion that failed nothing else is valid: so nobody can use it by mistake. */
static void spoil(struct ibv_wc *wc, enum ibv_wc_status status)
{
	uint64_t id = wc->wr_id;
	uint32_t qpn = wc->qp_num;

	if (status == IBV_WC_SUCCESS)
		return;
	memset(wc, JUNK, sizeof *wc);
	wc->wr_id = id;
	wc->qp_num = qpn;
	wc->status = status;
	wc->vendor_err = VENDOR | status;
}

/* A queue of completions that is full takes its queue pairs with it. */
static void add(struct rig_qp *q, uint32_t cq, const struct rig_completion *c, int solicited)
{
	if (rig_complete(cq_at(cq), c, solicited) || q->state == IBV_QPS_ERR)
		return;
	q->state = IBV_QPS_ERR;
	rig_qp_event(q, IBV_EVENT_QP_FATAL);
}

static enum ibv_wc_opcode opcode_of(uint32_t opcode)
{
	switch (opcode) {
	case IBV_WR_RDMA_WRITE:
	case IBV_WR_RDMA_WRITE_WITH_IMM:
		return IBV_WC_RDMA_WRITE;
	case IBV_WR_RDMA_READ:
		return IBV_WC_RDMA_READ;
	case IBV_WR_ATOMIC_CMP_AND_SWP:
		return IBV_WC_COMP_SWAP;
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
		return IBV_WC_FETCH_ADD;
	case IBV_WR_BIND_MW:
		return IBV_WC_BIND_MW;
	case IBV_WR_LOCAL_INV:
		return IBV_WC_LOCAL_INV;
	default:
		return IBV_WC_SEND;
	}
}

void rig_complete_send(struct rig_qp *q, const struct rig_send *w, enum ibv_wc_status status)
{
	if (status != IBV_WC_SUCCESS || q->sq_sig_all || w->flags & IBV_SEND_SIGNALED) {
		struct rig_completion c = {.wc = {.wr_id = w->id,
		                                  .status = status,
		                                  .opcode = opcode_of(w->opcode),
		                                  .byte_len = w->length,
		                                  .qp_num = q->qpn},
		                           .from = RIG_FROM_SEND,
		                           .sequence = q->done};
		spoil(&c.wc, status);
		add(q, q->send_cq, &c, 0);
	}
	q->done++;
}

void rig_complete_receive(struct rig_qp *q, enum ibv_wc_status status, struct ibv_wc *wc,
                          int solicited)
{
	struct rig_completion c = {.wc = *wc,
	                           .from = q->srq == RIG_NOBODY ? RIG_FROM_RECEIVE : RIG_FROM_SRQ,
	                           .index = q->srq,
	                           .sequence = q->taken_at};

	c.wc.wr_id = q->taken_id;
	c.wc.qp_num = q->qpn;
	c.wc.status = status;
	spoil(&c.wc, status);
	add(q, q->receive_cq, &c, solicited);
	q->taken = 0;
}

void rig_flush_sends(struct rig_qp *q)
{
	while ((q->state == IBV_QPS_ERR || q->state == IBV_QPS_SQE) && q->done < q->posted)
		rig_complete_send(q, rig_send_at(q, q->done), IBV_WC_WR_FLUSH_ERR);
	if (q->state == IBV_QPS_ERR)
		q->wait = RIG_W_NONE;
}

static void flush_receives(struct rig_qp *q)
{
	struct ibv_wc none = {0};

	if (q->taken)
		rig_complete_receive(q, IBV_WC_WR_FLUSH_ERR, &none, 0);
	while (q->srq == RIG_NOBODY && q->r.taken < q->r.posted) {
		q->taken_id = rig_receive_at(&q->r, q->r.taken)->id;
		q->taken_at = q->r.taken++;
		rig_complete_receive(q, IBV_WC_WR_FLUSH_ERR, &none, 0);
	}
	/* the shared ones stay, and the program learns when no more of them come by this */
	if (q->srq != RIG_NOBODY && !q->last_reached) {
		q->last_reached = 1;
		rig_qp_event(q, IBV_EVENT_QP_LAST_WQE_REACHED);
	}
}

void rig_qp_flush(struct rig_qp *q)
{
	rig_lock(&q->send_lock);
	rig_flush_sends(q);
	rig_unlock(&q->send_lock);
	rig_lock(&q->receive_lock);
	if (q->state == IBV_QPS_ERR)
		flush_receives(q);
	rig_unlock(&q->receive_lock);
}
