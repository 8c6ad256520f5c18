/*
 * sweep.h - each call of uDAPL with each wrong value of each argument, and in each state of an
 * endpoint: what main.c runs over each engine and compares. calls.txt has the calls and the kind of
 * each argument; kinds.c the values of a kind; objects.c what the values name; states.c endpoints;
 * peer.c the process, or thread, at the other end of connections.
 */
#ifndef SWEEP_H
#define SWEEP_H

#include "../programs/pair.h"

#include <dat2/dat_registry.h>
#include <semaphore.h>
#include <sys/types.h>

/* An argument. */
typedef union word {
	DAT_UINT64 number;
	void *pointer;
	DAT_CONTEXT context;
	DAT_REGION_DESCRIPTION region;
	DAT_OS_WAIT_PROXY_AGENT agent;
} word;

/* The values of an argument. */
typedef struct kind {
	int type;                             /* of a handle: DAT_HANDLE_TYPE; else NO_HANDLE */
	void (*right)(word *w, int at);       /* stores the right value of argument at */
	int (*wrong)(int i, word *w, int at); /* stores the i-th wrong one; 0: there is none, */
					      /* -1: it cannot be made here */
} kind;

enum { NO_HANDLE = -1, ANY_HANDLE = -2 };

typedef struct argument {
	const char *name;
	const kind *kind;
} argument;

enum { MOST_ARGUMENTS = 14 };

typedef struct call {
	const char *name;
	DAT_RETURN (*run)(const word *w);
	argument arguments[MOST_ARGUMENTS];
} call;

/* The name of the wrong value. */
extern char label[128];
int labelled(const char *format, ...) __attribute__((format(printf, 1, 2))); /* 1 */

/* ---- Objects ---- */

enum { KINDS = DAT_HANDLE_TYPE_SRQ + 1 };

/* Protection zones and regions, by what they grant. */
enum memory {
	ALL,
	NOTHING,
	LOCAL_READ,
	NO_REMOTE_READ,
	NO_REMOTE_WRITE,
	NO_ATOMIC,
	OTHER_ZONE,
	FREED,
	MEMORIES
};

extern const char *const memory_names[MEMORIES];

enum { ARENA = 65536, SEGMENT = 64, MOST_SEGMENTS = 4, MOST_REQUESTS = 8 };

typedef struct region_names {
	DAT_VADDR address;
	DAT_LMR_CONTEXT local[MEMORIES];
	DAT_RMR_CONTEXT remote[MEMORIES];
} region_names;

/* The objects of a process, or thread, of one adapter. */
typedef struct objects {
	DAT_IA_HANDLE ia;
	DAT_EVD_HANDLE async, recv, request, connection, requests, soft;
	DAT_PZ_HANDLE pz, pz2;
	DAT_LMR_HANDLE lmr[MEMORIES];
	region_names memory;
	DAT_HANDLE idle[KINDS]; /* one of each kind that nothing uses; made when it is wanted */
	_Alignas(4096) unsigned char arena[ARENA];
} objects;

extern objects mine, other; /* of two adapters of this process */

void objects_open(objects *o);
DAT_EP_HANDLE new_endpoint(objects *o, int service, DAT_SRQ_HANDLE srq);
DAT_HANDLE idle(objects *o, int type); /* one of that kind */
DAT_HANDLE freed(int type);            /* one of mine that was freed */
void release(DAT_HANDLE handle);       /* frees any object of mine */
int type_of(DAT_HANDLE handle);        /* NO_HANDLE: it names nothing */
const char *name_of(int type);
struct sockaddr *address_of_peer(void);
void drain(DAT_EVD_HANDLE evd);
/* The number of the next event of that endpoint; 0: none comes. */
unsigned connection_event(DAT_EVD_HANDLE evd, DAT_EP_HANDLE ep, DAT_EVENT *event);

/* ---- Endpoints ---- */

/* States, beside those of DAT_EP_STATE. */
enum { UD = 32, NO_REQUEST_EVD, NO_RECV_EVD, NO_CONNECT_EVD, WITH_SRQ, FULL, STATES_END };

DAT_EP_HANDLE endpoint(int state);       /* of mine, in that state; DAT_HANDLE_NULL: not here */
void drop_endpoint(DAT_EP_HANDLE ep);    /* it is not what it was any more */
DAT_EP_HANDLE endpoint_if_stopped(void); /* the one whose peer is stopped; else DAT_HANDLE_NULL */
void drop_endpoints(void);
int next_state(int state); /* the first is next_state(-1); -1: that was the last */
const char *name_of_state(int state);
DAT_CR_HANDLE new_request(objects *o, int service, DAT_HANDLE *service_point);
DAT_IB_ADDR_HANDLE *address_handle(void); /* of the peer, for endpoint(UD) */
DAT_UINT64 ud_context(void);
DAT_SRQ_HANDLE used_srq(void); /* which an endpoint takes receives from */

/* ---- The peer ---- */

enum peer_command {
	PEER_CALL,
	PEER_CALL_UD,
	PEER_TAKE,
	PEER_ACCEPT,
	PEER_ACCEPT_UD,
	PEER_OUTCOME,
	PEER_END
};

extern struct peer {
	sem_t go, done;
	int command, pid; /* pid 0: it is a thread */
	DAT_CONN_QUAL argument, qualifier;
	int number; /* private data of the request that is meant */
	region_names memory;
	int receives[4], lengths[4], num_receives; /* statuses of what has completed there */
	unsigned event;                            /* of its connection */
} * peer;

void peer_start(int as_process);
void peer_do(enum peer_command command, DAT_CONN_QUAL argument);

/* ---- Values ---- */

extern unsigned char results[MOST_ARGUMENTS][8192]; /* what a call writes */
extern DAT_LMR_TRIPLET local_list[300];
extern DAT_RMR_TRIPLET remote_triplet;

#endif
