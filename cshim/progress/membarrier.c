/*
 * membarrier.c - barriers in every thread, and the switch to the fenced mode where the kernel
 * refuses them.
 */
#define _GNU_SOURCE
#include <errno.h>

#include "progress/futex.h"
#include "progress/membarrier.h"
#include "progress/progress.h"

/* linux/membarrier.h, which older headers lack. */
enum { PRIVATE_EXPEDITED = 1 << 3, REGISTER_PRIVATE_EXPEDITED = 1 << 4 };

/* longer than any processor keeps a store to itself: nanoseconds are usual */
enum { DRAIN_NS = 10000000 };

/* atomic: the kernel has not refused yet; else the frequent side is fenced */
static int granted;
static void (*fence_frequent)(void);

void cshim_membarrier_register(void)
{
	int saved = errno;

	(void)cshim_membarrier(REGISTER_PRIVATE_EXPEDITED); /* asked again below, at once then */
	errno = saved;
}

void cshim_membarrier_prepare(void (*fence)(void))
{
	int saved = errno;

	fence_frequent = fence;
	if (cshim_membarrier(REGISTER_PRIVATE_EXPEDITED))
		__atomic_store_n(&granted, 1, __ATOMIC_RELEASE);
	else
		fence();
	errno = saved;
}

/*
 * The kernel refuses what it had granted. A frequent side that is between its store and its load at
 * this moment may still lack its barrier. Time must do for it: whatever a thread has stored before
 * is visible after DRAIN_NS.
 */
static void switch_to_fences(void)
{
	int64_t until = cshim_now_ns() + DRAIN_NS, left;
	uint32_t nothing = 0;

	fence_frequent();
	while ((left = until - cshim_now_ns()) > 0)
		cshim_futex_wait(&nothing, 0, left);
	__atomic_store_n(&granted, 0, __ATOMIC_RELEASE);
}

int cshim_membarrier_order(void)
{
	int saved = errno, done;

	if (!__atomic_load_n(&granted, __ATOMIC_ACQUIRE)) {
		cshim_full_fence();
		return 0;
	}
	done = cshim_membarrier(PRIVATE_EXPEDITED);
	if (!done)
		switch_to_fences();
	errno = saved;
	return done;
}
