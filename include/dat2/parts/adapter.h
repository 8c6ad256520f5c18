/*
 * adapter.h - part of <dat2/dat.h>: what an interface adapter and its provider can do
 * (dat_ia_query), and how the registry names a provider.
 *
 * Source: uDAPL 2.0; the values are the deployed libdat2's.
 */
#ifndef DAT2_PARTS_ADAPTER_H
#define DAT2_PARTS_ADAPTER_H

#include <dat2/parts/basic.h>

#define DAT_VERSION_MAJOR 2
#define DAT_VERSION_MINOR 0

/* ---- The adapter ---- */

/* The limits of an adapter: the highest number of each thing, unless the comment says otherwise. */
typedef struct dat_ia_attr {
	char adapter_name[DAT_NAME_MAX_LENGTH];            /* name of the link below, NUL at the end */
	char vendor_name[DAT_NAME_MAX_LENGTH];             /* the adapter's name, as dat_ia_open was given it */
	DAT_UINT32 hardware_version_major;
	DAT_UINT32 hardware_version_minor;
	DAT_UINT32 firmware_version_major;
	DAT_UINT32 firmware_version_minor;
	DAT_IA_ADDRESS_PTR ia_address_ptr;                 /* where peers find it; the library's, as long as the IA */
	DAT_COUNT max_eps;                                 /* endpoints */
	DAT_COUNT max_dto_per_ep;                          /* posted and not complete, each queue of an EP */
	DAT_COUNT max_rdma_read_per_ep_in;                 /* RDMA reads and atomics of the peer at one EP */
	DAT_COUNT max_rdma_read_per_ep_out;                /* RDMA reads and atomics of one EP */
	DAT_COUNT max_evds;
	DAT_COUNT max_evd_qlen;                            /* events of one EVD */
	DAT_COUNT max_iov_segments_per_dto;                /* segments of a send or receive */
	DAT_COUNT max_lmrs;
	DAT_SEG_LENGTH max_lmr_block_size;                 /* bytes of one LMR; all ones: no limit */
	DAT_VADDR max_lmr_virtual_address;                 /* highest address that can be registered */
	DAT_COUNT max_pzs;
	DAT_SEG_LENGTH max_message_size;                   /* bytes of a send */
	DAT_SEG_LENGTH max_rdma_size;                      /* bytes of an RDMA write or read */
	DAT_COUNT max_rmrs;
	DAT_VADDR max_rmr_target_address;                  /* highest address that an RMR can name */
	DAT_COUNT max_srqs;
	DAT_COUNT max_ep_per_srq;
	DAT_COUNT max_recv_per_srq;                        /* receives posted to one SRQ */
	DAT_COUNT max_iov_segments_per_rdma_read;
	DAT_COUNT max_iov_segments_per_rdma_write;
	DAT_COUNT max_rdma_read_in;                        /* as per EP, of the whole adapter */
	DAT_COUNT max_rdma_read_out;
	DAT_BOOLEAN max_rdma_read_per_ep_in_guaranteed;    /* TRUE: whatever other EPs do */
	DAT_BOOLEAN max_rdma_read_per_ep_out_guaranteed;
	DAT_BOOLEAN zb_supported;                          /* DAT_VA_TYPE_ZB works */
	DAT_EXTENSION extension_supported;                 /* DAT_EXTENSION_IB */
	DAT_COUNT extension_version;                       /* DAT_IB_EXTENSION_VERSION of dat_ib_extensions.h */
	DAT_COUNT num_transport_attr;                      /* elements of transport_attr */
	DAT_NAMED_ATTR *transport_attr;                    /* the library's, while the adapter is open */
	DAT_COUNT num_vendor_attr;                         /* elements of vendor_attr */
	DAT_NAMED_ATTR *vendor_attr;                       /* the library's, while the adapter is open */
} DAT_IA_ATTR;

/* Names that these members had earlier. */
#define max_rdma_read_per_ep max_rdma_read_per_ep_in
#define max_mtu_size max_message_size

/* Which members of DAT_IA_ATTR dat_ia_query is to fill, in their order. Any bit has all filled. */
typedef DAT_UINT64 DAT_IA_ATTR_MASK;
#define DAT_IA_FIELD_IA_ADAPTER_NAME UINT64_C(0x000000001)
#define DAT_IA_FIELD_IA_VENDOR_NAME UINT64_C(0x000000002)
#define DAT_IA_FIELD_IA_HARDWARE_MAJOR_VERSION UINT64_C(0x000000004)
#define DAT_IA_FIELD_IA_HARDWARE_MINOR_VERSION UINT64_C(0x000000008)
#define DAT_IA_FIELD_IA_FIRMWARE_MAJOR_VERSION UINT64_C(0x000000010)
#define DAT_IA_FIELD_IA_FIRMWARE_MINOR_VERSION UINT64_C(0x000000020)
#define DAT_IA_FIELD_IA_ADDRESS_PTR UINT64_C(0x000000040)
#define DAT_IA_FIELD_IA_MAX_EPS UINT64_C(0x000000080)
#define DAT_IA_FIELD_IA_MAX_DTO_PER_EP UINT64_C(0x000000100)
#define DAT_IA_FIELD_IA_MAX_RDMA_READ_PER_EP_IN UINT64_C(0x000000200)
#define DAT_IA_FIELD_IA_MAX_RDMA_READ_PER_EP_OUT UINT64_C(0x000000400)
#define DAT_IA_FIELD_IA_MAX_EVDS UINT64_C(0x000000800)
#define DAT_IA_FIELD_IA_MAX_EVD_QLEN UINT64_C(0x000001000)
#define DAT_IA_FIELD_IA_MAX_IOV_SEGMENTS_PER_DTO UINT64_C(0x000002000)
#define DAT_IA_FIELD_IA_MAX_LMRS UINT64_C(0x000004000)
#define DAT_IA_FIELD_IA_MAX_LMR_BLOCK_SIZE UINT64_C(0x000008000)
#define DAT_IA_FIELD_IA_MAX_LMR_VIRTUAL_ADDRESS UINT64_C(0x000010000)
#define DAT_IA_FIELD_IA_MAX_PZS UINT64_C(0x000020000)
#define DAT_IA_FIELD_IA_MAX_MESSAGE_SIZE UINT64_C(0x000040000)
#define DAT_IA_FIELD_IA_MAX_RDMA_SIZE UINT64_C(0x000080000)
#define DAT_IA_FIELD_IA_MAX_RMRS UINT64_C(0x000100000)
#define DAT_IA_FIELD_IA_MAX_RMR_TARGET_ADDRESS UINT64_C(0x000200000)
#define DAT_IA_FIELD_IA_MAX_SRQS UINT64_C(0x000400000)
#define DAT_IA_FIELD_IA_MAX_EP_PER_SRQ UINT64_C(0x000800000)
#define DAT_IA_FIELD_IA_MAX_RECV_PER_SRQ UINT64_C(0x001000000)
#define DAT_IA_FIELD_IA_MAX_IOV_SEGMENTS_PER_RDMA_READ UINT64_C(0x002000000)
#define DAT_IA_FIELD_IA_MAX_IOV_SEGMENTS_PER_RDMA_WRITE UINT64_C(0x004000000)
#define DAT_IA_FIELD_IA_MAX_RDMA_READ_IN UINT64_C(0x008000000)
#define DAT_IA_FIELD_IA_MAX_RDMA_READ_OUT UINT64_C(0x010000000)
#define DAT_IA_FIELD_IA_MAX_RDMA_READ_PER_EP_IN_GUARANTEED UINT64_C(0x020000000)
#define DAT_IA_FIELD_IA_MAX_RDMA_READ_PER_EP_OUT_GUARANTEED UINT64_C(0x040000000)
#define DAT_IA_FIELD_IA_ZB_SUPPORTED UINT64_C(0x080000000)
#define DAT_IA_FIELD_IA_EXTENSION UINT64_C(0x100000000)
#define DAT_IA_FIELD_IA_EXTENSION_VERSION UINT64_C(0x200000000)
#define DAT_IA_FIELD_IA_NUM_TRANSPORT_ATTR UINT64_C(0x400000000)
#define DAT_IA_FIELD_IA_TRANSPORT_ATTR UINT64_C(0x800000000)
#define DAT_IA_FIELD_IA_NUM_VENDOR_ATTR UINT64_C(0x1000000000)
#define DAT_IA_FIELD_IA_VENDOR_ATTR UINT64_C(0x2000000000)
#define DAT_IA_FIELD_IA_EXTENSIONS_SUPPORTED DAT_IA_FIELD_IA_EXTENSION
#define DAT_IA_FIELD_IA_MAX_DTO_PER_OP DAT_IA_FIELD_IA_MAX_DTO_PER_EP
#define DAT_IA_FIELD_IA_MAX_MTU_SIZE DAT_IA_FIELD_IA_MAX_MESSAGE_SIZE
#define DAT_IA_FIELD_ALL UINT64_C(0x3fffffffff)
#define DAT_IA_ALL DAT_IA_FIELD_ALL
#define DAT_IA_FIELD_NONE UINT64_C(0x0)

/* ---- The provider ---- */

typedef enum dat_iov_ownership { /* an array of segments, after it was posted */
	DAT_IOV_CONSUMER = 0,       /* is the program's again when the call returns */
	DAT_IOV_PROVIDER_NOMOD = 1, /* must not change until the operation is complete */
	DAT_IOV_PROVIDER_MOD = 2    /* is the library's until then, which may change it */
} DAT_IOV_OWNERSHIP;

typedef enum dat_ep_creator_for_psp { /* whether a PSP can make endpoints */
	DAT_PSP_CREATES_EP_NEVER = 0,
	DAT_PSP_CREATES_EP_IFASKED = 1, /* with DAT_PSP_PROVIDER_FLAG */
	DAT_PSP_CREATES_EP_ALWAYS = 2
} DAT_EP_CREATOR_FOR_PSP;

typedef enum dat_pz_support {
	DAT_PZ_UNIQUE = 0,   /* each adapter's own */
	DAT_PZ_SHAREABLE = 1 /* adapters of one provider share them */
} DAT_PZ_SUPPORT;

typedef enum dat_ha_relationship { /* dat_registry_providers_related */
	DAT_HA_FALSE = 0, /* the two fail each for itself */
	DAT_HA_TRUE = 1,
	DAT_HA_UNKNOWN = 2,
	DAT_HA_CONFLICTING = 3, /* the one says yes, the other no */
	DAT_HA_EXTENSION_BASE = 4
} DAT_HA_RELATIONSHIP;

/*
 * A provider's promises. evd_stream_merging_supported has rows and columns in the order
 * SOFTWARE, CR, DTO, CONNECTION, RMR_BIND, ASYNC of DAT_EVD_FLAGS. It is not const, as it is in
 * other headers: so C++ programs can define such a structure, and nothing else is different.
 */
typedef struct dat_provider_attr {
	char provider_name[DAT_NAME_MAX_LENGTH];           /* the adapter's name */
	DAT_UINT32 provider_version_major;
	DAT_UINT32 provider_version_minor;
	DAT_UINT32 dapl_version_major;                     /* DAT_VERSION_MAJOR */
	DAT_UINT32 dapl_version_minor;                     /* DAT_VERSION_MINOR */
	DAT_MEM_TYPE lmr_mem_types_supported;              /* sum of 1 << type */
	DAT_IOV_OWNERSHIP iov_ownership_on_return;
	DAT_QOS dat_qos_supported;                         /* flags */
	DAT_COMPLETION_FLAGS completion_flags_supported;   /* flags */
	DAT_BOOLEAN is_thread_safe;
	DAT_COUNT max_private_data_size;                   /* bytes */
	DAT_BOOLEAN supports_multipath;
	DAT_EP_CREATOR_FOR_PSP ep_creator;
	DAT_PZ_SUPPORT pz_support;
	DAT_UINT32 optimal_buffer_alignment;               /* bytes */
	DAT_BOOLEAN evd_stream_merging_supported[6][6];    /* one EVD for both; order below */
	DAT_BOOLEAN srq_supported;
	DAT_COUNT srq_watermarks_supported;                /* how many of the watermarks: 0, 1, 2 */
	DAT_BOOLEAN srq_ep_pz_difference_supported;        /* EP and SRQ may have different PZs */
	DAT_COUNT srq_info_supported;                      /* which counts dat_srq_query knows: 0 none */
	DAT_COUNT ep_recv_info_supported;                  /* which counts dat_ep_recv_query knows: 0 none */
	DAT_BOOLEAN lmr_sync_req;                          /* dat_lmr_sync_rdma_read and _write are needed */
	DAT_BOOLEAN dto_async_return_guaranteed;           /* posting never waits for the transfer */
	DAT_BOOLEAN rdma_write_for_rdma_read_req;          /* a read's local memory needs REMOTE_WRITE */
	DAT_BOOLEAN rdma_read_lmr_rmr_context_exposure;    /* a read shows the peer its local context */
	DAT_RMR_SCOPE rmr_scope_supported;
	DAT_BOOLEAN is_signal_safe;                        /* calls may be made in signal handlers */
	DAT_BOOLEAN ha_supported;                          /* a connection survives the loss of a path */
	DAT_HA_LB ha_loadbalancing;
	DAT_COUNT num_provider_specific_attr;              /* elements of provider_specific_attr */
	DAT_NAMED_ATTR *provider_specific_attr;            /* the library's, while the adapter is open */
} DAT_PROVIDER_ATTR;

/* Which members of DAT_PROVIDER_ATTR to fill, in their order. Any bit has all filled. */
typedef DAT_UINT64 DAT_PROVIDER_ATTR_MASK;
#define DAT_PROVIDER_FIELD_PROVIDER_NAME UINT64_C(0x00000001)
#define DAT_PROVIDER_FIELD_PROVIDER_VERSION_MAJOR UINT64_C(0x00000002)
#define DAT_PROVIDER_FIELD_PROVIDER_VERSION_MINOR UINT64_C(0x00000004)
#define DAT_PROVIDER_FIELD_DAPL_VERSION_MAJOR UINT64_C(0x00000008)
#define DAT_PROVIDER_FIELD_DAPL_VERSION_MINOR UINT64_C(0x00000010)
#define DAT_PROVIDER_FIELD_LMR_MEM_TYPE_SUPPORTED UINT64_C(0x00000020)
#define DAT_PROVIDER_FIELD_IOV_OWNERSHIP UINT64_C(0x00000040)
#define DAT_PROVIDER_FIELD_DAT_QOS_SUPPORTED UINT64_C(0x00000080)
#define DAT_PROVIDER_FIELD_COMPLETION_FLAGS_SUPPORTED UINT64_C(0x00000100)
#define DAT_PROVIDER_FIELD_IS_THREAD_SAFE UINT64_C(0x00000200)
#define DAT_PROVIDER_FIELD_MAX_PRIVATE_DATA_SIZE UINT64_C(0x00000400)
#define DAT_PROVIDER_FIELD_SUPPORTS_MULTIPATH UINT64_C(0x00000800)
#define DAT_PROVIDER_FIELD_EP_CREATOR UINT64_C(0x00001000)
#define DAT_PROVIDER_FIELD_PZ_SUPPORT UINT64_C(0x00002000)
#define DAT_PROVIDER_FIELD_OPTIMAL_BUFFER_ALIGNMENT UINT64_C(0x00004000)
#define DAT_PROVIDER_FIELD_EVD_STREAM_MERGING_SUPPORTED UINT64_C(0x00008000)
#define DAT_PROVIDER_FIELD_SRQ_SUPPORTED UINT64_C(0x00010000)
#define DAT_PROVIDER_FIELD_SRQ_WATERMARKS_SUPPORTED UINT64_C(0x00020000)
#define DAT_PROVIDER_FIELD_SRQ_EP_PZ_DIFFERENCE_SUPPORTED UINT64_C(0x00040000)
#define DAT_PROVIDER_FIELD_SRQ_INFO_SUPPORTED UINT64_C(0x00080000)
#define DAT_PROVIDER_FIELD_EP_RECV_INFO_SUPPORTED UINT64_C(0x00100000)
#define DAT_PROVIDER_FIELD_LMR_SYNC_REQ UINT64_C(0x00200000)
#define DAT_PROVIDER_FIELD_DTO_ASYNC_RETURN_GUARANTEED UINT64_C(0x00400000)
#define DAT_PROVIDER_FIELD_RDMA_WRITE_FOR_RDMA_READ_REQ UINT64_C(0x00800000)
#define DAT_PROVIDER_FIELD_RDMA_READ_LMR_RMR_CONTEXT_EXPOSURE UINT64_C(0x01000000)
#define DAT_PROVIDER_FIELD_RMR_SCOPE_SUPPORTED UINT64_C(0x02000000)
#define DAT_PROVIDER_FIELD_IS_SIGNAL_SAFE UINT64_C(0x04000000)
#define DAT_PROVIDER_FIELD_HA_SUPPORTED UINT64_C(0x08000000)
#define DAT_PROVIDER_FIELD_HA_LB UINT64_C(0x10000000)
#define DAT_PROVIDER_FIELD_NUM_PROVIDER_SPECIFIC_ATTR UINT64_C(0x20000000)
#define DAT_PROVIDER_FIELD_PROVIDER_SPECIFIC_ATTR UINT64_C(0x40000000)
#define DAT_PROVIDER_FIELD_ALL UINT64_C(0x7fffffff)
#define DAT_PROVIDER_FIELD_NONE UINT64_C(0x0)

/* A provider in the registry: the four members together are its key. */
typedef struct dat_provider_info {
	char ia_name[DAT_NAME_MAX_LENGTH]; /* NUL at the end */
	DAT_UINT32 dapl_version_major;
	DAT_UINT32 dapl_version_minor;
	DAT_BOOLEAN is_thread_safe;
} DAT_PROVIDER_INFO;

#endif /* DAT2_PARTS_ADAPTER_H */
