/* membarrier.c - see membarrier.h. */
#include <errno.h>

#include "membarrier.h"

/* linux/membarrier.h, which older headers lack. */
enum { GLOBAL_EXPEDITED = 1 << 1, REGISTER_GLOBAL_EXPEDITED = 1 << 2 };

int node_membarrier_register(void)
{
	return cshim_membarrier(REGISTER_GLOBAL_EXPEDITED);
}

/*
 * Before the library has threads (progress/signals.c): later the kernel lets the caller wait until
 * all processors have been through its scheduler, ten milliseconds and more of a job's start.
 */
__attribute__((constructor(101))) static void register_alone(void)
{
	(void)node_membarrier_register(); /* who relies on it asks again, which is at once then */
}

int node_membarrier_everywhere(void)
{
	int saved = errno, done = cshim_membarrier(GLOBAL_EXPEDITED);

	errno = saved;
	return done;
}
