/* queues.c - completion queues and their channels, shared receive queues. */
#include "check.h"

static const struct kind usual;

static int reported(struct end *e)
{
	struct ibv_cq *cq;
	void *context;

	if (ibv_get_cq_event(e->channel, &cq, &context)) {
		MUST(errno == EAGAIN);
		return 0;
	}
	ibv_ack_cq_events(cq, 1);
	return 1;
}

static void channels(void)
{
	struct ibv_sge s;
	struct ibv_send_wr *bad, wr = {.sg_list = &s, .num_sge = 1, .opcode = IBV_WR_SEND};
	struct end a, b;

	pair_open(&a, &b, &usual);
	s = at(&a, 0, 8);
	for (int i = 0; i < 6; i++)
		MUST(receive(&b, 1, 0, 8) == 0);
	MUST(post(&a, &b, IBV_WR_SEND, 0, 8, 0) == 0);
	MUST(!reported(&b)); /* not armed */
	MUST(ibv_req_notify_cq(b.receives, 0) == 0);
	MUST(!reported(&b)); /* what came before does not count */
	MUST(post(&a, &b, IBV_WR_SEND, 0, 8, 0) == 0);
	MUST(reported(&b) && !reported(&b));
	MUST(post(&a, &b, IBV_WR_SEND, 0, 8, 0) == 0);
	MUST(!reported(&b)); /* once */
	MUST(ibv_req_notify_cq(b.receives, 1) == 0);
	MUST(ibv_post_send(a.qp, &wr, &bad) == 0 && !reported(&b));
	wr.send_flags = IBV_SEND_SOLICITED;
	MUST(ibv_post_send(a.qp, &wr, &bad) == 0 && reported(&b));
	/* a failure counts as solicited, and an event of a queue that is destroyed is gone */
	MUST(ibv_req_notify_cq(b.receives, 1) == 0);
	struct ibv_qp_attr error = {.qp_state = IBV_QPS_ERR};
	MUST(ibv_modify_qp(b.qp, &error, IBV_QP_STATE) == 0);
	MUST(ibv_destroy_qp(b.qp) == 0 && ibv_destroy_cq(b.receives) == 0);
	MUST(!reported(&b));
	end_close(&a);
}

static void overrun(void)
{
	struct kind small = {.entries = 3};
	struct end a, b;

	pair_open(&a, &b, &small);
	for (int i = 0; i < 4; i++)
		MUST(post(&a, &b, IBV_WR_RDMA_WRITE, 0, 8, 0) == 0);
	event(&a, IBV_EVENT_CQ_ERR);
	event(&a, IBV_EVENT_QP_FATAL);
	for (int i = 0; i < 3; i++)
		MUST(completion(a.sends).status == IBV_WC_SUCCESS);
	nothing(a.sends);
	end_close(&a);
	end_close(&b);
}

static void resized(void)
{
	struct kind small = {.entries = 3};
	struct end a, b;

	pair_open(&a, &b, &small);
	for (int i = 0; i < 3; i++)
		MUST(post(&a, &b, IBV_WR_RDMA_WRITE, 0, 8, 0) == 0);
	MUST(ibv_resize_cq(a.sends, 2) == EINVAL && ibv_resize_cq(a.sends, 10) == 0);
	for (int i = 0; i < 3; i++)
		MUST(post(&a, &b, IBV_WR_RDMA_WRITE, 0, 8, 0) == 0);
	for (int i = 0; i < 6; i++)
		completion(a.sends);
	nothing(a.sends);
	end_close(&a);
	end_close(&b);
}

/* Completions of a queue pair that is destroyed are not given out. */
static void cleaned(void)
{
	struct end a, b;

	pair_open(&a, &b, &usual);
	MUST(post(&a, &b, IBV_WR_RDMA_WRITE, 0, 8, 0) == 0);
	struct ibv_qp_attr reset = {.qp_state = IBV_QPS_RESET};
	MUST(ibv_modify_qp(a.qp, &reset, IBV_QP_STATE) == 0);
	nothing(a.sends);
	end_close(&a);
	end_close(&b);
}

static void shared_receives(void)
{
	struct kind shared = {.shared = 1, .rnr_retries = 7};
	struct ibv_srq_attr attr = {.srq_limit = 2};
	struct end a, b;

	pair_open(&a, &b, &shared);
	struct ibv_recv_wr *bad, wr = {.num_sge = 0};
	MUST(ibv_post_recv(b.qp, &wr, &bad) == EINVAL);
	/* a second queue pair of the same queue, connected with itself */
	struct ibv_qp_init_attr init = {.send_cq = b.sends,
	                                .recv_cq = b.receives,
	                                .srq = b.srq,
	                                .cap = {DEPTH, 0, SEGMENTS, 0, 0},
	                                .qp_type = IBV_QPT_RC};
	struct end c = b;
	MUST(c.qp = ibv_create_qp(b.pd, &init));
	MUST(to_init(&c, &shared) == 0 && to_rtr(&c, c.qp->qp_num, &c.gid, &shared) == 0 &&
	     to_rts(&c, &shared) == 0);
	MUST(post(&a, &b, IBV_WR_SEND, 0, 8, 0) == 0 && post(&c, &c, IBV_WR_SEND, 0, 8, 0) == 0);
	nothing(b.receives);
	/* both wait for a receive of the one queue */
	MUST(receive(&b, 1, 0, 8) == 0 && receive(&b, 2, 0, 8) == 0);
	completion(b.receives);
	completion(b.receives);
	for (int i = 0; i < 3; i++)
		MUST(receive(&b, 3, 0, 8) == 0);
	MUST(ibv_modify_srq(b.srq, &attr, IBV_SRQ_LIMIT) == 0);
	MUST(ibv_query_srq(b.srq, &attr) == 0 && attr.srq_limit == 2 && attr.max_wr == DEPTH);
	MUST(post(&a, &b, IBV_WR_SEND, 0, 8, 0) == 0); /* 2 left */
	MUST(post(&a, &b, IBV_WR_SEND, 0, 8, 0) == 0); /* 1 */
	event(&b, IBV_EVENT_SRQ_LIMIT_REACHED);
	MUST(ibv_query_srq(b.srq, &attr) == 0 && attr.srq_limit == 0);
	/* those that are left are nobody's when a queue pair fails */
	struct ibv_qp_attr error = {.qp_state = IBV_QPS_ERR};
	MUST(ibv_modify_qp(c.qp, &error, IBV_QP_STATE) == 0);
	event(&b, IBV_EVENT_QP_LAST_WQE_REACHED);
	MUST(ibv_destroy_srq(b.srq) == EBUSY && ibv_destroy_qp(c.qp) == 0);
	end_close(&a);
	end_close(&b);
}

static void shared_receives_resized(void)
{
	struct kind shared = {.shared = 1};
	struct ibv_srq_attr attr = {.max_wr = 2 * DEPTH};
	struct end a, b;

	pair_open(&a, &b, &shared);
	for (int i = 0; i < DEPTH; i++)
		MUST(receive(&b, (uint64_t)i, 0, 8) == 0);
	MUST(receive(&b, 1, 0, 8) == ENOMEM);
	MUST(ibv_modify_srq(b.srq, &attr, IBV_SRQ_MAX_WR) == 0);
	MUST(receive(&b, DEPTH, 0, 8) == 0);
	for (int i = 0; i <= DEPTH; i++) {
		MUST(post(&a, &b, IBV_WR_SEND, 0, 8, 0) == 0);
		completion(a.sends);
		MUST(completion(b.receives).wr_id == (uint64_t)i);
	}
	attr.max_wr = 0;
	MUST(ibv_modify_srq(b.srq, &attr, IBV_SRQ_MAX_WR) == EINVAL);
	end_close(&a);
	end_close(&b);
}

const struct check queue_checks[] = {{"channels", channels},
                                     {"overrun", overrun},
                                     {"resized", resized},
                                     {"cleaned", cleaned},
                                     {"shared_receives", shared_receives},
                                     {"shared_receives_resized", shared_receives_resized},
                                     {NULL, NULL}};
