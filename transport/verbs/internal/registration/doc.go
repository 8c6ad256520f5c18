// Package registration keeps memory registered with an adapter apart from the transfers that use
// it: a cache, limited, whose entries are never used after the memory behind them has changed.
//
// # Use
//
// A link asks for a registration with Acquire before a transfer, and gives it back with Release
// when the adapter is done with the memory. Acquire fails where the memory cannot be registered:
// then errors.Is(err, ErrCopy), and the link copies through memory of its own. All methods may be
// called by any thread.
//
// # What is kept
//
// A registration outlives its transfers only if a change of the memory behind it is certain to be
// heard of. The kernel tells this of private anonymous memory: heap, stacks, uninitialised data,
// mmap. All other memory is registered for one transfer and deregistered at its release. So is all
// memory where the kernel does not tell, with the reason given once (Config.Say).
//
// # How changes are heard of
//
// A userfaultfd watches the mappings that hold registered memory, in write-protect mode, without
// ever write-protecting a page: no fault of the program takes another way than before. In the mode
// for missing pages the program's next touch of a page it has given back would wait for an answer,
// and the kernel's own accesses to it, such as those of read, would fail.
//
// What is watched is the mapping as a whole, never a part: a part would split the mapping, and the
// kernel refuses to mremap across two.
//
// The kernel counts a change before the addresses are free (munmap, mremap, mmap over what was
// there, brk) or the pages go (madvise). It makes the thread that changes them wait until the event
// was read, and takes the change off its count then. Acquire asks for the count under the cache's
// lock: one system call. If it is not zero, Acquire reads the events and drops the entries that they
// name, until it is. So a change that any thread can have noticed is seen by its next Acquire, also
// when the thread that makes it has not returned from the kernel yet. A monitor goroutine reads
// the events when nobody acquires, under the same lock.
//
// An madvise gives the pages back only after its event was read, at a moment that nobody tells. What
// is registered in between would be stale. So memory that madvise has taken pages from is no longer
// kept, but registered for each transfer, until it is unmapped.
//
// # The lock
//
// Nothing that may unmap memory runs under the lock: the thread would wait for the monitor, which
// waits for the lock. So the device is called without it, and the monitor never calls the device:
// entries that it has dropped are deregistered by another goroutine. For the same reason Go's own
// memory is never watched: the run-time gives memory back while the world is stopped.
//
// # Where to find what
//
//	registration.go  Device, Handle, Config, Stats, errors
//	cache.go         Cache: Acquire, Release, Close
//	evict.go         the limit, what is unused, deregistering
//	index.go         entries by address and access
//	intervals.go     sets of addresses
//	changes.go       what events do to the entries; the monitor
//	mappings.go      the mapping that holds an address
//	uffd_unsafe.go   the userfaultfd
package registration
