/*
 * fake_dat.h - two processes in one, with a connection that the fast lanes of both have. The first
 * is the library as it is, with its block and its threads; of the second there is the lane alone
 * (second.h), for one thread. Core does nothing but what a call of it needs to end.
 */
#ifndef CTEST_FAKE_DAT_H
#define CTEST_FAKE_DAT_H

#include "ctest/fake.h"
#include "ctest/fake_node.h"

#include "dat/rc/private.h"

enum {
	FAKE_DAT_EVENTS = 128,
	FAKE_DAT_MEMORY = 1 << 20,
	FAKE_DAT_INDEX = 5,           /* of the connection, at both */
	FAKE_DAT_CONTEXT = 0x700003,  /* of all of the memory, at both */
	FAKE_DAT_NAME = 3             /* its place in the table */
};

typedef struct fake_dat_side {
	dat_lane *lane;
	dat_table *table;
	dat_slot *ep, *recv, *request;
	dat_end end;
	dat_queue recv_queue, request_queue;
	DAT_EVENT recv_events[FAKE_DAT_EVENTS], request_events[FAKE_DAT_EVENTS];
	dat_request requests[DAT_LANE_WINDOW];
	dat_receive receives[FAKE_DAT_EVENTS];
	unsigned char *memory;
} fake_dat_side;

extern fake_dat_side fake_dat[2];

/* Makes both anew, connected. threads: the first has its block active, with a service thread. */
extern void (*fake_dat_core)(void); /* what core does in a turn; NULL: nothing */
void fake_dat_open(int threads);
void fake_dat_close(void);

/* n bytes of a side's memory, as it names them itself and as the other does. */
DAT_LMR_TRIPLET fake_dat_local(int side, uint64_t at, uint64_t n);
DAT_RMR_TRIPLET fake_dat_remote(int side, uint64_t at, uint64_t n);

/* What the tests call of the second one; as those of rc.h and evd.h. */
extern dat_lane second_lane;
int second_post(DAT_EP_HANDLE ep_handle, const dat_post *post);
int second_receive(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments,
                   const DAT_LMR_TRIPLET *local_iov, uint64_t cookie, uint32_t completion);
uint32_t second_turn(void);
int second_poll(uint64_t evd, DAT_EVENT *event);
uint32_t second_evd_take(uint64_t evd, evd_event *event);
void second_handle_add_area(uint64_t area);

#endif
