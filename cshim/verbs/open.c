/* open.c - finds an adapter and opens its port. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "verbs/library.h"
#include "verbs/verbs.h"

static int bytes_of(enum ibv_mtu mtu)
{
	return 128 << mtu;
}

/* How well a GID serves: packets of a link-local one are not routed. */
static int rank(struct cshim_verbs *a, int index)
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
	static const uint8_t none[16];
	union ibv_gid gid;
	struct ibv_gid_entry entry;
	int points = 1;

	if (verbs.query_gid(a->context, a->port, index, &gid) ||
	    !memcmp(gid.raw, none, sizeof none))
		return 0;
	if (gid.raw[0] != 0xfe || (gid.raw[1] & 0xc0) != 0x80)
		points += 1;
	if (!memcmp(gid.raw, mapped, sizeof mapped))
		points += 1;
	if (verbs.query_gid_ex &&
	    !verbs.query_gid_ex(a->context, a->port, (uint32_t)index, &entry, 0, sizeof entry) &&
	    entry.gid_type == IBV_GID_TYPE_ROCE_V2)
		points += 4;
	return points;
}

/* Over InfiniBand the first GID is the port's. */
static int choose_gid(struct cshim_verbs *a)
{
	int best = 0, points = 0;

	if (a->port_attr.link_layer != IBV_LINK_LAYER_ETHERNET)
		return 0;
	for (int i = 0; i < a->port_attr.gid_tbl_len && i < 256; i++) {
		int r = rank(a, i);
		if (r > points) {
			points = r;
			best = i;
		}
	}
	return best;
}

static int usable(struct cshim_verbs *a, int port)
{
	memset(&a->port_attr, 0, sizeof a->port_attr);
	a->port = (uint8_t)port;
	return !verbs.query_port(a->context, a->port, &a->port_attr) &&
	       a->port_attr.state == IBV_PORT_ACTIVE;
}

/* A descriptor that is read until nothing is left must not block. */
static int unblock(int file)
{
	int flags = fcntl(file, F_GETFL);

	return flags < 0 || fcntl(file, F_SETFL, flags | O_NONBLOCK) ? errno : 0;
}

static int describe(struct cshim_verbs *a, const char *name, int gid_index,
                    const struct ibv_device_attr *attr, struct cshim_verbs_info *info)
{
	union ibv_gid gid;

	a->gid_index = (uint8_t)(gid_index >= 0 ? gid_index : choose_gid(a));
	int err = verbs.query_gid(a->context, a->port, a->gid_index, &gid);
	if (err)
		return errno ? errno : EINVAL;
	a->max_reads = attr->max_qp_rd_atom < attr->max_qp_init_rd_atom ? attr->max_qp_rd_atom
	                                                                : attr->max_qp_init_rd_atom;
	if (a->max_reads > 16)
		a->max_reads = 16;
	a->max_inline = 64;
	memset(info, 0, sizeof *info);
	snprintf(info->name, sizeof info->name, "%s", name);
	info->port = a->port;
	info->gid_index = a->gid_index;
	memcpy(info->gid, gid.raw, sizeof info->gid);
	info->lid = a->port_attr.lid;
	info->mtu = bytes_of(a->port_attr.active_mtu);
	info->max_message = a->port_attr.max_msg_sz;
	info->max_inline = a->max_inline;
	info->max_reads = a->max_reads;
	info->max_cqe = attr->max_cqe;
	info->max_receive = attr->max_srq_wr;
	return 0;
}

/* Opens one device; an errno if it has no port that serves. */
static int open_device(struct cshim_verbs *a, struct ibv_device *device, int port, int gid_index,
                       struct cshim_verbs_info *info)
{
	struct ibv_device_attr attr;

	errno = 0;
	a->context = verbs.open_device(device);
	if (!a->context)
		return errno ? errno : ENODEV;
	int err = verbs.query_device(a->context, &attr);
	if (err)
		return err;
	int found = port && usable(a, port);
	for (int p = 1; !port && !found && p <= attr.phys_port_cnt; p++)
		found = usable(a, p);
	if (!found)
		return ENETDOWN;
	err = describe(a, verbs.get_device_name(device), gid_index, &attr, info);
	if (err)
		return err;
	a->pd = verbs.alloc_pd(a->context);
	a->channel = a->pd ? verbs.create_comp_channel(a->context) : NULL;
	if (!a->channel)
		return errno ? errno : ENOMEM;
	err = unblock(a->channel->fd);
	return err ? err : unblock(a->context->async_fd);
}

struct cshim_verbs *cshim_verbs_open(const char *library, const char *name, int port, int gid_index,
                                     struct cshim_verbs_info *info, char *why)
{
	int count = 0, err = 0;

	if (verbs_load(library, why))
		return NULL;
	struct ibv_device **list = verbs.get_device_list(&count);
	struct cshim_verbs *a = NULL;
	snprintf(why, CSHIM_VERBS_WHY, "there is no adapter%s%s", *name ? " " : "", name);
	for (int i = 0; list && i < count && !a; i++) {
		const char *candidate = verbs.get_device_name(list[i]);
		if (*name && strcmp(name, candidate))
			continue;
		a = calloc(1, sizeof *a);
		err = a ? open_device(a, list[i], port, gid_index, info) : ENOMEM;
		if (err) {
			snprintf(why, CSHIM_VERBS_WHY, "adapter %s: %s", candidate, strerror(err));
			cshim_verbs_close(a);
			a = NULL;
		}
	}
	if (list)
		verbs.free_device_list(list);
	return a;
}

void cshim_verbs_close(struct cshim_verbs *a)
{
	if (!a)
		return;
	cshim_verbs_quiet(a);
	if (a->datagrams)
		verbs.destroy_qp(a->datagrams);
	if (a->srq)
		verbs.destroy_srq(a->srq);
	if (a->cq) {
		verbs.ack_cq_events(a->cq, a->events);
		verbs.destroy_cq(a->cq);
	}
	if (a->channel)
		verbs.destroy_comp_channel(a->channel);
	if (a->pd)
		verbs.dealloc_pd(a->pd);
	if (a->context)
		verbs.close_device(a->context);
	free(a);
}

void cshim_verbs_files(const struct cshim_verbs *a, int files[CSHIM_VERBS_EVENTS])
{
	files[0] = a->channel->fd;
	files[1] = a->context->async_fd;
}
