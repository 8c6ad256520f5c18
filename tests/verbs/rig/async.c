/* async.c - events of adapters: see device.h */
#include "world.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

void rig_async(uint32_t context, enum ibv_event_type type, enum rig_element element, uint32_t index,
               uint32_t generation)
{
	struct rig_async e = {(uint16_t)type, (uint16_t)element, index, generation, 0};
	struct rig_context *c = &rig_mapped()->contexts[context];

	if (atomic_load(&c->slot.used))
		rig_fifo_send(RIG_T_CONTEXT, context, c->slot.generation, &e, sizeof e);
}

void rig_async_all(uint32_t device, enum ibv_event_type type, enum rig_element element,
                   uint32_t index)
{
	struct rig_world *w = rig_mapped();

	for (uint32_t i = 1; i < RIG_CONTEXTS; i++)
		if (atomic_load(&w->contexts[i].slot.used) && w->contexts[i].device == device)
			rig_async(i, type, element, index, 0);
}

static int others(const void *record, const void *what)
{
	const struct rig_async *e = record, *gone = what;

	return e->element != gone->element || e->index != gone->index ||
	       e->generation != gone->generation;
}

void rig_async_forget(struct ibv_context *c, enum rig_element element, uint32_t index,
                      uint32_t generation)
{
	struct rig_open *o = rig_open_of(c);
	struct rig_async gone = {0, (uint16_t)element, index, generation, 0};

	rig_fifo_filter(RIG_T_CONTEXT, o->index, o->shared->slot.generation, sizeof gone, others,
	                &gone);
}

/* The program's object of an event; 0: it is destroyed. */
static int fill(const struct rig_async *from, struct ibv_async_event *e)
{
	struct rig_world *w = rig_mapped();

	e->event_type = from->type;
	if (from->element == RIG_E_CQ) {
		struct rig_cq *q = &w->cqs[from->index];
		if (!q->slot.used || q->slot.generation != from->generation)
			return 0;
		struct rig_program_cq *p = (void *)(uintptr_t)q->program;
		e->element.cq = &p->cq;
		pthread_mutex_lock(&p->cq.mutex);
		p->async_events++;
		pthread_mutex_unlock(&p->cq.mutex);
	} else if (from->element == RIG_E_QP) {
		struct rig_qp *q = &w->qps[from->index];
		if (!q->slot.used || q->slot.generation != from->generation)
			return 0;
		struct rig_program_qp *p = (void *)(uintptr_t)q->program;
		e->element.qp = &p->ex.qp_base;
		pthread_mutex_lock(&p->ex.qp_base.mutex);
		p->async_events++;
		pthread_mutex_unlock(&p->ex.qp_base.mutex);
	} else if (from->element == RIG_E_SRQ) {
		struct rig_srq *q = &w->srqs[from->index];
		if (!q->slot.used || q->slot.generation != from->generation)
			return 0;
		struct rig_program_srq *p = (void *)(uintptr_t)q->program;
		e->element.srq = &p->srq;
		pthread_mutex_lock(&p->srq.mutex);
		p->async_events++;
		pthread_mutex_unlock(&p->srq.mutex);
	} else {
		e->element.port_num = (int)from->index;
	}
	return 1;
}

int ibv_get_async_event(struct ibv_context *c, struct ibv_async_event *e)
{
	struct rig_async from;

	do {
		if (read(c->async_fd, &from, sizeof from) != sizeof from)
			return -1;
	} while (!fill(&from, e));
	return 0;
}

static void acknowledge(pthread_mutex_t *m, pthread_cond_t *cond, uint32_t *count)
{
	pthread_mutex_lock(m);
	++*count;
	pthread_cond_signal(cond);
	pthread_mutex_unlock(m);
}

void ibv_ack_async_event(struct ibv_async_event *e)
{
	switch (e->event_type) {
	case IBV_EVENT_CQ_ERR: {
		struct ibv_cq *cq = e->element.cq;
		acknowledge(&cq->mutex, &cq->cond, &cq->async_events_completed);
		break;
	}
	case IBV_EVENT_SRQ_ERR:
	case IBV_EVENT_SRQ_LIMIT_REACHED: {
		struct ibv_srq *srq = e->element.srq;
		acknowledge(&srq->mutex, &srq->cond, &srq->events_completed);
		break;
	}
	case IBV_EVENT_QP_FATAL:
	case IBV_EVENT_QP_REQ_ERR:
	case IBV_EVENT_QP_ACCESS_ERR:
	case IBV_EVENT_QP_LAST_WQE_REACHED:
	case IBV_EVENT_COMM_EST:
	case IBV_EVENT_SQ_DRAINED:
	case IBV_EVENT_PATH_MIG:
	case IBV_EVENT_PATH_MIG_ERR: {
		struct ibv_qp *qp = e->element.qp;
		acknowledge(&qp->mutex, &qp->cond, &qp->events_completed);
		break;
	}
	default:
		break;
	}
}
