/*
 * ibv.h - RDMA adapters, for transport/ibv: the objects of libibverbs, and connections by
 * librdmacm. Both libraries are opened when the first adapter is, so that nobody else has to have
 * them.
 *
 * Objects are numbers, which are addresses of the library's; 0 is none. Functions that return int
 * give 0 or an errno. Operations, access, flags and statuses have the numbers of
 * <infiniband/verbs.h>. An adapter, and what belongs to it, is for one thread at a time, but for
 * the registration of memory.
 */
#ifndef CSHIM_IBV_H
#define CSHIM_IBV_H

#include <stddef.h>
#include <stdint.h>

#define CSHIM_IBV_WHY 256      /* bytes of a sentence that says why something fails */
#define CSHIM_IBV_FILES 3      /* descriptors: completions, events, connections or removals (or -1) */
#define CSHIM_IBV_PRIVATE 256  /* bytes of private data, at the most */
#define CSHIM_IBV_SEGMENTS 256 /* of one call */
#define CSHIM_IBV_RECEIVES 32  /* that go to an adapter in one chain */
#define CSHIM_IBV_BATCH 32     /* completions that one call takes */

typedef uint64_t cshim_ibv_object;
struct cshim_ibv; /* an adapter's port that is open */

/* An IPv4 (family 4) or IPv6 (6) address with a port, in the order of a socket address. */
struct cshim_ibv_address {
	uint8_t family, ip[16];
	uint16_t port; /* as a number */
};

struct cshim_ibv_info {
	char name[64];
	uint8_t port, gid_index, active, atomics, windows, own_windows, invalidates;
	uint8_t gid[16], guid[8];
	uint16_t lid;
	int mtu, max_requests, max_segments, max_read_segments, max_cqe, max_qps, max_cqs, max_pds;
	int max_mrs, max_srqs, max_receives, max_reads_in, max_reads_out;
	uint64_t max_message;
};

struct cshim_ibv_qp {
	cshim_ibv_object pd, send_cq, recv_cq, srq;
	int datagrams, max_requests, max_receives, request_segments, receive_segments, max_inline;
	uint32_t qkey;
	uint32_t number; /* of the queue pair, once it is made */
};

/* The far side of a connection. */
struct cshim_ibv_remote {
	uint32_t qpn, psn;
	uint8_t gid[16];
	uint16_t lid;
	int mtu, reads;
};

/* As ibv_sge. */
struct cshim_ibv_segment {
	uint64_t addr;
	uint32_t n, key;
};

/* As ibv.Work; flags are IBV_SEND_. */
struct cshim_ibv_work {
	uint64_t id, remote_addr, operand, compare;
	cshim_ibv_object ah; /* of a datagram */
	uint32_t rkey, immediate, qpn, qkey;
	uint8_t op, flags;
	uint16_t segments;
};

/* As ibv.Bind. */
struct cshim_ibv_bind {
	uint64_t id, addr, n;
	cshim_ibv_object mw, mr;
	unsigned access, flags;
};

/* A receive; its segments are behind those of the one before. */
struct cshim_ibv_recv {
	uint64_t id;
	uint32_t segments, reserved;
};

/* As ibv.Completion. */
struct cshim_ibv_completion {
	uint64_t id;
	uint32_t qpn, n, immediate, key, vendor_err;
	uint8_t status, has_data, by_write, invalidated, perhaps, reserved[7];
};

/* The terms of a connection, as ibv.Terms. */
struct cshim_ibv_terms {
	uint32_t qpn;
	uint8_t reads_in, reads_out, shared, size;
	uint8_t private_data[CSHIM_IBV_PRIVATE];
};

/* As ibv.CMEvent. */
struct cshim_ibv_cm_event {
	cshim_ibv_object id, listener;
	struct cshim_ibv_address local, peer;
	int kind, status, size;
	uint32_t qpn, qkey;
	uint16_t lid;
	uint8_t gid[16], reads_in, reads_out, private_data[CSHIM_IBV_PRIVATE];
};

/* As ibv.Event: kind 0 is none. */
struct cshim_ibv_event {
	int kind, type;
	uint32_t qpn;
	cshim_ibv_object srq, cq;
};

/* A port that works. */
struct cshim_ibv_port {
	char name[64];
	uint8_t port;
};

/*
 * Opens the adapter of that name; an empty name is the first that has a port which works. port 0
 * and gid_index -1 leave the choice to the function. NULL with a sentence in why, of CSHIM_IBV_WHY
 * bytes.
 */
struct cshim_ibv *cshim_ibv_open(const char *library, const char *name, int port, int gid_index,
                                 struct cshim_ibv_info *, char *why);
/* Opens the adapter that owns an address. Its completion queues are those of cshim_ibv_look. */
struct cshim_ibv *cshim_ibv_open_address(const char *library, const char *cm_library,
                                         const struct cshim_ibv_address *, struct cshim_ibv_info *,
                                         char *why);
/* Lists the ports that work, at most most; their number, or -1 with a sentence in why. */
int cshim_ibv_list(const char *library, int most, struct cshim_ibv_port *, char *why);
void cshim_ibv_close(struct cshim_ibv *);
void cshim_ibv_files(const struct cshim_ibv *, int files[CSHIM_IBV_FILES]);
int cshim_ibv_active(struct cshim_ibv *);

int cshim_ibv_alloc_pd(struct cshim_ibv *, cshim_ibv_object *);
int cshim_ibv_dealloc_pd(cshim_ibv_object);
int cshim_ibv_reg_mr(cshim_ibv_object pd, uint64_t addr, uint64_t n, uint64_t iova, int access,
                     cshim_ibv_object *, uint32_t *lkey, uint32_t *rkey);
int cshim_ibv_dereg_mr(cshim_ibv_object);
int cshim_ibv_alloc_mw(cshim_ibv_object pd, int own, cshim_ibv_object *);
int cshim_ibv_dealloc_mw(cshim_ibv_object);
/* Posts a bind, and says the key that the window will have. */
int cshim_ibv_bind_mw(cshim_ibv_object qp, const struct cshim_ibv_bind *, uint32_t *key);
int cshim_ibv_create_srq(cshim_ibv_object pd, int receives, int segments, cshim_ibv_object *);
/* limit: it says when fewer receives are left, once; else how many there is room for. */
int cshim_ibv_modify_srq(cshim_ibv_object, int limit, int receives);
int cshim_ibv_destroy_srq(cshim_ibv_object);
int cshim_ibv_create_ah(struct cshim_ibv *, cshim_ibv_object pd, const uint8_t gid[16],
                        uint16_t lid, cshim_ibv_object *);
int cshim_ibv_destroy_ah(cshim_ibv_object);

/* Makes a queue pair that takes receives, and if it is for datagrams sends too. */
int cshim_ibv_create_qp(struct cshim_ibv *, struct cshim_ibv_qp *, cshim_ibv_object *);
int cshim_ibv_connect_qp(struct cshim_ibv *, cshim_ibv_object qp, uint32_t psn,
                         const struct cshim_ibv_remote *);
/* Makes one of a connection as it was made. */
int cshim_ibv_reset_qp(struct cshim_ibv *, cshim_ibv_object);
int cshim_ibv_revive_qp(struct cshim_ibv *, cshim_ibv_object, uint32_t qkey);
int cshim_ibv_fail_qp(cshim_ibv_object);
int cshim_ibv_destroy_qp(cshim_ibv_object);
int cshim_ibv_post(cshim_ibv_object qp, const struct cshim_ibv_work *,
                   const struct cshim_ibv_segment *);
/* Posts receives to qp, or to srq: the other is 0. How many were not taken is in *left. */
int cshim_ibv_receive(cshim_ibv_object qp, cshim_ibv_object srq, const struct cshim_ibv_recv *,
                      const struct cshim_ibv_segment *, uint32_t count, uint32_t *left);

int cshim_ibv_create_cq(struct cshim_ibv *, int entries, cshim_ibv_object *);
int cshim_ibv_destroy_cq(cshim_ibv_object);
/* How many completions were taken, at most max; negative: it is broken. */
int cshim_ibv_poll(cshim_ibv_object cq, int max, struct cshim_ibv_completion *);
/* 1 if there is something in a queue of an adapter that has an address. */
int cshim_ibv_look(void);
/* A queue that its owner polls by libibverbs: cshim_ibv_look asks it no more. */
void cshim_ibv_leave(cshim_ibv_object cq);
int cshim_ibv_arm(cshim_ibv_object cq, int solicited);
/* The next completion queue that there is something in since it was armed; 0: none. */
cshim_ibv_object cshim_ibv_armed(struct cshim_ibv *);
void cshim_ibv_event(struct cshim_ibv *, struct cshim_ibv_event *);

/* cm.c: of an adapter that has an address. */
int cshim_ibv_new_id(struct cshim_ibv *, int datagrams, cshim_ibv_object *);
void cshim_ibv_free_id(cshim_ibv_object);
int cshim_ibv_listen(struct cshim_ibv *, cshim_ibv_object id, uint16_t port);
int cshim_ibv_find_address(struct cshim_ibv *, cshim_ibv_object id,
                           const struct cshim_ibv_address *, int ms);
int cshim_ibv_find_route(cshim_ibv_object id, int ms);
int cshim_ibv_connect(cshim_ibv_object id, const struct cshim_ibv_terms *);
/* Makes a queue pair send to, and receive from, the peer of a connection. */
int cshim_ibv_ready(cshim_ibv_object id, cshim_ibv_object qp, int reads_in, int reads_out);
int cshim_ibv_establish(cshim_ibv_object id);
int cshim_ibv_accept(cshim_ibv_object id, const struct cshim_ibv_terms *);
int cshim_ibv_reject(cshim_ibv_object id, const void *data, int n);
int cshim_ibv_disconnect(cshim_ibv_object id);
/* Takes the next event of connections; 0: there is none. */
int cshim_ibv_cm_event(struct cshim_ibv *, struct cshim_ibv_cm_event *);

#endif
