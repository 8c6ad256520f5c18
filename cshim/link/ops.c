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
	uint32_t access; /* what the remote region must permit */
} request;

static int inside(const lapi_link_handle_t *h, uint64_t at, uint64_t size, uint32_t access)
{
	return !h || (at >= h->base && at - h->base <= h->size && size <= h->size - (at - h->base) &&
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
 * Begins r. *counter is where LAPI is to count its end; *op is its object, NULL if it has no
 * callback.
 */
static int begin(const request *r, link_op **op, int **counter)
{
	const enum link_kind kind = r->type == PUT_ERR ? LINK_WRITES : LINK_READS;
	lapi_link_endpoint_t *ep = r->ep;
	int rc = judge(r);

	if (rc != LAPI_LINK_SUCCESS)
		return rc;
	*op = NULL;
	link_lock(r->link);
	if (ep->status != LAPI_LINK_SUCCESS) {
		rc = ep->status;
	} else if (!r->done) {
		if (link_uncounted(ep) >= LINK_OPERATIONS)
			rc = LAPI_LINK_OUT_OF_RESOURCE;
		else
			ep->counted++, *counter = &ep->complete;
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
	link_unlock(r->link);
	return rc;
}

/* LAPI's answer to an operation that was begun. */
static int began(const request *r, link_op *op, int code)
{
	int refused = 1;

	if (code == LAPI_SUCCESS)
		return LAPI_LINK_SUCCESS;
	link_lock(r->link);
	if (op)
		refused = link_withdraw(r->link, op);
	else if (r->ep->status == LAPI_LINK_SUCCESS)
		r->ep->counted--;
	else
		refused = 0; /* it has failed with its endpoint */
	link_unlock(r->link);
	return refused ? link_result(code) : LAPI_LINK_SUCCESS;
}

#define LINK_CNTR(at) ((lapi_cntr_t *)(void *)(at))

/* A put or a get. */
static int transfer(const request *r, uint32_t flags)
{
	void *to = (void *)(uintptr_t)r->remote;
	link_op *op = NULL;
	int *counter, rc;

	if (flags || (r->size && !r->local))
		return LAPI_LINK_BAD_PARAM;
	rc = begin(r, &op, &counter);
	if (rc != LAPI_LINK_SUCCESS)
		return rc;
	rc = r->type == PUT_ERR
	             ? PLAPI_Put(r->link->handle, r->ep->task, r->size, to, r->local, NULL, NULL,
	                         LINK_CNTR(counter))
	             : PLAPI_Get(r->link->handle, r->ep->task, r->size, to, r->local, NULL,
	                         LINK_CNTR(counter));
	return began(r, op, rc);
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
static int rmw(lapi_handle_t hndl, uint32_t op, uint32_t tgt, uint64_t remote, const uint64_t *in,
               void *local, int *counter, uint32_t width)
{
	const uint32_t short_in[2] = {(uint32_t)in[0], (uint32_t)in[1]};

	return CSHIM_CALL(hndl,
	                  cshim_transfer_in(context, LAPI_RMW_XFER,
	                                    (cshim_transfer){
						    .tgt = tgt,
						    .tgt_addr = remote,
						    .org_addr = width == 4 ? CSHIM_ADDR(short_in)
	                                                                   : CSHIM_ADDR(in),
						    .org_cntr = CSHIM_ADDR(counter),
						    .prev_val = CSHIM_ADDR(local),
						    .op = op,
						    .size = width * 8,
					    }));
}

static int atomic(const request *r, uint32_t op, uint64_t first, uint64_t second)
{
	const uint64_t in[2] = {first, second};
	link_op *object = NULL;
	int *counter, rc;

	if (r->remote % r->size)
		return LAPI_LINK_NOT_SUPPORTED;
	rc = begin(r, &object, &counter);
	return rc ?: began(r, object,
	                   rmw(r->link->handle, op, r->ep->task, r->remote, in, r->local, counter,
	                       (uint32_t)r->size));
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
