/* states.c - the states of a queue pair, and requests that posting refuses. */
#include "check.h"

static const struct kind usual;

static int set(struct end *e, enum ibv_qp_state state, int mask)
{
	struct ibv_qp_attr a = {.qp_state = state,
	                        .port_num = 1,
	                        .path_mtu = IBV_MTU_1024,
	                        .dest_qp_num = e->qp->qp_num,
	                        .ah_attr = {.is_global = 1,
	                                    .port_num = 1,
	                                    .grh = {.dgid = e->gid, .sgid_index = 1}}};

	return ibv_modify_qp(e->qp, &a, mask | IBV_QP_STATE);
}

/* A step fails without an attribute that it needs, and with any other attribute. */
static void step(struct end *e, enum ibv_qp_state to, int needs, int stranger)
{
	for (int bit = 1; bit < 1 << 21; bit <<= 1)
		if (needs & bit)
			MUST(set(e, to, needs & ~bit) == EINVAL);
	MUST(set(e, to, needs | stranger) == EINVAL);
	MUST(set(e, to, needs) == 0);
	MUST(e->qp->state == to);
}

static int post_one(struct end *e)
{
	return post(e, e, IBV_WR_SEND, 0, 8, 0);
}

static void rc_states(void)
{
	struct end e;

	end_open(&e, 1, &usual);
	MUST(set(&e, IBV_QPS_RTS, IBV_QP_SQ_PSN) == EINVAL);
	MUST(set(&e, IBV_QPS_RTR, 0) == EINVAL);
	MUST(post_one(&e) == EINVAL && receive(&e, 1, 0, 8) == EINVAL);
	step(&e, IBV_QPS_INIT, IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS, IBV_QP_QKEY);
	MUST(post_one(&e) == EINVAL && receive(&e, 1, 0, 8) == 0);
	step(&e, IBV_QPS_RTR,
	     IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
	             IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER,
	     IBV_QP_SQ_PSN);
	MUST(post_one(&e) == EINVAL);
	MUST(set(&e, IBV_QPS_INIT, 0) == EINVAL);
	step(&e, IBV_QPS_RTS,
	     IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
	             IBV_QP_MAX_QP_RD_ATOMIC,
	     IBV_QP_DEST_QPN);
	/* connected with itself */
	MUST(post_one(&e) == 0 && completion(e.sends).status == IBV_WC_SUCCESS);
	MUST(completion(e.receives).wr_id == 1);
	MUST(set(&e, IBV_QPS_ERR, 0) == 0);
	MUST(post_one(&e) == 0 && completion(e.sends).status == IBV_WC_WR_FLUSH_ERR);
	MUST(receive(&e, 2, 0, 8) == 0 && completion(e.receives).status == IBV_WC_WR_FLUSH_ERR);
	MUST(set(&e, IBV_QPS_RTS, 0) == EINVAL);
	MUST(set(&e, IBV_QPS_RESET, 0) == 0 && post_one(&e) == EINVAL);
	end_close(&e);
}

static void ud_states(void)
{
	struct kind datagrams = {.datagrams = 1};
	struct end e;

	end_open(&e, 1, &datagrams);
	step(&e, IBV_QPS_INIT, IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY, IBV_QP_ACCESS_FLAGS);
	step(&e, IBV_QPS_RTR, 0, IBV_QP_DEST_QPN);
	step(&e, IBV_QPS_RTS, IBV_QP_SQ_PSN, IBV_QP_TIMEOUT);
	end_close(&e);
}

static void values_out_of_range(void)
{
	struct ibv_qp_attr a = {.qp_state = IBV_QPS_INIT, .port_num = 9};
	struct end e;
	int mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;

	end_open(&e, 1, &usual);
	MUST(ibv_modify_qp(e.qp, &a, mask) == EINVAL);
	a.port_num = 1;
	a.pkey_index = 3;
	MUST(ibv_modify_qp(e.qp, &a, mask) == EINVAL);
	end_close(&e);
}

static void posts_refused(void)
{
	struct ibv_sge s[SEGMENTS + 1];
	struct ibv_send_wr *bad, next = {.opcode = IBV_WR_SEND},
				 wr = {.sg_list = s, .opcode = IBV_WR_RDMA_WRITE};
	struct ibv_recv_wr *bad_receive, r = {.sg_list = s, .num_sge = SEGMENTS + 1};
	struct end a, b;

	pair_open(&a, &b, &usual);
	for (int i = 0; i <= SEGMENTS; i++)
		s[i] = at(&a, 0, 1);
	wr.num_sge = SEGMENTS + 1;
	MUST(ibv_post_send(a.qp, &wr, &bad) == EINVAL && bad == &wr);
	MUST(ibv_post_recv(a.qp, &r, &bad_receive) == EINVAL && bad_receive == &r);
	wr.num_sge = 1;
	wr.send_flags = IBV_SEND_INLINE;
	s[0].length = INLINE + 1;
	MUST(ibv_post_send(a.qp, &wr, &bad) == EINVAL);
	wr.opcode = IBV_WR_RDMA_READ;
	s[0].length = 8;
	MUST(ibv_post_send(a.qp, &wr, &bad) == EINVAL);
	wr.opcode = IBV_WR_TSO;
	MUST(ibv_post_send(a.qp, &wr, &bad) == EINVAL);
	/* of a chain what comes before the bad one is posted */
	wr = (struct ibv_send_wr){
		.sg_list = s, .num_sge = 1, .opcode = IBV_WR_RDMA_WRITE, .next = &next};
	wr.wr.rdma.remote_addr = (uintptr_t)b.memory;
	wr.wr.rdma.rkey = b.mr->rkey;
	next.num_sge = -1;
	MUST(ibv_post_send(a.qp, &wr, &bad) == EINVAL && bad == &next);
	MUST(completion(a.sends).status == IBV_WC_SUCCESS);
	nothing(a.sends);
	end_close(&a);
	end_close(&b);
}

/* A place in a queue is free again when its completion is taken. */
static void queues_are_full(void)
{
	struct end a, b;

	pair_open(&a, &b, &usual);
	for (int i = 0; i < DEPTH; i++)
		MUST(post(&a, &b, IBV_WR_RDMA_WRITE, 0, 8, 0) == 0);
	MUST(post(&a, &b, IBV_WR_RDMA_WRITE, 0, 8, 0) == ENOMEM);
	completion(a.sends);
	MUST(post(&a, &b, IBV_WR_RDMA_WRITE, 0, 8, 0) == 0);
	for (int i = 0; i < DEPTH; i++)
		MUST(receive(&b, 1, 0, 8) == 0);
	MUST(receive(&b, 1, 0, 8) == ENOMEM);
	end_close(&a);
	end_close(&b);
}

/* One signaled request frees those before it; without any the queue fills up. */
static void unsignaled_requests_fill(void)
{
	struct kind quiet = {.unsignaled = 1};
	struct ibv_sge s;
	struct ibv_send_wr *bad, wr = {.sg_list = &s, .num_sge = 1, .opcode = IBV_WR_RDMA_WRITE};
	struct end a, b;

	pair_open(&a, &b, &quiet);
	s = at(&a, 0, 8);
	wr.wr.rdma.remote_addr = (uintptr_t)b.memory;
	wr.wr.rdma.rkey = b.mr->rkey;
	for (int i = 0; i < DEPTH; i++) {
		wr.send_flags = i == DEPTH / 2 ? IBV_SEND_SIGNALED : 0;
		MUST(ibv_post_send(a.qp, &wr, &bad) == 0);
	}
	MUST(ibv_post_send(a.qp, &wr, &bad) == ENOMEM);
	MUST(completion(a.sends).status == IBV_WC_SUCCESS);
	nothing(a.sends);
	for (int i = 0; i <= DEPTH / 2; i++)
		MUST(ibv_post_send(a.qp, &wr, &bad) == 0);
	MUST(ibv_post_send(a.qp, &wr, &bad) == ENOMEM);
	end_close(&a);
	end_close(&b);
}

static void limits_of_creation(void)
{
	struct ibv_device_attr d;
	struct end e;

	end_open(&e, 1, &usual);
	MUST(ibv_query_device(e.context, &d) == 0);
	struct ibv_qp_init_attr a = {.send_cq = e.sends, .recv_cq = e.sends, .qp_type = IBV_QPT_RC};
	a.cap.max_send_wr = (uint32_t)d.max_qp_wr + 1;
	MUST(!ibv_create_qp(e.pd, &a) && errno == EINVAL);
	a.cap.max_send_wr = 1;
	a.cap.max_send_sge = (uint32_t)d.max_sge + 1;
	MUST(!ibv_create_qp(e.pd, &a) && errno == EINVAL);
	a.cap.max_send_sge = 1;
	a.cap.max_inline_data = 1 << 20;
	MUST(!ibv_create_qp(e.pd, &a) && errno == EINVAL);
	MUST(!ibv_create_cq(e.context, d.max_cqe + 1, NULL, NULL, 0) && errno == EINVAL);
	MUST(!ibv_create_cq(e.context, 0, NULL, NULL, 0) && errno == EINVAL);
	end_close(&e);
}

const struct check states_checks[] = {{"rc_states", rc_states},
                                      {"ud_states", ud_states},
                                      {"values_out_of_range", values_out_of_range},
                                      {"posts_refused", posts_refused},
                                      {"queues_are_full", queues_are_full},
                                      {"unsignaled_requests_fill", unsignaled_requests_fill},
                                      {"limits_of_creation", limits_of_creation},
                                      {NULL, NULL}};
