/* objects.c - protection zones, memory, queues and queue pairs. */
#include <errno.h>
#include <string.h>

#include "rdma/library.h"
#include "rdma/rdma.h"

int cshim_rdma_new_zone(struct cshim_rdma *a, cshim_rdma_object *zone)
{
	errno = 0;
	*zone = NUMBER(verbs.alloc_pd(a->bound->verbs));
	return *zone ? 0 : rdma_reason();
}

int cshim_rdma_free_zone(cshim_rdma_object zone)
{
	return verbs.dealloc_pd(OBJECT(struct ibv_pd, zone));
}

/* What peers may do. */
static int remote_access(int access)
{
	return (access & CSHIM_RDMA_WRITE ? IBV_ACCESS_REMOTE_WRITE : 0) |
	       (access & CSHIM_RDMA_READ ? IBV_ACCESS_REMOTE_READ : 0) |
	       (access & CSHIM_RDMA_ATOMIC ? IBV_ACCESS_REMOTE_ATOMIC : 0);
}

/* Whoever may write from afar, the adapter must be able to write here. */
int cshim_rdma_register(cshim_rdma_object zone, int windows, uint64_t addr, uint64_t n, uint64_t as,
                        int access, cshim_rdma_object *region, uint32_t *local, uint32_t *remote)
{
	int writes = access & (CSHIM_RDMA_WRITE | CSHIM_RDMA_ATOMIC | CSHIM_RDMA_LOCAL);
	int flags = (writes ? IBV_ACCESS_LOCAL_WRITE : 0) | (windows ? IBV_ACCESS_MW_BIND : 0) |
	            remote_access(access);
	struct ibv_pd *pd = OBJECT(struct ibv_pd, zone);
	void *at = OBJECT(void, addr);

	errno = 0;
	struct ibv_mr *mr = as == addr ? verbs.reg_mr(pd, at, n, flags)
	                               : rdma.reg_mr_iova(pd, at, n, as, flags);
	if (!mr)
		return rdma_reason();
	*region = NUMBER(mr);
	*local = mr->lkey;
	*remote = mr->rkey;
	return 0;
}

int cshim_rdma_deregister(cshim_rdma_object region)
{
	return verbs.dereg_mr(OBJECT(struct ibv_mr, region));
}

int cshim_rdma_new_window(cshim_rdma_object zone, int own, cshim_rdma_object *window)
{
	errno = 0;
	*window = NUMBER(
		ibv_alloc_mw(OBJECT(struct ibv_pd, zone), own ? IBV_MW_TYPE_2 : IBV_MW_TYPE_1));
	return *window ? 0 : rdma_reason();
}

int cshim_rdma_free_window(cshim_rdma_object window)
{
	return ibv_dealloc_mw(OBJECT(struct ibv_mw, window));
}

/* The key of a window of type 2 is the program's to choose, and to remember. */
int cshim_rdma_bind(cshim_rdma_object qp_, const struct cshim_rdma_bind *b, uint32_t *key)
{
	struct ibv_qp *qp = OBJECT(struct ibv_qp, qp_);
	struct ibv_mw *mw = OBJECT(struct ibv_mw, b->window);
	unsigned flags = IBV_SEND_SIGNALED | (b->fence ? IBV_SEND_FENCE : 0u);
	struct ibv_mw_bind_info info = {.mr = b->n ? OBJECT(struct ibv_mr, b->region) : NULL,
	                                .addr = b->addr,
	                                .length = b->n,
	                                .mw_access_flags = (unsigned)remote_access(b->access)};
	struct ibv_mw_bind bind = {.wr_id = b->id, .send_flags = flags, .bind_info = info};
	struct ibv_send_wr *bad,
		wr = {.wr_id = b->id,
	              .opcode = IBV_WR_BIND_MW,
	              .send_flags = flags,
	              .bind_mw = {.mw = mw, .rkey = ibv_inc_rkey(mw->rkey), .bind_info = info}};
	int type1 = mw->type == IBV_MW_TYPE_1;
	int err = type1 ? ibv_bind_mw(qp, mw, &bind) : ibv_post_send(qp, &wr, &bad);

	if (!err && !type1)
		mw->rkey = wr.bind_mw.rkey;
	*key = mw->rkey;
	return err;
}

int cshim_rdma_new_queue(cshim_rdma_object zone, int receives, int segments,
                         cshim_rdma_object *queue)
{
	struct ibv_srq_init_attr attr = {
		.attr = {.max_wr = (uint32_t)receives, .max_sge = (uint32_t)segments}};

	errno = 0;
	*queue = NUMBER(verbs.create_srq(OBJECT(struct ibv_pd, zone), &attr));
	return *queue ? 0 : rdma_reason();
}

int cshim_rdma_resize_queue(cshim_rdma_object queue, int receives)
{
	struct ibv_srq_attr attr = {.max_wr = (uint32_t)receives};

	return rdma.modify_srq(OBJECT(struct ibv_srq, queue), &attr, IBV_SRQ_MAX_WR);
}

int cshim_rdma_free_queue(cshim_rdma_object queue)
{
	return verbs.destroy_srq(OBJECT(struct ibv_srq, queue));
}

int cshim_rdma_limit_queue(cshim_rdma_object queue, int receives)
{
	struct ibv_srq_attr attr = {.srq_limit = (uint32_t)receives};

	return rdma.modify_srq(OBJECT(struct ibv_srq, queue), &attr, IBV_SRQ_LIMIT);
}

static int modify(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
	return verbs.modify_qp(qp, attr, mask);
}

/* A queue pair of a connection takes receives from here on, which its peer may already use. */
static int begin_connection(struct cshim_rdma *a, struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT, .port_num = a->port};

	return modify(qp, &attr,
	              IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
}

static int begin_datagrams(struct cshim_rdma *a, struct ibv_qp *qp, uint32_t qkey)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT, .port_num = a->port, .qkey = qkey};
	int err =
		modify(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY);

	attr.qp_state = IBV_QPS_RTR;
	if (!err)
		err = modify(qp, &attr, IBV_QP_STATE);
	attr.qp_state = IBV_QPS_RTS;
	return err ? err : modify(qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN);
}

int cshim_rdma_new_qp(struct cshim_rdma *a, struct cshim_rdma_qp *q, uint32_t qkey,
                      cshim_rdma_object *out)
{
	struct ibv_qp_init_attr attr = {
		.send_cq = OBJECT(struct ibv_cq, q->requests),
		.recv_cq = OBJECT(struct ibv_cq, q->receives),
		.srq = OBJECT(struct ibv_srq, q->queue),
		.cap = {.max_send_wr = (uint32_t)q->max_requests,
	                .max_recv_wr = (uint32_t)q->max_receives,
	                .max_send_sge = (uint32_t)q->request_segments,
	                .max_recv_sge = (uint32_t)q->receive_segments,
	                .max_inline_data = (uint32_t)q->max_inline},
		.qp_type = q->datagrams ? IBV_QPT_UD : IBV_QPT_RC};

	errno = 0;
	struct ibv_qp *qp = verbs.create_qp(OBJECT(struct ibv_pd, q->zone), &attr);
	if (!qp)
		return rdma_reason();
	int err = q->datagrams ? begin_datagrams(a, qp, qkey) : begin_connection(a, qp);
	if (err) {
		verbs.destroy_qp(qp);
		return err;
	}
	q->number = qp->qp_num;
	*out = NUMBER(qp);
	return 0;
}

int cshim_rdma_fail_qp(cshim_rdma_object qp)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_ERR};

	return modify(OBJECT(struct ibv_qp, qp), &attr, IBV_QP_STATE);
}

int cshim_rdma_free_qp(cshim_rdma_object qp)
{
	return verbs.destroy_qp(OBJECT(struct ibv_qp, qp));
}

/* The connection manager knows the values of each state. */
static int step(struct rdma_cm_id *id, struct ibv_qp *qp, enum ibv_qp_state state, int reads)
{
	/* How long a sender waits that finds no receive: 0.64 ms. */
	enum { RECEIVE_TIMER = 12, KERNEL_ONLY = 0xe00000 };
	struct ibv_qp_attr attr = {.qp_state = state};
	int mask;

	errno = 0;
	if (rdma.init_qp_attr(id, &attr, &mask))
		return rdma_reason();
	if (state == IBV_QPS_RTR) {
		mask &= ~KERNEL_ONLY;
		attr.min_rnr_timer = RECEIVE_TIMER;
		if (reads >= 0)
			attr.max_dest_rd_atomic = (uint8_t)reads;
	} else if (state == IBV_QPS_RTS && reads >= 0) {
		attr.max_rd_atomic = (uint8_t)reads;
	}
	return modify(qp, &attr, mask);
}

int cshim_rdma_ready(cshim_rdma_object id_, cshim_rdma_object qp_, int reads_in, int reads_out)
{
	struct rdma_cm_id *id = OBJECT(struct rdma_cm_id, id_);
	struct ibv_qp *qp = OBJECT(struct ibv_qp, qp_);
	int err = step(id, qp, IBV_QPS_INIT, -1);

	if (!err)
		err = step(id, qp, IBV_QPS_RTR, reads_in);
	return err ? err : step(id, qp, IBV_QPS_RTS, reads_out);
}

int cshim_rdma_new_path(struct cshim_rdma *a, cshim_rdma_object zone, const uint8_t gid[16],
                        uint16_t lid, cshim_rdma_object *path)
{
	struct ibv_ah_attr attr = {.dlid = lid,
	                           .is_global = 1,
	                           .port_num = a->port,
	                           .grh = {.sgid_index = a->gid_index, .hop_limit = 64}};

	memcpy(attr.grh.dgid.raw, gid, sizeof attr.grh.dgid.raw);
	errno = 0;
	*path = NUMBER(verbs.create_ah(OBJECT(struct ibv_pd, zone), &attr));
	return *path ? 0 : rdma_reason();
}

int cshim_rdma_free_path(cshim_rdma_object path)
{
	return verbs.destroy_ah(OBJECT(struct ibv_ah, path));
}
