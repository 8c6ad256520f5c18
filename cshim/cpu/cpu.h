/*
 * cpu.h - what the C parts of the library ask of the processor: how many there are, pauses between
 * two looks at memory that another processor writes, fences. Knows nothing of the library.
 */
#ifndef CSHIM_CPU_H
#define CSHIM_CPU_H

#include <stdint.h>

/* Once in a process, before the others are used. Any thread, any number of times. */
void cshim_cpu_prepare(void);

/* How many processors are online. */
int cshim_processors(void);

/* The size of a page, of which addresses for madvise(2) are multiples. */
uint64_t cshim_page_size(void);
/*
 * madvise(2) of whole pages: those that a range touches (for MADV_POPULATE_), or those that lie in
 * it (for MADV_REMOVE). The kernel may refuse. Keeps errno.
 */
void cshim_advise_touched(uint64_t address, uint64_t n, int advice);
void cshim_advise_whole(uint64_t address, uint64_t n, int advice);

/* A short pause of this processor inside a spin loop. On Arm a yield is nothing on most processors;
 * an isb waits until the instructions under way are done. On POWER the thread's priority falls and
 * comes back. */
static inline void cshim_pause(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("isb" ::: "memory");
#elif defined(__powerpc64__)
	__asm__ volatile("or 1,1,1\n\tor 2,2,2" ::: "memory");
#endif
}

/* A counter that goes on at a rate of its own, to compare how long short pieces of code take. */
static inline uint64_t cshim_cycles(void)
{
#if defined(__x86_64__) || defined(__i386__)
	return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
	uint64_t now;

	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(now));
	return now;
#elif defined(__powerpc64__)
	return __builtin_ppc_get_timebase();
#else
#error "a processor whose counter of cycles is not known here"
#endif
}

/* The line of at will be written soon. A baseline compiler would emit a prefetch for reading. */
static inline void cshim_prefetch_to_write(const void *at)
{
#if defined(__x86_64__)
	__asm__ volatile("prefetchw %0" : : "m"(*(const char *)at));
#else
	__builtin_prefetch(at, 1);
#endif
}

/* 1: there are kernels for the processors of this architecture that have AVX2. */
#if defined(__x86_64__)
#define CSHIM_AVX2 1
#else
#define CSHIM_AVX2 0
#endif

/* No page of any architecture is smaller. */
#define CSHIM_LEAST_PAGE 4096

/*
 * How many bytes in front of an address, the end of the kernel's data, must be written last and by
 * themselves, so that a program that sees the last byte sees the others: the bytes that become
 * visible at once. On x86 these are the bytes in the last line. On Arm it is the aligned word, on
 * POWER of 4 bytes, as the kernel there stores 8 bytes in two parts.
 */
static inline uint64_t cshim_last_bytes(uint64_t end)
{
#if defined(__x86_64__) || defined(__i386__)
	return (end - 1) % 64 + 1;
#elif defined(__aarch64__)
	return end % 8 == 0 ? 8 : end % 4 == 0 ? 4 : 1;
#else
	return end % 4 == 0 ? 4 : 1;
#endif
}

/* By cshim_cpu_prepare: 1 if a locked instruction is the best that there is between two looks. */
extern int cshim_polls_locked;

/*
 * Between two looks at memory that another processor writes. A bare loop of loads runs far ahead,
 * and all of that is thrown away when the line changes. An lfence holds it back, and lets the
 * line's news through at once. So does a locked instruction, on some processors sooner. A pause
 * takes longer. On Arm the pause is such a barrier, too.
 */
static inline void cshim_between_polls(void)
{
#if defined(__x86_64__)
	if (__builtin_expect(cshim_polls_locked, 0))
		__asm__ volatile("lock orl $0, -4(%%rsp)" ::: "memory", "cc");
	else
		__asm__ volatile("lfence" ::: "memory");
#else
	cshim_pause();
#endif
}

/* Keeps the order of memory accesses before the compiler alone: for the frequent side of a
 * membarrier(2). */
static inline void cshim_light_fence(void)
{
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}

/* membarrier(2): 1 if the kernel does that command. Does not keep errno. */
int cshim_membarrier(int command);

/* A full barrier in the calling thread. */
static inline void cshim_full_fence(void)
{
#ifdef __SANITIZE_THREAD__
	/* the sanitizer knows no fences; an exchange does the same for the processor on x86 */
	int word = 0;

	__atomic_exchange_n(&word, 1, __ATOMIC_SEQ_CST);
#else
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
#endif
}

#endif
