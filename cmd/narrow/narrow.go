// Package narrow lets a command run within a limit of address space (RLIMIT_AS). Go's run-time
// reserves more than half a GiB at its start, for tables of which it fills a few places, and the
// kernel counts what is reserved. Under a limit nothing is mapped for a reservation: it is a range
// of addresses between 24 and 40 TiB, or where Go asked for it, and Go maps there what it uses. A
// command that is linked statically has nothing else at these places. The library does the same,
// among a program's own mappings (cshim/start/reserve.c).
//
// Commands import it for that. It is for those without cgo: the run-time's hook for C's mmap leads
// here.
package narrow
