/* copy.c - moves data between processes: see memory.h */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* process_vm_readv */
#endif
#include "world.h"

#include <errno.h>
#include <unistd.h>

enum { LAST = 8, SEGMENTS = RIG_MAX_SGE + 2 };

/* Whether all of that memory is mapped in a process: tests a byte of each page. */
static int accessible(uint32_t process, const struct rig_memory *m)
{
	char byte;
	struct iovec to = {&byte, 1};

	for (int i = 0; i < m->n; i++) {
		char *at = m->at[i].iov_base, *end = at + m->at[i].iov_len;
		while (at < end) {
			struct iovec from = {at, 1};
			if (process_vm_readv(rig_pid(process), &to, 1, &from, 1, 0) != 1)
				return 0;
			at = (char *)(((uintptr_t)at + RIG_PAGE) & ~(uintptr_t)(RIG_PAGE - 1));
		}
	}
	return 1;
}

/*
 * The last bytes of longer data are copied in a step of their own, so that a program that polls
 * these in memory has the others: adapters write in the order of addresses, a single copy need not.
 */
static int split(const struct rig_memory *m, struct iovec *to)
{
	int n = 0;

	for (int i = 0; i < m->n; i++)
		to[n++] = m->at[i];
	if (n > 0 && to[n - 1].iov_len > LAST * 8) {
		to[n].iov_base = (char *)to[n - 1].iov_base + to[n - 1].iov_len - LAST;
		to[n].iov_len = LAST;
		to[n++ - 1].iov_len -= LAST;
	}
	return n;
}

int rig_copy(struct rig_memory from, struct rig_memory to, size_t n, int *source_failed)
{
	struct iovec parts[SEGMENTS];
	ssize_t done;

	*source_failed = 0;
	if (n == 0)
		return 0;
	if (from.process == rig_self()) {
		int count = split(&to, parts);
		done = process_vm_writev(rig_pid(to.process), from.at, (unsigned long)from.n, parts,
		                         (unsigned long)count, 0);
	} else {
		done = process_vm_readv(rig_pid(from.process), to.at, (unsigned long)to.n, from.at,
		                        (unsigned long)from.n, 0);
	}
	if (done == (ssize_t)n)
		return 0;
	if (done < 0 && errno == ESRCH)
		return ESRCH;
	*source_failed = !accessible(from.process, &from);
	return EFAULT;
}
