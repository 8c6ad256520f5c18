#define _GNU_SOURCE
#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "membarrier.h"

/* linux/membarrier.h, which older headers lack. */
enum { GLOBAL_EXPEDITED = 1 << 1, REGISTER_GLOBAL_EXPEDITED = 1 << 2 };

static int membarrier(int command)
{
#ifdef SYS_membarrier
	int saved = errno, done = syscall(SYS_membarrier, command, 0, 0) == 0;

	errno = saved;
	return done;
#else
	(void)command;
	return 0;
#endif
}

int node_membarrier_register(void)
{
	return membarrier(REGISTER_GLOBAL_EXPEDITED);
}

int node_membarrier_everywhere(void)
{
	return membarrier(GLOBAL_EXPEDITED);
}
