//go:build amd64 || arm64 || 386 || arm || ppc64le || riscv64 || s390x

package memory

// room grows the goroutine's stack so that 64 KiB are free below its caller; when they are it costs
// a comparison.
//
// Code called from C runs on a goroutine's stack, a few KiB in the middle of the heap. A program's
// signal handler that was installed without SA_ONSTACK, as most are, runs on whatever stack its
// thread has at the moment: on this one, below which lie other objects of the heap, and it
// overwrites them. The run-time asks for SA_ONSTACK; programs written for LAPI never heard of it.
func room()
