/* cq.h - completion queues and their channels. */
#ifndef RIG_CQ_H
#define RIG_CQ_H

#include <infiniband/verbs.h>

enum { RIG_CQS = 1 << 14 };
/* How a queue is armed: `armed` modulo RIG_ARMS; what is above counts how often it was. */
enum { RIG_NOT_ARMED, RIG_ARMED_SOLICITED, RIG_ARMED, RIG_ARMS = 4 };
enum rig_from { RIG_FROM_NONE, RIG_FROM_SEND, RIG_FROM_RECEIVE, RIG_FROM_SRQ };

struct rig_completion {
	struct ibv_wc wc;
	uint32_t from, index; /* of the SRQ */
	uint64_t sequence;    /* of the request, in its queue */
};

/*
 * Producers, of any process, hold `lock`: they write the entry, then tail. The program's poll takes
 * up to tail, and writes head: under the process's own lock.
 */
struct rig_cq {
	struct rig_slot slot;
	pthread_mutex_t lock;
	uint64_t ring;
	size_t ring_size;
	uint32_t cqe, context, channel, channel_generation; /* channel: or RIG_NOBODY */
	_Atomic uint32_t room; /* completions that it takes: cqe, or fewer at a test's request */
	_Atomic uint32_t goes_on; /* an overrun loses completions, and reports each; as soft-RoCE */
	_Atomic uint32_t armed, failed;
	_Atomic uint64_t head, tail;
	_Atomic uint32_t users;
	uint64_t program; /* its struct rig_program_cq, in its process */
};

struct rig_program_cq {
	struct ibv_cq cq;
	struct rig_cq *shared;
	pthread_mutex_t poll;          /* of head, among the threads of the program */
	uint32_t events, async_events; /* reported; those acknowledged are in cq */
};

struct rig_program_channel {
	struct ibv_comp_channel channel;
	uint32_t index, generation;
};

/* Adds a completion, or loses it in a queue that goes on. 0: the queue is full, and fails. */
int rig_complete(struct rig_cq *, const struct rig_completion *, int solicited);
int rig_poll(struct ibv_cq *, int most, struct ibv_wc *);
int rig_arm(struct ibv_cq *, int solicited_only);
/* Removes those of a queue pair that is destroyed. */
void rig_cq_clean(struct rig_cq *, uint32_t qpn);
void rig_cq_free(struct rig_cq *);

#endif
