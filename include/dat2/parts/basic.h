/*
 * basic.h - part of <dat2/dat.h>: names, handles, contexts, flags and memory of uDAPL 2.0.
 *
 * Where an enumeration below is a set of flags, several are or'd together; in C++ that needs a
 * cast. Source: uDAPL 2.0; the values are the deployed libdat2's.
 */
#ifndef DAT2_PARTS_BASIC_H
#define DAT2_PARTS_BASIC_H

#include <dat2/dat_platform_specific.h>
#include <dat2/dat_error.h>

/* ---- Names, numbers with a meaning, truth ---- */

#define DAT_NAME_MAX_LENGTH 256 /* bytes of an adapter's name, the final NUL included */

typedef char *DAT_NAME_PTR; /* a string that ends with NUL; calls only read it */

/* A fact that has a name, of an adapter, a provider or an endpoint. Both strings end with NUL. */
typedef struct dat_named_attr {
	const char *name;
	const char *value;
} DAT_NAMED_ATTR;

typedef enum dat_boolean {
	DAT_FALSE = 0,
	DAT_TRUE = 1
} DAT_BOOLEAN;

#define DAT_WATERMARK_INFINITE DAT_CAST(DAT_COUNT, -1) /* a watermark that is never reached */
#define DAT_HW_DEFAULT DAT_WATERMARK_INFINITE          /* high watermark of a new endpoint with an SRQ */
#define DAT_SRQ_LW_DEFAULT 0x0                         /* low watermark of a new SRQ: none */
#define DAT_VALUE_UNKNOWN DAT_CAST(DAT_COUNT, -2)      /* a query's answer that the library does not know */

typedef DAT_UINT32 DAT_TIMEOUT; /* microseconds */
#define DAT_TIMEOUT_INFINITE DAT_CAST(DAT_TIMEOUT, ~0)

/* How several paths of a connection share its load. There is one path here: DAT_HA_LB_NONE. */
typedef DAT_UINT32 DAT_HA_LB;
#define DAT_HA_LB_NONE DAT_CAST(DAT_HA_LB, 0)
#define DAT_HA_LB_INTERCOMM DAT_CAST(DAT_HA_LB, 1) /* connections are spread over the paths */
#define DAT_HA_LB_INTRACOMM DAT_CAST(DAT_HA_LB, 2) /* each connection uses all paths */

/* ---- Handles ---- */

/*
 * A handle names an object of this process. It is opaque: copy it and compare it, never follow it.
 * A handle is good from the call that stores it to the call that frees its object. Later, or as
 * another kind than it is, it gives DAT_INVALID_HANDLE, never a fault or another object.
 */
typedef DAT_PVOID DAT_HANDLE;
typedef DAT_HANDLE DAT_IA_HANDLE;  /* interface adapter, IA: one opening of a provider */
typedef DAT_HANDLE DAT_EP_HANDLE;  /* endpoint, EP: one end of a connection */
typedef DAT_HANDLE DAT_EVD_HANDLE; /* event dispatcher, EVD: a queue of events */
typedef DAT_HANDLE DAT_CNO_HANDLE; /* consumer notification object, CNO: waits for several EVDs */
typedef DAT_HANDLE DAT_PZ_HANDLE;  /* protection zone, PZ: which memory an endpoint may use */
typedef DAT_HANDLE DAT_LMR_HANDLE; /* local memory region, LMR: registered memory */
typedef DAT_HANDLE DAT_RMR_HANDLE; /* remote memory region, RMR: a window of an LMR for peers */
typedef DAT_HANDLE DAT_PSP_HANDLE; /* public service point, PSP: takes connection requests */
typedef DAT_HANDLE DAT_RSP_HANDLE; /* reserved service point, RSP: takes one, for one EP */
typedef DAT_HANDLE DAT_CSP_HANDLE; /* common service point, CSP: takes them at a socket address */
typedef DAT_HANDLE DAT_CR_HANDLE;  /* connection request, CR: to be accepted or rejected */
typedef DAT_HANDLE DAT_SRQ_HANDLE; /* shared receive queue, SRQ: receives of several EPs */

#define DAT_HANDLE_NULL DAT_CAST(DAT_HANDLE, NULL) /* no object */

/* In place of an asynchronous EVD for dat_ia_open. */
#define DAT_EVD_ASYNC_EXISTS DAT_CAST_ADDRESS(DAT_EVD_HANDLE, 0x1) /* share this adapter's EVD */
#define DAT_EVD_OUT_OF_SCOPE DAT_CAST_ADDRESS(DAT_EVD_HANDLE, 0x2) /* an EVD that this program does not see */

typedef enum dat_handle_type { /* dat_get_handle_type */
	DAT_HANDLE_TYPE_CR = 0,
	DAT_HANDLE_TYPE_EP = 1,
	DAT_HANDLE_TYPE_EVD = 2,
	DAT_HANDLE_TYPE_IA = 3,
	DAT_HANDLE_TYPE_LMR = 4,
	DAT_HANDLE_TYPE_PSP = 5,
	DAT_HANDLE_TYPE_PZ = 6,
	DAT_HANDLE_TYPE_RMR = 7,
	DAT_HANDLE_TYPE_RSP = 8,
	DAT_HANDLE_TYPE_CNO = 9,
	DAT_HANDLE_TYPE_SRQ = 10,
	DAT_HANDLE_TYPE_CSP = 11,
	DAT_HANDLE_TYPE_EXTENSION_BASE = 12 /* first of the extensions, see DAT_IB_HANDLE_TYPE */
} DAT_HANDLE_TYPE;

/* Eight bytes of the program's own, which the library carries and gives back unread. */
typedef union dat_context {
	DAT_PVOID as_ptr;
	DAT_UINT64 as_64;
	DAT_UVERYLONG as_index;
} DAT_CONTEXT;

typedef DAT_CONTEXT DAT_DTO_COOKIE; /* of a data transfer operation, DTO: comes back in its event */
typedef DAT_CONTEXT DAT_RMR_COOKIE; /* of dat_rmr_bind: comes back in its event */

/* ---- Addresses of connections ---- */

/* A socket address, IPv4 or IPv6: look at sa_family, then cast. Ports in it are not looked at. */
typedef DAT_SOCK_ADDR *DAT_IA_ADDRESS_PTR;

typedef DAT_UINT64 DAT_CONN_QUAL; /* a service point of an adapter, any of the 2^64 values */
typedef DAT_UINT64 DAT_PORT_QUAL; /* an end of a connection at an adapter */

/* ---- Flags of calls ---- */

typedef enum dat_completion_flags { /* of a DTO, or of what an endpoint can do; flags */
	DAT_COMPLETION_DEFAULT_FLAG = 0x00,
	DAT_COMPLETION_SUPPRESS_FLAG = 0x01,             /* no event when it succeeds */
	DAT_COMPLETION_SOLICITED_WAIT_FLAG = 0x02,       /* wake a peer that waits for solicited events */
	DAT_COMPLETION_UNSIGNALLED_FLAG = 0x04,          /* the event need not wake anybody */
	DAT_COMPLETION_BARRIER_FENCE_FLAG = 0x08,        /* begin after earlier reads of this EP */
	DAT_COMPLETION_EVD_THRESHOLD_FLAG = 0x10,        /* count towards dat_evd_wait's threshold */
	DAT_COMPLETION_LMR_INVALIDATE_FENCE_FLAG = 0x20  /* begin after earlier invalidations */
} DAT_COMPLETION_FLAGS;

typedef enum dat_dtos { /* which operation completed */
	DAT_DTO_SEND = 0,
	DAT_DTO_RDMA_WRITE = 1,
	DAT_DTO_RDMA_READ = 2,
	DAT_DTO_RECEIVE = 3,
	DAT_DTO_RECEIVE_WITH_INVALIDATE = 4, /* rmr_context says what the peer has taken back */
	DAT_DTO_BIND_MW = 5,
	DAT_DTO_LMR_FMR = 6,
	DAT_DTO_LMR_INVALIDATE = 7,
	DAT_DTO_EXTENSION_BASE = 8 /* first of the extensions, see DAT_IB_DTOS */
} DAT_DTOS;

typedef enum dat_qos { /* quality of service of a connection; flags in DAT_PROVIDER_ATTR */
	DAT_QOS_BEST_EFFORT = 0x00, /* the only one here */
	DAT_QOS_HIGH_THROUGHPUT = 0x01,
	DAT_QOS_LOW_LATENCY = 0x02,
	DAT_QOS_ECONOMY = 0x04,
	DAT_QOS_PREMIUM = 0x08
} DAT_QOS;

typedef enum dat_connect_flags {
	DAT_CONNECT_DEFAULT_FLAG = 0x00,
	DAT_CONNECT_MULTIPATH_FLAG = 0x01,         /* several paths, if there are */
	DAT_CONNECT_MULTIPATH_REQUIRED_FLAG = 0x02 /* several paths, or no connection */
} DAT_CONNECT_FLAGS;

#define DAT_CONNECT_MULTIPATH_REQUESTED_FLAG DAT_CONNECT_MULTIPATH_FLAG /* another name */

typedef enum dat_close_flags { /* dat_ia_close, dat_ep_disconnect */
	DAT_CLOSE_ABRUPT_FLAG = 0,  /* now, whatever is under way */
	DAT_CLOSE_GRACEFUL_FLAG = 1 /* when what was posted is done, or not while objects are left */
} DAT_CLOSE_FLAGS;

#define DAT_CLOSE_DEFAULT DAT_CLOSE_ABRUPT_FLAG

typedef enum dat_evd_flags { /* which streams of events an EVD takes; flags */
	DAT_EVD_SOFTWARE_FLAG = 0x001,   /* dat_evd_post_se */
	DAT_EVD_CR_FLAG = 0x010,         /* connection requests */
	DAT_EVD_DTO_FLAG = 0x020,        /* completions of data transfer operations */
	DAT_EVD_CONNECTION_FLAG = 0x040, /* what becomes of connections */
	DAT_EVD_RMR_BIND_FLAG = 0x080,   /* completions of dat_rmr_bind */
	DAT_EVD_ASYNC_FLAG = 0x100,      /* asynchronous errors */
	DAT_EVD_DEFAULT_FLAG = 0x1F0,    /* CR, DTO, CONNECTION, RMR_BIND and ASYNC */
	DAT_EVD_EXTENSION_BASE = 0x200   /* first of the extensions */
} DAT_EVD_FLAGS;

typedef enum dat_psp_flags { /* who makes the endpoint of a connection */
	DAT_PSP_CONSUMER_FLAG = 0, /* the program, which gives it to dat_cr_accept */
	DAT_PSP_PROVIDER_FLAG = 1  /* the library, which puts it into the request */
} DAT_PSP_FLAGS;

/* ---- Memory ---- */

typedef DAT_UINT32 DAT_LMR_CONTEXT; /* a local memory region, in triplets of this process */
typedef DAT_UINT32 DAT_RMR_CONTEXT; /* memory that peers may use; send it to them */
typedef DAT_UINT64 DAT_VLEN;        /* a length, bytes */
typedef DAT_UINT64 DAT_VADDR;       /* a virtual address, or with DAT_VA_TYPE_ZB an offset, bytes */
typedef DAT_UINT32 DAT_SEG_LENGTH;  /* the length of one segment, bytes */

/*
 * Under <dat/udat.h> triplets have the member pad, which programs of DAT 1.x set to 0. It is the
 * highest bit of the length, which is 0 in every length that there can be: so it may be set before
 * the length or after it.
 */
#ifdef DAT1_TRIPLET_PAD
#define DAT_TRIPLET_LENGTH                           \
	__extension__ union {                        \
		DAT_SEG_LENGTH segment_length;       \
		__extension__ struct {               \
			DAT_UINT32 dat1_length : 31; \
			DAT_UINT32 pad : 1;          \
		};                                   \
	}
#else
#define DAT_TRIPLET_LENGTH DAT_SEG_LENGTH segment_length
#endif

/* A segment of this process's memory. An array of them is gathered or scattered in order. */
typedef struct dat_lmr_triplet {
	DAT_VADDR virtual_address;
	DAT_TRIPLET_LENGTH;
	DAT_LMR_CONTEXT lmr_context;
} DAT_LMR_TRIPLET;

/* A segment of the peer's memory. */
typedef struct dat_rmr_triplet {
	DAT_VADDR virtual_address;
	DAT_TRIPLET_LENGTH;
	DAT_RMR_CONTEXT rmr_context;
} DAT_RMR_TRIPLET;

/* Spellings of the design of 2011 and of the proposal of 2005. */
typedef DAT_LMR_TRIPLET DAT_LMR_TRIPLE;
typedef DAT_RMR_TRIPLET DAT_RMR_TRIPLE;

typedef enum dat_mem_type { /* what dat_lmr_create registers; a bit of 1 << type in DAT_PROVIDER_ATTR */
	DAT_MEM_TYPE_VIRTUAL = 0x00,       /* addresses of this process */
	DAT_MEM_TYPE_LMR = 0x01,           /* memory of an LMR, registered again */
	DAT_MEM_TYPE_SHARED_VIRTUAL = 0x02 /* memory that processes share, named by a cookie */
} DAT_MEM_TYPE;

typedef enum dat_mem_priv_flags { /* rights to an LMR or RMR; flags, checked whenever it is used */
	DAT_MEM_PRIV_NONE_FLAG = 0x00,
	DAT_MEM_PRIV_LOCAL_READ_FLAG = 0x01,   /* source of sends and writes */
	DAT_MEM_PRIV_REMOTE_READ_FLAG = 0x02,  /* peers' RDMA reads */
	DAT_MEM_PRIV_LOCAL_WRITE_FLAG = 0x10,  /* receives, and where RDMA reads and atomics put data */
	DAT_MEM_PRIV_REMOTE_WRITE_FLAG = 0x20, /* peers' RDMA writes */
	DAT_MEM_PRIV_ALL_FLAG = 0x33,          /* the four; not atomics, see DAT_IB_MEM_PRIV_FLAGS */
	DAT_MEM_PRIV_EXTENSION_BASE = 0x40     /* first of the extensions */
} DAT_MEM_PRIV_FLAGS;

#define DAT_MEM_PRIV_READ_FLAG (DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_REMOTE_READ_FLAG)
#define DAT_MEM_PRIV_WRITE_FLAG (DAT_MEM_PRIV_LOCAL_WRITE_FLAG | DAT_MEM_PRIV_REMOTE_WRITE_FLAG)

typedef enum dat_va_type { /* what virtual_address of a triplet means */
	DAT_VA_TYPE_VA = 0x0, /* an address */
	DAT_VA_TYPE_ZB = 0x1  /* bytes from the start of the region */
} DAT_VA_TYPE;

typedef enum dat_rmr_scope { /* who may use an RMR */
	DAT_RMR_SCOPE_EP = 0,  /* the peer of the EP that it was bound on */
	DAT_RMR_SCOPE_PZ = 1,  /* peers of all EPs of its PZ */
	DAT_RMR_SCOPE_ANY = 2  /* either, chosen when it is created */
} DAT_RMR_SCOPE;

#define DAT_LMR_COOKIE_SIZE 40 /* bytes */

/* The name of shared memory, on which the processes that share it agree. */
typedef char (*DAT_LMR_COOKIE)[DAT_LMR_COOKIE_SIZE];

typedef struct dat_shared_memory {
	DAT_PVOID virtual_address; /* in this process */
	DAT_LMR_COOKIE shared_memory_id;
} DAT_SHARED_MEMORY;

/* The memory that dat_lmr_create registers: its mem_type says which member is valid. */
typedef union dat_region_description {
	DAT_PVOID for_va;                    /* DAT_MEM_TYPE_VIRTUAL */
	DAT_LMR_HANDLE for_lmr_handle;       /* DAT_MEM_TYPE_LMR */
	DAT_SHARED_MEMORY for_shared_memory; /* DAT_MEM_TYPE_SHARED_VIRTUAL */
} DAT_REGION_DESCRIPTION;

/* ---- What several structures name ---- */

typedef enum dat_service_type { /* what an endpoint's connection promises */
	DAT_SERVICE_TYPE_RC = 0,            /* reliable: each byte once and in order */
	DAT_SERVICE_TYPE_EXTENSION_BASE = 1 /* first of the extensions, see DAT_IB_SERVICE_TYPE */
} DAT_SERVICE_TYPE;

typedef enum dat_extension { /* DAT_IA_ATTR: which extensions the adapter has */
	DAT_EXTENSION_NONE = 0,
	DAT_EXTENSION_IB = 1, /* those of dat_ib_extensions.h; this library's answer */
	DAT_EXTENSION_IW = 2
} DAT_EXTENSION;

#define DAT_IB_EXTENSION 1
#define DAT_IW_EXTENSION 2

/*
 * A number that dat_extension_op is given. These bits say that it is about an adapter to open or
 * close.
 */
typedef int DAT_EXTENDED_OP;
#define DAT_OPEN_EXTENSION_BASE 0x1000
#define DAT_CLOSE_EXTENSION_BASE 0x2000

#endif /* DAT2_PARTS_BASIC_H */
