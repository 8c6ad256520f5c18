/* cm_program.h - librdmacm's part of a program: identifiers, and what was reported of them. */
#ifndef RIG_CM_PROGRAM_H
#define RIG_CM_PROGRAM_H

#include <rdma/rdma_cma.h>

#include "world.h"

struct rig_program_id {
	struct rdma_cm_id id;
	struct rig_id *shared;
	pthread_mutex_t lock;
	pthread_cond_t cond;
	uint32_t reported, acknowledged;
	struct ibv_sa_path_rec path;
};

struct rig_program_channel_cm {
	struct rdma_event_channel channel;
	uint32_t index, generation;
};

struct ibv_context *rig_open_device(uint32_t);
/* The context of a device that all ids of this process share; NULL with errno. */
struct ibv_context *rig_cm_context(uint32_t device);
struct rig_program_id *rig_program_id(struct rdma_cm_id *);
struct rig_program_id *rig_new_program_id(struct rig_program_channel_cm *, struct rig_id *);
/* Fills in of an id what programs see: device, port, addresses. Without the world's lock. */
int rig_id_shows(struct rig_program_id *);
/* errno, and -1; 0 for 0. */
int rig_result(int err);
uint32_t rig_host(void);
uint32_t rig_psn(void); /* the number that a connection's packets begin with */
/* Sends what establishes a connection; 0 or an errno. */
int rig_establish(struct rig_program_id *);
/* The id's queue pair to RTS; 0 or an errno. */
int rig_qp_ready(struct rig_program_id *);
/* Requests that wait for such a listener have one. Under the world's lock. */
void rig_cm_listens(struct rig_id *);
int rig_bind_id(struct rig_id *, const struct sockaddr *);

#endif
