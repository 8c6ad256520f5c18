/*
 * membarrier.h - memory barriers that one thread imposes on all threads of the process (membarrier(2)), so that those on a frequent path
 * need none: where two threads each store and then load what the other has stored, one of them with cshim_membarrier_everywhere between
 * store and load, the other with cshim_membarrier_light, at least one sees the other's store.
 */
#ifndef CSHIM_MEMBARRIER_H
#define CSHIM_MEMBARRIER_H

#include <stdint.h>

/* Asks the kernel for the service. 1 if it is there; 0 if the kernel is old, or a filter of system calls forbids it. */
int cshim_membarrier_register(void);
/*
 * Every other thread has passed a full barrier between the call and the return; so has the caller. Costs microseconds if others run.
 * 0 if the kernel refuses: not registered, or a filter came later. Keeps errno.
 */
int cshim_membarrier_everywhere(void);

/* The frequent side: only the compiler must keep the order. */
static inline void cshim_membarrier_light(void)
{
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}

/* A full barrier in the calling thread alone. */
static inline void cshim_membarrier_full(void)
{
#ifdef __SANITIZE_THREAD__
	uint32_t word = 0; /* the sanitizer knows no fences; an exchange does the same for the processor on x86 */

	__atomic_exchange_n(&word, 1, __ATOMIC_SEQ_CST);
#else
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
#endif
}

#endif
