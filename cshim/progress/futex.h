/*
 * futex.h - the two futex operations the library needs, on words of this process only. None is a
 * cancellation point.
 */
#ifndef CSHIM_FUTEX_H
#define CSHIM_FUTEX_H

#include <stddef.h>
#include <stdint.h>
#include <time.h>

/*
 * Sleeps while *word is still expected, at most timeout_ns (negative: for ever). May return early
 * for no reason: the caller looks again. A wake-up that follows a change of *word is never lost,
 * because the kernel compares under its own lock. errno is kept.
 */
void cshim_futex_wait(uint32_t *word, uint32_t expected, int64_t timeout_ns);
/*
 * The same until an absolute time of CLOCK_REALTIME, NULL for ever. 1 if the time has come, else 0.
 */
int cshim_futex_wait_until(uint32_t *word, uint32_t expected, const struct timespec *until);
/* Wakes at most count threads asleep on word. errno is kept. */
void cshim_futex_wake(uint32_t *word, int count);

#endif
