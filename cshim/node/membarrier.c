/* membarrier.c - see membarrier.h. */
#include <errno.h>

#include "node/membarrier.h"

/* linux/membarrier.h, which older headers lack. */
enum { GLOBAL_EXPEDITED = 1 << 1, REGISTER_GLOBAL_EXPEDITED = 1 << 2 };

int node_membarrier_register(void)
{
	return cshim_membarrier(REGISTER_GLOBAL_EXPEDITED);
}

int node_membarrier_everywhere(void)
{
	int saved = errno, done = cshim_membarrier(GLOBAL_EXPEDITED);

	errno = saved;
	return done;
}
