/* work.c - requests, completions and events. */
#include <errno.h>

#include "verbs/library.h"
#include "verbs/verbs.h"

/* The numbers of adapter.Op, adapter.State and adapter.EventKind. */
enum { SEND, WRITE, READ };
enum { OK, FLUSHED, RETRY_OVER, RNR_OVER, REMOTE_ACCESS, LOCAL_ACCESS, FAILED };
enum { NO_EVENT, PORT_DOWN, PORT_UP, QP_FAILED, FATAL, OTHER };

int cshim_verbs_post(struct ibv_qp *qp, const struct cshim_verbs_work *w)
{
	static const enum ibv_wr_opcode ops[] = {
		[SEND] = IBV_WR_SEND, [WRITE] = IBV_WR_RDMA_WRITE, [READ] = IBV_WR_RDMA_READ};
	struct ibv_sge sge = {.addr = w->addr, .length = (uint32_t)w->n, .lkey = w->lkey};
	struct ibv_send_wr *bad, wr = {.wr_id = w->id,
	                               .sg_list = &sge,
	                               .num_sge = w->n ? 1 : 0,
	                               .opcode = ops[w->op],
	                               .send_flags = (w->signaled ? IBV_SEND_SIGNALED : 0u) |
	                                             (w->inlined ? IBV_SEND_INLINE : 0u)};

	if (w->op != SEND) {
		wr.wr.rdma.remote_addr = w->remote_addr;
		wr.wr.rdma.rkey = w->rkey;
	}
	return ibv_post_send(qp, &wr, &bad);
}

/* One chain: the queue is locked, and a kernel called where one is, once for all of it. */
int cshim_verbs_receive(struct cshim_verbs *a, int datagram, uint32_t n,
                        const struct cshim_verbs_buffer *buffers, uint32_t count, uint32_t *left)
{
	struct ibv_sge sge[CSHIM_VERBS_BUFFERS];
	struct ibv_recv_wr *bad, wr[CSHIM_VERBS_BUFFERS];

	for (*left = count; *left > 0;) {
		uint32_t some = *left < CSHIM_VERBS_BUFFERS ? *left : CSHIM_VERBS_BUFFERS;

		for (uint32_t i = 0; i < some; i++) {
			const struct cshim_verbs_buffer *b = &buffers[count - *left + i];

			sge[i] = (struct ibv_sge){.addr = b->addr, .length = n, .lkey = b->lkey};
			wr[i] = (struct ibv_recv_wr){.wr_id = b->id,
			                             .sg_list = &sge[i],
			                             .num_sge = 1,
			                             .next = i + 1 < some ? &wr[i + 1] : NULL};
		}
		bad = wr; /* of a provider that does not tell */
		int err = datagram ? ibv_post_recv(a->datagrams, wr, &bad)
		                   : ibv_post_srq_recv(a->srq, wr, &bad);
		if (err) {
			*left -= (uint32_t)(bad - wr);
			return err;
		}
		*left -= some;
	}
	return 0;
}

int cshim_verbs_datagram(struct cshim_verbs *a, struct ibv_ah *ah, uint32_t qpn, uint32_t qkey,
                         const void *data, uint32_t n)
{
	struct ibv_sge sge = {.addr = (uintptr_t)data, .length = n};
	struct ibv_send_wr *bad, wr = {.wr_id = UINT64_MAX,
	                               .sg_list = &sge,
	                               .num_sge = 1,
	                               .opcode = IBV_WR_SEND,
	                               .send_flags = IBV_SEND_INLINE};

	wr.wr.ud.ah = ah;
	wr.wr.ud.remote_qpn = qpn;
	wr.wr.ud.remote_qkey = qkey;
	return ibv_post_send(a->datagrams, &wr, &bad);
}

static uint8_t state_of(enum ibv_wc_status status)
{
	switch (status) {
	case IBV_WC_SUCCESS:
		return OK;
	case IBV_WC_WR_FLUSH_ERR:
		return FLUSHED;
	case IBV_WC_RETRY_EXC_ERR:
		return RETRY_OVER;
	case IBV_WC_RNR_RETRY_EXC_ERR:
		return RNR_OVER;
	case IBV_WC_REM_ACCESS_ERR:
		return REMOTE_ACCESS;
	case IBV_WC_LOC_PROT_ERR:
		return LOCAL_ACCESS;
	default:
		return FAILED;
	}
}

int cshim_verbs_poll(struct cshim_verbs *a, int max, struct cshim_verbs_completion *out)
{
	struct ibv_wc wc[32];
	int n = ibv_poll_cq(a->cq, max < 32 ? max : 32, wc);

	for (int i = 0; i < n; i++) {
		int ok = wc[i].status == IBV_WC_SUCCESS;
		out[i] = (struct cshim_verbs_completion){
			.id = wc[i].wr_id,
			.qpn = wc[i].qp_num,
			.n = ok && wc[i].opcode == IBV_WC_RECV ? wc[i].byte_len : 0,
			.state = state_of(wc[i].status),
			.datagram = wc[i].qp_num == a->datagrams->qp_num};
	}
	return n;
}

int cshim_verbs_arm(struct cshim_verbs *a)
{
	return ibv_req_notify_cq(a->cq, 0);
}

/* Acknowledgements take a lock, so they are given many at a time. */
enum { EVENTS_AT_ONCE = 64 };

void cshim_verbs_quiet(struct cshim_verbs *a)
{
	struct ibv_cq *cq;
	void *context;

	if (!a->cq)
		return;
	while (!verbs.get_cq_event(a->channel, &cq, &context))
		a->events++;
	if (a->events >= EVENTS_AT_ONCE) {
		verbs.ack_cq_events(a->cq, a->events);
		a->events = 0;
	}
}

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
	case IBV_EVENT_DEVICE_FATAL:
	case IBV_EVENT_CQ_ERR:
	case IBV_EVENT_SRQ_ERR:
		return FATAL;
	default:
		return OTHER;
	}
}

int cshim_verbs_event(struct cshim_verbs *a, uint32_t *qpn)
{
	struct ibv_async_event event;

	*qpn = 0;
	if (verbs.get_async_event(a->context, &event))
		return NO_EVENT;
	int kind = kind_of(event.event_type);
	int ours = 1;
	if (kind == QP_FAILED)
		*qpn = event.element.qp->qp_num;
	if (kind == PORT_DOWN || kind == PORT_UP)
		ours = event.element.port_num == a->port;
	verbs.ack_async_event(&event);
	return ours ? kind : OTHER;
}
