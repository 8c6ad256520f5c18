/* extension.c - dat_extension_op: the extensions by number, as programs built elsewhere call them.
 */
#include "dat/api/providers.h"
#include "dat/api/extension.h"

typedef DAT_LMR_TRIPLET *local_iov;
typedef DAT_RMR_TRIPLET *remote_iov;

static DAT_RETURN fetch_and_add(DAT_HANDLE handle, va_list list)
{
	DAT_UINT64 add = va_arg(list, DAT_UINT64);
	local_iov local = va_arg(list, local_iov);
	DAT_CONTEXT cookie = va_arg(list, DAT_CONTEXT);
	remote_iov remote = va_arg(list, remote_iov);

	return (dat_ib_post_fetch_and_add)(handle, add, local, cookie, remote,
	                                   va_arg(list, DAT_COMPLETION_FLAGS));
}

static DAT_RETURN cmp_and_swap(DAT_HANDLE handle, va_list list)
{
	DAT_UINT64 compare = va_arg(list, DAT_UINT64);
	DAT_UINT64 swap = va_arg(list, DAT_UINT64);
	local_iov local = va_arg(list, local_iov);
	DAT_CONTEXT cookie = va_arg(list, DAT_CONTEXT);
	remote_iov remote = va_arg(list, remote_iov);

	return (dat_ib_post_cmp_and_swap)(handle, compare, swap, local, cookie, remote,
	                                  va_arg(list, DAT_COMPLETION_FLAGS));
}

static DAT_RETURN write_immed(DAT_HANDLE handle, va_list list)
{
	DAT_COUNT segments = va_arg(list, DAT_COUNT);
	local_iov local = va_arg(list, local_iov);
	DAT_CONTEXT cookie = va_arg(list, DAT_CONTEXT);
	remote_iov remote = va_arg(list, remote_iov);
	DAT_UINT32 data = va_arg(list, DAT_UINT32);

	return (dat_ib_post_rdma_write_immed)(handle, segments, local, cookie, remote, data,
	                                      va_arg(list, DAT_COMPLETION_FLAGS));
}

static DAT_RETURN send_ud(DAT_HANDLE handle, va_list list)
{
	DAT_COUNT segments = va_arg(list, DAT_COUNT);
	local_iov local = va_arg(list, local_iov);
	DAT_IB_ADDR_HANDLE *to = va_arg(list, DAT_IB_ADDR_HANDLE *);
	DAT_CONTEXT cookie = va_arg(list, DAT_CONTEXT);

	return (dat_ib_post_send_ud)(handle, segments, local, to, cookie,
	                             va_arg(list, DAT_COMPLETION_FLAGS));
}

static DAT_RETURN query_counters(DAT_HANDLE handle, va_list list)
{
	int counter = va_arg(list, int);
	DAT_UINT64 *counters = va_arg(list, DAT_UINT64 *);

	return (dat_ib_query_counters)(handle, counter, counters, va_arg(list, int));
}

static DAT_RETURN print_counters(DAT_HANDLE handle, va_list list)
{
	int counter = va_arg(list, int);

	return (dat_ib_print_counters)(handle, counter, va_arg(list, int));
}

static DAT_RETURN open_query(va_list list)
{
	DAT_NAME_PTR name = va_arg(list, DAT_NAME_PTR);
	DAT_HANDLE *handle = va_arg(list, DAT_HANDLE *);
	DAT_IA_ATTR_MASK mask = va_arg(list, DAT_IA_ATTR_MASK);
	DAT_IA_ATTR *attributes = va_arg(list, DAT_IA_ATTR *);
	DAT_PROVIDER_ATTR_MASK provider = va_arg(list, DAT_PROVIDER_ATTR_MASK);

	return (dat_ib_open_query)(name, handle, mask, attributes, provider,
	                           va_arg(list, DAT_PROVIDER_ATTR *));
}

static DAT_RETURN extension(DAT_HANDLE handle, DAT_EXTENDED_OP op, va_list list)
{
	switch (op) {
	case DAT_IB_FETCH_AND_ADD_OP:
		return fetch_and_add(handle, list);
	case DAT_IB_CMP_AND_SWAP_OP:
		return cmp_and_swap(handle, list);
	case DAT_IB_RDMA_WRITE_IMMED_OP:
		return write_immed(handle, list);
	case DAT_IB_UD_SEND_OP:
		return send_ud(handle, list);
	case DAT_IB_QUERY_COUNTERS_OP:
		return query_counters(handle, list);
	case DAT_IB_PRINT_COUNTERS_OP:
		return print_counters(handle, list);
	case DAT_IB_START_COUNTERS_OP:
		return (dat_ib_start_counter)(handle, va_arg(list, DAT_COUNTER_TYPE));
	case DAT_IB_STOP_COUNTERS_OP:
		return (dat_ib_stop_counter)(handle, va_arg(list, DAT_COUNTER_TYPE));
	case DAT_IB_UD_CM_FREE_OP:
		return (dat_ib_ud_cm_free)(handle, va_arg(list, DAT_CONTEXT));
	case DAT_IB_UD_AH_FREE_OP:
		return (dat_ib_ud_ah_free)(handle, va_arg(list, DAT_IB_ADDR_HANDLE *));
	case DAT_IB_OPEN_QUERY_OP:
		return open_query(list);
	case DAT_IB_CLOSE_QUERY_OP:
		return (dat_ib_close_query)(handle);
	}
	return dat_collective_extension(handle, op, list);
}

/* Of an object of another provider: by its function, if some adapter has extensions. */
static DAT_RETURN provided(const DAT_PROVIDER *table, DAT_HANDLE handle, DAT_EXTENDED_OP op,
                           va_list list)
{
	if (!dat_extensions || !table->handle_extendedop_func)
		return DAT_NOT_IMPLEMENTED;
	return table->handle_extendedop_func(handle, op, list);
}

DAT_RETURN dat_extension_op(DAT_HANDLE handle, DAT_EXTENDED_OP op, ...)
{
	const DAT_PROVIDER *table = NULL;
	DAT_RETURN result;
	va_list list;

	/* queries by name are the registry's */
	if (op != DAT_IB_OPEN_QUERY_OP && op != DAT_IB_CLOSE_QUERY_OP)
		table = dat_provider_of(handle);
	va_start(list, op);
	result = table ? provided(table, handle, op, list) : extension(handle, op, list);
	va_end(list);
	return result;
}
