#define _GNU_SOURCE
#include <errno.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "futex.h"

void cshim_futex_wait(uint32_t *word, uint32_t expected, int64_t timeout_ns)
{
	struct timespec at_most;
	int saved = errno;

	if (timeout_ns >= 0) {
		at_most.tv_sec = timeout_ns / 1000000000;
		at_most.tv_nsec = timeout_ns % 1000000000;
	}
	syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, expected, timeout_ns >= 0 ? &at_most : NULL,
	        NULL, 0);
	errno = saved;
}

int cshim_futex_wait_until(uint32_t *word, uint32_t expected, const struct timespec *until)
{
	int saved = errno, late;

	late = syscall(SYS_futex, word, FUTEX_WAIT_BITSET_PRIVATE | FUTEX_CLOCK_REALTIME, expected,
	               until, NULL, FUTEX_BITSET_MATCH_ANY) < 0 &&
	       errno == ETIMEDOUT;
	errno = saved;
	return late;
}

void cshim_futex_wake(uint32_t *word, int count)
{
	int saved = errno;

	syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, count, NULL, NULL, 0);
	errno = saved;
}
