// Package lapi is the entry points of LAPI and what they alone need: what calls wait for, the shared
// lock, the exit notice, texts. process.h is its contract with capi and the Fortran entry points.
package lapi

// #cgo CFLAGS: -O2 -std=gnu11 -Wall -Wextra -fvisibility=hidden
// #cgo CFLAGS: -I${SRCDIR}/.. -I${SRCDIR}/../../include
// #cgo LDFLAGS: -Wl,--unresolved-symbols=ignore-all
import "C"
