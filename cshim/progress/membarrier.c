#define _GNU_SOURCE
#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "membarrier.h"

/* linux/membarrier.h, which older headers lack. */
enum { PRIVATE_EXPEDITED = 1 << 3, REGISTER_PRIVATE_EXPEDITED = 1 << 4 };

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

int cshim_membarrier_register(void)
{
	return membarrier(REGISTER_PRIVATE_EXPEDITED);
}

int cshim_membarrier_everywhere(void)
{
	return membarrier(PRIVATE_EXPEDITED);
}
