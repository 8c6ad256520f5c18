/* cm_connect.c - connections: asked for, accepted, refused, ended. */
#include "cm_program.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Bytes of private data that the messages have room for. */
enum {
	REQUEST = 56,
	ANSWER = 196,
	REFUSAL = 148,
	SIDR_REQUEST = 180,
	SIDR_ANSWER = 136,
	CONNECT_MS = 60000, /* until an answer; a listener's program may take its time */
	LOST_MS = 2000,     /* until it is known that no message comes through */
	UDP_QKEY = 0x01234567
};

/* The terms of a message; n: of private data, which arrives as long as its message has room. */
static int terms_of(struct rig_program_id *p, const struct rdma_conn_param *param, unsigned n,
                    struct rig_terms *t)
{
	*t = (struct rig_terms){.retry = 7, .rnr_retry = 7, .size = (uint8_t)n, .qkey = UDP_QKEY};
	t->psn = p->shared->mine.psn; /* a program may have taken it already */
	t->responder_resources = t->initiator_depth = RIG_MAX_READS;
	if (param) {
		if (param->private_data_len > n ||
		    (param->private_data_len && !param->private_data))
			return EINVAL;
		if (param->private_data_len)
			memcpy(t->private_data, param->private_data, param->private_data_len);
		if (param->responder_resources != RDMA_MAX_RESP_RES)
			t->responder_resources = param->responder_resources;
		if (param->initiator_depth != RDMA_MAX_INIT_DEPTH)
			t->initiator_depth = param->initiator_depth;
		t->retry = param->retry_count & 7;
		t->rnr_retry = param->rnr_retry_count & 7;
		t->qpn = param->qp_num;
		t->srq = param->srq;
	}
	if (p->id.qp)
		t->qpn = p->id.qp->qp_num;
	return t->responder_resources > RIG_MAX_READS || t->initiator_depth > RIG_MAX_READS ? EINVAL
	                                                                                    : 0;
}

static int listens(const struct rig_id *l, const struct rig_id *i)
{
	const struct sockaddr_in *at = (const struct sockaddr_in *)&l->local;
	const struct sockaddr_in *to = (const struct sockaddr_in *)&i->remote;

	return atomic_load(&l->slot.used) && l->state == RIG_I_LISTENING && l->space == i->space &&
	       at->sin_port == to->sin_port &&
	       (l->at >= 0 ? l->at == i->reaches : (int)(l->host >> (i->reaches >> 8) & 1)) &&
	       !rig_dead(l->slot.process);
}

static struct rig_id *find_listener(const struct rig_id *i)
{
	struct rig_world *w = rig_mapped();

	for (uint32_t k = 1; k <= w->cm.top; k++)
		if (listens(&w->cm.ids[k], i))
			return &w->cm.ids[k];
	return NULL;
}

/* Terms as the other side sees them: one side's initiator depth is the other's responder
 * resources. */
static struct rig_terms turned(const struct rig_terms *t)
{
	struct rig_terms o = *t;

	o.responder_resources = t->initiator_depth;
	o.initiator_depth = t->responder_resources;
	return o;
}

/* A new id at the listener's process, and its event. */
static int request(struct rig_id *i, struct rig_id *l)
{
	struct rig_world *w = rig_mapped();
	struct rig_id *c = RIG_TAKE(RIG_T_ID, w->cm.ids);
	int index = 0;

	if (!c)
		return ENOMEM;
	struct rig_slot slot = c->slot;
	memset(c, 0, sizeof *c);
	slot.process = l->slot.process;
	c->slot = slot;
	c->channel = l->channel;
	c->space = l->space;
	c->host = l->host;
	c->listener = RIG_INDEX(w->cm.ids, l);
	c->listener_generation = l->slot.generation;
	c->at = i->reaches;
	c->reaches = i->at;
	c->local = i->remote;
	c->remote = i->local;
	rig_find_address((struct sockaddr *)&c->local, &index);
	c->gid_index = (uint32_t)index;
	c->peer = RIG_INDEX(w->cm.ids, i);
	c->peer_generation = i->slot.generation;
	c->theirs = turned(&i->mine);
	/* what a queue pair gets that is made ready before the answer */
	c->mine = (struct rig_terms){.psn = rig_psn(),
	                             .retry = c->theirs.retry,
	                             .rnr_retry = c->theirs.rnr_retry,
	                             .responder_resources = c->theirs.responder_resources,
	                             .initiator_depth = c->theirs.initiator_depth};
	c->state = RIG_I_REQUESTED;
	if (RIG_INDEX(w->cm.ids, c) > w->cm.top)
		w->cm.top = RIG_INDEX(w->cm.ids, c);
	i->peer = RIG_INDEX(w->cm.ids, c);
	i->peer_generation = c->slot.generation;
	l->pending++;
	return rig_cm_event(c, RDMA_CM_EVENT_CONNECT_REQUEST, 0, &c->theirs);
}

/* How long a request waits for a program that is about to listen, ms. */
static uint64_t patience(void)
{
	const char *text = getenv("RIG_PATIENCE");

	return text ? strtoul(text, NULL, 10) : 0;
}

/* The request meets a listener. */
static void meet(struct rig_id *i, struct rig_id *l)
{
	i->patient = 0;
	if (l->pending >= l->backlog || request(i, l))
		rig_id_rejected(i, i->space == RDMA_PS_UDP ? RIG_SIDR_REJECTED : RIG_REJECTED, NULL);
	else
		rig_cm_deadline(i, CONNECT_MS);
}

void rig_cm_listens(struct rig_id *l)
{
	struct rig_world *w = rig_mapped();

	for (uint32_t k = 1; k <= w->cm.top; k++) {
		struct rig_id *i = &w->cm.ids[k];

		if (atomic_load(&i->slot.used) && i->state == RIG_I_CONNECTING && i->patient &&
		    listens(l, i))
			meet(i, l);
	}
}

static void ask(struct rig_id *i)
{
	i->state = RIG_I_CONNECTING;
	i->patient = 0;
	if (!rig_up((uint32_t)i->at >> 8, (uint32_t)i->at & 0xff) ||
	    !rig_up((uint32_t)i->reaches >> 8, (uint32_t)i->reaches & 0xff)) {
		rig_cm_deadline(i, LOST_MS);
		return;
	}
	struct rig_id *l = find_listener(i);
	if (l) {
		meet(i, l);
	} else if (i->space == RDMA_PS_UDP) {
		rig_id_rejected(i, RIG_SIDR_UNSUPPORTED, NULL);
	} else if (patience()) {
		i->patient = 1;
		rig_cm_deadline(i, patience());
	} else {
		rig_id_rejected(i, RIG_NO_LISTENER, NULL);
	}
}

int rdma_connect(struct rdma_cm_id *id, struct rdma_conn_param *param)
{
	struct rig_program_id *p = rig_program_id(id);
	struct rig_id *i = p->shared;
	struct rig_terms t;
	int err = terms_of(p, param, id->ps == RDMA_PS_UDP ? SIDR_REQUEST : REQUEST, &t);

	if (err)
		return rig_result(err);
	rig_lock(&rig_mapped()->lock);
	if (i->state != RIG_I_ROUTED) {
		err = EINVAL;
	} else {
		i->mine = t;
		ask(i);
	}
	rig_unlock(&rig_mapped()->lock);
	return rig_result(err);
}

/* The listener's room for another request. */
static void answered(struct rig_id *i)
{
	struct rig_id *l = &rig_mapped()->cm.ids[i->listener];

	if (i->listener && l->slot.used && l->slot.generation == i->listener_generation &&
	    l->pending)
		l->pending--;
}

/* Under the world's lock. */
static void accept_it(struct rig_id *i)
{
	struct rig_id *peer = rig_id_peer(i);

	answered(i);
	i->state = RIG_I_ACCEPTED;
	if (!peer || peer->state != RIG_I_CONNECTING) {
		rig_cm_deadline(i, LOST_MS); /* nobody answers */
		return;
	}
	peer->deadline = 0;
	peer->theirs = turned(&i->mine);
	if (i->space == RDMA_PS_UDP) {
		i->state = peer->state = RIG_I_CONNECTED;
		rig_cm_event(peer, RDMA_CM_EVENT_ESTABLISHED, 0, &peer->theirs);
		return;
	}
	peer->mine.responder_resources = peer->theirs.responder_resources;
	peer->mine.initiator_depth = peer->theirs.initiator_depth;
	peer->state = RIG_I_ANSWERED;
	rig_cm_event(peer, RDMA_CM_EVENT_CONNECT_RESPONSE, 0, &peer->theirs);
}

int rdma_accept(struct rdma_cm_id *id, struct rdma_conn_param *param)
{
	struct rig_program_id *p = rig_program_id(id);
	struct rig_id *i = p->shared;
	struct rig_terms t;
	int err = terms_of(p, param, id->ps == RDMA_PS_UDP ? SIDR_ANSWER : ANSWER, &t);

	if (!err && i->state != RIG_I_REQUESTED)
		err = EINVAL;
	if (err)
		return rig_result(err);
	/* what neither the request nor the program limits is the request's */
	if (!param) {
		t.responder_resources = i->theirs.responder_resources;
		t.initiator_depth = i->theirs.initiator_depth;
	}
	/* retries of the request are for both ends */
	t.retry = i->theirs.retry;
	i->mine = t;
	if (id->qp && id->ps != RDMA_PS_UDP)
		err = rig_qp_ready(p);
	if (err)
		return rig_result(err);
	rig_lock(&rig_mapped()->lock);
	if (i->state == RIG_I_REQUESTED)
		accept_it(i);
	else
		err = EINVAL;
	rig_unlock(&rig_mapped()->lock);
	return rig_result(err);
}

int rdma_reject(struct rdma_cm_id *id, const void *data, uint8_t n)
{
	struct rig_program_id *p = rig_program_id(id);
	struct rig_id *i = p->shared;
	int datagrams = id->ps == RDMA_PS_UDP, err = 0;
	struct rdma_conn_param param = {.private_data = data, .private_data_len = n};
	struct rig_terms t;

	err = terms_of(p, &param, datagrams ? SIDR_ANSWER : REFUSAL, &t);
	rig_lock(&rig_mapped()->lock);
	struct rig_id *peer = rig_id_peer(i);
	if (!err && i->state != RIG_I_REQUESTED && i->state != RIG_I_ANSWERED)
		err = EINVAL;
	if (!err) {
		if (i->state == RIG_I_REQUESTED)
			answered(i);
		i->state = RIG_I_ENDED;
		if (peer)
			rig_id_rejected(peer, datagrams ? RIG_SIDR_REJECTED : RIG_REJECTED, &t);
	}
	rig_unlock(&rig_mapped()->lock);
	return rig_result(err);
}

int rig_establish(struct rig_program_id *p)
{
	struct rig_id *i = p->shared, *peer;
	int err = 0;

	rig_lock(&rig_mapped()->lock);
	peer = rig_id_peer(i);
	if (i->state != RIG_I_ANSWERED) {
		err = EINVAL;
	} else {
		i->state = RIG_I_CONNECTED;
		if (peer && peer->state == RIG_I_ACCEPTED) {
			peer->state = RIG_I_CONNECTED;
			rig_cm_event(peer, RDMA_CM_EVENT_ESTABLISHED, 0, NULL);
		}
	}
	rig_unlock(&rig_mapped()->lock);
	return err;
}

int rdma_establish(struct rdma_cm_id *id)
{
	return rig_result(id->qp ? EINVAL : rig_establish(rig_program_id(id)));
}

int rdma_disconnect(struct rdma_cm_id *id)
{
	struct rig_program_id *p = rig_program_id(id);
	struct rig_id *i = p->shared;
	int err = 0;

	if (id->qp && id->ps != RDMA_PS_UDP) {
		struct ibv_qp_attr attr = {.qp_state = IBV_QPS_ERR};
		ibv_modify_qp(id->qp, &attr, IBV_QP_STATE);
	}
	rig_lock(&rig_mapped()->lock);
	if (i->space != RDMA_PS_UDP && (i->state == RIG_I_CONNECTED || i->state == RIG_I_ACCEPTED ||
	                                i->state == RIG_I_ENDING || i->state == RIG_I_ENDED)) {
		if (i->state != RIG_I_ENDING)
			rig_id_disconnect(i);
	} else {
		err = EINVAL;
	}
	rig_unlock(&rig_mapped()->lock);
	return rig_result(err);
}
