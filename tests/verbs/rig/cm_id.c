/* cm_id.c - identifiers: made, bound, resolved, destroyed. */
#include "cm_program.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FIRST_PORT = 40000, LAST_PORT = 60000, UNANSWERED_MS = 3000 };

int rig_result(int err)
{
	if (!err)
		return 0;
	errno = err;
	return -1;
}

struct rig_program_id *rig_program_id(struct rdma_cm_id *id)
{
	return (struct rig_program_id *)id;
}

uint32_t rig_host(void)
{
	uint32_t bits = 0;

	for (uint32_t i = 0; i < rig_mapped()->num_devices; i++)
		bits |= (uint32_t)rig_visible(i) << i;
	return bits;
}

struct ibv_context *rig_cm_context(uint32_t device)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	static struct ibv_context *contexts[RIG_DEVICES];

	pthread_mutex_lock(&lock);
	/* one of a device that went away stays with those that have it */
	if (!contexts[device] || rig_alive(contexts[device]))
		contexts[device] = rig_open_device(device);
	struct ibv_context *c = contexts[device];
	pthread_mutex_unlock(&lock);
	return c;
}

struct rig_program_id *rig_new_program_id(struct rig_program_channel_cm *ch, struct rig_id *shared)
{
	struct rig_program_id *p = calloc(1, sizeof *p);

	if (!p)
		return NULL;
	p->shared = shared;
	p->id.channel = &ch->channel;
	p->id.ps = (enum rdma_port_space)shared->space;
	p->id.qp_type = shared->space == RDMA_PS_UDP ? IBV_QPT_UD : IBV_QPT_RC;
	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->cond, NULL);
	return p;
}

uint32_t rig_psn(void)
{
	static _Atomic uint32_t last;

	return (last += 7919 + (uint32_t)getpid()) & 0xffffff;
}

int rdma_create_id(struct rdma_event_channel *channel, struct rdma_cm_id **id, void *context,
                   enum rdma_port_space space)
{
	struct rig_world *w = rig_world();
	struct rig_program_channel_cm *ch = (struct rig_program_channel_cm *)channel;

	if (!w)
		return -1;
	if (!channel || (space != RDMA_PS_TCP && space != RDMA_PS_UDP))
		return rig_result(channel ? EPROTONOSUPPORT : EINVAL);
	rig_lock(&w->lock);
	struct rig_id *i = RIG_TAKE(RIG_T_ID, w->cm.ids);
	if (i) {
		struct rig_slot slot = i->slot;
		memset(i, 0, sizeof *i);
		i->slot = slot;
		i->channel = ch->index;
		i->space = space;
		i->peer = RIG_NOBODY;
		i->at = i->reaches = -1;
		i->host = rig_host();
		i->mine.psn = rig_psn();
		if (RIG_INDEX(w->cm.ids, i) > w->cm.top)
			w->cm.top = RIG_INDEX(w->cm.ids, i);
	}
	rig_unlock(&w->lock);
	struct rig_program_id *p = i ? rig_new_program_id(ch, i) : NULL;
	if (!p) {
		if (i)
			rig_give(i);
		return rig_result(ENOMEM);
	}
	p->id.context = context;
	i->program = (uintptr_t)p;
	*id = &p->id;
	return 0;
}

int rdma_destroy_id(struct rdma_cm_id *id)
{
	struct rig_program_id *p = rig_program_id(id);
	struct rig_world *w = rig_mapped();

	rig_lock(&w->lock);
	rig_id_end(p->shared);
	rig_unlock(&w->lock);
	pthread_mutex_lock(&p->lock);
	while (p->acknowledged != p->reported)
		pthread_cond_wait(&p->cond, &p->lock);
	pthread_mutex_unlock(&p->lock);
	free(p);
	return 0;
}

static uint16_t *port_of(struct sockaddr_storage *a)
{
	/* at the same place in both kinds */
	return &((struct sockaddr_in *)a)->sin_port;
}

static size_t size_of(const struct sockaddr *a)
{
	return a->sa_family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6);
}

static int is_any(const struct sockaddr *a)
{
	if (a->sa_family == AF_INET)
		return ((const struct sockaddr_in *)a)->sin_addr.s_addr == htonl(INADDR_ANY);
	return IN6_IS_ADDR_UNSPECIFIED(&((const struct sockaddr_in6 *)a)->sin6_addr);
}

/* Whether another id has that port already, at the same address. */
static int taken(const struct rig_id *i, uint16_t port)
{
	struct rig_world *w = rig_mapped();

	for (uint32_t k = 1; k <= w->cm.top; k++) {
		struct rig_id *o = &w->cm.ids[k];
		uint32_t both = (o->at >= 0 ? 1u << (o->at >> 8) : o->host) &
		                (i->at >= 0 ? 1u << (i->at >> 8) : i->host);
		/* a request has its listener's port, and so have those it is connected by */
		if (o != i && atomic_load(&o->slot.used) && o->space == i->space && both &&
		    !o->listener && o->state != RIG_I_IDLE && *port_of(&o->local) == port)
			return 1;
	}
	return 0;
}

static int choose_port(struct rig_id *i)
{
	struct rig_world *w = rig_mapped();

	for (int tries = FIRST_PORT; tries < LAST_PORT; tries++) {
		uint16_t port = htons(
			(uint16_t)(FIRST_PORT + w->cm.next_port++ % (LAST_PORT - FIRST_PORT)));
		if (taken(i, port))
			continue;
		*port_of(&i->local) = port;
		return 0;
	}
	return EADDRNOTAVAIL;
}

int rig_bind_id(struct rig_id *i, const struct sockaddr *a)
{
	int index = 0, at = -1;

	if (i->state != RIG_I_IDLE || (a->sa_family != AF_INET && a->sa_family != AF_INET6))
		return EINVAL;
	if (!is_any(a)) {
		at = rig_find_address(a, &index);
		if (at < 0 || !(i->host >> (at >> 8) & 1) ||
		    atomic_load(&rig_mapped()->devices[at >> 8].gone))
			return EADDRNOTAVAIL;
	}
	memcpy(&i->local, a, size_of(a));
	i->at = at;
	i->gid_index = (uint32_t)index;
	uint16_t port = *port_of(&i->local);
	int err = !port ? choose_port(i) : taken(i, port) ? EADDRINUSE : 0;
	if (!err)
		i->state = RIG_I_BOUND;
	return err;
}

int rig_id_shows(struct rig_program_id *p)
{
	struct rig_id *i = p->shared;
	struct rig_world *w = rig_mapped();
	struct rdma_addr *a = &p->id.route.addr;

	a->src_storage = i->local;
	a->dst_storage = i->remote;
	if (i->at < 0)
		return 0;
	p->id.port_num = (uint8_t)(i->at & 0xff);
	if (!p->id.verbs)
		p->id.verbs = rig_cm_context((uint32_t)i->at >> 8);
	if (!p->id.verbs)
		return errno;
	a->addr.ibaddr.sgid = w->devices[i->at >> 8].port[(i->at & 0xff) - 1].gids[i->gid_index];
	a->addr.ibaddr.pkey = htobe16(RIG_PKEY);
	return 0;
}

/* The world's lock must not be held when a context is opened, which takes it. */
static int bound(struct rig_program_id *p, const struct sockaddr *a)
{
	struct rig_world *w = rig_mapped();

	rig_lock(&w->lock);
	int err = rig_bind_id(p->shared, a);
	rig_unlock(&w->lock);
	return err ? err : rig_id_shows(p);
}

int rdma_bind_addr(struct rdma_cm_id *id, struct sockaddr *a)
{
	return rig_result(bound(rig_program_id(id), a));
}

int rdma_listen(struct rdma_cm_id *id, int backlog)
{
	struct rig_program_id *p = rig_program_id(id);
	struct sockaddr_in any = {.sin_family = AF_INET};
	struct rig_id *i = p->shared;
	int err = i->state == RIG_I_IDLE ? bound(p, (struct sockaddr *)&any) : 0;

	rig_lock(&rig_mapped()->lock);
	if (!err && i->state != RIG_I_BOUND)
		err = EINVAL;
	if (!err) {
		i->backlog = backlog > 0 && backlog < 1024 ? (uint32_t)backlog : 1024;
		i->state = RIG_I_LISTENING;
		rig_cm_listens(i);
	}
	rig_unlock(&rig_mapped()->lock);
	return rig_result(err);
}

/* The address that this host's route to another one leads from. */
static int route_from(const struct rig_id *i, const struct sockaddr *to, struct sockaddr_storage *a)
{
	struct rig_world *w = rig_mapped();
	int index, at = rig_find_address(to, &index);
	union ibv_gid *gid = NULL;

	for (uint32_t d = 0; d < w->num_devices && !gid; d++) {
		/* its own, if the other is this host */
		uint32_t k = at >= 0 ? (d + (uint32_t)(at >> 8)) % w->num_devices : d;
		for (int g = 1; g < RIG_GIDS && i->host >> k & 1 && !gid; g++) {
			union ibv_gid *one = &w->devices[k].port[0].gids[g];
			int four = one->raw[10] == 0xff && one->raw[11] == 0xff && !one->raw[0];
			if (one->raw[15] && four == (to->sa_family == AF_INET))
				gid = one;
		}
	}
	if (!gid)
		return ENETUNREACH;
	memset(a, 0, sizeof *a);
	a->ss_family = to->sa_family;
	if (to->sa_family == AF_INET)
		memcpy(&((struct sockaddr_in *)a)->sin_addr, gid->raw + 12, 4);
	else
		memcpy(&((struct sockaddr_in6 *)a)->sin6_addr, gid, sizeof *gid);
	return 0;
}

static void resolve(struct rig_id *i, struct rig_program_id *p, const struct sockaddr *to, int ms)
{
	struct rig_world *w = rig_mapped();
	int index = 0;

	memset(&i->remote, 0, sizeof i->remote);
	memcpy(&i->remote, to, size_of(to));
	i->reaches = rig_find_address(to, &index);
	if (i->reaches < 0 || !rig_up((uint32_t)i->reaches >> 8, (uint32_t)i->reaches & 0xff) ||
	    !rig_up((uint32_t)i->at >> 8, (uint32_t)i->at & 0xff)) {
		i->state = RIG_I_RESOLVING; /* nobody answers */
		rig_cm_deadline(i, (uint64_t)(ms > 0 && ms < UNANSWERED_MS ? ms : UNANSWERED_MS));
		return;
	}
	i->state = RIG_I_RESOLVED;
	p->id.route.addr.addr.ibaddr.dgid =
		w->devices[i->reaches >> 8].port[(i->reaches & 0xff) - 1].gids[index];
	rig_cm_event(i, RDMA_CM_EVENT_ADDR_RESOLVED, 0, NULL);
}

int rdma_resolve_addr(struct rdma_cm_id *id, struct sockaddr *from, struct sockaddr *to, int ms)
{
	struct rig_program_id *p = rig_program_id(id);
	struct rig_id *i = p->shared;
	struct sockaddr_storage own;
	int err = 0;

	if (to->sa_family != AF_INET && to->sa_family != AF_INET6)
		return rig_result(EAFNOSUPPORT);
	if (i->state == RIG_I_IDLE) {
		err = from ? 0 : route_from(i, to, &own);
		err = err ? err : bound(p, from ? from : (struct sockaddr *)&own);
	}
	rig_lock(&rig_mapped()->lock);
	if (!err && (i->state != RIG_I_BOUND || i->at < 0))
		err = EINVAL;
	if (!err)
		resolve(i, p, to, ms);
	rig_unlock(&rig_mapped()->lock);
	return rig_result(err ? err : rig_id_shows(p));
}

int rdma_resolve_route(struct rdma_cm_id *id, int ms)
{
	struct rig_program_id *p = rig_program_id(id);
	struct rig_id *i = p->shared;
	struct rdma_ib_addr *a = &id->route.addr.addr.ibaddr;
	int err = 0;

	(void)ms;
	rig_lock(&rig_mapped()->lock);
	if (i->state != RIG_I_RESOLVED) {
		err = EINVAL;
	} else if (!rig_up((uint32_t)i->at >> 8, (uint32_t)i->at & 0xff)) {
		i->state = RIG_I_RESOLVED;
		rig_cm_event(i, RDMA_CM_EVENT_ROUTE_ERROR, -ETIMEDOUT, NULL);
	} else {
		i->state = RIG_I_ROUTED;
		p->path = (struct ibv_sa_path_rec){.dgid = a->dgid,
		                                   .sgid = a->sgid,
		                                   .hop_limit = 64,
		                                   .reversible = 1,
		                                   .numb_path = 1,
		                                   .pkey = htobe16(RIG_PKEY),
		                                   .mtu = IBV_MTU_4096};
		id->route.path_rec = &p->path;
		id->route.num_paths = 1;
		rig_cm_event(i, RDMA_CM_EVENT_ROUTE_RESOLVED, 0, NULL);
	}
	rig_unlock(&rig_mapped()->lock);
	return rig_result(err);
}

__be16 rdma_get_src_port(struct rdma_cm_id *id)
{
	return *port_of(&rig_program_id(id)->shared->local);
}

__be16 rdma_get_dst_port(struct rdma_cm_id *id)
{
	return *port_of(&rig_program_id(id)->shared->remote);
}
