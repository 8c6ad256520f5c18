/*
 * dat_error.h - the result of every uDAPL 2.0 call: DAT_SUCCESS, or a class, a type and a subtype
 * in one number.
 *
 *	bit 31        an error: the call has failed, and had no effect
 *	bit 30        a warning: the call has succeeded, but look at the type
 *	bits 29-16    the type, a DAT_RETURN_TYPE
 *	bits 15-0     the subtype, a DAT_RETURN_SUBTYPE: which argument, handle, state or resource
 *
 * Compare DAT_GET_TYPE(ret) with a type. Do not compare the whole number: some calls return a bare
 * type, without bit 31, where programs expect just that
 * (dat_evd_dequeue, dat_cno_wait, dat_cr_accept and extensions that an adapter lacks). Source: uDAPL 2.0;
 * the values are the deployed libdat2's.
 */
#ifndef _DAT_ERROR_H_
#define _DAT_ERROR_H_

#include <dat2/dat_platform_specific.h>

#define DAT_CLASS_ERROR 0x80000000
#define DAT_CLASS_WARNING 0x40000000
#define DAT_CLASS_SUCCESS 0x00000000
#define DAT_TYPE_MASK 0x3fff0000
#define DAT_SUBTYPE_MASK 0x0000FFFF

/* The type and subtype of a result, and whether it is a warning (not 0). */
#define DAT_GET_TYPE(status) (DAT_CAST(DAT_UINT32, status) & DAT_TYPE_MASK)
#define DAT_GET_SUBTYPE(status) (DAT_CAST(DAT_UINT32, status) & DAT_SUBTYPE_MASK)
#define DAT_IS_WARNING(status) (DAT_CAST(DAT_UINT32, status) & DAT_CLASS_WARNING)

typedef enum dat_return_type {
	DAT_SUCCESS = 0x00000000,
	DAT_ABORT = 0x00010000,                       /* ended before it was done: its object is being freed */
	DAT_CONN_QUAL_IN_USE = 0x00020000,            /* another service point listens there */
	DAT_INSUFFICIENT_RESOURCES = 0x00030000,      /* subtype: of what */
	DAT_INTERNAL_ERROR = 0x00040000,              /* a fault of the library */
	DAT_INVALID_HANDLE = 0x00050000,              /* freed, null or of another kind; subtype: which */
	DAT_INVALID_PARAMETER = 0x00060000,           /* subtype: which argument, counted from 1 */
	DAT_INVALID_STATE = 0x00070000,               /* subtype: the state that is in the way */
	DAT_LENGTH_ERROR = 0x00080000,                /* a length that cannot be: 0, or too much for the buffers */
	DAT_MODEL_NOT_SUPPORTED = 0x00090000,         /* asked for what no provider here does */
	DAT_PROVIDER_NOT_FOUND = 0x000A0000,          /* no such interface adapter name, version, thread safety */
	DAT_PRIVILEGES_VIOLATION = 0x000B0000,        /* memory without the right that this needs */
	DAT_PROTECTION_VIOLATION = 0x000C0000,        /* memory outside of its region, or of another PZ */
	DAT_QUEUE_EMPTY = 0x000D0000,                 /* no event */
	DAT_QUEUE_FULL = 0x000E0000,                  /* no room for an event */
	DAT_TIMEOUT_EXPIRED = 0x000F0000,             /* the time is over and nothing happened */
	DAT_PROVIDER_ALREADY_REGISTERED = 0x00100000, /* this name is in the registry */
	DAT_PROVIDER_IN_USE = 0x00110000,             /* an IA of this provider is open */
	DAT_INVALID_ADDRESS = 0x00120000,             /* subtype: why */
	DAT_INTERRUPTED_CALL = 0x00130000,            /* a signal ended the wait */
	DAT_CONN_QUAL_UNAVAILABLE = 0x00140000,       /* no connection qualifier is free */
	DAT_RESERVED_LMR = 0x00150000,                /* a region that the library keeps for itself */
	DAT_PORT_IN_USE = 0x00160000,                 /* another common service point listens there */
	DAT_COMM_NOT_SUPPORTED = 0x00170000,          /* no such domain, type or protocol */
	DAT_EXTENSION_BASE = 0x10000000,              /* first type of extensions, see dat_ib_extensions.h */
	DAT_NOT_IMPLEMENTED = 0x3FFF0000              /* declared, but not there */
} DAT_RETURN_TYPE;

/* Older name. */
#define DAT_NAME_NOT_FOUND DAT_PROVIDER_NOT_FOUND

typedef DAT_UINT32 DAT_RETURN;

/*
 * "EP lacks" below means an EP that was created without a PZ or EVD, which dat_ep_modify must give
 * it.
 */
typedef enum dat_return_subtype {
	DAT_NO_SUBTYPE = 0x00,                             /* the type says all */
	DAT_SUB_INTERRUPTED = 0x01,                        /* by a signal */
	DAT_RESOURCE_MEMORY = 0x02,                        /* no memory */
	DAT_RESOURCE_DEVICE = 0x03,                        /* no descriptors or sockets of the system */
	DAT_RESOURCE_TEP = 0x04,                           /* no endpoints, or room in an endpoint */
	DAT_RESOURCE_TEVD = 0x05,                          /* no EVDs, or room in one */
	DAT_RESOURCE_PROTECTION_DOMAIN = 0x06,             /* no protection zones */
	DAT_RESOURCE_MEMORY_REGION = 0x07,                 /* no memory regions */
	DAT_RESOURCE_ERROR_HANDLER = 0x08,                 /* no error handlers */
	DAT_RESOURCE_CREDITS = 0x09,                       /* no credits */
	DAT_RESOURCE_SRQ = 0x0a,                           /* no shared receive queues */
	DAT_INVALID_HANDLE_IA = 0x0b,                      /* interface adapter */
	DAT_INVALID_HANDLE_EP = 0x0c,                      /* endpoint */
	DAT_INVALID_HANDLE_LMR = 0x0d,                     /* local memory region */
	DAT_INVALID_HANDLE_RMR = 0x0e,                     /* remote memory region */
	DAT_INVALID_HANDLE_PZ = 0x0f,                      /* protection zone */
	DAT_INVALID_HANDLE_PSP = 0x10,                     /* public service point */
	DAT_INVALID_HANDLE_RSP = 0x11,                     /* reserved service point */
	DAT_INVALID_HANDLE_CR = 0x12,                      /* connection request */
	DAT_INVALID_HANDLE_CNO = 0x13,                     /* consumer notification object */
	DAT_INVALID_HANDLE_EVD_CR = 0x14,                  /* EVD for connection requests */
	DAT_INVALID_HANDLE_EVD_REQUEST = 0x15,             /* EVD for requests, or any EVD */
	DAT_INVALID_HANDLE_EVD_RECV = 0x16,                /* EVD for receives */
	DAT_INVALID_HANDLE_EVD_CONN = 0x17,                /* EVD for connection events */
	DAT_INVALID_HANDLE_EVD_ASYNC = 0x18,               /* EVD for asynchronous errors */
	DAT_INVALID_HANDLE_SRQ = 0x19,                     /* shared receive queue */
	DAT_INVALID_HANDLE_CSP = 0x1a,                     /* common service point */
	DAT_INVALID_HANDLE1 = 0x1b,                        /* handle number 1 */
	DAT_INVALID_HANDLE2 = 0x1c,                        /* handle number 2 */
	DAT_INVALID_HANDLE3 = 0x1d,                        /* handle number 3 */
	DAT_INVALID_HANDLE4 = 0x1e,                        /* handle number 4 */
	DAT_INVALID_HANDLE5 = 0x1f,                        /* handle number 5 */
	DAT_INVALID_HANDLE6 = 0x20,                        /* handle number 6 */
	DAT_INVALID_HANDLE7 = 0x21,                        /* handle number 7 */
	DAT_INVALID_HANDLE8 = 0x22,                        /* handle number 8 */
	DAT_INVALID_HANDLE9 = 0x23,                        /* handle number 9 */
	DAT_INVALID_HANDLE10 = 0x24,                       /* handle number 10 */
	DAT_INVALID_ARG1 = 0x25,                           /* argument 1 */
	DAT_INVALID_ARG2 = 0x26,                           /* argument 2 */
	DAT_INVALID_ARG3 = 0x27,                           /* argument 3 */
	DAT_INVALID_ARG4 = 0x28,                           /* argument 4 */
	DAT_INVALID_ARG5 = 0x29,                           /* argument 5 */
	DAT_INVALID_ARG6 = 0x2a,                           /* argument 6 */
	DAT_INVALID_ARG7 = 0x2b,                           /* argument 7 */
	DAT_INVALID_ARG8 = 0x2c,                           /* argument 8 */
	DAT_INVALID_ARG9 = 0x2d,                           /* argument 9 */
	DAT_INVALID_ARG10 = 0x2e,                          /* argument 10 */
	DAT_INVALID_STATE_EP_UNCONNECTED = 0x2f,           /* the EP is not connected */
	DAT_INVALID_STATE_EP_ACTCONNPENDING = 0x30,        /* the EP is connecting */
	DAT_INVALID_STATE_EP_PASSCONNPENDING = 0x31,       /* the EP has a request of its RSP */
	DAT_INVALID_STATE_EP_TENTCONNPENDING = 0x32,       /* the EP has a request of its PSP */
	DAT_INVALID_STATE_EP_CONNECTED = 0x33,             /* the EP is connected */
	DAT_INVALID_STATE_EP_DISCONNECTED = 0x34,          /* the EP is disconnected */
	DAT_INVALID_STATE_EP_RESERVED = 0x35,              /* an RSP has the EP */
	DAT_INVALID_STATE_EP_COMPLPENDING = 0x36,          /* the EP is accepting */
	DAT_INVALID_STATE_EP_DISCPENDING = 0x37,           /* the EP is disconnecting */
	DAT_INVALID_STATE_EP_PROVIDERCONTROL = 0x38,       /* the library has the EP */
	DAT_INVALID_STATE_EP_NOTREADY = 0x39,              /* the EP is not ready */
	DAT_INVALID_STATE_EP_RECV_WATERMARK = 0x3a,        /* the watermark does not fit */
	DAT_INVALID_STATE_EP_PZ = 0x3b,                    /* the EP has no PZ */
	DAT_INVALID_STATE_EP_EVD_REQUEST = 0x3c,           /* the EP has no request EVD */
	DAT_INVALID_STATE_EP_EVD_RECV = 0x3d,              /* the EP has no receive EVD */
	DAT_INVALID_STATE_EP_EVD_CONNECT = 0x3e,           /* the EP has no connect EVD */
	DAT_INVALID_STATE_EP_UNCONFIGURED = 0x3f,          /* the EP lacks a PZ or EVD */
	DAT_INVALID_STATE_EP_UNCONFRESERVED = 0x40,        /* the same, an RSP has it */
	DAT_INVALID_STATE_EP_UNCONFPASSIVE = 0x41,         /* the same, with a request of its RSP */
	DAT_INVALID_STATE_EP_UNCONFTENTATIVE = 0x42,       /* the same, with a request of its PSP */
	DAT_INVALID_STATE_CNO_IN_USE = 0x43,               /* an EVD has the CNO */
	DAT_INVALID_STATE_CNO_DEAD = 0x44,                 /* the CNO is being freed */
	DAT_INVALID_STATE_EVD_OPEN = 0x45,                 /* the EVD is open */
	DAT_INVALID_STATE_EVD_ENABLED = 0x46,              /* the EVD is enabled */
	DAT_INVALID_STATE_EVD_DISABLED = 0x47,             /* the EVD is disabled */
	DAT_INVALID_STATE_EVD_WAITABLE = 0x48,             /* the EVD is waitable */
	DAT_INVALID_STATE_EVD_UNWAITABLE = 0x49,           /* the EVD is not waitable */
	DAT_INVALID_STATE_EVD_IN_USE = 0x4a,               /* an object has the EVD */
	DAT_INVALID_STATE_EVD_CONFIG_NOTIFY = 0x4b,        /* the EVD notifies otherwise */
	DAT_INVALID_STATE_EVD_CONFIG_SOLICITED = 0x4c,     /* the same, solicited */
	DAT_INVALID_STATE_EVD_CONFIG_THRESHOLD = 0x4d,     /* the same, by a threshold */
	DAT_INVALID_STATE_EVD_WAITER = 0x4e,               /* another thread waits */
	DAT_INVALID_STATE_EVD_ASYNC = 0x4f,                /* not for the asynchronous EVD */
	DAT_INVALID_STATE_IA_IN_USE = 0x50,                /* the IA has objects */
	DAT_INVALID_STATE_LMR_IN_USE = 0x51,               /* an RMR has the LMR */
	DAT_INVALID_STATE_LMR_FREE = 0x52,                 /* the LMR is being freed */
	DAT_INVALID_STATE_PZ_IN_USE = 0x53,                /* an object has the PZ */
	DAT_INVALID_STATE_PZ_FREE = 0x54,                  /* the PZ is being freed */
	DAT_INVALID_STATE_SRQ_OPERATIONAL = 0x55,          /* the SRQ works */
	DAT_INVALID_STATE_SRQ_ERROR = 0x56,                /* the SRQ has failed */
	DAT_INVALID_STATE_SRQ_IN_USE = 0x57,               /* an EP has the SRQ */
	DAT_INVALID_STATE_SRQ_SHUTDOWN = 0x58,             /* the SRQ is being freed */
	DAT_PRIVILEGES_READ = 0x59,                        /* no right to read */
	DAT_PRIVILEGES_WRITE = 0x5a,                       /* no right to write */
	DAT_PRIVILEGES_RDMA_READ = 0x5b,                   /* no right to RDMA read */
	DAT_PRIVILEGES_RDMA_WRITE = 0x5c,                  /* no right to RDMA write */
	DAT_PROTECTION_READ = 0x5d,                        /* outside of the memory, read */
	DAT_PROTECTION_WRITE = 0x5e,                       /* outside of the memory, write */
	DAT_PROTECTION_RDMA_READ = 0x5f,                   /* outside of the memory, RDMA read */
	DAT_PROTECTION_RDMA_WRITE = 0x60,                  /* outside of the memory, RDMA write */
	DAT_INVALID_ADDRESS_UNSUPPORTED = 0x61,            /* not of a family that works here */
	DAT_INVALID_ADDRESS_UNREACHABLE = 0x62,            /* no way there */
	DAT_INVALID_ADDRESS_MALFORMED = 0x63,              /* not a socket address */
	DAT_NAME_NOT_REGISTERED = 0x64,                    /* no such name */
	DAT_MAJOR_NOT_FOUND = 0x65,                        /* not with this major version */
	DAT_MINOR_NOT_FOUND = 0x66,                        /* not with this minor version */
	DAT_THREAD_SAFETY_NOT_FOUND = 0x67                 /* not with this thread safety */
} DAT_RETURN_SUBTYPE;

#ifdef __cplusplus
extern "C" {
#endif

/*
 * dat_strerror stores the names of a result's type and subtype, "DAT_INVALID_HANDLE" and
 * "DAT_INVALID_HANDLE_EP", in *major_message and *minor_message. The strings are the library's,
 * constant, and valid for ever; no subtype gives an empty string. minor_message may be NULL. Needs
 * no open adapter; any thread may call. Errors: DAT_INVALID_PARAMETER (without class) for a type or
 * subtype that it does not know, both strings are set then too; for a NULL major_message.
 */
DAT_EXPORT DAT_RETURN DAT_API dat_strerror(DAT_RETURN value, const char **major_message,
                                           const char **minor_message);

#ifdef __cplusplus
}
#endif

#endif /* _DAT_ERROR_H_ */
