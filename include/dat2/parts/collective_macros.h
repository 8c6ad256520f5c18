/*
 * collective_macros.h - part of collective.h: dat_ib_collective_X by dat_extension_op, and the
 * choice between the two sets of calls by the number of arguments.
 *
 * Calls that do not compile in the reference (set_clock, read_clock, gatherv, alltoallv) do here.
 */
#ifndef DAT2_PARTS_COLLECTIVE_MACROS_H
#define DAT2_PARTS_COLLECTIVE_MACROS_H

#ifndef DAT2_PARTS_COLLECTIVE_H
#error include <dat2/dat_ib_extensions.h>
#endif

/*
 * The name of the macro for as many arguments as there are: DAT_ARGS_CHOOSE(F, ...) is F_8 for
 * eight. C++98 by the letter has no macros with any number of arguments: only the reference's
 * number there.
 */
#if defined(__cplusplus) && __cplusplus < 201103L && defined(__STRICT_ANSI__)
#define dat_ib_collective_create_group DAT_IB_CREATE_GROUP_8
#define dat_ib_collective_scatterv DAT_IB_SCATTERV_9
#define dat_ib_collective_gatherv DAT_IB_GATHERV_9
#define dat_ib_collective_allgatherv DAT_IB_ALLGATHERV_8
#define dat_ib_collective_alltoallv DAT_IB_ALLTOALLV_9
#define dat_ib_collective_reduce DAT_IB_REDUCE_10
#else
#define DAT_ARGS_COUNT(...) DAT_ARGS_COUNT_(__VA_ARGS__, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0)
#define DAT_ARGS_COUNT_(a, b, c, d, e, f, g, h, i, j, k, l, count, ...) count
#define DAT_ARGS_JOIN(name, count) DAT_ARGS_JOIN_(name, count)
#define DAT_ARGS_JOIN_(name, count) name##_##count
#define DAT_ARGS_CHOOSE(name, ...) DAT_ARGS_JOIN(name, DAT_ARGS_COUNT(__VA_ARGS__))

#define dat_ib_collective_create_group(...) \
	DAT_ARGS_CHOOSE(DAT_IB_CREATE_GROUP, __VA_ARGS__)(__VA_ARGS__)
#define dat_ib_collective_scatterv(...) DAT_ARGS_CHOOSE(DAT_IB_SCATTERV, __VA_ARGS__)(__VA_ARGS__)
#define dat_ib_collective_gatherv(...) DAT_ARGS_CHOOSE(DAT_IB_GATHERV, __VA_ARGS__)(__VA_ARGS__)
#define dat_ib_collective_allgatherv(...) DAT_ARGS_CHOOSE(DAT_IB_ALLGATHERV, __VA_ARGS__)(__VA_ARGS__)
#define dat_ib_collective_alltoallv(...) DAT_ARGS_CHOOSE(DAT_IB_ALLTOALLV, __VA_ARGS__)(__VA_ARGS__)
#define dat_ib_collective_reduce(...) DAT_ARGS_CHOOSE(DAT_IB_REDUCE, __VA_ARGS__)(__VA_ARGS__)
#define dat_collective_reduce(...) DAT_ARGS_CHOOSE(DAT_COLLECTIVE_REDUCE, __VA_ARGS__)(__VA_ARGS__)
#endif

/* ---- Members and groups ---- */

#define dat_ib_collective_create_member(ia_handle, progress_func, member, member_size) \
	dat_extension_op((DAT_IA_HANDLE)(ia_handle), DAT_IB_COLLECTIVE_CREATE_MEMBER_OP, \
	                 (void *)(progress_func), (DAT_IB_COLLECTIVE_MEMBER *)(member), \
	                 (DAT_UINT32 *)(member_size))
#define dat_ib_collective_free_member(ia_handle, member) \
	dat_extension_op((DAT_IA_HANDLE)(ia_handle), DAT_IB_COLLECTIVE_FREE_MEMBER_OP, \
	                 (DAT_IB_COLLECTIVE_MEMBER)(member))

#define DAT_IB_CREATE_GROUP_8(members, group_size, self, group_id, group_info, evd, pd, \
                              user_context) \
	dat_extension_op((DAT_EVD_HANDLE)(evd), DAT_IB_COLLECTIVE_CREATE_GROUP_OP, \
	                 (DAT_IB_COLLECTIVE_MEMBER *)(members), (DAT_COUNT)(group_size), \
	                 (DAT_IB_COLLECTIVE_RANK)(self), (DAT_IB_COLLECTIVE_ID)(group_id), \
	                 (DAT_IB_COLLECTIVE_GROUP *)(group_info), (DAT_PZ_HANDLE)(pd), \
	                 DAT_CONTEXT_OF(user_context))
#define DAT_IB_CREATE_GROUP_7(members, group_size, self, group_id, evd, pd, user_context) \
	dat_collective_create_group((DAT_COLLECTIVE_MEMBER *)(members), (DAT_COUNT)(group_size), \
	                            (DAT_COLLECTIVE_RANK)(self), (DAT_COLLECTIVE_ID)(group_id), \
	                            (DAT_EVD_HANDLE)(evd), (DAT_PZ_HANDLE)(pd), \
	                            DAT_CONTEXT_OF(user_context))

#define dat_ib_collective_free_group(coll_handle) \
	dat_extension_op((DAT_IB_COLLECTIVE_HANDLE)(coll_handle), DAT_IB_COLLECTIVE_FREE_GROUP_OP)
#define dat_ib_collective_set_clock(coll_handle, clock_value, user_context) \
	dat_extension_op((DAT_IB_COLLECTIVE_HANDLE)(coll_handle), DAT_IB_COLLECTIVE_SET_CLOCK_OP, \
	                 (DAT_UINT64)(clock_value), DAT_CONTEXT_OF(user_context))
#define dat_ib_collective_read_clock(coll_handle, clock_ptr) \
	dat_extension_op((DAT_IB_COLLECTIVE_HANDLE)(coll_handle), DAT_IB_COLLECTIVE_READ_CLOCK_OP, \
	                 (DAT_UINT64 *)(clock_ptr))

/* ---- One shape ---- */

#define dat_ib_collective_broadcast(coll_handle, buf, size, root, user_context, flags) \
	dat_extension_op((DAT_IB_COLLECTIVE_HANDLE)(coll_handle), DAT_IB_COLLECTIVE_BROADCAST_OP, \
	                 (DAT_PVOID)(buf), (DAT_COUNT)(size), (DAT_IB_COLLECTIVE_RANK)(root), \
	                 DAT_CONTEXT_OF(user_context), (DAT_COMPLETION_FLAGS)(flags))
#define dat_ib_collective_scatter(coll_handle, sendbuf, sendsize, recvbuf, recvsize, root, \
                                  user_context, flags) \
	dat_extension_op((DAT_IB_COLLECTIVE_HANDLE)(coll_handle), DAT_IB_COLLECTIVE_SCATTER_OP, \
	                 (DAT_PVOID)(sendbuf), (DAT_COUNT)(sendsize), (DAT_PVOID)(recvbuf), \
	                 (DAT_COUNT)(recvsize), (DAT_IB_COLLECTIVE_RANK)(root), \
	                 DAT_CONTEXT_OF(user_context), (DAT_COMPLETION_FLAGS)(flags))
#define dat_ib_collective_gather(coll_handle, sendbuf, sendsize, recvbuf, recvsize, root, \
                                 user_context, flags) \
	dat_extension_op((DAT_IB_COLLECTIVE_HANDLE)(coll_handle), DAT_IB_COLLECTIVE_GATHER_OP, \
	                 (DAT_PVOID)(sendbuf), (DAT_COUNT)(sendsize), (DAT_PVOID)(recvbuf), \
	                 (DAT_COUNT)(recvsize), (DAT_IB_COLLECTIVE_RANK)(root), \
	                 DAT_CONTEXT_OF(user_context), (DAT_COMPLETION_FLAGS)(flags))
#define dat_ib_collective_allgather(coll_handle, sendbuf, sendsize, recvbuf, recvsize, \
                                    user_context, flags) \
	dat_extension_op((DAT_IB_COLLECTIVE_HANDLE)(coll_handle), DAT_IB_COLLECTIVE_ALLGATHER_OP, \
	                 (DAT_PVOID)(sendbuf), (DAT_COUNT)(sendsize), (DAT_PVOID)(recvbuf), \
	                 (DAT_COUNT)(recvsize), DAT_CONTEXT_OF(user_context), \
	                 (DAT_COMPLETION_FLAGS)(flags))
#define dat_ib_collective_alltoall(coll_handle, sendbuf, sendsize, recvbuf, recvsize, \
                                   user_context, flags) \
	dat_extension_op((DAT_IB_COLLECTIVE_HANDLE)(coll_handle), DAT_IB_COLLECTIVE_ALLTOALL_OP, \
	                 (DAT_PVOID)(sendbuf), (DAT_COUNT)(sendsize), (DAT_PVOID)(recvbuf), \
	                 (DAT_COUNT)(recvsize), DAT_CONTEXT_OF(user_context), \
	                 (DAT_COMPLETION_FLAGS)(flags))
#define dat_ib_collective_allreduce(coll_handle, sendbuf, sendsize, recvbuf, recvsize, op, type, \
                                    user_context, flags) \
	dat_extension_op((DAT_IB_COLLECTIVE_HANDLE)(coll_handle), DAT_IB_COLLECTIVE_ALLREDUCE_OP, \
	                 (DAT_PVOID)(sendbuf), (DAT_COUNT)(sendsize), (DAT_PVOID)(recvbuf), \
	                 (DAT_COUNT)(recvsize), (DAT_IB_COLLECTIVE_REDUCE_DATA_OP)(op), \
	                 (DAT_IB_COLLECTIVE_DATA_TYPE)(type), DAT_CONTEXT_OF(user_context), \
	                 (DAT_COMPLETION_FLAGS)(flags))
#define dat_ib_collective_reduce_scatter(coll_handle, sendbuf, sendsize, recvbuf, recvsizes, op, \
                                         type, user_context, flags) \
	dat_extension_op((DAT_IB_COLLECTIVE_HANDLE)(coll_handle), \
	                 DAT_IB_COLLECTIVE_REDUCE_SCATTER_OP, (DAT_PVOID)(sendbuf), \
	                 (DAT_COUNT)(sendsize), (DAT_PVOID)(recvbuf), (DAT_COUNT *)(recvsizes), \
	                 (DAT_IB_COLLECTIVE_REDUCE_DATA_OP)(op), \
	                 (DAT_IB_COLLECTIVE_DATA_TYPE)(type), DAT_CONTEXT_OF(user_context), \
	                 (DAT_COMPLETION_FLAGS)(flags))
#define dat_ib_collective_scan(coll_handle, sendbuf, sendsize, recvbuf, recvsize, op, type, \
                               user_context, flags) \
	dat_extension_op((DAT_IB_COLLECTIVE_HANDLE)(coll_handle), DAT_IB_COLLECTIVE_SCAN_OP, \
	                 (DAT_PVOID)(sendbuf), (DAT_COUNT)(sendsize), (DAT_PVOID)(recvbuf), \
	                 (DAT_COUNT)(recvsize), (DAT_IB_COLLECTIVE_REDUCE_DATA_OP)(op), \
	                 (DAT_IB_COLLECTIVE_DATA_TYPE)(type), DAT_CONTEXT_OF(user_context), \
	                 (DAT_COMPLETION_FLAGS)(flags))
#define dat_ib_collective_barrier(coll_handle, user_context, flags) \
	dat_extension_op((DAT_IB_COLLECTIVE_HANDLE)(coll_handle), DAT_IB_COLLECTIVE_BARRIER_OP, \
	                 DAT_CONTEXT_OF(user_context), (DAT_COMPLETION_FLAGS)(flags))

/* ---- By the number of arguments: the reference has more ---- */

#define DAT_IB_SCATTERV_9(coll_handle, sendbuf, sendsizes, displs, recvbuf, recvsize, root, \
                          user_context, flags) \
	dat_extension_op((DAT_IB_COLLECTIVE_HANDLE)(coll_handle), DAT_IB_COLLECTIVE_SCATTERV_OP, \
	                 (DAT_PVOID)(sendbuf), (DAT_COUNT *)(sendsizes), (DAT_COUNT *)(displs), \
	                 (DAT_PVOID)(recvbuf), (DAT_COUNT)(recvsize), \
	                 (DAT_IB_COLLECTIVE_RANK)(root), DAT_CONTEXT_OF(user_context), \
	                 (DAT_COMPLETION_FLAGS)(flags))
#define DAT_IB_SCATTERV_8(coll_handle, sendbufs, sendsizes, recvbuf, recvsize, root, \
                          user_context, flags) \
	dat_collective_scatterv((DAT_IB_COLLECTIVE_HANDLE)(coll_handle), (DAT_PVOID *)(sendbufs), \
	                        (DAT_COUNT *)(sendsizes), (DAT_PVOID)(recvbuf), \
	                        (DAT_COUNT)(recvsize), (DAT_IB_COLLECTIVE_RANK)(root), \
	                        DAT_CONTEXT_OF(user_context), (DAT_COMPLETION_FLAGS)(flags))
#define DAT_IB_GATHERV_9(coll_handle, sendbuf, sendsize, recvbuf, recvsizes, displs, root, \
                         user_context, flags) \
	dat_extension_op((DAT_IB_COLLECTIVE_HANDLE)(coll_handle), DAT_IB_COLLECTIVE_GATHERV_OP, \
	                 (DAT_PVOID)(sendbuf), (DAT_COUNT)(sendsize), (DAT_PVOID)(recvbuf), \
	                 (DAT_COUNT *)(recvsizes), (DAT_COUNT *)(displs), \
	                 (DAT_IB_COLLECTIVE_RANK)(root), DAT_CONTEXT_OF(user_context), \
	                 (DAT_COMPLETION_FLAGS)(flags))
#define DAT_IB_GATHERV_8(coll_handle, sendbuf, sendsize, recvbufs, recvsizes, root, \
                         user_context, flags) \
	dat_collective_gatherv((DAT_IB_COLLECTIVE_HANDLE)(coll_handle), (DAT_PVOID)(sendbuf), \
	                       (DAT_COUNT)(sendsize), (DAT_PVOID *)(recvbufs), \
	                       (DAT_COUNT *)(recvsizes), (DAT_IB_COLLECTIVE_RANK)(root), \
	                       DAT_CONTEXT_OF(user_context), (DAT_COMPLETION_FLAGS)(flags))
#define DAT_IB_ALLGATHERV_8(coll_handle, sendbuf, sendsize, recvbuf, recvsizes, displs, \
                            user_context, flags) \
	dat_extension_op((DAT_IB_COLLECTIVE_HANDLE)(coll_handle), DAT_IB_COLLECTIVE_ALLGATHERV_OP, \
	                 (DAT_PVOID)(sendbuf), (DAT_COUNT)(sendsize), (DAT_PVOID)(recvbuf), \
	                 (DAT_COUNT *)(recvsizes), (DAT_COUNT *)(displs), \
	                 DAT_CONTEXT_OF(user_context), (DAT_COMPLETION_FLAGS)(flags))
#define DAT_IB_ALLGATHERV_7(coll_handle, sendbuf, sendsize, recvbufs, recvsizes, user_context, \
                            flags) \
	dat_collective_allgatherv((DAT_IB_COLLECTIVE_HANDLE)(coll_handle), (DAT_PVOID)(sendbuf), \
	                          (DAT_COUNT)(sendsize), (DAT_PVOID *)(recvbufs), \
	                          (DAT_COUNT *)(recvsizes), DAT_CONTEXT_OF(user_context), \
	                          (DAT_COMPLETION_FLAGS)(flags))
#define DAT_IB_ALLTOALLV_9(coll_handle, sendbuf, sendsizes, senddispls, recvbuf, recvsizes, \
                           recvdispls, user_context, flags) \
	dat_extension_op((DAT_IB_COLLECTIVE_HANDLE)(coll_handle), DAT_IB_COLLECTIVE_ALLTOALLV_OP, \
	                 (DAT_PVOID)(sendbuf), (DAT_COUNT *)(sendsizes), \
	                 (DAT_COUNT *)(senddispls), (DAT_PVOID)(recvbuf), \
	                 (DAT_COUNT *)(recvsizes), (DAT_COUNT *)(recvdispls), \
	                 DAT_CONTEXT_OF(user_context), (DAT_COMPLETION_FLAGS)(flags))
#define DAT_IB_ALLTOALLV_7(coll_handle, sendbufs, sendsizes, recvbufs, recvsizes, user_context, \
                           flags) \
	dat_collective_alltoallv((DAT_IB_COLLECTIVE_HANDLE)(coll_handle), (DAT_PVOID *)(sendbufs), \
	                         (DAT_COUNT *)(sendsizes), (DAT_PVOID *)(recvbufs), \
	                         (DAT_COUNT *)(recvsizes), DAT_CONTEXT_OF(user_context), \
	                         (DAT_COMPLETION_FLAGS)(flags))
/* Without root: an allreduce. The name in parentheses is the function. */
#define DAT_IB_REDUCE_10(coll_handle, sendbuf, sendsize, recvbuf, recvsize, op, type, root, \
                         user_context, flags) \
	dat_extension_op((DAT_IB_COLLECTIVE_HANDLE)(coll_handle), DAT_IB_COLLECTIVE_REDUCE_OP, \
	                 (DAT_PVOID)(sendbuf), (DAT_COUNT)(sendsize), (DAT_PVOID)(recvbuf), \
	                 (DAT_COUNT)(recvsize), (DAT_IB_COLLECTIVE_REDUCE_DATA_OP)(op), \
	                 (DAT_IB_COLLECTIVE_DATA_TYPE)(type), (DAT_IB_COLLECTIVE_RANK)(root), \
	                 DAT_CONTEXT_OF(user_context), (DAT_COMPLETION_FLAGS)(flags))
#define DAT_IB_REDUCE_9 dat_ib_collective_allreduce
#define DAT_COLLECTIVE_REDUCE_10 (dat_collective_reduce)
#define DAT_COLLECTIVE_REDUCE_9 dat_collective_allreduce

#endif /* DAT2_PARTS_COLLECTIVE_MACROS_H */
