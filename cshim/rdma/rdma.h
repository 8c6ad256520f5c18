/*
 * rdma.h - RDMA adapters for uDAPL's own use of them (core/dat/adapter): objects of verbs, and
 * connections by the RDMA connection manager. libibverbs (by cshim/verbs) and librdmacm are opened
 * when the first adapter is, so that nobody else has to have them.
 *
 * Objects are numbers, which are addresses; 0 is none. Functions that return int give 0 or an
 * errno. An adapter, and what belongs to it, is for one thread at a time.
 */
#ifndef CSHIM_RDMA_H
#define CSHIM_RDMA_H

#include <stdint.h>

#define CSHIM_RDMA_WHY 256
#define CSHIM_RDMA_FILES 3      /* descriptors: completions, connections, events of the adapter */
#define CSHIM_RDMA_PRIVATE 256  /* bytes of private data, at the most */
#define CSHIM_RDMA_SEGMENTS 256 /* of one request */

typedef uint64_t cshim_rdma_object;
struct cshim_rdma; /* an adapter that is open */

/* An IPv4 (family 4) or IPv6 (6) address with a port, in the order of a socket address. */
struct cshim_rdma_address {
	uint8_t family, ip[16];
	uint16_t port; /* as a number */
};

struct cshim_rdma_info {
	char name[64];
	struct cshim_rdma_address address;
	uint8_t port, active, atomics, windows, own_windows, invalidates, gid[16], guid[8];
	uint16_t lid;
	int mtu, max_inline, max_requests, max_segments, max_read_segments, max_cqe, max_qps, max_cqs;
	int max_zones, max_regions, max_queues, max_queue_receives, max_reads_in, max_reads_out;
	uint64_t max_message;
};

/* Bits of access, as adapter.Access. */
enum { CSHIM_RDMA_WRITE = 1, CSHIM_RDMA_READ = 2, CSHIM_RDMA_ATOMIC = 4, CSHIM_RDMA_LOCAL = 8 };

struct cshim_rdma_qp {
	cshim_rdma_object zone, requests, receives, queue; /* completion queues; shared receives */
	int datagrams, max_requests, max_receives, request_segments, receive_segments, max_inline;
	uint32_t number; /* of the queue pair, once it is made */
};

struct cshim_rdma_segment {
	uint64_t addr;
	uint32_t n, key;
};

/* As adapter.Work. */
struct cshim_rdma_work {
	uint64_t id, remote_addr, operand, compare;
	cshim_rdma_object path; /* of a datagram */
	uint32_t remote_key, immediate, qpn, qkey;
	uint8_t op, fence, solicited, inlined;
	int segments;
};

/* As adapter.Bind. */
struct cshim_rdma_bind {
	uint64_t id, addr, n;
	cshim_rdma_object window, region;
	int access;
	uint8_t fence;
};

/* As adapter.Completion. */
struct cshim_rdma_completion {
	uint64_t id;
	uint32_t qpn, n, immediate, key;
	uint8_t status, has_data, by_write, invalidated, perhaps;
};

/* What a connection is asked for with, as adapter.Terms. */
struct cshim_rdma_terms {
	uint32_t qpn;
	uint8_t reads_in, reads_out, shared, size;
	uint8_t private_data[CSHIM_RDMA_PRIVATE];
};

/* As adapter.Event. */
struct cshim_rdma_event {
	cshim_rdma_object id, listener;
	struct cshim_rdma_address local, peer;
	int kind, status, size;
	uint32_t qpn, qkey;
	uint16_t lid;
	uint8_t gid[16], reads_in, reads_out, private_data[CSHIM_RDMA_PRIVATE];
};

/* Opens the adapter that owns an address. NULL with a sentence in why. */
struct cshim_rdma *cshim_rdma_open(const char *verbs_library, const char *cm_library,
                                   const struct cshim_rdma_address *, struct cshim_rdma_info *,
                                   char *why);
void cshim_rdma_close(struct cshim_rdma *);
void cshim_rdma_files(const struct cshim_rdma *, int files[CSHIM_RDMA_FILES]);
int cshim_rdma_active(struct cshim_rdma *);

int cshim_rdma_new_zone(struct cshim_rdma *, cshim_rdma_object *);
int cshim_rdma_free_zone(cshim_rdma_object);
/* windows: windows may be bound to it. */
int cshim_rdma_register(cshim_rdma_object zone, int windows, uint64_t addr, uint64_t n, uint64_t as,
                        int access, cshim_rdma_object *, uint32_t *local, uint32_t *remote);
int cshim_rdma_deregister(cshim_rdma_object);
int cshim_rdma_new_window(cshim_rdma_object zone, int own, cshim_rdma_object *);
int cshim_rdma_free_window(cshim_rdma_object);
int cshim_rdma_new_queue(cshim_rdma_object zone, int receives, int segments, cshim_rdma_object *);
int cshim_rdma_resize_queue(cshim_rdma_object, int receives);
int cshim_rdma_free_queue(cshim_rdma_object);
int cshim_rdma_limit_queue(cshim_rdma_object, int receives);
int cshim_rdma_new_completions(struct cshim_rdma *, int entries, cshim_rdma_object *);
int cshim_rdma_free_completions(cshim_rdma_object);
int cshim_rdma_poll(cshim_rdma_object completions, int max, struct cshim_rdma_completion *);
/* 1 if there is something in a queue of any adapter, or core is to look for other events. */
int cshim_rdma_look(void);
int cshim_rdma_arm(cshim_rdma_object completions, int solicited);
/* The next completion queue that there is something in since it was armed; 0: none. */
cshim_rdma_object cshim_rdma_told(struct cshim_rdma *);
/* The kind of the next event of an adapter, 0 if there is none; and the queue pair's number, or the
 * shared queue. */
int cshim_rdma_async(struct cshim_rdma *, uint32_t *qpn, cshim_rdma_object *queue);

/* Makes a queue pair that takes receives, and if it is for datagrams sends too. */
int cshim_rdma_new_qp(struct cshim_rdma *, struct cshim_rdma_qp *, uint32_t qkey,
                      cshim_rdma_object *);
int cshim_rdma_fail_qp(cshim_rdma_object);
int cshim_rdma_free_qp(cshim_rdma_object);
/* Makes it send to, and receive from, the peer of a connection. */
int cshim_rdma_ready(cshim_rdma_object id, cshim_rdma_object qp, int reads_in, int reads_out);
int cshim_rdma_post(cshim_rdma_object qp, const struct cshim_rdma_work *,
                    const struct cshim_rdma_segment *);
/* Posts a bind, and tells the key that the window will have. */
int cshim_rdma_bind(cshim_rdma_object qp, const struct cshim_rdma_bind *, uint32_t *key);
/* qp or the shared queue: the other is 0. */
int cshim_rdma_receive(cshim_rdma_object qp, cshim_rdma_object queue, uint64_t id,
                       const struct cshim_rdma_segment *, int segments);
int cshim_rdma_new_path(struct cshim_rdma *, cshim_rdma_object zone, const uint8_t gid[16],
                        uint16_t lid, cshim_rdma_object *);
int cshim_rdma_free_path(cshim_rdma_object);

int cshim_rdma_new_id(struct cshim_rdma *, int datagrams, cshim_rdma_object *);
void cshim_rdma_free_id(cshim_rdma_object);
int cshim_rdma_listen(struct cshim_rdma *, cshim_rdma_object id, uint16_t port);
int cshim_rdma_find_address(struct cshim_rdma *, cshim_rdma_object id,
                            const struct cshim_rdma_address *, int ms);
int cshim_rdma_find_route(cshim_rdma_object id, int ms);
int cshim_rdma_connect(cshim_rdma_object id, const struct cshim_rdma_terms *);
int cshim_rdma_establish(cshim_rdma_object id);
int cshim_rdma_accept(cshim_rdma_object id, const struct cshim_rdma_terms *);
int cshim_rdma_reject(cshim_rdma_object id, const void *data, int n);
int cshim_rdma_disconnect(cshim_rdma_object id);
/* Takes the next event of connections; 0: there is none. */
int cshim_rdma_event(struct cshim_rdma *, struct cshim_rdma_event *);

#endif
