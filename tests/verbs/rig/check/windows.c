/* windows.c - memory windows: bound, used, invalidated. */
#include "check.h"

static const struct kind usual;

static int bind_one(struct end *e, struct ibv_mw *mw, struct ibv_mr *mr, uint32_t offset,
                    uint32_t n, unsigned access)
{
	MUST(mw);
	struct ibv_mw_bind_info info = {mr, (uintptr_t)e->memory + offset, n, access};
	struct ibv_mw_bind b = {.wr_id = 1, .bind_info = info};
	struct ibv_send_wr *bad, wr = {.wr_id = 1,
	                               .opcode = IBV_WR_BIND_MW,
	                               .bind_mw = {mw, ibv_inc_rkey(mw->rkey), info}};

	if (mw->type == IBV_MW_TYPE_1)
		return ibv_bind_mw(e->qp, mw, &b);
	int err = ibv_post_send(e->qp, &wr, &bad);
	if (!err)
		mw->rkey = wr.bind_mw.rkey;
	return err;
}

static void bound(struct end *e, struct ibv_mw *mw, uint32_t offset, uint32_t n, unsigned access)
{
	MUST(bind_one(e, mw, e->mr, offset, n, access) == 0);
	struct ibv_wc wc = completion(e->sends);
	MUST(wc.status == IBV_WC_SUCCESS && wc.opcode == IBV_WC_BIND_MW);
}

static enum ibv_wc_status reach(struct end *a, struct end *b, enum ibv_wr_opcode op, uint64_t where,
                                uint32_t n, uint32_t rkey)
{
	(void)b;
	MUST(post_keyed(a, op, at(a, 0, n), where, rkey) == 0);
	return completion(a->sends).status;
}

static void type_one(void)
{
	struct end a, b;

	pair_open(&a, &b, &usual);
	struct ibv_mw *mw = ibv_alloc_mw(b.pd, IBV_MW_TYPE_1);
	MUST(mw);
	uint32_t before = mw->rkey;
	bound(&b, mw, 100, 50, IBV_ACCESS_REMOTE_WRITE);
	MUST(mw->rkey != before);
	uint64_t base = (uintptr_t)b.memory;
	MUST(reach(&a, &b, IBV_WR_RDMA_WRITE, base + 100, 50, mw->rkey) == IBV_WC_SUCCESS);
	MUST(ibv_dereg_mr(b.mr) == EBUSY);
	/* bound anew it has another key, and the old one is none */
	before = mw->rkey;
	bound(&b, mw, 200, 50, IBV_ACCESS_REMOTE_READ);
	MUST(reach(&a, &b, IBV_WR_RDMA_READ, base + 249, 1, mw->rkey) == IBV_WC_SUCCESS);
	MUST(reach(&a, &b, IBV_WR_RDMA_WRITE, base + 100, 8, before) == IBV_WC_REM_ACCESS_ERR);
	event(&b, IBV_EVENT_QP_ACCESS_ERR);
	MUST(ibv_dealloc_mw(mw) == 0);
	end_close(&a);
	end_close(&b);
}

/* An access that the window of bytes 100 to 149 does not grant. */
static void outside(enum ibv_mw_type type, uint64_t offset, uint32_t n, unsigned access, int zero)
{
	struct end a, b;

	pair_open(&a, &b, &usual);
	struct ibv_mw *mw = ibv_alloc_mw(b.pd, type);
	bound(&b, mw, 100, 50, access | (zero ? IBV_ACCESS_ZERO_BASED : 0u));
	uint64_t base = zero ? 0 : (uintptr_t)b.memory;
	MUST(reach(&a, &b, IBV_WR_RDMA_WRITE, base + offset, n, mw->rkey) == IBV_WC_REM_ACCESS_ERR);
	MUST(ibv_dealloc_mw(mw) == 0);
	end_close(&a);
	end_close(&b);
}

static void bounds_and_rights(void)
{
	outside(IBV_MW_TYPE_1, 99, 8, IBV_ACCESS_REMOTE_WRITE, 0);
	outside(IBV_MW_TYPE_1, 143, 8, IBV_ACCESS_REMOTE_WRITE, 0);
	outside(IBV_MW_TYPE_1, 100, 8, IBV_ACCESS_REMOTE_READ, 0);
	outside(IBV_MW_TYPE_2, 143, 8, IBV_ACCESS_REMOTE_WRITE, 0);
	outside(IBV_MW_TYPE_2, 43, 8, IBV_ACCESS_REMOTE_WRITE, 1);
}

static void type_two(void)
{
	struct ibv_send_wr *bad, inv = {.opcode = IBV_WR_LOCAL_INV};
	struct end a, b;

	pair_open(&a, &b, &usual);
	struct ibv_mw *mw = ibv_alloc_mw(b.pd, IBV_MW_TYPE_2);
	bound(&b, mw, 100, 50, IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_ZERO_BASED);
	a.memory[0] = 'z';
	MUST(reach(&a, &b, IBV_WR_RDMA_WRITE, 49, 1, mw->rkey) == IBV_WC_SUCCESS);
	MUST(b.memory[149] == 'z');
	inv.invalidate_rkey = mw->rkey;
	MUST(ibv_post_send(b.qp, &inv, &bad) == 0);
	MUST(completion(b.sends).opcode == IBV_WC_LOCAL_INV);
	/* free again, so it can be bound; the peer's send invalidates it */
	bound(&b, mw, 0, 10, IBV_ACCESS_REMOTE_WRITE);
	struct ibv_sge s = at(&a, 0, 4);
	struct ibv_send_wr send = {.sg_list = &s,
	                           .num_sge = 1,
	                           .opcode = IBV_WR_SEND_WITH_INV,
	                           .invalidate_rkey = mw->rkey};
	MUST(receive(&b, 1, 1000, 8) == 0 && ibv_post_send(a.qp, &send, &bad) == 0);
	struct ibv_wc wc = completion(b.receives);
	MUST(wc.wc_flags == IBV_WC_WITH_INV && wc.invalidated_rkey == mw->rkey);
	MUST(completion(a.sends).status == IBV_WC_SUCCESS);
	MUST(reach(&a, &b, IBV_WR_RDMA_WRITE, (uintptr_t)b.memory, 8, mw->rkey) ==
	     IBV_WC_REM_ACCESS_ERR);
	MUST(ibv_dealloc_mw(mw) == 0);
	end_close(&a);
	end_close(&b);
}

/* The bind fails, and with it the queue pair. */
static void bad_bind(enum ibv_mw_type type, int access, uint32_t n, unsigned wants, int twice)
{
	struct end a, b;

	pair_open(&a, &b, &usual);
	struct ibv_mr *mr = ibv_reg_mr(b.pd, b.memory, SIZE / 2, access);
	struct ibv_mw *mw = ibv_alloc_mw(b.pd, type);
	if (twice)
		bound(&b, mw, 0, 8, IBV_ACCESS_REMOTE_READ);
	MUST(bind_one(&b, mw, mr, 0, n, wants) == 0);
	struct ibv_wc wc = completion(b.sends);
	MUST(wc.status == IBV_WC_MW_BIND_ERR && wc.vendor_err);
	MUST(ibv_dealloc_mw(mw) == 0 && ibv_dereg_mr(mr) == 0);
	end_close(&a);
	end_close(&b);
}

static void bad_binds(void)
{
	enum { BIND = IBV_ACCESS_MW_BIND, LOCAL = IBV_ACCESS_LOCAL_WRITE };

	bad_bind(IBV_MW_TYPE_1, LOCAL, 8, IBV_ACCESS_REMOTE_READ, 0);
	bad_bind(IBV_MW_TYPE_1, BIND, 8, IBV_ACCESS_REMOTE_WRITE, 0);
	bad_bind(IBV_MW_TYPE_1, BIND | LOCAL, SIZE / 2 + 1, IBV_ACCESS_REMOTE_READ, 0);
	bad_bind(IBV_MW_TYPE_2, BIND | LOCAL, 8, IBV_ACCESS_REMOTE_READ, 1);
	bad_bind(IBV_MW_TYPE_2, BIND | LOCAL, 0, IBV_ACCESS_REMOTE_READ, 0);
}

/* InfiniBand has none of type 1 that count from 0: a call that binds one is refused. */
static void type_one_from_zero(void)
{
	struct end a, b;

	pair_open(&a, &b, &usual);
	struct ibv_mw *mw = ibv_alloc_mw(b.pd, IBV_MW_TYPE_1);
	MUST(bind_one(&b, mw, b.mr, 0, 8, IBV_ACCESS_REMOTE_READ | IBV_ACCESS_ZERO_BASED) ==
	     EINVAL);
	bound(&b, mw, 0, 8, IBV_ACCESS_REMOTE_READ);
	MUST(ibv_dealloc_mw(mw) == 0);
	end_close(&a);
	end_close(&b);
}

/* A window of type 2 is for the connection by which it was bound, even beside one of its domain. */
static void of_another_queue_pair(void)
{
	struct end a, b;

	pair_open(&a, &b, &usual);
	struct end c = b; /* in b's domain, connected with itself */
	struct ibv_qp_init_attr init = {.send_cq = b.sends,
	                                .recv_cq = b.receives,
	                                .sq_sig_all = 1,
	                                .cap = {DEPTH, 0, SEGMENTS, 0, 0},
	                                .qp_type = IBV_QPT_RC};
	MUST(c.qp = ibv_create_qp(b.pd, &init));
	MUST(to_init(&c, &usual) == 0 && to_rtr(&c, c.qp->qp_num, &c.gid, &usual) == 0 &&
	     to_rts(&c, &usual) == 0);
	struct ibv_mw *mw = ibv_alloc_mw(b.pd, IBV_MW_TYPE_2);
	bound(&b, mw, 0, 50, IBV_ACCESS_REMOTE_WRITE);
	uint64_t base = (uintptr_t)b.memory;
	MUST(reach(&a, &b, IBV_WR_RDMA_WRITE, base, 8, mw->rkey) == IBV_WC_SUCCESS);
	MUST(reach(&c, &c, IBV_WR_RDMA_WRITE, base, 8, mw->rkey) == IBV_WC_REM_ACCESS_ERR);
	MUST(bind_one(&a, mw, a.mr, 0, 8, IBV_ACCESS_REMOTE_READ) == EINVAL);
	MUST(ibv_dealloc_mw(mw) == 0 && ibv_destroy_qp(c.qp) == 0);
	end_close(&a);
	end_close(&b);
}

const struct check window_checks[] = {{"type_one", type_one},
                                      {"bounds_and_rights", bounds_and_rights},
                                      {"type_two", type_two},
                                      {"bad_binds", bad_binds},
                                      {"type_one_from_zero", type_one_from_zero},
                                      {"of_another_queue_pair", of_another_queue_pair},
                                      {NULL, NULL}};
