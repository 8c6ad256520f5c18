/*
 * reserve.c - Go's run-time within a limit of address space (RLIMIT_AS). It reserves more than a
 * GiB at its start, for tables that it fills in a few places only, and 64 MiB for each piece of its
 * heap; the kernel counts what is reserved. Under a limit nothing is mapped for a reservation: it
 * is a range of addresses that nobody else uses, and Go maps the parts that it needs in it.
 *
 * The ranges are slots between 24 and 40 TiB. The kernel gives addresses below the stack, or, for
 * programs with an unlimited stack, from 42 TiB upwards; programs and their heap are below 1 TiB or
 * above 85 TiB. Mappings at addresses that a program chose there itself are seen at the ends of a
 * range.
 *
 * Go calls mmap by x_cgo_mmap, which the linker leads here (--wrap).
 */
#define _GNU_SOURCE
#include <stdint.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "start/steps.h"

#if defined(__LP64__)

#define SLOTS_BEGIN ((uintptr_t)24 << 40)
#define SLOTS_END ((uintptr_t)40 << 40)
#define SLOT ((uintptr_t)64 << 30)
/* Smaller reservations are made. */
#define LARGE ((uintptr_t)16 << 20)

extern uintptr_t __real_x_cgo_mmap(void *at, uintptr_t bytes, int32_t protection, int32_t flags,
                                   int32_t fd, uint32_t offset) __attribute__((weak));
uintptr_t __wrap_x_cgo_mmap(void *at, uintptr_t bytes, int32_t protection, int32_t flags,
                            int32_t fd, uint32_t offset);

static int limited;                       /* written before the run-time starts */
static uintptr_t page_size;               /* likewise */
static uintptr_t next_slot = SLOTS_BEGIN; /* atomic */

void cshim_reserve_prepare(void)
{
	struct rlimit space;

	page_size = (uintptr_t)sysconf(_SC_PAGESIZE);
	limited = getrlimit(RLIMIT_AS, &space) == 0 && space.rlim_cur != RLIM_INFINITY;
}

static int is_free(uintptr_t page)
{
	const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE;
	void *got = mmap((void *)page, page_size, PROT_NONE, flags, -1, 0);

	if (got != MAP_FAILED)
		munmap(got, page_size);
	return got == (void *)page;
}

static int range_is_free(uintptr_t at, uintptr_t bytes)
{
	return is_free(at) && is_free((at + bytes - 1) & ~(page_size - 1));
}

/* Where Go's heap may grow: it asks for the addresses behind the last piece. */
static int may_be_there(uintptr_t at, uintptr_t bytes)
{
	return at >= SLOTS_BEGIN && at < SLOTS_END &&
	       at / SLOT == (at + bytes - 1) / SLOT && range_is_free(at, bytes);
}

/* A range of a slot of its own; 0: there is none. */
static uintptr_t new_range(uintptr_t bytes)
{
	uintptr_t slot;

	do
		slot = __atomic_fetch_add(&next_slot, SLOT, __ATOMIC_RELAXED);
	while (slot < SLOTS_END && !range_is_free(slot, bytes));
	return slot < SLOTS_END ? slot : 0;
}

uintptr_t __wrap_x_cgo_mmap(void *at, uintptr_t bytes, int32_t protection, int32_t flags,
                            int32_t fd, uint32_t offset)
{
	uintptr_t range = 0;

	if (__builtin_expect(limited, 0) && protection == PROT_NONE && !(flags & MAP_FIXED) &&
	    bytes >= LARGE && bytes <= SLOT)
		range = may_be_there((uintptr_t)at, bytes) ? (uintptr_t)at : new_range(bytes);
	return range ?: __real_x_cgo_mmap(at, bytes, protection, flags, fd, offset);
}

#else

/* In 32 bits Go asks for less by itself where it does not get much. */
void cshim_reserve_prepare(void)
{
}

#endif
