/* states.c - ibv_modify_qp: which states follow each other, and what each step needs. */
#include "world.h"

#include <errno.h>
#include <string.h>

struct step {
	enum ibv_qp_state from, to;
	struct {
		int needs, takes;
	} rc, ud;
};

#define RC_PLACE (IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS)
#define UD_PLACE (IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY)
#define RC_RTS                                                                             \
	(IBV_QP_CUR_STATE | IBV_QP_ACCESS_FLAGS | IBV_QP_MIN_RNR_TIMER | IBV_QP_ALT_PATH | \
	 IBV_QP_PATH_MIG_STATE)
#define UD_RTS (IBV_QP_CUR_STATE | IBV_QP_QKEY)

/* Of InfiniBand's chapter 11; to RESET and to ERR leads each state. */
static const struct step steps[] = {
	{IBV_QPS_RESET, IBV_QPS_INIT, {RC_PLACE, 0}, {UD_PLACE, 0}},
	{IBV_QPS_INIT, IBV_QPS_INIT, {0, RC_PLACE}, {0, UD_PLACE}},
	{IBV_QPS_INIT,
         IBV_QPS_RTR,
         {IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                  IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER,
          IBV_QP_ALT_PATH | IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX},
         {0, IBV_QP_PKEY_INDEX | IBV_QP_QKEY}},
	{IBV_QPS_RTR,
         IBV_QPS_RTS,
         {IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
                  IBV_QP_MAX_QP_RD_ATOMIC,
          RC_RTS},
         {IBV_QP_SQ_PSN, UD_RTS}},
	{IBV_QPS_RTS, IBV_QPS_RTS, {0, RC_RTS}, {0, UD_RTS}},
	{IBV_QPS_RTS,
         IBV_QPS_SQD,
         {0, IBV_QP_EN_SQD_ASYNC_NOTIFY},
         {0, IBV_QP_EN_SQD_ASYNC_NOTIFY}},
	{IBV_QPS_SQD, IBV_QPS_RTS, {0, RC_RTS}, {0, UD_RTS}},
	{IBV_QPS_SQE, IBV_QPS_RTS, {-1, 0}, {0, UD_RTS}}, /* RC has no such state */
};

static int allowed(const struct rig_qp *q, enum ibv_qp_state from, enum ibv_qp_state to, int mask)
{
	mask &= ~IBV_QP_STATE;
	if (to == IBV_QPS_RESET || to == IBV_QPS_ERR)
		return mask == 0;
	for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
		const struct step *s = &steps[i];
		int needs = q->type == IBV_QPT_UD ? s->ud.needs : s->rc.needs;
		int takes = q->type == IBV_QPT_UD ? s->ud.takes : s->rc.takes;
		if (s->from == from && s->to == to)
			return needs >= 0 && (mask & needs) == needs && !(mask & ~(needs | takes));
	}
	return 0;
}

/* Values out of their ranges. */
static int sane(const struct rig_qp *q, const struct ibv_qp_attr *a, int mask)
{
	const struct rig_device *d = &rig_mapped()->devices[q->device];

	return !(mask & IBV_QP_PORT && (a->port_num < 1 || a->port_num > d->ports)) &&
	       !(mask & IBV_QP_PKEY_INDEX && a->pkey_index != 0) &&
	       !(mask & IBV_QP_PATH_MTU &&
	         (a->path_mtu < IBV_MTU_256 || a->path_mtu > IBV_MTU_4096)) &&
	       !(mask & IBV_QP_MAX_QP_RD_ATOMIC && a->max_rd_atomic > RIG_MAX_READS) &&
	       !(mask & IBV_QP_MAX_DEST_RD_ATOMIC && a->max_dest_rd_atomic > RIG_MAX_READS) &&
	       !(mask & IBV_QP_TIMEOUT && a->timeout > 31) &&
	       !(mask & IBV_QP_RETRY_CNT && a->retry_cnt > 7) &&
	       !(mask & IBV_QP_RNR_RETRY && a->rnr_retry > 7) &&
	       !(mask & IBV_QP_MIN_RNR_TIMER && a->min_rnr_timer > 31) &&
	       !(mask & IBV_QP_DEST_QPN && a->dest_qp_num > 0xffffff) &&
	       !(mask & IBV_QP_CUR_STATE && a->cur_qp_state != q->state) &&
	       !(mask & IBV_QP_AV &&
	         ((!d->infiniband && !a->ah_attr.is_global) ||
	          (a->ah_attr.is_global && a->ah_attr.grh.sgid_index >= RIG_GIDS)));
}

static void set(struct rig_qp *q, const struct ibv_qp_attr *a, int mask)
{
#define SET(bit, field)   \
	if (mask & (bit)) \
	q->attr.field = a->field
	SET(IBV_QP_ACCESS_FLAGS, qp_access_flags);
	SET(IBV_QP_PORT, port_num);
	SET(IBV_QP_QKEY, qkey);
	SET(IBV_QP_AV, ah_attr);
	SET(IBV_QP_PATH_MTU, path_mtu);
	SET(IBV_QP_DEST_QPN, dest_qp_num);
	SET(IBV_QP_RQ_PSN, rq_psn);
	SET(IBV_QP_SQ_PSN, sq_psn);
	SET(IBV_QP_MAX_QP_RD_ATOMIC, max_rd_atomic);
	SET(IBV_QP_MAX_DEST_RD_ATOMIC, max_dest_rd_atomic);
	SET(IBV_QP_MIN_RNR_TIMER, min_rnr_timer);
	SET(IBV_QP_TIMEOUT, timeout);
	SET(IBV_QP_RETRY_CNT, retry_cnt);
	SET(IBV_QP_RNR_RETRY, rnr_retry);
#undef SET
	if (mask & IBV_QP_AV)
		q->to = rig_route(q->device, &a->ah_attr);
}

/* Empty, as a new one: its requests and receives are gone without completions. */
static void reset(struct rig_qp *q)
{
	q->posted = q->done = q->freed = 0;
	q->r.posted = q->r.taken = q->r.freed = 0;
	q->wait = q->rnr = q->taken = q->last_reached = 0;
	q->attr = (struct ibv_qp_attr){.cap = q->cap};
	q->to = -1;
}

int rig_modify(struct rig_qp *q, struct ibv_context *c, struct ibv_qp_attr *a, int mask)
{
	int err = 0;

	if (rig_alive(c))
		return EIO;
	rig_lock(&q->send_lock);
	rig_lock(&q->receive_lock);
	enum ibv_qp_state to = mask & IBV_QP_STATE ? a->qp_state : q->state;
	if (!allowed(q, q->state, to, mask) || !sane(q, a, mask)) {
		err = EINVAL;
	} else {
		if (to == IBV_QPS_RESET)
			reset(q);
		set(q, a, mask);
		q->state = to;
	}
	rig_unlock(&q->receive_lock);
	rig_unlock(&q->send_lock);
	if (err)
		return err;
	if (to == IBV_QPS_ERR)
		rig_qp_flush(q);
	if (to == IBV_QPS_RTR) /* what its peer has sent too early */
		rig_run_senders(q);
	if (to == IBV_QPS_RTS)
		rig_run(q);
	return 0;
}

int ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *a, int mask)
{
	struct rig_qp *q = rig_program_qp(qp)->shared;
	struct rig_program_cq *cqs[2] = {(struct rig_program_cq *)qp->send_cq,
	                                 (struct rig_program_cq *)qp->recv_cq};
	int err = rig_modify(q, qp->context, a, mask);

	if (!err && mask & IBV_QP_STATE) {
		qp->state = a->qp_state;
		for (int i = 0; a->qp_state == IBV_QPS_RESET && i < 2; i++) {
			pthread_mutex_lock(&cqs[i]->poll);
			rig_cq_clean(cqs[i]->shared, qp->qp_num);
			pthread_mutex_unlock(&cqs[i]->poll);
		}
	}
	return err;
}
