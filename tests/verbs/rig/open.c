/* open.c - lists and opens adapters; protection domains, paths. */
#include "world.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The devices of this process: programs compare their addresses, and keep them. */
static struct ibv_device devices[RIG_DEVICES];

static struct ibv_device *device_at(uint32_t i)
{
	struct ibv_device *d = &devices[i];
	const char *name = rig_mapped()->devices[i].name;

	if (d->name[0])
		return d;
	d->node_type = IBV_NODE_CA;
	d->transport_type = IBV_TRANSPORT_IB;
	snprintf(d->dev_name, sizeof d->dev_name, "uverbs%u", i);
	snprintf(d->dev_path, sizeof d->dev_path, "%s/%s", rig_folder(), name);
	snprintf(d->ibdev_path, sizeof d->ibdev_path, "%s/%s", rig_folder(), name);
	snprintf(d->name, sizeof d->name, "%s", name);
	return d;
}

struct ibv_device **ibv_get_device_list(int *n)
{
	struct rig_world *w = rig_world();
	struct ibv_device **list = calloc(RIG_DEVICES + 1, sizeof *list);
	int count = 0;

	if (n)
		*n = 0;
	if (!list || !w) {
		/* no rig is as no module of the kernel */
		errno = list ? ENOSYS : ENOMEM;
		free(list);
		return NULL;
	}
	for (uint32_t i = 0; i < w->num_devices; i++)
		if (!atomic_load(&w->devices[i].gone) && rig_visible(i))
			list[count++] = device_at(i);
	if (n)
		*n = count;
	return list;
}

void ibv_free_device_list(struct ibv_device **list)
{
	free(list);
}

const char *ibv_get_device_name(struct ibv_device *d)
{
	return d->name;
}

int ibv_get_device_index(struct ibv_device *d)
{
	return (int)(d - devices);
}

__be64 ibv_get_device_guid(struct ibv_device *d)
{
	return htobe64(rig_mapped()->devices[d - devices].guid);
}

static void fill(struct verbs_context *v)
{
	struct ibv_context_ops *ops = &v->context.ops;
	extern void rig_query_ops(struct verbs_context *);
	extern void rig_create_ops(struct verbs_context *);

	ops->alloc_mw = rig_alloc_mw;
	ops->bind_mw = rig_bind_mw;
	ops->dealloc_mw = rig_dealloc_mw;
	ops->poll_cq = rig_poll;
	ops->req_notify_cq = rig_arm;
	ops->post_srq_recv = rig_post_srq_receive;
	ops->post_send = rig_post_send;
	ops->post_recv = rig_post_receive;
	v->sz = sizeof *v;
	v->context.abi_compat = __VERBS_ABI_IS_EXTENDED;
	rig_query_ops(v);
	rig_create_ops(v);
}

struct ibv_context *rig_open_device(uint32_t i)
{
	struct rig_world *w = rig_mapped();
	struct rig_open *o = calloc(1, sizeof *o);

	if (!o || atomic_load(&w->devices[i].gone)) {
		errno = o ? ENODEV : ENOMEM;
		free(o);
		return NULL;
	}
	rig_lock(&w->lock);
	o->shared = RIG_TAKE(RIG_T_CONTEXT, w->contexts);
	if (o->shared) {
		o->shared->device = i;
		o->shared->device_generation = w->devices[i].generation;
	}
	rig_unlock(&w->lock);
	if (!o->shared) {
		free(o);
		errno = EMFILE;
		return NULL;
	}
	o->index = RIG_INDEX(w->contexts, o->shared);
	struct ibv_context *c = &o->verbs.context;
	c->device = device_at(i);
	c->async_fd = rig_fifo_open(RIG_T_CONTEXT, o->index, o->shared->slot.generation);
	c->cmd_fd = c->async_fd;
	c->num_comp_vectors = 1;
	pthread_mutex_init(&c->mutex, NULL);
	fill(&o->verbs);
	if (c->async_fd >= 0)
		return c;
	rig_give(o->shared);
	free(o);
	return NULL;
}

struct ibv_context *ibv_open_device(struct ibv_device *d)
{
	return rig_open_device((uint32_t)(d - devices));
}

/* Objects that are left in it are freed when the process ends. */
int ibv_close_device(struct ibv_context *c)
{
	struct rig_open *o = rig_open_of(c);

	close(c->async_fd);
	rig_fifo_remove(RIG_T_CONTEXT, o->index, o->shared->slot.generation);
	rig_give(o->shared);
	free(o);
	return 0;
}

struct ibv_pd *ibv_alloc_pd(struct ibv_context *c)
{
	static _Atomic uint32_t numbers;
	struct rig_pd *p = rig_alive(c) ? NULL : calloc(1, sizeof *p);

	if (!p) {
		errno = rig_alive(c) ? EIO : ENOMEM;
		return NULL;
	}
	p->pd = (struct ibv_pd){.context = c};
	p->number = atomic_fetch_add(&numbers, 1) + 1;
	return (struct ibv_pd *)p;
}

int ibv_dealloc_pd(struct ibv_pd *pd)
{
	struct rig_pd *p = (struct rig_pd *)pd;

	if (atomic_load(&p->users))
		return EBUSY;
	free(p);
	return 0;
}

struct ibv_ah *ibv_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *a)
{
	struct rig_device *d = rig_device_of(pd->context);
	struct rig_ah *ah;

	if (rig_alive(pd->context) || a->port_num < 1 || a->port_num > d->ports ||
	    (!d->infiniband && !a->is_global) || (a->is_global && a->grh.sgid_index >= RIG_GIDS)) {
		errno = rig_alive(pd->context) ? EIO : EINVAL;
		return NULL;
	}
	ah = calloc(1, sizeof *ah);
	if (!ah)
		return NULL;
	ah->ah.context = pd->context;
	ah->ah.pd = pd;
	ah->attr = *a;
	((struct rig_pd *)pd)->users++;
	return (struct ibv_ah *)ah;
}

int ibv_destroy_ah(struct ibv_ah *ah)
{
	((struct rig_pd *)ah->pd)->users--;
	free(ah);
	return 0;
}

int ibv_init_ah_from_wc(struct ibv_context *c, uint8_t port, struct ibv_wc *wc, struct ibv_grh *grh,
                        struct ibv_ah_attr *a)
{
	memset(a, 0, sizeof *a);
	a->dlid = wc->slid;
	a->sl = wc->sl;
	a->port_num = port;
	if (!(wc->wc_flags & IBV_WC_GRH))
		return 0;
	a->is_global = 1;
	a->grh.dgid = grh->sgid;
	a->grh.hop_limit = 64;
	for (int i = 0; i < RIG_GIDS; i++)
		if (!memcmp(&rig_device_of(c)->port[port - 1].gids[i], &grh->dgid,
		            sizeof grh->dgid))
			a->grh.sgid_index = (uint8_t)i;
	return 0;
}

struct ibv_ah *ibv_create_ah_from_wc(struct ibv_pd *pd, struct ibv_wc *wc, struct ibv_grh *grh,
                                     uint8_t port)
{
	struct ibv_ah_attr a;

	ibv_init_ah_from_wc(pd->context, port, wc, grh, &a);
	return ibv_create_ah(pd, &a);
}
