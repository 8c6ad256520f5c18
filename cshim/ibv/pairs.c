/* pairs.c - queue pairs and their states. */
#include <string.h>

#include "ibv/ibv.h"
#include "ibv/library.h"

static int modify(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
	return ibv.modify_qp(qp, attr, mask | IBV_QP_STATE);
}

/* A queue pair of a connection takes receives from here on, which its peer may already use. */
static int begin_connection(struct cshim_ibv *a, struct ibv_qp *qp, int access)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT, .port_num = a->port, .qp_access_flags = (unsigned)access};

	return modify(qp, &attr, IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
}

static int reset(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_RESET};

	return modify(qp, &attr, 0);
}

int cshim_ibv_reset_qp(struct cshim_ibv *a, cshim_ibv_object qp)
{
	int err = reset(OBJECT(struct ibv_qp, qp));

	return err ? err : begin_connection(a, OBJECT(struct ibv_qp, qp), 0);
}

static int begin_datagrams(struct cshim_ibv *a, struct ibv_qp *qp, uint32_t qkey)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT, .port_num = a->port, .qkey = qkey, .sq_psn = 1};
	int err = modify(qp, &attr, IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY);

	attr.qp_state = IBV_QPS_RTR;
	if (!err)
		err = modify(qp, &attr, 0);
	attr.qp_state = IBV_QPS_RTS;
	return err ? err : modify(qp, &attr, IBV_QP_SQ_PSN);
}

int cshim_ibv_revive_qp(struct cshim_ibv *a, cshim_ibv_object qp, uint32_t qkey)
{
	int err = reset(OBJECT(struct ibv_qp, qp));

	return err ? err : begin_datagrams(a, OBJECT(struct ibv_qp, qp), qkey);
}

int cshim_ibv_create_qp(struct cshim_ibv *a, struct cshim_ibv_qp *q, cshim_ibv_object *out)
{
	struct ibv_qp_init_attr attr = {.send_cq = OBJECT(struct ibv_cq, q->send_cq),
	                                .recv_cq = OBJECT(struct ibv_cq, q->recv_cq),
	                                .srq = OBJECT(struct ibv_srq, q->srq),
	                                .cap = {.max_send_wr = (uint32_t)q->max_requests,
	                                        .max_recv_wr = (uint32_t)q->max_receives,
	                                        .max_send_sge = (uint32_t)q->request_segments,
	                                        .max_recv_sge = (uint32_t)q->receive_segments,
	                                        .max_inline_data = (uint32_t)q->max_inline},
	                                .qp_type = q->datagrams ? IBV_QPT_UD : IBV_QPT_RC};

	errno = 0;
	struct ibv_qp *qp = ibv.create_qp(OBJECT(struct ibv_pd, q->pd), &attr);
	if (!qp)
		return ibv_reason();
	int err = q->datagrams ? begin_datagrams(a, qp, q->qkey) : begin_connection(a, qp, 0);
	if (err) {
		ibv.destroy_qp(qp);
		return err;
	}
	q->number = qp->qp_num;
	*out = NUMBER(qp);
	return 0;
}

/* Without a header for routers only what is in the same InfiniBand subnet is reached. */
static struct ibv_ah_attr way(const struct cshim_ibv *a, const uint8_t gid[16], uint16_t lid)
{
	enum { PREFIX = 8 }; /* bytes of a GID that name the subnet */
	struct ibv_ah_attr w = {.dlid = lid, .port_num = a->port};

	if (a->ethernet || lid == 0 || memcmp(gid, a->gid.raw, PREFIX)) {
		w.is_global = 1;
		memcpy(w.grh.dgid.raw, gid, sizeof w.grh.dgid.raw);
		w.grh.sgid_index = a->gid_index;
		w.grh.hop_limit = 64;
	}
	return w;
}

int cshim_ibv_create_ah(struct cshim_ibv *a, cshim_ibv_object pd, const uint8_t gid[16],
                        uint16_t lid, cshim_ibv_object *ah)
{
	struct ibv_ah_attr w = way(a, gid, lid);

	errno = 0;
	*ah = NUMBER(ibv.create_ah(OBJECT(struct ibv_pd, pd), &w));
	return *ah ? 0 : ibv_reason();
}

static enum ibv_mtu mtu_of(int bytes)
{
	enum ibv_mtu m = IBV_MTU_256;

	while (m < IBV_MTU_4096 && 128 << (m + 1) <= bytes)
		m++;
	return m;
}

/* How long a sender waits that finds no receive: 0.64 ms. */
enum { RECEIVE_TIMER = 12 };

int cshim_ibv_connect_qp(struct cshim_ibv *a, cshim_ibv_object qp_, uint32_t psn,
                         const struct cshim_ibv_remote *r)
{
	struct ibv_qp *qp = OBJECT(struct ibv_qp, qp_);
	int err = begin_connection(a, qp, IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE);

	if (err)
		return err;
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_RTR,
	                           .path_mtu = mtu_of(r->mtu),
	                           .dest_qp_num = r->qpn,
	                           .rq_psn = r->psn,
	                           .max_dest_rd_atomic = (uint8_t)a->max_reads,
	                           .min_rnr_timer = RECEIVE_TIMER,
	                           .ah_attr = way(a, r->gid, r->lid)};
	err = modify(qp, &attr,
	             IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
	                     IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
	if (err)
		return err;
	attr = (struct ibv_qp_attr){
		.qp_state = IBV_QPS_RTS,
		.sq_psn = psn,
		.timeout = 16,  /* 268 ms, the time of one try */
		.retry_cnt = 6, /* 7 is without end for soft-RoCE */
		.rnr_retry = 7, /* without end: the peer is only slow */
		.max_rd_atomic = (uint8_t)(r->reads < a->max_reads ? r->reads : a->max_reads)};
	return modify(qp, &attr,
	              IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
	                      IBV_QP_MAX_QP_RD_ATOMIC);
}

/* The connection manager knows the values of each state. */
static int step(struct rdma_cm_id *id, struct ibv_qp *qp, enum ibv_qp_state state, int reads)
{
	enum { KERNEL_ONLY = 0xe00000 };
	struct ibv_qp_attr attr = {.qp_state = state};
	int mask;

	errno = 0;
	if (rdma.init_qp_attr(id, &attr, &mask))
		return ibv_reason();
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

int cshim_ibv_ready(cshim_ibv_object id_, cshim_ibv_object qp_, int reads_in, int reads_out)
{
	struct rdma_cm_id *id = OBJECT(struct rdma_cm_id, id_);
	struct ibv_qp *qp = OBJECT(struct ibv_qp, qp_);
	int err = step(id, qp, IBV_QPS_INIT, -1);

	if (!err)
		err = step(id, qp, IBV_QPS_RTR, reads_in);
	return err ? err : step(id, qp, IBV_QPS_RTS, reads_out);
}

int cshim_ibv_fail_qp(cshim_ibv_object qp)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_ERR};

	return modify(OBJECT(struct ibv_qp, qp), &attr, 0);
}

int cshim_ibv_destroy_qp(cshim_ibv_object qp)
{
	return ibv.destroy_qp(OBJECT(struct ibv_qp, qp));
}
