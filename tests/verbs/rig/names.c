/* names.c - words for numbers, and functions of libibverbs that need no adapter. */
#include "world.h"

#include <errno.h>
#include <string.h>

const char *ibv_wc_status_str(enum ibv_wc_status s)
{
	static const char *const names[] = {
		[IBV_WC_SUCCESS] = "success",
		[IBV_WC_LOC_LEN_ERR] = "local length error",
		[IBV_WC_LOC_QP_OP_ERR] = "local QP operation error",
		[IBV_WC_LOC_EEC_OP_ERR] = "local EE context operation error",
		[IBV_WC_LOC_PROT_ERR] = "local protection error",
		[IBV_WC_WR_FLUSH_ERR] = "Work Request Flushed Error",
		[IBV_WC_MW_BIND_ERR] = "memory management operation error",
		[IBV_WC_BAD_RESP_ERR] = "bad response error",
		[IBV_WC_LOC_ACCESS_ERR] = "local access error",
		[IBV_WC_REM_INV_REQ_ERR] = "remote invalid request error",
		[IBV_WC_REM_ACCESS_ERR] = "remote access error",
		[IBV_WC_REM_OP_ERR] = "remote operation error",
		[IBV_WC_RETRY_EXC_ERR] = "transport retry counter exceeded",
		[IBV_WC_RNR_RETRY_EXC_ERR] = "RNR retry counter exceeded",
		[IBV_WC_LOC_RDD_VIOL_ERR] = "local RDD violation error",
		[IBV_WC_REM_INV_RD_REQ_ERR] = "remote invalid RD request",
		[IBV_WC_REM_ABORT_ERR] = "aborted error",
		[IBV_WC_INV_EECN_ERR] = "invalid EE context number",
		[IBV_WC_INV_EEC_STATE_ERR] = "invalid EE context state",
		[IBV_WC_FATAL_ERR] = "fatal error",
		[IBV_WC_RESP_TIMEOUT_ERR] = "response timeout error",
		[IBV_WC_GENERAL_ERR] = "general error"};

	return s < sizeof names / sizeof *names && names[s] ? names[s] : "unknown";
}

const char *ibv_event_type_str(enum ibv_event_type e)
{
	static const char *const names[] = {
		[IBV_EVENT_CQ_ERR] = "CQ error",
		[IBV_EVENT_QP_FATAL] = "local work queue catastrophic error",
		[IBV_EVENT_QP_REQ_ERR] = "invalid request local work queue error",
		[IBV_EVENT_QP_ACCESS_ERR] = "local access violation work queue error",
		[IBV_EVENT_COMM_EST] = "communication established",
		[IBV_EVENT_SQ_DRAINED] = "send queue drained",
		[IBV_EVENT_PATH_MIG] = "path migrated",
		[IBV_EVENT_PATH_MIG_ERR] = "path migration request error",
		[IBV_EVENT_DEVICE_FATAL] = "local catastrophic error",
		[IBV_EVENT_PORT_ACTIVE] = "port active",
		[IBV_EVENT_PORT_ERR] = "port error",
		[IBV_EVENT_LID_CHANGE] = "LID change",
		[IBV_EVENT_PKEY_CHANGE] = "P_Key change",
		[IBV_EVENT_SM_CHANGE] = "SM change",
		[IBV_EVENT_SRQ_ERR] = "SRQ catastrophic error",
		[IBV_EVENT_SRQ_LIMIT_REACHED] = "SRQ limit reached",
		[IBV_EVENT_QP_LAST_WQE_REACHED] = "last WQE reached",
		[IBV_EVENT_CLIENT_REREGISTER] = "client reregistration",
		[IBV_EVENT_GID_CHANGE] = "GID table change"};

	return e < sizeof names / sizeof *names && names[e] ? names[e] : "unknown";
}

const char *ibv_node_type_str(enum ibv_node_type t)
{
	return t == IBV_NODE_CA ? "InfiniBand channel adapter" : "unknown";
}

const char *ibv_port_state_str(enum ibv_port_state s)
{
	static const char *const names[] = {
		"no state change (NOP)", "PORT_DOWN",        "PORT_INIT", "PORT_ARMED",
		"PORT_ACTIVE",           "PORT_ACTIVE_DEFER"};

	return s < sizeof names / sizeof *names ? names[s] : "unknown";
}

/* Rates in multiples of 2.5 Gbit/s. */
static const int multiples[] = {
	[IBV_RATE_2_5_GBPS] = 1, [IBV_RATE_5_GBPS] = 2,   [IBV_RATE_10_GBPS] = 4,
	[IBV_RATE_20_GBPS] = 8,  [IBV_RATE_30_GBPS] = 12, [IBV_RATE_40_GBPS] = 16,
	[IBV_RATE_60_GBPS] = 24, [IBV_RATE_80_GBPS] = 32, [IBV_RATE_120_GBPS] = 48};

int ibv_rate_to_mult(enum ibv_rate rate)
{
	return rate < sizeof multiples / sizeof *multiples && multiples[rate] ? multiples[rate]
	                                                                      : -1;
}

enum ibv_rate mult_to_ibv_rate(int mult)
{
	for (size_t i = 0; i < sizeof multiples / sizeof *multiples; i++)
		if (multiples[i] && multiples[i] == mult)
			return (enum ibv_rate)i;
	return IBV_RATE_MAX;
}

int ibv_rate_to_mbps(enum ibv_rate rate)
{
	return ibv_rate_to_mult(rate) < 0 ? -1 : ibv_rate_to_mult(rate) * 2500;
}

enum ibv_rate mbps_to_ibv_rate(int mbps)
{
	return mult_to_ibv_rate(mbps / 2500);
}

/* Registered memory is found by its address when it is accessed, so a fork changes nothing. */
int ibv_fork_init(void)
{
	return 0;
}

enum ibv_fork_status ibv_is_fork_initialized(void)
{
	return IBV_FORK_UNNEEDED;
}

int ibv_dontfork_range(void *base, size_t n)
{
	(void)base, (void)n;
	return 0;
}

int ibv_dofork_range(void *base, size_t n)
{
	(void)base, (void)n;
	return 0;
}

int ibv_resolve_eth_l2_from_gid(struct ibv_context *c, struct ibv_ah_attr *a, uint8_t mac[6],
                                uint16_t *vlan)
{
	(void)c;
	memcpy(mac, a->grh.dgid.raw + 10, 6);
	*vlan = 0xffff;
	return 0;
}

/* Of a private node: libmlx5 and libefa, to which perftest is linked, announce their drivers. */
void verbs_register_driver_34(const void *driver)
{
	(void)driver;
}

static struct rig_group *group_of(struct rig_world *w, const union ibv_gid *gid, int make)
{
	struct rig_group *free_one = NULL;

	for (int i = 0; i < RIG_GROUPS; i++) {
		if (w->groups[i].n && !memcmp(&w->groups[i].gid, gid, sizeof *gid))
			return &w->groups[i];
		if (!w->groups[i].n && !free_one)
			free_one = &w->groups[i];
	}
	if (free_one && make)
		free_one->gid = *gid;
	return make ? free_one : NULL;
}

int ibv_attach_mcast(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid)
{
	struct rig_world *w = rig_mapped();
	int err = 0;

	(void)lid;
	if (gid->raw[0] != 0xff || qp->qp_type != IBV_QPT_UD)
		return EINVAL;
	rig_lock(&w->groups_lock);
	struct rig_group *g = group_of(w, gid, 1);
	if (!g || g->n == RIG_MEMBERS)
		err = ENOMEM;
	else
		g->qpns[g->n++] = qp->qp_num;
	rig_unlock(&w->groups_lock);
	return err;
}

int ibv_detach_mcast(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid)
{
	struct rig_world *w = rig_mapped();
	int err = EINVAL;

	(void)lid;
	rig_lock(&w->groups_lock);
	struct rig_group *g = group_of(w, gid, 0);
	for (uint32_t k = 0; g && k < g->n; k++)
		if (g->qpns[k] == qp->qp_num) {
			g->qpns[k] = g->qpns[--g->n];
			err = 0;
			break;
		}
	rig_unlock(&w->groups_lock);
	return err;
}
