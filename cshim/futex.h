/* futex.h - the two futex operations the library needs, on words of this process only. */
#ifndef CSHIM_FUTEX_H
#define CSHIM_FUTEX_H

#include <stddef.h>
#include <stdint.h>
#include <time.h>

/*
 * Sleeps while *word is still expected, at most timeout_ns (negative: for ever). May return early for no reason: the caller looks
 * again. A wake-up that follows a change of *word is never lost, because the kernel compares under its own lock. errno is kept.
 */
void cshim_futex_wait(uint32_t *word, uint32_t expected, int64_t timeout_ns);
/* Wakes at most count threads asleep on word. errno is kept. */
void cshim_futex_wake(uint32_t *word, int count);

#endif
