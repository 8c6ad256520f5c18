// Package progress is how threads make and await progress: the lock, waiting, sleeping, the service
// thread and the other threads of the library. progress.h, lock.h and wait.h are its contract. It
// knows no LAPI, and no other part.
package progress

// #cgo CFLAGS: -O2 -std=gnu11 -Wall -Wextra -fvisibility=hidden
// #cgo CFLAGS: -I${SRCDIR}/..
// #cgo LDFLAGS: -Wl,--unresolved-symbols=ignore-all
import "C"
