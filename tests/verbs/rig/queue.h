/* queue.h - queue pairs, shared receive queues, requests, and how they are carried out. */
#ifndef RIG_QUEUE_H
#define RIG_QUEUE_H

#include <infiniband/verbs.h>

enum { RIG_QPS = 1 << 14, RIG_QP_BITS = 14, RIG_SRQS = 1 << 13, RIG_GROUPS = 64, RIG_MEMBERS = 32 };

/* A request of a send queue, behind it its segments or inline data. */
struct rig_send {
	uint64_t id, remote, compare, swap;
	uint32_t opcode, flags, immediate, rkey, qpn, qkey;
	uint32_t length, segments;
	int32_t to;                      /* of a datagram: rig_route */
	uint32_t window, region, access; /* of a bind: keys */
	union ibv_gid group;             /* of a datagram to a multicast group */
	struct ibv_sge sge[];
};

struct rig_receive {
	uint64_t id;
	uint32_t segments, reserved;
	struct ibv_sge sge[];
};

/* A queue of receives. posted, taken and freed only grow; freed: completions were polled. */
struct rig_receives {
	uint64_t ring;
	size_t ring_size;
	uint32_t size, segments, stride;
	_Atomic uint64_t posted, taken, freed;
};

struct rig_srq {
	struct rig_slot slot;
	pthread_mutex_t lock;
	struct rig_receives r;
	uint32_t pd, device, context, limit;
	_Atomic uint32_t waiting; /* a sender found it empty */
	_Atomic uint32_t users;
	uint64_t program;
};

enum rig_wait { RIG_W_NONE, RIG_W_RNR, RIG_W_TIMEOUT };

/*
 * send_lock: of what belongs to requests, of the state and attributes; held while requests are
 * carried out. receive_lock: of what belongs to receives; a requester holds it of its responder.
 * The state is written under both, and may be read under either.
 */
struct rig_qp {
	struct rig_slot slot;
	pthread_mutex_t send_lock, receive_lock;
	_Atomic uint32_t qpn; /* 0: none */
	_Atomic uint32_t state;
	uint32_t type, pd, device, context, sq_sig_all;
	uint32_t send_cq, receive_cq, srq /* or RIG_NOBODY */;
	struct ibv_qp_cap cap;
	struct ibv_qp_attr attr;
	int32_t to; /* rig_route of its path */

	uint64_t send_ring;
	size_t send_size;
	uint32_t send_stride;
	_Atomic uint64_t posted, done, freed;
	_Atomic uint32_t wait;
	uint64_t since, deadline; /* of the wait; deadline 0: none */

	struct rig_receives r;
	_Atomic uint32_t rnr; /* a sender found no receive */
	uint64_t taken_id,
		taken_at; /* of a receive that is taken and not completed, if taken is set */
	uint32_t taken, last_reached;
	uint64_t program;
};

/* A multicast group. Under groups_lock. */
struct rig_group {
	union ibv_gid gid;
	uint32_t n;
	uint32_t qpns[RIG_MEMBERS];
};

struct rig_program_qp {
	struct ibv_qp_ex ex; /* struct ibv_qp first */
	struct rig_qp *shared;
	uint32_t async_events;
	struct rig_batch *batch; /* of wr_start to wr_complete */
};

struct rig_program_srq {
	struct ibv_srq srq;
	struct rig_srq *shared;
	uint32_t async_events;
};

struct rig_qp *rig_qp_find(uint32_t qpn);
struct rig_program_qp *rig_program_qp(struct ibv_qp *);

/* post.c */
int rig_post_send(struct ibv_qp *, struct ibv_send_wr *, struct ibv_send_wr **bad);
int rig_post_receive(struct ibv_qp *, struct ibv_recv_wr *, struct ibv_recv_wr **bad);
int rig_post_srq_receive(struct ibv_srq *, struct ibv_recv_wr *, struct ibv_recv_wr **bad);
int rig_put_receive(struct rig_receives *, const struct ibv_recv_wr *);

/* run.c: carries out what a send queue holds, as far as that can be. By the process of the queue
 * pair, or of the one it is connected to. */
void rig_run(struct rig_qp *);
void rig_run_locked(struct rig_qp *); /* its send_lock is held, and released */
/* The next time, ns, at which requests of this process's queue pairs fail; 0: none. */
uint64_t rig_run_all(void);
void rig_run_senders(struct rig_qp *responder); /* who waits for its receives or state */

/* deliver.c: one request at its responder, whose receive_lock is held. */
struct rig_outcome {
	enum rig_wait wait; /* it could not be, yet */
	enum ibv_wc_status status;
	int remote_fails; /* the responder goes to its error state */
	int event;        /* ibv_event_type at the responder, or -1 */
};
struct rig_outcome rig_deliver(struct rig_qp *from, struct rig_qp *to, struct rig_send *,
                               struct rig_memory local);
void rig_datagram(struct rig_qp *from, struct rig_send *, struct rig_memory local);

/* fail.c: to the error state, and its requests and receives to their completions. */
void rig_qp_event(struct rig_qp *, enum ibv_event_type);
void rig_qp_flush(struct rig_qp *);
void rig_flush_sends(struct rig_qp *); /* under send_lock */
/* Completes the receive that is taken. wc has what is special; under receive_lock. */
void rig_complete_receive(struct rig_qp *, enum ibv_wc_status, struct ibv_wc *, int solicited);
/* Completes the first request that is not done; under send_lock. */
void rig_complete_send(struct rig_qp *, const struct rig_send *, enum ibv_wc_status);
struct rig_send *rig_send_at(const struct rig_qp *, uint64_t sequence);
struct rig_receive *rig_receive_at(const struct rig_receives *, uint64_t sequence);

/* states.c */
int rig_modify(struct rig_qp *, struct ibv_context *, struct ibv_qp_attr *, int mask);
void rig_qp_free(struct rig_qp *);
void rig_srq_free(struct rig_srq *);
void rig_extend(struct rig_program_qp *, uint64_t operations); /* extended.c */

#endif
