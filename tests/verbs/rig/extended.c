/* extended.c - requests by struct ibv_qp_ex: gathered from wr_start on, posted by wr_complete. */
#include "world.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 256 };

/* An error of one call is what wr_complete gives, and then nothing is posted. */
struct rig_batch {
	int n, err;
	struct ibv_send_wr wr[MOST];
	struct ibv_sge sge[MOST][RIG_MAX_SGE];
	char data[MOST][RIG_MAX_INLINE];
};

static struct rig_batch *batch_of(struct ibv_qp_ex *ex)
{
	return ((struct rig_program_qp *)ex)->batch;
}

static void start(struct ibv_qp_ex *ex)
{
	batch_of(ex)->n = 0;
	batch_of(ex)->err = 0;
}

static struct ibv_send_wr *next(struct ibv_qp_ex *ex, enum ibv_wr_opcode opcode)
{
	struct rig_batch *b = batch_of(ex);

	if (b->n == MOST)
		b->err = ENOMEM;
	int at = b->n < MOST ? b->n++ : MOST - 1;
	b->wr[at] = (struct ibv_send_wr){.wr_id = ex->wr_id,
	                                 .sg_list = b->sge[at],
	                                 .opcode = opcode,
	                                 .send_flags = ex->wr_flags};
	if (at > 0)
		b->wr[at - 1].next = &b->wr[at];
	return &b->wr[at];
}

static struct ibv_send_wr *last(struct ibv_qp_ex *ex)
{
	struct rig_batch *b = batch_of(ex);

	if (b->n == 0)
		b->err = EINVAL;
	return &b->wr[b->n ? b->n - 1 : 0];
}

static int complete(struct ibv_qp_ex *ex)
{
	struct rig_batch *b = batch_of(ex);
	struct ibv_send_wr *bad;

	return b->err || b->n == 0 ? b->err : rig_post_send(&ex->qp_base, b->wr, &bad);
}

static void aborted(struct ibv_qp_ex *ex)
{
	batch_of(ex)->n = 0;
}

static struct ibv_send_wr *rdma(struct ibv_qp_ex *ex, enum ibv_wr_opcode op, uint32_t rkey,
                                uint64_t remote)
{
	struct ibv_send_wr *wr = next(ex, op);

	wr->wr.rdma.rkey = rkey;
	wr->wr.rdma.remote_addr = remote;
	return wr;
}

static void atomic(struct ibv_qp_ex *ex, enum ibv_wr_opcode op, uint32_t rkey, uint64_t remote,
                   uint64_t compare, uint64_t swap)
{
	struct ibv_send_wr *wr = next(ex, op);

	wr->wr.atomic.rkey = rkey;
	wr->wr.atomic.remote_addr = remote;
	wr->wr.atomic.compare_add = compare;
	wr->wr.atomic.swap = swap;
}

static void compare_swap(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote, uint64_t compare,
                         uint64_t swap)
{
	atomic(ex, IBV_WR_ATOMIC_CMP_AND_SWP, rkey, remote, compare, swap);
}

static void fetch_add(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote, uint64_t add)
{
	atomic(ex, IBV_WR_ATOMIC_FETCH_AND_ADD, rkey, remote, add, 0);
}

static void bind_mw(struct ibv_qp_ex *ex, struct ibv_mw *mw, uint32_t rkey,
                    const struct ibv_mw_bind_info *info)
{
	struct ibv_send_wr *wr = next(ex, IBV_WR_BIND_MW);

	wr->bind_mw.mw = mw;
	wr->bind_mw.rkey = rkey;
	wr->bind_mw.bind_info = *info;
}

static void local_inv(struct ibv_qp_ex *ex, uint32_t key)
{
	next(ex, IBV_WR_LOCAL_INV)->invalidate_rkey = key;
}

static void rdma_read(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote)
{
	rdma(ex, IBV_WR_RDMA_READ, rkey, remote);
}

static void rdma_write(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote)
{
	rdma(ex, IBV_WR_RDMA_WRITE, rkey, remote);
}

static void rdma_write_imm(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote, __be32 imm)
{
	rdma(ex, IBV_WR_RDMA_WRITE_WITH_IMM, rkey, remote)->imm_data = imm;
}

static void send_plain(struct ibv_qp_ex *ex)
{
	next(ex, IBV_WR_SEND);
}

static void send_imm(struct ibv_qp_ex *ex, __be32 imm)
{
	next(ex, IBV_WR_SEND_WITH_IMM)->imm_data = imm;
}

static void send_inv(struct ibv_qp_ex *ex, uint32_t key)
{
	next(ex, IBV_WR_SEND_WITH_INV)->invalidate_rkey = key;
}

static void set_ud_addr(struct ibv_qp_ex *ex, struct ibv_ah *ah, uint32_t qpn, uint32_t qkey)
{
	struct ibv_send_wr *wr = last(ex);

	wr->wr.ud.ah = ah;
	wr->wr.ud.remote_qpn = qpn;
	wr->wr.ud.remote_qkey = qkey;
}

/* Inline data may change once the call returns, so it is copied here. */
static void set_inline_list(struct ibv_qp_ex *ex, size_t n, const struct ibv_data_buf *list)
{
	struct rig_batch *b = batch_of(ex);
	struct ibv_send_wr *wr = last(ex);
	char *to = b->data[wr - b->wr];
	size_t all = 0;

	for (size_t i = 0; i < n; i++) {
		if (all + list[i].length > RIG_MAX_INLINE) {
			b->err = EINVAL;
			return;
		}
		memcpy(to + all, list[i].addr, list[i].length);
		all += list[i].length;
	}
	wr->send_flags |= IBV_SEND_INLINE;
	wr->num_sge = 1;
	wr->sg_list[0] = (struct ibv_sge){.addr = (uintptr_t)to, .length = (uint32_t)all};
}

static void set_inline(struct ibv_qp_ex *ex, void *addr, size_t n)
{
	struct ibv_data_buf one = {.addr = addr, .length = n};

	set_inline_list(ex, 1, &one);
}

static void set_sge_list(struct ibv_qp_ex *ex, size_t n, const struct ibv_sge *list)
{
	struct ibv_send_wr *wr = last(ex);

	if (n > RIG_MAX_SGE) {
		batch_of(ex)->err = EINVAL;
		return;
	}
	memcpy(wr->sg_list, list, n * sizeof *list);
	wr->num_sge = (int)n;
}

static void set_sge(struct ibv_qp_ex *ex, uint32_t lkey, uint64_t addr, uint32_t n)
{
	struct ibv_send_wr *wr = last(ex);

	wr->sg_list[0] = (struct ibv_sge){.addr = addr, .length = n, .lkey = lkey};
	wr->num_sge = 1;
}

void rig_extend(struct rig_program_qp *p, uint64_t operations)
{
	struct ibv_qp_ex *ex = &p->ex;

	(void)operations; /* all are there, and the type of the queue pair decides */
	p->batch = calloc(1, sizeof *p->batch);
	if (!p->batch)
		return;
	ex->wr_atomic_cmp_swp = compare_swap;
	ex->wr_atomic_fetch_add = fetch_add;
	ex->wr_bind_mw = bind_mw;
	ex->wr_local_inv = local_inv;
	ex->wr_rdma_read = rdma_read;
	ex->wr_rdma_write = rdma_write;
	ex->wr_rdma_write_imm = rdma_write_imm;
	ex->wr_send = send_plain;
	ex->wr_send_imm = send_imm;
	ex->wr_send_inv = send_inv;
	ex->wr_set_ud_addr = set_ud_addr;
	ex->wr_set_inline_data = set_inline;
	ex->wr_set_inline_data_list = set_inline_list;
	ex->wr_set_sge = set_sge;
	ex->wr_set_sge_list = set_sge_list;
	ex->wr_start = start;
	ex->wr_complete = complete;
	ex->wr_abort = aborted;
}
