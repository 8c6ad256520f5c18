/*
 * fake_adapter.h - an adapter of libibverbs' that is made of memory, for two tasks of this process,
 * whose queue pairs are joined; and what transport/verbs makes of it. cshim/ibv calls it as it
 * calls any provider: through the table of a context.
 */
#ifndef CTEST_FAKE_ADAPTER_H
#define CTEST_FAKE_ADAPTER_H

#include <infiniband/verbs.h>

#include "lane/lane_shared.h"
#include "ctest/fake.h"

enum {
	FAKE_SLOTS = 2 * VERBS_CHUNK,
	FAKE_TARGET = VERBS_WINDOW + 6,
	FAKE_TOGETHER = 4,
	FAKE_QPN = 0x1234
};

/* The fields of a task's adapter that a test reads and sets. */
typedef struct fake_adapter {
	int refuses_sends, refuses_buffers; /* set: posts fail; which buffer is refused */
	int sends, buffers, polls;          /* posts, buffers given, looks */
	int last_inline, last_signaled;     /* of the last send */
	int broken;                         /* set: the completion queue is */
} fake_adapter;

/* The contexts become tasks 0 and 1 of a job, each with a lane without rings. */
void fake_adapter_attach(lapi_handle_t handles[2]);
void fake_adapter_detach(lapi_handle_t handle);
fake_adapter *fake_adapter_of(int task);
verbs_link *fake_packets_of(int task);
verbs_port *fake_port_of(int task);
/* A task's peer, which is the other task. */
verbs_peer *fake_pair_of(int task);
cshim_lane *fake_packet_lane_of(int task);
/* A completion comes to a task, of a packet of n bytes that it gets, or, without, of no packet. */
void fake_adapter_complete(int task, const struct ibv_wc *like, const void *packet, uint32_t n);
/* How many messages core was given whose header handler had run. */
extern int fake_packets_handled;
/* How many completions core was given to tell, as there was no room. */
extern int fake_packets_told;

#endif
