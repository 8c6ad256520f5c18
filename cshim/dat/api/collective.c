/*
 * collective.c - the collective calls (docs/dev/dat.md, "Collectives"), by name and by number. coll
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
#include "dat/coll/coll.h"

#define PROVIDED(operation, handle, ...) \
	DAT_PROVIDED_OP(DAT_IB_COLLECTIVE_##operation##_OP, handle, ##__VA_ARGS__)

/* Arguments that stand together in calls: X(type, name, place, how it is passed on). */
#define NONE(X)
#define BUFFER(X) X(DAT_PVOID, buffer, SEND, DAT_P) X(DAT_COUNT, byte_count, SEND_SIZE, DAT_I)
#define SEND(X) X(DAT_PVOID, send, SEND, DAT_P) X(DAT_COUNT, send_size, SEND_SIZE, DAT_I)
#define RECV(X) X(DAT_PVOID, recv, RECV, DAT_P) X(DAT_COUNT, recv_size, RECV_SIZE, DAT_I)
/* parts at places in one buffer */
#define COUNTS(X) X(DAT_PVOID, recv, RECV, DAT_P) X(DAT_COUNT *, recv_sizes, RECV_SIZES, DAT_P)
#define RECVV(X) COUNTS(X) X(DAT_COUNT *, recv_places, RECV_PLACES, DAT_P)
#define SENDV(X)                                      \
	X(DAT_PVOID, send, SEND, DAT_P)               \
	X(DAT_COUNT *, send_sizes, SEND_SIZES, DAT_P) \
	X(DAT_COUNT *, send_places, SEND_PLACES, DAT_P)
/* parts in a buffer for each rank */
#define SENDS(X) X(DAT_PVOID *, send, SEND, DAT_P) X(DAT_COUNT *, send_sizes, SEND_SIZES, DAT_P)
#define RECVS(X) X(DAT_PVOID *, recv, RECV, DAT_P) X(DAT_COUNT *, recv_sizes, RECV_SIZES, DAT_P)
#define REDUCED(X)                                                \
	X(DAT_IB_COLLECTIVE_REDUCE_DATA_OP, op, OPERATION, DAT_I) \
	X(DAT_IB_COLLECTIVE_DATA_TYPE, type, TYPE, DAT_I)
#define ROOT(X) X(DAT_IB_COLLECTIVE_RANK, root, ROOT, DAT_I)

#define DECLARED(type, name, place, as) type name,
#define PASSED(type, name, place, as) name,
#define READ(type, name) type name = va_arg(list, type);
#define IN_LIST(type, name, place, as) READ(type, name)
#define AT(place, value) [DAT_COLL_##place] = (value),
#define PLACED(type, name, place, as) AT(place, as(name))

/* The operations of both sets: (name, number, arguments). */
#define BOTH(X)                                            \
	X(scatter, SCATTER, SEND, RECV, ROOT, NONE)        \
	X(gather, GATHER, SEND, RECV, ROOT, NONE)          \
	X(allgather, ALLGATHER, SEND, RECV, NONE, NONE)    \
	X(alltoall, ALLTOALL, SEND, RECV, NONE, NONE)      \
	X(reduce, REDUCE, SEND, RECV, REDUCED, ROOT)       \
	X(allreduce, ALLREDUCE, SEND, RECV, REDUCED, NONE) \
	X(scan, SCAN, SEND, RECV, REDUCED, NONE)           \
	X(reduce_scatter, REDUCE_SCATTER, SEND, COUNTS, REDUCED, NONE)
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

#define FUNCTION(name, set, provided, number, a, b, c, d)                                     \
	DAT_RETURN(name)                                                                      \
	(DAT_IB_COLLECTIVE_HANDLE collective_handle,                                          \
	 a(DECLARED) b(DECLARED) c(DECLARED) d(DECLARED) DAT_CONTEXT context,                 \
	 DAT_COMPLETION_FLAGS flags)                                                          \
	{                                                                                     \
		provided;                                                                     \
		return dat_collective_post((const uint64_t[DAT_COLL_ARGUMENTS]){              \
			a(PLACED) b(PLACED) c(PLACED) d(PLACED) AT(GROUP,                     \
		                                                   DAT_P(collective_handle))  \
				AT(KIND, DAT_IB_COLLECTIVE_##number##_STATUS) AT(SET, set)    \
					AT(CONTEXT, context.as_64) AT(FLAGS, DAT_I(flags))}); \
	}
#define THEIRS(number, a, b, c, d) \
	PROVIDED(number, collective_handle, a(PASSED) b(PASSED) c(PASSED) d(PASSED) context, flags)
#define IB_FUNCTION(name, number, a, b, c, d)                                                    \
	FUNCTION(dat_ib_collective_##name, DAT_COLL_OF_RANK, THEIRS(number, a, b, c, d), number, \
	         a, b, c, d)
#define OWN_FUNCTION(name, number, a, b, c, d) \
	FUNCTION(dat_collective_##name, DAT_COLL_WHOLE, , number, a, b, c, d)

BOTH(IB_FUNCTION)
SIMPLE(IB_FUNCTION)
OF_RANK(IB_FUNCTION)
BOTH(OWN_FUNCTION)
WHOLE(OWN_FUNCTION)

/* ---- Members and groups ---- */

DAT_RETURN(dat_ib_collective_set_clock)
(DAT_IB_COLLECTIVE_HANDLE collective_handle, DAT_UINT64 clock_value, DAT_CONTEXT user_context)
{
	PROVIDED(SET_CLOCK, collective_handle, clock_value, user_context);
	return dat_collective_post((const uint64_t[DAT_COLL_ARGUMENTS]){
		AT(GROUP, DAT_P(collective_handle)) AT(KIND, DAT_IB_COLLECTIVE_CLOCK_SET_STATUS)
			AT(CLOCK, clock_value) AT(CONTEXT, user_context.as_64)});
}

DAT_SAME(set_clock)
DAT_SAME(broadcast)
DAT_SAME(barrier)

DAT_RETURN(dat_ib_collective_create_group)
(DAT_IB_COLLECTIVE_MEMBER *members, DAT_COUNT group_size, DAT_IB_COLLECTIVE_RANK self,
 DAT_IB_COLLECTIVE_ID group_id, DAT_IB_COLLECTIVE_GROUP *group_info, DAT_EVD_HANDLE evd_handle,
 DAT_PZ_HANDLE pz_handle, DAT_CONTEXT user_context)
{
	PROVIDED(CREATE_GROUP, evd_handle, members, group_size, self, group_id, group_info,
	         pz_handle, user_context);
	return DAT_CALL(ib_collective_create_group, DAT_P(evd_handle), DAT_P(members),
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

#define BY_NUMBER(name, number, a, b, c, d)                                                      \
	case DAT_IB_COLLECTIVE_##number##_OP: {                                                  \
		a(IN_LIST) b(IN_LIST) c(IN_LIST) d(IN_LIST) READ(DAT_CONTEXT, context)           \
			READ(DAT_COMPLETION_FLAGS, flags) return (dat_ib_collective_##name)(     \
				handle, a(PASSED) b(PASSED) c(PASSED) d(PASSED) context, flags); \
	}

DAT_RETURN dat_collective_extension(DAT_HANDLE handle, DAT_EXTENDED_OP op, va_list list)
{
	switch (op) {
		BOTH(BY_NUMBER)
		SIMPLE(BY_NUMBER)
		OF_RANK(BY_NUMBER)
	case DAT_IB_COLLECTIVE_CREATE_GROUP_OP:
		return create_group(handle, list);
	}
	return DAT_NOT_IMPLEMENTED; /* without class, as programs expect it */
}
