/*
 * membarrier.h - memory barriers that one process imposes on the threads of all processes that have
 * registered for it (membarrier(2), GLOBAL_EXPEDITED). Those on a frequent path need none then:
 * where two threads each store and then load what the other has stored, one of them with
 * node_membarrier_everywhere between store and load, the other with cshim_light_fence, at least
 * one sees the other's store.
 */
#ifndef NODE_MEMBARRIER_H
#define NODE_MEMBARRIER_H

#include "cpu/cpu.h"

/* Registers this process, so that others' barriers reach it. 1 if the kernel does that. Any number
 * of times. */
int node_membarrier_register(void);
/* The barrier. 0 if the kernel refuses: it is old, or a filter of system calls forbids it. Keeps
 * errno. */
int node_membarrier_everywhere(void);

#endif
