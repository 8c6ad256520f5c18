#define _GNU_SOURCE
#if defined(__x86_64__)
#include <cpuid.h>
#endif
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cpu/cpu.h"

int cshim_polls_locked; /* constant once prepared */

int cshim_processors(void)
{
	static int answer; /* 0: not asked; all writers write the same */
	int known = __atomic_load_n(&answer, __ATOMIC_RELAXED);

	if (known == 0) {
		long online = sysconf(_SC_NPROCESSORS_ONLN);

		known = online > 0 ? (int)online : 1;
		__atomic_store_n(&answer, known, __ATOMIC_RELAXED);
	}
	return known;
}

int cshim_membarrier(int command)
{
#ifdef SYS_membarrier
	return syscall(SYS_membarrier, command, 0, 0) == 0;
#else
	(void)command;
	return 0;
#endif
}

#if defined(__x86_64__)
/* The processor's family, as its maker counts. */
static unsigned family(void)
{
	unsigned a, b, c, d;

	if (!__get_cpuid(1, &a, &b, &c, &d))
		return 0;
	return (a >> 8 & 0xf) == 0xf ? 0xf + (a >> 20 & 0xff) : a >> 8 & 0xf;
}
#endif

/* Zen 5 is the one processor on which a locked instruction was measured to do better than lfence.
 */
static void prepare(void)
{
#if defined(__x86_64__)
	__builtin_cpu_init();
	cshim_polls_locked = __builtin_cpu_is("amd") && family() == 0x1a;
#endif
}

void cshim_cpu_prepare(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, prepare);
}
