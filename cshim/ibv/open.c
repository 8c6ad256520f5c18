/* open.c - finds an adapter, by its name or by the address that it owns, and opens its port. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ibv/address.h"
#include "ibv/ibv.h"
#include "ibv/library.h"

/* A descriptor that is read until nothing is left must not block. */
static int unblock(int file)
{
	int flags = fcntl(file, F_GETFL);

	return flags < 0 || fcntl(file, F_SETFL, flags | O_NONBLOCK) ? errno : 0;
}

static int is_v2(struct cshim_ibv *a, int index)
{
	struct ibv_gid_entry entry;

	return !ibv.query_gid_ex(a->context, a->port, (uint32_t)index, &entry, 0, sizeof entry) &&
	       entry.gid_type == IBV_GID_TYPE_ROCE_V2;
}

/* How well a GID serves: packets of a link-local one are not routed. */
static int rank(struct cshim_ibv *a, int index)
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
	static const uint8_t none[16];
	union ibv_gid gid;
	int points = 1;

	if (ibv.query_gid(a->context, a->port, index, &gid) || !memcmp(gid.raw, none, sizeof none))
		return 0;
	if (gid.raw[0] != 0xfe || (gid.raw[1] & 0xc0) != 0x80)
		points += 1;
	if (!memcmp(gid.raw, mapped, sizeof mapped))
		points += 1;
	if (ibv.query_gid_ex && is_v2(a, index))
		points += 4;
	return points;
}

/* The best of the first GIDs. Over InfiniBand the first is the port's. */
static int choose_gid(struct cshim_ibv *a, int entries)
{
	int best = 0, points = 0;

	for (int i = 0; a->ethernet && i < entries && i < 256; i++) {
		int r = rank(a, i);
		if (r > points) {
			points = r;
			best = i;
		}
	}
	return best;
}

/* The GID that packets from the adapter's address have: over InfiniBand the port's first one. */
static int find_gid(struct cshim_ibv *a, int entries)
{
	struct cshim_ibv_address address;
	uint8_t wanted[16] = {[10] = 0xff, [11] = 0xff};
	union ibv_gid gid;
	int found = -1;

	ibv_address((struct sockaddr *)&a->address, &address);
	if (address.family == 4)
		memcpy(wanted + 12, address.ip, 4);
	else
		memcpy(wanted, address.ip, sizeof wanted);
	/* Each look is a system call, and soft-RoCE's table has 1024 entries, nearly all empty. */
	for (int i = 0, best = 0; i < entries && !best; i++) {
		if (ibv.query_gid(a->context, a->port, i, &gid) ||
		    memcmp(gid.raw, wanted, sizeof wanted))
			continue;
		best = !ibv.query_gid_ex || is_v2(a, i);
		if (found < 0 || best)
			found = i;
	}
	return found < 0 && !a->ethernet ? 0 : found;
}

static int least(int a, int b)
{
	return a < b ? a : b;
}

/* soft-RoCE holds peers to the bounds of a window's region, and not to those of the window. So an
 * RMR is better a region of its own there. */
enum { SOFT_ROCE = 0xffffff };

static void describe_device(const struct ibv_device_attr *attr, struct cshim_ibv_info *info)
{
	unsigned flags = attr->device_cap_flags;

	memcpy(info->guid, &attr->node_guid, sizeof info->guid);
	info->atomics = attr->atomic_cap != IBV_ATOMIC_NONE;
	info->windows =
		attr->max_mw > 0 && flags & IBV_DEVICE_MEM_WINDOW && attr->vendor_id != SOFT_ROCE;
	info->own_windows = attr->max_mw > 0 && flags & IBV_DEVICE_MEM_WINDOW_TYPE_2B;
	info->invalidates = !!(flags & IBV_DEVICE_MEM_MGT_EXTENSIONS);
	info->max_requests = attr->max_qp_wr;
	info->max_segments = least(attr->max_sge, CSHIM_IBV_SEGMENTS);
	info->max_read_segments = attr->max_sge_rd > 0 ? least(attr->max_sge_rd, info->max_segments)
	                                               : info->max_segments;
	info->max_cqe = attr->max_cqe;
	info->max_qps = attr->max_qp;
	info->max_cqs = attr->max_cq;
	info->max_pds = attr->max_pd;
	info->max_mrs = attr->max_mr;
	info->max_srqs = attr->max_srq;
	info->max_receives = attr->max_srq_wr;
	info->max_reads_in = least(attr->max_qp_rd_atom, UINT8_MAX - 1);
	info->max_reads_out = least(attr->max_qp_init_rd_atom, UINT8_MAX - 1);
}

static int describe(struct cshim_ibv *a, int gid_index, struct cshim_ibv_info *info)
{
	enum { READS_MOST = 16 };
	struct ibv_device_attr attr;
	struct ibv_port_attr port;

	memset(info, 0, sizeof *info);
	memset(&port, 0, sizeof port);
	int err = ibv.query_device(a->context, &attr);
	if (!err)
		err = ibv.query_port(a->context, a->port, &port);
	if (err)
		return err;
	describe_device(&attr, info);
	a->ethernet = port.link_layer == IBV_LINK_LAYER_ETHERNET;
	a->max_reads = least(READS_MOST, least(info->max_reads_in, info->max_reads_out));
	if (gid_index < 0)
		gid_index =
			a->bound ? find_gid(a, port.gid_tbl_len) : choose_gid(a, port.gid_tbl_len);
	if (gid_index < 0)
		return EADDRNOTAVAIL;
	errno = 0;
	if (ibv.query_gid(a->context, a->port, gid_index, &a->gid))
		return ibv_reason();
	info->gid_index = a->gid_index = (uint8_t)gid_index;
	memcpy(info->gid, a->gid.raw, sizeof info->gid);
	snprintf(info->name, sizeof info->name, "%s", ibv.get_device_name(a->context->device));
	info->port = a->port;
	info->active = port.state == IBV_PORT_ACTIVE;
	info->lid = port.lid;
	info->mtu = 128 << port.active_mtu;
	info->max_message = port.max_msg_sz;
	return 0;
}

static int make_channel(struct cshim_ibv *a)
{
	errno = 0;
	a->channel = ibv.create_comp_channel(a->context);
	if (!a->channel)
		return ibv_reason();
	ibv_know(&a->commands, a->context->cmd_fd);
	ibv_know(&a->events, a->context->async_fd);
	ibv_know(&a->completions, a->channel->fd);
	int err = unblock(a->channel->fd);
	return err ? err : unblock(a->context->async_fd);
}

static int is_active(struct ibv_context *context, int number)
{
	struct ibv_port_attr port;

	memset(&port, 0, sizeof port);
	return !ibv.query_port(context, (uint8_t)number, &port) && port.state == IBV_PORT_ACTIVE;
}

/* The next port that works, behind one; 0: there is none. */
static int next_active(struct ibv_context *context, int after)
{
	struct ibv_device_attr attr;

	if (ibv.query_device(context, &attr))
		return 0;
	for (int p = after + 1; p <= attr.phys_port_cnt; p++)
		if (is_active(context, p))
			return p;
	return 0;
}

static struct cshim_ibv *new_adapter(void)
{
	struct cshim_ibv *a = calloc(1, sizeof *a);

	if (a)
		a->notices.number = a->commands.number = a->events.number =
			a->completions.number = a->connections.number = -1;
	return a;
}

/* Opens one device; an errno if it has no port that serves. */
static int open_device(struct cshim_ibv *a, struct ibv_device *device, int port, int gid_index,
                       struct cshim_ibv_info *info)
{
	errno = 0;
	a->context = ibv.open_device(device);
	if (!a->context)
		return errno ? errno : ENODEV;
	a->port = (uint8_t)(port ? port : next_active(a->context, 0));
	if (!a->port || !is_active(a->context, a->port))
		return ENETDOWN;
	int err = describe(a, gid_index, info);
	if (!err)
		err = make_channel(a);
	if (!err)
		ibv_watch(a);
	return err;
}

struct cshim_ibv *cshim_ibv_open(const char *library, const char *name, int port, int gid_index,
                                 struct cshim_ibv_info *info, char *why)
{
	int count = 0;

	if (ibv_load(library, NULL, why))
		return NULL;
	struct ibv_device **list = ibv.get_device_list(&count);
	struct cshim_ibv *a = NULL;
	snprintf(why, CSHIM_IBV_WHY, "there is no adapter%s%s", *name ? " " : "", name);
	for (int i = 0; list && i < count && !a; i++) {
		const char *candidate = ibv.get_device_name(list[i]);
		if (*name && strcmp(name, candidate))
			continue;
		a = new_adapter();
		int err = a ? open_device(a, list[i], port, gid_index, info) : ENOMEM;
		if (err) {
			snprintf(why, CSHIM_IBV_WHY, "adapter %s: %s", candidate, strerror(err));
			cshim_ibv_close(a);
			a = NULL;
		}
	}
	if (list)
		ibv.free_device_list(list);
	return a;
}

static int open_at(struct cshim_ibv *a, const struct cshim_ibv_address *address,
                   struct cshim_ibv_info *info)
{
	ibv_sockaddr(address, &a->address);
	errno = 0;
	a->cm = rdma.create_event_channel();
	if (!a->cm || rdma.create_id(a->cm, &a->bound, NULL, RDMA_PS_TCP) ||
	    rdma.bind_addr(a->bound, (struct sockaddr *)&a->address))
		return ibv_reason();
	a->context = a->bound->verbs;
	if (!a->context)
		return ENODEV;
	a->port = a->bound->port_num;
	int err = describe(a, -1, info);
	if (!err)
		err = make_channel(a);
	if (!err)
		err = unblock(a->cm->fd);
	if (!err)
		ibv_know(&a->connections, a->cm->fd);
	if (!err)
		ibv_watch(a);
	return err;
}

struct cshim_ibv *cshim_ibv_open_address(const char *library, const char *cm_library,
                                         const struct cshim_ibv_address *address,
                                         struct cshim_ibv_info *info, char *why)
{
	if (ibv_load(library, cm_library, why))
		return NULL;
	struct cshim_ibv *a = new_adapter();
	int err = a ? open_at(a, address, info) : ENOMEM;
	if (!err)
		return a;
	snprintf(why, CSHIM_IBV_WHY, "%s", strerror(err));
	cshim_ibv_close(a);
	return NULL;
}

int cshim_ibv_list(const char *library, int most, struct cshim_ibv_port *out, char *why)
{
	int count = 0, n = 0;

	if (ibv_load(library, NULL, why))
		return -1;
	struct ibv_device **list = ibv.get_device_list(&count);
	for (int i = 0; list && i < count; i++) {
		struct ibv_context *context = ibv.open_device(list[i]);
		if (!context)
			continue;
		for (int p = 0; n < most && (p = next_active(context, p)) != 0; n++) {
			snprintf(out[n].name, sizeof out[n].name, "%s",
			         ibv.get_device_name(list[i]));
			out[n].port = (uint8_t)p;
		}
		ibv.close_device(context);
	}
	if (list)
		ibv.free_device_list(list);
	return n;
}

/* Nothing is done by a file that the program has closed. */
void cshim_ibv_close(struct cshim_ibv *a)
{
	if (!a)
		return;
	ibv_unwatch(a);
	int connections = ibv_is_ours(&a->connections);
	if (a->channel && ibv_is_ours(&a->completions))
		ibv.destroy_comp_channel(a->channel);
	if (a->context && !a->cm && ibv_is_ours(&a->commands) && ibv_is_ours(&a->events))
		ibv.close_device(a->context);
	if (a->bound && connections)
		rdma.destroy_id(a->bound);
	if (a->cm && connections)
		rdma.destroy_event_channel(a->cm);
	free(a);
}

void cshim_ibv_files(const struct cshim_ibv *a, int files[CSHIM_IBV_FILES])
{
	files[0] = a->channel->fd;
	files[1] = a->context->async_fd;
	files[2] = a->cm ? a->cm->fd : a->notices.number;
}

int cshim_ibv_active(struct cshim_ibv *a)
{
	return is_active(a->context, a->port);
}
