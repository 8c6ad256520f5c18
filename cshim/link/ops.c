/* ops.c - puts, gets, atomic operations. */
#include "link/link.h"

#include "lapi/transfer.h"

/* A call's arguments that all operations have. */
typedef struct request {
	lapi_link_t *link;
	lapi_link_endpoint_t *ep;
	void *local;
	uint64_t remote;
	lapi_link_handle_t *local_handle;
	const lapi_link_handle_t *remote_handle;
	uint64_t size;
	lapi_link_done_t *done;
	void *context, *data;
	lapi_err_t type;
	uint32_t access; /* access that the remote region must permit */
} request;

static int inside(const lapi_link_handle_t *h, uint64_t at, uint64_t size, uint32_t access)
{
	return !h || (h->version == LAPI_LINK_VERSION && h->handle_size == sizeof(*h) &&
	              at >= h->base && at - h->base <= h->size && size <= h->size - (at - h->base) &&
	              (h->access & access) == access);
}

static int judge(const request *r)
{
	if (!link_usable(r->link))
		return r->link ? LAPI_LINK_ERROR : LAPI_LINK_BAD_PARAM;
	if (!r->ep || r->ep->link != r->link || r->remote + r->size < r->remote ||
	    (r->size && !r->remote) || r->size > LINK_LIMIT)
		return LAPI_LINK_BAD_PARAM;
	if (!inside(r->remote_handle, r->remote, r->size, r->access) ||
	    (r->remote_handle && r->remote_handle->task != r->ep->task))
		return LAPI_LINK_BAD_PARAM;
	if (r->local && !inside(r->local_handle, (uint64_t)(uintptr_t)r->local, r->size, 0))
		return LAPI_LINK_BAD_PARAM;
	return LAPI_LINK_SUCCESS;
}

/*
 * Begins r, under the lock, as all that follows. *counter is where LAPI is to count its end; *op is its
 * object, NULL if it has no callback.
 */
static int begin(const request *r, link_op **op, int **counter)
{
	const enum link_kind kind = r->type == PUT_ERR ? LINK_WRITES : LINK_READS;
	lapi_link_endpoint_t *ep = r->ep;
	int rc = LAPI_LINK_SUCCESS;

	*op = NULL;
	if (ep->status != LAPI_LINK_SUCCESS) {
		rc = ep->status;
	} else if (!r->done) {
		if (link_uncounted(ep) >= LINK_OPERATIONS)
			rc = LAPI_LINK_OUT_OF_RESOURCE;
		else
			*counter = &ep->complete[ep->generation & 1], ep->counted[ep->generation & 1]++;
	} else if (ep->begun[kind] - ep->ended[kind] >= LINK_OPERATIONS ||
	           !(*op = link_op_new(r->link, 0))) {
		rc = LAPI_LINK_OUT_OF_RESOURCE;
	} else {
		(*op)->endpoint = ep;
		(*op)->kind = kind;
		(*op)->type = r->type;
		(*op)->remote = r->remote;
		(*op)->size = r->size;
		(*op)->done = r->done;
		(*op)->local = r->local;
		(*op)->handle = r->local_handle;
		(*op)->context = r->context;
		(*op)->data = r->data;
		*counter = &(*op)->counter;
		link_begin(r->link, *op);
	}
	return rc;
}

/* LAPI's answer to an operation that was begun. */
static int began(const request *r, link_op *op, const int *counter, int code)
{
	int refused = 1;

	if (code == LAPI_SUCCESS)
		return LAPI_LINK_SUCCESS;
	if (op)
		refused = link_withdraw(r->link, op);
	else if (r->ep->status == LAPI_LINK_SUCCESS)
		r->ep->counted[counter - r->ep->complete]--;
	else
		refused = 0; /* it has failed with its endpoint */
	return refused ? link_result(code) : LAPI_LINK_SUCCESS;
}

/* Its first word is 0 where the region has none. */
static inline uint64_t key_of(const lapi_link_handle_t *h)
{
	return h && h->key[0] ? CSHIM_ADDR(h->key) : 0;
}

static inline int put_or_get(cshim_context *context, const request *r)
{
	const uint64_t local = CSHIM_ADDR(r->local), key = key_of(r->remote_handle);
	link_op *op;
	int *counter, rc;

	rc = begin(r, &op, &counter);
	if (rc != LAPI_LINK_SUCCESS)
		return rc;
	rc = r->type == PUT_ERR
	             ? cshim_transfer_in(context, LAPI_PUT_XFER,
	                                 (cshim_transfer){.tgt = r->ep->task,
	                                                  .org_addr = local,
	                                                  .tgt_addr = r->remote,
	                                                  .len = r->size,
	                                                  .key = key,
	                                                  .cmpl_cntr = CSHIM_ADDR(counter)})
	             : cshim_transfer_in(context, LAPI_GET_XFER,
	                                 (cshim_transfer){.tgt = r->ep->task,
	                                                  .org_addr = local,
	                                                  .tgt_addr = r->remote,
	                                                  .len = r->size,
	                                                  .key = key,
	                                                  .org_cntr = CSHIM_ADDR(counter)});
	return began(r, op, counter, rc);
}

static int transfer(const request *r, uint32_t flags)
{
	cshim_context *context;
	int rc;

	if (flags || (r->size && !r->local))
		return LAPI_LINK_BAD_PARAM;
	rc = judge(r);
	if (rc != LAPI_LINK_SUCCESS)
		return rc;
	context = cshim_enter(r->link->handle);
	return context ? cshim_leave(context, put_or_get(context, r))
	               : link_refused("lapi_link_put", r->ep);
}

LINK_EXPORT int lapi_link_put(lapi_link_t *link, lapi_link_endpoint_t *ep, void *local,
                              uint64_t remote, lapi_link_handle_t *local_handle,
                              const lapi_link_handle_t *remote_handle, size_t size, uint32_t flags,
                              lapi_link_done_t *done, void *context, void *data)
{
	const request r = {link, ep,   local,   remote, local_handle, remote_handle,
	                   size, done, context, data,   PUT_ERR, LAPI_LINK_REMOTE_WRITE};

	return transfer(&r, flags);
}

LINK_EXPORT int lapi_link_get(lapi_link_t *link, lapi_link_endpoint_t *ep, void *local,
                              uint64_t remote, lapi_link_handle_t *local_handle,
                              const lapi_link_handle_t *remote_handle, size_t size, uint32_t flags,
                              lapi_link_done_t *done, void *context, void *data)
{
	const request r = {link, ep,   local,   remote, local_handle, remote_handle,
	                   size, done, context, data,   GET_ERR, LAPI_LINK_REMOTE_READ};

	return transfer(&r, flags);
}

/* LAPI's read-modify-write, with the operations that its own call has not. */
static int rmw(cshim_context *context, const request *r, uint32_t op, const uint64_t in[2])
{
	const uint32_t short_in[2] = {(uint32_t)in[0], (uint32_t)in[1]};
	link_op *object;
	int *counter, rc;

	rc = begin(r, &object, &counter);
	if (rc != LAPI_LINK_SUCCESS)
		return rc;
	rc = cshim_transfer_in(context, LAPI_RMW_XFER,
	                       (cshim_transfer){
				       .tgt = r->ep->task,
				       .tgt_addr = r->remote,
				       .org_addr = r->size == 4 ? CSHIM_ADDR(short_in) : CSHIM_ADDR(in),
				       .org_cntr = CSHIM_ADDR(counter),
				       .prev_val = CSHIM_ADDR(r->local),
				       .op = op,
				       .size = (uint32_t)r->size * 8,
			       });
	return began(r, object, counter, rc);
}

static int atomic(const request *r, uint32_t op, uint64_t first, uint64_t second)
{
	const uint64_t in[2] = {first, second};
	cshim_context *context;
	int rc;

	if (r->remote % r->size)
		return LAPI_LINK_NOT_SUPPORTED;
	rc = judge(r);
	if (rc != LAPI_LINK_SUCCESS)
		return rc;
	context = cshim_enter(r->link->handle);
	return context ? cshim_leave(context, rmw(context, r, op, in))
	               : link_refused("lapi_link_atomic_op", r->ep);
}

/* LAPI's operations; those without a name there are core's own (core/lapi/wire). */
static const uint32_t operations[] = {
	[LAPI_LINK_ADD] = FETCH_AND_ADD, [LAPI_LINK_AND] = CSHIM_FETCH_AND_AND,
	[LAPI_LINK_OR] = FETCH_AND_OR,   [LAPI_LINK_XOR] = CSHIM_FETCH_AND_XOR,
	[LAPI_LINK_SWAP] = SWAP,         [LAPI_LINK_MIN] = CSHIM_FETCH_AND_MIN,
	[LAPI_LINK_MAX] = CSHIM_FETCH_AND_MAX,
};

static int known(lapi_link_atomic_t op, uint32_t flags)
{
	if (flags & ~LAPI_LINK_32BIT)
		return LAPI_LINK_BAD_PARAM;
	return (uint32_t)op > LAPI_LINK_MAX ? LAPI_LINK_NOT_SUPPORTED : LAPI_LINK_SUCCESS;
}

static uint64_t width_of(uint32_t flags) { return flags & LAPI_LINK_32BIT ? 4 : 8; }

LINK_EXPORT int lapi_link_atomic_op(lapi_link_t *link, lapi_link_endpoint_t *ep, uint64_t remote,
                                    const lapi_link_handle_t *remote_handle, lapi_link_atomic_t op,
                                    uint64_t operand, uint32_t flags, lapi_link_done_t *done,
                                    void *context, void *data)
{
	const request r = {link, ep,   NULL,    remote, NULL,       remote_handle, width_of(flags),
	                   done, context, data, RMW_ERR, LAPI_LINK_REMOTE_ATOMIC};

	return known(op, flags) ?: atomic(&r, operations[op], operand, 0);
}

LINK_EXPORT int lapi_link_atomic_fop(lapi_link_t *link, lapi_link_endpoint_t *ep, void *local,
                                     uint64_t remote, lapi_link_handle_t *local_handle,
                                     const lapi_link_handle_t *remote_handle, lapi_link_atomic_t op,
                                     uint64_t operand, uint32_t flags, lapi_link_done_t *done,
                                     void *context, void *data)
{
	const request r = {link, ep, local, remote, local_handle, remote_handle, width_of(flags),
	                   done, context, data, RMW_ERR, LAPI_LINK_REMOTE_ATOMIC};

	if (!local)
		return LAPI_LINK_BAD_PARAM;
	return known(op, flags) ?: atomic(&r, operations[op], operand, 0);
}

LINK_EXPORT int lapi_link_atomic_cswap(lapi_link_t *link, lapi_link_endpoint_t *ep, void *local,
                                       uint64_t remote, lapi_link_handle_t *local_handle,
                                       const lapi_link_handle_t *remote_handle, uint64_t compare,
                                       uint64_t value, uint32_t flags, lapi_link_done_t *done,
                                       void *context, void *data)
{
	const request r = {link, ep, local, remote, local_handle, remote_handle, width_of(flags),
	                   done, context, data, RMW_ERR, LAPI_LINK_REMOTE_ATOMIC};

	if (!local)
		return LAPI_LINK_BAD_PARAM;
	return known(LAPI_LINK_ADD, flags) ?: atomic(&r, CSHIM_COMPARE_AND_FETCH, compare, value);
}
