#define _GNU_SOURCE
#include <errno.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "progress/futex.h"

/* 1 if the time has come. */
static int futex(uint32_t *word, int operation, uint32_t value, const struct timespec *time)
{
	int saved = errno, late = syscall(SYS_futex, word, operation, value, time, NULL,
	                                  FUTEX_BITSET_MATCH_ANY) < 0 &&
	                          errno == ETIMEDOUT;

	errno = saved;
	return late;
}

void cshim_futex_wait(uint32_t *word, uint32_t expected, int64_t timeout_ns)
{
	struct timespec at_most = {timeout_ns / 1000000000, timeout_ns % 1000000000};

	futex(word, FUTEX_WAIT_PRIVATE, expected, timeout_ns >= 0 ? &at_most : NULL);
}

int cshim_futex_wait_until(uint32_t *word, uint32_t expected, const struct timespec *until)
{
	return futex(word, FUTEX_WAIT_BITSET_PRIVATE | FUTEX_CLOCK_REALTIME, expected, until);
}

void cshim_futex_wake(uint32_t *word, int count)
{
	futex(word, FUTEX_WAKE_PRIVATE, (uint32_t)count, NULL);
}
