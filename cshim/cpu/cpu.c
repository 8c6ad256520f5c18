#define _GNU_SOURCE
#if defined(__x86_64__)
#include <cpuid.h>
#endif
#include <errno.h>
#include <pthread.h>
#include <sys/mman.h>
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

uint64_t cshim_page_size(void)
{
#ifdef CSHIM_PRETENDED_PAGE /* a build for tests (make pages-test) */
	return CSHIM_PRETENDED_PAGE;
#else
	return (uint64_t)sysconf(_SC_PAGESIZE);
#endif
}

static void advise(uint64_t from, uint64_t to, int advice)
{
	int saved = errno;

#ifdef CSHIM_PRETENDED_PAGE /* as such a kernel */
	if (from % CSHIM_PRETENDED_PAGE != 0)
		return;
#endif
	if (from < to)
		(void)madvise((void *)(uintptr_t)from, to - from, advice);
	errno = saved;
}

void cshim_advise_touched(uint64_t address, uint64_t n, int advice)
{
	advise(address & ~(cshim_page_size() - 1), address + n, advice);
}

void cshim_advise_whole(uint64_t address, uint64_t n, int advice)
{
	uint64_t rest = cshim_page_size() - 1;

	advise((address + rest) & ~rest, (address + n) & ~rest, advice);
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
