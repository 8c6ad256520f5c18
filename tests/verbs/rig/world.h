/*
 * world.h - the memory that all processes of a rig map, and its contents; processes, their deaths,
 * and events from one to another.
 *
 * The folder that RIG names holds the file `world`, mapped by each process, and a FIFO for each
 * descriptor that a program waits at. The first process lays the world out, by RIG_DEVICES.
 *
 * Locks. All that are in the world are robust: the next to lock one of a process that died takes it
 * over. So code under a lock writes such that it may stop at any point: first the entry, then the
 * index that makes it count. The order, outermost first:
 *
 *	a queue pair's send_lock, a queue pair's receive_lock (of the responder), then one of
 *	a key's, an SRQ's, a CQ's, a device's (atomics); rig_world()->lock is never taken within
 *	one of them, and within it only those of the last line and CM events.
 */
#ifndef RIG_WORLD_H
#define RIG_WORLD_H

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum {
	RIG_MAGIC = 0x52494703,
	RIG_PROCESSES = 2048,
	RIG_CONTEXTS = 4096,
	RIG_CHANNELS = 8192,
	RIG_PAGE = 4096,
	RIG_PAGES = 1 << 18, /* of rings: 1 GiB, taken from the file system as they are used */
	RIG_NOBODY = 0xffffffff
};

/* The first field of everything that has a number. `used` and `generation` are written under the
 * world's lock; a generation that differs means that the number is another object's now. */
struct rig_slot {
	_Atomic uint32_t used;
	uint32_t generation;
	uint32_t process; /* of its owner */
	uint32_t reserved;
};

struct rig_process {
	struct rig_slot slot;
	pid_t pid;
	uint64_t started; /* by /proc: a pid may be another's later */
	_Atomic uint32_t dead;
};

/* A completion channel. */
struct rig_channel {
	struct rig_slot slot;
};

/* An opened device. */
struct rig_context {
	struct rig_slot slot;
	uint32_t device, device_generation;
};

#include "cm.h"
#include "cq.h"
#include "device.h"
#include "memory.h"
#include "queue.h"

struct rig_world {
	uint32_t magic, size_of_this;
	pthread_mutex_t lock;        /* of all `used`, of cursors, of pages, of connections */
	pthread_mutex_t groups_lock; /* of groups; within send_lock */
	uint32_t cursors[16];
	uint32_t next_page;
	_Atomic uint32_t top_qp; /* no queue pair behind this one was ever used */
	struct rig_device devices[RIG_DEVICES];
	uint32_t num_devices;
	struct rig_process processes[RIG_PROCESSES];
	struct rig_context contexts[RIG_CONTEXTS];
	struct rig_channel channels[RIG_CHANNELS];
	struct rig_cq cqs[RIG_CQS];
	struct rig_srq srqs[RIG_SRQS];
	struct rig_qp qps[RIG_QPS];
	struct rig_key keys[RIG_KEYS];
	struct rig_group groups[RIG_GROUPS];
	struct rig_cm cm;
	uint8_t pages[RIG_PAGES];
};

/* The world, which the first call maps; NULL with errno set. The calling process is in it. */
struct rig_world *rig_world(void);
struct rig_world *rig_mapped(void); /* by a process that has joined, or is about to */
uint32_t rig_self(void);            /* the number of this process */
const char *rig_folder(void);

void rig_lock(pthread_mutex_t *);
void rig_unlock(pthread_mutex_t *);
void rig_new_lock(pthread_mutex_t *);

/* Takes a free slot of a table for this process, under the world's lock; NULL if there is none.
 * The caller fills in the rest under the same lock. */
enum rig_table {
	RIG_T_PROCESS,
	RIG_T_CONTEXT,
	RIG_T_CHANNEL,
	RIG_T_CQ,
	RIG_T_SRQ,
	RIG_T_QP,
	RIG_T_KEY,
	RIG_T_ID,
	RIG_T_EVENT,
	RIG_T_CM_CHANNEL
};
void *rig_take(enum rig_table, void *first, size_t size, uint32_t count);
void rig_give(void *slot);
#define RIG_TAKE(table, array) \
	rig_take(table, array, sizeof(array)[0], sizeof(array) / sizeof(array)[0])
#define RIG_INDEX(array, slot) ((uint32_t)((slot) - (array)))

/* Zeroed memory of the world, by its offset; 0: there is none. Under the world's lock. */
uint64_t rig_alloc(size_t);
void rig_free(uint64_t offset, size_t);
void *rig_at(uint64_t offset);

uint64_t rig_now(void); /* ns */
int rig_dead(uint32_t process);
pid_t rig_pid(uint32_t process);

/*
 * FIFOs. One belongs to a slot of a table; its owner has it open for both directions, and anybody
 * sends records of at most 16 bytes.
 */
void rig_fifo_forked(void); /* a child opens its own */
int rig_fifo_open(enum rig_table, uint32_t index, uint32_t generation);
void rig_fifo_remove(enum rig_table, uint32_t index, uint32_t generation);
int rig_fifo_send(enum rig_table, uint32_t index, uint32_t generation, const void *, size_t);
/* Takes out of a FIFO of this process the records that `keep` does not want. */
void rig_fifo_filter(enum rig_table, uint32_t index, uint32_t generation, size_t size,
                     int (*keep)(const void *record, const void *what), const void *what);

/*
 * agent.c: one thread in each process, which wakes for deadlines and for deaths.
 */
int rig_agent_start(uint32_t self);
void rig_agent_wake(uint32_t process); /* it looks at all of its process */
void rig_agent_wake_all(void);
void rig_agent_bury(uint32_t process); /* under the world's lock */

#endif
