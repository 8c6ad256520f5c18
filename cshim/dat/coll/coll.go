// Package coll is the collectives of groups on one node: coll.h is its contract, group.h what core
// shares. The reductions of two blocks are lapi/cshim/coll.
package coll

// #cgo CFLAGS: -O2 -std=gnu11 -Wall -Wextra -fvisibility=hidden -Wno-unused-parameter
// #cgo CFLAGS: -I${SRCDIR}/../.. -I${SRCDIR}/../../../include
// #cgo LDFLAGS: -Wl,--unresolved-symbols=ignore-all
import "C"
