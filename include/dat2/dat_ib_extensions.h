/*
 * dat_ib_extensions.h - what uDAPL 2.0 has besides the specification, version 2.0.9: RDMA writes
 * with immediate data, atomics, datagrams (UD), counters, queries without opening, and collectives.
 *
 * Each operation is called in one of two ways that mean the same. Its name is a macro that converts
 * the arguments and calls dat_extension_op, so that programs run with any libdat2. Its name in
 * parentheses, or its address, is a function of this library with the prototype shown. The
 * conventions of dat.h hold. dat_ib_collective_ calls are in parts/collective.h.
 *
 * An operation that an adapter has is among the named attributes of its provider (dat_ia_query,
 * section 1). Others give DAT_NOT_IMPLEMENTED without class.
 *
 * Sources: the reference, version 2.0.9; the design of April 2011 (sections 2, 3.1, 3.2), whose
 * names are there too, where they differ.
 */
#ifndef _DAT_IB_EXTENSIONS_H_
#define _DAT_IB_EXTENSIONS_H_

#include <dat2/udat.h>
#include <dat2/parts/counters.h>

/* ---- 1. Version and named attributes ---- */

#define DAT_IB_EXTENSION_VERSION 209 /* extension_version of DAT_IA_ATTR: 2.0.9 */

/* Names of attributes. That the name is there says yes; its value is "TRUE". */
#define DAT_IB_ATTR_FETCH_AND_ADD "DAT_IB_FETCH_AND_ADD"
#define DAT_IB_ATTR_CMP_AND_SWAP "DAT_IB_CMP_AND_SWAP"
#define DAT_IB_ATTR_IMMED_DATA "DAT_IB_IMMED_DATA"
#define DAT_IB_ATTR_UD "DAT_IB_UD"
#define DAT_IB_ATTR_COUNTERS "DAT_COUNTERS"
#define DAT_ATTR_COUNTERS DAT_IB_ATTR_COUNTERS

/* ---- 2. Operations, events and results ---- */

typedef enum dat_ib_op { /* for dat_extension_op */
	DAT_IB_FETCH_AND_ADD_OP = 0,
	DAT_IB_CMP_AND_SWAP_OP = 1,
	DAT_IB_RDMA_WRITE_IMMED_OP = 2,
	DAT_IB_UD_SEND_OP = 3,
	DAT_IB_QUERY_COUNTERS_OP = 4,
	DAT_IB_PRINT_COUNTERS_OP = 5,
	DAT_IB_COLLECTIVE_CREATE_MEMBER_OP = 6, /* the design has no member operations: later ones are 2 less */
	DAT_IB_COLLECTIVE_FREE_MEMBER_OP = 7,
	DAT_IB_COLLECTIVE_CREATE_GROUP_OP = 8,
	DAT_IB_COLLECTIVE_FREE_GROUP_OP = 9,
	DAT_IB_COLLECTIVE_SET_CLOCK_OP = 10,
	DAT_IB_COLLECTIVE_READ_CLOCK_OP = 11,
	DAT_IB_COLLECTIVE_SCATTER_OP = 12,
	DAT_IB_COLLECTIVE_SCATTERV_OP = 13,
	DAT_IB_COLLECTIVE_GATHER_OP = 14,
	DAT_IB_COLLECTIVE_GATHERV_OP = 15,
	DAT_IB_COLLECTIVE_ALLGATHER_OP = 16,
	DAT_IB_COLLECTIVE_ALLGATHERV_OP = 17,
	DAT_IB_COLLECTIVE_ALLTOALL_OP = 18,
	DAT_IB_COLLECTIVE_ALLTOALLV_OP = 19,
	DAT_IB_COLLECTIVE_REDUCE_OP = 20,
	DAT_IB_COLLECTIVE_ALLREDUCE_OP = 21,
	DAT_IB_COLLECTIVE_REDUCE_SCATTER_OP = 22,
	DAT_IB_COLLECTIVE_SCAN_OP = 23,
	DAT_IB_COLLECTIVE_BROADCAST_OP = 24,
	DAT_IB_COLLECTIVE_BARRIER_OP = 25,
	DAT_IB_START_COUNTERS_OP = 26,
	DAT_IB_STOP_COUNTERS_OP = 27,
	DAT_IB_UD_CM_FREE_OP = 28,
	DAT_IB_UD_AH_FREE_OP = 29,
	DAT_IB_OPEN_QUERY_OP = DAT_OPEN_EXTENSION_BASE,
	DAT_IB_CLOSE_QUERY_OP = DAT_CLOSE_EXTENSION_BASE
} DAT_IB_OP;

#define DAT_QUERY_COUNTERS_OP DAT_IB_QUERY_COUNTERS_OP
#define DAT_PRINT_COUNTERS_OP DAT_IB_PRINT_COUNTERS_OP

/* Values of event_number of DAT_EVENT, besides DAT_EVENT_NUMBER. */
typedef enum dat_ib_event_number {
	DAT_IB_DTO_EVENT = DAT_IB_EXTENSION_RANGE_BASE, /* and dto_completion_event_data is valid */
	DAT_IB_UD_CONNECTION_REQUEST_EVENT = 0x40001,
	DAT_IB_UD_CONNECTION_EVENT_ESTABLISHED = 0x40002,
	DAT_IB_UD_CONNECTION_REJECT_EVENT = 0x40003,
	DAT_IB_UD_CONNECTION_ERROR_EVENT = 0x40004,
	DAT_IB_COLLECTIVE_EVENT = 0x40005
} DAT_IB_EVENT_NUMBER;

/*
 * The design speaks of one event. Of the numbers above it means the first, that of data transfers.
 */
#define DAT_IB_EXTENSION_EVENT DAT_IB_EXTENSION_RANGE_BASE

/* type of the extension data of an event. */
typedef enum dat_ib_ext_type {
	DAT_IB_FETCH_AND_ADD = 0,      /* an atomic of this side is complete; length 8 */
	DAT_IB_CMP_AND_SWAP = 1,
	DAT_IB_RDMA_WRITE_IMMED = 2,   /* a write of this side is complete */
	DAT_IB_RDMA_WRITE_IMMED_DATA = 3, /* the peer's write took a receive: val.immed, length written */
	DAT_IB_RECV_IMMED_DATA = 4,    /* the peer's send came with val.immed */
	DAT_IB_UD_CONNECT_REQUEST = 5,
	DAT_IB_UD_REMOTE_AH = 6,         /* this side connected: remote_ah, context */
	DAT_IB_UD_PASSIVE_REMOTE_AH = 7, /* this side accepted: remote_ah, context */
	DAT_IB_UD_SEND = 8,
	DAT_IB_UD_RECV = 9, /* the first 40 bytes of the buffer are a header, counted in the length */
	DAT_IB_UD_CONNECT_REJECT = 10,
	DAT_IB_UD_CONNECT_ERROR = 11,
	DAT_IB_COLLECTIVE_CREATE_STATUS = 12, /* no group was made: status */
	DAT_IB_COLLECTIVE_CREATE_DATA = 13,   /* a group was made: coll.handle; then, as of all, coll.context */
	DAT_IB_COLLECTIVE_CLOCK_SET_STATUS = 14,
	DAT_IB_COLLECTIVE_SCATTER_STATUS = 15,
	DAT_IB_COLLECTIVE_SCATTERV_STATUS = 16,
	DAT_IB_COLLECTIVE_GATHER_STATUS = 17,
	DAT_IB_COLLECTIVE_GATHERV_STATUS = 18,
	DAT_IB_COLLECTIVE_ALLGATHER_STATUS = 19,
	DAT_IB_COLLECTIVE_ALLGATHERV_STATUS = 20,
	DAT_IB_COLLECTIVE_ALLTOALL_STATUS = 21,
	DAT_IB_COLLECTIVE_ALLTOALLV_STATUS = 22,
	DAT_IB_COLLECTIVE_REDUCE_STATUS = 23,
	DAT_IB_COLLECTIVE_ALLREDUCE_STATUS = 24,
	DAT_IB_COLLECTIVE_REDUCE_SCATTER_STATUS = 25,
	DAT_IB_COLLECTIVE_SCAN_STATUS = 26,
	DAT_IB_COLLECTIVE_BROADCAST_STATUS = 27,
	DAT_IB_COLLECTIVE_BARRIER_STATUS = 28
} DAT_IB_EXT_TYPE;

/* Names of the design. */
typedef DAT_IB_EXT_TYPE DAT_IB_TYPE;
#define DAT_IB_RDMA_WRITE_IMMED_STATUS DAT_IB_RDMA_WRITE_IMMED
#define DAT_IB_CMP_AND_SWAP_STATUS DAT_IB_CMP_AND_SWAP
#define DAT_IB_FETCH_AND_ADD_STATUS DAT_IB_FETCH_AND_ADD

/*
 * status of the extension data. Of a data transfer that failed it is a DAT_DTO_COMPLETION_STATUS.
 */
typedef enum dat_ib_status {
	DAT_OP_SUCCESS = DAT_SUCCESS,
	DAT_IB_OP_ERR = 1,
	DAT_IB_COLL_COMP_ERR = 2 /* a collective failed */
} DAT_IB_STATUS;

typedef DAT_IB_STATUS DAT_IB_EXT_STATUS;

/* Results of extensions, besides those of dat_error.h. */
typedef enum dat_ib_return {
	DAT_IB_ERR = DAT_EXTENSION_BASE,
	DAT_IB_COLLECTIVE_ERR = 0x10000001
} DAT_IB_RETURN;

/* operation of a data transfer's event, besides DAT_DTOS. */
typedef enum dat_ib_dtos {
	DAT_IB_DTO_RDMA_WRITE_IMMED = DAT_DTO_EXTENSION_BASE,
	DAT_IB_DTO_RECV_IMMED = 9,
	DAT_IB_DTO_FETCH_ADD = 10,
	DAT_IB_DTO_CMP_SWAP = 11,
	DAT_IB_DTO_RECV_MSG_IMMED = 12,
	DAT_IB_DTO_SEND_UD = 13,
	DAT_IB_DTO_RECV_UD = 14,
	DAT_IB_DTO_RECV_UD_IMMED = 15,
	DAT_IB_DTO_COLLECTIVES = 16
} DAT_IB_DTOS;

typedef enum dat_ib_handle_type { /* dat_get_handle_type, besides DAT_HANDLE_TYPE */
	DAT_IB_HANDLE_TYPE_EXT = DAT_HANDLE_TYPE_EXTENSION_BASE,
	DAT_IB_HANDLE_TYPE_COLLECTIVE = 13
} DAT_IB_HANDLE_TYPE;

typedef enum dat_ib_evd_extension_flags { /* dat_evd_create: an EVD for extension events */
	DAT_IB_EVD_EXTENSION_FLAG = DAT_EVD_EXTENSION_BASE
} DAT_IB_EVD_EXTENSION_FLAGS;

typedef enum dat_ib_mem_priv_flags { /* dat_lmr_create: peers' atomics */
	DAT_IB_MEM_PRIV_REMOTE_ATOMIC = DAT_MEM_PRIV_EXTENSION_BASE
} DAT_IB_MEM_PRIV_FLAGS;

typedef enum dat_ib_service_type { /* service_type of DAT_EP_ATTR: an endpoint for datagrams */
	DAT_IB_SERVICE_TYPE_UD = DAT_SERVICE_TYPE_EXTENSION_BASE
} DAT_IB_SERVICE_TYPE;

/* ---- 3. Extension data of an event ---- */

/*
 * Immediate data, in host byte order. The design has a plain integer; a program that wants that
 * defines DAT_IB_IMMED_DATA_IS_UINT32. Both are the same four bytes.
 */
#ifdef DAT_IB_IMMED_DATA_IS_UINT32
typedef DAT_UINT32 DAT_IB_IMMED_DATA;
#else
typedef struct dat_ib_immed_data {
	DAT_UINT32 data;
} DAT_IB_IMMED_DATA;
#endif

/* Where a datagram goes. dat_ib_ud_ah_free gives ah back. */
struct ibv_ah;
typedef struct dat_ib_addr_handle {
	struct ibv_ah *ah; /* opaque */
	DAT_UINT32 qpn;    /* which endpoint there */
	DAT_SOCK_ADDR6 ia_addr;
} DAT_IB_ADDR_HANDLE;

typedef DAT_HANDLE DAT_IB_COLLECTIVE_HANDLE; /* a group */

typedef struct dat_ib_collective_event_data {
	DAT_IB_COLLECTIVE_HANDLE handle;
	DAT_CONTEXT context; /* as it was given to the call */
} DAT_IB_COLLECTIVE_EVENT_DATA;

/* At offset 8 of the extension data. coll is the one below: the design has it here. */
typedef union dat_ib_extension_value {
	DAT_IB_IMMED_DATA immed;
	DAT_GNU_EXTENSION struct {
		DAT_UINT64 immed_and_hole;
		DAT_IB_COLLECTIVE_EVENT_DATA coll;
	};
} DAT_IB_EXTENSION_VALUE;

/*
 * The contents of event_extension_data if event_number is a DAT_IB_EVENT_NUMBER. Cast its address
 * to this:
 *	((DAT_IB_EXTENSION_EVENT_DATA *)event.event_extension_data)->val.immed.data
 * type says what is valid.
 */
typedef struct dat_ib_extension_event_data {
	DAT_IB_EXT_TYPE type;
	DAT_IB_STATUS status;
	DAT_GNU_EXTENSION union {
		DAT_IB_EXTENSION_VALUE val;
		DAT_GNU_EXTENSION struct {
			DAT_UINT64 value_and_hole;
			DAT_GNU_EXTENSION union {
				DAT_IB_ADDR_HANDLE remote_ah;
				DAT_IB_COLLECTIVE_EVENT_DATA coll;
			};
		};
	};
	DAT_CONTEXT context; /* of UD connections: for dat_ib_ud_cm_free */
} DAT_IB_EXTENSION_EVENT_DATA;

/* Names of the design. */
typedef DAT_IB_EXTENSION_EVENT_DATA DAT_IB_EXTENSION_DATA;
typedef DAT_IB_ADDR_HANDLE DAT_IB_ADDR_HANDLE_DATA;
typedef DAT_IB_IMMED_DATA DAT_IB_IMMEDIATE_DATA;

#ifdef __cplusplus
extern "C" {
#endif

/* ---- 4. Immediate data and atomics ---- */

/*
 * dat_ib_post_rdma_write_immed is dat_ep_post_rdma_write, and afterwards takes one receive of the
 * peer, whose event has the length written and immediate_data. Both ends find DAT_IB_DTO_EVENT:
 * this one of type DAT_IB_RDMA_WRITE_IMMED, the peer's DAT_IB_RDMA_WRITE_IMMED_DATA. (Design,
 * 3.1.1)
 */
DAT_EXPORT DAT_RETURN DAT_API dat_ib_post_rdma_write_immed(
	DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments, DAT_LMR_TRIPLET *local_iov,
	DAT_CONTEXT user_context, DAT_RMR_TRIPLET *remote_iov, DAT_UINT32 immediate_data,
	DAT_COMPLETION_FLAGS completion_flags);

/*
 * dat_ib_post_cmp_and_swap compares the 64 bits at remote_iov with cmp_value and, if they are
 * equal, stores swap_value there. dat_ib_post_fetch_and_add adds add_value to them. Either is
 * atomic among all operations of the adapter, and puts the 64 bits as they were before into the one
 * segment local_iov. Values are in host byte order. The remote memory needs
 * DAT_IB_MEM_PRIV_REMOTE_ATOMIC, and an address that 8 divides. The event is DAT_IB_DTO_EVENT.
 * (Design, 3.2) Errors: as of dat_ep_post_rdma_read.
 */
DAT_EXPORT DAT_RETURN DAT_API dat_ib_post_cmp_and_swap(DAT_EP_HANDLE ep_handle, DAT_UINT64 cmp_value,
                                                       DAT_UINT64 swap_value,
                                                       DAT_LMR_TRIPLET *local_iov,
                                                       DAT_CONTEXT user_context,
                                                       DAT_RMR_TRIPLET *remote_iov,
                                                       DAT_COMPLETION_FLAGS completion_flags);
DAT_EXPORT DAT_RETURN DAT_API dat_ib_post_fetch_and_add(DAT_EP_HANDLE ep_handle,
                                                        DAT_UINT64 add_value,
                                                        DAT_LMR_TRIPLET *local_iov,
                                                        DAT_CONTEXT user_context,
                                                        DAT_RMR_TRIPLET *remote_iov,
                                                        DAT_COMPLETION_FLAGS completion_flags);

/* ---- 5. Datagrams ---- */

/*
 * dat_ib_post_send_ud sends the segments as one datagram to the endpoint that remote_ah names, from
 * an endpoint of DAT_IB_SERVICE_TYPE_UD. remote_ah is the one of an event with DAT_IB_UD_REMOTE_AH
 * or DAT_IB_UD_PASSIVE_REMOTE_AH; it is copied. A datagram comes once or not at all. A UD endpoint
 * may connect, and accept, many times; each gives an address handle.
 */
DAT_EXPORT DAT_RETURN DAT_API dat_ib_post_send_ud(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments,
                                                  DAT_LMR_TRIPLET *local_iov,
                                                  DAT_IB_ADDR_HANDLE *remote_ah,
                                                  DAT_CONTEXT user_context,
                                                  DAT_COMPLETION_FLAGS completion_flags);

/*
 * dat_ib_ud_cm_free ends what connecting has left: context is the event's, an address or an
 * integer.
 */
DAT_EXPORT DAT_RETURN DAT_API dat_ib_ud_cm_free(DAT_EP_HANDLE ep_handle, DAT_CONTEXT context);

/* dat_ib_ud_ah_free gives an address handle back; it is not used afterwards. */
DAT_EXPORT DAT_RETURN DAT_API dat_ib_ud_ah_free(DAT_EP_HANDLE ep_handle, DAT_IB_ADDR_HANDLE *ah);

/* ---- 6. Counters ---- */

/*
 * dat_ib_query_counters reads counters of an IA, EP or EVD. counter is an index of
 * parts/counters.h: it stores that counter in counters[counter]; the ALL_COUNTERS index stores all.
 * reset not 0 sets what it has read to 0 afterwards. The array has ALL_COUNTERS elements of the kind. Errors:
 * DAT_INVALID_PARAMETER (counter, NULL).
 */
DAT_EXPORT DAT_RETURN DAT_API dat_ib_query_counters(DAT_HANDLE handle, int counter,
                                                    DAT_UINT64 *counters, int reset);

/* dat_ib_print_counters writes a line for each to standard output: host, process, name, value. */
DAT_EXPORT DAT_RETURN DAT_API dat_ib_print_counters(DAT_HANDLE handle, int counter, int reset);

/*
 * dat_ib_start_counter has a group of an adapter's counters begin at 0, dat_ib_stop_counter holds
 * it. DCNT_IA_CM runs from dat_ia_open on, DCNT_IA_LNK once it is started. Errors:
 * DAT_INVALID_PARAMETER (type), DAT_MODEL_NOT_SUPPORTED (DCNT_IA_DIAG).
 */
DAT_EXPORT DAT_RETURN DAT_API dat_ib_start_counter(DAT_IA_HANDLE ia_handle, DAT_COUNTER_TYPE type);
DAT_EXPORT DAT_RETURN DAT_API dat_ib_stop_counter(DAT_IA_HANDLE ia_handle, DAT_COUNTER_TYPE type);

/* ---- 7. Queries without opening ---- */

/*
 * dat_ib_open_query fills *ia_attr and *provider_attr for the adapter called name, as dat_ia_query
 * does, without opening it, and stores a handle for dat_ib_close_query in *handle. The memory to
 * which the structures point is valid until dat_ib_close_query. Errors: those of dat_ia_openv.
 */
DAT_EXPORT DAT_RETURN DAT_API dat_ib_open_query(const DAT_NAME_PTR name, DAT_HANDLE *handle,
                                                DAT_IA_ATTR_MASK ia_mask, DAT_IA_ATTR *ia_attr,
                                                DAT_PROVIDER_ATTR_MASK provider_mask,
                                                DAT_PROVIDER_ATTR *provider_attr);
DAT_EXPORT DAT_RETURN DAT_API dat_ib_close_query(DAT_HANDLE handle);

/* ---- 8. Strings ---- */

/*
 * dat_strerror_extension stores the name of a result in *message, of dat_error.h's results too.
 * Errors: those of dat_strerror. dat_strerror_ext_status stores the name of a status, an empty
 * string for success. Errors: DAT_INVALID_PARAMETER without class (unknown, *message says so).
 * Strings are constant.
 */
static __inline__ DAT_RETURN dat_strerror_extension(DAT_IB_RETURN value, const char **message)
{
	const DAT_RETURN result = value;
	const char *minor = NULL;

	if (value == DAT_IB_COLLECTIVE_ERR) {
		*message = "DAT_IB_COLLECTIVE_ERR";
		return DAT_SUCCESS;
	}
	if (DAT_GET_TYPE(result) == DAT_EXTENSION_BASE) {
		*message = "DAT_IB_ERR";
		return DAT_SUCCESS;
	}
	return dat_strerror(result, message, &minor);
}

static __inline__ DAT_RETURN dat_strerror_ext_status(DAT_IB_STATUS value, const char **message)
{
	DAT_RETURN ret = DAT_SUCCESS;

	switch (value) {
	case DAT_OP_SUCCESS:
		*message = "";
		break;
	case DAT_IB_OP_ERR:
		*message = "DAT_IB_OP_ERR";
		break;
	case DAT_IB_COLL_COMP_ERR:
		*message = "DAT_IB_COLL_COMP_ERR";
		break;
	default:
		*message = "unknown status of an extension";
		ret = DAT_INVALID_PARAMETER;
	}
	return ret;
}

#ifdef __cplusplus
}
#endif

/* ---- 9. The same by dat_extension_op ---- */

/* Eight bytes from a DAT_CONTEXT, an address or a 64-bit integer. */
#ifdef __cplusplus
static inline DAT_CONTEXT dat_context_of(DAT_CONTEXT context)
{
	return context;
}
static inline DAT_CONTEXT dat_context_of(DAT_PVOID pointer)
{
	DAT_CONTEXT context;
	context.as_ptr = pointer;
	return context;
}
static inline DAT_CONTEXT dat_context_of(DAT_UINT64 number)
{
	DAT_CONTEXT context;
	context.as_64 = number;
	return context;
}
static inline DAT_CONTEXT dat_context_of(DAT_UVERYLONG number)
{
	DAT_CONTEXT context;
	context.as_index = number;
	return context;
}
#define DAT_CONTEXT_OF(value) dat_context_of(value)
#else
#define DAT_CONTEXT_OF(value) (DAT_GNU_EXTENSION(DAT_CONTEXT)(value))
#endif

#define dat_ib_post_fetch_and_add(ep, add_val, lbuf, cookie, rbuf, flgs) \
	dat_extension_op((DAT_EP_HANDLE)(ep), DAT_IB_FETCH_AND_ADD_OP, (DAT_UINT64)(add_val), \
	                 (DAT_LMR_TRIPLET *)(lbuf), (cookie), \
	                 (DAT_RMR_TRIPLET *)(rbuf), (DAT_COMPLETION_FLAGS)(flgs))
#define dat_ib_post_cmp_and_swap(ep, cmp_val, swap_val, lbuf, cookie, rbuf, flgs) \
	dat_extension_op((DAT_EP_HANDLE)(ep), DAT_IB_CMP_AND_SWAP_OP, (DAT_UINT64)(cmp_val), \
	                 (DAT_UINT64)(swap_val), (DAT_LMR_TRIPLET *)(lbuf), (cookie), \
	                 (DAT_RMR_TRIPLET *)(rbuf), (DAT_COMPLETION_FLAGS)(flgs))
#define dat_ib_post_rdma_write_immed(ep, size, lbuf, cookie, rbuf, idata, flgs) \
	dat_extension_op((DAT_EP_HANDLE)(ep), DAT_IB_RDMA_WRITE_IMMED_OP, (DAT_COUNT)(size), \
	                 (DAT_LMR_TRIPLET *)(lbuf), (cookie), \
	                 (DAT_RMR_TRIPLET *)(rbuf), (DAT_UINT32)(idata), (DAT_COMPLETION_FLAGS)(flgs))
#define dat_ib_post_send_ud(ep, segments, lbuf, ah_ptr, cookie, flgs) \
	dat_extension_op((DAT_EP_HANDLE)(ep), DAT_IB_UD_SEND_OP, (DAT_COUNT)(segments), \
	                 (DAT_LMR_TRIPLET *)(lbuf), (DAT_IB_ADDR_HANDLE *)(ah_ptr), \
	                 (cookie), (DAT_COMPLETION_FLAGS)(flgs))
#define dat_ib_post_recv_ud dat_ep_post_recv /* room for a datagram, and 40 bytes before it */
#define dat_ib_ud_cm_free(ep, cm) \
	dat_extension_op((DAT_EP_HANDLE)(ep), DAT_IB_UD_CM_FREE_OP, DAT_CONTEXT_OF(cm))
#define dat_ib_ud_ah_free(ep, ah) \
	dat_extension_op((DAT_EP_HANDLE)(ep), DAT_IB_UD_AH_FREE_OP, (DAT_IB_ADDR_HANDLE *)(ah))
#define dat_ib_query_counters(dat_handle, cntr, p_cntrs_out, reset) \
	dat_extension_op((DAT_HANDLE)(dat_handle), DAT_IB_QUERY_COUNTERS_OP, (int)(cntr), \
	                 (DAT_UINT64 *)(p_cntrs_out), (int)(reset))
#define dat_ib_print_counters(dat_handle, cntr, reset) \
	dat_extension_op((DAT_HANDLE)(dat_handle), DAT_IB_PRINT_COUNTERS_OP, (int)(cntr), (int)(reset))
#define dat_ib_start_counter(dat_handle, type) \
	dat_extension_op((DAT_HANDLE)(dat_handle), DAT_IB_START_COUNTERS_OP, (DAT_COUNTER_TYPE)(type))
#define dat_ib_stop_counter(dat_handle, type) \
	dat_extension_op((DAT_HANDLE)(dat_handle), DAT_IB_STOP_COUNTERS_OP, (DAT_COUNTER_TYPE)(type))
#define dat_ib_open_query(name, ia_handle, ia_mask, ia_attr, prov_mask, prov_attr) \
	dat_extension_op((DAT_HANDLE)NULL, DAT_IB_OPEN_QUERY_OP, (DAT_NAME_PTR)(name), \
	                 (DAT_HANDLE *)(ia_handle), (DAT_IA_ATTR_MASK)(ia_mask), \
	                 (DAT_IA_ATTR *)(ia_attr), (DAT_PROVIDER_ATTR_MASK)(prov_mask), \
	                 (DAT_PROVIDER_ATTR *)(prov_attr))
#define dat_ib_close_query(ia_handle) \
	dat_extension_op((DAT_HANDLE)(ia_handle), DAT_IB_CLOSE_QUERY_OP)

/* Older names. */
#define dat_query_counters dat_ib_query_counters
#define dat_print_counters dat_ib_print_counters

#include <dat2/parts/collective.h>

#endif /* _DAT_IB_EXTENSIONS_H_ */
