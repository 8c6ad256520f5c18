// Package node is data between tasks of a node. So far it has the words of their barrier (barrier.h).
package node

// #cgo CFLAGS: -O2 -std=gnu11 -Wall -Wextra -fvisibility=hidden -I${SRCDIR} -I${SRCDIR}/.. -I${SRCDIR}/../lapi -I${SRCDIR}/../progress -I${SRCDIR}/../../include
// #cgo LDFLAGS: -Wl,--unresolved-symbols=ignore-all
import "C"
