/* cm.c - connections by the RDMA connection manager. */
#include <errno.h>
#include <string.h>

#include "ibv/address.h"
#include "ibv/library.h"
#include "ibv/ibv.h"

/* The numbers of ibv.CMEventKind. */
enum {
	ADDRESS_FOUND = 1,
	NOT_FOUND,
	ROUTE_FOUND,
	REQUESTED,
	RESPONDED,
	ESTABLISHED,
	REJECTED,
	UNREACHABLE,
	FAILED,
	DISCONNECTED,
	REMOVED
};

int cshim_ibv_new_id(struct cshim_ibv *a, int datagrams, cshim_ibv_object *out)
{
	struct rdma_cm_id *id;

	errno = 0;
	if (rdma.create_id(a->cm, &id, NULL, datagrams ? RDMA_PS_UDP : RDMA_PS_TCP))
		return ibv_reason();
	*out = NUMBER(id);
	return 0;
}

void cshim_ibv_free_id(cshim_ibv_object id)
{
	rdma.destroy_id(OBJECT(struct rdma_cm_id, id));
}

/* Of a function that says by errno what has failed. */
static int result(int failed)
{
	return failed ? ibv_reason() : 0;
}

int cshim_ibv_listen(struct cshim_ibv *a, cshim_ibv_object id, uint16_t port)
{
	struct cshim_ibv_address address;
	struct sockaddr_storage at;

	ibv_address((struct sockaddr *)&a->address, &address);
	address.port = port;
	ibv_sockaddr(&address, &at);
	errno = 0;
	if (rdma.bind_addr(OBJECT(struct rdma_cm_id, id), (struct sockaddr *)&at))
		return ibv_reason();
	return result(rdma.listen(OBJECT(struct rdma_cm_id, id), 0));
}

int cshim_ibv_find_address(struct cshim_ibv *a, cshim_ibv_object id,
                           const struct cshim_ibv_address *to, int ms)
{
	struct sockaddr_storage peer;

	ibv_sockaddr(to, &peer);
	errno = 0;
	return result(rdma.resolve_addr(OBJECT(struct rdma_cm_id, id),
	                                (struct sockaddr *)&a->address, (struct sockaddr *)&peer,
	                                ms));
}

int cshim_ibv_find_route(cshim_ibv_object id, int ms)
{
	errno = 0;
	return result(rdma.resolve_route(OBJECT(struct rdma_cm_id, id), ms));
}

static struct rdma_conn_param param_of(const struct cshim_ibv_terms *t)
{
	enum { FOR_EVER = 7 };

	return (struct rdma_conn_param){.private_data = t->private_data,
	                                .private_data_len = t->size,
	                                .responder_resources = t->reads_in,
	                                .initiator_depth = t->reads_out,
	                                .flow_control = 1,
	                                .retry_count = FOR_EVER,
	                                .rnr_retry_count = FOR_EVER,
	                                .srq = t->shared,
	                                .qp_num = t->qpn};
}

int cshim_ibv_connect(cshim_ibv_object id, const struct cshim_ibv_terms *t)
{
	struct rdma_conn_param param = param_of(t);

	errno = 0;
	return result(rdma.connect(OBJECT(struct rdma_cm_id, id), &param));
}

int cshim_ibv_establish(cshim_ibv_object id)
{
	errno = 0;
	return result(rdma.establish(OBJECT(struct rdma_cm_id, id)));
}

int cshim_ibv_accept(cshim_ibv_object id, const struct cshim_ibv_terms *t)
{
	struct rdma_conn_param param = param_of(t);

	errno = 0;
	return result(rdma.accept(OBJECT(struct rdma_cm_id, id), &param));
}

int cshim_ibv_reject(cshim_ibv_object id, const void *data, int n)
{
	errno = 0;
	return result(rdma.reject(OBJECT(struct rdma_cm_id, id), data, (uint8_t)n));
}

int cshim_ibv_disconnect(cshim_ibv_object id)
{
	errno = 0;
	return result(rdma.disconnect(OBJECT(struct rdma_cm_id, id)));
}

static int kind_of(enum rdma_cm_event_type type)
{
	static const int kinds[] = {[RDMA_CM_EVENT_ADDR_RESOLVED] = ADDRESS_FOUND,
	                            [RDMA_CM_EVENT_ADDR_ERROR] = NOT_FOUND,
	                            [RDMA_CM_EVENT_ROUTE_RESOLVED] = ROUTE_FOUND,
	                            [RDMA_CM_EVENT_ROUTE_ERROR] = NOT_FOUND,
	                            [RDMA_CM_EVENT_CONNECT_REQUEST] = REQUESTED,
	                            [RDMA_CM_EVENT_CONNECT_RESPONSE] = RESPONDED,
	                            [RDMA_CM_EVENT_CONNECT_ERROR] = FAILED,
	                            [RDMA_CM_EVENT_UNREACHABLE] = UNREACHABLE,
	                            [RDMA_CM_EVENT_REJECTED] = REJECTED,
	                            [RDMA_CM_EVENT_ESTABLISHED] = ESTABLISHED,
	                            [RDMA_CM_EVENT_DISCONNECTED] = DISCONNECTED,
	                            [RDMA_CM_EVENT_DEVICE_REMOVAL] = REMOVED};

	return type < sizeof kinds / sizeof *kinds ? kinds[type] : 0;
}

static void copy_private(struct cshim_ibv_cm_event *e, const void *data, uint8_t n)
{
	e->size = data ? n : 0;
	if (e->size)
		memcpy(e->private_data, data, (size_t)e->size);
}

static void describe(const struct rdma_cm_event *from, struct cshim_ibv_cm_event *e)
{
	e->id = NUMBER(from->id);
	e->listener = NUMBER(from->listen_id);
	e->status = from->status;
	e->kind = kind_of(from->event);
	if (from->id->ps == RDMA_PS_UDP) {
		const struct rdma_ud_param *p = &from->param.ud;
		copy_private(e, p->private_data, p->private_data_len);
		e->qpn = p->qp_num;
		e->qkey = p->qkey;
		e->lid = p->ah_attr.dlid;
		memcpy(e->gid, p->ah_attr.grh.dgid.raw, sizeof e->gid);
	} else {
		const struct rdma_conn_param *p = &from->param.conn;
		copy_private(e, p->private_data, p->private_data_len);
		e->reads_in = p->responder_resources;
		e->reads_out = p->initiator_depth;
	}
	ibv_address(&from->id->route.addr.src_addr, &e->local);
	ibv_address(&from->id->route.addr.dst_addr, &e->peer);
}

int cshim_ibv_cm_event(struct cshim_ibv *a, struct cshim_ibv_cm_event *e)
{
	struct rdma_cm_event *from;

	if (!ibv_has_some(&a->connections) || rdma.get_cm_event(a->cm, &from))
		return 0;
	memset(e, 0, sizeof *e);
	describe(from, e);
	rdma.ack_cm_event(from); /* nobody waits for it, as an id that is freed would */
	return 1;
}
