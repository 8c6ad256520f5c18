// Package cshim is the C side of liblapi_r.so. It has no Go code: capi imports it so that the C
// files of its parts become part of the library. What they need of core are the golapi_ functions
// (lapi/golapi.h), which capi exports.
//
// Each part is a package whose include path is its wall: it sees the headers of the parts that it
// names there, and no others. All symbols are hidden but those of exports.map.
//
//	lapi      entry points, context blocks and handles
//	fortran   the same for Fortran
//	handlers  calls of the user's functions
//	progress  the lock, waiting, the library's threads
//	node      data between tasks of a node
//
// Here are the fast lane and the rings.
package cshim

import (
	_ "lapi/cshim/fortran"
	_ "lapi/cshim/handlers"
	_ "lapi/cshim/lapi"
	_ "lapi/cshim/node"
	_ "lapi/cshim/progress"
)

// #cgo CFLAGS: -O2 -std=gnu11 -Wall -Wextra -fvisibility=hidden
// #cgo CFLAGS: -I${SRCDIR}/lapi -I${SRCDIR}/progress -I${SRCDIR}/handlers
// #cgo CFLAGS: -I${SRCDIR}/fortran -I${SRCDIR}/../include
// #cgo LDFLAGS: -Wl,--unresolved-symbols=ignore-all
import "C"
