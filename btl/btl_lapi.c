/* btl_lapi.c - the module: endpoints, messages, puts, gets, atomic operations. */
#include "btl_lapi.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

int btl_lapi_code(int result)
{
	switch (result) {
	case LAPI_LINK_SUCCESS:
	case LAPI_LINK_DONE:
		return OPAL_SUCCESS;
	case LAPI_LINK_BAD_PARAM:
		return OPAL_ERR_BAD_PARAM;
	case LAPI_LINK_NOT_SUPPORTED:
		return OPAL_ERR_NOT_SUPPORTED;
	case LAPI_LINK_OUT_OF_RESOURCE:
		return OPAL_ERR_OUT_OF_RESOURCE;
	case LAPI_LINK_UNREACHABLE:
		return OPAL_ERR_UNREACH;
	}
	return OPAL_ERROR;
}

static int add_procs(mca_btl_base_module_t *module, size_t n, opal_proc_t **procs,
                     mca_btl_base_endpoint_t **endpoints, opal_bitmap_t *reachable)
{
	const opal_proc_t *self = opal_proc_local_get();

	(void)module;
	for (size_t i = 0; i < n; i++) {
		mca_btl_base_endpoint_t *ep;
		uint32_t task;
		int rc;

		endpoints[i] = NULL;
		/* The link has no processes of other jobs. It has this process: osc/rdma wants an
		   endpoint to each; messages to itself go by the component with the higher exclusivity. */
		if (procs[i]->proc_name.jobid != self->proc_name.jobid ||
		    !btl_lapi_offered(procs[i], &task))
			continue;
		ep = btl_lapi.endpoints[task];
		if (!ep) {
			ep = calloc(1, sizeof *ep);
			if (!ep)
				return OPAL_ERR_OUT_OF_RESOURCE;
			rc = liblapi.lapi_link_endpoint(btl_lapi.link, task, &ep->link);
			if (rc != LAPI_LINK_SUCCESS) {
				free(ep);
				return btl_lapi_code(rc);
			}
			ep->proc = procs[i];
			btl_lapi.endpoints[task] = ep;
		}
		endpoints[i] = ep;
		if (reachable)
			opal_bitmap_set_bit(reachable, (int)i);
	}
	return OPAL_SUCCESS;
}

/*
 * MPI_Finalize has begun everywhere, and the components that get messages and callbacks are
 * unloaded next: both are dropped from here on. Endpoints stay until the module ends.
 */
static int del_procs(mca_btl_base_module_t *module, size_t n, opal_proc_t **procs,
                     mca_btl_base_endpoint_t **endpoints)
{
	(void)module, (void)procs, (void)endpoints;
	btl_lapi.ends |= n > 0;
	return OPAL_SUCCESS;
}

static int finalize(mca_btl_base_module_t *module)
{
	(void)module;
	btl_lapi.ends = 1;
	if (btl_lapi.link)
		liblapi.lapi_link_close(btl_lapi.link);
	btl_lapi.link = NULL;
	btl_lapi_report();
	for (uint32_t i = 0; i < btl_lapi.attr.tasks; i++)
		free(btl_lapi.endpoints[i]);
	free(btl_lapi.endpoints);
	btl_lapi.endpoints = NULL;
	return OPAL_SUCCESS;
}

static int register_error(mca_btl_base_module_t *module, mca_btl_base_module_error_cb_fn_t error)
{
	(void)module;
	btl_lapi.error = error;
	return OPAL_SUCCESS;
}

static mca_btl_base_descriptor_t *alloc(mca_btl_base_module_t *module, mca_btl_base_endpoint_t *ep,
                                        uint8_t order, size_t size, uint32_t flags)
{
	btl_lapi_fragment *f;

	(void)module, (void)order;
	if (size > btl_lapi.attr.send_limit)
		return NULL;
	f = malloc(sizeof *f + size);
	if (!f)
		return NULL;
	memset(f, 0, sizeof *f);
	OBJ_CONSTRUCT(&f->base, mca_btl_base_descriptor_t);
	f->endpoint = ep;
	f->segment.seg_addr.pval = f->memory;
	f->segment.seg_len = size;
	f->base.des_segments = &f->segment;
	f->base.des_segment_count = 1;
	f->base.des_flags = flags;
	f->base.order = MCA_BTL_NO_ORDER;
	return &f->base;
}

static int free_descriptor(mca_btl_base_module_t *module, mca_btl_base_descriptor_t *d)
{
	(void)module;
	OBJ_DESTRUCT(d);
	free(d);
	return OPAL_SUCCESS;
}

static mca_btl_base_descriptor_t *prepare_src(mca_btl_base_module_t *module,
                                              mca_btl_base_endpoint_t *ep,
                                              opal_convertor_t *convertor, uint8_t order,
                                              size_t reserve, size_t *size, uint32_t flags)
{
	size_t most = btl_lapi.base.btl_max_send_size - reserve, n = *size < most ? *size : most;
	mca_btl_base_descriptor_t *d = alloc(module, ep, order, reserve + n, flags);
	struct iovec iov;
	uint32_t count = 1;

	if (!d)
		return NULL;
	iov.iov_base = (char *)d->des_segments->seg_addr.pval + reserve;
	iov.iov_len = n;
	if (n && opal_convertor_pack(convertor, &iov, &count, &n) < 0) {
		free_descriptor(module, d);
		return NULL;
	}
	*size = n;
	d->des_segments->seg_len = reserve + n;
	return d;
}

/* A descriptor is finished: runs its callback, and frees it if this module owns it. */
static void over(mca_btl_base_descriptor_t *d, int status, int calls)
{
	const btl_lapi_fragment *f = (btl_lapi_fragment *)d;
	int owned = d->des_flags & MCA_BTL_DES_FLAGS_BTL_OWNERSHIP;

	if (calls && d->des_cbfunc && !btl_lapi.ends)
		d->des_cbfunc(&btl_lapi.base, f->endpoint, d, status);
	if (owned)
		free_descriptor(&btl_lapi.base, d);
}

static void report_unsent(btl_lapi_news *news, int quiet)
{
	btl_lapi_fragment *f = (btl_lapi_fragment *)(void *)((char *)news - offsetof(btl_lapi_fragment, news));

	(void)quiet;
	over(&f->base, OPAL_ERR_UNREACH, 1);
}

static void sent(lapi_link_t *link, lapi_link_endpoint_t *ep, void *local, lapi_link_handle_t *handle,
                 void *context, void *data, int status)
{
	btl_lapi_fragment *f = data;

	(void)link, (void)ep, (void)local, (void)handle, (void)context;
	if (status != LAPI_LINK_UNREACHABLE) {
		over(data, btl_lapi_code(status), 1);
		return;
	}
	f->news.report = report_unsent;
	btl_lapi_later(f->endpoint, &f->news);
}

static int send_descriptor(mca_btl_base_module_t *module, mca_btl_base_endpoint_t *ep,
                mca_btl_base_descriptor_t *d, mca_btl_base_tag_t tag)
{
	mca_btl_base_segment_t *s = d->des_segments;
	int two = d->des_segment_count > 1, rc;

	(void)module;
	((btl_lapi_fragment *)d)->endpoint = ep;
	rc = liblapi.lapi_link_send(btl_lapi.link, ep->link, tag, two ? s[0].seg_addr.pval : NULL,
	                    two ? s[0].seg_len : 0, s[two].seg_addr.pval, s[two].seg_len, sent, NULL, d);
	if (rc == LAPI_LINK_SUCCESS)
		return 0;
	if (rc != LAPI_LINK_DONE)
		return btl_lapi_answer(ep, rc);
	over(d, OPAL_SUCCESS, d->des_flags & MCA_BTL_DES_SEND_ALWAYS_CALLBACK);
	return 1;
}

static int sendi(mca_btl_base_module_t *module, mca_btl_base_endpoint_t *ep,
                 opal_convertor_t *convertor, void *header, size_t header_size, size_t payload,
                 uint8_t order, uint32_t flags, mca_btl_base_tag_t tag,
                 mca_btl_base_descriptor_t **descriptor)
{
	char packed[8192];
	struct iovec iov = {packed, payload};
	uint32_t count = 1;
	const void *data = NULL;
	size_t n = payload;
	void *direct;

	if (header_size + payload > btl_lapi.attr.copy_limit || payload > sizeof packed)
		goto later;
	if (payload && !opal_convertor_need_buffers(convertor)) {
		opal_convertor_get_current_pointer(convertor, &direct);
		data = direct;
	} else if (payload) {
		if (opal_convertor_pack(convertor, &iov, &count, &n) < 0 || n != payload)
			return OPAL_ERROR;
		data = packed;
	}
	if (liblapi.lapi_link_send(btl_lapi.link, ep->link, tag, header, header_size, data, payload, NULL, NULL,
	                   NULL) == LAPI_LINK_DONE)
		return OPAL_SUCCESS;
	if (data == packed) { /* the convertor has gone on */
		n = 0;
		opal_convertor_set_position(convertor, &n);
	}
later:
	if (descriptor)
		*descriptor = alloc(module, ep, order, header_size + payload, flags);
	return OPAL_ERR_RESOURCE_BUSY;
}

static void arrived(lapi_link_t *link, lapi_link_endpoint_t *from, uint32_t tag, const void *message,
                    size_t size, void *context)
{
	const mca_btl_active_message_callback_t *call = &mca_btl_base_active_message_trigger[tag];
	mca_btl_base_segment_t segment = {{.pval = (void *)(uintptr_t)message}, size};

	(void)link, (void)context;
	if (!call->cbfunc || btl_lapi.ends)
		return;
#if BTL_VERSION >= 330
	mca_btl_base_receive_descriptor_t d = {
		.endpoint = btl_lapi.endpoints[liblapi.lapi_link_task(from)],
		.des_segments = &segment,
		.des_segment_count = 1,
		.tag = (mca_btl_base_tag_t)tag,
		.cbdata = call->cbdata,
	};
	call->cbfunc(&btl_lapi.base, &d);
#else
	mca_btl_base_descriptor_t d;

	(void)from;
	memset(&d, 0, sizeof d);
	d.des_segments = &segment;
	d.des_segment_count = 1;
	call->cbfunc(&btl_lapi.base, (mca_btl_base_tag_t)tag, &d, call->cbdata);
#endif
}

int btl_lapi_listen(void)
{
	int rc = OPAL_SUCCESS;

	for (uint32_t tag = 0; tag < btl_lapi.attr.tags && tag < MCA_BTL_TAG_MAX; tag++)
		if (rc == OPAL_SUCCESS)
			rc = btl_lapi_code(liblapi.lapi_link_set_receive(btl_lapi.link, tag, arrived, NULL));
	return rc;
}

static struct mca_btl_base_registration_handle_t *register_memory(mca_btl_base_module_t *module,
                                                                  mca_btl_base_endpoint_t *ep,
                                                                  void *base, size_t size,
                                                                  uint32_t flags)
{
	lapi_link_handle_t *handle;
	uint32_t access = 0;

	(void)module, (void)ep;
	if (flags & MCA_BTL_REG_FLAG_REMOTE_READ)
		access |= LAPI_LINK_REMOTE_READ;
	if (flags & MCA_BTL_REG_FLAG_REMOTE_WRITE)
		access |= LAPI_LINK_REMOTE_WRITE;
	if (flags & MCA_BTL_REG_FLAG_REMOTE_ATOMIC)
		access |= LAPI_LINK_REMOTE_ATOMIC;
	if (liblapi.lapi_link_register(btl_lapi.link, base, size, access, &handle) != LAPI_LINK_SUCCESS)
		return NULL;
	return (struct mca_btl_base_registration_handle_t *)handle;
}

static int deregister_memory(mca_btl_base_module_t *module,
                             struct mca_btl_base_registration_handle_t *handle)
{
	(void)module;
	return btl_lapi_code(liblapi.lapi_link_deregister(btl_lapi.link, &handle->link));
}

static void end_operation(btl_lapi_operation *o, int code)
{
	const btl_lapi_operation it = *o;

	free(o);
	if (!btl_lapi.ends)
		it.done(&btl_lapi.base, it.endpoint, it.local, it.handle, it.context, it.data, code);
}

static void report_failed(btl_lapi_news *news, int quiet)
{
	(void)quiet;
	end_operation((btl_lapi_operation *)news, OPAL_ERR_UNREACH);
}

static void complete(lapi_link_t *link, lapi_link_endpoint_t *ep, void *local,
                     lapi_link_handle_t *handle, void *context, void *data, int status)
{
	btl_lapi_operation *o = context;

	(void)link, (void)ep, (void)data;
	o->local = local;
	o->handle = (struct mca_btl_base_registration_handle_t *)handle;
	if (status == LAPI_LINK_UNREACHABLE) {
		o->news.report = report_failed;
		btl_lapi_later(o->endpoint, &o->news);
	} else {
		end_operation(o, btl_lapi_code(status));
	}
}

/* Makes the record of an operation's callback. NULL if there is no callback, or no memory; only
 * then *rc is an error. */
static btl_lapi_operation *operation(mca_btl_base_endpoint_t *ep,
                                     mca_btl_base_rdma_completion_fn_t done, void *context,
                                     void *data, int *rc)
{
	btl_lapi_operation *o = done ? malloc(sizeof *o) : NULL;

	*rc = done && !o ? OPAL_ERR_OUT_OF_RESOURCE : OPAL_SUCCESS;
	if (o)
		*o = (btl_lapi_operation){.endpoint = ep, .done = done, .context = context, .data = data};
	return o;
}

static int begun(mca_btl_base_endpoint_t *ep, btl_lapi_operation *o, int result)
{
	if (result != LAPI_LINK_SUCCESS)
		free(o);
	return btl_lapi_answer(ep, result);
}

#define LINK_HANDLE(h) ((h) ? &(h)->link : NULL)
#define COMPLETE(o) (o) ? complete : NULL, (o), NULL

/* lapi_link_put or lapi_link_get. */
static int transfer(int (*how)(lapi_link_t *, lapi_link_endpoint_t *, void *, uint64_t,
                               lapi_link_handle_t *, const lapi_link_handle_t *, size_t, uint32_t,
                               lapi_link_done_t *, void *, void *),
                    mca_btl_base_endpoint_t *ep, void *local, uint64_t remote,
                    struct mca_btl_base_registration_handle_t *local_handle,
                    struct mca_btl_base_registration_handle_t *remote_handle, size_t size,
                    mca_btl_base_rdma_completion_fn_t done, void *context, void *data)
{
	int rc;
	btl_lapi_operation *o = operation(ep, done, context, data, &rc);

	return rc != OPAL_SUCCESS
	               ? rc
	               : begun(ep, o, how(btl_lapi.link, ep->link, local, remote,
	                              LINK_HANDLE(local_handle), LINK_HANDLE(remote_handle), size, 0,
	                              COMPLETE(o)));
}

static int put(mca_btl_base_module_t *module, mca_btl_base_endpoint_t *ep, void *local,
               uint64_t remote, struct mca_btl_base_registration_handle_t *local_handle,
               struct mca_btl_base_registration_handle_t *remote_handle, size_t size, int flags,
               int order, mca_btl_base_rdma_completion_fn_t done, void *context, void *data)
{
	(void)module, (void)flags, (void)order;
	return transfer(liblapi.lapi_link_put, ep, local, remote, local_handle, remote_handle, size, done,
	                context, data);
}

static int get(mca_btl_base_module_t *module, mca_btl_base_endpoint_t *ep, void *local,
               uint64_t remote, struct mca_btl_base_registration_handle_t *local_handle,
               struct mca_btl_base_registration_handle_t *remote_handle, size_t size, int flags,
               int order, mca_btl_base_rdma_completion_fn_t done, void *context, void *data)
{
	(void)module, (void)flags, (void)order;
	return transfer(liblapi.lapi_link_get, ep, local, remote, local_handle, remote_handle, size, done,
	                context, data);
}

/* The link's operation; LAPI_LINK_MAX + 1 if it has none. */
static lapi_link_atomic_t atomic_of(mca_btl_base_atomic_op_t op)
{
	switch (op) {
	case MCA_BTL_ATOMIC_ADD:
		return LAPI_LINK_ADD;
	case MCA_BTL_ATOMIC_AND:
		return LAPI_LINK_AND;
	case MCA_BTL_ATOMIC_OR:
		return LAPI_LINK_OR;
	case MCA_BTL_ATOMIC_XOR:
		return LAPI_LINK_XOR;
	case MCA_BTL_ATOMIC_SWAP:
		return LAPI_LINK_SWAP;
	case MCA_BTL_ATOMIC_MIN:
		return LAPI_LINK_MIN;
	case MCA_BTL_ATOMIC_MAX:
		return LAPI_LINK_MAX;
	default:
		return (lapi_link_atomic_t)(LAPI_LINK_MAX + 1);
	}
}

/* The link's flags, with an unknown one for a floating-point operation, so that the link refuses
 * it. */
static uint32_t flags_of(int flags)
{
	return (flags & MCA_BTL_ATOMIC_FLAG_32BIT ? LAPI_LINK_32BIT : 0u) |
	       (flags & MCA_BTL_ATOMIC_FLAG_FLOAT ? 1u << 31 : 0u);
}

static int atomic_op(mca_btl_base_module_t *module, mca_btl_base_endpoint_t *ep, uint64_t remote,
                     struct mca_btl_base_registration_handle_t *remote_handle,
                     mca_btl_base_atomic_op_t op, uint64_t operand, int flags, int order,
                     mca_btl_base_rdma_completion_fn_t done, void *context, void *data)
{
	int rc;
	btl_lapi_operation *o = operation(ep, done, context, data, &rc);

	(void)module, (void)order;
	return rc != OPAL_SUCCESS
	               ? rc
	               : begun(ep, o, liblapi.lapi_link_atomic_op(btl_lapi.link, ep->link, remote,
	                                              LINK_HANDLE(remote_handle), atomic_of(op),
	                                              operand, flags_of(flags), COMPLETE(o)));
}

static int atomic_fop(mca_btl_base_module_t *module, mca_btl_base_endpoint_t *ep, void *local,
                      uint64_t remote, struct mca_btl_base_registration_handle_t *local_handle,
                      struct mca_btl_base_registration_handle_t *remote_handle,
                      mca_btl_base_atomic_op_t op, uint64_t operand, int flags, int order,
                      mca_btl_base_rdma_completion_fn_t done, void *context, void *data)
{
	int rc;
	btl_lapi_operation *o = operation(ep, done, context, data, &rc);

	(void)module, (void)order;
	return rc != OPAL_SUCCESS
	               ? rc
	               : begun(ep, o, liblapi.lapi_link_atomic_fop(btl_lapi.link, ep->link, local, remote,
	                                               LINK_HANDLE(local_handle),
	                                               LINK_HANDLE(remote_handle), atomic_of(op),
	                                               operand, flags_of(flags), COMPLETE(o)));
}

static int atomic_cswap(mca_btl_base_module_t *module, mca_btl_base_endpoint_t *ep, void *local,
                        uint64_t remote, struct mca_btl_base_registration_handle_t *local_handle,
                        struct mca_btl_base_registration_handle_t *remote_handle, uint64_t compare,
                        uint64_t value, int flags, int order,
                        mca_btl_base_rdma_completion_fn_t done, void *context, void *data)
{
	int rc;
	btl_lapi_operation *o = operation(ep, done, context, data, &rc);

	(void)module, (void)order;
	return rc != OPAL_SUCCESS
	               ? rc
	               : begun(ep, o, liblapi.lapi_link_atomic_cswap(btl_lapi.link, ep->link, local, remote,
	                                                 LINK_HANDLE(local_handle),
	                                                 LINK_HANDLE(remote_handle), compare, value,
	                                                 flags_of(flags), COMPLETE(o)));
}

static int flush(mca_btl_base_module_t *module, mca_btl_base_endpoint_t *ep)
{
	(void)module;
	return btl_lapi_flushed(ep, liblapi.lapi_link_flush(btl_lapi.link, ep ? ep->link : NULL));
}

void btl_lapi_set_functions(mca_btl_base_module_t *m)
{
	m->btl_add_procs = add_procs;
	m->btl_del_procs = del_procs;
	m->btl_finalize = finalize;
	m->btl_alloc = alloc;
	m->btl_free = free_descriptor;
	m->btl_prepare_src = prepare_src;
	m->btl_send = send_descriptor;
	m->btl_sendi = sendi;
	m->btl_put = put;
	m->btl_get = get;
	m->btl_atomic_op = atomic_op;
	m->btl_atomic_fop = atomic_fop;
	m->btl_atomic_cswap = atomic_cswap;
	m->btl_register_mem = register_memory;
	m->btl_deregister_mem = deregister_memory;
	m->btl_register_error = register_error;
	m->btl_flush = flush;
}
