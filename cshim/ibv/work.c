/* work.c - requests, receives, and events of an adapter. */
#include <string.h>

#include "ibv/ibv.h"
#include "ibv/library.h"

_Static_assert(sizeof(struct cshim_ibv_segment) == sizeof(struct ibv_sge) &&
                       offsetof(struct cshim_ibv_segment, n) == offsetof(struct ibv_sge, length) &&
                       offsetof(struct cshim_ibv_segment, key) == offsetof(struct ibv_sge, lkey),
               "a segment is an ibv_sge");

static struct ibv_sge *list_of(const struct cshim_ibv_segment *segments)
{
	return (struct ibv_sge *)(uintptr_t)segments; /* it is only read */
}

int cshim_ibv_post(cshim_ibv_object qp, const struct cshim_ibv_work *w,
                   const struct cshim_ibv_segment *segments)
{
	struct ibv_send_wr *bad, wr = {.wr_id = w->id,
	                               .sg_list = list_of(segments),
	                               .num_sge = w->segments,
	                               .opcode = (enum ibv_wr_opcode)w->op,
	                               .send_flags = w->flags};

	switch (wr.opcode) {
	case IBV_WR_SEND_WITH_INV:
		wr.invalidate_rkey = w->rkey;
		break;
	case IBV_WR_RDMA_WRITE_WITH_IMM:
		/* in this host's order, as the original has it */
		wr.imm_data = w->immediate;
		/* fallthrough */
	case IBV_WR_RDMA_WRITE:
	case IBV_WR_RDMA_READ:
		wr.wr.rdma.remote_addr = w->remote_addr;
		wr.wr.rdma.rkey = w->rkey;
		break;
	case IBV_WR_ATOMIC_CMP_AND_SWP:
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
		wr.wr.atomic.remote_addr = w->remote_addr;
		wr.wr.atomic.rkey = w->rkey;
		wr.wr.atomic.compare_add =
			wr.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD ? w->operand : w->compare;
		wr.wr.atomic.swap = w->operand;
		break;
	default:
		if (!w->ah)
			break;
		wr.wr.ud.ah = OBJECT(struct ibv_ah, w->ah);
		wr.wr.ud.remote_qpn = w->qpn;
		wr.wr.ud.remote_qkey = w->qkey;
		break;
	}
	return ibv_post_send(OBJECT(struct ibv_qp, qp), &wr, &bad);
}

/* One chain: the queue is locked, and a kernel called where one is, once for all of it. */
int cshim_ibv_receive(cshim_ibv_object qp, cshim_ibv_object srq, const struct cshim_ibv_recv *list,
                      const struct cshim_ibv_segment *segments, uint32_t count, uint32_t *left)
{
	struct ibv_recv_wr *bad, wr[CSHIM_IBV_RECEIVES];
	int err = 0;

	for (*left = count; *left > 0 && !err;) {
		uint32_t some = *left < CSHIM_IBV_RECEIVES ? *left : CSHIM_IBV_RECEIVES;

		for (uint32_t i = 0; i < some; i++) {
			const struct cshim_ibv_recv *r = &list[count - *left + i];

			wr[i] = (struct ibv_recv_wr){.wr_id = r->id,
			                             .sg_list = list_of(segments),
			                             .num_sge = (int)r->segments,
			                             .next = i + 1 < some ? &wr[i + 1] : NULL};
			segments += r->segments;
		}
		bad = wr; /* of a provider that does not tell */
		err = srq ? ibv_post_srq_recv(OBJECT(struct ibv_srq, srq), wr, &bad)
		          : ibv_post_recv(OBJECT(struct ibv_qp, qp), wr, &bad);
		*left -= err ? (uint32_t)(bad - wr) : some;
	}
	return err;
}

/* The numbers of ibv.EventKind. */
enum { NO_EVENT, PORT_DOWN, PORT_UP, QP_FAILED, SRQ_LOW, FATAL, OTHER };

static int kind_of(enum ibv_event_type type)
{
	switch (type) {
	case IBV_EVENT_PORT_ERR:
		return PORT_DOWN;
	case IBV_EVENT_PORT_ACTIVE:
		return PORT_UP;
	case IBV_EVENT_QP_FATAL:
	case IBV_EVENT_QP_REQ_ERR:
	case IBV_EVENT_QP_ACCESS_ERR:
		return QP_FAILED;
	case IBV_EVENT_SRQ_LIMIT_REACHED:
		return SRQ_LOW;
	case IBV_EVENT_DEVICE_FATAL:
	case IBV_EVENT_CQ_ERR:
	case IBV_EVENT_SRQ_ERR:
		return FATAL;
	default:
		return OTHER;
	}
}

void cshim_ibv_event(struct cshim_ibv *a, struct cshim_ibv_event *out)
{
	struct ibv_async_event event;

	memset(out, 0, sizeof *out);
	if (!ibv_has_some(&a->events) || ibv.get_async_event(a->context, &event)) {
		if (ibv_is_removed(a)) {
			out->kind = FATAL;
			out->type = IBV_EVENT_DEVICE_FATAL;
		}
		return;
	}
	out->kind = kind_of(event.event_type);
	out->type = (int)event.event_type;
	if (out->kind == QP_FAILED)
		out->qpn = event.element.qp->qp_num;
	if (out->kind == SRQ_LOW)
		out->srq = NUMBER(event.element.srq);
	if (event.event_type == IBV_EVENT_CQ_ERR)
		out->cq = NUMBER(event.element.cq);
	if ((out->kind == PORT_DOWN || out->kind == PORT_UP) && event.element.port_num != a->port)
		out->kind = OTHER;
	ibv.ack_async_event(&event);
}
