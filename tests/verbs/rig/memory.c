/* memory.c - memory regions, and the checks of keys: see memory.h */
#include "world.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#define MADV_POPULATE_WRITE 23
#endif

enum {
	REMOTE = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC,
	KNOWN = IBV_ACCESS_LOCAL_WRITE | REMOTE | IBV_ACCESS_MW_BIND | IBV_ACCESS_ZERO_BASED |
	        IBV_ACCESS_HUGETLB
};

static struct rig_key *key_at(uint32_t value)
{
	struct rig_key *k = &rig_mapped()->keys[(value >> RIG_KEY_BITS) % RIG_KEYS];

	return value && atomic_load_explicit(&k->slot.used, memory_order_acquire) &&
	                       k->value == value
	               ? k
	               : NULL;
}

/* 1 if the range lies in what the key covers. */
static int covers(const struct rig_key *k, uint64_t address, uint64_t n)
{
	return address >= k->start && n <= k->length && address - k->start <= k->length - n;
}

int rig_local(uint32_t process, uint32_t pd, const struct ibv_sge *s, int writes, struct iovec *at)
{
	struct rig_key *k = key_at(s->lkey);

	*at = (struct iovec){.iov_base = (void *)(uintptr_t)s->addr, .iov_len = s->length};
	if (!k || k->type != RIG_K_REGION || k->slot.process != process || k->pd != pd ||
	    !covers(k, s->addr, s->length) || (writes && !(k->access & IBV_ACCESS_LOCAL_WRITE)))
		return 0;
	at->iov_base = (void *)(uintptr_t)(k->address + (s->addr - k->start));
	return 1;
}

struct rig_key *rig_hold(const struct rig_qp *q, uint32_t rkey, uint64_t address, uint64_t n,
                         unsigned access, struct iovec *at)
{
	struct rig_key *k = key_at(rkey);

	if (!k)
		return NULL;
	rig_lock(&k->lock);
	if (atomic_load(&k->slot.used) && k->value == rkey && k->valid &&
	    k->slot.process == q->slot.process && k->pd == q->pd && k->device == q->device &&
	    (k->access & access) == access && covers(k, address, n) &&
	    (k->type != RIG_K_WINDOW2 || k->qpn == q->qpn)) {
		*at = (struct iovec){.iov_base =
		                             (void *)(uintptr_t)(k->address + (address - k->start)),
		                     .iov_len = n};
		return k;
	}
	rig_unlock(&k->lock);
	return NULL;
}

/* As an adapter pins pages: those that are not there, or not the program's to write, are refused.
 */
static int pin(void *addr, size_t n, int writes)
{
	uintptr_t first = (uintptr_t)addr & ~(uintptr_t)(RIG_PAGE - 1);
	size_t all = ((uintptr_t)addr + n - first + RIG_PAGE - 1) & ~(size_t)(RIG_PAGE - 1);

	if (madvise((void *)first, all, writes ? MADV_POPULATE_WRITE : MADV_POPULATE_READ) == 0)
		return 0;
	return errno == EAGAIN ? ENOMEM : EFAULT;
}

/* Pages that are pinned count against RLIMIT_MEMLOCK, as in a kernel, if RIG_MEMLOCK is set:
 * systems with adapters mostly have no limit. more: negative, when they are given back. */
static int count_pinned(const void *addr, size_t n, int more)
{
	static _Atomic long long pinned;
	static int counts = -1;
	uintptr_t first = (uintptr_t)addr / RIG_PAGE, last = ((uintptr_t)addr + n - 1) / RIG_PAGE;
	long long bytes = (long long)(last - first + 1) * RIG_PAGE * more;
	struct rlimit limit;

	if (counts < 0)
		counts = getenv("RIG_MEMLOCK") != NULL;
	if (!counts)
		return 0;
	long long all = atomic_fetch_add(&pinned, bytes) + bytes;
	if (more < 0 || getrlimit(RLIMIT_MEMLOCK, &limit) || limit.rlim_cur == RLIM_INFINITY ||
	    all <= (long long)limit.rlim_cur)
		return 0;
	atomic_fetch_sub(&pinned, bytes);
	return ENOMEM;
}

static int check_access(struct ibv_context *c, size_t n, unsigned access)
{
	uint32_t refused = rig_fault_due(rig_device_of(c), RIG_F_REGISTER);

	access &= ~(unsigned)IBV_ACCESS_OPTIONAL_RANGE;
	if (rig_alive(c))
		return EIO;
	if (refused)
		return (int)refused;
	if (access & ~(unsigned)KNOWN)
		return EOPNOTSUPP;
	if (access & (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC) &&
	    !(access & IBV_ACCESS_LOCAL_WRITE))
		return EINVAL;
	return n ? 0 : EINVAL;
}

/* A new key, whose lock is made with the slot's first use. Its value is set, and it is not valid.
 */
static struct rig_key *take_key(enum rig_key_type type, struct rig_pd *pd)
{
	struct rig_world *w = rig_mapped();

	rig_lock(&w->lock);
	struct rig_key *k = RIG_TAKE(RIG_T_KEY, w->keys);
	if (k) {
		if (k->slot.generation == 1)
			rig_new_lock(&k->lock);
		rig_lock(&k->lock);
		k->valid = 0;
		k->type = type;
		k->pd = pd->number;
		k->device = rig_open_of(pd->pd.context)->shared->device;
		k->value = RIG_INDEX(w->keys, k) << RIG_KEY_BITS | (k->slot.generation * 7 & 0xff);
		k->parent = k->qpn = 0;
		k->windows = 0;
		rig_unlock(&k->lock);
		pd->users++;
	}
	rig_unlock(&w->lock);
	if (!k)
		errno = ENOMEM;
	return k;
}

static void give_key(struct rig_key *k, struct rig_pd *pd)
{
	rig_lock(&k->lock); /* waits for an access that is under way */
	k->valid = 0;
	rig_unlock(&k->lock);
	rig_give(k);
	pd->users--;
}

struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *addr, size_t n, uint64_t start,
                                unsigned access)
{
	int err = check_access(pd->context, n, access);

	if (!err)
		err = pin(addr, n, access & IBV_ACCESS_LOCAL_WRITE);
	if (!err)
		err = count_pinned(addr, n, 1);
	struct rig_mr *m = err ? NULL : calloc(1, sizeof *m);
	if (m)
		m->key = take_key(RIG_K_REGION, (struct rig_pd *)pd);
	if (!m || !m->key) {
		free(m);
		errno = err ? err : ENOMEM;
		return NULL;
	}
	struct rig_key *k = m->key;
	rig_lock(&k->lock);
	k->address = (uintptr_t)addr;
	k->start = access & IBV_ACCESS_ZERO_BASED ? 0 : start;
	k->length = n;
	k->access = access;
	k->valid = 1;
	rig_unlock(&k->lock);
	m->mr = (struct ibv_mr){.context = pd->context,
	                        .pd = pd,
	                        .addr = addr,
	                        .length = n,
	                        .handle = k->value >> RIG_KEY_BITS,
	                        .lkey = k->value,
	                        .rkey = k->value};
	return (struct ibv_mr *)m;
}

#undef ibv_reg_mr
struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *addr, size_t n, int access)
{
	return ibv_reg_mr_iova2(pd, addr, n, (uintptr_t)addr, (unsigned)access);
}

#undef ibv_reg_mr_iova
struct ibv_mr *ibv_reg_mr_iova(struct ibv_pd *pd, void *addr, size_t n, uint64_t start, int access)
{
	return ibv_reg_mr_iova2(pd, addr, n, start, (unsigned)access);
}

int ibv_dereg_mr(struct ibv_mr *mr)
{
	struct rig_mr *m = (struct rig_mr *)mr;

	if (atomic_load(&m->key->windows))
		return EBUSY;
	give_key(m->key, (struct rig_pd *)mr->pd);
	count_pinned(mr->addr, mr->length, -1);
	free(m);
	return 0;
}

struct ibv_mw *rig_alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type)
{
	struct rig_mw *m;

	if (rig_alive(pd->context) || (type != IBV_MW_TYPE_1 && type != IBV_MW_TYPE_2)) {
		errno = rig_alive(pd->context) ? EIO : EINVAL;
		return NULL;
	}
	m = calloc(1, sizeof *m);
	if (m)
		m->key = take_key(type == IBV_MW_TYPE_1 ? RIG_K_WINDOW1 : RIG_K_WINDOW2,
		                  (struct rig_pd *)pd);
	if (!m || !m->key) {
		free(m);
		errno = ENOMEM;
		return NULL;
	}
	m->mw = (struct ibv_mw){.context = pd->context,
	                        .pd = pd,
	                        .rkey = m->key->value,
	                        .handle = m->key->value >> RIG_KEY_BITS,
	                        .type = type};
	return (struct ibv_mw *)m;
}

/* Under the window's lock. */
static void unbind(struct rig_key *k)
{
	if (k->valid)
		atomic_fetch_sub(&rig_mapped()->keys[k->parent].windows, 1);
	k->valid = 0;
	k->parent = k->qpn = 0;
}

int rig_dealloc_mw(struct ibv_mw *mw)
{
	struct rig_mw *m = (struct rig_mw *)mw;

	rig_lock(&m->key->lock);
	unbind(m->key);
	rig_unlock(&m->key->lock);
	give_key(m->key, (struct rig_pd *)mw->pd);
	free(m);
	return 0;
}

/* Whether a window may be bound so: the region's lock is held. */
static int may_bind(const struct rig_qp *q, const struct rig_send *w, const struct rig_key *r)
{
	unsigned writes = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC;

	return atomic_load(&r->slot.used) && r->valid && r->type == RIG_K_REGION &&
	       r->slot.process == q->slot.process && r->pd == q->pd &&
	       r->access & IBV_ACCESS_MW_BIND &&
	       !(w->access & writes && !(r->access & IBV_ACCESS_LOCAL_WRITE)) &&
	       covers(r, w->remote, w->compare);
}

/* Under the window's lock. w: remote is the address, compare the length, region and window keys. */
static enum ibv_wc_status bind_window(const struct rig_qp *q, const struct rig_send *w,
                                      struct rig_key *k)
{
	struct rig_key *r = key_at(w->region);

	if (k->pd != q->pd || k->slot.process != q->slot.process)
		return IBV_WC_MW_BIND_ERR;
	if (k->type == RIG_K_WINDOW2 && (k->valid || w->compare == 0 || w->rkey == k->value))
		return IBV_WC_MW_BIND_ERR;
	if (w->compare == 0) { /* of type 1: it is not bound any more, and its key is another */
		unbind(k);
		k->value = w->rkey;
		return IBV_WC_SUCCESS;
	}
	if (!r || r == k)
		return IBV_WC_MW_BIND_ERR;
	rig_lock(&r->lock);
	int good = may_bind(q, w, r);
	if (good)
		atomic_fetch_add(&r->windows, 1);
	rig_unlock(&r->lock);
	if (!good)
		return IBV_WC_MW_BIND_ERR;
	unbind(k);
	k->value = w->rkey;
	k->parent = RIG_INDEX(rig_mapped()->keys, r);
	k->access = w->access;
	k->address = r->address + (w->remote - r->start);
	k->start = w->access & IBV_ACCESS_ZERO_BASED ? 0 : w->remote;
	k->length = w->compare;
	k->qpn = k->type == RIG_K_WINDOW2 ? q->qpn : 0;
	k->valid = 1;
	return IBV_WC_SUCCESS;
}

enum ibv_wc_status rig_bind(const struct rig_qp *q, const struct rig_send *w)
{
	struct rig_key *k = &rig_mapped()->keys[(w->window >> RIG_KEY_BITS) % RIG_KEYS];

	if (!atomic_load(&k->slot.used) || k->type == RIG_K_REGION)
		return IBV_WC_MW_BIND_ERR;
	rig_lock(&k->lock);
	enum ibv_wc_status status = bind_window(q, w, k);
	rig_unlock(&k->lock);
	return status;
}

enum ibv_wc_status rig_invalidate(const struct rig_qp *q, uint32_t value, int remote)
{
	enum ibv_wc_status bad = remote ? IBV_WC_REM_ACCESS_ERR : IBV_WC_LOC_QP_OP_ERR;
	struct rig_key *k = key_at(value);

	if (!k || k->type != RIG_K_WINDOW2)
		return bad;
	rig_lock(&k->lock);
	int good = k->value == value && k->valid && k->slot.process == q->slot.process &&
	           k->pd == q->pd && k->qpn == q->qpn;
	if (good)
		unbind(k);
	rig_unlock(&k->lock);
	return good ? IBV_WC_SUCCESS : bad;
}

/* Of requests that post_send refuses. */
int rig_bind_check(struct ibv_qp *qp, const struct ibv_send_wr *wr)
{
	const struct ibv_mw *mw = wr->bind_mw.mw;

	if (!mw || mw->pd != qp->pd || (wr->bind_mw.bind_info.length && !wr->bind_mw.bind_info.mr))
		return EINVAL;
	if (wr->bind_mw.bind_info.mw_access_flags & ~(unsigned)(REMOTE | IBV_ACCESS_ZERO_BASED))
		return EINVAL;
	if (mw->type == IBV_MW_TYPE_1 && wr->bind_mw.bind_info.mw_access_flags & IBV_ACCESS_ZERO_BASED)
		return EINVAL; /* InfiniBand, o10-36.2.2 */
	return (mw->rkey ^ wr->bind_mw.rkey) >> RIG_KEY_BITS ? EINVAL : 0;
}

int rig_bind_mw(struct ibv_qp *qp, struct ibv_mw *mw, struct ibv_mw_bind *b)
{
	struct ibv_send_wr *bad,
		wr = {.wr_id = b->wr_id,
	              .opcode = IBV_WR_BIND_MW,
	              .send_flags = b->send_flags,
	              .bind_mw = {
			      .mw = mw, .rkey = ibv_inc_rkey(mw->rkey), .bind_info = b->bind_info}};

	if (mw->type != IBV_MW_TYPE_1)
		return EINVAL;
	int err = rig_post_send(qp, &wr, &bad);
	if (!err)
		mw->rkey = wr.bind_mw.rkey;
	return err;
}
