// Package handlers calls the user's functions: header, completion, send completion, error, DDM and
// UDP handlers. handlers.h is its contract.
package handlers

// #cgo CFLAGS: -O2 -std=gnu11 -Wall -Wextra -fvisibility=hidden
// #cgo CFLAGS: -I${SRCDIR}/.. -I${SRCDIR}/../../include
// #cgo LDFLAGS: -Wl,--unresolved-symbols=ignore-all
import "C"
