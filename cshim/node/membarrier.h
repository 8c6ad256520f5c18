/*
 * membarrier.h - memory barriers that one process imposes on the threads of all processes that have
 * registered for it (membarrier(2), GLOBAL_EXPEDITED). Those on a frequent path need none then:
 * where two threads each store and then load what the other has stored, one of them with
 * node_membarrier_everywhere between store and load, the other with node_membarrier_light, at least
 * one sees the other's store.
 */
#ifndef NODE_MEMBARRIER_H
#define NODE_MEMBARRIER_H

#include <stdint.h>

/* Registers this process, so that others' barriers reach it. 1 if the kernel does that. Any number
 * of times. */
int node_membarrier_register(void);
/* The barrier. 0 if the kernel refuses: it is old, or a filter of system calls forbids it. Keeps
 * errno. */
int node_membarrier_everywhere(void);

/* The frequent side: only the compiler must keep the order. */
static inline void node_membarrier_light(void)
{
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}

/* A full barrier in the calling thread alone. */
static inline void node_membarrier_full(void)
{
#ifdef __SANITIZE_THREAD__
	/* the sanitizer knows no fences; an exchange does the same for the processor on x86 */
	uint32_t word = 0;

	__atomic_exchange_n(&word, 1, __ATOMIC_SEQ_CST);
#else
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
#endif
}

#endif
