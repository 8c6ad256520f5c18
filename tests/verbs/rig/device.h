/* device.h - adapters and their ports; contexts, protection domains, paths. */
#ifndef RIG_DEVICE_H
#define RIG_DEVICE_H

#include <netinet/in.h>
#include <infiniband/verbs.h>

enum {
	RIG_DEVICES = 32,
	RIG_PORTS = 2,
	RIG_GIDS = 4, /* of a port: link-local, then its addresses */
	RIG_FAULTS = 8,
	RIG_NAME = 32,
	RIG_MTU = 4096,
	RIG_MAX_SGE = 30,
	RIG_MAX_INLINE = 256,
	RIG_MAX_WR = 16384,
	RIG_MAX_CQE = 1 << 18,
	RIG_MAX_READS = 16,
	RIG_MAX_MESSAGE = 1 << 30,
	RIG_PKEY = 0xffff
};

struct rig_port {
	_Atomic uint32_t down;
	uint16_t lid;
	union ibv_gid gids[RIG_GIDS]; /* all zero: none */
};

/* A fault that a test has asked for: faults.c. */
struct rig_fault {
	_Atomic uint32_t what; /* 0: none */
	uint32_t value;        /* a status, an errno */
	_Atomic int32_t after; /* how many pass before it comes */
	_Atomic int32_t times; /* how often it comes */
};

struct rig_device {
	char name[RIG_NAME];
	uint64_t guid;
	uint32_t ports, infiniband;        /* else Ethernet */
	_Atomic uint32_t gone, generation; /* the generation counts how often it was removed */
	pthread_mutex_t atomics;
	struct rig_port port[RIG_PORTS];
	_Atomic uint32_t armed; /* there are faults */
	struct rig_fault faults[RIG_FAULTS];
};

/* Holds a program's struct ibv_context. */
struct rig_open {
	struct rig_context *shared;
	uint32_t index, pds;
	struct verbs_context verbs; /* the last */
};

struct rig_pd {
	struct ibv_pd pd;
	uint32_t number;
	_Atomic uint32_t users;
};

struct rig_ah {
	struct ibv_ah ah;
	struct ibv_ah_attr attr;
};

struct rig_world;
struct rig_open *rig_open_of(const struct ibv_context *);
struct rig_device *rig_device_of(const struct ibv_context *);
/* 0, or EIO once the device of a context is gone, even if it came back. */
int rig_alive(const struct ibv_context *);
int rig_up(uint32_t device, uint32_t port); /* device and port work */
/* The port that a path leads to: (device << 8 | port), or -1. */
int rig_route(uint32_t device, const struct ibv_ah_attr *);
/* The device, port and index of an address, or -1. */
int rig_find_address(const struct sockaddr *, int *gid_index);
/* Whether this process sees a device: RIG_HOST names those of its host. */
int rig_visible(uint32_t device);
void rig_devices_init(struct rig_world *);

/* faults.c: counts one, and gives the value of a fault that has come; 0. */
enum rig_what { RIG_F_NONE, RIG_F_SEND, RIG_F_RECEIVE, RIG_F_REGISTER, RIG_F_QP, RIG_F_CQ };
uint32_t rig_fault_due(struct rig_device *, enum rig_what);
/* raise.c: an event of a device, by its name; an errno. */
int rig_raise(uint32_t device, const char *name, uint32_t which);
/* A command of rigctl; 0 or an errno. */
int rig_command(int n, char *const *words);

/* async.c */
enum rig_element { RIG_E_DEVICE, RIG_E_PORT, RIG_E_CQ, RIG_E_QP, RIG_E_SRQ };
struct rig_async {
	uint16_t type, element; /* ibv_event_type, rig_element */
	uint32_t index, generation, reserved;
};
void rig_async(uint32_t context, enum ibv_event_type, enum rig_element, uint32_t index,
               uint32_t generation);
void rig_async_all(uint32_t device, enum ibv_event_type, enum rig_element, uint32_t index);
void rig_async_forget(struct ibv_context *, enum rig_element, uint32_t index, uint32_t generation);

#endif
