/*
 * collective.c - the collective calls (docs/dat.md, "Collectives"): coll/post.c or core does them.
 *
 * There are two sets of names with the same operations. They differ in what a size is of, and in
 * where the parts of the v-calls are, so core is told by which set a call has come: never by what
 * its counts look like.
 *
 * Another provider's object goes through its function for extended operations. That takes what the
 * dat_ib_ set does. Of the other set so do the calls without sizes of parts; the rest is for this
 * library's own groups.
 */
#include "dat/coll/coll.h"
#include "dat/godat.h"
#include "dat/api/providers.h"

#define PROVIDED(operation, handle, ...) \
	DAT_PROVIDED_OP(DAT_IB_COLLECTIVE_##operation##_OP, handle, ##__VA_ARGS__)
/* Of a call that stands for one of each set. */
#define PROVIDED_PARTS(set, operation, handle, ...)               \
	do {                                                      \
		if ((set) == DAT_COLL_OF_RANK)                    \
			PROVIDED(operation, handle, __VA_ARGS__); \
	} while (0)

#define OPERATE(group, operation, set, context, flags, ...)               \
	dat_collective_post((const uint64_t[DAT_COLL_ARGUMENTS]){         \
		[DAT_COLL_GROUP] = DAT_P(group),                          \
		[DAT_COLL_KIND] = DAT_IB_COLLECTIVE_##operation##_STATUS, \
		[DAT_COLL_SET] = set,                                     \
		[DAT_COLL_CONTEXT] = (context).as_64,                     \
		[DAT_COLL_FLAGS] = DAT_I(flags),                          \
		##__VA_ARGS__})

#define PLAIN(from, from_size, to, to_size)                                     \
	[DAT_COLL_SEND] = DAT_P(from), [DAT_COLL_SEND_SIZE] = DAT_I(from_size), \
	[DAT_COLL_RECV] = DAT_P(to), [DAT_COLL_RECV_SIZE] = DAT_I(to_size)

/* ---- Members and groups ---- */

static DAT_RETURN set_clock(uint64_t group, uint64_t value, uint64_t context)
{
	const uint64_t arguments[] = {group, value, context};
	DAT_RETURN result;

	if (!dat_enter())
		return dat_refused();
	result = godat_call(DAT_CALL_collective_set_clock, (uint64_t *)arguments);
	dat_collective_settle();
	return dat_leave(result);
}

#define MEMBER(name)                                                                              \
	DAT_RETURN(name##_create_member)                                                          \
	(DAT_IA_HANDLE ia_handle, void *progress_func, DAT_IB_COLLECTIVE_MEMBER *member,          \
	 DAT_UINT32 *member_size)                                                                 \
	{                                                                                         \
		PROVIDED(CREATE_MEMBER, ia_handle, progress_func, member, member_size);           \
		return DAT_CALL(collective_create_member, DAT_P(ia_handle), DAT_P(progress_func), \
		                DAT_P(member), DAT_P(member_size));                               \
	}                                                                                         \
	DAT_RETURN(name##_free_member)                                                            \
	(DAT_IA_HANDLE ia_handle, DAT_IB_COLLECTIVE_MEMBER member)                                \
	{                                                                                         \
		PROVIDED(FREE_MEMBER, ia_handle, member);                                         \
		return DAT_CALL(collective_free_member, DAT_P(ia_handle), DAT_P(member));         \
	}                                                                                         \
	DAT_RETURN(name##_free_group)(DAT_IB_COLLECTIVE_HANDLE collective_handle)                 \
	{                                                                                         \
		PROVIDED(FREE_GROUP, collective_handle);                                          \
		return DAT_CALL(collective_free_group, DAT_P(collective_handle));                 \
	}                                                                                         \
	DAT_RETURN(name##_set_clock)                                                              \
	(DAT_IB_COLLECTIVE_HANDLE collective_handle, DAT_UINT64 clock_value,                      \
	 DAT_CONTEXT user_context)                                                                \
	{                                                                                         \
		PROVIDED(SET_CLOCK, collective_handle, clock_value, user_context);                \
		return set_clock(DAT_P(collective_handle), clock_value, user_context.as_64);      \
	}                                                                                         \
	DAT_RETURN(name##_read_clock)                                                             \
	(DAT_IB_COLLECTIVE_HANDLE collective_handle, DAT_UINT64 * clock_value)                    \
	{                                                                                         \
		PROVIDED(READ_CLOCK, collective_handle, clock_value);                             \
		return DAT_CALL(collective_read_clock, DAT_P(collective_handle),                  \
		                DAT_P(clock_value));                                              \
	}

MEMBER(dat_ib_collective)
MEMBER(dat_collective)

DAT_RETURN(dat_ib_collective_create_group)
(DAT_IB_COLLECTIVE_MEMBER *members, DAT_COUNT group_size, DAT_IB_COLLECTIVE_RANK self,
 DAT_IB_COLLECTIVE_ID group_id, DAT_IB_COLLECTIVE_GROUP *group_info, DAT_EVD_HANDLE evd_handle,
 DAT_PZ_HANDLE pz_handle, DAT_CONTEXT user_context)
{
	PROVIDED(CREATE_GROUP, evd_handle, members, group_size, self, group_id, group_info,
	         pz_handle, user_context);
	return DAT_CALL(collective_create_group, DAT_P(evd_handle), DAT_P(members),
	                DAT_I(group_size), DAT_I(self), DAT_I(group_id), DAT_P(group_info),
	                DAT_P(pz_handle), user_context.as_64);
}

DAT_RETURN(dat_collective_create_group)
(DAT_COLLECTIVE_MEMBER *collective_group, DAT_COUNT group_size, DAT_COLLECTIVE_RANK self,
 DAT_COLLECTIVE_ID group_id, DAT_EVD_HANDLE evd_handle, DAT_PZ_HANDLE pz_handle,
 DAT_CONTEXT user_context)
{
	return (dat_ib_collective_create_group)(collective_group, group_size, self, group_id, NULL,
	                                        evd_handle, pz_handle, user_context);
}

/* ---- What both sets have alike, but for what sizes are of ---- */

#define BOTH(name, set)                                                                            \
	DAT_RETURN(name##_broadcast)                                                               \
	(DAT_IB_COLLECTIVE_HANDLE collective_handle, DAT_PVOID buffer, DAT_COUNT byte_count,       \
	 DAT_IB_COLLECTIVE_RANK root, DAT_CONTEXT user_context,                                    \
	 DAT_COMPLETION_FLAGS completion_flags)                                                    \
	{                                                                                          \
		PROVIDED(BROADCAST, collective_handle, buffer, byte_count, root, user_context,     \
		         completion_flags);                                                        \
		return OPERATE(collective_handle, BROADCAST, set, user_context, completion_flags,  \
		               PLAIN(buffer, byte_count, NULL, 0), [DAT_COLL_ROOT] = DAT_I(root)); \
	}                                                                                          \
	DAT_RETURN(name##_barrier)                                                                 \
	(DAT_IB_COLLECTIVE_HANDLE collective_handle, DAT_CONTEXT user_context,                     \
	 DAT_COMPLETION_FLAGS completion_flags)                                                    \
	{                                                                                          \
		PROVIDED(BARRIER, collective_handle, user_context, completion_flags);              \
		return OPERATE(collective_handle, BARRIER, set, user_context, completion_flags);   \
	}

/* Operations with a plain buffer each way. */
#define ROOTED(name, operation, set)                                                              \
	DAT_RETURN(name)                                                                          \
	(DAT_IB_COLLECTIVE_HANDLE collective_handle, DAT_PVOID send_buffer,                       \
	 DAT_COUNT send_byte_count, DAT_PVOID recv_buffer, DAT_COUNT recv_byte_count,             \
	 DAT_IB_COLLECTIVE_RANK root, DAT_CONTEXT user_context,                                   \
	 DAT_COMPLETION_FLAGS completion_flags)                                                   \
	{                                                                                         \
		PROVIDED_PARTS(set, operation, collective_handle, send_buffer, send_byte_count,   \
		               recv_buffer, recv_byte_count, root, user_context,                  \
		               completion_flags);                                                 \
		return OPERATE(collective_handle, operation, set, user_context, completion_flags, \
		               PLAIN(send_buffer, send_byte_count, recv_buffer, recv_byte_count), \
		               [DAT_COLL_ROOT] = DAT_I(root));                                    \
	}
#define ROOTLESS(name, operation, set)                                                             \
	DAT_RETURN(name)                                                                           \
	(DAT_IB_COLLECTIVE_HANDLE collective_handle, DAT_PVOID send_buffer,                        \
	 DAT_COUNT send_byte_count, DAT_PVOID recv_buffer, DAT_COUNT recv_byte_count,              \
	 DAT_CONTEXT user_context, DAT_COMPLETION_FLAGS completion_flags)                          \
	{                                                                                          \
		PROVIDED_PARTS(set, operation, collective_handle, send_buffer, send_byte_count,    \
		               recv_buffer, recv_byte_count, user_context, completion_flags);      \
		return OPERATE(collective_handle, operation, set, user_context, completion_flags,  \
		               PLAIN(send_buffer, send_byte_count, recv_buffer, recv_byte_count)); \
	}
#define REDUCING(name, operation, set)                                                             \
	DAT_RETURN(name)                                                                           \
	(DAT_IB_COLLECTIVE_HANDLE collective_handle, DAT_PVOID send_buffer,                        \
	 DAT_COUNT send_byte_count, DAT_PVOID recv_buffer, DAT_COUNT recv_byte_count,              \
	 DAT_IB_COLLECTIVE_REDUCE_DATA_OP reduce_operation, DAT_IB_COLLECTIVE_DATA_TYPE data_type, \
	 DAT_CONTEXT user_context, DAT_COMPLETION_FLAGS completion_flags)                          \
	{                                                                                          \
		PROVIDED_PARTS(set, operation, collective_handle, send_buffer, send_byte_count,    \
		               recv_buffer, recv_byte_count, reduce_operation, data_type,          \
		               user_context, completion_flags);                                    \
		return OPERATE(collective_handle, operation, set, user_context, completion_flags,  \
		               PLAIN(send_buffer, send_byte_count, recv_buffer, recv_byte_count),  \
		               [DAT_COLL_OPERATION] = DAT_I(reduce_operation),                     \
		               [DAT_COLL_TYPE] = DAT_I(data_type));                                \
	}
#define TO_ROOT(name, set)                                                                         \
	DAT_RETURN(name##_reduce)                                                                  \
	(DAT_IB_COLLECTIVE_HANDLE collective_handle, DAT_PVOID send_buffer,                        \
	 DAT_COUNT send_byte_count, DAT_PVOID recv_buffer, DAT_COUNT recv_byte_count,              \
	 DAT_IB_COLLECTIVE_REDUCE_DATA_OP reduce_operation, DAT_IB_COLLECTIVE_DATA_TYPE data_type, \
	 DAT_IB_COLLECTIVE_RANK root, DAT_CONTEXT user_context,                                    \
	 DAT_COMPLETION_FLAGS completion_flags)                                                    \
	{                                                                                          \
		PROVIDED_PARTS(set, REDUCE, collective_handle, send_buffer, send_byte_count,       \
		               recv_buffer, recv_byte_count, reduce_operation, data_type, root,    \
		               user_context, completion_flags);                                    \
		return OPERATE(collective_handle, REDUCE, set, user_context, completion_flags,     \
		               PLAIN(send_buffer, send_byte_count, recv_buffer, recv_byte_count),  \
		               [DAT_COLL_OPERATION] = DAT_I(reduce_operation),                     \
		               [DAT_COLL_TYPE] = DAT_I(data_type), [DAT_COLL_ROOT] = DAT_I(root)); \
	}                                                                                          \
	DAT_RETURN(name##_reduce_scatter)                                                          \
	(DAT_IB_COLLECTIVE_HANDLE collective_handle, DAT_PVOID send_buffer,                        \
	 DAT_COUNT send_byte_count, DAT_PVOID recv_buffer, DAT_COUNT * recv_byte_counts,           \
	 DAT_IB_COLLECTIVE_REDUCE_DATA_OP reduce_operation, DAT_IB_COLLECTIVE_DATA_TYPE data_type, \
	 DAT_CONTEXT user_context, DAT_COMPLETION_FLAGS completion_flags)                          \
	{                                                                                          \
		PROVIDED_PARTS(set, REDUCE_SCATTER, collective_handle, send_buffer,                \
		               send_byte_count, recv_buffer, recv_byte_counts, reduce_operation,   \
		               data_type, user_context, completion_flags);                         \
		return OPERATE(collective_handle, REDUCE_SCATTER, set, user_context,               \
		               completion_flags,                                                   \
		               PLAIN(send_buffer, send_byte_count, recv_buffer, 0),                \
		               [DAT_COLL_RECV_SIZES] = DAT_P(recv_byte_counts),                    \
		               [DAT_COLL_OPERATION] = DAT_I(reduce_operation),                     \
		               [DAT_COLL_TYPE] = DAT_I(data_type));                                \
	}
#define SET(name, set)                             \
	BOTH(name, set)                            \
	ROOTED(name##_scatter, SCATTER, set)       \
	ROOTED(name##_gather, GATHER, set)         \
	ROOTLESS(name##_allgather, ALLGATHER, set) \
	ROOTLESS(name##_alltoall, ALLTOALL, set)   \
	TO_ROOT(name, set)                         \
	REDUCING(name##_allreduce, ALLREDUCE, set) \
	REDUCING(name##_scan, SCAN, set)

SET(dat_ib_collective, DAT_COLL_OF_RANK)
SET(dat_collective, DAT_COLL_WHOLE)

/* ---- Parts of different sizes: in one buffer ---- */

DAT_RETURN(dat_ib_collective_scatterv)
(DAT_IB_COLLECTIVE_HANDLE collective_handle, DAT_PVOID send_buffer, DAT_COUNT *send_byte_counts,
 DAT_COUNT *displacements, DAT_PVOID recv_buffer, DAT_COUNT recv_byte_count,
 DAT_IB_COLLECTIVE_RANK root, DAT_CONTEXT user_context, DAT_COMPLETION_FLAGS completion_flags)
{
	PROVIDED(SCATTERV, collective_handle, send_buffer, send_byte_counts, displacements,
	         recv_buffer, recv_byte_count, root, user_context, completion_flags);
	return OPERATE(
		collective_handle, SCATTERV, DAT_COLL_OF_RANK, user_context, completion_flags,
		PLAIN(send_buffer, 0, recv_buffer, recv_byte_count),
		[DAT_COLL_SEND_SIZES] = DAT_P(send_byte_counts),
		[DAT_COLL_SEND_PLACES] = DAT_P(displacements), [DAT_COLL_ROOT] = DAT_I(root));
}

DAT_RETURN(dat_ib_collective_gatherv)
(DAT_IB_COLLECTIVE_HANDLE collective_handle, DAT_PVOID send_buffer, DAT_COUNT send_byte_count,
 DAT_PVOID recv_buffer, DAT_COUNT *recv_byte_counts, DAT_COUNT *displacements,
 DAT_IB_COLLECTIVE_RANK root, DAT_CONTEXT user_context, DAT_COMPLETION_FLAGS completion_flags)
{
	PROVIDED(GATHERV, collective_handle, send_buffer, send_byte_count, recv_buffer,
	         recv_byte_counts, displacements, root, user_context, completion_flags);
	return OPERATE(
		collective_handle, GATHERV, DAT_COLL_OF_RANK, user_context, completion_flags,
		PLAIN(send_buffer, send_byte_count, recv_buffer, 0),
		[DAT_COLL_RECV_SIZES] = DAT_P(recv_byte_counts),
		[DAT_COLL_RECV_PLACES] = DAT_P(displacements), [DAT_COLL_ROOT] = DAT_I(root));
}

DAT_RETURN(dat_ib_collective_allgatherv)
(DAT_IB_COLLECTIVE_HANDLE collective_handle, DAT_PVOID send_buffer, DAT_COUNT send_byte_count,
 DAT_PVOID recv_buffer, DAT_COUNT *recv_byte_counts, DAT_COUNT *displacements,
 DAT_CONTEXT user_context, DAT_COMPLETION_FLAGS completion_flags)
{
	PROVIDED(ALLGATHERV, collective_handle, send_buffer, send_byte_count, recv_buffer,
	         recv_byte_counts, displacements, user_context, completion_flags);
	return OPERATE(collective_handle, ALLGATHERV, DAT_COLL_OF_RANK, user_context,
	               completion_flags, PLAIN(send_buffer, send_byte_count, recv_buffer, 0),
	               [DAT_COLL_RECV_SIZES] = DAT_P(recv_byte_counts),
	               [DAT_COLL_RECV_PLACES] = DAT_P(displacements));
}

DAT_RETURN(dat_ib_collective_alltoallv)
(DAT_IB_COLLECTIVE_HANDLE collective_handle, DAT_PVOID send_buffer, DAT_COUNT *send_byte_counts,
 DAT_COUNT *send_displacements, DAT_PVOID recv_buffer, DAT_COUNT *recv_byte_counts,
 DAT_COUNT *recv_displacements, DAT_CONTEXT user_context, DAT_COMPLETION_FLAGS completion_flags)
{
	PROVIDED(ALLTOALLV, collective_handle, send_buffer, send_byte_counts, send_displacements,
	         recv_buffer, recv_byte_counts, recv_displacements, user_context, completion_flags);
	return OPERATE(collective_handle, ALLTOALLV, DAT_COLL_OF_RANK, user_context,
	               completion_flags, PLAIN(send_buffer, 0, recv_buffer, 0),
	               [DAT_COLL_SEND_SIZES] = DAT_P(send_byte_counts),
	               [DAT_COLL_SEND_PLACES] = DAT_P(send_displacements),
	               [DAT_COLL_RECV_SIZES] = DAT_P(recv_byte_counts),
	               [DAT_COLL_RECV_PLACES] = DAT_P(recv_displacements));
}

/* ---- The same in a buffer for each rank ---- */

DAT_RETURN(dat_collective_scatterv)
(DAT_COLLECTIVE_HANDLE collective_handle, DAT_PVOID *send_buffers, DAT_COUNT *send_byte_counts,
 DAT_PVOID recv_buffer, DAT_COUNT recv_byte_count, DAT_COLLECTIVE_RANK root,
 DAT_CONTEXT user_context, DAT_COMPLETION_FLAGS completion_flags)
{
	return OPERATE(
		collective_handle, SCATTERV, DAT_COLL_WHOLE, user_context, completion_flags,
		PLAIN(send_buffers, 0, recv_buffer, recv_byte_count),
		[DAT_COLL_SEND_SIZES] = DAT_P(send_byte_counts), [DAT_COLL_ROOT] = DAT_I(root));
}

DAT_RETURN(dat_collective_gatherv)
(DAT_COLLECTIVE_HANDLE collective_handle, DAT_PVOID send_buffer, DAT_COUNT send_byte_count,
 DAT_PVOID *recv_buffers, DAT_COUNT *recv_byte_counts, DAT_COLLECTIVE_RANK root,
 DAT_CONTEXT user_context, DAT_COMPLETION_FLAGS completion_flags)
{
	return OPERATE(
		collective_handle, GATHERV, DAT_COLL_WHOLE, user_context, completion_flags,
		PLAIN(send_buffer, send_byte_count, recv_buffers, 0),
		[DAT_COLL_RECV_SIZES] = DAT_P(recv_byte_counts), [DAT_COLL_ROOT] = DAT_I(root));
}

DAT_RETURN(dat_collective_allgatherv)
(DAT_COLLECTIVE_HANDLE collective_handle, DAT_PVOID send_buffer, DAT_COUNT send_byte_count,
 DAT_PVOID *recv_buffers, DAT_COUNT *recv_byte_counts, DAT_CONTEXT user_context,
 DAT_COMPLETION_FLAGS completion_flags)
{
	return OPERATE(collective_handle, ALLGATHERV, DAT_COLL_WHOLE, user_context,
	               completion_flags, PLAIN(send_buffer, send_byte_count, recv_buffers, 0),
	               [DAT_COLL_RECV_SIZES] = DAT_P(recv_byte_counts));
}

DAT_RETURN(dat_collective_alltoallv)
(DAT_COLLECTIVE_HANDLE collective_handle, DAT_PVOID *send_buffers, DAT_COUNT *send_byte_counts,
 DAT_PVOID *recv_buffers, DAT_COUNT *recv_byte_counts, DAT_CONTEXT user_context,
 DAT_COMPLETION_FLAGS completion_flags)
{
	return OPERATE(collective_handle, ALLTOALLV, DAT_COLL_WHOLE, user_context, completion_flags,
	               PLAIN(send_buffers, 0, recv_buffers, 0),
	               [DAT_COLL_SEND_SIZES] = DAT_P(send_byte_counts),
	               [DAT_COLL_RECV_SIZES] = DAT_P(recv_byte_counts));
}
