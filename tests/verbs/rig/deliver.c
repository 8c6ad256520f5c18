/* deliver.c - the part of a request at its responder, with the responder's checks. */
#include "world.h"

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

enum { GRH = 40 };

static struct rig_outcome good(void)
{
	return (struct rig_outcome){.status = IBV_WC_SUCCESS, .event = -1};
}

static struct rig_outcome later(enum rig_wait why)
{
	return (struct rig_outcome){.wait = why, .event = -1};
}

/* The responder refuses: both ends fail. */
static struct rig_outcome refused(enum ibv_wc_status status)
{
	return (struct rig_outcome){.status = status,
	                            .remote_fails = 1,
	                            .event = status == IBV_WC_REM_ACCESS_ERR
	                                             ? IBV_EVENT_QP_ACCESS_ERR
	                                             : IBV_EVENT_QP_REQ_ERR};
}

static struct rig_outcome own(enum ibv_wc_status status)
{
	return (struct rig_outcome){.status = status, .event = -1};
}

/* Takes the next receive of a queue: its segments to *to. 0: there is none. */
static int take_from(struct rig_receives *r, struct rig_qp *q, struct rig_receive *to)
{
	if (r->taken == r->posted)
		return 0;
	const struct rig_receive *from = rig_receive_at(r, r->taken);
	memcpy(to, from, sizeof *from + from->segments * sizeof from->sge[0]);
	/* the queue pair has it before the queue has it no more: if this process dies here, a flush
	 * completes it twice rather than never */
	q->taken_id = from->id;
	q->taken_at = r->taken;
	q->taken = 1;
	r->taken++;
	return 1;
}

static int take_shared(struct rig_qp *q, struct rig_receive *to)
{
	struct rig_srq *s = &rig_mapped()->srqs[q->srq];

	rig_lock(&s->lock);
	int got = take_from(&s->r, q, to);
	if (!got && q->type == IBV_QPT_RC) {
		q->rnr = 1;
		s->waiting = 1;
	}
	int low = got && s->limit && s->r.posted - s->r.taken < s->limit;
	if (low)
		s->limit = 0; /* it is reported once */
	rig_unlock(&s->lock);
	if (low)
		rig_async(s->context, IBV_EVENT_SRQ_LIMIT_REACHED, RIG_E_SRQ, q->srq,
		          s->slot.generation);
	return got;
}

/* The receive of a message: where its n bytes go. */
struct room {
	struct rig_memory at;
	struct iovec iov[RIG_MAX_SGE];
	struct {
		struct rig_receive head;
		struct ibv_sge sge[RIG_MAX_SGE];
	} r;
};

static int take(struct rig_qp *q, struct room *room)
{
	if (q->srq != RIG_NOBODY)
		return take_shared(q, &room->r.head);
	int got = take_from(&q->r, q, &room->r.head);
	if (!got && q->type == IBV_QPT_RC)
		q->rnr = 1;
	return got;
}

/* Nothing of the message has left its sender, so the next one has this receive. All that are taken
 * are copied out, so any place among them takes it; there is one, since it is not freed. */
static void put_back(struct rig_receives *r, const struct rig_receive *from)
{
	memcpy(rig_receive_at(r, r->taken - 1), from,
	       sizeof *from + from->segments * sizeof from->sge[0]);
	r->taken--;
}

static void give_back(struct rig_qp *q, const struct room *room)
{
	if (q->srq == RIG_NOBODY) {
		put_back(&q->r, &room->r.head);
	} else {
		struct rig_srq *s = &rig_mapped()->srqs[q->srq];
		rig_lock(&s->lock);
		put_back(&s->r, &room->r.head);
		rig_unlock(&s->lock);
	}
	q->taken = 0;
}

static enum ibv_wc_status open_room(const struct rig_qp *q, struct room *room, uint64_t n)
{
	uint32_t pd = q->srq == RIG_NOBODY ? q->pd : rig_mapped()->srqs[q->srq].pd;
	uint64_t all = 0;

	room->at = (struct rig_memory){.process = q->slot.process, .at = room->iov};
	for (uint32_t i = 0; i < room->r.head.segments; i++)
		all += room->r.head.sge[i].length;
	if (n > all)
		return IBV_WC_LOC_LEN_ERR;
	for (uint32_t i = 0; i < room->r.head.segments && n > 0; i++) {
		struct ibv_sge s = room->r.head.sge[i];
		s.length = s.length < n ? s.length : (uint32_t)n;
		if (s.length == 0)
			continue;
		if (!rig_local(q->slot.process, pd, &s, 1, &room->iov[room->at.n++]))
			return IBV_WC_LOC_PROT_ERR;
		n -= s.length;
	}
	return IBV_WC_SUCCESS;
}

/* The receive fails with `status`, the request with what says so to the other end. */
static struct rig_outcome receive_failed(struct rig_qp *q, enum ibv_wc_status status)
{
	struct ibv_wc none = {0};

	rig_complete_receive(q, status, &none, 1);
	return (struct rig_outcome){.status = status == IBV_WC_LOC_LEN_ERR ? IBV_WC_REM_INV_REQ_ERR
	                                                                   : IBV_WC_REM_OP_ERR,
	                            .remote_fails = 1,
	                            .event = -1};
}

static struct rig_outcome copied(int err, int source_failed)
{
	if (err == ESRCH)
		return later(RIG_W_TIMEOUT);
	if (err)
		return source_failed ? own(IBV_WC_LOC_PROT_ERR) : refused(IBV_WC_REM_OP_ERR);
	return good();
}

static struct rig_outcome deliver_send(struct rig_qp *from, struct rig_qp *to, struct rig_send *w,
                                       struct rig_memory local)
{
	struct room room;
	struct ibv_wc wc = {.opcode = IBV_WC_RECV, .byte_len = w->length, .src_qp = from->qpn};
	int source;

	if (!take(to, &room))
		return later(RIG_W_RNR);
	uint32_t fault = rig_fault_due(&rig_mapped()->devices[to->device], RIG_F_RECEIVE);
	enum ibv_wc_status status = fault ? fault : open_room(to, &room, w->length);
	if (status != IBV_WC_SUCCESS)
		return receive_failed(to, status);
	int err = rig_copy(local, room.at, w->length, &source);
	if (err == EFAULT && !source)
		return receive_failed(to, IBV_WC_LOC_PROT_ERR);
	if (err) {
		give_back(to, &room);
		return copied(err, source);
	}
	if (w->opcode == IBV_WR_SEND_WITH_INV) {
		if (rig_invalidate(to, w->immediate, 1) != IBV_WC_SUCCESS)
			return refused(IBV_WC_REM_ACCESS_ERR);
		wc.wc_flags = IBV_WC_WITH_INV;
	}
	if (w->opcode == IBV_WR_SEND_WITH_IMM)
		wc.wc_flags = IBV_WC_WITH_IMM;
	wc.imm_data = w->immediate;
	rig_complete_receive(to, IBV_WC_SUCCESS, &wc, (w->flags & IBV_SEND_SOLICITED) != 0);
	return good();
}

static struct rig_outcome write_data(struct rig_qp *to, struct rig_send *w, struct rig_memory local)
{
	struct iovec at;
	struct rig_memory there = {.process = to->slot.process, .n = 1, .at = &at};
	int source;

	if (!(to->attr.qp_access_flags & IBV_ACCESS_REMOTE_WRITE))
		return refused(IBV_WC_REM_INV_REQ_ERR);
	if (w->length == 0)
		return good();
	struct rig_key *k =
		rig_hold(to, w->rkey, w->remote, w->length, IBV_ACCESS_REMOTE_WRITE, &at);
	if (!k)
		return refused(IBV_WC_REM_ACCESS_ERR);
	int err = rig_copy(local, there, w->length, &source);
	rig_unlock(&k->lock);
	return copied(err, source);
}

static int has_receive(struct rig_qp *q)
{
	if (q->srq == RIG_NOBODY) {
		q->rnr = q->r.taken == q->r.posted;
		return !q->rnr;
	}
	struct rig_srq *s = &rig_mapped()->srqs[q->srq];
	rig_lock(&s->lock);
	int some = s->r.taken < s->r.posted;
	if (!some)
		q->rnr = s->waiting = 1;
	rig_unlock(&s->lock);
	return some;
}

static struct rig_outcome deliver_write(struct rig_qp *from, struct rig_qp *to, struct rig_send *w,
                                        struct rig_memory local)
{
	struct ibv_wc wc = {.opcode = IBV_WC_RECV_RDMA_WITH_IMM,
	                    .byte_len = w->length,
	                    .wc_flags = IBV_WC_WITH_IMM,
	                    .src_qp = from->qpn};
	int notes = w->opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
	struct room room;

	if (notes && !has_receive(to))
		return later(RIG_W_RNR);
	struct rig_outcome o = write_data(to, w, local);
	if (o.status != IBV_WC_SUCCESS || o.wait || !notes)
		return o;
	if (!take(to, &room)) /* another queue pair was faster at the shared queue */
		return later(RIG_W_RNR);
	wc.imm_data = w->immediate;
	rig_complete_receive(to, IBV_WC_SUCCESS, &wc, (w->flags & IBV_SEND_SOLICITED) != 0);
	return good();
}

static struct rig_outcome deliver_read(struct rig_qp *from, struct rig_qp *to, struct rig_send *w,
                                       struct rig_memory local)
{
	struct iovec at;
	struct rig_memory there = {.process = to->slot.process, .n = 1, .at = &at};
	int source;

	if (from->attr.max_rd_atomic == 0)
		return own(IBV_WC_LOC_QP_OP_ERR);
	if (to->attr.max_dest_rd_atomic == 0 ||
	    !(to->attr.qp_access_flags & IBV_ACCESS_REMOTE_READ))
		return refused(IBV_WC_REM_INV_REQ_ERR);
	if (w->length == 0)
		return good();
	struct rig_key *k =
		rig_hold(to, w->rkey, w->remote, w->length, IBV_ACCESS_REMOTE_READ, &at);
	if (!k)
		return refused(IBV_WC_REM_ACCESS_ERR);
	int err = rig_copy(there, local, w->length, &source);
	rig_unlock(&k->lock);
	if (err == EFAULT)
		return source ? refused(IBV_WC_REM_OP_ERR) : own(IBV_WC_LOC_PROT_ERR);
	return copied(err, source);
}

/* Reads, changes and writes 8 bytes there, under the device's lock: so all atomics of an adapter
 * are so to each other, and to nothing else. */
static int change(const struct rig_send *w, struct rig_memory there, uint64_t *before)
{
	struct iovec here = {before, sizeof *before};
	struct rig_memory mine = {.process = rig_self(), .n = 1, .at = &here};
	int source, err = rig_copy(there, mine, sizeof *before, &source);
	uint64_t after;

	if (err)
		return err;
	if (w->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD)
		after = *before + w->compare;
	else if (*before == w->compare)
		after = w->swap;
	else
		return 0;
	here.iov_base = &after;
	return rig_copy(mine, there, sizeof after, &source);
}

static struct rig_outcome deliver_atomic(struct rig_qp *from, struct rig_qp *to, struct rig_send *w,
                                         struct rig_memory local)
{
	struct rig_device *d = &rig_mapped()->devices[to->device];
	struct iovec at;
	struct rig_memory there = {.process = to->slot.process, .n = 1, .at = &at};
	uint64_t before = 0;
	struct iovec here = {&before, sizeof before};
	struct rig_memory mine = {.process = rig_self(), .n = 1, .at = &here};
	int source;

	if (from->attr.max_rd_atomic == 0)
		return own(IBV_WC_LOC_QP_OP_ERR);
	if (w->length != sizeof before)
		return own(IBV_WC_LOC_LEN_ERR);
	if (to->attr.max_dest_rd_atomic == 0 || w->remote % sizeof before ||
	    !(to->attr.qp_access_flags & IBV_ACCESS_REMOTE_ATOMIC))
		return refused(IBV_WC_REM_INV_REQ_ERR);
	struct rig_key *k =
		rig_hold(to, w->rkey, w->remote, sizeof before, IBV_ACCESS_REMOTE_ATOMIC, &at);
	if (!k)
		return refused(IBV_WC_REM_ACCESS_ERR);
	rig_lock(&d->atomics);
	int err = change(w, there, &before);
	rig_unlock(&d->atomics);
	rig_unlock(&k->lock);
	if (err)
		return copied(err, 0);
	return rig_copy(mine, local, sizeof before, &source) ? own(IBV_WC_LOC_PROT_ERR) : good();
}

struct rig_outcome rig_deliver(struct rig_qp *from, struct rig_qp *to, struct rig_send *w,
                               struct rig_memory local)
{
	switch (w->opcode) {
	case IBV_WR_RDMA_WRITE:
	case IBV_WR_RDMA_WRITE_WITH_IMM:
		return deliver_write(from, to, w, local);
	case IBV_WR_RDMA_READ:
		return deliver_read(from, to, w, local);
	case IBV_WR_ATOMIC_CMP_AND_SWP:
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
		return deliver_atomic(from, to, w, local);
	default:
		return deliver_send(from, to, w, local);
	}
}

/* To one queue pair, or to nobody: nothing says that a datagram was not taken. */
static void one_datagram(struct rig_qp *from, struct rig_qp *to, struct rig_send *w,
                         struct rig_memory local)
{
	struct rig_port *port = &rig_mapped()->devices[from->device].port[from->attr.port_num - 1];
	struct {
		uint32_t version;
		uint16_t length;
		uint8_t next, hops;
		union ibv_gid source, destination;
	} head = {htonl(6u << 28),
	          htons((uint16_t)w->length),
	          27,
	          64,
	          port->gids[w->access % RIG_GIDS],
	          w->group};
	struct iovec iov[RIG_MAX_SGE + 3] = {{&head, GRH}};
	struct rig_memory all = {.process = local.process, .n = local.n + 1, .at = iov};
	struct ibv_wc wc = {
		.opcode = IBV_WC_RECV,
		.byte_len = w->length + GRH,
		.imm_data = w->immediate,
		.src_qp = from->qpn,
		.slid = port->lid,
		.wc_flags = IBV_WC_GRH |
	                    (w->opcode == IBV_WR_SEND_WITH_IMM ? (unsigned)IBV_WC_WITH_IMM : 0u)};
	struct room room;
	int source;

	memcpy(iov + 1, local.at, (size_t)local.n * sizeof *iov);
	if (!take(to, &room))
		return;
	enum ibv_wc_status status = open_room(to, &room, w->length + GRH);
	if (status == IBV_WC_SUCCESS && rig_copy(all, room.at, w->length + GRH, &source))
		status = IBV_WC_LOC_PROT_ERR;
	rig_complete_receive(to, status, &wc, (w->flags & IBV_SEND_SOLICITED) != 0);
	if (status != IBV_WC_SUCCESS)
		to->state = IBV_QPS_ERR;
}

static void try_datagram(struct rig_qp *from, struct rig_qp *to, struct rig_send *w,
                         struct rig_memory local, uint32_t port)
{
	rig_lock(&to->receive_lock);
	if (to->type == IBV_QPT_UD && to->qpn &&
	    (to->state == IBV_QPS_RTR || to->state == IBV_QPS_RTS || to->state == IBV_QPS_SQE) &&
	    (to->device << 8 | to->attr.port_num) == port && to->attr.qkey == w->qkey)
		one_datagram(from, to, w, local);
	int failed = to->state == IBV_QPS_ERR;
	rig_unlock(&to->receive_lock);
	if (failed)
		rig_agent_wake(to->slot.process); /* which flushes it */
}

void rig_datagram(struct rig_qp *from, struct rig_send *w, struct rig_memory local)
{
	struct rig_world *world = rig_mapped();
	uint32_t members[RIG_MEMBERS], n = 0;

	if (!rig_up(from->device, from->attr.port_num))
		return;
	if (w->qpn != 0xffffff) {
		struct rig_qp *to = rig_qp_find(w->qpn);
		if (to && w->to >= 0 && rig_up((uint32_t)w->to >> 8, (uint32_t)w->to & 0xff))
			try_datagram(from, to, w, local, (uint32_t)w->to);
		return;
	}
	rig_lock(&world->groups_lock);
	for (int i = 0; i < RIG_GROUPS; i++)
		if (world->groups[i].n &&
		    !memcmp(&world->groups[i].gid, &w->group, sizeof w->group)) {
			n = world->groups[i].n;
			memcpy(members, world->groups[i].qpns, n * sizeof *members);
		}
	rig_unlock(&world->groups_lock);
	for (uint32_t i = 0; i < n; i++) {
		struct rig_qp *to = rig_qp_find(members[i]);
		if (to && to != from && rig_up(to->device, to->attr.port_num))
			try_datagram(from, to, w, local, to->device << 8 | to->attr.port_num);
	}
}
