// Package lapi is the entry points of LAPI, its context blocks and handles, and what belongs to a context: shared lock,
// trace, exit notice, texts. internal.h is what the other parts may know of it; golapi.h is its contract with capi.
package lapi

// #cgo CFLAGS: -O2 -std=gnu11 -Wall -Wextra -fvisibility=hidden -I${SRCDIR} -I${SRCDIR}/../progress -I${SRCDIR}/../handlers -I${SRCDIR}/../lane -I${SRCDIR}/../node -I${SRCDIR}/.. -I${SRCDIR}/../../include
// #cgo LDFLAGS: -Wl,--unresolved-symbols=ignore-all
import "C"
