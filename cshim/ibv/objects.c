/* objects.c - protection domains, memory, shared queues, address handles. */
#include <string.h>

#include "ibv/ibv.h"
#include "ibv/library.h"

int cshim_ibv_alloc_pd(struct cshim_ibv *a, cshim_ibv_object *pd)
{
	errno = 0;
	*pd = NUMBER(ibv.alloc_pd(a->context));
	return *pd ? 0 : ibv_reason();
}

int cshim_ibv_dealloc_pd(cshim_ibv_object pd)
{
	return ibv.dealloc_pd(OBJECT(struct ibv_pd, pd));
}

/* Where peers may write, the adapter must be able to write, too. */
int cshim_ibv_reg_mr(cshim_ibv_object pd_, uint64_t addr, uint64_t n, uint64_t iova, int access,
                     cshim_ibv_object *region, uint32_t *lkey, uint32_t *rkey)
{
	struct ibv_pd *pd = OBJECT(struct ibv_pd, pd_);
	void *at = OBJECT(void, addr);

	if (access & (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC))
		access |= IBV_ACCESS_LOCAL_WRITE;
	if (n == 0 || addr > UINTPTR_MAX || n > SIZE_MAX)
		return EINVAL;
	if (iova != addr && !ibv.reg_mr_iova)
		return EOPNOTSUPP;
	errno = 0;
	struct ibv_mr *mr = iova == addr ? ibv.reg_mr(pd, at, (size_t)n, access)
	                                 : ibv.reg_mr_iova(pd, at, (size_t)n, iova, access);
	if (!mr)
		return ibv_reason();
	*region = NUMBER(mr);
	*lkey = mr->lkey;
	*rkey = mr->rkey;
	return 0;
}

int cshim_ibv_dereg_mr(cshim_ibv_object mr)
{
	return ibv.dereg_mr(OBJECT(struct ibv_mr, mr));
}

int cshim_ibv_alloc_mw(cshim_ibv_object pd, int own, cshim_ibv_object *window)
{
	errno = 0;
	*window = NUMBER(
		ibv_alloc_mw(OBJECT(struct ibv_pd, pd), own ? IBV_MW_TYPE_2 : IBV_MW_TYPE_1));
	return *window ? 0 : ibv_reason();
}

int cshim_ibv_dealloc_mw(cshim_ibv_object window)
{
	return ibv_dealloc_mw(OBJECT(struct ibv_mw, window));
}

/* The key of a window of type 2 is the program's to choose, and to remember. */
int cshim_ibv_bind_mw(cshim_ibv_object qp_, const struct cshim_ibv_bind *b, uint32_t *key)
{
	struct ibv_qp *qp = OBJECT(struct ibv_qp, qp_);
	struct ibv_mw *mw = OBJECT(struct ibv_mw, b->mw);
	struct ibv_mw_bind_info info = {.mr = b->n ? OBJECT(struct ibv_mr, b->mr) : NULL,
	                                .addr = b->addr,
	                                .length = b->n,
	                                .mw_access_flags = b->access};
	struct ibv_mw_bind bind = {.wr_id = b->id, .send_flags = b->flags, .bind_info = info};
	struct ibv_send_wr *bad,
		wr = {.wr_id = b->id,
	              .opcode = IBV_WR_BIND_MW,
	              .send_flags = b->flags,
	              .bind_mw = {.mw = mw, .rkey = ibv_inc_rkey(mw->rkey), .bind_info = info}};
	int type1 = mw->type == IBV_MW_TYPE_1;
	int err = type1 ? ibv_bind_mw(qp, mw, &bind) : ibv_post_send(qp, &wr, &bad);

	if (!err && !type1)
		mw->rkey = wr.bind_mw.rkey;
	*key = mw->rkey;
	return err;
}

int cshim_ibv_create_srq(cshim_ibv_object pd, int receives, int segments, cshim_ibv_object *srq)
{
	struct ibv_srq_init_attr attr = {
		.attr = {.max_wr = (uint32_t)receives, .max_sge = (uint32_t)segments}};

	errno = 0;
	*srq = NUMBER(ibv.create_srq(OBJECT(struct ibv_pd, pd), &attr));
	return *srq ? 0 : ibv_reason();
}

int cshim_ibv_modify_srq(cshim_ibv_object srq, int limit, int receives)
{
	struct ibv_srq_attr attr = {.max_wr = (uint32_t)receives, .srq_limit = (uint32_t)receives};

	return ibv.modify_srq(OBJECT(struct ibv_srq, srq), &attr,
	                      limit ? IBV_SRQ_LIMIT : IBV_SRQ_MAX_WR);
}

int cshim_ibv_destroy_srq(cshim_ibv_object srq)
{
	return ibv.destroy_srq(OBJECT(struct ibv_srq, srq));
}

int cshim_ibv_destroy_ah(cshim_ibv_object ah)
{
	return ibv.destroy_ah(OBJECT(struct ibv_ah, ah));
}
