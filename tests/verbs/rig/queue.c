/* queue.c - makes, asks for and destroys queue pairs and shared receive queues: see queue.h */
#include "world.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { LINE = 64 };

static uint32_t lines(size_t n)
{
	return (uint32_t)((n + LINE - 1) / LINE * LINE);
}

/* Room for receives. 0 or ENOMEM; under the world's lock. */
static int make_receives(struct rig_receives *r, uint32_t size, uint32_t segments)
{
	memset(r, 0, sizeof *r);
	if (!size)
		return 0;
	r->stride = lines(sizeof(struct rig_receive) + segments * sizeof(struct ibv_sge));
	r->ring_size = (size_t)r->stride * size;
	r->ring = rig_alloc(r->ring_size);
	r->size = size;
	r->segments = segments;
	return r->ring ? 0 : ENOMEM;
}

static void free_receives(struct rig_receives *r)
{
	rig_free(r->ring, r->ring_size);
	memset(r, 0, sizeof *r);
}

static int make_sends(struct rig_qp *q, const struct ibv_qp_cap *cap)
{
	size_t behind = cap->max_send_sge * sizeof(struct ibv_sge);

	behind = behind > cap->max_inline_data ? behind : cap->max_inline_data;
	q->send_stride = lines(sizeof(struct rig_send) + behind);
	q->send_size = (size_t)q->send_stride * cap->max_send_wr;
	q->send_ring = cap->max_send_wr ? rig_alloc(q->send_size) : 0;
	return !cap->max_send_wr || q->send_ring ? 0 : ENOMEM;
}

/* Under the world's lock. */
static struct rig_qp *make(struct rig_open *o, struct ibv_pd *pd, struct ibv_qp_init_attr *a)
{
	struct rig_world *w = rig_mapped();
	struct rig_qp *q = RIG_TAKE(RIG_T_QP, w->qps);
	uint32_t index = q ? RIG_INDEX(w->qps, q) : 0;
	struct ibv_qp_cap cap = a->cap;

	if (!q)
		return NULL;
	if (q->slot.generation == 1) {
		rig_new_lock(&q->send_lock);
		rig_new_lock(&q->receive_lock);
	}
	if (index > w->top_qp)
		w->top_qp = index;
	if (a->srq)
		cap.max_recv_wr = cap.max_recv_sge = 0;
	q->send_ring = 0;
	if (make_receives(&q->r, cap.max_recv_wr, cap.max_recv_sge) || make_sends(q, &cap)) {
		free_receives(&q->r);
		rig_give(q);
		return NULL;
	}
	q->type = a->qp_type;
	q->pd = ((struct rig_pd *)pd)->number;
	q->device = o->shared->device;
	q->context = o->index;
	q->sq_sig_all = a->sq_sig_all != 0;
	q->send_cq = a->send_cq->handle;
	q->receive_cq = a->recv_cq->handle;
	q->srq = a->srq ? a->srq->handle : RIG_NOBODY;
	q->cap = cap;
	q->attr = (struct ibv_qp_attr){.qp_state = IBV_QPS_RESET, .cap = cap};
	q->to = -1;
	q->posted = q->done = q->freed = 0;
	q->wait = q->rnr = q->taken = q->last_reached = 0;
	q->state = IBV_QPS_RESET;
	q->qpn = (q->slot.generation << RIG_QP_BITS | index) & 0xffffff;
	a->cap = cap;
	return q;
}

static int check(struct ibv_context *c, const struct ibv_qp_init_attr *a)
{
	const struct ibv_qp_cap *cap = &a->cap;
	uint32_t refused = rig_fault_due(rig_device_of(c), RIG_F_QP);

	if (rig_alive(c))
		return EIO;
	if (refused)
		return (int)refused;
	if (a->qp_type != IBV_QPT_RC && a->qp_type != IBV_QPT_UD)
		return EOPNOTSUPP;
	if (!a->send_cq || !a->recv_cq || cap->max_send_wr > RIG_MAX_WR ||
	    cap->max_recv_wr > RIG_MAX_WR || cap->max_send_sge > RIG_MAX_SGE ||
	    cap->max_recv_sge > RIG_MAX_SGE || cap->max_inline_data > RIG_MAX_INLINE)
		return EINVAL;
	return 0;
}

static struct rig_cq *cq_at(const struct ibv_cq *cq)
{
	return ((struct rig_program_cq *)(uintptr_t)cq)->shared;
}

static struct rig_srq *srq_of(const struct ibv_srq *srq)
{
	return ((struct rig_program_srq *)(uintptr_t)srq)->shared;
}

/* Objects that a queue pair uses are not destroyed before it. */
static void use(const struct ibv_qp *qp, uint32_t more)
{
	atomic_fetch_add(&((struct rig_pd *)qp->pd)->users, more);
	atomic_fetch_add(&cq_at(qp->send_cq)->users, more);
	atomic_fetch_add(&cq_at(qp->recv_cq)->users, more);
	if (qp->srq)
		atomic_fetch_add(&srq_of(qp->srq)->users, more);
}

struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *a)
{
	struct rig_world *w = rig_mapped();
	struct rig_open *o = rig_open_of(pd->context);
	int err = check(pd->context, a);
	struct rig_program_qp *p = err ? NULL : calloc(1, sizeof *p);

	if (p) {
		rig_lock(&w->lock);
		p->shared = make(o, pd, a);
		if (p->shared)
			p->shared->program = (uintptr_t)p;
		rig_unlock(&w->lock);
	}
	if (!p || !p->shared) {
		free(p);
		errno = err ? err : ENOMEM;
		return NULL;
	}
	struct ibv_qp *qp = &p->ex.qp_base;
	*qp = (struct ibv_qp){.context = pd->context,
	                      .qp_context = a->qp_context,
	                      .pd = pd,
	                      .send_cq = a->send_cq,
	                      .recv_cq = a->recv_cq,
	                      .srq = a->srq,
	                      .handle = RIG_INDEX(w->qps, p->shared),
	                      .qp_num = p->shared->qpn,
	                      .state = IBV_QPS_RESET,
	                      .qp_type = a->qp_type};
	pthread_mutex_init(&qp->mutex, NULL);
	pthread_cond_init(&qp->cond, NULL);
	use(qp, 1);
	return qp;
}

static struct ibv_qp *create_qp_ex(struct ibv_context *c, struct ibv_qp_init_attr_ex *a)
{
	enum { KNOWN = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS };
	struct ibv_qp_init_attr plain;

	(void)c;
	if (!(a->comp_mask & IBV_QP_INIT_ATTR_PD) || a->comp_mask & ~(unsigned)KNOWN) {
		errno = a->comp_mask & IBV_QP_INIT_ATTR_PD ? EOPNOTSUPP : EINVAL;
		return NULL;
	}
	memcpy(&plain, a, sizeof plain); /* its fields come first, alike */
	struct ibv_qp *qp = ibv_create_qp(a->pd, &plain);
	if (!qp)
		return NULL;
	a->cap = plain.cap;
	if (a->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS)
		rig_extend(rig_program_qp(qp), a->send_ops_flags);
	return qp;
}

struct rig_program_qp *rig_program_qp(struct ibv_qp *qp)
{
	return (struct rig_program_qp *)qp;
}

struct ibv_qp_ex *ibv_qp_to_qp_ex(struct ibv_qp *qp)
{
	struct rig_program_qp *p = rig_program_qp(qp);

	return p->ex.wr_start ? &p->ex : NULL;
}

/* The locks make sure that no process still delivers to it, or carries out its requests. */
void rig_qp_free(struct rig_qp *q)
{
	rig_lock(&q->send_lock);
	rig_lock(&q->receive_lock);
	q->state = IBV_QPS_RESET;
	q->qpn = 0;
	q->posted = q->done = q->freed = 0;
	q->wait = 0;
	rig_free(q->send_ring, q->send_size);
	q->send_ring = 0;
	free_receives(&q->r);
	rig_give(q);
	rig_unlock(&q->receive_lock);
	rig_unlock(&q->send_lock);
}

/* Its completions that the program has not taken are gone, as with most adapters. */
static void clean(struct ibv_cq *cq, uint32_t qpn)
{
	struct rig_program_cq *p = (struct rig_program_cq *)cq;

	pthread_mutex_lock(&p->poll);
	rig_cq_clean(p->shared, qpn);
	pthread_mutex_unlock(&p->poll);
}

int ibv_destroy_qp(struct ibv_qp *qp)
{
	struct rig_program_qp *p = rig_program_qp(qp);
	struct rig_world *w = rig_mapped();
	uint32_t generation = p->shared->slot.generation;

	rig_lock(&w->groups_lock);
	for (int i = 0; i < RIG_GROUPS; i++)
		for (uint32_t k = 0; k < w->groups[i].n; k++)
			if (w->groups[i].qpns[k] == qp->qp_num) {
				rig_unlock(&w->groups_lock);
				return EBUSY;
			}
	rig_unlock(&w->groups_lock);
	rig_lock(&w->lock);
	rig_qp_free(p->shared);
	rig_unlock(&w->lock);
	clean(qp->send_cq, qp->qp_num);
	clean(qp->recv_cq, qp->qp_num);
	rig_async_forget(qp->context, RIG_E_QP, qp->handle, generation);
	pthread_mutex_lock(&qp->mutex);
	while (qp->events_completed != p->async_events)
		pthread_cond_wait(&qp->cond, &qp->mutex);
	pthread_mutex_unlock(&qp->mutex);
	use(qp, (uint32_t)-1);
	free(p->batch);
	free(p);
	return 0;
}

int ibv_query_qp(struct ibv_qp *qp, struct ibv_qp_attr *a, int mask, struct ibv_qp_init_attr *init)
{
	struct rig_qp *q = rig_program_qp(qp)->shared;

	(void)mask;
	if (rig_alive(qp->context))
		return EIO;
	rig_lock(&q->send_lock);
	*a = q->attr;
	a->qp_state = a->cur_qp_state = q->state;
	rig_unlock(&q->send_lock);
	qp->state = a->qp_state;
	*init = (struct ibv_qp_init_attr){.qp_context = qp->qp_context,
	                                  .send_cq = qp->send_cq,
	                                  .recv_cq = qp->recv_cq,
	                                  .srq = qp->srq,
	                                  .cap = q->cap,
	                                  .qp_type = qp->qp_type,
	                                  .sq_sig_all = (int)q->sq_sig_all};
	return 0;
}

struct ibv_srq *ibv_create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *a)
{
	struct rig_world *w = rig_mapped();
	struct rig_program_srq *p;

	if (rig_alive(pd->context) || a->attr.max_wr < 1 || a->attr.max_wr > RIG_MAX_WR ||
	    a->attr.max_sge > RIG_MAX_SGE) {
		errno = rig_alive(pd->context) ? EIO : EINVAL;
		return NULL;
	}
	p = calloc(1, sizeof *p);
	rig_lock(&w->lock);
	struct rig_srq *q = p ? RIG_TAKE(RIG_T_SRQ, w->srqs) : NULL;
	if (q && q->slot.generation == 1)
		rig_new_lock(&q->lock);
	if (q && make_receives(&q->r, a->attr.max_wr, a->attr.max_sge)) {
		rig_give(q);
		q = NULL;
	}
	rig_unlock(&w->lock);
	if (!q) {
		free(p);
		errno = ENOMEM;
		return NULL;
	}
	q->pd = ((struct rig_pd *)pd)->number;
	q->device = rig_open_of(pd->context)->shared->device;
	q->context = rig_open_of(pd->context)->index;
	q->limit = q->waiting = q->users = 0;
	q->program = (uintptr_t)p;
	p->shared = q;
	p->srq = (struct ibv_srq){.context = pd->context,
	                          .srq_context = a->srq_context,
	                          .pd = pd,
	                          .handle = RIG_INDEX(w->srqs, q)};
	pthread_mutex_init(&p->srq.mutex, NULL);
	pthread_cond_init(&p->srq.cond, NULL);
	((struct rig_pd *)pd)->users++;
	return &p->srq;
}

/* Moves what waits there to a ring of another size. */
static int resize(struct rig_srq *q, uint32_t size)
{
	struct rig_receives r;

	if (size > RIG_MAX_WR || size < q->r.posted - q->r.freed || size < 1)
		return EINVAL;
	if (make_receives(&r, size, q->r.segments))
		return ENOMEM;
	r.posted = q->r.posted;
	r.taken = q->r.taken;
	r.freed = q->r.freed;
	for (uint64_t i = q->r.taken; i < q->r.posted; i++)
		memcpy(rig_receive_at(&r, i), rig_receive_at(&q->r, i), r.stride);
	rig_free(q->r.ring, q->r.ring_size);
	q->r = r;
	return 0;
}

int ibv_modify_srq(struct ibv_srq *srq, struct ibv_srq_attr *a, int mask)
{
	struct rig_srq *q = srq_of(srq);
	struct rig_world *w = rig_mapped();
	int err = 0;

	if (rig_alive(srq->context))
		return EIO;
	rig_lock(&w->lock);
	rig_lock(&q->lock);
	if (mask & IBV_SRQ_MAX_WR)
		err = resize(q, a->max_wr);
	if (!err && mask & IBV_SRQ_LIMIT) {
		err = a->srq_limit > q->r.size ? EINVAL : 0;
		q->limit = err ? q->limit : a->srq_limit;
	}
	rig_unlock(&q->lock);
	rig_unlock(&w->lock);
	return err;
}

int ibv_query_srq(struct ibv_srq *srq, struct ibv_srq_attr *a)
{
	struct rig_srq *q = srq_of(srq);

	rig_lock(&q->lock);
	*a = (struct ibv_srq_attr){
		.max_wr = q->r.size, .max_sge = q->r.segments, .srq_limit = q->limit};
	rig_unlock(&q->lock);
	return rig_alive(srq->context);
}

void rig_srq_free(struct rig_srq *q)
{
	rig_lock(&q->lock);
	free_receives(&q->r);
	rig_give(q);
	rig_unlock(&q->lock);
}

int ibv_destroy_srq(struct ibv_srq *srq)
{
	struct rig_program_srq *p = (struct rig_program_srq *)srq;
	struct rig_world *w = rig_mapped();
	uint32_t generation = p->shared->slot.generation;

	if (atomic_load(&p->shared->users))
		return EBUSY;
	rig_lock(&w->lock);
	rig_srq_free(p->shared);
	rig_unlock(&w->lock);
	rig_async_forget(srq->context, RIG_E_SRQ, srq->handle, generation);
	pthread_mutex_lock(&srq->mutex);
	while (srq->events_completed != p->async_events)
		pthread_cond_wait(&srq->cond, &srq->mutex);
	pthread_mutex_unlock(&srq->mutex);
	((struct rig_pd *)srq->pd)->users--;
	free(p);
	return 0;
}

void rig_create_ops(struct verbs_context *v)
{
	v->create_qp_ex = create_qp_ex;
}
