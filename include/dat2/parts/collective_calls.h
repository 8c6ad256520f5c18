/* collective_calls.h - part of collective.h: the calls, each with the prototypes of both sets. */
#ifndef DAT2_PARTS_COLLECTIVE_CALLS_H
#define DAT2_PARTS_COLLECTIVE_CALLS_H

#ifndef DAT2_PARTS_COLLECTIVE_H
#error include <dat2/dat_ib_extensions.h>
#endif

#ifdef __cplusplus
extern "C" {
#endif

/*
 * ..._create_member makes an address of this process for groups, stores it in *member and its size,
 * bytes, in *member_size. The bytes are the library's, to be copied to the other members by the
 * program. progress_func is a function that the library may call while it waits, or NULL.
 * ..._free_member takes it back; groups that were made stay. (Design, 2.7; prototypes of the
 * reference) Errors: DAT_INVALID_HANDLE (IA), DAT_INVALID_PARAMETER (NULL, no member of the
 * adapter's), DAT_INSUFFICIENT_RESOURCES.
 */
DAT_EXPORT DAT_RETURN DAT_API dat_ib_collective_create_member(
	DAT_IA_HANDLE ia_handle, void *progress_func, DAT_IB_COLLECTIVE_MEMBER *member,
	DAT_UINT32 *member_size);
DAT_EXPORT DAT_RETURN DAT_API dat_collective_create_member(
	DAT_IA_HANDLE ia_handle, void *progress_func, DAT_IB_COLLECTIVE_MEMBER *member,
	DAT_UINT32 *member_size);
DAT_EXPORT DAT_RETURN DAT_API dat_ib_collective_free_member(
	DAT_IA_HANDLE ia_handle, DAT_IB_COLLECTIVE_MEMBER member);
DAT_EXPORT DAT_RETURN DAT_API dat_collective_free_member(
	DAT_IA_HANDLE ia_handle, DAT_IB_COLLECTIVE_MEMBER member);

/*
 * ..._create_group makes a group of group_size members, whose addresses members has in the order of
 * ranks; self is the rank of the caller. All members call it, with the same group_id. An address is
 * a member's bytes, at any place in memory, or
 *	struct { DAT_IA_ADDRESS_PTR address; DAT_CONN_QUAL qualifier; }
 * of a service point that the member has made (dat_psp_create); its requests for groups are no
 * events. Each of the two calls takes both. group_info may be NULL; its statement about
 * the caller's node is used only if it is right. The event is of type DAT_IB_COLLECTIVE_CREATE_DATA, with
 * the handle of the group, or DAT_IB_COLLECTIVE_CREATE_STATUS: a member has not come within
 * LAPI_DAT_TIMEOUT seconds, or its address belongs to another process. evd_handle
 * and pz_handle cannot be freed before the group. A process may be in many groups, and more than
 * once in one. (Design, 3.3.1) Errors: DAT_INVALID_HANDLE (EVD, PZ), DAT_INVALID_PARAMETER
 * (members, not this process's self, group_size over 4096, group_id of a group that there is,
 * group_info that contradicts itself), DAT_INSUFFICIENT_RESOURCES.
 */
DAT_EXPORT DAT_RETURN DAT_API dat_ib_collective_create_group(
	DAT_IB_COLLECTIVE_MEMBER *members, DAT_COUNT group_size, DAT_IB_COLLECTIVE_RANK self,
	DAT_IB_COLLECTIVE_ID group_id, DAT_IB_COLLECTIVE_GROUP *group_info,
	DAT_EVD_HANDLE evd_handle, DAT_PZ_HANDLE pz_handle, DAT_CONTEXT user_context);
DAT_EXPORT DAT_RETURN DAT_API dat_collective_create_group(
	DAT_COLLECTIVE_MEMBER *collective_group, DAT_COUNT group_size, DAT_COLLECTIVE_RANK self,
	DAT_COLLECTIVE_ID group_id, DAT_EVD_HANDLE evd_handle, DAT_PZ_HANDLE pz_handle,
	DAT_CONTEXT user_context);

/*
 * ..._free_group ends a group, at once: operations under way fail, and their events are there when
 * the call returns. Calls of other members that this member has completed are not disturbed.
 * (Design, 3.3.2)
 */
DAT_EXPORT DAT_RETURN DAT_API dat_ib_collective_free_group(
	DAT_IB_COLLECTIVE_HANDLE collective_handle);
DAT_EXPORT DAT_RETURN DAT_API dat_collective_free_group(DAT_IB_COLLECTIVE_HANDLE collective_handle);

/*
 * ..._set_clock sets the clock that the group shares; its event is of type
 * DAT_IB_COLLECTIVE_CLOCK_SET_STATUS: all members' clocks are set. One member may call it, or
 * several. ..._read_clock stores it in *clock_value, at once. The clock counts nanoseconds, from 0
 * when the group is made, and never goes back: setting it to less than it shows changes nothing,
 * and a member reads more each time. Two members' clocks differ by no more than the time that a
 * message takes from one to the other, and what their processors' clocks drift apart. (Prototypes
 * of the reference, whose macros for them do not compile)
 */
DAT_EXPORT DAT_RETURN DAT_API dat_ib_collective_set_clock(
	DAT_IB_COLLECTIVE_HANDLE collective_handle, DAT_UINT64 clock_value, DAT_CONTEXT user_context);
DAT_EXPORT DAT_RETURN DAT_API dat_collective_set_clock(
	DAT_IB_COLLECTIVE_HANDLE collective_handle, DAT_UINT64 clock_value, DAT_CONTEXT user_context);
DAT_EXPORT DAT_RETURN DAT_API dat_ib_collective_read_clock(
	DAT_IB_COLLECTIVE_HANDLE collective_handle, DAT_UINT64 *clock_value);
DAT_EXPORT DAT_RETURN DAT_API dat_collective_read_clock(
	DAT_IB_COLLECTIVE_HANDLE collective_handle, DAT_UINT64 *clock_value);

/* ..._broadcast copies root's buffer to the buffers of all. (Design, 3.3.3) */
DAT_EXPORT DAT_RETURN DAT_API dat_ib_collective_broadcast(
	DAT_IB_COLLECTIVE_HANDLE collective_handle, DAT_PVOID buffer, DAT_COUNT byte_count,
	DAT_IB_COLLECTIVE_RANK root, DAT_CONTEXT user_context, DAT_COMPLETION_FLAGS completion_flags);
DAT_EXPORT DAT_RETURN DAT_API dat_collective_broadcast(
	DAT_IB_COLLECTIVE_HANDLE collective_handle, DAT_PVOID buffer, DAT_COUNT byte_count,
	DAT_IB_COLLECTIVE_RANK root, DAT_CONTEXT user_context, DAT_COMPLETION_FLAGS completion_flags);

/*
 * ..._scatter gives each rank its part of root's send_buffer, in the order of ranks. At others
 * send_buffer and its size are not looked at. recv_buffer NULL at root: in place. An error of
 * dat_collective_scatter: the size cannot be divided by the number of ranks. recv_byte_count may be
 * more than the part has. (Design, 3.3.4)
 */
DAT_EXPORT DAT_RETURN DAT_API dat_ib_collective_scatter(
	DAT_IB_COLLECTIVE_HANDLE collective_handle, DAT_PVOID send_buffer,
	DAT_COUNT send_byte_count, DAT_PVOID recv_buffer, DAT_COUNT recv_byte_count,
	DAT_IB_COLLECTIVE_RANK root, DAT_CONTEXT user_context, DAT_COMPLETION_FLAGS completion_flags);
DAT_EXPORT DAT_RETURN DAT_API dat_collective_scatter(
	DAT_IB_COLLECTIVE_HANDLE collective_handle, DAT_PVOID send_buffer,
	DAT_COUNT send_byte_count, DAT_PVOID recv_buffer, DAT_COUNT recv_byte_count,
	DAT_IB_COLLECTIVE_RANK root, DAT_CONTEXT user_context, DAT_COMPLETION_FLAGS completion_flags);

/*
 * ..._scatterv is scatter of parts of different sizes: part i has send_byte_counts[i] bytes, and is
 * at displacements[i] of send_buffer, or in send_buffers[i]. (Design, 3.3.5)
 */
DAT_EXPORT DAT_RETURN DAT_API dat_ib_collective_scatterv(
	DAT_IB_COLLECTIVE_HANDLE collective_handle, DAT_PVOID send_buffer,
	DAT_COUNT *send_byte_counts, DAT_COUNT *displacements, DAT_PVOID recv_buffer,
	DAT_COUNT recv_byte_count, DAT_IB_COLLECTIVE_RANK root, DAT_CONTEXT user_context,
	DAT_COMPLETION_FLAGS completion_flags);
DAT_EXPORT DAT_RETURN DAT_API dat_collective_scatterv(
	DAT_COLLECTIVE_HANDLE collective_handle, DAT_PVOID *send_buffers,
	DAT_COUNT *send_byte_counts, DAT_PVOID recv_buffer, DAT_COUNT recv_byte_count,
	DAT_IB_COLLECTIVE_RANK root, DAT_CONTEXT user_context, DAT_COMPLETION_FLAGS completion_flags);

/*
 * ..._gather puts the send_buffer of each rank into root's recv_buffer, in the order of ranks. At
 * others recv_buffer and its size are not looked at. send_buffer NULL at root: in place. A member
 * may send less than there is room. (Design, 3.3.6)
 */
DAT_EXPORT DAT_RETURN DAT_API dat_ib_collective_gather(
	DAT_IB_COLLECTIVE_HANDLE collective_handle, DAT_PVOID send_buffer,
	DAT_COUNT send_byte_count, DAT_PVOID recv_buffer, DAT_COUNT recv_byte_count,
	DAT_IB_COLLECTIVE_RANK root, DAT_CONTEXT user_context, DAT_COMPLETION_FLAGS completion_flags);
DAT_EXPORT DAT_RETURN DAT_API dat_collective_gather(
	DAT_IB_COLLECTIVE_HANDLE collective_handle, DAT_PVOID send_buffer,
	DAT_COUNT send_byte_count, DAT_PVOID recv_buffer, DAT_COUNT recv_byte_count,
	DAT_IB_COLLECTIVE_RANK root, DAT_CONTEXT user_context, DAT_COMPLETION_FLAGS completion_flags);

/*
 * ..._gatherv is gather of parts of different sizes: part i has at most recv_byte_counts[i] bytes,
 * and goes to displacements[i] of recv_buffer, or to recv_buffers[i]. (Design, 3.3.7)
 */
DAT_EXPORT DAT_RETURN DAT_API dat_ib_collective_gatherv(
	DAT_IB_COLLECTIVE_HANDLE collective_handle, DAT_PVOID send_buffer,
	DAT_COUNT send_byte_count, DAT_PVOID recv_buffer, DAT_COUNT *recv_byte_counts,
	DAT_COUNT *displacements, DAT_IB_COLLECTIVE_RANK root, DAT_CONTEXT user_context,
	DAT_COMPLETION_FLAGS completion_flags);
DAT_EXPORT DAT_RETURN DAT_API dat_collective_gatherv(
	DAT_COLLECTIVE_HANDLE collective_handle, DAT_PVOID send_buffer, DAT_COUNT send_byte_count,
	DAT_PVOID *recv_buffers, DAT_COUNT *recv_byte_counts, DAT_IB_COLLECTIVE_RANK root,
	DAT_CONTEXT user_context, DAT_COMPLETION_FLAGS completion_flags);

/*
 * ..._allgather and ..._allgatherv are gather and gatherv with every rank as root. send_buffer
 * NULL: in place. (Design, 3.3.8, 3.3.9)
 */
DAT_EXPORT DAT_RETURN DAT_API dat_ib_collective_allgather(
	DAT_IB_COLLECTIVE_HANDLE collective_handle, DAT_PVOID send_buffer,
	DAT_COUNT send_byte_count, DAT_PVOID recv_buffer, DAT_COUNT recv_byte_count,
	DAT_CONTEXT user_context, DAT_COMPLETION_FLAGS completion_flags);
DAT_EXPORT DAT_RETURN DAT_API dat_collective_allgather(
	DAT_IB_COLLECTIVE_HANDLE collective_handle, DAT_PVOID send_buffer,
	DAT_COUNT send_byte_count, DAT_PVOID recv_buffer, DAT_COUNT recv_byte_count,
	DAT_CONTEXT user_context, DAT_COMPLETION_FLAGS completion_flags);
DAT_EXPORT DAT_RETURN DAT_API dat_ib_collective_allgatherv(
	DAT_IB_COLLECTIVE_HANDLE collective_handle, DAT_PVOID send_buffer,
	DAT_COUNT send_byte_count, DAT_PVOID recv_buffer, DAT_COUNT *recv_byte_counts,
	DAT_COUNT *displacements, DAT_CONTEXT user_context, DAT_COMPLETION_FLAGS completion_flags);
DAT_EXPORT DAT_RETURN DAT_API dat_collective_allgatherv(
	DAT_COLLECTIVE_HANDLE collective_handle, DAT_PVOID send_buffer, DAT_COUNT send_byte_count,
	DAT_PVOID *recv_buffers, DAT_COUNT *recv_byte_counts, DAT_CONTEXT user_context,
	DAT_COMPLETION_FLAGS completion_flags);

/*
 * ..._alltoall sends part j of rank i's send_buffer to part i of rank j's recv_buffer.
 * ..._alltoallv is the same for parts of different sizes. send_buffer NULL: in place, the parts to
 * send are where the received ones go. (Design, 3.3.10, 3.3.11)
 */
DAT_EXPORT DAT_RETURN DAT_API dat_ib_collective_alltoall(
	DAT_IB_COLLECTIVE_HANDLE collective_handle, DAT_PVOID send_buffer,
	DAT_COUNT send_byte_count, DAT_PVOID recv_buffer, DAT_COUNT recv_byte_count,
	DAT_CONTEXT user_context, DAT_COMPLETION_FLAGS completion_flags);
DAT_EXPORT DAT_RETURN DAT_API dat_collective_alltoall(
	DAT_IB_COLLECTIVE_HANDLE collective_handle, DAT_PVOID send_buffer,
	DAT_COUNT send_byte_count, DAT_PVOID recv_buffer, DAT_COUNT recv_byte_count,
	DAT_CONTEXT user_context, DAT_COMPLETION_FLAGS completion_flags);
DAT_EXPORT DAT_RETURN DAT_API dat_ib_collective_alltoallv(
	DAT_IB_COLLECTIVE_HANDLE collective_handle, DAT_PVOID send_buffer,
	DAT_COUNT *send_byte_counts, DAT_COUNT *send_displacements, DAT_PVOID recv_buffer,
	DAT_COUNT *recv_byte_counts, DAT_COUNT *recv_displacements, DAT_CONTEXT user_context,
	DAT_COMPLETION_FLAGS completion_flags);
DAT_EXPORT DAT_RETURN DAT_API dat_collective_alltoallv(
	DAT_COLLECTIVE_HANDLE collective_handle, DAT_PVOID *send_buffers,
	DAT_COUNT *send_byte_counts, DAT_PVOID *recv_buffers, DAT_COUNT *recv_byte_counts,
	DAT_CONTEXT user_context, DAT_COMPLETION_FLAGS completion_flags);

/*
 * ..._reduce combines the send_buffers of all ranks, element by element of data_type, with
 * reduce_operation, into root's recv_buffer. At others recv_buffer is not looked at. ..._allreduce
 * gives the result to all. send_buffer NULL where a result comes: in place, of send_byte_count
 * bytes, or of recv_byte_count if that is 0. So in scan. (Design, 3.3.12; 3.3.13, which prints the
 * second under the first one's name, without root: so called it is allreduce too)
 */
DAT_EXPORT DAT_RETURN DAT_API dat_ib_collective_reduce(
	DAT_IB_COLLECTIVE_HANDLE collective_handle, DAT_PVOID send_buffer,
	DAT_COUNT send_byte_count, DAT_PVOID recv_buffer, DAT_COUNT recv_byte_count,
	DAT_IB_COLLECTIVE_REDUCE_DATA_OP reduce_operation, DAT_IB_COLLECTIVE_DATA_TYPE data_type,
	DAT_IB_COLLECTIVE_RANK root, DAT_CONTEXT user_context, DAT_COMPLETION_FLAGS completion_flags);
DAT_EXPORT DAT_RETURN DAT_API dat_collective_reduce(
	DAT_IB_COLLECTIVE_HANDLE collective_handle, DAT_PVOID send_buffer,
	DAT_COUNT send_byte_count, DAT_PVOID recv_buffer, DAT_COUNT recv_byte_count,
	DAT_IB_COLLECTIVE_REDUCE_DATA_OP reduce_operation, DAT_IB_COLLECTIVE_DATA_TYPE data_type,
	DAT_IB_COLLECTIVE_RANK root, DAT_CONTEXT user_context, DAT_COMPLETION_FLAGS completion_flags);
DAT_EXPORT DAT_RETURN DAT_API dat_ib_collective_allreduce(
	DAT_IB_COLLECTIVE_HANDLE collective_handle, DAT_PVOID send_buffer,
	DAT_COUNT send_byte_count, DAT_PVOID recv_buffer, DAT_COUNT recv_byte_count,
	DAT_IB_COLLECTIVE_REDUCE_DATA_OP reduce_operation, DAT_IB_COLLECTIVE_DATA_TYPE data_type,
	DAT_CONTEXT user_context, DAT_COMPLETION_FLAGS completion_flags);
DAT_EXPORT DAT_RETURN DAT_API dat_collective_allreduce(
	DAT_IB_COLLECTIVE_HANDLE collective_handle, DAT_PVOID send_buffer,
	DAT_COUNT send_byte_count, DAT_PVOID recv_buffer, DAT_COUNT recv_byte_count,
	DAT_IB_COLLECTIVE_REDUCE_DATA_OP reduce_operation, DAT_IB_COLLECTIVE_DATA_TYPE data_type,
	DAT_CONTEXT user_context, DAT_COMPLETION_FLAGS completion_flags);

/*
 * ..._reduce_scatter is a reduce of which rank i gets recv_byte_counts[i] bytes, in the order of
 * ranks. send_buffer NULL: recv_buffer has all that is to be reduced, and then this rank's part at
 * its beginning, and anything behind it. (Design, 3.3.14)
 */
DAT_EXPORT DAT_RETURN DAT_API dat_ib_collective_reduce_scatter(
	DAT_IB_COLLECTIVE_HANDLE collective_handle, DAT_PVOID send_buffer,
	DAT_COUNT send_byte_count, DAT_PVOID recv_buffer, DAT_COUNT *recv_byte_counts,
	DAT_IB_COLLECTIVE_REDUCE_DATA_OP reduce_operation, DAT_IB_COLLECTIVE_DATA_TYPE data_type,
	DAT_CONTEXT user_context, DAT_COMPLETION_FLAGS completion_flags);
DAT_EXPORT DAT_RETURN DAT_API dat_collective_reduce_scatter(
	DAT_IB_COLLECTIVE_HANDLE collective_handle, DAT_PVOID send_buffer,
	DAT_COUNT send_byte_count, DAT_PVOID recv_buffer, DAT_COUNT *recv_byte_counts,
	DAT_IB_COLLECTIVE_REDUCE_DATA_OP reduce_operation, DAT_IB_COLLECTIVE_DATA_TYPE data_type,
	DAT_CONTEXT user_context, DAT_COMPLETION_FLAGS completion_flags);

/* ..._scan gives rank i the reduction of ranks 0 to i. (Design, 3.3.15) */
DAT_EXPORT DAT_RETURN DAT_API dat_ib_collective_scan(
	DAT_IB_COLLECTIVE_HANDLE collective_handle, DAT_PVOID send_buffer,
	DAT_COUNT send_byte_count, DAT_PVOID recv_buffer, DAT_COUNT recv_byte_count,
	DAT_IB_COLLECTIVE_REDUCE_DATA_OP reduce_operation, DAT_IB_COLLECTIVE_DATA_TYPE data_type,
	DAT_CONTEXT user_context, DAT_COMPLETION_FLAGS completion_flags);
DAT_EXPORT DAT_RETURN DAT_API dat_collective_scan(
	DAT_IB_COLLECTIVE_HANDLE collective_handle, DAT_PVOID send_buffer,
	DAT_COUNT send_byte_count, DAT_PVOID recv_buffer, DAT_COUNT recv_byte_count,
	DAT_IB_COLLECTIVE_REDUCE_DATA_OP reduce_operation, DAT_IB_COLLECTIVE_DATA_TYPE data_type,
	DAT_CONTEXT user_context, DAT_COMPLETION_FLAGS completion_flags);

/* ..._barrier is complete when all members have called it. (Design, 3.3.16) */
DAT_EXPORT DAT_RETURN DAT_API dat_ib_collective_barrier(
	DAT_IB_COLLECTIVE_HANDLE collective_handle, DAT_CONTEXT user_context,
	DAT_COMPLETION_FLAGS completion_flags);
DAT_EXPORT DAT_RETURN DAT_API dat_collective_barrier(
	DAT_IB_COLLECTIVE_HANDLE collective_handle, DAT_CONTEXT user_context,
	DAT_COMPLETION_FLAGS completion_flags);

#ifdef __cplusplus
}
#endif

#endif /* DAT2_PARTS_COLLECTIVE_CALLS_H */
