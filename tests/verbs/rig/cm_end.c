/* cm_end.c - how connections end and time out, and events of the connection manager: see cm.h */
#include "world.h"

#include <errno.h>
#include <rdma/rdma_cma.h>
#include <string.h>

enum { TIMEWAIT_MS = 20, LEAVE_MS = 2000 };

struct note { /* in the FIFO of an event channel */
	uint32_t event, generation;
};

struct rig_id *rig_id_peer(const struct rig_id *i)
{
	struct rig_id *p = &rig_mapped()->cm.ids[i->peer % RIG_IDS];

	return i->peer != RIG_NOBODY && atomic_load(&p->slot.used) &&
	                       p->slot.generation == i->peer_generation
	               ? p
	               : NULL;
}

void rig_cm_deadline(struct rig_id *i, uint64_t ms)
{
	i->deadline = ms ? rig_now() + ms * 1000000 : 0;
	if (ms)
		rig_agent_wake(i->slot.process);
}

int rig_cm_event(struct rig_id *i, uint32_t type, int status, const struct rig_terms *t)
{
	struct rig_world *w = rig_mapped();
	struct rig_event *e = RIG_TAKE(RIG_T_EVENT, w->cm.events);
	static const struct rig_terms none;

	if (!e)
		return ENOMEM;
	e->slot.process = i->slot.process;
	e->type = type;
	e->id = RIG_INDEX(w->cm.ids, i);
	e->id_generation = i->slot.generation;
	e->listener = type == RDMA_CM_EVENT_CONNECT_REQUEST ? i->listener : RIG_NOBODY;
	e->status = status;
	e->terms = t ? *t : none;
	struct note n = {RIG_INDEX(w->cm.events, e), e->slot.generation};
	rig_fifo_send(RIG_T_CM_CHANNEL, i->channel, w->cm.channels[i->channel].slot.generation, &n,
	              sizeof n);
	return 0;
}

/* Both have left: the number of the connection is free after a time. */
static void left(struct rig_id *i)
{
	i->state = RIG_I_ENDED;
	rig_cm_event(i, RDMA_CM_EVENT_DISCONNECTED, 0, NULL);
	rig_cm_deadline(i, TIMEWAIT_MS);
}

void rig_id_rejected(struct rig_id *i, int status, const struct rig_terms *t)
{
	i->state = RIG_I_ENDED;
	i->peer = RIG_NOBODY;
	i->deadline = 0;
	rig_cm_event(i,
	             i->space == RDMA_PS_UDP ? RDMA_CM_EVENT_UNREACHABLE : RDMA_CM_EVENT_REJECTED,
	             status, t);
}

void rig_id_disconnect(struct rig_id *i)
{
	struct rig_id *p = rig_id_peer(i);

	if (i->state == RIG_I_ENDED) { /* the other was first, and waits for this */
		if (p && p->state == RIG_I_ENDING)
			left(p);
		return;
	}
	i->state = RIG_I_ENDING;
	if (!p || p->state == RIG_I_ENDED) {
		left(i);
	} else if (p->state == RIG_I_ENDING) {
		left(i);
		left(p);
	} else {
		left(p);
		rig_cm_deadline(i, LEAVE_MS);
	}
}

static int others(const void *record, const void *what)
{
	const struct note *n = record;
	const struct rig_id *i = what;
	struct rig_world *w = rig_mapped();
	const struct rig_event *e = &w->cm.events[n->event % RIG_EVENTS];

	return e->slot.used && e->slot.generation == n->generation &&
	       (e->id != RIG_INDEX(w->cm.ids, i) || e->id_generation != i->slot.generation);
}

/* Events that the program has not taken. */
static void forget_events(struct rig_id *i)
{
	struct rig_world *w = rig_mapped();
	struct rig_cm_channel *c = &w->cm.channels[i->channel];

	if (atomic_load(&c->slot.used))
		rig_fifo_filter(RIG_T_CM_CHANNEL, i->channel, c->slot.generation,
		                sizeof(struct note), others, i);
	for (uint32_t k = 1; k < RIG_EVENTS; k++) {
		struct rig_event *e = &w->cm.events[k];
		if (atomic_load(&e->slot.used) && e->id == RIG_INDEX(w->cm.ids, i) &&
		    e->id_generation == i->slot.generation)
			rig_give(e);
	}
}

/* Requests of a listener that its program has not taken. */
static void end_requests(const struct rig_id *listener)
{
	struct rig_world *w = rig_mapped();

	for (uint32_t k = 1; k <= w->cm.top; k++) {
		struct rig_id *i = &w->cm.ids[k];
		if (atomic_load(&i->slot.used) && i->state == RIG_I_REQUESTED && !i->program &&
		    i->listener == RIG_INDEX(w->cm.ids, listener) &&
		    i->listener_generation == listener->slot.generation)
			rig_id_end(i);
	}
}

void rig_id_end(struct rig_id *i)
{
	struct rig_id *p = rig_id_peer(i);

	switch (i->state) {
	case RIG_I_LISTENING:
		end_requests(i);
		break;
	case RIG_I_REQUESTED:
		if (p)
			rig_id_rejected(p,
			                i->space == RDMA_PS_UDP ? RIG_SIDR_REJECTED : RIG_REJECTED,
			                NULL);
		break;
	case RIG_I_ANSWERED:
	case RIG_I_ACCEPTED:
		if (p)
			rig_id_rejected(p, RIG_REJECTED, NULL);
		break;
	case RIG_I_CONNECTED:
		if (p && i->space != RDMA_PS_UDP && p->state == RIG_I_CONNECTED)
			left(p);
		break;
	case RIG_I_ENDED:
		if (p && p->state == RIG_I_ENDING)
			left(p);
		break;
	default:
		break;
	}
	forget_events(i);
	rig_give(i);
}

void rig_cm_device_gone(uint32_t device)
{
	struct rig_world *w = rig_mapped();

	for (uint32_t k = 1; k <= w->cm.top; k++) {
		struct rig_id *i = &w->cm.ids[k];
		if (atomic_load(&i->slot.used) && i->at >= 0 && (uint32_t)i->at >> 8 == device &&
		    (i->program || i->state != RIG_I_REQUESTED))
			rig_cm_event(i, RDMA_CM_EVENT_DEVICE_REMOVAL, 0, NULL);
	}
}

/* The deadline of an id has passed. */
static void expire(struct rig_id *i)
{
	i->deadline = 0;
	switch (i->state) {
	case RIG_I_RESOLVING:
		i->state = RIG_I_BOUND;
		rig_cm_event(i, RDMA_CM_EVENT_ADDR_ERROR, -ETIMEDOUT, NULL);
		break;
	case RIG_I_CONNECTING:
	case RIG_I_ACCEPTED:
		if (i->patient) {
			i->patient = 0;
			rig_id_rejected(i, RIG_NO_LISTENER, NULL);
			break;
		}
		i->state = RIG_I_ENDED;
		i->peer = RIG_NOBODY;
		rig_cm_event(i, RDMA_CM_EVENT_UNREACHABLE, -ETIMEDOUT, NULL);
		break;
	case RIG_I_ENDING:
		left(i);
		break;
	case RIG_I_ENDED:
		rig_cm_event(i, RDMA_CM_EVENT_TIMEWAIT_EXIT, 0, NULL);
		break;
	default:
		break;
	}
}

uint64_t rig_cm_timers(void)
{
	struct rig_world *w = rig_mapped();
	uint64_t now = rig_now(), next = 0;

	rig_lock(&w->lock);
	for (uint32_t k = 1; k <= w->cm.top; k++) {
		struct rig_id *i = &w->cm.ids[k];
		if (!atomic_load(&i->slot.used) || i->slot.process != rig_self() || !i->deadline)
			continue;
		if (i->deadline <= now)
			expire(i);
		if (i->deadline && (!next || i->deadline < next))
			next = i->deadline;
	}
	rig_unlock(&w->lock);
	return next;
}
