/* cm_event.c - event channels, and events as programs have them. */
#include "cm_program.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct note { /* as in cm_end.c */
	uint32_t event, generation;
};

struct reported {
	struct rdma_cm_event event;
	struct rig_program_id *counts; /* the id, or a request's listener */
	uint8_t private_data[RIG_PRIVATE];
};

struct rdma_event_channel *rdma_create_event_channel(void)
{
	struct rig_world *w = rig_world();
	struct rig_program_channel_cm *p = w ? calloc(1, sizeof *p) : NULL;

	if (!p)
		return NULL;
	rig_lock(&w->lock);
	struct rig_cm_channel *c = RIG_TAKE(RIG_T_CM_CHANNEL, w->cm.channels);
	rig_unlock(&w->lock);
	if (c) {
		p->index = RIG_INDEX(w->cm.channels, c);
		p->generation = c->slot.generation;
		p->channel.fd = rig_fifo_open(RIG_T_CM_CHANNEL, p->index, p->generation);
		if (p->channel.fd >= 0)
			return &p->channel;
		rig_give(c);
	}
	free(p);
	errno = EMFILE;
	return NULL;
}

void rdma_destroy_event_channel(struct rdma_event_channel *channel)
{
	struct rig_program_channel_cm *p = (struct rig_program_channel_cm *)channel;

	close(channel->fd);
	rig_fifo_remove(RIG_T_CM_CHANNEL, p->index, p->generation);
	rig_give(&rig_mapped()->cm.channels[p->index]);
	free(p);
}

/* Takes an event of the world; 0: its id is gone. Under the world's lock. */
static int take_event(const struct note *n, struct rig_event *out, struct rig_program_id **id,
                      struct rig_program_id **listener)
{
	struct rig_world *w = rig_mapped();
	struct rig_event *e = &w->cm.events[n->event % RIG_EVENTS];

	*id = *listener = NULL;
	if (!atomic_load(&e->slot.used) || e->slot.generation != n->generation)
		return 0;
	*out = *e;
	rig_give(e);
	struct rig_id *i = &w->cm.ids[out->id];
	if (!atomic_load(&i->slot.used) || i->slot.generation != out->id_generation)
		return 0;
	*id = (void *)(uintptr_t)i->program;
	if (out->listener != RIG_NOBODY)
		*listener = (void *)(uintptr_t)w->cm.ids[out->listener].program;
	return *id || *listener;
}

/* An id of this program for a request. */
static struct rig_program_id *new_request(struct rdma_event_channel *channel, struct rig_id *i,
                                          struct rig_program_id *listener)
{
	struct rig_program_id *p = rig_new_program_id((struct rig_program_channel_cm *)channel, i);

	if (!p)
		return NULL;
	p->id.context = listener->id.context;
	i->program = (uintptr_t)p;
	rig_id_shows(p);
	int index = 0;
	rig_find_address((struct sockaddr *)&i->remote, &index);
	p->id.route.addr.addr.ibaddr.dgid =
		rig_mapped()->devices[i->reaches >> 8].port[(i->reaches & 0xff) - 1].gids[index];
	p->path = (struct ibv_sa_path_rec){.dgid = p->id.route.addr.addr.ibaddr.dgid,
	                                   .sgid = p->id.route.addr.addr.ibaddr.sgid,
	                                   .pkey = htobe16(RIG_PKEY),
	                                   .mtu = IBV_MTU_4096};
	p->id.route.path_rec = &p->path;
	p->id.route.num_paths = 1;
	return p;
}

static void conn(struct reported *r, const struct rig_terms *t)
{
	struct rdma_conn_param *c = &r->event.param.conn;

	memcpy(r->private_data, t->private_data, sizeof r->private_data);
	c->private_data = t->size ? r->private_data : NULL;
	c->private_data_len = t->size;
	c->responder_resources = t->responder_resources;
	c->initiator_depth = t->initiator_depth;
	c->flow_control = 1;
	c->retry_count = t->retry;
	c->rnr_retry_count = t->rnr_retry;
	c->srq = t->srq;
	c->qp_num = t->qpn;
}

static void datagram(struct reported *r, const struct rig_terms *t, const struct rdma_cm_id *id)
{
	struct rdma_ud_param *u = &r->event.param.ud;

	memcpy(r->private_data, t->private_data, sizeof r->private_data);
	u->private_data = t->size ? r->private_data : NULL;
	u->private_data_len = t->size;
	u->qp_num = t->qpn;
	u->qkey = t->qkey;
	u->ah_attr.is_global = 1;
	u->ah_attr.grh.dgid = id->route.addr.addr.ibaddr.dgid;
	u->ah_attr.grh.sgid_index =
		(uint8_t)rig_program_id((void *)(uintptr_t)id)->shared->gid_index;
	u->ah_attr.grh.hop_limit = 64;
	u->ah_attr.port_num = id->port_num;
	struct rig_id *i = rig_program_id((void *)(uintptr_t)id)->shared;
	if (rig_mapped()->devices[i->at >> 8].infiniband)
		u->ah_attr.dlid =
			rig_mapped()->devices[i->reaches >> 8].port[(i->reaches & 0xff) - 1].lid;
}

/* With a queue pair of its own the id is connected by the library. */
static void answer(struct reported *r, struct rig_program_id *p)
{
	int err = rig_qp_ready(p);

	if (!err)
		err = rig_establish(p);
	r->event.event = err ? RDMA_CM_EVENT_CONNECT_ERROR : RDMA_CM_EVENT_ESTABLISHED;
	r->event.status = err ? -err : 0;
}

static int report(struct rdma_event_channel *channel, const struct rig_event *e,
                  struct rig_program_id *id, struct rig_program_id *listener,
                  struct rdma_cm_event **out)
{
	struct rig_world *w = rig_mapped();
	struct reported *r = calloc(1, sizeof *r);

	if (!r)
		return rig_result(ENOMEM);
	if (!id)
		id = new_request(channel, &w->cm.ids[e->id], listener);
	if (!id) {
		free(r);
		return rig_result(ENOMEM);
	}
	r->event.id = &id->id;
	r->event.listen_id = listener ? &listener->id : NULL;
	r->event.event = (enum rdma_cm_event_type)e->type;
	r->event.status = e->status;
	r->counts = listener ? listener : id;
	if (id->id.ps == RDMA_PS_UDP)
		datagram(r, &e->terms, &id->id);
	else
		conn(r, &e->terms);
	if (e->type == RDMA_CM_EVENT_CONNECT_RESPONSE && id->id.qp)
		answer(r, id);
	if (e->type == RDMA_CM_EVENT_ADDR_RESOLVED)
		rig_id_shows(id);
	pthread_mutex_lock(&r->counts->lock);
	r->counts->reported++;
	pthread_mutex_unlock(&r->counts->lock);
	*out = (struct rdma_cm_event *)r;
	return 0;
}

int rdma_get_cm_event(struct rdma_event_channel *channel, struct rdma_cm_event **out)
{
	struct rig_world *w = rig_mapped();
	struct rig_program_id *id, *listener;
	struct rig_event e;
	struct note n;
	int there;

	if (!w || !out)
		return rig_result(EINVAL);
	do {
		if (read(channel->fd, &n, sizeof n) != sizeof n)
			return -1;
		rig_lock(&w->lock);
		there = take_event(&n, &e, &id, &listener);
		rig_unlock(&w->lock);
	} while (!there);
	return report(channel, &e, id, listener, out);
}

int rdma_ack_cm_event(struct rdma_cm_event *event)
{
	struct reported *r = (struct reported *)event;
	struct rig_program_id *p;

	if (!event)
		return rig_result(EINVAL);
	p = r->counts;
	free(r);
	pthread_mutex_lock(&p->lock);
	p->acknowledged++;
	pthread_cond_signal(&p->cond);
	pthread_mutex_unlock(&p->lock);
	return 0;
}
