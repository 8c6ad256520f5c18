/* library.h - the functions of libibverbs and librdmacm, found at run time; an adapter. */
#ifndef CSHIM_IBV_LIBRARY_H
#define CSHIM_IBV_LIBRARY_H

#include <errno.h>
#include <rdma/rdma_cma.h>
#include <stdint.h>
#include <sys/types.h>

#undef ibv_query_port
#undef ibv_reg_mr
#undef ibv_reg_mr_iova

/* Of each function: its name and the version of its symbol. */
/* clang-format off */
#define CSHIM_IBV_CALLS(X) \
	X(get_device_list, "IBVERBS_1.1") X(free_device_list, "IBVERBS_1.1") \
	X(get_device_name, "IBVERBS_1.1") X(open_device, "IBVERBS_1.1") \
	X(close_device, "IBVERBS_1.1") X(query_device, "IBVERBS_1.1") \
	X(query_gid, "IBVERBS_1.1") X(alloc_pd, "IBVERBS_1.1") X(dealloc_pd, "IBVERBS_1.1") \
	X(dereg_mr, "IBVERBS_1.1") X(create_cq, "IBVERBS_1.1") X(destroy_cq, "IBVERBS_1.1") \
	X(create_comp_channel, "IBVERBS_1.0") X(destroy_comp_channel, "IBVERBS_1.0") \
	X(get_cq_event, "IBVERBS_1.1") X(ack_cq_events, "IBVERBS_1.1") \
	X(create_srq, "IBVERBS_1.1") X(modify_srq, "IBVERBS_1.1") X(destroy_srq, "IBVERBS_1.1") \
	X(create_qp, "IBVERBS_1.1") X(modify_qp, "IBVERBS_1.1") X(destroy_qp, "IBVERBS_1.1") \
	X(create_ah, "IBVERBS_1.1") X(destroy_ah, "IBVERBS_1.1") \
	X(get_async_event, "IBVERBS_1.1") X(ack_async_event, "IBVERBS_1.1")

#define CSHIM_RDMA_CALLS(X) \
	X(create_event_channel, "RDMACM_1.0") X(destroy_event_channel, "RDMACM_1.0") \
	X(create_id, "RDMACM_1.0") X(destroy_id, "RDMACM_1.0") X(bind_addr, "RDMACM_1.0") \
	X(resolve_addr, "RDMACM_1.0") X(resolve_route, "RDMACM_1.0") X(connect, "RDMACM_1.0") \
	X(establish, "RDMACM_1.2") X(listen, "RDMACM_1.0") X(accept, "RDMACM_1.0") \
	X(reject, "RDMACM_1.0") X(disconnect, "RDMACM_1.0") X(get_cm_event, "RDMACM_1.0") \
	X(ack_cm_event, "RDMACM_1.0") X(init_qp_attr, "RDMACM_1.2")
/* clang-format on */

struct ibv_library {
#define DECLARE(name, version) __typeof__(ibv_##name) *name;
	CSHIM_IBV_CALLS(DECLARE)
#undef DECLARE
	/* Macros of the header have these names, and types of their own. */
	int (*query_port)(struct ibv_context *, uint8_t, struct ibv_port_attr *);
	struct ibv_mr *(*reg_mr)(struct ibv_pd *, void *, size_t, int);
	/* Not in each version of the library: NULL. */
	struct ibv_mr *(*reg_mr_iova)(struct ibv_pd *, void *, size_t, uint64_t, int);
	int (*query_gid_ex)(struct ibv_context *, uint32_t port, uint32_t index,
	                    struct ibv_gid_entry *, uint32_t flags, size_t);
};

struct rdma_library {
#define DECLARE(name, version) __typeof__(rdma_##name) *name;
	CSHIM_RDMA_CALLS(DECLARE)
#undef DECLARE
};

extern struct ibv_library ibv __attribute__((visibility("hidden")));
extern struct rdma_library rdma __attribute__((visibility("hidden")));

/* Opens libibverbs, and librdmacm unless its name is NULL, once; they stay open. 0, or -1 with a
 * sentence in why. */
int ibv_load(const char *library, const char *cm_library, char *why);

/* A descriptor, and which file it is. */
struct ibv_file {
	int number; /* -1: there is none */
	dev_t device;
	ino_t inode;
};

struct cshim_ibv {
	struct ibv_context *context;
	struct ibv_comp_channel *channel;
	/* If it was opened by its address; its context is that of bound. */
	struct rdma_event_channel *cm;
	struct rdma_cm_id *bound;
	struct sockaddr_storage address;
	union ibv_gid gid;
	int ethernet, max_reads;
	uint8_t port, gid_index;
	/* of the kernel's interface, of events of the adapter, of the channel, of cm */
	struct ibv_file commands, events, completions, connections;
	/*
	 * removed.c: announcements of the kernel; the adapter's entry, or 0; the second of the
	 * last look at it. By the thread that asks for the adapter's events (cshim_ibv_event), under
	 * the lock of the adapter's owner: LAPI's link, or uDAPL's block.
	 */
	struct ibv_file notices;
	ino_t entry;
	time_t looked;
};

/* files.c: notes which file a number names; -1: none. */
void ibv_know(struct ibv_file *file, int number);
/* 1 if the number names that file still, or there is none. */
int ibv_is_ours(const struct ibv_file *file);
/* 1 if it does, and there is something to be taken. */
int ibv_has_some(const struct ibv_file *file);

/* Begins and ends to watch for the adapter's removal. */
void ibv_watch(struct cshim_ibv *a);
void ibv_unwatch(struct cshim_ibv *a);
/* 1, once, after the kernel has begun to take the adapter away. */
int ibv_is_removed(struct cshim_ibv *a);

#define OBJECT(type, number) ((type *)(uintptr_t)(number))
#define NUMBER(object) ((uint64_t)(uintptr_t)(object))

/* The error of a function that says it by errno, and may forget to. */
static inline int ibv_reason(void)
{
	return errno ? errno : EINVAL;
}

#endif
