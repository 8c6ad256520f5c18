// Package node is data between tasks of a node. So far it has the words of their barrier: barrier.h
// and barrier_words.h are its contract.
package node

// #cgo CFLAGS: -O2 -std=gnu11 -Wall -Wextra -fvisibility=hidden -I${SRCDIR}
// #cgo CFLAGS: -I${SRCDIR}/../lapi -I${SRCDIR}/../progress -I${SRCDIR}/.. -I${SRCDIR}/../../include
// #cgo LDFLAGS: -Wl,--unresolved-symbols=ignore-all
import "C"
