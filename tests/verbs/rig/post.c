/* post.c - takes requests and receives into their queues, if they are what an adapter takes. */
#include "world.h"

#include <errno.h>
#include <string.h>

struct rig_send *rig_send_at(const struct rig_qp *q, uint64_t sequence)
{
	return rig_at(q->send_ring + sequence % q->cap.max_send_wr * q->send_stride);
}

struct rig_receive *rig_receive_at(const struct rig_receives *r, uint64_t sequence)
{
	return rig_at(r->ring + sequence % r->size * r->stride);
}

struct rig_qp *rig_qp_find(uint32_t qpn)
{
	struct rig_qp *q = &rig_mapped()->qps[qpn % RIG_QPS];

	return qpn && atomic_load_explicit(&q->qpn, memory_order_acquire) == qpn ? q : NULL;
}

static int opcode_fits(const struct rig_qp *q, const struct ibv_send_wr *wr)
{
	int inlined = wr->send_flags & IBV_SEND_INLINE;

	switch (wr->opcode) {
	case IBV_WR_SEND:
	case IBV_WR_SEND_WITH_IMM:
		return 1;
	case IBV_WR_RDMA_WRITE:
	case IBV_WR_RDMA_WRITE_WITH_IMM:
	case IBV_WR_SEND_WITH_INV:
		return q->type == IBV_QPT_RC;
	case IBV_WR_RDMA_READ:
	case IBV_WR_ATOMIC_CMP_AND_SWP:
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
	case IBV_WR_BIND_MW:
	case IBV_WR_LOCAL_INV:
		return q->type == IBV_QPT_RC && !inlined;
	default:
		return 0;
	}
}

/* An errno for a request that posting refuses. */
static int check(struct ibv_qp *qp, const struct rig_qp *q, const struct ibv_send_wr *wr)
{
	uint32_t state = q->state;

	if (state == IBV_QPS_RESET || state == IBV_QPS_INIT || state == IBV_QPS_RTR)
		return EINVAL;
	if (!opcode_fits(q, wr) || wr->num_sge < 0 || (uint32_t)wr->num_sge > q->cap.max_send_sge)
		return EINVAL;
	if (q->type == IBV_QPT_UD && (!wr->wr.ud.ah || wr->wr.ud.ah->pd != qp->pd))
		return EINVAL;
	if (wr->opcode == IBV_WR_BIND_MW && rig_bind_check(qp, wr))
		return EINVAL;
	return q->posted - atomic_load_explicit(&q->freed, memory_order_acquire) >=
	                       q->cap.max_send_wr
	               ? ENOMEM
	               : 0;
}

static void fill_special(struct rig_send *to, const struct ibv_send_wr *wr)
{
	const struct ibv_mw_bind_info *b = &wr->bind_mw.bind_info;

	switch (wr->opcode) {
	case IBV_WR_ATOMIC_CMP_AND_SWP:
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
		to->remote = wr->wr.atomic.remote_addr;
		to->rkey = wr->wr.atomic.rkey;
		to->compare = wr->wr.atomic.compare_add;
		to->swap = wr->wr.atomic.swap;
		break;
	case IBV_WR_BIND_MW:
		to->window = wr->bind_mw.mw->rkey;
		to->region = b->mr ? b->mr->lkey : 0;
		to->rkey = wr->bind_mw.rkey;
		to->remote = b->addr;
		to->compare = b->length;
		to->access = b->mw_access_flags;
		break;
	default:
		to->remote = wr->wr.rdma.remote_addr;
		to->rkey = wr->wr.rdma.rkey;
		break;
	}
}

static void fill_datagram(const struct rig_qp *q, struct rig_send *to, const struct ibv_send_wr *wr)
{
	const struct ibv_ah_attr *a = &((struct rig_ah *)wr->wr.ud.ah)->attr;

	to->qpn = wr->wr.ud.remote_qpn;
	to->qkey = wr->wr.ud.remote_qkey >> 31 ? q->attr.qkey : wr->wr.ud.remote_qkey;
	to->to = rig_route(q->device, a);
	to->group = a->grh.dgid;
	to->access = a->grh.sgid_index;
}

/* Copies a request to the end of the queue. */
static int put(struct ibv_qp *qp, struct rig_qp *q, const struct ibv_send_wr *wr)
{
	struct rig_send *to = rig_send_at(q, q->posted);
	uint64_t length = 0;

	for (int i = 0; i < wr->num_sge; i++)
		length += wr->sg_list[i].length;
	to->flags = wr->send_flags;
	if (wr->send_flags & IBV_SEND_INLINE) {
		char *at = (char *)to->sge;
		if (length > q->cap.max_inline_data)
			return EINVAL;
		for (int i = 0; i < wr->num_sge; i++) {
			memcpy(at, (void *)(uintptr_t)wr->sg_list[i].addr, wr->sg_list[i].length);
			at += wr->sg_list[i].length;
		}
	} else {
		for (int i = 0; i < wr->num_sge; i++)
			to->sge[i] = wr->sg_list[i];
	}
	to->id = wr->wr_id;
	to->opcode = wr->opcode;
	to->immediate = wr->imm_data;
	to->length = length > UINT32_MAX ? UINT32_MAX : (uint32_t)length;
	to->segments = (uint32_t)wr->num_sge;
	if (qp->qp_type == IBV_QPT_UD)
		fill_datagram(q, to, wr);
	else
		fill_special(to, wr);
	q->posted++;
	return 0;
}

int rig_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	struct rig_qp *q = rig_program_qp(qp)->shared;
	int err = rig_alive(qp->context);

	rig_lock(&q->send_lock);
	for (; !err && wr; wr = wr->next) {
		err = check(qp, q, wr);
		if (!err)
			err = put(qp, q, wr);
		if (err)
			break;
	}
	rig_run_locked(q);
	*bad = err ? wr : *bad;
	return err;
}

int rig_put_receive(struct rig_receives *r, const struct ibv_recv_wr *wr)
{
	if (wr->num_sge < 0 || (uint32_t)wr->num_sge > r->segments)
		return EINVAL;
	if (r->posted - atomic_load_explicit(&r->freed, memory_order_relaxed) >= r->size)
		return ENOMEM;
	struct rig_receive *to = rig_receive_at(r, r->posted);
	to->id = wr->wr_id;
	to->segments = (uint32_t)wr->num_sge;
	for (int i = 0; i < wr->num_sge; i++)
		to->sge[i] = wr->sg_list[i];
	r->posted++;
	return 0;
}

int rig_post_receive(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	struct rig_qp *q = rig_program_qp(qp)->shared;
	int err = rig_alive(qp->context);

	rig_lock(&q->receive_lock);
	uint32_t state = q->state;
	if (!err && (state == IBV_QPS_RESET || qp->srq))
		err = EINVAL;
	for (; !err && wr; wr = wr->next) {
		err = rig_put_receive(&q->r, wr);
		if (err)
			break;
	}
	int awaited = atomic_exchange(&q->rnr, 0) != 0;
	rig_unlock(&q->receive_lock);
	if (state == IBV_QPS_ERR)
		rig_qp_flush(q);
	else if (awaited)
		rig_run_senders(q);
	*bad = err ? wr : *bad;
	return err;
}

int rig_post_srq_receive(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	struct rig_srq *q = ((struct rig_program_srq *)srq)->shared;
	struct rig_world *w = rig_mapped();
	int err = rig_alive(srq->context);

	rig_lock(&q->lock);
	for (; !err && wr; wr = wr->next) {
		err = rig_put_receive(&q->r, wr);
		if (err)
			break;
	}
	int awaited = atomic_exchange(&q->waiting, 0) != 0;
	rig_unlock(&q->lock);
	*bad = err ? wr : *bad;
	for (uint32_t i = 1; awaited && i <= w->top_qp; i++)
		if (w->qps[i].srq == srq->handle && w->qps[i].slot.process == q->slot.process &&
		    atomic_exchange(&w->qps[i].rnr, 0))
			rig_run_senders(&w->qps[i]);
	return err;
}
