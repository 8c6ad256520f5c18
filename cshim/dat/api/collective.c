/*
 * collective.c - the collective calls (docs/dat.md, "Collectives"), by name and by number. coll
 * judges their arguments.
 *
 * There are two sets of names with the same operations. They differ in what a size is of, and in
 * where the parts of the v-calls are, so a call says which set it is of: nobody concludes that from
 * its counts.
 *
 * Another provider's object goes through its function for extended operations. That takes what the
 * dat_ib_ set does. Of the other set so do the calls without sizes of parts; the rest is for this
 * library's own groups.
 */
#include "dat/api/extension.h"
#include "dat/api/providers.h"
#include "dat/coll/coll.h"

#define PROVIDED(operation, handle, ...) \
	DAT_PROVIDED_OP(DAT_IB_COLLECTIVE_##operation##_OP, handle, ##__VA_ARGS__)

/*
 * Arguments that stand together in calls: how they are declared (D_), passed on (P_), read from
 * those that a call by number has (V_), and given to coll (A_).
 */
#define READ(type, name) type name = va_arg(list, type);
#define AT(place, value) [DAT_COLL_##place] = (value),

#define D_NONE
#define P_NONE
#define V_NONE
#define A_NONE

#define D_BUFFER DAT_PVOID buffer, DAT_COUNT byte_count,
#define P_BUFFER buffer, byte_count,
#define V_BUFFER READ(DAT_PVOID, buffer) READ(DAT_COUNT, byte_count)
#define A_BUFFER AT(SEND, DAT_P(buffer)) AT(SEND_SIZE, DAT_I(byte_count))

#define D_SEND DAT_PVOID send_buffer, DAT_COUNT send_byte_count,
#define P_SEND send_buffer, send_byte_count,
#define V_SEND READ(DAT_PVOID, send_buffer) READ(DAT_COUNT, send_byte_count)
#define A_SEND AT(SEND, DAT_P(send_buffer)) AT(SEND_SIZE, DAT_I(send_byte_count))

#define D_RECV DAT_PVOID recv_buffer, DAT_COUNT recv_byte_count,
#define P_RECV recv_buffer, recv_byte_count,
#define V_RECV READ(DAT_PVOID, recv_buffer) READ(DAT_COUNT, recv_byte_count)
#define A_RECV AT(RECV, DAT_P(recv_buffer)) AT(RECV_SIZE, DAT_I(recv_byte_count))

/* parts at places in one buffer */
#define D_SENDV DAT_PVOID send_buffer, DAT_COUNT *send_byte_counts, DAT_COUNT *send_places,
#define P_SENDV send_buffer, send_byte_counts, send_places,
#define V_SENDV                      \
	READ(DAT_PVOID, send_buffer) \
	READ(DAT_COUNT *, send_byte_counts) READ(DAT_COUNT *, send_places)
#define A_SENDV                      \
	AT(SEND, DAT_P(send_buffer)) \
	AT(SEND_SIZES, DAT_P(send_byte_counts)) AT(SEND_PLACES, DAT_P(send_places))

#define D_RECVV DAT_PVOID recv_buffer, DAT_COUNT *recv_byte_counts, DAT_COUNT *recv_places,
#define P_RECVV recv_buffer, recv_byte_counts, recv_places,
#define V_RECVV                      \
	READ(DAT_PVOID, recv_buffer) \
	READ(DAT_COUNT *, recv_byte_counts) READ(DAT_COUNT *, recv_places)
#define A_RECVV A_COUNTS AT(RECV_PLACES, DAT_P(recv_places))

/* parts in a buffer for each rank */
#define D_SENDS DAT_PVOID *send_buffer, DAT_COUNT *send_byte_counts,
#define A_SENDS AT(SEND, DAT_P(send_buffer)) AT(SEND_SIZES, DAT_P(send_byte_counts))
#define D_RECVS DAT_PVOID *recv_buffer, DAT_COUNT *recv_byte_counts,
#define A_RECVS A_COUNTS

#define D_COUNTS DAT_PVOID recv_buffer, DAT_COUNT *recv_byte_counts,
#define P_COUNTS recv_buffer, recv_byte_counts,
#define V_COUNTS READ(DAT_PVOID, recv_buffer) READ(DAT_COUNT *, recv_byte_counts)
#define A_COUNTS AT(RECV, DAT_P(recv_buffer)) AT(RECV_SIZES, DAT_P(recv_byte_counts))

#define D_REDUCE \
	DAT_IB_COLLECTIVE_REDUCE_DATA_OP reduce_operation, DAT_IB_COLLECTIVE_DATA_TYPE data_type,
#define P_REDUCE reduce_operation, data_type,
#define V_REDUCE                                                 \
	READ(DAT_IB_COLLECTIVE_REDUCE_DATA_OP, reduce_operation) \
	READ(DAT_IB_COLLECTIVE_DATA_TYPE, data_type)
#define A_REDUCE AT(OPERATION, DAT_I(reduce_operation)) AT(TYPE, DAT_I(data_type))

#define D_ROOT DAT_IB_COLLECTIVE_RANK root,
#define P_ROOT root,
#define V_ROOT READ(DAT_IB_COLLECTIVE_RANK, root)
#define A_ROOT AT(ROOT, DAT_I(root))

/* The operations of both sets: (name, number, arguments). */
#define BOTH(X)                                           \
	X(scatter, SCATTER, SEND, RECV, ROOT, NONE)       \
	X(gather, GATHER, SEND, RECV, ROOT, NONE)         \
	X(allgather, ALLGATHER, SEND, RECV, NONE, NONE)   \
	X(alltoall, ALLTOALL, SEND, RECV, NONE, NONE)     \
	X(reduce, REDUCE, SEND, RECV, REDUCE, ROOT)       \
	X(allreduce, ALLREDUCE, SEND, RECV, REDUCE, NONE) \
	X(scan, SCAN, SEND, RECV, REDUCE, NONE)           \
	X(reduce_scatter, REDUCE_SCATTER, SEND, COUNTS, REDUCE, NONE)
#define SIMPLE(X)                                         \
	X(broadcast, BROADCAST, BUFFER, ROOT, NONE, NONE) \
	X(barrier, BARRIER, NONE, NONE, NONE, NONE)
#define OF_RANK(X)                                         \
	X(scatterv, SCATTERV, SENDV, RECV, ROOT, NONE)     \
	X(gatherv, GATHERV, SEND, RECVV, ROOT, NONE)       \
	X(allgatherv, ALLGATHERV, SEND, RECVV, NONE, NONE) \
	X(alltoallv, ALLTOALLV, SENDV, RECVV, NONE, NONE)
#define WHOLE(X)                                           \
	X(scatterv, SCATTERV, SENDS, RECV, ROOT, NONE)     \
	X(gatherv, GATHERV, SEND, RECVS, ROOT, NONE)       \
	X(allgatherv, ALLGATHERV, SEND, RECVS, NONE, NONE) \
	X(alltoallv, ALLTOALLV, SENDS, RECVS, NONE, NONE)

#define FUNCTION(name, set, provided, number, a, b, c, d)                                         \
	DAT_RETURN(name)                                                                          \
	(DAT_IB_COLLECTIVE_HANDLE collective_handle, D_##a D_##b D_##c D_##d DAT_CONTEXT context, \
	 DAT_COMPLETION_FLAGS flags)                                                              \
	{                                                                                         \
		provided;                                                                         \
		return dat_collective_post((const uint64_t[DAT_COLL_ARGUMENTS]){                  \
			A_##a A_##b A_##c A_##d AT(GROUP, DAT_P(collective_handle))               \
				AT(KIND, DAT_IB_COLLECTIVE_##number##_STATUS) AT(SET, set)        \
					AT(CONTEXT, context.as_64) AT(FLAGS, DAT_I(flags))});     \
	}
#define THEIRS(number, a, b, c, d) \
	PROVIDED(number, collective_handle, P_##a P_##b P_##c P_##d context, flags)
#define IB_FUNCTION(name, number, a, b, c, d)                                                    \
	FUNCTION(dat_ib_collective_##name, DAT_COLL_OF_RANK, THEIRS(number, a, b, c, d), number, \
	         a, b, c, d)
#define SIMPLE_FUNCTION(name, number, a, b, c, d)                                                 \
	FUNCTION(dat_collective_##name, DAT_COLL_WHOLE, THEIRS(number, a, b, c, d), number, a, b, \
	         c, d)
#define OWN_FUNCTION(name, number, a, b, c, d) \
	FUNCTION(dat_collective_##name, DAT_COLL_WHOLE, , number, a, b, c, d)

BOTH(IB_FUNCTION)
SIMPLE(IB_FUNCTION)
OF_RANK(IB_FUNCTION)
BOTH(OWN_FUNCTION)
SIMPLE(SIMPLE_FUNCTION)
WHOLE(OWN_FUNCTION)

/* ---- Members and groups ---- */

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
		return dat_collective_post((const uint64_t[DAT_COLL_ARGUMENTS]){                  \
			AT(GROUP, DAT_P(collective_handle))                                       \
				AT(KIND, DAT_IB_COLLECTIVE_CLOCK_SET_STATUS)                      \
					AT(CLOCK, clock_value) AT(CONTEXT, user_context.as_64)}); \
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

/* ---- By number, of dat_extension_op ---- */

static DAT_RETURN create_member(DAT_HANDLE handle, va_list list)
{
	READ(void *, progress)
	READ(DAT_IB_COLLECTIVE_MEMBER *, member)

	return (dat_ib_collective_create_member)(handle, progress, member,
	                                         va_arg(list, DAT_UINT32 *));
}

static DAT_RETURN create_group(DAT_HANDLE handle, va_list list)
{
	READ(DAT_IB_COLLECTIVE_MEMBER *, members)
	READ(DAT_COUNT, size)
	READ(DAT_IB_COLLECTIVE_RANK, self)
	READ(DAT_IB_COLLECTIVE_ID, id)
	READ(DAT_IB_COLLECTIVE_GROUP *, info)
	READ(DAT_PZ_HANDLE, pz)

	return (dat_ib_collective_create_group)(members, size, self, id, info, handle, pz,
	                                        va_arg(list, DAT_CONTEXT));
}

static DAT_RETURN set_clock(DAT_HANDLE handle, va_list list)
{
	READ(DAT_UINT64, value)

	return (dat_ib_collective_set_clock)(handle, value, va_arg(list, DAT_CONTEXT));
}

#define BY_NUMBER(name, number, a, b, c, d)                                                  \
	case DAT_IB_COLLECTIVE_##number##_OP: {                                              \
		V_##a V_##b V_##c V_##d READ(DAT_CONTEXT, context)                           \
			READ(DAT_COMPLETION_FLAGS, flags) return (dat_ib_collective_##name)( \
				handle, P_##a P_##b P_##c P_##d context, flags);             \
	}

DAT_RETURN dat_collective_extension(DAT_HANDLE handle, DAT_EXTENDED_OP op, va_list list)
{
	switch (op) {
		BOTH(BY_NUMBER)
		SIMPLE(BY_NUMBER)
		OF_RANK(BY_NUMBER)
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
	}
	return DAT_NOT_IMPLEMENTED; /* without class, as programs expect it */
}
