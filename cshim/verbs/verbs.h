/*
 * verbs.h - one port of an RDMA adapter, for transport/verbs/adapter: registered memory, one
 * completion queue, one shared receive queue, a datagram queue pair, and reliable-connection queue
 * pairs. libibverbs is opened when it is needed, so that nobody else has to have it.
 *
 * Functions that return int give 0 or an errno. An adapter is for one thread at a time.
 */
#ifndef CSHIM_VERBS_H
#define CSHIM_VERBS_H

#include <stddef.h>
#include <stdint.h>

#define CSHIM_VERBS_WHY 256
#define CSHIM_VERBS_EVENTS 2 /* descriptors: completions, events */

struct cshim_verbs;
struct ibv_qp;
struct ibv_mr;
struct ibv_ah;

struct cshim_verbs_info {
	char name[64];
	uint8_t port, gid_index, gid[16];
	uint16_t lid;
	int mtu, max_inline, max_reads, max_cqe, max_receive;
	uint64_t max_message;
};

/* Bits of access; the first three as in transport.Access. */
enum {
	CSHIM_VERBS_READ = 1,
	CSHIM_VERBS_WRITE = 2,
	CSHIM_VERBS_ATOMIC = 4,
	CSHIM_VERBS_LOCAL = 64
};

struct cshim_verbs_region {
	struct ibv_mr *handle;
	uint32_t lkey, rkey;
};

struct cshim_verbs_remote {
	uint32_t qpn, psn;
	uint8_t gid[16];
	uint16_t lid;
	int mtu, reads;
};

/* As adapter.Work. */
struct cshim_verbs_work {
	uint64_t id, addr, n, remote_addr;
	uint32_t lkey, rkey;
	uint8_t op, signaled, inlined;
};

/* As adapter.Completion; states and events have adapter's numbers. */
struct cshim_verbs_completion {
	uint64_t id;
	uint32_t qpn, n;
	uint8_t state, datagram, reserved[6];
};

/*
 * Opens the adapter of that name; an empty name is the first that has a port which works. port 0
 * and gid_index -1 leave the choice to the function. NULL with a sentence in why, which holds
 * CSHIM_VERBS_WHY bytes.
 */
struct cshim_verbs *cshim_verbs_open(const char *library, const char *name, int port, int gid_index,
                                     struct cshim_verbs_info *, char *why);
void cshim_verbs_close(struct cshim_verbs *);

/* A port that works. */
struct cshim_verbs_port {
	char name[64];
	uint8_t port;
};

/* Lists at most so many; how many there are, or -1 with a sentence in why. */
int cshim_verbs_list(const char *library, int most, struct cshim_verbs_port *, char *why);
void cshim_verbs_files(const struct cshim_verbs *, int files[CSHIM_VERBS_EVENTS]);

int cshim_verbs_register(struct cshim_verbs *, uint64_t addr, uint64_t n, int access,
                         struct cshim_verbs_region *);
int cshim_verbs_deregister(struct ibv_mr *);

/* Makes the queues; see adapter.Adapter. */
int cshim_verbs_queues(struct cshim_verbs *, int completions, int receives, int datagrams,
                       uint32_t qkey, uint32_t *qpn);
int cshim_verbs_create(struct cshim_verbs *, int depth, struct ibv_qp **, uint32_t *qpn);
int cshim_verbs_connect(struct cshim_verbs *, struct ibv_qp *, uint32_t psn,
                        const struct cshim_verbs_remote *);
int cshim_verbs_reset(struct ibv_qp *);
int cshim_verbs_fail(struct ibv_qp *);
int cshim_verbs_destroy(struct ibv_qp *);

int cshim_verbs_post(struct ibv_qp *, const struct cshim_verbs_work *);
#define CSHIM_VERBS_BUFFERS 32 /* that go to an adapter in one chain */

/* As adapter.Buffer. */
struct cshim_verbs_buffer {
	uint64_t id, addr;
	uint32_t lkey, reserved;
};

/* Gives count buffers of n bytes to a queue; how many it did not take is in *left. */
int cshim_verbs_receive(struct cshim_verbs *, int datagram, uint32_t n,
                        const struct cshim_verbs_buffer *, uint32_t count, uint32_t *left);
int cshim_verbs_path(struct cshim_verbs *, const struct cshim_verbs_remote *, struct ibv_ah **);
int cshim_verbs_free(struct ibv_ah *);
int cshim_verbs_datagram(struct cshim_verbs *, struct ibv_ah *, uint32_t qpn, uint32_t qkey,
                         const void *data, uint32_t n);

int cshim_verbs_revive(struct cshim_verbs *, uint32_t qkey);

/* How many completions were taken, at most max; negative if the queue is broken. */
int cshim_verbs_poll(struct cshim_verbs *, int max, struct cshim_verbs_completion *);
int cshim_verbs_arm(struct cshim_verbs *);
void cshim_verbs_quiet(struct cshim_verbs *);
/* The kind of the next event, 0 if there is none. */
int cshim_verbs_event(struct cshim_verbs *, uint32_t *qpn);

#endif
