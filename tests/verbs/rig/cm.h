/* cm.h - connections: identifiers, and events on their way to event channels. */
#ifndef RIG_CM_H
#define RIG_CM_H

#include <netinet/in.h>
#include <infiniband/verbs.h>

enum {
	RIG_IDS = 1 << 14,
	RIG_EVENTS = 1 << 14,
	RIG_CM_CHANNELS = 1 << 12,
	RIG_PRIVATE = 224,
	RIG_REJECTED = 28,   /* statuses of events: by the program, */
	RIG_NO_LISTENER = 8, /* by the system; of datagrams: */
	RIG_SIDR_UNSUPPORTED = 1,
	RIG_SIDR_REJECTED = 3
};

/* All of it under the world's lock. */
enum rig_id_state {
	RIG_I_IDLE,
	RIG_I_BOUND,
	RIG_I_RESOLVING,
	RIG_I_RESOLVED,
	RIG_I_ROUTED,
	RIG_I_LISTENING,
	RIG_I_CONNECTING, /* its request waits for an answer */
	RIG_I_REQUESTED,  /* of a request that a listener has */
	RIG_I_ACCEPTED,   /* waits for the other's last message */
	RIG_I_ANSWERED,   /* the answer is here, the program has to establish */
	RIG_I_CONNECTED,
	RIG_I_ENDING, /* has sent that it ends */
	RIG_I_ENDED
};

/* Terms of a connection, as messages carry them. */
struct rig_terms {
	uint32_t qpn, qkey, psn;
	uint8_t responder_resources, initiator_depth, retry, rnr_retry, srq, size;
	uint8_t private_data[RIG_PRIVATE];
};

struct rig_id {
	struct rig_slot slot;
	uint32_t channel, state, space, backlog, pending;
	uint32_t peer, peer_generation;         /* the other side, or RIG_NOBODY */
	uint32_t listener, listener_generation; /* of a request */
	uint32_t left;                          /* the other has ended it */
	uint32_t patient;                       /* its request waits for a listener */
	int32_t at;                             /* rig_find_address of its own address, or -1 */
	int32_t reaches;                        /* of the other's */
	uint32_t gid_index;
	uint32_t host; /* a bit of each device that its process sees */
	struct sockaddr_storage local, remote;
	uint64_t deadline; /* ns, of what it waits for; 0: none */
	struct rig_terms mine, theirs;
	uint64_t program; /* struct rig_program_id; 0: the program has not taken the request */
};

struct rig_event {
	struct rig_slot slot;
	uint32_t type, id, id_generation, listener;
	int32_t status;
	struct rig_terms terms;
};

struct rig_cm_channel {
	struct rig_slot slot;
};

struct rig_cm {
	struct rig_id ids[RIG_IDS];
	struct rig_event events[RIG_EVENTS];
	struct rig_cm_channel channels[RIG_CM_CHANNELS];
	uint32_t next_port, top; /* no id behind top was ever used */
};

/*
 * cm_end.c, in libibverbs, since any process may have to end the connections of a dead one. All but
 * the first under the world's lock.
 */
uint64_t rig_cm_timers(void); /* of this process; gives the next time, ns, or 0 */
void rig_cm_deadline(struct rig_id *, uint64_t ms);
struct rig_id *rig_id_peer(const struct rig_id *); /* or NULL */
int rig_cm_event(struct rig_id *, uint32_t type, int status, const struct rig_terms *);
void rig_id_rejected(struct rig_id *, int status, const struct rig_terms *);
void rig_id_disconnect(struct rig_id *);
void rig_id_end(struct rig_id *); /* by its program, or the death of its process */
void rig_cm_device_gone(uint32_t device);

#endif
