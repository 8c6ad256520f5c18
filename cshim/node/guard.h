/*
 * guard.h - access to memory at addresses that a user or a peer named, which may be bad. A bad one
 * costs a signal, a good one nothing.
 *
 * The functions return 0, or 1 if an address cannot be accessed; a part of the destination may have
 * been written then. They may be used by any thread at any time after node_guard_install. Source
 * and destination do not overlap.
 */
#ifndef NODE_GUARD_H
#define NODE_GUARD_H

#include <stddef.h>
#include <stdint.h>

/*
 * Memory of this process at an address that came in a message, of 64 bits in every job: where
 * addresses have 32, an address that does not fit becomes NULL, which no access survives, and not
 * the address of some other memory.
 */
static inline void *node_memory_at(uint64_t address)
{
	return (uintptr_t)address == address ? (void *)(uintptr_t)address : NULL;
}

/*
 * The address to report for a range in which the calling thread's latest guarded access failed: the
 * address that the processor named, or, if that is not known, the range's first.
 */
uint64_t node_bad_address(uint64_t from, uint64_t n);

/*
 * Puts the handler for SIGSEGV and SIGBUS in front of those that there are, again if the program
 * has installed one since. Any number of times; two or four system calls.
 */
void node_guard_install(void);
/* Remembers the handler of Go's run-time, before a program can put its own in its place. */
void node_guard_runtime(void);

/* The aligned word at the end is stored last, as is 2, 4 or 8 bytes whole: a thread that polls it then sees
   the other bytes (on 32-bit x86: as memcpy stores). */
int node_guarded_copy(void *to, const void *from, size_t n);
/* The same for few bytes: no faster way is looked for. */
int node_guarded_copy_short(void *to, const void *from, size_t n);
/* The same, but the data written does not push other data out of the cache: twice as fast to memory
 * that is too large for the cache. */
int node_guarded_stream(void *to, const void *from, size_t n);
/*
 * The same by a string instruction: a processor may write whole lines without reading them, which
 * matters where another one has them, and has its own way to read ahead. The last byte need not be
 * stored last. Where a processor is slow at it unless to and from agree modulo 32, the same as
 * node_guarded_copy for those that do not.
 */
int node_guarded_string(void *to, const void *from, size_t n);
/* Loads four bytes; loads four and stores them as they are. */
int node_guarded_load(const void *at);
int node_guarded_keep(void *at);

/*
 * The same for one byte, where a call is made, for what each call of a program passes: 1 if it can be
 * accessed. On x86-64 that is one instruction, or two: the handler finds where to go on in a table of
 * such places.
 */
#ifdef __x86_64__
/* Where the handler goes on when the instruction at an address faults; both from the member on. */
typedef struct node_guard_place {
	int32_t at, go_on;
} node_guard_place;
#define NODE_GUARDED_AT(bad)                       \
	"	.pushsection node_guard_places,\"a\"\n" \
	"	.balign 4\n"                        \
	"	.long 1b - .\n"                     \
	"	.long %l[" bad "] - .\n"            \
	"	.popsection\n"

static inline __attribute__((always_inline)) int node_readable(const void *at)
{
	__asm__ goto("1:	cmpb $0, (%0)\n" NODE_GUARDED_AT("bad")
	             :
	             : "r"(at)
	             : "cc", "memory"
	             : bad);
	return 1;
bad:
	return 0;
}

/* Nothing is added, in one instruction that both loads and stores. */
static inline __attribute__((always_inline)) int node_writable(void *at)
{
	__asm__ goto("1:	orb $0, (%0)\n" NODE_GUARDED_AT("bad")
	             :
	             : "r"(at)
	             : "cc", "memory"
	             : bad);
	return 1;
bad:
	return 0;
}
#else
static inline int node_readable(const void *at)
{
	return !node_guarded_load((const void *)((uintptr_t)at & ~(uintptr_t)3));
}

static inline int node_writable(void *at)
{
	return !node_guarded_keep((void *)((uintptr_t)at & ~(uintptr_t)3));
}
#endif

/* 1 if there is such an instruction here. */
int node_has_string(void);
/*
 * Calls a function that touches such memory by itself. It is left in the middle then: it holds
 * nothing, and changes nothing that has to be whole. It may not call this function.
 */
int node_guarded_call(void (*call)(void *), void *argument);
/* *at += 1, aligned; atomic against other writers if shared is not 0, always against readers.
   Release: a thread that sees the counter sees what was written before. */
int node_guarded_count(int32_t *at, int shared);
/* Operations on words. */
#define NODE_ADD 0
#define NODE_OR 1
#define NODE_SWAP 2
#define NODE_CAS 3
#define NODE_AND 4
#define NODE_XOR 5
#define NODE_MIN 6 /* of signed numbers */
#define NODE_MAX 7
#define NODE_RMW_LAST NODE_MAX

/* Atomic, on an aligned word of width 4 or 8; op is one of the above. *old is the value before,
 * zero-extended. */
int node_guarded_rmw(int op, int width, void *at, uint64_t operand, uint64_t compare,
                     uint64_t *old);

#endif
