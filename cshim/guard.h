/*
 * guard.h - access to memory at addresses that a user or a peer named, which may be bad. A bad one costs a signal, a good one nothing.
 *
 * The functions return 0, or 1 if an address cannot be accessed; a part of the destination may have been written then. They may be used
 * by any thread at any time after cshim_guard_install. Source and destination do not overlap.
 */
#ifndef CSHIM_GUARD_H
#define CSHIM_GUARD_H

#include <stddef.h>
#include <stdint.h>

/*
 * Memory of this process at an address that came in a message, of 64 bits in every job: where addresses have 32, one that does not fit is
 * NULL, which no access survives, and not some other memory's.
 */
static inline void *cshim_memory_at(uint64_t address)
{
	return (uintptr_t)address == address ? (void *)(uintptr_t)address : NULL;
}

/* Installs the handler for SIGSEGV and SIGBUS in front of those that there are, once in a process. */
void cshim_guard_install(void);

int cshim_guarded_copy(void *to, const void *from, size_t n);
/* The same for few bytes: no faster way is looked for. */
int cshim_guarded_copy_short(void *to, const void *from, size_t n);
/* The same, but what is written does not push other things out of the cache: to memory that is too much for it, twice as fast. */
int cshim_guarded_stream(void *to, const void *from, size_t n);
/* *at += 1, aligned; atomic against other writers if shared is not 0, always against readers. Release: who sees the counter sees what was
   written before. */
int cshim_guarded_count(int32_t *at, int shared);
/* Atomic, aligned words of width 4 or 8; op is an RMW_ops_t. *old is the value before, zero-extended. */
int cshim_guarded_rmw(int op, int width, void *at, uint64_t operand, uint64_t compare, uint64_t *old);

#endif
