/* cq.c - completion queues and channels: see cq.h */
#include "world.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct note { /* a completion event, in a channel's FIFO */
	uint32_t cq, generation;
};

static struct rig_completion *ring_of(const struct rig_cq *q)
{
	return rig_at(q->ring);
}

/* Reports to the channel that a completion is there. Under the queue's lock. The record goes before
 * `armed` changes: a process that dies between has it reported twice, not never. If the program has
 * armed it again meanwhile, it stays armed. */
static void notify(struct rig_cq *q, uint32_t armed)
{
	struct note n = {RIG_INDEX(rig_mapped()->cqs, q), q->slot.generation};

	if (q->channel != RIG_NOBODY)
		rig_fifo_send(RIG_T_CHANNEL, q->channel, q->channel_generation, &n, sizeof n);
	atomic_compare_exchange_strong(&q->armed, &armed, armed / RIG_ARMS * RIG_ARMS);
}

int rig_complete(struct rig_cq *q, const struct rig_completion *c, int solicited)
{
	rig_lock(&q->lock);
	if (!atomic_load_explicit(&q->slot.used, memory_order_relaxed)) {
		rig_unlock(&q->lock);
		return 1; /* its process is dead */
	}
	uint64_t tail = atomic_load_explicit(&q->tail, memory_order_relaxed);
	uint64_t head = atomic_load_explicit(&q->head, memory_order_acquire);
	if (tail - head >= atomic_load_explicit(&q->room, memory_order_relaxed) ||
	    atomic_load_explicit(&q->failed, memory_order_relaxed)) {
		int goes_on = (int)atomic_load(&q->goes_on);
		int reported = goes_on || !atomic_exchange(&q->failed, 1);
		rig_unlock(&q->lock);
		if (reported)
			rig_async(q->context, IBV_EVENT_CQ_ERR, RIG_E_CQ,
			          RIG_INDEX(rig_mapped()->cqs, q), q->slot.generation);
		return goes_on;
	}
	ring_of(q)[tail % q->cqe] = *c;
	/* sequentially consistent, as the store of rig_arm: one of both sees the other */
	atomic_store(&q->tail, tail + 1);
	uint32_t armed = atomic_load(&q->armed);
	uint32_t how = armed % RIG_ARMS;
	if (how == RIG_ARMED ||
	    (how == RIG_ARMED_SOLICITED && (solicited || c->wc.status != IBV_WC_SUCCESS)))
		notify(q, armed);
	rig_unlock(&q->lock);
	return 1;
}

int rig_arm(struct ibv_cq *cq, int solicited_only)
{
	struct rig_cq *q = ((struct rig_program_cq *)cq)->shared;

	if (rig_alive(cq->context))
		return EIO;
	uint32_t before = atomic_load(&q->armed), how;
	do {
		how = solicited_only && before % RIG_ARMS != RIG_ARMED ? RIG_ARMED_SOLICITED
		                                                       : RIG_ARMED;
	} while (!atomic_compare_exchange_weak(&q->armed, &before,
	                                       (before / RIG_ARMS + 1) * RIG_ARMS + how));
	return 0;
}

/* The request's place in its queue is free again. */
static void release(const struct rig_completion *c)
{
	struct rig_world *w = rig_mapped();
	struct rig_qp *q = &w->qps[c->wc.qp_num % RIG_QPS];

	if (c->from == RIG_FROM_SRQ)
		atomic_fetch_add_explicit(&w->srqs[c->index].r.freed, 1, memory_order_relaxed);
	else if (q->qpn != c->wc.qp_num)
		;
	else if (c->from == RIG_FROM_SEND)
		atomic_store_explicit(&q->freed, c->sequence + 1, memory_order_release);
	else if (c->from == RIG_FROM_RECEIVE)
		atomic_fetch_add_explicit(&q->r.freed, 1, memory_order_relaxed);
}

int rig_poll(struct ibv_cq *cq, int most, struct ibv_wc *wc)
{
	struct rig_program_cq *p = (struct rig_program_cq *)cq;
	struct rig_cq *q = p->shared;
	int n = 0;

	if (atomic_load_explicit(&q->head, memory_order_relaxed) ==
	    atomic_load_explicit(&q->tail, memory_order_acquire))
		return 0;
	pthread_mutex_lock(&p->poll);
	uint64_t head = atomic_load_explicit(&q->head, memory_order_relaxed);
	uint64_t tail = atomic_load_explicit(&q->tail, memory_order_acquire);
	for (; head < tail && n < most; head++) {
		const struct rig_completion *c = &ring_of(q)[head % q->cqe];
		if (c->from == RIG_FROM_NONE)
			continue;
		release(c);
		wc[n++] = c->wc;
	}
	atomic_store_explicit(&q->head, head, memory_order_release);
	pthread_mutex_unlock(&p->poll);
	return n;
}

void rig_cq_clean(struct rig_cq *q, uint32_t qpn)
{
	rig_lock(&q->lock);
	for (uint64_t i = q->head; i < q->tail; i++) {
		struct rig_completion *c = &ring_of(q)[i % q->cqe];
		if (c->wc.qp_num != qpn || c->from == RIG_FROM_NONE)
			continue;
		if (c->from == RIG_FROM_SRQ) /* its own queues are empty already, or gone */
			release(c);
		c->from = RIG_FROM_NONE;
	}
	rig_unlock(&q->lock);
}

#undef ibv_create_cq
struct ibv_cq *ibv_create_cq(struct ibv_context *c, int cqe, void *context,
                             struct ibv_comp_channel *channel, int vector)
{
	struct rig_world *w = rig_mapped();
	struct rig_program_channel *ch = (struct rig_program_channel *)channel;
	uint32_t refused = rig_fault_due(rig_device_of(c), RIG_F_CQ);

	if (rig_alive(c) || refused || cqe < 1 || cqe > RIG_MAX_CQE || vector != 0) {
		errno = rig_alive(c) ? EIO : refused ? (int)refused : EINVAL;
		return NULL;
	}
	struct rig_program_cq *p = calloc(1, sizeof *p);
	size_t size = (size_t)cqe * sizeof(struct rig_completion);
	rig_lock(&w->lock);
	struct rig_cq *q = p ? RIG_TAKE(RIG_T_CQ, w->cqs) : NULL;
	if (q) {
		if (q->slot.generation == 1)
			rig_new_lock(&q->lock);
		q->ring = rig_alloc(size);
		if (!q->ring) {
			rig_give(q);
			q = NULL;
		}
	}
	rig_unlock(&w->lock);
	if (!q) {
		free(p);
		errno = ENOMEM;
		return NULL;
	}
	q->ring_size = size;
	q->room = q->cqe = (uint32_t)cqe;
	q->goes_on = 0;
	q->context = rig_open_of(c)->index;
	q->channel = ch ? ch->index : RIG_NOBODY;
	q->channel_generation = ch ? ch->generation : 0;
	q->armed = q->failed = q->users = 0;
	q->head = q->tail = 0;
	q->program = (uintptr_t)p;
	p->shared = q;
	pthread_mutex_init(&p->poll, NULL);
	p->cq = (struct ibv_cq){.context = c,
	                        .channel = channel,
	                        .cq_context = context,
	                        .handle = RIG_INDEX(w->cqs, q),
	                        .cqe = cqe};
	pthread_mutex_init(&p->cq.mutex, NULL);
	pthread_cond_init(&p->cq.cond, NULL);
	if (channel)
		__atomic_fetch_add(&channel->refcnt, 1, __ATOMIC_SEQ_CST);
	return &p->cq;
}

int ibv_resize_cq(struct ibv_cq *cq, int cqe)
{
	struct rig_program_cq *p = (struct rig_program_cq *)cq;
	struct rig_cq *q = p->shared;
	struct rig_world *w = rig_mapped();
	size_t size = (size_t)cqe * sizeof(struct rig_completion);
	int err = 0;

	if (cqe < 1 || cqe > RIG_MAX_CQE)
		return EINVAL;
	rig_lock(&w->lock);
	uint64_t ring = rig_alloc(size);
	pthread_mutex_lock(&p->poll);
	rig_lock(&q->lock);
	uint64_t n = q->tail - q->head;
	if (!ring || n > (uint64_t)cqe) {
		err = ring ? EINVAL : ENOMEM;
		rig_free(ring, size);
	} else {
		struct rig_completion *to = rig_at(ring);
		for (uint64_t i = q->head; i < q->tail; i++)
			to[i % (uint64_t)cqe] = ring_of(q)[i % q->cqe];
		rig_free(q->ring, q->ring_size);
		q->ring = ring;
		q->ring_size = size;
		q->room = q->cqe = (uint32_t)cqe;
		cq->cqe = cqe;
	}
	rig_unlock(&q->lock);
	pthread_mutex_unlock(&p->poll);
	rig_unlock(&w->lock);
	return err;
}

/* Under the world's lock. */
void rig_cq_free(struct rig_cq *q)
{
	rig_lock(&q->lock);
	rig_give(q);
	rig_free(q->ring, q->ring_size);
	q->ring = 0;
	rig_unlock(&q->lock);
}

static int others(const void *record, const void *what)
{
	return memcmp(record, what, sizeof(struct note)) != 0;
}

int ibv_destroy_cq(struct ibv_cq *cq)
{
	struct rig_program_cq *p = (struct rig_program_cq *)cq;
	struct rig_cq *q = p->shared;
	struct rig_world *w = rig_mapped();
	struct note n = {RIG_INDEX(w->cqs, q), q->slot.generation};

	if (atomic_load(&q->users))
		return EBUSY;
	rig_lock(&w->lock);
	rig_cq_free(q);
	rig_unlock(&w->lock);
	rig_async_forget(cq->context, RIG_E_CQ, n.cq, n.generation);
	if (cq->channel) {
		rig_fifo_filter(RIG_T_CHANNEL, q->channel, q->channel_generation, sizeof n, others,
		                &n);
		__atomic_fetch_sub(&cq->channel->refcnt, 1, __ATOMIC_SEQ_CST);
	}
	pthread_mutex_lock(&cq->mutex);
	while (cq->comp_events_completed != p->events ||
	       cq->async_events_completed != p->async_events)
		pthread_cond_wait(&cq->cond, &cq->mutex);
	pthread_mutex_unlock(&cq->mutex);
	free(p);
	return 0;
}

struct ibv_comp_channel *ibv_create_comp_channel(struct ibv_context *c)
{
	struct rig_world *w = rig_mapped();
	struct rig_program_channel *p = rig_alive(c) ? NULL : calloc(1, sizeof *p);

	if (!p) {
		errno = rig_alive(c) ? EIO : ENOMEM;
		return NULL;
	}
	rig_lock(&w->lock);
	struct rig_channel *ch = RIG_TAKE(RIG_T_CHANNEL, w->channels);
	rig_unlock(&w->lock);
	if (ch) {
		p->index = RIG_INDEX(w->channels, ch);
		p->generation = ch->slot.generation;
		p->channel.context = c;
		p->channel.fd = rig_fifo_open(RIG_T_CHANNEL, p->index, p->generation);
		if (p->channel.fd >= 0)
			return (struct ibv_comp_channel *)p;
		rig_give(ch);
	}
	free(p);
	errno = EMFILE;
	return NULL;
}

int ibv_destroy_comp_channel(struct ibv_comp_channel *channel)
{
	struct rig_program_channel *p = (struct rig_program_channel *)channel;

	if (__atomic_load_n(&channel->refcnt, __ATOMIC_SEQ_CST))
		return EBUSY;
	close(channel->fd);
	rig_fifo_remove(RIG_T_CHANNEL, p->index, p->generation);
	rig_give(&rig_mapped()->channels[p->index]);
	free(p);
	return 0;
}

int ibv_get_cq_event(struct ibv_comp_channel *channel, struct ibv_cq **cq, void **context)
{
	struct rig_world *w = rig_mapped();
	struct note n;

	for (;;) {
		if (read(channel->fd, &n, sizeof n) != sizeof n)
			return -1;
		struct rig_cq *q = &w->cqs[n.cq % RIG_CQS];
		if (!atomic_load(&q->slot.used) || q->slot.generation != n.generation)
			continue; /* destroyed meanwhile by another thread */
		struct rig_program_cq *p = (void *)(uintptr_t)q->program;
		pthread_mutex_lock(&p->cq.mutex);
		p->events++;
		pthread_mutex_unlock(&p->cq.mutex);
		*cq = &p->cq;
		*context = p->cq.cq_context;
		return 0;
	}
}

void ibv_ack_cq_events(struct ibv_cq *cq, unsigned int n)
{
	pthread_mutex_lock(&cq->mutex);
	cq->comp_events_completed += n;
	pthread_cond_signal(&cq->cond);
	pthread_mutex_unlock(&cq->mutex);
}
