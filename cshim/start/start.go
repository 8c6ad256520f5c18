// Package start starts core's run-time (Go's) at a process's first call that needs it, so that
// nothing of Go is in a process before that, and keeps limits and descriptors as the program has
// them. start.h is its contract.
package start

// #cgo CFLAGS: -O2 -std=gnu11 -Wall -Wextra -fvisibility=hidden
// #cgo CFLAGS: -I${SRCDIR}/..
// #cgo LDFLAGS: -Wl,--unresolved-symbols=ignore-all
import "C"
