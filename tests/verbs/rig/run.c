/*
 * run.c - carries out requests, in their order. The poster's call does it; a request that has to
 * wait for its responder is carried out by the responder's call that ends the wait (a receive, a
 * state), or by the agent of the queue pair's process when its time is over.
 */
#include "world.h"

#include <string.h>

/* The responder of a connection, if packets reach it. */
static struct rig_qp *responder_of(const struct rig_qp *q)
{
	struct rig_qp *to = rig_qp_find(q->attr.dest_qp_num);

	if (!to || q->to < 0 || !rig_up(q->device, q->attr.port_num) ||
	    !rig_up((uint32_t)q->to >> 8, (uint32_t)q->to & 0xff) || rig_dead(to->slot.process))
		return NULL;
	return to;
}

/* Whether it is the responder for requests of q: its receive_lock is held. */
static int connected(const struct rig_qp *to, const struct rig_qp *q)
{
	return to->qpn == q->attr.dest_qp_num && to->type == IBV_QPT_RC &&
	       (to->state == IBV_QPS_RTR || to->state == IBV_QPS_RTS || to->state == IBV_QPS_SQD) &&
	       to->attr.dest_qp_num == q->qpn && to->device == (uint32_t)q->to >> 8 &&
	       to->attr.port_num == ((uint32_t)q->to & 0xff) && to->attr.rq_psn == q->attr.sq_psn;
}

/* The request's own memory. Its keys are the program's, which may have given them back. */
static enum ibv_wc_status gather(const struct rig_qp *q, const struct rig_send *w,
                                 struct rig_memory *m)
{
	int writes = w->opcode == IBV_WR_RDMA_READ || w->opcode == IBV_WR_ATOMIC_CMP_AND_SWP ||
	             w->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;

	m->process = q->slot.process;
	m->n = 0;
	if (w->flags & IBV_SEND_INLINE) {
		/* in the world, so that it is the memory of whoever carries it out */
		m->process = rig_self();
		m->at[m->n++] = (struct iovec){(void *)(uintptr_t)w->sge, w->length};
		return IBV_WC_SUCCESS;
	}
	if (w->length > RIG_MAX_MESSAGE)
		return IBV_WC_LOC_LEN_ERR;
	for (uint32_t i = 0; i < w->segments; i++) {
		if (w->sge[i].length == 0)
			continue;
		if (!rig_local(q->slot.process, q->pd, &w->sge[i], writes, &m->at[m->n++]))
			return IBV_WC_LOC_PROT_ERR;
	}
	return IBV_WC_SUCCESS;
}

static struct rig_outcome done(enum ibv_wc_status status)
{
	return (struct rig_outcome){.status = status, .event = -1};
}

/* Carries out one request; *to is its responder. */
static struct rig_outcome one(struct rig_qp *q, struct rig_send *w, struct rig_qp **to)
{
	struct rig_device *d = &rig_mapped()->devices[q->device];
	struct iovec at[RIG_MAX_SGE + 2];
	struct rig_memory local = {.at = at};
	struct rig_outcome unreachable = {.wait = RIG_W_TIMEOUT, .event = -1};
	uint32_t fault = q->wait ? 0 : rig_fault_due(d, RIG_F_SEND);

	*to = NULL;
	if (fault)
		return done(fault);
	if (w->opcode == IBV_WR_BIND_MW)
		return done(rig_bind(q, w));
	if (w->opcode == IBV_WR_LOCAL_INV)
		return done(rig_invalidate(q, w->immediate, 0));
	enum ibv_wc_status status = gather(q, w, &local);
	if (status == IBV_WC_SUCCESS && q->type == IBV_QPT_UD && w->length > RIG_MTU)
		status = IBV_WC_LOC_LEN_ERR;
	if (status != IBV_WC_SUCCESS)
		return done(status);
	if (q->type == IBV_QPT_UD) {
		rig_datagram(q, w, local);
		return done(IBV_WC_SUCCESS);
	}
	*to = responder_of(q);
	if (!*to)
		return unreachable;
	rig_lock(&(*to)->receive_lock);
	struct rig_outcome o = connected(*to, q) ? rig_deliver(q, *to, w, local) : unreachable;
	if (o.remote_fails)
		(*to)->state = IBV_QPS_ERR;
	rig_unlock(&(*to)->receive_lock);
	return o;
}

/* The time of a code of min_rnr_timer, ns. */
static uint64_t rnr_time(uint32_t code)
{
	/* in hundredths of a ms; of InfiniBand's table 45 */
	static const uint32_t hundredths[32] = {
		65536, 1,    2,    3,    4,    6,     8,     12,    16,    24,   32,
		48,    64,   96,   128,  192,  256,   384,   512,   768,   1024, 1536,
		2048,  3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152};

	return (uint64_t)hundredths[code & 31] * 10000;
}

/* The request cannot be carried out now: success, so it waits, or the status that it fails with. */
static enum ibv_wc_status wait_for(struct rig_qp *q, enum rig_wait why, const struct rig_qp *to)
{
	uint64_t now = rig_now();

	if (q->wait != why) {
		uint64_t time = 0;
		if (why == RIG_W_RNR && q->attr.rnr_retry == 0)
			return IBV_WC_RNR_RETRY_EXC_ERR;
		if (why == RIG_W_RNR && q->attr.rnr_retry < 7)
			time = q->attr.rnr_retry * rnr_time(to->attr.min_rnr_timer);
		if (why == RIG_W_TIMEOUT && q->attr.timeout)
			time = ((uint64_t)4096 << q->attr.timeout) * (q->attr.retry_cnt + 1u);
		q->since = now;
		q->deadline = time ? now + time : 0;
		q->wait = why;
		if (q->deadline)
			rig_agent_wake(q->slot.process);
	}
	if (!q->deadline || now < q->deadline)
		return IBV_WC_SUCCESS;
	return why == RIG_W_RNR ? IBV_WC_RNR_RETRY_EXC_ERR : IBV_WC_RETRY_EXC_ERR;
}

/* A request that failed: a datagram's queue pair takes no more, a connection is over. */
static void stop(struct rig_qp *q, const struct rig_send *w, enum ibv_wc_status status)
{
	rig_complete_send(q, w, status);
	q->state = q->type == IBV_QPT_UD ? IBV_QPS_SQE : IBV_QPS_ERR;
}

/* Under send_lock. A responder that has failed, or NULL; *event: its asynchronous event, or -1. */
static struct rig_qp *carry_out(struct rig_qp *q, int *event)
{
	*event = -1;
	while (q->done < q->posted && q->state == IBV_QPS_RTS) {
		struct rig_send *w = rig_send_at(q, q->done);
		struct rig_qp *to;
		struct rig_outcome o = one(q, w, &to);
		enum ibv_wc_status status = o.status;
		if (o.wait) {
			status = wait_for(q, o.wait, to);
			if (status == IBV_WC_SUCCESS)
				return NULL;
		}
		q->wait = RIG_W_NONE;
		if (status == IBV_WC_SUCCESS)
			rig_complete_send(q, w, status);
		else
			stop(q, w, status);
		if (o.remote_fails) {
			*event = o.event;
			return to;
		}
	}
	return NULL;
}

void rig_run_locked(struct rig_qp *q)
{
	int event;
	struct rig_qp *failed = carry_out(q, &event);

	rig_flush_sends(q);
	int own = q->state == IBV_QPS_ERR;
	rig_unlock(&q->send_lock);
	if (failed) {
		if (event >= 0)
			rig_qp_event(failed, (enum ibv_event_type)event);
		rig_qp_flush(failed);
	}
	if (own)
		rig_qp_flush(q);
}

void rig_run(struct rig_qp *q)
{
	rig_lock(&q->send_lock);
	rig_run_locked(q);
}

void rig_run_senders(struct rig_qp *responder)
{
	struct rig_qp *q = rig_qp_find(responder->attr.dest_qp_num);

	/* Whether it waits is known only under its lock: it may just have begun to wait. */
	if (q && !rig_dead(q->slot.process) && q->attr.dest_qp_num == responder->qpn)
		rig_run(q);
}

uint64_t rig_run_all(void)
{
	struct rig_world *w = rig_mapped();
	uint64_t next = 0;

	for (uint32_t i = 1; i <= w->top_qp; i++) {
		struct rig_qp *q = &w->qps[i];
		if (!q->qpn || q->slot.process != rig_self())
			continue;
		if (q->state == IBV_QPS_ERR)
			rig_qp_flush(q); /* whoever failed it may have died before this */
		else if (q->wait)
			rig_run(q);
		if (q->wait && q->deadline && (!next || q->deadline < next))
			next = q->deadline;
	}
	return next;
}
