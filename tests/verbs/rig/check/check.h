/*
 * check.h - shared by the checks of the rig: ends of connections, requests by one line, and a frame
 * that runs each check in a process of its own.
 */
#ifndef RIG_CHECK_H
#define RIG_CHECK_H

#include <errno.h>
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <poll.h>
#include <rdma/rdma_cma.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define MUST(what)                                                                           \
	do {                                                                                 \
		if (!(what)) {                                                               \
			fprintf(stderr, "%s:%d: %s (errno %d)\n", __FILE__, __LINE__, #what, \
			        errno);                                                      \
			exit(1);                                                             \
		}                                                                            \
	} while (0)

enum { SIZE = 1 << 16, DEPTH = 16, SEGMENTS = 4, INLINE = 64, QKEY = 0x1111 };
enum {
	ALL = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
	      IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_MW_BIND
};

struct end {
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_comp_channel *channel;
	struct ibv_cq *sends, *receives;
	struct ibv_srq *srq;
	struct ibv_qp *qp;
	struct ibv_mr *mr;
	char *memory; /* SIZE bytes, registered with all rights */
	union ibv_gid gid;
};

/* Options of ends that differ from the usual ones. */
struct kind {
	int datagrams, shared, entries /* of completion queues */, unsignaled;
	unsigned access; /* of the queue pair; 0: ALL but binding; else that */
	int timeout, retries, rnr_retries, no_reads, wrong_psn;
};

/* device: 1 or 2, which are rig1 and rig2. The queue pair is in state RESET. */
void end_open(struct end *, int device, const struct kind *);
void end_close(struct end *);
int to_init(struct end *, const struct kind *);
int to_rtr(struct end *, uint32_t qpn, const union ibv_gid *, const struct kind *);
int to_rts(struct end *, const struct kind *);
/* Opens and connects both ends in this process. */
void pair_open(struct end *, struct end *, const struct kind *);

struct ibv_sge at(struct end *, uint32_t offset, uint32_t n);
/* Posts one request from the end's memory; an errno. remote: where in the other's memory. */
int post(struct end *, struct end *other, enum ibv_wr_opcode, uint32_t offset, uint32_t n,
         uint64_t remote);
int post_keyed(struct end *, enum ibv_wr_opcode, struct ibv_sge, uint64_t address, uint32_t rkey);
int receive(struct end *, uint64_t id, uint32_t offset, uint32_t n);
/* The next completion, within seconds; without one the check fails. */
struct ibv_wc completion(struct ibv_cq *);
void nothing(struct ibv_cq *);
/* An asynchronous event of that type is there, and is acknowledged. */
void event(struct end *, enum ibv_event_type);
void command(const char *words); /* of rigctl */

/* Where two processes put their queue pairs for each other. */
struct meeting {
	_Atomic uint32_t qpn[2], rkey[2], go;
	uint64_t address[2];
	union ibv_gid gid[2];
};
struct meeting *meeting(void); /* in memory that a child of fork shares */
/* Opens an end and connects it with the other process's; me: 0 or 1, which have rig1 and rig2. */
void meet(struct end *, struct meeting *, int me, const struct kind *);

struct check {
	const char *name;
	void (*run)(void);
};
extern const struct check states_checks[], data_checks[], status_checks[], window_checks[],
	queue_checks[], cm_checks[], fault_checks[];

#endif
