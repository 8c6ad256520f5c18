/*
 * cpu.h - what the C parts of the library ask of the processor: how many there are, what to do
 * between two looks at memory that another one writes, fences. Knows nothing of the library.
 */
#ifndef CSHIM_CPU_H
#define CSHIM_CPU_H

/* Once in a process, before the others are used. Any thread, any number of times. */
void cshim_cpu_prepare(void);

/* How many processors are online. */
int cshim_processors(void);

/* A short pause of this processor inside a spin loop. */
static inline void cshim_pause(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#endif
}

/* By cshim_cpu_prepare: 1 if a locked instruction is the best that there is between two looks. */
extern int cshim_polls_locked;

/*
 * Between two looks at memory that another processor writes. A bare loop of loads runs far ahead,
 * and all of that is thrown away when the line changes. An lfence holds it back, and lets the
 * line's news through at once. So does a locked instruction, on some processors sooner. A pause
 * takes longer.
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
