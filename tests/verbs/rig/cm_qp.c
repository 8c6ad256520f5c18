/* cm_qp.c - queue pairs of identifiers, and the values that a connection gives to queue pairs. */
#include "cm_program.h"

#include <errno.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>

enum { UDP_QKEY = 0x01234567, ACK_TIMEOUT = 14 /* 67 ms, the time of one try */ };

static void to_init(const struct rig_program_id *p, struct ibv_qp_attr *a, int *mask)
{
	const struct rig_id *i = p->shared;
	int begun = i->state >= RIG_I_CONNECTING;

	*mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT;
	a->port_num = p->id.port_num;
	a->pkey_index = 0;
	if (p->id.ps == RDMA_PS_UDP) {
		a->qkey = UDP_QKEY;
		*mask |= IBV_QP_QKEY;
		return;
	}
	*mask |= IBV_QP_ACCESS_FLAGS;
	a->qp_access_flags = begun ? IBV_ACCESS_REMOTE_WRITE : 0;
	if (begun && i->mine.responder_resources)
		a->qp_access_flags |= IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
}

static void to_rtr(const struct rig_program_id *p, struct ibv_qp_attr *a, int *mask)
{
	const struct rig_id *i = p->shared;
	const struct rig_device *there = &rig_mapped()->devices[i->reaches >> 8];

	*mask = IBV_QP_STATE;
	if (p->id.ps == RDMA_PS_UDP)
		return;
	*mask |= IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
	         IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
	a->path_mtu = IBV_MTU_4096;
	a->dest_qp_num = i->theirs.qpn;
	a->rq_psn = i->theirs.psn;
	a->max_dest_rd_atomic = i->mine.responder_resources;
	a->min_rnr_timer = 0;
	a->ah_attr = (struct ibv_ah_attr){
		.is_global = 1,
		.port_num = p->id.port_num,
		.dlid = there->infiniband ? there->port[(i->reaches & 0xff) - 1].lid : 0,
		.grh = {.dgid = p->id.route.addr.addr.ibaddr.dgid,
	                .sgid_index = (uint8_t)i->gid_index,
	                .hop_limit = 64}};
}

static void to_rts(const struct rig_program_id *p, struct ibv_qp_attr *a, int *mask)
{
	const struct rig_id *i = p->shared;

	*mask = IBV_QP_STATE | IBV_QP_SQ_PSN;
	a->sq_psn = i->mine.psn;
	if (p->id.ps == RDMA_PS_UDP)
		return;
	*mask |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
	a->timeout = ACK_TIMEOUT;
	a->retry_cnt = i->mine.retry;
	a->rnr_retry = i->theirs.rnr_retry; /* what the other asks for its receives */
	a->max_rd_atomic = i->mine.initiator_depth;
}

int rdma_init_qp_attr(struct rdma_cm_id *id, struct ibv_qp_attr *a, int *mask)
{
	struct rig_program_id *p = rig_program_id(id);
	enum ibv_qp_state state = a->qp_state;
	int met = p->shared->state == RIG_I_ANSWERED || p->shared->state == RIG_I_REQUESTED ||
	          p->shared->state == RIG_I_CONNECTED || p->shared->state == RIG_I_ACCEPTED ||
	          id->ps == RDMA_PS_UDP;

	if (!id->verbs || (state != IBV_QPS_INIT && !met))
		return rig_result(EINVAL);
	switch (state) {
	case IBV_QPS_INIT:
		to_init(p, a, mask);
		return 0;
	case IBV_QPS_RTR:
		to_rtr(p, a, mask);
		return 0;
	case IBV_QPS_RTS:
		to_rts(p, a, mask);
		return 0;
	default:
		return rig_result(EINVAL);
	}
}

static int step(struct rdma_cm_id *id, enum ibv_qp_state state)
{
	struct ibv_qp_attr a = {.qp_state = state};
	int mask;

	return rdma_init_qp_attr(id, &a, &mask) ? errno : ibv_modify_qp(id->qp, &a, mask);
}

int rig_qp_ready(struct rig_program_id *p)
{
	int err = p->id.ps == RDMA_PS_UDP ? 0 : step(&p->id, IBV_QPS_INIT);

	err = err ? err : step(&p->id, IBV_QPS_RTR);
	return err ? err : step(&p->id, IBV_QPS_RTS);
}

static int take_qp(struct rdma_cm_id *id, struct ibv_qp *qp)
{
	if (!qp)
		return -1;
	id->qp = qp;
	id->pd = qp->pd;
	int err = step(id, IBV_QPS_INIT);
	if (!err && id->ps == RDMA_PS_UDP)
		err = rig_qp_ready(rig_program_id(id));
	if (err) {
		id->qp = NULL;
		ibv_destroy_qp(qp);
	}
	return rig_result(err);
}

/* Without a domain, or queues of completions: this rig makes none of its own. */
int rdma_create_qp(struct rdma_cm_id *id, struct ibv_pd *pd, struct ibv_qp_init_attr *a)
{
	if (id->qp || !pd || pd->context != id->verbs || !a->send_cq || !a->recv_cq)
		return rig_result(EINVAL);
	return take_qp(id, ibv_create_qp(pd, a));
}

int rdma_create_qp_ex(struct rdma_cm_id *id, struct ibv_qp_init_attr_ex *a)
{
	if (id->qp || !(a->comp_mask & IBV_QP_INIT_ATTR_PD) || a->pd->context != id->verbs)
		return rig_result(EINVAL);
	return take_qp(id, ibv_create_qp_ex(id->verbs, a));
}

void rdma_destroy_qp(struct rdma_cm_id *id)
{
	if (id->qp)
		ibv_destroy_qp(id->qp);
	id->qp = NULL;
}

int rdma_set_option(struct rdma_cm_id *id, int level, int name, void *value, size_t n)
{
	(void)id;
	if (level != RDMA_OPTION_ID || !value || !n || name < RDMA_OPTION_ID_TOS ||
	    name > RDMA_OPTION_ID_ACK_TIMEOUT)
		return rig_result(ENOSYS);
	return 0; /* none of them says anything of this network */
}

struct ibv_context **rdma_get_devices(int *n)
{
	struct rig_world *w = rig_world();
	struct ibv_context **list = w ? calloc(RIG_DEVICES + 1, sizeof *list) : NULL;
	int count = 0;

	for (uint32_t i = 0; list && i < w->num_devices; i++)
		if (rig_visible(i) && (list[count] = rig_cm_context(i)))
			count++;
	if (n)
		*n = count;
	return list;
}

void rdma_free_devices(struct ibv_context **list)
{
	free(list);
}

const char *rdma_event_str(enum rdma_cm_event_type type)
{
	static const char *const names[] = {
		[RDMA_CM_EVENT_ADDR_RESOLVED] = "RDMA_CM_EVENT_ADDR_RESOLVED",
		[RDMA_CM_EVENT_ADDR_ERROR] = "RDMA_CM_EVENT_ADDR_ERROR",
		[RDMA_CM_EVENT_ROUTE_RESOLVED] = "RDMA_CM_EVENT_ROUTE_RESOLVED",
		[RDMA_CM_EVENT_ROUTE_ERROR] = "RDMA_CM_EVENT_ROUTE_ERROR",
		[RDMA_CM_EVENT_CONNECT_REQUEST] = "RDMA_CM_EVENT_CONNECT_REQUEST",
		[RDMA_CM_EVENT_CONNECT_RESPONSE] = "RDMA_CM_EVENT_CONNECT_RESPONSE",
		[RDMA_CM_EVENT_CONNECT_ERROR] = "RDMA_CM_EVENT_CONNECT_ERROR",
		[RDMA_CM_EVENT_UNREACHABLE] = "RDMA_CM_EVENT_UNREACHABLE",
		[RDMA_CM_EVENT_REJECTED] = "RDMA_CM_EVENT_REJECTED",
		[RDMA_CM_EVENT_ESTABLISHED] = "RDMA_CM_EVENT_ESTABLISHED",
		[RDMA_CM_EVENT_DISCONNECTED] = "RDMA_CM_EVENT_DISCONNECTED",
		[RDMA_CM_EVENT_DEVICE_REMOVAL] = "RDMA_CM_EVENT_DEVICE_REMOVAL",
		[RDMA_CM_EVENT_TIMEWAIT_EXIT] = "RDMA_CM_EVENT_TIMEWAIT_EXIT"};

	return type < sizeof names / sizeof *names && names[type] ? names[type] : "UNKNOWN EVENT";
}

int rdma_getaddrinfo(const char *node, const char *service, const struct rdma_addrinfo *hints,
                     struct rdma_addrinfo **out)
{
	struct addrinfo plain = {.ai_socktype = SOCK_STREAM}, *found;
	struct rdma_addrinfo *r = calloc(1, sizeof *r);
	int passive = hints && hints->ai_flags & RAI_PASSIVE;

	if (!r)
		return EAI_MEMORY;
	plain.ai_family = hints ? hints->ai_family : AF_UNSPEC;
	plain.ai_flags = (passive ? AI_PASSIVE : 0) |
	                 (hints && hints->ai_flags & RAI_NUMERICHOST ? AI_NUMERICHOST : 0);
	int err = getaddrinfo(node, service, &plain, &found);
	struct sockaddr *a = err ? NULL : malloc(found->ai_addrlen);
	if (!a) {
		free(r);
		return err ? err : EAI_MEMORY;
	}
	memcpy(a, found->ai_addr, found->ai_addrlen);
	r->ai_flags = hints ? hints->ai_flags : 0;
	r->ai_family = found->ai_family;
	r->ai_qp_type = hints && hints->ai_qp_type ? hints->ai_qp_type : IBV_QPT_RC;
	r->ai_port_space = hints && hints->ai_port_space ? hints->ai_port_space : RDMA_PS_TCP;
	if (passive) {
		r->ai_src_addr = a;
		r->ai_src_len = found->ai_addrlen;
	} else {
		r->ai_dst_addr = a;
		r->ai_dst_len = found->ai_addrlen;
	}
	freeaddrinfo(found);
	*out = r;
	return 0;
}

void rdma_freeaddrinfo(struct rdma_addrinfo *r)
{
	while (r) {
		struct rdma_addrinfo *next = r->ai_next;
		free(r->ai_src_addr);
		free(r->ai_dst_addr);
		free(r);
		r = next;
	}
}
