/* pointers.c - reads and writes what a program points to, where core may not have started. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cpu/cpu.h"
#include "node/guard.h"
#include "registry/registry.h"

/* Faults are caught once the block is prepared. */
static int are_faults_caught(void)
{
	return !(__atomic_load_n(&dat_unusual, __ATOMIC_ACQUIRE) & DAT_UNPREPARED);
}

/* The kernel reads a set of signals, here of those 8 bytes, before it refuses the action. */
static int is_readable(uintptr_t at)
{
	enum { SET = 8, NO_SUCH_ACTION = -1 };

	at &= ~(uintptr_t)(SET - 1);
	return at != 0 && /* no set at all */
	       (syscall(SYS_rt_sigprocmask, NO_SUCH_ACTION, at, NULL, SET) == 0 || errno != EFAULT);
}

/* The kernel stores a byte there, and then the old value is restored: nobody else may write
 * there. */
static int is_writable(uintptr_t at)
{
	volatile char *byte = (volatile char *)at;
	char before;

	if (!is_readable(at))
		return 0;
	before = *byte;
	if (syscall(SYS_getrandom, at, 1, GRND_NONBLOCK) < 0)
		return errno != EFAULT;
	*byte = before;
	return 1;
}

/* A byte of each page. */
static int probe(const void *from, size_t n, int (*is_there)(uintptr_t at))
{
	uintptr_t at = (uintptr_t)from, last = at + n - 1;

	if (last < at)
		return 0;
	for (; at < last; at = (at | (CSHIM_LEAST_PAGE - 1)) + 1)
		if (!is_there(at))
			return 0;
	return is_there(last);
}

static int copy(void *to, const void *from, size_t n, const void *foreign,
                int (*is_there)(uintptr_t at))
{
	if (are_faults_caught())
		return node_guarded_copy_short(to, from, n) ? -1 : 0;
	if (n > 0 && !probe(foreign, n, is_there))
		return -1;
	memcpy(to, from, n);
	return 0;
}

int dat_copy_in(void *to, const void *from, size_t n)
{
	return copy(to, from, n, from, is_readable);
}

int dat_copy_out(void *to, const void *from, size_t n)
{
	return copy(to, from, n, to, is_writable);
}

int dat_copy_string(char *to, const char *from, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++) {
		if (dat_copy_in(&to[i], &from[i], 1) != 0)
			return -1;
		if (!to[i])
			return 0;
	}
	return 1;
}
