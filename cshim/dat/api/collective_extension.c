/* collective_extension.c - the collective calls by number, of dat_extension_op. */
#include "dat/api/block.h"
#include "dat/api/extension.h"

/* The arguments of an operation, as they follow each other. Only those that it has are taken. */
#define POINTER(name) DAT_PVOID name = va_arg(list, DAT_PVOID)
#define SIZE(name) DAT_COUNT name = va_arg(list, DAT_COUNT)
#define SIZES(name) DAT_COUNT *name = va_arg(list, DAT_COUNT *)
#define RANK(name) DAT_IB_COLLECTIVE_RANK name = va_arg(list, DAT_IB_COLLECTIVE_RANK)
#define REDUCTION                                               \
	DAT_IB_COLLECTIVE_REDUCE_DATA_OP operation =            \
		va_arg(list, DAT_IB_COLLECTIVE_REDUCE_DATA_OP); \
	DAT_IB_COLLECTIVE_DATA_TYPE type = va_arg(list, DAT_IB_COLLECTIVE_DATA_TYPE)
#define END                                              \
	DAT_CONTEXT context = va_arg(list, DAT_CONTEXT); \
	DAT_COMPLETION_FLAGS flags = va_arg(list, DAT_COMPLETION_FLAGS)

static DAT_RETURN create_member(DAT_HANDLE handle, va_list list)
{
	POINTER(progress);
	DAT_IB_COLLECTIVE_MEMBER *member = va_arg(list, DAT_IB_COLLECTIVE_MEMBER *);

	return (dat_ib_collective_create_member)(handle, progress, member,
	                                         va_arg(list, DAT_UINT32 *));
}

static DAT_RETURN create_group(DAT_HANDLE handle, va_list list)
{
	DAT_IB_COLLECTIVE_MEMBER *members = va_arg(list, DAT_IB_COLLECTIVE_MEMBER *);
	SIZE(size);
	RANK(self);
	DAT_IB_COLLECTIVE_ID id = va_arg(list, DAT_IB_COLLECTIVE_ID);
	DAT_IB_COLLECTIVE_GROUP *info = va_arg(list, DAT_IB_COLLECTIVE_GROUP *);
	DAT_PZ_HANDLE pz = va_arg(list, DAT_PZ_HANDLE);

	return (dat_ib_collective_create_group)(members, size, self, id, info, handle, pz,
	                                        va_arg(list, DAT_CONTEXT));
}

static DAT_RETURN set_clock(DAT_HANDLE handle, va_list list)
{
	DAT_UINT64 value = va_arg(list, DAT_UINT64);

	return (dat_ib_collective_set_clock)(handle, value, va_arg(list, DAT_CONTEXT));
}

static DAT_RETURN rooted(DAT_HANDLE handle, DAT_EXTENDED_OP op, va_list list)
{
	POINTER(send);
	SIZE(send_size);
	POINTER(recv);
	SIZE(recv_size);
	RANK(root);
	END;

	if (op == DAT_IB_COLLECTIVE_SCATTER_OP)
		return (dat_ib_collective_scatter)(handle, send, send_size, recv, recv_size, root,
		                                   context, flags);
	return (dat_ib_collective_gather)(handle, send, send_size, recv, recv_size, root, context,
	                                  flags);
}

static DAT_RETURN rootless(DAT_HANDLE handle, DAT_EXTENDED_OP op, va_list list)
{
	POINTER(send);
	SIZE(send_size);
	POINTER(recv);
	SIZE(recv_size);
	END;

	if (op == DAT_IB_COLLECTIVE_ALLGATHER_OP)
		return (dat_ib_collective_allgather)(handle, send, send_size, recv, recv_size,
		                                     context, flags);
	return (dat_ib_collective_alltoall)(handle, send, send_size, recv, recv_size, context,
	                                    flags);
}

static DAT_RETURN scatterv(DAT_HANDLE handle, va_list list)
{
	POINTER(send);
	SIZES(sizes);
	SIZES(places);
	POINTER(recv);
	SIZE(recv_size);
	RANK(root);
	END;

	return (dat_ib_collective_scatterv)(handle, send, sizes, places, recv, recv_size, root,
	                                    context, flags);
}

static DAT_RETURN gatherv(DAT_HANDLE handle, va_list list)
{
	POINTER(send);
	SIZE(send_size);
	POINTER(recv);
	SIZES(sizes);
	SIZES(places);
	RANK(root);
	END;

	return (dat_ib_collective_gatherv)(handle, send, send_size, recv, sizes, places, root,
	                                   context, flags);
}

static DAT_RETURN allgatherv(DAT_HANDLE handle, va_list list)
{
	POINTER(send);
	SIZE(send_size);
	POINTER(recv);
	SIZES(sizes);
	SIZES(places);
	END;

	return (dat_ib_collective_allgatherv)(handle, send, send_size, recv, sizes, places, context,
	                                      flags);
}

static DAT_RETURN alltoallv(DAT_HANDLE handle, va_list list)
{
	POINTER(send);
	SIZES(send_sizes);
	SIZES(send_places);
	POINTER(recv);
	SIZES(recv_sizes);
	SIZES(recv_places);
	END;

	return (dat_ib_collective_alltoallv)(handle, send, send_sizes, send_places, recv,
	                                     recv_sizes, recv_places, context, flags);
}

static DAT_RETURN reduce(DAT_HANDLE handle, va_list list)
{
	POINTER(send);
	SIZE(send_size);
	POINTER(recv);
	SIZE(recv_size);
	REDUCTION;
	RANK(root);
	END;

	return (dat_ib_collective_reduce)(handle, send, send_size, recv, recv_size, operation, type,
	                                  root, context, flags);
}

static DAT_RETURN reduce_scatter(DAT_HANDLE handle, va_list list)
{
	POINTER(send);
	SIZE(send_size);
	POINTER(recv);
	SIZES(sizes);
	REDUCTION;
	END;

	return (dat_ib_collective_reduce_scatter)(handle, send, send_size, recv, sizes, operation,
	                                          type, context, flags);
}

static DAT_RETURN reduce_to_all(DAT_HANDLE handle, DAT_EXTENDED_OP op, va_list list)
{
	POINTER(send);
	SIZE(send_size);
	POINTER(recv);
	SIZE(recv_size);
	REDUCTION;
	END;

	if (op == DAT_IB_COLLECTIVE_ALLREDUCE_OP)
		return (dat_ib_collective_allreduce)(handle, send, send_size, recv, recv_size,
		                                     operation, type, context, flags);
	return (dat_ib_collective_scan)(handle, send, send_size, recv, recv_size, operation, type,
	                                context, flags);
}

static DAT_RETURN broadcast(DAT_HANDLE handle, va_list list)
{
	POINTER(buffer);
	SIZE(size);
	RANK(root);
	END;

	return (dat_ib_collective_broadcast)(handle, buffer, size, root, context, flags);
}

static DAT_RETURN barrier(DAT_HANDLE handle, va_list list)
{
	END;

	return (dat_ib_collective_barrier)(handle, context, flags);
}

DAT_RETURN dat_collective_extension(DAT_HANDLE handle, DAT_EXTENDED_OP op, va_list list)
{
	switch (op) {
	case DAT_IB_COLLECTIVE_CREATE_MEMBER_OP:
		return create_member(handle, list);
	case DAT_IB_COLLECTIVE_FREE_MEMBER_OP:
		return (dat_ib_collective_free_member)(handle,
		                                       va_arg(list, DAT_IB_COLLECTIVE_MEMBER));
	case DAT_IB_COLLECTIVE_CREATE_GROUP_OP:
		return create_group(handle, list);
	case DAT_IB_COLLECTIVE_FREE_GROUP_OP:
		return (dat_ib_collective_free_group)(handle);
	case DAT_IB_COLLECTIVE_SET_CLOCK_OP:
		return set_clock(handle, list);
	case DAT_IB_COLLECTIVE_READ_CLOCK_OP:
		return (dat_ib_collective_read_clock)(handle, va_arg(list, DAT_UINT64 *));
	case DAT_IB_COLLECTIVE_SCATTER_OP:
	case DAT_IB_COLLECTIVE_GATHER_OP:
		return rooted(handle, op, list);
	case DAT_IB_COLLECTIVE_SCATTERV_OP:
		return scatterv(handle, list);
	case DAT_IB_COLLECTIVE_GATHERV_OP:
		return gatherv(handle, list);
	case DAT_IB_COLLECTIVE_ALLGATHER_OP:
	case DAT_IB_COLLECTIVE_ALLTOALL_OP:
		return rootless(handle, op, list);
	case DAT_IB_COLLECTIVE_ALLGATHERV_OP:
		return allgatherv(handle, list);
	case DAT_IB_COLLECTIVE_ALLTOALLV_OP:
		return alltoallv(handle, list);
	case DAT_IB_COLLECTIVE_REDUCE_OP:
		return reduce(handle, list);
	case DAT_IB_COLLECTIVE_REDUCE_SCATTER_OP:
		return reduce_scatter(handle, list);
	case DAT_IB_COLLECTIVE_ALLREDUCE_OP:
	case DAT_IB_COLLECTIVE_SCAN_OP:
		return reduce_to_all(handle, op, list);
	case DAT_IB_COLLECTIVE_BROADCAST_OP:
		return broadcast(handle, list);
	case DAT_IB_COLLECTIVE_BARRIER_OP:
		return barrier(handle, list);
	}
	return DAT_NOT_IMPLEMENTED; /* without class, as programs expect it */
}
