/* open.c - finds the adapter that owns an address, and tells what it can do. */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rdma/address.h"
#include "rdma/library.h"
#include "rdma/rdma.h"

static int unblock(int file)
{
	int flags = fcntl(file, F_GETFL);

	return flags < 0 || fcntl(file, F_SETFL, flags | O_NONBLOCK) ? errno : 0;
}

/* The GID that packets from the adapter's address have: over InfiniBand the port's first one. */
static int find_gid(struct cshim_rdma *a, const struct ibv_port_attr *port,
                    struct cshim_rdma_info *info)
{
	struct ibv_context *context = a->bound->verbs;
	uint8_t wanted[16] = {[10] = 0xff, [11] = 0xff};
	union ibv_gid gid;
	int found = -1;

	if (info->address.family == 4)
		memcpy(wanted + 12, info->address.ip, 4);
	else
		memcpy(wanted, info->address.ip, sizeof wanted);
	/* Each look is a system call, and soft-RoCE's table has 1024 entries, nearly all empty. */
	for (int i = 0, best = 0; i < port->gid_tbl_len && !best; i++) {
		struct ibv_gid_entry entry;
		if (verbs.query_gid(context, a->port, i, &gid) ||
		    memcmp(gid.raw, wanted, sizeof wanted))
			continue;
		best = !verbs.query_gid_ex || (!verbs.query_gid_ex(context, a->port, (uint32_t)i,
		                                                   &entry, 0, sizeof entry) &&
		                               entry.gid_type == IBV_GID_TYPE_ROCE_V2);
		if (found < 0 || best)
			found = i;
	}
	if (found < 0 && port->link_layer == IBV_LINK_LAYER_ETHERNET)
		return EADDRNOTAVAIL;
	a->gid_index = found < 0 ? 0 : (uint8_t)found;
	if (verbs.query_gid(context, a->port, a->gid_index, &gid))
		return rdma_reason();
	memcpy(info->gid, gid.raw, sizeof info->gid);
	return 0;
}

static int least(int a, int b)
{
	return a < b ? a : b;
}

/* soft-RoCE holds peers to the bounds of a window's region, and not to those of the window. So an
 * RMR is better a region of its own there. */
enum { SOFT_ROCE = 0xffffff };

static int describe(struct cshim_rdma *a, struct cshim_rdma_info *info)
{
	struct ibv_context *context = a->bound->verbs;
	struct ibv_device_attr attr;
	struct ibv_port_attr port;

	memset(&port, 0, sizeof port);
	int err = verbs.query_device(context, &attr);
	if (!err)
		err = verbs.query_port(context, a->port, &port);
	if (!err)
		err = find_gid(a, &port, info);
	if (err)
		return err;
	snprintf(info->name, sizeof info->name, "%s", verbs.get_device_name(context->device));
	memcpy(info->guid, &attr.node_guid, sizeof info->guid);
	info->port = a->port;
	info->active = port.state == IBV_PORT_ACTIVE;
	info->atomics = attr.atomic_cap != IBV_ATOMIC_NONE;
	info->windows = attr.max_mw > 0 && attr.device_cap_flags & IBV_DEVICE_MEM_WINDOW &&
	                attr.vendor_id != SOFT_ROCE;
	info->own_windows =
		attr.max_mw > 0 && attr.device_cap_flags & IBV_DEVICE_MEM_WINDOW_TYPE_2B;
	info->invalidates = !!(attr.device_cap_flags & IBV_DEVICE_MEM_MGT_EXTENSIONS);
	info->lid = port.lid;
	info->mtu = 128 << port.active_mtu;
	info->max_message = port.max_msg_sz;
	info->max_requests = attr.max_qp_wr;
	info->max_segments = least(attr.max_sge, CSHIM_RDMA_SEGMENTS);
	info->max_read_segments = attr.max_sge_rd > 0 ? least(attr.max_sge_rd, info->max_segments)
	                                              : info->max_segments;
	info->max_cqe = attr.max_cqe;
	info->max_qps = attr.max_qp;
	info->max_cqs = attr.max_cq;
	info->max_zones = attr.max_pd;
	info->max_regions = attr.max_mr;
	info->max_queues = attr.max_srq;
	info->max_queue_receives = attr.max_srq_wr;
	info->max_reads_in = least(attr.max_qp_rd_atom, UINT8_MAX - 1);
	info->max_reads_out = least(attr.max_qp_init_rd_atom, UINT8_MAX - 1);
	return 0;
}

static int open_adapter(struct cshim_rdma *a, const struct cshim_rdma_address *address,
                        struct cshim_rdma_info *info)
{
	rdma_sockaddr(address, &a->address);
	errno = 0;
	a->channel = rdma.create_event_channel();
	if (!a->channel || rdma.create_id(a->channel, &a->bound, NULL, RDMA_PS_TCP) ||
	    rdma.bind_addr(a->bound, (struct sockaddr *)&a->address))
		return rdma_reason();
	if (!a->bound->verbs)
		return ENODEV;
	a->port = a->bound->port_num;
	memset(info, 0, sizeof *info);
	info->address = *address;
	int err = describe(a, info);
	if (err)
		return err;
	a->completions = verbs.create_comp_channel(a->bound->verbs);
	if (!a->completions)
		return rdma_reason();
	err = unblock(a->completions->fd);
	if (!err)
		err = unblock(a->channel->fd);
	return err ? err : unblock(a->bound->verbs->async_fd);
}

struct cshim_rdma *cshim_rdma_open(const char *verbs_library, const char *cm_library,
                                   const struct cshim_rdma_address *address,
                                   struct cshim_rdma_info *info, char *why)
{
	if (rdma_load(verbs_library, cm_library, why))
		return NULL;
	struct cshim_rdma *a = calloc(1, sizeof *a);
	int err = a ? open_adapter(a, address, info) : ENOMEM;
	if (!err)
		return a;
	snprintf(why, CSHIM_RDMA_WHY, "%s", strerror(err));
	cshim_rdma_close(a);
	return NULL;
}

void cshim_rdma_close(struct cshim_rdma *a)
{
	if (!a)
		return;
	if (a->completions)
		verbs.destroy_comp_channel(a->completions);
	if (a->bound)
		rdma.destroy_id(a->bound);
	if (a->channel)
		rdma.destroy_event_channel(a->channel);
	free(a);
}

void cshim_rdma_files(const struct cshim_rdma *a, int files[CSHIM_RDMA_FILES])
{
	files[0] = a->completions->fd;
	files[1] = a->channel->fd;
	files[2] = a->bound->verbs->async_fd;
}

int cshim_rdma_active(struct cshim_rdma *a)
{
	struct ibv_port_attr port;

	memset(&port, 0, sizeof port);
	return !verbs.query_port(a->bound->verbs, a->port, &port) && port.state == IBV_PORT_ACTIVE;
}
