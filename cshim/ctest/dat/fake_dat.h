/*
 * fake_dat.h - two processes in one, with a connection of the node engine. The first is the library
 * as it is, with its block and its threads; of the second there is the engine alone (second.h), for
 * one thread. Core does only its part of calls, of binds and invalidations, and, when a test says
 * so, of a connection's end.
 */
#ifndef CTEST_FAKE_DAT_H
#define CTEST_FAKE_DAT_H

#include "ctest/fake.h"
#include "ctest/fake_node.h"

#include "dat/rc/private.h"

enum {
	FAKE_DAT_EVENTS = 128,  /* of each EVD, and receives of an endpoint */
	FAKE_DAT_REQUESTS = 64, /* of an endpoint */
	FAKE_DAT_IOV = 8,       /* segments of each */
	FAKE_DAT_READS = 4,     /* under way */
	FAKE_DAT_MEMORY = 1 << 20,
	FAKE_DAT_INDEX = 5,          /* of the connection, at both */
	FAKE_DAT_CONTEXT = 0x700003, /* of all of the memory, at both */
	FAKE_DAT_NAME = 3,           /* its place in the table */
	FAKE_DAT_WINDOW = 0x700004,  /* an RMR's context of all of the memory, at both */
	FAKE_DAT_WINDOW_NAME = 4
};

/* The functions of the engine by which a side is driven; as those of rc.h and evd.h. */
typedef struct fake_dat_calls {
	DAT_RETURN (*post)(DAT_EP_HANDLE ep_handle, const dat_post *post);
	DAT_RETURN (*post_receive)(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments,
	                           const DAT_LMR_TRIPLET *local_iov, uint64_t cookie,
	                           uint32_t completion);
	DAT_RETURN (*post_shared)(DAT_SRQ_HANDLE srq_handle, DAT_COUNT num_segments,
	                          const DAT_LMR_TRIPLET *local_iov, uint64_t cookie);
	dat_end *(*open)(const dat_end_config *config);
	void (*close)(dat_end *end);
	int (*bind)(dat_end *end, uint64_t number, uint32_t completion);
	void (*disconnect)(dat_end *end, int graceful);
	void (*cut)(dat_end *end, uint32_t how);
	void (*flush)(dat_end *end);
	dat_srq *(*open_shared)(uint64_t handle, uint64_t pz, uint32_t max, uint32_t max_iov,
	                        uint64_t device);
	void (*close_shared)(dat_srq *srq);
	uint32_t (*turn)(void);
	int (*evd_open)(uint64_t evd, uint32_t size, uint32_t flags, uint64_t async);
	void (*evd_close)(uint64_t evd);
	int (*evd_post)(uint64_t evd, const evd_event *event, int silent);
	uint32_t (*evd_take)(uint64_t evd, evd_event *event);
	void (*add_area)(uint64_t area);
} fake_dat_calls;

typedef struct fake_dat_side {
	const fake_dat_calls *rc;
	dat_lane *lane;
	dat_table *table;
	dat_slot *ep, *recv, *request, *async, *srq_slot; /* of an SRQ: see fake_dat_share */
	dat_ep posts;
	dat_end *end;
	dat_srq *srq; /* NULL: there is none */
	unsigned char *memory;
	uint32_t binds;       /* that have had their turn; the number is the completion's cookie */
	uint32_t refuses;     /* 1: invalidations */
	uint32_t fails_binds; /* 1: none takes effect */
	uint32_t invalidated; /* the context of the last one */
} fake_dat_side;

extern fake_dat_side fake_dat[2];

/* Makes both anew, connected. threads: the first has its block active, with a service thread. */
extern void (*fake_dat_core)(void); /* core's work in a turn; NULL: none */
void fake_dat_open(int threads);
void fake_dat_close(void);
/* The side's receives come from a shared queue of n, from now on. */
void fake_dat_share(int side, uint32_t max);
/* Does core's work, once, when the connection of a side is over, so that posted requests complete:
 * 1 if it is over. */
int fake_dat_over(int side);
/* Turns of both until nothing happens. */
void fake_dat_turns(void);
/* Takes the oldest event of an EVD of a side's, of which there is one. */
dat_completion fake_dat_take(int side, const dat_slot *evd);
/* The same of a request, or receive, that is to be complete with that status. */
void fake_dat_expect(int side, const dat_slot *evd, uint64_t cookie, uint32_t status);

/* n bytes of a side's memory, as it names them itself and as the other does. */
DAT_LMR_TRIPLET fake_dat_local(int side, uint64_t at, uint64_t n);
DAT_RMR_TRIPLET fake_dat_remote(int side, uint64_t at, uint64_t n);

/* The functions of the second lane that the tests call by name; as those of rc.h and evd.h. */
extern dat_lane second_lane;
DAT_RETURN second_rc_post(DAT_EP_HANDLE ep_handle, const dat_post *post);
DAT_RETURN second_rc_post_receive(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments,
                                  const DAT_LMR_TRIPLET *local_iov, uint64_t cookie,
                                  uint32_t completion);
uint32_t second_rc_turn(void);
int second_dev_poll(void);
void second_dev_poll_for(uint64_t evd);
int second_rc_poll(uint64_t evd, DAT_EVENT *event);
uint32_t second_evd_take(uint64_t evd, evd_event *event);

#endif
