/* fake_barrier.h - contexts of one process as the tasks of a node, joined by the barrier of
 * LAPI_Gfence and by nothing else. */
#ifndef CTEST_FAKE_BARRIER_H
#define CTEST_FAKE_BARRIER_H

#include "node/node.h"
#include "ctest/fake.h"

#define FAKE_BARRIER_TASKS 6

/* Atomic. */
extern struct fake_barrier_counts {
	uint32_t arms, broken, refused;
} fake_barrier_counts;

/* The contexts become tasks 0 … n-1. rounds: of a dissemination; 0: a counter. */
void fake_barrier_attach(const lapi_handle_t *handles, int n, uint32_t rounds);
void fake_barrier_detach(lapi_handle_t handle);
/* The words in a task's segment. */
node_barrier_words *fake_barrier_words(int task);
/* Task me of n leaves the job, or takes part in collectives no more. It is in no call. */
void fake_barrier_leave(int me, int n);
void fake_barrier_refuse(int me, int n, int code);

/* For fake.c. */
int fake_barrier_arm(cshim_context *context);
void fake_barrier_disarm(cshim_context *context);

#endif
