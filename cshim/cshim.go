// Package cshim is the C side of liblapi_r.so: the exported LAPI_ and PLAPI_ functions, the context lock, waiting, the library's
// threads and the calls of user handlers. It has no Go code; capi imports it so that its C files become part of the
// library. What they need of core are the golapi_ functions (golapi.h), which capi exports.
//
// Where to find what: contexts.c blocks and handles, lock.c the lock, wait.c and sleep.c waiting, service.c, completion.c and
// threads.c the threads, handlers.c and errors.c calls of the user's functions, api_<group>.c the calls by the groups of calls.txt, fortran_*.c the same for Fortran.
package cshim

// #cgo CFLAGS: -O2 -std=gnu11 -Wall -Wextra -I${SRCDIR}/../include
// #cgo LDFLAGS: -Wl,--unresolved-symbols=ignore-all
import "C"

import (
	_ "lapi/cshim/cpu"
	_ "lapi/cshim/lane"
	_ "lapi/cshim/node"
)
