/* work.c - requests, receives, and events of an adapter. */
#include <errno.h>

#include "rdma/library.h"
#include "rdma/rdma.h"

/* The numbers of adapter.Op, and of adapter.Async. */
enum { SEND, SEND_INVALIDATE, WRITE, WRITE_WITH_DATA, READ, COMPARE_SWAP, FETCH_ADD, DATAGRAM };
enum { NOTHING, FAILED, QP_FAILED, QUEUE_LOW, OTHER };

static void take(const struct cshim_rdma_segment *from, int n, struct ibv_sge *to)
{
	for (int i = 0; i < n; i++)
		to[i] = (struct ibv_sge){
			.addr = from[i].addr, .length = from[i].n, .lkey = from[i].key};
}

int cshim_rdma_post(cshim_rdma_object qp, const struct cshim_rdma_work *w,
                    const struct cshim_rdma_segment *segments)
{
	static const enum ibv_wr_opcode ops[] = {
		[SEND] = IBV_WR_SEND,
		[SEND_INVALIDATE] = IBV_WR_SEND_WITH_INV,
		[WRITE] = IBV_WR_RDMA_WRITE,
		[WRITE_WITH_DATA] = IBV_WR_RDMA_WRITE_WITH_IMM,
		[READ] = IBV_WR_RDMA_READ,
		[COMPARE_SWAP] = IBV_WR_ATOMIC_CMP_AND_SWP,
		[FETCH_ADD] = IBV_WR_ATOMIC_FETCH_AND_ADD,
		[DATAGRAM] = IBV_WR_SEND};
	struct ibv_sge list[CSHIM_RDMA_SEGMENTS];
	struct ibv_send_wr *bad,
		wr = {.wr_id = w->id,
	              .sg_list = list,
	              .num_sge = w->segments,
	              .opcode = ops[w->op],
	              .send_flags = IBV_SEND_SIGNALED | (w->fence ? IBV_SEND_FENCE : 0u) |
	                            (w->solicited ? IBV_SEND_SOLICITED : 0u) |
	                            (w->inlined ? IBV_SEND_INLINE : 0u)};

	take(segments, w->segments, list);
	switch (w->op) {
	case SEND_INVALIDATE:
		wr.invalidate_rkey = w->remote_key;
		break;
	case WRITE_WITH_DATA:
		wr.imm_data = w->immediate; /* in this host's order, as the original has it */
		/* fallthrough */
	case WRITE:
	case READ:
		wr.wr.rdma.remote_addr = w->remote_addr;
		wr.wr.rdma.rkey = w->remote_key;
		break;
	case COMPARE_SWAP:
	case FETCH_ADD:
		wr.wr.atomic.remote_addr = w->remote_addr;
		wr.wr.atomic.rkey = w->remote_key;
		wr.wr.atomic.compare_add = w->op == FETCH_ADD ? w->operand : w->compare;
		wr.wr.atomic.swap = w->operand;
		break;
	case DATAGRAM:
		wr.wr.ud.ah = OBJECT(struct ibv_ah, w->path);
		wr.wr.ud.remote_qpn = w->qpn;
		wr.wr.ud.remote_qkey = w->qkey;
		break;
	}
	return ibv_post_send(OBJECT(struct ibv_qp, qp), &wr, &bad);
}

int cshim_rdma_receive(cshim_rdma_object qp, cshim_rdma_object queue, uint64_t id,
                       const struct cshim_rdma_segment *segments, int n)
{
	struct ibv_sge list[CSHIM_RDMA_SEGMENTS];
	struct ibv_recv_wr *bad, wr = {.wr_id = id, .sg_list = list, .num_sge = n};

	take(segments, n, list);
	return queue ? ibv_post_srq_recv(OBJECT(struct ibv_srq, queue), &wr, &bad)
	             : ibv_post_recv(OBJECT(struct ibv_qp, qp), &wr, &bad);
}

int cshim_rdma_async(struct cshim_rdma *a, uint32_t *qpn, cshim_rdma_object *queue)
{
	struct ibv_async_event event;
	int kind = OTHER;

	if (verbs.get_async_event(a->bound->verbs, &event))
		return NOTHING;
	switch (event.event_type) {
	case IBV_EVENT_DEVICE_FATAL:
	case IBV_EVENT_CQ_ERR:
		kind = FAILED;
		break;
	case IBV_EVENT_QP_FATAL:
	case IBV_EVENT_QP_REQ_ERR:
	case IBV_EVENT_QP_ACCESS_ERR:
		kind = QP_FAILED;
		*qpn = event.element.qp->qp_num;
		break;
	case IBV_EVENT_SRQ_LIMIT_REACHED:
		kind = QUEUE_LOW;
		*queue = NUMBER(event.element.srq);
		break;
	default:
		break;
	}
	verbs.ack_async_event(&event);
	return kind;
}
