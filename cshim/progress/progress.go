// Package progress is how threads wait: the lock, waiting, sleeping, the service thread and the other threads of the library.
package progress

// #cgo CFLAGS: -O2 -std=gnu11 -Wall -Wextra -fvisibility=hidden -I${SRCDIR} -I${SRCDIR}/../lapi -I${SRCDIR}/.. -I${SRCDIR}/../lane -I${SRCDIR}/../node -I${SRCDIR}/../../include
// #cgo LDFLAGS: -Wl,--unresolved-symbols=ignore-all
import "C"
