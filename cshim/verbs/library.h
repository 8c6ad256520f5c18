/* library.h - the functions of libibverbs, found at run time. */
#ifndef CSHIM_VERBS_LIBRARY_H
#define CSHIM_VERBS_LIBRARY_H

#include <infiniband/verbs.h>

#undef ibv_query_port
#undef ibv_reg_mr

/* Of each function: its name and the version of its symbol. */
/* clang-format off */
#define CSHIM_VERBS_CALLS(X) \
	X(get_device_list, "IBVERBS_1.1") X(free_device_list, "IBVERBS_1.1") \
	X(get_device_name, "IBVERBS_1.1") X(open_device, "IBVERBS_1.1") \
	X(close_device, "IBVERBS_1.1") X(query_device, "IBVERBS_1.1") \
	X(query_gid, "IBVERBS_1.1") X(alloc_pd, "IBVERBS_1.1") X(dealloc_pd, "IBVERBS_1.1") \
	X(dereg_mr, "IBVERBS_1.1") X(create_cq, "IBVERBS_1.1") X(destroy_cq, "IBVERBS_1.1") \
	X(create_comp_channel, "IBVERBS_1.0") X(destroy_comp_channel, "IBVERBS_1.0") \
	X(get_cq_event, "IBVERBS_1.1") X(ack_cq_events, "IBVERBS_1.1") \
	X(create_srq, "IBVERBS_1.1") X(destroy_srq, "IBVERBS_1.1") X(create_qp, "IBVERBS_1.1") \
	X(modify_qp, "IBVERBS_1.1") X(destroy_qp, "IBVERBS_1.1") X(create_ah, "IBVERBS_1.1") \
	X(destroy_ah, "IBVERBS_1.1") X(get_async_event, "IBVERBS_1.1") \
	X(ack_async_event, "IBVERBS_1.1")
/* clang-format on */

struct verbs_library {
#define DECLARE(name, version) __typeof__(ibv_##name) *name;
	CSHIM_VERBS_CALLS(DECLARE)
#undef DECLARE
	/* Macros of the header have these names, and types of their own. */
	int (*query_port)(struct ibv_context *, uint8_t, struct ibv_port_attr *);
	struct ibv_mr *(*reg_mr)(struct ibv_pd *, void *, size_t, int);
	/* Not in each version of the library: NULL. */
	int (*query_gid_ex)(struct ibv_context *, uint32_t port, uint32_t index,
	                    struct ibv_gid_entry *, uint32_t flags, size_t);
};

extern struct verbs_library verbs __attribute__((visibility("hidden")));

/* Opens the library once; it stays open. 0, or -1 with a sentence in why. */
int verbs_load(const char *library, char *why);

struct cshim_verbs {
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;
	struct ibv_srq *srq;
	struct ibv_qp *datagrams;
	struct ibv_port_attr port_attr;
	int max_inline, max_reads;
	uint8_t port, gid_index;
	unsigned events; /* of the completion queue, not acknowledged yet */
};

#endif
