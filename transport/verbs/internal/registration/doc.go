// Package registration keeps memory registered with an adapter apart from the transfers that use
// it: a cache, limited, whose entries are never used after the memory behind them has changed.
//
// # Use
//
// A link asks for a registration with Acquire before a transfer, and gives it back with Release
// when the adapter is done with the memory. Acquire fails where the memory cannot be registered:
// then errors.Is(err, ErrCopy), and the link copies through memory of its own. AcquireAll does so
// for a list. Discard is Release of a registration that a lost request may still use. All methods
// may be called by any thread.
//
// # What is kept
//
// A registration outlives its transfers only if a change of the memory behind it is certain to be
// noticed. The kernel reports those of private anonymous memory: heap, stacks, uninitialised data,
// mmap. Page tables show it of shared memory (shared.go). All other memory is registered for one
// transfer and deregistered at its release. So is all memory where the kernel reports nothing, with
// the reason given once (Config.Say).
//
// # How changes are noticed
//
// lapi/cshim/watch watches the mappings that hold registered memory. The mapping is watched
// as a whole, never a part: a part would cut the mapping in two, and the kernel refuses to mremap
// across the cut.
//
// The kernel counts a change before the addresses are free (munmap, mremap, mmap over what was
// there, brk) or the pages go (madvise). It makes the thread that changes them wait until its event
// was read, and takes the change off the count then. Acquire asks for the count under the caches'
// lock, by one system call; while it is not zero, Acquire applies events: it drops the entries that
// they name. So a change that any thread can have noticed is seen by its next Acquire, also when
// the thread that makes it has not returned from the kernel yet. Events that come while nobody
// acquires are applied by a goroutine, so that unmapped memory does not stay pinned.
//
// An madvise gives the pages back only after its event was read, at a moment that nothing reports.
// A registration in between would be stale. So memory that madvise has taken pages from is no
// longer kept, but registered for each transfer, until it is unmapped.
//
// All caches of the process have one watcher, since a mapping can be watched by one userfaultfd
// only.
//
// # The lock
//
// It is the innermost. The device is called without it. A device may unmap memory at any time, as
// free does: so the thread that reads the events takes no lock.
//
// # Limits
//
// The kernel does not report when shmat with SHM_REMAP covers anonymous memory, nor when madvise
// makes guard pages of it (MADV_GUARD_INSTALL, Linux 6.13). Programs must not do that to memory
// that they have transferred and not unmapped. A change of protection (mprotect) changes no page:
// an adapter goes on writing to memory that was registered while it was writable. A watched mapping
// is not joined with a new one beside it, so that mremap refuses a range over both. A child after
// fork has no cache.
//
// # Where to find what
//
//	registration.go  Device, Handle, Config, Stats, errors
//	cache.go         Cache: Acquire, Release, Close
//	evict.go         the limit, unused entries, deregistering
//	index.go         entries by address and access
//	changes.go       what events do; the watcher of the process
//	shared.go        shared memory: its aliases
//	mappings.go      the mapping that holds an address
//	intervals.go     sets of addresses
package registration
