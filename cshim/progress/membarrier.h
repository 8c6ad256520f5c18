/*
 * membarrier.h - memory barriers that one thread imposes on all threads of the process
 * (membarrier(2)), so that those on a frequent path need none. Two threads each store and then load
 * what the other has stored: the rare one with cshim_membarrier_order between store and load, the
 * frequent one with cshim_light_fence. At least one sees the other's store.
 *
 * Where the kernel refuses, at once or later as a filter of system calls was installed, the
 * frequent side is switched to barriers of its own, for good.
 */
#ifndef CSHIM_MEMBARRIER_H
#define CSHIM_MEMBARRIER_H

#include "cpu/cpu.h"

/* Best while there is one thread: with several the kernel takes milliseconds. Keeps errno. */
void cshim_membarrier_register(void);
/* Once, before the first use. fence makes the frequent side use barriers of its own from now on. */
void cshim_membarrier_prepare(void (*fence)(void));
/*
 * The rare side's barrier. 1: every other thread has passed a full barrier between the call and the
 * return; so has the caller. That costs microseconds if others run. 0: the frequent side has
 * barriers of its own wherever fence has put them, the caller has passed one. Keeps errno.
 */
int cshim_membarrier_order(void);

#endif
