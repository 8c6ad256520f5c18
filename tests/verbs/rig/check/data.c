/* data.c - the data that requests move, and their completions. */
#include "check.h"

static const struct kind usual;

static void fill(struct end *e, uint32_t offset, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		e->memory[offset + i] = (char)(i * 7 + offset + 1);
}

static void writes_and_reads(void)
{
	static const uint32_t sizes[] = {0, 1, 8, 63, 64, 65, 4097, 30000};
	struct end a, b;

	pair_open(&a, &b, &usual);
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		uint32_t n = sizes[i];
		fill(&a, 3, n);
		memset(b.memory, 0, SIZE);
		MUST(post(&a, &b, IBV_WR_RDMA_WRITE, 3, n, 77) == 0);
		struct ibv_wc wc = completion(a.sends);
		MUST(wc.status == IBV_WC_SUCCESS && wc.opcode == IBV_WC_RDMA_WRITE &&
		     wc.wr_id == 100 + IBV_WR_RDMA_WRITE && wc.qp_num == a.qp->qp_num);
		MUST(!memcmp(a.memory + 3, b.memory + 77, n) && b.memory[77 + n] == 0);
		MUST(post(&a, &b, IBV_WR_RDMA_READ, 31000, n, 77) == 0);
		wc = completion(a.sends);
		MUST(wc.opcode == IBV_WC_RDMA_READ && wc.byte_len == n);
		MUST(!memcmp(a.memory + 31000, b.memory + 77, n));
	}
	nothing(b.receives);
	end_close(&a);
	end_close(&b);
}

static void messages(void)
{
	struct ibv_sge to[3], from[2];
	struct ibv_recv_wr *bad_receive, r = {.wr_id = 9, .sg_list = to, .num_sge = 3};
	struct ibv_send_wr *bad, wr = {.sg_list = from,
	                               .num_sge = 2,
	                               .opcode = IBV_WR_SEND_WITH_IMM,
	                               .imm_data = 0x1234};
	struct end a, b;

	pair_open(&a, &b, &usual);
	fill(&a, 0, 300);
	to[0] = at(&b, 0, 10), to[1] = at(&b, 100, 150), to[2] = at(&b, 1000, 500);
	from[0] = at(&a, 0, 70), from[1] = at(&a, 70, 230);
	MUST(ibv_post_recv(b.qp, &r, &bad_receive) == 0);
	MUST(ibv_post_send(a.qp, &wr, &bad) == 0);
	struct ibv_wc wc = completion(b.receives);
	MUST(wc.wr_id == 9 && wc.byte_len == 300 && wc.opcode == IBV_WC_RECV &&
	     wc.wc_flags == IBV_WC_WITH_IMM && wc.imm_data == 0x1234 && wc.src_qp == a.qp->qp_num);
	MUST(!memcmp(b.memory, a.memory, 10) && !memcmp(b.memory + 100, a.memory + 10, 150) &&
	     !memcmp(b.memory + 1000, a.memory + 160, 140));
	/* immediate data of a write takes a receive, and no byte of it */
	MUST(receive(&b, 10, 5000, 8) == 0);
	wr.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
	wr.wr.rdma.remote_addr = (uintptr_t)b.memory + 2000;
	wr.wr.rdma.rkey = b.mr->rkey;
	MUST(ibv_post_send(a.qp, &wr, &bad) == 0);
	wc = completion(b.receives);
	MUST(wc.wr_id == 10 && wc.byte_len == 300 && wc.opcode == IBV_WC_RECV_RDMA_WITH_IMM);
	MUST(!memcmp(b.memory + 2000, a.memory, 300) && b.memory[5000] == 0);
	end_close(&a);
	end_close(&b);
}

/* Inline data belongs to the program when the call returns, and needs no key. */
static void inline_data(void)
{
	char text[INLINE] = "inline";
	struct ibv_sge s = {(uintptr_t)text, sizeof text, 0};
	struct ibv_send_wr *bad, wr = {.sg_list = &s,
	                               .num_sge = 1,
	                               .opcode = IBV_WR_SEND,
	                               .send_flags = IBV_SEND_INLINE};
	struct kind patient = {.rnr_retries = 7};
	struct end a, b;

	pair_open(&a, &b, &patient);
	MUST(ibv_post_send(a.qp, &wr, &bad) == 0);
	memset(text, 'x', sizeof text); /* while it waits for a receive */
	MUST(receive(&b, 1, 0, INLINE) == 0);
	MUST(completion(b.receives).byte_len == INLINE && !strcmp(b.memory, "inline"));
	end_close(&a);
	end_close(&b);
}

static void atomics(void)
{
	struct ibv_sge s;
	struct ibv_send_wr *bad,
		wr = {.sg_list = &s, .num_sge = 1, .opcode = IBV_WR_ATOMIC_FETCH_AND_ADD};
	struct end a, b;

	pair_open(&a, &b, &usual);
	uint64_t *there = (uint64_t *)b.memory, *here = (uint64_t *)a.memory;
	*there = 40;
	s = at(&a, 0, 8);
	wr.wr.atomic.remote_addr = (uintptr_t)there;
	wr.wr.atomic.rkey = b.mr->rkey;
	wr.wr.atomic.compare_add = 2;
	MUST(ibv_post_send(a.qp, &wr, &bad) == 0);
	MUST(completion(a.sends).opcode == IBV_WC_FETCH_ADD && *here == 40 && *there == 42);
	wr.opcode = IBV_WR_ATOMIC_CMP_AND_SWP;
	wr.wr.atomic.compare_add = 41;
	wr.wr.atomic.swap = 7;
	MUST(ibv_post_send(a.qp, &wr, &bad) == 0);
	MUST(completion(a.sends).opcode == IBV_WC_COMP_SWAP && *here == 42 && *there == 42);
	wr.wr.atomic.compare_add = 42;
	MUST(ibv_post_send(a.qp, &wr, &bad) == 0);
	completion(a.sends);
	MUST(*here == 42 && *there == 7);
	end_close(&a);
	end_close(&b);
}

static void datagrams(void)
{
	struct kind k = {.datagrams = 1};
	struct ibv_ah_attr way = {.is_global = 1, .port_num = 1, .grh = {.sgid_index = 1}};
	struct ibv_sge s;
	struct ibv_send_wr *bad, wr = {.sg_list = &s, .num_sge = 1, .opcode = IBV_WR_SEND};
	struct end a, b;

	pair_open(&a, &b, &k);
	way.grh.dgid = b.gid;
	struct ibv_ah *ah = ibv_create_ah(a.pd, &way);
	MUST(ah);
	fill(&a, 0, 100);
	s = at(&a, 0, 100);
	wr.wr.ud.ah = ah;
	wr.wr.ud.remote_qpn = b.qp->qp_num;
	wr.wr.ud.remote_qkey = QKEY;
	/* nobody receives it, and nobody says so */
	MUST(ibv_post_send(a.qp, &wr, &bad) == 0 && completion(a.sends).status == IBV_WC_SUCCESS);
	MUST(receive(&b, 5, 0, 200) == 0);
	wr.wr.ud.remote_qkey = QKEY + 1;
	MUST(ibv_post_send(a.qp, &wr, &bad) == 0);
	completion(a.sends);
	nothing(b.receives);
	wr.wr.ud.remote_qkey = QKEY;
	MUST(ibv_post_send(a.qp, &wr, &bad) == 0);
	struct ibv_wc wc = completion(b.receives);
	MUST(wc.byte_len == 140 && wc.wc_flags & IBV_WC_GRH && wc.src_qp == a.qp->qp_num);
	MUST(!memcmp(b.memory + 40, a.memory, 100));
	struct ibv_ah *back = ibv_create_ah_from_wc(b.pd, &wc, (struct ibv_grh *)b.memory, 1);
	MUST(back && ibv_destroy_ah(back) == 0 && ibv_destroy_ah(ah) == 0);
	end_close(&a);
	end_close(&b);
}

static void groups(void)
{
	struct kind k = {.datagrams = 1};
	struct ibv_ah_attr way = {.is_global = 1, .port_num = 1, .grh = {.sgid_index = 1}};
	union ibv_gid gid = {.raw = {0xff, 0x0e, [15] = 7}};
	struct ibv_sge s;
	struct ibv_send_wr *bad, wr = {.sg_list = &s, .num_sge = 1, .opcode = IBV_WR_SEND};
	struct end a, b;

	pair_open(&a, &b, &k);
	way.grh.dgid = gid;
	struct ibv_ah *ah = ibv_create_ah(a.pd, &way);
	MUST(ibv_attach_mcast(b.qp, &gid, 0) == 0 && ibv_attach_mcast(b.qp, &b.gid, 0) == EINVAL);
	MUST(receive(&b, 5, 0, 200) == 0);
	s = at(&a, 0, 10);
	wr.wr.ud.ah = ah;
	wr.wr.ud.remote_qpn = 0xffffff;
	wr.wr.ud.remote_qkey = QKEY;
	MUST(ibv_post_send(a.qp, &wr, &bad) == 0 && completion(b.receives).byte_len == 50);
	MUST(ibv_destroy_qp(b.qp) == EBUSY && ibv_detach_mcast(b.qp, &gid, 0) == 0);
	ibv_destroy_ah(ah);
	end_close(&a);
	end_close(&b);
}

static void extended_requests(void)
{
	struct end a, b;

	pair_open(&a, &b, &usual);
	MUST(!ibv_qp_to_qp_ex(a.qp));
	MUST(ibv_destroy_qp(a.qp) == 0);
	struct ibv_qp_init_attr_ex init = {.send_cq = a.sends,
	                                   .recv_cq = a.receives,
	                                   .qp_type = IBV_QPT_RC,
	                                   .pd = a.pd,
	                                   .cap = {DEPTH, DEPTH, SEGMENTS, SEGMENTS, INLINE},
	                                   .sq_sig_all = 1,
	                                   .comp_mask = IBV_QP_INIT_ATTR_PD |
	                                                IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
	                                   .send_ops_flags = IBV_QP_EX_WITH_RDMA_WRITE};
	MUST(a.qp = ibv_create_qp_ex(a.context, &init));
	struct ibv_qp_ex *ex = ibv_qp_to_qp_ex(a.qp);
	struct ibv_qp_attr reset = {.qp_state = IBV_QPS_RESET};
	MUST(ex && ibv_modify_qp(b.qp, &reset, IBV_QP_STATE) == 0);
	MUST(to_init(&a, &usual) == 0 && to_init(&b, &usual) == 0);
	MUST(to_rtr(&a, b.qp->qp_num, &b.gid, &usual) == 0 && to_rts(&a, &usual) == 0);
	MUST(to_rtr(&b, a.qp->qp_num, &a.gid, &usual) == 0);
	memcpy(a.memory, "extended", 8);
	ibv_wr_start(ex);
	ex->wr_id = 3;
	ibv_wr_rdma_write(ex, b.mr->rkey, (uintptr_t)b.memory);
	ibv_wr_set_sge(ex, a.mr->lkey, (uintptr_t)a.memory, 8);
	MUST(ibv_wr_complete(ex) == 0);
	MUST(completion(a.sends).wr_id == 3 && !memcmp(b.memory, "extended", 8));
	end_close(&a);
	end_close(&b);
}

const struct check data_checks[] = {{"writes_and_reads", writes_and_reads},
                                    {"messages", messages},
                                    {"inline_data", inline_data},
                                    {"atomics", atomics},
                                    {"datagrams", datagrams},
                                    {"groups", groups},
                                    {"extended_requests", extended_requests},
                                    {NULL, NULL}};
