/* ends.c - ends of connections for checks and measurements: see check.h */
#include "check.h"

#include <sys/mman.h>

int rig_command(int n, char *const *words);

void command(const char *text)
{
	char copy[128], *words[8], *rest = copy;
	int n = 0;

	snprintf(copy, sizeof copy, "%s", text);
	while (n < 8 && (words[n] = strsep(&rest, " ")))
		n++;
	MUST(rig_command(n, words) == 0);
}

static struct ibv_context *open_device(int number)
{
	char name[16];
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *c = NULL;

	MUST(list);
	snprintf(name, sizeof name, "rig%d", number);
	for (int i = 0; list[i]; i++)
		if (!strcmp(ibv_get_device_name(list[i]), name))
			c = ibv_open_device(list[i]);
	ibv_free_device_list(list);
	return c;
}

void end_open(struct end *e, int device, const struct kind *k)
{
	int entries = k->entries ? k->entries : 2 * DEPTH;

	memset(e, 0, sizeof *e);
	MUST(e->context = open_device(device));
	MUST(ibv_query_gid(e->context, 1, 1, &e->gid) == 0);
	MUST(e->pd = ibv_alloc_pd(e->context));
	MUST(e->channel = ibv_create_comp_channel(e->context));
	MUST(fcntl(e->channel->fd, F_SETFL, O_NONBLOCK) == 0);
	MUST(fcntl(e->context->async_fd, F_SETFL, O_NONBLOCK) == 0);
	MUST(e->sends = ibv_create_cq(e->context, entries, NULL, e->channel, 0));
	MUST(e->receives = ibv_create_cq(e->context, entries, NULL, e->channel, 0));
	MUST(e->memory = aligned_alloc(4096, SIZE));
	memset(e->memory, 0, SIZE);
	MUST(e->mr = ibv_reg_mr(e->pd, e->memory, SIZE, ALL));
	if (k->shared) {
		struct ibv_srq_init_attr a = {.attr = {.max_wr = DEPTH, .max_sge = SEGMENTS}};
		MUST(e->srq = ibv_create_srq(e->pd, &a));
	}
	struct ibv_qp_init_attr a = {.send_cq = e->sends,
	                             .recv_cq = e->receives,
	                             .srq = e->srq,
	                             .cap = {.max_send_wr = DEPTH,
	                                     .max_recv_wr = DEPTH,
	                                     .max_send_sge = SEGMENTS,
	                                     .max_recv_sge = SEGMENTS,
	                                     .max_inline_data = INLINE},
	                             .qp_type = k->datagrams ? IBV_QPT_UD : IBV_QPT_RC,
	                             .sq_sig_all = !k->unsignaled};
	MUST(e->qp = ibv_create_qp(e->pd, &a));
}

void end_close(struct end *e)
{
	MUST(ibv_destroy_cq(e->sends) == EBUSY);
	MUST(ibv_destroy_qp(e->qp) == 0);
	MUST(!e->srq || ibv_destroy_srq(e->srq) == 0);
	MUST(ibv_destroy_cq(e->sends) == 0 && ibv_destroy_cq(e->receives) == 0);
	MUST(ibv_destroy_comp_channel(e->channel) == 0);
	MUST(ibv_dealloc_pd(e->pd) == EBUSY);
	MUST(ibv_dereg_mr(e->mr) == 0 && ibv_dealloc_pd(e->pd) == 0);
	MUST(ibv_close_device(e->context) == 0);
	free(e->memory);
}

int to_init(struct end *e, const struct kind *k)
{
	struct ibv_qp_attr a = {.qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = QKEY};
	int mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT;

	a.qp_access_flags = k->access ? k->access : ALL & ~IBV_ACCESS_MW_BIND;
	return ibv_modify_qp(e->qp, &a, mask | (k->datagrams ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS));
}

int to_rtr(struct end *e, uint32_t qpn, const union ibv_gid *gid, const struct kind *k)
{
	struct ibv_qp_attr a = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = qpn,
		.rq_psn = k->wrong_psn ? 6 : 5,
		.max_dest_rd_atomic = k->no_reads ? 0 : 4,
		.min_rnr_timer = 1,
		.ah_attr = {.is_global = 1, .port_num = 1, .grh = {.dgid = *gid, .sgid_index = 1}}};

	return ibv_modify_qp(e->qp, &a,
	                     k->datagrams
	                             ? IBV_QP_STATE
	                             : IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
	                                       IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
	                                       IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
}

int to_rts(struct end *e, const struct kind *k)
{
	struct ibv_qp_attr a = {.qp_state = IBV_QPS_RTS,
	                        .sq_psn = 5,
	                        .timeout = (uint8_t)(k->timeout ? k->timeout : 12),
	                        .retry_cnt = (uint8_t)k->retries,
	                        .rnr_retry = (uint8_t)k->rnr_retries,
	                        .max_rd_atomic = 4};
	int mask = IBV_QP_STATE | IBV_QP_SQ_PSN;

	return ibv_modify_qp(e->qp, &a,
	                     k->datagrams ? mask
	                                  : mask | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
	                                            IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC);
}

void pair_open(struct end *a, struct end *b, const struct kind *k)
{
	end_open(a, 1, k);
	end_open(b, 2, k);
	MUST(to_init(a, k) == 0 && to_init(b, k) == 0);
	MUST(to_rtr(a, b->qp->qp_num, &b->gid, k) == 0 &&
	     to_rtr(b, a->qp->qp_num, &a->gid, k) == 0);
	MUST(to_rts(a, k) == 0 && to_rts(b, k) == 0);
}

struct ibv_sge at(struct end *e, uint32_t offset, uint32_t n)
{
	return (struct ibv_sge){(uintptr_t)e->memory + offset, n, e->mr->lkey};
}

int post_keyed(struct end *e, enum ibv_wr_opcode op, struct ibv_sge s, uint64_t address,
               uint32_t rkey)
{
	struct ibv_send_wr *bad,
		wr = {.wr_id = op + 100, .sg_list = &s, .num_sge = 1, .opcode = op};

	wr.wr.rdma.remote_addr = address;
	wr.wr.rdma.rkey = rkey;
	return ibv_post_send(e->qp, &wr, &bad);
}

int post(struct end *e, struct end *other, enum ibv_wr_opcode op, uint32_t offset, uint32_t n,
         uint64_t remote)
{
	return post_keyed(e, op, at(e, offset, n), (uintptr_t)other->memory + remote,
	                  other->mr->rkey);
}

int receive(struct end *e, uint64_t id, uint32_t offset, uint32_t n)
{
	struct ibv_sge s = at(e, offset, n);
	struct ibv_recv_wr *bad, wr = {.wr_id = id, .sg_list = &s, .num_sge = 1};

	return e->srq ? ibv_post_srq_recv(e->srq, &wr, &bad) : ibv_post_recv(e->qp, &wr, &bad);
}

struct ibv_wc completion(struct ibv_cq *cq)
{
	struct ibv_wc wc;

	for (int i = 0; i < 10000; i++) {
		int n = ibv_poll_cq(cq, 1, &wc);
		MUST(n >= 0);
		if (n)
			return wc;
		usleep(1000);
	}
	MUST(!"a completion");
	return wc;
}

void nothing(struct ibv_cq *cq)
{
	struct ibv_wc wc;

	MUST(ibv_poll_cq(cq, 1, &wc) == 0);
}

void event(struct end *e, enum ibv_event_type type)
{
	struct pollfd file = {.fd = e->context->async_fd, .events = POLLIN};
	struct ibv_async_event got;

	MUST(poll(&file, 1, 10000) == 1);
	MUST(ibv_get_async_event(e->context, &got) == 0);
	ibv_ack_async_event(&got);
	MUST(got.event_type == type);
}

void meet(struct end *e, struct meeting *m, int me, const struct kind *k)
{
	end_open(e, me + 1, k);
	MUST(to_init(e, k) == 0);
	m->address[me] = (uintptr_t)e->memory;
	m->gid[me] = e->gid;
	m->rkey[me] = e->mr->rkey;
	m->qpn[me] = e->qp->qp_num;
	while (!m->qpn[!me])
		usleep(200);
	MUST(to_rtr(e, m->qpn[!me], &m->gid[!me], k) == 0 && to_rts(e, k) == 0);
}

struct meeting *meeting(void)
{
	struct meeting *m =
		mmap(NULL, sizeof *m, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	MUST(m != MAP_FAILED);
	return m;
}
