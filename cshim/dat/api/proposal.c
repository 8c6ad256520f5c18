/* proposal.c - the entry points of the proposal of 2005 (dat/dat_extensions.h). */
#include <stdarg.h>

#include "dat/api/block.h"

#pragma GCC visibility push(default)
#include <dat/dat_extensions.h>
#pragma GCC visibility pop

static DAT_RETURN write_immed(DAT_HANDLE handle, va_list list)
{
	DAT_COUNT segments = va_arg(list, DAT_COUNT);
	DAT_LMR_TRIPLET *local = va_arg(list, DAT_LMR_TRIPLET *);
	DAT_CONTEXT cookie = va_arg(list, DAT_CONTEXT);
	DAT_RMR_TRIPLET *remote = va_arg(list, DAT_RMR_TRIPLET *);
	DAT_UINT32 data = va_arg(list, DAT_UINT32);

	(void)va_arg(list, int); /* DAT_EXT_FLAGS: every write does both */
	return (dat_ib_post_rdma_write_immed)(handle, segments, local, cookie, remote, data,
	                                      va_arg(list, DAT_COMPLETION_FLAGS));
}

static DAT_RETURN receive(DAT_HANDLE handle, va_list list)
{
	DAT_COUNT segments = va_arg(list, DAT_COUNT);
	DAT_LMR_TRIPLET *local = va_arg(list, DAT_LMR_TRIPLET *);
	DAT_CONTEXT cookie = va_arg(list, DAT_CONTEXT);

	return dat_ep_post_recv(handle, segments, local, cookie,
	                        va_arg(list, DAT_COMPLETION_FLAGS));
}

static DAT_RETURN on_word(DAT_HANDLE handle, int swaps, va_list list)
{
	DAT_UINT64 first = va_arg(list, DAT_UINT64);
	DAT_UINT64 second = swaps ? va_arg(list, DAT_UINT64) : 0;
	DAT_LMR_TRIPLET *local = va_arg(list, DAT_LMR_TRIPLET *);
	DAT_CONTEXT cookie = va_arg(list, DAT_CONTEXT);
	DAT_RMR_TRIPLET *remote = va_arg(list, DAT_RMR_TRIPLET *);
	DAT_COMPLETION_FLAGS flags = va_arg(list, DAT_COMPLETION_FLAGS);

	return swaps ? (dat_ib_post_cmp_and_swap)(handle, first, second, local, cookie, remote,
	                                          flags)
	             : (dat_ib_post_fetch_and_add)(handle, first, local, cookie, remote, flags);
}

static DAT_RETURN proposed(DAT_HANDLE handle, DAT_EXT_OP op, va_list list)
{
	switch (op) {
	case DAT_EXT_RDMA_WRITE_IMMED:
		return write_immed(handle, list);
	case DAT_EXT_RECV_IMMED:
		return receive(handle, list);
	case DAT_EXT_FETCH_AND_ADD:
		return on_word(handle, 0, list);
	case DAT_EXT_CMP_AND_SWAP:
		return on_word(handle, 1, list);
	}
	return DAT_NOT_IMPLEMENTED;
}

DAT_RETURN dat_extension(DAT_HANDLE handle, DAT_EXT_OP op, ...)
{
	DAT_RETURN result;
	va_list list;

	if (!handle)
		return DAT_CLASS_ERROR | DAT_INVALID_HANDLE;
	if (!dat_extensions)
		return DAT_NOT_IMPLEMENTED;
	va_start(list, op);
	result = proposed(handle, op, list);
	va_end(list);
	return result;
}
