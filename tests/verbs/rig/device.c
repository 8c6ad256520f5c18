/* device.c - the adapters, and their attributes. */
#include "world.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The address as a GID: of IPv4 it is the mapped one. */
static int gid_of(const struct sockaddr *a, union ibv_gid *gid)
{
	memset(gid, 0, sizeof *gid);
	if (a->sa_family == AF_INET) {
		gid->raw[10] = gid->raw[11] = 0xff;
		memcpy(gid->raw + 12, &((const struct sockaddr_in *)a)->sin_addr, 4);
		return 1;
	}
	if (a->sa_family != AF_INET6)
		return 0;
	memcpy(gid->raw, &((const struct sockaddr_in6 *)a)->sin6_addr, sizeof gid->raw);
	return 1;
}

static int gid_of_text(const char *text, union ibv_gid *gid)
{
	struct sockaddr_in in = {.sin_family = AF_INET};
	struct sockaddr_in6 in6 = {.sin6_family = AF_INET6};

	const struct sockaddr *a = inet_pton(AF_INET, text, &in.sin_addr) == 1
	                                   ? (struct sockaddr *)&in
	                                   : (struct sockaddr *)&in6;
	return (a->sa_family == AF_INET || inet_pton(AF_INET6, text, &in6.sin6_addr) == 1) &&
	       gid_of(a, gid);
}

static void add_port(struct rig_device *d, uint32_t number, uint16_t lid, char *addresses)
{
	struct rig_port *p = &d->port[d->ports++];
	char *rest = addresses, *address;
	int n = 0;

	p->lid = lid;
	p->gids[n++] = (union ibv_gid){.raw = {0xfe, 0x80, [8] = 0x02, [11] = 0xff,
	                                       0xfe, [13] = (uint8_t)number, (uint8_t)(number >> 8),
	                                       (uint8_t)d->ports}};
	while ((address = strsep(&rest, "+")) && n < RIG_GIDS)
		if (gid_of_text(address, &p->gids[n]))
			n++;
}

/* RIG_DEVICES is NAME=ADDRESS[+ADDRESS...][/of port 2],NAME=... */
void rig_devices_init(struct rig_world *w)
{
	const char *text = getenv("RIG_DEVICES"), *link = getenv("RIG_LINK");
	char *copy = strdup(text ? text : "rig0=127.0.0.1,rig1=127.0.0.2");
	char *rest = copy, *one;
	uint16_t lid = 1;

	while (copy && (one = strsep(&rest, ",")) && w->num_devices < RIG_DEVICES) {
		struct rig_device *d = &w->devices[w->num_devices];
		char *name = strsep(&one, "="), *port;
		if (!*name)
			continue;
		snprintf(d->name, sizeof d->name, "%s", name);
		d->guid = 0x0200000000520000u + w->num_devices;
		d->infiniband = link && !strcmp(link, "infiniband");
		rig_new_lock(&d->atomics);
		do {
			port = one ? strsep(&one, "/") : NULL;
			add_port(d, w->num_devices, lid++, port);
		} while (one && d->ports < RIG_PORTS);
		w->num_devices++;
	}
	free(copy);
}

int rig_visible(uint32_t device)
{
	const char *host = getenv("RIG_HOST"), *name = rig_mapped()->devices[device].name;
	size_t n = strlen(name);

	if (!host || !*host)
		return 1;
	for (const char *at = host; (at = strstr(at, name)); at += n)
		if ((at == host || at[-1] == ',') && (at[n] == 0 || at[n] == ','))
			return 1;
	return 0;
}

int rig_find_address(const struct sockaddr *a, int *index)
{
	struct rig_world *w = rig_mapped();
	union ibv_gid gid;

	if (!gid_of(a, &gid))
		return -1;
	for (uint32_t i = 0; i < w->num_devices; i++)
		for (uint32_t p = 0; p < w->devices[i].ports; p++)
			for (int g = 0; g < RIG_GIDS; g++)
				if (!memcmp(&w->devices[i].port[p].gids[g], &gid, sizeof gid)) {
					*index = g;
					return (int)(i << 8 | (p + 1));
				}
	return -1;
}

int rig_up(uint32_t device, uint32_t port)
{
	struct rig_device *d = &rig_mapped()->devices[device];

	return !atomic_load_explicit(&d->gone, memory_order_relaxed) && port >= 1 &&
	       port <= d->ports &&
	       !atomic_load_explicit(&d->port[port - 1].down, memory_order_relaxed);
}

int rig_route(uint32_t from, const struct ibv_ah_attr *a)
{
	struct rig_world *w = rig_mapped();

	for (uint32_t i = 0; i < w->num_devices; i++)
		for (uint32_t p = 0; p < w->devices[i].ports; p++) {
			struct rig_port *port = &w->devices[i].port[p];
			if (!a->is_global) {
				if (w->devices[from].infiniband && port->lid == a->dlid)
					return (int)(i << 8 | (p + 1));
				continue;
			}
			for (int g = 0; g < RIG_GIDS; g++)
				if (!memcmp(&port->gids[g], &a->grh.dgid, sizeof a->grh.dgid))
					return (int)(i << 8 | (p + 1));
		}
	return -1;
}

struct rig_open *rig_open_of(const struct ibv_context *c)
{
	return (struct rig_open *)((char *)(uintptr_t)c - offsetof(struct rig_open, verbs.context));
}

struct rig_device *rig_device_of(const struct ibv_context *c)
{
	return &rig_mapped()->devices[rig_open_of(c)->shared->device];
}

int rig_alive(const struct ibv_context *c)
{
	struct rig_device *d = rig_device_of(c);

	return atomic_load_explicit(&d->gone, memory_order_relaxed) ||
	                       d->generation != rig_open_of(c)->shared->device_generation
	               ? EIO
	               : 0;
}

int ibv_query_device(struct ibv_context *c, struct ibv_device_attr *a)
{
	struct rig_device *d = rig_device_of(c);

	if (rig_alive(c))
		return EIO;
	*a = (struct ibv_device_attr){
		.fw_ver = "rig",
		.node_guid = htobe64(d->guid),
		.sys_image_guid = htobe64(d->guid),
		.max_mr_size = (uint64_t)1 << 40,
		.page_size_cap = 0xfffff000,
		.vendor_id = 0x52494700,
		.vendor_part_id = 1,
		.hw_ver = 1,
		.max_qp = RIG_QPS - 1,
		.max_qp_wr = RIG_MAX_WR,
		.device_cap_flags = IBV_DEVICE_PORT_ACTIVE_EVENT | IBV_DEVICE_SYS_IMAGE_GUID |
	                            IBV_DEVICE_RC_RNR_NAK_GEN | IBV_DEVICE_SRQ_RESIZE |
	                            IBV_DEVICE_MEM_WINDOW | IBV_DEVICE_MEM_MGT_EXTENSIONS |
	                            IBV_DEVICE_MEM_WINDOW_TYPE_2B,
		.max_sge = RIG_MAX_SGE,
		.max_sge_rd = RIG_MAX_SGE,
		.max_cq = RIG_CQS - 1,
		.max_cqe = RIG_MAX_CQE,
		.max_mr = RIG_KEYS - 1,
		.max_pd = 1 << 16,
		.max_qp_rd_atom = RIG_MAX_READS,
		.max_res_rd_atom = RIG_MAX_READS * (RIG_QPS - 1),
		.max_qp_init_rd_atom = RIG_MAX_READS,
		.atomic_cap = IBV_ATOMIC_HCA,
		.max_mw = RIG_KEYS - 1,
		.max_mcast_grp = RIG_GROUPS,
		.max_mcast_qp_attach = RIG_MEMBERS,
		.max_total_mcast_qp_attach = RIG_GROUPS * RIG_MEMBERS,
		.max_ah = 1 << 16,
		.max_srq = RIG_SRQS - 1,
		.max_srq_wr = RIG_MAX_WR,
		.max_srq_sge = RIG_MAX_SGE,
		.max_pkeys = 1,
		.local_ca_ack_delay = 15,
		.phys_port_cnt = (uint8_t)d->ports};
	return 0;
}

#undef ibv_query_port
int ibv_query_port(struct ibv_context *c, uint8_t number, struct _compat_ibv_port_attr *out)
{
	struct rig_device *d = rig_device_of(c);
	struct ibv_port_attr *a = (struct ibv_port_attr *)out;

	if (rig_alive(c))
		return EIO;
	if (number < 1 || number > d->ports)
		return EINVAL;
	struct rig_port *p = &d->port[number - 1];
	int down = (int)atomic_load(&p->down);
	struct ibv_port_attr attr = {
		.state = down ? IBV_PORT_DOWN : IBV_PORT_ACTIVE,
		.max_mtu = IBV_MTU_4096,
		.active_mtu = IBV_MTU_4096,
		.gid_tbl_len = RIG_GIDS,
		.port_cap_flags = d->infiniband ? 0 : IBV_PORT_CM_SUP | IBV_PORT_IP_BASED_GIDS,
		.max_msg_sz = RIG_MAX_MESSAGE,
		.pkey_tbl_len = 1,
		.lid = d->infiniband ? p->lid : 0,
		.sm_lid = d->infiniband ? 1 : 0,
		.max_vl_num = 1,
		.subnet_timeout = 18,
		.active_width = 2,
		.active_speed = 32,
		.phys_state = down ? 3 : 5,
		.link_layer = d->infiniband ? IBV_LINK_LAYER_INFINIBAND : IBV_LINK_LAYER_ETHERNET};
	/* what old programs have is shorter: the last fields came later */
	memcpy(a, &attr, offsetof(struct ibv_port_attr, port_cap_flags2));
	return 0;
}

static int query_port(struct ibv_context *c, uint8_t number, struct ibv_port_attr *a, size_t n)
{
	struct ibv_port_attr attr = {0};
	int err = ibv_query_port(c, number, (struct _compat_ibv_port_attr *)&attr);

	if (!err)
		memcpy(a, &attr, n < sizeof attr ? n : sizeof attr);
	return err;
}

static int query_device_ex(struct ibv_context *c, const struct ibv_query_device_ex_input *input,
                           struct ibv_device_attr_ex *a, size_t n)
{
	if (n < sizeof a->orig_attr || (input && input->comp_mask))
		return EINVAL;
	memset(a, 0, n);
	return ibv_query_device(c, &a->orig_attr);
}

int ibv_query_gid(struct ibv_context *c, uint8_t port, int index, union ibv_gid *gid)
{
	struct rig_device *d = rig_device_of(c);

	if (!rig_alive(c) && port >= 1 && port <= d->ports && index >= 0 && index < RIG_GIDS) {
		*gid = d->port[port - 1].gids[index];
		return 0;
	}
	errno = rig_alive(c) ? EIO : EINVAL;
	return -1;
}

int _ibv_query_gid_ex(struct ibv_context *c, uint32_t port, uint32_t index, struct ibv_gid_entry *e,
                      uint32_t flags, size_t size)
{
	static const union ibv_gid none;
	struct ibv_gid_entry entry = {.gid_index = index, .port_num = port};

	if (flags || ibv_query_gid(c, (uint8_t)port, (int)index, &entry.gid))
		return flags ? EOPNOTSUPP : errno;
	if (!memcmp(&entry.gid, &none, sizeof none))
		return ENODATA;
	entry.gid_type = rig_device_of(c)->infiniband ? IBV_GID_TYPE_IB : IBV_GID_TYPE_ROCE_V2;
	memcpy(e, &entry, size < sizeof entry ? size : sizeof entry);
	return 0;
}

ssize_t _ibv_query_gid_table(struct ibv_context *c, struct ibv_gid_entry *e, size_t most,
                             uint32_t flags, size_t size)
{
	size_t n = 0;

	for (uint32_t p = 1; p <= rig_device_of(c)->ports; p++)
		for (uint32_t i = 0; i < RIG_GIDS && n < most; i++)
			if (!_ibv_query_gid_ex(c, p, i, (void *)((char *)e + n * size), flags,
			                       size))
				n++;
	return (ssize_t)n;
}

int ibv_query_pkey(struct ibv_context *c, uint8_t port, int index, __be16 *pkey)
{
	if (rig_alive(c) || port < 1 || port > rig_device_of(c)->ports || index != 0) {
		errno = EINVAL;
		return -1;
	}
	*pkey = htobe16(RIG_PKEY);
	return 0;
}

int ibv_get_pkey_index(struct ibv_context *c, uint8_t port, __be16 pkey)
{
	(void)c, (void)port;
	return pkey == htobe16(RIG_PKEY) ? 0 : -1;
}

void rig_query_ops(struct verbs_context *v)
{
	v->query_port = query_port;
	v->query_device_ex = query_device_ex;
}
