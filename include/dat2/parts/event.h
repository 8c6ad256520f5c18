/*
 * event.h - part of <dat2/dat.h>: the events of uDAPL 2.0.
 *
 * An event is copied into the structure that dat_evd_wait or dat_evd_dequeue is given. event_number
 * says which member of event_data is valid, extension events (dat_ib_extensions.h) excepted.
 * Handles in it may be freed already: events outlive objects.
 * Source: uDAPL 2.0; the values are the deployed libdat2's.
 */
#ifndef DAT2_PARTS_EVENT_H
#define DAT2_PARTS_EVENT_H

#include <dat2/parts/basic.h>

/* ---- Completions ---- */

/* How an operation ended. After any failure the connection is broken and the rest is flushed. */
typedef enum dat_dto_completion_status {
	DAT_DTO_SUCCESS = 0,
	DAT_DTO_ERR_FLUSHED = 1,            /* was posted when the connection ended */
	DAT_DTO_ERR_LOCAL_LENGTH = 2,       /* the message is longer than the receive */
	DAT_DTO_ERR_LOCAL_EP = 3,           /* not possible on this endpoint */
	DAT_DTO_ERR_LOCAL_PROTECTION = 4,   /* local memory: bounds, right, PZ, or not there */
	DAT_DTO_ERR_BAD_RESPONSE = 5,       /* the peer answered nonsense */
	DAT_DTO_ERR_REMOTE_ACCESS = 6,      /* remote memory: bounds, right, PZ, or not there */
	DAT_DTO_ERR_REMOTE_RESPONDER = 7,   /* the peer could not do it, say its receive is too small */
	DAT_DTO_ERR_TRANSPORT = 8,          /* the peer does not answer any more */
	DAT_DTO_ERR_RECEIVER_NOT_READY = 9, /* the peer had no receive for too long */
	DAT_DTO_ERR_PARTIAL_PACKET = 10,
	DAT_RMR_OPERATION_FAILED = 11,
	DAT_DTO_ERR_LOCAL_MM_ERROR = 12 /* memory management of this node failed */
} DAT_DTO_COMPLETION_STATUS;

/* Older names. */
#define DAT_DTO_LENGTH_ERROR DAT_DTO_ERR_LOCAL_LENGTH
#define DAT_DTO_FAILURE DAT_DTO_ERR_FLUSHED
#define DAT_RMR_BIND_COMPLETION_STATUS DAT_DTO_COMPLETION_STATUS
#define DAT_RMR_BIND_SUCCESS DAT_DTO_SUCCESS
#define DAT_RMR_BIND_FAILURE DAT_DTO_ERR_FLUSHED

/* DAT_DTO_COMPLETION_EVENT, and with the extension data DAT_IB_DTO_EVENT. */
typedef struct dat_dto_completion_event_data {
	DAT_EP_HANDLE ep_handle;
	DAT_DTO_COOKIE user_cookie; /* as it was posted */
	DAT_DTO_COMPLETION_STATUS status;
	DAT_SEG_LENGTH transfered_length; /* bytes; of a receive those that came, else those posted */
	DAT_DTOS operation;               /* or a DAT_IB_DTOS */
	DAT_RMR_CONTEXT rmr_context;      /* of DAT_DTO_RECEIVE_WITH_INVALIDATE */
} DAT_DTO_COMPLETION_EVENT_DATA;

/* DAT_RMR_BIND_COMPLETION_EVENT. */
typedef struct dat_rmr_bind_completion_event_data {
	DAT_RMR_HANDLE rmr_handle;
	DAT_RMR_COOKIE user_cookie;
	DAT_DTO_COMPLETION_STATUS status;
} DAT_RMR_BIND_COMPLETION_EVENT_DATA;

/* ---- Connections ---- */

typedef union dat_sp_handle { /* the service point that took a request; the program knows its kind */
	DAT_RSP_HANDLE rsp_handle;
	DAT_PSP_HANDLE psp_handle;
	DAT_CSP_HANDLE csp_handle;
} DAT_SP_HANDLE;

/* DAT_CONNECTION_REQUEST_EVENT. The request waits for dat_cr_accept, _reject or _handoff. */
typedef struct dat_cr_arrival_event_data {
	DAT_SP_HANDLE sp_handle;
	DAT_IA_ADDRESS_PTR local_ia_address_ptr; /* lives as long as the request */
	DAT_CONN_QUAL conn_qual;
	DAT_CR_HANDLE cr_handle;
	DAT_BOOLEAN truncate_flag; /* private data was longer than this side can take */
} DAT_CR_ARRIVAL_EVENT_DATA;

/* The DAT_CONNECTION_EVENT_ ones, from ESTABLISHED to UNREACHABLE. */
typedef struct dat_connection_event_data {
	DAT_EP_HANDLE ep_handle;
	DAT_COUNT private_data_size; /* bytes; 0 unless the other side gave some */
	DAT_PVOID private_data;      /* the library's, lives as long as the endpoint */
} DAT_CONNECTION_EVENT_DATA;

/* ---- Asynchronous errors and the program's own events ---- */

/* The DAT_ASYNC_ERROR_ ones. */
typedef struct dat_asynch_error_event_data {
	DAT_HANDLE dat_handle; /* what the error is about */
	DAT_COUNT reason;      /* one of the lists below, by the kind of the handle */
} DAT_ASYNCH_ERROR_EVENT_DATA;

typedef enum ia_async_error_reason {
	DAT_IA_CATASTROPHIC_ERROR = 0, /* the adapter is lost: close it abruptly */
	DAT_IA_OTHER_ERROR = 1
} DAT_IA_ASYNC_ERROR_REASON;

typedef enum ep_async_error_reason {
	DAT_EP_TRANSFER_TO_ERROR = 0,
	DAT_EP_OTHER_ERROR = 1,
	DAT_SRQ_SOFT_HIGH_WATERMARK_EVENT = 2 /* it holds more receives of its SRQ than srq_soft_hw */
} DAT_EP_ASYNC_ERROR_REASON;

typedef enum evd_async_error_reason {
	DAT_EVD_OVERFLOW_ERROR = 0, /* an event was dropped */
	DAT_EVD_OTHER_ERROR = 1
} DAT_EVD_ASYNC_ERROR_REASON;

typedef enum srq_async_error_reason {
	DAT_SRQ_TRANSFER_TO_ERROR = 0,
	DAT_SRQ_OTHER_ERROR = 1,
	DAT_SRQ_LOW_WATERMARK_EVENT = 2 /* fewer receives are left than its low watermark */
} DAT_SRQ_ASYNC_ERROR_REASON;

typedef enum lmr_async_error_reason { DAT_LMR_OTHER_ERROR = 0 } DAT_LMR_ASYNC_ERROR_REASON;
typedef enum rmr_async_error_reason { DAT_RMR_OTHER_ERROR = 0 } DAT_RMR_ASYNC_ERROR_REASON;
typedef enum pz_async_error_reason { DAT_PZ_OTHER_ERROR = 0 } DAT_PZ_ASYNC_ERROR_REASON;

/* DAT_SOFTWARE_EVENT: what dat_evd_post_se was given. */
typedef struct dat_software_event_data {
	DAT_PVOID pointer;
} DAT_SOFTWARE_EVENT_DATA;

/* ---- The event ---- */

typedef enum dat_event_number {
	DAT_DTO_COMPLETION_EVENT = 0x00001,
	DAT_RMR_BIND_COMPLETION_EVENT = 0x01001,
	DAT_CONNECTION_REQUEST_EVENT = 0x02001,
	DAT_CONNECTION_EVENT_ESTABLISHED = 0x04001,
	DAT_CONNECTION_EVENT_PEER_REJECTED = 0x04002,     /* by dat_cr_reject */
	DAT_CONNECTION_EVENT_NON_PEER_REJECTED = 0x04003, /* nobody listens there */
	DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR = 0x04004, /* the peer was gone when accepted */
	DAT_CONNECTION_EVENT_DISCONNECTED = 0x04005,      /* by either side; exactly once */
	DAT_CONNECTION_EVENT_BROKEN = 0x04006,            /* by an error, or the peer's death */
	DAT_CONNECTION_EVENT_TIMED_OUT = 0x04007,         /* no answer within dat_ep_connect's time */
	DAT_CONNECTION_EVENT_UNREACHABLE = 0x04008,       /* no way to that address */
	DAT_ASYNC_ERROR_EVD_OVERFLOW = 0x08001,
	DAT_ASYNC_ERROR_IA_CATASTROPHIC = 0x08002,
	DAT_ASYNC_ERROR_EP_BROKEN = 0x08003, /* of an EP with an SRQ also: it takes no more receives */
	DAT_ASYNC_ERROR_TIMED_OUT = 0x08004,
	DAT_ASYNC_ERROR_PROVIDER_INTERNAL_ERROR = 0x08005,
	DAT_HA_DOWN_TO_1 = 0x08101,
	DAT_HA_UP_TO_MULTI_PATH = 0x08102,
	DAT_SOFTWARE_EVENT = 0x10001,
	DAT_EXTENSION_EVENT = 0x20000, /* never posted: extensions have their own numbers */
	DAT_IB_EXTENSION_RANGE_BASE = 0x40000, /* DAT_IB_EVENT_NUMBER */
	DAT_IW_EXTENSION_RANGE_BASE = 0x80000
} DAT_EVENT_NUMBER;

/*
 * The event data of the proposal of 2005: <dat/dat_extensions.h> has its names. It fits the bytes
 * of the present event, and the library fills it for every extended data transfer.
 * type is a DAT_EXT_EVENT_TYPE.
 */
typedef struct dat_immediate_data {
	DAT_UINT32 data;
} DAT_RDMA_WRITE_IMMED_DATA;

typedef union dat_extension_value {
	DAT_RDMA_WRITE_IMMED_DATA immed;
} DAT_EXTENSION_VALUE;

typedef struct dat_extension_data {
	DAT_DTO_COMPLETION_EVENT_DATA dto;
	DAT_UINT32 type;
	DAT_EXTENSION_VALUE val;
} DAT_EXTENSION_DATA;

typedef union dat_event_data {
	DAT_DTO_COMPLETION_EVENT_DATA dto_completion_event_data;
	DAT_RMR_BIND_COMPLETION_EVENT_DATA rmr_completion_event_data;
	DAT_CR_ARRIVAL_EVENT_DATA cr_arrival_event_data;
	DAT_CONNECTION_EVENT_DATA connect_event_data;
	DAT_ASYNCH_ERROR_EVENT_DATA asynch_error_event_data;
	DAT_SOFTWARE_EVENT_DATA software_event_data;
	DAT_EXTENSION_DATA extension_data;
} DAT_EVENT_DATA;

typedef struct dat_event {
	DAT_EVENT_NUMBER event_number; /* or a DAT_IB_EVENT_NUMBER */
	DAT_EVD_HANDLE evd_handle;     /* whose queue it was in */
	DAT_EVENT_DATA event_data;
	DAT_UINT64 event_extension_data[8]; /* 64 bytes: a DAT_IB_EXTENSION_EVENT_DATA */
} DAT_EVENT;

#endif /* DAT2_PARTS_EVENT_H */
