// Package handlers calls the user's functions: header, completion, send completion, error, DDM and
// UDP handlers; and what a procedure of Fortran is called among tasks (procedure.h). handlers.h is
// its contract with the C side, called.h with capi.
package handlers

// #cgo CFLAGS: -O2 -std=gnu11 -Wall -Wextra -fvisibility=hidden
// #cgo CFLAGS: -I${SRCDIR}/.. -I${SRCDIR}/../../include
// #cgo LDFLAGS: -Wl,--unresolved-symbols=ignore-all
import "C"
