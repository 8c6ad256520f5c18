/* library.h - the functions of librdmacm, and of libibverbs those that cshim/verbs does not need,
 * found at run time. */
#ifndef CSHIM_RDMA_LIBRARY_H
#define CSHIM_RDMA_LIBRARY_H

#include <rdma/rdma_cma.h>

#include "verbs/library.h"

/* Of each function: its name and the version of its symbol. */
/* clang-format off */
#define CSHIM_RDMA_CALLS(X) \
	X(create_event_channel, "RDMACM_1.0") X(destroy_event_channel, "RDMACM_1.0") \
	X(create_id, "RDMACM_1.0") X(destroy_id, "RDMACM_1.0") X(bind_addr, "RDMACM_1.0") \
	X(resolve_addr, "RDMACM_1.0") X(resolve_route, "RDMACM_1.0") X(connect, "RDMACM_1.0") \
	X(establish, "RDMACM_1.2") X(listen, "RDMACM_1.0") X(accept, "RDMACM_1.0") \
	X(reject, "RDMACM_1.0") X(disconnect, "RDMACM_1.0") X(get_cm_event, "RDMACM_1.0") \
	X(ack_cm_event, "RDMACM_1.0") X(init_qp_attr, "RDMACM_1.2")
/* clang-format on */

struct rdma_library {
#define DECLARE(name, version) __typeof__(rdma_##name) *name;
	CSHIM_RDMA_CALLS(DECLARE)
#undef DECLARE
	int (*modify_srq)(struct ibv_srq *, struct ibv_srq_attr *, int mask);
	/* Macros of the header have this name. */
	struct ibv_mr *(*reg_mr_iova)(struct ibv_pd *, void *, size_t, uint64_t, int);
};

extern struct rdma_library rdma __attribute__((visibility("hidden")));

/* Opens both libraries once; they stay open. 0, or -1 with a sentence in why. */
int rdma_load(const char *verbs_library, const char *cm_library, char *why);

struct cshim_rdma {
	struct rdma_event_channel *channel;
	struct rdma_cm_id *bound; /* to the adapter's address */
	struct ibv_comp_channel *completions;
	struct sockaddr_storage address;
	uint8_t port, gid_index;
};

#define OBJECT(type, number) ((type *)(uintptr_t)(number))
#define NUMBER(object) ((uint64_t)(uintptr_t)(object))

/* What failed, where a function says it by errno and may forget to. */
int rdma_reason(void);

#endif
