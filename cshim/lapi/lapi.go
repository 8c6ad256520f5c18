// Package lapi is the entry points of LAPI, its context blocks and handles, and what belongs to a
// context: what its calls wait for, the shared lock, the trace, the exit notice, texts. internal.h
// is what the other parts may know of it; golapi.h is its contract with capi.
package lapi

// #cgo CFLAGS: -O2 -std=gnu11 -Wall -Wextra -fvisibility=hidden
// #cgo CFLAGS: -I${SRCDIR}/.. -I${SRCDIR}/../../include
// #cgo LDFLAGS: -Wl,--unresolved-symbols=ignore-all
import "C"
