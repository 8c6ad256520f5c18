// Package lane is C: the fast path of small LAPI operations between tasks of a node, and small puts
// that join an open UDP packet, and small messages over RDMA adapters (docs/dev/fastlane.md,
// docs/dev/verbs.md). It has no Go code.
package lane

// #cgo CFLAGS: -O2 -std=gnu11 -Wall -Wextra -fvisibility=hidden
// #cgo CFLAGS: -I${SRCDIR}/.. -I${SRCDIR}/../../include
// #cgo LDFLAGS: -Wl,--unresolved-symbols=ignore-all
import "C"
