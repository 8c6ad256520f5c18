/* status.c - each misuse of memory and of the peer, and the completions that it gives at both ends.
 */
#include "check.h"

#include <sys/resource.h>

static const struct kind usual;

/* The pair after an error: both ends have failed, and later requests are flushed. */
static void over(struct end *a, struct end *b, enum ibv_wc_status status)
{
	struct ibv_wc wc = completion(a->sends);

	MUST(wc.status == status && wc.vendor_err && wc.qp_num == a->qp->qp_num);
	MUST(post(a, b, IBV_WR_RDMA_WRITE, 0, 8, 0) == 0);
	MUST(completion(a->sends).status == IBV_WC_WR_FLUSH_ERR);
	end_close(a);
	end_close(b);
}

static void local_keys(void)
{
	struct end a, b;
	struct ibv_sge s;

	pair_open(&a, &b, &usual);
	s = at(&a, 0, 8);
	s.lkey ^= 1;
	MUST(post_keyed(&a, IBV_WR_RDMA_WRITE, s, (uintptr_t)b.memory, b.mr->rkey) == 0);
	over(&a, &b, IBV_WC_LOC_PROT_ERR);
	pair_open(&a, &b, &usual);
	MUST(post(&a, &b, IBV_WR_RDMA_WRITE, SIZE - 4, 8, 0) == 0);
	over(&a, &b, IBV_WC_LOC_PROT_ERR);
	pair_open(&a, &b, &usual);
	struct ibv_mr *read_only = ibv_reg_mr(a.pd, a.memory, SIZE, 0);
	s = at(&a, 0, 8);
	s.lkey = read_only->lkey;
	MUST(post_keyed(&a, IBV_WR_RDMA_WRITE, s, (uintptr_t)b.memory, b.mr->rkey) == 0);
	MUST(completion(a.sends).status == IBV_WC_SUCCESS);
	MUST(post_keyed(&a, IBV_WR_RDMA_READ, s, (uintptr_t)b.memory, b.mr->rkey) == 0);
	MUST(ibv_dereg_mr(read_only) == 0);
	over(&a, &b, IBV_WC_LOC_PROT_ERR);
	pair_open(&a, &b, &usual);
	struct ibv_pd *other = ibv_alloc_pd(a.context);
	struct ibv_mr *foreign = ibv_reg_mr(other, a.memory, SIZE, ALL);
	s = at(&a, 0, 8);
	s.lkey = foreign->lkey;
	MUST(post_keyed(&a, IBV_WR_RDMA_WRITE, s, (uintptr_t)b.memory, b.mr->rkey) == 0);
	over(&a, &b, IBV_WC_LOC_PROT_ERR);
}

/* A request on a pair of that kind, to memory by that key. */
static void refused(const struct kind *k, enum ibv_wr_opcode op, uint32_t n, uint64_t remote,
                    int access, enum ibv_wc_status status, enum ibv_event_type type)
{
	struct end a, b;

	pair_open(&a, &b, k);
	struct ibv_mr *mr = ibv_reg_mr(b.pd, b.memory, SIZE / 2, access);
	MUST(mr);
	MUST(post_keyed(&a, op, at(&a, 0, n), (uintptr_t)b.memory + remote, mr->rkey) == 0);
	event(&b, type);
	MUST(b.memory[SIZE / 2] == 0 && ibv_dereg_mr(mr) == 0);
	over(&a, &b, status);
}

static void remote_rights(void)
{
	enum { W = IBV_ACCESS_LOCAL_WRITE };
	struct kind no_writes = {.access = IBV_ACCESS_REMOTE_READ};
	struct kind no_reads = {.no_reads = 1};

	refused(&usual, IBV_WR_RDMA_WRITE, 8, 0, W, IBV_WC_REM_ACCESS_ERR, IBV_EVENT_QP_ACCESS_ERR);
	refused(&usual, IBV_WR_RDMA_READ, 8, 0, W | IBV_ACCESS_REMOTE_WRITE, IBV_WC_REM_ACCESS_ERR,
	        IBV_EVENT_QP_ACCESS_ERR);
	refused(&usual, IBV_WR_ATOMIC_FETCH_AND_ADD, 8, 0, W | IBV_ACCESS_REMOTE_WRITE,
	        IBV_WC_REM_ACCESS_ERR, IBV_EVENT_QP_ACCESS_ERR);
	refused(&usual, IBV_WR_RDMA_WRITE, 8, SIZE / 2 - 7, ALL, IBV_WC_REM_ACCESS_ERR,
	        IBV_EVENT_QP_ACCESS_ERR);
	refused(&usual, IBV_WR_RDMA_WRITE, 8, (uint64_t)-1, ALL, IBV_WC_REM_ACCESS_ERR,
	        IBV_EVENT_QP_ACCESS_ERR);
	refused(&no_writes, IBV_WR_RDMA_WRITE, 8, 0, ALL, IBV_WC_REM_INV_REQ_ERR,
	        IBV_EVENT_QP_REQ_ERR);
	refused(&no_reads, IBV_WR_RDMA_READ, 8, 0, ALL, IBV_WC_REM_INV_REQ_ERR,
	        IBV_EVENT_QP_REQ_ERR);
}

static void keys_that_are_gone(void)
{
	struct end a, b;

	pair_open(&a, &b, &usual);
	struct ibv_mr *mr = ibv_reg_mr(b.pd, b.memory, SIZE, ALL);
	uint32_t rkey = mr->rkey;
	MUST(ibv_dereg_mr(mr) == 0);
	MUST(post_keyed(&a, IBV_WR_RDMA_WRITE, at(&a, 0, 8), (uintptr_t)b.memory, rkey) == 0);
	event(&b, IBV_EVENT_QP_ACCESS_ERR);
	over(&a, &b, IBV_WC_REM_ACCESS_ERR);
}

static void atomics_of_wrong_shape(void)
{
	struct end a, b;

	pair_open(&a, &b, &usual);
	MUST(post(&a, &b, IBV_WR_ATOMIC_FETCH_AND_ADD, 0, 8, 4) == 0);
	event(&b, IBV_EVENT_QP_REQ_ERR);
	over(&a, &b, IBV_WC_REM_INV_REQ_ERR);
	pair_open(&a, &b, &usual);
	MUST(post(&a, &b, IBV_WR_ATOMIC_FETCH_AND_ADD, 0, 4, 0) == 0);
	over(&a, &b, IBV_WC_LOC_LEN_ERR);
}

static void receives_too_small(void)
{
	struct end a, b;

	pair_open(&a, &b, &usual);
	MUST(receive(&b, 1, 0, 7) == 0 && receive(&b, 2, 0, 8) == 0);
	MUST(post(&a, &b, IBV_WR_SEND, 0, 8, 0) == 0);
	struct ibv_wc wc = completion(b.receives);
	MUST(wc.status == IBV_WC_LOC_LEN_ERR && wc.wr_id == 1 && wc.vendor_err);
	struct ibv_wc second = completion(b.receives);
	MUST(second.status == IBV_WC_WR_FLUSH_ERR && second.wr_id == 2);
	over(&a, &b, IBV_WC_REM_INV_REQ_ERR);
}

static void receives_without_right(void)
{
	struct end a, b;
	struct ibv_sge s;
	struct ibv_recv_wr *bad, wr = {.wr_id = 4, .sg_list = &s, .num_sge = 1};

	pair_open(&a, &b, &usual);
	struct ibv_mr *mr = ibv_reg_mr(b.pd, b.memory, SIZE, 0);
	s = at(&b, 0, 8);
	s.lkey = mr->lkey;
	MUST(ibv_post_recv(b.qp, &wr, &bad) == 0);
	MUST(post(&a, &b, IBV_WR_SEND, 0, 8, 0) == 0);
	MUST(completion(b.receives).status == IBV_WC_LOC_PROT_ERR && ibv_dereg_mr(mr) == 0);
	over(&a, &b, IBV_WC_REM_OP_ERR);
}

static void no_receive(void)
{
	struct kind once = {.rnr_retries = 1}, patient = {.rnr_retries = 7};
	struct end a, b;

	pair_open(&a, &b, &usual);
	MUST(post(&a, &b, IBV_WR_SEND, 0, 8, 0) == 0);
	over(&a, &b, IBV_WC_RNR_RETRY_EXC_ERR);
	pair_open(&a, &b, &once);
	MUST(post(&a, &b, IBV_WR_SEND, 0, 8, 0) == 0);
	over(&a, &b, IBV_WC_RNR_RETRY_EXC_ERR);
	/* what waits goes on in its order when there is a receive */
	pair_open(&a, &b, &patient);
	strcpy(a.memory, "first");
	MUST(post(&a, &b, IBV_WR_SEND, 0, 8, 0) == 0);
	MUST(post(&a, &b, IBV_WR_RDMA_WRITE, 0, 8, 100) == 0);
	usleep(20000);
	nothing(a.sends);
	MUST(b.memory[100] == 0);
	MUST(receive(&b, 1, 0, 8) == 0);
	MUST(completion(a.sends).opcode == IBV_WC_SEND);
	MUST(completion(a.sends).opcode == IBV_WC_RDMA_WRITE);
	MUST(!strcmp(b.memory, "first") && !strcmp(b.memory + 100, "first"));
	end_close(&a);
	end_close(&b);
}

static void no_responder(void)
{
	struct kind other_psn = {.wrong_psn = 1};
	struct kind patient = {.timeout = 20}; /* 4 s */
	struct end a, b;

	end_open(&a, 1, &usual);
	end_open(&b, 2, &usual);
	MUST(to_init(&a, &usual) == 0 && to_rtr(&a, b.qp->qp_num, &b.gid, &usual) == 0 &&
	     to_rts(&a, &usual) == 0);
	MUST(post(&a, &b, IBV_WR_RDMA_WRITE, 0, 8, 0) == 0);
	over(&a, &b, IBV_WC_RETRY_EXC_ERR);
	pair_open(&a, &b, &other_psn);
	MUST(post(&a, &b, IBV_WR_RDMA_WRITE, 0, 8, 0) == 0);
	over(&a, &b, IBV_WC_RETRY_EXC_ERR);
	/* a responder that becomes ready in time has all of it */
	end_open(&a, 1, &patient);
	end_open(&b, 2, &patient);
	MUST(to_init(&a, &patient) == 0 && to_rtr(&a, b.qp->qp_num, &b.gid, &patient) == 0 &&
	     to_rts(&a, &patient) == 0);
	MUST(post(&a, &b, IBV_WR_RDMA_WRITE, 0, 8, 0) == 0);
	nothing(a.sends);
	MUST(to_init(&b, &patient) == 0 && to_rtr(&b, a.qp->qp_num, &a.gid, &patient) == 0);
	MUST(completion(a.sends).status == IBV_WC_SUCCESS);
	end_close(&a);
	end_close(&b);
}

/* A failure completes all posted requests, signaled or not, in order. */
static void failures_complete(void)
{
	struct kind quiet = {.unsignaled = 1};
	struct end a, b;

	pair_open(&a, &b, &quiet);
	MUST(receive(&a, 8, 0, 8) == 0);
	MUST(post(&a, &b, IBV_WR_RDMA_WRITE, 0, 8, 0) == 0);
	nothing(a.sends);
	MUST(post(&a, &b, IBV_WR_SEND, 0, 8, 0) == 0); /* no receive */
	MUST(completion(a.sends).status == IBV_WC_RNR_RETRY_EXC_ERR);
	struct ibv_wc wc = completion(a.receives);
	MUST(wc.status == IBV_WC_WR_FLUSH_ERR && wc.wr_id == 8);
	MUST(post(&a, &b, IBV_WR_RDMA_WRITE, 0, 8, 0) == 0);
	MUST(completion(a.sends).status == IBV_WC_WR_FLUSH_ERR);
	end_close(&a);
	end_close(&b);
}

static void memory_that_cannot_be_registered(void)
{
	struct end e;

	end_open(&e, 1, &usual);
	MUST(!ibv_reg_mr(e.pd, e.memory, SIZE, IBV_ACCESS_REMOTE_WRITE) && errno == EINVAL);
	MUST(!ibv_reg_mr(e.pd, e.memory, 0, ALL) && errno == EINVAL);
	MUST(!ibv_reg_mr(e.pd, (void *)4096, 4096, ALL) && errno == EFAULT);
	MUST(!ibv_reg_mr(e.pd, (void *)(uintptr_t) "constant", 8, ALL) && errno == EFAULT);
	struct ibv_mr *mr = ibv_reg_mr(e.pd, (void *)(uintptr_t) "constant", 8, 0);
	MUST(mr && ibv_dereg_mr(mr) == 0);
	end_close(&e);
}

static void memory_limit(void)
{
	struct rlimit limit = {2 * SIZE, 2 * SIZE};
	struct end e;

	MUST(setenv("RIG_MEMLOCK", "1", 1) == 0 && setrlimit(RLIMIT_MEMLOCK, &limit) == 0);
	end_open(&e, 1, &usual); /* which has SIZE */
	struct ibv_mr *mr = ibv_reg_mr(e.pd, e.memory, SIZE, ALL);
	MUST(mr && !ibv_reg_mr(e.pd, e.memory, 1, ALL) && errno == ENOMEM);
	MUST(ibv_dereg_mr(mr) == 0 && (mr = ibv_reg_mr(e.pd, e.memory, 1, ALL)));
	MUST(ibv_dereg_mr(mr) == 0);
	end_close(&e);
}

const struct check status_checks[] = {
	{"local_keys", local_keys},
	{"remote_rights", remote_rights},
	{"keys_that_are_gone", keys_that_are_gone},
	{"atomics_of_wrong_shape", atomics_of_wrong_shape},
	{"receives_too_small", receives_too_small},
	{"receives_without_right", receives_without_right},
	{"no_receive", no_receive},
	{"no_responder", no_responder},
	{"failures_complete", failures_complete},
	{"memory_that_cannot_be_registered", memory_that_cannot_be_registered},
	{"memory_limit", memory_limit},
	{NULL, NULL}};
