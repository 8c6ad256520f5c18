/* queues.c - registered memory, the queues, and queue pairs up to their end. */
#include <errno.h>
#include <string.h>

#include "verbs/library.h"
#include "verbs/verbs.h"

/* What a function left in errno, which some of the library's do not set. */
static int reason(void)
{
	return errno ? errno : EINVAL;
}

int cshim_verbs_register(struct cshim_verbs *a, uint64_t addr, uint64_t n, int access,
                         struct cshim_verbs_region *out)
{
	int flags = 0;

	if (access & (CSHIM_VERBS_WRITE | CSHIM_VERBS_ATOMIC | CSHIM_VERBS_LOCAL))
		flags |= IBV_ACCESS_LOCAL_WRITE;
	if (access & CSHIM_VERBS_READ)
		flags |= IBV_ACCESS_REMOTE_READ;
	if (access & CSHIM_VERBS_WRITE)
		flags |= IBV_ACCESS_REMOTE_WRITE;
	if (access & CSHIM_VERBS_ATOMIC)
		flags |= IBV_ACCESS_REMOTE_ATOMIC;
	if (n == 0 || addr > UINTPTR_MAX || n > SIZE_MAX)
		return EINVAL;
	errno = 0;
	out->handle = verbs.reg_mr(a->pd, (void *)(uintptr_t)addr, (size_t)n, flags);
	if (!out->handle)
		return reason();
	out->lkey = out->handle->lkey;
	out->rkey = out->handle->rkey;
	return 0;
}

int cshim_verbs_deregister(struct ibv_mr *mr)
{
	return verbs.dereg_mr(mr);
}

int cshim_verbs_revive(struct cshim_verbs *a, uint32_t qkey)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_RESET};

	int err = verbs.modify_qp(a->datagrams, &attr, IBV_QP_STATE);
	attr = (struct ibv_qp_attr){
		.qp_state = IBV_QPS_INIT, .port_num = a->port, .qkey = qkey, .sq_psn = 1};
	err = err ? err
	          : verbs.modify_qp(a->datagrams, &attr,
	                            IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY);
	attr.qp_state = IBV_QPS_RTR;
	err = err ? err : verbs.modify_qp(a->datagrams, &attr, IBV_QP_STATE);
	attr.qp_state = IBV_QPS_RTS;
	return err ? err : verbs.modify_qp(a->datagrams, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN);
}

static int datagram_queue(struct cshim_verbs *a, int datagrams, uint32_t qkey)
{
	struct ibv_qp_init_attr init = {.send_cq = a->cq,
	                                .recv_cq = a->cq,
	                                .cap = {.max_send_wr = 64,
	                                        .max_recv_wr = (uint32_t)datagrams,
	                                        .max_send_sge = 1,
	                                        .max_recv_sge = 1,
	                                        .max_inline_data = 256},
	                                .qp_type = IBV_QPT_UD,
	                                .sq_sig_all = 1};

	errno = 0;
	a->datagrams = verbs.create_qp(a->pd, &init);
	return a->datagrams ? cshim_verbs_revive(a, qkey) : reason();
}

int cshim_verbs_queues(struct cshim_verbs *a, int completions, int receives, int datagrams,
                       uint32_t qkey, uint32_t *qpn)
{
	struct ibv_srq_init_attr srq = {.attr = {.max_wr = (uint32_t)receives, .max_sge = 1}};

	errno = 0;
	a->cq = verbs.create_cq(a->context, completions, NULL, a->channel, 0);
	if (!a->cq)
		return reason();
	a->srq = verbs.create_srq(a->pd, &srq);
	if (!a->srq)
		return reason();
	int err = datagram_queue(a, datagrams, qkey);
	if (!err)
		*qpn = a->datagrams->qp_num;
	return err;
}

int cshim_verbs_create(struct cshim_verbs *a, int depth, struct ibv_qp **qp, uint32_t *qpn)
{
	struct ibv_qp_init_attr init = {.send_cq = a->cq,
	                                .recv_cq = a->cq,
	                                .srq = a->srq,
	                                .cap = {.max_send_wr = (uint32_t)depth,
	                                        .max_send_sge = 1,
	                                        .max_inline_data = (uint32_t)a->max_inline},
	                                .qp_type = IBV_QPT_RC};

	errno = 0;
	*qp = verbs.create_qp(a->pd, &init);
	if (!*qp)
		return reason();
	*qpn = (*qp)->qp_num;
	return 0;
}

static struct ibv_ah_attr way(const struct cshim_verbs *a, const struct cshim_verbs_remote *r)
{
	struct ibv_ah_attr w = {.dlid = r->lid, .port_num = a->port};

	/* Without a header of its own for routers only what has a LID is reached. */
	if (a->port_attr.link_layer == IBV_LINK_LAYER_ETHERNET || r->lid == 0) {
		w.is_global = 1;
		memcpy(w.grh.dgid.raw, r->gid, sizeof r->gid);
		w.grh.sgid_index = a->gid_index;
		w.grh.hop_limit = 64;
	}
	return w;
}

static enum ibv_mtu mtu_of(int bytes)
{
	enum ibv_mtu m = IBV_MTU_256;

	while (m < IBV_MTU_4096 && 128 << (m + 1) <= bytes)
		m++;
	return m;
}

int cshim_verbs_connect(struct cshim_verbs *a, struct ibv_qp *qp, uint32_t psn,
                        const struct cshim_verbs_remote *r)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT,
	                           .port_num = a->port,
	                           .qp_access_flags =
	                                   IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE};

	int err = verbs.modify_qp(
		qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
	if (err)
		return err;
	attr = (struct ibv_qp_attr){.qp_state = IBV_QPS_RTR,
	                            .path_mtu = mtu_of(r->mtu),
	                            .dest_qp_num = r->qpn,
	                            .rq_psn = r->psn,
	                            .max_dest_rd_atomic = (uint8_t)a->max_reads,
	                            .min_rnr_timer = 12, /* 0.64 ms */
	                            .ah_attr = way(a, r)};
	err = verbs.modify_qp(qp, &attr,
	                      IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
	                              IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
	                              IBV_QP_MIN_RNR_TIMER);
	if (err)
		return err;
	attr = (struct ibv_qp_attr){
		.qp_state = IBV_QPS_RTS,
		.sq_psn = psn,
		.timeout = 16,  /* 268 ms, the time of one try */
		.retry_cnt = 6, /* 7 is without end for soft-RoCE */
		.rnr_retry = 7, /* without end: the peer is only slow */
		.max_rd_atomic = (uint8_t)(r->reads < a->max_reads ? r->reads : a->max_reads)};
	return verbs.modify_qp(qp, &attr,
	                       IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
	                               IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC);
}

int cshim_verbs_reset(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_RESET};

	return verbs.modify_qp(qp, &attr, IBV_QP_STATE);
}

int cshim_verbs_fail(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_ERR};

	return verbs.modify_qp(qp, &attr, IBV_QP_STATE);
}

int cshim_verbs_destroy(struct ibv_qp *qp)
{
	return verbs.destroy_qp(qp);
}

int cshim_verbs_path(struct cshim_verbs *a, const struct cshim_verbs_remote *r, struct ibv_ah **ah)
{
	struct ibv_ah_attr w = way(a, r);

	errno = 0;
	*ah = verbs.create_ah(a->pd, &w);
	return *ah ? 0 : reason();
}

int cshim_verbs_free(struct ibv_ah *ah)
{
	return verbs.destroy_ah(ah);
}
